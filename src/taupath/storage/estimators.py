"""Fitted estimators: their parameters, their labels and their paths."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.conformal import Calibration
from taupath.estimators.costs import check_tau
from taupath.estimators.frozen import FrozenClassifier
from taupath.estimators.regressor import QuantileSVR
from taupath.estimators.selection import QuantileSVCCV
from taupath.exceptions import ModelFileError
from taupath.models.model import Model
from taupath.storage.frozen import pack_frozen, unpack_frozen
from taupath.storage.labels import pack_labels, unpack_labels, unpack_positive
from taupath.storage.paths import pack_path, unpack_path
from taupath.storage.shelf import Shelf, Taken
from taupath.storage.training import pack_training, unpack_training
from taupath.validation import check_C, check_choice, check_range

__all__ = ["check_model", "pack_estimator", "unpack_estimator"]

# Parameters that say how to fit, not what.
NOT_STORED = ("n_jobs", "verbose")


def pack_estimator(
    estimator: QuantileSVC | QuantileSVR | FrozenClassifier,
    shelf: Shelf,
    data: bool | None = None,
) -> dict[str, Any]:
    """Return the description of a fitted estimator; its arrays are put away."""
    names = getattr(estimator, "feature_names_in_", None)
    found: dict[str, Any] = {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
    }
    if isinstance(estimator, FrozenClassifier):
        return found | {"estimator": "FrozenClassifier", **pack_frozen(estimator, shelf)}
    found |= _pack_paths(estimator, shelf, data)
    if data is None and not any(_holds_data(path) for path in found["paths"]):
        found["training"] = pack_training(estimator, shelf)
    return found


def _holds_data(path: dict[str, Any]) -> bool:
    return "X" in path or path["data"] is not None


def _pack_paths(
    estimator: QuantileSVC | QuantileSVR, shelf: Shelf, data: bool | None
) -> dict[str, Any]:
    if isinstance(estimator, QuantileSVR):
        return {
            "estimator": "QuantileSVR",
            "parameters": _parameters(estimator.get_params(deep=False)),
            "paths": [pack_path(estimator.path_, shelf, data)],
            "calibration": _pack_calibration(estimator.calibration_, shelf),
        }
    parameters = estimator.get_params(deep=False)
    if isinstance(estimator, QuantileSVCCV):  # what it has chosen
        del parameters["Cs"], parameters["cv"], parameters["scoring"]
        parameters["C"] = estimator.C_
    paths = [pack_path(path, shelf, data) for path in estimator.paths_]
    return {
        "estimator": "QuantileSVC",
        "parameters": _parameters(parameters),
        "classes": pack_labels(estimator.classes_),
        "positive": estimator._positive if len(estimator.classes_) == 2 else None,
        "paths": paths,
        "members": [
            None
            if members is None or not _holds_data(path)  # of no use without data
            else shelf.put("members", members.astype(np.int64))
            for members, path in zip(estimator._members, paths, strict=True)
        ],
    }


def unpack_estimator(found: Any, taken: Taken) -> QuantileSVC | QuantileSVR | FrozenClassifier:
    """Return the estimator that was described."""
    if found.get("estimator") == "FrozenClassifier":
        alone = unpack_frozen(found, taken)
        _set_features(alone, found)
        return alone
    paths = [unpack_path(path, taken) for path in found.get("paths") or ()]
    estimator: QuantileSVC | QuantileSVR
    parameters = _check_parameters(found.get("parameters"))
    if found.get("estimator") == "QuantileSVR":
        estimator = QuantileSVR(**parameters)
        if len(paths) != 1 or paths[0].job.kind != "regression":
            raise ModelFileError("a regressor has one path, of regressions")
        estimator._set_paths([paths[0]])
        estimator.calibration_ = _unpack_calibration(found.get("calibration"), taken)
    elif found.get("estimator") == "QuantileSVC":
        estimator = QuantileSVC(**parameters)
        _unpack_classifier(estimator, found, taken, paths)
    else:
        raise ModelFileError(f"it holds an unknown estimator, {found.get('estimator')!r}")
    _set_features(estimator, found)
    n_features, pairwise = estimator.n_features_in_, estimator.kernel == "precomputed"
    if not pairwise and any(path.data.shape[1] != n_features for path in paths):
        raise ModelFileError("the paths of an estimator have other features than it says")
    unpack_training(found.get("training"), taken, estimator)
    return estimator


def _set_features(estimator: Any, found: dict[str, Any]) -> None:
    n_features, names = found.get("n_features"), found.get("feature_names")
    if type(n_features) is not int or n_features < 1:
        raise ModelFileError(f"an estimator cannot have {n_features!r} features")
    estimator.n_features_in_ = n_features
    if names is not None:
        if len(names) != n_features or not all(type(name) is str for name in names):
            raise ModelFileError("the names of the features are not those of an estimator")
        estimator.feature_names_in_ = np.array(names, dtype=object)


def _pack_calibration(calibration: Calibration | None, shelf: Shelf) -> dict[str, Any] | None:
    if calibration is None:
        return None
    names = ("level", "step", "share")
    arrays = {name: shelf.put(name, getattr(calibration, name)) for name in names}
    return arrays | {"n_effective": float(calibration.n_effective)}


def _unpack_calibration(found: Any, taken: Taken) -> Calibration | None:
    if found is None:
        return None
    level = taken.take(found.get("level"), np.float64)
    step = taken.take(found.get("step"), np.float64, len(level))
    share = taken.take(found.get("share"), np.float64, len(level))
    n_effective = check_C(found.get("n_effective"), "n_effective")
    growing = all((np.diff(array) >= 0.0).all() for array in (level, step, share))
    inside = len(level) > 0 and level[0] >= 0.0 and level[-1] <= 1.0 and np.isfinite(step[0])
    if not growing or not inside or np.isnan(step).any():
        raise ModelFileError("the calibration of a regressor is none")
    return Calibration(level, step, share, n_effective)


def check_model(model: Model) -> Model:
    """Return a model whose parts fit together."""
    preparation, estimator = model.preparation, model.estimator
    if isinstance(estimator, FrozenClassifier):
        raise ModelFileError("a classifier of one τ has no preparation")
    if not isinstance(model.trained, dict):
        raise ModelFileError("how the model was trained is missing")
    if model.task != preparation.task or estimator.n_features_in_ != len(preparation.feature_names):
        raise ModelFileError("the preparation of the data is that of another model")
    if isinstance(estimator, QuantileSVC) and not np.array_equal(
        estimator.classes_, np.arange(len(model.labels))
    ):
        raise ModelFileError("the labels are those of another model")
    if len(model.labels) == 2 and estimator.pos_label_ != 1:
        raise ModelFileError("the positive class is not the last one")
    return model


def _unpack_classifier(
    estimator: QuantileSVC, found: dict[str, Any], taken: Taken, paths: list[Any]
) -> None:
    classes = unpack_labels(found.get("classes"))
    check_choice(estimator.multi_class, "multi_class", ("ovo", "ovr"))
    check_tau(estimator.tau)
    if len(classes) < 2:
        raise ModelFileError(f"a classifier cannot have {len(classes)} classes")
    estimator.classes_ = classes
    if len(classes) == 2:
        estimator.pos_label_ = unpack_positive(found, classes)
    members = found.get("members")
    n_paths = len(estimator._tasks())
    right = len(paths) == n_paths and all(path.job.kind == "classification" for path in paths)
    right = right and len({path.method for path in paths}) == 1
    if not right or not isinstance(members, list) or len(members) != n_paths:
        raise ModelFileError("a classifier has other paths than its classes need")
    estimator._members = []
    for member, path in zip(members, paths, strict=True):
        own = None if member is None else taken.take(member, np.int64, path.data.shape[0])
        if own is not None and (own.min() < 0 or (np.diff(own) <= 0).any()):
            raise ModelFileError("the samples of a path are not in order")
        last = 0 if own is None or estimator.kernel != "precomputed" else int(own.max())
        if last >= found.get("n_features", 0):
            raise ModelFileError("the samples of a path are not there")
        estimator._members.append(own)
    if len({own is None for own in estimator._members}) > 1:
        raise ModelFileError("only some of the paths say what their samples are")
    estimator._set_paths(paths)


def _parameters(given: dict[str, Any]) -> dict[str, Any]:
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


def _check_parameters(found: Any) -> dict[str, Any]:
    if not isinstance(found, dict):
        raise ModelFileError("the parameters of an estimator are missing")
    parameters = dict(found)
    if "tau_range" in parameters:
        parameters["tau_range"] = check_range(parameters["tau_range"])
    weight = parameters.get("class_weight")
    if isinstance(weight, dict):
        labels = unpack_labels(weight.get("labels")).tolist()
        weights = [float(each) for each in weight.get("weights") or ()]
        parameters["class_weight"] = dict(zip(labels, weights, strict=True))
    return parameters
