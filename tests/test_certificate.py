"""Certificates: upper bounds, in units that neither a shift of y nor an outlier changes."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import taupath
from platforms import needs_extended_sums
from taupath.paths.certificate import Certificate, Units, where_to_check
from taupath.paths.intercept import ROUNDED_BY, Wishes, restore_balance, round_intercept
from taupath.paths.jobs import QuantileRegression
from taupath.paths.options import Options, make_training_data
from taupath.paths.walked import Walked

U = 2.0**-53
INTERCEPTS = ["free", "augmented", "none"]
LONG = np.longdouble


def regression(seed, n=40, d=3):
    """Targets are multiples of 2⁻²⁰, so that shifts by powers of two change no digit."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.arange(1.0, d + 1.0) + rng.standard_normal(n)
    return X, np.round(y * 2.0**20) / 2.0**20


def judged(data, job, solution, tau):
    """Return P - D and P of a solution, in extended precision, by the two objectives."""
    X, y, theta = data.X.astype(LONG), data.target.astype(LONG), solution.theta.astype(LONG)
    w, b, C = solution.w[: X.shape[1]].astype(LONG), LONG(data.intercept(solution)), LONG(job.C)
    r, v = y - X @ w - b, X.T @ theta
    paid = data.constant.kind == "augmented"
    primal = (w @ w + paid * b * b) / 2 + C * np.maximum(tau * r, (tau - 1) * r).sum()
    return primal - (y @ theta - (v @ v + paid * theta.sum() ** 2) / 2), primal


def solved(X, y, intercept, tau=0.4, C=0.7):
    """Return training data, job and solution of a regression."""
    path = taupath.quantile_regression_path(X, y, C=C, intercept=intercept)
    solutions = path.solutions
    found = solutions.job.in_boxes(solutions.data, solutions.solution(tau), tau)
    return solutions.data, solutions.job, found


def measured(data, job, solution, tau=0.4):
    return data.measure(solution, job.line(data), tau)


@needs_extended_sums
@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("by", [0.0, 1e-15, 1e-12, 1e-8, 1e-3])
def test_the_gap_is_an_upper_bound_and_close_to_the_true_one(intercept, by):
    for seed in range(5):
        data, job, found = solved(*regression(seed), intercept)
        off = by * np.random.default_rng(seed).standard_normal(len(found.w))
        found = found._replace(w=found.w + off)
        gap, primal = judged(data, job, found, 0.4)
        got = measured(data, job, found).gap
        assert got >= float(gap / primal) - 1e-18
        assert got <= 1.001 * float(gap / primal) + 1e-12


@pytest.mark.parametrize("by", [0.0, 1e-6])
def test_a_shift_of_y_changes_neither_gap_nor_violation(by):
    X, y = regression(0)
    data, job, found = solved(X, y, "free")
    found = found._replace(w=found.w + by)
    before = measured(data, job, found)
    other = make_training_data(X, data.responses._replace(target=y + 2.0**24), Options())
    other.constant = data.constant
    w = found.w.copy()
    w[-1] = np.round(w[-1] * 2.0**20) / 2.0**20  # without rounding in either place
    before = measured(data, job, found._replace(w=w))
    w = w.copy()
    w[-1] += 2.0**24 / data.constant.bias
    after = measured(other, job, found._replace(w=w))
    assert_allclose([after.gap, after.kkt], [before.gap, before.kkt], rtol=1e-6, atol=1e-13)
    assert after.kkt > 0.1 * by  # which the old units, of |y|, would hide


@pytest.mark.filterwarnings("ignore::taupath.InexactPathWarning")  # of rounding the intercept
def test_a_large_intercept_that_costs_something_does_not_hide_errors():
    """If all targets are shifted, its square is most of the objective."""
    X, y = regression(4)
    gaps = []
    for shift in (2.0**12, 2.0**18):
        data, job, solution = solved(X, y + shift, "augmented", C=1e6)
        w = solution.w.copy()
        w[0] += 1e-4
        gaps.append(measured(data, job, solution._replace(w=w)).gap)
    assert min(gaps) > 1e-9
    assert_allclose(gaps[1], gaps[0], rtol=0.1)


@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_an_outlier_does_not_hide_errors_of_the_others(intercept):
    X, y = regression(1)
    found = {}
    for far in (1e3, 1e6, 1e12):
        y[0] = far
        data, job, solution = solved(X, y, intercept)
        off = solution._replace(w=solution.w + 1e-4)
        found[far] = measured(data, job, off)
    assert min(each.gap for each in found.values()) > 1e-9
    assert min(each.kkt for each in found.values()) > 1e-5
    assert_allclose(found[1e12].gap, found[1e3].gap, rtol=0.1)


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("far", [1e6, 1e10])
def test_an_outlier_does_not_move_the_others(intercept, far):
    X, y = regression(2, n=80)
    near = y.copy()
    near[0], y[0] = 1e3, far
    one, other = (
        taupath.quantile_regression_path(X, v, C=5.0, intercept=intercept) for v in (near, y)
    )
    assert other.certify(200).holds()
    for tau in (0.2, 0.5, 0.8):
        apart = one.decision_function(X, tau) - other.decision_function(X, tau)
        assert np.abs(apart).max() < 1e-8


