"""Approximate paths with a kernel: solutions at nodes, all training samples or support vectors."""

from dataclasses import replace
from typing import Any

import numpy as np

from taupath.approximate.kernel_solutions import AtKernelNodes, KernelNodes
from taupath.approximate.support_vectors import SupportVectors
from taupath.exceptions import ModelFileError
from taupath.fitting.support_only import SupportOnly, with_kernel_data
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import Intercept, fixed_intercept
from taupath.paths.jobs import Regularization
from taupath.paths.kernel_data import MEGABYTE, KernelData
from taupath.paths.kernels import make_kernel
from taupath.paths.options import make_training_data
from taupath.paths.path import SolutionPath
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import Responses
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.storage.budget import PER_SAMPLE
from taupath.storage.certificates import pack_certificate, unpack_certificate
from taupath.storage.jobs import JOBS, pack_job, pack_samples, unpack_responses
from taupath.storage.kernels import pack_kernel, unpack_kernel, with_cache
from taupath.storage.nodes import check_nodes
from taupath.storage.records import unpack_counters
from taupath.validation import LARGEST, MAX_ROWS, check_positive

# The kind of a path of solutions at nodes with a kernel is this and the kind of its job.
KERNEL_NODES = "kernel nodes of "
# Samples that no solution needs are left out of a file if at most this share of all is needed. If
# it is more, the file is hardly smaller without the others, and with them it can be certified.
FEW_SUPPORT = 0.9
# θ and β that occur most often in their class at a node are stored as one of two values; the others
# are marked with this, and listed.
OTHER = 2
_NEEDS_SUPPORT = (
    "data=False: this path needs some of its training samples, since with a kernel functions are "
    "sums over support vectors; leave data=False out to store as few as will do"
)


def holds_support_only(path: SolutionPath) -> bool:
    """Return whether the file of a path has its support vectors, but not all training data."""
    solutions = path.solutions
    if isinstance(solutions, SupportOnly):
        return True
    if not isinstance(solutions, AtKernelNodes):
        return False
    return bool(_needed(solutions).mean() <= FEW_SUPPORT)


def _needed(solutions: AtKernelNodes) -> np.ndarray:
    """Return which distinct samples a solution at some node needs."""
    kept = solutions.kept
    return np.asarray((kept.theta != 0.0).any(axis=0) | (kept.beta != 0.0).any(axis=0))


