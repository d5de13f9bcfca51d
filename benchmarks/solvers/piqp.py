"""PIQP: a proximal interior point method; τ by τ, only the bounds are updated."""

from collections.abc import Sequence

import numpy as np
from task import Answer, Task

from solvers.base import Failed
from solvers.quadratic import QuadraticSolver, bounds, gram, matrices, target

MOST_STEPS = 500


class Piqp(QuadraticSolver):
    """Sparse matrices for the linear kernel, a dense one for others."""

    name = package = "PIQP"
    module = "piqp"

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Set up once."""
        import piqp

        n = task.n_samples
        if task.kernel == "linear":
            solver = piqp.SparseSolver()
            P, c, A = matrices(task)
        else:
            solver = piqp.DenseSolver()
            P, c = task.C * gram(task), -target(task)
            A = task.sign[np.newaxis] if task.intercept == "free" else None
        settings = solver.settings
        settings.eps_abs = settings.eps_rel = tolerance
        settings.eps_duality_gap_abs = settings.eps_duality_gap_rel = tolerance
        settings.max_iter = MOST_STEPS
        wide = np.full(len(c) - n, np.inf)
        answers = []
        for tau in taus:
            lower, upper = bounds(task, tau)
            box = {"x_l": np.append(lower, -wide), "x_u": np.append(upper, wide)}
            if answers:
                solver.update(**box)
            else:
                equal = {} if A is None else {"A": A, "b": np.zeros(A.shape[0])}
                solver.setup(P, c, **equal, **box)
            status = solver.solve()
            if status != piqp.PIQP_SOLVED:
                raise Failed(f"{status} at τ = {tau:g}, tolerance {tolerance:g}")
            answers.append(Answer(theta=task.C * np.asarray(solver.result.x)[:n]))
        return answers


SOLVER = Piqp()
