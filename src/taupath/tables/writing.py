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
from pathlib import Path
from typing import IO

import numpy as np

from taupath.atomic_files import replacing
from taupath.tables.parquet import write_parquet
from taupath.tables.reading import COMPRESSIONS
from taupath.tables.table import TableError

__all__ = ["format_to_write", "write_table"]

WRITTEN = ("csv", "tsv", "json", "jsonl", "parquet")
_EXTENSIONS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".json": "json",
    ".jsonl": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}


def format_to_write(file: str | os.PathLike[str]) -> str:
    """Return the format that the name of a file asks for.

    Standard output, devices and pipes get CSV.

    Raises
    ------
    TableError
        If the name asks for none that is written.
    """
    name = os.fspath(file)
    if name == "-" or (os.path.exists(name) and not os.path.isfile(name)):
        return "csv"
    path = Path(name)
    packed = path.suffix.lower() in COMPRESSIONS
    format = _EXTENSIONS.get((path.with_suffix("") if packed else path).suffix.lower())
    if format is None or (packed and format == "parquet"):
        raise TableError(
            f"{file}: tables are written to .csv, .tsv, .json, .jsonl (each also .gz or .bz2) or "
            ".parquet files; give one of these names"
        )
    return format


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
        The format, whatever the extension.

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
    # Of Python's floats the writer gives the shortest text that reads back equal.
    cells = [values.tolist() for values in columns.values()]
    # It leaves a carriage return without quotes if that ends no line here; readers do not.
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
    """Give a stream whose content, compressed where the name says so, is written at the end."""
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
