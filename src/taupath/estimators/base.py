"""What the estimators have in common: checks of samples, saving, simplified copies."""

import copy
import functools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from taupath import upward
from taupath.approximate.array_libraries import library_for
from taupath.approximate.kernel_source import KernelSource, located
from taupath.choices import METHODS
from taupath.paths.kernels import check_kernel
from taupath.paths.path import SolutionPath
from taupath.progress import Display
from taupath.validation import (
    Checked,
    check_choice,
    check_features,
    check_verbose,
    on_host,
    refuse_masked,
    shown,
)

Fit = TypeVar("Fit", bound=Callable[..., Any])
# Characters of scikit-learn's messages that are passed on; some show whole arrays.
MOST_PASSED_ON = 240


def all_or_nothing(fit: Fit) -> Fit:
    """Decorate `fit`: if it fails, the estimator stays as it was."""

    @functools.wraps(fit)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        before = dict(vars(self))
        try:
            return fit(self, *args, **kwargs)
        except BaseException:
            vars(self).clear()
            vars(self).update(before)
            raise

    return wrapper  # type: ignore[return-value]  # it has the signature of what it wraps


class PathEstimator(BaseEstimator):
    """An estimator that follows a path, with a kernel named by its parameter `kernel`."""

    kernel: Any
    method: str
    method_: str
    device: str | None
    verbose: int
    _progress: Any = None  # what `fit` reports to, if the caller sets it
    _training_rows: Any = None  # fingerprints, if they were loaded in place of the data

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.kernel != "precomputed"
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the fitted estimator to a file that `taupath.load` reads.

        The file holds the paths, the training data if predictions need them, and a checksum, but
        no code. An existing file is replaced only when the new one is complete.

        Parameters
        ----------
        file : path
            The file to write.
        data : bool, optional
            Whether the file holds the training data. By default it does if predictions need them:
            for exact paths, and for kernels.
        """
        check_is_fitted(self)
        upward.save(self, file, data)

    def simplify(self, tol: float) -> Self:
        """Return a copy whose paths have as few nodes as duality gaps within `tol` allow.

        It is smaller, and with the linear kernel its file holds no training data.

        Parameters
        ----------
        tol : float
            Bound on the duality gap at every τ, as a fraction of the objective at w = 0 and τ = ½.
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
        raise NotImplementedError

    def _set_paths(self, paths: Sequence[Any]) -> None:
        """Replace the paths, and the attributes that describe them."""
        raise NotImplementedError

    def _check_linear(self, name: str) -> None:
        """Raise AttributeError unless the kernel is linear, so that `hasattr` returns False."""
        check_is_fitted(self)
        if self.kernel != "linear":
            raise AttributeError(
                f'{name} exists for kernel="linear" only, not for kernel={shown(self.kernel)}'
            )

    def _check_training(
        self, X: Any, y: Any, sample_weight: Any, **how: Any
    ) -> tuple[Checked, np.ndarray, Any]:
        """Return samples to train on, y, and weights that are on the host."""
        check_kernel(self.kernel)
        check_choice(self.method, "method", METHODS)
        self._training_rows = None
        if isinstance(X, Checked):  # some rows of what another estimator has checked
            self.n_features_in_ = X.shape[1]
            return X, y, sample_weight
        return check_training_samples(self, X, y, sample_weight, **how)

    def _check_new(self, X: Any) -> Checked:
        """Return samples to predict, checked."""
        check_is_fitted(self)
        if isinstance(X, Checked):
            return X
        return check_samples(self, X, exact=self.method_ == "exact", reset=False)[0]


def check_training_samples(
    estimator: Any, X: Any, y: Any, sample_weight: Any, **how: Any
) -> tuple[Checked, Any, Any]:
    """Return X and y, checked, and weights: all on the host.

    If paths are to be approximate, X has a source of kernels.
    """
    source, device = None, estimator.device
    linear = isinstance(estimator.kernel, str) and estimator.kernel == "linear"
    computed = estimator.method == "approximate" and not linear
    if computed:
        source, X, y, sample_weight = located(device, X, y, sample_weight)
    found, y = check_samples(estimator, X, y, exact=estimator.method == "exact", **how)
    if computed:
        source = source or KernelSource(found.features, library_for(device))
    return replace(found, source=source), y, sample_weight


