"""Exact solutions: walked pieces of a path, each solution from the data and the index sets."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from taupath._core._replay import Replay
from taupath.engine.solver import COUNTED, Record
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.paths.certificate import Certificate, Measure, complementarity_gap
from taupath.paths.jobs import Job, Way
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import Solution, Sweep, TrainingData

# Within this distance of a kink, in units of the last digit of t, the rounding of the kink may put
# t on its wrong side: kinks are accurate to one or two units of their last digit.
NEAR_A_KINK = 4.0
# Index sets that are tried there: more than ever change at once except in ties, where any will do.
MOST_CANDIDATES = 16
# Index sets are accepted if no slack is further than this on the wrong side: its rounding error.
RIGHT_SIDE = 1e-13
# How far a free θ may leave its box, relative to its width, if the given targets are met: as much
# as the promised gap.
OUTSIDE = 1e-9
# A gap that raised targets cause is corrected above this part of the objective: a tenth of the
# promised gap.
VISIBLE = 1e-10


class ConstantPiece:
    """A piece of a path that needs no walk: one solution, with θ = 0, is optimal all along."""

    nbytes = 0

    def __init__(self, begin: float, end: float, solution: Solution) -> None:
        self.kinks = self.nodes = np.array([begin, end])
        self.counters = dict.fromkeys(COUNTED, 0)
        self._found = solution

    def solution(self, value: float) -> Solution:
        """Return the solution, the same everywhere."""
        return self._found

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solution, once for each node."""
        _, theta, w, multiplier = self._found
        k = last - first
        thetas = np.tile(theta, (k, 1)) if with_theta else None
        return Sweep(np.tile(w, (k, 1)), thetas, np.full(k, multiplier))


def constant_piece(data: TrainingData, begin: float, end: float) -> ConstantPiece | None:
    """Return the whole path of a regression if a constant with zero objective fits all y."""
    present = data.target[data.weight > 0.0]
    value = float(present[0])
    if (present != value).any() or (value != 0.0 and not data.constant.free):
        return None
    above, below = data.target > value, data.target < value
    status = np.where(above, UPPER, np.where(below, LOWER, FREE)).astype(np.int8)
    w, multiplier = data.constant_function(value)
    return ConstantPiece(begin, end, Solution(status, np.zeros(len(status)), w, multiplier))


