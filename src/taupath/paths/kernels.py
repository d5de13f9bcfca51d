"""Kernels: k(x, x') by name, with scikit-learn's parameters, or by a function of the user's."""

import inspect
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

from taupath.exceptions import IndefiniteKernelWarning
from taupath.validation import check_choice, check_positive, check_real, first_not_finite

KERNELS = ("linear", "rbf", "poly", "sigmoid", "precomputed")
# Part of the largest entry by which a matrix may differ from its transpose.
ASYMMETRY = 1e-10
# Rows at a time where a whole matrix is looked at.
BLOCK = 256
# What is left of the diagonal, as part of its largest entry, where a matrix has been taken apart.
NOTHING_LEFT = 1e-14
# With so much left after so many columns, it is not going to be gone after a few hundred.
SOME_COLUMNS = 64
MUCH_LEFT = 0.05
# How far below zero, as part of the largest, an eigenvalue counts as rounding.
NEGATIVE = 1e-8


@dataclass(frozen=True)
class Kernel:
    """A kernel with its parameters.

    Attributes
    ----------
    function : str or callable
        "rbf", "poly", "sigmoid", "precomputed", or a function of two matrices.
    gamma, coef0 : float
    degree : float
        As in scikit-learn.
    """

    function: str | Callable[[Any, Any], Any]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 0.0

    @property
    def precomputed(self) -> bool:
        """Whether matrices come from the user instead of features."""
        return self.function == "precomputed"

    @property
    def known(self) -> bool:
        """Whether it is one of those with a name, which are symmetric."""
        return not (callable(self.function) or self.precomputed)

    @property
    def positive(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        return self.function == "rbf" or (self.function == "poly" and self.coef0 >= 0.0)

    def norms(self, X: Any) -> np.ndarray:
        """Return √k(x, x) of each row of X, infinity unless known to be the length of φ(x)."""
        if self.positive and self.function == "rbf":
            return np.ones(X.shape[0])
        if self.positive:
            squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else (X * X).sum(axis=1)
            squares = np.asarray(squares, dtype=float).ravel()
            return np.asarray((self.gamma * squares + self.coef0) ** (0.5 * self.degree))
        return np.full(X.shape[0], np.inf)

    def __call__(self, A: Any, B: Any) -> np.ndarray:
        """Return k(a, b) for every row a of A and b of B."""
        shape = A.shape[0], B.shape[0]
        if callable(self.function):
            return _check_values(self.function(A, B), shape)
        with np.errstate(over="ignore"):  # what has become infinite is found below
            if self.function == "rbf":
                K = rbf_kernel(A, B, gamma=self.gamma)
            elif self.function == "sigmoid":
                K = sigmoid_kernel(A, B, gamma=self.gamma, coef0=self.coef0)
            elif self.degree == 0:
                K = np.ones(shape)
            else:
                K = polynomial_kernel(A, B, self.degree, gamma=self.gamma, coef0=self.coef0)
        return _check_values(K, shape)


def make_kernel(kernel: Any, gamma: Any, degree: Any, coef0: Any, X: Any) -> Kernel | None:
    """Return the kernel of these arguments for training features X; None for the linear one."""
    if callable(kernel):
        return Kernel(kernel)
    name = check_choice(kernel, "kernel", KERNELS, or_else="a function of two matrices")
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
        variance = float(_sparse_variance(X) if sp.issparse(X) else X.var())
        return 1.0 / (n_features * variance) if variance > 0.0 else 1.0
    return check_positive(gamma, "gamma")


def _sparse_variance(X: Any) -> Any:
    return X.multiply(X).mean() - X.mean() ** 2


def _check_values(values: Any, shape: tuple[int, int]) -> np.ndarray:
    try:
        K = np.asarray(values.toarray() if sp.issparse(values) else values)
    except ValueError:  # rows of different lengths
        K = np.empty(0, dtype=object)
    if K.dtype.kind not in "biuf":
        got = type(values).__name__ if K.dtype.kind == "O" else f"dtype {K.dtype}"
        raise TypeError(f"kernel must return a real matrix of shape {shape}, got {got}")
    K = K.astype(np.float64, copy=False)
    if K.shape != shape:
        raise ValueError(f"kernel returned shape {K.shape}, expected {shape}")
    at = first_not_finite(K)
    if at is not None:
        raise ValueError(f"kernel returned {K[at]} (first at [{at[0]}, {at[1]}])")
    return K


def check_square(K: np.ndarray) -> None:
    """Refuse a precomputed matrix that is not one of training samples."""
    if K.shape[0] != K.shape[1]:
        raise ValueError(
            f"a precomputed kernel needs a square matrix of training samples, got shape {K.shape}"
        )


def check_symmetric(K: np.ndarray) -> None:
    """Refuse a kernel matrix that differs from its transpose."""
    allowed = ASYMMETRY * max(float(np.abs(K).max()), 1e-300)
    for first in range(0, len(K), BLOCK):
        some = slice(first, first + BLOCK)
        difference = np.abs(K[some] - K[:, some].T)
        i, j = (int(k) for k in np.unravel_index(int(difference.argmax()), difference.shape))
        if difference[i, j] > allowed:
            i += first
            raise ValueError(
                f"the kernel matrix is not symmetric: [{i}, {j}] is {K[i, j]}, "
                f"[{j}, {i}] is {K[j, i]}"
            )


def is_indefinite(eigenvalues: np.ndarray) -> bool:
    """Return whether these eigenvalues, increasing, are of a matrix with truly negative ones."""
    return bool(eigenvalues[0] < -NEGATIVE * max(eigenvalues[-1], 1e-300))


def clipped(K: np.ndarray) -> np.ndarray:
    """Return the positive semidefinite matrix nearest to K: without its negative eigenvalues."""
    eigenvalues, vectors = np.linalg.eigh(K)
    kept = eigenvalues > 0.0
    half = vectors[:, kept] * np.sqrt(eigenvalues[kept])
    return np.asarray(half @ half.T)


def warn_of_indefinite(eigenvalues: np.ndarray, walked: bool) -> None:
    """Warn that a kernel is not positive semidefinite.

    `walked` tells whether the path is that of the nearest matrix that is.
    """
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
        stacklevel=_levels_to_the_caller(),
    )


def _levels_to_the_caller() -> int:
    """Return how far up from who calls this the first function outside the package is."""
    package = __name__.partition(".")[0]
    level, frame = 0, inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] == package:
        level, frame = level + 1, frame.f_back
    return level


def low_rank_factor(
    diagonal: np.ndarray, column: Callable[[int], np.ndarray], most: int
) -> np.ndarray | None:
    """Return B with B Bᵀ = K up to rounding and at most `most` columns; None if there is none.

    K is given by its diagonal and its columns. Cholesky factorisation with pivots, stopped early,
    all the more where too much is left after some columns.
    """
    left = diagonal.copy()
    largest = max(float(left.max()), 1e-300)
    B = np.zeros((len(diagonal), most))
    for k in range(most + 1):
        pivot = int(left.argmax())
        if left[pivot] <= NOTHING_LEFT * largest:
            return np.ascontiguousarray(B[:, : max(k, 1)])
        if k == most or (k == SOME_COLUMNS and left[pivot] > MUCH_LEFT * largest):
            return None
        B[:, k] = (column(pivot) - B[:, :k] @ B[pivot, :k]) / np.sqrt(left[pivot])
        left -= B[:, k] ** 2
        left[pivot] = 0.0
    return None
