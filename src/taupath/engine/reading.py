"""Solutions read from a record: by index sets or between nodes, verified, else solved anew."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from taupath._core._factor import keeps_basis
from taupath._core._judging import judge
from taupath._core._replay import Replay
from taupath._core._rows import Rows
from taupath.engine.box_solver import BoxSolver
from taupath.engine.node_blocks import (
    PRODUCT_ROUNDING,
    NodeBlocks,
    Swept,
    travel_of,
    unknown_bent,
)
from taupath.engine.problem import (
    AT_BOUND,
    INVISIBLE,
    OUTLYING,
    TINY,
    VANISHING,
    Box,
    Line,
    nearly_nothing,
    objectives,
    without_large_constant,
)
from taupath.engine.readers import made_once
from taupath.engine.record import Nodes, Record, Solution
from taupath.engine.status import FREE, LOWER, ROUNDING, UPPER, sides_of
from taupath.engine.stepping import SOLVED_TO, rounded
from taupath.engine.tolerances import EXACT_GAP, EXACT_KKT, RIGHT

# Within this distance of a kink, in units of the last digit of t, the rounding of the kink may put
# t on its wrong side: kinks are accurate to one or two units of their last digit.
NEAR_A_KINK = 4.0
# Index sets that are tried there: more than ever change at once except in ties, where any will do.
MOST_CANDIDATES = 16
# Index sets are accepted if no slack is further than this on the wrong side: its rounding error.
RIGHT_SIDE = 1e-13
# A relative gap that raised targets cause is corrected if it is above this: a tenth of what is
# promised.
VISIBLE = 1e-10
# Most nodes, and most events, in a block of a sweep: more make the small systems of a block larger,
# fewer mean more blocks to factor. The steps of `node_blocks.BENT_STEPS` are to fit into blocks.
NODES_AT_A_TIME, EVENTS_AT_A_TIME = 128, 256
# The rounding of θ is looked at more closely if it can cost more than this part of the objective.
HARMLESS = VANISHING * EXACT_GAP
# An objective is above the least that gaps are relative to if it is above a bound on it by this
# factor: more than errors of solutions amount to.
CLEARLY = 2.0
# A solution with a larger error than this is so far off that its index sets are not those of the
# data, as in a file that somebody has changed: solving anew may then look at so many entries of the
# rows only, which takes a fraction of a second.
FAR_OFF, ENTRIES_IF_FAR_OFF = 1e-3, 2_000_000
# Another solution takes the place of a wrong one if its error is at most this part: a rounding
# error is no reason.
BETTER = 0.5


class _Judged(NamedTuple):
    """What `judge` returns."""

    theta: np.ndarray
    losses: float
    slack: float
    gap: float
    moved: float
    violation: float
    beyond: float


class Reader:
    """The solutions of a record.

    Parameters
    ----------
    rows : Rows
        The z_i, or rows with the same inner products.
    line : Line
        What was walked, with raised targets.
    given : Line
        What solutions are wanted for.
    record : Record
        What the walk left behind.
    by_theta : bool
        Whether functions are computed from θ, as with kernels, and not from w: then a small error
        of θ costs as much as one of w, although Σ θ_i z_i hardly differs from w.
    """

    def __init__(
        self, rows: Rows, line: Line, given: Line, record: Record, by_theta: bool = False
    ) -> None:
        self.rows, self.line, self.given, self.record = rows, line, given, record
        self.by_theta = by_theta and not rows.dual  # rows of a kernel have no other w
        self.replay = Replay(rows, line, record)

    def solution(self, t: float) -> Solution:
        """Return the solution at t: kept, or from the index sets; if that is wrong, solved anew."""
        found = self.recorded(t)
        wrong = self._wrong(found, t)
        if wrong > RIGHT:
            for line in (self.given, self.line):
                other = self._solved_anew(line.at(t), found, wrong)
                error = np.inf if other is None else self._wrong(other, t)
                if other is not None and error <= BETTER * wrong:
                    found, wrong = other, error
        return found

    def recorded(self, t: float) -> Solution:
        """Return the solution at t as the record has it: kept, or from the index sets."""
        return self._between_nodes(t) or self.by_index_sets(t)[0]

    def solved_anew(self, box: Box, near: Solution, t: float) -> Solution | None:
        """Return the solution for a box at t on its own: slow, and always the same.

        None if the one nearby is far off, and there are so many rows that it takes long.
        """
        return self._solved_anew(box, near, self._wrong(near, t))

    def _wrong(self, found: Solution, t: float) -> float:
        """Return the error of a solution, and of what is read as its θ.

        The latter is the part of the relative gap that is due to w not being Σ θ_i z_i. It is the
        rounding of θ, which is harmless unless rows are very long.
        """
        if self.by_theta:
            return self.error(self._with_w_of_theta(found, t), t)
        error, unit, theta = self._measured(found, t)
        if self.rows.dual:
            return error
        most = ROUNDING * float(np.abs(theta) @ self.lengths)
        if 0.5 * most * most <= HARMLESS * unit:
            return error
        exact = self.rows.exact_combination(theta.astype(np.longdouble))
        off = (self.rows.shifted(exact, found.multiplier) - found.w).astype(float)
        return max(error, 0.5 * float(off @ off) / unit)

    def _with_w_of_theta(self, found: Solution, t: float) -> Solution:
        """Return the solution with w = Σ θ_i z_i, after the largest free θ has restored balance."""
        status, signs = found.status, self.rows.signs
        at_bound = np.where(status == UPPER, self.given.upper(t), self.given.lower(t))
        theta = np.where(status == FREE, found.theta, at_bound).astype(np.longdouble)
        free = np.flatnonzero(status == FREE)
        if self.rows.balanced and len(free):
            largest = free[np.abs(theta[free]).argmax()]
            theta[largest] -= signs[largest] * (signs @ theta)
        w = self.rows.shifted(self.rows.exact_combination(theta), found.multiplier)
        return found._replace(theta=theta.astype(float), w=w.astype(float))

    def _solved_anew(self, box: Box, near: Solution, wrong: float) -> Solution | None:
        entries = self.rows.n_rows * self.rows.n_cols
        most_steps = ENTRIES_IF_FAR_OFF // entries if wrong > FAR_OFF else np.inf
        if not most_steps:
            return None
        theta = np.nan_to_num(near.theta)
        return rounded(BoxSolver(self.rows).solve(box, theta, SOLVED_TO, most_steps), box)

    def sweep(
        self, positions: np.ndarray, times: np.ndarray, with_w: bool, with_theta: bool
    ) -> Swept:
        """Return the solutions at consecutive nodes, given the number of events before each.

        With few columns, nodes are solved for one by one, otherwise in blocks.
        """
        if keeps_basis(self.rows):
            return self._one_by_one(positions, times, with_w, with_theta)
        n, blocks = len(times), NodeBlocks(self.rows, self.line, self.record, self.lengths, with_w)
        w = np.empty((n, self.rows.n_cols)) if with_w else None
        theta = np.empty((n, self.rows.n_rows)) if with_theta else None
        parts = []
        for first, last in _blocks_of(positions):
            some = slice(first, last + 1)
            own_w, own_theta = (None if a is None else a[some] for a in (w, theta))
            found = None
            if not self._in_stretches(times[some]):
                found = blocks.solve(positions[some], times[some], own_w, own_theta, first, n - 1)
            if found is None:
                found = self._one_by_one(positions[some], times[some], with_w, with_theta)
                if own_w is not None:
                    own_w[:] = found.w
                if own_theta is not None:
                    own_theta[:] = found.theta
            parts.append(found)
        self.rows.check()
        return Swept.joined(parts, w, theta)

    def _in_stretches(self, times: np.ndarray) -> bool:
        """Return whether stored nodes give the solution at one of these t."""
        nodes = self.record.nodes
        return nodes is not None and any(nodes.around(float(t)) is not None for t in times)

    def _one_by_one(
        self, positions: np.ndarray, times: np.ndarray, with_w: bool, with_theta: bool
    ) -> Swept:
        """Return the solutions at consecutive nodes, by index sets or from stored nodes."""
        rows, n = self.rows, len(times)
        w, multiplier = np.empty((n, rows.n_cols)), np.empty(n)
        theta = np.empty((n, rows.n_rows)) if with_theta or rows.dual else None
        self.replay.sweep(positions, times, w, theta, multiplier)
        for k in range(n if self.record.nodes is not None else 0):
            found = self._between_nodes(float(times[k]))
            if found is not None:
                w[k], multiplier[k] = found.w, found.multiplier
                if theta is not None:
                    theta[k] = found.theta
        if theta is None or not rows.dual:
            travel = travel_of(w, rows.bias)
        else:
            # ‖Δw‖² = Σ Δθ_i <z_i, Δw>, less the contribution of the constant feature
            moved = np.diff(theta, axis=0)
            squared = (moved * np.diff(w, axis=0)).sum(axis=1) - (
                rows.bias * (moved @ rows.signs)
            ) ** 2
            terms = np.abs(moved) @ self.lengths
            travel = np.sqrt(np.maximum(squared, 0.0) + PRODUCT_ROUNDING * terms**2)
        return Swept(
            w if with_w else None,
            theta if with_theta else None,
            multiplier,
            travel,
            unknown_bent(n),
        )

    def error(self, found: Solution, t: float) -> float:
        """Return how wrong a solution is: its relative gap, or a violation in the same unit."""
        return self._measured(found, t)[0]

    def _measured(self, found: Solution, t: float) -> tuple[float, float, np.ndarray]:
        """Return the error of a solution, what its gap is relative to, and θ as it is meant."""
        margin = self.rows.products(found.w)
        judged = self._judge(t, found.status, found.theta, margin)
        unit = self._unit(t, judged, margin, self._squared(judged.theta, margin, found.multiplier))
        violation = max(judged.violation, judged.beyond)
        error = max(judged.gap / unit, EXACT_GAP / EXACT_KKT * violation)
        return error if np.isfinite(error) else np.inf, unit, judged.theta

    def error_beyond_bounds(
        self, t: float, theta: np.ndarray, w: np.ndarray, multiplier: float
    ) -> float:
        """Return the error of a solution whose θ may be beyond its bounds; that costs a gap."""
        margin = self.rows.products(w)
        judged = self._judge(t, np.full(len(theta), FREE, np.int8), theta, margin)
        unit = self._unit(t, judged, margin, self._squared(theta, margin, multiplier))
        gap = judged.gap + 0.5 * judged.moved**2
        error = max(gap / unit, EXACT_GAP / EXACT_KKT * judged.violation)
        return error if np.isfinite(error) else np.inf

    def _judge(
        self, t: float, status: np.ndarray, theta: np.ndarray, margin: np.ndarray
    ) -> "_Judged":
        narrowest = AT_BOUND * self.widest
        found = judge(self.given, t, status, theta, margin, self.lengths, AT_BOUND, narrowest)
        return _Judged(*found)

    def _unit(self, t: float, judged: "_Judged", margin: np.ndarray, squared: float) -> float:
        """Return what a gap is relative to: a typical objective at t, or at least a part of one.

        `margin` are the <z_i, w> and `squared` is ‖w‖².
        """
        objective = whole = judged.losses + 0.5 * squared
        if judged.slack > OUTLYING * self.given.typical:
            objective = objectives(self.given.at(t), margin, squared)[0]
        # With resting targets the optimum is concave in t. So in the middle it is at most this
        # objective, which is no less, divided by the distance from the nearer end: nearly
        # everywhere there is no need to know the least.
        nearer = min(t, 1.0 - t)
        if self._targets_rest and nearer * objective >= CLEARLY * VANISHING * whole > TINY:
            return objective
        return max(objective, self.least, TINY)

    @made_once
    def _targets_rest(self) -> bool:
        """Whether targets do not depend on t."""
        return not self.line.target_rate.any()

    @made_once
    def widest(self) -> float:
        """The width of the widest box."""
        line = self.line
        return max(
            float((line.upper0 - line.lower0).max()), float((line.upper1 - line.lower1).max())
        )

    def by_index_sets(self, t: float) -> tuple[Solution, int]:
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
            return self._after(position, t)[0], position
        movers = np.unique(self.record.index[first:last])
        candidates = sorted(range(first, last + 1), key=lambda k: abs(k - position))
        best, least = None, np.inf
        for k in candidates[:MOST_CANDIDATES]:
            found, target = self._after(k, t)
            slack = self.replay.products(found.w, movers) - target[movers]
            side = found.status[movers]
            wrong = np.where(side == UPPER, slack, np.where(side == LOWER, -slack, 0.0))
            most_wrong = wrong.max(initial=0.0)
            if best is None or most_wrong < least:
                least, best = most_wrong, (found, k)
            if most_wrong <= RIGHT_SIDE:
                break
        assert best is not None
        return best

    def _after(self, position: int, t: float) -> tuple[Solution, np.ndarray]:
        """Return the solution for the index sets after so many events, and the targets it meets."""
        raised = self.line.target(t)
        found = self._solved(position, t, raised)
        if not self.given.from_zero:
            error = self.error(found, t)
            if error > VISIBLE:
                given = self.given.target(t)
                other = self._solved(position, t, given)
                if self.error(other, t) < error:
                    return other, given
        return found, raised

    def _solved(self, position: int, t: float, target: np.ndarray) -> Solution:
        """Return the solution for the index sets after so many events, with these targets."""
        self.replay.seek(position)
        return Solution(*self.replay.solution(t, target))

    def _between_nodes(self, t: float) -> Solution | None:
        """Return the solution at t if it lies in a stretch whose solutions are kept."""
        nodes = self.record.nodes
        around = None if nodes is None else nodes.around(t)
        if nodes is None or around is None:
            return None
        one, two = ((float(nodes.t[k]), self._at_node(nodes, k)) for k in around)
        if around[0] == around[1]:
            return self._settled(one[1], t)
        return self._interpolated(t, one, two)

    def _at_node(self, nodes: Nodes, k: int) -> Solution:
        """Return the solution that is kept at node k."""
        status, t = nodes.status[k], float(nodes.t[k])
        multiplier = float(nodes.multiplier[k])
        theta = np.where(status == UPPER, self.line.upper(t), self.line.lower(t))
        theta[status == FREE] = nodes.free_theta(k)
        if nodes.w is None or nodes.w.shape[1] != self.rows.n_cols:
            exact = self.rows.exact_combination(theta.astype(np.longdouble))
            w = self.rows.shifted(exact, multiplier)
        else:
            w = nodes.w[k]
        return Solution(status.copy(), theta, w.astype(float), multiplier)

    def _interpolated(
        self, t: float, one: tuple[float, Solution], two: tuple[float, Solution]
    ) -> Solution:
        """Return the solution at t between two others; w is interpolated, too."""
        (begin, first), (end, last) = one, two
        part = np.longdouble(t - begin) / np.longdouble(end - begin)  # θ is to be rounded once
        lower, upper = self.line.lower(t), self.line.upper(t)
        stays = (first.status == last.status) & (first.status != FREE)
        theta = (1.0 - part) * first.theta + part * last.theta
        theta = np.where(stays, np.where(first.status == UPPER, upper, lower), theta)
        w = (1.0 - part) * first.w + part * last.w
        multiplier = (1.0 - part) * first.multiplier + part * last.multiplier
        sides = sides_of(theta, lower, upper, first.status, ROUNDING)
        status = np.where(stays, first.status, sides)
        found = Solution(
            status.astype(np.int8), theta.astype(float), w.astype(float), float(multiplier)
        )
        return self._settled(found, t)

    def _settled(self, found: Solution, t: float) -> Solution:
        """Return a solution whose free points as good as at a bound, and beyond it, are there."""
        lower, upper = self.line.lower(t), self.line.upper(t)
        near = nearly_nothing(upper - lower, self.lengths)
        low, high = found.theta - lower <= near, upper - found.theta <= near
        points = np.flatnonzero((found.status == FREE) & (low | high)).astype(np.int32)
        slack = self.replay.products(found.w, points) - self.line.target(t)[points]
        to_lower = points[low[points] & (slack > EXACT_KKT)]
        to_upper = points[high[points] & (slack < -EXACT_KKT)]
        if len(to_lower) + len(to_upper) == 0:
            return found
        status, theta = found.status.copy(), found.theta.copy()
        status[to_lower], status[to_upper] = LOWER, UPPER
        theta[to_lower], theta[to_upper] = lower[to_lower], upper[to_upper]
        # w stays: moving it by that little can cost more than it is off by
        off = float((np.abs(theta - found.theta) * self.lengths).sum())
        squared = self.margins(found.theta, found.w, found.multiplier)[1]
        if off > INVISIBLE * np.sqrt(squared):
            return found
        return Solution(status, theta, found.w, found.multiplier)

    @made_once
    def lengths(self) -> np.ndarray:
        """The lengths of the rows."""
        return np.asarray(np.sqrt(np.maximum(self.replay.squared_norms, 0.0)))

    @made_once
    def least(self) -> float:
        """What gaps are at least relative to: a part of a typical objective within the record."""
        typical = []
        for t in np.clip((0.25, 0.5, 0.75), self.record.begin, self.record.end):
            position = int(np.searchsorted(self.record.t, t, side="right"))
            kept = self._between_nodes(t)
            found = kept or self._solved(position, t, self.line.target(t))
            margin, squared = self.margins(found.theta, found.w, found.multiplier)
            typical.append(objectives(self.line.at(t), margin, squared)[0])
        return VANISHING * float(np.median(typical))

    def margins(
        self, theta: np.ndarray, w: np.ndarray, multiplier: float
    ) -> tuple[np.ndarray, float]:
        """Return all <z_i, w>, and the squared length of w without the multiplier's part."""
        margin = self.rows.products(w)
        return margin, self._squared(theta, margin, multiplier)

    def _squared(self, theta: np.ndarray, margin: np.ndarray, multiplier: float) -> float:
        """Return the squared length of w without the multiplier's part."""
        total = float(self.rows.signs @ theta)
        squared = float(theta @ margin) - (multiplier * total if self.rows.balanced else 0.0)
        if not (self.rows.balanced or self.given.from_zero):
            squared = without_large_constant(squared, self.rows.bias * total, self.given.typical)
        return max(squared, 0.0)


def _blocks_of(positions: np.ndarray) -> Iterator[tuple[int, int]]:
    """Yield the first and the last node of each block; the last is the first of the next one."""
    first, end = 0, len(positions) - 1
    while True:
        last = min(first + NODES_AT_A_TIME, end)
        while last > first + 1 and abs(positions[last] - positions[first]) > EVENTS_AT_A_TIME:
            last = first + (last - first) // 2
        yield first, last
        if last == end:
            return
        first = last
