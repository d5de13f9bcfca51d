"""The dual point that margins make, and the duality gap it proves."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import DualSums, RowSummary


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
        """Return shift and scale of the fractions."""
        if not self.gap_bound.free:
            return 0.0, np.ones(2)
        whole, inner = self.summary.class_rows[:, -1], self.sums.rows[:, -1]
        return balance(lower, box, whole, inner, self.summary.one_class)


def balance(
    lower: np.ndarray, box: np.ndarray, whole: np.ndarray, inner: np.ndarray, one_class: bool
) -> tuple[float, np.ndarray]:
    """Return shift and scale of the fractions a that make Σ sign θ zero for a free intercept.

    `whole` and `inner` are Σ sign weight and Σ sign weight a of each class, in any unit. The class,
    or the side of the box, that outweighs the other is scaled down.
    """
    shift, scale, inner = 0.0, np.ones(2), box * inner
    fixed = float(lower @ whole)
    excess = fixed + float(inner.sum())
    if one_class:
        if excess > 0.0:  # towards the lower ends
            scale[0] = _ratio(-fixed, inner[0])
        elif excess < 0.0:  # towards the upper ends
            all_upper = float(box[0] * whole[0])
            scale[0] = _ratio(fixed + all_upper, all_upper - inner[0])
            shift = 1.0 - float(scale[0])
    elif excess > 0.0:
        scale[0] = _ratio(-inner[1], inner[0])
    elif excess < 0.0:
        scale[1] = _ratio(-inner[0], inner[1])
    return shift, scale


def _ratio(a: float, b: float) -> float:
    """Return a / b clipped to [0, 1], and 0 where rounding has left nothing of b."""
    return min(max(float(a / b), 0.0), 1.0) if b != 0.0 else 0.0
