"""Optimality, measured from the original data: nothing here knows how a solution was found."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

__all__ = ["Certificate", "HingeProblem", "Measure"]

# A dual variable this close to its bound, as part of its box, is at the bound.
AT_BOUND = 1e-12


@dataclass(frozen=True)
class Measure:
    """How far a dual point is from optimal.

    Attributes
    ----------
    gap : float
        Primal minus dual objective, as part of the primal objective.
    kkt : float
        Largest violation of an optimality condition, in units of the margin.
    primal, dual : float
        The objectives, in the paper's scale (Eqs. 3 and 8, the latter with its sign turned).
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
        Whether these were all kinks and all midpoints between them.
    """

    worst_gap: float
    tau_gap: float
    worst_kkt: float
    tau_kkt: float
    n_checked: int
    complete: bool

    def holds(self, gap: float = 1e-9, kkt: float = 1e-7) -> bool:
        """Return whether both are within these limits."""
        return self.worst_gap <= gap and self.worst_kkt <= kkt


@dataclass(frozen=True)
class HingeProblem:
    """The asymmetric-cost SVM at one τ, for judging solutions (the paper's Eqs. 3 and 8).

    Attributes
    ----------
    X : ndarray or CSR of shape (n_samples, n_features)
        Features.
    y : ndarray of ±1.
        Labels.
    bias : float
        Constant feature appended to each sample; 0 for none.
    lam : float
        λ.
    """

    X: "np.ndarray | sp.csr_array"
    y: np.ndarray
    bias: float
    lam: float

    def measure(self, alpha: np.ndarray, box: np.ndarray) -> Measure:
        """Judge α, feasible or not, against 0 ≤ α_i ≤ box_i.

        With w made from α, primal minus dual is a sum of products that are never negative,
        so no digits cancel: (box_i - α_i) (1 - m_i)₊ + α_i (m_i - 1)₊ for margins m_i.
        """
        signed = self.y * alpha / self.lam
        w = np.asarray(self.X.T @ signed)
        b = self.bias * signed.sum()
        margin = self.y * (np.asarray(self.X @ w) + self.bias * b)
        short, beyond = np.maximum(1.0 - margin, 0.0), np.maximum(margin - 1.0, 0.0)
        outside = np.maximum(np.maximum(-alpha, alpha - box), 0.0)
        gap = float((box - alpha) @ short + alpha @ beyond)
        primal = float(0.5 * self.lam * (w @ w + b * b) + box @ short)
        below = (alpha < box * (1.0 - AT_BOUND)) * short
        above = (alpha > box * AT_BOUND) * beyond
        # a variable outside its box counts by how far the margin it stands for is off
        scale = max(float(box.max()), np.finfo(float).tiny)
        kkt = max(float(below.max()), float(above.max()), float(outside.max()) / scale)
        return Measure(gap / max(primal, np.finfo(float).tiny), kkt, primal, primal - gap)
