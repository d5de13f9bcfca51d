"""How far a solution is from optimal, in one compiled pass: compared with the formulas in NumPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from taupath._core._judging import judge

from taupath.engine.problem import Line
from taupath.engine.status import FREE, LOWER, UPPER

pytestmark = pytest.mark.core

N, T = 1500, 0.3
AT_BOUND, NARROWEST = 1e-12, 1e-9


def problem(seed=0):
    """Return a line, index sets, θ that are partly beyond their bounds, margins and lengths."""
    rng = np.random.default_rng(seed)
    lower0, lower1 = -rng.uniform(size=(2, N)) * rng.integers(0, 2, N)
    upper0, upper1 = rng.uniform(size=(2, N))
    target0, target1 = rng.normal(size=(2, N)) * 5.0
    line = Line(lower0, lower1, upper0, upper1, target0, target1)
    status = rng.choice([LOWER, FREE, UPPER], N).astype(np.int8)
    theta = line.lower(T) + rng.uniform(-0.1, 1.1, N) * line.width(T)
    return line, status, theta, rng.normal(size=N) * 5.0, rng.uniform(1.0, 2.0, N)


def test_it_returns_what_the_formulas_say():
    line, status, theta, margin, length = problem()
    found = judge(line, T, status, theta, margin, length, AT_BOUND, NARROWEST)
    meant, losses, slack, gap, moved, violation, beyond = found
    lower, upper, target = line.lower(T), line.upper(T), line.target(T)
    at = np.where(status == FREE, theta, np.where(status == UPPER, upper, lower))
    assert_array_equal(meant, at)
    short = target - margin
    assert_allclose(losses, np.maximum(upper * short, lower * short).sum(), rtol=1e-14)
    assert slack == np.abs(short).max()
    cut = np.clip(at, lower, upper)
    lost = np.maximum((upper - cut) * short, (lower - cut) * short)
    assert_allclose(gap, lost.sum(), rtol=1e-14)
    off = np.maximum(np.maximum(lower - at, at - upper), 0.0)
    assert off.max() > 0.0
    assert_allclose(moved, off @ length, rtol=1e-14)
    assert_allclose(beyond, (off / np.maximum(upper - lower, NARROWEST)).max(), rtol=1e-14)
    room = AT_BOUND * (upper - lower)
    open_up, open_down = at < upper - room, at > lower + room
    open_short = np.maximum(open_up * short, open_down * -short)
    assert_allclose(violation, (open_short / np.maximum(np.abs(target), 1.0)).max(), rtol=1e-14)


def test_points_at_their_bounds_and_on_their_right_sides_are_optimal():
    line, _, _, _, length = problem()
    margin = line.target(T) + np.where(np.arange(N) % 2, 1.0, -1.0)
    status = np.where(np.arange(N) % 2, LOWER, UPPER).astype(np.int8)
    theta = np.full(N, 1e300)  # of no account at a bound
    found = judge(line, T, status, theta, margin, length, AT_BOUND, NARROWEST)
    assert found[3:] == (0.0, 0.0, 0.0, 0.0)


def test_a_closed_box_has_no_room():
    line, _, _, margin, length = problem()
    same = Line(line.lower0, line.lower1, line.lower0, line.lower1, line.target0, line.target1)
    free = np.full(N, FREE, np.int8)
    found = judge(same, T, free, same.lower(T), margin, length, AT_BOUND, NARROWEST)
    assert found[3:] == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", ["theta", "margin"])
def test_what_is_not_finite_is_never_judged_right(where, value):
    line, status, theta, margin, length = problem()
    status[7] = FREE
    {"theta": theta, "margin": margin}[where][7] = value
    found = judge(line, T, status, theta, margin, length, AT_BOUND, NARROWEST)
    assert np.isnan(found[1:]).all()