@pytest.mark.parametrize("unit", [1e-30, 1e-6, 1e6, 1e30])
def test_units_of_y_do_not_matter(unit):
    X, y = regression(3)
    power = 2.0 ** round(math.log2(unit))
    plain = taupath.quantile_regression_path(X, y, C=1.0, intercept="free").certify(None)
    path = taupath.quantile_regression_path(X, y * power, C=power, intercept="free")
    scaled = path.certify(None)
    assert plain.holds() and scaled.holds()
    assert_allclose(scaled.worst_gap, plain.worst_gap, rtol=1e-3)


def test_units_are_those_of_typical_targets():
    y = np.array([5.0, 6.0, 7.0, 8.0, 1e10])
    units = Units(y, np.ones(5))
    assert units.typical == 1.0
    assert_array_equal(units.own[:4], [2.0, 1.0, 1.0, 1.0])
    assert units.own[4] == 1e10 - 7.0 and units.spread[4] == 10.0
    assert Units(y, np.array([1.0, 1.0, 1.0, 1.0, 0.0])).typical == 1.0
    # most are equal: the others tell the scale; all are equal: they are it; nothing is zero
    assert Units(np.array([0.0, 0.0, 0.0, 2.0, 1e9]), np.ones(5)).typical == 2.0
    assert Units(np.full(4, -3.0), np.ones(4)).typical == 3.0
    assert (Units(np.zeros(3), np.ones(3)).own == 1.0).all()


# -- what is promised ------------------------------------------------------------------------------


@needs_extended_sums
@pytest.mark.parametrize("columns", [0.0, 300.0, 1e7])
@pytest.mark.parametrize("targets", [0.0, 300.0, 1e7])
def test_beyond_the_condition_only_rounding_is_missing(columns, targets):
    for seed in range(4):
        X, y = regression(seed, n=30)
        path = taupath.quantile_regression_path(X + columns, y + targets, intercept="free")
        found = path.certify(None)
        assert found.worst_kkt < 1e-7
        if found.promised:
            assert found.holds()
        assert found.worst_gap < 3e-10 + 4.0 * U * found.condition
        assert found.promised is (max(columns, targets) < 1e6)


@needs_extended_sums
def test_classifiers_on_columns_far_from_zero_are_exact():
    for seed in range(4):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((50, 3))
        y = X[:, 0] + rng.standard_normal(50) > 0.0
        near = taupath.quantile_path(X, y, intercept="free")
        far = taupath.quantile_path(X + 1e7, y, intercept="free")
        assert far.certify(None).holds()
        assert far.n_kinks == near.n_kinks
        for tau in (0.05, 0.5, 0.9):
            assert_allclose(far.coef(tau), near.coef(tau), atol=1e-7)
            assert abs(math.fsum(np.where(y, 1.0, -1.0) * far.alpha(tau))) < 1e-17


def test_the_condition_grows_with_the_boxes_if_nothing_is_lost():
    X, y = regression(5, n=20, d=25)  # functions pass through all samples
    found = [
        taupath.quantile_regression_path(X, y, C=C, intercept="none").certify(None).condition
        for C in (1.0, 1e4, 1e8)
    ]
    assert found[0] < 1e3 and found[1] < 1e7 < found[2]


def test_the_condition_knows_the_kernel():
    X, y = regression(6, n=25, d=1)
    given = dict(kernel="rbf", gamma=0.01, intercept="free")
    small, large = (
        taupath.quantile_regression_path(X, y, C=C, **given).certify(None) for C in (1.0, 1e6)
    )
    assert small.promised and not large.promised


def test_a_certificate_of_some_points_needs_the_doubtful_ones():
    plain = dict(worst_gap=0.0, tau_gap=0.0, worst_kkt=0.0, tau_kkt=0.0, n_checked=2)
    assert Certificate(**plain, complete=True).holds()
    assert Certificate(**plain, complete=False, checked_doubtful=True).holds()
    assert not Certificate(**plain, complete=False).holds()
    assert not Certificate(**plain, complete=False).holds(gap=1.0, kkt=1.0)
    assert Certificate(**plain, complete=True).promised is None


