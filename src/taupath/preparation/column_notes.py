"""Notes for users about the columns of a table to learn from."""

import re
from collections.abc import Sequence

import numpy as np

from taupath.preparation.columns import ColumnFeatures, NumberColumn, TextColumn
from taupath.tables import Table
from taupath.tables.messages import counted, option, quoted
from taupath.tables.table import missing_in

# Names that pandas and pyarrow give to an index.
_INDEX_NAME = re.compile(r"Unnamed: \d+|__index_level_\d+__")
# Names of columns that identify a row: id, customer_id, PassengerId.
_ID_NAME = re.compile(r"(?:.*[\W_])?[iI][dD]|.*[a-z]I[dD]")
# Rows from which on it is no coincidence that a column of such a name has only different numbers.
ENOUGH_TO_BE_NUMBERED = 20
# Columns that a note lists.
MOST_NOTED = 5


def index_columns(table: Table, names: Sequence[str]) -> list[str]:
    """Return those columns that have no name and a different whole number in each row."""
    return [
        name
        for name in names
        if (name in table.unnamed or _INDEX_NAME.fullmatch(name)) and _numbers_rows(table, name)
    ]


def notes_on(
    table: Table,
    used: Table,
    features: ColumnFeatures,
    target: str,
    index: Sequence[str],
) -> list[str]:
    """Return what users should know about the columns of a table, one line each.

    `used` are the rows of `table` that `features` were learned from, and `index` are the columns
    that `index_columns` found.
    """
    notes = [
        f"column {quoted(name)} has no name and numbers the rows: it is not used "
        f"({option('--keep-id', name)} copies it to the output)"
        for name in index
    ]
    notes += [
        f"column {quoted(name)} has a different whole number in each row: if it is an identifier, "
        f"leave it out with {option('--drop', name)} or {option('--keep-id', name)}"
        for name in features.names
        if used.n_rows >= ENOUGH_TO_BE_NUMBERED
        and _ID_NAME.fullmatch(name)
        and _numbers_rows(used, name)
    ]
    blank = int(missing_in(table.cells(target)).sum())
    if blank:
        notes.append(f"left out: {counted(blank, 'row')} without {quoted(target)}")
    left_out = table.n_rows - used.n_rows - blank
    if left_out:
        notes.append(f"left out: {counted(left_out, 'row')} with missing cells")
    filled = [
        f"{_stand_in(column)} for {quoted(column.name)} ({counted(missing, 'row')})"
        for column in features.columns
        if (missing := int(missing_in(used.cells(column.name)).sum()))
    ]
    if filled:
        more = "" if len(filled) <= MOST_NOTED else f", and so on for {len(filled)} columns"
        notes.append(f"missing cells count as {', '.join(filled[:MOST_NOTED])}{more}")
    return notes


def _stand_in(column: NumberColumn | TextColumn) -> str:
    """Return what a missing cell of a column counts as."""
    if column.fill is None:
        return "no category"
    return quoted(column.fill) if isinstance(column.fill, str) else f"{column.fill:.6g}"


def _numbers_rows(table: Table, name: str) -> bool:
    """Return whether a column has a different whole number in each row."""
    values = table.cells(name)
    if values.dtype == object or np.isnan(values).any():
        return False
    return bool((values == np.floor(values)).all() and len(np.unique(values)) == len(values))
