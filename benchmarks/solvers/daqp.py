"""DAQP: a dual active-set method; each τ begins with the active set of the one before."""

from collections.abc import Sequence

import numpy as np
from task import Answer, Task

from solvers.base import Failed
from solvers.quadratic import QuadraticSolver, bounds, gram, target

EQUALITY = 5
MOST_STEPS = 1_000_000


class Daqp(QuadraticSolver):
    """The matrix is dense, and singular for a linear kernel: DAQP regularises it by itself."""

    name = package = "DAQP"
    module = "daqp"
    tolerances = tuple(10.0**-k for k in range(3, 13, 3))
    most_samples = 1000

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Set up once, then update the bounds."""
        import daqp

        n, free = task.n_samples, task.intercept == "free"
        A = task.sign[np.newaxis] if free else np.zeros((0, n))
        sense = np.zeros(n + free, dtype=np.int32)
        sense[n:] = EQUALITY
        model, answers = daqp.Model(), []
        model.settings = {"primal_tol": tolerance, "iter_limit": MOST_STEPS}
        for tau in taus:
            lower, upper = (np.append(side, np.zeros(int(free))) for side in bounds(task, tau))
            if answers:
                status = model.update(bupper=upper, blower=lower)
            else:
                status, _ = model.setup(
                    task.C * gram(task), -target(task), np.ascontiguousarray(A), upper, lower, sense
                )
            if status < 0:
                raise Failed(f"set-up ended with {status} at τ = {tau:g}")
            x, _, status, _ = model.solve()
            if status < 0:
                raise Failed(f"exit flag {status} at τ = {tau:g}, tolerance {tolerance:g}")
            answers.append(Answer(theta=task.C * np.asarray(x)[:n]))
        return answers


SOLVER = Daqp()
