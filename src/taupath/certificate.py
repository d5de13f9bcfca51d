"""Optimality, measured from the original data: nothing here knows how a solution was found."""

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

__all__ = ["Certificate", "HingeProblem", "Measure"]

# A dual variable this close to its bound, as part of its box, is at the bound.
AT_BOUND = 1e-12
TINY = float(np.finfo(np.float64).tiny)


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

    def measure(
        self, alpha: np.ndarray, coef: np.ndarray, intercept: float, box: np.ndarray
    ) -> Measure:
        """Judge a primal and a dual point, each from its own numbers.

        Parameters
        ----------
        alpha : ndarray of shape (n_samples,)
            Dual point, to lie within 0 ≤ α_i ≤ box_i.
        coef, intercept : ndarray of shape (n_features,), float
            Primal point.
        box : ndarray of shape (n_samples,)
            c_i(τ).

        Returns
        -------
        Measure
            The gap between the two objectives bounds the error of both. Conditions are judged
            by the margins of the primal point, the box, and by how well w = Σ α_i y_i x_i / λ
            holds, as part of the largest terms of this sum.
        """
        signed = self.y * alpha / self.lam
        b = intercept / self.bias if self.bias else 0.0
        stationary = np.append(self.X.T @ signed, self.bias * signed.sum())
        terms = np.append(abs(self.X).T @ np.abs(signed), abs(self.bias) * np.abs(signed).sum())
        w = np.append(coef, b)
        margin = self.y * (np.asarray(self.X @ coef) + intercept)
        short, beyond = np.maximum(1.0 - margin, 0.0), np.maximum(margin - 1.0, 0.0)
        primal = float(0.5 * self.lam * (w @ w) + box @ short)
        dual = float(alpha.sum() - 0.5 * self.lam * (stationary @ stationary))
        kkt = max(
            float(((alpha < box * (1.0 - AT_BOUND)) * short).max()),
            float(((alpha > box * AT_BOUND) * beyond).max()),
            float(np.maximum(-alpha, alpha - box).max()) / max(float(box.max()), TINY),
            float(np.abs(w - stationary).max()) / max(float(terms.max()), TINY),
        )
        return Measure((primal - dual) / max(primal, TINY), kkt, primal, dual)
