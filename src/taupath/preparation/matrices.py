"""A matrix as features: as it is, or with its columns standardised."""

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from taupath.choices import names_of_unnamed
from taupath.tables import Table, TableError

if TYPE_CHECKING:
    import scipy.sparse as sp


class MatrixFeatures:
    """How a matrix becomes features: x_j as (x_j − shift_j) / scale_j, or x_j without these.

    Sparse features (CSR) are never shifted.
    """

    def __init__(
        self,
        n_features: int,
        sparse: bool,
        shift: np.ndarray | None = None,
        scale: np.ndarray | None = None,
    ) -> None:
        self.n_features = n_features
        self.sparse = sparse
        self.shift = shift
        self.scale = scale

    @property
    def feature_names(self) -> list[str]:
        """Features have no names but their numbers."""
        return names_of_unnamed(self.n_features)

    @classmethod
    def learn(cls, table: Table, standardize: bool) -> "MatrixFeatures":
        """Return the features of a table's matrix."""
        X: Any = table.matrix
        n_features = int(X.shape[1])
        if not isinstance(X, np.ndarray):
            scale = _deviations(X) if standardize else None
            return cls(n_features, True, scale=scale)
        if not standardize:
            return cls(n_features, False)
        shift, scale = standardizing(X)
        finite = np.isfinite(shift) & np.isfinite(scale)
        if not finite.all():
            feature = int(np.argmin(finite)) + 1
            raise TableError(f"{table.source}, feature {feature}: too large to standardize")
        return cls(n_features, False, shift, scale)

    def apply(self, table: Table) -> "np.ndarray | sp.csr_array":
        """Return the features of a table's matrix, dense or sparse like those of training.

        Columns that a sparse matrix lacks are zero.
        """
        import scipy.sparse as sp

        X: Any = self._stacked(table) if table.matrix is None else table.matrix
        if isinstance(X, np.ndarray):
            if X.shape[1] != self.n_features:
                raise TableError(
                    f"{table.source}: it has {X.shape[1]} features, the model {self.n_features}"
                )
            if self.sparse:
                X = sp.csr_array(X)
        else:
            X = self._fitted(table, X)
        with np.errstate(over="ignore"):  # refused below
            if isinstance(X, np.ndarray):
                X = X if self.shift is None else X - self.shift
                X = np.ascontiguousarray(X if self.scale is None else X / self.scale)
            elif self.scale is not None:
                values = X.data / self.scale[X.indices]
                X = sp.csr_array((values, X.indices, X.indptr), shape=X.shape)
        finite = np.isfinite(X if isinstance(X, np.ndarray) else X.data)
        if not finite.all():
            row = _first_row(X, finite)
            table.fail(row, "a value is too far from those of training")
        return X

    def _stacked(self, table: Table) -> np.ndarray:
        """Return the columns of a file without names, which has called them x1, x2, … as well."""
        names = set(table.names or ())
        if self.n_features > len(names) or not names.issuperset(self.feature_names):
            raise TableError(
                f"{table.source}: it has named columns, but the model was learned from a matrix "
                f"(LIBSVM or npz); without a header they are x1 to x{self.n_features}"
            )
        return np.column_stack([table.numbers(name) for name in self.feature_names])

    def _fitted(self, table: Table, X: "sp.csr_array") -> "np.ndarray | sp.csr_array":
        """Return a sparse matrix with the model's number of columns."""
        import scipy.sparse as sp

        if X.nnz and X.indices.max() >= self.n_features:
            known = X.indices < self.n_features
            unknown = np.unique(X.indices[~known])
            warnings.warn(
                f"{table.source}: {len(unknown)} features above the {self.n_features} of the "
                f"model are ignored, feature {unknown[0] + 1} the first of them",
                stacklevel=2,
            )
            kept = np.append(0, np.cumsum(known))[X.indptr]
            X = sp.csr_array((X.data[known], X.indices[known], kept), shape=X.shape)
        X = sp.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], self.n_features))
        return X if self.sparse else X.toarray()


def _first_row(X: "np.ndarray | sp.csr_array", right: np.ndarray) -> int:
    """Return the row of the first entry that is not right."""
    entry = int(np.argmin(right))
    if isinstance(X, np.ndarray):
        return entry // int(X.shape[1])
    return int(np.searchsorted(X.indptr, entry, side="right")) - 1


def _deviations(X: "sp.csr_array") -> np.ndarray:
    """Return the standard deviation of each column; of a constant one its absolute value, or 1.

    Values are divided by the largest before they are squared, as in `standardizing`.
    """
    n, n_features = X.shape
    largest = np.zeros(n_features)
    np.maximum.at(largest, X.indices, np.abs(X.data))
    largest[largest == 0] = 1.0

    def sums(values: np.ndarray) -> np.ndarray:
        return np.bincount(X.indices, values, n_features)

    values, stored = X.data / largest[X.indices], sums(np.ones(len(X.data)))
    mean = sums(values) / n
    squares = sums((values - mean[X.indices]) ** 2) + (n - stored) * mean**2
    deviation = np.sqrt(squares / n)
    deviation[deviation == 0.0] = 1.0
    return np.asarray(largest * deviation)


def standardizing(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of the columns of a finite matrix with rows.

    For a constant column these are its value and 1. Deviations are divided by the largest before
    they are squared, which avoids overflow and underflow; where they are too large even so, the
    result is not finite.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # as said above
        shift = X.mean(axis=0)
        constant = X.min(axis=0) == X.max(axis=0)
        shift[constant] = X[0, constant]
        deviations = np.abs(X - shift)
        largest = deviations.max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        scale = unit * np.sqrt(np.mean((deviations / unit) ** 2, axis=0))
    scale[constant | (scale == 0)] = 1.0
    return shift, scale
