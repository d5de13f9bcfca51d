"""Training data: what turns dual solutions into decision functions, and judges them."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.rows import make_rows, order_in_memory, with_fewer_columns
from taupath.paths.certificate import Measure, measure
from taupath.paths.crossings import Functions
from taupath.paths.intercept import Intercept
from taupath.paths.kernels import Kernel
from taupath.validation import check_new_features

# Keeps divisors above zero without changing any other number.
TINY = float(np.finfo(np.float64).tiny)
# Up to this many samples, and fewer than features, decision functions are kept as θ instead of w:
# at all nodes, about two per sample, they then take no more than `crossings.KEPT`.
MOST_BY_THETA = 4000


class Solution(NamedTuple):
    """A solution at one value of the parameter.

    Attributes
    ----------
    status : ndarray of int8, shape (n_samples,)
        Index sets.
    theta : ndarray of shape (n_samples,)
        Dual solution.
    w : ndarray
        Σ θ_i z_i, in the coordinates of the rows.
    multiplier : float
        That of Σ sign_i θ_i = 0, where the intercept is free.
    """

    status: np.ndarray
    theta: np.ndarray
    w: np.ndarray
    multiplier: float


class Sweep(NamedTuple):
    """Solutions at several nodes in a row: w, θ where asked for, and the multiplier."""

    w: np.ndarray
    theta: np.ndarray | None
    multiplier: np.ndarray


class Points(NamedTuple):
    """Margins <z_i, w>, and w and v = Σ θ_i z_i as pairs of vectors.

    The first of one pair times the second of another is an inner product. A free intercept, which
    costs nothing, is left out of them.
    """

    margin: np.ndarray
    w: tuple[np.ndarray, np.ndarray]
    v: tuple[np.ndarray, np.ndarray]


class Responses(NamedTuple):
    """What is asked of each sample: the sign of its row, its target p, and its weight."""

    sign: np.ndarray
    target: np.ndarray
    weight: np.ndarray


class TrainingData:
    """Samples x_i with signs, targets and weights; their rows are z_i = sign_i [φ(x_i), bias].

    Here φ(x) = x, the linear kernel; for others see `KernelData`.
    """

    kernel: Kernel | None = None  # the linear one
    budget = 0.0  # bytes for a kernel matrix
    indefinite = False

    def __init__(self, X: Any, responses: Responses, constant: Intercept) -> None:
        self.X, self.responses, self.constant = X, responses, constant

    @property
    def sign(self) -> np.ndarray:
        """+1 or -1 for each sample."""
        return self.responses.sign

    @property
    def target(self) -> np.ndarray:
        """Target p of each sample."""
        return self.responses.target

    @property
    def weight(self) -> np.ndarray:
        """Factor of each sample's box."""
        return self.responses.weight

    @property
    def response(self) -> np.ndarray:
        """What samples are to be told apart by: signs of two classes, else the targets."""
        return self.sign if (self.sign < 0.0).any() else self.target

    @property
    def at_hand(self) -> bool:
        """Whether X holds the samples."""
        return True

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        n_samples, n_features = self.X.shape
        return n_samples, n_features

    def __getstate__(self) -> dict[str, Any]:
        derived = ("rows", "sweep_rows", "matrix", "diagonal")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    @property
    def most_free(self) -> int:
        """How many points can be free at a time."""
        n_samples, n_features = self.shape
        return min(n_samples, n_features + 1)

    def constant_function(self, value: float) -> tuple[np.ndarray, float]:
        """Return w and multiplier of f(x) = value, where the intercept is free or this zero."""
        w = np.zeros(self.X.shape[1] + (self.constant.bias != 0.0))
        if value:
            w[-1] = value / self.constant.bias
        return w, value

    def check_new(self, X: Any) -> Any:
        """Return the features of other samples, checked, or their kernel with the training ones."""
        return check_new_features(X, self.X.shape[1])

    @cached_property
    def rows(self) -> Rows:
        """The z_i."""
        return make_rows(self.X, self.sign, self.constant.bias, balanced=self.constant.free)

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows that lie in memory as a walk likes them, and their order."""
        order = order_in_memory(self.X, self.sign, self.response)
        bias, free = self.constant.bias, self.constant.free
        if order is None:
            return make_rows(self.X, self.sign, bias, balanced=free, rearranged=True), None
        return make_rows(self.X[order], self.sign[order], bias, balanced=free), order

    def coef(self, solution: Solution) -> np.ndarray:
        """Return the weights of the features."""
        return solution.w[: self.X.shape[1]].copy()

    def intercept(self, solution: Solution) -> float:
        """Return the constant part of the decision function."""
        return float(self.constant.bias * solution.w[-1]) if self.constant.bias else 0.0

    def parts(self, solution: Solution) -> dict[str, Any]:
        """Return what, with the intercept, makes up the decision function."""
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

    def functions(self, swept: Sweep) -> Functions:
        """Return the decision functions of several solutions in a row."""
        w, theta, bias = swept.w, swept.theta, self.constant.bias
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

    def squared_norms(self) -> np.ndarray:
        """Return ‖x_i‖² of the training samples."""
        return np.asarray(self.norms(self.X) ** 2)

    def points(self, solution: Solution) -> Points:
        """Return the primal and the dual point of a solution, from the data."""
        w, signed = solution.w, self.sign * solution.theta
        v = self.X.T @ signed
        if self.constant.free:
            w = w[:-1]
        elif self.constant.bias:
            v = np.append(v, self.constant.bias * signed.sum())
        return Points(self.sign * self.decide(self.X, solution), (w, w), (v, v))

    def measure(self, solution: Solution, line: Line, t: float) -> Measure:
        """Judge w and θ, each from its own numbers, and how well w = Σ θ_i z_i holds."""
        theta, w = solution.theta, solution.w
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
        off = max(off, self.imbalance(theta, line, t))
        squared = float(w @ w), float(summed @ summed)
        return measure(theta, margin, line, t, *squared, off, longest)

    def imbalance(self, theta: np.ndarray, line: Line, t: float) -> float:
        """Return how far Σ sign_i θ_i is from zero, where it has to be.

        As part of its terms, or of a box.
        """
        if not self.constant.free:
            return 0.0
        terms = max(float(np.abs(theta).sum()), float(line.width(t).max()), TINY)
        return abs(float(self.sign @ theta)) / terms
