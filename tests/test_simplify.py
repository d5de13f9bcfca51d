"""Fewer nodes: gaps stay within the tolerance at every τ, and no node is there for nothing."""

from __future__ import annotations

import pickle
from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import taupath
from approximation import Job, assert_bounded, some_taus

rng = np.random.default_rng(11)
X = rng.standard_normal((150, 4))
Y = np.where(X[:, 0] + rng.standard_normal(150) > 0.0, 1, -1)
RESPONSE = X[:, 0] + rng.standard_normal(150)
WEIGHT = rng.integers(0, 3, 150).astype(float)

JOBS = {
    "classification": Job(X, Y),
    "weights with zeros": Job(X, Y, weight=WEIGHT),
    "no intercept": Job(X, Y, intercept="none"),
    "free intercept": Job(X, Y, intercept="free"),
    "large C": Job(X, Y, C=1e4),
    "small C": Job(X, Y, C=0.01),
    "regression": Job(X, RESPONSE, regression=True),
    "regression, free": Job(X, RESPONSE, intercept="free", regression=True),
}

# Paths that the judge of the tests has no objectives for.
OTHERS: dict[str, Callable[[], taupath.SolutionPath]] = {
    "rbf": lambda: taupath.quantile_path(X, Y, kernel="rbf"),
    "rbf, free": lambda: taupath.quantile_path(X, Y, kernel="rbf", intercept="free"),
    "rbf regression": lambda: taupath.quantile_regression_path(X, RESPONSE, kernel="rbf"),
    "over C": lambda: taupath.regularization_path(X, Y, 0.3, C_max=10.0),
    "over C, rbf": lambda: taupath.regularization_path(X, Y, 0.3, C_max=10.0, kernel="rbf"),
}


@pytest.mark.core
@pytest.mark.parametrize("tol", [1e-2, 1e-4])
@pytest.mark.parametrize("name", JOBS)
def test_no_gap_exceeds_the_tolerance(name, tol):
    job = JOBS[name]
    path = job.path()
    simple = path.simplify(tol)
    assert_bounded(job, simple)
    assert simple.certify().worst_gap <= tol
    assert simple.n_kinks < path.n_kinks
    assert np.isin(simple.taus, path.taus).all()
    assert simple.tau_range == path.tau_range


@pytest.mark.parametrize("tol", [1e-2, 1e-4])
@pytest.mark.parametrize("name", OTHERS)
def test_no_gap_exceeds_the_tolerance_with_kernels_and_over_C(name, tol):
    path = OTHERS[name]()
    simple = path.simplify(tol)
    certificate = simple.certify()
    assert certificate.continuum
    assert certificate.worst_gap <= tol
    assert 2 <= simple.n_kinks < path.n_kinks / 2
    gaps = [simple.duality_gap(float(tau)) for tau in some_taus(simple, 200)]
    assert 0.1 * tol < max(gaps) <= certificate.worst_gap


