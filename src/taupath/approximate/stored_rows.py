"""Rows z_i = sign_i [x_i, bias] over features as they are stored, float32 or float64."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath._core import _descent
from taupath.approximate.rounding import EPS, in_blocks
from taupath.validation import slices

__all__ = ["Points"]

# Entries of gathered rows that are multiplied with each other at a time.
GATHERED = 1 << 18


class Points:
    """Rows that can be multiplied and summed without a copy of the features.

    Parameters
    ----------
    X : C-contiguous ndarray or CSR with sorted unique indices, of float32 or float64
        Features.
    sign : ndarray of int8
        ±1 for each row.
    bias : float
        Constant feature; 0 for none.

    Attributes
    ----------
    visits : int
        How often a row has been multiplied or added up to now.
    """

    def __init__(self, X: "np.ndarray | sp.csr_array", sign: np.ndarray, bias: float) -> None:
        self.X, self.sign, self.bias = X, np.ascontiguousarray(sign, dtype=np.int8), float(bias)
        self.n_rows = X.shape[0]
        self.n_cols = X.shape[1] + (self.bias != 0.0)
        self.visits = 0
        if isinstance(X, np.ndarray):
            self._stored: tuple[Any, ...] = (X,)
            self._products, self._total = _descent.dense_products, _descent.dense_total
            block, self.longest = _descent.block_of_rows, X.shape[1] + 1
        else:
            indices = X.indices.astype(np.int32, copy=False)
            indptr = X.indptr.astype(np.intp, copy=False)
            self._stored = (X.data, indices, indptr, bool(np.all(X.data == 1.0)))
            self._products, self._total = _descent.sparse_products, _descent.sparse_total
            block = max(_descent.block_of_rows, X.shape[1])
            self.longest = int(np.diff(indptr).max()) + 1
        # additions on the way of one row into a sum over all
        self.depth = in_blocks(self.n_rows, block)

    def products(
        self, v: np.ndarray, members: np.ndarray | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return <z_i, v> of all rows or of some."""
        if out is None:
            out = np.empty(self.n_rows if members is None else len(members))
        self.visits += len(out)
        self._products(*self._stored, self.sign, self.bias, v, members, out)
        return out

    def total(
        self, factor: np.ndarray, members: np.ndarray | None = None, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `out`, or zero, plus Σ factor_i z_i over all rows or some."""
        if out is None:
            out = np.zeros(self.n_cols)
        self.visits += int(np.count_nonzero(factor))
        self._total(*self._stored, self.sign, self.bias, members, factor, out)
        return out

    def squares(
        self, factor: np.ndarray, members: np.ndarray, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return `out`, or zero, plus Σ factor_i z_i z_iᵀ; only the lower triangle is right."""
        if out is None:
            out = np.zeros((self.n_cols, self.n_cols))
        self.visits += len(members)
        if not isinstance(self.X, np.ndarray):
            _descent.sparse_squares(*self._stored, self.sign, self.bias, members, factor, out)
            return out
        d = self.X.shape[1]
        at_a_time = max(GATHERED // d, 1)
        for first in range(0, len(members), at_a_time):
            some = slice(first, first + at_a_time)
            rows = self.X[members[some]].astype(np.float64, copy=False)
            weighted = rows * factor[some, np.newaxis]
            out[:d, :d] += rows.T @ weighted
            if self.bias:
                out[d, :d] += self.bias * weighted.sum(axis=0)
        if self.bias:
            out[d, d] += self.bias**2 * float(factor.sum())
        return out

    def norms(self) -> np.ndarray:
        """Return ‖z_i‖, rounded up."""
        if isinstance(self.X, np.ndarray):
            squares = np.einsum("ij,ij->i", self.X, self.X, dtype=np.float64)
        else:
            data, _, indptr, _ = self._stored
            squares = np.zeros(self.n_rows)
            for some in slices(self.n_rows, GATHERED):
                begins = indptr[some]
                filled = np.flatnonzero(np.diff(indptr[some.start : some.stop + 1]))
                if len(filled):
                    part = np.square(data[begins[0] : indptr[some.stop]], dtype=np.float64)
                    sums = np.add.reduceat(part, begins[filled] - begins[0])
                    squares[some.start + filled] = sums
        upward = 1.0 + self.longest * EPS
        return np.asarray(np.sqrt(squares + self.bias**2) * upward)
