"""Approximate paths: their certificate holds for every τ, and their face is that of exact ones."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import problems
import taupath
from approximation import Job, assert_bounded
from taupath.approximate import descent
from taupath.datasets import load_classification

INTERCEPTS = ["augmented", "none", "free"]


def overlapping(n: int = 300, d: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, np.where(X[:, 0] + rng.standard_normal(n) > 0.0, 1, -1)


def classification(intercept: str = "augmented", C: float = 1.0, **kw: Any) -> Job:
    return Job(*overlapping(**kw), C=C, intercept=intercept)


def regression(intercept: str = "augmented", C: float = 1.0, n: int = 200) -> Job:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3))
    y = X[:, 0] + (0.5 + np.abs(X[:, 1])) * rng.standard_normal(n)
    return Job(X, y, C=C, intercept=intercept, regression=True)


def wide(
    intercept: str = "augmented", C: float = 1.0, n: int = 60, regression: bool = False
) -> Job:
    rng = np.random.default_rng(2)
    X = rng.standard_normal((n, 4 * n)) / np.sqrt(n)
    y = X[:, 0] + X[:, 1] + 0.3 * rng.standard_normal(n)
    return Job(X, y if regression else np.sign(y), C, None, intercept, regression)


def degenerate(kind: str, labels: str, weights: str, log10_C: float, intercept: str) -> Job:
    made = problems.make_problem(kind, labels, weights, 7, 40, 3, log10_C)
    return Job(made.X, made.y, made.C, made.weight, intercept)


# --- the certificate -----------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("tol", [1e-1, 1e-2, 1e-3])
@pytest.mark.parametrize("make", [classification, regression])
def test_no_gap_exceeds_the_certificate_nor_that_the_tolerance(make, tol, intercept):
    job = make(intercept)
    path = job.path(method="approximate", tol=tol)
    worst = assert_bounded(job, path)
    assert path.certify().worst_gap <= tol
    assert worst >= 0.2 * tol  # nodes are not wasted


@pytest.mark.parametrize("make", [classification, regression])
def test_true_suboptimality_stays_below_the_certificate(make):
    job = make()
    exact, path = job.path(), job.path(method="approximate", tol=1e-3)
    bound = path.certify().worst_gap
    for tau in np.random.default_rng(3).uniform(0.0, 1.0, 500):
        optimum = (
            job.dual(tau, exact.alpha(tau)),
            job.primal(tau, exact.coef(tau), exact.intercept(tau)),
        )
        too_high = job.primal(tau, path.coef(tau), path.intercept(tau)) - optimum[0]
        too_low = optimum[1] - job.dual(tau, path.alpha(tau))
        assert -1e-9 * job.rest() <= too_high <= bound * job.rest()
        assert -1e-9 * job.rest() <= too_low <= bound * job.rest()


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize(
    ("kind", "labels", "weights", "log10_C"),
    [
        ("duplicates", "contradictory", "no_weight", 0.0),
        ("duplicates", "contradictory", "weight_with_zeros", 3.0),
        ("cube", "coin", "weight_with_zeros", 0.0),
        ("lattice", "separable", "random_weight", 4.0),
        ("gaussian", "coin", "weight_with_tiny_ones", -4.0),
        ("equal_rows", "coin", "no_weight", 1.0),
        ("zero_rows", "coin", "weight_with_zeros", 2.0),
        ("on_a_line", "one_of_a_class", "no_weight", 1.0),
        ("more_columns_than_rows", "one_of_a_class", "no_weight", 2.0),
        ("constant_columns", "separable", "random_weight", -2.0),
    ],
)
def test_degenerate_problems_are_certified(kind, labels, weights, log10_C, intercept):
    job = degenerate(kind, labels, weights, log10_C, intercept)
    path = job.path(method="approximate", tol=1e-3)
    assert_bounded(job, path, 100)
    assert path.certify().worst_gap <= 1e-3


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1e3, 1e6])
def test_any_C_is_certified(C):
    job = classification(C=C, n=60)
    assert_bounded(job, job.path(method="approximate", tol=1e-3))


def test_one_row_of_each_class_is_certified():
    job = Job(np.array([[1.0], [-2.0]]), np.array([1, -1]))
    assert_bounded(job, job.path(method="approximate", tol=1e-4))


# --- more features than samples ------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("regression", [False, True])
def test_wide_data_are_certified_for_every_tau(intercept, C, regression):
    job = wide(intercept, C, regression=regression)
    path = job.path(method="approximate", tol=1e-3)
    assert ("passes" in path.counters) == (intercept != "free")
    assert_bounded(job, path)
    assert path.certify().worst_gap <= 1e-3


@pytest.mark.parametrize("clothes", ["float32", "sparse", "sparse float32"])
def test_wide_data_may_be_stored_in_any_way(clothes):
    job = wide()
    X = job.X.astype(np.float32)
    job = Job(X.astype(float), job.y)
    given = X if "float32" in clothes else job.X
    given = sparse.csr_matrix(given) if "sparse" in clothes else given
    path = job.path(given, method="approximate", tol=1e-3)
    assert "passes" in path.counters
    assert_bounded(job, path, 100)
    assert_allclose(
        path.decision_function(given, 0.3), job.X @ path.coef(0.3) + path.intercept(0.3)
    )


def test_wide_data_with_copies_zeros_and_weights_are_certified():
    job = wide()
    X, rng = job.X.copy(), np.random.default_rng(0)
    X[:5] = 0.0
    X[5:15], y = X[15:25], job.y.copy()
    y[5:15] = -y[15:25]
    job = Job(X, y, 10.0, rng.choice([0.0, 0.5, 3.0], len(y)), "none")
    path = job.path(method="approximate", tol=1e-3)
    assert_bounded(job, path)
    assert path.certify().holds()


def test_a_descent_that_takes_too_long_gives_way_to_newtons_method(monkeypatch):
    monkeypatch.setattr(descent, "MAX_PASSES", 3)
    job = wide()
    path = job.path(method="approximate", tol=1e-3)
    assert "newton_steps" in path.counters
    assert_bounded(job, path, 100)


def test_a_simplified_wide_path_holds():
    job = wide()
    path = job.path(method="approximate", tol=1e-4)
    fewer = path.simplify(1e-2)
    assert fewer.n_kinks < path.n_kinks
    assert_bounded(job, fewer, 100)


@pytest.mark.core
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("make", [classification, regression])
@pytest.mark.parametrize("kept", [[0, -1], [0, 3, -1], [0, 1, 2, -5, -1]])
def test_few_nodes_cannot_break_the_certificate(make, intercept, kept):
    """On long chords nearly all margins pass their target on the way."""
    job = make(intercept)
    path = job.path(method="approximate", tol=1e-3)
    coarse = taupath.SolutionPath(path.solutions.take(np.arange(len(path.taus))[kept], tol=1.0))
    worst = assert_bounded(job, coarse)
    bound = coarse.certify().worst_gap
    assert worst > 1e-3  # there is something to bound
    assert bound <= 1.1 * worst  # and the bound is no idle one


@pytest.mark.parametrize("seed", range(20))
def test_random_chords_cannot_break_the_certificate(seed):
    rng = np.random.default_rng(seed)
    kind = rng.choice(["gaussian", "duplicates", "cube", "zero_rows", "on_a_line"])
    weights = rng.choice(["no_weight", "weight_with_zeros", "weight_with_tiny_ones"])
    intercept = str(rng.choice(INTERCEPTS))
    job = degenerate(str(kind), "coin", str(weights), rng.uniform(-3.0, 4.0), intercept)
    path = job.path(method="approximate", tol=1e-2)
    kept = np.flatnonzero(rng.random(len(path.taus)) < 0.3)
    kept = np.unique(np.concatenate(([0], kept, [len(path.taus) - 1])))
    assert_bounded(job, taupath.SolutionPath(path.solutions.take(kept, 1.0)), 200)


def test_the_gap_of_the_path_is_the_judge_s():
    job = classification()
    path = job.path(method="approximate", tol=1e-2)
    for tau in (0.0, 0.3, float(path.taus[2]), 1.0):
        assert_allclose(path.duality_gap(tau), job.gap(path, tau), rtol=1e-9, atol=1e-12)


def test_a_smaller_tolerance_takes_more_nodes():
    job = classification()
    sizes = [job.path(method="approximate", tol=tol).n_kinks for tol in (1e-1, 1e-2, 1e-3, 1e-4)]
    assert sizes == sorted(sizes)
    assert sizes[-1] >= 4 * sizes[0]


def test_a_part_of_the_range_is_enough():
    job = classification()
    path = job.path(method="approximate", tau_range=(0.2, 0.4))
    assert path.tau_range == (0.2, 0.4)
    assert_bounded(job, path)


def test_many_features_are_certified():
    """More than are factored: by conjugate gradients."""
    job = classification(n=150, d=700, C=0.1)
    assert_bounded(job, job.path(method="approximate", tol=1e-3), 50)


# --- storage -------------------------------------------------------------------------------------


@pytest.mark.core
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("store", [np.ascontiguousarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_rows_are_used_where_they_lie(store, dtype, intercept):
    job = classification(intercept)
    X = store(job.X.astype(dtype))
    path = job.path(X, method="approximate", tol=1e-3)
    kept = path.data.X
    given, stored = (X, kept) if isinstance(X, np.ndarray) else (X.data, kept.data)
    assert stored.dtype == dtype
    assert np.shares_memory(given, stored)
    rounded = Job(job.X.astype(dtype).astype(float), job.y, intercept=intercept)
    assert_bounded(rounded, path, 100)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_dense_and_sparse_make_the_same_path(dtype):
    job = classification()
    X = np.where(np.abs(job.X) < 1.0, 0.0, job.X).astype(dtype)
    dense = job.path(X, method="approximate")
    other = job.path(sparse.csr_array(X), method="approximate")
    assert_allclose(other.taus, dense.taus, rtol=1e-6)
    assert_allclose(other.coef(0.3), dense.coef(0.3), rtol=1e-6, atol=1e-9)


def test_a_sparse_matrix_without_entries_is_no_problem():
    X = sparse.csr_array((6, 3))
    path = taupath.quantile_path(X, [0, 1, 0, 1, 1, 1], method="approximate")
    assert path.certify().worst_gap <= 1e-3


def test_what_is_kept_does_not_grow_with_the_samples():
    small = Job(*overlapping(500)).path(method="approximate")
    large = Job(*overlapping(5000), C=0.1).path(method="approximate")
    per_node = [path.nbytes / path.n_kinks for path in (small, large)]
    assert per_node[0] == per_node[1] <= 8 * (5 + 1 + 8)


def test_new_samples_of_either_precision_get_the_same_decisions():
    job = classification()
    path = job.path(method="approximate")
    single = job.X.astype(np.float32)
    expected = single.astype(float) @ path.coef(0.3) + path.intercept(0.3)
    assert_allclose(path.decision_function(single, 0.3), expected, rtol=1e-12)
    assert_allclose(path.decision_function(sparse.csr_array(single), 0.3), expected, rtol=1e-12)


# --- the face ------------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("make", [classification, regression])
def test_index_sets_part_the_samples_by_their_dual_variables(make, intercept):
    job = make(intercept)
    path = job.path(method="approximate")
    for tau in (0.0, 0.37, float(path.taus[3]), 1.0):
        upper_set, free, lower_set = path.index_sets(tau)
        together = np.sort(np.concatenate((upper_set, free, lower_set)))
        assert_array_equal(together, np.arange(len(job.y)))
        lower, upper = job.boxes(tau)
        theta = path.alpha(tau) * (1.0 if job.regression else len(job.y) * job.C)
        slack = 1e-12 * job.C
        assert np.all(theta[upper_set] >= upper[upper_set] - slack)
        assert np.all(theta[lower_set] <= lower[lower_set] + slack)


def test_probabilities_are_the_share_of_tau_with_a_positive_decision():
    job = classification()
    path = job.path(method="approximate")
    grid = np.linspace(0.0, 1.0, 4001)
    share = (path.decision_function(job.X[:50], grid) >= 0.0).mean(axis=1)
    assert_allclose(path.crossings(job.X[:50]).length, share, atol=2e-3)


def test_probabilities_are_near_the_exact_ones():
    job = classification()
    exact = job.path().crossings(job.X).length
    near = job.path(method="approximate", tol=1e-4).crossings(job.X).length
    assert np.abs(near - exact).mean() < 0.01


def test_decisions_are_linear_between_nodes():
    job = classification("free")
    path = job.path(method="approximate")
    nodes, values = path.values_at_nodes(job.X[:5])
    assert_array_equal(nodes, path.taus)
    assert_allclose(values, path.decision_function(job.X[:5], nodes), rtol=1e-12, atol=1e-12)
    middle = path.decision_function(job.X[:5], 0.5 * (nodes[1:] + nodes[:-1]))
    assert_allclose(middle, 0.5 * (values[:, 1:] + values[:, :-1]), rtol=1e-9, atol=1e-12)
    assert_allclose(path.decide_each(job.X[:5], nodes[:5]), np.diag(values[:, :5]), rtol=1e-12)


def test_a_pickled_path_says_the_same():
    job = classification("free")
    path = job.path(method="approximate")
    again = pickle.loads(pickle.dumps(path))
    assert again.certify() == path.certify()
    assert_array_equal(again.alpha(0.3), path.alpha(0.3))
    assert repr(again) == repr(path)


def test_the_path_says_how_it_was_made():
    job = classification()
    path = job.path(method="approximate", tol=5e-3)
    assert isinstance(path, taupath.SolutionPath)
    assert (path.method, path.tol) == ("approximate", 5e-3)
    assert "approximate" in repr(path)
    assert "gaps within 0.005" in repr(path)
    assert path.counters["nodes"] == path.n_kinks == len(path.taus)
    assert path.counters["row_visits"] >= len(job.y) * path.n_kinks
    assert job.path().method == "exact"


def test_auto_is_exact_unless_that_is_predicted_to_take_long(monkeypatch):
    few = classification().path(method="auto")
    assert (few.method, few.n_kinks) == ("exact", classification().path().n_kinks)
    X, y = overlapping(20_000, 2)
    assert taupath.quantile_path(X, y, lam=1e-2, method="auto").method == "exact"
    monkeypatch.setattr("taupath.fitting.method.WORTH_WAITING", 0.0)
    long = taupath.quantile_path(X, y, lam=1e-2, method="auto", tol=1e-2)
    assert long.method == "approximate"
    kernel = taupath.quantile_path(X[:50], y[:50], kernel="rbf", method="auto")
    assert kernel.method == "exact"


def test_progress_is_told_of_every_node():
    calls = []
    path = classification().path(
        method="approximate", progress=lambda part, nodes: calls.append((part, nodes))
    )
    assert calls[-1] == (1.0, path.n_kinks)
    assert [nodes for _, nodes in calls] == list(range(2, path.n_kinks + 1))
    assert np.all(np.diff([part for part, _ in calls]) > 0.0)


# --- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [classification, regression])
@pytest.mark.parametrize("method", ["exact", "approximate", "auto"])
@pytest.mark.parametrize("tol", [0.0, -1e-3, float("nan"), float("inf")])
def test_a_tolerance_that_is_none_is_refused(make, method, tol):
    with pytest.raises(ValueError, match="tol must be finite and above 0"):
        make().path(method=method, tol=tol)


@pytest.mark.parametrize("tol", [None, "small", [1e-3]])
def test_a_tolerance_that_is_no_number_is_refused(tol):
    with pytest.raises(TypeError, match="tol must be a real number"):
        classification().path(method="approximate", tol=tol)


@pytest.mark.parametrize("make", [classification, regression])
def test_a_tolerance_below_rounding_is_refused_with_the_least_one(make):
    with pytest.raises(ValueError, match=r"tol=1e-15 .* the least is ([0-9.e-]+)") as caught:
        make().path(method="approximate", tol=1e-15)
    least = float(str(caught.value).split("the least is ")[1].split(";")[0])
    assert 1e-15 < least < 1e-6
    job = make(n=20)
    assert_bounded(job, job.path(method="approximate", tol=1e-6), 20)


def test_an_unknown_method_is_refused():
    with pytest.raises(ValueError, match="method must be one of 'exact', 'approximate', 'auto'"):
        classification().path(method="fast")
    with pytest.raises(TypeError, match="method"):
        classification().path(method=None)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_that_are_no_numbers_are_refused(dtype):
    X, y = overlapping(20)
    X = X.astype(dtype)
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X contains nan \(first at \[3, 1\]\)"):
        taupath.quantile_path(X, y, method="approximate")


# --- work ----------------------------------------------------------------------------------------


def test_a9a_takes_few_passes(data_dir):
    data = load_classification("a9a", data_dir)
    path = taupath.quantile_path(data.X, data.y, lam=1e-4, method="approximate", tol=1e-3)
    certificate = path.certify()
    assert certificate.worst_gap <= 1e-3
    assert certificate.continuum
    assert path.n_kinks <= 45
    assert path.counters["row_visits"] <= 400 * len(data.y)
