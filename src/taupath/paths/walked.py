"""Exact solutions: walked pieces of a path, each solution from the data and the index sets."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from taupath.engine.node_blocks import travel_of
from taupath.engine.problem import VANISHING, Line
from taupath.engine.readers import made_once
from taupath.engine.reading import VISIBLE, Reader
from taupath.engine.record import Record, Solution, moves_between
from taupath.engine.solver import COUNTED
from taupath.engine.status import AFTER, BEFORE, FREE, LOWER, UPPER
from taupath.paths.certificate import Certificate, Measure, where_to_check, worst_of
from taupath.paths.jobs import Job, Way
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import Sweep, TrainingData

# Errors of readings below this are rounding: then zeros are preferred.
NOT_WRONG = 1e-15


class ConstantPiece:
    """A piece of a path that needs no walk: one solution, with θ = 0, is optimal all along."""

    nbytes = 0
    doubtful = np.zeros((0, 2))

    way = Way()

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
        rest = np.full(k, multiplier), np.zeros(max(k - 1, 0))
        if with_theta:
            return Sweep(None, np.tile(theta, (k, 1)), *rest)
        return Sweep(np.tile(w, (k, 1)), None, *rest)


def constant_piece(data: TrainingData, begin: float, end: float) -> ConstantPiece | None:
    """Return the whole path of a regression if a constant with zero objective fits all y."""
    present = data.target[data.weight > 0.0]
    value = float(present[0])
    if (present != value).any() or (value != 0.0 and not data.constant.free):
        return None
    if data.extra is not None and not data.extra.cost_nothing_at_zero:
        return None
    above, below = data.target > value, data.target < value
    status = np.where(above, UPPER, np.where(below, LOWER, FREE)).astype(np.int8)
    n_extra = 0 if data.extra is None else len(data.extra)
    status = np.append(status, np.full(n_extra, FREE, dtype=np.int8))
    w, multiplier = data.constant_function(value)
    return ConstantPiece(begin, end, Solution(status, np.zeros(len(status)), w, multiplier))


class WalkedPiece:
    """The solutions of one walk, replayed from its record, in terms of the path's parameter."""

    def __init__(self, job: Job, data: TrainingData, way: Way, record: Record) -> None:
        self.job, self.data, self.way, self.record = job, data, way, record
        self._factor = -way.unit if way.turned else way.unit
        self.lock = data.lock  # of all pieces: they share the rows
        self.lock.share(self)
        self._last: tuple[float, Solution] | None = None

    def forget_shared(self) -> None:
        """Drop the reader and what it found last."""
        self._last = None
        for reader in ("_reader", "_reader_as_given"):
            self.__dict__.pop(reader, None)

    def __reduce__(self) -> tuple[Any, ...]:
        return WalkedPiece, (self.job, self.data, self.way, self.record)

    @made_once
    def _given(self) -> Line:
        """What is solved, as it was walked, before its targets were raised."""
        return self.job.line_to_walk(self.data, self.way)

    @made_once
    def line(self) -> Line:
        """What was walked, with raised targets."""
        return self._given.raised(self.way.rise)

    @made_once
    def _reader(self) -> Reader:
        by_theta = self.data.kernel is not None
        return Reader(self.data.rows, self.line, self._given, self.record, by_theta)

    @made_once
    def _reader_as_given(self) -> Reader:
        return Reader(self.data.rows, self._given, self._given, self.record)

    def _value(self, t: np.ndarray) -> np.ndarray:
        """Return the path's parameter at t on the walk."""
        return np.asarray(self.job.from_t(1.0 - t if self.way.backward else t))

    @property
    def _times(self) -> np.ndarray:
        """The t of all events and nodes, in order."""
        record = self.record
        if record.nodes is None:
            return record.t
        return np.sort(np.append(record.t, record.nodes.t[record.nodes.t <= record.end]))

    @made_once
    def kinks(self) -> np.ndarray:
        """The kinks in terms of the path's parameter: increasing, with both ends."""
        t = np.concatenate(([self.record.begin], self._times, [self.record.end]))
        kinks = self._value(t[::-1] if self.way.backward else t)
        return kinks[np.concatenate(([True], np.diff(kinks) > 0.0))]

    @property
    def extra_kinks(self) -> np.ndarray:
        """The kinks at which rows that are no samples change sets, in any order."""
        record = self.record
        if record.nodes is not None:
            return self.kinks
        t = record.t[record.index >= self.data.shape[0]]
        return self._value(t[(t > record.begin) & (t < record.end)])

    @made_once
    def _nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """The t of each kink and the number of events before it, in the order of the path.

        Where a free intercept can jump, t is listed twice: before and after the jump.
        """
        record = self.record
        t = np.unique(self._times)
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

        θ if it is asked for, otherwise w.
        """
        t, over = (array[first:last] for array in self._nodes)
        with self.lock:
            swept = self._reader.sweep(over, t, not with_theta, with_theta)
        w, theta, multiplier, travel, bent = swept
        for found in (w, theta, multiplier):
            if found is not None and self._factor != 1.0:
                found *= self._factor
        travel *= abs(self._factor)
        bent *= abs(self._factor)
        if w is None:
            return Sweep(None, theta, multiplier + self.way.centre, travel, bent)
        w, multiplier = self.data.uncentred(w, multiplier, self.way.centre)
        return Sweep(w, None, multiplier, travel)

    @property
    def nbytes(self) -> int:
        """Bytes of the record and its nodes."""
        parts = [*vars(self.record).values()]
        if self.record.nodes is not None:
            parts += vars(self.record.nodes).values()
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    @property
    def counters(self) -> dict[str, int]:
        """What the walk did."""
        return self.record.counters

    @property
    def doubtful(self) -> np.ndarray | None:
        """Intervals of the path's parameter where the walk met difficulties; None if unknown."""
        found = self.record.doubtful
        return None if found is None else np.sort(self._value(found), axis=1)

    def solution(self, value: float) -> Solution:
        """Return the solution at this value of the path's parameter."""
        with self.lock:
            if self._last is None or self._last[0] != value:
                self._last = (value, self._solve(value))
            return self._last[1]

    def only_at(self, values: np.ndarray) -> Record:
        """Return a record that has the index sets at these values of the parameter only."""
        record, times = self.record, self.job.to_t(values)
        status, statuses, over = record.status.copy(), [record.status], 0
        times = np.sort(1.0 - times) if self.way.backward else times
        with self.lock:
            for t in times:
                _, position = self._reader.by_index_sets(float(t))
                for k in range(over, position):
                    status[record.index[k]] = AFTER[record.move[k]]
                over = max(over, position)
                statuses.append(status.copy())
        moves = [moves_between(*pair) for pair in pairwise(statuses)]
        return replace(
            record,
            t=np.repeat(times, [len(index) for index, _ in moves]),
            index=np.concatenate([index for index, _ in moves]),
            move=np.concatenate([move for _, move in moves]),
        )

    def _solve(self, value: float) -> Solution:
        t = self.job.to_t(value)
        t = 1.0 - t if self.way.backward else t
        if self.data.extra is None:
            return self._in_units(self._reader.solution(t), t)
        return self._settled(value, t)

    def _settled(self, value: float, t: float) -> Solution:
        """Return a reading in which weights that extra rows fix are exact, with the least error.

        Targets as given are tried first. Raised ones are better where many samples just beyond the
        margin would cost more than the solution itself. A solution is found anew if neither is as
        exact as rounding allows.
        """
        job, data = self.job, self.data
        best: tuple[Measure, Solution] | None = None
        at, given = job.to_t(value), self._reader_as_given.recorded(t)

        def readings() -> Iterator[tuple[Solution, bool]]:
            yield given, False
            yield self._reader.recorded(t), True
            assert best is not None
            if not best[0].exact:
                # at the value itself, since 1 - t may lack digits
                line = self._given.reversed() if self.way.backward else self._given
                anew = self._reader_as_given.solved_anew(line.at(at), given, t)
                if anew is not None:
                    yield anew, False

        for reading, raised in readings():
            for forms in data.settled(self._in_units(reading, t), raised, at):
                for found in forms:
                    seen = measured(job, data, self._line, found, value, self._least)
                    if best is None or NOT_WRONG < best[0].error > seen.error:
                        best = seen, found
                assert best is not None
                if best[0].error <= VISIBLE:
                    return best[1]
        assert best is not None
        return best[1]

    @made_once
    def _line(self) -> Line:
        """What is solved, as given."""
        return self.job.line(self.data)

    @made_once
    def _least(self) -> float:
        """What gaps of readings are at least relative to."""
        return self._factor**2 * self._reader_as_given.least

    def _in_units(self, reading: Solution, t: float) -> Solution:
        """Return a solution of the walk in terms of the job; points with empty boxes get a side."""
        status, theta, w, multiplier = reading
        empty = (self.line.width(t) == 0.0) & (status != FREE)
        if empty.any():  # on either side of the margin its θ is the same
            members = np.flatnonzero(empty).astype(np.int32)
            slack = self._reader.replay.products(w, members) - self.line.target(t)[members]
            status[empty] = np.where(slack < 0.0, UPPER, LOWER)
        if self.way.turned:
            status = np.where(status == FREE, FREE, LOWER + UPPER - status).astype(np.int8)
        factor = self._factor
        centre = self.way.centre
        w, multiplier = self.data.uncentred(factor * w, factor * multiplier, centre)
        found = Solution(status, factor * theta, w, multiplier)
        if not self.data.centred:
            return found
        up, down = self.line.upper(t) - theta, theta - self.line.lower(t)
        room = (down, up) if self.way.turned else (up, down)
        return self.data.with_best_intercept(found, *room, centre)


