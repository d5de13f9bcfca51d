"""Solutions at nodes with a kernel, certified for every value of the parameter."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath._core._margins import inner
from taupath.approximate.array_libraries import Library
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.interpolation import index_sets, interpolate, interval_of
from taupath.approximate.kernel_matrix import KernelMatrix, least_budget
from taupath.approximate.kernel_points import KernelNode, KernelPoints
from taupath.approximate.kernel_solver import KernelSolver
from taupath.approximate.kernel_source import KernelSource
from taupath.approximate.node_search import check_tol, search_nodes
from taupath.approximate.simplify import gap_bound_with_kernel
from taupath.approximate.solutions import Certified
from taupath.engine.readers import made_once
from taupath.engine.record import Solution
from taupath.engine.status import FREE
from taupath.paths.certificate import Measure, relative_violation
from taupath.paths.jobs import Job
from taupath.paths.kernel_data import MEGABYTE, KernelData
from taupath.paths.training_data import Sweep
from taupath.progress import Tell

# θ is at a bound if it is no further from it than this part of the largest |bound|: rounding.
AT_THE_BOUND = 1e-14
# The part of the budget that is tried after the memory of a device was not enough.
IN_TILES = 0.1
# Travelled distances are differences of large sums: this part of ‖w‖² is added to their squares.
TRAVEL_ROUNDING = 1e-10


@dataclass(frozen=True)
class KernelNodes:
    """Nodes in order, of the distinct samples: a row of θ and one of β for each, w = Σ β_i z_i."""

    taus: np.ndarray
    theta: np.ndarray
    beta: np.ndarray
    intercept: np.ndarray
    travel: np.ndarray  # ‖Δw‖ from each node to the next, without the intercept

    @classmethod
    def of(cls, nodes: Iterator[KernelNode]) -> "KernelNodes":
        """Return what is kept of nodes, as they come."""
        taus, theta, beta, intercept = [], [], [], []
        travel: list[float] = []
        last: tuple[np.ndarray, np.ndarray] | None = None
        for node in nodes:
            taus.append(node.point.t)
            theta.append(node.theta)
            beta.append(node.beta)
            intercept.append(node.intercept)
            if last is not None:
                travel.append(_distance(last, node.point.w))
            last = node.point.w
        return cls(*(np.array(each) for each in (taus, theta, beta, intercept, travel)))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(each.nbytes for each in self.__dict__.values())


def _distance(one: tuple[np.ndarray, np.ndarray], other: tuple[np.ndarray, np.ndarray]) -> float:
    """Return how far apart two w are, rounded up; their last entries are intercepts."""
    (u, f), (v, g) = ((first[:-1], second[:-1]) for first, second in (one, other))
    squared = float((v - u) @ (g - f))
    return float(np.sqrt(max(squared, 0.0) + TRAVEL_ROUNDING * max(float(u @ f), float(v @ g))))


class AtKernelNodes(Certified):
    """Nodes that were solved for with a kernel; the kernel is computed with a `library`.

    `budget` is the most bytes that its matrix may take.
    """

    data: KernelData

    def __init__(
        self,
        job: Job,
        data: KernelData,
        kept: KernelNodes,
        counters: dict[str, int],
        tol: float,
        library: Library,
        budget: float,
    ) -> None:
        super().__init__(job, data, kept.taus, counters)
        self.kept, self.tol, self.library, self.budget = kept, tol, library, budget
        self._products: np.ndarray | None = None  # K times β and θ of all nodes, while certifying

    def __getstate__(self) -> dict[str, Any]:
        derived = ("matrix", "gap_bound")
        state = {name: value for name, value in self.__dict__.items() if name not in derived}
        return state | {"budget": self.data.budget, "_products": None}

    @property
    def _distinct(self) -> KernelData:
        distinct = self.data.distinct
        assert isinstance(distinct, KernelData)
        return distinct

    @property
    def nbytes(self) -> int:
        """Bytes of the nodes."""
        return self.kept.nbytes

    @made_once
    def matrix(self) -> KernelMatrix:
        """The kernel matrix of the distinct samples."""
        source, everyone = self._distinct.X, np.arange(self._distinct.shape[0])
        return KernelSource(source, self.library).matrix(self._distinct, everyone, self.budget)

    @made_once
    def gap_bound(self) -> GapBound:
        """The bound on gaps between nodes."""
        return gap_bound_with_kernel(self.job, self._distinct)

    def take(self, kept: np.ndarray, tol: float) -> "AtKernelNodes":
        """Return the solutions at some of the nodes."""
        nodes, data = self.kept, self._distinct
        beta = nodes.beta[kept]
        travel = np.array([data.distance(change) for change in np.diff(beta, axis=0)])
        fewer = KernelNodes(
            nodes.taus[kept], nodes.theta[kept], beta, nodes.intercept[kept], travel
        )
        return AtKernelNodes(
            self.job, self.data, fewer, self.counters, tol, self.library, self.budget
        )

    # -- solutions -----------------------------------------------------------------------------

    def _between(self, value: float) -> tuple[np.ndarray, np.ndarray, float]:
        """Return θ, β and the intercept, of the distinct samples."""
        k, s = interval_of(self.kinks, value)
        nodes = self.kept
        theta, beta = (interpolate(each[k], each[k + 1], s) for each in (nodes.theta, nodes.beta))
        return theta, beta, float((1.0 - s) * nodes.intercept[k] + s * nodes.intercept[k + 1])

    def _status(self, theta: np.ndarray, value: float) -> np.ndarray:
        line, t = self.job.line(self._distinct), self.job.to_t(value)
        lower, upper = line.lower(t), line.upper(t)
        near = AT_THE_BOUND * np.maximum(np.abs(lower), np.abs(upper))
        return index_sets(theta <= lower + near, theta >= upper - near)

    def solution(self, value: float) -> Solution:
        """Return the dual solution, and the intercept of the primal one."""
        theta, _, intercept = self._between(value)
        found = Solution(self._status(theta, value), theta, np.empty(0), intercept)
        return self.data.expand(found)

    def function(self, value: float) -> Solution:
        """Return the decision function, as the sum with coefficients β instead of θ."""
        _, beta, intercept = self._between(value)
        status = np.full(len(beta), FREE, dtype=np.int8)
        return self.data.expand(Solution(status, beta, np.empty(0), intercept))

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the decision functions at the nodes first, ..., last - 1."""
        assert with_theta
        some, nodes = slice(first, last), self.kept
        travel = nodes.travel[first : last - 1]
        return Sweep(None, nodes.beta[some].copy(), nodes.intercept[some].copy(), travel)

    # -- certificates --------------------------------------------------------------------------

    def session(self) -> AbstractContextManager[Any]:
        """Multiply the kernel matrix with all nodes at once, and keep the products for a while."""
        return self._with_products()

    @contextmanager
    def _with_products(self) -> Iterator[None]:
        nodes = self.kept
        self._products = self._times(np.concatenate((nodes.beta, nodes.theta)))
        try:
            yield
        finally:
            self._products = None

    def _times(self, coef: np.ndarray) -> np.ndarray:
        """Return the kernel matrix times sign coef, for each row."""
        return self.matrix.times(np.ascontiguousarray(self._distinct.sign * coef))

    def end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of an interval, from the data, and its largest violation."""
        nodes, products = self.kept, self._products
        theta, beta = nodes.theta[k], nodes.beta[k]
        if products is None:
            primal, dual = self._times(np.array([beta, theta]))
        else:
            primal, dual = products[k], products[len(nodes.taus) + k]
        value, intercept = float(nodes.taus[k]), float(nodes.intercept[k])
        return self._point(value, theta, beta, intercept, primal, dual)

    def _point(
        self,
        value: float,
        theta: np.ndarray,
        beta: np.ndarray,
        intercept: float,
        primal: np.ndarray,
        dual: np.ndarray,
    ) -> tuple[PrimalDualPoint, float]:
        """Return the points and the largest violation, given K times both."""
        data, t = self._distinct, self.job.to_t(value)
        line, sign, constant = self.job.line(data), data.sign, data.constant
        margin = sign * (primal + intercept)
        bias = 0.0 if constant.free else constant.bias
        own, implied = (intercept / bias if bias else 0.0), bias * float(sign @ theta)
        point = PrimalDualPoint(
            t,
            margin,
            inner(data.target, theta),
            (np.append(sign * beta, own), np.append(primal, own)),
            (np.append(sign * theta, implied), np.append(dual, implied)),
        )
        off = data.imbalance(theta, line, t)
        violation = relative_violation(theta, margin, line, t, off)
        return point, violation * (float(np.abs(data.target).max()) or 1.0)

    def measure(self, value: float) -> Measure:
        """Measure the solution from the data."""
        theta, beta, intercept = self._between(value)
        products = self._times(np.array([beta, theta]))
        point, violation = self._point(value, theta, beta, intercept, *products)
        gap, _ = self.gap_bound.bound(point, point)
        line = self.job.line(self._distinct)
        lower, upper = line.lower(point.t), line.upper(point.t)
        slack = self._distinct.target - point.margin
        losses = np.maximum(upper * slack, lower * slack)
        primal = 0.5 * float(point.w[0] @ point.w[1]) + float(losses.sum())
        unit = self.gap_bound.rounding.largest_target or 1.0
        return Measure(gap, violation / unit, primal, primal - gap * self.gap_bound.unit)


def solve_at_kernel_nodes(
    job: Job,
    data: KernelData,
    tau_range: tuple[float, float],
    tol: float,
    source: KernelSource,
    budget: float,
    progress: Tell | None,
) -> AtKernelNodes:
    """Return solutions between which no gap exceeds `tol`, in units of P(0) at τ = ½.

    `source` computes the kernel of all samples. `progress` is called with the fraction that is
    done, the number of nodes, and τ.
    """
    distinct = data.distinct
    assert isinstance(distinct, KernelData)
    if distinct.indefinite:
        raise ValueError(
            "the kernel is not positive semidefinite, so that duality gaps have no bound: use "
            "method='exact', which warns and says how far it is from optimal"
        )
    data.own_intercept = distinct.own_intercept = True
    gap_bound = gap_bound_with_kernel(job, distinct)
    check_tol(tol, gap_bound)

    places, library = data.places, source.library

    def solve(budget: float) -> AtKernelNodes:
        matrix = source.matrix(distinct, places, budget)
        points = KernelPoints(
            matrix, distinct.responses, distinct.constant, gap_bound, distinct.lengths
        )
        solver = KernelSolver(points)
        kept = KernelNodes.of(search_nodes(solver, *tau_range, tol, progress))
        counters = {
            "nodes": len(kept.taus),
            "newton_steps": solver.steps,
            "row_visits": matrix.rows_used,
            "halved": solver.halved,
            "refreshed": points.refreshed,
            "largest_system": solver.systems.largest,
        }
        found = AtKernelNodes(job, data, kept, counters, tol, library, budget)
        found.__dict__["matrix"] = matrix  # so that it is not computed again
        return found

    try:
        return solve(budget)
    except library.out_of_memory:
        source.forget()
        library.free()
    try:  # again with so little that the matrix is computed in tiles
        less = min(IN_TILES * budget, 0.9 * least_budget(distinct.shape[0], library))
        return solve(less)
    except library.out_of_memory:
        library.free()
        raise MemoryError(
            f"out of memory with cache_size={budget / MEGABYTE:g} (MB), and again with "
            f"{less / MEGABYTE:.3g}: use a device with more free memory, fewer samples, or "
            "device='cpu'"
        ) from None
