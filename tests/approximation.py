"""The judge of approximate paths: objectives of what they say at one τ, from the data alone.

It shares no code with the package. In the scale of C, with margins m_i = s_i f(x_i)::

    P(w, b) = 1/2 |w|^2 + sum_i h_i max(0, p_i - m_i) - l_i max(0, m_i - p_i)
    D(theta) = sum_i p_i theta_i - 1/2 |sum_i theta_i s_i x_i|^2,   l_i <= theta_i <= h_i

The augmented intercept counts as a feature; a free one asks for sum_i s_i theta_i = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import taupath

# How far beyond its box, or out of balance, a dual variable may be: rounding only.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Job:
    """Arguments of `quantile_path`, or of `quantile_regression_path` where y has no classes."""

    X: np.ndarray
    y: np.ndarray
    C: float = 1.0
    weight: np.ndarray | None = None
    intercept: str = "augmented"
    regression: bool = False

    def path(self, X: Any = None, **kw: Any) -> taupath.SolutionPath:
        """Return the path; X is the same features in other clothes."""
        make = taupath.quantile_regression_path if self.regression else taupath.quantile_path
        given = {"C": self.C, "sample_weight": self.weight, "intercept": self.intercept}
        return make(self.X if X is None else X, self.y, **{**given, **kw})

    @property
    def sign(self) -> np.ndarray:
        return np.ones(len(self.y)) if self.regression else np.where(self.y > 0, 1.0, -1.0)

    def boxes(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        share = self.C * (np.ones(len(self.y)) if self.weight is None else self.weight)
        if self.regression:
            return (tau - 1.0) * share, tau * share
        return 0.0 * share, 2.0 * share * np.where(self.y > 0, 1.0 - tau, tau)

    @property
    def target(self) -> np.ndarray:
        return self.y.astype(float) if self.regression else np.ones(len(self.y))

    def rest(self) -> float:
        """Return P(0) at τ = ½."""
        return self.primal(0.5, np.zeros(self.X.shape[1]), 0.0)

    def primal(self, tau: float, w: np.ndarray, b: float) -> float:
        """Return P."""
        lower, upper = self.boxes(tau)
        short = self.target - self.sign * (self.X @ w + b)
        loss = upper @ np.maximum(short, 0.0) - lower @ np.maximum(-short, 0.0)
        return float(0.5 * (w @ w) + 0.5 * b**2 * (self.intercept == "augmented") + loss)

    def dual(self, tau: float, alpha: np.ndarray) -> float:
        """Return D of α as the path gives it, having looked at its box and its balance."""
        lower, upper = self.boxes(tau)
        theta = alpha if self.regression else alpha * len(self.y) * self.C
        widest = float(np.max(upper - lower))
        assert np.all(theta >= lower - ROUNDING * widest), f"tau={tau}: below its box"
        assert np.all(theta <= upper + ROUNDING * widest), f"tau={tau}: above its box"
        signed = self.sign * theta
        v = self.X.T @ signed
        squared = v @ v + (signed.sum() ** 2 if self.intercept == "augmented" else 0.0)
        if self.intercept == "free":
            assert abs(signed.sum()) <= ROUNDING * len(theta) * widest, f"tau={tau}: off balance"
        return float(self.target @ theta - 0.5 * squared)

    def gap(self, path: taupath.SolutionPath, tau: float) -> float:
        """Return P - D of what the path says at τ, in units of P(0) at τ = ½."""
        w = np.ravel(path.coef(tau))
        return (
            self.primal(tau, w, path.intercept(tau)) - self.dual(tau, path.alpha(tau))
        ) / self.rest()


def some_taus(path: taupath.SolutionPath, n: int = 500, seed: int = 0) -> np.ndarray:
    """Return so many random τ of the path's range, its nodes and the middles of its chords."""
    begin, end = path.tau_range
    random = np.random.default_rng(seed).uniform(begin, end, n)
    nodes = path.taus if len(path.taus) <= n else path.taus[:: len(path.taus) // n + 1]
    return np.unique(np.concatenate((random, nodes, 0.5 * (nodes[1:] + nodes[:-1]))))


def assert_bounded(job: Job, path: taupath.SolutionPath, n: int = 500) -> float:
    """Assert that the certificate is above the gap of every τ looked at; return the largest."""
    certificate = path.certify()
    assert certificate.continuum
    assert certificate.complete
    gaps = [job.gap(path, float(tau)) for tau in some_taus(path, n)]
    worst = max(gaps)
    assert worst <= certificate.worst_gap, f"{worst} is more than was certified: {certificate}"
    assert path.tau_range[0] <= certificate.tau_gap <= path.tau_range[1]
    return worst
