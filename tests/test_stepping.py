"""Nodes of hard stretches: interpolation between them is as good as is said, everywhere."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from taupath._core._kernel_rows import MatrixRows

import taupath as tp
from platforms import needs_extended_sums
from taupath.engine import stepping
from taupath.engine.box_solver import BoxSolver, Solved
from taupath.engine.problem import Box, Line
from taupath.engine.rows import make_rows
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.engine.stepping import INTERPOLATED_TO, OFF_TARGET, Stepper, status_of

pytestmark = pytest.mark.core


def svm_line(sign, C, weight=1.0):
    """Return the line of an SVM: boxes of one sign open while those of the other close."""
    nothing = np.zeros(len(sign))
    wide = 2.0 * C * weight
    ones = np.ones(len(sign))
    return Line(
        nothing, nothing, np.where(sign > 0, wide, 0.0), np.where(sign < 0, wide, 0.0), ones, ones
    )


def lattice(rng):
    return rng.integers(-2, 3, (30, 2)) + 1e-9 * rng.normal(size=(30, 2))


def gaussian(rng):
    return rng.normal(size=(30, 3))


def made(features, C, balanced=False, dual=False):
    rng = np.random.default_rng(0)
    X = features(rng)
    sign = np.where(X[:, 0] + rng.normal(size=len(X)) > 0.0, 1.0, -1.0)
    rows = make_rows(X, sign, 1.0, balanced=balanced)
    if dual:
        kernel = np.outer(sign, sign) * np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
        rows = MatrixRows(kernel, sign.astype(np.int8), 1.0, balanced)
    return rows, svm_line(sign, C)


def worst_between(rows, line, nodes, seed=1):
    """Return the largest gap, relative to the primal objective, and the largest distance from a
    target that θ has room to close, at random t between nodes."""
    rng = np.random.default_rng(seed)
    gaps, offs = [], []
    for (begin, one), (end, two) in pairwise(nodes):
        for part in rng.uniform(0.0, 1.0, 2):
            t = begin + part * (end - begin)
            part = np.longdouble(t - begin) / np.longdouble(end - begin)
            theta = (1 - part) * one.theta + part * two.theta
            margin = rows.exact_products((1 - part) * one.w + part * two.w)
            lower, upper = line.lower(t), line.upper(t)
            short = line.target(t) - margin
            squared = theta @ (
                margin - rows.signs * ((1 - part) * one.multiplier + part * two.multiplier)
            )
            primal = 0.5 * squared + np.maximum(upper * short, lower * short).sum()
            theta_in = np.clip(theta, lower, upper)
            np.testing.assert_allclose(theta_in, theta, atol=1e-14 * upper.max())
            gap = np.maximum((upper - theta_in) * short, (lower - theta_in) * short).sum()
            gaps.append(gap / primal)
            room = 1e-11 * (upper - lower)
            offs += [
                np.where(theta_in < upper - room, short, 0.0).max(),
                np.where(theta_in > lower + room, -short, 0.0).max(),
            ]
    return float(max(gaps)), float(max(offs))


@pytest.mark.parametrize("balanced", [False, True], ids=["", "balanced"])
@pytest.mark.parametrize("C", [0.1, 100.0])
@pytest.mark.parametrize(
    ("features", "dual"), [(gaussian, False), (lattice, False), (gaussian, True)]
)
def test_interpolation_is_as_good_as_it_says(features, dual, C, balanced):
    rows, line = made(features, C, balanced, dual)
    stepper = Stepper(BoxSolver(rows), line)
    nodes = list(stepper.nodes(0.02, np.zeros(30), 0.6))
    times = np.array([t for t, _ in nodes])
    assert times[0] == 0.02 and times[-1] == 0.6 and (np.diff(times) > 0.0).all()
    assert len(nodes) < 400
    gap, off = worst_between(rows, line, nodes)
    assert gap <= 1.01 * INTERPOLATED_TO
    assert off <= 1.01 * OFF_TARGET


def weighted():
    """Boxes over 12 orders: forward, the rates of the smallest θ have few digits."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 4))
    sign = np.where(X[:, 0] + rng.normal(size=60) > 0.0, 1.0, -1.0)
    return make_rows(X, sign, 1.0), svm_line(sign, 1.0, 10.0 ** rng.uniform(-6, 6, 60))


