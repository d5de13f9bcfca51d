"""Records of walks: index sets at the beginning, and one move after the other."""

from typing import Any

import numpy as np

from taupath.engine.record import Nodes, Record
from taupath.engine.solver import COUNTED
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.exceptions import ModelFileError
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows


def pack_record(record: Record, arrays: ArraysToWrite) -> dict[str, Any]:
    """Return the description of a record; its arrays are added to `arrays`."""
    found = {
        "begin": record.begin,
        "end": record.end,
        "status": arrays.put("status", record.status),
        "free": arrays.put("free", record.free),
        "t": arrays.put("t", record.t),
        "index": arrays.put("index", record.index),
        "move": arrays.put("move", record.move),
        "counters": {name: int(count) for name, count in record.counters.items()},
    }
    if record.doubtful is not None:
        some = len(record.doubtful) > 0
        found["doubtful"] = arrays.put("doubtful", record.doubtful) if some else []
    if record.nodes is not None:
        parts = {name: value for name, value in vars(record.nodes).items() if value is not None}
        found["nodes"] = {name: arrays.put(f"node_{name}", value) for name, value in parts.items()}
    return found


def unpack_record(found: Any, arrays: StoredArrays, n: int) -> Record:
    """Return a record of n points.

    The compiled core trusts a record, so everything in it is checked here. Moves that fit together
    make every point free at most once at a time, so that there is room for all free points: the
    core has room for n. How many can be independent is for the core to judge, and it may take more
    rows than there are columns.
    """
    if not isinstance(found, dict):
        raise ModelFileError("the description of a record is missing")
    begin, end = found.get("begin"), found.get("end")
    if type(begin) is not float or type(end) is not float or not 0.0 <= begin <= end <= 1.0:
        raise ModelFileError(f"a record cannot lead from {begin!r:.60} to {end!r:.60}")
    status = arrays.take(found.get("status"), np.int8, n)
    free = arrays.take(found.get("free"), np.int32)
    t = arrays.take(found.get("t"), np.float64)
    index = arrays.take(found.get("index"), np.int32, len(t))
    move = arrays.take(found.get("move"), np.int8, len(t))
    if not np.isin(status, (LOWER, FREE, UPPER)).all():
        raise ModelFileError("a point of a record is neither free nor at a bound")
    if not np.array_equal(np.sort(free), np.flatnonzero(status == FREE)):
        raise ModelFileError("the free points of a record are not those of its index sets")
    if len(t) and not (t[0] >= begin and t[-1] <= end and grows(t)):
        raise ModelFileError("the kinks of a record are not in order")
    if len(t) and (
        index.min() < 0 or index.max() >= n or move.min() < 0 or move.max() >= len(AFTER)
    ):
        raise ModelFileError("a record moves a point, or makes a move, that does not exist")
    _check_moves(status, index, move)
    counters = unpack_counters(found.get("counters"))
    if not set(counters) <= set(COUNTED):
        raise ModelFileError("a record has other counters than walks have")
    counters = {name: counters.get(name, 0) for name in COUNTED}  # some came with later versions
    record = Record(begin, end, status, free, t, index, move, counters)
    if "doubtful" in found:
        record.doubtful = np.zeros((0, 2))
        if found["doubtful"] != []:
            record.doubtful = _doubtful(arrays.take(found["doubtful"], np.float64, ndim=2))
    if "nodes" in found:
        record.nodes = _nodes(found["nodes"], arrays, n)
    return record


def _nodes(found: Any, arrays: StoredArrays, n: int) -> Nodes:
    """Return the nodes of a record of n points."""
    if not isinstance(found, dict):
        raise ModelFileError("the description of nodes is missing")
    t = arrays.take(found.get("t"), np.float64)
    stretch = arrays.take(found.get("stretch"), np.int32, len(t))
    status = arrays.take(found.get("status"), np.int8, len(t), ndim=2)
    theta = arrays.take(found.get("theta"), np.float64)
    multiplier = arrays.take(found.get("multiplier"), np.float64, len(t))
    w = arrays.take(found["w"], np.float64, len(t), ndim=2) if "w" in found else None
    if len(t) == 0 or status.shape[1] != n or not np.isin(status, (LOWER, FREE, UPPER)).all():
        raise ModelFileError("the index sets of nodes are missing or not those of all points")
    if not ((t >= 0.0) & (t <= 1.0)).all() or not grows(t):
        raise ModelFileError("the nodes of a record are not in order")
    numbers = (theta, multiplier) if w is None else (theta, multiplier, w)
    if len(theta) != (status == FREE).sum() or not all(np.isfinite(x).all() for x in numbers):
        raise ModelFileError("the solutions at nodes are missing or not finite")
    return Nodes(t, stretch, status, theta, multiplier, w)


def most_free(record: Record) -> int:
    """Return how many points are free at a time, at most."""
    freed = np.cumsum((AFTER[record.move] == FREE).astype(int) - (BEFORE[record.move] == FREE))
    return len(record.free) + int(freed.max(initial=0))


def _doubtful(intervals: np.ndarray) -> np.ndarray:
    """Return the intervals of t where a walk met a difficulty."""
    if intervals.shape[1] != 2:
        raise ModelFileError("an interval of a record has other than two ends")
    first, last = intervals.T
    if not ((first >= 0.0) & (first <= last) & (last <= 1.0)).all():  # not true of NaN
        raise ModelFileError("an interval of a record is not part of its line")
    return intervals


def _check_moves(status: np.ndarray, index: np.ndarray, move: np.ndarray) -> None:
    """Refuse a move that does not begin where the last one of the same point ended."""
    order = np.argsort(index, kind="stable")
    points, before, after = index[order], BEFORE[move[order]], AFTER[move[order]]
    first = np.ones(len(points), dtype=bool)
    first[1:] = points[1:] != points[:-1]
    came_from = np.where(first, status[points], np.append(np.int8(0), after[:-1])[: len(points)])
    if (came_from != before).any():
        raise ModelFileError("the moves of a record do not fit together")


def unpack_counters(found: Any) -> dict[str, int]:
    """Return counters, which fit into 64 bits."""
    if not isinstance(found, dict):
        raise ModelFileError("the counters are missing")
    if not all(type(count) is int and 0 <= count < 1 << 63 for count in found.values()):
        raise ModelFileError("a counter is negative or not a whole number")
    return dict(found)
