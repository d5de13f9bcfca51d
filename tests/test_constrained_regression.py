"""Quantile regression with an L1 penalty and with constraints: optimal by weak duality."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import load_diabetes

import taupath as tp
from extra_rows import judge_regression, signs_of

C = 2.0


def problem(seed, n=60):
    """Return integers with many ties, columns that depend on each other, y and its scale."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, 6)).astype(float)
    X[:, 1] = X[:, 0]
    X[:, 2] = 1.0 - X[:, 3]
    ties = X[:, 0] + X[:, 3] + rng.integers(-3, 4, n)
    y = [ties, 1000.0 + 50.0 * rng.standard_normal(n), 1e-3 * rng.standard_normal(n)][seed % 3]
    scale = float(np.median(np.abs(y - np.median(y))))
    return X, y, scale, np.append(rng.uniform(0.02, 0.98, 4), [0.001, 0.999])


def rules(kind, X, scale):
    """Return constraints, and A and b of A coef ≥ b."""
    group, a = np.arange(len(X)) % 3 == 0, np.arange(1.0, 7.0)
    covariance = (group - group.mean()) @ X / len(X)
    low, high, rho = 0.5 * scale, 0.6 * scale, 0.01 * scale
    return {
        "none": (None, None, None),
        "nonnegative": (tp.NonNegative(), *signs_of(range(6), 1.0, 6)),
        "monotone": (tp.Monotone([0, 3], -1), *signs_of([0, 3], -1.0, 6)),
        "bound": (tp.Bound(a, low, high), [a, -a], [low, -high]),
        "fair": (tp.Fair(group, rho), [covariance, -covariance], [-rho, -rho]),
    }[kind]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("kind", ["none", "nonnegative", "monotone", "bound", "fair"])
@pytest.mark.parametrize("l1", [0.0, 0.5])
def test_where_rows_and_columns_tie(seed, kind, l1):
    X, y, scale, taus = problem(seed)
    constraints, A, b = rules(kind, X, scale)
    path = tp.quantile_regression_path(X, y, C, l1=l1, constraints=constraints)
    for tau in taus:
        judge_regression(path, X, y, tau, C, l1, A, b)
    assert path.certify().holds()


@pytest.mark.parametrize("seed", range(3))
def test_without_an_intercept_and_with_weights(seed):
    X, y, scale, taus = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    constraints, A, b = rules("bound", X, scale)
    path = tp.quantile_regression_path(
        X, y, C, l1=0.3, constraints=constraints, intercept="none", sample_weight=weight
    )
    for tau in taus:
        judge_regression(path, X, y, tau, C, 0.3, A, b, 0.0, weight)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_diabetes(n_jobs):
    X, y = load_diabetes(return_X_y=True, scaled=False)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    path = tp.quantile_regression_path(X, y, C, l1=5.0, n_jobs=n_jobs)
    for tau in (0.1, 0.37, 0.5, 0.9):
        judge_regression(path, X, y, tau, C, 5.0)
    assert path.n_nonzero(0.5) < 10
    assert path.certify(max_points=200).holds()
    path = tp.quantile_regression_path(X, y, C, constraints=[tp.NonNegative()], n_jobs=n_jobs)
    for tau in (0.1, 0.37, 0.5, 0.9):
        judge_regression(path, X, y, tau, C, 0.0, *signs_of(range(10), 1.0, 10))
    assert path.certify(max_points=200).holds()


def test_targets_that_a_constant_fits():
    X, _, _, taus = problem(0)
    path = tp.quantile_regression_path(X, np.zeros(60), C, constraints=tp.Bound(np.ones(6), 1.0))
    for tau in taus:
        judge_regression(path, X, np.zeros(60), tau, C, 0.0, np.ones((1, 6)), [1.0])
    for given in ({"l1": 1.0}, {"constraints": [tp.NonNegative(), tp.Bound(np.ones(6), -1.0)]}):
        path = tp.quantile_regression_path(X, np.zeros(60), C, **given)
        assert path.n_nonzero(0.5) == 0 == path.duality_gap(0.5)
        assert path.certify().holds()
        assert not any(map(len, path.nonzero_ranges()))


def test_part_of_the_range():
    X, y, _, _ = problem(3)
    given = {"l1": 0.2, "constraints": [tp.NonNegative([0])]}
    whole = tp.quantile_regression_path(X, y, C, **given)
    part = tp.quantile_regression_path(X, y, C, tau_range=(0.3, 0.8), **given)
    for tau in (0.3, 0.44, 0.8):
        assert_allclose(part.coef(tau), whole.coef(tau), rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"l1": -1.0}, "l1 must lie between 0 and"),
        ({"l1": 1.0, "intercept": "free"}, "intercept='augmented' or 'none'"),
        ({"l1": 1.0, "kernel": "rbf"}, "for kernel='linear'"),
        ({"l1": 1.0, "method": "approximate"}, "for exact paths"),
        ({"constraints": [tp.Fair(np.ones(60))]}, "single value"),
        ({"constraints": [tp.NonNegative("age")]}, "'age' is a name, and X has none"),
    ],
)
def test_bad_input_is_named(given, message):
    X, y, _, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        tp.quantile_regression_path(X, y, **given)
