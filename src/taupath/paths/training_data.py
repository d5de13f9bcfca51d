"""Training data: turn dual solutions into decision functions, and measure optimality."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import Rows
from taupath._core._sparse_rows import products_with_columns
from taupath.engine.problem import TINY, Line
from taupath.engine.readers import ReadersLock, made_once
from taupath.engine.record import Solution
from taupath.engine.rows import Letters, make_rows, order_in_memory, pack
from taupath.engine.status import FREE
from taupath.paths.blocks import slices
from taupath.paths.certificate import Measure, Units, measure
from taupath.paths.crossings import Functions
from taupath.paths.evaluation import Evaluation, LinearEvaluation
from taupath.paths.intercept import (
    MUCH_LESS,
    ROUNDED_BY,
    Intercept,
    Wishes,
    prices,
    round_intercept,
)
from taupath.paths.kernels import Kernel
from taupath.validation import check_new_features

# With at most this many samples, and fewer samples than features, decision functions are kept as θ
# instead of w: at all nodes, about two per sample, they then take no more than `crossings.KEPT`.
MOST_BY_THETA = 4000
# Samples whose decision functions are followed over τ at a time, so that temporary arrays stay
# small; fewer if their products with the training samples would take more than so many bytes.
ROWS_AT_A_TIME = 32768
# Columns in which more than this part of the entries are stored are multiplied as a dense matrix.
FREQUENT = 0.25
BYTES_AT_A_TIME = 64_000_000


class Sweep(NamedTuple):
    """Solutions at consecutive nodes: either w or θ of the distinct samples, and the multiplier."""

    w: np.ndarray | None
    theta: np.ndarray | None
    multiplier: np.ndarray
    travel: np.ndarray  # ‖Δw‖ from each node to the next, without the constant feature
    bent: np.ndarray | None = None  # as `node_blocks.Swept` has it; None if it is not known


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
    # whether solutions have an intercept of their own although it is not free: only with a kernel
    own_intercept = False
    centred = False  # whether the walk centres x and y: only with a free intercept
    shift: np.ndarray | None = None  # subtracted from each x_i for the walk
    extra: Any = None  # rows that are no samples, see `ExtendedData`

    def __init__(
        self,
        X: Any,
        responses: Responses,
        constant: Intercept,
        shift: np.ndarray | None = None,
    ) -> None:
        self.X, self.responses, self.constant = X, responses, constant
        self.shift = shift
        self.lock = ReadersLock(self)  # rows have scratch space: one thread at a time reads them

    @property
    def indefinite(self) -> bool:
        """Whether the kernel has negative eigenvalues beyond rounding."""
        return False

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
        derived = ("rows", "walked_X", "signed_matrix", "diagonal", "units", "lengths", "_columns")
        left_out = (*derived, "lock")
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = ReadersLock(self)

    def forget_shared(self) -> None:
        """Drop the rows: their scratch space or their cache may be half changed."""
        self.__dict__.pop("rows", None)

    @property
    def distinct(self) -> "TrainingData":
        """What is walked: these data, or one sample in place of all of its copies."""
        return self

    @property
    def places(self) -> np.ndarray:
        """The number of each distinct sample among all samples: that of its first copy."""
        return np.arange(self.shape[0])

    @property
    def group(self) -> np.ndarray:
        """The number of the distinct sample that each sample is a copy of."""
        return np.arange(self.shape[0])

    def with_samples(self, X: Any, responses: Responses) -> "TrainingData":
        """Return other samples with the same kernel and the same kind of intercept."""
        data = TrainingData(X, responses, self.constant, self.shift)
        data.centred = self.centred
        return data

    def extended(self, line: Line, unit: float = 1.0) -> Line:
        """Return the line of the samples, continued by extra rows if there are any.

        θ and w are in this unit.
        """
        return line

    def expand(self, solution: Solution) -> Solution:
        """Return the solution of all samples, given that of the rows that were walked."""
        return solution

    def settled(self, found: Solution, raised: bool, t: float) -> Iterator[list[Solution]]:
        """Yield forms of a solution of the rows that were walked to choose from, the best first.

        `raised` tells whether it was read for raised targets.
        """
        yield [found]

    def whole(self, solution: Solution, found: Solution, t: float) -> Solution:
        """Return the solution of all samples, continued by extra rows of the one found at t."""
        return solution

    def expand_theta(self, theta: np.ndarray) -> np.ndarray:
        """Return θ of all samples, the last axis, given those of the distinct ones."""
        return theta

    def merge_theta(self, theta: np.ndarray) -> np.ndarray:
        """Return θ of the distinct samples, the last axis, given those of all."""
        return theta

    def constant_function(self, value: float) -> tuple[np.ndarray, float]:
        """Return w and the multiplier of f(x) = value, which is 0 unless the intercept is free."""
        w = np.zeros(self.X.shape[1] + (self.constant.bias != 0.0))
        if value:
            w[-1] = value / self.constant.bias
        return w, value

    def check_new(self, X: Any) -> Any:
        """Return the features of other samples, checked, or their kernel with the training ones."""
        return check_new_features(X, self.X.shape[1])

    @made_once
    def walked_X(self) -> Any:
        """The x_i as they are walked with, centred if there is a shift."""
        return self.X if self.shift is None else self.X - self.shift

    @made_once
    def rows(self) -> Rows:
        """The z_i, centred if there is a shift."""
        bias, free = self.constant.bias, self.constant.free
        return make_rows(self.walked_X, self.sign, bias, balanced=free, packed=self._packed)

    @made_once
    def _packed(self) -> Letters | None:
        """The rows of `walked_X` if they are one-hot letters: for walks, and kept for reading."""
        return pack(self.walked_X)

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows laid out in memory for a quick walk, and their order."""
        X = self.walked_X
        order = order_in_memory(X, self.sign, self.response)
        bias, free = self.constant.bias, self.constant.free
        if order is None:
            packed = self._packed
            return make_rows(
                X, self.sign, bias, balanced=free, rearranged=True, packed=packed
            ), None
        return make_rows(X[order], self.sign[order], bias, balanced=free), order

    def uncentred(self, w: np.ndarray, multiplier: Any, centre: float) -> tuple[np.ndarray, Any]:
        """Return w and the multiplier for the x_i and y as given, from those of the walk.

        `centre` was subtracted from y. For several solutions there is a row of w for each.
        """
        if self.shift is None and centre == 0.0:
            return w, multiplier
        bias = self.constant.bias
        constant = bias * w[..., -1].astype(np.longdouble) + centre
        if self.shift is not None:
            constant -= w[..., : len(self.shift)].astype(np.longdouble) @ self.shift
        constant = np.asarray(constant, dtype=float)[()]
        w = w.copy()
        w[..., -1] = constant / bias
        return w, constant

    def with_best_intercept(
        self, solution: Solution, up: np.ndarray, down: np.ndarray, centre: float
    ) -> Solution:
        """Return the solution with a free intercept that is rounded to where that costs least.

        `up` and `down` are the room of each θ. Samples that rounding can move across the margin
        have a say, not only the free ones.
        """
        free = solution.status == FREE
        above, below = (
            float(price.sum()) for price in prices(up[free], down[free], self.sign[free])
        )
        lopsided = min(above, below) * MUCH_LESS < max(above, below)
        if not (lopsided or centre or self.shift is not None):
            return solution
        point, given = self.evaluation(solution), self.intercept(solution)
        most = ROUNDED_BY * abs(given)
        rough, error = point.slacks()
        members = np.flatnonzero(free | (np.abs(rough) <= most + error))
        if len(members) == 0:
            return solution
        slack, _ = point.exact_slacks(members)
        wishes = Wishes(slack, self.sign[members], up[members], down[members], most)
        w = solution.w.copy()
        intercept = round_intercept(given, wishes, w[:-1], self.shift)
        if self.kernel is None:  # otherwise w holds no intercept that is used
            w[-1] = intercept / self.constant.bias
        return solution._replace(w=w, multiplier=intercept)

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

    @property
    def width(self) -> int:
        """Number of coefficients of a decision function as it is kept."""
        return self.shape[0] if self.by_theta else self.shape[1]

    def functions(self, swept: Sweep) -> Functions:
        """Return the decision functions of solutions at consecutive nodes."""
        w, theta, multiplier, travel, bent = swept
        bias = self.constant.bias
        if theta is not None:
            coef = theta
            coef *= self.sign
            given = self.constant.free or self.own_intercept
            constant = multiplier if given else bias**2 * coef.sum(axis=1)
            return Functions(coef, constant, travel, bent)
        assert w is not None
        if not bias:
            return Functions(w, np.zeros(len(w)), travel)
        return Functions(w[:, :-1], bias * w[:, -1], travel)

    def distance(self, theta: np.ndarray) -> float:
        """Return ‖Σ θ_i φ(x_i)‖, for the difference of two θ."""
        return float(np.linalg.norm(self.X.T @ (self.sign * theta)))

    def features(self, X: Any) -> Any:
        """Return checked X, or its products with the training samples."""
        if not self.by_theta:
            return X
        # Σ sign_i θ_i = 0, so that both may be centred
        X = X if self.shift is None else X - self.shift
        if not (sp.issparse(X) and sp.issparse(self.walked_X)):
            return np.asarray(X @ self.walked_X.T)
        frequent, dense, columns = self._columns
        products = np.ascontiguousarray(X[:, frequent].toarray() @ dense)
        if products.size:
            products_with_columns(*_compressed(X), *columns, products)
        return products

    @made_once
    def _columns(self) -> tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
        """The frequent columns of the training samples, their entries, and all other columns."""
        columns = self.walked_X.tocsc()
        counts = np.diff(columns.indptr)
        often = counts > FREQUENT * self.shape[0]
        # not more than a few for each sample, so that they take little memory
        often[np.argsort(-counts, kind="stable")[self.shape[0] // 4 :]] = False
        frequent = np.flatnonzero(often)
        dense = np.ascontiguousarray(columns[:, frequent].toarray().T)
        rest = ~np.repeat(often, counts)
        ends = np.append(0, np.cumsum(np.where(often, 0, counts)))
        rare = sp.csc_array((columns.data[rest], columns.indices[rest], ends), columns.shape)
        return frequent, dense, _compressed(rare)

    def blocks(self, X: Any, numbers: int = 1) -> Iterator[tuple[slice, Any]]:
        """Yield slices of the rows of checked X, each with the features of these rows.

        The caller will compute so many `numbers` for each row.
        """
        numbers = max(numbers, self.width if self.by_theta else 1)
        most = max(min(ROWS_AT_A_TIME, BYTES_AT_A_TIME // (8 * numbers)), 1)
        for some in slices(X.shape[0], most):
            yield some, self.features(X[some])

    def weights(self, coef: np.ndarray, columns: Any = None) -> np.ndarray:
        """Return the feature weights of functions with these coefficients; optionally only some."""
        if not self.by_theta:
            return coef if columns is None else coef[:, columns]
        X = self.walked_X if columns is None else self.walked_X[:, columns]
        return np.asarray((X.T @ coef.T).T)

    def norms(self, X: Any) -> np.ndarray:
        """Return ‖x‖ of each row."""
        squares = X.multiply(X).sum(axis=1) if sp.issparse(X) else np.einsum("ij,ij->i", X, X)
        return np.asarray(np.sqrt(np.asarray(squares, dtype=float).ravel()))

    def second_moments(self) -> np.ndarray:
        """Return the second moments of [x, 1] over the training samples."""
        sums = np.append(np.asarray(self.X.sum(axis=0)).ravel(), self.X.shape[0])
        squares = self.X.T @ self.X
        squares = squares.toarray() if sp.issparse(squares) else squares
        moments = np.block([[squares, sums[:-1, np.newaxis]], [sums]])
        return np.asarray(moments / self.X.shape[0], dtype=float)

    def squared_norms(self) -> np.ndarray:
        """Return ‖x_i‖² of the training samples."""
        return np.asarray(self.norms(self.X) ** 2)

    @property
    def has_features(self) -> bool:
        """Whether a feature of some sample is not zero."""
        return bool((self.X if isinstance(self.X, np.ndarray) else self.X.data).any())

    def points(self, solution: Solution) -> Points:
        """Return the primal and the dual point of a solution, computed from the data."""
        w, signed = solution.w, self.sign * solution.theta
        v = self.X.T @ signed
        if self.constant.free:
            w = w[:-1]
        elif self.constant.bias:
            v = np.append(v, self.constant.bias * signed.sum())
        return Points(self.sign * self.decide(self.X, solution), (w, w), (v, v))

    @made_once
    def units(self) -> Units:
        """What gaps and violations are relative to."""
        return Units(self.target, self.weight)

    @made_once
    def lengths(self) -> np.ndarray:
        """‖x_i‖ of the training samples."""
        return self.norms(self.X)

    @made_once
    def most_terms(self) -> int:
        """Most entries of a row that are stored."""
        if isinstance(self.X, np.ndarray):
            return int(self.X.shape[1])
        return int(np.diff(self.X.indptr).max(initial=1))

    def evaluation(self, solution: Solution) -> Evaluation:
        """Return the primal and the dual point of a solution, to be measured."""
        n_features = self.X.shape[1]
        products, combine = self._multiplications()
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
            products,
            combine,
            self.X.__getitem__,
        )

    def _multiplications(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return the functions v ↦ X v and θ ↦ Xᵀ θ."""
        return self.X.__matmul__, self.X.T.__matmul__

    def measure(self, solution: Solution, line: Line, t: float, least: float = 0.0) -> Measure:
        """Measure how far from optimal a solution is; its gap is relative to `least` or more."""
        return measure(self.evaluation(solution), line, t, self.units, least)

    def imbalance(self, theta: np.ndarray, line: Line, t: float) -> float:
        """Return |Σ sign_i θ_i|, which a free intercept makes zero, relative to terms and boxes."""
        if not self.constant.free:
            return 0.0
        terms = max(float(np.abs(theta).sum()), float(line.width(t).max()), TINY)
        return abs(float(self.sign @ theta)) / terms


def _compressed(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the arrays of a compressed matrix, as the core takes them."""
    return (
        X.data.astype(np.float64, copy=False),
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.intp, copy=False),
    )
