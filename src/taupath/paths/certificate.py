"""Optimality, measured from the original data: nothing here knows how a solution was found.

For a primal point w with slacks r_i = p_i - <z_i, w> and a dual point θ within its boxes,

    P(w) - D(θ) = ½‖w - Σ θ_i z_i‖² + Σ max((h_i - θ_i) r_i, (l_i - θ_i) r_i).

No term is negative, so the difference of two large objectives is never taken. What rounding can do
to each term is added, so that gaps are upper bounds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taupath.engine.problem import (
    OUTLYING,
    TINY,
    Line,
    largest_violation,
    nearly_nothing,
    usual_slacks,
    without_large_constant,
)
from taupath.engine.tolerances import EXACT_GAP, EXACT_KKT
from taupath.paths.evaluation import EPS, Evaluation
from taupath.paths.intercept import prices

# A bound computed in another order, such as λ (α / λ), differs by a few units of rounding: that far
# from its bound, relative to the width of the box, θ counts as being there.
SAME_BOUND = 8.0 * EPS
# Targets that differ by this part of their median differ by rounding only: 0.1 + 0.2 and 0.3 by one
# unit, sums of a few terms by up to four.
SAME_TARGET = 4.0 * EPS
# Rounding errors below this part of the divisor, or of the gap itself, need not be made smaller by
# evaluating in extended precision. Those of violations: this part of a margin.
NEGLIGIBLE, NEGLIGIBLE_PART, NEGLIGIBLE_KKT = 1e-12, 1e-3, 1e-9
# Up to this condition a gap of EXACT_GAP is promised: rounding alone then costs no more than a
# tenth of it.
LARGEST_CONDITION = 1e6
# A condition below this is not computed more sharply: it is harmless.
HARMLESS_CONDITION = 1e4
# A bound that is added up in another order may exceed `tol` by this factor: far more than rounding
# can do, far less than anybody would notice.
SAME_GAP = 1.0 + 1e-6


@dataclass(frozen=True)
class Measure:
    """How far a primal and a dual point are from optimal."""

    gap: float  # primal minus dual objective, relative to the primal one (see VANISHING, OUTLYING)
    kkt: float  # largest violation of an optimality condition, in units of the margin
    primal: float  # the objectives of the canonical problem, the dual one to be maximised
    dual: float
    condition: float = 0.0  # see `Certificate`
    scale: float = 1.0  # what the gap is relative to

    @property
    def exact(self) -> bool:
        """Whether the gap is as small as promised, or as rounding allows, and the violations."""
        return self.gap <= max(EXACT_GAP, EPS * self.condition) and self.kkt <= EXACT_KKT

    @property
    def error(self) -> float:
        """The gap, or a violation as a part of what is promised of it; infinite if unknown."""
        worse = float(np.maximum(self.gap, EXACT_GAP / EXACT_KKT * self.kkt))
        return np.inf if np.isnan(worse) else worse


@dataclass(frozen=True)
class Certificate:
    """The largest gap and violation that were found along a path.

    Gaps and violations include what rounding can do to them: they are upper bounds.

    Attributes
    ----------
    worst_gap, tau_gap : float
        Largest relative duality gap and its τ.
    worst_kkt, tau_kkt : float
        Largest violation of an optimality condition (margins of unit scale) and its τ.
    n_checked : int
        Number of values of τ that were checked.
    complete : bool
        Whether these were all kinks and all midpoints between them, or all nodes of an approximate
        path.
    continuum : bool
        Whether `worst_gap` bounds the gaps at all τ, checked or not. It is then relative to the
        objective at w = 0 and τ = ½ instead of the primal objective at its τ.
    tol : float or None
        The bound on all gaps that an approximate path was made with.
    condition : float or None
        How sensitive the gap is to rounding: writing w, the intercept and α as doubles can add up
        to 1.1e-16 times this to the relative gap. The largest at any τ that was checked; infinite
        if the kernel is indefinite; None for an approximate path.
    checked_doubtful : bool
        Whether all kinks and midpoints where the walk met difficulties were among those checked.
    """

    worst_gap: float
    tau_gap: float
    worst_kkt: float
    tau_kkt: float
    n_checked: int
    complete: bool
    continuum: bool = False
    tol: float | None = None
    condition: float | None = None
    checked_doubtful: bool = False

    def holds(self, gap: float | None = None, kkt: float | None = None) -> bool:
        """Return whether both the gap and the violation are within these limits.

        The default limits are what the path promises: 1e-9 and 1e-7 for an exact one; for an
        approximate one a gap of `tol` and any violation. If only some of the τ were checked, those
        where the walk met difficulties must be among them.
        """
        if gap is None:
            gap = EXACT_GAP if self.tol is None else SAME_GAP * self.tol
        if kkt is None:
            kkt = EXACT_KKT if self.tol is None else np.inf
        enough = self.complete or self.checked_doubtful
        return enough and self.worst_gap <= gap and self.worst_kkt <= kkt

    @property
    def promised(self) -> bool | None:
        """Whether a gap of 1e-9 is promised: `condition` is at most 1e6; None if it is not known.

        If not, the gap may be larger, and `worst_gap` says how large it is.
        """
        return None if self.condition is None else self.condition <= LARGEST_CONDITION


def worst_of(
    points: np.ndarray, measures: Sequence[Measure], complete: bool, checked_doubtful: bool
) -> Certificate:
    """Return the certificate of an exact path that was measured at these values of τ."""
    gaps, kkts, conditions = (
        np.array([getattr(found, name) for found in measures])
        for name in ("gap", "kkt", "condition")
    )
    gap, kkt = int(gaps.argmax()), int(kkts.argmax())
    return Certificate(
        worst_gap=float(gaps[gap]),
        tau_gap=float(points[gap]),
        worst_kkt=float(kkts[kkt]),
        tau_kkt=float(points[kkt]),
        n_checked=len(points),
        complete=complete,
        condition=float(conditions.max()),
        checked_doubtful=checked_doubtful,
    )


def where_to_check(
    kinks: np.ndarray, max_points: int | None, doubtful: np.ndarray | None
) -> tuple[np.ndarray, bool, bool]:
    """Return which τ to check, whether these are all there are, and all that are doubtful.

    All are the kinks and the midpoints between them. If there are more than `max_points`, so many
    are chosen evenly, and all within `doubtful` intervals (rows: begin, end; None: unknown) are
    added.
    """
    points = np.unique(np.concatenate((kinks, 0.5 * (kinks[1:] + kinks[:-1]))))
    if max_points is None or len(points) <= max_points:
        return points, True, True
    if max_points < 2:
        raise ValueError(f"max_points must be at least 2, got {max_points}")
    chosen = np.zeros(len(points), dtype=bool)
    chosen[np.linspace(0, len(points) - 1, max_points).astype(int)] = True
    for begin, end in () if doubtful is None else doubtful:
        # from the kink at or before the interval to the one at or after it
        first = np.searchsorted(points, kinks[max(np.searchsorted(kinks, begin, "right") - 1, 0)])
        last = np.searchsorted(
            points, kinks[min(np.searchsorted(kinks, end, "left"), len(kinks) - 1)]
        )
        chosen[first : last + 1] = True
    return points[chosen], bool(chosen.all()), doubtful is not None


class Units:
    """What gaps and violations are relative to: spreads of the targets, which no shift changes.

    Attributes
    ----------
    typical : float
        The median distance of a target from their median, or of the targets from zero if all are
        equal; 1 for classification.
    own : ndarray
        Of each sample: its distance from the median, but at least the typical one.
    spread : ndarray
        Of each sample: its distance from the median, but at most OUTLYING typical ones.
    """

    def __init__(self, target: np.ndarray, weight: np.ndarray) -> None:
        present = weight > 0.0
        middle = np.median(target[present])
        distance = np.abs(target - middle)
        distance[distance <= SAME_TARGET * abs(middle)] = 0.0
        if not distance[present].any():
            distance = np.abs(target)
        self.typical = typical_size(distance[present])
        self.own = np.maximum(distance, self.typical or 1.0)
        self.spread = np.minimum(distance, OUTLYING * self.typical)


def typical_size(sizes: np.ndarray) -> float:
    """Return the median; that of the sizes above zero if it is zero; zero if all are."""
    middle = float(np.median(sizes))
    positive = sizes[sizes > 0.0]
    if middle > 0.0 or len(positive) == 0:
        return middle
    return float(np.partition(positive, (len(positive) - 1) // 2)[(len(positive) - 1) // 2])


class _Cost(NamedTuple):
    """What restoring Σ sign_i θ_i = 0 costs: part of the gap, and how far it moves Σ θ_i z_i."""

    gap: float = 0.0
    moved: float = 0.0


def measure(point: Evaluation, line: Line, t: float, units: Units, least: float) -> Measure:
    """Measure how far from optimal a primal and a dual point of the canonical problem are at t.

    The primal is ½‖w‖² + Σ max(h_i r_i, l_i r_i) with slacks r_i = p_i - <z_i, w>: the hinge loss
    where l = 0, the pinball loss of quantile regression where l < 0 < h. The gap is relative to it,
    or to `least` if that is larger.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # seen in the gap
        return _measure(point, line, t, units, least)


