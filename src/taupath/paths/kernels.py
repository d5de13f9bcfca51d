"""Kernels k(x, x'): by name, with scikit-learn's parameters, or by a function of the user's."""

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from taupath.exceptions import IndefiniteKernelWarning, levels_to_the_caller
from taupath.validation import check_choice, check_positive, check_real, first_not_finite, on_host

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")
# How far a matrix may differ from its transpose, relative to its largest entry: far more than
# rounding does to the two triangles, far less than a mistake would.
ASYMMETRY = 1e-10
# Rows at a time that are compared with columns, so that the difference stays small in memory.
KERNEL_BLOCK = 256
# A factorisation is complete when of no diagonal entry more than this part is left: some five units
# of rounding, below which pivots are noise. Margins are off by what is left times Σ |θ_i|, which
# can be 1e6.
NOTHING_LEFT = 1e-15
# It is given up if more than MUCH_LEFT remains after SOME_COLUMNS columns: a kernel of low rank has
# lost more by then, and a failed factorisation of a few hundred columns costs time for nothing.
SOME_COLUMNS = 64
MUCH_LEFT = 0.05
# An eigenvalue this far below zero, relative to the largest, is put down to rounding, which takes
# those of a thousand samples to -1e-13; kernels that are indefinite in earnest go far beyond.
NEGATIVE = 1e-8
# Samples are far from the origin if γ ‖x‖² is above this: a few units of rounding in a kernel.
FAR = 4.0
# Keeps relative limits above zero where a matrix is zero.
SMALLEST = 1e-300


@dataclass(frozen=True)
class Kernel:
    """A kernel and its parameters, as in scikit-learn.

    `function` is "rbf", "poly", "sigmoid", "precomputed", or a function of two matrices.
    """

    function: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    @property
    def precomputed(self) -> bool:
        """Whether users pass kernel matrices instead of features."""
        return self.function == "precomputed"

    @property
    def known(self) -> bool:
        """Whether it is computed here by its name, and therefore symmetric."""
        return not (callable(self.function) or self.precomputed)

    @property
    def positive(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.function == "rbf" or (self.function == "poly" and self.coef0 >= 0.0)

    def norms(self, X: Any) -> np.ndarray:
        """Return ‖φ(x)‖ = √k(x, x) of each row of X; infinity unless the kernel is `positive`."""
        if not self.positive:
            return np.full(X.shape[0], np.inf)
        if self.function == "rbf":
            return np.ones(X.shape[0])
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
        squares = np.asarray(squares, dtype=float).ravel()
        return np.asarray((self.gamma * squares + self.coef0) ** (0.5 * self.degree))

    def with_support(self, X: Any, support: np.ndarray, vectors: Any) -> Any:
        """Return k(x, v) for every row x of X and every support vector v.

        If precomputed, X is the kernel with all training samples, and `support` are its columns.
        """
        if self.precomputed:
            return X[:, support]
        return self(X, vectors) if len(support) else np.zeros((X.shape[0], 0))

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Return k(a, b) for every row a of A and b of B."""
        shape = A.shape[0], B.shape[0]
        if callable(self.function):
            return _check_values(self.function(A, B), shape)
        with np.errstate(over="ignore"):  # `_check_values` refuses infinite entries
            if self.function == "rbf":
                return _rbf(A, B, self.gamma)  # within [0, 1], since features are finite
            if self.function == "sigmoid":
                K = sigmoid_kernel(A, B, gamma=self.gamma, coef0=self.coef0)
            elif self.degree == 0:
                K = np.ones(shape)
            else:
                K = polynomial_kernel(A, B, self.degree, gamma=self.gamma, coef0=self.coef0)
        return _check_values(K, shape)


def _rbf(A: Any, B: Any, gamma: float) -> np.ndarray:
    """Return exp(-γ ‖a - b‖²) for all pairs of rows.

    As ‖a‖² + ‖b‖² - 2 <a, b> distances take less time, but round by eps γ ‖a‖² in the exponent.
    """
    if not (sp.issparse(A) or sp.issparse(B)):
        farthest = max(float(np.square(each, dtype=float).sum(axis=1).max()) for each in (A, B))
        if gamma * farthest > FAR:
            K = cdist(A, B, "sqeuclidean")
            K *= -gamma
            return np.asarray(np.exp(K, out=K))  # a second large array would cost as much time
    return np.asarray(rbf_kernel(A, B, gamma=gamma))


def check_kernel(kernel: Any) -> Any:
    """Return a kernel's name, or a function of two matrices."""
    if callable(kernel):
        return kernel
    return check_choice(kernel, "kernel", KERNELS, or_else="a function of two matrices")


def make_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, X: Any) -> Kernel | None:
    """Return the kernel of these users' arguments, given the training features X.

    None stands for the linear kernel.
    """
    name = check_kernel(kernel)
    if callable(name):
        return Kernel(name)
    if name == "linear":
        return None
    if name == "precomputed":
        return Kernel(name)
    degree, coef0 = check_real(degree, "degree"), check_real(coef0, "coef0")
    if name == "poly" and not (degree >= 0.0 and degree.is_integer()):
        raise ValueError(f"degree must be a whole number, at least 0, got {degree!r}")
    if not math.isfinite(coef0):
        raise ValueError(f"coef0 must be finite, got {coef0!r}")
    return Kernel(name, _check_gamma(gamma, X), degree, coef0)


