"""Named columns as features: numbers, flags for missing cells, and text one-hot encoded."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from taupath.preparation.codes import codes_of
from taupath.tables import Table, TableError
from taupath.tables.cells import show_number
from taupath.tables.messages import listed, quoted
from taupath.tables.table import missing_in

if TYPE_CHECKING:
    import scipy.sparse as sp

# From this many features on, they are sparse if most of them are zeros and ones.
WIDE = 200
# What a feature may say about a cell of its column.
PARTS = ("number", "missing", "category", "rare", "present")
# Codes of cells that hold none of a column's categories.
NEW, MISSING_CELL, RARE = -1, -2, -3


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers. A missing cell counts as `fill`; if that is None, it is an error."""

    name: str
    fill: float | None = None

    def read(self, table: Table) -> tuple[np.ndarray, np.ndarray]:
        """Return the number of each row, and where cells are missing."""
        values = table.cells(self.name)
        missing = missing_in(values)
        values = table.to_numbers(values, self.name, "is not a number, as in training")
        if missing.any():
            if self.fill is None:
                _refuse_missing(table, missing, self.name)
            values = np.where(missing, self.fill, values)
        return values, missing


@dataclass(frozen=True)
class TextColumn:
    """A column of categories. One that looks like a number is also found by its number."""

    name: str
    categories: tuple[str, ...]  # of training
    unseen: str = "ignore"  # other values are no category ("ignore"), an "error", or "rare"
    missing: str = "error"  # missing cells are one of these, or count as `fill` ("fill")
    fill: str | None = None
    rare: tuple[str, ...] = ()  # further values of training, which together are one more category

    def read(self, table: Table) -> tuple[np.ndarray, np.ndarray]:
        """Return the place of each row's category, and where cells are missing.

        The place is NEW for a value that was not there in training, MISSING_CELL for a missing cell
        that is none of the categories, and RARE for one of the rare values.
        """
        values = table.cells(self.name)
        missing = missing_in(values)
        codes = np.empty(len(values), dtype=np.intp)
        codes[~missing] = codes_of(values[~missing], (*self.categories, *self.rare))
        codes[codes >= len(self.categories)] = RARE
        if missing.any():
            if self.missing == "error":
                _refuse_missing(table, missing, self.name)
            if self.fill is not None:
                codes[missing] = self.categories.index(self.fill)
            else:
                codes[missing] = RARE if self.missing == "rare" else MISSING_CELL
        return codes, missing


@dataclass(frozen=True)
class Feature:
    """One feature: (x − shift) / scale, where x is read from one column and the scale is above 0.

    `part`, one of `PARTS`, says what x is: the number; or 1 where the cell is missing, is
    `category`, is rare, or is not missing ("present"), and 0 elsewhere.
    """

    column: int  # its place among the columns
    part: str
    category: str | None = None
    shift: float = 0.0
    scale: float = 1.0

    def of(self, x: Any) -> Any:
        """Return the feature of numbers, or of 0 and 1."""
        return (x - self.shift) / self.scale


