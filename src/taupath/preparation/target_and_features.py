"""Target and features of a training table: which columns they are, and which rows are complete."""

from collections.abc import Sequence

import numpy as np

from taupath.tables import Table, TableError
from taupath.tables.messages import listed, option, quoted
from taupath.tables.table import missing_in

# Names, in lower case, that mark a column as the target.
TARGET_NAMES = ("target", "class", "label", "y")
# Digits of a column's number. Longer ones are names: no table has so many columns.
MOST_DIGITS = 9


def target_column(
    table: Table, target: str | None, drop: Sequence[str], keep: Sequence[str], missing: str
) -> str:
    """Return the name of the target column, after checking that it can be used.

    `target` is the name or the number that was asked for, if any. Columns to `drop` and to `keep`
    are not features. `missing` says what is done about missing cells.
    """
    names = table.names or []
    for what, wanted in (("drop", drop), ("keep", keep)):
        unknown = [name for name in wanted if name not in names]
        if unknown:
            raise TableError(
                f"{table.source}: columns to {what} are not there: {listed(unknown)}; "
                f"the file has {listed(names)}"
            )
    both = [name for name in drop if name in keep]
    if both:
        raise TableError(f"{table.source}: columns are both dropped and kept: {listed(both)}")
    if target is None:
        target = _usual_target(table, [name for name in names if name not in {*drop, *keep}])
    elif target not in names:
        place = int(target) if target.isdecimal() and len(target) <= MOST_DIGITS else 0
        if not 1 <= place <= len(names):
            raise TableError(
                f"{table.source}: there is no target column {quoted(target)}; "
                f"the file has {listed(names)}"
            )
        target = names[place - 1]
    if target in drop or target in keep:
        raise TableError(
            f"{table.source}: column {quoted(target)} is the target and cannot be left out"
        )
    holes = missing_in(table.cells(target))
    if holes.all():
        raise TableError(
            f"{table.source}, column {quoted(target)}: all cells of the target are missing"
        )
    if holes.any() and missing == "error":
        table.fail(
            int(holes.argmax()),
            f"the cell is missing ({int(holes.sum())} in the target); --missing drop leaves "
            "such rows out",
            target,
        )
    return target


def _usual_target(table: Table, candidates: list[str]) -> str:
    """Return the only column with a target's name, else the last one."""
    if not candidates:
        raise TableError(f"{table.source}: all columns are left out")
    named = [name for name in candidates if name.lower() in TARGET_NAMES]
    return named[0] if len(named) == 1 else candidates[-1]


def feature_columns(table: Table, target: str, left_out: Sequence[str]) -> list[str]:
    """Return the columns that are left for features."""
    names = [name for name in table.names or [] if name != target and name not in left_out]
    if not names:
        hint = "" if left_out else "; --delimiter says what is between the cells"
        raise TableError(
            f"{table.source}: there is no column besides the target {quoted(target)}{hint}"
        )
    return names


def complete_rows(table: Table, names: Sequence[str], learning: bool) -> Table:
    """Return the rows of a table that have no missing cell in these columns."""
    missing = np.any([missing_in(table.cells(name)) for name in names], axis=0)
    if missing.all():
        empty = [name for name in names if table.is_blank(name)]
        why = f", as column {listed(empty)} is empty" if empty else ""
        advice = "--missing impute fills them in"
        if not learning:
            advice = "there is nothing to compare with"
        elif empty:
            advice = f"leave it out: {' '.join(option('--drop', name) for name in empty)}"
        raise TableError(f"{table.source}: each row has a missing cell{why}; {advice}")
    return table.take(~missing) if missing.any() else table


def responses(table: Table, target: str | None) -> np.ndarray:
    """Return the target column, or the labels of a matrix."""
    if target is not None:
        return table.column(target)
    if table.labels is None:
        missing = "it has named columns" if table.matrix is None else "there are no labels 'y'"
        raise TableError(f"{table.source}: {missing}, but the labels of a matrix are needed")
    return table.labels
