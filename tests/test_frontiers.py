"""Paths over an L1 penalty and over fairness: optimal by weak duality and against a QP solver."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import taupath as tp
from extra_rows import judge, problem
from oracles import clarabel_primal
from real_data import CLASSIFICATION, load_dense

TAU = 0.3
# An interior point method reaches about this part of the objective.
BY_QP = 1e-7


def primal(path, X, y, at, C, l1=0.0):
    """Return the objective of what a path shows, from the data alone, and the costs of losses."""
    sign = np.where(y == np.unique(y)[1], 1.0, -1.0)
    upper = 2.0 * C * np.where(sign > 0.0, 1.0 - TAU, TAU)
    coef, intercept = path.coef(at), path.intercept(at)
    losses = upper @ np.maximum(0.0, 1.0 - sign * (X @ coef + intercept))
    return 0.5 * (coef @ coef + intercept**2) + l1 * np.abs(coef).sum() + losses, upper


def both_sides(group, X):
    """Return A of |cov(group, f)| ≤ ρ as A coef ≥ -ρ."""
    a = (group - group.mean()) @ X / len(X)
    return np.stack((a, -a))


@pytest.mark.parametrize("name", CLASSIFICATION)
@pytest.mark.parametrize("C", [0.1, 10.0])
def test_frontiers_of_real_data(name, C):
    folder = os.environ.get("TAUPATH_DATA")
    if not folder:
        pytest.skip("TAUPATH_DATA is not set")
    X, y = load_dense(name, Path(folder))
    rng = np.random.default_rng(0)
    path = tp.sparsity_path(X, y, TAU, C)
    end = path.tau_range[1]
    for k, at in enumerate(end * rng.uniform(size=4) ** 3):
        judge(path, X, y, TAU, C, at, at=at)
        if k == 0 and len(y) < 1000:
            found, upper = primal(path, X, y, at, C, at)
            assert_allclose(found, clarabel_primal(X, y, upper, at), rtol=BY_QP)
    assert path.n_nonzero(end) == 0 < path.n_nonzero(0.9 * end) <= path.n_nonzero(0.0)
    assert path.certify(max_points=100).holds()
    group = X.sum(axis=1) > X.sum(axis=1).mean()
    path, A = tp.fairness_path(X, y, group, TAU, C), both_sides(group, X)
    for k, at in enumerate(path.tau_range[1] * rng.uniform(size=4)):
        judge(path, X, y, TAU, C, 0.0, A, [-at, -at], at=at)
        if k == 0 and len(y) < 1000:
            found, upper = primal(path, X, y, at, C)
            assert_allclose(found, clarabel_primal(X, y, upper, 0.0, A, [-at, -at]), rtol=BY_QP)
    assert path.certify(max_points=100).holds()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("is_sparse", [False, True])
def test_sparsity_where_rows_and_columns_tie(seed, is_sparse):
    X, y, parts = problem(seed)
    path = tp.sparsity_path(sparse.csr_array(X) if is_sparse else X, y, TAU, 0.7)
    end = path.tau_range[1]
    for at in end * np.append(parts, [0.0, 1e-3, 1.0]):
        judge(path, X, y, TAU, 0.7, at, at=at)
        found, upper = primal(path, X, y, at, 0.7, at)
        assert_allclose(found, clarabel_primal(X, y, upper, at), rtol=BY_QP)
    assert path.n_nonzero(end) == 0 < path.n_nonzero(0.99 * end)
    assert path.certify().holds()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_fairness_where_rows_and_columns_tie(seed, l1):
    X, y, parts = problem(seed)
    group = np.random.default_rng(seed).integers(0, 2, len(y))
    path, A = tp.fairness_path(X, y, group, TAU, 0.7, l1=l1), both_sides(group, X)
    for at in path.tau_range[1] * np.append(parts, [0.0, 1e-3, 1.0]):
        judge(path, X, y, TAU, 0.7, l1, A, [-at, -at], at=at)
        found, upper = primal(path, X, y, at, 0.7, l1)
        by_qp = clarabel_primal(X, y, upper, l1, A, [-at, -at])
        assert_allclose(found, by_qp, rtol=BY_QP)
        assert_allclose(np.abs(A[0] @ path.coef(at)), at, rtol=0, atol=1e-12)
    assert path.certify().holds()


@pytest.mark.parametrize("seed", range(3))
def test_frontiers_with_constraints_and_weights(seed):
    X, y, parts = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    rules = [tp.Monotone(3, 1), tp.Bound(np.ones(6), lower=0.1)]
    A, b = np.stack((np.eye(6)[3], np.ones(6))), [0.0, 0.1]
    given = {"constraints": rules, "intercept": "none", "sample_weight": weight}
    path = tp.sparsity_path(X, y, TAU, 0.7, l1_max=5.0, **given)
    assert path.tau_range == (0.0, 5.0)
    for at in 5.0 * parts:
        judge(path, X, y, TAU, 0.7, at, A, b, 0.0, weight, at=at)
    group = X[:, 4] + X[:, 0]
    path = tp.fairness_path(X, y, group, TAU, 0.7, **given)
    share = weight / weight.sum()
    a = (share * (group - share @ group)) @ X
    for at in path.tau_range[1] * parts:
        judge(path, X, y, TAU, 0.7, 0.0, [*A, a, -a], [*b, -at, -at], 0.0, weight, at=at)


def test_ends_are_those_of_other_paths():
    X, y, _ = problem(2)
    path = tp.sparsity_path(X, y, TAU, 0.7)
    plain = tp.quantile_path(X, y, C=0.7)
    assert_allclose(path.coef(0.0), plain.coef(TAU), rtol=0, atol=1e-9)
    assert_allclose(path.coef(1.2), tp.quantile_path(X, y, C=0.7, l1=1.2).coef(TAU), atol=1e-9)
    group = np.arange(len(y)) % 2
    path = tp.fairness_path(X, y, group, TAU, 0.7)
    assert_allclose(path.coef(path.tau_range[1]), plain.coef(TAU), rtol=0, atol=1e-9)
    at = 0.5 * path.tau_range[1]
    fair = tp.quantile_path(X, y, C=0.7, constraints=[tp.Fair(group, at)])
    assert_allclose(path.coef(at), fair.coef(TAU), rtol=0, atol=1e-9)


def test_they_have_the_face_of_other_paths():
    X, y, _ = problem(4)
    path = tp.sparsity_path(X, y, TAU, 0.7)
    assert path.tau == TAU and path.C == 0.7 and path.method == "exact"
    assert "sparsity" in repr(path) and "kinks over λ₁ in [0, " in repr(path)
    again = pickle.loads(pickle.dumps(path))
    assert_array_equal(again.coef(1.0), path.coef(1.0))
    columns = path.decision_function(X, [0.5, 1.0])
    assert_array_equal(columns[:, 1], path.decision_function(X, 1.0))
    for kinks, coef in path.coefficients_at_nodes():
        assert_allclose(coef, [path.coef(at) for at in kinks], rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="l1 must lie in the walked range"):
        path.coef(-1.0)
    group = np.arange(len(y)) % 2
    path = tp.fairness_path(X, y, group, TAU, 0.7)
    assert "fairness" in repr(path) and "over ρ in [0, " in repr(path)
    costs = [path.solutions.measure(at).primal for at in path.taus]
    assert np.all(np.diff(costs) <= 1e-12 * costs[0])  # freedom costs nothing
    assert_array_equal(np.sort(np.concatenate(path.index_sets(0.0))), np.arange(len(y)))
    with pytest.raises(ValueError, match="rho must lie in the walked range"):
        path.coef(2.0 * path.tau_range[1])


def test_features_without_content_stay_at_zero():
    X, y, _ = problem(0)
    path = tp.sparsity_path(np.zeros_like(X), y, TAU)
    assert path.n_nonzero(0.0) == 0
    assert path.certify().holds()


@pytest.mark.parametrize(
    ("over", "given", "message"),
    [
        ("l1", {"tau": 0.0}, "tau must lie strictly between 0 and 1"),
        ("l1", {"tau": np.nan}, "tau must"),
        ("l1", {"C": -1.0}, "C must"),
        ("l1", {"l1_max": 0.0}, "l1_max must be"),
        ("l1", {"l1_max": np.nan}, "l1_max must be"),
        ("l1", {"intercept": "free"}, "intercept='augmented' or 'none'"),
        ("l1", {"constraints": [tp.NonNegative()]}, "give l1_max"),
        ("rho", {"tau": 1.0}, "tau must lie strictly between 0 and 1"),
        ("rho", {"l1": -1.0}, "l1 must lie between 0 and"),
        ("rho", {"group": np.ones(60)}, "single value"),
        ("rho", {"group": np.ones(3)}, "X has 60 rows"),
        ("rho", {"group": np.append(np.nan, np.ones(59))}, "missing or not finite"),
        ("rho", {"X": np.ones((60, 2))}, "no feature varies with group"),
        (
            "rho",
            {"X": np.eye(60)[:, :1], "group": np.eye(60)[0], "constraints": [tp.Bound([1], 1)]},
            "contradicts those before it",
        ),
        ("rho", {"l1": 1e6}, "zero already"),
    ],
)
def test_bad_input_is_named(over, given, message):
    X, y, _ = problem(0)
    group = np.arange(len(y)) % 2
    arguments = {"X": X, "y": y} | ({"group": group} if over == "rho" else {}) | given
    follow = {"l1": tp.sparsity_path, "rho": tp.fairness_path}[over]
    with pytest.raises((ValueError, TypeError), match=message):
        follow(**arguments)


@pytest.mark.parametrize(
    ("scale", "C"), [(1e-6, 1.0), (1e-3, 1.0), (1.0, 1e-8), (1.0, 1.0), (1e3, 1.0)]
)
def test_no_feature_is_left_where_a_path_over_l1_ends(scale, C):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = scale * rng.standard_normal((20, 2))
        y = np.where(X[:, 0] + scale * rng.standard_normal(20) > 0.0, 1, -1)
        path = tp.sparsity_path(X, y, C=C)
        assert path.n_nonzero(path.tau_range[1]) == 0
        assert path.certify().holds()


def test_a_path_over_l1_can_end_at_once():
    rng = np.random.default_rng(5)
    X = 1e-3 * rng.standard_normal((20, 2))
    y = np.where(X[:, 0] + 1e-3 * rng.standard_normal(20) > 0.0, 1, -1)
    path = tp.sparsity_path(X, y)
    assert path.n_nonzero(0.0) == 0 and path.tau_range[1] > 0.0


def test_no_feature_is_left_at_the_end_if_all_samples_are_in_error_until_then():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3)) * [1e3, 1.0, 10.0]
    y = np.where(rng.standard_normal(20) > 0.0, 1, -1)
    X[:, 0] = y * np.abs(X[:, 0])  # then the penalty must outweigh all of them together
    for C in (0.1, 1.0, 100.0):
        path = tp.sparsity_path(X, y, TAU, C, intercept="none")
        assert path.n_nonzero(path.tau_range[1]) == 0 < path.n_nonzero(0.999 * path.tau_range[1])
