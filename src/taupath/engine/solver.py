"""From a problem to the record of its path: start, walk, repair. Only this file drives the walk.

Degeneracy (several events at once) is the normal case: a whole class can lie on the margin near
τ = 0. Callers therefore raise the targets to p_i + δ u_i with fixed random u_i in [½, 1), for
which events come one by one. Raising targets, never lowering them, keeps this harmless: the
duality gap it causes is Σ (θ_i - l_i) δ u_i over the free points. With l = 0 and p = 1 that is at
most 2 δ times the objective whatever the box, and no optimality condition is off by more than δ.
Lowering them would cost up to Σ h_i δ u_i, which grows with C. (Kinks move by as little; what is
promised is in the certificate.)
"""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from taupath._core._factor import independent_rows
from taupath._core._rows import Rows
from taupath._core._walk import Walk
from taupath.engine.meeting import Meeting, Passing
from taupath.engine.metric import Metric, natural_metric
from taupath.engine.problem import Line, correction, rising_targets
from taupath.engine.status import FREE, FREE_TO_LOWER, FREE_TO_UPPER, LOWER, UPPER, Outcome
from taupath.engine.work import WorkDone
from taupath.exceptions import WalkFailed
from taupath.progress import Tell

__all__ = ["COUNTED", "ORTHOGONAL_UP_TO", "RAISE", "Guess", "Record", "solve_path"]

Guess = tuple[np.ndarray, np.ndarray]
Events = list[tuple[np.ndarray, np.ndarray, np.ndarray]]

# δ: large against rounding in a slack (1e-13 is common, 1e-12 has been seen), small against the
# promised gap of 1e-9.
RAISE = 1e-10
SEED = 20090619
# With at most so many columns the factor keeps an orthonormal basis: cheap there, and proof
# against columns of very different scale.
ORTHOGONAL_UP_TO = 128
# Kinks come to a few per sample in practice; the worst case is exponential.
EVENTS_PER_SAMPLE = 1000
# Events of a stretch that is walked with all precautions.
CAREFUL_EVENTS = 256
# Repairs in a row that do not get the walk ahead.
MOST_REPAIRS = 5
# Rewinds and repairs of one path.
MOST_TROUBLE = 200
# Margins beyond this are no solution's.
ABSURD = 1e100
# What is counted along the way.
COUNTED = (
    "kinks",
    "start_events",
    "rows_evaluated",
    "zero_length_steps",
    "refactorizations",
    "rewinds",
    "repairs",
    "left_out",
    "exchanges",
    "sum_free",
    "max_free",
)
# With so few points a start or a repair is over before a metric pays.
FEW = 1000
# From so many points on, the start is guessed by some of them.
GUESSED_FROM = 2000
GUESSED_BY = 1000
# Seconds between two looks at the keyboard and calls of `progress`.
PAUSE = 0.1
# And where another walk is coming.
SHORT_PAUSE = 0.01


@dataclass
class Record:
    """What a walk leaves behind: index sets only.

    Attributes
    ----------
    begin, end : float
        The stretch of t.
    status : ndarray of int8
        Index sets at the beginning.
    free : ndarray of int32
        The free points at the beginning.
    t, index, move : ndarray
        Each event: where, which point, from what to what.
    counters : dict
        Events, rows evaluated and the like.
    """

    begin: float
    end: float
    status: np.ndarray
    free: np.ndarray
    t: np.ndarray
    index: np.ndarray
    move: np.ndarray
    counters: dict[str, int] = field(default_factory=dict)

    def until(self, end: float) -> "Record":
        """Return the part of the record up to an earlier end."""
        kept = np.searchsorted(self.t, end, side="right")
        parts = {name: getattr(self, name)[:kept] for name in ("t", "index", "move")}
        return replace(self, end=end, **parts)

    def in_order(self, order: np.ndarray) -> "Record":
        """Return the same record where point k is called `order[k]`."""
        order = order.astype(np.int32)
        status = np.empty_like(self.status)
        status[order] = self.status
        return replace(self, status=status, free=order[self.free], index=order[self.index])


