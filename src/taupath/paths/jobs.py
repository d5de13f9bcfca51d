"""What is solved along a path: the boxes of θ, the parameter of the path, and α in terms of θ.

Each job is a choice of boxes that are affine in t, the place on its line.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from taupath.engine.problem import Line
from taupath.engine.record import Solution
from taupath.engine.status import FREE, UPPER
from taupath.engine.tolerances import RAISE
from taupath.paths.intercept import restore_balance
from taupath.paths.training_data import Responses, TrainingData
from taupath.validation import check_labels, check_targets, check_weight, check_weighted_classes


@dataclass(frozen=True)
class Boxes:
    """l and h of a sample of weight 1 at both ends of a line, each for signs +1 and -1."""

    lower0: np.ndarray
    lower1: np.ndarray
    upper0: np.ndarray
    upper1: np.ndarray

    @property
    def ends(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """All four, in the order of `Line`."""
        return self.lower0, self.lower1, self.upper0, self.upper1

    def lower(self, t: float | np.ndarray) -> np.ndarray:
        """Return l at t; for a column of t, one row each."""
        return np.asarray((1.0 - t) * self.lower0 + t * self.lower1)

    def upper(self, t: float | np.ndarray) -> np.ndarray:
        """Return h at t; for a column of t, one row each."""
        return np.asarray((1.0 - t) * self.upper0 + t * self.upper1)

    def widest(self) -> float:
        """Return the largest |l| or |h|: what one unit of slack costs at most."""
        return float(max(np.abs(end).max() for end in self.ends))

    def line(self, responses: Responses) -> Line:
        """Return the line of these boxes for samples with these signs, targets and weights."""
        own = (responses.sign < 0.0).astype(np.intp)
        lower0, lower1, upper0, upper1 = (responses.weight * end[own] for end in self.ends)
        return Line(lower0, lower1, upper0, upper1, responses.target, responses.target)


class Way(NamedTuple):
    """How the line of a job was walked."""

    backward: bool = False  # from its end at t = 1
    turned: bool = False  # the walk was that of -θ
    unit: float = 1.0  # θ and w of the job are this many times those of the walk
    rise: float = RAISE  # what the targets were raised by, in units of the walk
    centre: float = 0.0  # what was subtracted from y, with a free intercept


class Job(ABC):
    """What is solved along a path."""

    kind: ClassVar[str]  # its name in model files
    parameter: ClassVar[str] = "tau"  # the parameter of the path, in arguments
    symbol: ClassVar[str] = "τ"  # and in prose
    unit_at: ClassVar[float] = 0.5  # gaps of approximate paths are relative to P(0) at this t
    C: float  # weight of the loss, if it is fixed
    classes: np.ndarray | None  # the labels, the second one positive; None for regression

    @property
    @abstractmethod
    def boxes(self) -> Boxes:
        """The boxes of a sample of weight 1."""

    @property
    def settings(self) -> str:
        """The fixed parameters of the path, as `repr` shows them."""
        return f"C={self.C:g}"

    @abstractmethod
    def responses(self, y: Any, n_samples: int, sample_weight: Any) -> Responses:
        """Return signs, targets and weights for this y, checked."""

    def to_t(self, value: Any) -> Any:
        """Return the t of a value of the parameter."""
        return value

    def from_t(self, t: Any) -> Any:
        """Return the value of the parameter at t."""
        return t

    def tau_at(self, value: float) -> float:
        """Return the τ at a value of the parameter."""
        return value

    def line(self, data: TrainingData) -> Line:
        """Return bounds and targets of all training samples, and of extra rows."""
        return data.extended(self.boxes.line(data.responses))

    def line_to_walk(self, data: TrainingData, way: Way) -> Line:
        """Return the line as it is walked, before its targets are raised."""
        line = self.line(data)
        return line.reversed() if way.backward else line

    @abstractmethod
    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return α / θ, which may be infinite where θ = 0."""

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the lower and the upper bound of each α, where α / θ is finite."""
        line, t = self.boxes.line(data.responses), self.to_t(value)
        scale = self.alpha_scale(len(data.sign), value)
        return scale * line.lower(t), scale * line.upper(t)

    def alpha(self, data: TrainingData, solution: Solution, value: float) -> np.ndarray:
        """Return α, exactly at its bound for samples of the bound sets."""
        lower, upper = self.alpha_bounds(data, value)
        scale = self.alpha_scale(len(lower), value)
        inside = np.clip(solution.theta * scale, lower, upper) if np.isfinite(scale) else upper
        at_bound = np.where(solution.status == UPPER, upper, lower)
        free = solution.status == FREE
        alpha = np.where(free, inside, at_bound)
        if data.centred:
            # with a kernel, w moves with θ
            roundings = len(alpha) if data.kernel is None else 2
            restore_balance(alpha, data.sign, lower, upper, free, data.lengths, roundings)
        return alpha

    def in_boxes(self, data: TrainingData, solution: Solution, value: float) -> Solution:
        """Return the solution with each θ in its box, exactly at its bound if it belongs there."""
        alpha = self.alpha(data, solution, value)
        return solution._replace(theta=alpha / self.alpha_scale(len(alpha), value))


class SVM(Job):
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

    @staticmethod
    def cost_bounds(data: TrainingData, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 0 and c_i(τ) (the paper's Eq. 4, times the sample's weight)."""
        own = (data.sign < 0.0).astype(np.intp)
        return np.zeros(len(own)), costs_at(tau)[own] * data.weight / len(own)


