"""From a problem to the record of its path: start, walk, repair. Only this file drives the walk.

Degeneracy (several events at once) is the normal case: a whole class can lie on the margin near
t = 0. Callers therefore raise the targets to p_i + δ u_i with fixed random u_i in [½, 1), so that
events come one by one. Raising targets, never lowering them, keeps this harmless: the
duality gap it causes is Σ (θ_i - l_i) δ u_i over the free points. With l = 0 and p = 1 that is at
most 2 δ times the objective whatever the box, and no optimality condition is off by more than δ.
Lowering them would cost up to Σ h_i δ u_i, which grows with the boxes. (Kinks move by as little;
the certificate says what is promised.)
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from taupath._core._factor import independent_rows, keeps_basis
from taupath._core._rows import Rows
from taupath._core._walk import Walk
from taupath.engine.metric import Metric, natural_metric
from taupath.engine.problem import Line, correction, rising_targets
from taupath.engine.status import FREE, FREE_TO_LOWER, FREE_TO_UPPER, LOWER, UPPER, Outcome
from taupath.engine.tolerances import ABSURD_MARGIN, OUTWEIGHED
from taupath.engine.work import WorkDone
from taupath.exceptions import WalkFailed
from taupath.progress import Tell

# Seed of the random targets from which those at t = 0 rise: any will do, but it must not change.
RISE_SEED = 20090619
# Events per sample after which a walk gives up: in practice there are a few, while the worst case
# is exponential.
EVENTS_PER_SAMPLE = 1000
# Events walked with all precautions after something went wrong, before walking as usual again: far
# more than it takes to get past the difficulty.
CAREFUL_EVENTS = 256
# A walk fails after so many repairs in a row without progress, or so many rewinds and repairs in
# all: the hardest known cases need one or two.
REPAIRS_IN_A_ROW = 5
REWINDS_AND_REPAIRS = 200
# With up to this many points, the walks of a start or a repair are too short for a metric to pay.
FEW_FOR_A_METRIC = 1000
# From GUESSED_FROM points on, the start is guessed from the solution of GUESSED_BY of them: that is
# quick, and enough to tell which points matter.
GUESSED_FROM = 2000
GUESSED_BY = 1000
# Seconds between two calls of `progress`, when Ctrl-C is noticed as well; and, if another walk is
# coming, between two checks of where it is.
REPORT_PAUSE = 0.1
SHORT_PAUSE = 0.01
# The counters of a record.
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


class Guess(NamedTuple):
    """An approximate solution: the status and θ of each sample."""

    status: np.ndarray
    theta: np.ndarray


class State(NamedTuple):
    """A solution at t: the status of every point, the free points and their θ."""

    t: float
    status: np.ndarray
    free: np.ndarray
    theta: np.ndarray


class Events(NamedTuple):
    """Some of the events of a walk: at which t, which point, from what to what."""

    t: np.ndarray
    point: np.ndarray
    move: np.ndarray


@dataclass
class Record:
    """The record of a walk from `begin` to `end`: index sets only."""

    begin: float
    end: float
    status: np.ndarray  # index sets at the beginning, int8
    free: np.ndarray  # the free points at the beginning, int32
    t: np.ndarray  # of each event
    index: np.ndarray  # the point of each event
    move: np.ndarray  # from which set to which
    counters: dict[str, int] = field(default_factory=dict)  # see COUNTED

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
    met: Callable[[float], bool] | None = None,
    guess: Guess | None = None,
) -> Record:
    """Return the record of a walk on `line`, whose targets are raised, from `begin` to `end`.

    With `order`, row k stands for sample `order[k]` of the line. About ten times a second,
    ``progress(fraction, n_events, t)`` is called with the estimated share of the work that is done,
    and the walk ends early if ``met(t)`` returns True. With a `guess` near the solution at `begin`
    the walk starts there, otherwise from the nearer end of the line, where lower bounds must be
    zero.

    Raises
    ------
    WalkFailed
        If repairs do not help or the event budget is used up.
    """
    if order is not None:
        line = line.take(order)
        guess = guess and Guess(guess.status[order], guess.theta[order])
    record = _Solver(rows, line, begin, end, progress, met).solve(guess)
    return record if order is None else record.in_order(order)


class _Solver:
    """Drives one walk, in parts, and adds up their counters."""

    def __init__(
        self,
        rows: Rows,
        line: Line,
        begin: float,
        end: float,
        progress: Tell | None = None,
        met: Callable[[float], bool] | None = None,
    ) -> None:
        self.rows, self.line = rows, line
        self.begin, self.end = begin, end
        self.progress, self.met = progress, met
        self.budget = EVENTS_PER_SAMPLE * rows.n_rows + 1000
        self.counters = dict.fromkeys(COUNTED, 0)
        self.done = WorkDone(line, begin, end)

    def solve(self, guess: Guess | None = None) -> Record:
        state = self._start_from(guess) if guess else None
        state = state or self._start()
        events: list[Events] = []
        end = self._walk(self.line, state, self.end, events, "kinks").t
        times, index, move = (np.concatenate(parts) for parts in zip(*events, strict=True))
        # a repair may begin slightly before the last event, and a correction may pass an end
        times = np.clip(np.maximum.accumulate(times), self.begin, end)
        return Record(self.begin, end, state.status, state.free, times, index, move, self.counters)

    # -- the start ------------------------------------------------------------------------------

    def _start_from(self, guess: Guess) -> State | None:
        """Return the solution at the beginning, corrected from a guess; None if that is too far."""
        free = np.flatnonzero(guess.status == FREE).astype(np.int32)
        near = State(self.begin, guess.status, free, guess.theta[free])
        outcome, state = self._correct(self.line, self._independent(self.line, near, []), [])
        return state if outcome == Outcome.DONE else None

    def _start(self) -> State:
        """Return the solution at the beginning.

        At an end of the line one class has empty boxes and few points of the other are on the
        margin, so a solution is found quickly there; a walk leads from the nearer end to `begin`.
        """
        backward = self.begin > 0.5
        line = self.line.reversed() if backward else self.line
        begin = 1.0 - self.begin if backward else self.begin
        state = self._solve_at_zero(line)
        if begin > 0.0:
            state = self._walk(line, state, begin, [], "start_events")
        return state._replace(t=self.begin)

    def _solve_at_zero(self, line: Line) -> State:
        """Return the solution at t = 0.

        With balanced rows it is known, see `_balanced_at_zero`. Otherwise θ = l = 0 is optimal with
        targets below zero, and from there the targets rise to their true values. Only points that
        end up on or inside the margin cause events.
        """
        if self.rows.balanced:
            return self._balanced_at_zero(line)
        state = self._guess_at_zero(line) or self._rise_from_nothing(line)
        # an empty box does not tell the side of its point; the slack does
        w = self.rows.combine(self._theta(line, state))
        slack = self.rows.products(w) - line.target(0.0)
        empty = (line.width(0.0) <= 0.0) & (state.status != FREE)
        state.status[empty] = np.where(slack[empty] < 0.0, UPPER, LOWER)
        return state

    def _rise_from_nothing(self, line: Line) -> State:
        """Return the solution at t = 0 by letting the targets rise from below zero."""
        n = self.rows.n_rows
        first = -np.random.default_rng(RISE_SEED).uniform(0.5, 1.0, n)
        free = np.zeros(0, dtype=np.int32)
        nothing = State(0.0, np.full(n, LOWER, dtype=np.int8), free, np.zeros(0))
        rising = rising_targets(line, 0.0, first)
        return self._walk(rising, nothing, 1.0, [], "start_events")._replace(t=0.0)

    def _guess_at_zero(self, line: Line) -> State | None:
        """Return the solution at t = 0, guessed from some of the points and corrected.

        None if there are few points anyway, or if some θ reach their upper bounds: then those of
        the other points would be guessed badly.
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
        near = guess._replace(theta=np.minimum(guess.theta, width[guess.free]))
        outcome, state = self._correct(line, near, [])
        return state if outcome == Outcome.DONE else None

    def _balanced_at_zero(self, line: Line) -> State:
        """Return the solution at t = 0 with Σ sign_i θ_i = 0, where all θ are zero.

        Open boxes there belong to one sign only, so none of their θ can leave zero. Their points
        lie on the margin or, because of their raised targets, just beyond it, and the multiplier
        puts the one with the highest target on it. If no box is open yet, take the points of the
        heavier sign, highest targets first: the free one is where they outweigh the other sign.
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
            needed = weight[sign != side].sum() * (1.0 - OUTWEIGHED)
            reached = np.searchsorted(np.cumsum(weight[heavier]), needed)
            highest = heavier[min(int(reached), len(heavier) - 1)]
        slack = sign * side * target[highest] - target
        status = np.where(slack < 0.0, UPPER, LOWER).astype(np.int8)
        status[highest] = FREE
        return State(0.0, status, np.array([highest], dtype=np.int32), np.zeros(1))

    # -- the walk -------------------------------------------------------------------------------

    def _walk(self, line: Line, state: State, end: float, events: list[Events], name: str) -> State:
        """Walk to `end`, adding to `events` and to counter `name`; returns the solution there."""
        repairs, careful, metric = 0, False, self._metric(line)
        while True:
            walk = Walk(self.rows, line, state, end, metric, careful)
            limit = CAREFUL_EVENTS if careful else None
            outcome = self._run(walk, report=name == "kinks", limit=limit)
            if outcome == Outcome.DONE:
                self._count(walk, name)
                events.append(Events(*walk.events))
                return State(*walk.state())
            if careful and outcome != Outcome.MORE and walk.n_checked_events == 0:
                # it failed even with all precautions: repair the index sets where it ended
                repairs = repairs + 1 if walk.t <= state.t else 1
                if repairs > REPAIRS_IN_A_ROW:
                    raise WalkFailed("repairs did not bring the walk ahead", walk.t)
                events.append(Events(*walk.events))
                state = self._repair(line, State(*walk.state()), events)
                if state.t >= end:
                    self._count(walk, name)
                    return state
            else:
                # go back to where all points were last found on their right sides, and on from
                # there: with all precautions if something went wrong, else as usual
                self.counters["rewinds"] += outcome != Outcome.MORE
                careful = outcome != Outcome.MORE
                state = State(*walk.rewind())
                events.append(Events(*walk.events))
            self._count(walk, name)
            if self.counters["rewinds"] + self.counters["repairs"] > REWINDS_AND_REPAIRS:
                raise WalkFailed("rewinds and repairs without end", state.t)

    def _repair(self, line: Line, state: State, events: list[Events]) -> State:
        """Return the exact solution at t, from an approximate one.

        Its index sets are made optimal by moving the targets, which are then walked back.
        """
        for _ in range(REPAIRS_IN_A_ROW):
            self.counters["repairs"] += 1
            state = self._independent(line, state, events)
            outcome, state = self._correct(line, state, events)
            if outcome == Outcome.DONE:
                return state
        raise WalkFailed("a repair did not come to its end", state.t)

    def _correct(self, line: Line, state: State, events: list[Events]) -> tuple[Outcome, State]:
        """Move the targets to where a state is optimal, and walk them back as far as possible."""
        margin = self.rows.products(self.rows.combine(self._theta(line, state)))
        if not (np.abs(margin) < ABSURD_MARGIN).all():
            raise WalkFailed("margins are out of all proportion", state.t)
        back = correction(line, state.t, margin, state.status)
        walk = Walk(self.rows, back, state._replace(t=0.0), 1.0, self._metric(back))
        outcome = self._run(walk)
        self._count(walk, "start_events")
        found = Events(*walk.events)
        events.append(found._replace(t=np.full_like(found.t, state.t)))
        return outcome, State(*walk.state())._replace(t=state.t)

    def _independent(self, line: Line, state: State, events: list[Events]) -> State:
        """Return the state with its dependent free points put to a bound, the others clipped."""
        kept = independent_rows(self.rows, state.free)
        lower, upper = line.lower(state.t), line.upper(state.t)
        dropped = state.free[~kept]
        to_upper = state.theta[~kept] > 0.5 * (lower[dropped] + upper[dropped])
        status = state.status.copy()
        status[dropped] = np.where(to_upper, UPPER, LOWER)
        moves = np.where(to_upper, FREE_TO_UPPER, FREE_TO_LOWER).astype(np.int8)
        events.append(Events(np.full(len(dropped), state.t), dropped, moves))
        free = state.free[kept]
        return State(state.t, status, free, np.clip(state.theta[kept], lower[free], upper[free]))

    def _metric(self, line: Line) -> Metric | None:
        """Return the metric of a walk; None where plain lengths will do."""
        brief = self.rows.n_rows <= FEW_FOR_A_METRIC and bool(line.target_rate.any())
        return natural_metric(self.rows, line) if keeps_basis(self.rows) and not brief else None

    def _theta(self, line: Line, state: State) -> np.ndarray:
        """Return θ of all points."""
        theta = np.where(state.status == UPPER, line.upper(state.t), line.lower(state.t))
        theta[state.free] = state.theta
        return theta

    def _run(self, walk: Walk, report: bool = False, limit: int | None = None) -> Outcome:
        """Walk in portions short enough to notice Ctrl-C and to report progress."""
        portion, pause = 64, REPORT_PAUSE
        while True:
            started, before = time.monotonic(), walk.n_events
            outcome = Outcome(walk.run(portion))
            self.rows.check()
            spent = time.monotonic() - started
            if report and self.met is not None and outcome in (Outcome.MORE, Outcome.DONE):
                if self.met(walk.t) and outcome == Outcome.MORE:
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
        """Add what a walk counted, its events under the given name."""
        for name, count in {events: walk.n_events, **walk.counters}.items():
            self.counters[name] += count
        self.counters["max_free"] = max(self.counters["max_free"], walk.max_free)
