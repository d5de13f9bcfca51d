"""Approximate and simplified paths: decision functions at nodes, with or without training data."""

from typing import Any

import numpy as np

from taupath.approximate.interpolation import DualNodeList, Interpolation
from taupath.approximate.node import Smoothing
from taupath.approximate.simplify import AtKinks
from taupath.approximate.solutions import AtNodes
from taupath.approximate.training_data import AbsentData
from taupath.choices import INTERCEPTS
from taupath.cluster.solutions import OnCluster
from taupath.exceptions import ModelFileError
from taupath.fitting.detached import FunctionsOnly
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import Intercept
from taupath.paths.jobs import Regularization
from taupath.paths.solutions import Solutions
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.certificates import pack_certificate, unpack_certificate
from taupath.storage.jobs import JOBS, pack_job, pack_samples, unpack_responses
from taupath.storage.records import unpack_counters
from taupath.validation import LARGEST, MAX_ROWS, check_choice, check_positive, check_real

# The kind of a path of functions at nodes is this and the kind of its job.
FUNCTIONS = "functions of "


def pack_nodes(solutions: AtNodes, arrays: ArraysToWrite, data: bool | None) -> dict[str, Any]:
    """Return the description of nodes that were solved for, with training data if asked for."""
    nodes, kept = solutions.functions, solutions.data
    if isinstance(nodes, DualNodeList):
        found = _pack(solutions, arrays, nodes.w, None, solutions.certificate, nodes.fractions)
    else:
        found = _pack(solutions, arrays, nodes.w, nodes.smoothings, solutions.certificate)
    if data:
        single = bool(kept.X.dtype == np.float32)
        found["data"] = pack_samples(kept, arrays) | {"single": single}
    return found


