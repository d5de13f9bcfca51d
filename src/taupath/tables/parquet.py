"""Parquet files, read and written by pyarrow, which is imported only here."""

import io
from collections.abc import Collection, Mapping
from typing import IO, Any

import numpy as np

from taupath.exceptions import install_command
from taupath.tables.cells import as_column
from taupath.tables.cells import as_text as as_text_cells
from taupath.tables.messages import one_line
from taupath.tables.table import Table, TableError, check_names


def read_parquet(data: bytes, source: str, *, as_text: Collection[str] = ()) -> Table:
    """Return the table in a Parquet file; columns of `as_text` are text, whatever they hold.

    Integers, floating-point and decimal numbers are numbers; strings, dictionaries of strings and
    Booleans (as True and False) are text; columns of other types are there but cannot be used. A
    `TableError` says that pyarrow is missing, or why the file cannot be used.
    """
    _, parquet = _pyarrow(source)
    try:  # a damaged file may raise anything
        content = parquet.ParquetFile(io.BytesIO(data)).read()
        names = [str(name) for name in content.column_names]
        values = [
            _values(column, name in as_text)
            for name, column in zip(names, content.columns, strict=True)
        ]
    except Exception as error:
        raise TableError(f"{source}: the Parquet file cannot be read: {one_line(error)}") from error
    check_names(source, names)
    if not names or content.num_rows == 0:
        raise TableError(f"{source}: there are no rows")
    kinds = zip(names, values, content.schema.types, strict=True)
    unusable = {name: f"values of type {kind}" for name, column, kind in kinds if column is None}
    blank = np.full(content.num_rows, None, dtype=object)
    columns = [blank if column is None else column for column in values]
    named = dict(zip(names, columns, strict=True))
    return Table(source, columns=named, unusable=unusable, unit="row")


def write_parquet(file: IO[bytes], columns: Mapping[str, np.ndarray]) -> None:
    """Write columns of equal lengths to an open file; a `TableError` if pyarrow is missing."""
    pyarrow, parquet = _pyarrow("writing Parquet")
    content = {
        name: pyarrow.array(values.tolist() if values.dtype.kind in "OU" else values)
        for name, values in columns.items()
    }
    parquet.write_table(pyarrow.table(content), file)


def _pyarrow(purpose: str) -> tuple[Any, Any]:
    """Return the package and its module for Parquet."""
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise TableError(
            f"{purpose}: Parquet needs pyarrow; install it with: {install_command('pyarrow')}"
        ) from error
    return pyarrow, parquet


def _values(column: Any, text: bool) -> np.ndarray | None:
    """Return a column as the table keeps it, or None if it is neither numbers nor text."""
    import pyarrow

    if text:
        return as_text_cells(_texts(column), {})
    of, kind = pyarrow.types, column.type
    if of.is_dictionary(kind):
        kind = kind.value_type
        column = column.cast(kind)
    if of.is_boolean(kind) or of.is_string(kind) or of.is_large_string(kind):
        return as_column(_texts(column))
    if of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind):
        values = column.cast(pyarrow.float64(), safe=False).to_numpy()
        return np.array(values, dtype=np.float64)  # pyarrow's own is read-only; null is NaN
    if of.is_null(kind):
        return np.full(len(column), np.nan)
    return None


def _texts(column: Any) -> list[str]:
    """Return cells as a delimited file has them."""
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]
