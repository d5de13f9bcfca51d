"""Several fits, one after the other or at a time, and how far they are."""

from collections.abc import Callable, Sequence
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from taupath.progress import Display, Share, share_of

__all__ = ["run_all"]


def run_all(
    function: Callable[..., Any], jobs: Sequence[dict[str, Any]], n_jobs: Any, progress: Any
) -> list[Any]:
    """Return ``function(**job)`` of every job.

    Parameters
    ----------
    function : callable
        Takes ``progress``, too.
    jobs : sequence of dict
        Its other arguments. They are taken to be of equal length.
    n_jobs : int or None
        Jobs at a time, as in joblib.
    progress : callable or None
        What to report to. It stays in this process: of jobs that run elsewhere, it hears when they
        are done.
    """
    n = len(jobs)
    if n == 1 or effective_n_jobs(n_jobs) == 1:
        parts = [share_of(progress, k / n, 1.0 / n) if n > 1 else progress for k in range(n)]
        return [function(**job, progress=part) for job, part in zip(jobs, parts, strict=True)]
    together = _Counting(n_jobs=n_jobs)
    together.report_to(progress, n)
    return list(together(delayed(function)(**job) for job in jobs))


class _Counting(Parallel):
    """Tells how many jobs are done."""

    def report_to(self, progress: Any, n_jobs_in_all: int) -> None:
        self._progress, self._in_all = progress, n_jobs_in_all

    def print_progress(self) -> None:
        """Report; joblib calls this whenever jobs are done."""
        done = int(self.n_completed_tasks)
        if isinstance(self._progress, (Display, Share)):
            self._progress.tell(done / self._in_all, done, None, unit="paths")
        elif self._progress is not None:
            self._progress(done / self._in_all, done)