def _check_gamma(gamma: Any, X: Any) -> float:
    n_features = max(int(X.shape[1]), 1)
    if isinstance(gamma, str):
        if check_choice(gamma, "gamma", ("scale", "auto"), or_else="a number") == "auto":
            return 1.0 / n_features
        variance = float(X.multiply(X).mean() - X.mean() ** 2 if sp.issparse(X) else X.var())
        return 1.0 / (n_features * variance) if variance > 0.0 else 1.0
    return check_positive(gamma, "gamma")


def _check_values(values: Any, shape: tuple[int, int]) -> np.ndarray:
    try:
        values = on_host(values, "what the kernel returned")
        K = np.asarray(values.toarray() if sp.issparse(values) else values)
    except ValueError:  # rows of different lengths
        K = np.empty(0, dtype=object)
    if K.dtype.kind not in "biufc":
        got = type(values).__name__ if K.dtype.kind == "O" else f"dtype {K.dtype}"
        raise TypeError(f"kernel must return a real matrix of shape {shape}, got {got}")
    check_form(str(K.dtype), K.shape, shape)
    K = K.astype(np.float64, copy=False)
    at = first_not_finite(K)
    if at is not None:
        raise ValueError(
            f"kernel returned {K[at]} (first at [{at[0]}, {at[1]}]): scale X, or choose another "
            "gamma, degree or coef0"
        )
    return K


def check_form(dtype: str, found: tuple[int, ...], expected: tuple[int, int]) -> None:
    """Refuse complex values of a kernel, those in half precision, and those of another shape."""
    if "complex" in dtype:
        raise TypeError(f"kernel must return a real matrix of shape {expected}, got dtype {dtype}")
    if dtype.endswith("float16"):
        raise TypeError(
            "kernel returned float16, whose rounding makes a kernel indefinite: compute it in "
            "float32 or float64"
        )
    if found != expected:
        raise ValueError(f"kernel returned shape {found}, expected {expected}")


def check_square(K: np.ndarray) -> None:
    """Refuse a precomputed matrix for training that is not square."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"a precomputed kernel needs a square matrix of training samples, got shape {K.shape}"
        )


def check_symmetric(K: np.ndarray) -> None:
    """Refuse a kernel matrix that differs from its transpose."""
    allowed = ASYMMETRY * max(float(np.abs(K).max()), SMALLEST)
    for first in range(0, len(K), KERNEL_BLOCK):
        some = slice(first, first + KERNEL_BLOCK)
        difference = np.abs(K[some] - K[:, some].T)
        i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), difference.shape))
        if difference[i, j] > allowed:
            i += first
            raise ValueError(
                f"the kernel matrix is not symmetric: [{i}, {j}] is {K[i, j]}, "
                f"[{j}, {i}] is {K[j, i]}"
            )


def is_indefinite(eigenvalues: np.ndarray) -> bool:
    """Return whether the smallest of these increasing eigenvalues is negative beyond rounding."""
    return bool(eigenvalues[0] < -NEGATIVE * max(eigenvalues[-1], SMALLEST))


def clipped(K: np.ndarray) -> np.ndarray:
    """Return the positive semidefinite matrix nearest to K: negative eigenvalues become zero."""
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > 0.0
    half = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return np.asarray(half @ half.T)


def warn_of_indefinite(eigenvalues: np.ndarray, walked: bool) -> None:
    """Warn that a kernel is indefinite; if `walked`, the nearest semidefinite one is used."""
    path = (
        "the path is that of the nearest positive semidefinite matrix"
        if walked
        else "the path stops being exact or even fails"
    )
    warnings.warn(
        f"the kernel is not positive semidefinite (eigenvalues from {eigenvalues[0]:.3g} to "
        f"{eigenvalues[-1]:.3g}): there is no optimum to follow, {path}, and its certificate "
        "says how far it is from optimal with the given kernel",
        IndefiniteKernelWarning,
        stacklevel=levels_to_the_caller(),
    )


def low_rank_factor(
    diagonal: np.ndarray, column: Callable[[int], np.ndarray], most: int
) -> np.ndarray | None:
    """Return B with B Bᵀ = K up to rounding and at most `most` columns; None if there is none.

    K is given by its diagonal and its columns. Doubles are enough to see if too much is left after
    SOME_COLUMNS columns.
    """
    if most > SOME_COLUMNS:
        _, left = _pivoted_cholesky(diagonal, column, SOME_COLUMNS, np.float64)
        if left > MUCH_LEFT:
            return None
    B, left = _pivoted_cholesky(diagonal, column, most, np.longdouble)
    return None if left > NOTHING_LEFT else np.ascontiguousarray(B, dtype=np.float64)


def _pivoted_cholesky(
    diagonal: np.ndarray, column: Callable[[int], np.ndarray], most: int, dtype: Any
) -> tuple[np.ndarray, float]:
    """Return at most so many columns of a Cholesky factor, and the largest part that is left.

    Columns come in the order of their pivots, until next to nothing is left.
    """
    left = diagonal.astype(dtype)
    size = np.maximum(left, SMALLEST)
    B = np.zeros((len(diagonal), most), dtype=dtype, order="F")
    for k in range(most):
        pivot = int((left / size).argmax())
        if left[pivot] <= NOTHING_LEFT * size[pivot]:
            return B[:, : max(k, 1)], NOTHING_LEFT
        B[:, k] = (column(pivot) - B[:, :k] @ B[pivot, :k]) / np.sqrt(left[pivot])
        left -= B[:, k] ** 2
        left[pivot] = 0.0
    return B, float((left / size).max())
