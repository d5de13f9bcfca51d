"""Checks of what is judged or drawn: classifiers, labels, probabilities, data frames."""

from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import check_consistent_length, check_is_fitted, column_or_1d

from taupath.estimators.pipelines import pos_label_of
from taupath.validation import (
    UNIT_INTERVAL,
    check_all_within,
    check_known_labels,
    check_labels,
    check_numbers,
    check_weight,
    check_weighted_classes,
    refuse_masked,
    shown,
)

# Room around the samples in a grid, as a fraction of their range.
GRID_MARGIN = 0.06


def check_binary_classifier(estimator: Any) -> None:
    """Raise unless this is a fitted classifier of two classes."""
    got = type(estimator).__name__
    if hasattr(estimator, "fit") and is_classifier(estimator):
        check_is_fitted(estimator)
        if len(estimator.classes_) == 2:
            return
        got = f"{len(estimator.classes_)} classes"
    raise ValueError(f"Expected 'estimator' to be a binary classifier. Got {got} instead.")


def positive_of(estimator: Any, X: Any, y: Any, pos_label: Any = None) -> np.ndarray:
    """Return which samples have the positive class of the estimator; y must have both."""
    check_consistent_length(X, y)
    present, larger = check_labels(y, np.asarray(y).size)
    check_known_labels(present, estimator.classes_)
    return larger if pos_label_of(estimator, pos_label) == present[1] else ~larger


def find_positive(y_true: Any, pos_label: Any = None) -> np.ndarray:
    """Return which samples are positive: those of `pos_label`, else of the larger label."""
    refuse_masked(y_true, "y_true")
    kind = type_of_target(y_true, input_name="y_true")
    if kind != "binary":
        raise ValueError(f"y_true must have labels of two classes, got {kind} values")
    labels = column_or_1d(y_true)
    present = np.unique(labels).tolist()
    if len(present) != 2:
        raise ValueError(f"y_true must have exactly two classes, got one only: {shown(present[0])}")
    if pos_label is not None and pos_label not in present:
        some = ", ".join(map(shown, present))
        raise ValueError(f"pos_label={shown(pos_label)} is not a label of y_true, which has {some}")
    return np.asarray(labels == (present[1] if pos_label is None else pos_label))


def weights_of(sample_weight: Any, positive: np.ndarray) -> np.ndarray:
    """Return one weight for each sample; either class has some weight above 0."""
    weight = check_weight(sample_weight, len(positive))
    check_weighted_classes(weight, np.array(["negative", "positive"]), positive)
    return weight


def positive_probability(estimator: Any, X: Any, pos_label: Any = None) -> np.ndarray:
    """Return the probability that a classifier of two classes gives the positive one."""
    if not hasattr(estimator, "predict_proba"):
        raise AttributeError(f"{type(estimator).__name__} has no predict_proba")
    column = estimator.classes_.tolist().index(pos_label_of(estimator, pos_label))
    return np.asarray(estimator.predict_proba(X)[:, column], dtype=np.float64)


def check_probabilities(y_proba: Any, n_samples: int) -> np.ndarray:
    """Return probabilities of the positive class, one for each sample."""
    proba = check_numbers(y_proba, "y_proba")
    if proba.ndim != 1:
        raise ValueError(
            "y_proba must have one dimension, the probability of the positive class, "
            f"got shape {proba.shape}"
        )
    if len(proba) != n_samples:
        raise ValueError(f"y_proba has {len(proba)} values, y_true has {n_samples}")
    return check_all_within(proba, "y_proba", UNIT_INTERVAL)


def column_names(X: Any) -> list[str] | None:
    """Return the names of a data frame's columns, None for an array."""
    names = getattr(X, "columns", None)
    return None if names is None else [str(name) for name in names]


def columns_of(X: Any) -> np.ndarray:
    """Return dense features as an array of two dimensions."""
    array = check_numbers(X.toarray() if hasattr(X, "toarray") else X, "X")
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (n_samples, n_features), got shape {array.shape}"
        )
    return array


def grid_around(X: Any, samples: np.ndarray, n_grid: int) -> tuple[np.ndarray, np.ndarray, Any]:
    """Return a grid that extends a little beyond the samples, and its points in the form of X."""
    low, high = samples.min(axis=0), samples.max(axis=0)
    room = GRID_MARGIN * np.where(high > low, high - low, 1.0)
    xx0, xx1 = np.meshgrid(*np.linspace(low - room, high + room, n_grid).T)
    return xx0, xx1, as_frame_of(X, np.column_stack((xx0.ravel(), xx1.ravel())))


def as_frame_of(X: Any, array: np.ndarray) -> Any:
    """Return other samples in the form of X: a data frame with its columns, or an array."""
    if column_names(X) is None:
        return array
    if hasattr(X, "iloc"):
        return type(X)(array, columns=X.columns)
    return type(X)(array, schema=list(X.columns))