def smooth():
    """A kernel of which many points are free: events in quick succession."""
    rng = np.random.default_rng(0)
    X = rng.random((80, 2))
    sign = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0.5, 1.0, -1.0)
    kernel = np.outer(sign, sign) * np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    return MatrixRows(kernel, sign.astype(np.int8), 1.0, False), svm_line(sign, 1e3)


@needs_extended_sums
@pytest.mark.parametrize("make", [weighted, smooth])
def test_kinks_are_found_without_detours(make, monkeypatch):
    """Most solutions are nodes, and most nodes are at kinks."""
    solved = []
    solve = BoxSolver.solve
    monkeypatch.setattr(BoxSolver, "solve", lambda *args: solved.append(1) or solve(*args))
    rows, line = make()
    stepper = Stepper(BoxSolver(rows), line)
    nodes = list(stepper.nodes(0.1, np.zeros(rows.n_rows), 0.5))
    sets = [status_of(found, stepper.box(t)) for t, found in nodes]
    changes = sum((one != two).any() for one, two in pairwise(sets))
    assert changes > 40
    assert len(solved) <= 1.5 * len(nodes)
    assert len(nodes) <= 1.8 * changes


def test_coarser_promises_take_fewer_nodes(monkeypatch):
    rows, line = made(gaussian, 1.0)
    fine = list(Stepper(BoxSolver(rows), line).nodes(0.1, np.zeros(30), 0.5))
    monkeypatch.setattr(stepping, "INTERPOLATED_TO", 1e-2)
    monkeypatch.setattr(stepping, "OFF_TARGET", 1e-1)
    coarse = list(Stepper(BoxSolver(rows), line).nodes(0.1, np.zeros(30), 0.5))
    assert len(coarse) < 0.9 * len(fine)
    gap, off = worst_between(rows, line, coarse)
    assert INTERPOLATED_TO < gap <= 1e-2
    assert OFF_TARGET < off <= 1e-1


@pytest.mark.parametrize("to", [1e-10, 1e-6])
def test_gaps_count_by_themselves(to, monkeypatch):
    monkeypatch.setattr(stepping, "OFF_TARGET", np.inf)
    monkeypatch.setattr(stepping, "INTERPOLATED_TO", to)
    rows, line = made(gaussian, 1e-3, balanced=True)
    nodes = list(Stepper(BoxSolver(rows), line).nodes(0.1, np.zeros(30), 0.5))
    gap, off = worst_between(rows, line, nodes)
    assert 0.1 * to < gap <= 1.01 * to
    assert off > OFF_TARGET


def test_an_intercept_that_jumps():
    """As many samples of each sign, and C so small that all are in error at t = ½.

    No point is free there, so the multiplier can have any value between two: it jumps.
    """
    rng = np.random.default_rng(3)
    X, sign = rng.normal(size=(12, 2)), np.repeat([1.0, -1.0], 6)
    rows, line = make_rows(X, sign, 1.0, balanced=True), svm_line(sign, 1e-3)
    nodes = list(Stepper(BoxSolver(rows), line).nodes(0.4, np.zeros(12), 0.6))
    level = np.array([float(found.multiplier) for _, found in nodes])
    assert np.abs(np.diff(level)).max() > 1.0
    gap, off = worst_between(rows, line, nodes)
    assert gap <= 1.01 * INTERPOLATED_TO
    assert off <= 1.01 * OFF_TARGET
    for t, found in nodes:
        assert abs(float(rows.signs @ found.theta)) <= 1e-17
        assert t == 0.5 or found.gap <= 1e-12 * found.objective
    assert len(nodes) < 200


