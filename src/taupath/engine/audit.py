"""A second look at the doubtful intervals of a walk: wrong ones are mended.

With index sets that do not change, θ and all slacks are affine in t. So if a solution is right at
both ends of an interval between kinks, it is right in between. Kinks are rounded, so the look is
taken just within the ends.
"""

from itertools import pairwise

import numpy as np

from taupath.engine.reading import BETTER, NEAR_A_KINK, Reader
from taupath.engine.record import Events, Node, Record, moves_between
from taupath.engine.status import AFTER
from taupath.engine.stepping import Stepper, rounded, status_of
from taupath.engine.tolerances import RIGHT

# Intervals are looked at this part of their length within their ends, or beyond the rounding of t.
WITHIN = 2.0**-20
# Steps of single problems that mending may take: so many, and as many as look at so many entries of
# the rows: some seconds.
MOST_STEPS, MOST_ENTRIES = 300, 100_000_000
# Intervals that are looked at together, and how many θ there may be of their solutions: 128 MB.
TOGETHER, MOST_THETA = 256, 1 << 24


def wrong_intervals(reader: Reader, seen: list[Node]) -> np.ndarray:
    """Return the doubtful intervals of a record whose index sets give wrong solutions.

    The rows of the result are begin, end and how wrong they are. Intervals between the nodes that
    were `seen` on the way are left out. Neighbours are joined.
    """
    rows = reader.rows
    begin, end, position = _doubtful_intervals(reader.record, seen)
    errors = np.zeros(len(begin))
    together = max(min(TOGETHER, MOST_THETA // (2 * rows.n_rows)), 1)
    for first in range(0, len(begin), together):
        some = slice(first, first + together)
        length = end[some] - begin[some]
        within = np.maximum(WITHIN * length, 2.0 * NEAR_A_KINK * np.spacing(end[some]))
        within = np.minimum(within, 0.5 * length)
        t = np.stack((begin[some] + within, end[some] - within), axis=1).ravel()
        w, theta = np.empty((len(t), rows.n_cols)), np.empty((len(t), rows.n_rows))
        multiplier = np.empty(len(t))
        reader.replay.sweep(np.repeat(position[some], 2), t, w, theta, multiplier)
        found = zip(t, theta, w, multiplier, strict=True)
        each = [reader.error_beyond_bounds(*one) for one in found]
        errors[some] = np.array(each).reshape(-1, 2).max(axis=1)
    wrong = ~(errors <= RIGHT)
    if not wrong.any():
        return np.zeros((0, 3))
    begin, end, errors = begin[wrong], end[wrong], errors[wrong]
    heads = np.flatnonzero(np.append(True, begin[1:] > end[:-1]))
    tails = np.append(heads[1:], len(begin)) - 1
    return np.stack((begin[heads], end[tails], np.maximum.reduceat(errors, heads)), axis=1)


def _doubtful_intervals(record: Record, seen: list[Node]) -> tuple[np.ndarray, ...]:
    """Return begin, end and the number of events before, of each interval that is in doubt."""
    nodes = [node.t for node in seen]
    kinks = np.unique(np.concatenate(([record.begin], record.t, nodes, [record.end])))
    begin, end = kinks[:-1], kinks[1:]
    in_doubt = np.zeros(len(begin), dtype=bool)
    assert record.doubtful is not None
    for first, last in record.doubtful:
        in_doubt[np.searchsorted(end, first) : np.searchsorted(begin, last, "right")] = True
    for one, two in pairwise(seen):
        if one.stretch == two.stretch:
            in_doubt &= ~((begin >= one.t) & (end <= two.t))
    position = np.searchsorted(record.t, begin, side="right")
    return begin[in_doubt], end[in_doubt], position[in_doubt]


def mend(
    reader: Reader, wrong: np.ndarray, stepper: Stepper, first: int
) -> tuple[Events, list[Node]]:
    """Return the events of a record, those in its wrong intervals replaced, and the nodes there.

    Each interval becomes a stretch of nodes, numbered from `first` on, unless they are no better.
    The worst come first; where there is too much to do, the others stay as they are.
    """
    record, rows = reader.record, reader.rows
    most = stepper.solver.n_steps + MOST_STEPS + MOST_ENTRIES // (rows.n_rows * rows.n_cols)
    solved: dict[int, list[Node]] = {}
    for k in np.argsort(-wrong[:, 2], kind="stable"):
        if stepper.solver.n_steps > most:
            break
        begin, end = (float(value) for value in wrong[k, :2])
        theta = np.nan_to_num(reader.by_index_sets(begin)[0].theta)
        found = [
            Node(t, 0, status_of(one, stepper.box(t)), one)
            for t, one in stepper.nodes(begin, theta, end)
        ]
        kept = [(node.t, rounded(node.found, stepper.box(node.t))) for node in found]
        by_nodes = max(reader.error(one, t) for t, one in kept)
        middle = 0.5 * (begin + end)
        by_sets = reader.error(reader.by_index_sets(middle)[0], middle)
        if by_nodes <= max(RIGHT, BETTER * by_sets):
            solved[int(k)] = found
    parts, nodes, done = [], [], 0
    events = Events(record.t, record.index, record.move)
    for k in sorted(solved):
        begin, end = wrong[k, :2]
        after = int(np.searchsorted(record.t, begin, side="right"))
        before = int(np.searchsorted(record.t, end, side="left"))
        parts.append(Events(*(part[done:after] for part in events)))
        status, goal = _sets(record, after), _sets(record, before)
        for node in solved[k]:
            parts.append(events_at(node.t, status, node.status))
            nodes.append(node._replace(stretch=first))
            status = node.status
        parts.append(events_at(float(end), status, goal))
        first, done = first + 1, before
    parts.append(Events(*(part[done:] for part in events)))
    return Events(*(np.concatenate(part) for part in zip(*parts, strict=True))), nodes


def events_at(t: float, before: np.ndarray, after: np.ndarray) -> Events:
    """Return what changes from some index sets to others, as events at t."""
    point, move = moves_between(before, after)
    return Events(np.full(len(point), t), point, move)


def _sets(record: Record, position: int) -> np.ndarray:
    """Return the index sets after so many events."""
    status = record.status.copy()
    for point, move in zip(record.index[:position], record.move[:position], strict=True):
        status[point] = AFTER[move]
    return status
