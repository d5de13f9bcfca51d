"""Constraints that leave no room, that repeat each other, or that no weights meet."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import taupath as tp
from extra_rows import GAP, KKT, judge, problem, signs_of

ONES = np.ones(6)


def certified(path, taus):
    assert path.certify().holds()
    for tau in taus:
        assert path.duality_gap(tau) <= GAP and path.kkt_violation(tau) <= KKT


@pytest.mark.parametrize("seed", range(4))
def test_signs_that_contradict_each_other_leave_zero(seed):
    X, y, taus = problem(seed)
    rules = [tp.NonNegative([0, 3, 4]), tp.Monotone([3, 4], -1), tp.NonNegative([4])]
    path = tp.quantile_path(X, y, C=5.0, constraints=rules)
    # the same without these columns
    without = X.copy()
    without[:, 3:5] = 0.0
    for tau in taus:
        assert_array_equal(path.coef(tau)[3:5], 0.0)
        judge(path, without, y, tau, 5.0, 0.0, *signs_of([0], 1.0, 6))
    certified(path, taus)


def test_constraints_can_be_given_twice():
    X, y, taus = problem(1)
    a = np.arange(1.0, 7.0)
    once = [tp.Bound(a, 0.5, 0.5), tp.NonNegative([2])]
    twice = [*once, tp.Bound(2.0 * a, 1.0, 1.0), tp.Bound(a, 0.5), tp.NonNegative([2])]
    one, other = (tp.quantile_path(X, y, C=0.7, constraints=each) for each in (once, twice))
    for tau in taus:
        assert_allclose(other.coef(tau), one.coef(tau), rtol=0, atol=1e-9)
    certified(other, taus)


def test_inequalities_that_allow_a_single_value_are_met():
    X, y, taus = problem(2)
    # w ≥ 0 with a sum of at most 0, and a sum that two bounds enclose
    path = tp.quantile_path(X, y, C=5.0, constraints=[tp.NonNegative(), tp.Bound(ONES, upper=0.0)])
    for tau in taus:
        assert_array_equal(path.coef(tau), 0.0)
    certified(path, taus)
    rules = [tp.Bound(ONES, upper=0.25), tp.Bound(ONES, lower=0.25), tp.NonNegative([0])]
    path = tp.quantile_path(X, y, C=5.0, constraints=rules)
    for tau in taus:
        assert_allclose(path.coef(tau).sum(), 0.25, rtol=1e-12)
    certified(path, taus)


def test_frontiers_with_constraints_that_leave_no_room():
    X, y, _ = problem(0)
    rules = [tp.NonNegative([0]), tp.Monotone([0], -1)]
    path = tp.sparsity_path(X, y, 0.3, 2.0, constraints=rules, l1_max=3.0)
    assert path.coef(1.0)[0] == 0.0 and path.certify().holds()
    path = tp.fairness_path(X, y, np.arange(60) % 2, 0.3, 2.0, constraints=rules)
    assert path.coef(0.5 * path.tau_range[1])[0] == 0.0 and path.certify().holds()


@pytest.mark.parametrize(
    ("rules", "number"),
    [
        ([tp.Bound(ONES, 0.5), tp.Bound(ONES, upper=0.5 - 1e-9)], r"[01]"),
        ([tp.Bound(ONES, 0.5, 0.5), tp.Bound(2.0 * ONES, 1.0 + 1e-8, 1.0 + 1e-8)], r"[01]"),
        ([tp.Bound(ONES, 1.0), tp.Monotone(0), *[tp.Monotone(j, -1) for j in range(6)]], "7"),
        ([tp.NonNegative(), tp.Fair([0, 1] * 30, 5.0), tp.Bound(ONES, upper=-1e-6)], "2"),
    ],
)
def test_the_offending_constraint_is_named(rules, number):
    X, y, _ = problem(0)
    with pytest.raises(ValueError, match=rf"constraint {number}, .*contradicts those before it"):
        tp.quantile_path(X, y, constraints=rules)


@pytest.mark.parametrize(
    ("rules", "met"),
    [
        ([tp.Bound(np.eye(6)[0], 0.0, 0.0), tp.Bound(ONES, 1.0, 1.0)], (ONES, 1.0, 0.0)),
        (
            [tp.NonNegative(), tp.Monotone(0, -1), tp.Bound(ONES, 1.0, 1.0)],
            (ONES, 1.0, 0.0),
        ),
        (  # w = 0 and an intercept of -1 meet them
            [tp.NonNegative(), tp.Monotone(0, -1), tp.Bound(ONES, -1.0, -1.0, intercept=1.0)],
            (ONES, -1.0, 1.0),
        ),
        ([tp.Fair([0, 1] * 30), tp.Monotone(0), tp.Bound(ONES, 1.0, 1.0)], (ONES, 1.0, 0.0)),
    ],
)
def test_equations_beside_weights_of_zero_are_no_contradiction(rules, met):
    X, y, taus = problem(0)
    path = tp.quantile_path(X, y, constraints=rules)
    a, value, intercept = met
    for tau in taus:
        assert_allclose(a @ path.coef(tau) + intercept * path.intercept(tau), value, rtol=1e-12)
        if not isinstance(rules[0], tp.Fair):
            assert path.coef(tau)[0] == 0.0
    certified(path, taus)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("width", [1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-15])
def test_narrow_bounds_are_met(scale, width):
    X, y, taus = problem(1)
    X, first, a = scale * X, np.eye(6)[0], np.array([1.0, 1.0, 0.0, 0.0, 1.0, 0.0]) / scale
    group = np.arange(60) % 2
    covariance = (group - 0.5) @ X / 60
    for rules, row, low, high in (
        ([tp.Bound(first, -2.0 * width, -width)], first, -2.0 * width, -width),
        ([tp.Bound(a, 0.5, 0.5 + width)], a, 0.5, 0.5 + width),
        ([tp.Bound(a, 0.5), tp.Bound(3.0 * a, upper=1.5 + width)], a, 0.5, 0.5 + width),
        ([tp.NonNegative(), tp.Bound(ONES, upper=width)], ONES, 0.0, width),
        ([tp.Fair(group, width)], covariance, -width, width),
    ):
        path = tp.quantile_path(X, y, constraints=rules)
        for tau in taus:
            coef = path.coef(tau)
            rounding = 1e-14 / min(scale, 1.0) * (1.0 + np.abs(row) @ np.abs(coef))
            assert low - rounding <= row @ coef <= high + rounding
        certified(path, taus)


def test_simplex_that_is_hardly_larger_than_a_point():
    X, y, taus = problem(3)
    room = 1e-12
    rules = [tp.NonNegative(), tp.Bound(ONES, lower=room), tp.Bound(ONES, upper=1.5 * room)]
    path = tp.quantile_path(X, y, constraints=rules)
    for tau in taus:
        coef = path.coef(tau)
        assert (coef >= 0.0).all() and 0.999 * room <= coef.sum() <= 1.501 * room
    certified(path, taus)


def test_bounds_out_of_reach_are_refused_as_such():
    X, y, taus = problem(0)
    for bound in (1e15, 1e20, 1e60):
        for sign in (1.0, -1.0):
            with pytest.raises(ValueError, match=r"constraint 0, .*too far from zero"):
                tp.quantile_path(X, y, constraints=[tp.Bound(sign * ONES, bound)])
    plain = tp.quantile_path(X, y, constraints=[tp.Bound(ONES, 0.5)])
    rules = [tp.Bound(ONES, 0.5, 1e60), tp.Bound(np.eye(6)[0], -1e30, 1e20)]
    path = tp.quantile_path(X, y, constraints=rules)
    for tau in taus:
        assert_allclose(path.coef(tau), plain.coef(tau), rtol=0, atol=1e-9)


def test_units_of_coefficients_and_groups_do_not_matter():
    X, y, taus = problem(0)
    a, group = np.eye(6)[0] + 2.0 * np.eye(6)[3], np.arange(60.0)
    for unit in (1e-300, 1e-165, 1e-60, 1e55):
        one, other = (
            tp.quantile_path(X, y, constraints=[tp.Bound(s * a, 0.25 * s, 0.5 * s)])
            for s in (1.0, unit)
        )
        for tau in taus:
            assert_allclose(other.coef(tau), one.coef(tau), rtol=0, atol=1e-9)
    one, other = (
        tp.quantile_path(X, y, constraints=[tp.Fair(s * group, 0.1 * s)]) for s in (1.0, 1e-95)
    )
    for tau in taus:
        assert_allclose(other.coef(tau), one.coef(tau), rtol=0, atol=1e-9)
    one, other = (tp.fairness_path(X, y, s * group) for s in (1.0, 1e-95))
    assert_allclose(other.tau_range[1], 1e-95 * one.tau_range[1], rtol=1e-9)
    with pytest.raises(ValueError, match="group varies by less than 1e-100"):
        tp.quantile_path(X, y, constraints=[tp.Fair(1e-170 * group)])


@pytest.mark.parametrize("seed", range(3))
def test_narrow_bounds_beside_large_ones_are_met(seed):
    X, y, taus = problem(seed)
    X, group, first = 1e3 * X, np.arange(60) % 2, np.eye(6)
    covariance = (group - 0.5) @ X / 60
    rules = [
        tp.Bound(-first[1], 5.0),
        tp.Fair(group, 1e-13),
        tp.Monotone(0, -1),
        tp.Bound(-first[1], 10.0, 10.0 + 1e-8),
    ]
    path = tp.quantile_path(X, y, C=0.1, constraints=rules)
    for tau in taus:
        coef = path.coef(tau)
        assert abs(covariance @ coef) <= 1e-13 + 1e-14 * np.abs(covariance) @ np.abs(coef)
        assert coef[0] <= 0.0 and -10.0 - 1.0001e-8 <= coef[1] <= -10.0
    certified(path, taus)


def test_bounds_that_leave_room_beside_large_ones_stay_inequalities():
    X, y, taus = problem(0)
    narrow = 1e-9
    for sign in (1.0, -1.0):  # either end is best for one of them
        rules = [tp.Bound(ONES, 10.0), tp.Bound(np.eye(6)[0], -narrow, narrow)]
        path = tp.quantile_path(sign * X, y, constraints=rules)
        found = [path.coef(tau)[0] for tau in taus]
        assert_allclose(np.abs(found), narrow, rtol=1e-4)
        certified(path, taus)


def test_zeros_are_exact_between_narrow_bounds():
    X, y, _ = problem(0)
    group = np.arange(60) % 2
    path = tp.quantile_path(X, y, l1=1e4, constraints=[tp.Fair(group, 1e-13)])
    assert path.n_nonzero(0.4) == 0
    narrow = [tp.Bound(np.eye(6)[0], -1e-12, 1e-13), tp.Bound(ONES, 0.0, 0.1)]
    assert tp.quantile_path(X, y, constraints=narrow).coef(0.4)[0] == 0.0
