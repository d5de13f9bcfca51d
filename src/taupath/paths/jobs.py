"""The path of each job: what its parameter is, and what α is made of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taupath.engine.problem import Line
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import Samples
from taupath.paths.walked import Rest, Stretch

__all__ = ["ClassificationPath", "RegressionPath", "RegularizationPath"]


class _SVMPath(SolutionPath):
    """What paths of classifiers have in common: α = λ θ, up to c_i(τ)."""

    def __init__(
        self,
        samples: Samples,
        line: Line,
        weight: np.ndarray,
        stretches: Sequence[Rest | Stretch],
        classes: np.ndarray,
    ) -> None:
        super().__init__(samples, line, weight, stretches)
        self.classes = classes

    def _cost(self, tau: float) -> np.ndarray:
        """Return c_i(τ) (the paper's Eq. 4, times the sample's weight)."""
        cost = np.where(self._samples.sign > 0.0, 2.0 * (1.0 - tau), 2.0 * tau)
        return np.asarray(cost * self._weight / len(cost))

    def _at(self, value: float) -> tuple[float, float]:
        """Return τ and λ."""
        raise NotImplementedError

    def _to_alpha(self, status: np.ndarray, theta: np.ndarray, value: float) -> np.ndarray:
        tau, lam = self._at(value)
        cost = self._cost(tau)
        # where there is no cost yet, λ is infinite
        alpha = np.clip(theta * lam, 0.0, cost) if np.isfinite(lam) else cost
        return np.where(status == UPPER, cost, np.where(status == LOWER, 0.0, alpha))

    def _to_theta(self, alpha: np.ndarray, value: float) -> np.ndarray:
        return alpha / self._at(value)[1]


class ClassificationPath(_SVMPath):
    """The asymmetric-cost SVM for every τ of a stretch, made by `quantile_path`.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The labels; the second one is positive.
    C, lam : float
        Regularisation, C = 1 / (n λ).
    """

    def __init__(self, *args: Any, C: float) -> None:
        super().__init__(*args)
        self.C, self.lam = C, 1.0 / (self._samples.shape[0] * C)

    def _settings(self) -> str:
        return f"C={self.C:g}"

    def _at(self, value: float) -> tuple[float, float]:
        return value, self.lam


class RegularizationPath(_SVMPath):
    """The SVM for every C up to a largest one, made by `regularization_path`.

    The parameter of all methods is C instead of τ.

    Attributes
    ----------
    classes : ndarray of shape (2,)
        The labels; the second one is positive.
    tau : float
        The τ of all solutions.
    """

    _parameter = "C"
    _symbol = "C"

    def __init__(self, *args: Any, tau: float) -> None:
        super().__init__(*args)
        self.tau = tau

    @property
    def Cs(self) -> np.ndarray:
        """The kinks, increasing, from 0 to C_max."""
        return self.taus

    def _settings(self) -> str:
        return f"tau={self.tau:g}"

    def _at(self, value: float) -> tuple[float, float]:
        n = self._samples.shape[0]
        return self.tau, 1.0 / (n * value) if value > 0.0 else np.inf

    def _to_t(self, value: float) -> float:
        return value / float(self.taus[-1])


class RegressionPath(SolutionPath):
    """Quantile regression for every τ of a stretch, made by `quantile_regression_path`.

    Attributes
    ----------
    C : float
        Weight of the loss against ½‖w‖².
    """

    def __init__(self, *args: Any, C: float) -> None:
        super().__init__(*args)
        self.C = C

    def _settings(self) -> str:
        return f"C={self.C:g}"

    def _to_alpha(self, status: np.ndarray, theta: np.ndarray, value: float) -> np.ndarray:
        lower, upper = self._line.lower(value), self._line.upper(value)
        inside = np.clip(theta, lower, upper)
        return np.where(status == FREE, inside, np.where(status == UPPER, upper, lower))

    def _to_theta(self, alpha: np.ndarray, value: float) -> np.ndarray:
        return alpha
