"""Cells of text: which are numbers, which are missing, and columns of them as arrays."""

import re
from collections.abc import Sequence

import numpy as np

# Python's float() also accepts 1_000 and digits of other scripts, which are text in a table.
_NUMERAL = re.compile(
    r"[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)

# Truth values, in lower case, as numbers.
TRUTH = {"false": 0.0, "true": 1.0}

_MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "+nan", "-nan", "null"})


def is_missing(cell: str) -> bool:
    """Return whether a stripped cell is missing: empty, NA, N/A, NaN or null in any case."""
    return cell.lower() in _MISSING


def parse_number(cell: str) -> float | None:
    """Return the number in a cell, possibly infinite, or None if it holds none."""
    cell = cell.strip()
    return float(cell) if _NUMERAL.fullmatch(cell) else None


def show_number(value: float) -> str:
    """Return the shortest text that reads back as this value, without ``.0`` for whole numbers."""
    return repr(float(value)).removesuffix(".0")


def as_numbers(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as float64 with NaN for missing ones, or None if one of them is text."""
    together = "".join(cells)
    if together.isascii() and "_" not in together:  # float() takes no more than _NUMERAL
        try:
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
        except ValueError:
            pass
    values = np.empty(len(cells))
    for i, raw in enumerate(cells):
        cell = raw.strip()
        value = np.nan if is_missing(cell) else parse_number(cell)
        if value is None:
            return None
        values[i] = value
    return values


def as_text(cells: Sequence[str], known: dict[str, str]) -> np.ndarray:
    """Return cells as objects: stripped str, or None for missing ones.

    Equal texts are one object, kept in ``known``, which saves memory: categories repeat.
    """
    values = np.empty(len(cells), dtype=object)
    for i, raw in enumerate(cells):
        cell = raw.strip()
        values[i] = None if is_missing(cell) else known.setdefault(cell, cell)
    return values


def as_column(cells: Sequence[str], text: bool = False) -> np.ndarray:
    """Return cells as numbers if all of them are and it is not to be `text`, else as text.

    Each different cell is looked at once: a long one may be there many times.
    """
    distinct = list(dict.fromkeys(cells))
    values = None if text else as_numbers(distinct)
    if values is None:
        values = as_text(distinct, {})
    place = dict(zip(distinct, values, strict=True))
    return np.fromiter((place[cell] for cell in cells), dtype=values.dtype, count=len(cells))


def numbers_in(values: np.ndarray) -> np.ndarray | None:
    """Return a column of text as numbers, true as 1, false as 0, or None if a cell is neither."""
    cells = ["" if cell is None else cell for cell in values]
    return as_numbers([str(TRUTH.get(cell.lower(), cell)) for cell in cells])


def first_text(values: np.ndarray) -> tuple[int, str]:
    """Return the row and the text of the first cell of a column that is not a number."""
    return next(
        (row, cell)
        for row, cell in enumerate(values)
        if cell is not None and parse_number(cell) is None
    )
