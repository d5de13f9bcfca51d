"""QuantileSVR: any quantile at predict time, never crossing."""

import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics import d2_pinball_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath
from taupath import QuantileSVR
from taupath.estimators.rearrangement import sorted_quantiles

QUANTILES = [0.0, 0.05, 0.3, 0.5, 0.8, 0.95, 1.0]


def waves(n=80, seed=0):
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0.0, 6.0, size=(n, 1)), axis=0)
    return X, np.sin(X[:, 0]) + 0.3 * (1.0 + X[:, 0]) * rng.normal(size=n)


X, Y = waves()
NEW = np.linspace(-1.0, 8.0, 40)[:, np.newaxis]


@cache
def fitted():
    """Return a model that is wiggly enough for quantiles to cross."""
    return QuantileSVR(C=100.0, kernel="rbf", gamma=3.0).fit(X, Y)


@given(st.data())
@settings(max_examples=60)
def test_sorted_quantiles_are_those_of_many_values(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    n = data.draw(st.integers(2, 12))
    taus = np.sort(np.concatenate(([0.0, 1.0], rng.uniform(size=n - 2))))
    values = rng.normal(size=n)
    if data.draw(st.booleans()):
        values = np.round(values)  # flat steps
    q = rng.uniform(0.02, 0.98, size=5)
    found = sorted_quantiles(taus, values, q)
    u = (np.arange(100_000) + 0.5) / 100_000
    many = np.interp(u, taus, values)
    for quantile, value in zip(q, found, strict=True):
        # up to what counting a hundred thousand of them can tell
        assert np.mean(many < value - 1e-9) <= quantile + 1e-4
        assert np.mean(many <= value + 1e-9) >= quantile - 1e-4


def test_a_function_that_increases_stays_as_it_is():
    taus, values = np.array([0.0, 0.2, 0.2, 1.0]), np.array([-1.0, 0.0, 2.0, 3.0])
    q = np.array([0.0, 0.1, 0.3, 1.0])
    assert_allclose(sorted_quantiles(taus, values, q), [-1.0, -0.5, 2.125, 3.0], atol=1e-15)


def test_steps_of_all_sizes_are_sorted_without_loss():
    # A hundred nearly flat pieces, up to 1e-13 of the whole rise, between steep ones; mirrored, so
    # that each value is taken twice and its share is known: that of the rising half.
    rng = np.random.default_rng(0)
    taus = np.concatenate(([0.0], np.sort(rng.uniform(0.0, 0.5, 99)), [0.5]))
    values = np.append(0.0, np.cumsum(10.0 ** rng.uniform(-13.0, 0.0, 100)))
    both = np.concatenate((taus, 1.0 - taus[-2::-1])), np.concatenate((values, values[-2::-1]))
    q = np.linspace(0.0, 1.0, 501)
    expected = np.interp(0.5 * q, taus, values)
    assert_allclose(sorted_quantiles(*both, q), expected, rtol=0, atol=1e-12 * values[-1])


def test_pieces_are_counted_a_few_at_a_time_the_same(monkeypatch):
    rng = np.random.default_rng(1)
    taus = np.sort(np.concatenate(([0.0, 1.0], rng.uniform(size=60))))
    values, q = rng.normal(size=62), np.linspace(0.0, 1.0, 33)
    expected = sorted_quantiles(taus, values, q)
    monkeypatch.setattr(taupath.estimators.rearrangement, "GAPS_AT_A_TIME", 7)
    assert_allclose(sorted_quantiles(taus, values, q), expected, rtol=0, atol=1e-13)


@pytest.mark.parametrize(
    "given", [{}, {"kernel": "rbf"}, {"kernel": "rbf", "C": 1e4, "gamma": 9.0}]
)
@pytest.mark.parametrize("intercept", ["free", "augmented", "none"])
def test_quantiles_never_cross(given, intercept):
    model = QuantileSVR(intercept=intercept, **given).fit(X, Y)
    q = np.linspace(0.0, 1.0, 41)
    predicted = model.predict(NEW, quantile=q)
    assert predicted.shape == (40, 41)
    assert np.all(np.diff(predicted, axis=1) >= 0.0)
    # whatever is asked for besides
    for k in (3, 20, 37):
        assert_allclose(model.predict(NEW, quantile=q[k]), predicted[:, k], rtol=0, atol=1e-9)
    shuffled = model.predict(NEW, quantile=q[::-1])
    assert_array_equal(shuffled[:, ::-1], predicted)


def test_where_nothing_crosses_they_are_those_of_the_path():
    model = QuantileSVR(C=0.1).fit(X, Y)
    _, values = model.path_.values_at_nodes(X)
    tame = X[np.all(np.diff(values, axis=1) >= -1e-12, axis=1)]
    assert len(tame) >= 2
    for q in (0.111, 0.507, 0.903):
        assert_allclose(
            model.predict(tame, q), model.path_.decision_function(tame, q), rtol=0, atol=1e-9
        )


def test_crossing_quantiles_are_rearranged():
    nodes, values = fitted().path_.values_at_nodes(NEW)
    assert np.sum((np.diff(values, axis=1) < -1e-9).any(axis=1)) > 5
    u = (np.arange(5000) + 0.5) / 5000
    many = np.array([np.interp(u, nodes, row) for row in values])
    for q in (0.1, 0.5, 0.8):
        expected = np.quantile(many, q, axis=1)
        assert_allclose(fitted().predict(NEW, quantile=q), expected, rtol=0, atol=0.02)


def test_the_distribution_function_is_the_inverse_of_the_quantiles():
    for q in (0.1, 0.45, 0.9):
        value = fitted().predict(NEW, quantile=q)
        assert np.all(fitted().cdf(NEW, value + 1e-7) >= q - 1e-6)
        assert np.all(fitted().cdf(NEW, value - 1e-7) <= q + 1e-6)
    assert_array_equal(fitted().cdf(NEW, 1e9), 1.0)
    assert_array_equal(fitted().cdf(NEW, -1e9), 0.0)
    # a constant is reached at once
    flat = QuantileSVR().fit(X, np.full(80, 2.0))
    assert_array_equal(flat.cdf(NEW[:3], [1.0, 2.0, 3.0]), [0.0, 1.0, 1.0])


def test_samples_are_from_the_distribution():
    drawn = fitted().sample(NEW[:5], n=4000, random_state=0)
    assert drawn.shape == (5, 4000)
    assert_array_equal(drawn, fitted().sample(NEW[:5], n=4000, random_state=0))
    for q in (0.1, 0.5, 0.9):
        below = drawn <= fitted().predict(NEW[:5], quantile=q)[:, np.newaxis] + 1e-9
        assert_allclose(below.mean(axis=1), q, rtol=0, atol=0.03)
    assert fitted().sample(NEW, n=0).shape == (40, 0)
    few = np.column_stack([fitted().sample(NEW[:5], n=20, random_state=k) for k in range(50)])
    median = fitted().predict(NEW[:5], quantile=0.5)[:, np.newaxis]
    assert_allclose((few <= median).mean(axis=1), 0.5, rtol=0, atol=0.06)


def test_intervals_are_pairs_of_quantiles():
    interval = fitted().predict_interval(NEW, coverage=0.9)
    assert_array_equal(interval, fitted().predict(NEW, quantile=[0.5 - 0.45, 0.5 + 0.45]))
    wide, narrow = fitted().predict_interval(NEW, 0.99), fitted().predict_interval(NEW, 0.5)
    assert np.all(wide[:, 0] <= narrow[:, 0])
    assert np.all(narrow[:, 1] <= wide[:, 1])
    held = QuantileSVR(C=10.0, kernel="rbf").fit(X[::2], Y[::2]).predict_interval(X[1::2], 0.8)
    inside = np.mean((held[:, 0] <= Y[1::2]) & (Y[1::2] <= held[:, 1]))
    assert 0.6 <= inside <= 0.95


def test_the_score_is_that_of_the_pinball_loss():
    for q in (0.1, 0.5):
        model = QuantileSVR(C=10.0, kernel="rbf", quantile=q).fit(X, Y)
        expected = d2_pinball_score(Y, model.predict(X), alpha=q)
        assert model.score(X, Y) == pytest.approx(expected)
        weight = np.arange(80.0)
        weighted = d2_pinball_score(Y, model.predict(X), sample_weight=weight, alpha=q)
        assert model.score(X, Y, sample_weight=weight) == pytest.approx(weighted)


def test_weights_are_copies():
    weight = np.random.default_rng(3).integers(0, 3, size=80)
    weighted = QuantileSVR(kernel="rbf", gamma=1.0).fit(X, Y, sample_weight=weight)
    copied = QuantileSVR(kernel="rbf", gamma=1.0).fit(np.repeat(X, weight, 0), np.repeat(Y, weight))
    for q in (0.2, 0.5, 0.77):
        assert_allclose(
            weighted.path_.decision_function(NEW, q),
            copied.path_.decision_function(NEW, q),
            rtol=0,
            atol=1e-6,
        )


def test_kernels_and_storage():
    K = QuantileSVR(kernel="precomputed").fit(rbf_kernel(X, gamma=1.0), Y)
    named = QuantileSVR(kernel="rbf", gamma=1.0).fit(X, Y)
    assert_allclose(
        K.predict(rbf_kernel(NEW, X, gamma=1.0), quantile=0.3),
        named.predict(NEW, quantile=0.3),
        rtol=0,
        atol=1e-7,
    )
    thin = QuantileSVR().fit(sparse.csr_array(X), Y)
    assert_allclose(
        thin.predict(sparse.csr_array(NEW), [0.2, 0.8]),
        QuantileSVR().fit(X, Y).predict(NEW, [0.2, 0.8]),
        rtol=0,
        atol=1e-8,
    )
    again = pickle.loads(pickle.dumps(fitted()))
    assert_array_equal(again.predict(NEW, [0.1, 0.9]), fitted().predict(NEW, [0.1, 0.9]))


def test_functions_that_are_not_kept_are_rearranged_the_same(monkeypatch):
    expected = fitted().predict(NEW, quantile=[0.1, 0.6])
    again = pickle.loads(pickle.dumps(fitted()))
    monkeypatch.setattr(taupath.paths.crossings, "KEPT", 0)
    monkeypatch.setattr(taupath.paths.crossings, "MOST_BLOCKS", 10)
    assert_allclose(again.predict(NEW, quantile=[0.1, 0.6]), expected, rtol=0, atol=1e-9)
    assert not again.path_._tracks.complete


def test_it_works_where_scikit_learn_expects_a_regressor():
    pipe = make_pipeline(StandardScaler(), QuantileSVR(kernel="rbf", quantile=0.8))
    rng = np.random.default_rng(0)
    Z = rng.uniform(0.0, 6.0, size=(90, 1))
    target = np.sin(Z[:, 0]) + 0.1 * rng.normal(size=90)
    search = GridSearchCV(pipe, {"quantilesvr__C": [1e-6, 10.0]}, cv=3).fit(Z, target)
    assert search.best_params_ == {"quantilesvr__C": 10.0}
    assert search.best_score_ > 0.5


BAD = {
    "quantile above one": (lambda: fitted().predict(NEW, quantile=1.1), r"\[0, 1\], got 1.1"),
    "not a number": (lambda: fitted().predict(NEW, quantile=np.nan), "quantile must lie"),
    "a matrix": (lambda: fitted().predict(NEW, quantile=[[0.1]]), r"shape \(1, 1\)"),
    "coverage of everything": (lambda: fitted().predict_interval(NEW, 1.0), "coverage .* got 1.0"),
    "half a draw": (lambda: fitted().sample(NEW, n=0.5), "n must be an integer of at least 0"),
    "of the constructor": (lambda: QuantileSVR(quantile=2.0).fit(X, Y), "quantile must lie"),
    "levels too few": (lambda: fitted().cdf(NEW, [1.0, 2.0]), r"shape \(40,\), got shape \(2,\)"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_what_is_no_number_is_refused():
    with pytest.raises(TypeError, match="quantile must be a number"):
        fitted().predict(NEW, quantile="median")
