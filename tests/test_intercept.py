"""The free intercept: Σ y_i θ_i = 0, what LIBSVM solves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.datasets import load_breast_cancer
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

import taupath
from platforms import needs_extended_sums
from real_data import CLASSIFICATION, load_dense

pytestmark = pytest.mark.core
GAP, KKT = 1e-9, 1e-7


def blobs(n=60, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = np.where(X[:, 0] + 0.7 * rng.standard_normal(n) > 0.3, 1, -1)
    return X, y


def certified(path, points=400):
    found = path.certify(points)
    assert found.holds(GAP, KKT), found


def dual_objective(K, y, theta):
    signed = y * theta
    return theta.sum() - 0.5 * signed @ K @ signed


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("gamma", ["scale", 0.1, 10.0])
def test_agrees_with_libsvm_at_random_tau(C, gamma):
    X, y = blobs(120)
    path = taupath.quantile_path(X, y, C=C, kernel="rbf", gamma=gamma, intercept="free")
    used = 1.0 / (X.shape[1] * X.var()) if gamma == "scale" else gamma
    K = rbf_kernel(X, gamma=used)
    for tau in np.random.default_rng(1).uniform(size=20):
        weights = {1: 2.0 * (1.0 - tau), -1: 2.0 * tau}
        other = SVC(C=C, gamma=used, tol=1e-10, class_weight=weights).fit(X, y)
        theirs = np.zeros(len(y))
        theirs[other.support_] = np.abs(other.dual_coef_[0])
        ours = path.alpha(tau) * len(y) * C
        best = dual_objective(K, y, ours)
        assert abs(dual_objective(K, y, theirs) - best) <= 1e-7 * abs(best)
        assert_allclose(
            path.decision_function(X, tau), other.decision_function(X), atol=1e-5 * max(1.0, C)
        )


@pytest.mark.parametrize("kernel", ["linear", "rbf", "poly"])
def test_alphas_are_balanced_and_certified(kernel):
    X, y = blobs()
    path = taupath.quantile_path(X, y, C=3.0, kernel=kernel, intercept="free")
    certified(path)
    for tau in path.taus[::5]:
        assert abs(y @ path.alpha(tau)) <= 1e-14


def test_linear_kernel_is_the_same_precomputed():
    X, y = blobs()
    ours = taupath.quantile_path(X, y, C=2.0, intercept="free")
    other = taupath.quantile_path(X @ X.T, y, C=2.0, kernel="precomputed", intercept="free")
    for tau in (0.0, 0.01, 0.3, 0.5, 0.9, 1.0):
        assert_allclose(
            ours.decision_function(X, tau), other.decision_function(X @ X.T, tau), atol=1e-8
        )


def test_moving_all_samples_changes_the_intercept_only():
    X, y = blobs()
    path = taupath.quantile_path(X, y, C=2.0, intercept="free")
    moved = taupath.quantile_path(X + 5.0, y, C=2.0, intercept="free")
    for tau in (0.1, 0.5, 0.8):
        assert_allclose(moved.coef(tau), path.coef(tau), atol=1e-8)
        expected = path.intercept(tau) - 5.0 * path.coef(tau).sum()
        assert_allclose(moved.intercept(tau), expected, atol=1e-7)


def test_flipping_labels_mirrors_the_path():
    X, y = blobs()
    path = taupath.quantile_path(X, y, C=2.0, intercept="free")
    mirrored = taupath.quantile_path(X, -y, C=2.0, intercept="free")
    for tau in (0.05, 0.4, 0.75):
        assert_allclose(mirrored.coef(1.0 - tau), -path.coef(tau), atol=1e-8)
        assert_allclose(mirrored.intercept(1.0 - tau), -path.intercept(tau), atol=1e-8)


def test_a_part_of_the_path_is_the_same_as_in_the_whole():
    X, y = blobs()
    whole = taupath.quantile_path(X, y, C=2.0, intercept="free")
    for part in ((0.2, 0.4), (0.3, 0.8), (0.7, 1.0)):
        path = taupath.quantile_path(X, y, C=2.0, intercept="free", tau_range=part)
        for tau in np.linspace(*part, 7):
            assert_allclose(path.coef(tau), whole.coef(tau), atol=1e-8)


def test_weights_are_copies_and_absences():
    X, y = blobs(30)
    weight = np.random.default_rng(3).integers(0, 3, 30).astype(float)
    weighted = taupath.quantile_path(X, y, C=1.0, intercept="free", sample_weight=weight)
    copies = np.repeat(np.arange(30), weight.astype(int))
    copied = taupath.quantile_path(X[copies], y[copies], C=1.0, intercept="free")
    certified(weighted)
    for tau in (0.1, 0.5, 0.8):
        assert_allclose(weighted.coef(tau), copied.coef(tau), atol=1e-8)
        assert_allclose(weighted.intercept(tau), copied.intercept(tau), atol=1e-8)


def test_two_samples_by_hand():
    """x = -1 (label -1) and x = 1 (label 1), C = 1.

    Balance makes both θ the same, w = 2θ, and nothing is gained beyond w = 1: θ = ½. The boxes end
    at 2(1-τ) and 2τ, so θ = min(½, 2τ, 2(1-τ)). Up to τ = ¼ the positive sample is on the margin,
    w + b = 1; from ¾ on the negative one is, w - b = 1; between both are, and b = 0.
    """
    path = taupath.quantile_path([[-1.0], [1.0]], [-1, 1], C=1.0, intercept="free")
    for tau in (0.0, 0.1, 0.2, 0.3, 0.5, 0.6, 0.8, 0.95, 1.0):
        theta = min(0.5, 2.0 * tau, 2.0 * (1.0 - tau))
        assert_allclose(path.alpha(tau), [theta / 2.0, theta / 2.0], atol=1e-9)
        assert_allclose(path.coef(tau), [2.0 * theta], atol=1e-9)
        expected = 1.0 - 2.0 * theta if tau <= 0.5 else 2.0 * theta - 1.0
        assert_allclose(path.intercept(tau), expected, atol=1e-9)
    inner = path.taus[(path.taus > 1e-9) & (path.taus < 1.0 - 1e-9)]
    assert_allclose([inner.min(), inner.max()], [0.25, 0.75], atol=1e-9)
    certified(path)


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.8])
def test_path_over_C_agrees_with_the_path_over_tau(tau):
    X, y = blobs()
    over_C = taupath.regularization_path(X, y, tau, C_max=20.0, intercept="free")
    certified(over_C)
    for C in (0.05, 1.0, 7.0, 20.0):
        other = taupath.quantile_path(X, y, C=C, intercept="free")
        assert_allclose(over_C.coef(C), other.coef(tau), atol=1e-8)
        assert_allclose(over_C.intercept(C), other.intercept(tau), atol=1e-7)


def test_balanced_classes_over_C():
    X, y = blobs(40)
    y = np.where(np.arange(40) % 2, 1, -1)
    certified(taupath.regularization_path(X, y, C_max=50.0, intercept="free"))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_regression_is_equivariant_under_shifts(kernel):
    X, _ = blobs(50)
    y = X[:, 0] + np.random.default_rng(4).standard_normal(50)
    path = taupath.quantile_regression_path(X, y, C=5.0, kernel=kernel, intercept="free")
    moved = taupath.quantile_regression_path(X, y + 10.0, C=5.0, kernel=kernel, intercept="free")
    certified(path)
    certified(moved)
    for tau in (0.1, 0.5, 0.9):
        assert_allclose(
            moved.decision_function(X, tau), path.decision_function(X, tau) + 10.0, atol=1e-7
        )
        assert abs(path.alpha(tau).sum()) <= 1e-12
        share = (y < path.decision_function(X, tau) - 1e-9).mean()
        assert share <= tau + 1e-12  # at most τ of the samples lie below the τ-quantile
        assert (y <= path.decision_function(X, tau) + 1e-9).mean() >= tau - 1e-12


def test_real_data():
    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    certified(taupath.quantile_path(X, y, C=1.0, intercept="free"), 200)
    certified(taupath.quantile_path(X, y, C=10.0, kernel="rbf", intercept="free"), 100)


@needs_extended_sums
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("gamma", ["scale", 0.1, 10.0])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_rbf_on_real_data_is_certified(name, gamma, C, data_dir):
    X, y = load_dense(name, data_dir)
    given = {"kernel": "rbf", "gamma": gamma, "intercept": "free"}
    certified(taupath.quantile_path(X, y, C=C, **given), 60)
    certified(taupath.regularization_path(X, y, 0.3, C_max=C, **given), 30)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("name", CLASSIFICATION)
def test_linear_on_real_data_is_certified(name, C, data_dir):
    X, y = load_dense(name, data_dir)
    certified(taupath.quantile_path(X, y, C=C, intercept="free"), 400)
    certified(taupath.regularization_path(X, y, 0.3, C_max=C, intercept="free"), 200)


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_agrees_with_libsvm_on_real_data(name, data_dir):
    X, y = load_dense(name, data_dir)
    sign = np.where(y == y.max(), 1, -1)
    gamma, C = 1.0 / (X.shape[1] * X.var()), 1.0
    K = rbf_kernel(X, gamma=gamma)
    path = taupath.quantile_path(X, y, C=C, kernel="rbf", intercept="free")
    for tau in np.random.default_rng(2).uniform(size=20):
        weights = {1: 2.0 * (1.0 - tau), -1: 2.0 * tau}
        other = SVC(C=C, gamma=gamma, tol=1e-10, class_weight=weights).fit(X, sign)
        theirs = np.zeros(len(y))
        theirs[other.support_] = np.abs(other.dual_coef_[0])
        best = dual_objective(K, sign, path.alpha(tau) * len(y) * C)
        assert abs(dual_objective(K, sign, theirs) - best) <= 1e-7 * abs(best)


def check_small_problem(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 20)), int(rng.integers(1, 5))
    X = rng.integers(-2, 3, size=(n, d)).astype(float)
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    C = 10.0 ** rng.uniform(-2, 2)
    kernel = str(rng.choice(["linear", "rbf"]))
    job = int(rng.integers(3))
    if job == 0:
        path = taupath.quantile_path(X, y, C=C, kernel=kernel, intercept="free")
    elif job == 1:
        path = taupath.regularization_path(X, y, C_max=C, kernel=kernel, intercept="free")
    else:
        targets = rng.integers(-3, 4, size=n).astype(float)
        path = taupath.quantile_regression_path(X, targets, C=C, kernel=kernel, intercept="free")
    certified(path, 150)


@settings(max_examples=200)
@given(st.integers(0, 2**32 - 1))
def test_ties_and_duplicates(seed):
    check_small_problem(seed)


@pytest.mark.slow
@settings(max_examples=3000)
@given(st.integers(0, 2**32 - 1))
def test_many_ties_and_duplicates(seed):
    check_small_problem(seed)
