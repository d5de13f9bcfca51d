"""How long an exact fit and an approximate one will take, estimated from fits of some samples."""

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

# Samples of the two exact trial fits. Time grows with a power of the number of samples, between 1
# and MOST_GROWTH. On a9a, splice and Gaussian data of 10 000 to 100 000 samples, times
# extrapolated this way were right within a factor of 1.5.
FEW, MORE = 2000, 4000
MOST_GROWTH = 1.5
# Share of the samples in the approximate trial fit, which has between MORE and LARGEST_TRIAL
# samples. Its time is taken to grow linearly, which overestimates it by a factor of two at most.
PART, LARGEST_TRIAL = 0.2, 100_000
# Seconds above which a fit counts as long; for shorter ones, advice is not worth reading.
LONG = 30.0
# The approximate fit is mentioned if it is faster by this factor: beyond the estimates' error.
WORTH = 3.0
# Share of the exact fit's time that the approximate trial may take. With more features than
# samples the approximate fit can be the slower one.
TRIAL = 0.1


@dataclass(frozen=True)
class Forecast:
    """Estimated seconds of the exact and the approximate fit of all samples."""

    exact: float
    approximate: float


class _TooSlow(Exception):
    """A trial fit takes too long."""


def advise(progress: Any, follow: Callable[..., Any], job: dict[str, Any]) -> None:
    """Tell a user who watches the display of a long exact fit that the approximate one is faster.

    `follow` is the function that makes the path, and `job` are its arguments.
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
    """Return how long the fits of all samples will take; None if the exact one is not long."""
    n = job["X"].shape[0]
    try:
        few, more = (_seconds(follow, job, m, "exact", math.inf) for m in (FEW, MORE))
        growth = min(max(math.log(more / few) / math.log(MORE / FEW), 1.0), MOST_GROWTH)
        exact = more * (n / MORE) ** growth
        if exact <= LONG:
            return None
        m = min(max(int(PART * n), MORE), LARGEST_TRIAL)
        return Forecast(exact, _seconds(follow, job, m, "approximate", TRIAL * exact) * n / m)
    except (WalkFailed, _TooSlow):
        return None


def _seconds(
    follow: Callable[..., Any], job: dict[str, Any], m: int, method: str, limit: float
) -> float:
    """Return how long the path of m of the samples takes, with the same λ."""
    n, y = job["X"].shape[0], np.asarray(job["y"])
    # evenly spaced in sorted y, so that every class keeps its share
    chosen = np.sort(np.argsort(y, kind="stable")[np.linspace(0, n - 1, m).astype(int)])
    part = {name: job[name][chosen] for name in ("X", "y", "sample_weight")}
    part["C"] = job["C"] * n / m
    begun = perf_counter()

    def watch(fraction: float, n_done: int) -> None:
        if perf_counter() - begun > limit:
            raise _TooSlow

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will give them
        follow(**{**job, **part, "method": method, "progress": watch})
    return perf_counter() - begun
