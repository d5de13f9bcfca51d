"""Jobs: what a path was asked for with, and y as a file holds it."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from taupath.exceptions import ModelFileError
from taupath.paths.jobs import Job, QuantileClassification, QuantileRegression, Regularization
from taupath.paths.training_data import TrainingData
from taupath.storage.labels import pack_labels, unpack_labels
from taupath.validation import check_C, check_real

__all__ = ["JOBS", "JobFormat"]


class JobFormat(NamedTuple):
    """How a job is described.

    Attributes
    ----------
    pack, unpack : callable
        Return the description of a job, and the job that was described. C_max is described with
        the walks, and known otherwise from the last node.
    y_of : callable
        Returns y as it is stored.
    labels_of : callable
        Returns y as users give it, of stored y.
    """

    pack: Callable[[Any], dict[str, Any]]
    unpack: Callable[[dict[str, Any], Any], Job]
    y_of: Callable[[TrainingData], np.ndarray]
    labels_of: Callable[[Any, np.ndarray], np.ndarray]


def _pack_classification(job: QuantileClassification) -> dict[str, Any]:
    return {"C": job.C, "classes": pack_labels(job.classes)}


def _unpack_classification(found: dict[str, Any], C_max: Any) -> Job:
    return QuantileClassification(check_C(found.get("C")), _unpack_classes(found))


def _pack_regularization(job: Regularization) -> dict[str, Any]:
    return {"tau": job.tau, "classes": pack_labels(job.classes)}


def _unpack_regularization(found: dict[str, Any], C_max: Any) -> Job:
    tau = check_real(found.get("tau"), "tau")
    if not 0.0 < tau < 1.0:
        raise ModelFileError(f"there is no path over C at tau={tau!r}")
    return Regularization(tau, check_C(C_max, "C_max"), _unpack_classes(found))


def _unpack_classes(found: dict[str, Any]) -> np.ndarray:
    classes = unpack_labels(found.get("classes"))
    if len(classes) != 2:
        raise ModelFileError(f"a path has two classes, not {len(classes)}")
    return classes


def _pack_regression(job: QuantileRegression) -> dict[str, Any]:
    return {"C": job.C}


def _unpack_regression(found: dict[str, Any], C_max: Any) -> Job:
    return QuantileRegression(check_C(found.get("C")))


def _signs(data: TrainingData) -> np.ndarray:
    return data.sign


def _labels(job: Any, y: np.ndarray) -> np.ndarray:
    return np.asarray(job.classes[(y > 0.0).astype(int)])


JOBS = {
    QuantileClassification.kind: JobFormat(
        _pack_classification, _unpack_classification, _signs, _labels
    ),
    Regularization.kind: JobFormat(_pack_regularization, _unpack_regularization, _signs, _labels),
    QuantileRegression.kind: JobFormat(
        _pack_regression, _unpack_regression, lambda data: data.target, lambda _, y: y
    ),
}
