"""Training data with copies of samples: each group of copies is one point of the walk.

Copies have equal rows and targets, and boxes in proportion to their weights. So a point whose box
is the sum of theirs has the same solutions, and they share its θ in proportion to their weights.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath._core._rows import Rows
from taupath.engine.readers import made_once
from taupath.engine.record import Solution
from taupath.paths.copies import Copies, find_copies
from taupath.paths.crossings import Functions
from taupath.paths.extra_rows import ExtendedData
from taupath.paths.kernel_data import KernelData
from taupath.paths.kernels import check_symmetric
from taupath.paths.training_data import Responses, Sweep, TrainingData


def merge_copies(
    X: Any,
    responses: Responses,
    make: Callable[[Any, Responses], TrainingData],
    precomputed: bool = False,
) -> TrainingData:
    """Return training data in which copies of a sample are one point of the walk.

    ``make(X, responses)`` returns the training data of samples without copies. If X is a
    `precomputed` kernel matrix, samples are left out of its columns, too.
    """
    copies = find_copies(X, responses, square=precomputed)
    if copies is None:
        return make(X, responses)
    first = copies.first
    if precomputed:
        check_symmetric(X)  # here, where samples have the numbers that users know them by
    distinct = make(X[np.ix_(first, first)] if precomputed else X[first], copies.merged(responses))
    if isinstance(distinct, KernelData):
        return RepeatedKernelData(X, responses, distinct, copies)
    if isinstance(distinct, ExtendedData):
        return RepeatedExtendedData(X, responses, distinct, copies)
    return RepeatedData(X, responses, distinct, copies)


class _Repeated(TrainingData):
    """What the two classes below have in common: all samples, and the distinct ones."""

    def __init__(
        self, X: Any, responses: Responses, distinct: TrainingData, copies: Copies
    ) -> None:
        # what was decided for the distinct samples holds for all: the intercept, the kernel
        state = distinct.__getstate__() | {"X": X, "responses": responses}
        state.pop("_packed", None)  # the rows of the distinct samples
        self.__setstate__(state)
        self._distinct, self._copies = distinct, copies
        whole = distinct.weight[copies.group]
        share = np.divide(self.weight, whole, out=np.zeros_like(whole), where=whole > 0.0)
        self._share = share  # of each sample in the weight of its group

    @property
    def distinct(self) -> TrainingData:
        """One sample of each group of copies, with the sum of their weights."""
        return self._distinct

    @property
    def places(self) -> np.ndarray:
        """The number of each distinct sample among all samples: that of its first copy."""
        return self._copies.first

    @property
    def group(self) -> np.ndarray:
        """The number of the distinct sample that each sample is a copy of."""
        return self._copies.group

    def expand(self, solution: Solution) -> Solution:
        """Return the solution of all samples, given that of the distinct ones."""
        solution = super().expand(solution)
        status, theta = solution.status[self._copies.group], self.expand_theta(solution.theta)
        return solution._replace(status=status, theta=theta)

    def expand_theta(self, theta: np.ndarray) -> np.ndarray:
        """Return θ of all samples, the last axis, given those of the distinct ones."""
        return np.asarray(theta[..., self._copies.group] * self._share)

    def merge_theta(self, theta: np.ndarray) -> np.ndarray:
        """Return θ of the distinct samples, the last axis, given those of all."""
        return self._copies.sums(theta)

    # -- decision functions are kept as those of the distinct samples ---------------------------

    @property
    def width(self) -> int:
        """Number of coefficients of a decision function as it is kept."""
        return self._distinct.width

    def functions(self, swept: Sweep) -> Functions:
        """Return the decision functions of solutions at consecutive nodes."""
        return self._distinct.functions(swept)

    def features(self, X: Any) -> Any:
        """Return checked X, or its products with the distinct training samples."""
        return self._distinct.features(X)

    def weights(self, coef: np.ndarray, columns: Any = None) -> np.ndarray:
        """Return the feature weights of functions with these coefficients; optionally only some."""
        return self._distinct.weights(coef, columns)


class RepeatedData(_Repeated):
    """Samples with copies, for the linear kernel."""

    @property
    def by_theta(self) -> bool:
        """Whether decision functions are kept as θ instead of w."""
        return self._distinct.by_theta


class RepeatedExtendedData(_Repeated, ExtendedData):
    """Samples with copies, and extra rows."""


class RepeatedKernelData(_Repeated, KernelData):
    """Samples with copies, seen through a kernel, which is computed of the distinct ones."""

    _distinct: KernelData

    def __init__(self, X: Any, responses: Responses, distinct: KernelData, copies: Copies) -> None:
        super().__init__(X, responses, distinct, copies)
        self._in_memory = False  # the kernel matrix of all samples is not kept

    def between(self, one: Any, other: Any) -> np.ndarray:
        """Return k(x_i, x_j) for some i and some j."""
        group = self._copies.group
        return self._distinct.between(group[one], group[other])

    @property
    def indefinite(self) -> bool:
        """Whether the kernel has negative eigenvalues beyond rounding."""
        return self._distinct.indefinite

    @made_once
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i)."""
        return np.asarray(self._distinct.diagonal[self._copies.group])

    @property
    def rows(self) -> Rows:
        """The z_i of the distinct samples, in whose coordinates w is."""
        return self._distinct.rows

    def times(self, signed: np.ndarray) -> np.ndarray:
        """Return the kernel matrix times a vector."""
        return np.asarray(self._distinct.times(self._copies.sums(signed))[self._copies.group])

    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return the kernel, the support vectors, each only once, and their coefficients."""
        summed = solution._replace(theta=self._copies.sums(solution.theta))
        found = self._distinct.parts(summed)
        return {**found, "support": self._copies.first[found["support"]]}

    def features(self, X: Any) -> Any:
        """Return the kernel of checked X with the distinct training samples."""
        return X[:, self._copies.first] if self.kernel.precomputed else super().features(X)
