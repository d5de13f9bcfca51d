"""Optimality, measured from the original data: nothing here knows how a solution was found."""

from dataclasses import dataclass

import numpy as np

from taupath.engine.problem import Line

# A dual variable this close to its bound, relative to the width of its box, is at the bound: where
# a sample reaches its bound, rounding leaves its θ about that far off.
AT_BOUND = 1e-12
# Gaps are relative to the primal objective. That can vanish at an end of the line, so the divisor
# is at least this part of the largest loss at w = 0, or of the ‖w‖² that moves a margin by one: the
# promised 1e-9 of it, 1e-15, is about the rounding error of the objective.
VANISHING = 1e-6
# Rows shorter than this count as zero: the square of 1 / length would overflow.
SHORTEST = 1e-100
# What an exact path promises. The gap leaves room above the 2 δ = 2e-10 that raised targets cause.
# Violations get more: a single margin rounds worse than the sum of all in the objective.
EXACT_GAP, EXACT_KKT = 1e-9, 1e-7
# A bound that is added up in another order may exceed `tol` by this factor: far more than rounding
# can do, far less than anybody would notice.
SAME_GAP = 1.0 + 1e-6
# Keeps divisors above zero without changing any other number.
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Measure:
    """How far a primal and a dual point are from optimal."""

    gap: float  # primal minus dual objective, relative to the primal one (see VANISHING)
    kkt: float  # largest violation of an optimality condition, in units of the margin
    primal: float  # the objectives of the canonical problem, the dual one to be maximised
    dual: float


@dataclass(frozen=True)
class Certificate:
    """The largest gap and violation that were found along a path.

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
    """

    worst_gap: float
    tau_gap: float
    worst_kkt: float
    tau_kkt: float
    n_checked: int
    complete: bool
    continuum: bool = False
    tol: float | None = None

    def holds(self, gap: float | None = None, kkt: float | None = None) -> bool:
        """Return whether both the gap and the violation are within these limits.

        The default limits are what the path promises: 1e-9 and 1e-7 for an exact one; for an
        approximate one a gap of `tol` and any violation.
        """
        if gap is None:
            gap = EXACT_GAP if self.tol is None else SAME_GAP * self.tol
        if kkt is None:
            kkt = EXACT_KKT if self.tol is None else np.inf
        return self.worst_gap <= gap and self.worst_kkt <= kkt


def measure(
    theta: np.ndarray,
    margin: np.ndarray,
    line: Line,
    t: float,
    squared_primal: float,
    squared_dual: float,
    off: float,
    longest: float,
) -> Measure:
    """Measure how far from optimal a primal and a dual point of the canonical problem are at t.

    The primal is ½‖w‖² + Σ max(h_i (p_i - m_i), l_i (p_i - m_i)) with margins m_i = <z_i, w>: the
    hinge loss where l = 0, the pinball loss of quantile regression where l < 0 < h. ‖w‖² and
    ‖Σ θ_i z_i‖² are `squared_primal` and `squared_dual`, and `off` is how far w and Σ θ_i z_i are
    apart, relative to the terms of the sum. `longest` is about the largest ‖z_i‖.
    """
    lower, upper, target = line.lower(t), line.upper(t), line.target(t)
    short, beyond = shortfalls(margin, target)
    primal = float(0.5 * squared_primal + upper @ short - lower @ beyond)
    dual = float(target @ theta - 0.5 * squared_dual)
    unit = float(np.abs(target).max()) or 1.0
    kkt = relative_violation(theta, margin, line, t, off)
    # at an end of the line the optimum itself can be zero
    boxes = np.maximum(line.upper0, line.upper1) - np.minimum(line.lower0, line.lower1)
    visible = float(boxes @ np.abs(target))
    if longest > SHORTEST:
        visible = max(visible, (unit / longest) ** 2)
    gap = (primal - dual) / max(primal, VANISHING * visible, TINY)
    return Measure(gap, kkt, primal, dual)


def relative_violation(
    theta: np.ndarray, margin: np.ndarray, line: Line, t: float, off: float
) -> float:
    """Return the largest violation of an optimality condition at t, in units of the largest |p|.

    It is at least `off`, and as large as θ is outside its box, relative to the widest box.
    """
    lower, upper, target = line.lower(t), line.upper(t), line.target(t)
    short, beyond = shortfalls(margin, target)
    unit = float(np.abs(target).max()) or 1.0
    outside = float(np.maximum(lower - theta, theta - upper).max())
    return max(
        largest_violation(theta, lower, upper, short, beyond) / unit,
        outside / max(float((upper - lower).max()), TINY),
        off,
    )


def shortfalls(margin: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (p_i - m_i)₊ and (m_i - p_i)₊: how far margins are below and beyond their targets."""
    return np.maximum(target - margin, 0.0), np.maximum(margin - target, 0.0)


def largest_violation(
    theta: np.ndarray, lower: np.ndarray, upper: np.ndarray, short: np.ndarray, beyond: np.ndarray
) -> float:
    """Return the largest distance from its target of a sample whose θ has room to close it."""
    width = AT_BOUND * (upper - lower)
    off = np.maximum((theta < upper - width) * short, (theta > lower + width) * beyond)
    return float(off.max(initial=0.0))


def complementarity_gap(
    theta: np.ndarray, margin: np.ndarray, line: Line, t: float, target: np.ndarray
) -> tuple[float, float]:
    """Return the duality gap and the primal objective of θ and w = Σ θ_i z_i with these margins.

    The gap is Σ max((h_i - θ_i)(p_i - m_i), (l_i - θ_i)(p_i - m_i)), free of cancellation.
    """
    lower, upper = line.lower(t), line.upper(t)
    short = target - margin
    gap = np.maximum((upper - theta) * short, (lower - theta) * short).sum()
    return float(gap), float(gap + target @ theta - 0.5 * (theta @ margin))
