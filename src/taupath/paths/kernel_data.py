"""Training data seen through a kernel."""

from typing import Any

import numpy as np

from taupath._core._kernel_rows import CachedRows, MatrixRows
from taupath._core._rows import Rows
from taupath.engine.readers import made_once
from taupath.engine.record import Solution
from taupath.engine.rows import make_rows
from taupath.paths.blocks import slices
from taupath.paths.evaluation import Evaluation, KernelEvaluation
from taupath.paths.intercept import Intercept, free_intercept
from taupath.paths.kernels import (
    Kernel,
    check_symmetric,
    clipped,
    is_indefinite,
    low_rank_factor,
    warn_of_indefinite,
)
from taupath.paths.training_data import Points, Responses, TrainingData

# What `cache_size` is given in.
MEGABYTE = 1e6
# Least number of rows of a kernel matrix that the cache must hold: with fewer, nearly every step
# of a walk would compute the rows of the free points again.
FEWEST_ROWS = 100
# A kernel matrix whose rank is at most this is replaced by vectors of as many dimensions: their
# products cost less than rows of the matrix.
MOST_COLUMNS = 512
# Samples at a time if the kernel matrix is not kept: blocks of a few megabytes.
DIAGONAL_BLOCK = 256
# Negative eigenvalues are looked for in the kernel matrix of at most this many samples, which takes
# under a second.
SAMPLES_LOOKED_AT = 1000
NO_COEF = "only a path with the linear kernel has coef; use decision_function"


