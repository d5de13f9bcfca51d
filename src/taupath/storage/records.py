"""Records of walks: index sets at the beginning, and one move after the other."""

from typing import Any

import numpy as np

from taupath.engine.solver import COUNTED, Record
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.exceptions import ModelFileError
from taupath.storage.arrays import ArraysToWrite, StoredArrays

# Bytes of the factor of the free points, at most.
LARGEST_FACTOR = 16e9


def pack_record(record: Record, shelf: ArraysToWrite) -> dict[str, Any]:
    """Return the description of a record; its arrays are put away."""
    return {
        "begin": record.begin,
        "end": record.end,
        "status": shelf.put("status", record.status),
        "free": shelf.put("free", record.free),
        "t": shelf.put("t", record.t),
        "index": shelf.put("index", record.index),
        "move": shelf.put("move", record.move),
        "counters": {name: int(count) for name, count in record.counters.items()},
    }


def unpack_record(found: Any, taken: StoredArrays, n: int, most_free: int) -> Record:
    """Return a record of n points, of which no more than `most_free` are free at a time.

    The compiled core believes a record, so everything in it is checked.
    """
    if not isinstance(found, dict):
        raise ModelFileError("a record is not described")
    begin, end = found.get("begin"), found.get("end")
    if type(begin) is not float or type(end) is not float or not 0.0 <= begin <= end <= 1.0:
        raise ModelFileError(f"a record cannot go from {begin!r} to {end!r}")
    status = taken.take(found.get("status"), np.int8, n)
    free = taken.take(found.get("free"), np.int32)
    t = taken.take(found.get("t"), np.float64)
    index = taken.take(found.get("index"), np.int32, len(t))
    move = taken.take(found.get("move"), np.int8, len(t))
    if not np.isin(status, (LOWER, FREE, UPPER)).all():
        raise ModelFileError("a point of a record is nowhere")
    if not np.array_equal(np.sort(free), np.flatnonzero(status == FREE)):
        raise ModelFileError("the free points of a record are not those of its index sets")
    if len(t) and not (t[0] >= begin and t[-1] <= end and (np.diff(t) >= 0.0).all()):
        raise ModelFileError("the kinks of a record are not in order")
    if len(t) and (
        index.min() < 0 or index.max() >= n or move.min() < 0 or move.max() >= len(AFTER)
    ):
        raise ModelFileError("a record moves what is not there")
    _check_moves(status, index, move)
    freed = np.cumsum((AFTER[move] == FREE).astype(int) - (BEFORE[move] == FREE))
    largest = len(free) + int(freed.max(initial=0))
    if largest > most_free or 8.0 * largest**2 > LARGEST_FACTOR:
        raise ModelFileError(f"a record cannot have {largest} free points at a time")
    return Record(begin, end, status, free, t, index, move, _counters(found.get("counters")))


def _check_moves(status: np.ndarray, index: np.ndarray, move: np.ndarray) -> None:
    """Check that each move begins where the one before it of the same point has ended."""
    order = np.argsort(index, kind="stable")
    points, before, after = index[order], BEFORE[move[order]], AFTER[move[order]]
    first = np.ones(len(points), dtype=bool)
    first[1:] = points[1:] != points[:-1]
    came_from = np.where(first, status[points], np.append(np.int8(0), after[:-1])[: len(points)])
    if (came_from != before).any():
        raise ModelFileError("the moves of a record do not fit together")


def _counters(found: Any) -> dict[str, int]:
    if not isinstance(found, dict) or set(found) != set(COUNTED):
        raise ModelFileError("the counters of a record are missing")
    if not all(type(count) is int and 0 <= count < 1 << 63 for count in found.values()):
        raise ModelFileError("the counters of a record do not count")
    return dict(found)
