"""Reading a table in any format, recognised by the name of the file or by its content."""

import bz2
import gzip
import os
import sys
import zlib
from collections.abc import Collection
from pathlib import Path

from taupath.choices import FORMATS
from taupath.tables.delimited import BLANKS, Progress, read_delimited
from taupath.tables.formats import COMPRESSIONS, format_of
from taupath.tables.libsvm import looks_like_libsvm, read_libsvm
from taupath.tables.messages import one_line
from taupath.tables.npz import read_npz
from taupath.tables.parquet import read_parquet
from taupath.tables.table import Table, TableError

_SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")

# Delimiters that can be asked for by name: a tab is hard to type in a shell.
_DELIMITERS = {
    "tab": "\t",
    "\\t": "\t",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "space": BLANKS,
}


def read_table(
    file: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    as_text: Collection[str] = (),
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
        For standard input and other extensions it is guessed from the content. A "csv" file may
        have commas, tabs, semicolons, pipes or blanks between its cells.
    delimiter : str, optional
        What separates the cells of a text file: one character, or tab, comma, semicolon,
        pipe or space; the last stands for any number of blanks and tabs. By default it is guessed
        from the content.
    as_text : collection of str
        Names of columns whose cells stay as they are written, even if all of them are numbers.
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
    separator = None if delimiter is None else _separator(delimiter)
    if separator is not None:
        format = format or format_of(name, FORMATS) or "csv"
        if format not in ("csv", "tsv"):
            raise TableError(f"{source}: a delimiter goes with CSV and TSV, not with {format}")
    data = _decompressed(_content(name, source), name, source)
    if not data:
        raise TableError(f"{source}: the file is empty")
    if format is None:
        format = format_of(name, FORMATS) or _sniffed(data)
    if format == "libsvm":
        return read_libsvm(data, source, progress=progress)
    if format == "parquet":
        return read_parquet(data, source, as_text=as_text)
    if format == "npz":
        return read_npz(data, source)
    if format == "tsv":
        separator = separator or "\t"
    return read_delimited(data, source, separator=separator, as_text=as_text, progress=progress)


def _separator(delimiter: str) -> str:
    """Return the character that a delimiter stands for."""
    separator = _DELIMITERS.get(delimiter.lower(), delimiter)
    if len(separator) != 1 or separator in '"\r\n\0':
        raise ValueError(
            f"a delimiter must be one character, or one of {', '.join(_DELIMITERS)}; "
            f"got {delimiter!r}"
        )
    return separator


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
    """Return the content of a compressed file, and other data unchanged."""
    try:
        if data.startswith(b"\x1f\x8b"):
            return gzip.decompress(data)
        if data.startswith(b"BZh"):
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
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):  # a zip archive
        return "npz"
    return "libsvm" if looks_like_libsvm(data) else "csv"
