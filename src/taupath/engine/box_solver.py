"""The canonical problem at one t, solved on its own: slowly, and whatever its condition.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i θ_i   subject to   l_i ≤ θ_i ≤ h_i   (and Σ sign_i θ_i = 0)

A primal active-set method with θ, w and all slacks in extended precision. Its directions come from
a regularised least-squares problem and need few digits, since every step looks at true slacks.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from taupath._core._rows import Rows
from taupath.engine.problem import TINY, largest_violation, usual_slacks

EXTENDED = np.longdouble
# Rows are scaled to length 1, and this is added to the diagonal of their Gram matrix: what is
# smaller is rounding.
RIDGE_OF_VECTORS, RIDGE_OF_GRAM = 1e-26, 1e-15
# With more columns than this, directions come from the Gram matrix.
MOST_COLUMNS_OF_VECTORS = 1024
# Steps per sample after which the solver gives up, and steps in a row that gain nothing (besides
# one for each free point).
STEPS_PER_SAMPLE, MOST_IDLE = 20, 30
# Rows count as dependent if one of them is this close to the span of others. Those that only
# rounding keeps apart come first. Eigenvalues of a Gram matrix are squares of such distances.
NEARLY_NOTHING, NOTHING = 1e-8, 1e-12
NEARLY_NOTHING_SQUARED = 1e-13
# A distance from a target counts like a relative gap of this part of it.
OFF_BY = 1e-3
# A gain below this part of the objective is none.
NO_GAIN = 1e-22
# A point that was let go and gained less than this part of what it cost waits while others have a
# turn.
LITTLE = 1e-3


class Box(NamedTuple):
    """Bounds and targets at one t."""

    lower: np.ndarray
    upper: np.ndarray
    target: np.ndarray


class Solved(NamedTuple):
    """A solution at one t, its gap, and a typical primal objective that gaps are relative to."""

    theta: np.ndarray
    multiplier: np.floating
    w: np.ndarray  # Σ θ_i z_i, shifted by the multiplier
    slack: np.ndarray
    gap: float
    objective: float


class _Bounds(NamedTuple):
    """Bounds in extended precision."""

    lower: np.ndarray
    upper: np.ndarray


class _Step(NamedTuple):
    """Some points, the changes of their θ and of w, the gain, and whether a bound was hit."""

    members: np.ndarray
    change: np.ndarray
    gain: np.floating
    delta: np.ndarray
    hits: bool


class BoxSolver:
    """Solves problems with the same rows."""

    def __init__(self, rows: Rows) -> None:
        self.rows = rows
        self.length = np.sqrt(np.maximum(rows.squared_norms(), 0.0))
        self.length[self.length == 0.0] = 1.0
        self.sign = rows.signs.astype(float)
        self.n_steps = 0

    def solve(self, box: Box, theta: np.ndarray, tol: float) -> Solved:
        """Return the solution from this θ on, with a relative gap of tol if that can be reached."""
        bounds = _Bounds(box.lower.astype(EXTENDED), box.upper.astype(EXTENDED))
        theta = np.clip(theta.astype(EXTENDED), *bounds)
        if self.rows.balanced:
            theta = self._balanced(theta, *bounds)
        w = self.rows.exact_combination(theta)
        refused = np.zeros(len(theta), dtype=bool)
        turns = np.zeros(len(theta))  # of points that were let go and gained little
        idle, purified, least = 0, False, np.inf
        best: Solved | None = None
        for _ in range(STEPS_PER_SAMPLE * len(theta) + 100):
            free = np.flatnonzero((theta > bounds.lower) & (theta < bounds.upper))
            raw = self.rows.exact_products(w) - box.target
            equations = self._equations(free)
            multiplier = self._multiplier(raw, theta, free, equations, bounds)
            slack = raw + self.sign * multiplier if self.rows.balanced else raw
            room_up, room_down = bounds.upper - theta, theta - bounds.lower
            gaps = np.maximum(room_up * -slack, room_down * slack)
            gap = gaps.sum()
            squared = max(float(theta @ (raw + box.target)), 0.0)
            usual = usual_slacks(-slack.astype(float))
            loss = float(np.maximum(box.upper * usual, box.lower * usual).sum())
            objective = loss + 0.5 * squared
            short = -slack / np.maximum(np.abs(box.target), 1.0)
            off = largest_violation(theta, box.lower, box.upper, short, -short)
            wrong = max(float(gap) / max(objective, TINY), OFF_BY * off)
            if wrong < least:
                least, best = wrong, Solved(theta, multiplier, w, slack, gap, objective)
            if wrong <= tol or idle > MOST_IDLE + len(free):
                break
            self.n_steps += 1
            entering = np.zeros(0, dtype=int)
            step = None
            if equations is not None and equations.null is not None and not purified:
                # dependent points: θ moves while w hardly does, until one of them is at a bound
                step = self._along(free, equations.null, slack, theta, bounds)
                purified = step is None or not step.hits
            if step is None or not (step.hits or step.gain > NO_GAIN * objective):
                # one more point is let go, the one that costs most
                gaps[free] = 0.0
                gaps[refused] = 0.0
                entering = self._entering(gaps / (1.0 + turns) ** 3, raw, theta, box, free)
                step = None
                if len(entering):
                    step = self._step(np.append(free, entering), slack, theta, bounds)
                    if step is None:  # it wants to leave its box
                        refused[entering] = True
                if step is None and len(free):
                    step = self._step(free, slack, theta, bounds)
                if step is None:
                    if len(entering):
                        continue
                    break
            if step.hits or len(entering):
                purified = False
            if step.gain > NO_GAIN * objective:
                idle = 0
                refused[:] = False
            else:
                idle += 1
                refused[entering] = True
            turns[entering] += step.gain < LITTLE * gaps[entering]
            theta = theta.copy()
            theta[step.members] += step.change
            np.clip(theta, *bounds, out=theta)
            # not summed anew: θ may be too coarse for changes that long rows show in their slacks
            w = w + step.delta
        assert best is not None
        return best._replace(w=self.rows.shifted(best.w, best.multiplier))

    def rates(self, free: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the rates of all slacks and of θ, if bound points move at `rate`."""
        rate = rate.astype(EXTENDED)
        rate[free] = 0.0
        equations = self._equations(free)
        if equations is not None and self.rows.balanced:
            rate[equations.first] = -self.sign[equations.first] * (self.sign @ rate)
        slack_rate = self.rows.exact_products(self.rows.exact_combination(rate))
        for _ in range(0 if equations is None else 2):  # twice, for digits that one solution lacks
            assert equations is not None
            moved = np.zeros_like(rate)
            moved[free] = equations.descent(slack_rate[free])
            rate = rate + moved
            slack_rate = slack_rate + self.rows.exact_products(self.rows.exact_combination(moved))
        if equations is not None and self.rows.balanced:
            slack_rate = slack_rate + self.sign * equations.multiplier(slack_rate[free])
        return slack_rate.astype(float), rate.astype(float)

    def _entering(
        self, gaps: np.ndarray, raw: np.ndarray, theta: np.ndarray, box: Box, free: np.ndarray
    ) -> np.ndarray:
        """Return the bound point that costs most, or a pair of them if none is free."""
        if self.rows.balanced and len(free) == 0:
            # the pair whose Σ sign_i θ_i can stay zero while it gains most
            level = self.sign * raw
            can_rise, can_fall = theta < box.upper, theta > box.lower
            rising = np.where(self.sign > 0.0, can_rise, can_fall)
            falling = np.where(self.sign > 0.0, can_fall, can_rise)
            one = int(np.where(rising, level, np.inf).argmin())
            two = int(np.where(falling, level, -np.inf).argmax())
            return np.array([one, two] if level[one] < level[two] else [], dtype=int)
        worst = int(gaps.argmax())
        return np.array([worst] if gaps[worst] > 0.0 else [], dtype=int)

    def _balanced(self, theta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
        """Return θ with Σ sign_i θ_i = 0, by moving points inside their boxes first, then others.

        Only one of them ends up inside its box that was not there before.
        """
        off = self.sign @ theta
        inside = (theta > lower) & (theta < upper)
        goal = np.where(self.sign * off > 0.0, lower, upper)
        for k in np.lexsort((-np.abs(goal - theta), ~inside)):
            if off == 0.0:
                break
            before = theta[k]
            theta[k] = np.clip(before - self.sign[k] * off, lower[k], upper[k])
            off = off + self.sign[k] * (theta[k] - before)
        return theta

    def _multiplier(
        self,
        raw: np.ndarray,
        theta: np.ndarray,
        free: np.ndarray,
        equations: "_Equations | None",
        bounds: _Bounds,
    ) -> np.floating:
        """Return the multiplier of Σ sign_i θ_i = 0 that fits the free points, or costs least."""
        if not self.rows.balanced:
            return EXTENDED(0.0)
        if equations is not None:
            return equations.multiplier(raw[free])
        # Σ max((h - θ)(-g), (θ - l) g) over g = raw + sign b is convex and piecewise linear in b
        at = -self.sign * raw
        order = np.argsort(at)
        up, down = bounds.upper - theta, theta - bounds.lower
        left = np.where(self.sign > 0.0, -up, -down)
        right = np.where(self.sign > 0.0, down, up)
        slope = left.sum() + np.cumsum((right - left)[order])
        k = min(int(np.searchsorted(slope >= 0.0, True)), len(order) - 1)
        multiplier: np.floating = at[order[k]]
        return multiplier

    def _step(
        self, members: np.ndarray, slack: np.ndarray, theta: np.ndarray, bounds: _Bounds
    ) -> _Step | None:
        """Return a descent of these points within the box; None if it is blocked."""
        equations = self._equations(members)
        assert equations is not None
        return self._along(members, equations.descent(slack[members]), slack, theta, bounds)

    def _along(
        self,
        members: np.ndarray,
        direction: np.ndarray,
        slack: np.ndarray,
        theta: np.ndarray,
        bounds: _Bounds,
    ) -> _Step | None:
        """Return the best step of these points in a direction, up to the first bound."""
        slope = slack[members] @ direction
        if slope > 0.0:  # nothing but rounding, and just as good the other way round
            direction, slope = -direction, -slope
        if not slope < 0.0:
            return None
        at = theta[members]
        goal = np.where(direction < 0.0, bounds.lower[members], bounds.upper[members])
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(direction == 0.0, np.inf, (goal - at) / direction)
        first = room.min()
        if first <= 0.0:
            return None
        moved = np.zeros(len(theta), dtype=EXTENDED)
        moved[members] = direction
        delta = self.rows.exact_combination(moved)
        curve = max(moved @ delta if self.rows.dual else delta @ delta, EXTENDED(0.0))
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

    def _equations(self, members: np.ndarray) -> "_Equations | None":
        """Return the equations of these points; None if there are none."""
        return _Equations(self.rows, members, self.sign, self.length) if len(members) else None


class _Equations:
    """Solves Gram(members) x = rhs, regularised; `null` combines the rows to nearly nothing.

    If Σ sign_i x_i = 0 is asked for, the member with the shortest row, `first`, takes what keeps
    the balance: the equations are those of the rows z_i - sign_i sign_first z_first, which have no
    part in the intercept.
    """

    def __init__(
        self, rows: Rows, members: np.ndarray, sign: np.ndarray, length: np.ndarray
    ) -> None:
        self.balanced, self.size = rows.balanced, len(members)
        k = int(length[members].argmin()) if self.balanced else -1
        self.first, self._k = int(members[k]), k
        self._others = np.delete(np.arange(self.size), k) if self.balanced else slice(None)
        self._factor = sign[members[self._others]] * sign[self.first]
        self._sign = float(sign[self.first])
        some, null = members.astype(np.int32), None
        if rows.dual or rows.n_cols > MOST_COLUMNS_OF_VECTORS:
            gram = rows.gram(some)
            gram = self._apart(self._apart(gram + np.tril(gram, -1).T).T)
            self.scale = _lengths(np.sqrt(np.maximum(np.diagonal(gram), 0.0)))
            self._solver: _OfGram | _OfVectors = _OfGram(gram / np.outer(self.scale, self.scale))
        else:
            block = self._apart(rows.block(some))
            block = block[:, :-1] if self.balanced else block
            self.scale = _lengths(np.linalg.norm(block, axis=1))
            self._solver = _OfVectors(block / self.scale[:, np.newaxis])
        null = self._solver.null
        self.null = None if null is None else self._whole(null / self.scale)

    def _apart(self, rows: np.ndarray) -> np.ndarray:
        """Return the rows of the equations."""
        if not self.balanced:
            return rows
        factor = self._factor.reshape((-1,) + (1,) * (rows.ndim - 1))
        return np.asarray(rows[self._others] - factor * rows[self._k])

    def _whole(self, x: np.ndarray) -> np.ndarray:
        """Return x of all members."""
        x = x.astype(EXTENDED)
        if not self.balanced:
            return x
        whole = np.empty(self.size, dtype=EXTENDED)
        whole[self._others], whole[self._k] = x, -(self._factor @ x)
        return whole

    def descent(self, raw: np.ndarray) -> np.ndarray:
        """Return the changes of θ that bring these slacks to zero, roughly."""
        rhs = (self._apart(raw) / self.scale).astype(float)
        return self._whole(-self._solver.solve(rhs) / self.scale)

    def multiplier(self, raw: np.ndarray) -> np.floating:
        """Return the multiplier that brings the slack of the first member to zero."""
        multiplier: np.floating = -self._sign * raw[self._k]
        return multiplier


def _lengths(found: np.ndarray) -> np.ndarray:
    return np.where(found > 0.0, found, 1.0)


class _OfGram:
    """By the eigenvectors of a Gram matrix with unit diagonal."""

    null: np.ndarray | None = None

    def __init__(self, gram: np.ndarray) -> None:
        if len(gram) == 0:
            self.vectors, self.inverse = gram, np.zeros(0)
            return
        values, self.vectors = np.linalg.eigh(gram)
        self.inverse = 1.0 / (np.maximum(values, 0.0) + RIDGE_OF_GRAM * max(values[-1], 1.0))
        if values[0] < NEARLY_NOTHING_SQUARED * values[-1]:
            self.null = self.vectors[:, 0]

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return x."""
        return np.asarray(self.vectors @ (self.inverse * (self.vectors.T @ rhs)))


class _OfVectors:
    """By orthogonalisation, which does not square the condition."""

    null: np.ndarray | None = None

    def __init__(self, rows: np.ndarray) -> None:
        self.size = m = len(rows)
        if m == 0:
            return
        # rows of the tall matrix in decreasing size: then each keeps its own digits
        tall = rows.T[np.argsort(-np.abs(rows).max(axis=0), kind="stable")]
        tall = np.vstack((tall, np.sqrt(RIDGE_OF_VECTORS) * np.eye(m)))
        R, self.order = qr(tall, mode="r", pivoting=True, check_finite=False)
        self.R = R[:m]
        diagonal = np.abs(np.diagonal(self.R))
        ranks = [int((diagonal > part * diagonal[0]).sum()) for part in (NOTHING, NEARLY_NOTHING)]
        if ranks[1] < m:
            rank = ranks[0] if ranks[0] < m else ranks[1]
            self.null = np.zeros(m)
            self.null[self.order[rank]] = 1.0
            self.null[self.order[:rank]] = -solve_triangular(
                self.R[:rank, :rank], self.R[:rank, rank], check_finite=False
            )

    def solve(self, rhs: np.ndarray) -> np.ndarray:
        """Return x."""
        if self.size == 0:
            return rhs
        half = solve_triangular(self.R, rhs[self.order], trans="T", check_finite=False)
        found = np.empty(len(rhs))
        found[self.order] = solve_triangular(self.R, half, check_finite=False)
        return found
