"""Jobs at one τ and one C whose extra rows move: over an L1 penalty, and over how fair w has to be.

The boxes of the samples rest; the line of the extra rows is part of the data. A penalty is a box
that grows, and a bound on a covariance is a target that falls.
"""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from taupath.paths.jobs import SVM, Boxes, costs_at
from taupath.paths.training_data import TrainingData


@dataclass(frozen=True, eq=False)
class Frontier(SVM):
    """The SVM with fixed τ and C over a parameter of its extra rows: t = value / `largest`."""

    tau: float
    C: float
    classes: np.ndarray
    unit_at: ClassVar[float] = 1.0

    @property
    @abstractmethod
    def largest(self) -> float:
        """The value at t = 1."""

    @property
    def boxes(self) -> Boxes:
        """The boxes of a sample of weight 1, which rest."""
        zero, upper = np.zeros(2), self.C * costs_at(self.tau)
        return Boxes(zero, zero, upper, upper)

    @property
    def settings(self) -> str:
        """The fixed parameters, as `repr` shows them."""
        return f"tau={self.tau:g}, C={self.C:g}"

    def lam(self, n_samples: int) -> float:
        """Return λ = 1 / (n C)."""
        return 1.0 / (n_samples * self.C)

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return λ."""
        return self.lam(n_samples)

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 0 and c_i(τ)."""
        return self.cost_bounds(data, self.tau)

    def to_t(self, value: Any) -> Any:
        """Return the part of the largest value."""
        return value / self.largest

    def from_t(self, t: Any) -> Any:
        """Return the value at t."""
        return self.largest * t


@dataclass(frozen=True, eq=False)
class Sparsity(Frontier):
    """Over the weight of the L1 penalty: the boxes of its rows end at ± t `l1_max`."""

    l1_max: float
    kind: ClassVar[str] = "sparsity"
    parameter: ClassVar[str] = "l1"
    symbol: ClassVar[str] = "λ₁"

    @property
    def largest(self) -> float:
        """The weight at t = 1."""
        return self.l1_max


@dataclass(frozen=True, eq=False)
class Fairness(Frontier):
    """Over the largest covariance of group and decision: the target of its row is -t `rho_max`."""

    rho_max: float
    kind: ClassVar[str] = "fairness"
    parameter: ClassVar[str] = "rho"
    symbol: ClassVar[str] = "ρ"

    @property
    def largest(self) -> float:
        """The covariance at t = 1, that without the constraint."""
        return self.rho_max
