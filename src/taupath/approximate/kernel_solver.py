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
from taupath.approximate.kernel_points import KernelIterate, KernelNode, KernelPoints
from taupath.approximate.kernel_systems import KernelSystems
from taupath.approximate.node import MAX_WIDTH, MIN_SHRINK, WIDEN, Smoothing
from taupath.approximate.node_solver import (
    FLAT_SLOPE,
    INTERCEPT_RIDGE,
    MAX_INTERCEPT_STEP,
    MAX_STEPS,
    MAX_STEPS_PER_WIDTH,
    SOLVED,
    flat_length,
)
from taupath.approximate.rounding import EPS
from taupath.approximate.row_sums import DualSums
from taupath.exceptions import WalkFailed

# Fractions that differ by less than this are equal but for rounding.
ROUNDED_FRACTION = 1e-12
# The widest smoothing that a node begins with, after the first, in units of the largest |p|. Near
# τ = 0 and 1 the tolerance would allow far more, but then whole classes have 0 < a < 1.
WIDEST_BEGINNING = 0.5
# A start is bad if ½‖w - Σ θ_i z_i‖² exceeds this part of P(0): then samples near their targets are
# on the wrong side. Starts from which two or three steps suffice are below 0.2.
BAD_START = 1.0
# A start is far off if the same exceeds so many budgets: then the samples that were between their
# bounds at the node before are a better guess. On six sets it saves a tenth of the steps.
FAR_START = 10.0
# After a step that is shorter than this, the intercept is set anew: the sets of samples were wrong.
SHORT_STEP = 0.7

# Returns slope, curvature and length, see `flat_length`.
Slopes = Callable[[float, tuple[float, float]], list[tuple[float, float, float]]]


@dataclass(frozen=True)
class _Pair:
    """A primal point, the dual point that its margins make, and the gap of the two."""

    primal: KernelIterate
    dual: KernelIterate  # Σ θ_i z_i as a primal point, before balancing
    inner: np.ndarray  # samples with 0 < a < 1 and a box
    sums: DualSums
    gap: float  # as computed: rounding is not included
    apart: float  # the part of it that is not due to smoothing
    rounding: float  # what rounding adds to the gap, at most