def solve_path(
    rows: Rows,
    line: Line,
    begin: float,
    end: float,
    order: np.ndarray | None = None,
    progress: Tell | None = None,
    meeting: Meeting | Passing | None = None,
    guess: Guess | None = None,
) -> Record:
    """Walk `line` from `begin` to `end`.

    Parameters
    ----------
    rows : Rows
        The z_i.
    line : Line
        Bounds and raised targets. At t = 0 the lower bounds are zero.
    begin, end : float
        Where the walk begins and ends.
    order : ndarray of shape (n_samples,), optional
        Row k stands for sample `order[k]` of the line.
    progress : callable, optional
        Called as ``progress(fraction, n_events, t)`` about ten times a second; `fraction` is the
        share of the work that is done, as far as can be told.
    meeting : Meeting, optional
        Another walk comes from the end: this one stops where the two meet.
    guess : pair of ndarray, optional
        About the status and θ of each sample at `begin`; without it, the way to there is walked
        from an end of the line.

    Returns
    -------
    Record
        Index sets along the way.

    Raises
    ------
    WalkFailed
        Where repairs do not help or the event budget is used up.
    """
    squared_norm = rows.squared_norms()
    if order is not None:
        line = line.take(order)
        guess = None if guess is None else (guess[0][order], guess[1][order])
    record = _Solver(rows, squared_norm, line, begin, end, progress, meeting).solve(guess)
    return record if order is None else record.in_order(order)


@dataclass
class _State:
    """A solution: index sets and the free θ."""

    status: np.ndarray
    free: np.ndarray
    theta: np.ndarray


