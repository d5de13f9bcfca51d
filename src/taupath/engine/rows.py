"""Rows for the core, from dense and sparse matrices."""

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import DenseRows, Rows
from taupath._core._sparse_rows import SparseRows

# With more columns than this, w (32 KB) does not fit into the first-level cache, and frequent
# columns are put side by side in memory.
FAR_APART = 4096
# Samples are reordered only if X has more than NEARBY entries (512 KB, beyond the second-level
# cache) and fewer than LONG_ROW columns: a long row gains nothing from its neighbours in memory.
NEARBY = 1 << 16
LONG_ROW = 128
# Rows of the least-squares fit that decides the order; more would not change it much.
SAMPLED = 4096


def make_rows(
    X: "np.ndarray | sp.csr_array",
    sign: np.ndarray,
    bias: float,
    *,
    balanced: bool = False,
    rearranged: bool = False,
) -> Rows:
    """Return rows z_i = sign_i [x_i, bias] over a validated matrix, without copying its values.

    X is C-contiguous, or CSR with sorted unique indices, of float64 (walks) or float32. `bias` is
    the constant feature, 0 for none. If `balanced`, Σ sign_i θ_i = 0 is required; if `rearranged`,
    columns may be permuted for speed.
    """
    sign = sign.astype(np.int8)
    if isinstance(X, np.ndarray):
        return DenseRows(X, sign, bias, balanced)
    indices = X.indices.astype(np.int32, copy=False)
    if rearranged and X.shape[1] > FAR_APART:
        indices = _by_frequency(indices, X.shape[1])
    indptr = X.indptr.astype(np.intp, copy=False)
    data = None if np.all(X.data == 1.0) else X.data
    return SparseRows(data, indices, indptr, X.shape[1], sign, bias, balanced)


def _by_frequency(indices: np.ndarray, n_cols: int) -> np.ndarray:
    """Return the indices with columns numbered from the most to the least frequent."""
    order = np.argsort(-np.bincount(indices, minlength=n_cols), kind="stable")
    rank = np.empty(n_cols, dtype=np.int32)
    rank[order] = np.arange(n_cols, dtype=np.int32)
    return np.asarray(rank[indices])


def order_in_memory(
    X: "np.ndarray | sp.csr_array", sign: np.ndarray, response: np.ndarray
) -> np.ndarray | None:
    """Return an order in which samples that reach the margin at about the same t are neighbours.

    As t grows, the decision function is shifted more than it is turned. So samples reach the margin
    class by class, roughly in the order of the residuals of any reasonable function: here a
    least-squares fit to some of the rows. Returns None where the order hardly matters.
    """
    n_samples, n_features = X.shape
    if not isinstance(X, np.ndarray) or X.size <= NEARBY or n_features >= LONG_ROW:
        return None
    some = slice(None, None, -(-n_samples // SAMPLED))
    centred = X[some] - X[some].mean(axis=0)
    coef, *_ = np.linalg.lstsq(centred, response[some] - response[some].mean(), rcond=None)
    return np.lexsort((response - X @ coef, sign))
