"""NumPy archives: ``X`` dense or the parts of a sparse matrix as SciPy saves it, and ``y``."""

import io
import zipfile
from typing import TYPE_CHECKING, Any

import numpy as np

from taupath.tables.cells import as_column
from taupath.tables.messages import listed, one_line
from taupath.tables.table import Table, TableError

if TYPE_CHECKING:
    import scipy.sparse as sp


def read_npz(data: bytes, source: str) -> Table:
    """Return the matrix and the labels in an archive as `numpy.savez` or `scipy.sparse` writes it.

    A `TableError` says why an archive cannot be used.
    """
    if not zipfile.is_zipfile(io.BytesIO(data)):
        raise TableError(f"{source}: it is not a NumPy archive, or it is cut short")
    # Pickled objects would run code when read. A damaged archive may raise anything.
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            keys = list(archive.files)
            wanted = ("X", "y", "data", "indices", "indptr", "shape", "format")
            arrays = {key: archive[key] for key in wanted if key in keys}
            if not all(isinstance(array, np.ndarray) for array in arrays.values()):
                raise ValueError("a member is not an array")
    except Exception as error:
        raise TableError(f"{source}: {_explained(error)}") from error
    if "X" in arrays:
        matrix: Any = _dense(arrays["X"], source)
    elif {"data", "indices", "indptr", "shape"} <= arrays.keys():
        matrix = _sparse(arrays, source)
    else:
        raise TableError(
            f"{source}: there is no array 'X' and no saved sparse matrix, only {listed(keys)}"
            if keys
            else f"{source}: the archive is empty"
        )
    if min(matrix.shape) == 0:
        raise TableError(f"{source}: the matrix has shape {matrix.shape}: there is nothing in it")
    labels = _labels(arrays["y"], matrix.shape[0], source) if "y" in arrays else None
    return Table(source, matrix=matrix, labels=labels, unit="row")


def _dense(X: np.ndarray, source: str) -> np.ndarray:
    """Return a finite matrix of float64."""
    if X.ndim != 2:
        raise TableError(f"{source}: 'X' must have two dimensions, not {X.ndim}")
    X = np.ascontiguousarray(_real(X, "X", source))
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.unravel_index(np.argmin(finite), X.shape)
        _not_finite(X[row, column], f"{source}, row {row + 1}, feature {column + 1}")
    return X


def _sparse(arrays: dict[str, np.ndarray], source: str) -> "sp.csr_array":
    """Return a finite matrix from its parts, which may not fit together."""
    import scipy.sparse as sp

    form = str(arrays["format"].item()) if "format" in arrays and arrays["format"].size == 1 else ""
    form = form.removeprefix("b'").removesuffix("'")  # SciPy writes bytes
    if form != "csr":
        raise TableError(f"{source}: the sparse matrix is {form or 'of no'} format; save it as CSR")
    try:
        values = _real(arrays["data"], "data", source)
        matrix = sp.csr_array(
            (values, arrays["indices"], arrays["indptr"]),
            shape=tuple(int(extent) for extent in arrays["shape"]),
        )
        matrix.check_format(full_check=True)
        matrix.sum_duplicates()
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{source}: its parts make no CSR matrix: {one_line(error)}") from error
    finite = np.isfinite(matrix.data)
    if not finite.all():
        entry = int(np.argmin(finite))
        row = int(np.searchsorted(matrix.indptr, entry, side="right"))
        where = f"{source}, row {row}, feature {matrix.indices[entry] + 1}"
        _not_finite(matrix.data[entry], where)
    return matrix


def _labels(y: np.ndarray, n_rows: int, source: str) -> np.ndarray:
    """Return labels, finite numbers or text."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.shape != (n_rows,):
        raise TableError(f"{source}: 'y' must have shape ({n_rows},) as 'X' has, not {y.shape}")
    if y.dtype.kind in "Ub":
        y = as_column([str(label) for label in y])
    if y.dtype == object:
        finite = np.array([label is not None for label in y])
    else:
        y = _real(y, "y", source)
        finite = np.isfinite(y)
    if not finite.all():
        row = int(np.argmin(finite))
        _not_finite(y[row] or np.nan, f"{source}, row {row + 1}, label")
    return y


def _real(array: np.ndarray, name: str, source: str) -> np.ndarray:
    """Return an array of real numbers in float64."""
    if array.dtype.kind not in "biuf":
        raise TableError(f"{source}: {name!r} must hold real numbers, not {array.dtype}")
    return array.astype(np.float64, copy=False)


def _not_finite(value: float, where: str) -> None:
    reason = "the value is infinite" if np.isinf(value) else "the value is missing; fill it in"
    raise TableError(f"{where}: {reason}")


def _explained(error: Exception) -> str:
    """Return why an archive cannot be read."""
    message = one_line(error)
    if "allow_pickle" in message:
        return "it holds Python objects, which are not read; save arrays of numbers or text"
    return f"the NumPy archive cannot be read: {message}"