@pytest.mark.parametrize("name", JOBS)
def test_at_its_nodes_it_is_the_path_itself(name):
    path = JOBS[name].path()
    simple = path.simplify(1e-3)
    for tau in map(float, simple.taus[:: max(len(simple.taus) // 7, 1)]):
        assert_allclose(simple.alpha(tau), path.alpha(tau), atol=1e-15)
        assert_array_equal(simple.coef(tau), path.coef(tau))
        assert simple.intercept(tau) == path.intercept(tau)
        for mine, its in zip(simple.index_sets(tau), path.index_sets(tau), strict=True):
            assert_array_equal(mine, its)


def test_between_two_nodes_everything_is_linear():
    path = JOBS["classification"].path()
    simple = path.simplify(1e-2)
    begin, end = map(float, simple.taus[3:5])
    middle = 0.25 * begin + 0.75 * end
    assert_allclose(
        simple.alpha(middle), 0.25 * path.alpha(begin) + 0.75 * path.alpha(end), atol=1e-15
    )
    assert_allclose(simple.coef(middle), 0.25 * path.coef(begin) + 0.75 * path.coef(end))


@pytest.mark.parametrize("name", ["classification", "free intercept", "regression"])
def test_no_node_could_be_left_out(name):
    """Over two chords in a row the bound would be broken."""
    tol = 1e-3
    simple = JOBS[name].path().simplify(tol)
    continuum = simple.solutions.gap_bound
    ends = [simple.solutions.end(k)[0] for k in range(simple.n_kinks)]
    joined = [continuum.bound(ends[k], ends[k + 2])[0] for k in range(len(ends) - 3)]
    assert min(joined) > tol


@pytest.mark.parametrize("seed", [4, 11, 23, 31])
def test_a_free_intercept_may_jump(seed):
    """At some k / n the optimal intercepts are an interval, and the path jumps across it."""
    rng = np.random.default_rng(seed)
    x = np.round(rng.standard_normal((60, 2)))
    job = Job(x, x[:, 0] + rng.standard_normal(60), C=0.5, intercept="free", regression=True)
    simple = job.path().simplify(1e-5)
    assert_bounded(job, simple, 200)
    assert simple.certify().worst_gap <= 1e-5


def test_a_smaller_tolerance_keeps_more_nodes():
    path = JOBS["classification"].path()
    sizes = [path.simplify(tol).n_kinks for tol in (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)]
    assert sizes == sorted(sizes)
    # a chord's gap grows with the square of its length
    assert 2.0 < sizes[3] / sizes[2] < 4.5


def test_probabilities_are_near_the_exact_ones():
    path = JOBS["classification"].path()
    simple = path.simplify(1e-6)
    assert_allclose(simple.crossings(X).length, path.crossings(X).length, atol=5e-3)
    nodes, values = simple.values_at_nodes(X[:4])
    assert_array_equal(nodes, simple.taus)
    assert_allclose(values, simple.decision_function(X[:4], nodes), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", ["classification", "free intercept"])
@pytest.mark.parametrize("method", ["approximate", "simplified"])
def test_approximate_paths_become_simpler_too(name, method):
    job = JOBS[name]
    fine = job.path(method="approximate", tol=1e-4) if method == "approximate" else None
    fine = fine or job.path().simplify(1e-5)
    simple = fine.simplify(1e-2)
    assert type(simple) is type(fine)
    assert simple.n_kinks < fine.n_kinks / 3
    assert simple.tol == 1e-2
    assert_bounded(job, simple)
    assert simple.certify().worst_gap <= 1e-2
    assert fine.certify().worst_gap <= 1e-4  # as it was


def test_a_pickled_one_says_the_same():
    for path in (JOBS["free intercept"].path(), OTHERS["rbf"]()):
        simple = path.simplify(1e-3)
        again = pickle.loads(pickle.dumps(simple))
        assert again.certify() == simple.certify()
        assert_array_equal(again.alpha(0.3), simple.alpha(0.3))


def test_it_says_what_it_is():
    path = JOBS["classification"].path()
    simple = path.simplify(1e-3)
    assert (simple.method, simple.tol) == ("approximate", 1e-3)
    assert isinstance(simple, taupath.SolutionPath)
    assert "approximate" in repr(simple)
    assert "gaps within 0.001" in repr(simple)
    assert simple.nbytes == path.nbytes + simple.taus.nbytes
    assert_array_equal(simple.classes, [-1, 1])


@pytest.mark.parametrize("tol", [0.0, -1.0, float("nan")])
def test_a_tolerance_that_is_none_is_refused(tol):
    with pytest.raises(ValueError, match="tol must be finite and above 0"):
        JOBS["classification"].path().simplify(tol)


def test_a_tolerance_below_rounding_is_refused_with_the_least_one():
    with pytest.raises(ValueError, match=r"tol=1e-16 .* the least is"):
        JOBS["classification"].path().simplify(1e-16)


def test_an_approximate_path_does_not_become_better():
    path = JOBS["classification"].path(method="approximate", tol=1e-3)
    with pytest.raises(ValueError, match=r"less than the 0\.001 that this path was made with"):
        path.simplify(1e-4)


def test_an_indefinite_kernel_is_refused():
    with pytest.warns(taupath.IndefiniteKernelWarning):
        path = taupath.quantile_path(X[:40], Y[:40], kernel="sigmoid", gamma=2.0, coef0=-1.0)
    with pytest.raises(ValueError, match="indefinite"):
        path.simplify(1e-2)


@pytest.mark.slow
def test_a_hundredth_of_the_kinks_of_splice_is_enough_for_a_millionth(paper_data):
    data = paper_data("splice")
    path = taupath.quantile_path(data.X_train, data.y_train, lam=data.lam)
    simple = path.simplify(1e-6)
    assert simple.n_kinks <= 0.01 * path.n_kinks
    assert simple.certify().worst_gap <= 1e-6
