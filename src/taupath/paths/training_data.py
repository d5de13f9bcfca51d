"""Training data: turn dual solutions into decision functions, and measure optimality."""

import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.rows import make_rows, order_in_memory, with_fewer_columns
from taupath.paths.blocks import slices
from taupath.paths.certificate import TINY, Measure, measure
from taupath.paths.crossings import Functions
from taupath.paths.intercept import Intercept
from taupath.paths.kernels import Kernel
from taupath.validation import check_new_features

# With at most this many samples, and fewer samples than features, decision functions are kept as θ
# instead of w: at all nodes, about two per sample, they then take no more than `crossings.KEPT`.
MOST_BY_THETA = 4000
# Samples whose decision functions are followed over τ at a time, so that temporary arrays stay
# small; fewer if their products with the training samples would take more than so many bytes.
ROWS_AT_A_TIME = 32768
BYTES_AT_A_TIME = 64_000_000


class Solution(NamedTuple):
    """A solution at one value of the parameter."""

    status: np.ndarray  # index sets, int8
    theta: np.ndarray  # the dual solution
    w: np.ndarray  # Σ θ_i z_i, in the coordinates of the rows
    multiplier: float  # of Σ sign_i θ_i = 0, if the intercept is free


class Sweep(NamedTuple):
    """Solutions at consecutive nodes: w, θ if asked for, and the multiplier."""

    w: np.ndarray
    theta: np.ndarray | None
    multiplier: np.ndarray


class Points(NamedTuple):
    """Margins <z_i, w>, and w and v = Σ θ_i z_i as pairs of vectors.

    The inner product of two points is the first vector of one times the second of the other. A
    free intercept, which costs nothing, is left out.
    """

    margin: np.ndarray
    w: tuple[np.ndarray, np.ndarray]
    v: tuple[np.ndarray, np.ndarray]


class Responses(NamedTuple):
    """The sign of each sample's row, its target p, and its weight."""

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
        self.lock = threading.Lock()  # rows have scratch space: one thread at a time reads them

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
        """What is to be predicted: the signs of two classes, or the targets."""
        return self.sign if (self.sign < 0.0).any() else self.target

    @property
    def at_hand(self) -> bool:
        """Whether X holds the training samples."""
        return True

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of samples and of features."""
        n_samples, n_features = self.X.shape
        return n_samples, n_features

    def __getstate__(self) -> dict[str, Any]:
        derived = ("rows", "sweep_rows", "matrix", "diagonal", "lock")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = threading.Lock()

    @property
    def most_free(self) -> int:
        """How many points can be free at a time."""
        n_samples, n_features = self.shape
        return min(n_samples, n_features + 1)

    def constant_function(self, value: float) -> tuple[np.ndarray, float]:
        """Return w and the multiplier of f(x) = value, which is 0 unless the intercept is free."""
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
        """Return rows laid out in memory for a quick walk, and their order."""
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
        """Return the parts of the decision function other than the intercept."""
        return {"coef": self.coef(solution)}

    def decide(self, X: Any, solution: Solution) -> np.ndarray:
        """Return the decision function at checked features."""
        return np.asarray(X @ self.coef(solution)) + self.intercept(solution)

    @property
    def by_theta(self) -> bool:
        """Whether decision functions are kept as θ instead of w: θ is then shorter."""
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
        """Return the decision functions of solutions at consecutive nodes."""
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

    def blocks(self, X: Any) -> Iterator[tuple[slice, Any]]:
        """Yield slices of the rows of checked X, each with the features of these rows."""
        most = ROWS_AT_A_TIME
        if self.by_theta:
            most = min(most, BYTES_AT_A_TIME // (8 * self.shape[0]))
        for some in slices(X.shape[0], most):
            yield some, self.features(X[some])

    def weights(self, coef: np.ndarray, columns: Any = None) -> np.ndarray:
        """Return the feature weights of functions with these coefficients; optionally only some."""
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
        """Return the primal and the dual point of a solution, computed from the data."""
        w, signed = solution.w, self.sign * solution.theta
        v = self.X.T @ signed
        if self.constant.free:
            w = w[:-1]
        elif self.constant.bias:
            v = np.append(v, self.constant.bias * signed.sum())
        return Points(self.sign * self.decide(self.X, solution), (w, w), (v, v))

    def measure(self, solution: Solution, line: Line, t: float) -> Measure:
        """Measure w and θ independently, and how well w = Σ θ_i z_i holds."""
        theta = solution.theta
        margin, (w, _), (summed, _) = self.points(solution)
        terms = abs(self.X).T @ np.abs(theta)
        if self.constant.bias and not self.constant.free:
            terms = np.append(terms, self.constant.bias * np.abs(theta).sum())
        # relative to the terms, or to the change of w that moves a margin by one
        longest = max(float(abs(self.X).max()), self.constant.bias, TINY)
        unit = (float(np.abs(line.target0).max()) or 1.0) / longest
        off = float(np.abs(w - summed).max()) / max(float(terms.max()), unit)
        off = max(off, self.imbalance(theta, line, t))
        squared = float(w @ w), float(summed @ summed)
        return measure(theta, margin, line, t, *squared, off, longest)

    def imbalance(self, theta: np.ndarray, line: Line, t: float) -> float:
        """Return |Σ sign_i θ_i|, which a free intercept makes zero, relative to terms and boxes."""
        if not self.constant.free:
            return 0.0
        terms = max(float(np.abs(theta).sum()), float(line.width(t).max()), TINY)
        return abs(float(self.sign @ theta)) / terms
