"""What is solved along a path: the boxes of θ, the parameter of the path, and α in terms of θ.

Each job is a choice of boxes that are affine in t, the place on its line.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from taupath.engine.problem import Line
from taupath.engine.status import FREE, UPPER
from taupath.engine.tolerances import RAISE
from taupath.paths.training_data import Responses, Solution, TrainingData
from taupath.validation import (
    check_labels,
    check_targets,
    check_weight,
    check_weighted_classes,
)


@dataclass(frozen=True)
class Boxes:
    """l and h of a sample of weight 1 at both ends of a line; affine in between.

    Each has two entries: for samples with sign +1 and with sign -1.
    """

    lower0: np.ndarray
    lower1: np.ndarray
    upper0: np.ndarray
    upper1: np.ndarray

    def lower(self, t: float | np.ndarray) -> np.ndarray:
        """Return l at t; for a column of t, one row each."""
        return np.asarray((1.0 - t) * self.lower0 + t * self.lower1)

    def upper(self, t: float | np.ndarray) -> np.ndarray:
        """Return h at t; for a column of t, one row each."""
        return np.asarray((1.0 - t) * self.upper0 + t * self.upper1)

    def widest(self) -> float:
        """Return the largest loss of margin one of a sample of weight 1, anywhere."""
        return float(
            max(np.abs(e).max() for e in (self.lower0, self.lower1, self.upper0, self.upper1))
        )

    def line(self, responses: Responses) -> Line:
        """Return the line of these boxes for samples with these signs, targets and weights."""
        own = (responses.sign < 0.0).astype(np.intp)
        ends = (self.lower0, self.lower1, self.upper0, self.upper1)
        lower0, lower1, upper0, upper1 = (responses.weight * end[own] for end in ends)
        return Line(lower0, lower1, upper0, upper1, responses.target, responses.target)


class Way(NamedTuple):
    """How the line of a job was walked.

    Attributes
    ----------
    backward : bool
        From its end at t = 1.
    turned : bool
        The walk was that of -θ.
    unit : float
        θ and w of the job are this many times those of the walk.
    rise : float
        What the targets were raised by, in units of the walk.
    """

    backward: bool = False
    turned: bool = False
    unit: float = 1.0
    rise: float = RAISE


class Job(ABC):
    """What is solved along a path.

    Attributes
    ----------
    kind : str
        Its name in model files.
    parameter, symbol : str
        What the parameter of the path is called in arguments and in prose.
    unit_at : float
        Gaps of approximate paths are measured in units of the objective at w = 0 and this t.
    C : float
        Weight of the loss, where it is fixed.
    classes : ndarray of shape (2,) or None
        The labels, the second one positive; None for regression.
    corrects_targets : bool
        Whether raised targets can show in the duality gap, so that solutions of a walk are
        corrected to the given ones.
    """

    kind: ClassVar[str]
    parameter: ClassVar[str] = "tau"
    symbol: ClassVar[str] = "τ"
    unit_at: ClassVar[float] = 0.5
    corrects_targets: ClassVar[bool] = False
    C: float
    classes: np.ndarray | None = None

    @property
    @abstractmethod
    def boxes(self) -> Boxes:
        """The boxes of a sample of weight 1."""

    @property
    def settings(self) -> str:
        """What is fixed along the path, as `repr` shows it."""
        return f"C={self.C:g}"

    @abstractmethod
    def responses(self, y: Any, n_samples: int, sample_weight: Any) -> Responses:
        """Return signs, targets and weights for this y, checked."""

    def to_t(self, value: Any) -> Any:
        """Return the place on the line that a value of the parameter belongs to."""
        return value

    def from_t(self, t: Any) -> Any:
        """Return the value of the parameter at t."""
        return t

    def line(self, data: TrainingData) -> Line:
        """Return bounds and targets of all training samples."""
        return self.boxes.line(data.responses)

    def line_to_walk(self, data: TrainingData, way: Way) -> Line:
        """Return the line as it is walked, its targets not raised yet."""
        line = self.line(data)
        return line.reversed() if way.backward else line

    @abstractmethod
    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return α / θ, which may be infinite where θ = 0."""

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return what each α lies between."""
        line = self.line(data)
        return line.lower(value), line.upper(value)

    def alpha(self, data: TrainingData, solution: Solution, value: float) -> np.ndarray:
        """Return α, exactly at its bound where the index sets say so."""
        lower, upper = self.alpha_bounds(data, value)
        scale = self.alpha_scale(len(lower), value)
        inside = np.clip(solution.theta * scale, lower, upper) if np.isfinite(scale) else upper
        at_bound = np.where(solution.status == UPPER, upper, lower)
        return np.where(solution.status == FREE, inside, at_bound)

    def in_boxes(self, data: TrainingData, solution: Solution, value: float) -> Solution:
        """Return the solution with each θ within its bounds, or exactly at one."""
        alpha = self.alpha(data, solution, value)
        return solution._replace(theta=alpha / self.alpha_scale(len(alpha), value))


class _SVM(Job):
    """Hinge losses: a sample costs C c(τ), and α = λ θ lies between 0 and c(τ) / n."""

    classes: np.ndarray

    def responses(self, y: Any, n_samples: int, sample_weight: Any) -> Responses:
        """Return signs, targets and weights for these labels, which must be those of the path."""
        classes, responses = label_responses(y, n_samples, sample_weight)
        if not np.array_equal(classes, self.classes):
            raise ValueError(
                f"y has the classes {classes.tolist()}, the path was trained on "
                f"{self.classes.tolist()}"
            )
        return responses


@dataclass(frozen=True, eq=False)
class QuantileClassification(_SVM):
    """The asymmetric-cost SVM over τ (the paper's Eqs. 4 and 8): t = τ.

    A positive sample's box ends at 2 C (1 - τ), a negative one's at 2 C τ.
    """

    C: float
    classes: np.ndarray
    kind: ClassVar[str] = "classification"

    @property
    def boxes(self) -> Boxes:
        """The boxes of a sample of weight 1."""
        zero = np.zeros(2)
        return Boxes(zero, zero, self.C * _costs(0.0), self.C * _costs(1.0))

    def lam(self, n_samples: int) -> float:
        """Return λ = 1 / (n C)."""
        return 1.0 / (n_samples * self.C)

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return λ."""
        return self.lam(n_samples)

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 0 and c_i(τ)."""
        return _cost_bounds(data, value)


@dataclass(frozen=True, eq=False)
class Regularization(_SVM):
    """The SVM with fixed τ over C (Hastie et al. 2004): t = C / C_max.

    A positive sample's box ends at 2 C (1 - τ), a negative one's at 2 C τ.
    """

    tau: float
    C_max: float
    classes: np.ndarray
    kind: ClassVar[str] = "regularization"
    parameter: ClassVar[str] = "C"
    symbol: ClassVar[str] = "C"
    unit_at: ClassVar[float] = 1.0

    @property
    def boxes(self) -> Boxes:
        """The boxes of a sample of weight 1."""
        zero = np.zeros(2)
        return Boxes(zero, zero, zero, self.C_max * _costs(self.tau))

    @property
    def settings(self) -> str:
        """τ."""
        return f"tau={self.tau:g}"

    def to_t(self, value: Any) -> Any:
        """Return C / C_max."""
        return value / self.C_max

    def from_t(self, t: Any) -> Any:
        """Return C."""
        return self.C_max * t

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return λ = 1 / (n C)."""
        return 1.0 / (n_samples * value) if value > 0.0 else np.inf

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 0 and c_i(τ)."""
        return _cost_bounds(data, self.tau)


@dataclass(frozen=True, eq=False)
class QuantileRegression(Job):
    """Quantile regression over τ (Takeuchi et al. 2006): t = τ, C (τ - 1) ≤ θ ≤ C τ; α = θ."""

    C: float
    kind: ClassVar[str] = "regression"
    corrects_targets: ClassVar[bool] = True

    @property
    def boxes(self) -> Boxes:
        """The boxes of a sample of weight 1."""
        zero, whole = np.zeros(2), np.full(2, self.C)
        return Boxes(-whole, zero, zero, whole)

    def responses(self, y: Any, n_samples: int, sample_weight: Any) -> Responses:
        """Return signs, targets and weights for these numbers."""
        return target_responses(y, n_samples, sample_weight)

    def line_to_walk(self, data: TrainingData, way: Way) -> Line:
        """Return the line from t = 1 to 0, or that of -θ (turned) from 0 to 1, in units of y.

        At the end of the path where either begins, its boxes begin at zero. Raising the targets
        costs Σ (θ_i - l_i) δ, and raising those of -θ costs Σ (h_i - θ_i) δ: each vanishes with
        the objective at its own end.
        """
        target = (-data.target if way.turned else data.target) / way.unit
        in_units = replace(self, C=self.C / way.unit)
        return in_units.boxes.line(data.responses._replace(target=target)).reversed()

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return 1."""
        return 1.0


def _costs(tau: float) -> np.ndarray:
    """Return what a unit of hinge loss costs, times 1 / C: of positive and negative samples."""
    return np.array([2.0 * (1.0 - tau), 2.0 * tau])


def _cost_bounds(data: TrainingData, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Return 0 and c_i(τ) (the paper's Eq. 4, times the sample's weight)."""
    own = (data.sign < 0.0).astype(np.intp)
    return np.zeros(len(own)), _costs(tau)[own] * data.weight / len(own)


def label_responses(y: Any, n_samples: int, sample_weight: Any) -> tuple[np.ndarray, Responses]:
    """Return the two classes of y, and what is asked of each sample."""
    classes, positive = check_labels(y, n_samples)
    weight = check_weight(sample_weight, n_samples)
    check_weighted_classes(weight, classes, positive)
    return classes, Responses(np.where(positive, 1.0, -1.0), np.ones(n_samples), weight)


def target_responses(y: Any, n_samples: int, sample_weight: Any) -> Responses:
    """Return what is asked of each sample where y holds the numbers to be predicted."""
    targets = check_targets(y, n_samples)
    return Responses(np.ones(n_samples), targets, check_weight(sample_weight, n_samples))
