"""The dual as a quadratic programme, for general solvers of these.

With θ = C u::

    minimise   C/2 |v|² - Σ p_i u_i,   v = Σ u_i z_i,   l_i ≤ u_i ≤ h_i   [Σ e_i u_i = 0]

where z_i = e_i (x_i, 1), or e_i x_i for a free intercept. With few features v stays in it as
unknowns of its own (`rows`), so that matrices are sparse; with a kernel the matrix of all z_i.z_j
(`gram`) takes its place.
"""

import numpy as np
from scipy import sparse
from task import Task

from solvers.base import Solver, with_ones

__all__ = ["QuadraticSolver", "bounds", "gram", "matrices", "rows", "target"]

# Matrices of all inner products beyond these take too long.
MOST_WITH_KERNEL = 1000


class QuadraticSolver(Solver):
    """A solver of quadratic programmes, which takes every task that is not too large."""

    tolerances = tuple(10.0**-k for k in range(2, 13))
    kinds = ("classification", "regression")
    kernels = ("linear", "rbf")
    intercepts = ("augmented", "free")
    most_samples = 20_000
    most_entries = 2e6

    def refuses(self, task: Task) -> str | None:
        """Return why this task is not for this solver, or None."""
        if task.kernel != "linear" and task.n_samples > MOST_WITH_KERNEL:
            return f"not tried beyond {MOST_WITH_KERNEL} samples with a kernel"
        return super().refuses(task)


def bounds(task: Task, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Return l and h."""
    ones = np.ones(task.n_samples)
    if task.kind == "regression":
        return (tau - 1.0) * ones, tau * ones
    return 0.0 * ones, np.where(task.y > 0.0, 2.0 * (1.0 - tau), 2.0 * tau)


def target(task: Task) -> np.ndarray:
    """Return p."""
    return task.y if task.kind == "regression" else np.ones(task.n_samples)


def rows(task: Task) -> sparse.csr_matrix:
    """Return z_i as rows."""
    X = task.X if task.intercept == "free" else with_ones(task.X)
    return sparse.csr_matrix(sparse.diags(task.sign) @ sparse.csr_matrix(X))


def gram(task: Task) -> np.ndarray:
    """Return all z_i.z_j."""
    from scipy.spatial.distance import cdist

    X = task.dense
    rbf = task.kernel == "rbf"
    inner = np.exp(-task.gamma * cdist(X, X, "sqeuclidean")) if rbf else X @ X.T
    if task.intercept == "augmented":
        inner += 1.0
    return np.outer(task.sign, task.sign) * inner


def matrices(
    task: Task,
) -> tuple[sparse.csc_matrix, np.ndarray, sparse.csc_matrix]:
    """Return P, c and A of: minimise 1/2 x'Px + c'x, Ax = 0, over x = (u, v)."""
    z = rows(task)
    n, d = z.shape
    P = sparse.block_diag(
        [sparse.csc_matrix((n, n)), task.C * sparse.eye(d, format="csc")], format="csc"
    )
    A = sparse.hstack([z.T, -sparse.eye(d)], format="csc")
    if task.intercept == "free":
        balance = sparse.csc_matrix(np.append(task.sign, np.zeros(d))[np.newaxis])
        A = sparse.vstack([A, balance], format="csc")
    return P, np.concatenate((-target(task), np.zeros(d))), A
