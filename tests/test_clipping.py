"""Probabilities are never exactly 0 or 1 unless asked for; decisions stay those of the SVMs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

import taupath as tp
from taupath.estimators.clipping import clipped, least_probability
from taupath.exceptions import ModelFileError
from taupath.outcomes.held_out import joined, outcomes_of
from taupath.storage.container import read_container, write_container

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 3))
Y = (X[:, 0] + 0.3 * RNG.normal(size=150) > 0.0).astype(int)
NEW = 3.0 * RNG.normal(size=(200, 3))
N = len(Y)


def both(**how):
    """Return the default model, and the one with exact lengths."""
    return [tp.QuantileSVC(clip=clip, **how).fit(X, Y) for clip in ("laplace", 0)]


@pytest.mark.parametrize("how", [{}, {"kernel": "rbf", "C": 50.0}, {"pos_label": 0}])
def test_the_default_is_laplace_at_the_ends_and_exact_in_between(how):
    model, exact = both(**how)
    least = 1.0 / (N + 2)
    assert model.clip_ == pytest.approx(least) and exact.clip_ == 0.0
    proba, lengths = model.predict_proba(NEW), exact.predict_proba(NEW)
    inside = lengths.min(axis=1) >= least
    assert inside.any() and not inside.all()
    assert_array_equal(proba[inside], lengths[inside])
    assert_allclose(proba[~inside].min(axis=1), least)
    assert_allclose(proba, np.clip(lengths, least, 1.0 - least))
    assert np.isfinite(model.predict_log_proba(NEW)).all()


def test_clipping_keeps_the_order_and_sums_to_one():
    lengths = np.concatenate(([0.0], np.geomspace(1e-8, 0.5, 60)))
    found = clipped(np.column_stack((1.0 - lengths, lengths)), 0.01)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-15)
    assert_allclose(found[:, 1], np.maximum(lengths, 0.01), rtol=1e-14)
    several = np.array([[1.0, 0.0, 0.0], [0.0, 0.6, 0.4], [0.3, 0.3, 0.4], [0.1, 0.7, 0.2]])
    found = clipped(several, 0.3)
    assert_allclose(found[0], [0.4, 0.3, 0.3])
    assert_allclose(found[1], [0.3, 0.375, 0.325])
    assert_array_equal(found[2], several[2])
    assert_allclose(found[3], [0.3, 0.4, 0.3])
    assert_array_equal(found.argmax(axis=1), several.argmax(axis=1))


def test_decisions_are_those_of_the_svms():
    model, exact = both()
    taus = np.array([0.0, 1e-4, 1e-3, 0.2, 0.5, 0.9, 0.999, 1.0])
    assert_array_equal(model.predict(NEW, taus=taus), exact.predict(NEW, taus=taus))
    assert_array_equal(model.decision_function(NEW), exact.decision_function(NEW))
    assert_array_equal(model.crossing_interval(NEW), exact.crossing_interval(NEW))


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("clip", ["laplace", 0, 0.1])
def test_monotone_decisions_agree_with_the_probabilities_at_every_tau(clip):
    model = tp.QuantileSVC(50.0, kernel="rbf", monotone=True, clip=clip).fit(X, Y)
    proba = model.predict_proba(NEW)[:, 1]
    for tau in (0.0, 1e-4, 0.05, 0.3, 0.8, 0.95, 0.9999, 1.0):
        assert_array_equal(model.predict(NEW, tau=tau), proba >= tau)


def test_beyond_the_least_probability_monotone_decisions_are_constant_and_it_says_so():
    model = tp.QuantileSVC(monotone=True).fit(X, Y)
    for tau, label in ((0.5 * model.clip_, 1), (1.0 - 0.5 * model.clip_, 0)):
        with pytest.warns(tp.ConstantDecisionWarning, match=f"decides {label} for every case"):
            assert (model.predict(NEW, tau=tau) == label).all()


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_decide_by_clipped_probabilities(multi_class):
    X, y = load_iris(return_X_y=True)
    model = tp.QuantileSVC(multi_class=multi_class).fit(X, y)
    proba = model.predict_proba(X)
    assert proba.min() >= (1.0 - 1e-12) / (len(y) + 3)
    costs = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 400.0], [1.0, 1.0, 0.0]])
    assert_array_equal(model.predict(X, cost_matrix=costs), (proba @ costs).argmin(axis=1))
    exact = tp.QuantileSVC(multi_class=multi_class, clip=0).fit(X, y)
    assert_array_equal(model.predict(X), exact.predict(X))


def test_weights_count_as_samples():
    twice = tp.QuantileSVC().fit(X, Y, sample_weight=np.full(N, 2.0))
    assert twice.clip_ == pytest.approx(1.0 / (2 * N + 2))
    shares = tp.QuantileSVC(float(N)).fit(X, Y, sample_weight=np.full(N, 1.0 / N))
    assert shares.clip_ == pytest.approx(1.0 / (N + 2))
    assert least_probability("laplace", np.array([1.0, 0.0, 1.0]), 2) == pytest.approx(0.25)


def test_a_search_takes_it_for_one_path_and_judges_exact_lengths():
    how = {"kernel": "linear", "cv": 3, "combine": "best"}
    model, exact = (tp.QuantileSVCCV([1.0], clip=clip, **how).fit(X, Y) for clip in (0.05, 0))
    proba = model.predict_proba(NEW)
    assert exact.predict_proba(NEW).min() < 0.01 and proba.min() == pytest.approx(0.05, rel=0.01)
    assert_array_equal(model.best_estimator_.predict_proba(NEW), proba)
    assert_array_equal(model.brier_, exact.brier_)
    assert_array_equal(model.predict_proba_interval(NEW), exact.predict_proba_interval(NEW))
    stack = tp.QuantileSVCCV([0.1, 1.0], kernel="linear", cv=3, clip=0).fit(X, Y)
    assert stack.clip_ == 0.0 and stack.predict_proba(NEW).min() > 0.0


@pytest.mark.parametrize(
    ("clip", "message"),
    [
        ("none", "clip must be one of 'laplace' or a number, got 'none'"),
        (0.5, "clip must be at least 0 and below 1/2, for 2 classes, or 'laplace'; got 0.5"),
        (-1e-9, "clip must be at least 0"),
        (float("nan"), "clip must be at least 0"),
        (None, "clip must be a real number, got None"),
        (True, "clip must be a real number, got True"),
    ],
)
@pytest.mark.parametrize("estimator", [tp.QuantileSVC, lambda clip: tp.QuantileSVCCV(clip=clip)])
def test_other_values_are_refused_in_one_line(estimator, clip, message):
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        estimator(clip=clip).fit(X, Y)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("clip", ["laplace", 0, 0.03])
def test_a_file_keeps_it(tmp_path, clip):
    model = tp.QuantileSVC(clip=clip).fit(X, Y)
    model.save(tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert other.clip == clip and other.clip_ == model.clip_
    assert_array_equal(other.predict_proba(NEW), model.predict_proba(NEW))


def test_a_file_without_one_has_exact_lengths_and_a_wrong_one_is_refused(tmp_path):
    file = tmp_path / "model.tau"
    tp.QuantileSVC(clip=0.03).fit(X, Y).save(file)
    content, arrays = read_container(file)
    for wrong in (0.5, -0.1, 0.04, None, "laplace", True):
        write_container(file, content | {"clip": wrong}, arrays)
        with pytest.raises(ModelFileError):
            tp.load(file)
    parameters = {name: each for name, each in content["parameters"].items() if name != "clip"}
    older = {name: each for name, each in content.items() if name != "clip"}
    write_container(file, older | {"parameters": parameters}, arrays)
    exact = tp.QuantileSVC(clip=0).fit(X, Y)
    assert tp.load(file).clip == 0.0
    assert_array_equal(tp.load(file).predict_proba(NEW), exact.predict_proba(NEW))


def test_held_out_figures_use_the_same_probabilities():
    model, exact = both()
    outcomes, of_exact = (outcomes_of(each, NEW, Y[:50].repeat(4)) for each in (model, exact))
    assert_allclose(outcomes.probabilities(), model.predict_proba(NEW), atol=1e-12)
    assert_allclose(of_exact.probabilities(), exact.predict_proba(NEW), atol=1e-12)
    assert_array_equal(outcomes.rates().pieces()[0], of_exact.rates().pieces()[0])
    joint = joined([outcomes, of_exact])
    assert joint.least == 0.0 and joint.n_rows == 400
