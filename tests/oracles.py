"""Outside solvers of the same problem at one tau, behind one small interface.

All of them solve, for labels y (the greater one positive) and x with a 1 appended::

    minimise  (1 / 2 lam) alpha' Q alpha - sum_i alpha_i,   0 <= alpha_i <= c_i(tau)
    Q_ij = y_i y_j z_i.z_j,   c_i = 2 (1 - tau) / n or 2 tau / n,   lam = 1 / (n C)

which is the paper's dual (8). ``alpha`` and ``objective`` are in this scale. Inside, the solvers
work with ``theta = alpha / lam``, whose box is [0, 2 C (1 - tau)] or [0, 2 C tau].
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import clarabel
import numpy as np
import numpy.typing as npt
import piqp
from scipy import sparse

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class OracleSolution:
    """A solution of the dual (8).

    Attributes
    ----------
    objective
        The value of (8) at alpha, negative.
    alpha
        The dual solution, put into its box.
    weights
        w = (1/lam) sum_i alpha_i y_i z_i, the bias last.
    """

    objective: float
    alpha: Array
    weights: Array


def dual_objective(X: Any, y: npt.ArrayLike, C: float, alpha: Array) -> float:
    """Return the value of (8) at alpha."""
    z, _ = _labelled_rows(X, y)
    lam = 1.0 / (len(z) * C)
    v = z.T @ alpha
    return float(v @ v / (2.0 * lam) - alpha.sum())


def piqp_dual(X: Any, y: npt.ArrayLike, C: float, tau: float) -> OracleSolution:
    """Solve with PIQP, a proximal interior point method, on the dense matrix Q."""
    z, positive = _labelled_rows(X, y)
    n = len(z)
    widest = 2.0 * C
    # Unknowns theta / 2C: boxes of unit size, objective divided by 2C.
    solver = piqp.DenseSolver()
    solver.settings.eps_abs = solver.settings.eps_rel = 1e-10
    solver.settings.eps_duality_gap_abs = solver.settings.eps_duality_gap_rel = 1e-10
    solver.settings.max_iter = 500
    upper = np.where(positive, 1.0 - tau, tau)
    solver.setup(widest * (z @ z.T), -np.ones(n), x_l=np.zeros(n), x_u=upper)
    status = solver.solve()
    assert status == piqp.PIQP_SOLVED, f"PIQP: {status}"
    return _solution(z, C, widest * np.clip(solver.result.x, 0.0, upper))


def clarabel_dual(X: Any, y: npt.ArrayLike, C: float, tau: float) -> OracleSolution:
    """Solve with Clarabel, a homogeneous interior point method, over theta and w = Z' theta."""
    z, positive = _labelled_rows(X, y)
    n, d = z.shape
    upper = 2.0 * C * np.where(positive, 1.0 - tau, tau)
    quadratic = sparse.block_diag([sparse.csc_matrix((n, n)), sparse.eye(d)], format="csc")
    linear = np.concatenate([-np.ones(n), np.zeros(d)])
    eye, none = sparse.eye(n), sparse.csc_matrix((n, d))
    rows = [[z.T, -sparse.eye(d)], [-eye, none], [eye, none]]
    constraints = sparse.bmat(rows, format="csc")
    right_side = np.concatenate([np.zeros(d), np.zeros(n), upper])
    cones = [clarabel.ZeroConeT(d), clarabel.NonnegativeConeT(2 * n)]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    solver = clarabel.DefaultSolver(
        sparse.triu(quadratic, format="csc"), linear, constraints, right_side, cones, settings
    )
    found = solver.solve()
    assert found.status == clarabel.SolverStatus.Solved, f"Clarabel: {found.status}"
    return _solution(z, C, np.clip(np.asarray(found.x)[:n], 0.0, upper))


def liblinear_objective(
    X: Any, y: npt.ArrayLike, C: float, tau: float, tolerance: float = 1e-3
) -> float:
    """Return the primal objective (3) that LIBLINEAR reaches: an upper bound of the optimum.

    In the paper's scale, so that minus the optimum of (8) is what it bounds.
    """
    from liblinear import liblinearutil

    z, positive = _labelled_rows(X, y)
    n = len(z)
    sign = np.where(positive, 1.0, -1.0)
    weights = f"-w1 {2.0 * (1.0 - tau)!r} -w-1 {2.0 * tau!r}"
    model = liblinearutil.train(
        sign, sparse.csr_matrix(X), f"-s 3 -B 1 -e {tolerance!r} -c {C!r} {weights} -q"
    )
    coef, bias = model.get_decfun(model.get_labels().index(1))
    w = np.append(coef, bias)
    upper = 2.0 * C * np.where(positive, 1.0 - tau, tau)
    primal = w @ w / 2.0 + upper @ np.maximum(0.0, 1.0 - z @ w)
    return float(primal / (n * C))


