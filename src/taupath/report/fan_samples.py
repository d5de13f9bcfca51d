"""Quantiles over one column while the others stay as they typically are."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath.report.encoding import packed
from taupath.report.inputs import Case
from taupath.report.linear_weights import scale_of

__all__ = ["Fans", "find_fans"]

# Points of the grid over a column, where it begins and ends, and columns that quantiles can be seen
# over. Beyond these ends there are too few cases for a model to know much.
GRID = 81
ENDS = (0.01, 0.99)
MOST_FANS = 8
# Columns that are looked at for those that move the median most, and points of each.
MOST_TRIED = 60
TRIED = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


@dataclass(frozen=True)
class Fans:
    """Samples along some columns.

    Attributes
    ----------
    names : list of str
        The columns that move the predicted median most, those first.
    x : ndarray of shape (n_fans, GRID)
        Where they are, in the units of the column.
    at : ndarray of shape (n_fans, n_samples)
        Where the cases are.
    samples : ndarray or sparse array of shape (n_fans * GRID, n_features)
        As the model takes them.
    n_columns : int
        How many columns there are, all told.
    mixed : bool
        Whether some columns stay at their most common value, since they have no median.
    """

    names: list[str]
    x: np.ndarray
    at: np.ndarray
    samples: Any
    n_columns: int
    mixed: bool

    def payload(self, rows: np.ndarray) -> dict[str, Any]:
        """Return what the page carries, with these of the cases as points."""
        return {
            "names": self.names,
            "columns": self.n_columns,
            "mixed": self.mixed,
            "size": GRID,
            "x": packed(self.x, "f8"),
            "points": packed(self.at[:, rows], "f4"),
        }


def find_fans(case: Case) -> Fans | None:
    """Return samples along the columns of X that hold numbers; None if there are none."""
    columns = case.given_columns()
    numbers = {}
    for j, values in enumerate(columns.values()):
        found = _numbers(values)
        if found is not None and np.nanmax(found) > np.nanmin(found):
            numbers[j] = found
    # two values are a category, unless there is nothing else
    varied = [
        j for j, values in numbers.items() if len(np.unique(values[np.isfinite(values)])) > 2
    ] or [*numbers]
    if not varied:
        return None
    typical = _typical(list(columns.values()), set(varied))
    medians = {j: float(np.nanmedian(numbers[j])) for j in varied}

    def along(j: int, values: np.ndarray) -> Any:
        return _with_numbers(case.given, typical, {**medians, j: values}, len(values))

    shown = varied
    if len(varied) > 1:
        tried = varied[:MOST_TRIED]
        samples = [case.transform(along(j, np.nanquantile(numbers[j], TRIED))) for j in tried]
        effect = [
            np.ptp(case.model.path_.kept_functions(some).between(np.array([0.5])))
            for some in samples
        ]
        shown = [tried[k] for k in np.argsort(-np.array(effect), kind="stable")]
    shown = shown[:MOST_FANS]
    names = case.given_names()
    x, at, samples = [], [], []
    for j in shown:
        first, last = np.nanquantile(numbers[j], ENDS)
        grid = np.linspace(first, last, GRID)
        samples.append(case.transform(along(j, grid)))
        unit, zero = _units(case, names[j], numbers[j])
        x.append((grid - zero) / unit)
        at.append((numbers[j] - zero) / unit)
    return Fans(
        [names[j] for j in shown],
        np.array(x),
        np.array(at),
        np.concatenate([_dense(some) for some in samples]),
        len(columns if case.columns is None else case.columns),
        len(varied) < len(columns),
    )


def _numbers(values: Any) -> np.ndarray | None:
    """Return numbers, NaN where there is none; None if these are no numbers at all."""
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        return None
    array = np.where(np.isinf(array), np.nan, array).astype(np.float64)
    return array if np.isfinite(array).any() else None


def _n_different(values: np.ndarray) -> int:
    return len(np.unique(values[np.isfinite(values)]))


def _units(case: Case, name: str, values: np.ndarray) -> tuple[float, float]:
    """Return scale and shift that make the column of the user's from one of X."""
    raw = _numbers((case.columns or {}).get(name, ""))
    if raw is None or raw.shape != values.shape:
        return 1.0, 0.0
    there = np.isfinite(raw) & np.isfinite(values)
    return (scale_of(values[there], raw[there]) if there.any() else None) or (1.0, 0.0)


def _typical(columns: list[Any], varied: set[int]) -> int:
    """Return a case with the most common values of the columns that are not varied."""
    others = [np.asarray(values).astype(str) for j, values in enumerate(columns) if j not in varied]
    if not others:
        return 0
    codes = np.column_stack([np.unique(values, return_inverse=True)[1] for values in others])
    _, first, counts = np.unique(codes, axis=0, return_index=True, return_counts=True)
    return int(first[counts.argmax()])


def _with_numbers(given: Any, row: int, numbers: dict[int, Any], n: int) -> Any:
    """Return one case n times, in the form of X, with these numbers in some columns."""
    rows = np.full(n, row)
    if hasattr(given, "iloc"):
        frame = given.iloc[rows].reset_index(drop=True)
        for j, values in numbers.items():
            frame.isetitem(j, np.broadcast_to(values, n).copy())
        return frame
    if hasattr(given, "get_column"):
        series = type(given[:, 0])
        columns = [given[rows.tolist(), j] for j in range(given.shape[1])]
        for j, values in numbers.items():
            columns[j] = series(columns[j].name, np.broadcast_to(values, n).copy())
        return type(given)(columns)
    array = np.asarray(given, dtype=np.float64)[rows]
    for j, values in numbers.items():
        array[:, j] = values
    return array


def _dense(samples: Any) -> np.ndarray:
    return np.asarray(samples.toarray() if hasattr(samples, "toarray") else samples)
