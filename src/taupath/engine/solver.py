"""From a problem to the record of its path: start, walk, step over what cannot be walked.

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
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from taupath._core._factor import independent_rows, keeps_basis
from taupath._core._rows import Rows
from taupath._core._walk import Walk
from taupath.engine.audit import events_at, mend, wrong_intervals
from taupath.engine.box_solver import BoxSolver
from taupath.engine.metric import Metric, natural_metric
from taupath.engine.problem import Line, correction, rising_targets
from taupath.engine.readers import made_once
from taupath.engine.reading import Reader
from taupath.engine.record import Events, Node, Nodes, Record, State
from taupath.engine.rows import FAR_APART
from taupath.engine.status import FREE, LOWER, UPPER, Outcome
from taupath.engine.stepping import Stepper, status_of
from taupath.engine.tolerances import ABSURD_MARGIN, OUTWEIGHED, RAISE
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
# Nodes of a stretch that is stepped over, at least; twice as many each time that the walk then
# fails again before it has come as far as CAREFUL_EVENTS.
FEWEST_NODES = 4
# Nodes keep w unless it has more columns than this: walks may have more in another order.
MOST_STORED_COLUMNS = FAR_APART
# With up to this many points, walks of rising targets are too short for a metric to pay.
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
# Free points and θ of a state that has none, or of which only t and the index sets matter.
EMPTY = np.zeros(0, dtype=np.int32), np.zeros(0)


class Guess(NamedTuple):
    """An approximate solution: the status and θ of each sample."""

    status: np.ndarray
    theta: np.ndarray


def solve_path(
    rows: Rows,
    line: Line,
    begin: float,
    end: float,
    order: np.ndarray | None = None,
    progress: Tell | None = None,
    met: Callable[[float], bool] | None = None,
    guess: Guess | None = None,
    rise: float = RAISE,
) -> Record:
    """Return the record of a walk on `line`, with targets raised by `rise`, from `begin` to `end`.

    With `order`, row k stands for sample `order[k]` of the line. About ten times a second,
    ``progress(fraction, n_events, t)`` is called with the estimated share of the work that is done,
    and the walk ends early if ``met(t)`` returns True. With a `guess` near the solution at `begin`
    the walk starts there, otherwise from the nearer end of the line. If rows are balanced, lower
    bounds must be zero there.

    Raises
    ------
    WalkFailed
        If there are more than EVENTS_PER_SAMPLE events and nodes per sample.
    """
    raised = line.raised(rise)
    if order is not None:
        line, raised = line.take(order), raised.take(order)
        guess = guess and Guess(guess.status[order], guess.theta[order])
    record = _Solver(rows, line, raised, begin, end, progress, met).solve(guess)
    return record if order is None else record.in_order(order)


class _Solver:
    """Drives one walk, in parts, and adds up their counters."""

    def __init__(
        self,
        rows: Rows,
        given: Line,
        raised: Line,
        begin: float,
        end: float,
        progress: Tell | None = None,
        met: Callable[[float], bool] | None = None,
    ) -> None:
        self.rows = rows
        self.line, self.given = raised, given
        # What nodes are solved for. With raised targets that cost next to nothing, margins that are
        # rounded do not fall short of the true ones.
        self.for_nodes = raised if given.from_zero else given
        self.begin, self.end = begin, end
        self.progress, self.met = progress, met
        self.has_met = False
        self.budget = EVENTS_PER_SAMPLE * rows.n_rows + 1000
        self.counters = dict.fromkeys(COUNTED, 0)
        self.done = WorkDone(raised, begin, end)
        self.nodes: list[Node] = []
        self.doubtful: list[tuple[float, float]] = []

    @made_once
    def box_solver(self) -> BoxSolver:
        """Solves single problems; few walks need it."""
        return BoxSolver(self.rows)

    def solve(self, guess: Guess | None = None) -> Record:
        state = self._start_from(guess) if guess else None
        state = state or self._start()
        events: list[Events] = []
        end = self._walk(self.line, state, self.end, events, "kinks").t
        times, index, move = (np.concatenate(parts) for parts in zip(*events, strict=True))
        # the t of an event is corrected by rounding errors, also beyond the last one or an end
        times = np.clip(np.maximum.accumulate(times), self.begin, end)
        record = Record(self.begin, end, state.status, state.free, times, index, move)
        record.counters, record.doubtful = self.counters, np.array(self.doubtful).reshape(-1, 2)
        return self._audited(record)

    def _audited(self, record: Record) -> Record:
        """Return the record with its doubtful intervals mended where they are wrong."""
        if len(self.doubtful):
            reader = Reader(self.rows, self.line, self.given, record)
            wrong = wrong_intervals(reader, self.nodes)
            if len(wrong):
                self.counters["repairs"] += len(wrong)
                stepper = Stepper(self.box_solver, self.for_nodes)
                number = 1 + max((node.stretch for node in self.nodes), default=-1)
                mended = mend(reader, wrong, stepper, number)
                (record.t, record.index, record.move), nodes = mended
                self.nodes += nodes
        if self.nodes:
            with_w = not self.rows.dual and self.rows.n_cols <= MOST_STORED_COLUMNS
            record.nodes = Nodes.of(self.nodes, with_w)
        return record

    # -- the start ------------------------------------------------------------------------------

    def _start_from(self, guess: Guess) -> State | None:
        """Return the solution at the beginning, corrected from a guess; None if that is too far."""
        free = np.flatnonzero(guess.status == FREE).astype(np.int32)
        near = State(self.begin, guess.status, free, guess.theta[free])
        return self._correct(self.line, self._independent(self.line, near))

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

        With balanced rows it is known, see `_balanced_at_zero`. Otherwise θ = l is optimal with
        targets below the margins of Σ l_i z_i, and from there the targets rise to their true
        values. If l = 0, only points that end up on or inside the margin cause events.
        """
        if self.rows.balanced:
            return self._balanced_at_zero(line)
        state = self._guess_at_zero(line) or self._rise_from_nothing(line)
        # an empty box does not tell the side of its point; the slack does
        w = self.rows.exact_combination(self._theta(line, state))
        slack = self.rows.exact_products(w) - line.target(0.0)
        empty = (line.width(0.0) <= 0.0) & (state.status != FREE)
        state.status[empty] = np.where(slack[empty] < 0.0, UPPER, LOWER)
        return state

    def _rise_from_nothing(self, line: Line) -> State:
        """Return the solution at t = 0 by letting the targets rise from below the margins."""
        n = self.rows.n_rows
        first = -np.random.default_rng(RISE_SEED).uniform(0.5, 1.0, n)
        if not line.from_zero:
            w = self.rows.exact_combination(line.lower(0.0).astype(np.longdouble))
            first += self.rows.exact_products(w).astype(float)
        nothing = State(0.0, np.full(n, LOWER, dtype=np.int8), *EMPTY)
        rising = rising_targets(line, 0.0, first)
        return self._walk(rising, nothing, 1.0, [], "start_events")._replace(t=0.0)

    def _guess_at_zero(self, line: Line) -> State | None:
        """Return the solution at t = 0, guessed from some of the points and corrected.

        None if there are few points anyway, if lower bounds are not zero, or if some θ reach their
        upper bounds: then those of the other points would be guessed badly.
        """
        if not line.from_zero:
            return None
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
        return self._correct(line, near)

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
        careful, fewest, metric = False, FEWEST_NODES, self._metric(line)
        while True:
            walk = Walk(self.rows, line, state, end, metric, careful)
            limit = CAREFUL_EVENTS if careful else None
            outcome = Outcome.WRONG
            if walk.right:
                outcome = self._run(walk, report=name == "kinks", limit=limit)
            failed_at = walk.t
            if outcome != Outcome.DONE:
                # back to where all points were last found on their right sides
                state = State(*walk.rewind())
            self._count(walk, name)
            events.append(Events(*walk.events))
            if name == "kinks":
                self.doubtful += walk.doubtful.tolist()
            if outcome == Outcome.DONE:
                return State(*walk.state())
            if outcome == Outcome.MORE:  # far enough with all precautions: on as usual
                careful, fewest = False, FEWEST_NODES
                continue
            self.counters["rewinds"] += 1
            if name != "kinks":
                return self._solved(line, end, state)
            self.doubtful.append((state.t, failed_at))
            if careful and walk.n_checked_events == 0:  # precautions do not help
                state = self._step_over(state, failed_at, end, fewest, events)
                fewest *= 2
                if state.t >= end or self.has_met:
                    return state
            careful = True

    def _step_over(
        self, state: State, failed_at: float, end: float, fewest: int, events: list[Events]
    ) -> State:
        """Solve node by node until the walk can perhaps go on; returns the solution there."""
        self.counters["repairs"] += 1
        stepper = Stepper(self.box_solver, self.for_nodes)
        first, status = state.t, state.status
        joins = bool(self.nodes) and self.nodes[-1].t == first
        stretch = self.nodes[-1].stretch + (not joins) if self.nodes else 0
        theta = self._theta(self.line, state)
        for count, (t, found) in enumerate(stepper.nodes(first, theta, end)):
            if count == 0 and joins:
                continue
            sets = status_of(found, stepper.box(t))
            self._note(t, status, sets, events)
            self.nodes.append(Node(t, stretch, sets, found))
            status, theta = sets, found.theta
            self._spend(1, t)
            if self.progress is not None:
                kinks = self.counters["kinks"]
                self.progress(self.done.share(State(t, sets, *EMPTY), kinks), kinks, t)
            self.has_met = self.met is not None and self.met(t)
            if self.has_met or (count >= fewest and t > failed_at):
                break
        self.doubtful.append((first, t))
        state = self._solved(
            self.line, t, State(t, status, np.flatnonzero(status == FREE), theta[status == FREE])
        )
        self._note(t, status, state.status, events)
        return state

    def _note(self, t: float, before: np.ndarray, after: np.ndarray, events: list[Events]) -> None:
        """Add what changes from some index sets to others as events at t."""
        events.append(events_at(t, before, after))
        self.counters["kinks"] += len(events[-1].t)

    def _solved(self, line: Line, t: float, near: State) -> State:
        """Return the solution at t, solved on its own from a state nearby."""
        stepper = Stepper(self.box_solver, line)
        found = stepper.solve(t, self._theta(line, near._replace(t=t)))
        status = status_of(found, stepper.box(t))
        free = np.flatnonzero(status == FREE).astype(np.int32)
        return self._independent(line, State(t, status, free, found.theta[free]))

    def _correct(self, line: Line, state: State) -> State | None:
        """Return the exact solution at t from an approximate one; None if it is too far off.

        Its index sets are made optimal by moving the targets, which are then walked back.
        """
        margin = self.rows.exact_products(self.rows.exact_combination(self._theta(line, state)))
        if not (np.abs(margin) < ABSURD_MARGIN).all():
            return None
        back = correction(line, state.t, margin.astype(float), state.status)
        walk = Walk(self.rows, back, state._replace(t=0.0), 1.0, self._metric(back))
        outcome = self._run(walk) if walk.right else Outcome.WRONG
        self._count(walk, "start_events")
        return State(*walk.state())._replace(t=state.t) if outcome == Outcome.DONE else None

    def _independent(self, line: Line, state: State) -> State:
        """Return the state with its dependent free points put to a bound, the others clipped."""
        kept = independent_rows(self.rows, state.free)
        lower, upper = line.lower(state.t), line.upper(state.t)
        dropped = state.free[~kept]
        to_upper = state.theta[~kept] > 0.5 * (lower[dropped] + upper[dropped])
        status = state.status.copy()
        status[dropped] = np.where(to_upper, UPPER, LOWER)
        free = state.free[kept]
        return State(state.t, status, free, np.clip(state.theta[kept], lower[free], upper[free]))

    def _metric(self, line: Line) -> Metric | None:
        """Return the metric of a walk; None where plain lengths will do."""
        brief = self.rows.n_rows <= FEW_FOR_A_METRIC and bool(line.target_rate.any())
        return natural_metric(self.rows, line) if keeps_basis(self.rows) and not brief else None

    def _theta(self, line: Line, state: State) -> np.ndarray:
        """Return θ of all points, in extended precision."""
        theta = np.where(state.status == UPPER, line.upper(state.t), line.lower(state.t))
        theta = theta.astype(np.longdouble)
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
            self._spend(walk.n_events - before, walk.t)
            if spent < 0.5 * pause:
                portion = min(2 * portion, 1 << 16)
            elif spent > pause:
                portion = max(portion // 2, 1)

    def _spend(self, n_events: int, t: float) -> None:
        """Take events from the budget; fail if it is used up."""
        self.budget -= n_events
        if self.budget < 0:
            raise WalkFailed(f"more than {EVENTS_PER_SAMPLE} events per sample", t)

    def _count(self, walk: Walk, events: str) -> None:
        """Add what a walk counted, its events under the given name."""
        for name, count in {events: walk.n_events, **walk.counters}.items():
            self.counters[name] += count
        self.counters["max_free"] = max(self.counters["max_free"], walk.max_free)