class ColumnFeatures:
    """How named columns become features.

    The same name may be among the columns twice, such as with two different fills. No two features
    take the same part of the same column.
    """

    def __init__(
        self, columns: Sequence[NumberColumn | TextColumn], features: Sequence[Feature]
    ) -> None:
        self.columns = tuple(columns)
        self.features = tuple(features)
        self.feature_names = [self._name_of(feature) for feature in features]
        self.n_features = len(self.features)
        zeros = [feature.of(0.0) for feature in features if feature.part != "number"]
        wide = self.n_features >= WIDE and 2 * len(zeros) > self.n_features
        self.sparse = wide and not any(zeros)
        self._places = self._find_places()

    @property
    def names(self) -> list[str]:
        """Names of the columns that are read, each once."""
        return list(dict.fromkeys(column.name for column in self.columns))

    def incomplete(self, table: Table) -> np.ndarray:
        """Return which rows have a missing cell."""
        self.check_names(table)
        found = np.zeros(table.n_rows, dtype=bool)
        for name in self.names:
            found |= missing_in(table.cells(name))
        return found

    def apply(self, table: Table, unseen: str | None = None) -> "np.ndarray | sp.csr_array":
        """Return the features of a table, which may have other columns besides.

        `unseen`, "ignore" or "error", overrides what the columns say.
        """
        self.check_names(table)
        read = [column.read(table) for column in self.columns]
        self._look_for_unseen(table, [found for found, _ in read], unseen)
        numbers: list[tuple[int, np.ndarray]] = []
        ones: list[tuple[np.ndarray, np.ndarray]] = []  # rows, and which feature x is 1 of
        for j, feature in enumerate(self.features):
            found, missing = read[feature.column]
            if feature.part == "number":
                numbers.append((j, self._scaled(table, feature, found)))
            elif feature.part in ("missing", "present"):
                rows = np.flatnonzero(missing == (feature.part == "missing"))
                ones.append((rows, np.full(len(rows), j)))
        for k, place in self._places.items():
            which = place[read[k][0]]
            rows = np.flatnonzero(which >= 0)
            ones.append((rows, which[rows]))
        return (self._sparse if self.sparse else self._dense)(table.n_rows, numbers, ones)

    def _find_places(self) -> dict[int, np.ndarray]:
        """Return, for each column of text, the feature of each of its categories, -1 for none.

        Three more entries at the end are for the codes RARE, MISSING_CELL and NEW.
        """
        places, codes = {}, {}
        for k, column in enumerate(self.columns):
            if isinstance(column, TextColumn):
                places[k] = np.full(len(column.categories) + 3, -1)
                codes[k] = {category: code for code, category in enumerate(column.categories)}
        for j, feature in enumerate(self.features):
            if feature.category is not None:
                places[feature.column][codes[feature.column][feature.category]] = j
            elif feature.part == "rare":
                places[feature.column][RARE] = j
                column = self.columns[feature.column]
                if isinstance(column, TextColumn) and column.unseen == "rare":
                    places[feature.column][NEW] = j
        return places

    def _dense(self, n_rows: int, numbers: Any, ones: Any) -> np.ndarray:
        X = np.tile([feature.of(0.0) for feature in self.features], (n_rows, 1))
        one = np.array([feature.of(1.0) for feature in self.features])
        for j, values in numbers:
            X[:, j] = values
        for rows, which in ones:
            X[rows, which] = one[which]
        return X

    def _sparse(self, n_rows: int, numbers: Any, ones: Any) -> "sp.csr_array":
        import scipy.sparse as sp

        one = np.array([feature.of(1.0) for feature in self.features])
        every = np.arange(n_rows)
        rows = [every] * len(numbers) + [rows for rows, _ in ones]
        which = [np.full(n_rows, j) for j, _ in numbers] + [which for _, which in ones]
        data = [values for _, values in numbers] + [one[which] for _, which in ones]
        places = (np.concatenate(rows), np.concatenate(which))
        X = sp.csr_array(
            sp.coo_array((np.concatenate(data), places), shape=(n_rows, self.n_features))
        )
        X.sum_duplicates()  # there are none; this sorts the indices of each row
        X.eliminate_zeros()
        return X

    def _scaled(self, table: Table, feature: Feature, values: np.ndarray) -> np.ndarray:
        """Return a feature of numbers, which must be finite."""
        with np.errstate(over="ignore"):  # checked below
            scaled = np.asarray(feature.of(values))
        finite = np.isfinite(scaled)
        if not finite.all():
            row = int(np.argmin(finite))
            message = f"{show_number(values[row])} is too far from those of training"
            table.fail(row, message, self.columns[feature.column].name)
        return scaled

    def check_names(self, table: Table) -> None:
        """Refuse a table without some of the columns."""
        if table.names is None:
            raise TableError(
                f"{table.source}: it is a matrix, but the model was learned from named columns "
                f"{listed(self.names)}"
            )
        present = set(table.names)
        absent = [name for name in self.names if name not in present]
        if absent:
            what = table.source if table.source.startswith("the ") else "the file"
            raise TableError(
                f"{table.source}: columns of the model are missing: {listed(absent)}; "
                f"{what} has {listed(table.names)}"
            )

    def _look_for_unseen(self, table: Table, codes: list[np.ndarray], policy: str | None) -> None:
        """Raise an error about values that were not there in training, or count them."""
        new_in: list[str] = []
        for column, found in zip(self.columns, codes, strict=True):
            if not isinstance(column, TextColumn) or not (new := found == NEW).any():
                continue
            row = int(np.argmax(new))
            cell = table.cells(column.name)[row]
            cell = quoted(cell if isinstance(cell, str) else show_number(cell))
            if (policy or column.unseen) == "error":
                known = listed(column.categories)
                message = f"{cell} is not one of the model's categories {known}; `taupath predict "
                table.fail(row, message + "--unseen ignore` predicts without it", column.name)
            if column.unseen == "rare":
                continue
            rows = f"in {int(new.sum())} of {len(new)} rows"
            new_in.append(f"column {quoted(column.name)} {rows} (first {cell})")
        if new_in:
            shown = ", ".join(new_in[:10]) + (", …" if len(new_in) > 10 else "")
            warnings.warn(
                f"{table.source}: values that training did not have are ignored: {shown}",
                stacklevel=4,
            )

    def _name_of(self, feature: Feature) -> str:
        name = self.columns[feature.column].name
        if feature.category is not None:
            return f"{name}={feature.category}"
        return name if feature.part == "number" else f"{name} ({feature.part})"


def _refuse_missing(table: Table, missing: np.ndarray, name: str) -> NoReturn:
    message = (
        "the cell is missing, and the model has no value for it; train with `taupath fit --missing "
        "impute`, or leave such rows out (`taupath predict --missing drop` does)"
    )
    table.fail(int(np.argmax(missing)), message, name)
