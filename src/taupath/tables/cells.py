"""Cells of text: which are numbers, which are missing, and columns of them as arrays."""

import re
import shlex
from collections.abc import Sequence

import numpy as np

__all__ = [
    "as_numbers",
    "as_text",
    "first_text",
    "is_missing",
    "numbers_in",
    "option",
    "parse_number",
    "printable",
    "quoted",
    "show_number",
]

# Python's float() also takes 1_000 and digits of other scripts; a table should not.
_NUMERAL = re.compile(
    r"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf(?:inity)?)", re.ASCII | re.IGNORECASE
)

# Truth values, in small letters, as numbers.
TRUTH = {"false": 0.0, "true": 1.0}

_MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "+nan", "-nan", "null"})

# Characters of a cell that a message quotes.
_QUOTED_LENGTH = 40


def is_missing(cell: str) -> bool:
    """Return whether a stripped cell says that there is no value: empty, NA, N/A, NaN or null."""
    return cell.lower() in _MISSING


def parse_number(cell: str) -> float | None:
    """Return the number that a cell writes, possibly infinite, or None if it writes none."""
    cell = cell.strip()
    return float(cell) if _NUMERAL.fullmatch(cell) else None


def show_number(value: float) -> str:
    """Return the shortest text that reads back as this value, without ``.0`` for whole numbers."""
    return repr(float(value)).removesuffix(".0")


def quoted(cell: str) -> str:
    """Return a cell in quotes for a message of one line, cut where it is long."""
    return repr(cell if len(cell) <= _QUOTED_LENGTH else cell[: _QUOTED_LENGTH - 1] + "…")


def option(name: str, value: object) -> str:
    """Return an option of the command line with a value, as a shell takes it."""
    text = str(value)
    between = "=" if text.startswith("-") and parse_number(text) is None else " "
    return f"{name}{between}{shlex.quote(text)}"


def printable(text: str) -> str:
    """Return text for a line on a terminal, with escapes in place of control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def as_numbers(cells: Sequence[str]) -> np.ndarray | None:
    """Return cells as float64 with NaN for missing ones, or None if one of them is text."""
    together = "".join(cells)
    if together.isascii() and "_" not in together:  # float() takes no more than we do
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

    Equal texts are one object, that of ``known``, which grows: categories come often.
    """
    values = np.empty(len(cells), dtype=object)
    for i, raw in enumerate(cells):
        cell = raw.strip()
        values[i] = None if is_missing(cell) else known.setdefault(cell, cell)
    return values


def numbers_in(values: np.ndarray) -> np.ndarray | None:
    """Return a column of text as numbers, true as 1 and false as 0; None if some are others."""
    cells = ["" if cell is None else cell for cell in values]
    return as_numbers([str(TRUTH.get(cell.lower(), cell)) for cell in cells])


def first_text(values: np.ndarray) -> tuple[int, str]:
    """Return where the first cell of a column is that is text but no number, and that cell."""
    return next(
        (row, cell)
        for row, cell in enumerate(values)
        if cell is not None and parse_number(cell) is None
    )
