"""A table in memory: named columns, or a matrix of features with labels."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from taupath.tables.cells import as_numbers, first_text, numbers_in
from taupath.tables.messages import listed, quoted

if TYPE_CHECKING:
    import scipy.sparse as sp


class TableError(ValueError):
    """A table cannot be used; the message says in one line where and why."""


class Table:
    """Rows of named columns, or of a matrix with labels, that know where they come from.

    Made by `read_table`. The two kinds differ in ``names``: None for a matrix.

    Parameters
    ----------
    source : str
        Name of the file, for messages.
    columns : mapping of str to ndarray, optional
        Named columns in their order: float64 with NaN for missing cells, or objects, str with None
        for missing cells.
    unusable : mapping of str to str, optional
        Columns that hold neither numbers nor text, and what they hold instead.
    matrix : ndarray or csr_array of shape (n_rows, n_features), optional
        Finite features in float64.
    labels : ndarray of shape (n_rows,), optional
        Numbers in float64 or objects of type str.
    lines : ndarray of shape (n_rows,), optional
        Line of each row in the file, counted from one; by default its number.
    unit : {"line", "row"}
        What a message calls a row: only text files have lines.
    unnamed : iterable of str
        Columns that have no name in the file and were given one.
    """

    def __init__(
        self,
        source: str,
        *,
        columns: Mapping[str, np.ndarray] | None = None,
        unusable: Mapping[str, str] | None = None,
        matrix: "np.ndarray | sp.csr_array | None" = None,
        labels: np.ndarray | None = None,
        lines: np.ndarray | None = None,
        unit: str = "line",
        unnamed: Iterable[str] = (),
    ) -> None:
        if (columns is None) == (matrix is None):
            raise TypeError("a table has either columns or a matrix")
        self.source = source
        self.matrix = matrix
        self.labels = labels
        self.unnamed = frozenset(unnamed)
        self._columns = columns
        self._unusable = dict(unusable or {})
        self._lines = lines
        self._unit = unit

    @property
    def names(self) -> list[str] | None:
        """Names of the columns, None for a matrix."""
        return None if self._columns is None else list(self._columns)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        if self.matrix is not None:
            return int(self.matrix.shape[0])
        return len(next(iter((self._columns or {}).values())))

    def __repr__(self) -> str:
        """Return where the table is from and how large it is."""
        width = len(self._columns or ()) if self.matrix is None else self.matrix.shape[1]
        return f"<Table of {self.n_rows} rows and {width} columns from {self.source}>"

    def column(self, name: str) -> np.ndarray:
        """Return one column without missing cells.

        Parameters
        ----------
        name : str
            One of ``names``.

        Returns
        -------
        ndarray of shape (n_rows,)
            Float64 if all its cells are numbers, else objects of type str.

        Raises
        ------
        TableError
            If there is no such column, a cell is missing or infinite, or the column is neither
            numbers nor text.
        """
        values = self.cells(name)
        missing = missing_in(values)
        if missing.any():
            row = int(missing.argmax())
            self.fail(row, "the cell is missing; fill it in or drop the row", name)
        return values

    def cells(self, name: str) -> np.ndarray:
        """Return one column, whose missing cells are NaN among numbers and None among text.

        Raises
        ------
        TableError
            If there is no such column, a cell is infinite, or the column is neither numbers nor
            text.
        """
        values = self._stored(name)
        if name in self._unusable:
            raise TableError(
                f"{self.source}, column {quoted(name)}: it holds {self._unusable[name]}, "
                "neither numbers nor text; convert it or leave the column out"
            )
        if values.dtype != object and np.isinf(values).any():
            self.fail(int(np.isinf(values).argmax()), "the value is infinite", name)
        return values

    def to_show(self) -> dict[str, np.ndarray]:
        """Return all columns that are numbers or text as they are, with missing cells."""
        return {
            name: values
            for name, values in (self._columns or {}).items()
            if name not in self._unusable
        }

    def numbers(self, name: str) -> np.ndarray:
        """Return one column without missing cells, which must be numbers."""
        return self.to_numbers(self.column(name), name, "is not a number")

    def to_numbers(self, values: np.ndarray, name: str, otherwise: str) -> np.ndarray:
        """Return the cells of a column as numbers; a `TableError` names the first that is not one.

        Parameters
        ----------
        values : ndarray of shape (n_rows,)
            As `column` or `cells` returns them.
        name : str
            Name of the column.
        otherwise : str
            What the error says of a cell that is not a number.
        """
        if values.dtype != object:
            return values
        numbers = numbers_in(values)
        if numbers is None:
            row, cell = first_text(values)
            self.fail(row, f"{quoted(cell)} {otherwise}", name)
        return numbers

    def is_blank(self, name: str) -> bool:
        """Return whether all cells of a column are missing."""
        return name not in self._unusable and bool(missing_in(self._stored(name)).all())

    def take(self, rows: Any, settle: bool = True) -> "Table":
        """Return a table of some rows.

        Parameters
        ----------
        rows : array-like of int or bool, or slice
            Index of the rows.
        settle : bool
            Whether a column of text becomes one of numbers if these rows hold only numbers.

        Returns
        -------
        Table
            The rows, which still know their lines.
        """
        if not isinstance(rows, slice):
            rows = np.asarray(rows)
            if rows.size == 0:
                rows = rows.astype(np.intp)
        place = np.arange(1, self.n_rows + 1) if self._lines is None else self._lines
        as_found = _settled if settle else np.asarray
        columns = self._columns
        if columns is not None:
            columns = {name: as_found(values[rows]) for name, values in columns.items()}
        return Table(
            self.source,
            columns=columns,
            unusable=self._unusable,
            matrix=None if self.matrix is None else self.matrix[rows],
            labels=None if self.labels is None else as_found(self.labels[rows]),
            lines=place[rows],
            unit=self._unit,
            unnamed=self.unnamed,
        )

    def place(self, row: int, column: str | None = None) -> str:
        """Return where a row, or one cell of it, is: ``FILE, line 12, column 'age'``."""
        line = row + 1 if self._lines is None else int(self._lines[row])
        where = f"{self.source}, {self._unit} {line}"
        return where if column is None else f"{where}, column {quoted(column)}"

    def fail(self, row: int, message: str, column: str | None = None) -> NoReturn:
        """Raise a `TableError` about a row, or one cell of it."""
        raise TableError(f"{self.place(row, column)}: {message}")

    def _stored(self, name: str) -> np.ndarray:
        if self._columns is None:
            raise TableError(f"{self.source}: it is a matrix without named columns")
        if name not in self._columns:
            known = listed(self._columns)
            raise TableError(f"{self.source}: there is no column {quoted(name)}, only {known}")
        return self._columns[name]


def check_names(source: str, names: Iterable[str]) -> None:
    """Refuse columns of the same name."""
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise TableError(f"{source}: several columns have the same name: {listed(repeated)}")


def _settled(values: np.ndarray) -> np.ndarray:
    """Return part of a column, as numbers if only numbers are left."""
    if values.dtype != object:
        return values
    numbers = as_numbers(["" if cell is None else cell for cell in values])
    return values if numbers is None else numbers


def missing_in(values: np.ndarray) -> np.ndarray:
    """Return where the cells of a column are missing."""
    if values.dtype == object:
        return np.fromiter((cell is None for cell in values), dtype=bool, count=len(values))
    return np.asarray(np.isnan(values))
