"""PPOPT: multiparametric quadratic programming, which finds all pieces of the path, too.

It solves its linear programmes with the Gurobi that pip installs, whose licence is for problems of
up to 2000 variables and constraints: enough here.
"""

import io
from collections.abc import Sequence
from contextlib import redirect_stdout

import numpy as np
from task import Answer, Task

from solvers.base import Failed, Path, Solver
from solvers.quadratic import gram, target


class Ppopt(Solver):
    """The geometric algorithm on the dual, with τ as the one parameter; for very few samples."""

    name = package = "PPOPT"
    module = "ppopt"
    tolerances = (0.0,)
    kernels = ("linear", "rbf")
    intercepts = ("augmented",)
    most_samples = 100
    follows = True

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Find all pieces, then look up these τ."""
        path = self.path(task)
        return [path.at(tau) for tau in taus]

    def path(self, task: Task) -> Path:
        """Find all pieces."""
        from ppopt.mp_solvers.solve_mpqp import mpqp_algorithm, solve_mpqp
        from ppopt.mpqp_program import MPQP_Program

        n, positive = task.n_samples, task.y > 0.0
        column = np.ones((n, 1))
        A = np.vstack((np.eye(n), -np.eye(n)))
        # u_i ≤ 2 - 2τ or 2τ, and -u_i ≤ 0
        b = np.vstack((np.where(positive, 2.0, 0.0)[:, np.newaxis], 0.0 * column))
        F = np.vstack((np.where(positive, -2.0, 2.0)[:, np.newaxis], 0.0 * column))
        ends = np.array([[1.0], [-1.0]]), np.array([[1.0], [0.0]])  # 0 ≤ τ ≤ 1
        with redirect_stdout(io.StringIO()):  # it tells of its progress
            program = MPQP_Program(
                A, b, -target(task)[:, np.newaxis], 0.0 * column, task.C * gram(task), *ends, F
            )
            found = solve_mpqp(program, mpqp_algorithm.geometric)

        def at(tau: float) -> Answer:
            u = found.evaluate(np.array([[tau]]))
            if u is None:
                raise Failed(f"no piece holds τ = {tau:g}")
            return Answer(theta=task.C * u[:, 0])

        return Path(len(found), at)


SOLVER = Ppopt()