def _measure(point: Evaluation, line: Line, t: float, units: Units, least: float) -> Measure:
    lower, upper = line.lower(t), line.upper(t)
    width = upper - lower
    theta = _at_bounds(point.theta, lower, upper)
    up, down = upper - theta, theta - lower  # room
    slack, error = point.slacks()
    losses = np.maximum(upper * slack, lower * slack)
    squared = point.squared
    primal = 0.5 * squared + float(losses.sum())
    usual = usual_slacks(slack, units.typical)
    usual_loss = float(np.maximum(upper * usual, lower * usual).sum())
    if not line.from_zero:  # a shift of all targets must not hide errors
        squared = without_large_constant(squared, point.constant_weight, units.typical)
    scale = max(0.5 * squared + usual_loss, least, TINY)

    # samples that are not clearly on the right side of the margin, or should be on it
    lost, inside = _lost(up, down, slack, error), _inside(point, lower, upper)
    near = np.flatnonzero((lost > 0.0) | inside)
    most = np.maximum(up, down)
    doubt = float(most[near] @ error[near])
    if (
        doubt > max(NEGLIGIBLE * scale, NEGLIGIBLE_PART * float(lost.sum()))
        or (error[near] / units.own[near]).max(initial=0.0) > NEGLIGIBLE_KKT
    ):
        slack[near], error[near] = point.exact_slacks(near)
        lost = _lost(up, down, slack, error)
    apart = point.apart(max(NEGLIGIBLE * scale, NEGLIGIBLE_PART * float(lost.sum())))
    cost = _balanced(point, up, down, slack, error)
    moved = apart + cost.moved
    gap = 0.5 * moved * moved + float(lost.sum()) + cost.gap
    gap *= 1.0 + len(theta) * EPS

    return Measure(
        gap / scale,
        max(
            _violation(theta, lower, upper, slack, error, units.own),
            _outside(point.theta, lower, upper),
            point.off(apart, units.typical or 1.0, width),
        ),
        primal,
        primal - gap,
        # of a solution that is far off, the objective says nothing of the optimum
        _condition(point, inside, up, down, slack, near, max(scale - gap, least, TINY), units),
        scale,
    )


