"""The solution at one τ to a given duality gap, by coordinate descent on the dual problem.

For data with more features than samples: rows are then nearly orthogonal, so that a few passes
over them suffice, while Newton's equations are large. A pass sets one θ_i after another to the best
value in its box, and w = Σ θ_i z_i all the time. The gap is what the samples lose,

    Σ h_i (p_i - m_i)₊ - l_i (m_i - p_i)₊ - θ_i (p_i - m_i).

The intercept is a feature or there is none: with a free one, no θ_i could change alone.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taupath._core._descent import descend
from taupath._core._margins import inner
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.interpolation import DualNodeList
from taupath.approximate.node_search import search_nodes
from taupath.approximate.row_sums import RowSums
from taupath.exceptions import WalkFailed
from taupath.progress import Tell

# Between two looks at all samples, those that may change are visited so many times at most: twice
# as often each time, since samples left out may have to change, too.
MOST_PASSES = 16
# They are visited until they lose this part of the budget, for which the others need some, too.
OWN_SHARE = 0.7
# Passes after which a node is given up: Newton's method is quicker then.
MAX_PASSES = 3000


class SlowDescent(WalkFailed):
    """A node takes too many passes."""


@dataclass(frozen=True)
class Descended:
    """A solution at τ; its gap is in units of P(0)."""

    theta: np.ndarray
    fraction: np.ndarray
    point: PrimalDualPoint
    gap: float


class DescentSolver:
    """Solves at one τ after another, on all samples."""

    def __init__(self, row_sums: RowSums, gap_bound: GapBound) -> None:
        self.row_sums, self.gap_bound = row_sums, gap_bound
        self.passes = self.halved = 0
        self._squared_norm = row_sums.rows.squared_norms()
        self._random = np.random.default_rng(0)  # any order, but the same each time

    def solve_from_zero(self, tau: float, budget: float) -> Descended:
        """Solve at τ, starting from w = 0, or as near as the boxes allow."""
        return self.solve(tau, np.zeros(len(self._squared_norm)), budget)

    def solve_beyond(
        self, before: Descended | None, here: Descended, tau: float, budget: float
    ) -> Descended:
        """Solve at τ, starting from the extrapolated θ; those at a bound stay there."""
        lower, upper = self.row_sums.bounds(self.gap_bound.boxes, tau)
        start = lower + (upper - lower) * here.fraction
        if before is not None:
            inside = (here.fraction > 0.0) & (here.fraction < 1.0)
            factor = (tau - here.point.t) / (here.point.t - before.point.t)
            start[inside] = (here.theta + factor * (here.theta - before.theta))[inside]
        return self.solve(tau, start, budget)

    def solve_between(self, here: Descended, there: Descended, budget: float) -> Descended:
        """Solve halfway between two nodes, starting from the mean of their θ."""
        self.halved += 1
        tau = 0.5 * (here.point.t + there.point.t)
        return self.solve(tau, 0.5 * (here.theta + there.theta), budget)

    def solve(self, tau: float, theta: np.ndarray, budget: float) -> Descended:
        """Return a solution whose gap is at most `budget`, in units of P(0), starting from θ."""
        lower, upper = self.row_sums.bounds(self.gap_bound.boxes, tau)
        theta = np.clip(theta, lower, upper)
        unit, first_pass, n_passes = self.gap_bound.unit, self.passes, 1
        while True:
            found = self._at(tau, theta, lower, upper)
            if found.gap <= budget:
                return found
            if self.passes - first_pass >= MAX_PASSES:
                raise SlowDescent(f"the duality gap stays at {found.gap:.2g}", tau)
            theta, w = found.theta, found.point.w[0]
            short = self.row_sums.target - found.point.margin
            settled = theta == np.where(short > 0.0, upper, lower)
            members = np.flatnonzero(~settled).astype(np.int32)
            for _ in range(n_passes):
                lost = self._pass(self._random.permutation(members), lower, upper, theta, w)
                if lost <= OWN_SHARE * budget * unit:
                    break
            n_passes = min(2 * n_passes, MOST_PASSES)

    def _pass(
        self,
        order: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        theta: np.ndarray,
        w: np.ndarray,
    ) -> float:
        """Visit each of these samples once, and return what they lost before."""
        self.passes += 1
        rows, target = self.row_sums.rows, self.row_sums.target
        return float(descend(rows, order, target, lower, upper, self._squared_norm, theta, w))

    def _at(self, tau: float, theta: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Descended:
        """Return the solution with these θ, whose w and margins are computed afresh."""
        row_sums, room = self.row_sums, upper - lower
        fraction = np.divide(theta - lower, room, out=np.zeros_like(theta), where=room > 0.0)
        fraction[(theta == upper) & (room > 0.0)] = 1.0
        theta = row_sums.theta(self.gap_bound.boxes, tau, fraction)
        w = row_sums.rows.combine(theta)
        margin = row_sums.rows.products(w)
        short = row_sums.target - margin
        lost = float((np.where(short > 0.0, upper, lower) - theta) @ short)
        product = inner(row_sums.target, theta)
        point = PrimalDualPoint.explicit(tau, margin, product, w, w, False)
        return Descended(theta, fraction, point, lost / self.gap_bound.unit)

    def find(
        self, begin: float, end: float, tol: float, bias: float, progress: Tell | None
    ) -> tuple[DualNodeList, dict[str, int]]:
        """Return nodes between which no gap exceeds `tol`, in units of P(0), and counters."""
        nodes = list(_kept(search_nodes(self, begin, end, tol, progress)))
        taus, w, fractions = (np.array(each) for each in zip(*nodes, strict=True))
        counters = {
            "nodes": len(nodes),
            "passes": self.passes,
            "row_visits": int(self.row_sums.rows.visits),
            "halved": self.halved,
        }
        return DualNodeList(taus, w, fractions, bias), counters


def _kept(nodes: Iterator[Descended]) -> Iterator[tuple[float, np.ndarray, np.ndarray]]:
    for node in nodes:
        yield node.point.t, node.point.w[0], node.fraction
