"""Clarabel: a homogeneous interior point method, set up for one τ after the other."""

from collections.abc import Sequence

import numpy as np
from scipy import sparse
from task import Answer, Task

from solvers.base import Failed
from solvers.quadratic import QuadraticSolver, bounds, gram, matrices, target


class Clarabel(QuadraticSolver):
    """Sparse matrices for the linear kernel, a full one for others."""

    name = package = "Clarabel"
    module = "clarabel"

    def grid(self, task: Task, taus: Sequence[float], tolerance: float) -> list[Answer]:
        """Make the matrices once."""
        import clarabel

        n = task.n_samples
        if task.kernel == "linear":
            P, c, A = matrices(task)
        else:
            P, c = sparse.csc_matrix(task.C * gram(task)), -target(task)
            A = sparse.csc_matrix(task.sign[np.newaxis] if task.intercept == "free" else (0, n))
        P = sparse.triu(P, format="csc")
        eye = sparse.eye(n, len(c))
        constraints = sparse.vstack([A, -eye, eye], format="csc")
        cones = [clarabel.NonnegativeConeT(2 * n)]
        if A.shape[0]:
            cones = [clarabel.ZeroConeT(A.shape[0]), *cones]
        settings = clarabel.DefaultSettings()
        settings.verbose, settings.max_threads = False, 1
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        answers = []
        for tau in taus:
            lower, upper = bounds(task, tau)
            right = np.concatenate((np.zeros(A.shape[0]), -lower, upper))
            found = clarabel.DefaultSolver(P, c, constraints, right, cones, settings).solve()
            if found.status not in (
                clarabel.SolverStatus.Solved,
                clarabel.SolverStatus.AlmostSolved,
            ):
                raise Failed(f"{found.status} at τ = {tau:g}, tolerance {tolerance:g}")
            answers.append(Answer(theta=task.C * np.asarray(found.x)[:n]))
        return answers


SOLVER = Clarabel()
