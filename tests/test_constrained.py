"""Paths with an L1 penalty and constraints: optimal by weak duality, feasible, zeros exact."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import lsq_linear

import taupath as tp
from real_data import CLASSIFICATION, load_dense

GAP, KKT = 1e-9, 1e-7


def judge(path, X, y, tau, C, l1=0.0, A=None, b=None, bias=1.0, weight=1.0):
    """Assert optimality of what the path shows at τ, from the data alone.

    Minimised is ½|w|² + l1 |coef|₁ + Σ h_i max(0, 1 - y_i f(x_i)) with A coef ≥ b. Any θ within
    [0, h], β within [-l1, l1] and μ ≥ 0 bound that from below by Σ θ + bᵀμ - ½|v + β + Aᵀμ|²,
    where v = Σ θ_i y_i z_i. β and μ are complementary ones that come nearest to the path's own w.
    """
    X = X.toarray() if sparse.issparse(X) else X
    sign, (n, d) = np.where(y == np.unique(y)[1], 1.0, -1.0), X.shape
    A, b = (np.zeros((0, d)), np.zeros(0)) if A is None else (np.asarray(A, float), np.asarray(b))
    h = 2.0 * C * weight * np.where(sign > 0.0, 1.0 - tau, tau)
    theta = n * C * path.alpha(tau)
    assert theta.shape == (n,) and np.all(theta >= 0.0) and np.all(theta <= h * (1 + 1e-13))
    coef, intercept = path.coef(tau), path.intercept(tau)
    w, Z = np.append(coef, intercept), np.column_stack((X, np.full(n, bias)))
    v = Z.T @ (sign * theta)
    penalised = np.eye(d, d + 1) if l1 else np.zeros((0, d + 1))
    rows = np.vstack((penalised, np.column_stack((A, np.zeros(len(A))))))
    low = np.append(np.full(len(penalised), -l1), np.zeros(len(A)))
    high = np.append(np.full(len(penalised), l1), np.full(len(A), np.inf))
    # complementarity: β = -l1 sign(w) unless w is zero, and μ = 0 unless the constraint is tight
    found = np.append(-l1 * np.sign(coef)[: len(penalised)], np.zeros(len(A)))
    tight = A @ coef - b <= 1e-9 * (1.0 + np.abs(A) @ np.abs(coef))
    open_now = np.append(coef[: len(penalised)] == 0.0, tight)
    if open_now.any():
        rest, box = w - v - rows.T @ found, (low[open_now], high[open_now])
        solved = lsq_linear(rows[open_now].T, rest, box, method="bvls", tol=1e-15).x
        found[open_now] = np.clip(solved, *box)
    margin = sign * (X @ coef + intercept)
    dual_point = v + rows.T @ found
    primal = 0.5 * w @ w + l1 * np.abs(coef).sum() + h @ np.maximum(0.0, 1.0 - margin)
    dual = theta.sum() + b @ found[len(penalised) :] - 0.5 * dual_point @ dual_point
    assert -1e-12 <= (primal - dual) / primal <= GAP
    assert np.all(A @ coef >= b - 1e-14 * (1.0 + np.abs(A) @ np.abs(coef)))
    room = 1e-10 * 2.0 * C * np.max(weight)
    assert np.max(np.where(theta < h - room, 1.0 - margin, 0.0), initial=0.0) <= KKT
    assert np.max(np.where(theta > room, margin - 1.0, 0.0), initial=0.0) <= KKT
    assert np.abs(w - dual_point).max() <= KKT * max(1.0, np.abs(w).max())
    assert path.duality_gap(tau) <= GAP and path.kkt_violation(tau) <= KKT


def problem(seed, n=60, d=6):
    """Return integers with many ties, columns that depend on each other, and copies of samples."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float)
    X[:, 1] = X[:, 0]
    X[:, 2] = 1.0 - X[:, 3]
    y = np.where(X[:, 0] + X[:, 3] + rng.standard_normal(n) > 0.0, 1, -1)
    return X, y, rng.uniform(0.02, 0.98, 5)


def signs_of(columns, direction, d):
    return direction * np.eye(d)[columns], np.zeros(len(columns))


@pytest.mark.parametrize("name", CLASSIFICATION)
@pytest.mark.parametrize("l1", [0.1, 5.0])
def test_l1_on_real_data(name, l1):
    folder = os.environ.get("TAUPATH_DATA")
    if not folder:
        pytest.skip("TAUPATH_DATA is not set")
    X, y = load_dense(name, Path(folder))
    path = tp.quantile_path(X, y, C=1.0, l1=l1)
    for tau in np.random.default_rng(0).uniform(size=5):
        judge(path, X, y, float(tau), 1.0, l1)
    assert path.certify(max_points=200).holds()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("l1", [1e-3, 0.5, 4.0])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_l1_where_rows_and_columns_tie(seed, l1, is_sparse):
    X, y, taus = problem(seed)
    path = tp.quantile_path(sparse.csr_array(X) if is_sparse else X, y, C=0.7, l1=l1)
    for tau in taus:
        judge(path, X, y, tau, 0.7, l1)
    assert path.certify().holds()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l1", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["nonnegative", "monotone", "bound", "equal", "fair", "several"])
def test_constraints_where_rows_and_columns_tie(seed, l1, kind):
    X, y, taus = problem(seed)
    group = np.random.default_rng(seed).integers(0, 2, len(y))
    covariance = (group - group.mean()) @ X / len(y)
    a = np.arange(1.0, 7.0)
    given, A, b = {
        "nonnegative": ([tp.NonNegative()], *signs_of(range(6), 1.0, 6)),
        "monotone": ([tp.Monotone([0, 3], -1)], *signs_of([0, 3], -1.0, 6)),
        "bound": ([tp.Bound(a, 0.5, 0.6)], [a, -a], [0.5, -0.6]),
        "equal": ([tp.Bound(a, 0.5, 0.5)], [a, -a], [0.5, -0.5]),
        "fair": ([tp.Fair(group, 0.01)], [covariance, -covariance], [-0.01, -0.01]),
        "several": (
            [tp.NonNegative([0]), tp.Bound(a, upper=1.0), tp.Fair(group)],
            [np.eye(6)[0], -a, covariance, -covariance],
            [0.0, -1.0, 0.0, 0.0],
        ),
    }[kind]
    path = tp.quantile_path(X, y, C=0.7, l1=l1, constraints=given)
    for tau in taus:
        if kind == "equal":  # met to rounding, from either side
            assert_allclose(a @ path.coef(tau), 0.5, rtol=1e-9)
            assert path.duality_gap(tau) <= GAP and path.kkt_violation(tau) <= KKT
        else:
            judge(path, X, y, tau, 0.7, l1, A, b)
    assert path.certify().holds()
