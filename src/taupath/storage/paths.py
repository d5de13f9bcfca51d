"""Paths: what was solved, on which data, and the records of exact ones."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from taupath.approximate.simplify import AtKinks
from taupath.approximate.solutions import AtNodes
from taupath.cluster.solutions import OnCluster
from taupath.engine.solver import Record
from taupath.exceptions import IndefiniteKernelWarning, ModelFileError
from taupath.fitting.detached import FunctionsOnly
from taupath.paths.jobs import Job, QuantileRegression, Regularization, Way
from taupath.paths.kernel_data import MEGABYTE
from taupath.paths.kernels import Kernel
from taupath.paths.options import Options, make_training_data
from taupath.paths.path import SolutionPath
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import TrainingData
from taupath.paths.walked import ConstantPiece, Walked, WalkedPiece, constant_piece
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.jobs import JOBS, pack_job, pack_samples, unpack_responses
from taupath.storage.nodes import (
    FUNCTIONS,
    check_nodes,
    pack_detached,
    pack_kinks,
    pack_nodes,
    pack_on_cluster,
    unpack_functions,
)
from taupath.storage.records import pack_record, unpack_record
from taupath.validation import check_C, check_features, check_positive, check_range, check_real

# Which walks of a path went backward: one thread; two threads from the ends; two threads with a
# start in the middle as well; and the same with the ends of the path exchanged.
WAYS = [
    [False],
    [False, True],
    [False, False],
    [False, True, False],
    [True, True],
    [True, False, True],
]
# Most megabytes that a file can ask for to keep a kernel matrix.
LARGEST_CACHE = 2000.0


def pack_path(
    path: SolutionPath, arrays: ArraysToWrite, data: bool | None = None
) -> dict[str, Any]:
    """Return the description of a path; its arrays are added to `arrays`.

    `data` says whether training data are stored; None: only if predictions need them.
    """
    return PACK[type(path.solutions)](path.solutions, arrays, data)


def _pack_walked(solutions: Walked, arrays: ArraysToWrite, data: bool | None) -> dict[str, Any]:
    if data is False:
        _refuse_without_data(solutions)
    return _pack_exact(solutions, arrays, lambda piece: piece.record)


def _pack_kinks(solutions: AtKinks, arrays: ArraysToWrite, data: bool | None) -> dict[str, Any]:
    by_kernel, kinks = solutions.data.kernel is not None, solutions.kinks
    if by_kernel and data is False:
        _refuse_without_data(solutions)
    if not (by_kernel or data):
        return pack_kinks(solutions, arrays)

    def record(piece: WalkedPiece) -> Record:
        return piece.only_at(kinks[(kinks >= piece.kinks[0]) & (kinks <= piece.kinks[-1])])

    nodes = {"nodes": arrays.put("nodes", kinks), "tol": solutions.tol}
    return _pack_exact(solutions.source, arrays, record) | nodes


# How each kind of solutions is stored.
PACK: dict[type[Solutions], Callable[[Any, ArraysToWrite, bool | None], dict[str, Any]]] = {
    Walked: _pack_walked,
    AtKinks: _pack_kinks,
    AtNodes: pack_nodes,
    FunctionsOnly: pack_detached,
    OnCluster: pack_on_cluster,
}


def _refuse_without_data(solutions: Solutions) -> NoReturn:
    why = (
        "solutions of an exact path are computed from them; store path.simplify(tol) without them"
        if solutions.data.kernel is None
        else "with a kernel, functions are sums over training samples; for two classes, "
        "`QuantileSVC.at` keeps only those that one τ needs"
    )
    raise ValueError(f"data=False: this path needs its training data: {why}")


def _pack_exact(
    solutions: Walked, arrays: ArraysToWrite, record_of: Callable[[WalkedPiece], Record]
) -> dict[str, Any]:
    """Return the description of exact solutions, whose walks have these records."""
    job, data = solutions.job, solutions.data
    found = pack_samples(data, arrays) | pack_kernel(data.kernel) | pack_job(job)
    found |= {"intercept": data.constant.kind, "path": job.kind}
    if data.kernel is not None:
        found["cache_size"] = data.budget / MEGABYTE
    regression = isinstance(job, QuantileRegression)
    pieces = [piece for piece in solutions.pieces if not isinstance(piece, ConstantPiece)]
    found["walks"] = []
    for piece in pieces:
        way = piece.way
        how = {"turned": way.turned, "rise": way.rise} if regression else {"backward": way.backward}
        found["walks"].append({**how, "record": pack_record(record_of(piece), arrays)})
    if regression:
        found |= {"range": solutions.range, "unit": pieces[0].way.unit if pieces else None}
    if isinstance(job, Regularization):
        found["C_max"] = job.C_max
    return found


def pack_kernel(kernel: Kernel | None) -> dict[str, Any]:
    """Return the description of a kernel; None is the linear one."""
    if kernel is None:
        return {"kernel": "linear"}
    if callable(kernel.function):
        raise ValueError(
            "a kernel that is a Python function cannot be stored in a model file, which holds no "
            'code; use kernel="precomputed", or pickle the model'
        )
    return {
        "kernel": kernel.function,
        "gamma": float(kernel.gamma),
        "degree": float(kernel.degree),
        "coef0": float(kernel.coef0),
    }


def unpack_path(found: Any, arrays: StoredArrays) -> SolutionPath:
    """Return the path of a description."""
    if not isinstance(found, dict):
        raise ModelFileError("the description of a path is missing")
    kind = found.get("path")
    if isinstance(kind, str) and kind.removeprefix(FUNCTIONS) in JOBS:
        if kind in JOBS:
            return SolutionPath(_unpack_exact(found, arrays, kind))
        return SolutionPath(unpack_functions(found, arrays, kind.removeprefix(FUNCTIONS)))
    raise ModelFileError(f"it holds a path of an unknown kind, {kind!r}")


def _unpack_exact(found: dict[str, Any], arrays: StoredArrays, kind: str) -> Solutions:
    """Return exact solutions, or those at some of the kinks."""
    job = JOBS[kind](found, found.get("C_max"))
    data = _unpack_data(found, arrays, job)
    unpack = _regression_walks if isinstance(job, QuantileRegression) else _classification_walks
    walked = Walked(job, data, unpack(found, arrays, job, data))
    if "nodes" not in found:
        return walked
    nodes = arrays.take(found["nodes"], np.float64)
    check_nodes(nodes, *walked.range)
    if (nodes[0], nodes[-1]) != walked.range:
        raise ModelFileError("the nodes of a path do not reach its ends")
    return AtKinks(walked, nodes, check_positive(found.get("tol"), "tol"))


def _unpack_data(found: dict[str, Any], arrays: StoredArrays, job: Job) -> TrainingData:
    """Return the training data of an exact path."""
    X = check_features(arrays.take_matrix(found.get("X")))
    kernel, intercept = found.get("kernel"), found.get("intercept")
    if not isinstance(kernel, str) or not isinstance(intercept, str):
        raise ModelFileError("kernel and intercept are missing")
    y, weight = unpack_responses(found, arrays, job, X.shape[0])
    options = Options(
        kernel,
        found.get("gamma", 1.0),
        found.get("degree", 3),
        found.get("coef0", 0.0),
        intercept,
        min(check_real(found.get("cache_size", 1.0), "cache_size"), LARGEST_CACHE),
    )
    with warnings.catch_warnings():  # the warning was given when the model was trained
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        return make_training_data(X, job.responses(y, X.shape[0], weight), options)


def _classification_walks(
    found: dict[str, Any], arrays: StoredArrays, job: Job, data: TrainingData
) -> list[WalkedPiece]:
    """Return walks over τ that follow one another, or the single walk over C."""
    pieces = []
    for walk in found.get("walks") or ():
        record = unpack_record(walk.get("record"), arrays, data.shape[0], data.most_free)
        pieces.append((walk.get("backward"), record))
    if [backward for backward, _ in pieces] not in WAYS:
        raise ModelFileError("the walks of a path go in impossible directions")
    ends = [_ends(*piece) for piece in pieces]
    if any(one[1] != other[0] for one, other in pairwise(ends)):
        raise ModelFileError("the walks of a path do not meet")
    if isinstance(job, Regularization) and (pieces[0][0], *ends) != (False, (0.0, 1.0)):
        raise ModelFileError("a path over C is walked from 0 to C_max at once")
    return [WalkedPiece(job, data, Way(backward), record) for backward, record in pieces]


def _regression_walks(
    found: dict[str, Any], arrays: StoredArrays, job: Job, data: TrainingData
) -> list[Any]:
    """Return walks over τ that follow one another, or the constant solution if y is constant."""
    begin, end = check_range(found.get("range"))
    constant = constant_piece(data, begin, end)
    if constant is not None:
        return [constant]
    unit = check_C(found.get("unit"), "unit")
    pieces, at = [], begin
    for walk in found.get("walks") or ():
        turned, rise = walk.get("turned"), check_real(walk.get("rise"), "rise")
        record = unpack_record(walk.get("record"), arrays, data.shape[0], data.most_free)
        first, last = _ends(not turned, record)
        if type(turned) is not bool or not 0.0 < rise <= 1.0 or first != at:
            raise ModelFileError("the walks of a path do not fit together")
        pieces.append(WalkedPiece(job, data, Way(not turned, turned, unit, rise), record))
        at = last
    if at != end:
        raise ModelFileError("the walks of a path do not reach its end")
    return pieces


def _ends(backward: bool, record: Record) -> tuple[float, float]:
    """Return where a walk begins and ends, in terms of its path."""
    return (1.0 - record.end, 1.0 - record.begin) if backward else (record.begin, record.end)
