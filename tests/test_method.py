"""Estimators with approximate paths: the same face, and answers as near as the gap allows."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

import taupath as tp
from taupath.fitting import method, over_tau
from taupath.fitting.method import Trial, forecast_of, predicted_seconds

rng = np.random.default_rng(2)
X = rng.standard_normal((400, 5))
Y = np.where(X[:, 0] + rng.standard_normal(400) > 0.0, "yes", "no")
THREE = np.digitize(X[:, 0] + rng.standard_normal(400), [-0.6, 0.6])
RESPONSE = X[:, 0] + (1.0 + 0.3 * X[:, 1]) * rng.standard_normal(400)
TOL = 3e-5


def both(kind=tp.QuantileSVC, y=Y, features=X, **how):
    """Return the exact and the approximate estimator."""
    return [
        kind(**how, method=method, tol=TOL).fit(features, y) for method in ("exact", "approximate")
    ]


def allowed(path, features, tau):
    """Return how far f may be from the exact one: ½‖w - w*‖² is at most the gap."""
    gap = path.certify().worst_gap * path.solutions.gap_bound.unit
    length = np.sqrt((np.asarray(features) ** 2).sum(axis=1) + 1.0)  # the augmented feature
    return length * np.sqrt(2.0 * gap)


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("tau", [0.1, 0.5, 0.8])
def test_decisions_differ_only_where_the_gap_allows_it(tau):
    exact, other = both()
    f, g = exact.decision_function(X, tau=tau), other.decision_function(X, tau=tau)
    far = allowed(other.path_, X, tau)
    assert (np.abs(f - g) <= far).all()
    differ = exact.predict(X, tau=tau) != other.predict(X, tau=tau)
    assert (np.abs(f[differ]) <= far[differ]).all()
    assert differ.mean() < 0.01


def test_costs_of_all_kinds_are_taken():
    exact, other = both()
    taus = np.linspace(0.05, 0.95, len(X))
    matrix = np.array([[0.0, 2.0], [5.0, 0.0]])
    for how in (
        {"tau": taus},
        {"cost_fp": 3.0, "cost_fn": 1.0},
        {"cost_fp": 1.0, "cost_fn": np.linspace(0.1, 9.0, len(X))},
        {"cost_matrix": matrix},
    ):
        assert (exact.predict(X, **how) != other.predict(X, **how)).mean() < 0.01
    assert_array_equal(other.at(0.3).predict(X), other.predict(X, tau=0.3))


def test_probabilities_are_the_length_of_the_approximate_functions():
    exact, other = both()
    proba = other.predict_proba(X)[:, 1]
    assert_allclose(proba, exact.predict_proba(X)[:, 1], atol=0.02)
    grid = (np.arange(4000) + 0.5) / 4000
    share = (other.path_.decision_function(X[:50], grid) >= 0.0).mean(axis=1)
    assert_allclose(proba[:50], share, atol=2e-3)
    interval = other.crossing_interval(X)
    assert (interval[:, 0] <= proba + 1e-12).all() and (proba <= interval[:, 1] + 1e-12).all()


def test_monotone_decisions_are_those_of_the_probabilities():
    model = tp.QuantileSVC(method="approximate", monotone=True).fit(X, Y)
    assert_array_equal(model.predict(X, tau=0.3) == "yes", model.predict_proba(X)[:, 1] >= 0.3)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes(multi_class, tmp_path):
    exact, other = both(y=THREE, multi_class=multi_class)
    assert_allclose(other.predict_proba(X), exact.predict_proba(X), atol=0.03)
    assert not hasattr(other, "path_")
    assert {path.method for path in other.paths_} == {"approximate"}
    other.save(tmp_path / "model.tau")
    again = tp.load(tmp_path / "model.tau")
    assert_array_equal(again.predict_proba(X), other.predict_proba(X))
    assert_array_equal(again.predict(X, cost_matrix=1 - np.eye(3)), other.predict(X))


def test_quantiles_never_cross_and_are_near_the_exact_ones():
    exact, other = both(tp.QuantileSVR, RESPONSE)
    quantiles = np.linspace(0.05, 0.95, 19)
    found = other.predict(X, quantile=quantiles)
    assert (np.diff(found, axis=1) >= 0.0).all()
    assert_allclose(found, exact.predict(X, quantile=quantiles), atol=0.2)
    assert_allclose(other.cdf(X, 0.2), exact.cdf(X, 0.2), atol=0.02)
    assert_allclose(other.predict_interval(X, 0.9), found[:, [0, -1]], atol=1e-9)
    assert other.sample(X[:3], 20, random_state=0).shape == (3, 20)
    assert other.score(X, RESPONSE) == pytest.approx(exact.score(X, RESPONSE), abs=1e-3)


def test_intervals_that_hold_take_approximate_folds(tmp_path):
    model = tp.QuantileSVR(method="approximate", conformal=4).fit(X, RESPONSE)
    interval = model.predict_interval(X, 0.8)
    low, high = interval.T
    assert 0.75 < ((low <= RESPONSE) & (high >= RESPONSE)).mean() < 0.9
    model.save(tmp_path / "model.tau")
    assert_array_equal(tp.load(tmp_path / "model.tau").predict_interval(X, 0.8), interval)


def test_C_is_chosen_with_approximate_paths():
    exact, other = both(tp.QuantileSVCCV, Cs=[1e-3, 1e-1], cv=3, combine="best", kernel="linear")
    assert other.C_ == exact.C_
    assert other.method_ == "approximate"
    assert_allclose(other.brier_, exact.brier_, atol=1e-3)
    for tau in (0.2, 0.7):
        assert other.best_candidate(tau)["C"] == exact.best_candidate(tau)["C"]


# -- which it is -------------------------------------------------------------------------------


@pytest.fixture
def eager(monkeypatch):
    """Few samples are many, and any exact path takes too long."""
    monkeypatch.setattr(over_tau, "TOO_FEW_FOR_TRIALS", 100)
    monkeypatch.setattr(method, "FIRST_TRIAL", 50)
    monkeypatch.setattr(method, "SECOND_TRIAL", 100)
    monkeypatch.setattr(method, "WORTH_WAITING", 0.0)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("kind", [tp.QuantileSVC, tp.QuantileSVR])
def test_auto_goes_by_the_predicted_time_and_says_why(kind, kernel, eager, monkeypatch):
    y = RESPONSE if kind is tp.QuantileSVR else Y
    model = kind(method="auto", kernel=kernel, tol=1e-2).fit(X, y)
    assert (model.method, model.method_) == ("auto", "approximate")
    assert model.path_.tol == 1e-2
    assert "the exact path is predicted to take" in model.path_.method_reason
    monkeypatch.setattr(method, "WORTH_WAITING", 3600.0)
    model = kind(method="auto", kernel=kernel).fit(X, y)
    assert model.method_ == "exact"
    assert model.path_.method_reason.startswith("the exact path is predicted to take")
    assert kind(kernel=kernel).fit(X, y).path_.method_reason is None


def test_small_data_are_exact_without_trials(monkeypatch):
    monkeypatch.setattr(over_tau, "forecast_of", lambda *_: pytest.fail("a trial"))
    path = tp.quantile_path(X, Y, method="auto")
    assert path.method == "exact"
    assert path.method_reason == f"{len(X)} samples are few"


def test_an_indefinite_kernel_is_exact(eager):
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 200))
    with pytest.warns(tp.IndefiniteKernelWarning):
        path = tp.quantile_path(A + A.T, Y[:200], kernel="precomputed", method="auto", C=1e-3)
    assert path.method == "exact"
    assert "indefinite" in path.method_reason


def test_a_search_goes_by_the_number_of_samples(monkeypatch):
    how = {"Cs": [1.0], "cv": 2, "combine": "best", "method": "auto", "kernel": "linear"}
    assert tp.QuantileSVCCV(**how).fit(X, Y).method_ == "exact"
    monkeypatch.setattr(method, "MANY_IN_A_SEARCH", 300)
    assert tp.QuantileSVCCV(**how).fit(X, Y).method_ == "approximate"


def test_the_largest_pair_of_classes_decides_for_all(eager):
    model = tp.QuantileSVC(method="auto").fit(X, THREE)
    assert {path.method for path in model.paths_} == {"approximate"}
    reference = tp.QuantileSVC(method="approximate").fit(X, THREE)
    assert_array_equal(model.predict(X), reference.predict(X))


def test_the_time_grows_with_the_free_samples_of_all_kinks():
    few, more = Trial(500, 1000, 20_000, 1.0), Trial(1000, 2000, 60_000, 4.0)  # 20, then 30
    assert predicted_seconds(few, more, 4000, 1e6) == pytest.approx(4.0 * 4.5**2)
    # with a kernel, a free sample costs a row of the matrix
    assert predicted_seconds(few, more, 4000, np.inf) == pytest.approx(4.0 * 6.0**2)
    # of vectors with 39 features, no more than 40 can be free at a time
    assert predicted_seconds(few, more, 4000, 40) == pytest.approx(4.0 * 4.0 * (40 / 30) ** 2)
    assert predicted_seconds(few, more, 4000, 5) == 4.0


@pytest.mark.parametrize(("n", "sizes"), [(3000, [500, 1000]), (10**6, [500, 1000, 2000, 4000])])
def test_a_long_path_gets_larger_trials(n, sizes, monkeypatch):
    asked = []

    def trial(walk, samples):
        asked.append(samples)
        return Trial(samples, 2 * samples, samples**2, samples / 3000)

    monkeypatch.setattr(method, "trial_of", trial)
    monkeypatch.setattr(method, "WORTH_WAITING", 0.0)
    assert forecast_of(None, n, np.inf) > 0.0
    assert asked == sizes


def test_parameters_are_cloned_and_shown():
    model = tp.QuantileSVC(method="approximate", tol=1e-2)
    assert clone(model).get_params() == model.get_params()
    assert "method='approximate'" in repr(model)
    model.fit(X, Y)
    assert model.n_iter_[0] == model.path_.n_kinks < 40
    model.set_params(method="exact").fit(X, Y)
    assert model.method_ == "exact"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_float32_is_used_where_it_lies(form):
    features = form(X.astype(np.float32))
    model = tp.QuantileSVC(method="approximate").fit(features, Y)
    kept = model.path_.data.X
    one, other = (x.data if sp.issparse(x) else x for x in (kept, features))
    assert kept.dtype == np.float32
    assert np.shares_memory(one, other)
    wide = tp.QuantileSVC(method="approximate").fit(features.astype(np.float64), Y)
    assert_allclose(model.predict_proba(features), wide.predict_proba(features), atol=1e-4)
    # an exact path computes with doubles
    assert tp.QuantileSVC().fit(features, Y).path_.data.X.dtype == np.float64


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"method": "fast"}, "method must be"),
        ({"method": "approximate", "tol": 0.0}, "tol must be finite and above 0"),
        ({"method": "approximate", "tol": 1e-20}, "less than what doubles can certify"),
    ],
)
@pytest.mark.parametrize("kind", [tp.QuantileSVC, tp.QuantileSVR])
def test_what_cannot_be_is_refused(kind, how, says):
    with pytest.raises(ValueError, match=says):
        kind(**how).fit(X, RESPONSE if kind is tp.QuantileSVR else Y)


# -- files and simplification ------------------------------------------------------------------


@pytest.mark.parametrize("data", [None, True])
@pytest.mark.parametrize("kind", [tp.QuantileSVC, tp.QuantileSVR])
def test_files_and_pickles_bring_it_back(kind, data, tmp_path):
    model = kind(method="approximate").fit(X, RESPONSE if kind is tp.QuantileSVR else Y)
    model.save(tmp_path / "model.tau", data=data)
    for again in (tp.load(tmp_path / "model.tau"), pickle.loads(pickle.dumps(model))):
        assert again.get_params() == model.get_params()
        assert again.method_ == "approximate"
        assert again.n_iter_ == model.n_iter_
        assert_array_equal(again.predict(X), model.predict(X))
    if data:
        assert tp.load(tmp_path / "model.tau").path_.certify().holds()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_simpler_estimator_predicts_nearly_the_same(multi_class, tmp_path):
    for y in (Y, THREE):
        model = tp.QuantileSVC(multi_class=multi_class).fit(X, y)
        kinks = model.n_iter_.copy()
        small = model.simplify(1e-4)
        assert (small.n_iter_ < kinks).all()
        assert (model.method_, small.method_) == ("exact", "approximate")
        assert_array_equal(model.n_iter_, kinks)  # as it was
        assert_allclose(small.predict_proba(X), model.predict_proba(X), atol=0.06)
        small.save(tmp_path / "small.tau")
        model.save(tmp_path / "model.tau")
        again = tp.load(tmp_path / "small.tau")
        assert_allclose(again.predict_proba(X), small.predict_proba(X), atol=1e-9)


def test_a_simpler_regressor_and_a_kernel(tmp_path):
    for kernel in ("linear", "rbf"):
        model = tp.QuantileSVR(kernel=kernel).fit(X[:120], RESPONSE[:120])
        small = model.simplify(1e-4)
        assert small.n_iter_ < model.n_iter_
        wanted = [0.1, 0.5, 0.9]
        assert_allclose(small.predict(X, wanted), model.predict(X, wanted), atol=0.2)
        small.save(tmp_path / "small.tau")
        again = tp.load(tmp_path / "small.tau")
        assert_allclose(again.predict(X, wanted), small.predict(X, wanted), atol=1e-8)


def test_nothing_is_simplified_before_fit():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        tp.QuantileSVC().simplify(1e-3)
