"""Named columns as features: numbers as they are or standardised, text one-hot encoded."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from taupath.preparation.lookup import codes_of
from taupath.preparation.scaling import standardizing
from taupath.preparation.state import (
    member,
    take_choice,
    take_dict,
    take_list,
    take_number,
    take_text,
    take_texts,
)
from taupath.tables import Table, TableError
from taupath.tables.cells import parse_number, quoted, show_number
from taupath.tables.table import listed

if TYPE_CHECKING:
    import scipy.sparse as sp

__all__ = ["ColumnFeatures"]

# Categories from which on a column of text looks like an identifier.
MOST_CATEGORIES = 1000
# Rows from which on it does so too if no text in it comes twice.
ENOUGH_ROWS = 10
# Different numbers from which on a column of numbers and text is one of numbers with mistakes.
MANY_NUMBERS = 20
# Features from which on, if most are of categories, a row is mostly zeros and kept sparse.
WIDE = 200

_DECIMAL_COMMA = re.compile(r"[+-]?\d+,\d+", re.ASCII)


@dataclass(frozen=True)
class _Number:
    """A column of numbers x, used as (x − shift) / scale."""

    name: str
    shift: float = 0.0
    scale: float = 1.0

    @property
    def feature_names(self) -> list[str]:
        return [self.name]

    def state(self) -> dict[str, Any]:
        return {"kind": "number", "name": self.name, "shift": self.shift, "scale": self.scale}

    def values(self, table: Table) -> np.ndarray:
        """Return the feature of each row."""
        values = table.column(self.name)
        if values.dtype == object:
            row, cell = _first_text(values)
            table.fail(row, f"{quoted(cell)} is not a number, as those of the model are", self.name)
        with np.errstate(over="ignore"):
            features = np.asarray((values - self.shift) / self.scale)
        finite = np.isfinite(features)
        if not finite.all():
            row = int(np.argmin(finite))
            message = f"{show_number(values[row])} is too far from those of the model"
            table.fail(row, message, self.name)
        return features


@dataclass(frozen=True)
class _Categories:
    """A column of text, used as one feature for each category: 1 where it is, 0 elsewhere."""

    name: str
    categories: tuple[str, ...]

    @property
    def feature_names(self) -> list[str]:
        return [f"{self.name}={category}" for category in self.categories]

    def state(self) -> dict[str, Any]:
        return {"kind": "categories", "name": self.name, "categories": list(self.categories)}

    def codes(self, table: Table) -> np.ndarray:
        """Return which category each row has."""
        values = table.column(self.name)
        codes = codes_of(values, self.categories)
        if codes.size and codes.min() < 0:
            row = int(np.argmin(codes))
            cell = values[row] if values.dtype == object else show_number(values[row])
            known = listed(self.categories)
            table.fail(row, f"{quoted(cell)} is none of the model's categories {known}", self.name)
        return codes


class ColumnFeatures:
    """How named columns become features.

    Parameters
    ----------
    columns : sequence
        The columns in the order of the features.
    """

    kind = "columns"

    def __init__(self, columns: Sequence[_Number | _Categories]) -> None:
        self.columns = tuple(columns)
        self.feature_names = [name for column in columns for name in column.feature_names]
        self.n_features = len(self.feature_names)
        n_categories = sum(len(c.categories) for c in columns if isinstance(c, _Categories))
        self.sparse = self.n_features >= WIDE and 2 * n_categories > self.n_features

    @classmethod
    def learn(cls, table: Table, names: Sequence[str], standardize: bool) -> "ColumnFeatures":
        """Return the features of some columns of a table."""
        return cls([_learn_column(table, name, standardize) for name in names])

    def apply(self, table: Table) -> "np.ndarray | sp.csr_array":
        """Return the features of a table, which may have other columns besides."""
        if table.names is None:
            raise TableError(
                f"{table.source}: it is a matrix, but the model was learned from named columns "
                f"{listed(column.name for column in self.columns)}"
            )
        present = set(table.names)
        absent = [column.name for column in self.columns if column.name not in present]
        if absent:
            raise TableError(
                f"{table.source}: columns of the model are not there: {listed(absent)}; "
                f"the file has {listed(table.names)}"
            )
        return self._apply_sparse(table) if self.sparse else self._apply_dense(table)

    def _apply_dense(self, table: Table) -> np.ndarray:
        X = np.zeros((table.n_rows, self.n_features))
        rows = np.arange(table.n_rows)
        begin = 0
        for column in self.columns:
            if isinstance(column, _Number):
                X[:, begin] = column.values(table)
            else:
                X[rows, begin + column.codes(table)] = 1.0
            begin += len(column.feature_names)
        return X

    def _apply_sparse(self, table: Table) -> "sp.csr_array":
        import scipy.sparse as sp

        # Each column gives each row one entry.
        shape = (table.n_rows, len(self.columns))
        data, indices = np.ones(shape), np.empty(shape, dtype=np.int32)
        begin = 0
        for k, column in enumerate(self.columns):
            if isinstance(column, _Number):
                data[:, k] = column.values(table)
                indices[:, k] = begin
            else:
                indices[:, k] = begin + column.codes(table)
            begin += len(column.feature_names)
        indptr = np.arange(0, data.size + 1, shape[1])
        X = sp.csr_array(
            (data.ravel(), indices.ravel(), indptr), shape=(table.n_rows, self.n_features)
        )
        X.eliminate_zeros()
        return X

    def state(self) -> dict[str, Any]:
        """Return all of it in JSON types."""
        return {"kind": self.kind, "columns": [column.state() for column in self.columns]}

    @classmethod
    def from_state(cls, state: Any) -> "ColumnFeatures":
        """Return what `state` was taken of."""
        what = "the preparation's features"
        checked = take_dict(state, what, {"kind", "columns"})
        take_choice(checked["kind"], f"{what}: kind", (cls.kind,))
        columns = [_column_from_state(column) for column in take_list(checked["columns"], what)]
        take_texts([column.name for column in columns], f"{what}: names")
        if not columns:
            raise ValueError(f"{what}: there is no column")
        return cls(columns)


def _column_from_state(state: Any) -> _Number | _Categories:
    what = "a column of the preparation"
    if not isinstance(state, dict):
        raise ValueError(f"{what} must be a dict")
    kind = take_choice(member(state, "kind", what), f"{what}: kind", ("number", "categories"))
    if kind == "number":
        take_dict(state, what, {"kind", "name", "shift", "scale"})
        return _Number(
            take_text(state["name"], f"{what}: name"),
            take_number(state["shift"], f"{what}: shift"),
            take_number(state["scale"], f"{what}: scale", positive=True),
        )
    take_dict(state, what, {"kind", "name", "categories"})
    name = take_text(state["name"], f"{what}: name")
    categories = take_texts(state["categories"], f"{what}: categories")
    if not categories:
        raise ValueError(f"{what}: there are no categories")
    return _Categories(name, tuple(categories))


def _learn_column(table: Table, name: str, standardize: bool) -> _Number | _Categories:
    values = table.column(name)
    if values.dtype != object:
        return _standardized(table, name, values) if standardize else _Number(name)
    _check_no_numbers(table, name, values)
    categories = sorted(set(values))
    as_many_as_rows = len(categories) == len(values) >= ENOUGH_ROWS
    if len(categories) > MOST_CATEGORIES or as_many_as_rows:
        raise TableError(
            f"{table.source}, column {name!r}: its text takes {len(categories)} values in "
            f"{len(values)} rows, such as {quoted(values[0])}: it looks like an identifier; "
            "ignore this column"
        )
    return _Categories(name, tuple(categories))


def _standardized(table: Table, name: str, values: np.ndarray) -> _Number:
    """Return a column with mean 0 and standard deviation 1, or only mean 0 if it is constant."""
    shifts, scales = standardizing(values[:, np.newaxis])
    shift, scale = float(shifts[0]), float(scales[0])
    if not (np.isfinite(shift) and np.isfinite(scale)):
        raise TableError(f"{table.source}, column {name!r}: too large numbers to standardize")
    return _Number(name, shift, scale)


def _check_no_numbers(table: Table, name: str, values: np.ndarray) -> None:
    """Raise an error if a column of text looks like one of numbers with mistakes in it."""
    numbers = [number for number in map(parse_number, values) if number is not None]
    row, cell = _first_text(values)
    texts = [value for value in set(values) if parse_number(value) is None]
    if all(map(_DECIMAL_COMMA.fullmatch, texts)):
        table.fail(row, f"{quoted(cell)} has a decimal comma; write a decimal point", name)
    distinct = len(set(numbers))
    if 2 * len(numbers) > len(values) and (distinct > MANY_NUMBERS or 2 * distinct > len(numbers)):
        table.fail(
            row,
            f"{quoted(cell)} is not a number, as most cells of this column are; "
            "correct it or ignore this column",
            name,
        )


def _first_text(values: np.ndarray) -> tuple[int, str]:
    """Return where the first cell is that is not a number, and that cell."""
    return next((row, cell) for row, cell in enumerate(values) if parse_number(cell) is None)
