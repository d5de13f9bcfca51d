"""Approximate and simplified paths: decision functions at nodes, with or without training data."""

from dataclasses import asdict, fields
from typing import Any

import numpy as np

from taupath.approximate.interpolation import Lines
from taupath.approximate.node import Smoothing
from taupath.approximate.path import ApproximatePath, ByFunctions, ByNodes
from taupath.approximate.training_data import AbsentSamples
from taupath.exceptions import ModelFileError
from taupath.fitting.detached import (
    DetachedClassificationPath,
    DetachedPath,
    DetachedRegressionPath,
    DetachedRegularizationPath,
)
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import Intercept
from taupath.paths.jobs import ClassificationPath, RegularizationPath
from taupath.paths.path import SolutionPath
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.labels import pack_labels, unpack_labels
from taupath.validation import LARGEST, check_C, check_choice, check_positive, check_real

__all__ = ["check_nodes", "pack_functions", "unpack_functions"]

# Samples or features, at most.
MOST = 1 << 31


def pack_functions(path: ApproximatePath, shelf: ArraysToWrite, data: bool) -> dict[str, Any]:
    """Return the description of a path with the linear kernel; its arrays are put away.

    With `data` the training data are put away as well, for paths whose θ are made from w.
    """
    samples, constant = path._samples, path._samples.constant
    w, smoothings, stated = _parts(path)
    found: dict[str, Any] = {
        "samples": int(samples.shape[0]),
        "features": int(samples.shape[1]),
        "intercept": constant.kind,
        "bias": constant.bias,
        "nodes": shelf.put("nodes", path.taus),
        "w": shelf.put("w", w),
        "smoothings": None,
        "tol": path.tol,
        "certificate": asdict(stated),
        "counters": {name: int(count) for name, count in path.counters.items()},
        "data": None,
    }
    if smoothings is not None:
        found["smoothings"] = {
            "width": shelf.put("width", np.array([each.width for each in smoothings])),
            "centre": shelf.put("centre", np.array([each.centre for each in smoothings])),
        }
    if data:
        assert isinstance(path, ByNodes)
        classes = isinstance(path, ClassificationPath)
        found["data"] = {
            "X": shelf.put_matrix("X", samples.X),
            "single": bool(samples.X.dtype == np.float32),
            "y": shelf.put("y", samples.sign if classes else path._line.target0),
            "weight": None if (path._weight == 1.0).all() else shelf.put("weight", path._weight),
        }
    if isinstance(path, ClassificationPath):
        return found | {
            "path": "functions of classification",
            "C": path.C,
            "classes": pack_labels(path.classes),
        }
    if isinstance(path, RegularizationPath):
        return found | {
            "path": "functions of regularization",
            "tau": path.tau,
            "classes": pack_labels(path.classes),
        }
    # the only kind that is left, which mypy cannot know
    return found | {"path": "functions of regression", "C": path.C}  # type: ignore[attr-defined]


def _parts(
    path: ApproximatePath,
) -> tuple[np.ndarray, list[Smoothing] | None, Certificate]:
    """Return w at the nodes, what makes θ from them, and the certificate."""
    if isinstance(path, DetachedPath):
        return path._stretches[0].w, path._smoothings, path.stated
    stated = path._certified or path.certify()
    if isinstance(path, ByFunctions):
        chords = path._stretches[0]
        # detached paths are done above, and all others have nodes with smoothings
        return chords.w, chords.smoothings, stated  # type: ignore[attr-defined]
    return path._stretches[0].sweep(0, path.n_kinks, False)[0], None, stated


