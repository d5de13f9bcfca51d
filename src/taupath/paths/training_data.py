"""Training samples: what turns dual solutions into decision functions, and judges them."""

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath._core._kernel_rows import CachedRows, MatrixRows
from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.rows import make_rows, order_in_memory, with_fewer_columns
from taupath.paths.certificate import Measure, measure
from taupath.paths.crossings import Functions
from taupath.paths.intercept import Intercept, fixed_intercept, free_intercept, make_intercept
from taupath.paths.kernels import (
    Kernel,
    check_square,
    check_symmetric,
    clipped,
    is_indefinite,
    low_rank_factor,
    make_kernel,
    warn_of_indefinite,
)
from taupath.validation import check_new_features, check_positive, slices

__all__ = [
    "KernelSamples",
    "LinearSamples",
    "Samples",
    "Solution",
    "make_samples",
]

TINY = float(np.finfo(np.float64).tiny)
MEGABYTE = 1e6
# Rows of a kernel matrix that have to be at hand.
FEWEST_ROWS = 100
# Samples, up to which those with more features than these have functions made of θ: at all nodes,
# of which there are about two a sample, they take no more than `crossings.KEPT`.
MOST_BY_THETA = 4000
# Dimensions, of a kernel matrix that has few, in which vectors are used instead of it.
MOST_COLUMNS = 512
# Samples at a time where the kernel matrix is not kept.
DIAGONAL_BLOCK = 256
# Samples that are looked at to see whether a kernel matrix is positive semidefinite.
LOOKED_AT = 1000


# Status, θ, w, and the multiplier of the balance where there is one.
Solution = tuple[np.ndarray, np.ndarray, np.ndarray, float]


class Samples(ABC):
    """Samples x_i with signs, whose rows are z_i = sign_i [φ(x_i), bias]."""

    def __init__(self, X: Any, sign: np.ndarray, intercept: Intercept) -> None:
        self.X, self.sign, self.constant = X, sign, intercept

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        n_samples, n_features = self.X.shape
        return n_samples, n_features

    def __getstate__(self) -> dict[str, Any]:
        derived = ("rows", "sweep_rows", "matrix", "diagonal")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    @property
    @abstractmethod
    def rows(self) -> Rows:
        """The z_i."""

    @abstractmethod
    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows for a walk, and the order of the samples in them (None: the given one)."""

    @abstractmethod
    def coef(self, solution: Solution) -> np.ndarray:
        """Return the weights of the features."""

    @abstractmethod
    def intercept(self, solution: Solution) -> float:
        """Return the constant part of the decision function."""

    def constant_function(self, value: float) -> tuple[np.ndarray, float]:
        """Return w and multiplier of f(x) = value, where the intercept is free or this zero."""
        w = np.zeros(self.X.shape[1] + (self.constant.bias != 0.0))
        if value:
            w[-1] = value / self.constant.bias
        return w, value

    def check_new(self, X: Any) -> Any:
        """Return the features of other samples, checked, or their kernel with the training ones."""
        return check_new_features(X, self.X.shape[1])

    @abstractmethod
    def decide(self, X: Any, solution: Solution) -> np.ndarray:
        """Return the decision function at checked features."""

    @abstractmethod
    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return what, with the intercept, makes up the decision function."""

    @property
    def by_theta(self) -> bool:
        """Whether functions are made of θ instead of w."""
        return False

    @property
    def sweep_rows(self) -> Rows:
        """The z_i for sweeps that are after θ: of w, its length and its constant part matter."""
        return self.rows

    @abstractmethod
    def functions(
        self, w: np.ndarray, theta: np.ndarray | None, multiplier: np.ndarray
    ) -> Functions:
        """Return the decision functions of several solutions in a row."""

    def features(self, X: Any) -> Any:
        """Return what the coefficients of `functions` are multiplied with, for checked X."""
        return X

    def weights(self, coef: np.ndarray, columns: Any = None) -> np.ndarray:
        """Return the weights of all features, or some, in functions of these coefficients."""
        raise AttributeError("only a path with the linear kernel has coef; use decision_function")

    @abstractmethod
    def norms(self, X: Any) -> np.ndarray:
        """Return ‖φ(x)‖ of each row of checked X, infinity where it is not known."""

    @abstractmethod
    def measure(self, solution: Solution, line: Line, t: float) -> Measure:
        """Judge a solution of the line at t, from the data."""

    def _imbalance(self, theta: np.ndarray, line: Line, t: float) -> float:
        """Return how far Σ sign_i θ_i is from zero, where it has to be.

        As part of its terms, or of a box.
        """
        if not self.constant.free:
            return 0.0
        terms = max(float(np.abs(theta).sum()), float(line.width(t).max()), TINY)
        return abs(float(self.sign @ theta)) / terms