def pack_kernel_nodes(
    solutions: AtKernelNodes, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    """Return the description of nodes that were solved for with a kernel."""
    kept, own = solutions.kept, solutions.data
    distinct = own.distinct
    assert isinstance(distinct, KernelData)
    needed = _needed(solutions)
    if data is False and not own.kernel.precomputed:
        raise ValueError(_NEEDS_SUPPORT)
    if data or (data is None and needed.mean() > FEW_SUPPORT):
        found = _pack(solutions, kept, distinct.responses, arrays, solutions.certificate)
        found |= pack_samples(own, arrays) | {"cache_size": solutions.budget / MEGABYTE}
        return found | ({} if distinct is own else {"distinct": distinct.shape[0]})
    places, some = own.places[needed], Responses(*(each[needed] for each in distinct.responses))
    fewer = replace(kept, theta=kept.theta[:, needed], beta=kept.beta[:, needed])
    X = None if own.kernel.precomputed else distinct.X[needed]
    found = _pack(solutions, fewer, some, arrays, solutions.certificate)
    return found | _pack_support(X, places, some, arrays)


def pack_support_only(
    solutions: SupportOnly, arrays: ArraysToWrite, data: bool | None
) -> dict[str, Any]:
    """Return the description of a path that came without most of its training data."""
    if data:
        raise ValueError("data=True: this path has no training data; use path.attach(X, y) first")
    own = solutions.data
    if data is False and not own.kernel.precomputed:
        raise ValueError(_NEEDS_SUPPORT)
    found = _pack(solutions, solutions.kept, own.responses, arrays, solutions.stated)
    X = None if own.kernel.precomputed else own.X
    return found | _pack_support(X, own.support, own.responses, arrays)


def _pack(
    solutions: AtKernelNodes,
    kept: KernelNodes,
    responses: Responses,
    arrays: ArraysToWrite,
    stated: Certificate,
) -> dict[str, Any]:
    job, data = solutions.job, solutions.data
    n_samples, n_features = data.shape
    return {
        "path": KERNEL_NODES + job.kind,
        **pack_job(job),
        **pack_kernel(data.kernel),
        "samples": int(n_samples),
        "features": int(n_features),
        "intercept": data.constant.kind,
        "nodes": arrays.put("nodes", kept.taus),
        "intercepts": arrays.put("intercepts", kept.intercept),
        "travel": arrays.put("travel", kept.travel),
        "theta": _pack_values("theta", kept.theta, responses, arrays),
        "beta": _pack_values("beta", kept.beta, responses, arrays),
        "tol": solutions.tol,
        "certificate": pack_certificate(stated),
        "counters": {name: int(count) for name, count in solutions.counters.items()},
        "data": None,
    }


def _pack_support(
    X: Any, support: np.ndarray, responses: Responses, arrays: ArraysToWrite
) -> dict[str, Any]:
    weight = responses.weight
    return {
        "support": arrays.put("support", support.astype(np.int64)),
        "support_vectors": None if X is None else arrays.put_matrix("support_vectors", X),
        "sign": arrays.put("sign", responses.sign),
        "weight": None if (weight == 1.0).all() else arrays.put("weight", weight),
    }


def _pack_values(
    name: str, values: np.ndarray, responses: Responses, arrays: ArraysToWrite
) -> dict[str, Any]:
    """Return the description of numbers for each node and sample, most of which are bounds.

    At a bound, all samples of a class have the same value for a unit of weight. Of each class at
    each node the two most frequent values are stored; whatever they do not give bit for bit is
    listed.
    """
    weight, own_class = responses.weight, _classes(responses.sign)
    present = weight > 0.0
    common = np.zeros((len(values), 2, 2))
    which = np.full(values.shape, OTHER, dtype=np.int8)
    for row, found, marks in zip(values, common, which, strict=True):
        for k in (0, 1):
            own = present & (own_class == k)
            units, counts = np.unique(row[own] / weight[own], return_counts=True)
            most = units[np.argsort(-counts, kind="stable")[:2]]
            found[k, : len(most)] = most
        for choice in (1, 0):
            marks[weight * found[own_class, choice] == row] = choice
    return {
        "common": arrays.put(f"{name}_common", common.reshape(len(values), 4)),
        "which": arrays.put(f"{name}_which", which),
        "others": arrays.put(f"{name}_others", values[which == OTHER]),
    }


def _classes(sign: np.ndarray) -> np.ndarray:
    """Return 0 for each positive sample and 1 for each negative one."""
    return (sign < 0.0).astype(np.intp)


# -- reading ---------------------------------------------------------------------------------------


def unpack_kernel_nodes(found: dict[str, Any], arrays: StoredArrays, kind: str) -> Solutions:
    """Return the solutions of a description, for a job of this kind."""
    if kind == Regularization.kind:
        raise ModelFileError("a path over C is not solved at nodes")
    job = JOBS[kind](found, None, arrays.budget)
    counters, tol = unpack_counters(found.get("counters")), check_positive(found.get("tol"), "tol")
    stated = unpack_certificate(found.get("certificate"))
    if found.get("kernel") == "linear":
        raise ModelFileError("nodes with the linear kernel are stored in another way")
    if "support" in found:
        data = _unpack_support(found, arrays)
        kept = _unpack_nodes(found, arrays, data.responses)
        return SupportOnly(job, data, kept, counters, tol, stated)
    X = arrays.take_features(found.get("X")).features
    options = with_cache(unpack_kernel(found, X), found, X, arrays.budget)
    responses = unpack_responses(found, arrays, job, X.shape[0])
    distinct = found.get("distinct")
    own = make_training_data(X, responses, options, known=True, merge=distinct is not None)
    if distinct not in (None, own.distinct.shape[0]):
        raise ModelFileError(f"the samples of a path are not {distinct!r:.60} different ones")
    if (found.get("samples"), found.get("features")) != own.shape:
        raise ModelFileError("a path has other samples or features than it says")
    kept = _unpack_nodes(found, arrays, own.distinct.responses)
    # to certify, the kernel matrix is multiplied with all nodes at once
    arrays.budget.read(3.0 * (kept.theta.nbytes + kept.beta.nbytes), "products with all nodes")
    budget = MEGABYTE * options.cache_size
    return with_kernel_data(job, own, kept, counters, tol, budget)


def _unpack_support(found: dict[str, Any], arrays: StoredArrays) -> SupportVectors:
    """Return the support vectors of a path."""
    n, d = found.get("samples"), found.get("features")
    if type(n) is not int or type(d) is not int or not 0 < min(n, d) <= max(n, d) <= MAX_ROWS:
        raise ModelFileError(f"a path cannot have {n!r:.60} samples with {d!r:.60} features")
    support = arrays.take(found.get("support"), np.int64)
    m = len(support)
    if m and (support[0] < 0 or support[-1] >= n or not grows(support, strictly=True)):
        raise ModelFileError("the support vectors are not in order")
    precomputed, X = found.get("kernel") == "precomputed", np.zeros((0, d))
    if precomputed and n != d:
        raise ModelFileError("a kernel matrix of training samples is not square")
    if m and not precomputed:
        X = arrays.take_features(found.get("support_vectors")).features
        if X.shape != (m, d):
            raise ModelFileError("the support vectors have another shape than they should")
    arrays.budget.take(PER_SAMPLE * m, "the support vectors of a path")
    sign, weight = arrays.take(found.get("sign"), np.float64, m), np.ones(m)
    if found.get("weight") is not None:
        weight = arrays.take(found["weight"], np.float64, m)
    if not (np.abs(sign) == 1.0).all() or not ((weight >= 0.0) & (weight <= LARGEST)).all():
        raise ModelFileError("the signs or weights of support vectors are out of range")
    options = unpack_kernel(found, X)
    kernel = make_kernel(options.kernel, options.gamma, options.degree, options.coef0, X)
    assert kernel is not None
    constant = fixed_intercept(options.intercept) or Intercept(1.0, free=True)
    return SupportVectors(X, support, (n, d), Responses(sign, sign, weight), constant, kernel)


def _unpack_nodes(found: dict[str, Any], arrays: StoredArrays, responses: Responses) -> KernelNodes:
    """Return what is kept of the nodes, of samples with these responses."""
    nodes = arrays.take(found.get("nodes"), np.float64)
    check_nodes(nodes, 0.0, 1.0)
    intercept = arrays.take(found.get("intercepts"), np.float64, len(nodes))
    travel = arrays.take(found.get("travel"), np.float64, len(nodes) - 1)
    if not (np.abs(intercept) <= LARGEST).all() or not ((travel >= 0.0) & (travel < np.inf)).all():
        raise ModelFileError("the intercepts at nodes are out of range")
    theta, beta = (
        _unpack_values(found.get(name), arrays, len(nodes), responses) for name in ("theta", "beta")
    )
    return KernelNodes(nodes, theta, beta, intercept, travel)


def _unpack_values(
    found: Any, arrays: StoredArrays, n_nodes: int, responses: Responses
) -> np.ndarray:
    """Return a number for each node and each of the samples with these responses."""
    if not isinstance(found, dict):
        raise ModelFileError("the description of the solutions at nodes is missing")
    common = arrays.take(found.get("common"), np.float64, n_nodes, ndim=2)
    which = arrays.take(found.get("which"), np.int8, n_nodes, ndim=2)
    others = arrays.take(found.get("others"), np.float64)
    weight, own_class = responses.weight, _classes(responses.sign)
    if common.shape[1] != 4 or which.shape[1] != len(weight):
        raise ModelFileError("the solutions at nodes are not those of all samples")
    bounded = (np.abs(common) <= LARGEST).all() and (np.abs(others) <= LARGEST).all()
    known = not which.size or (which.min() >= 0 and which.max() <= OTHER)
    if not bounded or not known or (which == OTHER).sum() != len(others):
        raise ModelFileError("the solutions at nodes are missing or out of range")
    arrays.budget.take(8.0 * which.size, "the solutions at nodes")
    values, at = np.empty(which.shape), 0
    for row, units, marks in zip(values, common.reshape(n_nodes, 2, 2), which, strict=True):
        row[:] = weight * units[own_class, np.minimum(marks, 1)]
        listed = marks == OTHER
        row[listed] = others[at : at + int(listed.sum())]
        at += int(listed.sum())
    return values
