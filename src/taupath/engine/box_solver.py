"""The canonical problem at one t, solved on its own, whatever its condition.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i θ_i   subject to   l_i ≤ θ_i ≤ h_i   (and Σ sign_i θ_i = 0)

A primal active-set method in extended precision. One point at a time is let in: its θ moves, those
of the free points move with it so that they stay on the margin, until it is on the margin as well
or at a bound. Free points that reach a bound on the way are no longer free.
"""

from typing import NamedTuple

import numpy as np

from taupath._core._rows import Rows
from taupath.engine.free_set import EXTENDED, FreeSet
from taupath.engine.problem import (
    TINY,
    Box,
    usual_slacks,
    violations,
    without_large_constant,
)

# Steps per sample after which the solver gives up.
STEPS_PER_SAMPLE = 20
# Points that are let in between two looks at all slacks: with fewer, looks take longer than steps;
# with more, the last ones have hardly anything to gain.
LET_IN = 4
# Points among which these are chosen by what they may gain; fewer where rows are known by products.
COMPARED, COMPARED_BY_PRODUCTS = 64, 8
# A distance from a target counts like a relative gap of this part of it.
OFF_BY = 1e-3
# Points that are off by less than this part of what is asked for, all together, are left alone.
SHARE = 0.1
# A gain below this part of the objective is none; looks in a row without a gain, after which the
# solver gives up.
NO_GAIN, MOST_IDLE = 1e-22, 8


class Solved(NamedTuple):
    """A solution at one t, its gap, and a typical primal objective that gaps are relative to."""

    theta: np.ndarray
    multiplier: np.floating
    w: np.ndarray  # Σ θ_i z_i, shifted by the multiplier
    slack: np.ndarray
    gap: float
    objective: float


class _Seen(NamedTuple):
    """A look at all points: the solution so far, what it costs by points, and how wrong it is."""

    solved: Solved
    gaps: np.ndarray
    off: np.ndarray
    wrong: float


class _Step(NamedTuple):
    """Some points, the changes of their θ and of w, the gain, and whether a bound was hit."""

    members: np.ndarray
    change: np.ndarray
    gain: np.floating
    delta: np.ndarray
    hits: bool


class BoxSolver:
    """Solves problems with the same rows, each from the free points of the one before."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.free = FreeSet(rows)
        self.length = self.free.length
        self.n_steps = self.n_unsolved = 0

    def solve(self, box: Box, theta: np.ndarray, tol: float, most_steps: float = np.inf) -> Solved:
        """Return the solution from this θ on, with a relative gap of tol if that can be reached.

        What `most_steps` or fewer have reached is returned if they are not enough.
        """
        descent = _Descent(self.rows, self.free, box, theta)
        seen = descent.solve(tol, most_steps)
        best = seen.solved
        self.n_steps += descent.n_steps
        self.n_unsolved += seen.wrong > tol
        return best._replace(w=self.rows.shifted(best.w, best.multiplier))

    def rates(self, free: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of all slacks and of θ, if bound points move at `rate`."""
        rate = rate.astype(EXTENDED)
        rate[free] = 0.0
        sign = self.free.sign
        self.free.become(free)
        members = self.free.members
        if len(members) and self.rows.balanced:
            rate[members[0]] = -sign[members[0]] * (sign @ rate)
        slack_rate = self.rows.exact_products(self.rows.exact_combination(rate))
        for _ in range(2 if len(members) else 0):  # twice, for digits that one solution lacks
            moved, delta = self.free.descent(slack_rate[members])
            rate[members] += moved
            slack_rate = slack_rate + self.rows.exact_products(delta)
        if len(members) and self.rows.balanced:
            slack_rate = slack_rate - sign * (sign[members[0]] * slack_rate[members[0]])
        return slack_rate.astype(float), rate.astype(float)


