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
from itertools import chain
from typing import IO

import numpy as np

from taupath.atomic_files import replacing
from taupath.tables.formats import WRITTEN, format_to_write
from taupath.tables.parquet import write_parquet


def write_table(
    file: str | os.PathLike[str],
    columns: Mapping[str, np.ndarray],
    *,
    force_format: str | None = None,
) -> None:
    """Write columns to a file, which appears under its name only when it is complete.

    Numbers are written so that they read back equal.

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
        found = ", ".join(f"{name!r} {array.shape}" for name, array in arrays.items())
        raise ValueError(f"columns must have one dimension and the same length; got {found}")
    return arrays


def _write_delimited(stream: IO[bytes], columns: dict[str, np.ndarray], separator: str) -> None:
    """Write columns as text in UTF-8."""
    text = io.TextIOWrapper(stream, encoding="utf-8", newline="")
    # The writer turns Python's floats into the shortest text that reads back equal.
    cells = [values.tolist() for values in columns.values()]
    # It does not quote a carriage return, which readers take for the end of a line.
    returns = any("\r" in cell for cell in chain(columns, *cells) if isinstance(cell, str))
    try:
        writer = csv.writer(
            text,
            delimiter=separator,
            lineterminator="\n",
            quoting=csv.QUOTE_NONNUMERIC if returns else csv.QUOTE_MINIMAL,
        )
        writer.writerow(columns)
        writer.writerows(zip(*cells, strict=True))
    finally:
        text.detach()  # flushes it, and leaves the stream open


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
    sys.stdout.flush()
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()
