"""LIBLINEAR: dual coordinate descent on the hinge loss, 300 passes at most."""

from collections.abc import Sequence

from judge import Problem
from task import Answer, Task

from solvers.base import Solver
from taupath.reproduce.peers import Liblinear


class LiblinearOfficial(Solver):
    """The authors' own package, as the reproduction of the paper calls it."""

    name = "LIBLINEAR"
    package, module = "liblinear-official", "liblinear"

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Hand the data over once; no warm start is offered."""
        problem = Problem(task.X, task.y, 1.0 / (task.n_samples * task.C))
        peer = Liblinear(problem, taus, tolerance)
        return [Answer(w=peer.weights(peer.train(tau))) for tau in taus]


SOLVER = LiblinearOfficial()
