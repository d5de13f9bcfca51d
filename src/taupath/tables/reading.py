"""Reading a table, whatever its format: by the name of the file or by what is in it."""

import bz2
import gzip
import os
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

from taupath.tables.arrays import read_npz
from taupath.tables.delimited import Progress, read_delimited
from taupath.tables.libsvm import looks_like_libsvm, read_libsvm
from taupath.tables.parquet import read_parquet
from taupath.tables.table import Table, TableError, one_line

__all__ = ["COMPRESSIONS", "FORMATS", "format_of", "read_table"]

FORMATS = ("libsvm", "csv", "tsv", "parquet", "npz")

_EXTENSIONS = {
    ".svm": "libsvm",
    ".libsvm": "libsvm",
    ".svmlight": "libsvm",
    ".tf": "libsvm",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".npz": "npz",
}
_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")

COMPRESSIONS = (".gz", ".bz2")
_GZIP_MAGIC = b"\x1f\x8b"
_BZIP2_MAGIC = b"BZh"
_PARQUET_MAGIC = b"PAR1"
_ZIP_MAGIC = b"PK\x03\x04"


def read_table(
    file: str | os.PathLike[str],
    *,
    format: str | None = None,
    progress: Progress | None = None,
) -> Table:
    """Return the table in a file.

    Parameters
    ----------
    file : str or path
        Name of the file; "-" for standard input.
    format : {"libsvm", "csv", "tsv", "parquet", "npz"}, optional
        By default that of the extension: ``.svm``, ``.libsvm``, ``.svmlight``, ``.tf``; ``.csv``;
        ``.tsv``, ``.tab``; ``.parquet``, ``.pq``; ``.npz``; each perhaps with ``.gz`` or ``.bz2``.
        For standard input and other extensions it is found out from the content. A "csv" file may
        have commas, tabs or semicolons between its cells.
    progress : callable, optional
        Called as ``progress(fraction, n_rows)`` now and then while a long text is read.

    Returns
    -------
    Table
        Named columns from delimited and Parquet files, a matrix with labels from the others.

    Raises
    ------
    TableError
        If the file cannot be opened or does not hold a table; the message says where and why.
    """
    if format is not None and format not in FORMATS:
        raise ValueError(f"format must be one of {', '.join(FORMATS)}; got {format!r}")
    name = os.fspath(file)
    source = "<standard input>" if name == "-" else name if name.isprintable() else repr(name)
    data = _decompressed(_content(name, source), name, source)
    if not data:
        raise TableError(f"{source}: the file is empty")
    if format is None:
        format = format_of(name) or _sniffed(data)
    return _readers(progress)[format](data, source)


def format_of(name: str) -> str | None:
    """Return the format that the extension of a file stands for, None if it stands for none."""
    path = Path(name)
    if path.suffix.lower() in COMPRESSIONS:
        path = path.with_suffix("")
    return _EXTENSIONS.get(path.suffix.lower())


def _content(name: str, source: str) -> bytes:
    """Return the bytes of a file or of standard input."""
    if name == "-":
        return sys.stdin.buffer.read()
    if name.lower().endswith(_SPREADSHEETS):
        raise TableError(f"{source}: spreadsheets are not read; save the sheet as CSV")
    try:
        return Path(name).read_bytes()
    except FileNotFoundError:
        raise TableError(f"{source}: there is no such file") from None
    except IsADirectoryError:
        raise TableError(f"{source}: this is a folder, not a file") from None
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        reason = getattr(error, "strerror", None) or one_line(error)
        raise TableError(f"{source}: the file cannot be read: {reason}") from error


def _decompressed(data: bytes, name: str, source: str) -> bytes:
    """Return what is in a compressed file, and other data as they are."""
    try:
        if data.startswith(_GZIP_MAGIC):
            return gzip.decompress(data)
        if data.startswith(_BZIP2_MAGIC):
            return bz2.decompress(data)
    except (EOFError, OSError, ValueError, zlib.error) as error:
        raise TableError(
            f"{source}: the compressed file is cut short or damaged: {one_line(error)}"
        ) from error
    if data and name.lower().endswith(COMPRESSIONS):
        raise TableError(f"{source}: it is not compressed, although its name says so")
    return data


def _sniffed(data: bytes) -> str:
    """Return the format that data look like."""
    if data.startswith(_PARQUET_MAGIC):
        return "parquet"
    if data.startswith(_ZIP_MAGIC):
        return "npz"
    return "libsvm" if looks_like_libsvm(data) else "csv"


def _readers(progress: Progress | None) -> dict[str, Callable[[bytes, str], Table]]:
    """Return a function for each format."""
    return {
        "libsvm": lambda data, source: read_libsvm(data, source, progress=progress),
        "csv": lambda data, source: read_delimited(data, source, progress=progress),
        "tsv": lambda data, source: read_delimited(data, source, separator="\t", progress=progress),
        "parquet": read_parquet,
        "npz": read_npz,
    }
