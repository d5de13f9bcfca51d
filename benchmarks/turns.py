"""Jobs that are timed in turn, each as often as the others, so that noise hits all alike."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any

from common import Stopwatch

__all__ = ["rounds"]


def rounds(
    jobs: Mapping[Hashable, Callable[[], Any]], enough: float, most_runs: int
) -> tuple[dict[Hashable, Any], Stopwatch]:
    """Run all jobs once, then in turn those again that have not taken `enough` seconds by now.

    Returns what each job returned at first, and the stopwatch. A job that raises an exception is
    not run again; the exception is what it returned.
    """
    watch, results = Stopwatch(), {}
    for _ in range(most_runs):
        for name, job in jobs.items():
            failed = isinstance(results.get(name), Exception)
            if failed or (name in results and watch.spent(name) >= enough):
                continue
            try:
                found = watch.time(name, job)
            except Exception as failed:
                found = failed
            results.setdefault(name, found)
    return results, watch
