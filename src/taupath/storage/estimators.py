"""Fitted estimators: their parameters, their labels and their paths."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.conformal import Calibration
from taupath.estimators.costs import check_tau
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.estimators.regressor import QuantileSVR
from taupath.estimators.selection import QuantileSVCCV
from taupath.exceptions import ModelFileError
from taupath.paths.jobs import QuantileClassification, QuantileRegression
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.budget import Budget
from taupath.storage.fingerprints import pack_fingerprints, unpack_fingerprints
from taupath.storage.frozen import pack_frozen, unpack_frozen
from taupath.storage.labels import pack_labels, unpack_classes, unpack_labels, unpack_positive
from taupath.storage.paths import pack_path, unpack_path
from taupath.validation import MAX_ROWS, check_C, check_choice, check_range

# Parameters of how to fit, which do not change what is fitted.
NOT_STORED = ("n_jobs", "verbose")


class Kind(NamedTuple):
    """Something that a file can hold, and the functions that store and restore it."""

    types: Any  # its class, or several
    pack: Callable[[Any, ArraysToWrite, bool | None], dict[str, Any]]
    unpack: Callable[[dict[str, Any], StoredArrays], Any]


def pack_estimator(
    estimator: QuantileSVC | QuantileSVR | FrozenClassifier,
    arrays: ArraysToWrite,
    data: bool | None = None,
) -> dict[str, Any]:
    """Return the description of a fitted estimator; its arrays are added to `arrays`."""
    check_is_fitted(estimator)
    names = getattr(estimator, "feature_names_in_", None)
    name = next(name for name, kind in ESTIMATORS.items() if isinstance(estimator, kind.types))
    found = {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "estimator": name,
        **ESTIMATORS[name].pack(estimator, arrays, data),
    }
    if data is None and "paths" in found and not any(map(_holds_data, found["paths"])):
        found["training"] = pack_fingerprints(estimator, arrays)
    return found


def unpack_estimator(
    found: dict[str, Any], arrays: StoredArrays
) -> QuantileSVC | QuantileSVR | FrozenClassifier:
    """Return the estimator of a description."""
    name = found.get("estimator")
    kind = ESTIMATORS.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ModelFileError(f"it holds an unknown estimator, {name!r:.60}")
    estimator: QuantileSVC | QuantileSVR | FrozenClassifier = kind.unpack(found, arrays)
    _set_features(estimator, found)
    if isinstance(estimator, FrozenClassifier):
        return estimator
    kernels = {getattr(path.data.kernel, "function", "linear") for path in estimator._all_paths()}
    if kernels != {estimator.kernel}:
        raise ModelFileError("the paths of an estimator have another kernel than it has")
    widths = {path.data.shape[1] for path in estimator._all_paths()}
    # a precomputed kernel has a column for each sample, and a path may have some of them
    members = getattr(estimator, "_members", [None])
    some = estimator.kernel == "precomputed" and members[0] is not None
    if not some and widths != {estimator.n_features_in_}:
        raise ModelFileError("the paths of an estimator do not have its number of features")
    unpack_fingerprints(found["training"], arrays, estimator)
    return estimator


def _set_features(estimator: Any, found: dict[str, Any]) -> None:
    n_features, names = found.get("n_features"), found.get("feature_names")
    if type(n_features) is not int or not 1 <= n_features <= MAX_ROWS:
        raise ModelFileError(f"an estimator cannot have {n_features!r:.60} features")
    estimator.n_features_in_ = n_features
    if names is not None:
        named = isinstance(names, list) and all(type(name) is str for name in names)
        if not named or len(names) != n_features:
            raise ModelFileError("the names of the features are not those of an estimator")
        estimator.feature_names_in_ = np.array(names, dtype=object)


# -- classifiers -----------------------------------------------------------------------------------


def _pack_classifier(
    estimator: QuantileSVC, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    parameters = estimator.get_params(deep=False)
    if isinstance(estimator, QuantileSVCCV):  # stored as the classifier of the C it has chosen
        del parameters["Cs"], parameters["cv"], parameters["scoring"]
        parameters["C"] = estimator.C_
    paths = [pack_path(path, arrays, data) for path in estimator.paths_]
    return {
        "parameters": _pack_parameters(parameters),
        "classes": pack_labels(estimator.classes_),
        "positive": estimator._positive if len(estimator.classes_) == 2 else None,
        "costs_in_training": estimator.costs_in_training_,
        "paths": paths,
        "members": [
            None
            if members is None or not _holds_data(path)  # of no use without data
            else arrays.put("members", members.astype(np.int64))
            for members, path in zip(estimator._members, paths, strict=True)
        ],
    }


def _unpack_classifier(found: dict[str, Any], arrays: StoredArrays) -> QuantileSVC:
    estimator = QuantileSVC(**_unpack_parameters(found.get("parameters"), arrays.budget))
    check_choice(estimator.multi_class, "multi_class", ("ovo", "ovr"))
    check_tau(estimator.tau)
    if type(estimator.monotone) is not bool:
        raise ModelFileError("monotone is neither true nor false")
    classes = unpack_classes(found.get("classes"), arrays.budget)
    described, members, k = found.get("paths"), found.get("members"), len(classes)
    pairs = estimator.multi_class == "ovo" or k == 2
    n_paths = k * (k - 1) // 2 if pairs else k
    for each in (described, members):
        if not isinstance(each, list) or len(each) != n_paths:
            raise ModelFileError(f"{k} classes need {n_paths} paths, which are not there")
    paths: list[Any] = [unpack_path(path, arrays) for path in found["paths"]]
    right = len({path.method for path in paths}) == 1
    if not right or any(path.job.kind != QuantileClassification.kind for path in paths):
        raise ModelFileError("the paths of a classifier are of different kinds")
    estimator.classes_ = classes
    estimator.costs_in_training_ = found["costs_in_training"]
    if type(estimator.costs_in_training_) is not bool:
        raise ModelFileError("costs were neither part of the training nor not")
    if k == 2:
        estimator.pos_label_ = unpack_positive(found, classes)
    estimator._members = []
    for member, path in zip(found["members"], paths, strict=True):
        own = None if member is None else arrays.take(member, np.int64, path.data.shape[0])
        if own is not None and (own.min() < 0 or not grows(own, strictly=True)):
            raise ModelFileError("the samples of a path are not in order")
        last = 0 if own is None or estimator.kernel != "precomputed" else int(own.max())
        if last >= found.get("n_features", 0):
            raise ModelFileError("a path has samples that the training data do not have")
        estimator._members.append(own)
    if len({own is None for own in estimator._members}) > 1:
        raise ModelFileError("only some of the paths say what their samples are")
    estimator._set_paths(paths)
    return estimator


# -- regressors ------------------------------------------------------------------------------------


def _pack_regressor(
    estimator: QuantileSVR, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    return {
        "parameters": _pack_parameters(estimator.get_params(deep=False)),
        "paths": [pack_path(estimator.path_, arrays, data)],
        "calibration": _pack_calibration(estimator.calibration_, arrays),
    }


def _unpack_regressor(found: dict[str, Any], arrays: StoredArrays) -> QuantileSVR:
    estimator = QuantileSVR(**_unpack_parameters(found.get("parameters"), arrays.budget))
    described = found.get("paths")
    path = unpack_path(described[0], arrays) if isinstance(described, list) and described else None
    if path is None or len(found["paths"]) != 1 or path.job.kind != QuantileRegression.kind:
        raise ModelFileError("a regressor must have a single path, of quantile regressions")
    estimator._set_paths([path])
    estimator.calibration_ = _unpack_calibration(found.get("calibration"), arrays)
    return estimator


def _pack_calibration(
    calibration: Calibration | None, arrays: ArraysToWrite
) -> dict[str, Any] | None:
    if calibration is None:
        return None
    names = ("level", "step", "share")
    found: dict[str, Any] = {name: arrays.put(name, getattr(calibration, name)) for name in names}
    return found | {"n_effective": float(calibration.n_effective)}


def _unpack_calibration(found: Any, arrays: StoredArrays) -> Calibration | None:
    if found is None:
        return None
    level = arrays.take(found.get("level"), np.float64)
    step = arrays.take(found.get("step"), np.float64, len(level))
    share = arrays.take(found.get("share"), np.float64, len(level))
    n_effective = check_C(found.get("n_effective"), "n_effective")
    growing = all(map(grows, (level, step, share)))
    inside = len(level) > 0 and level[0] >= 0.0 and level[-1] <= 1.0 and np.isfinite(step[0])
    if not growing or not inside or np.isnan(step).any() or not np.isfinite(share).all():
        raise ModelFileError("the calibration of a regressor is out of range or not increasing")
    return Calibration(level, step, share, n_effective)


def _holds_data(path: dict[str, Any]) -> bool:
    return "X" in path or path["data"] is not None


def _pack_parameters(given: dict[str, Any]) -> dict[str, Any]:
    """Return parameters as JSON can hold them."""
    parameters = {name: value for name, value in given.items() if name not in NOT_STORED}
    if "tau_range" in parameters:
        parameters["tau_range"] = [float(end) for end in parameters["tau_range"]]
    for name, value in parameters.items():
        if isinstance(value, np.generic):
            parameters[name] = value = value.item()
        if isinstance(value, dict):  # class_weight, by labels of any kind
            labels = np.array(list(value))
            parameters[name] = {
                "labels": pack_labels(labels),
                "weights": [float(weight) for weight in value.values()],
            }
        elif callable(value):
            raise ValueError(
                f"{name} is a Python function, which a model file cannot hold; pickle it instead"
            )
        elif name == "conformal" and not isinstance(value, int):
            parameters[name] = None  # folds of the user's own: what came of them is stored
        elif value is not None and not isinstance(value, (bool, int, float, str, list)):
            raise ValueError(f"{name}={value!r} cannot be stored in a model file")
    return parameters


def _unpack_parameters(found: Any, budget: Budget) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ModelFileError("the parameters of an estimator are missing")
    parameters = dict(found)
    if "tau_range" in parameters:
        parameters["tau_range"] = check_range(parameters["tau_range"])
    weight = parameters.get("class_weight")
    if isinstance(weight, dict):
        labels = unpack_labels(weight.get("labels"), budget).tolist()
        weights = [float(each) for each in weight.get("weights") or ()]
        parameters["class_weight"] = dict(zip(labels, weights, strict=True))
    return parameters


# By the name in the description. A `QuantileSVCCV` is stored as the classifier it has chosen.
ESTIMATORS = {
    "QuantileSVC": Kind(QuantileSVC, _pack_classifier, _unpack_classifier),
    "QuantileSVR": Kind(QuantileSVR, _pack_regressor, _unpack_regressor),
    "FrozenClassifier": Kind(FrozenClassifier, pack_frozen, unpack_frozen),
}
