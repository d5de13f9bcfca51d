"""Paths: what was solved, on which data, and the records of exact ones."""

import warnings
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from taupath.approximate.simplify import AtKinks
from taupath.approximate.solutions import AtNodes
from taupath.cluster.solutions import OnCluster
from taupath.engine.solver import Record
from taupath.exceptions import IndefiniteKernelWarning, ModelFileError
from taupath.fitting.detached import FunctionsOnly
from taupath.paths.jobs import Job, Way
from taupath.paths.kernel_data import MEGABYTE
from taupath.paths.options import Options, make_training_data
from taupath.paths.path import SolutionPath
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import TrainingData
from taupath.paths.walked import ConstantPiece, Walked, WalkedPiece, constant_piece
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.jobs import JOBS, pack_job, stored_labels
from taupath.storage.nodes import (
    check_nodes,
    pack_detached,
    pack_kinks,
    pack_nodes,
    pack_on_cluster,
    unpack_functions,
)
from taupath.storage.records import pack_record, unpack_record
from taupath.validation import check_C, check_features, check_positive, check_range, check_real

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
# Kinds of a description that holds functions at nodes begin with this.
FUNCTIONS = "functions of "
# Megabytes for a kernel matrix that a file can ask for.
LARGEST_CACHE = 2000.0


def pack_path(path: SolutionPath, shelf: ArraysToWrite, data: bool | None = None) -> dict[str, Any]:
    """Return the description of a path; its arrays are put away.

    `data` tells whether to put the training data away, too; None: where nothing can be predicted
    without.
    """
    return PACK[type(path.solutions)](path.solutions, shelf, data)


def _pack_walked(solutions: Walked, shelf: ArraysToWrite, data: bool | None) -> dict[str, Any]:
    if data is False:
        _refuse_without_data(
            solutions,
            "solutions of an exact path are computed from them; store path.simplify(tol) without "
            "them",
        )
    return _pack_exact(solutions, shelf, lambda piece: piece.record)


def _pack_kinks(solutions: AtKinks, shelf: ArraysToWrite, data: bool | None) -> dict[str, Any]:
    by_kernel, kinks = solutions.data.kernel is not None, solutions.kinks
    if by_kernel and data is False:
        _refuse_without_data(solutions, "")
    if not (by_kernel or data):
        return pack_kinks(solutions, shelf)

    def record(piece: WalkedPiece) -> Record:
        return piece.only_at(kinks[(kinks >= piece.kinks[0]) & (kinks <= piece.kinks[-1])])

    nodes = {"nodes": shelf.put("nodes", kinks), "tol": solutions.tol}
    return _pack_exact(solutions.source, shelf, record) | nodes


# How the solutions of a path are written to a file: all kinds there are.
PACK: dict[type[Solutions], Callable[[Any, ArraysToWrite, bool | None], dict[str, Any]]] = {
    Walked: _pack_walked,
    AtKinks: _pack_kinks,
    AtNodes: pack_nodes,
    FunctionsOnly: pack_detached,
    OnCluster: pack_on_cluster,
}


def _refuse_without_data(solutions: Solutions, why: str) -> None:
    if solutions.data.kernel is not None:
        why = (
            "with a kernel, functions are made of training samples; of two classes, "
            "`QuantileSVC.at` keeps those of one τ"
        )
    raise ValueError(f"data=False: this path needs its training data: {why}")


def _pack_exact(
    solutions: Walked, shelf: ArraysToWrite, record_of: Callable[[WalkedPiece], Record]
) -> dict[str, Any]:
    """Return the description of exact solutions, by these records."""
    job, data = solutions.job, solutions.data
    weight = None if (data.weight == 1.0).all() else shelf.put("weight", data.weight)
    walks = WALKS[job.kind]
    return {
        "X": shelf.put_matrix("X", data.X),
        "weight": weight,
        "intercept": data.constant.kind,
        **_pack_kernel(data),
        "path": job.kind,
        "y": shelf.put("y", data.response),
        **pack_job(job),
        **walks.pack(solutions, lambda piece: pack_record(record_of(piece), shelf)),
    }


class _Walks(NamedTuple):
    """How the walks of a job are described."""

    pack: Callable[[Walked, Callable[[WalkedPiece], dict[str, Any]]], dict[str, Any]]
    unpack: Callable[[dict[str, Any], StoredArrays, Job, TrainingData], list[Any]]


def _walked_pieces(solutions: Walked) -> list[WalkedPiece]:
    return [piece for piece in solutions.pieces if not isinstance(piece, ConstantPiece)]


def _pack_classification(
    solutions: Walked, record_of: Callable[[WalkedPiece], dict[str, Any]]
) -> dict[str, Any]:
    pieces = _walked_pieces(solutions)
    walks = [{"backward": piece.way.backward, "record": record_of(piece)} for piece in pieces]
    return {"walks": walks}


def _unpack_classification(
    found: dict[str, Any], taken: StoredArrays, job: Job, data: TrainingData
) -> list[WalkedPiece]:
    """Return walks that follow one another on the path."""
    pieces = []
    for walk in found.get("walks") or ():
        record = unpack_record(walk.get("record"), taken, data.shape[0], data.most_free)
        pieces.append((walk.get("backward"), record))
    if [backward for backward, _ in pieces] not in WAYS:
        raise ModelFileError("a path is not walked like this")
    ends = [_ends(*piece) for piece in pieces]
    if any(one[1] != other[0] for one, other in pairwise(ends)):
        raise ModelFileError("the walks of a path do not meet")
    return [WalkedPiece(job, data, Way(backward), record) for backward, record in pieces]


