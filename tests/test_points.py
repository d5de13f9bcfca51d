"""AllRows over stored rows and over margins: each equals the same thing written in NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from taupath._core._rows import Rows

from taupath._core import _margins
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint, SampleLosses
from taupath.approximate.rounding import Rounding, summation_depth
from taupath.engine.rows import make_rows
from taupath.paths.jobs import QuantileClassification, QuantileRegression

pytestmark = pytest.mark.core

N, D = 700, 7  # more rows than a block of a sum has


def stored(kind: str, dtype: type, bias: float) -> tuple[Rows, np.ndarray]:
    """Return points and their rows z_i as a matrix."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.6)
    X[5] = 0.0
    X = (X != 0.0 if kind == "pattern" else X).astype(dtype)
    sign = np.where(rng.random(N) < 0.4, 1, -1)
    dense = X.astype(float)
    if bias:
        dense = np.column_stack((dense, np.full(N, bias)))
    rows = make_rows(X if kind == "dense" else sparse.csr_array(X), sign, bias)
    return rows, dense * sign[:, None]


every_storage = pytest.mark.parametrize(
    ("kind", "dtype", "bias"),
    [
        (kind, dtype, bias)
        for kind in ("dense", "sparse", "pattern")
        for dtype in (np.float32, np.float64)
        for bias in (0.0, 1.0, 2.5)
    ],
)


@every_storage
@pytest.mark.parametrize("members", [None, [], [3], [699, 5, 5, 0]])
def test_products_and_sums_are_those_of_the_rows(kind, dtype, bias, members):
    rows, Z = stored(kind, dtype, bias)
    some = None if members is None else np.array(members, dtype=np.int32)
    own = Z if members is None else Z[members]
    rng = np.random.default_rng(3)
    v, factor = rng.standard_normal(Z.shape[1]), rng.standard_normal(len(own))
    assert_allclose(rows.products(v, some), own @ v, rtol=1e-12, atol=1e-13)
    begun = rng.standard_normal(Z.shape[1])
    expected = begun + own.T @ factor
    assert_allclose(rows.combine(factor, some, begun.copy()), expected, rtol=1e-12, atol=1e-12)
    assert rows.visits == 2 * len(own)


@every_storage
def test_squares_are_those_of_the_rows(kind, dtype, bias):
    rows, Z = stored(kind, dtype, bias)
    members = np.arange(0, N, 3, dtype=np.int32)
    factor = np.random.default_rng(4).random(len(members))
    expected = (Z[members] * factor[:, None]).T @ Z[members]
    found = np.zeros((Z.shape[1], Z.shape[1]))
    rows.add_outer_products(factor, members, found)
    assert_allclose(np.tril(found), np.tril(expected), rtol=1e-12, atol=1e-12)


@every_storage
def test_norms_are_rounded_up(kind, dtype, bias):
    rows, Z = stored(kind, dtype, bias)
    exact = np.linalg.norm(Z.astype(np.longdouble), axis=1)
    assert np.all(rows.norms() >= exact)
    assert_allclose(rows.norms(), exact.astype(float), rtol=1e-13)


