"""Training samples: what turns dual solutions into decision functions, and judges them."""

from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import KernelRows, Rows
from taupath.certificate import Measure, measure
from taupath.kernels import (
    Kernel,
    check_precomputed,
    low_rank_factor,
    make_kernel,
    warn_if_indefinite,
)
from taupath.problem import Line
from taupath.rows import make_rows, order_in_memory
from taupath.solver import ORTHOGONAL_UP_TO
from taupath.validation import check_choice, check_new_features

__all__ = ["KernelSamples", "LinearSamples", "Samples", "make_samples"]

_BIAS = {"augmented": 1.0, "none": 0.0}


class Samples(Protocol):
    """Samples x_i with signs, whose rows are z_i = sign_i [φ(x_i), bias]."""

    sign: np.ndarray

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""

    @property
    def rows(self) -> Rows:
        """The z_i."""

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows for a walk, and the order of the samples in them (None: the given one)."""

    def coef(self, w: np.ndarray) -> np.ndarray:
        """Return the weights of the features."""

    def intercept(self, theta: np.ndarray, w: np.ndarray) -> float:
        """Return the constant part of the decision function."""

    def check_new(self, X: Any) -> Any:
        """Return the features of other samples, checked."""

    def decide(self, X: Any, theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the decision function at checked features."""

    def measure(self, theta: np.ndarray, w: np.ndarray, line: Line, t: float) -> Measure:
        """Judge a solution of the line at t, from the data."""


class LinearSamples:
    """Features used as they are; w is at hand."""

    def __init__(
        self,
        X: "np.ndarray | sp.csr_array",
        sign: np.ndarray,
        bias: float,
        response: np.ndarray | None = None,
    ) -> None:
        self.X, self.sign, self.bias = X, sign, bias
        self._response = sign if response is None else response

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        return self.X.shape

    @cached_property
    def rows(self) -> Rows:
        """The z_i."""
        return make_rows(self.X, self.sign, self.bias)

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows that lie in memory as a walk likes them, and their order."""
        order = order_in_memory(self.X, self.sign, self._response)
        if order is None:
            return make_rows(self.X, self.sign, self.bias, rearranged=True), None
        return make_rows(self.X[order], self.sign[order], self.bias), order

    def coef(self, w: np.ndarray) -> np.ndarray:
        """Return the weights of the features."""
        return w[: self.X.shape[1]].copy()

    def intercept(self, theta: np.ndarray, w: np.ndarray) -> float:
        """Return the constant part of the decision function."""
        return float(self.bias * w[-1]) if self.bias else 0.0

    def check_new(self, X: Any) -> "np.ndarray | sp.csr_array":
        """Return the features of other samples, checked."""
        return check_new_features(X, self.X.shape[1])

    def decide(self, X: Any, theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the decision function at checked features."""
        return np.asarray(X @ self.coef(w)) + self.intercept(theta, w)

    def measure(self, theta: np.ndarray, w: np.ndarray, line: Line, t: float) -> Measure:
        """Judge w and θ, each from its own numbers, and how well w = Σ θ_i z_i holds."""
        signed = self.sign * theta
        summed, terms = self.X.T @ signed, abs(self.X).T @ np.abs(signed)
        if self.bias:
            summed = np.append(summed, self.bias * signed.sum())
            terms = np.append(terms, abs(self.bias) * np.abs(signed).sum())
        margin = self.sign * self.decide(self.X, theta, w)
        off = float(np.abs(w - summed).max()) / max(float(terms.max()), np.finfo(float).tiny)
        return measure(theta, margin, line, t, float(w @ w), float(summed @ summed), off)

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "sign": self.sign, "bias": self.bias, "_response": self._response}


class KernelSamples:
    """Samples seen through a kernel; `X` holds features or, where precomputed, the kernel."""

    def __init__(self, X: Any, sign: np.ndarray, bias: float, kernel: Kernel) -> None:
        self.X, self.sign, self.bias, self.kernel = X, sign, bias, kernel

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        n_samples, n_features = self.X.shape
        return n_samples, n_features

    @cached_property
    def matrix(self) -> np.ndarray:
        """k(x_i, x_j), the bias included."""
        K = self.X if self.kernel.precomputed else self.kernel(self.X, self.X)
        return np.ascontiguousarray(K + self.bias**2)

    @cached_property
    def rows(self) -> Rows:
        """The z_i: vectors where few dimensions do, else rows of their Gram matrix."""
        low_rank = low_rank_factor(self.matrix, min(ORTHOGONAL_UP_TO, len(self.matrix) // 2))
        if low_rank is not None:
            return make_rows(low_rank, self.sign, 0.0)
        return KernelRows(self.sign[:, np.newaxis] * self.matrix * self.sign)

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return the rows, in the given order."""
        return self.rows, None

    def coef(self, w: np.ndarray) -> np.ndarray:
        """Refuse: with a kernel, features have no weights."""
        raise AttributeError("only a path with the linear kernel has coef; use decision_function")

    def intercept(self, theta: np.ndarray, w: np.ndarray) -> float:
        """Return the constant part of the decision function."""
        return float(self.bias**2 * (self.sign @ theta))

    def check_new(self, X: Any) -> Any:
        """Return the features of other samples, checked, or their kernel with the training ones."""
        return check_new_features(X, self.X.shape[1])

    def decide(self, X: Any, theta: np.ndarray, w: np.ndarray) -> np.ndarray:
        """Return the decision function at checked features."""
        support = np.flatnonzero(theta)
        if self.kernel.precomputed:
            K = X[:, support]
        elif len(support):
            K = self.kernel(X, self.X[support])
        else:
            K = np.zeros((X.shape[0], 0))
        return np.asarray(K @ (self.sign * theta)[support]) + self.intercept(theta, w)

    def measure(self, theta: np.ndarray, w: np.ndarray, line: Line, t: float) -> Measure:
        """Judge θ by the kernel matrix; w is what θ makes it."""
        margin = self.sign * (self.matrix @ (self.sign * theta))
        squared = float(theta @ margin)
        return measure(theta, margin, line, t, squared, squared, 0.0)

    def __getstate__(self) -> dict[str, Any]:
        return {"X": self.X, "sign": self.sign, "bias": self.bias, "kernel": self.kernel}


def make_samples(
    X: "np.ndarray | sp.csr_array",
    sign: np.ndarray,
    response: np.ndarray,
    intercept: Any,
    kernel: Any,
    gamma: Any,
    degree: Any,
    coef0: Any,
) -> LinearSamples | KernelSamples:
    """Return the samples that users' arguments mean; X is checked already.

    `response` is what samples are to be told apart by: labels, or what is to be predicted.
    """
    bias = _BIAS[check_choice(intercept, "intercept", tuple(_BIAS))]
    made = make_kernel(kernel, gamma, degree, coef0, X)
    if made is None:
        return LinearSamples(X, sign, bias, response)
    if made.precomputed:
        X = X if isinstance(X, np.ndarray) else X.toarray()
        check_precomputed(X)
    samples = KernelSamples(X, sign, bias, made)
    if not made.positive:
        warn_if_indefinite(samples.matrix)
    return samples
