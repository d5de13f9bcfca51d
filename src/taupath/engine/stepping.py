"""Hard stretches of a line: solved node by node, each on its own, and interpolated in between.

The bounds are affine in t, so what is interpolated between two solutions stays within them. Its
duality gap is bounded over the whole interval; nodes are as close as that takes.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from taupath.engine.box_solver import BoxSolver, Solved
from taupath.engine.problem import Box, Line, nearly_nothing
from taupath.engine.record import Solution
from taupath.engine.status import FREE, LOWER, UPPER, sides_of

# Nodes are solved to the first gap, relative to the objective, and interpolated within the second:
# a tenth of what is promised.
SOLVED_TO, INTERPOLATED_TO = 1e-12, 1e-10
# In between, no sample whose θ has room is off its target by more than this: a tenth of what is
# promised.
OFF_TARGET = 1e-8
# The shortest interval between nodes near t = 0; elsewhere it is that between two doubles.
SHORTEST_INTERVAL = 1e-30
# A step goes to the next event, or over it if that is nearer than so many times the last step.
LONGER = 2.0
# Steps below this part of what is left, or to events that are none, come from rounding if there are
# more than so many in a row. After so many of them in a row, no event is stepped to any more.
SHORT, MOST_VAIN, FAR_TOO_MANY = 1e-6, 4, 16
# An event nearer than this part of t is due at once: nodes are solved to so many digits only.
DUE = 1e-12
# How often index sets are changed where events are due at once.
MOST_TURNS = 4
# After so many nodes per sample, and this many more, that could not be solved to what is promised,
# rounding is in the way: intervals are no longer shortened, and are at least this part of what is
# left. The certificate says how far off that is.
UNSOLVED_PER_SAMPLE, FEW_UNSOLVED, LEAST_PART = 1, 10, 0.1
# The same after so many nodes per sample, and this many more: twice as many as any stretch has
# needed that could be solved.
NODES_PER_SAMPLE, FEW_NODES = 100, 100


class _Motion(NamedTuple):
    """A solution, its index sets in a direction of t, the rate of θ, and how far an event is."""

    t: float
    found: Solved
    status: np.ndarray
    rate: np.ndarray
    direction: float
    event: float


class Stepper:
    """Solutions of a line at nodes from t on."""

    def __init__(self, solver: BoxSolver, line: Line) -> None:
        self.solver, self.line = solver, line
        self.n_nodes = 0

    def box(self, t: float) -> Box:
        """Return bounds and targets at t."""
        return self.line.at(t)

    def solve(self, t: float, theta: np.ndarray) -> Solved:
        """Return the solution at t, from a θ nearby."""
        return self.solver.solve(self.box(t), theta, SOLVED_TO)

    def nodes(self, t: float, theta: np.ndarray, end: float) -> Iterator[tuple[float, Solved]]:
        """Yield t and the solution at the nodes from t to `end`."""
        here = self.solve(t, theta)
        yield t, here
        ahead: list[tuple[float, Solved]] = []  # what is solved already, the nearest one last
        stride, vain = 0.0, 0  # the last step, and how many in a row led nowhere
        by_events = True
        while t < end:
            motion = self._motion(t, here, 1.0)
            hopeless = self._hopeless()
            if not ahead:
                least = LEAST_PART * (end - t) if hopeless else 0.0
                far = min(max(t + max(motion.event, LONGER * stride, least), _next(t)), end)
                ahead.append((far, self.solve(far, self._moved(motion, far))))
            tries = 0
            while not (hopeless or self._fits(t, here, *ahead[-1]) or ahead[-1][0] <= _next(t)):
                least = LONGER * stride if vain > MOST_VAIN or not by_events else 0.0
                ahead.append(self._nearer(motion, *ahead[-1], tries, least))
                tries += 1
                hopeless = self._hopeless()
            while len(ahead) > 1 and self._fits(t, here, *ahead[-2]):
                ahead.pop()  # the next one is near enough
            there, found = ahead.pop()
            before, after = status_of(here, self.box(t)), status_of(found, self.box(there))
            short = there - t < SHORT * (end - t)
            vain = vain + 1 if short or (before == after).all() else 0
            by_events = by_events and vain < FAR_TOO_MANY
            stride, t, here = there - t, there, found
            self.n_nodes += 1
            yield t, here

    def _hopeless(self) -> bool:
        """Return whether too many nodes could not be solved as promised, or there are too many."""
        n = self.solver.rows.n_rows
        return bool(
            self.solver.n_unsolved > FEW_UNSOLVED + UNSOLVED_PER_SAMPLE * n
            or self.n_nodes > FEW_NODES + NODES_PER_SAMPLE * n
        )

    def _nearer(
        self, motion: "_Motion", there: float, found: Solved, tries: int, least: float
    ) -> tuple[float, Solved]:
        """Return a node between here and there, if possible where the path has a kink."""
        t = motion.t
        at = t + max(motion.event, least)
        if tries or not t < at < there:
            motion = self._motion(there, found, -1.0)
            at = there - motion.event
        if (tries > 1 and not tries % 2) or not t < at < there:
            at = t + 0.5 * (there - t)
        at = max(at, _next(t))
        return at, self.solve(at, self._moved(motion, at))

    def _motion(self, t: float, found: Solved, direction: float) -> "_Motion":
        """Return how a solution moves, forward or backward, until the next event."""
        box, theta, slack = self.box(t), found.theta, found.slack
        status = status_of(found, box)
        now = DUE * t + float(np.spacing(t))
        for _ in range(MOST_TURNS):
            free, upper = status == FREE, status == UPPER
            rate = np.where(upper, self.line.upper_rate, self.line.lower_rate)
            slack_rate, rate = self.solver.rates(np.flatnonzero(free), rate)
            slack_rate, rate = direction * slack_rate, direction * rate
            # what never gets there is not finite, or negative, and not due
            with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
                to_lower = (box.lower - theta) / (rate - direction * self.line.lower_rate)
                to_upper = (box.upper - theta) / (rate - direction * self.line.upper_rate)
                to_margin = -slack / slack_rate
            # of events that are due now, some points change sides
            lower_now = free & (to_lower >= 0.0) & (to_lower <= now)
            upper_now = free & (to_upper >= 0.0) & (to_upper <= now)
            wrong = np.where(upper, slack, -slack) > 0.0
            away = np.where(upper, slack_rate, -slack_rate) > 0.0
            free_now = ~free & away & (wrong | (to_margin <= now))
            if not (lower_now | upper_now | free_now).any():
                break
            status = np.select(
                [lower_now, upper_now, free_now], [LOWER, UPPER, FREE], status
            ).astype(np.int8)
        times = np.concatenate((to_lower[free], to_upper[free], to_margin[~free]))
        times = times[(times > now) & np.isfinite(times)]
        event = float(times.min(initial=np.inf))
        return _Motion(t, found, status, direction * rate, direction, event)

    def _moved(self, motion: "_Motion", t: float) -> np.ndarray:
        """Return θ at t if it is before the next event: bound points at their bounds."""
        box, status = self.box(t), motion.status
        at_bound = np.where(status == UPPER, box.upper, box.lower)
        inside = motion.found.theta + (t - motion.t) * motion.rate
        return np.where(status == FREE, inside, at_bound)

    def _fits(self, t: float, here: Solved, there: float, found: Solved) -> bool:
        """Return whether interpolation from here to there is as good as is promised."""
        begin, end = self.box(t), self.box(there)
        room_up = begin.upper - here.theta, end.upper - found.theta
        room_down = here.theta - begin.lower, found.theta - end.lower
        short = -here.slack, -found.slack
        beyond = here.slack, found.slack
        gap = (
            _largest_products(*room_up, *short).sum() + _largest_products(*room_down, *beyond).sum()
        )
        # a sample with room for it must not be off its target by more than that, whatever it costs
        width = np.maximum(begin.upper - begin.lower, end.upper - end.lower)
        nothing = nearly_nothing(width, self.solver.length)
        up, down = np.maximum(*room_up) > nothing, np.maximum(*room_down) > nothing
        off = np.maximum(up * np.maximum(*short), down * np.maximum(*beyond)).max()
        at_nodes = [
            np.maximum((room_up[k] > nothing) * short[k], (room_down[k] > nothing) * beyond[k])
            for k in range(2)
        ]
        if off > OFF_TARGET and off > 2.0 * np.maximum(*at_nodes).max():
            return False
        # the optimum is concave in t, so the lesser end bounds it from below
        objective = min(here.objective - here.gap, found.objective - found.gap)
        return bool(gap <= max(INTERPOLATED_TO * objective, 2.0 * max(here.gap, found.gap)))


def _next(t: float) -> float:
    """Return the nearest t after this one that a node may have."""
    return max(float(np.nextafter(t, 2.0)), t + SHORTEST_INTERVAL)


def _largest_products(
    room0: np.ndarray, room1: np.ndarray, short0: np.ndarray, short1: np.ndarray
) -> np.ndarray:
    """Return the largest room × short⁺ between two ends, where both are affine and room ≥ 0."""
    room_change, short_change = room1 - room0, short1 - short0
    ends = np.maximum(room0 * np.maximum(short0, 0.0), room1 * np.maximum(short1, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):  # replaced below
        at = -(room0 * short_change + short0 * room_change) / (2.0 * room_change * short_change)
    at = np.where(np.isfinite(at), np.clip(at, 0.0, 1.0), 0.0)
    inner = (room0 + at * room_change) * np.maximum(short0 + at * short_change, 0.0)
    return np.asarray(np.maximum(ends, inner))


def status_of(found: Solved, box: Box) -> np.ndarray:
    """Return the index sets of a solution: what is inside its box is free."""
    by_slack = np.where(found.slack < 0.0, UPPER, LOWER)
    return sides_of(found.theta.astype(float), box.lower, box.upper, by_slack)


def rounded(found: Solved, box: Box) -> Solution:
    """Return a solution in doubles, with its index sets."""
    theta, w = found.theta.astype(float), found.w.astype(float)
    return Solution(status_of(found, box), theta, w, float(found.multiplier))
