"""Optimality, measured from the original data: nothing here knows how a solution was found."""

from dataclasses import dataclass

import numpy as np

from taupath.engine.problem import Line

# A dual variable this close to its bound, as part of its box, is at the bound.
AT_BOUND = 1e-12
# An objective below this part of the line's largest loss at w = 0, or of what ‖w‖² must be to move
# a margin by one, is judged by that: 1e-9 of it is about the accuracy of doubles.
VANISHING = 1e-6
# Rows shorter than this are zero.
SHORTEST = 1e-100
# What is promised of an exact path: gap, and violation of a condition.
EXACT_GAP, EXACT_KKT = 1e-9, 1e-7
# Sums in another order may make a bound larger by this factor.
SAME_GAP = 1.0 + 1e-6
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class Measure:
    """How far a dual point is from optimal.

    Attributes
    ----------
    gap : float
        Primal minus dual objective, as part of the primal objective. (Where that vanishes, at an
        end of a line, as part of 1e-6 of the largest loss at w = 0.)
    kkt : float
        Largest violation of an optimality condition, in units of the margin.
    primal, dual : float
        The objectives of the canonical problem, the latter with its sign turned.
    """

    gap: float
    kkt: float
    primal: float
    dual: float


@dataclass(frozen=True)
class Certificate:
    """The worst that was found along a path.

    Attributes
    ----------
    worst_gap, tau_gap : float
        Largest relative duality gap and where it is.
    worst_kkt, tau_kkt : float
        Largest violation of an optimality condition (margins of unit scale) and where it is.
    n_checked : int
        Number of values of τ looked at.
    complete : bool
        Whether these were all kinks and all midpoints between them, or all nodes of an approximate
        path.
    continuum : bool
        Whether `worst_gap` bounds the gaps at all τ, whether looked at or not. It is then part of
        the objective at w = 0 and τ = ½ instead of the primal objective at its τ.
    tol : float or None
        Of an approximate path: what no gap was to exceed.
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
        """Return whether both are within these limits.

        Where none are given, within those that the path was made for: 1e-9 and 1e-7 of an exact
        one; of an approximate path a gap of `tol`, and conditions are not asked for.
        """
        approximate = self.tol is not None
        if gap is None:
            gap = EXACT_GAP if self.tol is None else SAME_GAP * self.tol
        if kkt is None:
            kkt = np.inf if approximate else EXACT_KKT
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
    """Judge a primal and a dual point of the canonical problem.

    The primal is ½‖w‖² + Σ max(h_i (p_i - m_i), l_i (p_i - m_i)) with margins m_i = <z_i, w>: the
    hinge loss where l = 0, the pinball loss of quantile regression where l < 0 < h.

    Parameters
    ----------
    theta : ndarray of shape (n_samples,)
        Dual point.
    margin : ndarray of shape (n_samples,)
        <z_i, w> of the primal point.
    line : Line
        Bounds and targets.
    t : float
        Where on the line.
    squared_primal, squared_dual : float
        ‖w‖² of the primal point, and of Σ θ_i z_i.
    off : float
        How far these two are apart, as part of the terms of the sum.
    longest : float
        Largest ‖z_i‖, or about as much.
    """
    lower, upper, target = line.lower(t), line.upper(t), line.target(t)
    width = upper - lower
    short, beyond = np.maximum(target - margin, 0.0), np.maximum(margin - target, 0.0)
    primal = float(0.5 * squared_primal + upper @ short - lower @ beyond)
    dual = float(target @ theta - 0.5 * squared_dual)
    unit = float(np.abs(target).max()) or 1.0
    kkt = max(
        float(((theta < upper - AT_BOUND * width) * short).max()) / unit,
        float(((theta > lower + AT_BOUND * width) * beyond).max()) / unit,
        float(np.maximum(lower - theta, theta - upper).max()) / max(float(width.max()), TINY),
        off,
    )
    # at an end of a line the optimum itself can be zero
    boxes = np.maximum(line.upper0, line.upper1) - np.minimum(line.lower0, line.lower1)
    visible = float(boxes @ np.abs(target))
    if longest > SHORTEST:
        visible = max(visible, (unit / longest) ** 2)
    gap = (primal - dual) / max(primal, VANISHING * visible, TINY)
    return Measure(gap, kkt, primal, dual)


def complementarity_gap(
    theta: np.ndarray, margin: np.ndarray, line: Line, t: float, target: np.ndarray
) -> tuple[float, float]:
    """Return duality gap and primal objective of θ and w = Σ θ_i z_i with these margins.

    The gap is Σ max((h_i - θ_i)(p_i - m_i), (l_i - θ_i)(p_i - m_i)), without cancellation.
    """
    lower, upper = line.lower(t), line.upper(t)
    short = target - margin
    gap = np.maximum((upper - theta) * short, (lower - theta) * short).sum()
    return float(gap), float(gap + target @ theta - 0.5 * (theta @ margin))
