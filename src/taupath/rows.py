"""Rows for the core, from whatever matrix the user has."""

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import CsrRows, DenseRows, PatternRows, Rows

__all__ = ["make_rows"]


# Columns, from which on it pays to have those that are often needed side by side in memory.
FAR_APART = 4096


def make_rows(
    X: "np.ndarray | sp.csr_array", sign: np.ndarray, bias: float, rearranged: bool = False
) -> Rows:
    """Return rows z_i = sign_i [x_i, bias] over a validated matrix, without copying its values.

    Parameters
    ----------
    X : C-contiguous float64 ndarray, or CSR with sorted unique indices
        Features.
    sign : ndarray
        ±1 per row.
    bias : float
        Constant feature; 0 for none.
    rearranged : bool
        Whether columns may come in another order, for speed.
    """
    sign = sign.astype(np.int8)
    if isinstance(X, np.ndarray):
        return DenseRows(X, sign, bias)
    indices = X.indices.astype(np.int32, copy=False)
    if rearranged and X.shape[1] > FAR_APART:
        indices = _by_frequency(indices, X.shape[1])
    indptr = X.indptr.astype(np.intp, copy=False)
    if np.all(X.data == 1.0):
        return PatternRows(indices, indptr, X.shape[1], sign, bias)
    return CsrRows(X.data, indices, indptr, X.shape[1], sign, bias)


def _by_frequency(indices: np.ndarray, n_cols: int) -> np.ndarray:
    """Return the indices with columns numbered from the most to the least frequent."""
    order = np.argsort(-np.bincount(indices, minlength=n_cols), kind="stable")
    rank = np.empty(n_cols, dtype=np.int32)
    rank[order] = np.arange(n_cols, dtype=np.int32)
    return np.asarray(rank[indices])
