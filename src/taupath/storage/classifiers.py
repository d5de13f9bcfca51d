"""Fitted classifiers: their parameters, their labels and their paths."""

from typing import Any

import numpy as np

from taupath.choices import LAPLACE
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.clipping import check_least
from taupath.estimators.costs import check_tau
from taupath.exceptions import ModelFileError
from taupath.fitting.constraints import check_l1
from taupath.paths.jobs import QuantileClassification
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.extra_rows import pack_constraints, unpack_constraints
from taupath.storage.labels import pack_labels, unpack_classes, unpack_labels, unpack_positive
from taupath.storage.paths import pack_path, unpack_path
from taupath.validation import check_choice, check_range

# Parameters that do not change the fitted model.
NOT_STORED = ("n_jobs", "verbose", "device")


def pack_classifier(
    estimator: QuantileSVC, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    """Return the description of a fitted classifier; its arrays are added to `arrays`."""
    parameters = estimator.get_params(deep=False)
    paths = [pack_path(path, arrays, data) for path in estimator.paths_]
    return {
        "parameters": pack_parameters(parameters, arrays),
        "classes": pack_labels(estimator.classes_),
        "positive": estimator._positive if len(estimator.classes_) == 2 else None,
        "clip": float(estimator.clip_),
        "costs_in_training": estimator.costs_in_training_,
        "paths": paths,
        "members": [
            None
            if members is None or not (holds_data(path) or "support" in path)  # of no use
            else arrays.put("members", members.astype(np.int64))
            for members, path in zip(estimator._members, paths, strict=True)
        ],
    }


def unpack_classifier(
    found: dict[str, Any], arrays: StoredArrays, n_features: Any = None
) -> QuantileSVC:
    """Return the classifier of a description; `n_features` if that is not in it."""
    n_features = found.get("n_features", n_features)
    estimator = QuantileSVC(**unpack_parameters(found.get("parameters"), arrays))
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
    costs = found.get("costs_in_training")
    if type(costs) is not bool:
        raise ModelFileError("costs_in_training is neither true nor false")
    estimator.costs_in_training_ = costs
    if k == 2:
        estimator.pos_label_ = unpack_positive(found, classes)
    estimator.clip_ = _unpack_clip(found, estimator, k)
    estimator._members = []
    for member, path in zip(found["members"], paths, strict=True):
        own = None if member is None else arrays.take(member, np.int64, path.data.shape[0])
        if own is not None and (own.min() < 0 or not grows(own, strictly=True)):
            raise ModelFileError("the samples of a path are not in order")
        last = 0 if own is None or estimator.kernel != "precomputed" else int(own.max())
        if last >= (n_features or 0):
            raise ModelFileError("a path has samples that the training data do not have")
        estimator._members.append(own)
    if len({own is None for own in estimator._members}) > 1:
        raise ModelFileError("only some of the paths say what their samples are")
    estimator._set_paths(paths)
    return estimator


def _unpack_clip(found: dict[str, Any], estimator: QuantileSVC, n_classes: int) -> float:
    """Return the least probability. Files written before there was one have none."""
    if "clip" not in found:
        estimator.clip = 0.0
        return 0.0
    least = check_least(found["clip"], n_classes)
    # any number of samples may stand for "laplace"
    if estimator.clip != LAPLACE and check_least(estimator.clip, n_classes) != least:
        raise ModelFileError("the least probability is not that of the parameters")
    return least


# -- parameters ------------------------------------------------------------------------------------


def holds_data(path: dict[str, Any]) -> bool:
    """Return whether the description of a path holds its training data."""
    return "X" in path or path["data"] is not None


def pack_parameters(given: dict[str, Any], arrays: ArraysToWrite) -> dict[str, Any]:
    """Return parameters as JSON can hold them; arrays of constraints are added to `arrays`."""
    parameters = {name: value for name, value in given.items() if name not in NOT_STORED}
    for name in ("l1", "constraints"):  # unknown to earlier versions
        if not parameters.get(name):
            parameters.pop(name, None)
    if "constraints" in parameters:
        parameters["constraints"] = pack_constraints(parameters["constraints"], arrays)
    if "l1" in parameters:
        parameters["l1"] = check_l1(parameters["l1"])
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
            parameters[name] = None  # the user's own folds: only their result is stored
        elif value is not None and not isinstance(value, (bool, int, float, str, list)):
            raise ValueError(f"{name}={value!r} cannot be stored in a model file")
    return parameters


def unpack_parameters(found: Any, arrays: StoredArrays) -> dict[str, Any]:
    """Return the parameters of an estimator."""
    if not isinstance(found, dict):
        raise ModelFileError("the parameters of an estimator are missing")
    parameters = dict(found)
    if "constraints" in parameters:
        parameters["constraints"] = unpack_constraints(parameters["constraints"], arrays)
    if "l1" in parameters:
        parameters["l1"] = check_l1(parameters["l1"])
    if "tau_range" in parameters:
        parameters["tau_range"] = check_range(parameters["tau_range"])
    weight = parameters.get("class_weight")
    if isinstance(weight, dict):
        labels = unpack_labels(weight.get("labels"), arrays.budget).tolist()
        weights = [float(each) for each in weight.get("weights") or ()]
        parameters["class_weight"] = dict(zip(labels, weights, strict=True))
    return parameters
