"""Parquet files, read and written by pyarrow, which is imported only here."""

from collections.abc import Collection, Mapping
from typing import IO, Any

import numpy as np

from taupath.exceptions import install_command
from taupath.tables.cells import as_column
from taupath.tables.limits import refuse_size
from taupath.tables.messages import one_line
from taupath.tables.opening import Content
from taupath.tables.table import Table, TableError, check_names

# Rows read at a time. Text of one piece is in memory several times.
ROWS_PER_BATCH = 1 << 14


def read_parquet(content: Content, *, as_text: Collection[str] = ()) -> Table:
    """Return the table in a Parquet file; columns of `as_text` are text, whatever they hold.

    Integers, floating-point and decimal numbers are numbers; strings, dictionaries of strings and
    Booleans (as True and False) are text; columns of other types are there but cannot be used. A
    `TableError` says that pyarrow is missing, or why the file cannot be used.
    """
    source = content.source
    _, parquet = _pyarrow(source)
    try:  # a damaged file may raise anything
        schema = parquet.read_schema(content.stream)
        names = [str(name) for name in schema.names]
        check_names(source, names)
        usable = [
            name
            for name, kind in zip(names, schema.types, strict=True)
            if name in as_text or _is_usable(kind)
        ]
        texts = [name for name in usable if _is_text(schema.field(name).type)]
        # A text that occurs often is in the file once; it stays so, however long it is.
        file = parquet.ParquetFile(content.stream, read_dictionary=texts)
        n_rows = file.metadata.num_rows
        size = max(n_rows * max(len(usable), 1) * 8, _declared_bytes(file.metadata))
        if size > content.most:
            refuse_size(source, f"{size} bytes", content.most)
        found = _read_columns(file, usable, set(as_text), content)
    except TableError:
        raise
    except Exception as error:
        raise TableError(f"{source}: the Parquet file cannot be read: {one_line(error)}") from error
    if not names or n_rows == 0:
        raise TableError(f"{source}: there are no rows")
    unusable = {
        name: f"values of type {one_line(kind)}"
        for name, kind in zip(names, schema.types, strict=True)
        if name not in found
    }
    blank = np.full(n_rows, None, dtype=object)
    columns = {name: found.get(name, blank) for name in names}
    return Table(source, columns=columns, unusable=unusable, unit="row")


def _declared_bytes(metadata: Any) -> int:
    """Return how many bytes all columns have after decompression, as the file says.

    Columns are not asked: pyarrow ends the process if their description is damaged.
    """
    groups = range(metadata.num_row_groups)
    return sum(max(metadata.row_group(g).total_byte_size, 0) for g in groups)


def _read_columns(
    file: Any, names: list[str], as_text: set[str], content: Content
) -> dict[str, np.ndarray]:
    """Return columns as a table keeps them."""
    parts: dict[str, list[Any]] = {name: [] for name in names}
    known: dict[str, str] = {}  # equal texts are one object
    n_rows = 0
    for batch in file.iter_batches(ROWS_PER_BATCH, columns=names) if names else ():
        n_rows += batch.num_rows
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            parts[str(name)].append(_converted(column, name in as_text, known))
        size = 8 * n_rows * len(names) + sum(map(len, known))
        if size > content.most:
            refuse_size(content.source, f"more than {size} bytes", content.most)
    if names and n_rows != file.metadata.num_rows:
        raise ValueError("it has another number of rows than it says")
    return {name: _joined(column, name in as_text) for name, column in parts.items() if column}


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


def _is_text(kind: Any) -> bool:
    import pyarrow.types as of

    return bool(of.is_string(kind) or of.is_large_string(kind))


def _is_usable(kind: Any) -> bool:
    """Return whether a column of this type holds numbers or text."""
    import pyarrow.types as of

    if of.is_dictionary(kind):
        kind = kind.value_type
    numbers = of.is_integer(kind) or of.is_floating(kind) or of.is_decimal(kind)
    return bool(_is_text(kind) or of.is_boolean(kind) or of.is_null(kind) or numbers)


def _converted(column: Any, text: bool, known: dict[str, str]) -> np.ndarray | list[str]:
    """Return part of a column: numbers in float64, or the text of each cell."""
    import pyarrow

    of, kind = pyarrow.types, column.type
    if of.is_dictionary(kind):
        texts = [*_texts(column.dictionary, known), ""]
        codes = column.indices.cast(pyarrow.int64()).fill_null(len(texts) - 1)
        return [texts[code] for code in codes.to_pylist()]
    if text or of.is_boolean(kind) or _is_text(kind):
        return _texts(column, known)
    if of.is_null(kind):
        return np.full(len(column), np.nan)
    values = column.cast(pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.array(values, dtype=np.float64)  # pyarrow's own is read-only; null is NaN


def _texts(column: Any, known: dict[str, str]) -> list[str]:
    """Return cells as a delimited file has them."""
    texts = ("" if cell is None else str(cell) for cell in column.to_pylist())
    return [known.setdefault(text, text) for text in texts]


def _joined(parts: list[Any], text: bool) -> np.ndarray:
    """Return a column from its parts: numbers if all its cells are, else text."""
    if not isinstance(parts[0], list):
        return np.concatenate(parts)
    return as_column([cell for part in parts for cell in part], text)
