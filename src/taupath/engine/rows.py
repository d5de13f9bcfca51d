"""Rows for the core, from dense and sparse matrices."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath._core._packed_rows import PackedRows
from taupath._core._rows import DenseRows, Rows
from taupath._core._sparse_rows import SparseRows

# With more columns than this, w (32 KB) does not fit into the first-level cache, and frequent
# columns are put side by side in memory.
FAR_APART = 4096
# Rows of fewer one-hot letters are short anyway.
FEWEST_LETTERS = 16
# Entries that are looked at before all others.
A_FEW = 1000
# Samples are reordered only if X has more than NEARBY entries (512 KB, beyond the second-level
# cache) and fewer than LONG_ROW columns: a long row gains nothing from its neighbours in memory.
NEARBY = 1 << 16
LONG_ROW = 128
# Rows of the least-squares fit that decides the order; more would not change it much.
SAMPLED = 4096


class Letters(NamedTuple):
    """Rows of one-hot letters, two letters in a byte: exactly one entry in each of some runs."""

    codes: np.ndarray  # bytes of 0 fill every row up to a multiple of 16
    columns: np.ndarray  # for each byte, the columns of its first letter, then of its second
    n_runs: int


def make_rows(
    X: "np.ndarray | sp.csr_array",
    sign: np.ndarray,
    bias: float,
    *,
    balanced: bool = False,
    rearranged: bool = False,
    packed: Letters | None = None,
) -> Rows:
    """Return rows z_i = sign_i [x_i, bias] over a validated matrix.

    X is C-contiguous, or CSR with sorted unique indices, of float64 (walks) or float32. `bias` is
    the constant feature, 0 for none. If `balanced`, Σ sign_i θ_i = 0 is required; if `rearranged`,
    columns may be permuted or left out for speed. `packed` is what `pack` makes of X.
    """
    sign = sign.astype(np.int8)
    if isinstance(X, np.ndarray):
        return DenseRows(X, sign, bias, balanced)
    indices, n_cols = X.indices.astype(np.int32, copy=False), X.shape[1]
    indptr = X.indptr.astype(np.intp, copy=False)
    if packed is not None:
        return PackedRows(*packed, indices, indptr, n_cols, sign, bias, balanced)
    data = None if _all_ones(X.data) else X.data
    if rearranged:
        if n_cols > FAR_APART:
            indices = _by_frequency(indices, n_cols)
            # columns without entries come last and are left out; more than FAR_APART stay, so that
            # no node keeps a w whose columns are in another order, see `solver.MOST_STORED_COLUMNS`
            n_cols = max(int(indices.max(initial=0)) + 1, FAR_APART + 1)
        data = None if data is None else _in_few_bytes(data)
    return SparseRows(data, indices, indptr, n_cols, sign, bias, balanced)


def pack(X: "np.ndarray | sp.csr_array") -> Letters | None:
    """Return rows of one-hot letters, of at most four columns each; None if X has others."""
    if isinstance(X, np.ndarray):
        return None
    counts = np.diff(X.indptr)
    if len(counts) == 0 or counts[0] < FEWEST_LETTERS or (counts != counts[0]).any():
        return None
    if not _all_ones(X.data):
        return None
    n_runs = int(counts[0])
    columns = X.indices.reshape(-1, n_runs)
    first, last = columns.min(axis=0), columns.max(axis=0)
    if (last - first >= 4).any() or (first[1:] <= last[:-1]).any():
        return None
    letters = (columns - first).astype(np.uint8)
    codes = np.zeros((len(counts), -(-n_runs // 32) * 16), dtype=np.uint8)
    codes[:, : (n_runs + 1) // 2] = letters[:, ::2]
    codes[:, : n_runs // 2] |= letters[:, 1::2] << 2
    # a letter beyond the last column is never met, and neither is that of a run that is missing
    of_letters = np.minimum(first[:, np.newaxis] + np.arange(4), X.shape[1] - 1)
    of_bytes = np.resize(of_letters, ((n_runs + 1) // 2, 8)).astype(np.int32)
    return Letters(codes, of_bytes, n_runs)


def _all_ones(data: np.ndarray) -> bool:
    """Return whether all entries are 1; where they are not, the first few nearly always tell."""
    return bool(np.all(data[:A_FEW] == 1.0)) and bool(np.all(data == 1.0))


def _in_few_bytes(data: np.ndarray) -> np.ndarray:
    """Return the entries as float32 if that changes none of them."""
    with np.errstate(over="ignore"):  # an entry too large for a float32 becomes infinite
        short = data.astype(np.float32)
    return short if np.array_equal(short, data) else data


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