def check_samples(
    estimator: Any, X: Any, y: Any = "no_validation", *, exact: bool, **how: Any
) -> tuple[Checked, Any]:
    """Return X, and y if there is one, checked. Only exact paths turn float32 into float64."""
    refuse_masked(X, "X")
    refuse_masked(y, "y")
    X, y = on_host(X, "X"), on_host(y, "y")
    how |= {"accept_sparse": "csr", "dtype": np.float64 if exact else [np.float64, np.float32]}
    in_form = _has_form(X, y)
    try:
        # scikit-learn checks the form; `check_features` is the only one to check the values
        if in_form and how.get("reset", True):
            found = X if isinstance(y, str) else (X, y)
            estimator.n_features_in_ = X.shape[1]
            vars(estimator).pop("feature_names_in_", None)
        else:
            how |= {"skip_check_array": in_form, "ensure_all_finite": False}
            found = validate_data(estimator, X, y, **how)
    except (TypeError, ValueError, OverflowError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(_in_short(error, X)) from None
    features, response = found if isinstance(found, tuple) else (found, None)
    try:
        names = getattr(estimator, "feature_names_in_", None)
        return Checked(check_features(features, single=not exact), names), response
    except ValueError as error:  # scikit-learn's spelling, which its tests look for
        raise ValueError(str(error).replace("X contains nan", "X contains NaN")) from None


def _has_form(X: Any, y: Any) -> bool:
    """Return whether X, and y if there is one, are arrays that scikit-learn returns unchanged.

    It takes scikit-learn a tenth of a millisecond to find out, much of the fit of a small path.
    """
    if type(X) is not np.ndarray or X.ndim != 2 or X.dtype != np.float64 or X.size == 0:
        return False
    if type(y) is not np.ndarray:
        return isinstance(y, str) and y == "no_validation"
    numbers = y.dtype.kind in "biu" or (y.dtype == np.float64 and bool(np.isfinite(y).all()))
    return numbers and y.shape == X.shape[:1]


def check_labels_of_classes(y: np.ndarray) -> None:
    """Refuse numbers that are no labels, and labels that cannot be sorted."""
    whole = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "biu"
    if whole and 2 * len(np.unique(y)) <= len(y):
        return  # these are labels; where most of them occur once, scikit-learn may warn
    try:
        check_classification_targets(y)
        np.unique(y)
    except TypeError:
        raise TypeError(
            "y mixes labels that cannot be sorted, such as numbers, text and None"
        ) from None


def _in_short(error: Exception, X: Any) -> str:
    """Return scikit-learn's message in one line that names the argument, or the column of X."""
    message = " ".join(str(error).split())
    message = message if len(message) <= MOST_PASSED_ON else f"{message[: MOST_PASSED_ON - 3]}..."
    column = _column_without_numbers(X)
    if column is not None:
        return f"X must hold numbers only, its column {shown(column)} does not: {message}"
    if re.search(r"\b[Xy]\b", message):
        return message
    return f"{'X and y' if 'inconsistent' in message else 'X or y'} cannot be used: {message}"


def _column_without_numbers(X: Any) -> Any:
    """Return name or position of the first column that does not hold numbers, None if all do."""
    if sparse.issparse(X):
        return None
    try:
        table = np.asarray(X, dtype=object)
    except (ValueError, OverflowError):  # rows of different lengths
        return None
    if table.ndim != 2:
        return None
    for name, column in zip(getattr(X, "columns", range(table.shape[1])), table.T, strict=True):
        try:
            column.astype(np.float64)
        except (TypeError, ValueError, OverflowError):
            return name
    return None
