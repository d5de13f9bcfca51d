"""Operating points: exact on made-up scores, kept as often as promised, and refused otherwise."""

import itertools
from fractions import Fraction
from math import comb, inf

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from scipy.stats import binom

from taupath.exceptions import NoOperatingPoint
from taupath.outcomes.bounds import (
    PRECISION_TAUS,
    _parts_of_delta,
    most_mistakes,
    p_values_of,
    precise,
    rows_needed,
    upper_bound,
)
from taupath.outcomes.held_out import Outcomes
from taupath.outcomes.operating import _Rows, find_operating_point, number_between
from taupath.outcomes.promises import Promises
from taupath.outcomes.rates import changes_of_probabilities
from taupath.paths.crossings import Changes

DRAWS = 1000


def outcomes_of(scores, truth):
    """Return outcomes of rows that are positive where their score is at least τ."""
    changes = changes_of_probabilities(np.asarray(scores, dtype=float))
    return Outcomes(np.asarray(truth, dtype=bool), (0.0, 1.0), changes)


def point_of(scores, truth, **promises):
    return find_operating_point(outcomes_of(scores, truth), Promises.checked(**promises))


def exact_tail(n, share, m):
    """Return P(Bin(n, share) ≤ m) as a fraction."""
    p = Fraction(share)
    return sum(comb(n, j) * p**j * (1 - p) ** (n - j) for j in range(m + 1))


# -- bounds ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.05, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("delta", [0.001, 0.05, 0.3])
def test_the_most_mistakes_are_the_largest_number_whose_tail_is_small_enough(share, delta):
    for n in (0, 1, 2, 7, 40, 59, 150):
        m = most_mistakes(n, share, delta)
        assert -1 <= m < max(n, 1)
        assert m == -1 or exact_tail(n, share, m) <= Fraction(delta) * (1 + Fraction(1, 10**9))
        assert exact_tail(n, share, m + 1) > Fraction(delta) * (1 - Fraction(1, 10**9)) or n == 0


def test_rows_needed_are_the_fewest_with_which_something_can_be_promised():
    assert rows_needed(0.05, 0.05) == 59  # the number known from Tong, Feng & Li
    for share, delta in itertools.product((0.001, 0.01, 0.05, 0.3, 0.5, 0.99), (1e-6, 0.05, 0.5)):
        n = rows_needed(share, delta)
        assert most_mistakes(n, share, delta) >= 0
        assert most_mistakes(n - 1, share, delta) == -1
    assert rows_needed(0.5, 0.125) == 3
    assert rows_needed(5e-324, 0.05) == 10**15


def test_the_upper_bound_is_that_of_clopper_and_pearson():
    for count, n in ((0, 10), (3, 10), (9, 10), (120, 4000)):
        bound = upper_bound(count, n, 0.05)
        assert binom.cdf(count, n, bound) == pytest.approx(0.05, rel=1e-8)
    assert upper_bound(10, 10, 0.05) == 1.0


def test_all_of_delta_is_spent_on_tests_of_precision_and_not_more():
    assert (np.diff(PRECISION_TAUS) < 0).all() and len(PRECISION_TAUS) > 250
    for precision in (0.05, 0.5, 0.99):
        for taus in (PRECISION_TAUS, PRECISION_TAUS[100:120], PRECISION_TAUS[:1]):
            parts = _parts_of_delta(taus, precision, 0.1)
            assert (parts >= 0.0).all() and parts.sum() <= 0.1 * (1 + 1e-12)
    assert _parts_of_delta(PRECISION_TAUS, 0.9, 0.1).sum() == pytest.approx(0.1)


def test_a_test_of_precision_passes_its_level_on_only_after_a_rejection():
    taus = np.array([0.9, 0.8, 0.7])
    parts = _parts_of_delta(taus, 0.9, 0.1)
    assert parts[0] > 0.0 and not parts[1:].any()  # so the other two live on what is passed on
    many = np.full(3, 1000.0)
    assert precise(many, many, taus, 0.9, 0.1).all()
    assert precise(np.array([1000.0, 0.0, 1000.0]), many, taus, 0.9, 0.1).tolist() == [1, 0, 0]
    assert not precise(np.array([0.0, 1000.0, 1000.0]), many, taus, 0.9, 0.1).any()
    assert not precise(np.zeros(3), np.zeros(3), taus, 0.9, 0.1).any()


