"""Intervals for probabilities: what they count, their coverage, and what is refused."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import beta
from sklearn.model_selection import RepeatedStratifiedKFold

from taupath import ProbabilityIntervals, QuantileSVC, QuantileSVCCV, load, save
from taupath.estimators.probability_intervals import MOST_KEPT, NEAREST, OUT_OF_FOLD


def drawn(n, rng, power=2.0):
    """Return scores, and labels that are positive with probability score**power."""
    score = rng.uniform(size=n)
    return score, rng.uniform(size=n) < score**power


SCORE, TRUTH = drawn(300, np.random.default_rng(0))
NEW = np.linspace(0.0, 1.0, 23)


def samples(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (rng.uniform(size=n) < 1 / (1 + np.exp(-2 * X[:, 0]))).astype(int)


X, Y = samples()
X_NEW, _ = samples(seed=1)


def search(**given):
    return QuantileSVCCV(**{"Cs": [0.1, 1.0], "kernel": "linear", "cv": 3, **given})


# -- what is counted -------------------------------------------------------------------------------


def test_the_interval_is_that_of_the_nearest_samples():
    n = 1000  # so that 50 samples are counted
    score = (np.arange(n) + 0.5) / n
    truth = np.random.default_rng(1).uniform(size=n) < 0.3
    size = round(NEAREST * n ** (2 / 3))
    assert size == 50
    low, high = ProbabilityIntervals().fit(score, truth).interval([0.5], 0.9)[0]
    k = truth[475:525].sum()
    assert_allclose([low, high], beta.ppf([0.05, 0.95], k + 0.5, size - k + 0.5))
    # those at an end have neighbours on one side only
    low, high = ProbabilityIntervals().fit(score, truth).interval([0.0], 0.9)[0]
    k = truth[:50].sum()
    assert_allclose([low, high], beta.ppf([0.05, 0.95], k + 0.5, size - k + 0.5))


def test_equal_predictions_are_counted_together():
    y = np.tile([True, False, True, True, False], 40)
    low, high = ProbabilityIntervals().fit(np.full(200, 0.5), y).interval([0.5], 0.8)[0]
    assert_allclose([low, high], beta.ppf([0.1, 0.9], 120.5, 80.5))


def test_the_order_of_samples_does_not_matter():
    found = ProbabilityIntervals().fit(SCORE.round(1), TRUTH).interval(NEW)
    order = np.random.default_rng(2).permutation(300)
    again = ProbabilityIntervals().fit(SCORE.round(1)[order], TRUTH[order]).interval(NEW)
    assert_allclose(again, found, atol=1e-12)


def test_out_of_fold_samples_count_less():
    own = ProbabilityIntervals().fit(SCORE, TRUTH).interval(NEW)
    other = ProbabilityIntervals().fit(SCORE, TRUTH, out_of_fold=True).interval(NEW)
    wider = np.diff(other, axis=1).mean() / np.diff(own, axis=1).mean()
    assert 1.04 < wider < OUT_OF_FOLD**-0.5 + 0.01


def test_without_positives_an_interval_begins_at_zero():
    fit = ProbabilityIntervals().fit(SCORE, SCORE > 0.5)
    assert fit.interval([0.1])[0, 0] == 0.0 and fit.interval([0.9])[0, 1] == 1.0


def test_a_held_out_set_gives_the_stated_coverage_of_what_the_score_says():
    rng, at = np.random.default_rng(1), np.linspace(0.02, 0.98, 25)
    for coverage in (0.8, 0.9, 0.95):
        held = []
        for _ in range(200):
            low, high = ProbabilityIntervals().fit(*drawn(400, rng)).interval(at, coverage).T
            held.append((low <= at**2) & (at**2 <= high))
        assert np.mean(held) == pytest.approx(coverage, abs=0.02)


def test_more_samples_make_narrower_intervals_and_more_coverage_wider_ones():
    rng = np.random.default_rng(2)
    widths = [
        np.diff(ProbabilityIntervals().fit(*drawn(n, rng)).interval(NEW), axis=1).mean()
        for n in (100, 1000, 10_000)
    ]
    assert widths[0] > 1.6 * widths[1] > 1.6**2 * widths[2]
    fit = ProbabilityIntervals().fit(SCORE, TRUTH)
    before = fit.interval(NEW, 0.5)
    for coverage in (0.8, 0.9, 0.99):
        after = fit.interval(NEW, coverage)
        assert (after[:, 0] <= before[:, 0]).all() and (after[:, 1] >= before[:, 1]).all()
        before = after
    assert ((before >= 0.0) & (before <= 1.0)).all()


def test_only_the_order_of_scores_matters_and_classes_may_be_swapped():
    found = ProbabilityIntervals().fit(SCORE, TRUTH).interval(NEW)
    cubed = ProbabilityIntervals().fit(SCORE**3, TRUTH).interval(NEW**3)
    assert_allclose(cubed, found, atol=1e-12)
    swapped = ProbabilityIntervals().fit(1.0 - SCORE, ~TRUTH).interval(1.0 - NEW)
    assert_allclose(1.0 - swapped[:, ::-1], found, atol=1e-9)


def test_equal_weights_change_nothing_and_unequal_ones_count_as_fewer_samples():
    found = ProbabilityIntervals().fit(SCORE, TRUTH).interval(NEW)
    for each in (3.0, 1e-200, 1e50):
        same = ProbabilityIntervals().fit(SCORE, TRUTH, np.full(300, each)).interval(NEW)
        assert_allclose(same, found, atol=1e-9)
    weight = np.random.default_rng(3).exponential(size=300) ** 2
    uneven = ProbabilityIntervals().fit(SCORE, TRUTH, weight).interval(NEW)
    assert np.diff(uneven, axis=1).mean() > 1.2 * np.diff(found, axis=1).mean()
    absent = np.append(np.ones(300), 0.0)
    more = ProbabilityIntervals().fit(np.append(SCORE, 0.5), np.append(TRUTH, True), absent)
    assert_array_equal(more.interval(NEW), found)


def test_of_many_samples_some_counts_are_kept():
    score, truth = drawn(100_000, np.random.default_rng(4))
    fit = ProbabilityIntervals().fit(score, truth)
    assert len(fit._counts.score) == MOST_KEPT and fit._counts.total[-1] == 100_000
    low, high = fit.interval(NEW[1:-1], 0.999).T
    assert ((low < NEW[1:-1] ** 2) & (NEW[1:-1] ** 2 < high)).all()
    assert (high - low).max() < 0.12


# -- estimators ------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["stack", "best", "per_tau"])
def test_a_search_makes_intervals_from_its_out_of_fold_samples(combine, tmp_path):
    model = search(combine=combine).fit(X, Y)
    interval = model.predict_proba_interval(X_NEW, coverage=0.8)
    assert interval.shape == (len(X_NEW), 2)
    proba = model.predict_proba(X_NEW)[:, 1]
    assert_array_equal(interval, model._intervals.interval(proba, 0.8))
    if combine == "best":
        best = int(np.argmin([each["brier"] for each in model.candidates_]))
        held_out = model.probabilities_[best]
        own = ProbabilityIntervals().fit(held_out, model._truth == 1, out_of_fold=True)
        assert_array_equal(interval, own.interval(proba, 0.8))
        scaler, alone = model.best_estimator_
        assert_array_equal(alone.predict_proba_interval(scaler.transform(X_NEW), 0.8), interval)
    save(model, tmp_path / "model.tau")
    again = load(tmp_path / "model.tau")
    new = {"x1": X_NEW[:, 0], "x2": X_NEW[:, 1]} if combine == "best" else X_NEW
    assert_allclose(again.predict_proba_interval(new, 0.8), interval, atol=1e-12)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba_interval(X_NEW, 0.8), interval)


def test_intervals_are_those_of_the_positive_class():
    model = search().fit(X, Y)
    twin = search(pos_label=0).fit(X, Y)
    found, other = (each.predict_proba_interval(X_NEW) for each in (model, twin))
    assert_allclose(other, 1.0 - found[:, ::-1], atol=0.02)


def test_models_without_out_of_fold_samples_have_no_intervals():
    repeated = RepeatedStratifiedKFold(n_splits=3, n_repeats=2, random_state=0)
    for model in (QuantileSVC(), search(cv=repeated)):
        model.fit(X, Y)
        with pytest.raises(ValueError, match="come from out-of-fold samples"):
            model.predict_proba_interval(X_NEW)
    best = search(combine="best", standardize=False).fit(X, Y).best_estimator_
    assert best.predict_proba_interval(X_NEW).shape == (len(X_NEW), 2)
    with pytest.raises(ValueError, match="come from out-of-fold samples"):
        best.fit(X, Y).predict_proba_interval(X_NEW)
    three = search().fit(X, np.arange(len(X)) % 3)
    with pytest.raises(ValueError, match="predict_proba_interval is for two classes"):
        three.predict_proba_interval(X_NEW)


# -- what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.2, 1.2], [True, False]), "proba"),
        (([0.2, np.nan], [True, False]), "proba"),
        (([[0.2], [0.3]], [True, False]), "proba must have one dimension"),
        (([], []), "proba must have one dimension"),
        (([0.2, 0.3], [True]), "positive must hold True or False for each of the 2"),
        (([0.2, 0.3], ["yes", "no"]), "positive must hold True or False"),
        (([0.2, 0.3], [0, 2]), "positive must hold True or False"),
        (([0.2, 0.3], [True, False], [1.0]), "sample_weight"),
        (([0.2, 0.3], [True, False], [0.0, 0.0]), "sample_weight is zero"),
    ],
)
def test_held_out_predictions_that_make_no_sense_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ProbabilityIntervals().fit(*arguments)


def test_what_cannot_be_asked_for_is_refused():
    with pytest.raises(ValueError, match="call fit first"):
        ProbabilityIntervals().interval([0.5])
    fit = ProbabilityIntervals().fit(SCORE, TRUTH)
    for coverage in (0.0, 1.0, -1, 2, np.nan):
        with pytest.raises(ValueError, match="coverage must lie between 0 and 1"):
            fit.interval(NEW, coverage)
