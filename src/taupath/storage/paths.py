"""Paths: their training data, what they were asked for with, and their records."""

import warnings
from itertools import pairwise
from typing import Any

import numpy as np

from taupath.approximate.path import ApproximatePath
from taupath.approximate.simplify import Simplified, simplified
from taupath.engine.solver import Record
from taupath.exceptions import IndefiniteKernelWarning, ModelFileError
from taupath.fitting.classification import TwoClasses
from taupath.fitting.detached import DetachedPath
from taupath.fitting.regression import Responses
from taupath.paths.jobs import ClassificationPath, RegressionPath, RegularizationPath
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import MEGABYTE, KernelSamples, Samples
from taupath.paths.walked import Stretch
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.labels import pack_labels, unpack_labels
from taupath.storage.nodes import check_nodes, pack_functions, unpack_functions
from taupath.storage.records import pack_record, unpack_record
from taupath.validation import check_C, check_positive, check_range, check_real

__all__ = ["pack_path", "unpack_path"]

# Whether the walks of a path went backward: one thread, two from the ends, two with one from the
# middle, and the last with the ends of the path exchanged.
WAYS = [
    [False],
    [False, True],
    [False, False],
    [False, True, False],
    [True, True],
    [True, False, True],
]
KINDS = ("classification", "regularization", "regression")
FUNCTIONS = tuple(f"functions of {kind}" for kind in KINDS)
# Megabytes for a kernel matrix that a file can ask for.
LARGEST_CACHE = 2000.0


def pack_path(path: SolutionPath, shelf: ArraysToWrite, data: bool | None = None) -> dict[str, Any]:
    """Return the description of a path; its arrays are put away.

    `data` tells whether to put the training data away, too; None: where nothing can be predicted
    without.
    """
    by_kernel = isinstance(path._samples, KernelSamples)
    if data is False and (by_kernel or path.method == "exact"):
        why = (
            "with a kernel, functions are made of training samples; of two classes, "
            "`QuantileSVC.at` keeps those of one τ"
            if by_kernel
            else "solutions of an exact path are computed from them; store path.simplify(tol) "
            "without them"
        )
        raise ValueError(f"data=False: this path needs its training data: {why}")
    if not isinstance(path, ApproximatePath):
        return _pack_exact(path, shelf)
    if data and isinstance(path, DetachedPath):
        raise ValueError("data=True: this path has no training data; use path.attach(X, y) first")
    if isinstance(path, Simplified) and (by_kernel or data):
        nodes = {"nodes": shelf.put("nodes", path.taus), "tol": path.tol}
        return _pack_exact(path._stretches[0].source, shelf, path.taus) | nodes
    return pack_functions(path, shelf, bool(data))


