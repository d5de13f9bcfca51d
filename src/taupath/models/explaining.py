"""What raw columns add to a decision: the parts of their features, added up."""

import math
from typing import Any

import numpy as np

from taupath.estimators.explanation import Part, PartsOf
from taupath.preparation import Preparation
from taupath.preparation.columns import ColumnFeatures, Feature
from taupath.preparation.matrices import MatrixFeatures
from taupath.tables import Table


def parts_of_columns(preparation: Preparation, table: Table) -> PartsOf:
    """Return a function that makes a part of each column of a table."""
    columns = preparation.columns
    if isinstance(columns, ColumnFeatures):
        return _parts_of_named(columns, table)
    return _parts_of_matrix(columns)


def _parts_of_named(columns: ColumnFeatures, table: Table) -> PartsOf:
    names = columns.names
    place = {name: k for k, name in enumerate(names)}
    column_of = np.array([place[columns.columns[one.column].name] for one in columns.features])
    own = [[columns.features[j] for j in np.flatnonzero(column_of == k)] for k in range(len(names))]
    references = list(map(_reference, own))
    cells = [table.cells(name) for name in names]

    def parts_of(i: int, which: np.ndarray, _: np.ndarray, adds: np.ndarray) -> list[Part]:
        sums = np.bincount(column_of[which], adds, len(names)).tolist()
        return [
            Part(name, _cell(values[i]), reference, add)
            for name, values, reference, add in zip(names, cells, references, sums, strict=True)
        ]

    return parts_of


def _reference(features: list[Feature]) -> Any:
    """Return the value of a column at which its features are 0, in words if it is no number."""
    numbers = {one.shift for one in features if one.part == "number"}
    if len(numbers) == 1:
        return numbers.pop()
    shifted = any(one.shift for one in features)
    return "average" if numbers or shifted else "no category"


def _cell(value: Any) -> Any:
    """Return a cell as a number, as text, or None if it is missing."""
    if value is None or isinstance(value, str):
        return value
    return None if math.isnan(value) else float(value)


def _parts_of_matrix(columns: MatrixFeatures) -> PartsOf:
    n, names = columns.n_features, columns.feature_names
    shift = np.zeros(n) if columns.shift is None else columns.shift
    scale = np.ones(n) if columns.scale is None else columns.scale

    def parts_of(_: int, which: np.ndarray, values: np.ndarray, adds: np.ndarray) -> list[Part]:
        raw = values * scale[which] + shift[which]
        found = zip(which.tolist(), raw.tolist(), shift[which].tolist(), adds.tolist(), strict=True)
        return [Part(names[j], value, reference, add) for j, value, reference, add in found]

    return parts_of
