"""The parts of the core: what was updated step by step equals the same thing built afresh."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from taupath._core._deadlines import Deadlines
from taupath._core._factor import Factor, OrthogonalFactor
from taupath._core._kernel_rows import CachedRows, MatrixRows

from platforms import needs_extended_sums
from taupath.engine.metric import Metric, natural_metric
from taupath.engine.problem import Line
from taupath.engine.rows import make_rows

pytestmark = pytest.mark.core

FACTORS = [Factor, OrthogonalFactor]
STORES = {
    "dense": np.ascontiguousarray,
    "compressed": sparse.csr_array,
    "pattern": sparse.csr_array,
}


def features(store: str, n: int, d: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6)
    return STORES[store]((X != 0.0).astype(float) if store == "pattern" else X)


def rows_and_matrix(
    store: str = "dense", n: int = 20, d: int = 12, seed: int = 0, bias: float = 1.0
) -> tuple[Any, np.ndarray]:
    """Return rows for the core, and the same as a matrix Z."""
    X = features(store, n, d, seed)
    sign = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    dense = X.toarray() if sparse.issparse(X) else X
    if bias:
        dense = np.column_stack([dense, np.full(n, bias)])
    return make_rows(X, sign, bias), sign[:, None] * dense


# --- rows ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("d", [1, 2, 3, 4, 5, 8, 13])
@pytest.mark.parametrize("store", STORES)
class TestRows:
    """One suite for all ways to store them."""

    def test_products_with_a_vector(self, store, d, bias):
        rows, Z = rows_and_matrix(store, 20, d, bias=bias)
        v = np.random.default_rng(1).normal(size=Z.shape[1])
        assert_allclose(rows.products(v), Z @ v, rtol=0, atol=1e-13)

    def test_combinations(self, store, d, bias):
        rows, Z = rows_and_matrix(store, 20, d, bias=bias)
        theta = np.random.default_rng(1).normal(size=20)
        theta[::4] = 0.0
        assert_allclose(rows.combine(theta), theta @ Z, rtol=0, atol=1e-13)

    def test_squared_norms(self, store, d, bias):
        rows, Z = rows_and_matrix(store, 20, d, bias=bias)
        assert_allclose(rows.squared_norms(), (Z**2).sum(axis=1), rtol=1e-14)

    def test_gram_matrices_and_blocks(self, store, d, bias):
        rows, Z = rows_and_matrix(store, 20, d, bias=bias)
        members = np.array([3, 17, 0, 8, 8, 19], dtype=np.int32)
        assert_array_equal(rows.block(members), Z[members])
        gram = Z[members] @ Z[members].T
        assert_allclose(rows.gram(members), np.tril(gram), rtol=0, atol=1e-13)


def test_gram_matrices_of_very_sparse_rows():
    # so few entries that no dense block is made of them
    X = sparse.random(40, 900, density=0.01, random_state=3, format="csr")
    rows = make_rows(sparse.csr_array(X), np.ones(40), 1.0)
    members = np.arange(39, -1, -3, dtype=np.int32)
    Z = np.column_stack([X.toarray(), np.ones(40)])[members]
    assert_allclose(rows.gram(members), np.tril(Z @ Z.T), rtol=0, atol=1e-13)


@pytest.mark.parametrize("entries", ["doubles", "floats", "ones"])
def test_products_of_rows_that_share_few_columns(entries):
    X = sparse.csr_array(sparse.random(60, 500, density=0.03, random_state=4, format="csr"))
    if entries == "floats":
        X = X.astype(np.float32)
    elif entries == "ones":
        X.data[:] = 1.0
    sign = np.where(np.arange(60) % 3 == 0, 1.0, -1.0)
    rows = make_rows(X, sign, 1.5)
    Z = sign[:, None] * np.column_stack([X.toarray().astype(float), np.full(60, 1.5)])
    some, others = np.arange(0, 60, 3, dtype=np.int32), np.arange(59, -1, -2, dtype=np.int32)
    found = rows.products_between(some, others)
    assert_allclose(found, Z[some] @ Z[others].T, rtol=0, atol=1e-13)
    assert_array_equal(found, rows.products_between(others, some).T)
    assert_array_equal(rows.gram(others), np.tril(rows.products_between(others, others)))
    # a few rows are multiplied one by one
    assert_allclose(found[:2], rows.products_between(some[:2], others), rtol=0, atol=1e-13)
    assert_allclose(rows.squared_norms(), (Z**2).sum(axis=1), rtol=1e-14)


# --- factors -------------------------------------------------------------------------------------


def assert_fresh(factor: Factor, Z: np.ndarray, members: list[int], atol: float = 1e-10) -> None:
    """Assert that a factor is what NumPy makes of these members at once."""
    assert factor.size == len(members)
    assert_array_equal(factor.indices, members)
    if not members:
        return
    gram = Z[members] @ Z[members].T
    scale = np.abs(gram).max()
    assert_allclose(factor.L, np.linalg.cholesky(gram), rtol=0, atol=atol * np.sqrt(scale))
    assert_allclose(factor.L @ factor.L.T, gram, rtol=0, atol=1e-13 * scale)


def changes(most: int) -> st.SearchStrategy[list[int]]:
    """Sequences of appends (a number: the row) and removals (its complement: the position)."""
    return st.lists(st.integers(-most, most - 1), max_size=60)


@pytest.mark.parametrize("cls", FACTORS)
@pytest.mark.parametrize("store", STORES)
@given(sequence=changes(16), seed=st.integers(0, 20))
@settings(max_examples=40)
def test_a_factor_after_any_changes_equals_a_fresh_one(cls, store, sequence, seed):
    rows, Z = rows_and_matrix(store, 16, 24, seed)
    factor = cls(rows, 2)  # grows on the way
    members: list[int] = []
    for change in sequence:
        if change < 0:
            if members:
                position = ~change % len(members)
                factor.drop(position)
                del members[position]
        elif change not in members:
            # a pattern may hold a row twice, or one that the others make up
            rank = np.linalg.matrix_rank(Z[[*members, change]])
            distance = factor.take(change)
            assert (distance > 0.0) == (rank > len(members))
            if distance > 0.0:
                members.append(change)
                across = np.linalg.lstsq(Z[members[:-1]].T, Z[change], rcond=None)[0]
                residual = Z[change] - across @ Z[members[:-1]]
                assert distance == pytest.approx(np.linalg.norm(residual), rel=1e-8)
    assert_fresh(factor, Z, members)


@pytest.mark.parametrize("cls", FACTORS)
@pytest.mark.parametrize("position", range(12))
def test_each_member_can_be_removed(cls, position):
    rows, Z = rows_and_matrix("dense", 12, 20)
    factor = cls(rows, 12)
    for i in range(12):
        assert factor.take(i) > 0.0
    factor.drop(position)
    assert_fresh(factor, Z, [i for i in range(12) if i != position])


@pytest.mark.parametrize("cls", FACTORS)
def test_a_thousand_changes_leave_little_rounding(cls):
    rows, Z = rows_and_matrix("dense", 60, 80)
    factor = cls(rows, 60)
    rng = np.random.default_rng(5)
    members: list[int] = []
    for _ in range(1000):
        if members and rng.random() < len(members) / 60.0:
            position = int(rng.integers(len(members)))
            factor.drop(position)
            del members[position]
        else:
            i = int(rng.choice(np.setdiff1d(np.arange(60), members)))
            assert factor.take(i) > 0.0
            members.append(i)
    assert len(members) > 10
    assert_fresh(factor, Z, members, atol=1e-9)


@pytest.mark.parametrize("cls", FACTORS)
def test_a_row_in_the_span_of_the_members_is_not_taken(cls):
    X = np.array([[1.0, 2.0, 0.0], [0.5, -1.0, 0.0], [3.0, 7.0, 0.0], [1.0, 2.0, 1e-3], [0, 0, 0]])
    rows = make_rows(X, np.ones(5), 0.0)
    factor = cls(rows, 5)
    assert factor.take(4) == 0.0  # a row of zeros
    assert factor.take(0) == pytest.approx(np.sqrt(5.0))
    assert factor.take(0) == 0.0
    assert factor.take(1) > 0.0
    assert factor.take(2) == 0.0
    assert factor.take(3) == pytest.approx(1e-3, rel=1e-6)  # outside, if only by little
    assert_array_equal(factor.indices, [0, 1, 3])
    factor.drop(0)
    assert factor.take(2) > 0.0  # no longer in the span


@pytest.mark.parametrize("cls", FACTORS)
@pytest.mark.parametrize("seed", range(5))
def test_margins_are_met_after_changes(cls, seed):
    rows, Z = rows_and_matrix("compressed", 30, 40, seed)
    factor = cls(rows, 4)
    rng = np.random.default_rng(seed)
    for i in rng.permutation(30)[:20]:
        factor.take(int(i))
    for _ in range(8):
        factor.drop(int(rng.integers(factor.size)))
    members = factor.indices
    s, rhs = rng.normal(size=41), rng.normal(size=len(members))
    coef, v = factor.met(s, rhs)
    assert_allclose(Z[members] @ v, rhs, rtol=0, atol=1e-13)
    gram = Z[members] @ Z[members].T
    expected = np.linalg.solve(gram, rhs - Z[members] @ s)
    assert_allclose(coef.astype(float), expected, rtol=0, atol=1e-11)
    assert_allclose(v, s + expected @ Z[members], rtol=0, atol=1e-11)


@pytest.mark.parametrize("scales", [(1e6, 1.0), (1e-6, 1.0), (1e6, 1e-6)])
def test_margins_are_met_where_columns_differ_in_scale(scales):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(6, 6)) * np.resize(scales, 6)
    rows = make_rows(X, np.ones(6), 1.0)
    Z = np.column_stack([X, np.ones(6)])
    factor = OrthogonalFactor(rows, 6)
    for i in (4, 0, 2, 5):
        assert factor.take(i) > 0.0
    factor.drop(1)
    _, v = factor.met(Z[1] + Z[3], np.ones(3))
    assert_allclose(Z[[4, 2, 5]] @ v, 1.0, rtol=0, atol=1e-9)


@pytest.mark.parametrize("cls", FACTORS)
def test_a_member_s_part_across_the_others_is_found_after_changes(cls):
    rows, Z = rows_and_matrix("dense", 15, 20)
    factor = cls(rows, 15)
    for i in range(12):
        factor.take(i)
    for position in (10, 0, 5):
        factor.drop(position)
    members = factor.indices
    for a in range(len(members)):
        u, squared = factor.column_of(a)
        assert u[a] == 1.0
        q = u @ Z[members]
        assert squared == pytest.approx(q @ q, rel=1e-10)
        others = np.delete(members, a)
        assert_allclose(Z[others] @ q, 0.0, rtol=0, atol=1e-12)


def test_a_loaded_factor_goes_on_like_one_of_its_own():
    rows, Z = rows_and_matrix("compressed", 40, 60)
    members = np.arange(2, 38, dtype=np.int32)
    factor = Factor(rows, 4)
    factor.load(members, np.linalg.cholesky(Z[members] @ Z[members].T))
    assert_fresh(factor, Z, members.tolist())
    factor.drop(7)
    factor.take(0)
    assert_fresh(factor, Z, [*np.delete(members, 7).tolist(), 0])


@pytest.mark.parametrize("cls", FACTORS)
def test_independent_rows_are_told_from_dependent_ones(cls):
    rng = np.random.default_rng(2)
    base = rng.normal(size=(3, 7))
    X = np.vstack([base, base[0] + base[1], rng.normal(size=7), 2.0 * base[2], np.zeros(7)])
    rows = make_rows(X, np.ones(7), 0.0)
    kept = cls(rows, 1).take_all(np.arange(7, dtype=np.int32))
    assert_array_equal(kept, [True, True, True, False, True, False, False])


# --- deadlines -----------------------------------------------------------------------------------


def walk_and_look(
    wheel: Deadlines,
    metric: Metric | None,
    pairs: np.ndarray,
    distances: list[float],
    steps: list[tuple],
) -> int:
    """Move w step by step, assert that no point is late, and return how often one was looked at.

    A point is late when w has moved farther than its distance from where it was put. One that
    comes out is put again, with as much as is left.
    """
    w, rate = pairs[::2], pairs[1::2]
    R = metric.R if metric else np.eye(3)
    n_looks, t = 0, 0.0
    put_at = {i: (w.copy(), t, distance) for i, distance in enumerate(distances)}
    for i, distance in enumerate(distances):
        wheel.schedule(i, distance)
    for length, angle, dt in steps:
        # a straight line through w and t; its length is what both make together
        direction = np.array([np.cos(angle), np.sin(angle), dt])
        direction /= np.linalg.norm(R @ direction)
        rate[:], dt = direction[:2], direction[2]
        found = wheel.due(length, t + length * dt)
        assert len(set(found)) == len(found)
        w += length * rate
        t += length * dt
        n_looks += len(found)
        for i, (there, then, distance) in put_at.items():
            gone = np.linalg.norm(R @ np.append(w - there, t - then))
            if i in found:
                wheel.schedule(i, max(distance - gone, 0.0))
                put_at[i] = (w.copy(), t, max(distance - gone, 0.0))
            else:
                assert gone <= distance * (1.0 + 1e-8) + 1e-12
    return n_looks


STEPS = st.lists(
    st.tuples(
        st.one_of(st.floats(0.0, 1.0), st.floats(0.0, 1e4)),
        st.floats(0.0, 6.3),
        st.sampled_from([0.0, 0.0, 0.5, 1.0]),
    ),
    max_size=40,
)


# without one there are no balls
METRICS = [
    None,
    Metric(np.eye(3), np.zeros(0)),
    Metric(np.array([[3.0, -2.0, 0.5], [0.0, 0.1, -1.0], [0.0, 0.0, 0.7]]), np.zeros(0)),
]


@pytest.mark.parametrize("metric", METRICS)
@given(
    distances=st.lists(
        st.one_of(st.floats(0.0, 2.0), st.floats(0.0, 1e5)), min_size=1, max_size=40
    ),
    steps=STEPS,
    farthest=st.sampled_from([1e-3, 1.0, 1e5]),
    stride=st.sampled_from([1e-4, 0.1, 10.0]),
)
@settings(max_examples=150)
def test_no_deadline_is_missed(metric, distances, steps, farthest, stride):
    pairs = np.zeros(4)
    wheel = Deadlines(len(distances), pairs, metric)
    wheel.restart(farthest, stride)
    walk_and_look(wheel, metric, pairs, distances, steps)


@pytest.mark.parametrize("metric", METRICS)
def test_points_far_away_are_seldom_looked_at(metric):
    pairs = np.zeros(4)
    wheel = Deadlines(1000, pairs, metric)
    wheel.restart(1000.0, 1.0)
    steps = [(1.0, 0.0, 0.0)] * 10
    n_looks = walk_and_look(wheel, metric, pairs, [float(i) for i in range(1000)], steps)
    assert 10 <= n_looks < 1000  # of 10 × 1000


def test_going_round_in_circles_does_not_wake_points_that_balls_keep():
    steps = [(1.0, 0.1 * k, 0.0) for k in range(2000)]  # never farther than 20 from the start
    looks = {}
    for metric in METRICS[:2]:
        pairs = np.zeros(4)
        wheel = Deadlines(50, pairs, metric)
        wheel.restart(1000.0, 1.0)
        looks[metric is not None] = walk_and_look(wheel, metric, pairs, [500.0] * 50, steps)
    assert looks[True] < 0.5 * looks[False]


# --- metric --------------------------------------------------------------------------------------


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    d=st.integers(1, 8),
    spread=st.sampled_from([0.0, 3.0, 12.0]),
    dependent=st.booleans(),
    moving=st.booleans(),
)
@settings(max_examples=200)
def test_no_margin_moves_farther_than_the_metric_says(seed, n, d, spread, dependent, moving):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-spread, spread, d)
    if dependent:
        X[:, -1] = X[:, 0] + 1e-9 * X[:, -1]
    Z = np.column_stack([X, np.ones(n), np.zeros(n)])
    zero, one = np.zeros(n), np.ones(n)
    target = rng.standard_normal(n) if moving else zero
    Z[:, -1] = -target
    line = Line(zero, zero, one, rng.integers(0, 2, n).astype(float), zero, target)
    metric = natural_metric(make_rows(X, one, 1.0), line)
    regular = metric.R.T @ metric.R + np.diag([0.0] * (d + 1) + [0.0 if moving else 1.0])
    for _ in range(10):
        # steps of all sizes, and the one that comes closest to the bound of a row
        step = rng.standard_normal(d + 2) * 10.0 ** rng.uniform(-spread, spread, d + 2)
        tight = np.linalg.solve(regular, Z[rng.integers(n)])
        for v in (step, tight):
            moved, bound = np.abs(Z @ v), metric.length * np.linalg.norm(metric.R @ v)
            rounding = 1e-12 * np.abs(Z) @ np.abs(v)
            assert np.all(moved <= bound + rounding)


def test_the_metric_of_a_zero_matrix_is_finite():
    zero, one = np.zeros(3), np.ones(3)
    line = Line(zero, zero, one, one, one, one)
    metric = natural_metric(make_rows(np.zeros((3, 2)), one, 0.0), line)
    assert np.all(np.isfinite(metric.R))
    assert_array_equal(metric.length, 0.0)


@needs_extended_sums
@pytest.mark.parametrize("kind", ["in memory", "computed when needed"])
def test_a_large_constant_rounds_no_small_entry_of_a_kernel(kind):
    rng = np.random.default_rng(0)
    n, bias = 20, 1e3
    sign = np.where(np.arange(n) % 3 == 0, -1, 1).astype(np.int8)
    B = rng.standard_normal((n, n)) * 10.0 ** rng.uniform(-4.0, 0.0, n)[:, np.newaxis]
    K = sign[:, np.newaxis] * (B @ B.T) * sign
    if kind == "in memory":
        rows = MatrixRows(K, sign, bias, True)
    else:
        rows = CachedRows(K.__getitem__, K.diagonal().copy(), sign, bias, True, n)
    theta = rng.integers(-8, 9, n).astype(float)
    theta[-1] = -sign[-1] * (sign[:-1] @ theta[:-1])  # balanced: the constant cancels
    exact = K.astype(np.longdouble) @ theta
    found = rows.exact_combination(theta.astype(np.longdouble))
    assert (np.abs(found - exact) <= 1e-18 * (np.abs(K) @ np.abs(theta))).all()
    members = np.arange(n, dtype=np.int32)
    whole = K + bias**2 * np.outer(sign, sign)
    assert_allclose(rows.combine(theta), exact.astype(float), atol=1e-8)
    assert_allclose(rows.gram(members), np.tril(whole), rtol=1e-15)
    assert_allclose(rows.block(members), whole, rtol=1e-15)
    assert_allclose(rows.squared_norms(), whole.diagonal(), rtol=1e-15)


@needs_extended_sums
def test_sums_of_rows_of_a_kernel_are_extended_whatever_the_lengths_of_rows():
    rng = np.random.default_rng(0)
    n = 530  # more than are summed at a time
    features = rng.standard_normal((n, 5)) * 10.0 ** rng.uniform(-6.0, 6.0, (n, 1))
    K = features @ features.T
    K = 0.5 * (K + K.T)
    lengths = np.sqrt(K.diagonal())
    theta = rng.standard_normal(n).astype(np.longdouble) / lengths / 3
    found = MatrixRows(K, np.ones(n, dtype=np.int8)).exact_combination(theta)
    shares = [Fraction(float(part)) for part in theta]
    shares = [a + Fraction(float(b - float(b))) for a, b in zip(shares, theta, strict=True)]
    natural = lengths * float(np.abs(theta) @ lengths)
    for j in range(0, n, 23):
        exact = sum(Fraction(k) * share for k, share in zip(K[j].tolist(), shares, strict=True))
        value = Fraction(float(found[j])) + Fraction(float(found[j] - float(found[j])))
        assert abs(float(value - exact)) <= 2e-19 * natural[j]
