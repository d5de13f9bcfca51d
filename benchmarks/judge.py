"""The judge of the benchmarks: how good a solution is, from X, y, τ and α alone.

It shares no code with any solver that is measured. `Problem` is the paper's, as its reproduction
judges it. `BoxProblem` is what classification and quantile regression have in common, with a
kernel, with a regularised or a free intercept, and in the scale of C: θ = α/λ.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import cdist

from taupath.reproduce.judge import AT_BOUND, Problem, Verdict, kinks_and_midpoints, worst

__all__ = [
    "BoxProblem",
    "Problem",
    "Verdict",
    "classification",
    "kinks_and_midpoints",
    "linear",
    "rbf",
    "regression",
    "worst",
]

# Of the loss at f = 0: where the optimum is less, the gap is taken as a part of this. The rounding
# of margins costs up to 1e-16 of that loss, and is to stay well below gaps that matter.
VANISHING = 1e-6

# From u to Σ_j k(x_i, x_j) u_j, for all i.
Gram = Callable[[np.ndarray], np.ndarray]


def linear(X: np.ndarray) -> Gram:
    """Return the Gram matrix of k(x, x') = x.x'."""
    return lambda u: X @ (X.T @ u)


def rbf(X: np.ndarray, gamma: float) -> Gram:
    """Return the Gram matrix of k(x, x') = exp(-γ |x - x'|²)."""
    return np.exp(-gamma * cdist(X, X, "sqeuclidean")).__matmul__


@dataclass(frozen=True)
class BoxProblem:
    """A machine with a kernel, at one value of the parameter of its path.

    With m_i = e_i (f(x_i) + b), f(x_i) = w.φ(x_i), and w(θ) = Σ θ_i e_i φ(x_i)::

        minimise   P(w, b) = 1/2 |w|² + Σ [h_i (p_i - m_i)₊ - l_i (m_i - p_i)₊]
        maximise   D(θ) = Σ p_i θ_i - 1/2 |w(θ)|²,   l_i ≤ θ_i ≤ h_i

    Where the intercept is free, Σ e_i θ_i = 0 besides. Where it is not, b is what the constant 1
    within the kernel makes it, and P counts b²/2.

    Attributes
    ----------
    gram : callable
        From u to Σ_j k(x_i, x_j) u_j, for all i, without the constant.
    sign, target, lower, upper : ndarray
        e_i = ±1, p_i, l_i ≤ 0 and h_i ≥ 0.
    free_intercept : bool
        Whether b costs nothing.
    """

    gram: Gram
    sign: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    free_intercept: bool

    def judge(self, theta: np.ndarray) -> Verdict:
        """Judge θ, with w(θ) and, for a free intercept, the b that is best beside it.

        P - D = Σ [(h_i - θ_i)(p_i - m_i)₊ + (θ_i - l_i)(m_i - p_i)₊] - b Σ e_i θ_i; the last sum
        is zero up to rounding and is counted as if it made things worse. The gap is relative to P,
        or to a small part of P(0, 0): with a free intercept the optimum goes to zero at the ends
        of a path over τ. Errors of margins are measured in units of the largest |p_i|; how far θ
        is outside of its box, and how far from Σ e_i θ_i = 0, in units of the widest box.
        """
        width = self.upper - self.lower
        outside = np.max(np.maximum(self.lower - theta, theta - self.upper), initial=0.0)
        theta = np.clip(theta, self.lower, self.upper)
        signed = self.sign * theta
        f = self.gram(signed)
        if self.free_intercept:
            bias, imbalance = self.best_intercept(f), abs(signed.sum())
        else:
            bias, imbalance = signed.sum(), 0.0
        margin = self.sign * (f + bias)
        short = np.maximum(self.target - margin, 0.0)
        beyond = np.maximum(margin - self.target, 0.0)

        squared = signed @ f + (0.0 if self.free_intercept else bias**2)
        primal = 0.5 * squared + self.upper @ short - self.lower @ beyond
        dual = self.target @ theta - 0.5 * squared
        gap = (self.upper - theta) @ short + (theta - self.lower) @ beyond + abs(bias) * imbalance

        could_rise = self.upper - theta > width * AT_BOUND
        could_fall = theta - self.lower > width * AT_BOUND
        off = max(short[could_rise].max(initial=0), beyond[could_fall].max(initial=0))
        kkt = max(off / np.abs(self.target).max(), outside / width.max(), imbalance / width.max())
        gap /= max(primal, VANISHING * self.loss_at_rest())
        return Verdict(float(gap), float(kkt), float(primal), float(dual))

    def loss_at_rest(self) -> float:
        """Return P(0, 0)."""
        p = self.target
        return float(self.upper @ np.maximum(p, 0.0) - self.lower @ np.maximum(-p, 0.0))

    def best_intercept(self, f: np.ndarray) -> float:
        """Return the b that minimises P beside these f(x_i).

        P is convex and piecewise linear in b. Its slope begins at -Σ h_i over e_i = 1 plus Σ l_i
        over e_i = -1, and rises by h_i - l_i where b passes e_i p_i - f(x_i).
        """
        kinks = self.sign * self.target - f
        order = np.argsort(kinks)
        first_slope = np.where(self.sign > 0.0, -self.upper, self.lower).sum()
        slopes = first_slope + np.cumsum((self.upper - self.lower)[order])
        return float(kinks[order[min(np.searchsorted(slopes, 0.0), len(f) - 1)]])


def classification(
    gram: Gram, y: np.ndarray, C: float, tau: float, free_intercept: bool = False
) -> BoxProblem:
    """Return the SVM for labels y = ±1: boxes up to 2C(1-τ) for the positive class, else 2Cτ."""
    upper = C * np.where(y > 0.0, 2.0 * (1.0 - tau), 2.0 * tau)
    return BoxProblem(gram, y, np.ones_like(y), np.zeros_like(y), upper, free_intercept)


def regression(
    gram: Gram, y: np.ndarray, C: float, tau: float, free_intercept: bool = False
) -> BoxProblem:
    """Return quantile regression: boxes from C(τ-1) to Cτ."""
    ones = np.ones_like(y)
    return BoxProblem(gram, ones, y, C * (tau - 1.0) * ones, C * tau * ones, free_intercept)