# -- made-up rows ----------------------------------------------------------------------------------


def test_the_threshold_for_false_alarms_is_the_right_order_statistic():
    # P(Bin(20, 0.3) ≤ 2) = 0.035 and P(Bin(20, 0.3) ≤ 3) = 0.107: two of twenty may be flagged
    negatives = np.arange(1, 21) / 100.0  # 0.01 ... 0.20
    scores = np.append(negatives, [0.1825, 0.5, 0.9])
    truth = np.append(np.zeros(20), np.ones(3))
    point = point_of(scores, truth, max_fpr=0.3)
    assert 0.18 < point.tau < 0.1825
    assert (point.counts["fp"], point.counts["tp"]) == (2, 3)
    assert point.tau_low == point.tau and point.guaranteed and point.delta == 0.05
    assert point_of(scores, truth, max_fpr=0.3, delta=0.11).counts["fp"] == 3
    assert point_of(scores, truth, max_fpr=0.3, delta=0.034).counts["fp"] == 1


def test_the_threshold_for_misses_is_the_right_order_statistic():
    positives = 1.0 - np.arange(1, 21) / 100.0  # 0.99 ... 0.80
    scores, truth = np.append(positives, 0.8175), np.append(np.ones(20), 0.0)
    point = point_of(scores, truth, min_recall=0.7)
    assert 0.8175 < point.tau < 0.82
    assert (point.counts["fn"], point.counts["fp"]) == (2, 0)


def test_ties_are_resolved_on_the_safe_side():
    negatives = np.repeat(
        [0.1, 0.2, 0.3], [10, 6, 4]
    )  # two may be flagged: none of the four can be
    point = point_of(np.append(negatives, 0.9), np.append(np.zeros(20), 1.0), max_fpr=0.3)
    assert 0.3 < point.tau < 0.9 and point.counts["fp"] == 0
    positives = 1.0 - negatives
    point = point_of(np.append(positives, 0.1), np.append(np.ones(20), 0.0), min_recall=0.7)
    assert 0.1 < point.tau < 0.7 and point.counts["fn"] == 0


def test_a_rate_of_alarms_is_about_all_rows():
    scores = np.arange(1, 21) / 100.0
    for given in (0.3, (30, 100), np.array([30, 100]), [3, 10]):
        point = point_of(scores, np.arange(20) % 2, max_alarms_per=given)
        assert point.counts["tp"] + point.counts["fp"] == 2
    assert "at most 3 in 10 new rows are flagged" in point.promise


def test_rows_that_change_more_than_once_count_at_every_tau_in_between():
    # positive below 0.2 and from 0.5 to 0.7; never; always; only from 0.4 on
    begin = np.array([True, False, True, False])
    who, when = np.array([0, 0, 0, 3]), np.array([0.2, 0.5, 0.7, 0.4])
    change = np.array([-1, 1, -1, 1])
    rows = _Rows.of(Outcomes(np.ones(4, bool), (0.0, 1.0), Changes(begin, who, when, change)))
    assert rows.until.tolist() == [0.2, -inf, 1.0, -inf]
    assert rows.last.tolist() == [0.7, -inf, 1.0, 1.0]
    assert rows.positive_at(0.3).tolist() == [False, False, True, False]
    assert rows.positive_at(0.6).tolist() == [True, False, True, True]
    assert rows.positive_at(0.7).tolist() == [True, False, True, True]


def test_promises_count_rows_that_change_more_than_once_on_the_safe_side():
    # row k is positive up to k / 100, and again from 0.5 + k / 100 to 0.6 + k / 100
    n = 20
    k = np.arange(1, n + 1)
    who = np.repeat(np.arange(n), 3)
    when = np.column_stack((k / 100, 0.5 + k / 100, 0.6 + k / 100)).ravel()
    changes = Changes(np.ones(n, bool), who, when, np.tile([-1, 1, -1], n))
    for positive, promise in ((True, {"min_recall": 0.7}), (False, {"max_fpr": 0.3})):
        outcomes = Outcomes(np.full(n, positive), (0.0, 1.0), changes)
        tau = find_operating_point(outcomes, Promises.checked(**promise)).tau
        assert (0.02 < tau < 0.03) if positive else (0.78 < tau < 0.79)


