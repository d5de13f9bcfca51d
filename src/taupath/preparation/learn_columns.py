"""Learning from a table how its columns become features."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from taupath.preparation.columns import ColumnFeatures, Feature, NumberColumn, TextColumn
from taupath.preparation.matrices import standardizing
from taupath.tables import Table, TableError
from taupath.tables.cells import first_text, parse_number
from taupath.tables.messages import listed, option, quoted
from taupath.tables.table import missing_in

# A column of text looks like an identifier, which says nothing about new rows, if it has more than
# MOST_CATEGORIES different texts, if all of ENOUGH_TO_DIFFER rows or more differ, or if the share
# MOSTLY_DIFFERENT of MORE_ROWS rows or more do. Fewer rows may differ by chance.
MOST_CATEGORIES = 1000
ENOUGH_TO_DIFFER = 10
MOSTLY_DIFFERENT, MORE_ROWS = 0.9, 20
# A column that is mostly numbers looks like numbers with typing errors, not like categories, if it
# has more different numbers than this.
MANY_NUMBERS = 20

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


def learn_columns(
    table: Table,
    names: Sequence[str],
    *,
    standardize: bool = False,
    impute: bool = False,
    flag_missing: bool = False,
    unseen: str = "ignore",
    trusted: bool = False,
) -> ColumnFeatures:
    """Return the features of some columns of a table; a `TableError` says why one cannot be used.

    Options are those of `Preparation.learn`. Without `impute`, missing cells are errors. With
    `flag_missing`, a missing text is no category.
    """
    if not trusted:
        _check_identifiers(table, names)
    columns: list[NumberColumn | TextColumn] = []
    features: list[Feature] = []
    for name in names:
        values = table.cells(name)
        missing = missing_in(values)
        k = len(columns)
        if missing.all() and trusted and impute:
            continue  # its few values are among the other rows
        if missing.all():
            raise TableError(
                f"{table.source}, column {quoted(name)}: all cells are missing; leave it out: "
                f"{option('--drop', name)}"
            )
        if missing.any() and not impute:
            table.fail(
                int(missing.argmax()),
                f"the cell is missing ({missing.sum()} in this column); "
                "--missing impute fills them in, --missing drop leaves such rows out",
                name,
            )
        flag = flag_missing and bool(missing.any())
        if values.dtype == object:
            if not trusted:
                _check_no_numbers(table, name, values, missing)
            column = _text_column(name, values[~missing], impute, flag, unseen)
            columns.append(column)
            features.extend(Feature(k, "category", category) for category in column.categories)
        else:
            fill = _median(table, name, values[~missing]) if impute else None
            columns.append(NumberColumn(name, fill))
            if fill is not None:
                values = np.where(missing, fill, values)
            affine = _standardizing(table, name, values) if standardize else (0.0, 1.0)
            features.append(Feature(k, "number", None, *affine))
        if flag:
            features.append(Feature(k, "missing"))
    return ColumnFeatures(columns, features)


def _text_column(name: str, texts: np.ndarray, impute: bool, flag: bool, unseen: str) -> TextColumn:
    times = Counter(texts)
    categories = tuple(sorted(times))
    if not impute:
        return TextColumn(name, categories, unseen)
    if flag:
        return TextColumn(name, categories, unseen, "ignore")
    most = max(categories, key=lambda category: times[category])  # the first of several
    return TextColumn(name, categories, unseen, "fill", most)


def _check_identifiers(table: Table, names: Sequence[str]) -> None:
    """Raise an error about all columns of text that look like identifiers."""
    found = []
    for name in names:
        values = table.cells(name)
        if values.dtype != object:
            continue
        texts = [cell for cell in values if cell is not None]
        different = len(set(texts))
        all_different = different == len(texts) >= ENOUGH_TO_DIFFER
        nearly = len(texts) >= MORE_ROWS and different >= MOSTLY_DIFFERENT * len(texts)
        if different > MOST_CATEGORIES or all_different or nearly:
            _check_no_numbers(table, name, values, missing_in(values))
            found.append((name, f"{different} different texts in {len(texts)} rows", texts[0]))
    if not found:
        return
    name, count, example = found[0]
    names = [other for other, *_ in found]
    drop = " ".join(option("--drop", other) for other in names)
    them = "it looks like an identifier: leave it out"
    if len(found) > 1:
        them = f"it looks like an identifier, and so does {listed(names[1:])}: leave them out"
    raise TableError(
        f"{table.source}, column {quoted(name)}: {count}, such as {quoted(example)}: {them} with "
        f"{drop}, or copy it to the output with {option('--keep-id', name)}"
    )


def _median(table: Table, name: str, values: np.ndarray) -> float:
    with np.errstate(over="ignore"):  # checked below
        median = float(np.median(values))
    if not np.isfinite(median):
        raise TableError(
            f"{table.source}, column {quoted(name)}: the numbers are too large to impute"
        )
    return median


def _standardizing(table: Table, name: str, values: np.ndarray) -> tuple[float, float]:
    """Return mean and standard deviation of a column; for a constant one, its value and 1."""
    shifts, scales = standardizing(values[:, np.newaxis])
    shift, scale = float(shifts[0]), float(scales[0])
    if not (np.isfinite(shift) and np.isfinite(scale)):
        raise TableError(
            f"{table.source}, column {quoted(name)}: the numbers are too large to standardize"
        )
    return shift, scale


def _check_no_numbers(table: Table, name: str, values: np.ndarray, missing: np.ndarray) -> None:
    """Raise an error if a column of text looks like one of numbers with mistakes in it."""
    present = values[~missing]
    numbers = [number for number in map(parse_number, present) if number is not None]
    row, cell = first_text(values)
    texts = [value for value in set(present) if parse_number(value) is None]
    if all(map(_DECIMAL_COMMA.fullmatch, texts)):
        table.fail(row, f"{quoted(cell)} has a decimal comma; write a decimal point", name)
    distinct = len(set(numbers))
    if 2 * len(numbers) > len(present) and (distinct > MANY_NUMBERS or 2 * distinct > len(numbers)):
        table.fail(
            row,
            f"{quoted(cell)} is not a number, but most cells of this column are; correct it, or "
            f"leave the column out: {option('--drop', name)}",
            name,
        )