def pack_on_cluster(
    solutions: OnCluster, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    """Return the description of nodes that were solved for on a cluster, where the rows stay."""
    if data:
        raise ValueError("data=True: the rows of this path are on a cluster, not here")
    nodes = solutions.functions
    return _pack(solutions, arrays, nodes.w, nodes.smoothings, solutions.certificate)


def pack_kinks(solutions: AtKinks, arrays: ArraysToWrite) -> dict[str, Any]:
    """Return the description of a simplified path with the linear kernel, without its data."""
    w = solutions.sweep(0, len(solutions.kinks), False).w
    assert w is not None
    return _pack(solutions, arrays, w, None, solutions.certificate)


def pack_detached(
    solutions: FunctionsOnly, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    """Return the description of a path that came without training data."""
    if data:
        raise ValueError("data=True: this path has no training data; use path.attach(X, y) first")
    w, stated = solutions.functions.w, solutions.stated
    return _pack(solutions, arrays, w, solutions.smoothings, stated, solutions.fractions)


def _pack(
    solutions: Solutions,
    arrays: ArraysToWrite,
    w: np.ndarray,
    smoothings: list[Smoothing] | None,
    stated: Certificate,
    fractions: np.ndarray | None = None,
) -> dict[str, Any]:
    job, constant = solutions.job, solutions.data.constant
    n_samples, n_features = solutions.data.shape
    found: dict[str, Any] = {
        "path": FUNCTIONS + job.kind,
        **pack_job(job),
        "samples": int(n_samples),
        "features": int(n_features),
        "intercept": constant.kind,
        "bias": constant.bias,
        "nodes": arrays.put("nodes", solutions.kinks),
        "w": arrays.put("w", w),
        "smoothings": None,
        "tol": solutions.tol,
        "certificate": pack_certificate(stated),
        "counters": {name: int(count) for name, count in solutions.counters.items()},
        "data": None,
    }
    if fractions is not None:
        found["fractions"] = arrays.put("fractions", fractions)
    if smoothings is not None:
        found["smoothings"] = {
            "width": arrays.put("width", np.array([each.width for each in smoothings])),
            "centre": arrays.put("centre", np.array([each.centre for each in smoothings])),
        }
    return found


def unpack_functions(found: dict[str, Any], arrays: StoredArrays, kind: str) -> Solutions:
    """Return the solutions of a description, for a job of this kind."""
    n, d = found.get("samples"), found.get("features")
    if type(n) is not int or type(d) is not int or not 0 < min(n, d) <= max(n, d) <= MAX_ROWS:
        raise ModelFileError(f"a path cannot have {n!r:.60} samples with {d!r:.60} features")
    constant = _constant(found)
    nodes = arrays.take(found.get("nodes"), np.float64)
    w = arrays.take(found.get("w"), np.float64, len(nodes), ndim=2)
    if w.shape[1] != d + (constant.bias != 0.0) or not (np.abs(w) <= LARGEST).all():
        raise ModelFileError("the functions of a path do not fit its features")
    over_C = kind == Regularization.kind
    check_nodes(nodes, 0.0, LARGEST if over_C else 1.0)
    smoothings = _smoothings(found.get("smoothings"), arrays, len(nodes))
    fractions = None
    if found.get("fractions") is not None:
        fractions = arrays.take(found["fractions"], np.float64, len(nodes), ndim=2)
        within = ((fractions >= 0.0) & (fractions <= 1.0)).all()  # not true of NaN
        if fractions.shape[1] != n or not within or constant.free or smoothings is not None:
            raise ModelFileError("the dual solutions at the nodes are missing or out of range")
    if over_C and (smoothings is not None or fractions is not None):
        raise ModelFileError("a path over C is not solved at nodes")
    solutions = FunctionsOnly(
        JOBS[kind](found, float(nodes[-1]), arrays.budget),
        AbsentData((n, d), constant),
        Interpolation(nodes, w, constant.bias),
        unpack_counters(found.get("counters")),
        check_positive(found.get("tol"), "tol"),
        unpack_certificate(found.get("certificate")),
        smoothings,
        fractions,
    )
    return solutions if found.get("data") is None else _attached(solutions, found["data"], arrays)


def check_nodes(nodes: np.ndarray, first: float, last: float) -> None:
    """Refuse nodes that do not follow one another from `first` to `last`, or between them."""
    inside = bool(((nodes >= first) & (nodes <= last)).all())  # not true of NaN
    if not inside or len(nodes) < 2 or not grows(nodes, strictly=True):
        raise ModelFileError("the nodes of a path are not in order")


def _attached(solutions: FunctionsOnly, found: Any, arrays: StoredArrays) -> Solutions:
    """Return the solutions with the data of the file."""
    if not isinstance(found, dict) or not solutions.solved_for:
        raise ModelFileError("the description of the data of a path is missing")
    single = found.get("single") is True
    X = arrays.take_features(found.get("X"), single)
    n = solutions.data.shape[0]
    if X.shape[0] != n:
        raise ModelFileError(f"there are {X.shape[0]} samples where there should be {n}")
    return solutions.with_data(X, unpack_responses(found, arrays, solutions.job, n))


def _constant(found: dict[str, Any]) -> Intercept:
    kind = check_choice(found.get("intercept"), "intercept", INTERCEPTS)
    bias = check_real(found.get("bias"), "bias")
    if kind == "free":
        return Intercept(check_positive(bias, "bias"), free=True)
    if bias != (kind == "augmented"):
        raise ModelFileError(f"the intercept of a path cannot be {bias!r}")
    return Intercept(bias)


def _smoothings(found: Any, arrays: StoredArrays, n_nodes: int) -> list[Smoothing] | None:
    if found is None:
        return None
    width = arrays.take(found.get("width"), np.float64, n_nodes)
    centre = arrays.take(found.get("centre"), np.float64, n_nodes, ndim=2)
    finite = (np.abs(centre) <= LARGEST).all() and (width < np.inf).all()
    if centre.shape[1] != 2 or not finite or not (width > 0.0).all():
        raise ModelFileError("the smoothing of the loss at the nodes is missing or out of range")
    return [Smoothing(float(each), both) for each, both in zip(width, centre, strict=True)]
