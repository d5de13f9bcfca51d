"""The judge: how good a solution of the paper's problem is, from X, y, τ and α alone.

It shares no code with the rest of the package or with any solver that is measured. For labels ±1
and z = (x, 1)::

    minimise   P(w) = λ/2 |w|² + Σ c_i max(0, 1 - m_i),   m_i = y_i w.z_i      (3)
    maximise   D(α) = Σ α_i - λ/2 |w(α)|²,   0 ≤ α_i ≤ c_i                     (8)

with c_i = 2(1-τ)/n for the positive class, 2τ/n for the negative one, and
w(α) = 1/λ Σ α_i y_i z_i.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

# A dual variable this close to a bound, as a part of its box, is at the bound: this is rounding.
AT_BOUND = 1e-12


@dataclass(frozen=True)
class Verdict:
    """How far a solution is from the optimum, with P and D as above.

    `kkt` is the largest error of a margin, whose target is 1: below it where α_i could still rise,
    above it where α_i could still fall. Or, if that is larger, how far an α_i has left its box, as
    a part of the widest box 2/n.
    """

    gap: float  # (P - D) / P
    kkt: float
    primal: float
    dual: float


@dataclass(frozen=True)
class Problem:
    """The asymmetric-cost SVM on features X (dense or CSR) and labels y = ±1."""

    X: Any
    y: np.ndarray
    lam: float

    def box(self, tau: float) -> np.ndarray:
        """Return c_i(τ)."""
        return np.where(self.y > 0, 2.0 * (1.0 - tau), 2.0 * tau) / len(self.y)

    def weights(self, alpha: np.ndarray) -> np.ndarray:
        """Return w(α), the bias last."""
        signed = self.y * alpha / self.lam
        return np.append(self.X.T @ signed, signed.sum())

    def judge(self, tau: float, alpha: np.ndarray, w: np.ndarray | None = None) -> Verdict:
        """Judge α, or, where w is given, the pair of w (bias last) and α.

        P - D = λ/2 |w - w(α)|² + Σ [(c_i - α_i)(1 - m_i)₊ + α_i (m_i - 1)₊]: no term is
        negative, so no digits cancel. This holds only inside the box, so α is clipped to it first.
        A box of zero width asks nothing of its margin.
        """
        c = self.box(tau)
        outside = np.max(np.maximum(-alpha, alpha - c), initial=0.0) * len(self.y) / 2.0
        alpha = np.clip(alpha, 0.0, c)
        w_alpha = self.weights(alpha)
        w = w_alpha if w is None else w
        margin = self.y * (self.X @ w[:-1] + w[-1])
        short, beyond = np.maximum(1.0 - margin, 0.0), np.maximum(margin - 1.0, 0.0)

        primal = 0.5 * self.lam * (w @ w) + c @ short
        dual = alpha.sum() - 0.5 * self.lam * (w_alpha @ w_alpha)
        off = w - w_alpha
        gap = 0.5 * self.lam * (off @ off) + (c - alpha) @ short + alpha @ beyond

        could_rise, could_fall = alpha < c * (1.0 - AT_BOUND), alpha > c * AT_BOUND
        kkt = max(outside, short[could_rise].max(initial=0), beyond[could_fall].max(initial=0))
        return Verdict(float(gap / primal), float(kkt), float(primal), float(dual))

    def worst(self, solution: Callable[[float], np.ndarray], taus: Iterable[float]) -> Verdict:
        """Return the `worst` verdict on α = solution(τ) over these τ."""
        return worst([self.judge(tau, solution(tau)) for tau in taus])


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the largest gap and the largest violation; the objectives are those of the gap."""
    verdicts = list(verdicts)
    widest = max(verdicts, key=lambda verdict: verdict.gap)
    return replace(widest, kkt=max(verdict.kkt for verdict in verdicts))


def kinks_and_midpoints(kinks: np.ndarray, at_most: int, seed: int = 0) -> list[float]:
    """Return kinks and midpoints between them, in order: all, or both ends and a random sample."""
    points = np.unique(np.concatenate((kinks, 0.5 * (kinks[1:] + kinks[:-1]))))
    if len(points) > at_most:
        inner = np.random.default_rng(seed).choice(points[1:-1], at_most - 2, replace=False)
        points = np.sort(np.concatenate((points[:1], inner, points[-1:])))
    return [float(point) for point in points]
