"""Training data whose features stay as they are stored: float32 is not copied to float64."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.approximate.row_sums import RowSums
from taupath.engine.record import Solution
from taupath.engine.rows import make_rows
from taupath.paths.intercept import Intercept
from taupath.paths.training_data import Responses, TrainingData
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

    def _multiplications(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return the functions v ↦ X v and θ ↦ Xᵀ θ."""
        unsigned = make_rows(self.X, np.ones(self.X.shape[0]), 0.0)
        return unsigned.products, unsigned.combine


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
