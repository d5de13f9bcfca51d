"""A factor in extended precision, whose columns come and go: as one made afresh."""

import numpy as np
import pytest
from taupath._core._extended import ExtendedFactor

from platforms import needs_extended_sums

pytestmark = pytest.mark.core

LONG = np.longdouble
EPS = float(np.finfo(LONG).eps)


def columns(n, length, seed=0, graded=0.0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, length)).astype(LONG) * LONG(10.0) ** (
        -graded * np.arange(length) / length
    )


class Both:
    """The same columns in a factor of vectors and in one of products."""

    def __init__(self, A):
        self.A = A
        self.vectors, self.products = ExtendedFactor(A.shape[1]), ExtendedFactor()
        self.members = []

    def look(self, k):
        self.vectors.project(self.A[k])
        self.products.project_products(self.A[self.members] @ self.A[k], self.A[k] @ self.A[k])

    def append(self, k):
        self.look(k)
        self.append_what_was_looked_at(k)

    def append_what_was_looked_at(self, k):
        self.vectors.append()
        self.products.append()
        self.members.append(k)

    def remove(self, at):
        self.vectors.remove(at)
        self.products.remove(at)
        del self.members[at]

    def check(self, tol=1e3 * EPS):
        A = self.A[self.members]
        rhs = np.arange(1.0, len(A) + 1.0).astype(LONG)
        for factor in (self.vectors, self.products):
            x, image = factor.solve(rhs)
            assert factor.size == len(A)
            np.testing.assert_allclose(A @ (A.T @ x), rhs, atol=tol * len(A))
            if factor is self.vectors:
                np.testing.assert_allclose(A @ image, rhs, atol=tol * len(A))
                np.testing.assert_allclose(image, A.T @ x, atol=tol * np.abs(A.T @ x).max())


def test_columns_come_and_go():
    A = columns(90, 80)
    both = Both(A)
    for k in range(60):  # more than there is room for at first
        both.append(k)
    both.check()
    rng = np.random.default_rng(1)
    for k in range(60, 90):
        both.remove(int(rng.integers(both.vectors.size)))
        both.append(k)
        both.check()
    for at in (0, both.vectors.size - 2, 17):
        both.remove(at)
        both.check()


def test_a_column_that_was_looked_at_stays_so_when_others_go():
    both = Both(columns(12, 15))
    for k in range(11):
        both.append(k)
    both.look(11)
    for at in (10 - 1, 0, 4):
        both.remove(at)
        others = both.A[both.members]
        x, *_ = np.linalg.lstsq(others.T.astype(float), both.A[11].astype(float), rcond=None)
        rest = both.A[11] - others.T @ x
        for factor in (both.vectors, both.products):
            assert float(factor.distance) == pytest.approx(float(np.sqrt(rest @ rest)), rel=1e-12)
            np.testing.assert_allclose(factor.parts().astype(float), x, atol=1e-12)
        np.testing.assert_allclose(both.vectors.rest_of_column(), rest, atol=1e-13)
    both.append_what_was_looked_at(11)
    both.check()


def test_the_first_column_is_subtracted_from_the_others():
    both = Both(columns(7, 9))
    for k in range(6):
        both.append(k)
    both.look(6)
    factor = np.array([1.0, -1.0, 1.0, 1.0, -1.0], dtype=LONG)
    for one in (both.vectors, both.products):
        one.subtract_first(factor, -1.0)
    first = both.A[0].copy()
    both.members = list(range(1, 6))
    both.A[1:6] -= factor[:, np.newaxis] * first
    both.A[6] += first
    both.check()
    both.append_what_was_looked_at(6)
    both.check()


@needs_extended_sums
def test_w_keeps_more_digits_than_its_coefficients():
    """Lengths of columns over 14 orders: products lose them, vectors do not."""
    A = columns(10, 10, graded=14.0)
    factor = ExtendedFactor(10)
    for k in range(10):
        factor.project(A[k])
        factor.append()
    rhs = np.ones(10, dtype=LONG)
    x, image = factor.solve(rhs)
    lost = float(np.abs(A @ (A.T @ x) - rhs).max())
    assert float(np.abs(A @ image - rhs).max()) < 1e-3 < lost


def test_distances_of_many_columns():
    A = columns(20, 30)
    factor = ExtendedFactor(30)
    for k in range(12):
        factor.project(A[k])
        factor.append()
    found = factor.distances(np.ascontiguousarray(A[5:].astype(float)))
    for k, distance in zip(range(5, 20), found, strict=True):
        factor.project(A[k])
        assert distance == pytest.approx(float(factor.distance), abs=1e-13)