class WalkedPiece:
    """The solutions of one walk, replayed from its record, in terms of the path's parameter."""

    def __init__(self, job: Job, data: TrainingData, way: Way, record: Record) -> None:
        self.job, self.data, self.way, self.record = job, data, way, record
        line = job.line_to_walk(data, way)
        self.line = line.raised(way.rise)
        self._given_target = line.target0 if job.corrects_targets else None
        self._factor = -way.unit if way.turned else way.unit
        self._lock = data.lock  # of all pieces: they share the rows
        self._last: tuple[float, Solution] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return WalkedPiece, (self.job, self.data, self.way, self.record)

    @cached_property
    def _replay(self) -> Replay:
        return Replay(self.data.rows, self.line, self.record)

    @cached_property
    def _sweeper(self) -> Replay:
        """The replay for sweeps with θ, on rows with fewer columns."""
        rows = self.data.sweep_rows
        return self._replay if rows is self.data.rows else Replay(rows, self.line, self.record)

    def _value(self, t: np.ndarray) -> np.ndarray:
        """Return the path's parameter at t on the walk."""
        return np.asarray(self.job.from_t(1.0 - t if self.way.backward else t))

    @cached_property
    def kinks(self) -> np.ndarray:
        """The kinks in terms of the path's parameter: increasing, with both ends."""
        t = np.concatenate(([self.record.begin], self.record.t, [self.record.end]))
        kinks = self._value(t[::-1] if self.way.backward else t)
        return kinks[np.concatenate(([True], np.diff(kinks) > 0.0))]

    @cached_property
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """The t of each kink and the number of events before it, in the order of the path.

        Where a free intercept can jump, t is listed twice: before and after the jump.
        """
        record = self.record
        t = np.unique(record.t)
        t = t[(t > record.begin) & (t < record.end)]
        after = np.searchsorted(record.t, t, side="right")
        if self.data.rows.balanced:
            before = np.searchsorted(record.t, t, side="left")
            twice = self._may_jump(before, after)
            t, after = np.repeat(t, 1 + twice), np.repeat(after, 1 + twice)
            after[(np.flatnonzero(twice) + np.arange(twice.sum()))] = before[twice]
        first = np.searchsorted(record.t, record.begin, side="right")
        last = np.searchsorted(record.t, record.end, side="left")
        t = np.concatenate(([record.begin], t, [record.end]))
        over = np.concatenate(([first], after, [last])).astype(np.intp)
        return (t[::-1].copy(), over[::-1].copy()) if self.way.backward else (t, over)

    def _may_jump(self, before: np.ndarray, after: np.ndarray) -> np.ndarray:
        """Return whether a free intercept can jump between these two numbers of events.

        A point that is free before and after an event keeps its margin, and w does not jump, so the
        intercept cannot either: it can only where no point is free.
        """
        record = self.record
        change = (AFTER[record.move] == FREE).astype(np.int64) - (BEFORE[record.move] == FREE)
        none_free = np.append(0, np.cumsum(change)) == -len(record.free)
        count = np.append(0, np.cumsum(none_free))
        return np.asarray(count[after + 1] > count[before])

    @property
    def nodes(self) -> np.ndarray:
        """The nodes of `sweep` in terms of the path's parameter; all is linear between them."""
        return self._value(self._nodes[0])

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1.

        With θ, w may have other and fewer coordinates; its norm and its last one are the same.
        """
        t, over = (array[first:last] for array in self._nodes)
        rows = self.data.sweep_rows if with_theta else self.data.rows
        w, multiplier = np.empty((len(t), rows.n_cols)), np.empty(len(t))
        theta = np.empty((len(t), rows.n_rows)) if with_theta else None
        with self._lock:
            replay = self._sweeper if with_theta else self._replay
            replay.sweep(over, t, w, theta, multiplier)
        for found in (w, theta, multiplier):
            if found is not None and self._factor != 1.0:
                found *= self._factor
        return Sweep(w, theta, multiplier)

    @property
    def nbytes(self) -> int:
        """Bytes of the record."""
        return sum(x.nbytes for x in vars(self.record).values() if isinstance(x, np.ndarray))

    @property
    def counters(self) -> dict[str, int]:
        """What the walk did."""
        return self.record.counters

    def solution(self, value: float) -> Solution:
        """Return the solution at this value of the path's parameter."""
        with self._lock:
            if self._last is None or self._last[0] != value:
                self._last = (value, self._solve(self.job.to_t(value)))
            return self._last[1]

    def only_at(self, values: np.ndarray) -> Record:
        """Return a record that has the index sets at these values of the parameter only."""
        record, times = self.record, self.job.to_t(values)
        status, statuses, over = record.status.copy(), [record.status], 0
        times = np.sort(1.0 - times) if self.way.backward else times
        with self._lock:
            for t in times:
                _, position = self._at_its_kink(float(t))
                for k in range(over, position):
                    status[record.index[k]] = AFTER[record.move[k]]
                over = max(over, position)
                statuses.append(status.copy())
        moves = [_moves(*pair) for pair in pairwise(statuses)]
        return replace(
            record,
            t=np.repeat(times, [len(index) for index, _ in moves]),
            index=np.concatenate([index for index, _ in moves]),
            move=np.concatenate([move for _, move in moves]),
        )

    def _solve(self, t: float) -> Solution:
        t = 1.0 - t if self.way.backward else t
        (status, theta, w, multiplier), _ = self._at_its_kink(t)
        empty = (self.line.width(t) == 0.0) & (status != FREE)
        if empty.any():  # on either side of the margin its θ is the same
            members = np.flatnonzero(empty).astype(np.int32)
            slack = self._replay.products(w, members) - self.line.target(t)[members]
            status[empty] = np.where(slack < 0.0, UPPER, LOWER)
        if self.way.turned:
            status = np.where(status == FREE, FREE, LOWER + UPPER - status).astype(np.int8)
        factor = self._factor
        return Solution(status, factor * theta, factor * w, factor * multiplier)

    def _at_its_kink(self, t: float) -> tuple[Solution, int]:
        """Return the walk's solution at t, and after how many events its index sets hold.

        A kink is accurate to one or two units of the last digit of t, and with long rows that much
        of t moves w visibly. Near a kink, the index sets are those that best fit the slacks of the
        points that change sides there.
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
            slack = self._replay.products(found.w, movers) - target[movers]
            side = found.status[movers]
            wrong = np.where(side == UPPER, slack, np.where(side == LOWER, -slack, 0.0))
            most_wrong = wrong.max(initial=0.0)
            if most_wrong < least:
                least, best = most_wrong, (found, k)
            if most_wrong <= RIGHT_SIDE:
                break
        return best

    def _by_sets(self, position: int, t: float) -> tuple[Solution, np.ndarray]:
        """Return the solution for the index sets after so many events, and the targets it meets."""
        self._replay.seek(position)
        raised = self.line.target(t)
        found = Solution(*self._replay.solution(t, raised))
        if self._given_target is not None:
            gap, objective = self._gap(found, self._given_target, t)
            if gap > VISIBLE * objective:
                other = self._replay.solution(t, self._given_target, OUTSIDE)
                if (
                    other is not None
                    and self._gap(Solution(*other), self._given_target, t)[0] < gap
                ):
                    return Solution(*other), self._given_target
        return found, raised

    def _gap(self, found: Solution, target: np.ndarray, t: float) -> tuple[float, float]:
        """Return duality gap and primal objective of a solution of the walk."""
        lower, upper = self.line.lower(t), self.line.upper(t)
        at_bound = np.where(found.status == UPPER, upper, lower)
        theta = np.where(found.status == FREE, found.theta, at_bound)
        return complementarity_gap(theta, self.data.rows.products(found.w), self.line, t, target)


def _moves(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which points have changed sets, and their moves; departures from FREE come first."""
    index = np.flatnonzero(before != after)
    move = np.empty(len(index), dtype=np.int8)
    for k, (one, other) in enumerate(zip(BEFORE, AFTER, strict=True)):
        move[(before[index] == one) & (after[index] == other)] = k
    order = np.argsort(AFTER[move] == FREE, kind="stable")
    return index[order].astype(np.int32), move[order]


