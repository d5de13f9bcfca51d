"""Reading a table in any format, recognised by the name of the file or by its content."""

import os
from collections.abc import Collection

from taupath.choices import FORMATS, SPARSE_COLUMNS
from taupath.tables.delimited import BLANKS, Progress, read_delimited
from taupath.tables.formats import format_of
from taupath.tables.libsvm import looks_like_libsvm, read_libsvm
from taupath.tables.limits import HIGHEST_INDEX
from taupath.tables.npz import read_npz
from taupath.tables.opening import opened
from taupath.tables.parquet import read_parquet
from taupath.tables.table import Table, TableError

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
    max_bytes: int | None = None,
    max_features: int = SPARSE_COLUMNS,
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
    max_bytes : int, optional
        Largest size of the table: bytes of the text after decompression, of the arrays of NumPy,
        or of the columns of Parquet. By default 64 MB and 32 times the size of the file, or 8 GB
        of a pipe: a small file does not fill the memory.
    max_features : int
        Largest number of columns of a sparse matrix, in LIBSVM and NumPy files.
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
    if max_bytes is not None and max_bytes < 1:
        raise ValueError(f"max_bytes must be at least 1, got {max_bytes!r}")
    if not 1 <= max_features <= HIGHEST_INDEX:
        raise ValueError(f"max_features must be from 1 to {HIGHEST_INDEX}, got {max_features!r}")
    with opened(name, source, max_bytes) as content:
        head = content.head()
        if not head:
            raise TableError(f"{source}: the file is empty")
        if format is None:
            format = format_of(name, FORMATS) or _sniffed(head)
        if format == "parquet":
            return read_parquet(content, as_text=as_text)
        if format == "npz":
            return read_npz(content, max_features=max_features)
        data = content.text()
    if format == "libsvm":
        return read_libsvm(data, source, max_features=max_features, progress=progress)
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


def _sniffed(data: bytes) -> str:
    """Return the format that data look like."""
    if data.startswith(b"PAR1"):
        return "parquet"
    if data.startswith(b"PK\x03\x04"):  # a zip archive
        return "npz"
    return "libsvm" if looks_like_libsvm(data) else "csv"
