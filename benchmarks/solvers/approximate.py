"""taupath's approximate path: as few nodes as a certified tolerance for every τ allows."""

from collections.abc import Sequence

from task import Answer, Task

from solvers.base import Solver
from solvers.taupath import answer
from taupath import quantile_path


class Approximate(Solver):
    """`quantile_path(method="approximate")`; the tolerance is a part of the loss at w = 0."""

    name = "taupath, approximate"
    package = module = "taupath"
    tolerances = tuple(10.0**-k for k in range(2, 7))
    follows = True

    def refuses(self, task: Task) -> str | None:
        """Return why this task is not for this solver, or None; it is made for few features."""
        if task.n_features > task.n_samples:
            return "not tried with more features than samples"
        return super().refuses(task)

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Make the path, then read these τ."""
        path = quantile_path(task.X, task.y, C=task.C, method="approximate", tol=tolerance)
        return [answer(task, path, tau) for tau in taus]


SOLVER = Approximate()
