"""What is left of training data with a kernel when only the support vectors are kept."""

from typing import Any

import numpy as np

from taupath.engine.record import Solution
from taupath.paths.intercept import Intercept
from taupath.paths.kernel_data import KernelData
from taupath.paths.kernels import Kernel
from taupath.paths.training_data import Responses, TrainingData


class SupportVectors(KernelData):
    """The support vectors of all solutions of a path; its other training samples are not at hand.

    `support` are their places among the training samples, of which there were `shape[0]`. X has a
    row for each of them; it is empty if the kernel is precomputed.
    """

    own_intercept = True

    def __init__(
        self,
        X: Any,
        support: np.ndarray,
        shape: tuple[int, int],
        responses: Responses,
        constant: Intercept,
        kernel: Kernel,
    ) -> None:
        TrainingData.__init__(self, X, responses, constant)  # there is no kernel matrix to keep
        self.kernel, self.support, self._shape = kernel, support, shape

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of training samples and of features."""
        return self._shape

    @property
    def at_hand(self) -> bool:
        """Whether X holds the training samples."""
        return False

    @property
    def width(self) -> int:
        """Number of coefficients of a decision function as it is kept."""
        return len(self.support)

    def features(self, X: Any) -> np.ndarray:
        """Return the kernel of checked X with the support vectors."""
        return np.asarray(self.kernel.with_support(X, self.support, self.X))

    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return the kernel, the support vectors of one solution, and their coefficients."""
        used = np.flatnonzero(solution.theta)
        return {
            "kernel": self.kernel,
            "support": self.support[used],
            "support_vectors": None if self.kernel.precomputed else self.X[used],
            "dual_coef": (self.sign * solution.theta)[used],
        }
