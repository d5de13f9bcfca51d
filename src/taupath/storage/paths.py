"""Paths: what was solved, on which data, and the records of exact ones."""

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np

from taupath.approximate.kernel_solutions import AtKernelNodes
from taupath.approximate.simplify import AtKinks
from taupath.approximate.solutions import AtNodes
from taupath.cluster.solutions import OnCluster
from taupath.engine.record import Record
from taupath.exceptions import ModelFileError
from taupath.fitting.detached import FunctionsOnly
from taupath.fitting.support_only import SupportOnly
from taupath.paths.extra_rows import ExtendedData
from taupath.paths.frontiers import Frontier
from taupath.paths.intercept import fixed_intercept, make_intercept
from taupath.paths.jobs import Job, QuantileRegression, Regularization, Way
from taupath.paths.kernel_data import MEGABYTE
from taupath.paths.options import Options, centred_data, make_training_data
from taupath.paths.path import SolutionPath
from taupath.paths.repeated_data import merge_copies
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import Responses, TrainingData
from taupath.paths.walked import ConstantPiece, Walked, WalkedPiece, constant_piece
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.budget import record_bytes
from taupath.storage.extra_rows import pack_extra_rows, unpack_extra_rows
from taupath.storage.jobs import FRONTIERS, JOBS, pack_job, pack_samples, unpack_responses
from taupath.storage.kernel_nodes import (
    KERNEL_NODES,
    pack_kernel_nodes,
    pack_support_only,
    unpack_kernel_nodes,
)
from taupath.storage.kernels import pack_kernel, unpack_kernel, with_cache
from taupath.storage.nodes import (
    FUNCTIONS,
    check_nodes,
    pack_detached,
    pack_kinks,
    pack_nodes,
    pack_on_cluster,
    unpack_functions,
)
from taupath.storage.records import most_free, pack_record, unpack_record
from taupath.validation import LARGEST, check_positive, check_range, check_real

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


# What the exact paths of files can be of.
EXACT_JOBS = JOBS | FRONTIERS


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
    AtKernelNodes: pack_kernel_nodes,
    FunctionsOnly: pack_detached,
    SupportOnly: pack_support_only,
    OnCluster: pack_on_cluster,
}