class _Descent:
    """From one θ to the solution of one problem."""

    def __init__(self, rows: Rows, free: FreeSet, box: Box, theta: np.ndarray) -> None:
        self.rows, self.free, self.box = rows, free, box
        self.sign, self.length = free.sign, free.length
        self.lower, self.upper = box.lower.astype(EXTENDED), box.upper.astype(EXTENDED)
        self.theta = np.clip(theta.astype(EXTENDED), self.lower, self.upper)
        if rows.balanced:
            self._balance()
        self.w = rows.exact_combination(self.theta)
        self.n_steps = 0
        inside = self._inside()
        free.become(inside)
        # points that depend on others go to a bound, or others do
        for k in np.setdiff1d(inside, free.members):
            self._let_in(int(k))

    def solve(self, tol: float, most_steps: float) -> _Seen:
        """Return the best solution that is found."""
        best = self._improved(tol, most_steps)
        if self.n_steps:
            # steps have added up rounding errors of θ and w, which may have been larger before
            self.theta = best.solved.theta.copy()
            if self.rows.balanced:
                self._balance()
            self.w = self.rows.exact_combination(self.theta)
            self.free.become(self._inside())
            best = self._improved(tol, most_steps)
        return best

    def _improved(self, tol: float, most_steps: float) -> _Seen:
        """Let points in until none has to be, or until nothing is gained; return the best look."""
        most = self.n_steps + min(STEPS_PER_SAMPLE * len(self.theta) + 100, most_steps)
        refused = np.zeros(len(self.theta), dtype=bool)
        best = seen = self._look()
        idle = 0
        while best.wrong > tol and self.n_steps < most and idle < MOST_IDLE:
            unsettled = self._unsettled(seen, tol)
            gain = self._settle() if unsettled else EXTENDED(0.0)
            some = self._candidates(seen, tol, refused)
            for k in some:
                gained = self._let_in(k)
                refused[k] = not gained > 0.0
                gain += gained
            if some and not unsettled and not gain > 0.0:
                # slacks of free points that do not matter may hide those of others that do
                gain = self._settle()
                refused[some] = not gain > 0.0
            if not some and not gain > 0.0:
                break
            useful = bool(gain > NO_GAIN * seen.solved.objective)
            if useful:
                refused[:] = False
            seen = self._look()
            idle = 0 if useful or seen.wrong < 0.5 * best.wrong else idle + 1
            if seen.wrong < best.wrong:
                best = seen
        return best

    # -- what there is to do -------------------------------------------------------------------

    def _look(self) -> _Seen:
        """Return how all points are."""
        box, theta = self.box, self.theta
        raw = self.rows.exact_products(self.w) - box.target
        multiplier = self._multiplier(raw)
        slack = raw + self.sign * multiplier if self.rows.balanced else raw
        gaps = np.maximum((self.upper - theta) * -slack, (theta - self.lower) * slack)
        squared = max(float(theta @ (raw + box.target)), 0.0)
        if not self.rows.balanced and box.lower.any():
            constant = self.rows.bias * float(self.sign @ theta)
            squared = max(without_large_constant(squared, constant, box.typical), 0.0)
        usual = usual_slacks(-slack.astype(float), box.typical)
        loss = float(np.maximum(box.upper * usual, box.lower * usual).sum())
        objective, gap = loss + 0.5 * squared, gaps.sum()
        short = -slack / np.maximum(np.abs(box.target), 1.0)
        off = violations(theta, box.lower, box.upper, short, -short)
        wrong = max(float(gap) / max(objective, TINY), OFF_BY * float(off.max(initial=0.0)))
        found = Solved(theta.copy(), multiplier, self.w, slack, gap, objective)
        return _Seen(found, gaps, off, wrong)

    def _unsettled(self, seen: _Seen, tol: float) -> bool:
        """Return whether slacks of free points matter."""
        members = self.free.members
        enough = SHARE * tol * seen.solved.objective
        off = float(seen.off[members].max(initial=0.0))
        return bool(seen.gaps[members].sum() > enough or off > SHARE * tol / OFF_BY)

    def _candidates(self, seen: _Seen, tol: float, refused: np.ndarray) -> list[int]:
        """Return some points that are not free but should be: those that may gain most."""
        found, gaps = seen.solved, seen.gaps
        least = SHARE * tol * found.objective / len(gaps)
        matters = (gaps > least) | (seen.off > SHARE * tol / OFF_BY)
        matters &= ~refused
        matters[self.free.members] = False
        if self.rows.balanced and not len(self.free):
            return self._pair(found.slack, matters)
        some = np.flatnonzero(matters)
        slack = np.abs(found.slack[some])
        goal = np.where(found.slack[some] < 0.0, self.upper[some], self.lower[some])
        room = np.abs(goal - self.theta[some])
        # first by what each point gains if no other moves, then by what it may if free points do
        most = COMPARED if self.free.by_vectors else COMPARED_BY_PRODUCTS
        first = _most(_gain(slack, room, self.length[some]), most)
        distance = self.free.distances(some[first])
        last = _most(_gain(slack[first], room[first], distance), LET_IN)
        return [int(k) for k in some[first[last]]]

    def _pair(self, slack: np.ndarray, matters: np.ndarray) -> list[int]:
        """Return the point that gains most together with another one, which becomes free."""
        level = self.sign * slack
        can_rise, can_fall = self.theta < self.upper, self.theta > self.lower
        rising = np.where(self.sign > 0.0, can_rise, can_fall)
        falling = np.where(self.sign > 0.0, can_fall, can_rise)
        one = int(np.where(rising, level, np.inf).argmin())
        two = int(np.where(falling, level, -np.inf).argmax())
        if not level[one] < level[two] or not (matters[one] or matters[two]):
            return []
        self.free.add(two)
        return [one]

    def _multiplier(self, raw: np.ndarray) -> np.floating:
        """Return the multiplier of Σ sign_i θ_i = 0 that fits the free points, or costs least."""
        if not self.rows.balanced:
            return EXTENDED(0.0)
        if len(self.free):
            first = self.free.members[0]
            return EXTENDED(-self.sign[first] * raw[first])
        # Σ max((h - θ)(-g), (θ - l) g) over g = raw + sign b is convex and piecewise linear in b
        at = -self.sign * raw
        order = np.argsort(at)
        up, down = self.upper - self.theta, self.theta - self.lower
        left = np.where(self.sign > 0.0, -up, -down)
        right = np.where(self.sign > 0.0, down, up)
        slope = left.sum() + np.cumsum((right - left)[order])
        k = min(int(np.searchsorted(slope >= 0.0, True)), len(order) - 1)
        return EXTENDED(at[order[k]])

    # -- what is done --------------------------------------------------------------------------

    def _balance(self) -> None:
        """Make Σ sign_i θ_i zero, by moving points inside their boxes first, then others.

        Only one of them ends up inside its box that was not there before.
        """
        theta, lower, upper = self.theta, self.lower, self.upper
        off = self.sign @ theta
        inside = (theta > lower) & (theta < upper)
        goal = np.where(self.sign * off > 0.0, lower, upper)
        for k in np.lexsort((-np.abs(goal - theta), ~inside)):
            if off == 0.0:
                break
            before = theta[k]
            theta[k] = np.clip(before - self.sign[k] * off, lower[k], upper[k])
            off = off + self.sign[k] * (theta[k] - before)

    def _settle(self) -> np.floating:
        """Bring the slacks of the free points to zero, as far as that goes; return the gain."""
        gain, least = EXTENDED(0.0), np.inf
        while len(self.free):
            members = self.free.members
            slack = self._slacks(members)
            size = float((np.abs(slack) * (self.upper - self.lower)[members]).sum())
            if not size < 0.5 * least:
                break
            step = self._along(members, *self.free.descent(slack), slack)
            if step is None:
                break
            gain += step.gain
            self._take(step)
            least = np.inf if step.hits else size
        return gain

    def _let_in(self, k: int) -> np.floating:
        """Move θ_k until its slack is zero or it is at a bound; return the gain."""
        gain = EXTENDED(0.0)
        while len(self.free) or not self.rows.balanced:
            members = np.append(self.free.members, np.int32(k))
            slack = self._slacks(members)
            goal = self.upper[k] if slack[-1] < 0.0 else self.lower[k]
            if goal == self.theta[k]:
                return gain
            step = self._along(members, *self.free.towards(k), slack)
            if step is None:
                return gain
            gain += step.gain
            self._take(step)
            if not self.lower[k] < self.theta[k] < self.upper[k]:
                return gain
            if not step.hits:
                break
        if self.lower[k] < self.theta[k] < self.upper[k]:
            self.free.add(k)
        return gain

    def _inside(self) -> np.ndarray:
        """Return the points inside their boxes."""
        return np.flatnonzero((self.theta > self.lower) & (self.theta < self.upper))

    def _slacks(self, members: np.ndarray) -> np.ndarray:
        """Return the slacks of some points, the first of them free."""
        raw = self.rows.exact_products(self.w, members) - self.box.target[members]
        if self.rows.balanced:
            raw = raw - self.sign[members] * (self.sign[members[0]] * raw[0])
        return np.asarray(raw)

    def _take(self, step: _Step) -> None:
        """Change θ and w; members that are at a bound are no longer free."""
        self.n_steps += 1
        some = step.members
        theta = self.theta[some] + step.change
        self.theta[some] = np.clip(theta, self.lower[some], self.upper[some])
        # not summed anew: θ may be too coarse for changes that long rows show in their slacks
        self.w = self.w + step.delta
        members = self.free.members
        at = self.theta[members]
        self.free.drop(members[(at <= self.lower[members]) | (at >= self.upper[members])].tolist())

    def _along(
        self, members: np.ndarray, direction: np.ndarray, delta: np.ndarray, slack: np.ndarray
    ) -> _Step | None:
        """Return the best step of θ and w in a direction, up to the first bound."""
        slope = slack @ direction
        if slope > 0.0:
            direction, delta, slope = -direction, -delta, -slope
        if not slope < 0.0:
            return None
        at = self.theta[members]
        goal = np.where(direction < 0.0, self.lower[members], self.upper[members])
        with np.errstate(divide="ignore", invalid="ignore"):  # where it rests, unused
            room = np.where(direction == 0.0, np.inf, (goal - at) / direction)
        first = room.min()
        if first <= 0.0:
            return None
        curve = delta @ delta
        if self.rows.dual:
            curve = direction @ self.rows.exact_products(delta, members)
        length = -slope / curve if curve > 0.0 else EXTENDED(np.inf)
        hits = bool(length >= first)
        if hits:
            length = first
        if not np.isfinite(length):
            return None
        change = length * direction
        if hits:
            hit = room <= first
            change[hit] = goal[hit] - at[hit]
        gain = -(slope * length + 0.5 * curve * length * length)
        return _Step(members, change, gain, length * delta, hits)


def _gain(slack: np.ndarray, room: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return what θ gains on its way to its bound if its row, as far as it counts, is so long."""
    square = np.maximum(length.astype(EXTENDED) ** 2, TINY)
    step = np.minimum(slack / square, room)
    return np.asarray(step * (slack - 0.5 * step * square))


def _most(values: np.ndarray, count: int) -> np.ndarray:
    """Return where the largest values are."""
    return np.argsort(-values, kind="stable")[:count]
