"""Rows of one-hot letters: packed, they are the same rows."""

import pickle
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from taupath._core._factor import Factor
from taupath._core._packed_rows import PackedRows

import taupath
from platforms import needs_extended_sums
from taupath.engine.rows import FEWEST_LETTERS, make_rows, pack
from taupath.paths import training_data

pytestmark = pytest.mark.core


def letters(n, n_runs, seed=0, sizes=(4, 3, 2, 4, 1)):
    """Return one-hot letters; runs have these numbers of columns, in turn, and gaps between."""
    rng = np.random.default_rng(seed)
    blocks = []
    for k in range(n_runs):
        size = sizes[k % len(sizes)]
        blocks.append(np.eye(size)[rng.integers(0, size, n)])
        if k % 7 == 3:
            blocks.append(np.zeros((n, 2)))
    return np.hstack(blocks)


def packed_and_matrix(n=300, n_runs=33, bias=1.0, seed=0):
    X = letters(n, n_runs, seed)
    sign = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    rows = make_rows(sp.csr_array(X), sign, bias, packed=pack(sp.csr_array(X)))
    assert isinstance(rows, PackedRows)
    dense = np.column_stack([X, np.full(n, bias)]) if bias else X
    return rows, sign[:, None] * dense


@pytest.mark.parametrize("bias", [0.0, 1.0, 2.5])
@pytest.mark.parametrize("n_runs", [16, 17, 33, 64, 150, 260])
class TestPackedRows:
    def test_products_of_rows(self, n_runs, bias):
        rows, Z = packed_and_matrix(60, n_runs, bias)
        some, others = np.arange(0, 60, 7, dtype=np.int32), np.arange(60, dtype=np.int32)
        for one in (rows, rows.sharing()):
            assert_array_equal(one.products_between(some, others), Z[some] @ Z.T)

    @pytest.mark.parametrize("m", [3, 40])
    def test_a_factor_solves_to_the_last_digits(self, n_runs, bias, m):
        rows, Z = packed_and_matrix(60, n_runs, bias)
        rng = np.random.default_rng(1)
        factor = Factor(rows)
        taken = factor.take_all(np.arange(m, dtype=np.int32))
        members = factor.indices
        assert_array_equal(members, np.flatnonzero(taken))
        s, rhs = rng.normal(size=Z.shape[1]), rng.normal(size=len(members))
        coef, v = factor.met(s, rhs)
        assert_allclose(v, s + coef.astype(float) @ Z[members], rtol=0, atol=1e-12)
        assert_allclose(Z[members] @ v, rhs, rtol=0, atol=1e-13 * (1 + np.abs(v).sum()))

    @needs_extended_sums
    def test_combinations_round_no_more_than_extended_precision(self, n_runs, bias):
        rows, Z = packed_and_matrix(300, n_runs, bias)
        rng = np.random.default_rng(2)
        theta = (10.0 ** rng.uniform(-12, 3, 300)).astype(np.longdouble) * np.sqrt(np.longdouble(2))
        theta[::5] = 0.0
        found = rows.exact_combination(theta)
        largest = Fraction(float(np.abs(theta).max()))
        for k in range(0, Z.shape[1], 5):
            exact = sum(exactly(a) * Fraction(z) for a, z in zip(theta, Z[:, k], strict=True))
            assert abs(exactly(found[k]) - exact) <= 64 * largest / 2**64

    @pytest.mark.parametrize("scale", [1e-280, 1e280])
    def test_coefficients_of_any_size_can_be_added_up(self, n_runs, bias, scale):
        rows, Z = packed_and_matrix(100, n_runs, bias)
        theta = np.random.default_rng(3).normal(size=100)
        found = rows.exact_combination((scale * theta).astype(np.longdouble))
        assert_allclose(found / scale, theta @ Z, rtol=0, atol=1e-12)


def exactly(x):
    """Return a long double as a fraction."""
    high = float(x)
    return Fraction(high) + Fraction(float(x - high))


def damaged(how):
    X = letters(50, 20, sizes=(4,))
    if how == "a letter is missing":
        X[7, :4] = 0.0
    elif how == "two letters in one run":
        X[7, :8] = [1, 1, 0, 0, 0, 0, 0, 0]
    elif how == "another value":
        X[7] *= 2.0
    elif how == "five letters":
        X = letters(50, 20, sizes=(5,))
    elif how == "few letters":
        X = letters(50, FEWEST_LETTERS - 1)
    return sp.csr_array(X)


@pytest.mark.parametrize(
    "how",
    [
        "a letter is missing",
        "two letters in one run",
        "another value",
        "five letters",
        "few letters",
    ],
)
def test_other_rows_are_not_packed(how):
    assert pack(damaged(how)) is None


@pytest.mark.parametrize("n_runs", [20, 61])
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
def test_the_path_is_the_same(monkeypatch, n_runs, intercept):
    X = letters(260, n_runs, seed=4, sizes=(4,))
    rng = np.random.default_rng(5)
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=260) > 0
    packed = taupath.quantile_path(sp.csr_array(X), y, C=0.1, intercept=intercept)
    monkeypatch.setattr(training_data, "pack", lambda X: None)
    plain = taupath.quantile_path(sp.csr_array(X), y, C=0.1, intercept=intercept)
    # near τ = 0 there are kinks 1e-15 apart, whose number depends on rounding
    assert packed.n_kinks == pytest.approx(plain.n_kinks, abs=3)
    for tau in (0.0, 0.21, 0.5, 0.83, 1.0):
        for one, other in zip(packed.index_sets(tau), plain.index_sets(tau), strict=True):
            assert_array_equal(one, other)
        assert_allclose(packed.alpha(tau), plain.alpha(tau), rtol=0, atol=1e-12)
    assert packed.certify(100).holds()


def test_rows_stay_packed_in_a_path_that_is_loaded(monkeypatch):
    X = sp.csr_array(letters(120, 20, seed=6, sizes=(4,)))
    y = np.random.default_rng(7).random(120) < 0.5
    path = taupath.quantile_path(X, y, C=0.1)
    stored = pickle.dumps(path)

    def packed_again(X):
        raise AssertionError("rows are packed already")

    monkeypatch.setattr(training_data, "pack", packed_again)
    again = pickle.loads(stored)
    assert isinstance(again.data.rows, PackedRows)
    assert_array_equal(again.alpha(0.4), path.alpha(0.4))
    assert_array_equal(again.crossings(X).length, path.crossings(X).length)


def test_copies_of_rows_of_letters_are_read():
    X = letters(60, 20, seed=8, sizes=(4,))
    y = np.random.default_rng(9).random(60) < 0.5
    once = taupath.quantile_path(sp.csr_array(X), y, C=0.2)
    twice = taupath.quantile_path(sp.csr_array(np.repeat(X, 2, axis=0)), np.repeat(y, 2), C=0.1)
    assert_allclose(twice.alpha(0.4)[::2] * 2.0, once.alpha(0.4), rtol=0, atol=1e-12)
    assert twice.certify(20).holds()