def _refuse_without_data(solutions: Solutions) -> NoReturn:
    why = "solutions of an exact path are computed from them; store path.simplify(tol) without them"
    if solutions.data.extra is not None:
        why = "solutions with l1 or constraints are computed from them"
    if solutions.data.kernel is not None:
        why = (
            "with a kernel, functions are sums over training samples; for two classes, "
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
    if data.distinct is not data:
        found["distinct"] = data.distinct.shape[0]
    if data.extra is not None:
        found["extra"] = pack_extra_rows(data.extra, arrays)
    if data.kernel is not None:
        found["cache_size"] = data.budget / MEGABYTE
    if data.centred:
        found["centred"] = True
        found["shift"] = None if data.shift is None else arrays.put("shift", data.shift)
    regression = isinstance(job, QuantileRegression)
    pieces = [piece for piece in solutions.pieces if not isinstance(piece, ConstantPiece)]
    found["walks"] = []
    for piece in pieces:
        way = piece.way
        how = {"turned": way.turned, "rise": way.rise} if regression else {"backward": way.backward}
        found["walks"].append({**how, "record": pack_record(record_of(piece), arrays)})
    if regression:
        found |= {"range": solutions.range, "unit": pieces[0].way.unit if pieces else None}
        if pieces and pieces[0].way.centre:
            found["centre"] = pieces[0].way.centre
    if isinstance(job, Regularization):
        found["C_max"] = job.C_max
    return found


def unpack_path(found: Any, arrays: StoredArrays) -> SolutionPath:
    """Return the path of a description."""
    if not isinstance(found, dict):
        raise ModelFileError("the description of a path is missing")
    kind = found.get("path")
    for prefix, (unpack, jobs) in UNPACK.items():
        if isinstance(kind, str) and kind.startswith(prefix) and kind.removeprefix(prefix) in jobs:
            return SolutionPath(unpack(found, arrays, kind.removeprefix(prefix)))
    raise ModelFileError(f"it holds a path of an unknown kind, {kind!r:.60}")


def _unpack_exact(found: dict[str, Any], arrays: StoredArrays, kind: str) -> Solutions:
    """Return exact solutions, or those at some of the kinks."""
    job = EXACT_JOBS[kind](found, found.get("C_max"), arrays.budget)
    data = _unpack_data(found, arrays, job)
    unpack = _regression_walks if isinstance(job, QuantileRegression) else _classification_walks
    walked = Walked(job, data, unpack(found, arrays, job, data.distinct))
    if "nodes" not in found:
        return walked
    nodes = arrays.take(found["nodes"], np.float64)
    check_nodes(nodes, *walked.range)
    if (nodes[0], nodes[-1]) != walked.range:
        raise ModelFileError("the nodes of a path do not reach its ends")
    return AtKinks(walked, nodes, check_positive(found.get("tol"), "tol"))


# How each kind of path is read, by what stands before the kind of its job, and these kinds.
UNPACK: dict[str, tuple[Callable[[dict[str, Any], StoredArrays, str], Solutions], Any]] = {
    FUNCTIONS: (unpack_functions, JOBS),
    KERNEL_NODES: (unpack_kernel_nodes, JOBS),
    "": (_unpack_exact, EXACT_JOBS),
}


def _unpack_data(found: dict[str, Any], arrays: StoredArrays, job: Job) -> TrainingData:
    """Return the training data of an exact path."""
    X = arrays.take_features(found.get("X")).features
    options = with_cache(unpack_kernel(found, X), found, X, arrays.budget)
    intercept = options.intercept
    responses = unpack_responses(found, arrays, job, X.shape[0])
    distinct, centred = found.get("distinct"), found.get("centred") is True
    shift = _unpack_shift(found, arrays, X) if centred else None

    def with_free(X: Any, responses: Responses) -> TrainingData:
        if centred:
            return centred_data(X, responses, shift)
        return TrainingData(X, responses, make_intercept(intercept, X))

    if "extra" in found or isinstance(job, Frontier):
        data = _with_extra_rows(found, arrays, X, responses, options)
    else:
        data = make_training_data(
            X, responses, options, known=True, merge=distinct is not None, with_free=with_free
        )
    if distinct not in (None, data.distinct.shape[0]):
        raise ModelFileError(f"the samples of a path are not {distinct!r} different ones")
    data.centred = data.distinct.centred = centred and intercept == "free"
    return data


def _with_extra_rows(
    found: dict[str, Any], arrays: StoredArrays, X: Any, responses: Responses, options: Options
) -> TrainingData:
    """Return the training data of a path with extra rows."""
    constant = fixed_intercept(options.intercept)
    if constant is None or options.kernel != "linear":
        raise ModelFileError("a path with extra rows has a kernel or a free intercept")
    width = X.shape[1] + (constant.bias != 0.0)
    extra = unpack_extra_rows(found.get("extra"), arrays, X, width)

    def make(X: Any, responses: Responses) -> TrainingData:
        return ExtendedData(X, responses, constant, extra)

    return merge_copies(X, responses, make) if "distinct" in found else make(X, responses)


def _unpack_walks(
    found: dict[str, Any], arrays: StoredArrays, data: TrainingData
) -> list[tuple[dict[str, Any], Record]]:
    """Return the descriptions of the walks of a path, each with its record."""
    walks, (n, d) = found.get("walks"), data.shape
    n += 0 if data.extra is None else len(data.extra)
    if not isinstance(walks, list) or not 0 < len(walks) <= max(map(len, WAYS)):
        raise ModelFileError("the walks of a path are missing, or there are too many")
    by_kernel, pieces, memory = data.kernel is not None, [], 0.0
    for walk in walks:
        if not isinstance(walk, dict):
            raise ModelFileError("the description of a walk is missing")
        record = unpack_record(walk.get("record"), arrays, n)
        memory += record_bytes(most_free(record), n if by_kernel else d + 1)
        pieces.append((walk, record))
    arrays.budget.read(memory, f"solutions of a path of {n} samples and {d} features")
    return pieces


def _unpack_shift(found: dict[str, Any], arrays: StoredArrays, X: Any) -> np.ndarray | None:
    """Return what walks subtract from each sample, None for nothing."""
    if found.get("shift") is None:
        return None
    shift = arrays.take(found["shift"], np.float64, X.shape[1])
    if not isinstance(X, np.ndarray) or not (np.abs(shift) <= LARGEST).all():
        raise ModelFileError("the shift of a path does not fit its data")
    return shift


def _classification_walks(
    found: dict[str, Any], arrays: StoredArrays, job: Job, data: TrainingData
) -> list[WalkedPiece]:
    """Return walks over τ that follow one another, or the single walk over C."""
    walks = _unpack_walks(found, arrays, data)
    directions: list[Any] = [walk.get("backward") for walk, _ in walks]
    if directions not in WAYS or not all(type(backward) is bool for backward in directions):
        raise ModelFileError("the walks of a path go in impossible directions")
    pieces = [(backward, record) for backward, (_, record) in zip(directions, walks, strict=True)]
    ends = [_ends(*piece) for piece in pieces]
    if any(one[1] != other[0] for one, other in pairwise(ends)):
        raise ModelFileError("the walks of a path do not meet")
    if not ends[0][0] < ends[-1][1]:
        raise ModelFileError("a path ends where it begins")
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
    unit = check_positive(found.get("unit"), "unit")
    centre = check_real(found.get("centre", 0.0), "centre")
    if abs(centre) > LARGEST or (centre and not data.centred):
        raise ModelFileError(f"y of a path cannot be centred at {centre!r}")
    if not (math.isfinite(job.C / unit) and np.isfinite(data.target / unit).all()):
        raise ModelFileError(f"numbers are too large in units of {unit!r}")
    pieces, at = [], begin
    for walk, record in _unpack_walks(found, arrays, data):
        turned, rise = walk.get("turned"), check_real(walk.get("rise"), "rise")
        first, last = _ends(not turned, record)
        if type(turned) is not bool or not 0.0 < rise <= 1.0 or first != at:
            raise ModelFileError("the walks of a path do not fit together")
        pieces.append(WalkedPiece(job, data, Way(not turned, turned, unit, rise, centre), record))
        at = last
    if at != end:
        raise ModelFileError("the walks of a path do not reach its end")
    return pieces


def _ends(backward: bool, record: Record) -> tuple[float, float]:
    """Return where a walk begins and ends, in terms of its path."""
    return (1.0 - record.end, 1.0 - record.begin) if backward else (record.begin, record.end)