class KernelData(TrainingData):
    """Samples seen through a kernel; `X` holds features or, where precomputed, the kernel.

    The kernel matrix is kept if it takes no more than `budget` bytes. Otherwise its rows are
    computed on demand, and as many of them as fit into the budget are kept, but at least those of
    the free points.
    """

    def __init__(
        self,
        X: Any,
        responses: Responses,
        constant: Intercept | None,
        kernel: Kernel,
        budget: float,
    ) -> None:
        super().__init__(X, responses, constant or Intercept(1.0, free=True))
        if constant is None:
            del self.constant  # made on demand: it takes the kernel of all samples
        self.kernel: Kernel = kernel
        self.budget = budget
        row = 8 * X.shape[0]
        self._in_memory = row * X.shape[0] <= budget
        self._n_slots = int(budget // row)
        if not self._in_memory and self._n_slots < FEWEST_ROWS:
            raise ValueError(
                f"cache_size={budget / MEGABYTE:g} (MB) holds {self._n_slots} rows of the kernel "
                f"matrix of {X.shape[0]} samples, {FEWEST_ROWS} are needed: give at least "
                f"{FEWEST_ROWS * row / MEGABYTE:.3g}"
            )

    @made_once
    def constant(self) -> Intercept:
        """The free intercept."""
        return free_intercept(float(np.median(self.diagonal)))

    @made_once
    def signed_matrix(self) -> np.ndarray:
        """sign_i sign_j k(x_i, x_j), if it is kept."""
        K = np.ascontiguousarray(self.between(slice(None), slice(None)))
        if (self.sign == 1.0).all():
            return K
        # signs are put in where K is: another large array would take longer than the products
        own = K if self.kernel.known else K.copy()
        own *= self.sign
        own *= self.sign[:, np.newaxis]
        return own

    @made_once
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i): the same numbers, whether the kernel matrix is there already or not."""
        if self.kernel.function == "rbf":
            return np.ones(self.shape[0])
        if self.kernel.precomputed:
            return np.array(self.X.diagonal())
        if self._in_memory and not self.kernel.known:
            return self.signed_matrix.diagonal().copy()
        parts = slices(self.shape[0], DIAGONAL_BLOCK)
        return np.concatenate([self.kernel(self.X[i], self.X[i]).diagonal() for i in parts])

    def with_samples(self, X: Any, responses: Responses) -> TrainingData:
        """Return other samples, or their kernel matrix, with the same kernel."""
        data = KernelData(X, responses, self.constant, self.kernel, self.budget)
        data.centred = self.centred
        return data

    def check_symmetric(self) -> None:
        """Refuse a kernel that is not symmetric."""
        if self.kernel.known:
            return
        if self._in_memory:
            _ = self.signed_matrix  # the kernel of all samples is not computed twice
        whole = slice(None)
        check_symmetric(self.between(whole, whole) if self._in_memory else self._some())

    def warn_if_indefinite(self) -> None:
        """Warn of a kernel that is not positive semidefinite."""
        if self.indefinite:
            warn_of_indefinite(self._eigenvalues, walked=self._in_memory)

    @made_once
    def _eigenvalues(self) -> np.ndarray:
        """Those of the kernel matrix of some samples."""
        return np.asarray(np.linalg.eigvalsh(self._some()))

    @property
    def indefinite(self) -> bool:
        """Whether the kernel has negative eigenvalues beyond rounding."""
        return not self.kernel.positive and is_indefinite(self._eigenvalues)

    def _some(self) -> np.ndarray:
        """Return the kernel matrix of evenly spaced samples, at most SAMPLES_LOOKED_AT."""
        few = slice(None, None, -(-self.shape[0] // SAMPLES_LOOKED_AT))
        return self.between(few, few)

    def between(self, one: Any, other: Any) -> np.ndarray:
        """Return k(x_i, x_j) for some i and some j."""
        if self.kernel.precomputed:
            return np.asarray(self.X[one][:, other])
        if "signed_matrix" in self.__dict__:
            signed = self.signed_matrix[one][:, other]
            return np.asarray(self.sign[one][:, np.newaxis] * signed * self.sign[other])
        return self.kernel(self.X[one], self.X[other])

    def _signed_row(self, i: int) -> np.ndarray:
        row = self.between(slice(i, i + 1), slice(None))[0]
        return np.asarray(self.sign[i] * row * self.sign)

    @made_once
    def rows(self) -> Rows:
        """The z_i: as vectors if K has low rank, else as rows of their Gram matrix.

        For an indefinite kernel, those of the nearest positive semidefinite matrix.
        """
        Q = self.signed_matrix if self._in_memory else None
        bias, free = self.constant.bias, self.constant.free
        sign = self.sign.astype(np.int8)
        if self.indefinite and Q is not None:
            Q = clipped(Q)  # with signs or without: only vectors turn around
        diagonal = self.diagonal if Q is None else Q.diagonal()
        most = min(MOST_COLUMNS, self.shape[0] // 2)
        signed = low_rank_factor(diagonal, self._signed_row if Q is None else Q.__getitem__, most)
        if signed is not None:
            return make_rows(self.sign[:, np.newaxis] * signed, self.sign, bias, balanced=free)
        if Q is not None:
            return MatrixRows(Q, sign, bias, free)
        return CachedRows(
            self._signed_row,
            self.diagonal,
            sign,
            bias,
            free,
            self._n_slots,
        )

    def uncentred(self, w: np.ndarray, multiplier: Any, centre: float) -> tuple[np.ndarray, Any]:
        """Return w and the multiplier for y as given; w holds no intercept that is used."""
        return w, multiplier + centre

    def constant_function(self, value: float) -> tuple[np.ndarray, float]:
        """Return w and the multiplier of f(x) = value, which is 0 unless the intercept is free."""
        w = np.zeros(self.rows.n_cols)
        if value and not self.rows.dual:
            w[-1] = value / self.constant.bias
        return w, value

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return the rows, in the given order."""
        return self.rows, None

    def coef(self, solution: Solution) -> np.ndarray:
        """Refuse: with a kernel, features have no weights."""
        raise AttributeError(NO_COEF)

    def intercept(self, solution: Solution) -> float:
        """Return the constant part of the decision function."""
        if self.constant.free or self.own_intercept:
            return solution.multiplier
        return float(self.constant.bias**2 * (self.sign @ solution.theta))

    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return the kernel, the support vectors and their coefficients."""
        support = np.flatnonzero(solution.theta)
        return {
            "kernel": self.kernel,
            "support": support,
            "support_vectors": None if self.kernel.precomputed else self.X[support],
            "dual_coef": (self.sign * solution.theta)[support],
        }

    def decide(self, X: Any, solution: Solution) -> np.ndarray:
        """Return the decision function at checked features."""
        parts = self.parts(solution)
        K = self.kernel.with_support(X, parts["support"], parts["support_vectors"])
        return np.asarray(K @ parts["dual_coef"]) + self.intercept(solution)

    by_theta = True

    def weights(self, coef: np.ndarray, columns: Any = None) -> np.ndarray:
        """Refuse: with a kernel, features have no weights."""
        raise AttributeError(NO_COEF)

    def distance(self, theta: np.ndarray) -> float:
        """Return ‖Σ θ_i φ(x_i)‖, for the difference of two θ."""
        signed = self.sign * theta
        return float(np.sqrt(max(signed @ self.times(signed), 0.0)))

    def features(self, X: Any) -> Any:
        """Return the kernel of checked X with the training samples."""
        return X if self.kernel.precomputed else self.kernel(X, self.X)

    def norms(self, X: Any) -> np.ndarray:
        """Return ‖φ(x)‖ of each row, or infinity if the kernel may be indefinite."""
        return self.kernel.norms(X)

    def squared_norms(self) -> np.ndarray:
        """Return k(x_i, x_i)."""
        return self.diagonal

    @made_once
    def lengths(self) -> np.ndarray:
        """‖φ(x_i)‖ of the training samples."""
        return np.asarray(np.sqrt(np.abs(self.diagonal)))

    def points(self, solution: Solution) -> Points:
        """Return the point w = Σ θ_i z_i, both primal and dual."""
        signed = self.sign * solution.theta
        values = self.times(signed)
        margin = self.sign * (values + self.intercept(solution))
        rest = 0.0 if self.constant.free else self.constant.bias * float(signed.sum())
        pair = np.append(signed, rest), np.append(values, rest)
        return Points(margin, pair, pair)

    def evaluation(self, solution: Solution) -> Evaluation:
        """Return θ and w = Σ θ_i z_i, to be measured by the kernel matrix."""
        return KernelEvaluation(
            solution.theta,
            self.sign,
            self.target,
            self.intercept(solution),
            self.constant.bias,
            self.constant.free,
            self.diagonal,
            self.times,
            self._rows_of,
            self._magnitude,
            not self.rows.dual,
        )

    def _rows_of(self, members: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return k(x_i, x_j) for some i and some j."""
        if self._in_memory:
            signed = self.signed_matrix[np.ix_(members, columns)]
            return np.asarray(self.sign[members][:, np.newaxis] * signed * self.sign[columns])
        if len(members) == 0 or len(columns) == 0:
            return np.zeros((len(members), len(columns)))
        return self.between(members, columns)

    def _magnitude(self, size: np.ndarray) -> np.ndarray:
        """Return an upper bound of Σ_j |k(x_i, x_j)| size_j for each i."""
        if self.kernel.positive:
            lengths = np.sqrt(np.abs(self.diagonal))
            return np.asarray((1.0 + 1e-6) * (size @ lengths) * lengths)
        parts = slices(self.shape[0], DIAGONAL_BLOCK)
        support = np.flatnonzero(size)
        return np.concatenate(
            [np.abs(self.between(some, support)) @ size[support] for some in parts]
        )

    def times(self, signed: np.ndarray) -> np.ndarray:
        """Return the kernel matrix times a vector."""
        if self._in_memory:
            return np.asarray(self.sign * (self.signed_matrix @ (self.sign * signed)))
        support = np.flatnonzero(signed)
        if len(support) == 0:
            return np.zeros(self.shape[0])
        parts = slices(self.shape[0], DIAGONAL_BLOCK)
        return np.concatenate([self.between(some, support) @ signed[support] for some in parts])