def unpack_functions(found: dict[str, Any], taken: StoredArrays) -> SolutionPath:
    """Return the path that was described."""
    kind = found["path"].removeprefix("functions of ")
    n, d = found.get("samples"), found.get("features")
    if type(n) is not int or type(d) is not int or not 0 < min(n, d) <= max(n, d) < MOST:
        raise ModelFileError(f"a path cannot have {n!r} samples with {d!r} features")
    constant = _constant(found)
    nodes = taken.take(found.get("nodes"), np.float64)
    w = taken.take(found.get("w"), np.float64, len(nodes), ndim=2)
    if w.shape[1] != d + (constant.bias != 0.0) or not (np.abs(w) <= LARGEST).all():
        raise ModelFileError("the functions of a path are none of its features")
    check_nodes(nodes, 0.0, LARGEST if kind == "regularization" else 1.0)
    smoothings = _smoothings(found.get("smoothings"), taken, len(nodes))
    counters = _counters(found.get("counters"))
    lines = Lines(nodes, w, counters, constant.bias)
    given: dict[str, Any] = {
        "samples": AbsentSamples((n, d), constant),
        "lines": lines,
        "tol": check_positive(found.get("tol"), "tol"),
        "stated": _certificate(found.get("certificate")),
        "smoothings": smoothings,
    }
    path: DetachedPath
    if kind == "regression":
        path = DetachedRegressionPath(**given, C=check_C(found.get("C")))
    else:
        given["classes"] = unpack_labels(found.get("classes"))
        if len(given["classes"]) != 2:
            raise ModelFileError(f"a path has two classes, not {len(given['classes'])}")
        if kind == "classification":
            C = check_C(found.get("C"))
            path = DetachedClassificationPath(**given, C=C, lam=1.0 / (n * C))
        else:
            tau = check_real(found.get("tau"), "tau")
            if not 0.0 < tau < 1.0 or smoothings is not None:
                raise ModelFileError(f"there is no path over C at tau={tau!r}")
            path = DetachedRegularizationPath(**given, tau=tau)
    return path if found.get("data") is None else _attached(path, found["data"], taken)


def check_nodes(nodes: np.ndarray, first: float, last: float) -> None:
    """Refuse nodes that do not follow one another from `first` to `last`, or between them."""
    inside = bool(((nodes >= first) & (nodes <= last)).all())  # not true of NaN
    if not inside or len(nodes) < 2 or (np.diff(nodes) <= 0.0).any():
        raise ModelFileError("the nodes of a path are not in order")


def _attached(path: DetachedPath, found: Any, taken: StoredArrays) -> SolutionPath:
    """Return the path with the data of the file."""
    if not isinstance(found, dict) or path._smoothings is None:
        raise ModelFileError("the data of a path are not described")
    single, n = found.get("single"), path._samples.shape[0]
    X = taken.take_matrix(found.get("X"), np.float32 if single is True else np.float64)
    y, weight = taken.take(found.get("y"), np.float64, n), found.get("weight")
    if isinstance(path, DetachedClassificationPath):
        y = path.classes[(y > 0.0).astype(int)]
    return path.attach(X, y, None if weight is None else taken.take(weight, np.float64, n))


def _constant(found: dict[str, Any]) -> Intercept:
    kind = check_choice(found.get("intercept"), "intercept", ("augmented", "free", "none"))
    bias = check_real(found.get("bias"), "bias")
    if kind == "free":
        return Intercept(check_positive(bias, "bias"), free=True)
    if bias != (kind == "augmented"):
        raise ModelFileError(f"the intercept of a path cannot be {bias!r}")
    return Intercept(bias)


def _smoothings(found: Any, taken: StoredArrays, n_nodes: int) -> list[Smoothing] | None:
    if found is None:
        return None
    width = taken.take(found.get("width"), np.float64, n_nodes)
    centre = taken.take(found.get("centre"), np.float64, n_nodes, ndim=2)
    finite = (np.abs(centre) <= LARGEST).all() and (width < np.inf).all()
    if centre.shape[1] != 2 or not finite or not (width > 0.0).all():
        raise ModelFileError("what makes the dual side of a path is not there")
    return [Smoothing(float(each), both) for each, both in zip(width, centre, strict=True)]


def _certificate(found: Any) -> Certificate:
    names = {field.name for field in fields(Certificate)}
    if not isinstance(found, dict) or set(found) != names:
        raise ModelFileError("the certificate of a path is missing")
    kinds = {"complete": bool, "continuum": bool, "n_checked": int}
    right = all(type(value) is kinds.get(name, float) for name, value in found.items())
    if not right:
        raise ModelFileError("the certificate of a path is none")
    return Certificate(**found)


def _counters(found: Any) -> dict[str, int]:
    if not isinstance(found, dict) or not all(
        type(count) is int and 0 <= count < 1 << 63 for count in found.values()
    ):
        raise ModelFileError("the counters of a path do not count")
    return dict(found)