class _Solver:
    """One walk in the making: pieces of it, and the counters over all pieces."""

    def __init__(
        self,
        rows: Rows,
        squared_norm: np.ndarray,
        line: Line,
        begin: float,
        end: float,
        progress: Tell | None,
        meeting: Meeting | Passing | None,
    ) -> None:
        self.rows = rows
        self.squared_norm = squared_norm
        self.orthogonal = rows.n_cols <= ORTHOGONAL_UP_TO and not rows.dual
        self.line = line
        self.begin, self.end = begin, end
        self.progress, self.meeting = progress, meeting
        self.budget = EVENTS_PER_SAMPLE * rows.n_rows + 1000
        self.counters = dict.fromkeys(COUNTED, 0)
        self.done = WorkDone(line, begin, end)

    def solve(self, guess: Guess | None = None) -> Record:
        state = None if guess is None else self._start_from(*guess)
        if state is None:
            state = self._start()
        events: Events = []
        self._walk(self.line, self.begin, self.end, state, events, "kinks")
        times, index, move = (np.concatenate(parts) for parts in zip(*events, strict=True))
        # a repair begins where times are not rounded up, a correction may pass an end
        end = self.end if self.meeting is None else min(self.meeting.at, self.end)
        times = np.clip(np.maximum.accumulate(times), self.begin, end)
        return Record(self.begin, end, state.status, state.free, times, index, move, self.counters)

    def _start_from(self, status: np.ndarray, theta: np.ndarray) -> _State | None:
        """Return the solution at the beginning, near to a given one; None if that is too far."""
        free = np.flatnonzero(status == FREE).astype(np.int32)
        near = self._independent(self.line, self.begin, _State(status, free, theta[free]), [])
        outcome, state = self._correct(self.line, self.begin, near, [])
        return state if outcome == Outcome.DONE else None

    def _start(self) -> _State:
        """Return the solution at the beginning.

        At an end of the line one class has empty boxes and few points of the other are on the
        margin, so a solution is found quickly there; from the nearer end it is a walk.
        """
        backward = self.begin > 0.5
        line = self.line.reversed() if backward else self.line
        begin = 1.0 - self.begin if backward else self.begin
        state = self._solve_at_zero(line)
        if begin > 0.0:
            state = self._walk(line, 0.0, begin, state, [], "start_events")
        return state

    def _solve_at_zero(self, line: Line) -> _State:
        """Return the solution at t = 0.

        Where rows are to be balanced there is hardly a choice, see `_balanced_at_zero`. Otherwise,
        with targets below zero θ = l = 0 is optimal; from there the targets rise to their true
        values. Only points that end up on or inside the margin become events.
        """
        if self.rows.balanced:
            return self._balanced_at_zero(line)
        guess = self._guess_at_zero(line)
        state = self._rise_from_nothing(line) if guess is None else guess
        # a box that is still empty says nothing about its side; the slack does
        w = self.rows.combine(self._theta(line, state, 0.0))
        slack = self.rows.products(w) - line.target(0.0)
        empty = (line.width(0.0) <= 0.0) & (state.status != FREE)
        state.status[empty] = np.where(slack[empty] < 0.0, UPPER, LOWER)
        return state

    def _rise_from_nothing(self, line: Line) -> _State:
        """Return the solution at t = 0 by letting the targets rise from below zero."""
        n = self.rows.n_rows
        first = -np.random.default_rng(SEED).uniform(0.5, 1.0, n)
        none = _State(np.full(n, LOWER, dtype=np.int8), np.zeros(0, dtype=np.int32), np.zeros(0))
        rising = rising_targets(line, 0.0, first)
        return self._walk(rising, 0.0, 1.0, none, [], "start_events")

    def _guess_at_zero(self, line: Line) -> _State | None:
        """Return the solution at t = 0 by way of that of some points only.

        Where θ reach their upper bounds, the others' would be guessed badly: then, or where there
        are few points anyway, None.
        """
        width = line.width(0.0)
        open_now = np.flatnonzero(width > 0.0)
        if len(open_now) < GUESSED_FROM:
            return None
        some = open_now[np.linspace(0, len(open_now) - 1, GUESSED_BY).astype(int)]
        upper = np.zeros_like(width)
        upper[some] = width[some] * (width.sum() / width[some].sum())
        lower = np.zeros_like(upper)
        few = replace(line, lower0=lower, upper0=upper, lower1=lower, upper1=upper)
        guess = self._rise_from_nothing(few)
        if (guess.status[some] == UPPER).any():
            return None
        theta = np.minimum(guess.theta, width[guess.free])
        outcome, state = self._correct(line, 0.0, _State(guess.status, guess.free, theta), [])
        return state if outcome == Outcome.DONE else None

    def _balanced_at_zero(self, line: Line) -> _State:
        """Return the solution at t = 0 with Σ sign_i θ_i = 0, where all θ are zero.

        Open boxes belong to one sign only there, so none of their points can leave zero. All of
        these lie on the margin or, by their raised targets, just beyond, and the multiplier puts
        the one with the highest target on it. Where no box is open yet, that is the point up to
        which the points of the heavier sign, highest targets first, outweigh the lighter.
        """
        sign, target = self.rows.signs.astype(float), line.target0
        open_now = line.width(0.0) > 0.0
        opening = line.upper_rate > 0.0
        if open_now.any():
            side = float(sign[open_now][0])
            highest = np.flatnonzero(open_now)[target[open_now].argmax()]
        else:
            weight = np.where(opening, line.upper_rate, 0.0)
            side = 1.0 if weight[sign > 0.0].sum() >= weight[sign < 0.0].sum() else -1.0
            heavier = np.flatnonzero(opening & (sign == side))
            heavier = heavier[np.argsort(-target[heavier], kind="stable")]
            needed = weight[sign != side].sum()
            reached = np.searchsorted(np.cumsum(weight[heavier]), needed * (1.0 - 1e-15))
            highest = heavier[min(int(reached), len(heavier) - 1)]
        slack = sign * side * target[highest] - target
        status = np.where(slack < 0.0, UPPER, LOWER).astype(np.int8)
        status[highest] = FREE
        return _State(status, np.array([highest], dtype=np.int32), np.zeros(1))

    def _walk(
        self, line: Line, begin: float, end: float, state: _State, events: Events, name: str
    ) -> _State:
        """Walk from `begin` to `end`, adding to `events`; returns the solution at the end."""
        t, repairs, careful, metric = begin, 0, False, self._metric(line)
        while True:
            walk = self._new_walk(line, t, end, state, metric, careful)
            outcome = self._run(
                walk, report=name == "kinks", limit=CAREFUL_EVENTS if careful else None
            )
            if outcome == Outcome.DONE:
                self._count(walk, name)
                events.append(walk.events)
                return _State(walk.statuses, walk.free, walk.theta_free)
            if careful and outcome != Outcome.MORE and walk.good_events == 0:
                # even with all precautions: put the index sets right where it ended
                repairs = repairs + 1 if walk.t <= t else 1
                if repairs > MOST_REPAIRS:
                    raise WalkFailed("repairs did not bring the walk ahead", walk.t)
                t = walk.t
                events.append(walk.events)
                state = _State(walk.statuses, walk.free, walk.theta_free)
                state = self._repair(line, t, state, events)
                if t >= end:
                    self._count(walk, name)
                    return state
            else:
                # back to where all points were last found on their sides; from there with all
                # precautions if something went wrong since, as usual if a careful stretch is done
                self.counters["rewinds"] += outcome != Outcome.MORE
                t, *good = walk.rewind()
                state = _State(*good)
                events.append(walk.events)
                careful = outcome != Outcome.MORE
            self._count(walk, name)
            if self.counters["rewinds"] + self.counters["repairs"] > MOST_TROUBLE:
                raise WalkFailed("rewinds and repairs without end", t)

    def _repair(self, line: Line, t: float, state: _State, events: Events) -> _State:
        """Return the exact solution at t, from an approximate one.

        Its index sets are made optimal by moving the targets, which are then walked back.
        """
        for _ in range(MOST_REPAIRS):
            self.counters["repairs"] += 1
            state = self._independent(line, t, state, events)
            outcome, state = self._correct(line, t, state, events)
            if outcome == Outcome.DONE:
                return state
        raise WalkFailed("a repair did not come to its end", t)

    def _correct(
        self, line: Line, t: float, state: _State, events: Events
    ) -> tuple[Outcome, _State]:
        """Move the targets to where a state is optimal, and walk them back as far as possible."""
        margin = self.rows.products(self.rows.combine(self._theta(line, state, t)))
        if not (np.abs(margin) < ABSURD).all():
            raise WalkFailed("margins are out of all proportion", t)
        back = correction(line, t, margin, state.status)
        walk = self._new_walk(back, 0.0, 1.0, state, self._metric(back))
        outcome = self._run(walk)
        self._count(walk, "start_events")
        times, index, move = walk.events
        events.append((np.full_like(times, t), index, move))
        return outcome, _State(walk.statuses, walk.free, walk.theta_free)

    def _independent(self, line: Line, t: float, state: _State, events: Events) -> _State:
        """Return the state with its dependent free points put to a bound, the others clipped."""
        kept = independent_rows(self.rows, self.squared_norm, state.free, ORTHOGONAL_UP_TO)
        lower, upper = line.lower(t), line.upper(t)
        dropped = state.free[~kept]
        to_upper = state.theta[~kept] > 0.5 * (lower[dropped] + upper[dropped])
        status = state.status.copy()
        status[dropped] = np.where(to_upper, UPPER, LOWER)
        moves = np.where(to_upper, FREE_TO_UPPER, FREE_TO_LOWER).astype(np.int8)
        events.append((np.full(len(dropped), t), dropped, moves))
        free = state.free[kept]
        return _State(status, free, np.clip(state.theta[kept], lower[free], upper[free]))

    def _metric(self, line: Line) -> Metric | None:
        """Return how to measure lengths; None where the usual way will do."""
        brief = self.rows.n_rows <= FEW and bool(line.target_rate.any())
        return natural_metric(self.rows, line) if self.orthogonal and not brief else None

    def _theta(self, line: Line, state: _State, t: float) -> np.ndarray:
        theta = np.where(state.status == UPPER, line.upper(t), line.lower(t))
        theta[state.free] = state.theta
        return theta

    def _new_walk(
        self,
        line: Line,
        begin: float,
        end: float,
        state: _State,
        metric: Metric | None,
        careful: bool = False,
    ) -> Walk:
        return Walk(
            self.rows,
            self.squared_norm,
            line,
            begin,
            end,
            state.status,
            state.free,
            state.theta,
            metric,
            self.orthogonal,
            careful,
        )

    def _run(self, walk: Walk, report: bool = False, limit: int | None = None) -> Outcome:
        """Walk in portions short enough to notice Ctrl-C and to report progress."""
        portion, pause = 64, PAUSE
        while True:
            started, before = time.monotonic(), walk.n_events
            outcome = Outcome(walk.run(portion))
            self.rows.check()
            spent = time.monotonic() - started
            if report and self.meeting is not None and outcome in (Outcome.MORE, Outcome.DONE):
                if self.meeting.reached(walk.t) and outcome == Outcome.MORE:
                    return Outcome(walk.look())
                pause = SHORT_PAUSE
            if report and self.progress is not None:
                kinks = self.counters["kinks"] + walk.n_events
                self.progress(self.done.share(walk, kinks), kinks, walk.t)
            if outcome not in (Outcome.MORE, Outcome.FULL):
                return outcome
            if limit is not None and walk.n_events >= limit:
                return Outcome.MORE
            self.budget -= walk.n_events - before
            if self.budget < 0:
                raise WalkFailed(f"more than {EVENTS_PER_SAMPLE} events per sample", walk.t)
            if spent < 0.5 * pause:
                portion = min(2 * portion, 1 << 16)
            elif spent > pause:
                portion = max(portion // 2, 1)

    def _count(self, walk: Walk, events: str) -> None:
        counters = self.counters
        counters[events] += walk.n_events
        counters["rows_evaluated"] += walk.n_rows_evaluated
        counters["zero_length_steps"] += walk.n_zero_steps
        counters["refactorizations"] += walk.n_refactorizations
        counters["left_out"] += walk.n_left_out_total
        counters["exchanges"] += walk.n_exchanges
        counters["sum_free"] += walk.sum_free
        counters["max_free"] = max(counters["max_free"], walk.max_free)
