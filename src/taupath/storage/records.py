"""Records of walks: index sets at the beginning, and one move after the other."""

from typing import Any

import numpy as np

from taupath.engine.solver import COUNTED, Record
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.exceptions import ModelFileError
from taupath.storage.arrays import ArraysToWrite, StoredArrays

# Most bytes that the factor of the free points may take.
LARGEST_FACTOR = 16e9


def pack_record(record: Record, arrays: ArraysToWrite) -> dict[str, Any]:
    """Return the description of a record; its arrays are added to `arrays`."""
    return {
        "begin": record.begin,
        "end": record.end,
        "status": arrays.put("status", record.status),
        "free": arrays.put("free", record.free),
        "t": arrays.put("t", record.t),
        "index": arrays.put("index", record.index),
        "move": arrays.put("move", record.move),
        "counters": {name: int(count) for name, count in record.counters.items()},
    }


def unpack_record(found: Any, arrays: StoredArrays, n: int, most_free: int) -> Record:
    """Return a record of n points, of which no more than `most_free` are free at a time.

    The compiled core trusts a record, so everything in it is checked here.
    """
    if not isinstance(found, dict):
        raise ModelFileError("the description of a record is missing")
    begin, end = found.get("begin"), found.get("end")
    if type(begin) is not float or type(end) is not float or not 0.0 <= begin <= end <= 1.0:
        raise ModelFileError(f"a record cannot lead from {begin!r} to {end!r}")
    status = arrays.take(found.get("status"), np.int8, n)
    free = arrays.take(found.get("free"), np.int32)
    t = arrays.take(found.get("t"), np.float64)
    index = arrays.take(found.get("index"), np.int32, len(t))
    move = arrays.take(found.get("move"), np.int8, len(t))
    if not np.isin(status, (LOWER, FREE, UPPER)).all():
        raise ModelFileError("a point of a record is neither free nor at a bound")
    if not np.array_equal(np.sort(free), np.flatnonzero(status == FREE)):
        raise ModelFileError("the free points of a record are not those of its index sets")
    if len(t) and not (t[0] >= begin and t[-1] <= end and (np.diff(t) >= 0.0).all()):
        raise ModelFileError("the kinks of a record are not in order")
    if len(t) and (
        index.min() < 0 or index.max() >= n or move.min() < 0 or move.max() >= len(AFTER)
    ):
        raise ModelFileError("a record moves a point, or makes a move, that does not exist")
    _check_moves(status, index, move)
    freed = np.cumsum((AFTER[move] == FREE).astype(int) - (BEFORE[move] == FREE))
    largest = len(free) + int(freed.max(initial=0))
    if largest > most_free or 8.0 * largest**2 > LARGEST_FACTOR:
        raise ModelFileError(f"a record cannot have {largest} free points at a time")
    counters = unpack_counters(found.get("counters"))
    if set(counters) != set(COUNTED):
        raise ModelFileError("a record has other counters than walks have")
    return Record(begin, end, status, free, t, index, move, counters)


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