class LinearSamples(Samples):
    """Features used as they are; w is at hand.

    `response` is what samples are to be told apart by.
    """

    X: "np.ndarray | sp.csr_array"

    def __init__(
        self,
        X: "np.ndarray | sp.csr_array",
        sign: np.ndarray,
        intercept: Intercept,
        response: np.ndarray,
    ) -> None:
        super().__init__(X, sign, intercept)
        self._response = response

    @cached_property
    def rows(self) -> Rows:
        """The z_i."""
        return make_rows(self.X, self.sign, self.constant.bias, balanced=self.constant.free)

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows that lie in memory as a walk likes them, and their order."""
        order = order_in_memory(self.X, self.sign, self._response)
        bias, free = self.constant.bias, self.constant.free
        if order is None:
            return make_rows(self.X, self.sign, bias, balanced=free, rearranged=True), None
        return make_rows(self.X[order], self.sign[order], bias, balanced=free), order

    def coef(self, solution: Solution) -> np.ndarray:
        """Return the weights of the features."""
        return solution[2][: self.X.shape[1]].copy()

    def intercept(self, solution: Solution) -> float:
        """Return the constant part of the decision function."""
        return float(self.constant.bias * solution[2][-1]) if self.constant.bias else 0.0

    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return the weights of the features."""
        return {"coef": self.coef(solution)}

    def decide(self, X: Any, solution: Solution) -> np.ndarray:
        """Return the decision function at checked features."""
        return np.asarray(X @ self.coef(solution)) + self.intercept(solution)

    @property
    def by_theta(self) -> bool:
        """Whether functions are made of θ instead of w: where that is shorter."""
        n_samples, n_features = self.X.shape
        return bool(n_samples < n_features and n_samples <= MOST_BY_THETA)

    @cached_property
    def sweep_rows(self) -> Rows:
        """Rows with the same products as the z_i, but fewer columns if there are zeros."""
        if isinstance(self.X, np.ndarray):
            return self.rows
        X = with_fewer_columns(self.X)
        return make_rows(X, self.sign, self.constant.bias, balanced=self.constant.free)

    def functions(
        self, w: np.ndarray, theta: np.ndarray | None, multiplier: np.ndarray
    ) -> Functions:
        """Return the decision functions of several solutions in a row."""
        bias = self.constant.bias
        proper = w[:, :-1] if bias else w
        constant = bias * w[:, -1] if bias else np.zeros(len(w))
        moved = np.diff(proper, axis=0)
        travel = np.sqrt(np.einsum("ij,ij->i", moved, moved))
        coef = np.ascontiguousarray(proper) if theta is None else self.sign * theta
        return Functions(coef, constant, travel)

    def features(self, X: Any) -> Any:
        """Return checked X, or its products with the training samples."""
        if not self.by_theta:
            return X
        products = X @ self.X.T
        return products.toarray() if sp.issparse(products) else np.asarray(products)

    def weights(self, coef: np.ndarray, columns: Any = None) -> np.ndarray:
        """Return the weights of all features, or some, in functions of these coefficients."""
        if not self.by_theta:
            return coef if columns is None else coef[:, columns]
        X = self.X if columns is None else self.X[:, columns]
        return np.asarray((X.T @ coef.T).T)

    def norms(self, X: Any) -> np.ndarray:
        """Return ‖x‖ of each row."""
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.asarray(np.sqrt(np.asarray(squares, dtype=float).ravel()))

    def measure(self, solution: Solution, line: Line, t: float) -> Measure:
        """Judge w and θ, each from its own numbers, and how well w = Σ θ_i z_i holds."""
        _, theta, w, _ = solution
        signed = self.sign * theta
        summed, terms = self.X.T @ signed, abs(self.X).T @ np.abs(signed)
        if self.constant.free:
            w = w[:-1]
        elif self.constant.bias:
            summed = np.append(summed, self.constant.bias * signed.sum())
            terms = np.append(terms, self.constant.bias * np.abs(signed).sum())
        margin = self.sign * self.decide(self.X, solution)
        # as part of the terms, or of what moves a margin by one
        longest = max(float(abs(self.X).max()), self.constant.bias, TINY)
        unit = (float(np.abs(line.target0).max()) or 1.0) / longest
        off = float(np.abs(w - summed).max()) / max(float(terms.max()), unit)
        off = max(off, self._imbalance(theta, line, t))
        squared = float(w @ w), float(summed @ summed)
        return measure(theta, margin, line, t, *squared, off, longest)