def _labelled_rows(X: Any, y: npt.ArrayLike) -> tuple[Array, npt.NDArray[np.bool_]]:
    """Return y_i z_i as dense rows, and which samples are positive."""
    labels = np.asarray(y)
    positive = labels == labels.max()
    dense = X.toarray() if sparse.issparse(X) else np.asarray(X, dtype=np.float64)
    z = np.column_stack([dense, np.ones(len(dense))])
    return np.where(positive, 1.0, -1.0)[:, None] * z, positive


def _solution(z: Array, C: float, theta: Array) -> OracleSolution:
    lam = 1.0 / (len(z) * C)
    w = z.T @ theta
    return OracleSolution(float(lam * (w @ w / 2.0 - theta.sum())), lam * theta, w)


# --- an example solved by hand -------------------------------------------------------------------

HAND_X = np.array([[1.0], [0.0]])
HAND_Y = np.array([1, -1])
HAND_LAM = 0.1
HAND_TAUS = np.array([0.0, 0.3, 0.8, 1.0])
HAND_SETS: list[tuple[list[int], list[int], list[int]]] = [
    ([1], [0], []),
    ([], [0, 1], []),
    ([0], [1], []),
]  # (L, M, R) after each kink


def hand_solution(tau: float) -> tuple[Array, float, float]:
    """Return (alpha, w, b) of two points, x = 1 (positive) and x = 0 (negative), lam = 1/10.

    With a 1 appended, y_i z_i are (1, 1) and (0, -1), so Q = [[2, -1], [-1, 1]], and n = 2 gives
    the boxes alpha_1 <= 1 - tau, alpha_2 <= tau. Write (a, b) for alpha. The gradient of (8) is::

        ( (2a - b) / lam - 1,  (b - a) / lam - 1 )

    Near tau = 0 the second point is in error, b = tau, and the first is on the margin,
    a = (lam + tau) / 2. The second gradient, (tau - lam) / (2 lam) - 1, reaches 0 at
    tau = 3 lam = 0.3. Then both are on the margin: b - a = lam, 2a - b = lam, so a = 2 lam,
    b = 3 lam, and nothing moves until the box of the first point closes in, 1 - tau = 2 lam at
    tau = 0.8. From there a = 1 - tau, and b = a + lam keeps the second point on the margin.
    The weight is a / lam, the bias (a - b) / lam.
    """
    if tau <= 0.3:
        alpha = np.array([(HAND_LAM + tau) / 2.0, tau])
    elif tau <= 0.8:
        alpha = np.array([2.0 * HAND_LAM, 3.0 * HAND_LAM])
    else:
        alpha = np.array([1.0 - tau, 1.0 - tau + HAND_LAM])
    return alpha, alpha[0] / HAND_LAM, (alpha[0] - alpha[1]) / HAND_LAM


def clarabel_primal(
    X: Any, y: npt.ArrayLike, upper: Array, l1: float = 0.0, A: Any = None, b: Any = None
) -> float:
    """Return the least ½|w|² + l1 |coef|₁ + upper · hinge losses with A coef ≥ b, by Clarabel.

    Unknowns are w = (coef, intercept), the losses, and the sizes of the weights.
    """
    z, _ = _labelled_rows(X, y)
    (n, d), k = z.shape, 0 if A is None else len(A)
    quadratic = sparse.block_diag([sparse.eye(d), sparse.csc_matrix((n + d - 1,) * 2)], "csc")
    linear = np.concatenate([np.zeros(d), upper, np.full(d - 1, l1)])
    coef, size = sparse.eye(d - 1, d), sparse.eye(d - 1)
    constraints = [
        [-z, -sparse.eye(n), None],  # loss ≥ 1 - margin
        [None, -sparse.eye(n), None],
        [coef, None, -size],
        [-coef, None, -size],
    ]
    right_side = [-np.ones(n), np.zeros(n + 2 * (d - 1))]
    if k:
        constraints.append([np.column_stack((-np.asarray(A, float), np.zeros(k))), None, None])
        right_side.append(-np.asarray(b, float))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_threads = 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-11
    right = np.concatenate(right_side)
    solver = clarabel.DefaultSolver(
        sparse.triu(quadratic, format="csc"),
        linear,
        sparse.csc_matrix(sparse.bmat(constraints)),
        right,
        [clarabel.NonnegativeConeT(len(right))],
        settings,
    )
    found = solver.solve()
    assert found.status in (clarabel.SolverStatus.Solved, clarabel.SolverStatus.AlmostSolved)
    return float(found.obj_val)
