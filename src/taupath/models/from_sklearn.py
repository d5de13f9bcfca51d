"""Fitted estimators and scikit-learn pipelines as models of raw data."""

import copy
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from taupath.choices import names_of_unnamed
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.combined import CombinedClassifier
from taupath.estimators.regressor import QuantileSVR
from taupath.estimators.regressor_selection import QuantileSVRCV
from taupath.estimators.selection import QuantileSVCCV
from taupath.models.model import Model
from taupath.models.training_record import training_record
from taupath.preparation import Preparation
from taupath.preparation.columns import ColumnFeatures
from taupath.preparation.matrices import MatrixFeatures
from taupath.preparation.pipelines import translated


def model_of(fitted: Pipeline | QuantileSVC | QuantileSVR) -> Model:
    """Return a fitted pipeline, or an estimator alone, as a model of raw data.

    Its columns are those that `fit` was given. Without names, those of a pipeline are called x1,
    x2, …, as in a file without header, and an estimator takes a matrix. The model does not know
    which column holds the truth. A `ValueError` names the step that cannot be stored.
    """
    check_is_fitted(fitted)
    steps, (name, estimator) = _flat(fitted)
    where = f"step {name!r} ({type(estimator).__name__})" if name else type(estimator).__name__
    if not isinstance(estimator, QuantileSVC | QuantileSVR):
        advice = "; give its best_estimator_" if hasattr(estimator, "best_estimator_") else ""
        raise ValueError(
            f"{where} cannot be stored: a model file holds QuantileSVC, QuantileSVCCV, QuantileSVR "
            f"or QuantileSVRCV, alone or as the last step of a Pipeline{advice}"
        )
    kernels = [model.kernel for model in getattr(estimator, "estimators_", [estimator])]
    if any(callable(kernel) or kernel == "precomputed" for kernel in kernels):
        kind = "a Python function" if any(map(callable, kernels)) else "precomputed"
        raise ValueError(
            f"{where} cannot be stored with raw columns: its kernel is {kind}; use kernel='rbf', "
            "'poly', 'sigmoid' or 'linear'"
        )
    names, n_columns = _columns(steps, estimator)
    columns: ColumnFeatures | MatrixFeatures
    if names is None and not steps:
        X = getattr(estimator._all_paths()[0].data, "X", None)
        columns = MatrixFeatures(n_columns, sp.issparse(X))
    else:
        columns = translated(steps, names or names_of_unnamed(n_columns))
    if columns.n_features != estimator.n_features_in_:
        raise ValueError(
            f"{where} was trained on {estimator.n_features_in_} features, but the steps before it "
            f"make {columns.n_features}"
        )
    if isinstance(estimator, QuantileSVC):
        estimator, labels = _with_codes(estimator)
        preparation = Preparation("classify", None, labels, columns)
    else:
        preparation = Preparation("regress", None, None, columns)
        estimator = copy.copy(estimator)
    vars(estimator).pop("feature_names_in_", None)  # the names of raw columns are the model's
    return Model(estimator, preparation, training_record(estimator, _n_rows(estimator)))


def _flat(fitted: Any) -> tuple[list[tuple[str, Any]], tuple[str | None, Any]]:
    """Return the transformers of a pipeline and its last step, which may be a pipeline itself."""
    if isinstance(fitted, QuantileSVRCV | QuantileSVCCV) and hasattr(fitted, "best_estimator_"):
        fitted = fitted.best_estimator_
    if not isinstance(fitted, Pipeline):
        return [], (None, fitted)
    *steps, (name, last) = fitted.steps
    more, (inner, estimator) = _flat(last)
    return [*steps, *more], (inner or name, estimator)


def _columns(steps: list[tuple[str, Any]], estimator: Any) -> tuple[list[str] | None, int]:
    """Return the names of the raw columns, None if there are none, and how many there are."""
    first = next(
        (step for _, step in steps if step is not None and not isinstance(step, str)), estimator
    )
    names = getattr(first, "feature_names_in_", None)
    n_columns = int(getattr(first, "n_features_in_", 0))  # a user's own step may have none
    return None if names is None else [str(name) for name in names], n_columns


def _with_codes(estimator: QuantileSVC) -> tuple[QuantileSVC, list[Any]]:
    """Return the same classifier with the labels 0, 1, … and its own labels, the positive last."""
    labels = estimator.classes_.tolist()
    if len(labels) == 2 and estimator.pos_label_ == labels[0]:
        labels.reverse()
    coded = copy.copy(estimator)
    coded.classes_ = np.arange(len(labels))
    coded.pos_label = None
    if len(labels) == 2:
        coded.pos_label_ = 1
    if isinstance(estimator.class_weight, dict):
        coded.class_weight = {
            labels.index(label): weight
            for label, weight in estimator.class_weight.items()
            if label in labels
        }
    if isinstance(coded, CombinedClassifier):
        coded.estimators_ = [_with_codes(model)[0] for model in coded.estimators_]
    return coded, labels


def _n_rows(estimator: QuantileSVC | QuantileSVR) -> int:
    """Return the number of training rows."""
    if isinstance(estimator, CombinedClassifier):
        estimator = estimator.estimators_[0]
    rows = sum(path.data.shape[0] for path in estimator._all_paths())
    if isinstance(estimator, QuantileSVR):
        return rows
    k = len(estimator.classes_)  # each row is in k paths (one against the rest), or in k - 1
    return rows // (k if estimator.multi_class == "ovr" and k > 2 else k - 1)