class Walked(Solutions):
    """The exact solutions: walked pieces, in the order of the path."""

    method = "exact"
    noun = "kinks"

    def __init__(
        self, job: Job, data: TrainingData, pieces: Sequence[WalkedPiece | ConstantPiece]
    ) -> None:
        kinks = np.concatenate([piece.kinks[k > 0 :] for k, piece in enumerate(pieces)])
        counters = dict(pieces[0].counters)
        for piece in pieces[1:]:
            for name, count in piece.counters.items():
                before = counters[name]
                counters[name] = max(before, count) if name == "max_free" else before + count
        super().__init__(job, data, kinks, counters)
        self.pieces = pieces
        self.line = job.line(data)

    @property
    def nodes(self) -> np.ndarray:
        """The kinks; one where a free intercept can jump is listed twice."""
        return np.concatenate([piece.nodes for piece in self.pieces])

    @property
    def nbytes(self) -> int:
        """Bytes of the record: kinks and index sets."""
        return self.kinks.nbytes + sum(piece.nbytes for piece in self.pieces)

    def solution(self, value: float) -> Solution:
        """Return the solution from the piece that it belongs to."""
        own = (piece for piece in self.pieces[:-1] if value < piece.kinks[-1])
        return next(own, self.pieces[-1]).solution(value)

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1."""
        swept = []
        for piece in self.pieces:
            begin, end = max(first, 0), min(last, len(piece.nodes))
            if begin < end:
                swept.append(piece.sweep(begin, end, with_theta))
            first, last = first - len(piece.nodes), last - len(piece.nodes)
        if len(swept) == 1:
            return swept[0]
        return Sweep(
            np.concatenate([each.w for each in swept]),
            np.concatenate([each.theta for each in swept]) if with_theta else None,
            np.concatenate([each.multiplier for each in swept]),
        )

    def measure(self, value: float) -> Measure:
        """Measure the solution from the data, with each θ within its bounds."""
        solution = self.job.in_boxes(self.data, self.solution(value), value)
        return self.data.measure(solution, self.line, self.job.to_t(value))

    def certify(self, max_points: int | None) -> Certificate:
        """Measure the solutions at all kinks and midpoints, or at `max_points` of them."""
        points = np.unique(np.concatenate((self.kinks, 0.5 * (self.kinks[1:] + self.kinks[:-1]))))
        complete = max_points is None or len(points) <= max_points
        if max_points is not None and not complete:
            if max_points < 2:
                raise ValueError(f"max_points must be at least 2, got {max_points}")
            points = points[np.linspace(0, len(points) - 1, max_points).astype(int)]
        measures = [self.measure(float(value)) for value in points]
        gaps = np.array([m.gap for m in measures])
        kkts = np.array([m.kkt for m in measures])
        gap, kkt = int(gaps.argmax()), int(kkts.argmax())
        return Certificate(
            worst_gap=float(gaps[gap]),
            tau_gap=float(points[gap]),
            worst_kkt=float(kkts[kkt]),
            tau_kkt=float(points[kkt]),
            n_checked=len(points),
            complete=bool(complete),
        )
