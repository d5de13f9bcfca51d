"""Trained models: an estimator, its preparation of raw data, and results on held-out rows."""

from types import NoneType
from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.exceptions import ModelFileError
from taupath.models.model import Model
from taupath.preparation import Preparation
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.certificates import numbers_as_json, unpack_certificate
from taupath.storage.estimators import pack_estimator, unpack_estimator
from taupath.storage.held_out import pack_held_out, unpack_held_out
from taupath.storage.operating import pack_operating_point, unpack_operating_point

# Types of the entries of a training record that are read again; any of them may be missing.
_TRAINED: dict[str, tuple[type, ...]] = {
    "file": (str,),
    "rows": (int,),
    "features": (int,),
    "C": (float, int),
    "kernel": (str,),
    "intercept": (str,),
    "method": (str,),
    "tol": (float, int, NoneType),
    "kinks": (int,),
    "record bytes": (int,),
    "seconds": (float, int),
    "task": (str,),
    "taupath": (str,),
    "costs": (dict,),
    "certificate": (dict, NoneType),
}


def pack_model(model: Model, arrays: ArraysToWrite, data: bool | None = None) -> dict[str, Any]:
    """Return the description of a trained model; its arrays are added to `arrays`."""
    return {
        **pack_estimator(model.estimator, arrays, data),
        "preparation": model.preparation.state(),
        "trained": _pack_trained(model.trained),
        "held_out": pack_held_out(model.held_out, arrays),
        "operating_point": pack_operating_point(model.operating_point),
    }


def unpack_model(found: dict[str, Any], arrays: StoredArrays) -> Model:
    """Return the model of a description, whose parts must belong together."""
    estimator = unpack_estimator(found, arrays)
    preparation = Preparation.from_state(found["preparation"])
    if isinstance(estimator, FrozenClassifier):
        raise ModelFileError("a classifier of one τ has no preparation")
    held_out = unpack_held_out(found["held_out"], arrays, estimator)
    point = unpack_operating_point(found["operating_point"], estimator)
    model = Model(estimator, preparation, _unpack_trained(found["trained"]), held_out, point)
    if model.task != preparation.task or estimator.n_features_in_ != preparation.n_features:
        raise ModelFileError("the preparation is that of another model")
    if isinstance(estimator, QuantileSVC) and not np.array_equal(
        estimator.classes_, np.arange(len(model.labels))
    ):
        raise ModelFileError("the labels are those of another model")
    if len(model.labels) == 2 and estimator.pos_label_ != 1:
        raise ModelFileError("the positive class is not the last one")
    return model


def _pack_trained(trained: dict[str, Any]) -> dict[str, Any]:
    certificate = trained.get("certificate")
    if certificate is None:
        return trained
    return {**trained, "certificate": numbers_as_json(certificate)}


def _unpack_trained(found: Any) -> dict[str, Any]:
    """Return the training record. Its certificate is what was measured then, if at all."""
    if not isinstance(found, dict):
        raise ModelFileError("the record of the training is missing")
    for name, kinds in _TRAINED.items():
        if name in found and type(found[name]) not in kinds:
            raise ModelFileError(f"{name!r} in the record of the training is of another type")
    for name, cost in found.get("costs", {}).items():
        if name not in ("cost_fp", "cost_fn") or type(cost) not in (float, int, str):
            raise ModelFileError("the costs in the record of the training are not valid")
    if not found.get("certificate"):
        return found
    stored = dict(found["certificate"])
    holds = {"holds": stored.pop("holds")} if "holds" in stored else {}
    if not all(type(value) is bool for value in holds.values()):
        raise ModelFileError("a certificate neither holds nor does not")
    certificate = unpack_certificate(stored)
    return {**found, "certificate": {name: getattr(certificate, name) for name in stored} | holds}