class KernelSolver:
    """Solves at one τ after another, for samples seen through a kernel."""

    def __init__(self, points: KernelPoints) -> None:
        self.points, self.gap_bound = points, points.gap_bound
        self._unit = float(np.abs(points.target).max(initial=0.0)) or 1.0
        self.systems = KernelSystems(points.matrix)
        self.steps = self.halved = 0
        self._signs = points.sign.astype(np.int8)
        n = len(points.sign)
        self._changed, self._inner = np.empty((2, n + 1), dtype=np.int32)
        self._change = np.empty(n + 1)

    # -- nodes ---------------------------------------------------------------------------------

    def solve_from_zero(self, tau: float, budget: float) -> KernelNode:
        """Solve at τ, starting from w = 0."""
        smoothing = Smoothing(MAX_WIDTH * self._unit, np.full(2, 0.5))
        return self.solve(tau, self.points.zero(tau), smoothing, budget)

    def solve_beyond(
        self, before: KernelNode | None, here: KernelNode, tau: float, budget: float
    ) -> KernelNode:
        """Solve at τ, starting from the extrapolated w."""
        start = here.primal if before is None else self._on_line(before, here, tau)
        return self.solve(tau, start, here.next_smoothing, budget, here)

    def solve_between(self, here: KernelNode, there: KernelNode, budget: float) -> KernelNode:
        """Solve halfway between two nodes, starting from the mean of their w."""
        self.halved += 1
        tau = 0.5 * (here.point.t + there.point.t)
        smoothing = here.next_smoothing.between(there.next_smoothing)
        return self.solve(tau, self._on_line(here, there, tau), smoothing, budget, here)

    def _on_line(self, one: KernelNode, other: KernelNode, tau: float) -> KernelIterate:
        """Return w at τ on the line through two nodes.

        w is extrapolated, not the fractions: it is a small difference of large sums over the
        classes, whose boxes change with τ.
        """
        s = (tau - one.point.t) / (other.point.t - one.point.t)
        _, box = self.points.boxes(tau)
        start, fraction = other.primal, np.zeros(len(self.points.sign))
        for node, part in ((one, 1.0 - s), (other, s)):
            own = np.divide(
                self.points.boxes(node.point.t)[1], box, out=np.ones(2), where=box > 0.0
            )
            fraction += part * own[self.points.own_class] * node.primal.fraction
        # at a bound of both, and of the box in between
        same = np.abs(fraction - start.fraction) <= ROUNDED_FRACTION
        fraction[same] = start.fraction[same]
        moved = np.flatnonzero(~same)
        change = fraction[moved] - start.fraction[moved]
        start = self.points.changed(
            start, fraction, moved, (self.points.sign * self.points.weight)[moved] * change
        )
        intercepts = one.primal.intercept, other.primal.intercept
        return replace(start, intercept=(1.0 - s) * intercepts[0] + s * intercepts[1])

    def solve(
        self,
        tau: float,
        iterate: KernelIterate,
        smoothing: Smoothing,
        budget: float,
        near: KernelNode | None = None,
    ) -> KernelNode:
        """Return a node whose gap is at most `budget`, in units of P(0).

        Starts from an iterate, or if that is bad, from the index sets of a node `near` this one.
        """
        first_step, tries, patience, shrink = self.steps, 0, MAX_STEPS_PER_WIDTH, MIN_SHRINK
        smoothing, pair = self._begun(tau, iterate, smoothing, budget, near)
        last_solved: tuple[KernelIterate, Smoothing] | None = None
        while True:
            if pair.gap <= budget < pair.gap + pair.rounding:
                # in single precision nearly always, else when much has been added up
                primal, dual = self.points.afresh(pair.primal, pair.dual)
                pair = self._judged(tau, primal, dual, pair.inner, pair.sums)
            gap = pair.gap + pair.rounding
            if gap <= budget:
                break
            if self.steps - first_step >= MAX_STEPS:
                raise WalkFailed(
                    f"the duality gap stays at {gap:.2g} of the objective at w = 0 where "
                    f"{budget:.2g} is wanted (try a smaller C, a larger tol, or method='exact')",
                    tau,
                )
            self.steps += 1
            iterate, smoothing_gap = pair.primal, pair.gap - pair.apart
            if len(pair.inner) and pair.apart <= SOLVED * max(smoothing_gap, budget):
                last_solved = iterate, smoothing
                mean = pair.sums.mean_fraction(otherwise=smoothing.centre)
                smoothing = smoothing.narrowed(mean, smoothing_gap / budget, shrink)
                iterate, tries = self._newton(tau, pair.dual, pair.inner, smoothing), 0
            elif tries < patience:
                there = self._newton(tau, pair.dual, pair.inner, smoothing)
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
                    smoothing = smoothing.widened(WIDEN, self._unit)
                else:
                    iterate, patience = self.points.zero(tau), 2 * patience
            pair = self._pair(tau, iterate, smoothing)
        mean = pair.sums.mean_fraction(otherwise=smoothing.centre)
        at_next = smoothing.at_next(mean, pair.gap / budget, WIDEST_BEGINNING * self._unit)
        return self.points.node(tau, pair.primal, pair.dual, pair.inner, gap, at_next)

    def _begun(
        self,
        tau: float,
        iterate: KernelIterate,
        smoothing: Smoothing,
        budget: float,
        near: KernelNode | None,
    ) -> tuple[Smoothing, _Pair]:
        """Return how wide to begin, and the points there.

        If the start is far off, with the same samples between their bounds as at the node nearby;
        if it is bad, wider.
        """
        pair = self._pair(tau, iterate, smoothing)
        if pair.apart > FAR_START * budget and near is not None:
            _, box = self.points.boxes(tau)
            members = near.inner[box[self.points.own_class[near.inner]] > 0.0]
            there = self._newton(tau, near.dual, members, smoothing)
            other = self._pair(tau, self._centred(tau, there, smoothing), smoothing)
            pair = min(pair, other, key=lambda each: each.gap)
        for factor in (1.0, WIDEN):
            if pair.apart <= BAD_START:
                break
            smoothing = smoothing.widened(factor, self._unit)
            pair = self._pair(tau, self._centred(tau, pair.primal, smoothing), smoothing)
        return smoothing, pair

    # -- points --------------------------------------------------------------------------------

    def _centred(self, tau: float, iterate: KernelIterate, smoothing: Smoothing) -> KernelIterate:
        """Return the point with the intercept that is best for the smoothed problem.

        Where many samples are near their targets, an intercept that is slightly off would put them
        all on one side.
        """
        if not self.points.constant.bias:
            return iterate
        lower, box = self.points.boxes(tau)
        values, _ = self.points.values(tau, iterate)
        margin = self.points.margins(values, iterate.intercept)
        floor = float((self.points.weight * lower[self.points.own_class]) @ self.points.sign)
        most = self.points.weight @ np.maximum(-lower, lower + box)[self.points.own_class]
        rounding = EPS * len(margin) * float(most)  # of slopes; flat beyond all samples is no end
        price, samples = self.points.price, (self.points.target, self.points.weight, self._signs)

        def slopes_up(direction: float) -> Slopes:
            rate = direction * self.points.sign

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
            if FLAT_SLOPE * steepness > rounding:
                by = direction * flat_length(slopes, steepness)
                return replace(iterate, intercept=iterate.intercept + by)
        return iterate

    def _pair(self, tau: float, iterate: KernelIterate, smoothing: Smoothing) -> _Pair:
        """Return an iterate with the dual point at its margins."""
        points = self.points
        _, box = points.boxes(tau)
        values, _ = points.values(tau, iterate)
        fraction, scalars = iterate.fraction.copy(), np.empty((2, 5))
        n_changed, n_inner = _margins.update_fractions(
            points.margins(values, iterate.intercept),
            points.target,
            points.weight,
            self._signs,
            smoothing.centre,
            smoothing.width,
            fraction,
            self._changed,
            self._change,
            self._inner,
            scalars,
        )
        inner = self._inner[:n_inner].astype(np.intp)
        changed = self._changed[:n_changed].astype(np.intp)
        inner = inner[(points.weight[inner] > 0.0) & (box[points.own_class[inner]] > 0.0)]
        closed = box[points.own_class[changed]] == 0.0  # their fractions do not matter
        fraction[changed[closed]] = iterate.fraction[changed[closed]]
        coef = np.where(closed, 0.0, points.sign[changed] * self._change[:n_changed])
        dual = points.changed(iterate, fraction, changed, coef)
        return self._judged(tau, iterate, dual, inner, DualSums(np.empty((2, 0)), scalars, n_inner))

    def _judged(
        self,
        tau: float,
        primal: KernelIterate,
        dual: KernelIterate,
        inner: np.ndarray,
        sums: DualSums,
    ) -> _Pair:
        """Return two points with their gap: ½‖w - Σ θ_i z_i‖² plus what each sample loses."""
        points = self.points
        lower, box = points.boxes(tau)
        values, _ = points.values(tau, primal)
        slack = points.target - points.margins(values, primal.intercept)
        balanced = points.balanced(tau, dual)
        floor, ceiling = (points.weight * each[points.own_class] for each in (lower, lower + box))
        most = np.where(slack > 0.0, ceiling, floor)  # where a sample's loss is attained
        theta = points.theta(tau, balanced.fraction)
        lost = smoothed = float((most - theta) @ slack)
        if balanced is not dual:
            smoothed = float((most - points.theta(tau, dual.fraction)) @ slack)
        new_values, new_total = points.values(tau, balanced)
        apart = points.sign * (theta - points.theta(tau, primal.fraction))
        off = float(apart @ (new_values - values))
        off += points.price * (points.implied(new_total) - primal.intercept) ** 2
        unit = points.gap_bound.unit
        gap = (0.5 * off + lost) / unit
        rounding = points.cost(max(balanced.drift, primal.drift))
        return _Pair(primal, dual, inner, sums, gap, gap - smoothed / unit, rounding)

    # -- steps ---------------------------------------------------------------------------------

    def _newton(
        self, tau: float, iterate: KernelIterate, members: np.ndarray, smoothing: Smoothing
    ) -> KernelIterate:
        """Return where Newton's step for a smoothed problem leads.

        Only the fractions of `members` change; those of the iterate are within [0, 1].
        """
        _, box = self.points.boxes(tau)
        own = self.points.own_class[members]
        room = self.points.weight[members] * box[own]
        fraction = iterate.fraction[members]
        values, total = self.points.values(tau, iterate)
        b = iterate.intercept if self.points.constant.free else self.points.implied(total)
        beyond = self.points.target[members] - self.points.sign[members] * (values[members] + b)
        right = beyond - smoothing.width * (fraction - smoothing.centre[own])
        right *= self.points.sign[members]
        free = self.points.constant.free
        columns = np.column_stack((right, np.ones(len(right)))) if free else right[:, np.newaxis]
        found = np.zeros_like(columns)
        if len(members):
            per_total = self.points.implied(1.0)
            found = self.systems.solve(members, per_total, smoothing.width / room, columns)
        change = found[:, 0]
        if free:
            curvature, whole = (
                float(room.sum()),
                float(self.points.weight @ box[self.points.own_class]),
            )
            steep = abs(total) / (MAX_INTERCEPT_STEP * self._unit)
            ridge = max(steep - curvature / smoothing.width, INTERCEPT_RIDGE * whole)
            by = (float(change.sum()) + total) / (float(found[:, 1].sum()) + ridge)
            change = change - by * found[:, 1]
            b += by
        else:
            b += self.points.implied(float(change.sum()))
        moved = iterate.fraction.copy()
        moved[members] += self.points.sign[members] * change / room
        there = self.points.changed(iterate, moved, members, change / box[own])
        return replace(there, intercept=b)

    def _step_length(
        self, tau: float, here: KernelIterate, there: KernelIterate, smoothing: Smoothing
    ) -> float:
        """Return the length at which the smoothed objective is about least on the way."""
        lower, box = self.points.boxes(tau)
        values, new_values = (self.points.values(tau, each)[0] for each in (here, there))
        step, by = new_values - values, there.intercept - here.intercept
        coef = (
            self.points.sign
            * self.points.weight
            * box[self.points.own_class]
            * (there.fraction - here.fraction)
        )
        rate = self.points.margins(step, by)
        margin = self.points.margins(values, here.intercept)
        linear = float(coef @ values) + self.points.price * here.intercept * by
        if lower.any():
            linear -= float((self.points.weight * lower[self.points.own_class]) @ rate)
        squared = float(coef @ step) + self.points.price * by**2
        samples = self.points.target, self.points.weight, self._signs

        def slopes(
            x: float, within: tuple[float, float] = (0.0, np.inf)
        ) -> list[tuple[float, float, float]]:
            pull, curvature = _margins.slope(
                margin, rate, x, *samples, smoothing.centre, smoothing.width, box
            )
            return [(linear + x * squared - pull, squared + curvature, x)]

        return flat_length(slopes, max(-slopes(0.0)[0][0], 0.0))
