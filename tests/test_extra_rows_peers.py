"""L1 penalties beside solvers of problems without the ridge, and extra rows on shared data."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import load_diabetes
from sklearn.linear_model import QuantileRegressor
from sklearn.preprocessing import scale

import taupath as tp
from extra_rows import judge, judge_regression, problem, signs_of
from oracles import clarabel_primal
from taupath.datasets import load_paper

# With C and l1 both so large, ½‖w‖² is next to nothing: what is left is loss and L1 penalty.
NO_RIDGE = 1e7


@pytest.fixture
def folder():
    if not os.environ.get("TAUPATH_DATA"):
        pytest.skip("TAUPATH_DATA is not set")
    return Path(os.environ["TAUPATH_DATA"])


@pytest.mark.parametrize("alpha", [0.003, 0.03, 0.1])
def test_sparse_quantiles_are_those_of_scikit_learn(alpha):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = scale(X), scale(y)
    n = len(y)
    path = tp.quantile_regression_path(X, y, C=NO_RIDGE, l1=NO_RIDGE * n * alpha)
    for tau in (0.13, 0.5, 0.82):
        theirs = QuantileRegressor(quantile=tau, alpha=alpha, solver="highs").fit(X, y)

        def objective(coef, intercept, tau=tau):
            r = y - X @ coef - intercept
            return np.maximum(tau * r, (tau - 1.0) * r).mean() + alpha * np.abs(coef).sum()

        own = objective(path.coef(tau), path.intercept(tau))
        assert_allclose(own, objective(theirs.coef_, theirs.intercept_), rtol=1e-7)
        assert path.n_nonzero(tau) == np.count_nonzero(np.abs(theirs.coef_) > 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_sparse_svms_are_those_of_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((50, 8))
    sign = np.where(X[:, 0] + rng.standard_normal(50) > 0.0, 1.0, -1.0)
    tau, l1 = 0.3, 1.0
    cost = 2.0 * np.where(sign > 0.0, 1.0 - tau, tau)
    # over w⁺, w⁻, b, and the losses
    Z = sign[:, np.newaxis] * X
    rows = np.hstack((-Z, Z, -sign[:, np.newaxis], -np.eye(50)))
    price = np.concatenate((np.full(16, l1), [0.0], cost))
    ends = [(0.0, None)] * 16 + [(None, None)] + [(0.0, None)] * 50
    best = linprog(price, A_ub=rows, b_ub=-np.ones(50), bounds=ends, method="highs")
    path = tp.quantile_path(X, sign, C=NO_RIDGE, l1=NO_RIDGE * l1)
    losses = np.maximum(0.0, 1.0 - sign * (X @ path.coef(tau) + path.intercept(tau)))
    own = cost @ losses + l1 * np.abs(path.coef(tau)).sum()
    assert_allclose(own, best.fun, rtol=1e-6)
    assert path.n_nonzero(tau) == np.count_nonzero(np.abs(best.x[:8] - best.x[8:16]) > 1e-9)


@pytest.mark.parametrize(
    ("name", "target"), [("Boston", "medv"), ("engel", "foodexp"), ("birthwt", "bwt")]
)
def test_regression_sets(name, target, folder):
    with (folder / "regression" / f"{name}.csv").open(encoding="utf-8") as lines:
        names, *rows = csv.reader(lines)
    table = {name: [row[k] for row in rows] for k, name in enumerate(names)}
    y = scale(np.array(table.pop(target), dtype=float))
    X = scale(np.array([table[name] for name in names if name in table and name], dtype=float).T)
    taus, d = np.random.default_rng(0).uniform(size=3), X.shape[1]
    path = tp.quantile_regression_path(X, y, C=1.0, l1=2.0)
    for tau in taus:
        judge_regression(path, X, y, float(tau), 1.0, 2.0)
    assert path.certify(max_points=100).holds()
    path = tp.quantile_regression_path(X, y, C=1.0, constraints=[tp.NonNegative()])
    for tau in taus:
        judge_regression(path, X, y, float(tau), 1.0, 0.0, *signs_of(range(d), 1.0, d))
    assert path.certify(max_points=100).holds()


@pytest.mark.parametrize(("name", "rows", "columns"), [("splice", 300, 804), ("spam", 200, 100)])
def test_parts_of_the_papers_sets(name, rows, columns, folder):
    data = load_paper(name, folder)
    X, y = data.X_train[:rows], data.y_train[:rows]
    if columns < X.shape[1]:  # those that occur most often
        counts = np.diff(sparse.csc_array(X).indptr)
        X = X[:, np.sort(np.argsort(-counts, kind="stable")[:columns])]
    X = X.toarray()
    path = tp.quantile_path(sparse.csr_array(X), y, C=1.0, l1=0.5)
    for tau in np.random.default_rng(0).uniform(size=2):
        judge(path, X, y, float(tau), 1.0, 0.5)
    assert path.certify(max_points=40).holds()
    assert 0 < path.n_nonzero(0.5) < columns
    path = tp.sparsity_path(sparse.csr_array(X), y, 0.3, 1.0)
    at = 0.1 * path.tau_range[1]
    judge(path, X, y, 0.3, 1.0, at, at=at)
    assert path.certify(max_points=40).holds()


@pytest.mark.parametrize("seed", range(4))
def test_degenerate_problems_have_the_objective_of_a_qp_solver(seed):
    X, y, taus = problem(seed)
    sign, C, l1 = np.where(y == 1, 1.0, -1.0), 3.0, 0.4
    group = np.arange(60) % 2
    a = (group - 0.5) @ X / 60
    rules = [tp.Fair(group, 0.02), tp.Monotone([4])]
    A, b = [a, -a, np.eye(6)[4]], [-0.02, -0.02, 0.0]
    path = tp.quantile_path(X, y, C, l1=l1, constraints=rules)
    for tau in taus:
        upper = 2.0 * C * np.where(sign > 0.0, 1.0 - tau, tau)
        coef, intercept = path.coef(tau), path.intercept(tau)
        losses = upper @ np.maximum(0.0, 1.0 - sign * (X @ coef + intercept))
        own = 0.5 * (coef @ coef + intercept**2) + l1 * np.abs(coef).sum() + losses
        assert_allclose(own, clarabel_primal(X, y, upper, l1, A, b), rtol=1e-7)
        judge(path, X, y, tau, C, l1, np.array(A), b)
