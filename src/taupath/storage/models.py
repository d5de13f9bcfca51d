"""Trained models: an estimator, its preparation of raw data, and results on held-out rows."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.exceptions import ModelFileError
from taupath.models.model import Model
from taupath.preparation import Preparation
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.estimators import pack_estimator, unpack_estimator
from taupath.storage.held_out import pack_held_out, unpack_held_out


def pack_model(model: Model, arrays: ArraysToWrite, data: bool | None = None) -> dict[str, Any]:
    """Return the description of a trained model; its arrays are added to `arrays`."""
    return {
        **pack_estimator(model.estimator, arrays, data),
        "preparation": model.preparation.state(),
        "trained": model.trained,
        "held_out": pack_held_out(model.held_out, arrays),
    }


def unpack_model(found: dict[str, Any], arrays: StoredArrays) -> Model:
    """Return the model of a description, whose parts must belong together."""
    estimator = unpack_estimator(found, arrays)
    preparation = Preparation.from_state(found["preparation"])
    if isinstance(estimator, FrozenClassifier):
        raise ModelFileError("a classifier of one τ has no preparation")
    held_out = unpack_held_out(found["held_out"], arrays, estimator)
    model = Model(estimator, preparation, found["trained"], held_out)
    if not isinstance(model.trained, dict):
        raise ModelFileError("the record of the training is missing")
    if model.task != preparation.task or estimator.n_features_in_ != preparation.n_features:
        raise ModelFileError("the preparation is that of another model")
    if isinstance(estimator, QuantileSVC) and not np.array_equal(
        estimator.classes_, np.arange(len(model.labels))
    ):
        raise ModelFileError("the labels are those of another model")
    if len(model.labels) == 2 and estimator.pos_label_ != 1:
        raise ModelFileError("the positive class is not the last one")
    return model
