"""Writing columns to a file: whole or not at all."""

import bz2
import csv
import gzip
import io
import json
import math
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, islice
from typing import IO, Any

import numpy as np

from taupath.atomic_files import replacing
from taupath.tables.cells import parse_number
from taupath.tables.formats import WRITTEN, format_to_write
from taupath.tables.messages import printable_lines, quoted
from taupath.tables.parquet import write_parquet

# Rows that are turned into text at a time, which bounds the memory for it.
ROWS_WRITTEN_AT_A_TIME = 10_000
# How text begins that a spreadsheet takes for a formula.
FORMULA = tuple("=+-@\t\r\n＝＋－＠")  # the last four are of full width


def write_table(
    file: str | os.PathLike[str],
    columns: Mapping[str, np.ndarray],
    *,
    force_format: str | None = None,
) -> None:
    """Write columns to a file, which appears under its name only when it is complete.

    Numbers are written so that they read back equal. In delimited text, a cell or a name that a
    spreadsheet would take for a formula, because it begins with ``=``, ``+``, ``-`` or ``@``, with
    one of these in full width, with a tab or with the end of a line, gets a ``'`` in front. Numbers
    do not, nor do ``+`` and ``-`` alone.

    Parameters
    ----------
    file : str or path
        Name of the file, which tells the format: ``.csv``; ``.tsv``, ``.tab``; ``.json``, a list
        of one object for each row; ``.jsonl``, one object in each line; ``.parquet``, ``.pq``.
        With ``.gz`` or ``.bz2`` text is compressed. "-" is standard output, which gets CSV.
    columns : mapping of str to array-like of shape (n_rows,)
        Numbers, text or Booleans, in the order of the columns; None for an empty cell.
    force_format : {"csv", "tsv", "json", "jsonl", "parquet"}, optional
        The format, in place of that of the extension.

    Raises
    ------
    ValueError
        If there are no columns, they differ in length, or the extension stands for no format
        that is written.
    OSError
        If the file cannot be written.
    """
    name = os.fspath(file)
    format = force_format or format_to_write(name)
    if format not in WRITTEN:
        raise ValueError(f"tables are written as one of {', '.join(WRITTEN)}; got {format!r}")
    arrays = _checked(columns)
    with _opened(name) as stream:
        if format == "parquet":
            write_parquet(stream, arrays)
        elif format in ("json", "jsonl"):
            _write_json(stream, arrays, by_lines=format == "jsonl")
        else:
            _write_delimited(stream, arrays, "\t" if format == "tsv" else ",")


def _checked(columns: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return the columns as arrays of one length."""
    arrays = {name: np.asarray(values) for name, values in columns.items()}
    if not arrays:
        raise ValueError("there must be a column to write")
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) > 1 or len(next(iter(shapes))) != 1:
        found = ", ".join(f"{quoted(name)} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"columns must have one dimension and the same length; got {found}")
    return arrays


def _write_delimited(stream: IO[bytes], columns: dict[str, np.ndarray], separator: str) -> None:
    """Write columns as text in UTF-8."""
    text = io.StringIO(newline="")
    # The writer turns Python's floats into the shortest text that reads back equal.
    cells = [
        list(map(_harmless, values.tolist())) if values.dtype.kind in "OUS" else values.tolist()
        for values in columns.values()
    ]
    names = list(map(_harmless, columns))
    # It does not quote a carriage return, which readers take for the end of a line.
    returns = any("\r" in cell for cell in chain(names, *cells) if isinstance(cell, str))
    writer = csv.writer(
        text,
        delimiter=separator,
        lineterminator="\n",
        quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL,
    )
    writer.writerow(names)
    rows = zip(*cells, strict=True)
    while text.tell():
        stream.write(text.getvalue().encode())
        text.seek(text.truncate(0))
        writer.writerows(islice(rows, ROWS_WRITTEN_AT_A_TIME))


def _harmless(cell: Any) -> Any:
    """Return a cell with a ``'`` in front if a spreadsheet would take it for a formula."""
    if not isinstance(cell, str) or not cell.startswith(FORMULA):
        return cell
    return cell if cell in ("+", "-") or parse_number(cell) is not None else f"'{cell}"


def _write_json(stream: IO[bytes], columns: dict[str, np.ndarray], *, by_lines: bool) -> None:
    """Write an object for each row, in a list or one in each line; NaN is null."""
    cells = [
        [None if isinstance(cell, float) and not math.isfinite(cell) else cell for cell in values]
        for values in (column.tolist() for column in columns.values())
    ]
    lines = (
        json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False)
        for row in zip(*cells, strict=True)
    )
    if by_lines:
        stream.writelines(f"{line}\n".encode() for line in lines)
    else:
        stream.write(("[" + ",\n ".join(lines) + "]\n").encode())


@contextmanager
def _opened(name: str) -> Iterator[IO[bytes]]:
    """Open a stream whose content, compressed if the name says so, is written when it is closed."""
    with _standard_output() if name == "-" else replacing(name) as raw:
        if name.lower().endswith(".gz"):
            # No name and no time inside: equal tables give equal files.
            with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
                yield packed  # type: ignore[misc]  # a stream of bytes all the same
        elif name.lower().endswith(".bz2"):
            with bz2.BZ2File(raw, "wb") as squeezed:
                yield squeezed
        else:
            yield raw


@contextmanager
def _standard_output() -> Iterator[IO[bytes]]:
    """Yield standard output; a terminal gets escapes for control characters."""
    if sys.stdout is None:
        raise ValueError("standard output is closed; write to a file instead")
    sys.stdout.flush()
    if sys.stdout.isatty():
        shown = io.BytesIO()
        yield shown
        sys.stdout.write(printable_lines(shown.getvalue().decode()))
        sys.stdout.flush()
    else:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
