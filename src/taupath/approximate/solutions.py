"""Solutions at nodes, certified for every value of the parameter."""

from abc import abstractmethod
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from taupath.approximate.all_rows import LocalRows
from taupath.approximate.descent import DescentSolver, SlowDescent
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint, SampleLosses
from taupath.approximate.interpolation import (
    DualNodeList,
    Interpolation,
    NodeList,
    dual_between,
)
from taupath.approximate.node import DualNode, Node
from taupath.approximate.node_search import check_tol, find_nodes
from taupath.approximate.node_solver import NodeSolver
from taupath.approximate.row_sums import NodeSums, RowSummary
from taupath.approximate.training_data import StoredData
from taupath.engine.record import Solution
from taupath.paths.certificate import Certificate, Measure
from taupath.paths.jobs import Job
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import Sweep
from taupath.progress import Tell


class Certified(Solutions):
    """Solutions at nodes, linear in between, whose gaps are bounded for all τ at once."""

    method = "approximate"
    tol: float
    _certificate: Certificate | None = None  # what `certify` returned last

    def session(self) -> AbstractContextManager[Any]:
        """Keep the rows that `gap_bound` and `end` need in memory for a while."""
        return nullcontext()

    @property
    @abstractmethod
    def gap_bound(self) -> GapBound:
        """The bound on gaps between nodes."""

    @abstractmethod
    def end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of an interval, from the data, and its largest violation."""

    @abstractmethod
    def take(self, kept: np.ndarray, tol: float) -> "Certified":
        """Return the solutions at some of the nodes, between which gaps are within `tol`."""

    def in_units(self, found: Measure) -> Measure:
        """Return the measure with its gap in the units of all gaps of the path."""
        return replace(found, gap=(found.primal - found.dual) / self.gap_bound.unit)

    @property
    def certificate(self) -> Certificate:
        """What `certify` returns, computed once."""
        return self._certificate or self.certify(None)

    def certify(self, max_points: int | None) -> Certificate:
        """Bound the gaps of all solutions, from all nodes."""
        with self.session():
            gap_bound = self.gap_bound
            begin, kkt = self.end(0)
            worst, worst_kkt = (-np.inf, 0.0), (kkt, float(self.kinks[0]))
            for k in range(1, len(self.kinks)):
                end, kkt = self.end(k)
                worst = max(worst, gap_bound.bound(begin, end))
                worst_kkt = max(worst_kkt, (kkt, float(self.kinks[k])))
                begin = end
        self._certificate = Certificate(
            worst_gap=worst[0],
            tau_gap=float(self.job.from_t(worst[1])),
            worst_kkt=worst_kkt[0] / (gap_bound.rounding.largest_target or 1.0),
            tau_kkt=worst_kkt[1],
            n_checked=len(self.kinks),
            complete=True,
            continuum=True,
            tol=self.tol,
        )
        return self._certificate


class ByFunctions(Certified):
    """Solutions whose decision functions are known by w at the nodes, for the linear kernel."""

    data: StoredData

    def __init__(
        self,
        job: Job,
        data: StoredData,
        functions: Interpolation,
        counters: dict[str, int],
        tol: float,
    ) -> None:
        super().__init__(job, data, functions.taus, counters)
        self.functions, self.tol = functions, tol

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the nodes."""
        return self.functions.nbytes

    def function(self, value: float) -> Solution:
        """Return the decision function, by w only."""
        return self.functions.function(value)

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return the decision functions at the nodes first, ..., last - 1."""
        return self.functions.sweep(first, last, with_theta)

    def _as_end(
        self, node: Node | DualNode, margin: Any, sums: NodeSums
    ) -> tuple[PrimalDualPoint, float]:
        free, (v, target_product, violation) = self.data.constant.free, sums
        point = PrimalDualPoint.explicit(node.tau, margin, target_product, node.w, v, free)
        return point, violation


class AtNodes(ByFunctions):
    """Nodes that were solved for; θ is computed from w and the data on demand.

    What is kept does not grow with the number of samples.
    """

    functions: NodeList | DualNodeList

    def __init__(
        self,
        job: Job,
        data: StoredData,
        functions: NodeList | DualNodeList,
        counters: dict[str, int],
        tol: float,
        gap_bound: GapBound,
    ) -> None:
        super().__init__(job, data, functions, counters, tol)
        self._gap_bound = gap_bound

    @property
    def gap_bound(self) -> GapBound:
        """The bound on gaps between nodes."""
        return self._gap_bound

    def take(self, kept: np.ndarray, tol: float) -> "AtNodes":
        """Return the solutions at some of the nodes."""
        fewer = self.functions.take(kept)
        return AtNodes(self.job, self.data, fewer, self.counters, tol, self._gap_bound)

    def solution(self, value: float) -> Solution:
        """Return the solution, its θ from the data."""
        w, (nodes, s) = self.functions.weights(value), self.functions.beside(value)
        status, theta = dual_between(self.data.row_sums(), nodes, s, self.job.boxes, w)
        found = Solution(status, theta, w, 0.0)
        return found._replace(multiplier=self.data.intercept(found))

    def measure(self, value: float) -> Measure:
        """Measure the solution from the data."""
        line, t = self.job.line(self.data), self.job.to_t(value)
        return self.in_units(self.data.measure(self.solution(value), line, t))

    def end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of an interval, from the data, and its largest violation."""
        row_sums, node = self.data.row_sums(), self.functions[k]
        margin = row_sums.rows.products(node.w)
        return self._as_end(node, margin, row_sums.sums_at(node, self.job.boxes, margin))


def gap_bound_on(job: Job, data: StoredData, summary: RowSummary | None = None) -> GapBound:
    """Return the bound on the gaps of a job on these data; their summary may be known."""
    losses = SampleLosses(data.target, data.weight, data.rows.signs)
    summary = summary or data.row_sums().summary()
    return GapBound(summary, losses, job.boxes, data.constant.free, job.unit_at)


def node_solver(job: Job, data: StoredData) -> NodeSolver:
    """Return the solver of a job on these data, for one τ after another."""
    rows = LocalRows(data.row_sums())
    return NodeSolver(rows, gap_bound_on(job, data, rows.summary), data.constant.bias)


def solve_at_nodes(
    job: Job, data: StoredData, tau_range: tuple[float, float], tol: float, progress: Tell | None
) -> AtNodes:
    """Return solutions between which no gap exceeds `tol`, in units of P(0) at τ = ½.

    `progress` is called with the fraction that is done, the number of nodes, and τ.
    """
    solver = node_solver(job, data)
    check_tol(tol, solver.gap_bound)
    nodes: NodeList | DualNodeList
    if suits_descent(data):
        try:
            descent = DescentSolver(data.row_sums(), solver.gap_bound)
            nodes, counters = descent.find(*tau_range, tol, data.constant.bias, progress)
            return AtNodes(job, data, nodes, counters, tol, solver.gap_bound)
        except SlowDescent:
            pass
    nodes, counters = find_nodes(solver, *tau_range, tol, progress)
    return AtNodes(job, data, nodes, counters, tol, solver.gap_bound)


def suits_descent(data: StoredData) -> bool:
    """Return whether θ can be found by coordinate descent, and in a few passes."""
    n_samples, n_features = data.shape
    return n_features >= n_samples and not data.constant.free
