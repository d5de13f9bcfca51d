"""NumPy archives: ``X`` dense or the parts of a sparse matrix as SciPy saves it, and ``y``."""

import math
import struct
import zipfile
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from taupath.choices import SPARSE_COLUMNS
from taupath.tables.cells import as_column
from taupath.tables.limits import check_features, refuse_size
from taupath.tables.messages import listed, one_line
from taupath.tables.opening import Content, pieces
from taupath.tables.table import Table, TableError

if TYPE_CHECKING:
    import scipy.sparse as sp


# Arrays that are looked for in an archive.
WANTED = ("X", "y", "data", "indices", "indptr", "shape", "format")
# Bytes of the table of contents: an archive of arrays has a few members, of a hundred bytes each.
LONGEST_CONTENTS = 1 << 20
# The end of an archive: a record of 22 bytes, and a comment of up to 65 535.
END_RECORD, LONGEST_COMMENT = struct.Struct("<4s8xLL2x"), 65_535


def read_npz(content: Content, *, max_features: int = SPARSE_COLUMNS) -> Table:
    """Return the matrix and the labels in an archive as `numpy.savez` or `scipy.sparse` writes it.

    A `TableError` says why an archive cannot be used.
    """
    source = content.source
    if not zipfile.is_zipfile(content.stream):
        raise TableError(f"{source}: it is not a NumPy archive, or it is cut short")
    try:  # a damaged archive may raise anything
        _check_contents(content.stream)
        with zipfile.ZipFile(content.stream) as archive:
            members = {info.filename.removesuffix(".npy"): info for info in archive.infolist()}
            keys = list(members)
            members = {key: members[key] for key in WANTED if key in keys}
            size = sum(info.file_size for info in members.values())
            if size > content.most:
                refuse_size(source, f"{size} bytes", content.most)
            arrays = {key: _array(archive, info) for key, info in members.items()}
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{source}: {_explained(error)}") from error
    if "X" in arrays:
        matrix: Any = _dense(arrays["X"], source)
    elif {"data", "indices", "indptr", "shape"} <= arrays.keys():
        matrix = _sparse(arrays, source, max_features)
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


def _check_contents(stream: IO[bytes]) -> None:
    """Refuse an archive whose table of contents would take long to read."""
    end = stream.seek(0, 2)
    stream.seek(max(0, end - END_RECORD.size - LONGEST_COMMENT))
    tail = stream.read()
    place = tail.rfind(b"PK\x05\x06")
    if place < 0 or len(tail) - place < END_RECORD.size:
        raise ValueError("its end is missing")
    _, size, _ = END_RECORD.unpack_from(tail, place)
    # Archives above 4 GB keep these sizes in another record, which says so here.
    elsewhere = tail[max(0, place - 20) : place].startswith(b"PK\x06\x07")
    if end < 2**32 and (elsewhere or size > LONGEST_CONTENTS):
        raise ValueError("it has too many members")


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """Return an array of an archive, if it takes the bytes that the archive has for it.

    Pickled objects are refused: they would run code when read.
    """
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise ValueError("it is compressed in a way that NumPy does not write")
    with archive.open(info) as stream:
        of = np.lib.format
        version = of.read_magic(stream)
        if version == (1, 0):
            shape, by_columns, dtype = of.read_array_header_1_0(stream)
        elif version == (2, 0):
            shape, by_columns, dtype = of.read_array_header_2_0(stream)
        else:
            raise ValueError("an array is of an unknown version")
        if dtype.hasobject:
            raise ValueError("allow_pickle")
        data = b"".join(pieces(stream))  # all at once, it may become larger than it says
    if dtype.itemsize == 0 or len(data) != math.prod(shape) * dtype.itemsize:
        raise ValueError("an array has not as many values as it says")
    return np.frombuffer(data, dtype).reshape(shape, order="F" if by_columns else "C")


def _dense(X: np.ndarray, source: str) -> np.ndarray:
    """Return a finite matrix of float64."""
    if X.ndim != 2:
        raise TableError(f"{source}: 'X' must have two dimensions, not {X.ndim}")
    X = np.array(_real(X, "X", source), order="C")
    finite = np.isfinite(X)
    if not finite.all():
        row, column = np.unravel_index(np.argmin(finite), X.shape)
        _not_finite(X[row, column], f"{source}, row {row + 1}, feature {column + 1}")
    return X


def _sparse(arrays: dict[str, np.ndarray], source: str, max_features: int) -> "sp.csr_array":
    """Return a finite matrix from its parts, which may not fit together."""
    import scipy.sparse as sp

    form = str(arrays["format"].item()) if "format" in arrays and arrays["format"].size == 1 else ""
    form = form.removeprefix("b'").removesuffix("'")  # SciPy writes bytes
    if form != "csr":
        raise TableError(f"{source}: the sparse matrix is {form or 'of no'} format; save it as CSR")
    try:
        shape = tuple(int(extent) for extent in arrays["shape"])
        if len(shape) != 2 or min(shape) < 0 or shape[0] != len(arrays["indptr"]) - 1:
            raise ValueError(f"the shape is {one_line(shape)}")
        check_features(source, shape[1], max_features)
        values = _real(arrays["data"], "data", source)
        # all are copies: what is read from a file cannot be written to
        parts = values.copy(), arrays["indices"].copy(), arrays["indptr"].copy()
        matrix = sp.csr_array(parts, shape=shape)
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
    if "magic string" in message:
        return "a member of the NumPy archive is not an array"
    if "pickle" in message:
        return "it holds Python objects, which are not read; save arrays of numbers or text"
    return f"the NumPy archive cannot be read: {message}"
