"""Training data whose features stay as they are stored: float32 is not copied to float64."""

from typing import Any

import numpy as np

from taupath.approximate.row_sums import RowSums
from taupath.engine.problem import Line
from taupath.engine.rows import make_rows
from taupath.paths.certificate import TINY, Measure, measure
from taupath.paths.intercept import Intercept
from taupath.paths.training_data import Responses, Solution, TrainingData
from taupath.validation import check_new_features


class StoredData(TrainingData):
    """Training data for the linear kernel, of float32 or float64."""

    by_theta = False  # θ is not kept

    def row_sums(self) -> RowSums:
        """Return what computes sums over all samples."""
        return RowSums(self.rows, self.target, self.weight)

    def check_new(self, X: Any) -> Any:
        """Return the features of other samples, checked."""
        return check_new_features(X, self.X.shape[1], single=True)

    def decide(self, X: Any, solution: Solution) -> np.ndarray:
        """Return the decision function at checked features."""
        others = make_rows(X, np.ones(X.shape[0]), 0.0)
        return np.asarray(others.products(self.coef(solution)) + self.intercept(solution))

    def features(self, X: Any) -> Any:
        """Return checked X, of a few samples, as doubles."""
        return X.astype(np.float64, copy=False)

    def norms(self, X: Any) -> np.ndarray:
        """Return ‖x‖ of each row."""
        return np.asarray(make_rows(X, np.ones(X.shape[0]), 0.0).norms())

    def measure(self, solution: Solution, line: Line, t: float) -> Measure:
        """Measure w and θ independently, and how well w = Σ θ_i z_i holds."""
        theta, w, rows = solution.theta, solution.w, self.rows
        summed, margin = rows.combine(theta), rows.products(w)
        terms = float(np.abs(theta) @ rows.norms())
        if self.constant.free:
            w, summed = w[:-1], summed[:-1]
        longest = max(float(abs(self.X).max()), self.constant.bias, TINY)
        unit = (float(np.abs(line.target0).max()) or 1.0) / longest
        off = float(np.linalg.norm(w - summed)) / max(terms, unit)
        off = max(off, self.imbalance(theta, line, t))
        squared = float(w @ w), float(summed @ summed)
        return measure(theta, margin, line, t, *squared, off, longest)


class AbsentData(StoredData):
    """Training data that are not at hand, for the linear kernel: how many samples there were."""

    def __init__(self, shape: tuple[int, int], constant: Intercept) -> None:
        none = np.empty(0)
        super().__init__(np.empty((0, shape[1])), Responses(none, none, none), constant)
        self._shape = shape

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        return self._shape

    @property
    def at_hand(self) -> bool:
        """Whether X holds the samples."""
        return False
