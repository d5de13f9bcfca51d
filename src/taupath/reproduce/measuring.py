"""Tools to measure with: a stopwatch, the counters of a walk, and the machine's description."""

import platform
import time
from collections import defaultdict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

from threadpoolctl import threadpool_info

from taupath.paths.path import SolutionPath

T = TypeVar("T")


class Stopwatch:
    """CPU seconds of jobs that are run several times, in turn.

    The best run of a job is the one that other processes disturbed least. Jobs that run in turn
    are disturbed alike, so a ratio of two bests compares like with like.
    """

    def __init__(self) -> None:
        self._seconds: dict[Hashable, list[float]] = defaultdict(list)

    def time(self, job: Hashable, function: Callable[..., T], *args: Any, **kwargs: Any) -> T:
        """Run a job once; return what the function returns."""
        begin = time.process_time()
        result = function(*args, **kwargs)
        self._seconds[job].append(time.process_time() - begin)
        return result

    def best(self, job: Hashable) -> float:
        """Return the seconds of the best run."""
        return min(self._seconds[job])

    def runs(self, job: Hashable) -> int:
        """Return how often the job has been run."""
        return len(self._seconds[job])

    def spent(self, job: Hashable) -> float:
        """Return the seconds of all runs together."""
        return sum(self._seconds[job])


@dataclass(frozen=True)
class Work:
    """What a walk did, in numbers that do not depend on the machine.

    Averages are over all events, including those of the start.
    """

    rows_per_event: float  # rows evaluated, on average
    mean_free: float  # size of the free set, on average
    refactorizations: int  # how often the factor was computed afresh
    repairs: int  # stretches that were solved node by node
    nbytes: int  # of the recorded path


def work(path: SolutionPath) -> Work:
    """Return what the walk of a path did."""
    counters = path.counters
    n_events = counters["kinks"] + counters["start_events"]
    return Work(
        rows_per_event=counters["rows_evaluated"] / n_events,
        mean_free=counters["sum_free"] / n_events,
        refactorizations=counters["refactorizations"],
        repairs=counters["repairs"],
        nbytes=path.nbytes,
    )


def n_threads() -> int:
    """Return the most threads that a numerical library of this process may use."""
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def machine(*packages: str) -> dict[str, str]:
    """Return the processor, the number of threads, and the versions of these distributions."""
    return {
        "processor": _processor(),
        "threads": str(n_threads()),
        "Python": platform.python_version(),
        **{package: _version(package) for package in packages},
    }


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.is_file() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.processor() or platform.machine()
