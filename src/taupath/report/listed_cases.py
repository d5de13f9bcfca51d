"""The cases that a page lists one by one: which ones, and what it shows of each."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from taupath.report.encoding import packed
from taupath.report.inputs import ModelAndData, as_numbers

# Characters of a cell that are shown; the rest is cut off.
LONGEST_LISTED_CELL = 120
# Characters of all cells together: with more, the file would open slowly, so fewer cases are
# listed.
MOST_CHARACTERS = 1_500_000
# Without columns of the user's own, at most this many columns of X are in the file.
MOST_LISTED_COLUMNS = 30


class CaseColumns:
    """Columns with a value for each case, which become text for the cases that a page lists.

    `features` says from which columns features were made. The others tell who or what a case is.
    """

    def __init__(self, names: list[str], columns: list[Any], features: list[bool]) -> None:
        self.names, self.columns, self.features = names, columns, features
        self._last: tuple[np.ndarray, list[list[str]]] | None = None

    def affordable(self, rows: np.ndarray) -> np.ndarray:
        """Return as many of the first rows as there is room for."""
        if not self.columns:
            return rows
        quotes = 3  # characters around each cell: no need to look at more rows than these allow
        rows = rows[: MOST_CHARACTERS // (quotes * len(self.columns)) + 1]
        length = np.zeros(len(rows), dtype=np.int64)
        for texts in self._texts(rows):
            length += [len(text) + quotes for text in texts]
        return rows[: max(int(np.searchsorted(np.cumsum(length), MOST_CHARACTERS)), 1)]

    def payload(self, rows: np.ndarray) -> list[dict[str, Any]]:
        """Return what the page carries of these rows."""
        return [
            {
                "name": name,
                "numeric": as_numbers(column) is not None,
                "feature": feature,
                "texts": texts,
            }
            for name, column, feature, texts in zip(
                self.names, self.columns, self.features, self._texts(rows), strict=True
            )
        ]

    def _texts(self, rows: np.ndarray) -> list[list[str]]:
        """Return the text of each column for some rows, and remember it for the next call."""
        if self._last is not None:
            known, texts = self._last
            if np.array_equal(known[: len(rows)], rows):
                return [column[: len(rows)] for column in texts]
        texts = [[_cell(value) for value in _values(column, rows)] for column in self.columns]
        self._last = rows, texts
        return texts


def find_columns(source: ModelAndData) -> CaseColumns:
    """Return the columns to show for each case: the user's own, else those of X.

    Columns that are not features come first, then features by decreasing weight.
    """
    columns = source.given_columns() if source.columns is None else source.columns
    made = features_by_column(source.feature_names, columns)
    sizes = {name: _largest_weight(made.get(name), source) for name in columns}
    order = {name: -np.inf if size is None else -size for name, size in sizes.items()}
    names = sorted(columns, key=order.__getitem__)
    if source.columns is None:
        names = names[:MOST_LISTED_COLUMNS]
    return CaseColumns(
        names, [columns[name] for name in names], [sizes[name] is not None for name in names]
    )


def features_by_column(feature_names: list[str], columns: Iterable[str]) -> dict[str, list[int]]:
    """Return the features that may have been made from each column.

    Our own preparation calls them ``column=category`` and ``column (missing)``, scikit-learn
    ``transformer__column_category``.
    """
    known = set(columns)
    lengths = sorted(set(map(len, known)))
    found: dict[str, list[int]] = {}
    for j, feature in enumerate(feature_names):
        own = feature.rsplit("__", 1)[-1]
        names = {feature, own, feature.split(" (missing)", 1)[0]}
        for whole, mark in ((feature, "="), (own, "_")):
            names.update(whole[:k] for k in lengths if whole[k : k + 1] == mark)
        for column in names & known:
            found.setdefault(column, []).append(j)
    return found


def _largest_weight(made: list[int] | None, source: ModelAndData) -> float | None:
    """Return the largest weight of the features made from a column; None if there are none."""
    if not made:  # all columns of X are features
        return None if source.columns is not None else 0.0
    return 0.0 if source.weights is None else float(source.weights.sizes[made].max())


def listed_payload(rows: np.ndarray, columns: CaseColumns) -> dict[str, Any]:
    """Return what every page carries of the cases that it lists."""
    return {"count": len(rows), "rows": packed(rows, "u4"), "columns": columns.payload(rows)}


def _values(column: Any, rows: np.ndarray) -> list[Any]:
    """Return some values of a column as Python objects."""
    if hasattr(column, "to_numpy"):
        column = column.to_numpy()
    if isinstance(column, np.ndarray):
        dates = column.dtype.kind in "mM"  # which `tolist` turns into whole numbers
        return list(column[rows] if dates else column[rows].tolist())
    return [column[i] for i in rows.tolist()]


def _cell(value: Any) -> str:
    """Return the text of a value; none for a missing one."""
    if value is None or (isinstance(value, (float, np.floating)) and value != value):
        return ""
    text = f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)
    return text if len(text) <= LONGEST_LISTED_CELL else text[: LONGEST_LISTED_CELL - 1] + "…"
