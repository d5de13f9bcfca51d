"""The canonical problem, along one straight line of bounds and targets.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i(t) θ_i   subject to   l_i(t) ≤ θ_i ≤ h_i(t)

with l, h and p affine in t. Every job is a choice of rows z_i and of one such line.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from taupath.engine.status import FREE, LOWER, UPPER
from taupath.engine.tolerances import BEYOND_MARGIN

__all__ = [
    "Line",
    "correction",
    "quantile_classification",
    "quantile_regression",
    "quantile_regression_from_an_end",
    "regularization",
    "rising_targets",
]

# Of the random u_i by which targets are raised. Stored records depend on it: it must not change.
RAISE_SEED = 20090618


@dataclass(frozen=True)
class Line:
    """Bounds and targets at t = 0 and at t = 1; affine between.

    Attributes
    ----------
    lower0, lower1 : ndarray of shape (n_samples,)
        l at the two ends.
    upper0, upper1 : ndarray of shape (n_samples,)
        h at the two ends.
    target0, target1 : ndarray of shape (n_samples,)
        p at the two ends.
    """

    lower0: np.ndarray
    lower1: np.ndarray
    upper0: np.ndarray
    upper1: np.ndarray
    target0: np.ndarray
    target1: np.ndarray

    def lower(self, t: float) -> np.ndarray:
        """Return l(t)."""
        return _between(self.lower0, self.lower1, t)

    def upper(self, t: float) -> np.ndarray:
        """Return h(t)."""
        return _between(self.upper0, self.upper1, t)

    def target(self, t: float) -> np.ndarray:
        """Return p(t)."""
        return _between(self.target0, self.target1, t)

    def width(self, t: float) -> np.ndarray:
        """Return h(t) - l(t)."""
        return np.asarray(self.upper(t) - self.lower(t))

    @cached_property
    def lower_rate(self) -> np.ndarray:
        """Rate of l."""
        return np.asarray(self.lower1 - self.lower0)

    @cached_property
    def upper_rate(self) -> np.ndarray:
        """Rate of h."""
        return np.asarray(self.upper1 - self.upper0)

    @cached_property
    def target_rate(self) -> np.ndarray:
        """Rate of p."""
        return np.asarray(self.target1 - self.target0)

    def reversed(self) -> "Line":
        """Return the same line walked from its other end, t → 1 - t."""
        return Line(self.lower1, self.lower0, self.upper1, self.upper0, self.target1, self.target0)

    def take(self, order: np.ndarray) -> "Line":
        """Return the same line with its points in another order."""
        ends = (self.lower0, self.lower1, self.upper0, self.upper1, self.target0, self.target1)
        return Line(*(end[order] for end in ends))

    def raised(self, by: float) -> "Line":
        """Return the line with targets p_i + by u_i, fixed random u_i in [½, 1)."""
        u = np.random.default_rng(RAISE_SEED).uniform(0.5, 1.0, len(self.target0))
        return replace(self, target0=self.target0 + by * u, target1=self.target1 + by * u)


def _between(begin: np.ndarray, end: np.ndarray, t: float) -> np.ndarray:
    """Return the value at t, from both ends: values that go to zero there keep their digits."""
    return begin * (1.0 - t) + end * t


def quantile_classification(positive: np.ndarray, weight: np.ndarray, C: float) -> Line:
    """Return the line t = τ of the asymmetric-cost SVM (the paper's Eqs. 4 and 8).

    Parameters
    ----------
    positive : ndarray of bool, shape (n_samples,)
        Which samples have the positive label.
    weight : ndarray of shape (n_samples,)
        Factor of each sample's cost.
    C : float
        1 / (n λ). A positive sample's box ends at 2 C (1 - τ), a negative one's at 2 C τ.
    """
    zero, one = np.zeros(len(positive)), np.ones(len(positive))
    cost = 2.0 * C * weight
    return Line(zero, zero, np.where(positive, cost, 0.0), np.where(positive, 0.0, cost), one, one)


def regularization(positive: np.ndarray, weight: np.ndarray, tau: float, C_max: float) -> Line:
    """Return the line t = C / C_max of the SVM with fixed τ (Hastie et al. 2004).

    Parameters
    ----------
    positive : ndarray of bool, shape (n_samples,)
        Which samples have the positive label.
    weight : ndarray of shape (n_samples,)
        Factor of each sample's cost.
    tau, C_max : float
        A positive sample's box ends at 2 C (1 - τ), a negative one's at 2 C τ.
    """
    zero, one = np.zeros(len(positive)), np.ones(len(positive))
    cost = 2.0 * C_max * weight * np.where(positive, 1.0 - tau, tau)
    return Line(zero, zero, zero, cost, one, one)


def quantile_regression(y: np.ndarray, weight: np.ndarray, C: float) -> Line:
    """Return the line t = τ of quantile regression (Takeuchi et al. 2006).

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        What is to be predicted.
    weight : ndarray of shape (n_samples,)
        Factor of each sample's loss.
    C : float
        Boxes are C (τ - 1) ≤ θ ≤ C τ.
    """
    zero, cost = np.zeros(len(y)), C * weight
    return Line(-cost, zero, zero, cost, y, y)


def quantile_regression_from_an_end(y: np.ndarray, weight: np.ndarray, C: float) -> Line:
    """Return the same line from its other end, t = 1 - τ, where boxes begin at zero.

    With -y instead of y it is the line t = τ of -θ: quantile regression upside down.
    """
    return quantile_regression(y, weight, C).reversed()


def rising_targets(line: Line, t: float, first: np.ndarray) -> Line:
    """Return the line from targets `first` to those of `line`, with its bounds at t."""
    lower, upper = line.lower(t), line.upper(t)
    return Line(lower, lower, upper, upper, first, line.target(t))


def correction(line: Line, t: float, margin: np.ndarray, status: np.ndarray) -> Line:
    """Return the line that leads from an approximate solution at t to the exact one.

    Its targets begin where the given index sets are optimal: at the margins <z_i, w> themselves
    for free points, and, for a bound point whose slack has the wrong sign, just beyond its margin.
    """
    target = line.target(t)
    beyond = BEYOND_MARGIN * (1.0 + np.abs(margin))
    choices = [margin, np.minimum(target, margin - beyond), np.maximum(target, margin + beyond)]
    first = np.select([status == FREE, status == LOWER, status == UPPER], choices)
    return rising_targets(line, t, first)