def _pack_exact(
    path: SolutionPath, shelf: ArraysToWrite, nodes: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the description of an exact path, or of its index sets at some nodes only."""
    samples = path._samples

    def record(stretch: Stretch) -> dict[str, Any]:
        if nodes is None:
            return pack_record(stretch.record, shelf)
        begin, end = stretch.kinks[0], stretch.kinks[-1]
        return pack_record(stretch.thinned(nodes[(nodes >= begin) & (nodes <= end)]), shelf)

    found: dict[str, Any] = {
        "X": shelf.put_matrix("X", samples.X),
        "weight": None if (path._weight == 1.0).all() else shelf.put("weight", path._weight),
        "intercept": samples.constant.kind,
        **_kernel(samples),
    }
    stretches = [stretch for stretch in path._stretches if isinstance(stretch, Stretch)]
    if isinstance(path, RegressionPath):
        found |= {
            "path": "regression",
            "y": shelf.put("y", path._line.target0),
            "C": path.C,
            "range": path.tau_range,
            "unit": stretches[0].unit if stretches else None,
            "walks": [
                {
                    "turned": stretch.turned,
                    "rise": stretch.rise,
                    "record": record(stretch),
                }
                for stretch in stretches
            ],
        }
        return found
    assert isinstance(path, (ClassificationPath, RegularizationPath))
    found |= {
        "y": shelf.put("y", samples.sign),
        "classes": pack_labels(path.classes),
        "walks": [
            {"backward": stretch.backward, "record": record(stretch)} for stretch in stretches
        ],
    }
    if isinstance(path, ClassificationPath):
        return found | {"path": "classification", "C": path.C}
    return found | {"path": "regularization", "tau": path.tau, "C_max": stretches[0].scale}


def unpack_path(found: Any, taken: StoredArrays) -> SolutionPath:
    """Return the path that was described."""
    if not isinstance(found, dict):
        raise ModelFileError("a path is not described")
    kind = found.get("path")
    if kind in FUNCTIONS:
        return unpack_functions(found, taken)
    if kind not in KINDS:
        raise ModelFileError(f"it holds a path of an unknown kind, {kind!r}")
    path = _unpack_exact(found, taken, kind)
    if "nodes" not in found:
        return path
    nodes = taken.take(found["nodes"], np.float64)
    check_nodes(nodes, *path.tau_range)
    if (nodes[0], nodes[-1]) != path.tau_range:
        raise ModelFileError("the nodes of a path do not reach its ends")
    return simplified(path, nodes, check_positive(found.get("tol"), "tol"))


def _unpack_exact(found: dict[str, Any], taken: StoredArrays, kind: str) -> SolutionPath:
    """Return the exact path that was described."""
    arguments = _arguments(found, taken)
    with warnings.catch_warnings():  # whoever trained it was warned
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        if kind == "regression":
            return _unpack_regression(found, taken, Responses(**arguments))
        data = TwoClasses(**arguments)
    walks = _unpack_walks(found, taken, data.samples)
    classes = unpack_labels(found.get("classes"))
    if len(classes) != 2:
        raise ModelFileError(f"a path has two classes, not {len(classes)}")
    data.classes = classes
    if kind == "classification":
        return data.quantile_path(check_C(found.get("C")), lambda _: walks)
    tau = check_real(found.get("tau"), "tau")
    record = walks[0][1]
    whole = [(walk[0], walk[1].begin, walk[1].end) for walk in walks] == [(False, 0.0, 1.0)]
    if not 0.0 < tau < 1.0 or not whole:
        raise ModelFileError(f"there is no path over C at tau={tau!r}")
    return data.regularization_path(tau, check_C(found.get("C_max"), "C_max"), lambda _: record)


def _unpack_walks(
    found: dict[str, Any], taken: StoredArrays, samples: Samples
) -> list[tuple[bool, Record]]:
    """Return walks that follow one another on the path."""
    walks: list[tuple[bool, Record]] = []
    for walk in found.get("walks") or ():
        backward = walk.get("backward")
        record = unpack_record(walk.get("record"), taken, *_sizes(samples))
        walks.append((backward, record))
    if [backward for backward, _ in walks] not in WAYS:
        raise ModelFileError("a path is not walked like this")
    ends = [_ends(*walk) for walk in walks]
    if any(one[1] != other[0] for one, other in pairwise(ends)):
        raise ModelFileError("the walks of a path do not meet")
    return walks


def _ends(backward: bool, record: Record) -> tuple[float, float]:
    """Return where a walk begins and ends, in terms of its path."""
    return (1.0 - record.end, 1.0 - record.begin) if backward else (record.begin, record.end)


def _unpack_regression(
    found: dict[str, Any], taken: StoredArrays, data: Responses
) -> RegressionPath:
    begin, end = check_range(found.get("range"))
    if data.rest(begin, end) is not None:
        return data.path(check_C(found.get("C")), data.unit, begin, end, [])
    walked: list[tuple[bool, float, Record]] = []
    at = begin
    for walk in found.get("walks") or ():
        turned, rise = walk.get("turned"), check_real(walk.get("rise"), "rise")
        record = unpack_record(walk.get("record"), taken, *_sizes(data.samples))
        first, last = (record.begin, record.end) if turned else (1 - record.end, 1 - record.begin)
        if type(turned) is not bool or not 0.0 < rise <= 1.0 or first != at:
            raise ModelFileError("the walks of a path do not fit together")
        walked.append((turned, rise, record))
        at = last
    if at != end:
        raise ModelFileError("the walks of a path do not reach its end")
    return data.path(
        check_C(found.get("C")), check_C(found.get("unit"), "unit"), begin, end, walked
    )


def _arguments(found: dict[str, Any], taken: StoredArrays) -> dict[str, Any]:
    """Return X, y, weights, kernel and intercept, as a path is asked for."""
    X = taken.take_matrix(found.get("X"))
    n = X.shape[0]
    weight = found.get("weight")
    kernel = found.get("kernel")
    if not isinstance(kernel, str) or not isinstance(found.get("intercept"), str):
        raise ModelFileError("kernel and intercept are missing")
    return {
        "X": X,
        "y": taken.take(found.get("y"), np.float64, n),
        "sample_weight": None if weight is None else taken.take(weight, np.float64, n),
        "kernel": kernel,
        "gamma": found.get("gamma", 1.0),
        "degree": found.get("degree", 3),
        "coef0": found.get("coef0", 0.0),
        "intercept": found["intercept"],
        "cache_size": min(check_real(found.get("cache_size", 1.0), "cache_size"), LARGEST_CACHE),
    }


def _sizes(samples: Samples) -> tuple[int, int]:
    """Return the number of points, and how many can be free at a time."""
    n_samples, n_features = samples.shape
    by_kernel = isinstance(samples, KernelSamples)
    return n_samples, n_samples if by_kernel else min(n_samples, n_features + 1)


def _kernel(samples: Samples) -> dict[str, Any]:
    if not isinstance(samples, KernelSamples):
        return {"kernel": "linear"}
    kernel = samples.kernel
    if callable(kernel.function):
        raise ValueError(
            "a kernel that is a Python function cannot be stored in a model file, which holds no "
            'code; use kernel="precomputed", or pickle the path'
        )
    return {
        "kernel": kernel.function,
        "gamma": float(kernel.gamma),
        "degree": float(kernel.degree),
        "coef0": float(kernel.coef0),
        "cache_size": samples.budget / MEGABYTE,
    }