class KernelSamples(Samples):
    """Samples seen through a kernel; `X` holds features or, where precomputed, the kernel.

    The kernel matrix is kept if it takes no more than `budget` bytes. Otherwise its rows are
    computed when they are needed, and as many as that are kept.
    """

    def __init__(
        self, X: Any, sign: np.ndarray, intercept: Intercept, kernel: Kernel, budget: float
    ) -> None:
        super().__init__(X, sign, intercept)
        self.kernel, self.budget = kernel, budget
        self.indefinite = False
        row = 8 * X.shape[0]
        self._in_memory = row * X.shape[0] <= budget
        self._n_slots = int(budget // row)
        if not self._in_memory and self._n_slots < FEWEST_ROWS:
            raise ValueError(
                f"cache_size={budget / MEGABYTE:g} (MB) holds {self._n_slots} rows of the kernel "
                f"matrix of {X.shape[0]} samples, {FEWEST_ROWS} are needed: give at least "
                f"{FEWEST_ROWS * row / MEGABYTE:.3g}"
            )

    @cached_property
    def matrix(self) -> np.ndarray:
        """k(x_i, x_j), where it is kept."""
        return np.ascontiguousarray(self._between(slice(None), slice(None)))

    @cached_property
    def diagonal(self) -> np.ndarray:
        """k(x_i, x_i)."""
        if self._in_memory:
            return self.matrix.diagonal().copy()
        parts = slices(self.shape[0], DIAGONAL_BLOCK)
        return np.concatenate([self._between(some, some).diagonal() for some in parts])

    def examine(self) -> None:
        """Refuse a kernel that is not symmetric; warn of one that is not positive semidefinite."""
        if not self.kernel.known:
            whole = self.matrix if self._in_memory else self._some()
            check_symmetric(whole)
        if not self.kernel.positive:
            eigenvalues = np.linalg.eigvalsh(self._some())
            self.indefinite = is_indefinite(eigenvalues)
            if self.indefinite:
                warn_of_indefinite(eigenvalues, walked=self._in_memory)

    def _some(self) -> np.ndarray:
        """Return the kernel matrix of some of the samples."""
        few = slice(None, None, -(-self.shape[0] // LOOKED_AT))
        return self._between(few, few)

    def _between(self, one: Any, other: Any) -> np.ndarray:
        """Return k(x_i, x_j) for some i and some j."""
        if self.kernel.precomputed:
            return np.asarray(self.X[one][:, other])
        if "matrix" in self.__dict__:
            return np.asarray(self.matrix[one][:, other])
        return self.kernel(self.X[one], self.X[other])

    def _row(self, i: int) -> np.ndarray:
        return np.asarray(self._between(slice(i, i + 1), slice(None))[0])

    @cached_property
    def rows(self) -> Rows:
        """The z_i: vectors where few dimensions do, else rows of their Gram matrix.

        For an indefinite kernel, those of the positive semidefinite matrix nearest to it.
        """
        bias, free = self.constant.bias, self.constant.free
        K = self.matrix if self._in_memory else None
        if self.indefinite and K is not None:
            K = clipped(K)
        diagonal = self.diagonal if K is None else K.diagonal()
        most = min(MOST_COLUMNS, self.shape[0] // 2)
        low_rank = low_rank_factor(diagonal, self._row if K is None else K.__getitem__, most)
        if low_rank is not None:
            return make_rows(low_rank, self.sign, bias, balanced=free)
        sign = self.sign.astype(np.int8)
        if K is not None:
            Q = self.sign[:, np.newaxis] * (K + bias**2) * self.sign
            return MatrixRows(Q, sign, bias, free)
        return CachedRows(
            lambda i: self.sign[i] * (self._row(i) + bias**2) * self.sign,
            self.diagonal + bias**2,
            sign,
            bias,
            free,
            self._n_slots,
        )

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return the rows, in the given order."""
        return self.rows, None

    def coef(self, solution: Solution) -> np.ndarray:
        """Refuse: with a kernel, features have no weights."""
        raise AttributeError("only a path with the linear kernel has coef; use decision_function")

    def intercept(self, solution: Solution) -> float:
        """Return the constant part of the decision function."""
        _, theta, _, multiplier = solution
        if self.constant.free:
            return multiplier
        return float(self.constant.bias**2 * (self.sign @ theta))

    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return the kernel and what it is taken of."""
        support = np.flatnonzero(solution[1])
        return {
            "kernel": self.kernel,
            "support": support,
            "support_vectors": None if self.kernel.precomputed else self.X[support],
            "dual_coef": (self.sign * solution[1])[support],
        }

    def decide(self, X: Any, solution: Solution) -> np.ndarray:
        """Return the decision function at checked features."""
        theta = solution[1]
        support = np.flatnonzero(theta)
        if self.kernel.precomputed:
            K = X[:, support]
        elif len(support):
            K = self.kernel(X, self.X[support])
        else:
            K = np.zeros((X.shape[0], 0))
        return np.asarray(K @ (self.sign * theta)[support]) + self.intercept(solution)

    @property
    def by_theta(self) -> bool:
        """Whether functions are made of θ instead of w."""
        return True

    def functions(
        self, w: np.ndarray, theta: np.ndarray | None, multiplier: np.ndarray
    ) -> Functions:
        """Return the decision functions of several solutions in a row."""
        assert theta is not None
        coef = self.sign * theta
        bias = self.constant.bias
        constant = multiplier if self.constant.free else bias**2 * coef.sum(axis=1)
        if self.rows.dual:
            # ‖Δw‖² = Σ Δθ_i <z_i, Δw>, the part of the constant feature taken away
            moved = np.diff(theta, axis=0)
            squared = (moved * np.diff(w, axis=0)).sum(axis=1)
            squared -= (bias * np.diff(coef, axis=0).sum(axis=1)) ** 2
            rounding = 1e-14 * (np.abs(moved).sum(axis=1) ** 2) * np.abs(self.diagonal).max()
            travel = np.sqrt(np.maximum(squared, 0.0) + rounding)
        else:
            proper = w[:, :-1] if bias else w
            travel = np.linalg.norm(np.diff(proper, axis=0), axis=1)
        return Functions(coef, constant, travel)

    def features(self, X: Any) -> Any:
        """Return the kernel of checked X with the training samples."""
        return X if self.kernel.precomputed else self.kernel(X, self.X)

    def norms(self, X: Any) -> np.ndarray:
        """Return ‖φ(x)‖ of each row, for kernels that are known to be inner products."""
        return self.kernel.norms(X)

    def measure(self, solution: Solution, line: Line, t: float) -> Measure:
        """Judge θ by the kernel matrix; w is what θ makes it."""
        theta = solution[1]
        signed = self.sign * theta
        values = self._times(signed)
        squared = float(signed @ values)
        if not self.constant.free:
            squared += (self.constant.bias * float(signed.sum())) ** 2
        margin = self.sign * (values + self.intercept(solution))
        off = self._imbalance(theta, line, t)
        longest = float(np.sqrt(np.abs(self.diagonal).max()))
        return measure(theta, margin, line, t, squared, squared, off, longest)

    def _times(self, signed: np.ndarray) -> np.ndarray:
        """Return the kernel matrix times a vector."""
        if self._in_memory:
            return np.asarray(self.matrix @ signed)
        support = np.flatnonzero(signed)
        if len(support) == 0:
            return np.zeros(self.shape[0])
        parts = slices(self.shape[0], DIAGONAL_BLOCK)
        return np.concatenate([self._between(some, support) @ signed[support] for some in parts])


def make_samples(
    X: "np.ndarray | sp.csr_array",
    sign: np.ndarray,
    response: np.ndarray,
    intercept: Any,
    kernel: Any,
    gamma: Any,
    degree: Any,
    coef0: Any,
    cache_size: Any,
) -> Samples:
    """Return the samples that users' arguments mean; X is checked already.

    `response` is what samples are to be told apart by: labels, or what is to be predicted.
    """
    constant = fixed_intercept(intercept)
    made = make_kernel(kernel, gamma, degree, coef0, X)
    if made is None:
        return LinearSamples(X, sign, constant or make_intercept(intercept, X), response)
    if made.precomputed:
        X = X if isinstance(X, np.ndarray) else X.toarray()
        check_square(X)
    budget = MEGABYTE * check_positive(cache_size, "cache_size")
    samples = KernelSamples(X, sign, constant or Intercept(1.0, free=True), made, budget)
    if constant is None:
        samples.constant = free_intercept(samples.diagonal.mean())
    samples.examine()
    return samples
