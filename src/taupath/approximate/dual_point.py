"""DualPoint: where in its box each θ is, and what all of them add up to.

The share a_i = clip(centre + (p_i - m_i) / width, 0, 1) makes a dual point from the margins
m_i = <z_i, w>: θ_i = l_i + a_i (h_i - l_i).
"""

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import DualSums, RowSummary

__all__ = ["LEAST_CENTRE", "DualPoint"]

# The least centre; one minus it is the largest.
LEAST_CENTRE = 0.1


class DualPoint:
    """What shares add up to, and what follows from it.

    Parameters
    ----------
    facts : RowSummary
        What does not change with the shares.
    continuum : GapBound
        Boxes, units.
    free : bool
        Whether the intercept, the last column, costs nothing.
    """

    def __init__(self, facts: RowSummary, continuum: GapBound, free: bool) -> None:
        self.summary, self.continuum, self.free = facts, continuum, free
        self._now = DualSums(np.zeros((2, facts.n_cols)), np.zeros((2, 5)), 0)

    def update(self, sums: DualSums) -> None:
        """Take what the shares add up to now."""
        self._now = sums

    @property
    def n_between(self) -> int:
        """How many shares are between 0 and 1."""
        return self._now.n_between

    def mean(self, otherwise: np.ndarray) -> np.ndarray:
        """Return the mean of the shares between 0 and 1 of each class, within limits."""
        some = self._now.sums[:, 3] > 0.0
        whole = np.where(some, self._now.sums[:, 3], 1.0)
        mean = np.where(some, self._now.sums[:, 4] / whole, otherwise)
        return np.clip(mean, LEAST_CENTRE, 1.0 - LEAST_CENTRE)

    def judge(
        self, tau: float, place: Iterate, smoothing: Smoothing
    ) -> tuple[Node, PrimalDualPoint, float, float]:
        """Return what w and these shares make at τ, the gap, and what smoothing makes of it.

        Gaps are in units of P(0). The latter is Σ of losses minus θ (p - m): what would be left if
        w = Σ θ z held, and with a free intercept the balance.
        """
        lower, upper = self.continuum.boxes.lower(tau), self.continuum.boxes.upper(tau)
        box = upper - lower
        facts, totals, sums, w = self.summary, self._now.totals, self._now.sums, place.w
        shift, scale = self._balance(lower, box)
        inside = shift * facts.all_rows + scale[:, np.newaxis] * totals
        v = lower @ facts.all_rows + box @ inside
        aims = shift * facts.all_aims + scale * sums[:, 2]
        aim = float(lower @ facts.all_aims + box @ aims)
        w_own, v_own = (w[:-1], v[:-1]) if self.free else (w, v)
        loss = float(upper @ sums[:, 0] - lower @ sums[:, 1])
        gap = 0.5 * float(w_own @ w_own) + loss - aim + 0.5 * float(v_own @ v_own)
        node = Node(tau, w, smoothing, shift, scale)
        end = PrimalDualPoint(tau, place.margin, aim, (w_own, w_own), (v_own, v_own))
        unit = self.continuum.unit
        own_aim = float(lower @ facts.all_aims + box @ sums[:, 2])
        left = loss - own_aim + float(w @ (lower @ facts.all_rows + box @ totals))
        return node, end, gap / unit, left / unit

    def _balance(self, lower: np.ndarray, box: np.ndarray) -> tuple[float, np.ndarray]:
        """Return shift and scale of the shares that make Σ sign θ zero, where it has to be.

        DualPoint of the class, or the side, that is too much are brought nearer to where they count
        for nothing.
        """
        shift, scale = 0.0, np.ones(2)
        if not self.free:
            return shift, scale
        inner = box * self._now.totals[:, -1]
        fixed = float(lower @ self.summary.all_rows[:, -1])
        excess = fixed + float(inner.sum())
        if self.summary.one_class:
            if excess > 0.0:  # towards the lower ends
                scale[0] = _part(-fixed, inner[0])
            elif excess < 0.0:  # towards the upper ends
                whole = float(box[0] * self.summary.all_rows[0, -1])
                scale[0] = _part(fixed + whole, whole - inner[0])
                shift = 1.0 - float(scale[0])
        elif excess > 0.0:
            scale[0] = _part(-inner[1], inner[0])
        elif excess < 0.0:
            scale[1] = _part(-inner[0], inner[1])
        return shift, scale

    def residual(self, tau: float, w: np.ndarray) -> np.ndarray:
        """Return Σ θ z - w: minus the gradient of the smoothed problem, which has no balance."""
        lower = self.continuum.boxes.lower(tau)
        box = self.continuum.boxes.upper(tau) - lower
        v = lower @ self.summary.all_rows + box @ self._now.totals
        if self.free:
            v[:-1] -= w[:-1]
        else:
            v -= w
        return np.asarray(v)


def _part(a: float, b: float) -> float:
    """Return a / b within [0, 1], where rounding may have left nothing of either."""
    return min(max(float(a / b), 0.0), 1.0) if b != 0.0 else 0.0
