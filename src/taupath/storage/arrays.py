"""The arrays of a model file: collected under names to be written, and read again with checks."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.exceptions import ModelFileError

# Columns that a sparse matrix may have: MOST_STORED_COLUMNS (128 MB for each w), or
# COLUMNS_PER_ENTRY for each stored entry. Solutions take memory for every column, which a small
# file must not claim.
MOST_STORED_COLUMNS = 1 << 24
COLUMNS_PER_ENTRY = 16
# Types that float64 arrays are stored in if that loses nothing, the narrowest first.
_NARROW = (np.int8, np.float32)


class ArraysToWrite:
    """Arrays collected for a file, by name. Equal arrays are written once."""

    def __init__(self) -> None:
        self.by_name: dict[str, np.ndarray] = {}
        self._where: dict[tuple[Any, ...], str] = {}

    def put(self, name: str, array: np.ndarray) -> str:
        """Add an array and return the name that it is stored under."""
        if array.dtype == np.float64:
            array = _narrowed(array)
        key = (array.dtype.str, array.shape, hash(array.tobytes()))
        known = self._where.get(key)
        if known is not None and np.array_equal(self.by_name[known], array):
            return known
        name = f"{name}.{len(self.by_name)}"
        self.by_name[name], self._where[key] = array, name
        return name

    def put_matrix(self, name: str, matrix: Any) -> dict[str, Any]:
        """Add a dense or a CSR matrix and return its description."""
        if isinstance(matrix, np.ndarray):
            return {"dense": self.put(name, matrix)}
        if matrix.shape[1] > _most_columns(matrix.nnz):
            raise ValueError(
                f"a model file holds sparse matrices of up to {_most_columns(matrix.nnz)} columns "
                f"for {matrix.nnz} entries, not {matrix.shape[1]}; leave out the empty ones"
            )
        return {
            "data": self.put(f"{name}.data", matrix.data),
            "indices": self.put(f"{name}.indices", matrix.indices.astype(np.int32, copy=False)),
            "indptr": self.put(f"{name}.indptr", matrix.indptr.astype(np.int64, copy=False)),
            "n_features": int(matrix.shape[1]),
        }


class StoredArrays:
    """Arrays read from a file, by name."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays

    def take(self, name: Any, dtype: Any, length: int | None = None, ndim: int = 1) -> np.ndarray:
        """Return an array after checking that dtype and shape are as expected."""
        array = self._arrays.get(name) if isinstance(name, str) else None
        if array is None:
            raise ModelFileError(f"array {name!r} is missing")
        if array.dtype != dtype:
            if dtype not in (np.float64, np.float32) or array.dtype not in _NARROW:
                raise ModelFileError(f"array {name!r} holds numbers of another kind")
            array = array.astype(dtype)
        if array.ndim != ndim or (length is not None and len(array) != length):
            raise ModelFileError(f"array {name!r} has the unexpected shape {array.shape}")
        return array

    def take_matrix(self, found: Any, dtype: Any = np.float64) -> Any:
        """Return a dense or a CSR matrix. The caller checks its values."""
        if not isinstance(found, dict):
            raise ModelFileError("the description of a matrix is missing")
        if "dense" in found:
            return self.take(found["dense"], dtype, ndim=2)
        data = self.take(found.get("data"), dtype)
        indices = self.take(found.get("indices"), np.int32, len(data))
        indptr = self.take(found.get("indptr"), np.int64)
        n_features = found.get("n_features")
        if type(n_features) is not int or not 0 < n_features <= _most_columns(len(data)):
            raise ModelFileError(f"a matrix cannot have {n_features!r} columns")
        inside = len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_features)
        ends = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data)
        if not inside or not ends or (np.diff(indptr) < 0).any():
            raise ModelFileError("the entries of a matrix lie outside of it")
        return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features))


def _narrowed(array: np.ndarray) -> np.ndarray:
    for dtype in _NARROW:
        with np.errstate(invalid="ignore", over="ignore"):
            narrow = array.astype(dtype)
        # bit for bit: a negative zero is kept
        if (narrow.astype(np.float64).view(np.int64) == array.view(np.int64)).all():
            return narrow
    return array


def _most_columns(n_entries: int) -> int:
    return max(MOST_STORED_COLUMNS, COLUMNS_PER_ENTRY * n_entries)
