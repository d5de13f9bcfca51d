"""The solutions of a path, however they were found and wherever they are kept."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from taupath.engine.record import Solution
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.certificate import Certificate, Measure
from taupath.paths.jobs import Job
from taupath.paths.training_data import Sweep, TrainingData
from taupath.validation import check_within


class Solutions(ABC):
    """Solutions of a job on training data, for every value of its parameter within a range.

    They are linear between `kinks`, which increase and include both ends. `counters` tell what it
    took to find them.
    """

    method: ClassVar[str]  # "exact" or "approximate"
    noun: ClassVar[str] = "nodes"  # what `repr` calls the kinks
    tol: float | None = None  # the bound on all gaps, if solutions are approximate
    stated: Certificate | None = None  # the stored certificate, if there are no data any more

    def __init__(
        self, job: Job, data: TrainingData, kinks: np.ndarray, counters: dict[str, int]
    ) -> None:
        self.job, self.data, self.kinks, self.counters = job, data, kinks, counters
        self.kinks.flags.writeable = False

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.kinks.flags.writeable = False  # which NumPy does not pickle

    @property
    def range(self) -> tuple[float, float]:
        """The first and the last value of the parameter."""
        return float(self.kinks[0]), float(self.kinks[-1])

    def check(self, value: Any) -> float:
        """Return a value of the parameter; raise ValueError unless it is within the range."""
        return check_within(value, self.job.parameter, self.range)

    @property
    def nodes(self) -> np.ndarray:
        """The nodes of `sweep`: the kinks, listed twice where functions may jump."""
        return self.kinks

    @property
    @abstractmethod
    def nbytes(self) -> int:
        """Bytes of what is kept, without the training data."""

    @abstractmethod
    def solution(self, value: float) -> Solution:
        """Return the solution, computed from the data."""

    def function(self, value: float) -> Solution:
        """Return a solution whose decision function is right; the rest may be missing."""
        return self.solution(value)

    @abstractmethod
    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the solutions at the nodes first, ..., last - 1."""

    @abstractmethod
    def measure(self, value: float) -> Measure:
        """Measure how far from optimal the solution is, from the data."""

    @abstractmethod
    def certify(self, max_points: int | None) -> Certificate:
        """Measure how far from optimal all solutions are, from the data."""

    def attach(self, X: Any, y: Any, sample_weight: Any) -> "Solutions":
        """Return the same solutions with these training data."""
        raise ValueError("this path has its training data: certify() needs no X and y")

    def alpha(self, value: float) -> Any:
        """Return the dual solution."""
        return self.job.alpha(self.data, self.solution(value), value)

    def index_sets(self, value: float) -> tuple[Any, Any, Any]:
        """Return the samples whose θ is at its upper bound, free, and at its lower bound."""
        status = self.solution(value).status
        upper, free, lower = (np.flatnonzero(status == one) for one in (UPPER, FREE, LOWER))
        return upper, free, lower

    def decisions(self, X: Any, asked: Any) -> Any:
        """Return f(x) at one value of the parameter, or at several, one column each."""
        X = self.data.check_new(X)
        return decide_at(self.data, lambda value: self.function(self.check(value)), X, asked)


def decide_at(
    data: TrainingData, function: Callable[[Any], Solution], X: Any, asked: Any
) -> np.ndarray:
    """Return f(x) at one value of the parameter, or at several, one column each; X is checked."""
    if np.ndim(asked) == 0:
        return data.decide(X, function(asked))
    found = np.empty((X.shape[0], len(asked)))
    for k in np.argsort(asked, kind="stable"):  # neighbours on the path share their factor
        found[:, k] = data.decide(X, function(asked[k]))
    return found
