"""A bound on the duality gap between two solutions, for every value of the parameter at once.

Between two nodes, w, θ and the boxes are affine in s, 0 ≤ s ≤ 1, and θ stays in its box. In

    P(w) - D(θ) = ½‖w‖² + Σ [h_i (p_i - m_i)₊ - l_i (m_i - p_i)₊] - Σ p_i θ_i + ½‖Σ θ_i z_i‖²

everything but the losses is then a quadratic in s. A loss is a box times a convex function of s,
which lies below its chord between any two points: box times chord, summed over all samples, is a
quadratic that bounds the sum from above. Only samples that pass their target in between make it
larger than the sum, and the less so the shorter the panels are into which [0, 1] is cut.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from taupath._core._margins import chord_losses
from taupath.approximate.rounding import Rounding
from taupath.paths.jobs import Boxes

# Panels between two nodes. With 8, the bound exceeds the largest gap between any two points by at
# most a tenth, whether they are optimal or not (a test checks it). More make every bound dearer.
N_PANELS = 8
# The smallest tolerance, in units of the rounding error: a path needs room above it.
ROOM_ABOVE_ROUNDING = 8.0


@dataclass(frozen=True)
class PrimalDualPoint:
    """A primal and a dual point at t.

    w and v = Σ θ_i z_i are pairs, see `paths.training_data.Points`.
    """

    t: float
    margin: Any  # <z_i, w> of all samples, or a reference to them that `Losses` understand
    target_product: float  # Σ p_i θ_i
    w: tuple[np.ndarray, np.ndarray]
    v: tuple[np.ndarray, np.ndarray]

    @classmethod
    def explicit(
        cls, t: float, margin: Any, target_product: float, w: np.ndarray, v: np.ndarray, free: bool
    ) -> "PrimalDualPoint":
        """Return the point with these w and v; a free intercept, their last entry, is left out."""
        if free:
            w, v = w[:-1], v[:-1]
        return cls(t, margin, target_product, (w, w), (v, v))


class Losses(Protocol):
    """Sums of losses over all samples, wherever these are."""

    def losses_at_zero(self) -> np.ndarray:
        """Return Σ weight (p)₊ and Σ weight (-p)₊ of each class, shape (2, 2)."""

    def along(self, begin: Any, end: Any, n_panels: int) -> np.ndarray:
        """Return Σ weight (p - m)₊ and Σ weight (m - p)₊ of each class between two points.

        At the edges of panels, shape (2, 2, n_panels + 1).
        """


class SampleLosses:
    """Losses of samples in this process, given their p, the factors of their boxes, and signs."""

    def __init__(self, target: np.ndarray, weight: np.ndarray, sign: np.ndarray) -> None:
        self.target, self.weight, self.sign = target, weight, sign

    def losses_at_zero(self) -> np.ndarray:
        """Return the losses at w = 0, shape (2, 2)."""
        margin = np.zeros(len(self.target))
        return np.ascontiguousarray(self.along(margin, margin, 1)[:, :, 0])

    def along(self, begin: np.ndarray, end: np.ndarray, n_panels: int) -> np.ndarray:
        """Return the losses at margins between these, shape (2, 2, n_panels + 1)."""
        losses = np.empty((2, 2, n_panels + 1))
        chord_losses(begin, end, self.target, self.weight, self.sign, losses)
        return losses


class GapBound:
    """Bounds gaps between any two points, in units of P(0) at `unit_t`.

    `rounding` bounds the error of computed gaps, `boxes` are those of weight 1, and `free` tells
    whether the intercept is free.
    """

    def __init__(
        self, rounding: Rounding, losses: Losses, boxes: Boxes, free: bool, unit_t: float
    ) -> None:
        self.rounding, self.losses, self.boxes, self.free = rounding, losses, boxes, free
        self._losses_at_zero = losses.losses_at_zero()
        self.unit = self.objective_at_zero(unit_t) or 1.0
        # ½‖w‖² ≤ P(0) at every optimum, and P(0) is affine in t
        largest = max(self.objective_at_zero(0.0), self.objective_at_zero(1.0))
        self._longest_w = float(np.sqrt(2.0 * largest))

    def objective_at_zero(self, t: float) -> float:
        """Return P(0) at t."""
        short, beyond = self._losses_at_zero.T
        return float(self.boxes.upper(t) @ short - self.boxes.lower(t) @ beyond)

    def smallest_tol(self) -> float:
        """Return the smallest gap that can be certified in spite of rounding."""
        return ROOM_ABOVE_ROUNDING * self._allowance(self._longest_w, self._longest_w) / self.unit

    def _allowance(self, w: float, v: float) -> float:
        return self.rounding.allowance(self.boxes.widest(), w, v, self._longest_w, self.free)

    def bound(self, begin: PrimalDualPoint, end: PrimalDualPoint) -> tuple[float, float]:
        """Return an upper bound on the gaps between two points, rounding included, and its t."""
        losses = self.losses.along(begin.margin, end.margin, N_PANELS)
        norms = [
            np.array([one[0] @ one[1], one[0] @ other[1], other[0] @ other[1]])
            for one, other in ((begin.w, end.w), (begin.v, end.v))
        ]
        # coefficients of the Bernstein polynomials (1 - s)², 2 s (1 - s), s²
        quadratic = 0.5 * (norms[0] + norms[1])
        first, last = begin.target_product, end.target_product
        quadratic -= [first, 0.5 * (first + last), last]
        edges = np.linspace(0.0, 1.0, N_PANELS + 1)
        t = (begin.t + edges * (end.t - begin.t))[:, np.newaxis]
        # entry (j, k): the boxes of edge j with the margins of edge k
        loss = self.boxes.upper(t) @ losses[:, 0] - self.boxes.lower(t) @ losses[:, 1]
        rest = _polar(quadratic, edges[:, np.newaxis], edges)
        same, next_to = np.diagonal(loss + rest), np.diagonal(rest, 1).copy()
        next_to += 0.5 * (np.diagonal(loss, 1) + np.diagonal(loss, -1))
        worst, place = -np.inf, 0.0
        for k in range(N_PANELS):
            value, at = _highest(same[k], next_to[k], same[k + 1])
            if value > worst:
                worst, place = value, edges[k] + at * (edges[k + 1] - edges[k])
        # rounding can make a square negative
        worst += self._allowance(*(float(np.sqrt(max(n[0], n[2], 0.0))) for n in norms))
        return worst / self.unit, begin.t + place * (end.t - begin.t)


def _polar(bernstein: np.ndarray, s: np.ndarray, r: np.ndarray) -> np.ndarray:
    """Return the symmetric bilinear form whose diagonal is the polynomial."""
    first, middle, last = bernstein
    return np.asarray(
        (1.0 - s) * (1.0 - r) * first + ((1.0 - s) * r + s * (1.0 - r)) * middle + s * r * last
    )


def _highest(first: float, middle: float, last: float) -> tuple[float, float]:
    """Return the maximum on [0, 1] of a quadratic in Bernstein form, and where it is."""
    best = max((float(first), 0.0), (float(last), 1.0))
    bend = first - 2.0 * middle + last
    if bend < 0.0:
        s = float((first - middle) / bend)
        if 0.0 < s < 1.0:
            value = (1.0 - s) ** 2 * first + 2.0 * s * (1.0 - s) * middle + s**2 * last
            best = max(best, (float(value), s))
    return best
