"""Hard stretches of a line: solved node by node, each on its own, and interpolated in between.

The bounds are affine in t, so what is interpolated between two solutions stays within them. Its
duality gap is bounded over the whole interval; nodes are as close as that takes.
"""

from collections.abc import Iterator

import numpy as np

from taupath.engine.box_solver import Box, BoxSolver, Solved
from taupath.engine.problem import Line, largest_violation, nearly_nothing
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


class Stepper:
    """Solutions of a line at nodes from t on."""

    def __init__(self, solver: BoxSolver, line: Line) -> None:
        self.solver, self.line = solver, line

    def box(self, t: float) -> Box:
        """Return bounds and targets at t."""
        return Box(self.line.lower(t), self.line.upper(t), self.line.target(t))

    def solve(self, t: float, theta: np.ndarray) -> Solved:
        """Return the solution at t, from a θ nearby."""
        return self.solver.solve(self.box(t), theta, SOLVED_TO)

    def nodes(self, t: float, theta: np.ndarray, end: float) -> Iterator[tuple[float, Solved]]:
        """Yield t and the solution at the nodes from t to `end`."""
        here = self.solve(t, theta)
        yield t, here
        stride = 0.0
        while t < end:
            event, rate = self._ahead(t, here, end)
            next_double = max(float(np.nextafter(t, 2.0)), t + SHORTEST_INTERVAL)
            ahead = min(max(event, LONGER * stride), end - t)
            while True:
                there = min(max(t + ahead, next_double), end)
                found = self.solve(there, self._predicted(t, here, there, rate))
                if self._fits(t, here, there, found) or there <= next_double:
                    break
                ahead = event if event < 0.9 * ahead and event > 0.0 else 0.5 * ahead
            stride, t, here = there - t, there, found
            yield t, here

    def _predicted(self, t: float, here: Solved, there: float, rate: np.ndarray) -> np.ndarray:
        """Return θ there if the index sets do not change: bound points at their bounds."""
        status, box = status_of(here, self.box(t)), self.box(there)
        at_bound = np.where(status == UPPER, box.upper, box.lower)
        return np.where(status == FREE, here.theta + (there - t) * rate, at_bound)

    def _ahead(self, t: float, here: Solved, end: float) -> tuple[float, np.ndarray]:
        """Return how far the next event is, at most at `end`, and the rate of θ until then."""
        box, theta, slack = self.box(t), here.theta, here.slack
        free = (theta > box.lower) & (theta < box.upper)
        upper = ~free & (slack < 0.0)
        rate = np.where(upper, self.line.upper_rate, self.line.lower_rate)
        slack_rate, theta_rate = self.solver.rates(np.flatnonzero(free), rate)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            to_lower = (box.lower - theta) / (theta_rate - self.line.lower_rate)
            to_upper = (box.upper - theta) / (theta_rate - self.line.upper_rate)
            to_margin = -slack / slack_rate
        times = np.concatenate((to_lower[free], to_upper[free], to_margin[~free]))
        times = times[(times > np.spacing(t)) & np.isfinite(times)]
        return float(min(times.min(initial=np.inf), end - t)), theta_rate

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
        if off > OFF_TARGET and off > 2.0 * max(_off(here, begin), _off(found, end)):
            return False
        # the optimum is concave in t, so the lesser end bounds it from below
        objective = min(here.objective - here.gap, found.objective - found.gap)
        return bool(gap <= max(INTERPOLATED_TO * objective, 2.0 * max(here.gap, found.gap)))


def _off(found: Solved, box: Box) -> float:
    """Return the largest violation at a node."""
    return largest_violation(found.theta, box.lower, box.upper, -found.slack, found.slack)


def _largest_products(
    room0: np.ndarray, room1: np.ndarray, short0: np.ndarray, short1: np.ndarray
) -> np.ndarray:
    """Return the largest room × short⁺ between two ends, where both are affine and room ≥ 0."""
    room_change, short_change = room1 - room0, short1 - short0
    ends = np.maximum(room0 * np.maximum(short0, 0.0), room1 * np.maximum(short1, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        at = -(room0 * short_change + short0 * room_change) / (2.0 * room_change * short_change)
    at = np.where(np.isfinite(at), np.clip(at, 0.0, 1.0), 0.0)
    inner = (room0 + at * room_change) * np.maximum(short0 + at * short_change, 0.0)
    return np.asarray(np.maximum(ends, inner))


def status_of(found: Solved, box: Box) -> np.ndarray:
    """Return the index sets of a solution: what is inside its box is free."""
    by_slack = np.where(found.slack < 0.0, UPPER, LOWER)
    return sides_of(found.theta, box.lower, box.upper, by_slack)
