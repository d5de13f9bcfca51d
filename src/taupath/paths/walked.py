"""A walked stretch of a path: any of its solutions, from the data and the recorded index sets."""

import threading
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from taupath._core._replay import Replay
from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.solver import COUNTED, RAISE, Record
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.paths.training_data import Samples, Solution

__all__ = ["Rest", "Stretch", "Sweep"]

# w, θ where asked for, and the multiplier, at several kinks in a row.
Sweep = tuple[np.ndarray, np.ndarray | None, np.ndarray]

# Distance from a kink, in units of t's last digit, within which its rounding may matter.
NEAR_A_KINK = 4.0
# Index sets to try there, and the slack on the wrong side with which one of them is right.
MOST_CANDIDATES = 16
RIGHT_SIDE = 1e-13
# How far a free θ may be beyond its bounds, as part of its box, where true targets are met.
OUTSIDE = 1e-9
# A gap that raised targets cause is visible above this part of the objective.
VISIBLE = 1e-10


class Rest:
    """A stretch without a walk: one constant function is the solution all along.

    Parameters
    ----------
    begin, end : float
        The stretch of the path's parameter.
    status, w, multiplier
        Of the solution, whose θ are zero.
    """

    nbytes = 0

    def __init__(
        self, begin: float, end: float, status: np.ndarray, w: np.ndarray, multiplier: float
    ) -> None:
        self.kinks = self.nodes = np.array([begin, end])
        self.counters = dict.fromkeys(COUNTED, 0)
        self._found = status, np.zeros(len(status)), w, multiplier

    def solution(self, value: float) -> Solution:
        """Return the solution, the same everywhere."""
        return self._found

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solution as often as asked for."""
        _, theta, w, multiplier = self._found
        k = last - first
        thetas = np.tile(theta, (k, 1)) if with_theta else None
        return np.tile(w, (k, 1)), thetas, np.full(k, multiplier)


class Stretch:
    """What one walk has left, in terms of the path it belongs to.

    Parameters
    ----------
    samples : Samples
        Where the rows come from.
    line : Line
        The line that was walked, with its raised targets.
    record : Record
        What was recorded.
    scale : float
        The path's parameter is `scale` t, or
    backward : bool
        `scale` (1 - t).
    turned : bool
        The walk was that of -θ.
    unit : float
        θ and w of the path are so many times those of the walk.
    rise : float
        What the targets were raised by, in units of the walk.
    true_target : ndarray, optional
        Targets before they were raised. Solutions go by these where raising shows in the duality
        gap more than the index sets of raised targets do.
    """

    def __init__(
        self,
        samples: Samples,
        line: Line,
        record: Record,
        *,
        scale: float = 1.0,
        backward: bool = False,
        turned: bool = False,
        unit: float = 1.0,
        rise: float = RAISE,
        true_target: np.ndarray | None = None,
    ) -> None:
        self.samples, self.line, self.record = samples, line, record
        self.scale, self.backward, self.turned = scale, backward, turned
        self.unit, self.rise = unit, rise
        self.factor = -unit if turned else unit
        self.true_target = true_target
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[float, Solution] | None = None

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_replay", "_sweeper", "_lock", "_last", "_nodes", "kinks")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_afresh()

    @cached_property
    def _replay(self) -> Replay:
        return self._replay_on(self.samples.rows)

    @cached_property
    def _sweeper(self) -> Replay:
        """What sweeps that are after θ go by."""
        samples = self.samples
        if samples.sweep_rows is samples.rows:
            return self._replay
        return self._replay_on(samples.sweep_rows)

    def _replay_on(self, rows: Rows) -> Replay:
        return Replay(rows, self.line, self.record)

    def _value(self, t: np.ndarray) -> np.ndarray:
        """Return the path's parameter at t of the walk."""
        return np.asarray(self.scale * (1.0 - t if self.backward else t))

    @cached_property
    def kinks(self) -> np.ndarray:
        """The kinks in terms of the path's parameter, increasing, ends included."""
        t = np.concatenate(([self.record.begin], self.record.t, [self.record.end]))
        kinks = self._value(t[::-1] if self.backward else t)
        return kinks[np.concatenate(([True], np.diff(kinks) > 0.0))]

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Each t where there is a kink, and how many events are over, in the order of the path.

        Where a free intercept can jump, t is there twice, before and after it.
        """
        record = self.record
        t = np.unique(record.t)
        t = t[(t > record.begin) & (t < record.end)]
        after = np.searchsorted(record.t, t, side="right")
        if self.samples.rows.balanced:
            before = np.searchsorted(record.t, t, side="left")
            twice = self._may_jump(before, after)
            t, after = np.repeat(t, 1 + twice), np.repeat(after, 1 + twice)
            after[(np.flatnonzero(twice) + np.arange(twice.sum()))] = before[twice]
        first = np.searchsorted(record.t, record.begin, side="right")
        last = np.searchsorted(record.t, record.end, side="left")
        t = np.concatenate(([record.begin], t, [record.end]))
        over = np.concatenate(([first], after, [last])).astype(np.intp)
        return (t[::-1].copy(), over[::-1].copy()) if self.backward else (t, over)

    def _may_jump(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return whether a free intercept can jump while so many events become so many.

        A point that is free before and after an event has the same margin and the same w, and
        with them the same intercept: only where no point is free, there may be another one.
        """
        record = self.record
        change = (AFTER[record.move] == FREE).astype(np.int64) - (BEFORE[record.move] == FREE)
        none_free = np.append(0, np.cumsum(change)) == -len(record.free)
        count = np.append(0, np.cumsum(none_free))
        return np.asarray(count[after + 1] > count[before])

    @property
    def nodes(self) -> np.ndarray:
        """Where `sweep` goes, in terms of the path's parameter: between two, all is linear."""
        return self._value(self._nodes[0])

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1.

        With θ, w may have fewer coordinates: its length and its last one are right.
        """
        t, over = (part[first:last] for part in self._nodes)
        rows = self.samples.sweep_rows if with_theta else self.samples.rows
        w, multiplier = np.empty((len(t), rows.n_cols)), np.empty(len(t))
        theta = np.empty((len(t), rows.n_rows)) if with_theta else None
        with self._lock:
            replay = self._sweeper if with_theta else self._replay
            replay.sweep(over, t, w, theta, multiplier)
        for found in (w, theta, multiplier):
            if found is not None and self.factor != 1.0:
                found *= self.factor
        return w, theta, multiplier

    @property
    def nbytes(self) -> int:
        """Bytes of the record."""
        record = self.record
        arrays = (record.status, record.free, record.t, record.index, record.move)
        return sum(array.nbytes for array in arrays)

    @property
    def counters(self) -> dict[str, int]:
        """What the walk did."""
        return self.record.counters

    def solution(self, value: float) -> Solution:
        """Return the solution at this value of the path's parameter."""
        with self._lock:
            if self._last is None or self._last[0] != value:
                self._last = (value, self._solve(value / self.scale))
            return self._last[1]

    def thinned(self, values: np.ndarray) -> Record:
        """Return a record that has the index sets at these values of the parameter only."""
        record, places = self.record, values / self.scale
        status, statuses, over = record.status.copy(), [record.status], 0
        times = np.sort(1.0 - places) if self.backward else places
        with self._lock:
            for t in times:
                _, position = self._at_its_kink(float(t))
                for k in range(over, position):
                    status[record.index[k]] = AFTER[record.move[k]]
                over = max(over, position)
                statuses.append(status.copy())
        moves = [_moves(*pair) for pair in pairwise(statuses)]
        return Record(
            record.begin,
            record.end,
            record.status,
            record.free,
            np.repeat(times, [len(index) for index, _ in moves]),
            np.concatenate([index for index, _ in moves]),
            np.concatenate([move for _, move in moves]),
            record.counters,
        )

    def _solve(self, place: float) -> Solution:
        t = 1.0 - place if self.backward else place
        (status, theta, w, multiplier), _ = self._at_its_kink(t)
        empty = (self.line.width(t) == 0.0) & (status != FREE)
        if empty.any():  # on either side of the margin its θ is the same
            members = np.flatnonzero(empty).astype(np.int32)
            slack = self._replay.products(w, members) - self.line.target(t)[members]
            status[empty] = np.where(slack < 0.0, UPPER, LOWER)
        if self.turned:
            status = np.where(status == FREE, FREE, LOWER + UPPER - status).astype(np.int8)
        return status, self.factor * theta, self.factor * w, self.factor * multiplier

    def _at_its_kink(self, t: float) -> tuple[Solution, int]:
        """Return the walk's solution at t, by the sets that fit best where t is all but a kink.

        And after how many events these are the sets.

        A kink is recorded to the last digit of t or two, and where rows are long that much of t
        moves w visibly. The points that change sides thereabouts tell before from after.
        """
        times = self.record.t
        near = NEAR_A_KINK * np.spacing(t)
        position = int(np.searchsorted(times, t, side="right"))
        first = int(np.searchsorted(times, t - near, side="left"))
        last = int(np.searchsorted(times, t + near, side="right"))
        if first == last:
            return self._by_sets(position, t)[0], position
        movers = np.unique(self.record.index[first:last])
        candidates = sorted(range(first, last + 1), key=lambda k: abs(k - position))
        least = np.inf
        for k in candidates[:MOST_CANDIDATES]:
            found, target = self._by_sets(k, t)
            slack = self._replay.products(found[2], movers) - target[movers]
            side = found[0][movers]
            wrong = np.where(side == UPPER, slack, np.where(side == LOWER, -slack, 0.0))
            most_wrong = wrong.max(initial=0.0)
            if most_wrong < least:
                least, best = most_wrong, (found, k)
            if most_wrong <= RIGHT_SIDE:
                break
        return best

    def _by_sets(self, position: int, t: float) -> tuple[Solution, np.ndarray]:
        """Return the solution by the index sets after so many events, and the targets it meets."""
        self._replay.seek(position)
        raised = self.line.target(t)
        found = self._replay.solution(t, raised)
        if self.true_target is not None:
            gap, objective = self._gap(found, self.true_target, t)
            if gap > VISIBLE * objective:
                other = self._replay.solution(t, self.true_target, OUTSIDE)
                if other is not None and self._gap(other, self.true_target, t)[0] < gap:
                    return other, self.true_target
        return found, raised

    def _gap(self, found: Solution, target: np.ndarray, t: float) -> tuple[float, float]:
        """Return duality gap and primal objective of a solution of the walk."""
        status, theta, w, _ = found
        lower, upper = self.line.lower(t), self.line.upper(t)
        theta = np.where(status == UPPER, upper, np.where(status == LOWER, lower, theta))
        margin = self.samples.rows.products(w)
        short = target - margin
        gap = np.maximum((upper - theta) * short, (lower - theta) * short).sum()
        return float(gap), float(gap + target @ theta - 0.5 * (theta @ margin))


def _moves(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which points are elsewhere, and their moves; those that leave the free set first."""
    index = np.flatnonzero(before != after)
    move = np.empty(len(index), dtype=np.int8)
    for k, (one, other) in enumerate(zip(BEFORE, AFTER, strict=True)):
        move[(before[index] == one) & (after[index] == other)] = k
    order = np.argsort(AFTER[move] == FREE, kind="stable")
    return index[order].astype(np.int32), move[order]