def test_doubtful_points_are_always_checked():
    kinks = np.linspace(0.0, 1.0, 101)
    points, complete, enough = where_to_check(kinks, 10, np.empty((0, 2)))
    assert len(points) == 10 and not complete and enough
    points, complete, enough = where_to_check(kinks, 10, np.array([[0.333, 0.351], [0.9, 1.0]]))
    assert enough and not complete
    inside = np.r_[np.arange(0.33, 0.3601, 0.005), np.arange(0.9, 1.0001, 0.005)]
    for value in inside:
        assert np.abs(points - value).min() < 1e-12
    assert len(points) < 10 + len(inside) + 1
    assert where_to_check(kinks, 10, None)[1:] == (False, False)
    assert where_to_check(kinks, None, None)[1:] == (True, True)
    assert where_to_check(kinks, 201, None)[1:] == (True, True)


def test_paths_say_where_they_are_doubtful(monkeypatch):
    X, y = regression(7, n=60)
    path = taupath.quantile_regression_path(X, y)
    monkeypatch.setattr(Walked, "doubtful", np.array([[0.2, 0.4]]))
    found = path.certify(10)
    assert found.n_checked > 10 and not found.complete and found.holds()
    monkeypatch.setattr(Walked, "doubtful", None)
    assert not path.certify(10).holds() and path.certify(None).holds()


# -- rounding of a free intercept ------------------------------------------------------------------


def test_balance_is_restored_to_the_last_digit():
    rng = np.random.default_rng(0)
    for _ in range(200):
        n = int(rng.integers(2, 30))
        sign = rng.choice([-1.0, 1.0], n)
        lower, upper = -rng.uniform(0.0, 1.0, n), rng.uniform(0.0, 1.0, n)
        alpha = rng.uniform(lower, upper)
        free = rng.uniform(size=n) < 0.5
        free[:2] = True
        before = alpha.copy()
        alpha[0] -= sign[0] * math.fsum(sign * alpha)  # balanced, but for rounding and clipping
        alpha = np.clip(alpha, lower, upper)
        changed = alpha.copy()
        restore_balance(changed, sign, lower, upper, free, np.ones(n), n)
        assert ((changed >= lower) & (changed <= upper)).all()
        assert_array_equal(changed[~free], alpha[~free])
        left = abs(math.fsum(sign * changed))
        assert left <= abs(math.fsum(sign * alpha))
        if left > 1e-12:  # none has room for it
            excess = math.fsum(sign * alpha)
            room = np.where(sign * excess > 0.0, alpha - lower, upper - alpha)
            assert room[free].max() < abs(excess)
        else:
            assert left <= np.spacing(np.abs(before).max())


def test_balance_moves_no_long_row_by_more_than_rounding():
    sign = np.array([1.0, -1.0, -1.0, -1.0])
    alpha = np.array([4.0, 0.0, 1.0 / 3.0, 1e-6])
    alpha[1] = 4.0 - alpha[2] - alpha[3]
    assert 0.0 < abs(math.fsum(sign * alpha)) < 1e-15
    boxes = np.zeros(4), np.full(4, 4.0)

    def restored(free, last_length):
        found = alpha.copy()
        lengths = np.array([1.0, 1.0, 1.0, last_length])
        restore_balance(found, sign, *boxes, np.array(free), lengths, len(alpha))
        return found

    short, long = (restored([False, True, True, True], length) for length in (1.0, 1e6))
    assert math.fsum(sign * short) == 0.0 and short[3] != alpha[3]
    assert abs(math.fsum(sign * long)) < np.spacing(alpha[2]) and long[3] == alpha[3]
    # if no other is free, the sum stays as it is
    assert_array_equal(restored([False, False, False, True], 1e6), alpha)


def test_the_rounded_intercept_is_the_best_double():
    rng = np.random.default_rng(1)
    for _ in range(100):
        b = float(rng.normal() * 10.0 ** rng.uniform(-2, 9))
        n = int(rng.integers(1, 6))
        sign = rng.choice([-1.0, 1.0], n)
        slack = rng.normal(size=n) * ROUNDED_BY / 8.0 * abs(b)
        up, down = rng.uniform(size=(2, n)) * 10.0 ** rng.uniform(-9, 0, (2, n))
        wishes = Wishes(slack, sign, up, down, ROUNDED_BY * abs(b))
        found = round_intercept(b, wishes, np.zeros(0), None)

        def cost(other, b=b, slack=slack, sign=sign, up=up, down=down):
            r = slack - sign * (other - b)
            return (np.maximum(up * r, -down * r)).sum()

        others = b + np.spacing(b) * np.arange(-20, 21)
        assert cost(found) <= min(map(cost, others)) * (1.0 + 1e-12)


