"""Slacks and sums of a primal and a dual point, with bounds on their rounding errors.

Doubles are tried first. Where they are not good enough, a few rows are evaluated again in extended
precision (where the platform has none, these bounds are as large as before).
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from taupath.engine.problem import TINY
from taupath.engine.readers import made_once
from taupath.paths.blocks import slices

# Twice the unit roundoff: k EPS bounds the error of k roundings, terms of higher order included.
EPS = float(np.finfo(np.float64).eps)
EXTENDED = np.longdouble
EXTENDED_EPS = float(np.finfo(EXTENDED).eps)
# Roundings of a slack besides those of its sum.
SLACK_ROUNDINGS = 4
# Entries that are made extended at a time: 16 MB.
ENTRIES_AT_A_TIME = 1 << 20


class Slacks(NamedTuple):
    """p_i - <z_i, w>, and a bound on the rounding error of each."""

    value: np.ndarray
    error: np.ndarray


class Evaluation(ABC):
    """A primal point w and a dual point θ, whose slacks and sums come from the data.

    Attributes
    ----------
    theta : ndarray
        θ.
    sign : ndarray
        That of each row.
    imbalance : float
        Σ sign_i θ_i, which a free intercept makes zero; 0 for others.
    free_constant : float
        A free intercept; 0 for others.
    """

    def __init__(
        self, theta: np.ndarray, sign: np.ndarray, target: np.ndarray, constant: float, free: bool
    ) -> None:
        self.theta, self.sign, self._target, self._constant = theta, sign, target, constant
        self.imbalance = math.fsum(sign * theta) if free else 0.0
        self.free_constant = constant if free else 0.0
        self._other_constant = 0.0 if free else abs(constant)
        self._bias = 0.0  # the feature of a regularised intercept

    @property
    @abstractmethod
    def lengths(self) -> np.ndarray:
        """‖z_i‖, without the feature of a free intercept."""

    @property
    @abstractmethod
    def squared(self) -> float:
        """‖w‖², without the weight of a free intercept."""

    @property
    def constant_weight(self) -> float:
        """The weight of a regularised intercept, which is part of w; 0 without one."""
        return self._other_constant / (self._bias or 1.0)

    @abstractmethod
    def slacks(self) -> Slacks:
        """Return the slacks of all samples, from doubles."""

    @abstractmethod
    def exact_slacks(self, members: np.ndarray) -> Slacks:
        """Return the slacks of some samples, in extended precision."""

    @abstractmethod
    def apart(self, negligible: float) -> float:
        """Return an upper bound of ‖w - Σ θ_i z_i‖; half its square may be off by `negligible`."""

    @abstractmethod
    def sizes(self, members: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return the sizes of what is rounded in the margins of some samples.

        A margin moves by up to u times its size if w, or the θ strictly `inside` their boxes, are
        rounded to doubles. A free intercept is left out.
        """

    @abstractmethod
    def rough_sizes(self, members: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return upper bounds of `sizes` that cost little."""

    def rounding_apart(self, inside: np.ndarray) -> float:
        """Return Σ |θ_i| ‖z_i‖ over the θ whose rounding moves Σ θ_i z_i away from w."""
        return 0.0

    def off(self, apart: float, typical: float, width: np.ndarray) -> float:
        """Return how far w is from Σ θ_i z_i, and Σ sign_i θ_i from zero, relative to their terms.

        A typical slack, and the widest box, count as terms as well.
        """
        size = np.abs(self.theta)
        longest = max(float(self.lengths.max(initial=0.0)), TINY)
        terms = max(float(size @ self.lengths), typical / longest, TINY)
        balance = max(float(size.sum()), float(width.max()), TINY)
        return max(apart / terms, abs(self.imbalance) / balance)

    def _slacks(
        self, sums: np.ndarray, size: np.ndarray, terms: int, target: np.ndarray, sign: np.ndarray
    ) -> Slacks:
        """Return the slacks with these sums of so many terms, whose sizes add up to `size`."""
        eps = EPS if sums.dtype == np.float64 else EXTENDED_EPS
        # targets first: near the margin their difference from the constant is small, or exact
        rest = target - sign * sums.dtype.type(self._constant)
        value = np.asarray(rest - sign * sums, dtype=float)
        error = eps * ((terms + SLACK_ROUNDINGS) * size + (size > 0.0) * np.abs(rest))
        return Slacks(value, np.asarray(error, dtype=float) + EPS * np.abs(value))


class LinearEvaluation(Evaluation):
    """With w itself: its margins are independent of θ.

    `products` and `combine` return X w and Σ a_i x_i in doubles; `rows` some rows of X, dense or
    sparse, which have at most so many `terms`. `norms` are the lengths of all.
    """

    def __init__(
        self,
        theta: np.ndarray,
        sign: np.ndarray,
        target: np.ndarray,
        w: np.ndarray,
        constant: float,
        bias: float,
        free: bool,
        shift: np.ndarray | None,
        terms: int,
        norms: np.ndarray,
        products: Callable[[np.ndarray], np.ndarray],
        combine: Callable[[np.ndarray], np.ndarray],
        rows: Callable[[Any], Any],
    ) -> None:
        super().__init__(theta, sign, target, constant, free)
        self._w, self._norms, self._bias = w, norms, 0.0 if free else bias
        self._products, self._combine, self._rows = products, combine, rows
        self._shift, self._terms = shift, terms
        self._length = float(np.linalg.norm(w))

    @property
    def squared(self) -> float:
        """‖w‖², without the weight of a free intercept."""
        constant = self._constant / self._bias if self._bias else 0.0
        return float(self._w @ self._w) + constant**2

    @made_once
    def lengths(self) -> np.ndarray:
        """‖z_i‖, without the feature of a free intercept."""
        return np.hypot(self._norms, self._bias) if self._bias else self._norms

    def slacks(self) -> Slacks:
        """Return the slacks of all samples, from doubles."""
        size = self._norms * self._length
        return self._slacks(self._products(self._w), size, self._terms, self._target, self.sign)

    def exact_slacks(self, members: np.ndarray) -> Slacks:
        """Return the slacks of some samples, in extended precision."""
        w, found = self._w.astype(EXTENDED), []
        for some, rows in self._blocks(members):
            size = abs(rows) @ np.abs(self._w)
            sums = np.asarray(rows.astype(EXTENDED) @ w)
            found.append(self._slacks(sums, size, self._terms, self._target[some], self.sign[some]))
        return Slacks(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _blocks(self, members: np.ndarray) -> Iterator[tuple[np.ndarray, Any]]:
        """Yield some of the members at a time, and their rows."""
        for some in slices(len(members), max(ENTRIES_AT_A_TIME // max(self._terms, 1), 1)):
            yield members[some], self._rows(members[some])

    def apart(self, negligible: float) -> float:
        """Return an upper bound of ‖w - Σ θ_i z_i‖; half its square may be off by `negligible`."""
        signed = self.sign * self.theta
        terms = float(np.abs(signed) @ self.lengths) * (len(signed) + SLACK_ROUNDINGS)
        off = np.append(self._combine(signed) - self._w, self._off_constant(signed))
        found = float(np.linalg.norm(off))
        if EPS * terms * (found + 0.5 * EPS * terms) <= max(negligible, 1e-3 * found * found):
            return found + EPS * terms
        total = np.zeros(len(self._w), dtype=EXTENDED)
        for some, rows in self._blocks(np.flatnonzero(signed)):
            total += rows.astype(EXTENDED).T @ signed[some].astype(EXTENDED)
        off = np.append(total - self._w, self._off_constant(signed))
        return float(np.sqrt(off @ off)) + EXTENDED_EPS * terms

    def _off_constant(self, signed: np.ndarray) -> np.longdouble:
        """Return how far the weight of the constant feature is off, 0 for none or a free one."""
        if not self._bias:
            return EXTENDED(0.0)
        weight = EXTENDED(self._constant) / EXTENDED(self._bias)
        return EXTENDED(self._bias * math.fsum(signed)) - weight

    def sizes(self, members: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return Σ |x_ij w_j| of some samples, + |b| if it is not free.

        If w is rounded, the intercept makes up for a common shift of all samples.
        """
        size, shift = np.abs(self._w), self._shift
        found = [
            np.asarray(abs(rows if shift is None else rows - shift) @ size)
            for _, rows in self._blocks(members)
        ]
        return np.concatenate(found) + self._other_constant

    def rough_sizes(self, members: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return ‖x_i‖ ‖w‖ of some samples, + |b| if it is not free."""
        return np.asarray(self._norms[members] * self._length + self._other_constant)

    def rounding_apart(self, inside: np.ndarray) -> float:
        """Return Σ |θ_i| ‖z_i‖ over the θ whose rounding moves Σ θ_i z_i away from w."""
        return float(np.abs(self.theta) @ (self.lengths * inside))


class KernelEvaluation(Evaluation):
    """With w = Σ θ_i z_i, whose margins follow from θ by the kernel matrix, as it is in doubles.

    `times` returns the matrix times a vector, `rows` some of its rows, and `magnitude` an upper
    bound of Σ_j |k(x_i, x_j) a_j| for given |a_j|. `by_vectors` says whether the walk was one with
    vectors whose inner products are the matrix, up to rounding.
    """

    def __init__(
        self,
        theta: np.ndarray,
        sign: np.ndarray,
        target: np.ndarray,
        constant: float,
        bias: float,
        free: bool,
        diagonal: np.ndarray,
        times: Callable[[np.ndarray], np.ndarray],
        rows: Callable[[Any, Any], np.ndarray],
        magnitude: Callable[[np.ndarray], np.ndarray],
        by_vectors: bool,
    ) -> None:
        super().__init__(theta, sign, target, constant, free)
        self._rows, self._magnitude, self._by_vectors = rows, magnitude, by_vectors
        self._free = free
        self._signed = sign * theta
        self._support = np.flatnonzero(theta)
        self._times, self._bias, self._diagonal = times, 0.0 if free else bias, diagonal

    @made_once
    def _sums(self) -> np.ndarray:
        return self._times(self._signed)

    @made_once
    def squared(self) -> float:
        """‖w‖²."""
        squared = float(self._signed @ self._sums)  # less than zero if K is indefinite
        return squared + (self._bias * math.fsum(self._signed)) ** 2

    @made_once
    def lengths(self) -> np.ndarray:
        """‖z_i‖."""
        return np.asarray(np.sqrt(np.abs(self._diagonal) + self._bias**2))

    def slacks(self) -> Slacks:
        """Return the slacks of all samples, from doubles."""
        size = self._magnitude(np.abs(self.theta))
        return self._slacks(self._sums, size, len(self._support), self._target, self.sign)

    def exact_slacks(self, members: np.ndarray) -> Slacks:
        """Return the slacks of some samples, in extended precision."""
        signed, found = self._signed[self._support], []
        exact = signed.astype(EXTENDED)
        for some, rows in self._blocks(members, self._support):
            sums, size = rows.astype(EXTENDED) @ exact, np.abs(rows) @ np.abs(signed)
            found.append(self._slacks(sums, size, len(exact), self._target[some], self.sign[some]))
        return Slacks(*(np.concatenate(parts) for parts in zip(*found, strict=True)))

    def _blocks(
        self, members: np.ndarray, columns: np.ndarray
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield some of the members at a time, and some columns of their rows."""
        for some in slices(len(members), max(ENTRIES_AT_A_TIME // max(len(columns), 1), 1)):
            yield members[some], self._rows(members[some], columns)

    def apart(self, negligible: float) -> float:
        """Return 0: w is Σ θ_i z_i."""
        return 0.0

    def sizes(self, members: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return Σ (|k(x_i, x_j)| + bias²) |θ_j| over θ inside their boxes, or |b| if it is more.

        Of vectors, all terms of all inner products are rounded: at most Σ ‖z_i‖ ‖z_j‖ |θ_j|.
        """
        if self._by_vectors:
            return self.rough_sizes(members, inside)
        columns = np.flatnonzero(inside)
        size = np.abs(self._rounded(inside)[columns])
        found = [np.abs(rows) @ size for _, rows in self._blocks(members, columns)]
        return np.concatenate(found) + self._constant_size(size)

    def rough_sizes(self, members: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return upper bounds of `sizes` that cost little."""
        rounded = np.abs(self._rounded(inside))
        if self._by_vectors:
            size = self.lengths * float(rounded @ self.lengths)
        else:
            size = self._magnitude(rounded * inside)
        return np.asarray(size[members] + self._constant_size(rounded * inside))

    def _constant_size(self, size: np.ndarray) -> float:
        """Return what is rounded in a regularised intercept, which is bias² Σ sign_i θ_i."""
        return max(self._other_constant, self._bias**2 * float(size.sum()))

    def _rounded(self, inside: np.ndarray) -> np.ndarray:
        """Return θ, and for one of those inside their boxes the largest θ in its place.

        With a free intercept Σ sign_i θ_i is zero only if one of the small θ is rounded to as few
        digits as the largest ones have: best the one whose row is the shortest.
        """
        largest = np.abs(self.theta).max(initial=0.0)
        small = np.flatnonzero(inside & (2.0 * np.abs(self.theta) < largest))
        if not self._free or len(small) == 0:
            return self.theta
        theta = self.theta.copy()
        theta[small[self._diagonal[small].argmin()]] = largest
        return theta
