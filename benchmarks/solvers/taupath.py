"""taupath: the whole exact path, then any τ off it."""

from collections.abc import Sequence

from objective import follow
from task import Answer, Task

from solvers.base import Path, Solver
from taupath import SolutionPath
from taupath.reproduce.measuring import work


class Taupath(Solver):
    """`quantile_path` and `quantile_regression_path`, as they come."""

    name = "taupath"
    package = module = "taupath"
    tolerances = (0.0,)
    kinds = ("classification", "regression")
    kernels = ("linear", "rbf")
    intercepts = ("augmented", "free")
    follows = True

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Follow the path, then recover these τ."""
        path = follow(task)
        return [answer(task, path, tau) for tau in taus]

    def path(self, task: Task) -> Path:
        """Follow the path."""
        found = follow(task)
        return Path(found.n_kinks - 1, lambda tau: answer(task, found, tau), work(found).mean_free)


def answer(task: Task, path: SolutionPath, tau: float) -> Answer:
    """Return θ at one τ."""
    scale = task.n_samples * task.C if task.kind == "classification" else 1.0
    return Answer(theta=scale * path.alpha(tau))


SOLVER = Taupath()
