"""Several fits, one after the other or in parallel, with their progress."""

from collections.abc import Callable, Sequence
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from taupath.progress import share_of, telling
from taupath.validation import check_n_jobs


def run_all(
    function: Callable[..., Any], jobs: Sequence[dict[str, Any]], n_jobs: Any, progress: Any
) -> list[Any]:
    """Return ``function(**job, progress=...)`` for every job, `n_jobs` at a time.

    Jobs are assumed to take equally long. `progress` stays in this process, so that for jobs in
    other processes it is called only when they end.
    """
    check_n_jobs(n_jobs)
    n = len(jobs)
    if n == 1 or effective_n_jobs(n_jobs) == 1:
        parts = [share_of(progress, k / n, 1.0 / n) if n > 1 else progress for k in range(n)]
        return [function(**job, progress=part) for job, part in zip(jobs, parts, strict=True)]
    parallel = _Reporting(n_jobs=n_jobs)
    parallel.report_to(progress, n)
    return list(parallel(delayed(function)(**job) for job in jobs))


class _Reporting(Parallel):
    """Reports how many jobs are done."""

    def report_to(self, progress: Any, n_total: int) -> None:
        self._tell, self._n_total = telling(progress, "paths", ""), n_total

    def print_progress(self) -> None:
        """Report; joblib calls this whenever jobs are done."""
        done = int(self.n_completed_tasks)
        if self._tell is not None:
            self._tell(done / self._n_total, done, None)
