"""The choice between exact and approximate paths, by what the exact one is predicted to take.

Nearly all time of a walk goes into its free samples. A kink costs the square of their number or,
with a kernel, their number times that of all samples. How the sum over all kinks grows is seen in
walks of two small parts of the data; the larger one is timed, in CPU seconds, which other
programs do not change.
"""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from time import thread_time

from taupath.exceptions import WalkFailed
from taupath.paths.walked import Walked
from taupath.progress import duration

# Seconds up to which the exact path is preferred.
WORTH_WAITING = 60.0
# From this many samples on, a search with method="auto" has approximate paths with the linear
# kernel: it fits dozens of paths, and a trial for each would cost more than it saves.
MANY_IN_A_SEARCH = 20_000
# Samples of the two trial walks: they take a tenth of a second, or a few if features are many.
FIRST_TRIAL, SECOND_TRIAL = 500, 1000
# Trials are doubled while they predict a long path, up to this share of all samples, and until one
# has taken so many seconds.
LARGEST_SHARE, LONGEST_TRIAL = 0.25, 1.0
# With at most so many samples the path is exact without a trial: it takes seconds.
TOO_FEW_FOR_TRIALS = 2000
# Bounds on the exponent of this growth. It is 1 where there are few features, and 3 while kinks and
# free samples both increase like samples.
FLATTEST, STEEPEST = 1.0, 3.0


@dataclass(frozen=True)
class Trial:
    """What the walk of a part of the samples took."""

    samples: int
    kinks: int
    free: int  # free samples, summed over all kinks
    seconds: float


@dataclass(frozen=True)
class Choice:
    """A method, and why it was chosen."""

    method: str
    why: str


def choose_by_rows(method: str, kernel: object, n_samples: int) -> str:
    """Return "exact" or "approximate", for "auto" by the number of samples alone."""
    linear = isinstance(kernel, str) and kernel == "linear"
    if method == "auto":
        return "approximate" if linear and n_samples >= MANY_IN_A_SEARCH else "exact"
    return method


def choose_by_cost(forecast: float) -> Choice:
    """Return the method, given the predicted seconds of the exact path."""
    about = f"the exact path is predicted to take {duration(forecast)}"
    if forecast <= WORTH_WAITING:
        return Choice("exact", about)
    return Choice("approximate", f"{about}, more than {duration(WORTH_WAITING)}")


def trial_of(walk: Callable[[int], Walked], samples: int) -> Trial:
    """Return what the walk of so many samples takes."""
    begun = thread_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the path itself will give them
        counters = walk(samples).counters
    seconds = thread_time() - begun
    return Trial(samples, counters["kinks"], counters["sum_free"], seconds)


def predicted_seconds(few: Trial, more: Trial, n_samples: int, most_free: float) -> float:
    """Return the predicted seconds of the exact walk of all samples.

    `most_free` is the number of samples that can be free at a time, infinite with a kernel.
    """
    times = n_samples / more.samples

    def grown(before: float, after: float) -> float:
        """Return the factor by which a sum grows from the larger trial to all samples."""
        steps = math.log(more.samples / few.samples)
        growth = math.log(max(after, 1.0) / max(before, 1.0)) / steps
        return float(times ** min(max(growth, FLATTEST), STEEPEST))

    if math.isinf(most_free):
        return more.seconds * grown(few.free * few.samples, more.free * more.samples)
    before, after = (each.free**2 / max(each.kinks, 1) for each in (few, more))
    all_free = more.kinks * grown(few.kinks, more.kinks) * most_free**2
    return more.seconds * min(grown(before, after), max(all_free / max(after, 1.0), 1.0))


def forecast_of(walk: Callable[[int], Walked], n_samples: int, most_free: float) -> float | None:
    """Return the predicted seconds of the exact walk; None if the trials fail.

    Small trials tend to predict too much, since sums grow fastest while samples are fewer than a
    few times the features. So a path that is predicted to be long gets larger trials.
    """
    try:
        few, more = (trial_of(walk, samples) for samples in (FIRST_TRIAL, SECOND_TRIAL))
        while True:
            found = predicted_seconds(few, more, n_samples, most_free)
            large = LARGEST_SHARE * n_samples < 2 * more.samples
            if found <= WORTH_WAITING or large or more.seconds > LONGEST_TRIAL:
                return found
            few, more = more, trial_of(walk, 2 * more.samples)
    except WalkFailed:
        return None
