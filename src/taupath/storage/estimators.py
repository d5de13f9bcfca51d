"""Fitted estimators: their parameters, their labels and their paths."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.combined import CombinedClassifier
from taupath.estimators.conformal import Calibration
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.estimators.regressor import QuantileSVR
from taupath.exceptions import ModelFileError
from taupath.paths.jobs import QuantileRegression
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.classifiers import (
    holds_data,
    pack_classifier,
    pack_parameters,
    unpack_classifier,
    unpack_parameters,
)
from taupath.storage.combined import pack_combined, unpack_combined
from taupath.storage.fingerprints import pack_fingerprints, unpack_fingerprints
from taupath.storage.frozen import pack_frozen, unpack_frozen
from taupath.storage.intervals import pack_intervals, unpack_intervals
from taupath.storage.kernel_nodes import holds_support_only
from taupath.storage.paths import pack_path, unpack_path
from taupath.validation import MAX_ROWS, check_C


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
    asked, data = data, _data_of_all(estimator) if data is None else data
    found = {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "estimator": name,
        **ESTIMATORS[name].pack(estimator, arrays, data),
        "intervals": pack_intervals(getattr(estimator, "_intervals", None), arrays),
    }
    paths = [path for each in found.get("each", [found]) for path in each.get("paths", ())]
    if asked is None and paths and not any(map(holds_data, paths)):
        found["training"] = pack_fingerprints(estimator, arrays)
    return found


def _data_of_all(estimator: Any) -> bool | None:
    """Return True if some path of an estimator is stored with its data: then all of them are."""
    paths = [] if isinstance(estimator, FrozenClassifier) else estimator._all_paths()
    by_kernel = [path for path in paths if path.data.kernel is not None]
    return True if any(not holds_support_only(path) for path in by_kernel) else None


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
    for each in getattr(estimator, "estimators_", [estimator]):
        each.n_features_in_ = estimator.n_features_in_
        _check_paths(each)
    unpack_fingerprints(found["training"], arrays, estimator)
    if found["intervals"] is not None:
        estimator._intervals = unpack_intervals(found["intervals"], arrays, estimator)
    return estimator


def _check_paths(estimator: QuantileSVC | QuantileSVR) -> None:
    kernels = {getattr(path.data.kernel, "function", "linear") for path in estimator._all_paths()}
    if kernels != {estimator.kernel}:
        raise ModelFileError("the paths of an estimator have another kernel than it has")
    widths = {path.data.shape[1] for path in estimator._all_paths()}
    # a precomputed kernel has a column for each sample, and a path may have some of them
    members = getattr(estimator, "_members", [None])
    some = estimator.kernel == "precomputed" and members[0] is not None
    if not some and widths != {estimator.n_features_in_}:
        raise ModelFileError("the paths of an estimator do not have its number of features")


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


# -- regressors ------------------------------------------------------------------------------------


def _pack_regressor(
    estimator: QuantileSVR, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    return {
        "parameters": pack_parameters(estimator.get_params(deep=False), arrays),
        "paths": [pack_path(estimator.path_, arrays, data)],
        "calibration": _pack_calibration(estimator.calibration_, arrays),
    }


def _unpack_regressor(found: dict[str, Any], arrays: StoredArrays) -> QuantileSVR:
    estimator = QuantileSVR(**unpack_parameters(found.get("parameters"), arrays))
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


# By the name in the description. When writing, the first class that matches is used.
ESTIMATORS = {
    "QuantileSVCCV": Kind(CombinedClassifier, pack_combined, unpack_combined),
    "QuantileSVC": Kind(QuantileSVC, pack_classifier, unpack_classifier),
    "QuantileSVR": Kind(QuantileSVR, _pack_regressor, _unpack_regressor),
    "FrozenClassifier": Kind(FrozenClassifier, pack_frozen, unpack_frozen),
}
