"""Jobs, which say what a path solves, and the training samples of paths."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.exceptions import ModelFileError
from taupath.paths.frontiers import Fairness, Sparsity
from taupath.paths.jobs import (
    Job,
    QuantileClassification,
    QuantileRegression,
    Regularization,
    label_responses,
)
from taupath.paths.training_data import Responses
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.budget import PER_SAMPLE, Budget
from taupath.storage.labels import pack_labels, unpack_classes
from taupath.validation import check_C, check_positive, check_real


def pack_job(job: Job) -> dict[str, Any]:
    """Return the description of a job without C_max: callers store it, or it is the last node."""
    names = ("C", "tau", "l1_max", "rho_max")
    found = {name: getattr(job, name) for name in names if hasattr(job, name)}
    return found if job.classes is None else found | {"classes": pack_labels(job.classes)}


def pack_samples(data: Any, arrays: ArraysToWrite) -> dict[str, Any]:
    """Return the description of training samples; y holds signs if there are classes."""
    return {
        "X": arrays.put_matrix("X", data.X),
        "y": arrays.put("y", data.response),
        "weight": None if (data.weight == 1.0).all() else arrays.put("weight", data.weight),
    }


def unpack_responses(found: dict[str, Any], arrays: StoredArrays, job: Job, n: int) -> Responses:
    """Return signs, targets and weights of n samples."""
    arrays.budget.take(PER_SAMPLE * n, "the samples of a path")
    y, weight = arrays.take(found.get("y"), np.float64, n), found.get("weight")
    if weight is not None:
        weight = arrays.take(weight, np.float64, n)
    if job.classes is None:
        return job.responses(y, n, weight)
    if not (np.abs(y) == 1.0).all():
        raise ModelFileError("the sign of a sample is neither 1 nor -1")
    return label_responses(y > 0.0, n, weight)[1]  # labels could be long


def _regularization(found: dict[str, Any], C_max: Any, budget: Budget) -> Job:
    return Regularization(_tau(found), check_C(C_max, "C_max"), _classes(found, budget))


def _fixed(found: dict[str, Any], budget: Budget) -> tuple[float, float, np.ndarray]:
    """Return what a path over a parameter of extra rows has fixed: τ, C and the classes."""
    return _tau(found), check_C(found.get("C")), _classes(found, budget)


def _tau(found: dict[str, Any]) -> float:
    tau = check_real(found.get("tau"), "tau")
    if not 0.0 < tau < 1.0:
        raise ModelFileError(f"there is no path at tau={tau!r}")
    return tau


def _classes(found: dict[str, Any], budget: Budget) -> np.ndarray:
    classes = unpack_classes(found.get("classes"), budget)
    if len(classes) != 2:
        raise ModelFileError(f"a path has two classes, not {len(classes)}")
    return classes


# Each kind of job from its description and C_max.
JOBS: dict[str, Callable[[dict[str, Any], Any, Budget], Job]] = {
    QuantileClassification.kind: lambda found, _, budget: QuantileClassification(
        check_C(found.get("C")), _classes(found, budget)
    ),
    Regularization.kind: _regularization,
    QuantileRegression.kind: lambda found, *_: QuantileRegression(check_C(found.get("C"))),
}
# And those of exact paths over a parameter of extra rows.
FRONTIERS: dict[str, Callable[[dict[str, Any], Any, Budget], Job]] = {
    Sparsity.kind: lambda found, _, budget: Sparsity(
        *_fixed(found, budget), check_positive(found.get("l1_max"), "l1_max")
    ),
    Fairness.kind: lambda found, _, budget: Fairness(
        *_fixed(found, budget), check_positive(found.get("rho_max"), "rho_max")
    ),
}
