"""Intervals for probabilities: the test that they invert, their coverage, and what is refused."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from taupath import ProbabilityIntervals, spread_of_folds
from taupath.estimators.probability_intervals import LEVELS, QUANTILES, TRIED


def drawn(n, rng, power=2.0):
    """Return scores, and labels that are positive with probability score**power."""
    score = rng.uniform(size=n)
    return score, rng.uniform(size=n) < score**power


SCORE, TRUTH = drawn(300, np.random.default_rng(0))
NEW = np.linspace(0.0, 1.0, 23)


def log_likelihood(values, y):
    values = np.clip(values, 1e-12, 1.0 - 1e-12)
    return np.log(np.where(y, values, 1.0 - values)).sum()


def constrained(y, place, value):
    """Return the largest log-likelihood of increasing values, `value` between two of them."""
    n = len(y)
    low = np.where(np.arange(n) < place, 1e-9, value)
    high = np.where(np.arange(n) < place, value, 1.0 - 1e-9)
    steps = {"type": "ineq", "fun": np.diff}
    found = minimize(
        lambda v: -log_likelihood(v, y),
        0.5 * (low + high),
        bounds=list(zip(low, high, strict=True)),
        constraints=steps,
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    return -found.fun


@pytest.mark.parametrize("place", [0, 3, 7])
def test_the_statistic_is_the_likelihood_ratio_of_monotone_functions(place):
    y = np.array([0, 1, 0, 0, 1, 0, 1]).astype(bool)
    score = np.arange(1.0, 8.0) / 10.0
    at = (place + 0.5) / 10.0
    fit = ProbabilityIntervals().fit(score, y)
    tried = np.searchsorted(TRIED, [0.1, 0.3, 0.5, 0.8])
    likely = np.array([constrained(y, place, value) for value in TRIED[tried]])
    found = fit._statistic(at)[tried]
    assert_allclose(found[1:] - found[0], -2.0 * (likely[1:] - likely[0]), atol=2e-4)


def test_equal_scores_are_one_place():
    y = np.array([True, False, True, True, False, False])
    fit = ProbabilityIntervals().fit([0.5] * 6, y)
    share = y.mean()
    expected = (
        2.0
        * 6
        * (
            share * np.log(share / TRIED[1:-1])
            + (1 - share) * np.log((1 - share) / (1.0 - TRIED[1:-1]))
        )
    )
    assert_allclose(fit._statistic(0.5)[1:-1], expected - expected.min(), atol=1e-9)


def test_a_held_out_set_gives_the_stated_coverage_of_what_the_score_says():
    rng, at = np.random.default_rng(1), np.array([0.2, 0.5, 0.8])
    for coverage in (0.8, 0.9):
        held = []
        for _ in range(500):
            low, high = ProbabilityIntervals().fit(*drawn(400, rng)).interval(at, coverage).T
            held.append((low <= at**2) & (at**2 <= high))
        assert np.mean(held) == pytest.approx(coverage, abs=0.02)


def test_more_samples_make_narrower_intervals():
    rng = np.random.default_rng(2)
    widths = [
        np.diff(ProbabilityIntervals().fit(*drawn(n, rng)).interval(NEW), axis=1).mean()
        for n in (100, 1000, 10_000)
    ]
    assert widths[0] > 1.6 * widths[1] > 1.6**2 * widths[2]


def test_intervals_grow_with_coverage_and_spread():
    fit = ProbabilityIntervals().fit(SCORE, TRUTH)
    before = fit.interval(NEW, 0.5)
    for coverage in (0.8, 0.9, 0.95, 0.99):
        after = fit.interval(NEW, coverage)
        assert (after[:, 0] <= before[:, 0]).all() and (after[:, 1] >= before[:, 1]).all()
        before = after
    assert ((before >= 0.0) & (before <= 1.0)).all()
    wide = fit.interval(NEW, 0.9, spread=np.full(len(NEW), 0.1))
    narrow = fit.interval(NEW, 0.9)
    assert np.diff(wide, axis=1).mean() > np.diff(narrow, axis=1).mean() + 0.05
    assert_array_equal(fit.interval(NEW, 0.9, spread=np.zeros(len(NEW))), narrow)


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


def test_many_predictions_are_interpolated():
    fit = ProbabilityIntervals().fit(SCORE, TRUTH)
    many = np.linspace(0.0, 1.0, 5001)
    found, some = fit.interval(many), fit.interval(many[::500])
    assert found.shape == (5001, 2)
    assert np.abs(found[::500] - some).max() < 0.05


def test_the_spread_of_folds_is_the_jackknife_of_groups():
    proba = np.random.default_rng(4).uniform(size=(5, 7))
    expected = np.sqrt(4 / 5 * ((proba - proba.mean(axis=0)) ** 2).sum(axis=0))
    assert_allclose(spread_of_folds(proba), expected)


def test_quantiles_grow_with_the_coverage():
    assert len(LEVELS) == len(QUANTILES)
    assert LEVELS[0] == QUANTILES[0] == 0.0
    assert (np.diff(LEVELS) > 0.0).all() and (np.diff(QUANTILES) > 0.0).all()


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
    for coverage in (0.0, 1.0, -1, 0.995, np.nan):
        with pytest.raises(ValueError, match=r"coverage must lie above 0 and be at most 0\.99"):
            fit.interval(NEW, coverage)
    for spread in ([0.1], np.full(len(NEW), -0.1), np.full(len(NEW), np.nan)):
        with pytest.raises(ValueError, match="spread must hold"):
            fit.interval(NEW, spread=spread)
    for proba in ([0.5, 0.6], [[0.5, 0.6]]):
        with pytest.raises(ValueError, match="a row for each of at least two models"):
            spread_of_folds(proba)
