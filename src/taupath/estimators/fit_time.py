"""How long an exact fit and an approximate one will take, estimated from fits of some samples."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from taupath.exceptions import WalkFailed
from taupath.progress import Display, duration

# From this many samples on, a fit may be long enough for trials to be worth their time.
MANY_SAMPLES = 5000
# Samples of the two exact trial fits. Time grows with a power of the number of samples, between 1
# and MOST_GROWTH. On a9a, splice and Gaussian data of 10 000 to 100 000 samples, times
# extrapolated this way were right within a factor of 1.5.
FEW, MORE = 2000, 4000
MOST_GROWTH = 1.5
# With a kernel, exact paths of fewer samples are long: samples from which on trials are worth it,
# those of the trials, and the most growth.
MANY_WITH_KERNEL, FEW_WITH_KERNEL, MORE_WITH_KERNEL, MOST_GROWTH_WITH_KERNEL = 4000, 500, 1000, 3.0
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
    if job["l1"] or job["constraints"] is not None:  # there is no approximate path
        return
    if job["X"].shape[0] < (MANY_SAMPLES if _is_linear(job) else MANY_WITH_KERNEL):
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
    n, linear = job["X"].shape[0], _is_linear(job)
    small, large = (FEW, MORE) if linear else (FEW_WITH_KERNEL, MORE_WITH_KERNEL)
    most = MOST_GROWTH if linear else MOST_GROWTH_WITH_KERNEL
    try:
        few, more = (_seconds(follow, job, m, "exact", math.inf) for m in (small, large))
        growth = min(max(math.log(more / few) / math.log(large / small), 1.0), most)
        exact = more * (n / large) ** growth
        if exact <= LONG:
            return None
        m = min(max(int(PART * n), large), LARGEST_TRIAL)
        seconds = _seconds(follow, job, m, "approximate", TRIAL * exact)
        return Forecast(exact, seconds * (n / m) ** (1 if linear else 2))  # the kernel matrix
    except (WalkFailed, _TooSlow):
        return None
    except ValueError:  # there is no approximate path with an indefinite kernel
        if linear:
            raise
        return None


def _is_linear(job: dict[str, Any]) -> bool:
    kernel = job.get("kernel", "linear")
    return isinstance(kernel, str) and kernel == "linear"


def _seconds(
    follow: Callable[..., Any], job: dict[str, Any], m: int, method: str, limit: float
) -> float:
    """Return how long the path of m of the samples takes, with the same λ."""
    n, y = job["X"].shape[0], np.asarray(job["y"])
    # evenly spaced in sorted y, so that every class keeps its share
    chosen = np.sort(np.argsort(y, kind="stable")[np.linspace(0, n - 1, m).astype(int)])
    part = {name: job[name][chosen] for name in ("X", "y", "sample_weight")}
    if isinstance(job["kernel"], str) and job["kernel"] == "precomputed":
        part["X"] = part["X"][:, chosen]
    part["C"] = job["C"] * n / m
    begun = perf_counter()

    def watch(fraction: float, n_done: int) -> None:
        if perf_counter() - begun > limit:
            raise _TooSlow

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the fit itself will give them
        follow(**{**job, **part, "method": method, "progress": watch})
    return perf_counter() - begun