def margins() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return margins, targets, weights and signs, with ties and zeros."""
    rng = np.random.default_rng(5)
    margin = np.round(rng.standard_normal(N), 1)
    return margin, np.ones(N), rng.integers(0, 3, N) / 2.0, np.where(rng.random(N) < 0.5, 1, -1)


def test_shares_follow_the_margins():
    margin, target, weight, sign = margins()
    sign8 = sign.astype(np.int8)
    centre, width = np.array([0.4, 0.7]), 0.8
    share, change = np.random.default_rng(6).random(N), np.empty(N + 1)
    before = share.copy()
    changed, between = np.empty((2, N + 1), dtype=np.int32)
    sums = np.empty((2, 5))
    found = _margins.update_fractions(
        margin, target, weight, sign8, centre, width, share, changed, change, between, sums
    )
    own = (sign < 0).astype(int)
    expected = np.clip(centre[own] + (target - margin) / width, 0.0, 1.0)
    assert_allclose(share, expected, atol=1e-15)
    inside = (share > 0.0) & (share < 1.0)
    moved = np.flatnonzero(share != before)
    assert found == (len(moved), inside.sum())
    assert_array_equal(changed[: found[0]], moved)
    assert_allclose(change[: found[0]], (weight * (share - before))[moved], atol=1e-15)
    assert_array_equal(between[: found[1]], np.flatnonzero(inside))
    short = target - margin
    for k in (0, 1):
        mine = own == k
        terms = (
            weight * np.maximum(short, 0.0),
            weight * np.maximum(-short, 0.0),
            weight * target * share,
            weight * inside,
            weight * inside * share,
        )
        assert_allclose(sums[k], [term[mine].sum() for term in terms], rtol=1e-13)


def test_the_slope_is_the_derivative_of_the_smoothed_loss():
    margin, target, weight, sign = margins()
    rate = np.random.default_rng(7).standard_normal(N)
    centre, width, box = np.array([0.4, 0.7]), 0.8, np.array([1.5, 0.25])
    own = (sign < 0).astype(int)

    def smoothed(step: float) -> float:
        short = target - margin - step * rate
        a = np.clip(centre[own] + short / width, 0.0, 1.0)
        return float(weight * box[own] @ (a * short - 0.5 * width * (a - centre[own]) ** 2))

    def slope(step: float) -> tuple[float, float]:
        given = margin, rate, step, target, weight, sign.astype(np.int8), centre, width, box
        return _margins.slope(*given)

    h = 1e-5
    first, second = slope(0.3)
    assert_allclose(-first, (smoothed(0.3 + h) - smoothed(0.3 - h)) / (2.0 * h), rtol=1e-7)
    assert_allclose(-second, (slope(0.3 + h)[0] - slope(0.3 - h)[0]) / (2.0 * h), rtol=1e-3)


@pytest.mark.parametrize("n_panels", [1, 8])
def test_losses_along_a_chord_are_those_of_its_points(n_panels):
    begin, target, weight, sign = margins()
    end = np.random.default_rng(8).standard_normal(N)
    end[:50] = 1.0  # some end on their target
    out = np.empty((2, 2, n_panels + 1))
    _margins.chord_losses(begin, end, target, weight, sign.astype(np.int8), out)
    for j, s in enumerate(np.linspace(0.0, 1.0, n_panels + 1)):
        short = target - (1.0 - s) * begin - s * end
        for k, mine in enumerate((sign > 0, sign < 0)):
            for side, loss in enumerate((np.maximum(short, 0.0), np.maximum(-short, 0.0))):
                assert_allclose(out[k, side, j], (weight * loss)[mine].sum(), rtol=1e-12)


def test_inner_products_are_summed_in_blocks():
    a, b = np.random.default_rng(9).standard_normal((2, N))
    assert_allclose(_margins.inner(a, b), a @ b, rtol=1e-12)
    assert summation_depth(N, _margins.block_size) < N


# --- the bound -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("regression", [False, True])
def test_the_bound_is_above_every_point_of_any_chord(seed, regression):
    """Between any two feasible dual points and any two primal ones, optimal or not."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    sign = np.ones(n) if regression else rng.choice([-1.0, 1.0], n)
    Z = sign[:, None] * np.column_stack((rng.integers(-2, 3, (n, d)), np.ones(n)))
    weight, C = rng.choice([0.0, 0.5, 3.0], n), 10.0 ** rng.uniform(-3.0, 3.0)
    target = rng.standard_normal(n) if regression else np.ones(n)
    job = QuantileRegression(C) if regression else QuantileClassification(C, np.array([-1, 1]))
    boxes = job.boxes
    own = (sign < 0).astype(int)
    reach = float(weight @ np.linalg.norm(Z, axis=1))
    aims = float(weight @ np.abs(target))
    rounding = Rounding(d + 1, n, n, d + 1, reach, aims, float(weight.sum()), 0.0, 0.0)
    losses = SampleLosses(target, weight, sign.astype(np.int8))
    gap_bound = GapBound(rounding, losses, boxes, free=False, unit_t=job.unit_at)

    def box(t: float) -> tuple[np.ndarray, np.ndarray]:
        return weight * boxes.lower(t)[own], weight * boxes.upper(t)[own]

    def end(t: float) -> tuple[PrimalDualPoint, np.ndarray, np.ndarray]:
        lower, upper = box(t)
        theta = lower + (upper - lower) * rng.choice([0.0, 1.0, rng.random()], n)
        w, v = rng.standard_normal(d + 1), Z.T @ theta
        return PrimalDualPoint(t, Z @ w, float(target @ theta), (w, w), (v, v)), w, theta

    t0, t1 = np.sort(rng.random(2))
    (begin, w0, theta0), (last, w1, theta1) = end(t0), end(t1)
    bound, place = gap_bound.bound(begin, last)
    assert t0 <= place <= t1
    gaps = []
    for s in np.linspace(0.0, 1.0, 1001):
        lower, upper = box((1.0 - s) * t0 + s * t1)
        w, theta = (1.0 - s) * w0 + s * w1, (1.0 - s) * theta0 + s * theta1
        short, v = target - Z @ w, Z.T @ theta
        loss = upper @ np.maximum(short, 0.0) - lower @ np.maximum(-short, 0.0)
        gaps.append(0.5 * (w @ w) + loss - target @ theta + 0.5 * (v @ v))
    assert max(gaps) / gap_bound.unit <= bound
    assert bound <= 1.1 * max(gaps) / gap_bound.unit  # losses bend in more than one panel at most