def measured(
    job: Job, data: TrainingData, line: Line, found: Solution, value: float, least: float
) -> Measure:
    """Measure a solution of the rows that were walked, with each θ within its bounds."""
    solution, t = job.in_boxes(data, data.expand(found), value), job.to_t(value)
    return data.measure(data.whole(solution, found, t), line, t, least)


def _joined(swept: Sequence[Sweep], data: TrainingData) -> Sweep:
    """Return the sweeps over neighbouring pieces as one."""
    w = [each.w for each in swept if each.w is not None]
    theta = [each.theta for each in swept if each.theta is not None]
    travel = [swept[0].travel]
    for one, other in pairwise(swept):
        if one.theta is not None and other.theta is not None:
            change = data.distance(other.theta[0] - one.theta[-1])
        else:
            assert one.w is not None and other.w is not None
            change = float(travel_of(np.stack((one.w[-1], other.w[0])), data.constant.bias)[0])
        travel += [np.array([change]), other.travel]
    return Sweep(
        np.concatenate(w) if w else None,
        np.concatenate(theta) if theta else None,
        np.concatenate([each.multiplier for each in swept]),
        np.concatenate(travel),
    )


class Walked(Solutions):
    """The exact solutions: walked pieces, in the order of the path.

    The pieces are those of the distinct samples of `data`.
    """

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

    @made_once
    def line(self) -> Line:
        """Bounds and targets of all training samples, and of extra rows."""
        return self.job.line(self.data)

    @property
    def nodes(self) -> np.ndarray:
        """The kinks; one where a free intercept can jump is listed twice."""
        return np.concatenate([piece.nodes for piece in self.pieces])

    @property
    def nbytes(self) -> int:
        """Bytes of the record: kinks and index sets."""
        return self.kinks.nbytes + sum(piece.nbytes for piece in self.pieces)

    @property
    def extra_kinks(self) -> np.ndarray:
        """The kinks at which rows that are no samples change sets, increasing."""
        inside = [piece.extra_kinks for piece in self.pieces if isinstance(piece, WalkedPiece)]
        return np.unique(np.concatenate((*inside, [piece.kinks[0] for piece in self.pieces])))

    def on(self, data: TrainingData) -> "Walked":
        """Return the solutions of `data`, whose distinct samples these are the solutions of."""
        return self if data is self.data else Walked(self.job, data, self.pieces)

    def solution(self, value: float) -> Solution:
        """Return the solution from the piece that it belongs to."""
        return self.data.expand(self._found(value))

    def piece_at(self, value: float) -> WalkedPiece | ConstantPiece:
        """Return the piece that the solution at this value of the parameter belongs to."""
        own = (piece for piece in self.pieces[:-1] if value < piece.kinks[-1])
        return next(own, self.pieces[-1])

    def _found(self, value: float) -> Solution:
        """Return the solution of the rows that were walked."""
        return self.piece_at(value).solution(value)

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1."""
        swept = []
        for piece in self.pieces:
            begin, end = max(first, 0), min(last, len(piece.nodes))
            if begin < end:
                swept.append(piece.sweep(begin, end, with_theta))
            first, last = first - len(piece.nodes), last - len(piece.nodes)
        return swept[0] if len(swept) == 1 else _joined(swept, self.data.distinct)

    def measure(self, value: float) -> Measure:
        """Measure the solution from the data, with each θ within its bounds."""
        return self._measure(value, self.least)

    @made_once
    def least(self) -> float:
        """What gaps are at least relative to."""
        begin, end = self.range
        middle = min(max(float(self.job.from_t(self.job.unit_at)), begin), end)
        return VANISHING * self._measure(middle, 0.0).scale

    def _measure(self, value: float, least: float) -> Measure:
        return measured(self.job, self.data, self.line, self._found(value), value, least)

    @property
    def doubtful(self) -> np.ndarray | None:
        """Intervals of the parameter, (k, 2), where walks met difficulties; None if unknown."""
        found = [piece.doubtful for piece in self.pieces]
        known = [each for each in found if each is not None]
        return np.concatenate(known) if len(known) == len(found) else None

    def certify(self, max_points: int | None) -> Certificate:
        """Measure the solutions at all kinks and midpoints, or at `max_points` of them."""
        points, *enough = where_to_check(self.kinks, max_points, self.doubtful)
        found = worst_of(points, [self.measure(float(value)) for value in points], *enough)
        # the path of an indefinite kernel is that of another matrix: no gap can be promised
        return replace(found, condition=np.inf) if self.data.indefinite else found
