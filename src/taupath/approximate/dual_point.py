"""The dual point that margins make, and the duality gap it proves."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import DualSums, RowSummary

# The mean fraction is kept this far from 0 and 1: a centre at an end of the box would leave samples
# on their target no room to one side.
SMALLEST_CENTRE = 0.1


class Evaluation(NamedTuple):
    """A primal and a dual point at τ; gaps are in units of P(0)."""

    node: Node  # what is stored of the two points
    point: PrimalDualPoint  # the same, for bounds between nodes
    gap: float  # the duality gap
    # Σ of losses minus θ (p - m): the gap if w = Σ θ z and, with a free intercept, Σ sign θ = 0
    smoothing_gap: float


@dataclass(frozen=True)
class DualPoint:
    """A dual point θ_i = l_i + a_i (h_i - l_i), known by its sums over all samples."""

    summary: RowSummary  # the sums that do not depend on it
    gap_bound: GapBound  # boxes and units
    sums: DualSums  # of the fractions a

    def mean_fraction(self, otherwise: np.ndarray) -> np.ndarray:
        """Return the mean of the fractions between 0 and 1 of each class, kept off the ends."""
        weight = self.sums.inner_weight
        some = weight > 0.0
        mean = np.where(some, self.sums.inner_sum / np.where(some, weight, 1.0), otherwise)
        return np.clip(mean, SMALLEST_CENTRE, 1.0 - SMALLEST_CENTRE)

    def evaluate(self, tau: float, iterate: Iterate, smoothing: Smoothing) -> Evaluation:
        """Return the gap of w and this dual point at τ."""
        bound, summary, sums, w = self.gap_bound, self.summary, self.sums, iterate.w
        lower, upper = bound.boxes.lower(tau), bound.boxes.upper(tau)
        box = upper - lower
        shift, scale = self._balance(lower, box)
        inside = shift * summary.class_rows + scale[:, np.newaxis] * sums.rows
        v = lower @ summary.class_rows + box @ inside
        inside_targets = shift * summary.class_targets + scale * sums.targets
        target_product = float(lower @ summary.class_targets + box @ inside_targets)
        margin = iterate.margin
        point = PrimalDualPoint.explicit(tau, margin, target_product, w, v, bound.free)
        w_own, v_own = point.w[0], point.v[0]
        loss = float(upper @ sums.short - lower @ sums.beyond)
        gap = 0.5 * float(w_own @ w_own) + loss - target_product + 0.5 * float(v_own @ v_own)
        unbalanced = float(lower @ summary.class_targets + box @ sums.targets)
        smoothing_gap = loss - unbalanced + float(w @ self._sum_of_rows(lower, box))
        return Evaluation(
            Node(tau, w, smoothing, shift, scale),
            point,
            gap / bound.unit,
            smoothing_gap / bound.unit,
        )

    def residual(self, tau: float, w: np.ndarray) -> np.ndarray:
        """Return Σ θ z - w: minus the gradient of the smoothed problem, before balancing."""
        lower = self.gap_bound.boxes.lower(tau)
        v = self._sum_of_rows(lower, self.gap_bound.boxes.upper(tau) - lower)
        own = slice(None, -1) if self.gap_bound.free else slice(None)
        v[own] -= w[own]
        return v

    def _sum_of_rows(self, lower: np.ndarray, box: np.ndarray) -> np.ndarray:
        return np.asarray(lower @ self.summary.class_rows + box @ self.sums.rows)

    def _balance(self, lower: np.ndarray, box: np.ndarray) -> tuple[float, np.ndarray]:
        """Return shift and scale of the fractions that make Σ sign θ zero for a free intercept.

        The class, or the side of the box, that outweighs the other is scaled down.
        """
        shift, scale = 0.0, np.ones(2)
        if not self.gap_bound.free:
            return shift, scale
        inner = box * self.sums.rows[:, -1]
        fixed = float(lower @ self.summary.class_rows[:, -1])
        excess = fixed + float(inner.sum())
        if self.summary.one_class:
            if excess > 0.0:  # towards the lower ends
                scale[0] = _ratio(-fixed, inner[0])
            elif excess < 0.0:  # towards the upper ends
                whole = float(box[0] * self.summary.class_rows[0, -1])
                scale[0] = _ratio(fixed + whole, whole - inner[0])
                shift = 1.0 - float(scale[0])
        elif excess > 0.0:
            scale[0] = _ratio(-inner[1], inner[0])
        elif excess < 0.0:
            scale[1] = _ratio(-inner[0], inner[1])
        return shift, scale


def _ratio(a: float, b: float) -> float:
    """Return a / b clipped to [0, 1], and 0 where rounding has left nothing of b."""
    return min(max(float(a / b), 0.0), 1.0) if b != 0.0 else 0.0