def _condition(
    point: Evaluation,
    inside: np.ndarray,
    up: np.ndarray,
    down: np.ndarray,
    slack: np.ndarray,
    near: np.ndarray,
    scale: float,
    units: Units,
) -> float:
    """Return what rounding of w, b and θ to doubles can add to the relative gap, in units of u.

    Only samples strictly inside their boxes lose anything, and those at a bound whose slack is
    within its rounding error of zero. A free intercept is the better one of two doubles. What
    rounding adds to violations counts as much as an equal part of what is promised of the gap.
    """
    most, size = np.maximum(up, down)[near], point.rough_sizes(near, inside)
    constant = abs(point.free_constant)
    part, violation = EXACT_GAP / EXACT_KKT / units.own, 0.0
    if (
        float(most @ (size + constant)) > HARMLESS_CONDITION * scale
        or (part[near] * (size + constant)).max(initial=0.0) > HARMLESS_CONDITION
    ):
        size = point.sizes(near, inside)
        touched = inside[near] | (np.abs(slack[near]) <= EPS * (size + constant))
        near, most, size = near[touched], most[touched], size[touched]
        violation = float((part[near] * (size + constant)).max(initial=0.0))
    above, below = (float(each.sum()) for each in prices(up[near], down[near], point.sign[near]))
    between = 2.0 * above * below / max(above + below, TINY)  # the better of the two doubles
    moved = 0.25 * EPS * point.rounding_apart(inside) ** 2  # by θ: ½ (u Σ |θ| ‖z‖)² / u
    return max((float(most @ size) + constant * between + moved) / scale, violation)


