"""Tables that are in memory already: data frames and columns by name."""

import math
import os
from collections.abc import Mapping
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np

from taupath.tables.cells import as_text, show_number
from taupath.tables.messages import listed, quoted
from taupath.tables.reading import read_table
from taupath.tables.table import Table, TableError, check_names


def is_table(data: Any) -> bool:
    """Return whether `as_table` takes the data: a table, a file name, columns, a data frame."""
    return isinstance(data, Table | str | os.PathLike | Mapping) or hasattr(data, "columns")


def as_table(data: Any) -> Table:
    """Return data as a table.

    Parameters
    ----------
    data : Table, str, path, mapping or data frame
        A table, which is returned; the name of a file, which is read; columns by name, all of one
        length; or a data frame of pandas, polars or another package whose ``frame[name]`` is a
        column.

    Raises
    ------
    TableError
        If the file cannot be read, columns have the same name or different lengths, or there are
        no columns.
    """
    if isinstance(data, Table):
        return data
    if isinstance(data, str | os.PathLike):
        return read_table(data)
    source = "the columns" if isinstance(data, Mapping) else "the data frame"
    names = list(data) if isinstance(data, Mapping) else list(data.columns)
    check_names(source, map(str, names))
    if not names:
        raise TableError(f"{source}: there are no columns")
    columns: dict[str, np.ndarray] = {}
    unusable: dict[str, str] = {}
    for name in names:
        values, other = _converted(_array(data[name], f"{source}, column {quoted(str(name))}"))
        columns[str(name)] = values
        if other is not None:
            unusable[str(name)] = other
    lengths = {len(values) for values in columns.values()}
    if len(lengths) > 1:
        found = listed(f"{name}: {len(values)}" for name, values in columns.items())
        raise TableError(f"{source}: columns differ in length: {found}")
    return Table(source, columns=columns, unusable=unusable, unit="row")


def _array(values: Any, where: str) -> np.ndarray:
    """Return a column as an array of any type."""
    if isinstance(values, list | tuple):  # numpy would turn numbers among text into text
        found = np.fromiter(values, dtype=object, count=len(values))
    else:
        found = np.asarray(values)
    if found.ndim != 1:
        raise TableError(f"{where}: it must have one dimension, not {found.ndim}")
    return found


def _converted(values: np.ndarray) -> tuple[np.ndarray, str | None]:
    """Return a column as a table keeps it, and its type if that is neither numbers nor text."""
    if values.dtype.kind in "fiu":
        return values.astype(np.float64), None
    if values.dtype.kind in "bU":
        return as_text([str(cell) for cell in values.tolist()], {}), None
    if values.dtype.kind != "O":
        return np.full(len(values), None, dtype=object), f"values of type {values.dtype}"
    cells = [None if is_nothing(cell) else cell for cell in values]
    kinds = {_kind(cell) for cell in cells if cell is not None}
    if kinds <= {"number"}:
        numbers = (math.nan if cell is None else float(cell) for cell in cells)
        return np.fromiter(numbers, dtype=np.float64, count=len(cells)), None
    others = kinds - {"number", "text"}
    if others:
        return np.full(len(values), None, dtype=object), f"values of type {sorted(others)[0]}"
    return as_text(["" if cell is None else _text(cell) for cell in cells], {}), None


def _text(cell: Any) -> str:
    """Return a cell as a file would have it."""
    return str(cell) if _kind(cell) == "text" else show_number(cell)


def _kind(cell: Any) -> str:
    if isinstance(cell, str | bool | np.bool_):
        return "text"
    return "number" if isinstance(cell, Real | Decimal) else type(cell).__name__


def is_nothing(cell: Any) -> bool:
    """Return whether a value stands for a missing cell: None, NaN, NaT or pandas' NA."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except (TypeError, ValueError):  # pandas.NA has no truth value, nor have arrays
        return "NA" in type(cell).__name__
