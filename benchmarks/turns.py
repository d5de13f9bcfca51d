"""Jobs that are timed in turn, each as often as the others, so that noise hits all alike."""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from common import Stopwatch

__all__ = ["Done", "Job", "rounds", "run_in_turn"]

# Unless told how often, all jobs are run again until so many seconds are spent on them, within
# these limits.
SECONDS = 20.0
FEWEST_RUNS, MOST_RUNS = 5, 10

# Things to do, each by a name of its own, that make up one job.
Job = Mapping[Hashable, Callable[[], Any]]


@dataclass(frozen=True)
class Done:
    """What came out of a job: by name what each part returned; its runs and best seconds."""

    results: dict[Any, Any]
    runs: int
    seconds: float


def run_in_turn(jobs: Mapping[str, Job], repeats: int | None) -> dict[str, Done]:
    """Run every job `repeats` times, by default as often as time allows."""
    watch, results = Stopwatch(), {name: {} for name in jobs}
    parts = [(name, part) for name, job in jobs.items() for part in job]
    while another_run(watch, parts, repeats):
        for name, part in parts:
            results[name][part] = watch.time((name, part), jobs[name][part])
    return {
        name: Done(
            results=results[name],
            runs=watch.runs(parts[0]),
            seconds=sum(watch.best((name, part)) for part in job),
        )
        for name, job in jobs.items()
    }


def another_run(watch: Stopwatch, parts: Sequence[Hashable], repeats: int | None) -> bool:
    """Return whether everything is to be run once more."""
    done = watch.runs(parts[0])
    if repeats is not None:
        return done < repeats
    spent = sum(watch.spent(part) for part in parts)
    return done < FEWEST_RUNS or (done < MOST_RUNS and spent < SECONDS)


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