def test_p_values_of_precision_are_binomial():
    right, alarms = np.array([0.0, 1.0, 7.0, 10.0, 0.0]), np.array([5.0, 1.0, 9.0, 10.0, 0.0])
    wanted = [binom.sf(k - 1, n, 0.8) for k, n in zip(right, alarms, strict=True)]
    assert p_values_of(right, alarms, 0.8) == pytest.approx(wanted, rel=1e-12)
    assert p_values_of(right, alarms, 0.8)[[0, 4]].tolist() == [1.0, 1.0]


def test_of_two_promises_about_alarms_the_stricter_one_decides():
    scores, truth = np.arange(100) / 100, np.arange(100) % 2
    for fpr, alarms in ((0.2, 0.5), (0.5, 0.2)):
        point = point_of(scores, truth, max_fpr=fpr, max_alarms_per=alarms)
        one = point_of(scores, truth, max_fpr=fpr, delta=0.025)
        other = point_of(scores, truth, max_alarms_per=alarms, delta=0.025)
        assert one.tau != other.tau
        assert point.tau == max(one.tau, other.tau)


def test_two_promises_share_delta_and_hold_together():
    rng = np.random.default_rng(0)
    truth = np.repeat([0, 1], 200)
    scores = np.clip(rng.normal(0.3 + 0.4 * truth, 0.08), 0.0, 1.0)
    point = point_of(scores, truth, max_fpr=0.05, min_recall=0.9)
    alone = point_of(scores, truth, max_fpr=0.05, delta=0.025)
    other = point_of(scores, truth, min_recall=0.9, delta=0.025)
    assert alone.tau <= point.tau <= other.tau
    assert "flagged and at least 90 % of new positive rows are found" in point.promise
    with pytest.raises(NoOperatingPoint, match=r"no τ keeps both.*abstain"):
        point_of(scores / 4, truth[rng.permutation(400)], max_fpr=0.05, min_recall=0.9)


def test_undecided_rows_keep_promises_that_no_single_tau_keeps():
    rng = np.random.default_rng(1)
    truth = np.repeat([0, 1], 300)
    scores = np.clip(rng.normal(0.4 + 0.2 * truth, 0.15), 0.0, 1.0)
    asked = {"max_fpr": 0.05, "min_recall": 0.95}
    with pytest.raises(NoOperatingPoint, match="no τ keeps both"):
        point_of(scores, truth, **asked)
    point = point_of(scores, truth, **asked, abstain=0.45)
    alone = point_of(scores, truth, max_fpr=0.05, delta=0.025)
    other = point_of(scores, truth, min_recall=0.95, delta=0.025)
    assert (point.tau, point.tau_low) == (alone.tau, other.tau)
    n = point.counts
    assert n["fp"] == alone.counts["fp"] and n["fn"] == other.counts["fn"]
    assert n["undecided_positive"] > 0 < n["undecided_negative"] and sum(n.values()) == 600
    assert point.cost_bound is None
    assert "found or left undecided" in point.promise
    # costs that need more room than the promises have the last word
    wider = point_of(scores, truth, **asked, abstain=0.01)
    assert (wider.tau_low, wider.tau) == (0.01, 0.99)


def test_the_undecided_are_those_for_whom_that_costs_least():
    scores = np.arange(1000) / 1000.0
    truth = np.arange(1000) % 3 == 0
    point = point_of(scores, truth, abstain=2.0, cost_fp=10.0, cost_fn=40.0)
    assert (point.tau_low, point.tau) == (0.05, 0.8)
    positive, undecided = scores >= 0.8, (scores >= 0.05) & (scores < 0.8)
    assert point.counts["tp"] == (positive & truth).sum()
    assert point.counts["undecided_positive"] == (undecided & truth).sum()
    costs = np.select(
        [positive & ~truth, undecided, ~positive & ~undecided & truth], [10.0, 2.0, 40.0], 0.0
    )
    assert costs.mean() < point.cost_bound < 1.5 * costs.mean()


