"""The solution at one τ with a kernel, by Newton's method on a smoothed loss in dual coordinates.

As in `node_solver`, θ_i = l_i + a_i (h_i - l_i) with a_i = clip(centre + (p_i - m_i) / width, 0, 1)
is optimal for the smoothed problem if w = Σ θ_i z_i. Here w is Σ β_i z_i, with β written as
fractions of the boxes that may lie outside [0, 1]. With A the samples where 0 < a_i < 1, a Newton
step solves

    (Q_AA + diag(width / box_A)) Δ_A = p_A - m_A - width (a_A - centre),

where m are the margins of Σ θ_i z_i, and sets all other fractions to 0 or 1. Sums of kernel rows
are kept for each class, in units of its box, so that nothing has to be multiplied when τ changes,
and only samples whose fractions change are when it does not.

A node has both points: the gap between w and θ is of second order in w - Σ θ_i z_i.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from taupath._core import _margins
from taupath.approximate.dual_point import balance
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.kernel_matrix import KernelMatrix
from taupath.approximate.node import Smoothing
from taupath.approximate.node_solver import (
    INTERCEPT_RIDGE,
    MAX_INTERCEPT_STEP,
    MAX_SHRINK,
    MAX_STEPS,
    MAX_STEPS_PER_WIDTH,
    MAX_WIDTH,
    MIN_SHRINK,
    NEXT_SMOOTHING_SHARE,
    SMOOTHING_SHARE,
    SOLVED,
    WIDEN,
    flat_length,
)
from taupath.approximate.row_sums import DualSums
from taupath.approximate.rounding import EPS
from taupath.exceptions import WalkFailed
from taupath.paths.intercept import Intercept
from taupath.paths.training_data import Responses

# The part of a node's budget that the rounding of sums may take before they are computed afresh.
DRIFT_SHARE = 1e-3
# Fractions that differ by less than this are equal but for rounding.
ROUNDED_FRACTION = 1e-12
# The widest smoothing that a node begins with, after the first, in units of the largest |p|. Near
# τ = 0 and 1 the tolerance would allow far more, but then whole classes have 0 < a < 1.
WIDEST_BEGINNING = 0.5
# A start is bad if ½‖w - Σ θ_i z_i‖² exceeds this part of P(0): then samples near their targets are
# on the wrong side. Starts from which two or three steps suffice are below 0.2.
BAD_START = 1.0
# After a step that is shorter than this, the intercept is set anew: the sets of samples were wrong.
SHORT_STEP = 0.7

# Returns slope, curvature and length, see `flat_length`.
Slopes = Callable[[float, tuple[float, float]], list[tuple[float, float, float]]]


@dataclass(frozen=True)
class KernelIterate:
    """A primal point w = Σ β_i z_i, by fractions of boxes.

    Sums are over each class, in units of its box: a row for each of the two.
    """

    fraction: np.ndarray
    sums: np.ndarray  # Σ sign weight fraction k(x_i, .) at all samples
    totals: np.ndarray  # Σ sign weight fraction
    intercept: float  # a variable of its own, whether it costs something or not
    drift: float  # rounding error of the sums, at most so many ‖φ(x)‖

    def moved_to(self, there: "KernelIterate", s: float) -> "KernelIterate":
        """Return the point at s on the line from this one to another, in the same boxes."""
        r = 1.0 - s
        return KernelIterate(
            r * self.fraction + s * there.fraction,
            r * self.sums + s * there.sums,
            r * self.totals + s * there.totals,
            r * self.intercept + s * there.intercept,
            abs(r) * self.drift + abs(s) * there.drift,
        )


@dataclass(frozen=True)
class KernelNode:
    """A solution at τ; its gap is in units of P(0)."""

    theta: np.ndarray
    beta: np.ndarray  # w = Σ β_i z_i
    intercept: float
    point: PrimalDualPoint
    gap: float
    iterate: KernelIterate
    next_smoothing: Smoothing  # to begin with at a τ nearby


@dataclass(frozen=True)
class _Dual:
    """The dual point that margins make with a smoothing."""

    iterate: KernelIterate  # Σ θ_i z_i as a primal point, before balancing
    inner: np.ndarray  # samples with 0 < a < 1 and a box
    sums: DualSums
    node: KernelNode  # w and θ, balanced
    apart: float  # the part of the gap that is not due to smoothing


class KernelSolver:
    """Solves at one τ after another, for samples seen through a kernel.

    `gap_bound` knows the boxes, the unit, and whether the intercept is free. `lengths` are
    ‖φ(x_i)‖.
    """

    def __init__(
        self,
        matrix: KernelMatrix,
        responses: Responses,
        constant: Intercept,
        gap_bound: GapBound,
        lengths: np.ndarray,
    ) -> None:
        self.matrix, self.gap_bound, self.constant = matrix, gap_bound, constant
        self.sign, self.target, self.weight = responses
        self._signs = self.sign.astype(np.int8)
        self._class = (self.sign < 0.0).astype(np.intp)
        self._n_classes = 1 + int(self._class.any())
        self._lengths, self._longest = lengths, float(lengths.max(initial=0.0))
        self._unit = float(np.abs(self.target).max(initial=0.0)) or 1.0
        self.steps = self.halved = self.refreshed = 0
        self.largest_system = 0
        n = len(self.sign)
        self._changed, self._inner = np.empty((2, n + 1), dtype=np.int32)
        self._change = np.empty(n + 1)
        zero = np.zeros((2, n))
        self._zero = KernelIterate(np.zeros(n), zero, np.zeros(2), 0.0, 0.0)
        # all at their upper bounds: needed where lower bounds are not zero
        signed_weight = self.sign * self.weight
        whole = np.array([signed_weight[self._class == k].sum() for k in (0, 1)])
        self._whole = replace(self._zero, fraction=np.ones(n), totals=whole)
        if gap_bound.boxes.lower(0.0).any() or gap_bound.boxes.lower(1.0).any():
            self._whole = self._afresh(self._whole)

    # -- nodes ---------------------------------------------------------------------------------

    def solve_from_zero(self, tau: float, budget: float) -> KernelNode:
        """Solve at τ, starting from w = 0."""
        smoothing = Smoothing(MAX_WIDTH * self._unit, np.full(2, 0.5))
        return self.solve(tau, self._zero, smoothing, budget)

    def solve_beyond(
        self, before: KernelNode | None, here: KernelNode, tau: float, budget: float
    ) -> KernelNode:
        """Solve at τ, starting from the extrapolated w."""
        start = here.iterate if before is None else self._on_line(before, here, tau)
        return self.solve(tau, start, here.next_smoothing, budget)

    def solve_between(self, here: KernelNode, there: KernelNode, budget: float) -> KernelNode:
        """Solve halfway between two nodes, starting from the mean of their w."""
        self.halved += 1
        tau = 0.5 * (here.point.t + there.point.t)
        smoothing = here.next_smoothing.between(there.next_smoothing)
        return self.solve(tau, self._on_line(here, there, tau), smoothing, budget)

    def _on_line(self, one: KernelNode, other: KernelNode, tau: float) -> KernelIterate:
        """Return w at τ on the line through two nodes.

        w is extrapolated, not the fractions: it is a small difference of large sums over the
        classes, whose boxes change with τ.
        """
        s = (tau - one.point.t) / (other.point.t - one.point.t)
        _, box = self._boxes(tau)
        start, fraction = other.iterate, np.zeros(len(self.sign))
        for node, part in ((one, 1.0 - s), (other, s)):
            own = np.divide(self._boxes(node.point.t)[1], box, out=np.ones(2), where=box > 0.0)
            fraction += part * own[self._class] * node.iterate.fraction
        # at a bound of both, and of the box in between
        same = np.abs(fraction - start.fraction) <= ROUNDED_FRACTION
        fraction[same] = start.fraction[same]
        moved = np.flatnonzero(~same)
        change = fraction[moved] - start.fraction[moved]
        start = self._with(start, fraction, moved, (self.sign * self.weight)[moved] * change)
        intercepts = one.iterate.intercept, other.iterate.intercept
        return replace(start, intercept=(1.0 - s) * intercepts[0] + s * intercepts[1])

    def solve(
        self, tau: float, iterate: KernelIterate, smoothing: Smoothing, budget: float
    ) -> KernelNode:
        """Return a node whose gap is at most `budget`, in units of P(0)."""
        first_step, tries, patience, shrink = self.steps, 0, MAX_STEPS_PER_WIDTH, MIN_SHRINK
        iterate, smoothing = self._begun(tau, iterate, smoothing)
        last_solved: tuple[KernelIterate, Smoothing] | None = None
        while True:
            dual = self._dual(tau, iterate, smoothing)
            if self._cost(dual.iterate.drift) > DRIFT_SHARE * budget:
                iterate = self._afresh(iterate)
                dual = self._dual(tau, iterate, smoothing)
            node = dual.node
            if node.gap <= budget:
                break
            if self.steps - first_step >= MAX_STEPS:
                raise WalkFailed(
                    f"the duality gap stays at {node.gap:.2g} of the objective at w = 0 where "
                    f"{budget:.2g} is wanted (try a smaller C, a larger tol, or method='exact')",
                    tau,
                )
            self.steps += 1
            smoothing_gap = node.gap - dual.apart
            if len(dual.inner) and dual.apart <= SOLVED * max(smoothing_gap, budget):
                last_solved = iterate, smoothing
                smoothing = self._narrowed(dual, smoothing, smoothing_gap / budget, shrink)
                iterate, tries = self._newton(tau, dual.iterate, dual.inner, smoothing), 0
            elif tries < patience:
                there = self._newton(tau, dual.iterate, dual.inner, smoothing)
                length = self._step_length(tau, iterate, there, smoothing)
                iterate = there if length == 1.0 else iterate.moved_to(there, length)
                if length < SHORT_STEP:
                    iterate = self._centred(tau, iterate, smoothing)
                tries += 1
            else:  # too many steps at this width: go back, or begin wider, or begin again at zero
                tries = 0
                if last_solved is not None:
                    iterate, smoothing = last_solved
                    shrink, patience = float(np.sqrt(shrink)), patience + 1
                elif smoothing.width < MAX_WIDTH * self._unit:
                    smoothing = self._widened(smoothing, WIDEN)
                else:
                    iterate, patience = self._zero, 2 * patience
        factor = float(np.sqrt(NEXT_SMOOTHING_SHARE * budget / max(node.gap, 1e-3 * budget)))
        width = min(min(max(factor, 0.5), 2.0) * smoothing.width, WIDEST_BEGINNING * self._unit)
        centre = dual.sums.mean_fraction(otherwise=smoothing.centre)
        return replace(node, next_smoothing=Smoothing(width, centre))

    def _begun(
        self, tau: float, iterate: KernelIterate, smoothing: Smoothing
    ) -> tuple[KernelIterate, Smoothing]:
        """Return where and how wide to begin; from a bad start, begin wider."""
        if self._dual(tau, iterate, smoothing).apart > BAD_START:
            iterate = self._centred(tau, iterate, smoothing)
            if self._dual(tau, iterate, smoothing).apart > BAD_START:
                smoothing = self._widened(smoothing, WIDEN)
                iterate = self._centred(tau, iterate, smoothing)
        return iterate, smoothing

    def _widened(self, smoothing: Smoothing, factor: float) -> Smoothing:
        width = min(factor * smoothing.width, MAX_WIDTH * self._unit)
        return replace(smoothing, width=width)

    def _narrowed(self, dual: _Dual, smoothing: Smoothing, gap: float, shrink: float) -> Smoothing:
        """Return a smoothing that should bring the gap, given in budgets, within the budget."""
        factor = float(np.sqrt(SMOOTHING_SHARE / max(gap, 1.0)))
        mean = dual.sums.mean_fraction(otherwise=smoothing.centre)
        weight = (1.0 - shrink) / (1.0 - MIN_SHRINK)
        return Smoothing(
            smoothing.width * max(min(factor, MAX_SHRINK), shrink),
            smoothing.centre + weight * (mean - smoothing.centre),
        )

    # -- points --------------------------------------------------------------------------------

    def _boxes(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return l and h - l of each class."""
        lower = self.gap_bound.boxes.lower(tau)
        return lower, self.gap_bound.boxes.upper(tau) - lower

    def _values(self, tau: float, iterate: KernelIterate) -> tuple[np.ndarray, float]:
        """Return Σ sign_j β_j k(x_i, x_j) of all samples, and Σ sign_j β_j."""
        lower, box = self._boxes(tau)
        values, total = box @ iterate.sums, float(box @ iterate.totals)
        if lower.any():
            values += lower @ self._whole.sums
            total += float(lower @ self._whole.totals)
        return values, total

    def _margins(self, values: np.ndarray, intercept: float) -> np.ndarray:
        return np.asarray(self.sign * (values + intercept))

    @property
    def _price(self) -> float:
        """½ price b² is what an intercept b costs."""
        return 0.0 if self.constant.free or not self.constant.bias else self.constant.bias**-2

    def _implied(self, total: float) -> float:
        """Return the intercept of Σ β_i z_i, given Σ sign_i β_i, if it is part of it."""
        return 0.0 if self.constant.free else self.constant.bias**2 * total

    def _centred(
        self, tau: float, iterate: KernelIterate, smoothing: Smoothing
    ) -> KernelIterate:
        """Return the point with the intercept that is best for the smoothed problem.

        Where many samples are near their targets, an intercept that is slightly off would put them
        all on one side.
        """
        if not self.constant.bias:
            return iterate
        lower, box = self._boxes(tau)
        values, _ = self._values(tau, iterate)
        margin = self._margins(values, iterate.intercept)
        floor = float((self.weight * lower[self._class]) @ self.sign)
        price, samples = self._price, (self.target, self.weight, self._signs)

        def slopes_up(direction: float) -> Slopes:
            rate = direction * self.sign

            def slopes(
                x: float, within: tuple[float, float] = (0.0, np.inf)
            ) -> list[tuple[float, float, float]]:
                pull, curvature = _margins.slope(
                    margin, rate, x, *samples, smoothing.centre, smoothing.width, box
                )
                own = price * (direction * iterate.intercept + x)
                return [(own - direction * floor - pull, price + curvature, x)]

            return slopes

        for direction in (1.0, -1.0):
            slopes = slopes_up(direction)
            steepness = -slopes(0.0, (0.0, np.inf))[0][0]
            if steepness > 0.0:
                by = direction * flat_length(slopes, steepness)
                return replace(iterate, intercept=iterate.intercept + by)
        return iterate

    def _with(
        self, iterate: KernelIterate, fraction: np.ndarray, members: np.ndarray, coef: np.ndarray
    ) -> KernelIterate:
        """Return the iterate with other fractions: those of members, by `coef` / sign."""
        used = np.flatnonzero(coef)
        members, coef = members[used], coef[used]
        if len(members) == 0:
            return replace(iterate, fraction=fraction)
        own = self._class[members]
        by_class = np.array([np.where(own == k, coef, 0.0) for k in range(self._n_classes)])
        sums = iterate.sums.copy()
        sums[: self._n_classes] += self.matrix.combine(members, by_class)
        totals = iterate.totals.copy()
        totals[: self._n_classes] += by_class.sum(axis=1)
        # by Cauchy-Schwarz, a term is at most |coef| times both lengths; one rounding for the sum
        depth = min(self.matrix.depth, len(members)) + len(members) // self.matrix.depth
        terms = float(np.abs(coef) @ self._lengths[members])
        before = float(np.abs(iterate.fraction) @ (self.weight * self._lengths))
        drift = iterate.drift + EPS * ((depth + 4) * terms + before)
        return KernelIterate(fraction, sums, totals, iterate.intercept, drift)

    def _afresh(self, iterate: KernelIterate) -> KernelIterate:
        """Return the iterate with sums that are computed from all samples."""
        self.refreshed += 1
        coef = self.sign * self.weight * iterate.fraction
        empty = replace(self._zero, intercept=iterate.intercept)
        return self._with(empty, iterate.fraction, np.arange(len(coef)), coef)

    def _cost(self, drift: float) -> float:
        """Return what errors of sums of so many ‖φ(x)‖ can do to a gap, in units of P(0)."""
        widest = 2.0 * self.gap_bound.boxes.widest()
        return 2.0 * widest**2 * self.gap_bound.rounding.norm_sum * drift / self.gap_bound.unit

    def _dual(self, tau: float, iterate: KernelIterate, smoothing: Smoothing) -> _Dual:
        """Return the dual point at the margins of an iterate, and the gap of the two."""
        lower, box = self._boxes(tau)
        values, _ = self._values(tau, iterate)
        margin = self._margins(values, iterate.intercept)
        fraction, scalars = iterate.fraction.copy(), np.empty((2, 5))
        n_changed, n_inner = _margins.update_fractions(
            margin,
            self.target,
            self.weight,
            self._signs,
            smoothing.centre,
            smoothing.width,
            fraction,
            self._changed,
            self._change,
            self._inner,
            scalars,
        )
        inner, changed = (each.astype(np.intp) for each in (self._inner[:n_inner], self._changed[:n_changed]))
        inner = inner[(self.weight[inner] > 0.0) & (box[self._class[inner]] > 0.0)]
        closed = box[self._class[changed]] == 0.0  # their fractions do not matter
        fraction[changed[closed]] = iterate.fraction[changed[closed]]
        coef = np.where(closed, 0.0, self.sign[changed] * self._change[:n_changed])
        there = self._with(iterate, fraction, changed, coef)
        # the gap is ½‖w - Σ θ_i z_i‖² plus what each sample loses
        balanced = self._balanced(tau, there)
        theta, beta = self._theta(tau, balanced.fraction), self._theta(tau, iterate.fraction)
        slack = self.target - margin
        floor, ceiling = self.weight * lower[self._class], self.weight * (lower + box)[self._class]
        lost = np.maximum((ceiling - theta) * slack, (floor - theta) * slack)
        new_values, new_total = self._values(tau, balanced)
        off = float((self.sign * (theta - beta)) @ (new_values - values))
        off += self._price * (self._implied(new_total) - iterate.intercept) ** 2
        unit, drift = self.gap_bound.unit, self._cost(max(balanced.drift, iterate.drift))
        gap = (0.5 * off + float(lost.sum())) / unit + drift
        unbalanced = self._theta(tau, fraction)
        smoothing_gap = float(
            np.maximum((ceiling - unbalanced) * slack, (floor - unbalanced) * slack).sum()
        )
        node = KernelNode(
            theta,
            beta,
            iterate.intercept,
            PrimalDualPoint(
                tau,
                margin,
                float(_margins.inner(self.target, theta)),
                self._pair(beta, values, iterate.intercept),
                self._pair(theta, new_values, self._implied(new_total)),
            ),
            gap,
            iterate,
            smoothing,
        )
        sums = DualSums(np.empty((2, 0)), scalars, n_inner)
        return _Dual(there, inner, sums, node, gap - smoothing_gap / unit)

    def _pair(
        self, theta: np.ndarray, values: np.ndarray, intercept: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a point as a pair, see `paths.training_data.Points`."""
        rest = np.sqrt(self._price) * intercept
        return np.append(self.sign * theta, rest), np.append(values, rest)

    def _theta(self, tau: float, fraction: np.ndarray) -> np.ndarray:
        lower, box = self._boxes(tau)
        return np.asarray(self.weight * (lower[self._class] + box[self._class] * fraction))

    def _balanced(self, tau: float, iterate: KernelIterate) -> KernelIterate:
        """Return a dual point with Σ sign_i θ_i = 0 if the intercept is free."""
        if not self.constant.free:
            return iterate
        whole, one_class = self._whole.totals, self._n_classes == 1
        shift, scale = balance(*self._boxes(tau), whole, iterate.totals, one_class)
        sums = scale[:, np.newaxis] * iterate.sums
        if shift:
            sums += shift * self._whole.sums
        fraction = shift + scale[self._class] * iterate.fraction
        totals = shift * whole + scale * iterate.totals
        return replace(iterate, fraction=fraction, sums=sums, totals=totals)

    # -- steps ---------------------------------------------------------------------------------

    def _newton(
        self, tau: float, iterate: KernelIterate, members: np.ndarray, smoothing: Smoothing
    ) -> KernelIterate:
        """Return where Newton's step for a smoothed problem leads.

        Only the fractions of `members` change; those of the iterate are within [0, 1].
        """
        _, box = self._boxes(tau)
        self.largest_system = max(self.largest_system, len(members))
        own = self._class[members]
        room = self.weight[members] * box[own]
        fraction = iterate.fraction[members]
        values, total = self._values(tau, iterate)
        b = iterate.intercept if self.constant.free else self._implied(total)
        beyond = self.target[members] - self.sign[members] * (values[members] + b)
        right = beyond - smoothing.width * (fraction - smoothing.centre[own])
        right *= self.sign[members]
        free = self.constant.free
        columns = np.column_stack((right, np.ones(len(right)))) if free else right[:, np.newaxis]
        found = np.zeros_like(columns)
        if len(members):
            per_total = self._implied(1.0)
            found = self.matrix.solve(members, per_total, smoothing.width / room, columns)
        change = found[:, 0]
        if free:
            curvature, whole = float(room.sum()), float(self.weight @ box[self._class])
            steep = abs(total) / (MAX_INTERCEPT_STEP * self._unit)
            ridge = max(steep - curvature / smoothing.width, INTERCEPT_RIDGE * whole)
            by = (float(change.sum()) + total) / (float(found[:, 1].sum()) + ridge)
            change = change - by * found[:, 1]
            b += by
        else:
            b += self._implied(float(change.sum()))
        moved = iterate.fraction.copy()
        moved[members] += self.sign[members] * change / room
        there = self._with(iterate, moved, members, change / box[own])
        return replace(there, intercept=b)

    def _step_length(
        self, tau: float, here: KernelIterate, there: KernelIterate, smoothing: Smoothing
    ) -> float:
        """Return the length at which the smoothed objective is about least on the way."""
        lower, box = self._boxes(tau)
        values, new_values = (self._values(tau, each)[0] for each in (here, there))
        step, by = new_values - values, there.intercept - here.intercept
        coef = self.sign * self.weight * box[self._class] * (there.fraction - here.fraction)
        rate = self._margins(step, by)
        margin = self._margins(values, here.intercept)
        linear = float(coef @ values) + self._price * here.intercept * by
        if lower.any():
            linear -= float((self.weight * lower[self._class]) @ rate)
        squared = float(coef @ step) + self._price * by**2
        samples = self.target, self.weight, self._signs

        def slopes(
            x: float, within: tuple[float, float] = (0.0, np.inf)
        ) -> list[tuple[float, float, float]]:
            pull, curvature = _margins.slope(
                margin, rate, x, *samples, smoothing.centre, smoothing.width, box
            )
            return [(linear + x * squared - pull, squared + curvature, x)]

        return flat_length(slopes, max(-slopes(0.0)[0][0], 0.0))