def _pack_regularization(
    solutions: Walked, record_of: Callable[[WalkedPiece], dict[str, Any]]
) -> dict[str, Any]:
    return _pack_classification(solutions, record_of) | {"C_max": solutions.range[1]}


def _unpack_regularization(
    found: dict[str, Any], taken: StoredArrays, job: Job, data: TrainingData
) -> list[WalkedPiece]:
    pieces = _unpack_classification(found, taken, job, data)
    records = [(piece.way.backward, piece.record.begin, piece.record.end) for piece in pieces]
    if records != [(False, 0.0, 1.0)]:
        raise ModelFileError("a path over C is walked from 0 to C_max at once")
    return pieces


def _ends(backward: bool, record: Record) -> tuple[float, float]:
    """Return where a walk begins and ends, in terms of its path."""
    return (1.0 - record.end, 1.0 - record.begin) if backward else (record.begin, record.end)


def _pack_regression(
    solutions: Walked, record_of: Callable[[WalkedPiece], dict[str, Any]]
) -> dict[str, Any]:
    pieces = _walked_pieces(solutions)
    return {
        "range": solutions.range,
        "unit": pieces[0].way.unit if pieces else None,
        "walks": [
            {"turned": piece.way.turned, "rise": piece.way.rise, "record": record_of(piece)}
            for piece in pieces
        ],
    }


def _unpack_regression(
    found: dict[str, Any], taken: StoredArrays, job: Job, data: TrainingData
) -> list[Any]:
    begin, end = check_range(found.get("range"))
    constant = constant_piece(data, begin, end)
    if constant is not None:
        return [constant]
    unit = check_C(found.get("unit"), "unit")
    pieces, at = [], begin
    for walk in found.get("walks") or ():
        turned, rise = walk.get("turned"), check_real(walk.get("rise"), "rise")
        record = unpack_record(walk.get("record"), taken, data.shape[0], data.most_free)
        first, last = _ends(not turned, record)
        if type(turned) is not bool or not 0.0 < rise <= 1.0 or first != at:
            raise ModelFileError("the walks of a path do not fit together")
        pieces.append(WalkedPiece(job, data, Way(not turned, turned, unit, rise), record))
        at = last
    if at != end:
        raise ModelFileError("the walks of a path do not reach its end")
    return pieces


WALKS = {
    "classification": _Walks(_pack_classification, _unpack_classification),
    "regularization": _Walks(_pack_regularization, _unpack_regularization),
    "regression": _Walks(_pack_regression, _unpack_regression),
}


def unpack_path(found: Any, taken: StoredArrays) -> SolutionPath:
    """Return the path that was described."""
    if not isinstance(found, dict):
        raise ModelFileError("a path is not described")
    kind = found.get("path")
    if isinstance(kind, str) and kind.removeprefix(FUNCTIONS) in WALKS:
        if kind in WALKS:
            return SolutionPath(_unpack_exact(found, taken, kind))
        return SolutionPath(unpack_functions(found, taken, kind.removeprefix(FUNCTIONS)))
    raise ModelFileError(f"it holds a path of an unknown kind, {kind!r}")


def _unpack_exact(found: dict[str, Any], taken: StoredArrays, kind: str) -> Solutions:
    """Return the exact solutions that were described, or those at some of the kinks."""
    job = JOBS[kind](found, found.get("C_max"))
    data = _unpack_data(found, taken, job)
    walked = Walked(job, data, WALKS[kind].unpack(found, taken, job, data))
    if "nodes" not in found:
        return walked
    nodes = taken.take(found["nodes"], np.float64)
    check_nodes(nodes, *walked.range)
    if (nodes[0], nodes[-1]) != walked.range:
        raise ModelFileError("the nodes of a path do not reach its ends")
    return AtKinks(walked, nodes, check_positive(found.get("tol"), "tol"))


def _unpack_data(found: dict[str, Any], taken: StoredArrays, job: Job) -> TrainingData:
    """Return the training data of an exact path."""
    X = check_features(taken.take_matrix(found.get("X")))
    n = X.shape[0]
    weight = found.get("weight")
    kernel, intercept = found.get("kernel"), found.get("intercept")
    if not isinstance(kernel, str) or not isinstance(intercept, str):
        raise ModelFileError("kernel and intercept are missing")
    y = stored_labels(job, taken.take(found.get("y"), np.float64, n))
    weight = None if weight is None else taken.take(weight, np.float64, n)
    responses = job.responses(y, n, weight)
    options = Options(
        kernel,
        found.get("gamma", 1.0),
        found.get("degree", 3),
        found.get("coef0", 0.0),
        intercept,
        min(check_real(found.get("cache_size", 1.0), "cache_size"), LARGEST_CACHE),
    )
    with warnings.catch_warnings():  # whoever trained it was warned
        warnings.simplefilter("ignore", IndefiniteKernelWarning)
        return make_training_data(X, responses, options)


def _pack_kernel(data: TrainingData) -> dict[str, Any]:
    kernel = data.kernel
    if kernel is None:
        return {"kernel": "linear"}
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
        "cache_size": data.budget / MEGABYTE,
    }
