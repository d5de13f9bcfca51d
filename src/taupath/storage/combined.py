"""Combined classifiers: their parts, and how the probabilities of these are combined."""

from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler

from taupath.choices import COMBINE
from taupath.estimators.combination import PerTau, Stack
from taupath.estimators.combined import CombinedClassifier
from taupath.estimators.costs import check_tau
from taupath.estimators.selection import OF_EACH_MODEL, QuantileSVCCV
from taupath.exceptions import ModelFileError
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.classifiers import (
    pack_classifier,
    pack_parameters,
    unpack_classifier,
    unpack_parameters,
)
from taupath.validation import (
    MOST_CANDIDATE_VALUES,
    UNIT_INTERVAL,
    check_choice,
    check_positive,
    check_within,
)

# Bound on weights and intercepts of a stack: far beyond what is ever fitted, and small enough
# that their products with logarithms stay finite.
LARGEST_WEIGHT = 1e6


def pack_combined(
    estimator: CombinedClassifier, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    """Return the description of a combined classifier; its arrays are added to `arrays`.

    Which candidates were tried, and how well each did, is not stored.
    """
    combination, scaler = estimator.combination_, estimator.scaler_
    assert combination is not None  # otherwise its `best_estimator_` is stored
    names = ("weights", "intercept") if isinstance(combination, Stack) else ("which", "edges")
    return {
        "combine": estimator.combine,
        "parameters": pack_parameters(
            {name: getattr(estimator, name) for name in OF_EACH_MODEL}, arrays
        ),
        "each": [pack_classifier(model, arrays, data) for model in estimator.estimators_],
        "combination": {
            **{name: arrays.put(name, getattr(combination, name)) for name in names},
            "n_samples": float(combination.n_samples),
        },
        "constant": [float(estimator.constant_below_), float(estimator.constant_above_)],
        "scaler": scaler
        and {
            "mean": arrays.put("mean", scaler.mean_) if scaler.with_mean else None,
            "scale": arrays.put("scale", scaler.scale_),
        },
    }


def unpack_combined(found: dict[str, Any], arrays: StoredArrays) -> CombinedClassifier:
    """Return the combined classifier of a description.

    Only the candidates that it uses are known.
    """
    combine = check_choice(found.get("combine"), "combine", COMBINE)
    described = found.get("each")
    if not isinstance(described, list) or not 0 < len(described) <= MOST_CANDIDATE_VALUES:
        raise ModelFileError("a combined classifier has no parts, or too many")
    models = [unpack_classifier(each, arrays, found.get("n_features")) for each in described]
    first = models[0]
    for model in models:
        same = np.array_equal(model.classes_, first.classes_)
        if not same or getattr(model, "pos_label_", None) != getattr(first, "pos_label_", None):
            raise ModelFileError("the classifiers of a combined one have different labels")
        if model.costs_in_training_ != first.costs_in_training_:
            raise ModelFileError("only some classifiers of a combined one were trained with costs")
        if {path.tau_range for path in model.paths_} != {UNIT_INTERVAL}:
            raise ModelFileError("the classifiers of a combined one do not cover all τ")
    estimator = QuantileSVCCV(
        sorted({model.C for model in models}),
        kernel=list(dict.fromkeys(model.kernel for model in models)),
        gamma=list(dict.fromkeys(model.gamma for model in models)),
        combine=combine,
        standardize=found.get("scaler") is not None,
        method=first.method,
        **unpack_parameters(found.get("parameters"), arrays),
    )
    check_tau(estimator.tau)
    estimator.classes_ = first.classes_
    estimator.costs_in_training_ = first.costs_in_training_
    if len(first.classes_) == 2:
        estimator.pos_label_ = first.pos_label_
    estimator.estimators_ = models
    estimator.combination_ = _unpack_combination(found.get("combination"), arrays, estimator)
    low, high = found.get("constant") or UNIT_INTERVAL
    estimator.constant_below_ = check_within(low, "constant", UNIT_INTERVAL)
    estimator.constant_above_ = check_within(high, "constant", (estimator.constant_below_, 1.0))
    estimator.scaler_ = _unpack_scaler(found.get("scaler"), arrays, found.get("n_features"))
    estimator._set_paths(estimator._all_paths())
    return estimator


def _unpack_combination(
    found: Any, arrays: StoredArrays, estimator: CombinedClassifier
) -> Stack | PerTau:
    n_paths, n_classes = len(estimator.estimators_), len(estimator.classes_)
    n_samples = check_positive(found.get("n_samples"), "n_samples")
    if estimator.combine == "stack":
        weights = arrays.take(found.get("weights"), np.float64, n_paths)
        intercept = arrays.take(found.get("intercept"), np.float64, n_classes)
        bounded = np.abs(np.concatenate((weights, intercept))) <= LARGEST_WEIGHT
        if not bounded.all() or (weights < 0.0).any():
            raise ModelFileError("the weights of a stack are out of range")
        return Stack(weights, intercept, n_samples)
    if estimator.combine != "per_tau" or n_classes != 2:
        raise ModelFileError("combine is neither stack nor, for two classes, per_tau")
    edges = arrays.take(found.get("edges"), np.float64)
    which = arrays.take(found.get("which"), np.int64, len(edges) - 1)
    right = len(which) > 0 and (edges[0], edges[-1]) == UNIT_INTERVAL and grows(edges)
    if not right or which.min() < 0 or which.max() >= n_paths:
        raise ModelFileError("the pieces of τ of a combined classifier are not valid")
    return PerTau(which, edges, n_samples)


def _unpack_scaler(found: Any, arrays: StoredArrays, n_features: Any) -> StandardScaler | None:
    if found is None:
        return None
    scaler = StandardScaler(with_mean=found["mean"] is not None)
    scaler.scale_ = arrays.take(found["scale"], np.float64, n_features)
    scaler.mean_ = np.zeros(n_features)
    if scaler.with_mean:
        scaler.mean_ = arrays.take(found["mean"], np.float64, n_features)
    right = np.isfinite(scaler.mean_) & np.isfinite(scaler.scale_) & (scaler.scale_ > 0.0)
    if not right.all():
        raise ModelFileError("the means or scales of the features are out of range")
    scaler.var_, scaler.n_features_in_ = scaler.scale_**2, n_features
    return scaler