def _inside(point: Evaluation, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return which θ are strictly inside their boxes: further from the bounds than by rounding.

    Near a bound of zero there is none: with long rows, very small θ matter.
    """
    nothing = nearly_nothing(upper - lower, point.lengths)
    above = point.theta - lower > np.maximum(nothing, SAME_BOUND * np.abs(lower))
    below = upper - point.theta > np.maximum(nothing, SAME_BOUND * np.abs(upper))
    return np.asarray(above & below)


def _at_bounds(theta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """Return θ within its box, exactly at its bound if only rounding keeps it off."""
    same = SAME_BOUND * np.maximum(np.abs(lower), np.abs(upper))
    theta = np.where(theta >= upper - same, upper, theta)
    return np.where(theta <= lower + same, lower, theta)


def _lost(up: np.ndarray, down: np.ndarray, slack: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return an upper bound of each sample's part of the gap."""
    lost = np.maximum(up * (slack + error), down * (error - slack))
    return np.asarray(np.maximum(lost, 0.0))


def _balanced(
    point: Evaluation, up: np.ndarray, down: np.ndarray, slack: np.ndarray, error: np.ndarray
) -> _Cost:
    """Return the cost of restoring Σ sign_i θ_i = 0 where a free intercept asks for it.

    Those θ move whose slacks are least. All have room for the rounding of their bounds.
    """
    excess = abs(point.imbalance)
    if excess == 0.0:
        return _Cost()
    room = np.where(point.sign * point.imbalance > 0.0, down, up) + SAME_BOUND * (up + down)
    price = np.abs(slack) + error
    first = np.flatnonzero(room >= excess)
    if len(first):
        one = first[price[first].argmin()]
        return _Cost(excess * float(price[one]), excess * float(point.lengths[one]))
    order = np.argsort(price)
    before = np.append(0.0, np.cumsum(room[order])[:-1])
    moved = np.clip(excess - before, 0.0, room[order])
    return _Cost(float(moved @ price[order]), float(moved @ point.lengths[order]))


def _violation(
    theta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    slack: np.ndarray,
    error: np.ndarray,
    unit: np.ndarray,
) -> float:
    """Return the largest distance from its target of a sample whose θ has room to close it."""
    short, beyond = np.maximum(slack + error, 0.0), np.maximum(error - slack, 0.0)
    return largest_violation(theta, lower, upper, short / unit, beyond / unit)


def _outside(theta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> float:
    """Return how far θ is outside its box, relative to the widest one."""
    outside = float(np.maximum(lower - theta, theta - upper).max())
    return outside / max(float((upper - lower).max()), TINY)


def relative_violation(
    theta: np.ndarray, margin: np.ndarray, line: Line, t: float, off: float
) -> float:
    """Return the largest violation of an optimality condition at t, in units of the largest |p|.

    It is at least `off`, and as large as θ is outside its box, relative to the widest box.
    """
    lower, upper, target = line.lower(t), line.upper(t), line.target(t)
    short, beyond = shortfalls(margin, target)
    unit = float(np.abs(target).max()) or 1.0
    return max(
        largest_violation(theta, lower, upper, short, beyond) / unit,
        _outside(theta, lower, upper),
        off,
    )


def shortfalls(margin: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (p_i - m_i)₊ and (m_i - p_i)₊: how far margins are below and beyond their targets."""
    return np.maximum(target - margin, 0.0), np.maximum(margin - target, 0.0)
