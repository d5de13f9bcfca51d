"""What a long exact fit will take, and the approximate one, from fits of some of the samples."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from taupath.exceptions import WalkFailed
from taupath.fitting.method import MANY_SAMPLES
from taupath.progress import Display, duration

__all__ = ["Forecast", "advise", "forecast"]

# Samples of the two exact fits. Their times tell how time grows: with a power of the number of
# samples that is at least 1, and was at most 1.5 from there on. On a9a, splice and Gaussian data,
# of 10 000 to 100 000 samples, times extrapolated so were right within a factor of 1.5.
FEW, MORE = 2000, 4000
MOST_GROWTH = 1.5
# Of all samples, those of the approximate fit, from MORE on and up to MOST; its time is then taken
# to grow with their number, which is too much by a factor of two at most.
PART, MOST = 0.2, 100_000
# Seconds, from which on a fit is long, and how much quicker the other one must be to be mentioned.
LONG, WORTH = 30.0, 3.0
# Of the exact fit, what the trial of the approximate one may take; where there are more features
# than samples, that can be the slower one.
TRIAL = 0.1


@dataclass(frozen=True)
class Forecast:
    """Seconds that the exact and the approximate path of all samples will take."""

    exact: float
    approximate: float


class _Enough(Exception):
    """The fit of some samples takes too long to be worth it."""


def advise(progress: Any, follow: Callable[..., Any], job: dict[str, Any]) -> None:
    """Say before a long exact fit that the approximate one is quicker, if somebody is looking.

    Parameters
    ----------
    progress : Display or other
        Where to say it.
    follow : callable
        `quantile_path` or `quantile_regression_path`.
    job : dict
        Its arguments: X, y, sample_weight, C, method, kernel and others.
    """
    if not (isinstance(progress, Display) and progress.shown and job["method"] == "exact"):
        return
    linear = isinstance(job["kernel"], str) and job["kernel"] == "linear"
    if not linear or job["X"].shape[0] < MANY_SAMPLES:
        return
    found = forecast(follow, job)
    if found is not None and found.exact > LONG and found.exact > WORTH * found.approximate:
        progress.say(
            f"The exact path will take about {duration(found.exact)}; method approximate, with "
            f"duality gaps of at most {job['tol']:g}, about {duration(found.approximate)} "
            "(estimated from fits of some of the rows)"
        )


def forecast(follow: Callable[..., Any], job: dict[str, Any]) -> Forecast | None:
    """Return what the paths of all samples will take; None if the exact one is not long."""
    n = job["X"].shape[0]
    try:
        few, more = (_seconds(follow, job, m, "exact", math.inf) for m in (FEW, MORE))
        growth = min(max(math.log(more / few) / math.log(MORE / FEW), 1.0), MOST_GROWTH)
        exact = more * (n / MORE) ** growth
        if exact <= LONG:
            return None
        m = min(max(int(PART * n), MORE), MOST)
        return Forecast(exact, _seconds(follow, job, m, "approximate", TRIAL * exact) * n / m)
    except (WalkFailed, _Enough):
        return None


def _seconds(
    follow: Callable[..., Any], job: dict[str, Any], m: int, method: str, limit: float
) -> float:
    """Return what the path of m samples takes, with the same λ."""
    n, y = job["X"].shape[0], np.asarray(job["y"])
    # evenly over sorted y: every class is there, in its share
    chosen = np.sort(np.argsort(y, kind="stable")[np.linspace(0, n - 1, m).astype(int)])
    part = {name: job[name][chosen] for name in ("X", "y", "sample_weight")}
    if job.get("lam") is None:
        part["C"] = job["C"] * n / m
    begun = perf_counter()

    def watch(fraction: float, n_done: int) -> None:
        if perf_counter() - begun > limit:
            raise _Enough

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        follow(**{**job, **part, "method": method, "progress": watch})
    return perf_counter() - begun
