"""The arrays of a model file: collected under names to be written, and read again with checks."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.exceptions import ModelFileError
from taupath.storage.budget import Budget, array_bytes
from taupath.validation import MAX_ROWS, Checked, check_features

# Types that float64 arrays are stored in if that loses nothing, the narrowest first.
_NARROW = (np.int8, np.float32)


def grows(values: np.ndarray, strictly: bool = False) -> bool:
    """Return whether each value is at least the one before, or above it. NaN never is.

    Values are compared, not subtracted: they may be infinite.
    """
    before, after = values[:-1], values[1:]
    return bool((after > before).all() if strictly else (after >= before).all())


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
        return {
            "data": self.put(f"{name}.data", matrix.data),
            "indices": self.put(f"{name}.indices", matrix.indices.astype(np.int32, copy=False)),
            "indptr": self.put(f"{name}.indptr", matrix.indptr.astype(np.int64, copy=False)),
            "n_features": int(matrix.shape[1]),
        }


class StoredArrays:
    """Arrays read from a file, by name. What several parts of a model share is made once."""

    def __init__(self, arrays: Mapping[str, np.ndarray], budget: Budget | None = None) -> None:
        self.budget = budget or Budget()
        self._arrays = arrays
        self._converted: dict[tuple[str, str], np.ndarray] = {}
        self._features: dict[tuple[str, bool], Checked] = {}

    def take(self, name: Any, dtype: Any, length: int | None = None, ndim: int = 1) -> np.ndarray:
        """Return an array after checking that dtype and shape are as expected."""
        array = self._arrays.get(name) if isinstance(name, str) else None
        if array is None:
            raise ModelFileError(f"array {name!r:.60} is missing")
        if array.ndim != ndim or (length is not None and len(array) != length):
            raise ModelFileError(f"array {name!r:.60} has the unexpected shape {array.shape}")
        if array.dtype == dtype:
            return array
        if dtype not in (np.float64, np.float32) or array.dtype not in _NARROW:
            raise ModelFileError(f"array {name!r:.60} holds numbers of another kind")
        key = (name, np.dtype(dtype).str)
        if key not in self._converted:
            self.budget.take(array_bytes(array, dtype), f"array {name!r:.60}")
            self._converted[key] = array.astype(dtype)
        return self._converted[key]

    def take_features(self, found: Any, single: bool = False) -> Checked:
        """Return a dense or a CSR matrix of features, checked as users' features are."""
        if not isinstance(found, dict):
            raise ModelFileError("the description of a matrix is missing")
        key = (json.dumps(found, sort_keys=True), single)
        if key not in self._features:
            dtype = np.float32 if single else np.float64
            if "dense" in found:
                matrix = self.take(found["dense"], dtype, ndim=2)
            else:
                matrix = self.take_sparse(found, dtype)
            self._features[key] = Checked(check_features(matrix, single))
        return self._features[key]

    def take_sparse(self, found: Any, dtype: Any = np.float64) -> "sp.csr_array":
        """Return a CSR matrix after checking that its entries lie inside and in order."""
        if not isinstance(found, dict):
            raise ModelFileError("the description of a matrix is missing")
        data = self.take(found.get("data"), dtype)
        indices = self.take(found.get("indices"), np.int32, len(data))
        indptr = self.take(found.get("indptr"), np.int64)
        n_features = found.get("n_features")
        if type(n_features) is not int or not 0 < n_features <= MAX_ROWS:
            raise ModelFileError(f"a matrix cannot have {n_features!r:.60} columns")
        self.budget.take(array_bytes(indptr, np.int64), "a sparse matrix")
        inside = len(indices) == 0 or (indices.min() >= 0 and indices.max() < n_features)
        ends = len(indptr) > 0 and indptr[0] == 0 and indptr[-1] == len(data)
        if not inside or not ends or not grows(indptr):
            raise ModelFileError("the entries of a matrix lie outside of it")
        growing = indices[1:] > indices[:-1]
        first = indptr[1:-1]  # the first entry of each row but the first one
        growing[first[(first > 0) & (first < len(indices))] - 1] = True
        if not growing.all():
            raise ModelFileError("the entries of a matrix are not in order")
        return sp.csr_array((data, indices, indptr), shape=(len(indptr) - 1, n_features))


def _narrowed(array: np.ndarray) -> np.ndarray:
    for dtype in _NARROW:
        with np.errstate(invalid="ignore", over="ignore"):  # what does not fit is not kept
            narrow = array.astype(dtype)
        # bit for bit: a negative zero is kept
        if (narrow.astype(np.float64).view(np.int64) == array.view(np.int64)).all():
            return narrow
    return array
