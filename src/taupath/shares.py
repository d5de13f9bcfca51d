"""Shares: where in its box each θ is, kept up to date while w moves.

The share a_i = clip(centre + (p_i - m_i) / width, 0, 1) makes a dual point from the margins
m_i = <z_i, w>: θ_i = l_i + a_i (h_i - l_i).
"""

from dataclasses import dataclass

import numpy as np

from taupath._core import _descent
from taupath.continuum import Continuum, End
from taupath.points import Points

__all__ = ["LEAST_CENTRE", "Node", "Shares", "Smoothing"]

# The least centre; one minus it is the largest.
LEAST_CENTRE = 0.1


@dataclass(frozen=True)
class Smoothing:
    """What makes shares from margins.

    Attributes
    ----------
    width : float
        How far from its target a sample's share is neither 0 nor 1, at most.
    centre : ndarray of shape (2,)
        The share at the target, for each class.
    """

    width: float
    centre: np.ndarray


@dataclass(frozen=True)
class Node:
    """What is kept of a τ: θ is recomputed from it.

    Attributes
    ----------
    tau : float
        Where it is.
    w : ndarray of shape (n_cols,)
        The primal point.
    smoothing : Smoothing
        What makes the dual point from w.
    shift, scale : float, ndarray of shape (2,)
        The share is shift + scale a_i, which with a free intercept makes Σ sign_i θ_i zero.
    """

    tau: float
    w: np.ndarray
    smoothing: Smoothing
    shift: float
    scale: np.ndarray


class Shares:
    """The shares of all samples, and what they add up to.

    Parameters
    ----------
    points : Points
        The rows.
    continuum : Continuum
        Targets, boxes, units.
    free : bool
        Whether the intercept, the last column, costs nothing.
    """

    def __init__(self, points: Points, continuum: Continuum, free: bool) -> None:
        self.points, self.continuum, self.free = points, continuum, free
        self.one_class = bool((points.sign > 0).all())
        n, weight = points.n_rows, continuum.weight
        # Σ weight z, Σ weight p and Σ weight of each class
        self.all_rows, self.all_aims = np.zeros((2, points.n_cols)), np.zeros(2)
        self.all_weights = np.zeros(2)
        for k, own in enumerate((points.sign > 0, points.sign < 0)):
            points.total(np.where(own, weight, 0.0), None, self.all_rows[k])
            self.all_aims[k] = _descent.inner(weight[own], continuum.target[own])
            self.all_weights[k] = weight[own].sum()
        self._share = np.zeros(n)
        self._totals = np.zeros((2, points.n_cols))  # Σ weight a z of each class
        self._sums = np.empty((2, 5))
        # one longer than need be: the core writes first and counts then
        self._changed, self._between = np.empty((2, n + 1), dtype=np.int32)
        self._change = np.empty(n + 1)
        self.between = self._between[:0]

    def update(self, margin: np.ndarray, smoothing: Smoothing, afresh: bool = False) -> None:
        """Bring all up to date with these margins.

        Parameters
        ----------
        margin : ndarray of shape (n_rows,)
            <z_i, w>.
        smoothing : Smoothing
            What makes shares from them.
        afresh : bool
            Leave nothing of the rounding of earlier sums.
        """
        if afresh:
            self._share[:] = 0.0
            self._totals[:] = 0.0
        n_changed, n_between = _descent.shares(
            margin,
            self.continuum.target,
            self.continuum.weight,
            self.points.sign,
            smoothing.centre,
            smoothing.width,
            self._share,
            self._changed,
            self._change,
            self._between,
            self._sums,
        )
        self.between = self._between[:n_between]
        rows, change = self._changed[:n_changed], self._change[:n_changed]
        if self.one_class:
            self.points.total(change, rows, self._totals[0])
            return
        negative = self.points.sign[rows] < 0
        for k, own in enumerate((~negative, negative)):
            self.points.total(change[own], rows[own], self._totals[k])

    def mean(self, otherwise: np.ndarray) -> np.ndarray:
        """Return the mean of the shares between 0 and 1 of each class, within limits."""
        some = self._sums[:, 3] > 0.0
        whole = np.where(some, self._sums[:, 3], 1.0)
        mean = np.where(some, self._sums[:, 4] / whole, otherwise)
        return np.clip(mean, LEAST_CENTRE, 1.0 - LEAST_CENTRE)

    def judge(
        self, tau: float, w: np.ndarray, margin: np.ndarray, smoothing: Smoothing
    ) -> tuple[Node, End, float, float]:
        """Return what w and these shares make at τ, the gap, and what smoothing makes of it.

        Gaps are in units of P(0). The latter is Σ of losses minus θ (p - m): what would be left if
        w = Σ θ z held, and with a free intercept the balance.
        """
        lower, upper = self.continuum.boxes.lower(tau), self.continuum.boxes.upper(tau)
        box = upper - lower
        shift, scale = self._balance(lower, box)
        inside = shift * self.all_rows + scale[:, np.newaxis] * self._totals
        v = lower @ self.all_rows + box @ inside
        aims = shift * self.all_aims + scale * self._sums[:, 2]
        aim = float(lower @ self.all_aims + box @ aims)
        w_own, v_own = (w[:-1], v[:-1]) if self.free else (w, v)
        loss = float(upper @ self._sums[:, 0] - lower @ self._sums[:, 1])
        gap = 0.5 * float(w_own @ w_own) + loss - aim + 0.5 * float(v_own @ v_own)
        node = Node(tau, w, smoothing, shift, scale)
        end = End(tau, margin, aim, (w_own, w_own), (v_own, v_own))
        unit = self.continuum.unit
        own_aim = float(lower @ self.all_aims + box @ self._sums[:, 2])
        left = loss - own_aim + float(w @ (lower @ self.all_rows + box @ self._totals))
        return node, end, gap / unit, left / unit

    def _balance(self, lower: np.ndarray, box: np.ndarray) -> tuple[float, np.ndarray]:
        """Return shift and scale of the shares that make Σ sign θ zero, where it has to be.

        Shares of the class, or the side, that is too much are brought nearer to where they count
        for nothing.
        """
        shift, scale = 0.0, np.ones(2)
        if not self.free:
            return shift, scale
        inner = box * self._totals[:, -1]
        fixed = float(lower @ self.all_rows[:, -1])
        excess = fixed + float(inner.sum())
        if self.one_class:
            if excess > 0.0:  # towards the lower ends
                scale[0] = _part(-fixed, inner[0])
            elif excess < 0.0:  # towards the upper ends
                whole = float(box[0] * self.all_rows[0, -1])
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
        v = lower @ self.all_rows + box @ self._totals
        if self.free:
            v[:-1] -= w[:-1]
        else:
            v -= w
        return np.asarray(v)


def _part(a: float, b: float) -> float:
    """Return a / b within [0, 1], where rounding may have left nothing of either."""
    return min(max(float(a / b), 0.0), 1.0) if b != 0.0 else 0.0
