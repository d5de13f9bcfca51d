"""Kernel rows that are computed when they are needed."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from taupath._core._kernel_rows import CachedRows

import taupath
from taupath.paths import kernel_data

pytestmark = pytest.mark.core
N = 40
ROW = 8 * N / 1e6  # megabytes


@pytest.fixture
def data(monkeypatch):
    monkeypatch.setattr(kernel_data, "FEWEST_ROWS", 8)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 4))
    return X, np.where(X[:, 0] + 0.5 * rng.standard_normal(N) > 0.0, 1, -1)


@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("kept", [8, 35])
def test_gives_the_same_path_as_the_whole_matrix(data, intercept, kept):
    X, y = data
    settings = {"C": 5.0, "kernel": "rbf", "gamma": 0.7, "intercept": intercept}
    whole = taupath.quantile_path(X, y, **settings)
    path = taupath.quantile_path(X, y, **settings, cache_size=1.01 * kept * ROW)
    assert isinstance(path.data.rows, CachedRows)
    for tau in (0.0, 0.2, 0.5, 0.9):  # a row computed alone is rounded differently
        assert_allclose(path.alpha(tau), whole.alpha(tau), atol=1e-10)
        assert_allclose(path.decision_function(X, tau), whole.decision_function(X, tau), atol=1e-8)
    assert path.certify(50).holds()


def test_regression_and_precomputed_kernels_too(data):
    X, _ = data
    y = X[:, 0] + np.sin(3.0 * X[:, 1])
    K = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    whole = taupath.quantile_regression_path(K, y, C=2.0, kernel="precomputed")
    path = taupath.quantile_regression_path(
        K, y, C=2.0, kernel="precomputed", cache_size=15.1 * ROW
    )
    assert isinstance(path.data.rows, CachedRows)
    assert_array_equal(path.taus, whole.taus)
    assert path.data.rows.n_computed > N
    assert path.certify(50).holds()


def test_rows_that_fit_are_computed_once():
    rng = np.random.default_rng(1)
    B = rng.standard_normal((20, 30))
    Q = B @ B.T
    asked = []

    def source(i):
        asked.append(i)
        return Q[i]

    rows = CachedRows(source, Q.diagonal().copy(), np.ones(20, dtype=np.int8), 0.0, False, 20)
    theta = rng.standard_normal(20)
    for _ in range(3):
        assert_allclose(rows.combine(theta), Q @ theta, atol=1e-12)
    assert sorted(asked) == list(range(20))
    few = CachedRows(source, Q.diagonal().copy(), np.ones(20, dtype=np.int8), 0.0, False, 3)
    assert_allclose(few.combine(theta), Q @ theta, atol=1e-12)


def test_an_error_in_a_users_kernel_reaches_the_user(data):
    X, y = data
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 60:
            raise RuntimeError("no more")
        return np.exp(-((A[:, np.newaxis] - B) ** 2).sum(axis=2))

    with pytest.raises(RuntimeError, match="no more"):
        taupath.quantile_path(X, y, C=5.0, kernel=kernel, cache_size=10.1 * ROW)


def test_too_small_a_budget_says_what_is_needed():
    X = np.random.default_rng(0).standard_normal((300, 2))
    y = np.where(X[:, 0] > 0.0, 1, 0)
    with pytest.raises(ValueError, match=r"cache_size=0.1 .* holds 41 rows .* 0.24"):
        taupath.quantile_path(X, y, kernel="rbf", cache_size=0.1)
    with pytest.raises(ValueError, match="cache_size must be finite and above 0"):
        taupath.quantile_path(X, y, kernel="rbf", cache_size=0.0)


def test_a_row_that_failed_once_is_computed_again():
    K = np.cov(np.random.default_rng(5).normal(size=(6, 20)))
    failing = [True]

    def source(i):
        if failing:
            failing.pop()
            raise KeyboardInterrupt
        return K[i]

    rows = CachedRows(source, K.diagonal().copy(), np.ones(6, dtype=np.int8), 0.0, False, 4)
    theta = np.eye(6)[2]
    rows.combine(theta)
    with pytest.raises(KeyboardInterrupt):
        rows.check()
    assert_array_equal(rows.combine(theta), K[2])
    rows.check()


def test_rows_of_free_points_are_kept_however_many_they_are(monkeypatch):
    """Every step needs them: without room for all of them, it would compute all of them again."""
    monkeypatch.setattr(kernel_data, "FEWEST_ROWS", 8)
    rng = np.random.default_rng(0)
    n = 200
    X = rng.standard_normal((n, 6))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n)
    given = {"C": 1.0, "kernel": "rbf", "gamma": 0.5, "tau_range": (0.45, 0.5)}
    computed = {}
    for kept in (40, 150):
        size = 1.001 * kept * 8e-6 * n
        path = taupath.quantile_regression_path(X, y, **given, cache_size=size)
        rows, max_free = path.data.rows, path.counters["max_free"]
        assert 80 < max_free < 120
        assert rows.n_slots == 150 or max_free + 16 <= rows.n_slots <= 1.25 * max_free + 16
        computed[kept] = rows.n_computed
    # it took ten times as many when the cache had no room for the free points
    assert computed[40] < 1.5 * computed[150]


def test_a_scan_of_all_rows_leaves_those_of_free_points_where_they_are():
    B = np.random.default_rng(2).standard_normal((200, 220))
    Q, asked = B @ B.T, []

    def source(i):
        asked.append(i)
        return Q[i]

    rows = CachedRows(source, Q.diagonal().copy(), np.ones(200, dtype=np.int8), 0.0, False, 10)
    free = np.arange(0, 120, 2, dtype=np.int32)
    assert_allclose(rows.gram(free), np.tril(Q[np.ix_(free, free)]), rtol=1e-15)
    assert 60 + 16 <= rows.n_slots < 200
    theta = np.random.default_rng(3).standard_normal(200)
    asked.clear()
    assert_allclose(rows.combine(theta), Q @ theta, atol=1e-9)
    assert sorted(asked) == sorted(set(range(200)) - set(free.tolist()))
    asked.clear()
    rows.combine(theta[:60], free)
    assert asked == []
