"""What a question shows: tables of text, and series to draw on logarithmic scales."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import solvers

__all__ = [
    "Plot",
    "Row",
    "Table",
    "find",
    "left_out",
    "points_of",
    "seconds_of",
    "solvers_in",
    "unique",
]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Table:
    """A title, columns (each a head and its cells), and notes to stand below."""

    title: str
    columns: Sequence[tuple[str, Sequence[str]]]
    notes: Sequence[str] = ()


@dataclass(frozen=True)
class Plot:
    """A title, two labels, and by name the points of each series, measured and extrapolated."""

    title: str
    x: str
    y: str
    series: Mapping[str, Sequence[tuple[float, float]]]
    guessed: Mapping[str, Sequence[tuple[float, float]]] = field(default_factory=dict)


def unique(rows: Sequence[Row], key: str) -> list[Any]:
    """Return the values of a key, in the order in which they come."""
    return list(dict.fromkeys(row[key] for row in rows if key in row))


def solvers_in(rows: Sequence[Row], order: Sequence[str]) -> list[str]:
    """Return the names of solvers in these rows, in the order of their files."""
    names = [solvers.load(name).name for name in order]
    return [name for name in names if any(row.get("solver") == name for row in rows)]


def find(rows: Sequence[Row], **wanted: Any) -> Row | None:
    """Return the first row with these values."""
    matches = (row for row in rows if all(row.get(key) == wanted[key] for key in wanted))
    return next(matches, None)


def points_of(
    rows: Sequence[Row], x: str, y: str = "seconds", guessed: bool = False
) -> dict[str, list[tuple[float, float]]]:
    """Return by solver the points of rows that were measured, or of those that were not."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        if row.get(y) and bool(row.get("estimated")) == guessed:
            found.setdefault(row["solver"], []).append((row[x], row[y]))
    return found


def left_out(rows: Sequence[Row]) -> list[str]:
    """Return a line for each reason of a row that has nothing but a reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        if "note" in row and "seconds" not in row:
            reasons.setdefault(row["note"], []).append(row["solver"])
    return [f"{', '.join(dict.fromkeys(who))}: {why}" for why, who in reasons.items()]


def seconds_of(row: Row | None) -> str:
    """Write seconds with three digits; ≈ where they are extrapolated, a dash for none."""
    if row is None or row.get("seconds") is None:
        return "–"
    seconds = row["seconds"]
    shown = f"{seconds:.0f}" if seconds >= 100.0 else f"{seconds:.3g}"
    return ("≈ " if row.get("estimated") else "") + shown
