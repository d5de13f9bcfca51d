"""Classifiers of one τ: their coefficients, or their kernel with its support vectors."""

from typing import Any

import numpy as np

from taupath.estimators.costs import check_tau
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.exceptions import ModelFileError
from taupath.paths.kernels import make_kernel
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.kernels import pack_kernel
from taupath.storage.labels import pack_labels, unpack_classes, unpack_positive
from taupath.validation import MAX_ROWS, check_real


def pack_frozen(
    model: FrozenClassifier, arrays: ArraysToWrite, data: bool | None = None
) -> dict[str, Any]:
    """Return the description of a classifier of one τ; its arrays are added to `arrays`.

    `data` makes no difference: of the training data, it holds just the support vectors.
    """
    found: dict[str, Any] = {
        "tau": float(model.tau),
        "classes": pack_labels(model.classes_),
        "positive": model.classes_.tolist().index(model.pos_label_),
        "intercept": float(model.intercept_[0]),
    }
    kernel = model._kernel
    found |= pack_kernel(kernel)
    if kernel is None:
        return found | {"coef": arrays.put("coef", model.coef_[0])}
    return found | {
        "support": arrays.put("support", model.support_.astype(np.int64)),
        "dual_coef": arrays.put("dual_coef", model.dual_coef_[0]),
        "support_vectors": None
        if kernel.precomputed or not len(model.support_)
        else arrays.put_matrix("support_vectors", model.support_vectors_),
    }


def unpack_frozen(found: dict[str, Any], arrays: StoredArrays) -> FrozenClassifier:
    """Return the classifier of a description; the caller names its features."""
    classes = unpack_classes(found.get("classes"), arrays.budget)
    n_features = found.get("n_features")
    if len(classes) != 2 or type(n_features) is not int or not 0 < n_features <= MAX_ROWS:
        raise ModelFileError("a classifier of one τ has two classes and some features")
    positive = unpack_positive(found, classes)
    about = (check_tau(found.get("tau")), classes, positive, n_features, None)
    intercept = check_real(found.get("intercept"), "intercept")
    name = found.get("kernel")
    if not isinstance(name, str):
        raise ModelFileError("the kernel is missing")
    if name == "linear":
        coef = arrays.take(found.get("coef"), np.float64, n_features)
        _check_finite(intercept, coef)
        return FrozenClassifier._made(*about, intercept, coef=coef)
    support = arrays.take(found.get("support"), np.int64)
    dual_coef = arrays.take(found.get("dual_coef"), np.float64, len(support))
    _check_finite(intercept, dual_coef)
    if (support < 0).any() or not grows(support, strictly=True):
        raise ModelFileError("the support vectors are not in order")
    if name == "precomputed":
        vectors = None
        if len(support) and support[-1] >= n_features:
            raise ModelFileError("some support vectors are not among the training samples")
    elif len(support):
        vectors = arrays.take_features(found.get("support_vectors")).features
        if vectors.shape != (len(support), n_features):
            raise ModelFileError("the support vectors have another shape than they should")
    else:
        vectors = np.zeros((0, n_features))
    gamma, degree, coef0 = (found.get(key) for key in ("gamma", "degree", "coef0"))
    kernel = make_kernel(name, check_real(gamma, "gamma"), degree, coef0, vectors)
    return FrozenClassifier._made(
        *about,
        intercept,
        kernel=kernel,
        support=support,
        support_vectors=vectors,
        dual_coef=dual_coef,
    )


def _check_finite(intercept: float, coef: np.ndarray) -> None:
    if not (np.isfinite(intercept) and np.isfinite(coef).all()):
        raise ModelFileError("the coefficients are not all finite")