def test_nodes_that_cannot_be_solved_are_not_multiplied_for_ever(monkeypatch):
    rng = np.random.default_rng([0, 11])
    X = rng.normal(size=(30, 3)) + np.array([1e11, -3e10, 0.0])  # C ‖x‖² is 6e21
    y, calls = rng.integers(0, 2, 30), []
    y[[0, -1]] = 0, 1
    solve = BoxSolver.solve
    monkeypatch.setattr(BoxSolver, "solve", lambda *given: calls.append(1) or solve(*given))
    monkeypatch.setattr(stepping, "FEW_UNSOLVED", 0)  # to save time: it ends without this, too
    monkeypatch.setattr(stepping, "UNSOLVED_PER_SAMPLE", 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tp.InexactPathWarning)  # the certificate says the same
        path = tp.quantile_path(X, y, 10.0 ** rng.uniform(-2, 2))
    assert len(calls) < 200
    certificate = path.certify()
    assert certificate.holds() or not certificate.promised
    for tau in np.linspace(0.0, 1.0, 41):  # what it says is true everywhere, but for rounding
        assert path.duality_gap(tau) <= max(2.0 * certificate.worst_gap, 1e-9)


def test_many_nodes_are_not_multiplied_for_ever(monkeypatch):
    """They are all solved, but so close to each other that they lead nowhere."""
    X = 100.0 * np.array([0.0, 2.0, -1.0, 0.0, -2.0, 2.0, -2.0, 1.0, 0.0, 2.0, 1.0])[:, np.newaxis]
    y, calls = np.where(np.arange(11) % 3 == 0, 1, -1), []
    solve = BoxSolver.solve
    monkeypatch.setattr(BoxSolver, "solve", lambda *given: calls.append(1) or solve(*given))
    monkeypatch.setattr(stepping, "NODES_PER_SAMPLE", 1)  # to save time
    how = {"kernel": "poly", "degree": 5, "gamma": 5.0, "coef0": 1.0, "intercept": "free"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tp.InexactPathWarning)  # the certificate says the same
        path = tp.quantile_path(X, y, C=0.48, **how)
    assert len(calls) < 3000
    certificate = path.certify(20)
    assert certificate.holds() or not certificate.promised


def test_the_largest_product_is_one():
    rng = np.random.default_rng(0)
    room = np.maximum(rng.normal(size=(2, 3000)), 0.0) * 10.0 ** rng.uniform(-3, 3, 3000)
    short = rng.normal(size=(2, 3000)) * 10.0 ** rng.uniform(-3, 3, 3000)
    room[:, :100] = room[0, :100]  # that do not change
    short[:, 100:200] = short[0, 100:200]
    found = stepping._largest_products(*room, *short)
    part = np.linspace(0.0, 1.0, 2001)[:, None]
    seen = ((1 - part) * room[0] + part * room[1]) * np.maximum(
        (1 - part) * short[0] + part * short[1], 0.0
    )
    assert (seen.max(axis=0) <= found * (1.0 + 1e-12)).all()
    np.testing.assert_allclose(seen.max(axis=0), found, rtol=1e-2)
    inside = (seen.argmax(axis=0) > 0) & (seen.argmax(axis=0) < 2000)
    assert inside.sum() > 100


def test_index_sets_of_a_solution():
    lower, upper = (
        np.array([0.0, 0.0, -1.0, 0.0, 0.0, 2.0, 2.0]),
        np.array([1.0, 1.0, 1.0, 0.0, 0.0, 4.0, 4.0]),
    )
    theta = np.array([0.0, 1.0, 0.3, 0.0, 0.0, 4.0, 4.0 - 1e-15], dtype=np.longdouble)
    theta[5] -= 2e-16  # rounds to 4
    slack = np.array([-1.0, 1.0, 0.0, -0.5, 0.5, 0.0, 0.0])  # counts where a box is empty
    found = Solved(theta, np.float64(0.0), np.zeros(1), slack, 0.0, 1.0)
    sets = status_of(found, Box(lower, upper, np.ones(7)))
    np.testing.assert_array_equal(sets, [LOWER, UPPER, FREE, UPPER, LOWER, UPPER, FREE])
