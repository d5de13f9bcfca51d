"""Rows for the core, from whatever matrix the user has."""

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import CsrRows, DenseRows, PatternRows, Rows

__all__ = ["make_rows"]


def make_rows(X: "np.ndarray | sp.csr_array", sign: np.ndarray, bias: float) -> Rows:
    """Return rows z_i = sign_i [x_i, bias] over a validated matrix, without copying it.

    Parameters
    ----------
    X : C-contiguous float64 ndarray, or CSR with sorted unique indices
        Features.
    sign : ndarray of float64
        ±1 per row.
    bias : float
        Constant feature; 0 for none.
    """
    if isinstance(X, np.ndarray):
        return DenseRows(X, sign, bias)
    indices = X.indices.astype(np.int32, copy=False)
    indptr = X.indptr.astype(np.intp, copy=False)
    if np.all(X.data == 1.0):
        return PatternRows(indices, indptr, X.shape[1], sign, bias)
    return CsrRows(X.data, indices, indptr, X.shape[1], sign, bias)
