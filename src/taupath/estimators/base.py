"""What the estimators have in common: which samples they take."""

import copy
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from taupath import upward
from taupath.paths.path import SolutionPath
from taupath.progress import Display
from taupath.validation import check_verbose

__all__ = ["PathEstimator"]


class PathEstimator(BaseEstimator):
    """An estimator that follows a path, with a kernel named by its parameter `kernel`."""

    kernel: Any
    method: str
    method_: str
    verbose: int
    # what `fit` reports to, where a caller sets it
    _progress: Any = None
    # fingerprints of the training rows, where a file has these instead of the data
    _training_rows: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the fitted estimator to a file that `taupath.load` reads.

        It holds the paths, and the training data where predictions take them; nothing that is run,
        and a checksum. A file of that name is replaced, or stays as it is if anything goes wrong.

        Parameters
        ----------
        file : path
            Where to.
        data : bool, optional
            Whether the file is to hold the training data. By default it does where nothing can be
            predicted without them: for exact paths, and for kernels.
        """
        check_is_fitted(self)
        upward.save(self, file, data)

    def simplify(self, tol: float) -> Self:
        """Return the same estimator with as few nodes of its paths as keep gaps within `tol`.

        Smaller, and with the linear kernel its file holds no training data.

        Parameters
        ----------
        tol : float
            What no duality gap shall exceed, at any τ, as part of the objective at w = 0 and
            τ = ½.
        """
        check_is_fitted(self)
        other = copy.copy(self)
        other._set_paths([path.simplify(tol) for path in self._all_paths()])
        return other

    @contextmanager
    def _watched(self) -> Iterator[Any]:
        """Yield what `fit` reports to: the caller's, a display if `verbose`, or None."""
        if self._progress is not None or not check_verbose(self.verbose):
            yield self._progress
            return
        with Display("fitting") as display:
            yield display

    def _all_paths(self) -> Sequence[SolutionPath]:
        """Return all paths."""
        raise NotImplementedError

    def _set_paths(self, paths: Sequence[Any]) -> None:
        """Take these for the paths, of one method, and say so."""
        raise NotImplementedError

    def _check_linear(self, name: str) -> None:
        """Refuse an attribute that only the linear kernel has; `hasattr` then says no."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError(
                f'{name} is there for kernel="linear" only, not for kernel={self.kernel!r}'
            )

    def _check_training(self, X: Any, y: Any, **how: Any) -> Any:
        """Return samples to train on, and y."""
        self._training_rows = None
        return self._check_samples(X, y, **how)

    def _check_new(self, X: Any) -> Any:
        """Return samples to predict, in the form of those of `fit`."""
        check_is_fitted(self)
        return self._check_samples(X, reset=False)

    def _check_samples(self, X: Any, *y: Any, **how: Any) -> Any:
        # before `fit` has chosen, `method` tells whether float32 may be of use
        exact = getattr(self, "method_" if how.get("reset") is False else "method") == "exact"
        dtype = np.float64 if exact else [np.float64, np.float32]
        try:
            return validate_data(self, X, *y, accept_sparse="csr", dtype=dtype, **how)
        except (TypeError, ValueError) as error:
            column = _column_without_numbers(X)
            if column is None:
                raise
            raise type(error)(
                f"X must hold numbers only, its column {column!r} does not: {error}"
            ) from None


def _column_without_numbers(X: Any) -> Any:
    """Return the name, or number, of the first column that is not made of numbers; None if all are.

    To tell the reason of an error.
    """
    if sparse.issparse(X):
        return None
    try:
        table = np.asarray(X, dtype=object)
    except ValueError:  # rows of different lengths
        return None
    if table.ndim != 2:
        return None
    for name, column in zip(getattr(X, "columns", range(table.shape[1])), table.T, strict=True):
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            return name
    return None