def test_the_number_between_has_few_digits_and_keeps_its_distance():
    assert number_between(0.4231, 0.4387) == 0.43
    assert number_between(0.0, 1.0) == 0.5
    for low, high in ((0.42999999, 0.5), (0.1, 0.1 + 1e-9), (0.999, 1.0), (0.0, 1e-12)):
        found = number_between(low, high)
        quarter = 0.25 * (high - low)
        assert low + quarter <= found <= high - quarter
    assert number_between(0.5, np.nextafter(0.5, 1.0)) == np.nextafter(0.5, 1.0)


# -- as often as promised --------------------------------------------------------------------------


def most_broken(delta, draws=DRAWS):
    """Return how many draws of some may break a promise before it is doubted, one time in 1000."""
    return int(binom.ppf(0.999, draws, delta))


def drawn(rng, n, digits=None):
    """Return normal scores in (0, 1) of two classes, and the truth; digits make ties."""
    truth = rng.uniform(size=n) < 0.4
    scores = ndtr(rng.normal(np.where(truth, 1.0, -1.0)))
    return (scores if digits is None else np.round(scores, digits)), truth


def share_at_least(tau, positive, digits=None):
    """Return the true share of rows of a class whose score is at least τ."""
    if digits is not None:
        step = 10.0**-digits
        tau = np.ceil(tau / step - 1e-9) * step - step / 2  # what rounds to at least τ
    return ndtr((1.0 if positive else -1.0) - ndtri(tau)) if tau > 0.0 else 1.0


@pytest.mark.parametrize(("delta", "digits"), [(0.05, None), (0.3, None), (0.1, 1)])
def test_promises_are_broken_in_no_more_draws_than_promised(delta, digits):
    rng = np.random.default_rng(3)
    broken = dict.fromkeys(("max_fpr", "min_recall", "max_alarms_per"), 0)
    for _ in range(DRAWS):
        scores, truth = drawn(rng, 250, digits)
        for name, share in (("max_fpr", 0.1), ("min_recall", 0.85), ("max_alarms_per", 0.25)):
            try:
                tau = point_of(scores, truth, **{name: share}, delta=delta).tau
            except NoOperatingPoint:
                continue  # nothing is promised, so nothing is broken
            flagged = [share_at_least(tau, positive, digits) for positive in (False, True)]
            true = (flagged[0], flagged[1], 0.6 * flagged[0] + 0.4 * flagged[1])
            kept = (true[0] <= 0.1, true[1] >= 0.85, true[2] <= 0.25)
            broken[name] += not kept[list(broken).index(name)]
    assert max(broken.values()) <= most_broken(delta)
    if digits is None:  # and not in far fewer, which would be power thrown away
        assert min(broken.values()) >= 0.4 * delta * DRAWS


@pytest.mark.parametrize("shift", [-1.0, 0.0, 1.0])
def test_promises_of_precision_are_broken_in_no_more_draws_than_promised(shift):
    rng, delta, broken, found = np.random.default_rng(4), 0.2, 0, 0
    for _ in range(DRAWS):
        scores, truth = drawn(rng, 300)
        moved = ndtr(ndtri(scores) + shift)  # probabilities that are too small, or too large
        try:
            tau = point_of(moved, truth, min_precision=0.8, delta=delta).tau
        except NoOperatingPoint:
            continue
        found += 1
        tau = ndtr(ndtri(tau) - shift)
        right, wrong = 0.4 * share_at_least(tau, True), 0.6 * share_at_least(tau, False)
        broken += right < 0.8 * (right + wrong)
    assert broken <= most_broken(delta)
    assert found > 0.5 * DRAWS  # promises that are hardly ever made are not broken, either


