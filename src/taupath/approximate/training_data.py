"""Training data whose features stay as they are stored: float32 is not copied to float64."""

from typing import Any

import numpy as np

from taupath.approximate.row_sums import RowSums
from taupath.engine.record import Solution
from taupath.engine.rows import make_rows
from taupath.paths.evaluation import Evaluation, LinearEvaluation
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

    def evaluation(self, solution: Solution) -> Evaluation:
        """Return the primal and the dual point of a solution, to be measured."""
        n_features = self.X.shape[1]
        unsigned = make_rows(self.X, np.ones(self.X.shape[0]), 0.0)
        return LinearEvaluation(
            solution.theta,
            self.sign,
            self.target,
            solution.w[:n_features],
            self.intercept(solution),
            self.constant.bias,
            self.constant.free,
            self.shift,
            self.most_terms,
            self.lengths,
            unsigned.products,
            unsigned.combine,
            self.X.__getitem__,
        )


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