def test_a_weight_makes_up_for_what_the_intercept_lacks():
    shift = np.array([1e7, 3e6])
    w = np.array([1.0, 1e-3])
    b = -1.0e7
    slack = np.array([4e-10])  # less than the spacing of b
    wishes = Wishes(slack, np.ones(1), np.ones(1), np.ones(1), ROUNDED_BY * abs(b))
    found = round_intercept(b, wishes, w, shift)
    moved = (found - b) + (w - [1.0, 1e-3]) @ shift
    assert abs(moved - 4e-10) < 1e-12
    assert_allclose(w, [1.0, 1e-3], rtol=1e-10)


# -- files -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_centred_paths_come_back_from_files_as_they_were(kernel, tmp_path):
    X, y = regression(8)
    job = QuantileRegression(1.0)
    for columns, targets in ((0.0, 0.0), (1e7, 0.0), (0.0, 1e7), (1e5, -1e4)):
        path = taupath.quantile_regression_path(
            X + columns, y + targets, C=job.C, kernel=kernel, intercept="free"
        )
        path.save(tmp_path / "path.tau")
        again = taupath.load(tmp_path / "path.tau")
        for tau in (0.0, 0.1, 0.5, 0.77):
            assert again.intercept(tau) == path.intercept(tau)
            assert_array_equal(again.alpha(tau), path.alpha(tau))
            assert_array_equal(
                again.decision_function(X + columns, tau), path.decision_function(X + columns, tau)
            )
        if kernel == "linear":
            assert (path.data.shift is not None) == (columns > 0.0)
            simple = path.simplify(1e-3)
            simple.save(tmp_path / "simple.tau")
            there = taupath.load(tmp_path / "simple.tau")
            assert_allclose(there.coef(0.3), simple.coef(0.3), rtol=1e-14)
            assert there.attach(X + columns, y + targets).certify().holds()


@needs_extended_sums
def test_the_intercept_is_rounded_to_where_the_objective_vanishes_too():
    # near the ends, one side costs the whole box for each unit, the other next to nothing
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((24, 5)), 1.2e6 + rng.integers(0, 4, 24)
        path = taupath.quantile_regression_path(X, y, C=0.15, intercept="free")
        ends = path.taus[(path.taus < 1e-3) | (path.taus > 1.0 - 1e-3)]
        assert max(path.duality_gap(float(tau)) for tau in ends) < 1e-9


def test_nothing_is_promised_by_a_solution_that_is_far_off():
    """Its objective is so large that a rounding error beside it looks harmless."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 2)), rng.integers(0, 2, 30)
    path = taupath.quantile_path(X, y, C=1.0)
    data, line, t = path.data, path.solutions.line, 0.4
    found = path.solutions.solution(t)
    right = data.measure(found, line, t, 1e-6)
    wrong = data.measure(found._replace(w=1e9 * found.w), line, t, 1e-6)
    assert right.condition < 1e3 and wrong.gap > 0.1
    assert wrong.condition > 1e6


def test_large_rounding_of_margins_is_in_the_condition():
    """The gap does not show it where little is lost; violations do."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    y = 100.0 + 1e-4 * rng.standard_normal(12)
    how = {"kernel": "poly", "degree": 11, "gamma": 1.0, "coef0": 1.0, "intercept": "none"}
    certificate = taupath.quantile_regression_path(X, y, C=1e-2, **how).certify()
    assert certificate.holds() or not certificate.promised
    assert certificate.condition > 1e4


@pytest.mark.filterwarnings("ignore::taupath.InexactPathWarning")  # its condition is judged below
@pytest.mark.parametrize(
    ("X", "degree", "intercept"),
    [
        # with a free intercept, small θ have as few digits as the largest ones
        ([0.0, 100.0, 0.0, 200.0, 200.0, 100.0], 3, "free"),
        # θ of 1e-25 matter, although they are at zero within the rounding of their upper bounds
        ([-180.0, 160.0, 25.0, 120.0, 90.0, -20.0], 5, "none"),
    ],
)
def test_rounding_of_tiny_theta_is_in_the_condition(X, degree, intercept):
    y = np.array([1, -1, 1, -1, -1, 1])
    how = {"kernel": "poly", "degree": degree, "gamma": 5.0, "coef0": float(degree > 3)}
    path = taupath.quantile_path(np.reshape(X, (-1, 1)), y, C=0.02, intercept=intercept, **how)
    certificate = path.certify()
    assert certificate.holds() or not certificate.promised
    assert certificate.condition > 1e6


def test_a_regularised_intercept_is_rounded_like_a_constant_in_the_kernel():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal(30)
    K = np.exp(-5.0 * np.square(X[:, np.newaxis] - X).sum(axis=2))
    own = taupath.quantile_regression_path(X, y, 1e3, kernel="rbf", gamma=5.0)
    added = taupath.quantile_regression_path(
        K + 1.0, y, 1e3, kernel="precomputed", intercept="none"
    )
    np.testing.assert_allclose(own.certify().condition, added.certify().condition, rtol=1e-6)