def test_bounds_on_costs_are_broken_in_no_more_draws_than_promised():
    rng, delta, broken = np.random.default_rng(5), 0.2, 0
    costs = {"abstain": 0.2, "cost_fp": 1.0, "cost_fn": 3.0}
    low, high = 0.2 / 3.0, 0.8
    positive, negative = (
        [share_at_least(tau, one) for tau in (low, high)] for one in (True, False)
    )
    undecided = 0.4 * (positive[0] - positive[1]) + 0.6 * (negative[0] - negative[1])
    true = 0.6 * negative[1] + 3.0 * 0.4 * (1.0 - positive[0]) + 0.2 * undecided
    for _ in range(DRAWS):
        point = point_of(*drawn(rng, 200), **costs, delta=delta)
        broken += true > point.cost_bound
    assert (point.tau_low, point.tau) == (low, high)
    assert broken <= most_broken(delta)


# -- promises that cannot be kept, and nonsense ----------------------------------------------------


@pytest.mark.parametrize(
    ("promise", "needed", "what"),
    [
        ({"max_fpr": 0.05}, 59, "59 held-out negative rows, there are 30"),
        ({"min_recall": 0.95}, 59, "59 held-out positive rows, there are 30"),
        ({"max_alarms_per": 0.01}, 299, "299 held-out rows, there are 60"),
        ({"min_precision": 0.95}, 59, "at least 59 held-out rows must be flagged"),
    ],
)
def test_with_too_few_rows_it_is_said_how_many_are_needed(promise, needed, what):
    scores = np.append(np.linspace(0.0, 0.4, 30), np.linspace(0.6, 1.0, 30))
    with pytest.raises(NoOperatingPoint, match=what) as caught:
        point_of(scores, scores > 0.5, **promise)
    assert caught.value.rows_needed == needed


def test_a_promise_that_no_tau_keeps_is_refused():
    all_alike = np.ones(200)
    with pytest.raises(
        NoOperatingPoint, match="too many negative rows are flagged at every τ below 1"
    ):
        point_of(all_alike, np.arange(200) % 2, max_fpr=0.1)
    with pytest.raises(NoOperatingPoint, match="too many positive rows are missed at every τ"):
        point_of(0.0 * all_alike, np.arange(200) % 2, min_recall=0.9)
    with pytest.raises(NoOperatingPoint, match="at no τ") as caught:
        point_of(0.5 * all_alike, np.arange(200) % 2, min_precision=0.9)
    assert "100 positive and 100 negative rows" in str(caught.value)


@pytest.mark.parametrize(
    ("promise", "error", "what"),
    [
        ({}, ValueError, "nothing is promised"),
        ({"delta": 0.1}, ValueError, "nothing is promised"),
        *(
            ({name: value}, ValueError, f"{name} must lie between 0 and 1")
            for name in ("max_fpr", "min_recall", "min_precision", "max_alarms_per")
            for value in (0, 1.0, -0.1, 5, float("nan"), float("inf"))
        ),
        *(
            ({"max_fpr": 0.1, "delta": value}, ValueError, "delta must lie between 0 and 1")
            for value in (0.0, 1, float("nan"))
        ),
        ({"max_fpr": "5 %"}, TypeError, "max_fpr must be a real number"),
        ({"max_fpr": True}, TypeError, "max_fpr must be a real number"),
        ({"max_fpr": 0.1, "delta": None}, TypeError, "delta must be a real number"),
        ({"max_alarms_per": (5, 1000, 2)}, ValueError, r"a pair \(alarms, rows\)"),
        ({"max_alarms_per": (5, 5)}, ValueError, "fewer alarms than rows"),
        ({"max_alarms_per": (0, 5)}, ValueError, "max_alarms_per must be finite and above 0"),
        ({"abstain": 0.0}, ValueError, "abstain must be finite and above 0"),
        ({"abstain": float("inf")}, ValueError, "abstain must be finite and above 0"),
        ({"abstain": 0.5}, ValueError, "not worth it at any probability"),
        ({"abstain": 0.1, "cost_fp": 0}, ValueError, "cost_fp must be finite and above 0"),
        ({"abstain": 0.1, "cost_fn": float("inf")}, ValueError, "cost_fn must be finite"),
        ({"max_fpr": 0.1, "cost_fn": 2.0}, ValueError, "go with abstain"),
    ],
)
def test_nonsense_is_refused(promise, error, what):
    with pytest.raises(error, match=what):
        Promises.checked(**promise)
