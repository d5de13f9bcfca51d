"""Samples along one column, the others at typical values: quantiles are drawn over them."""

from typing import Any

import numpy as np

from taupath.report.encoding import packed
from taupath.report.inputs import ModelAndData, as_numbers
from taupath.report.linear_weights import scale_of

# Samples along each column: enough for smooth curves.
N_ALONG = 81
# Quantiles of a column at which its samples begin and end: there are too few cases beyond.
ENDS = (0.01, 0.99)
# Columns that a reader can choose from, those that move the predicted median most.
MOST_FANS = 8
# Columns tried for that, and the quantiles of each that are tried.
MOST_TRIED = 60
TRIED = np.array([0.05, 0.25, 0.5, 0.75, 0.95])


def fan_samples(
    source: ModelAndData, rows: np.ndarray
) -> tuple[np.ndarray | None, dict[str, Any] | None]:
    """Return samples along some numeric columns of X, and the data that the page needs about them.

    The samples are as the model takes them, `N_ALONG` for each column. The page gets their
    positions, and those of these rows, in the units of the column. None if no column is numeric.
    """
    columns = source.given_columns()
    numbers = {}
    for j, values in enumerate(columns.values()):
        found = _finite_numbers(values)
        if found is not None and np.nanmax(found) > np.nanmin(found):
            numbers[j] = found
    # a column of two values is a category, unless there are no others
    varied = [
        j for j, values in numbers.items() if len(np.unique(values[np.isfinite(values)])) > 2
    ] or [*numbers]
    if not varied:
        return None, None
    typical = _typical_case(list(columns.values()), set(varied))
    medians = {j: float(np.nanmedian(numbers[j])) for j in varied}

    def along(j: int, values: np.ndarray) -> np.ndarray:
        """Return the typical case with these values of column j, as the model takes it."""
        repeated = _with_numbers(source.given, typical, {**medians, j: values}, len(values))
        samples = source.transform(repeated)
        return np.asarray(samples.toarray() if hasattr(samples, "toarray") else samples)

    def effect(j: int) -> float:
        """Return by how much column j moves the predicted median."""
        samples = along(j, np.nanquantile(numbers[j], TRIED))
        return float(np.ptp(source.model.path_.kept_functions(samples).between(np.array([0.5]))))

    shown = varied
    if len(varied) > 1:
        shown = sorted(varied[:MOST_TRIED], key=effect, reverse=True)[:MOST_FANS]
    names = source.given_names()
    x, at, samples = [], [], []
    for j in shown:
        first, last = np.nanquantile(numbers[j], ENDS)
        grid = np.linspace(first, last, N_ALONG)
        samples.append(along(j, grid))
        unit, zero = _units(source, names[j], numbers[j])
        x.append((grid - zero) / unit)
        at.append((numbers[j][rows] - zero) / unit)
    return np.concatenate(samples), {
        "names": [names[j] for j in shown],
        "columns": len(columns if source.columns is None else source.columns),
        "mixed": len(varied) < len(columns),  # the others are at their most common values
        "size": N_ALONG,
        "x": packed(np.array(x), "f8"),
        "points": packed(np.array(at), "f4"),
    }


def _finite_numbers(values: Any) -> np.ndarray | None:
    """Return a column of numbers with NaN for what is not finite; None if there are none."""
    array = as_numbers(values)
    if array is None or not np.isfinite(array).any():
        return None
    return np.where(np.isfinite(array), array, np.nan)


def _units(source: ModelAndData, name: str, values: np.ndarray) -> tuple[float, float]:
    """Return scale and shift of a column of X as a function of the user's column of that name."""
    raw = _finite_numbers((source.columns or {}).get(name))
    if raw is None or raw.shape != values.shape:
        return 1.0, 0.0
    there = np.isfinite(raw) & np.isfinite(values)
    return (scale_of(values[there], raw[there]) if there.any() else None) or (1.0, 0.0)


def _typical_case(columns: list[Any], varied: set[int]) -> int:
    """Return a case with the most common combination of the columns that are not varied."""
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