@dataclass(frozen=True, eq=False)
class QuantileClassification(SVM):
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
        return Boxes(zero, zero, self.C * costs_at(0.0), self.C * costs_at(1.0))

    def lam(self, n_samples: int) -> float:
        """Return λ = 1 / (n C)."""
        return 1.0 / (n_samples * self.C)

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return λ."""
        return self.lam(n_samples)

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 0 and c_i(τ)."""
        return self.cost_bounds(data, value)


@dataclass(frozen=True, eq=False)
class Regularization(SVM):
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
        return Boxes(zero, zero, zero, self.C_max * costs_at(self.tau))

    @property
    def settings(self) -> str:
        """The fixed τ, as `repr` shows it."""
        return f"tau={self.tau:g}"

    def to_t(self, value: Any) -> Any:
        """Return C / C_max."""
        return value / self.C_max

    def from_t(self, t: Any) -> Any:
        """Return C."""
        return self.C_max * t

    def tau_at(self, value: float) -> float:
        """Return the fixed τ."""
        return self.tau

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return λ = 1 / (n C)."""
        return 1.0 / (n_samples * value) if value > 0.0 else np.inf

    def alpha_bounds(self, data: TrainingData, value: float) -> tuple[np.ndarray, np.ndarray]:
        """Return 0 and c_i(τ)."""
        return self.cost_bounds(data, self.tau)


@dataclass(frozen=True, eq=False)
class QuantileRegression(Job):
    """Quantile regression over τ (Takeuchi et al. 2006): t = τ, C (τ - 1) ≤ θ ≤ C τ; α = θ."""

    C: float
    classes: None = field(default=None, init=False, repr=False)
    kind: ClassVar[str] = "regression"

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

        Either begins where its boxes have a bound at zero. Raising the targets costs
        Σ (θ_i - l_i) δ, and raising those of -θ costs Σ (h_i - θ_i) δ: each vanishes together with
        the objective where its walk begins.
        """
        target = data.target - way.centre
        target = (-target if way.turned else target) / way.unit
        in_units = replace(self, C=self.C / way.unit)
        line = in_units.boxes.line(data.responses._replace(target=target))
        line = data.extended(line, way.unit).reversed()
        return replace(line, typical=min(data.units.typical / way.unit, 1.0) or 1.0)

    def alpha_scale(self, n_samples: int, value: float) -> float:
        """Return 1."""
        return 1.0


def costs_at(tau: float) -> np.ndarray:
    """Return c(τ) of positive and of negative samples: the cost of hinge loss 1, for C = 1."""
    return np.array([2.0 * (1.0 - tau), 2.0 * tau])


def label_responses(y: Any, n_samples: int, sample_weight: Any) -> tuple[np.ndarray, Responses]:
    """Return the two classes of y, and signs, targets and weights."""
    classes, positive = check_labels(y, n_samples)
    weight = check_weight(sample_weight, n_samples)
    check_weighted_classes(weight, classes, positive)
    return classes, Responses(np.where(positive, 1.0, -1.0), np.ones(n_samples), weight)


def target_responses(y: Any, n_samples: int, sample_weight: Any) -> Responses:
    """Return signs, targets and weights for numbers y to be predicted."""
    targets = check_targets(y, n_samples)
    return Responses(np.ones(n_samples), targets, check_weight(sample_weight, n_samples))
