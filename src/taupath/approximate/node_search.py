"""The search for nodes: steps in τ as long as the bound on the gaps between two nodes allows."""

from collections.abc import Iterator
from typing import Protocol, TypeVar

import numpy as np

from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.interpolation import NodeList
from taupath.approximate.node_solver import NodeSolver
from taupath.engine.work import along
from taupath.progress import Tell

# The part of the tolerance that the gap of a node may use up; the rest is for the intervals beside
# it. A smaller part takes more Newton steps per node, a larger one more nodes.
NODE_SHARE = 0.5
# The part of the tolerance that the bound of the next interval aims at: less than 1, since it is
# only predicted.
INTERVAL_AIM = 0.95
# A bound is accepted this far below the tolerance: `certify` adds up in another order, and rounding
# must not take it above.
SUMMATION_SLACK = 1e-9
# The first step in τ: short, since nothing is known yet, and steps grow quickly.
FIRST_STEP = 5e-4
# Limits on the factor from one step to the next, since bounds are predicted from one interval only.
MAX_STEP_GROWTH, MAX_STEP_CUT = 3.0, 0.2


def check_tol(tol: float, gap_bound: GapBound, exact: bool = True) -> None:
    """Refuse a tolerance below rounding; if `exact`, the message suggests the exact path."""
    least = gap_bound.smallest_tol()
    if tol < least:
        raise ValueError(
            f"tol={tol!r} is less than what doubles can certify for these data: the least is "
            f"{least:.2g}; give at least that" + (", or use method='exact'" if exact else "")
        )


class SolvedNode(Protocol):
    """A solution at one τ; its gap is in units of P(0)."""

    @property
    def point(self) -> PrimalDualPoint:
        """The primal and the dual point."""

    @property
    def gap(self) -> float:
        """The duality gap."""


AnyNode = TypeVar("AnyNode", bound=SolvedNode)


class AnySolver(Protocol[AnyNode]):
    """Solves at one τ after another; each gap is at most `budget`, in units of P(0)."""

    gap_bound: GapBound

    def solve_from_zero(self, tau: float, budget: float) -> AnyNode:
        """Solve at τ, starting from w = 0."""

    def solve_beyond(
        self, before: AnyNode | None, here: AnyNode, tau: float, budget: float
    ) -> AnyNode:
        """Solve at τ, starting from what the last two nodes, or the last one, suggest."""

    def solve_between(self, here: AnyNode, there: AnyNode, budget: float) -> AnyNode:
        """Solve halfway between two nodes."""


def search_nodes(
    solver: AnySolver[AnyNode], begin: float, end: float, tol: float, progress: Tell | None = None
) -> Iterator[AnyNode]:
    """Yield nodes between which no gap exceeds `tol`, in units of P(0), in the order of τ.

    Steps from `begin` to `end` are as long as the bound of the last interval suggests. An interval
    that turns out to be too long is halved, as often as necessary.
    """
    budget, accepted = NODE_SHARE * tol, (1.0 - SUMMATION_SLACK) * tol
    here, n_nodes = solver.solve_from_zero(begin, budget), 1
    yield here
    before: AnyNode | None = None
    ahead: list[AnyNode] = []  # solved beyond `here`, the nearest last
    step = min(FIRST_STEP, end - begin)
    while here.point.t < end:
        if not ahead:
            tau = here.point.t + step
            ahead.append(solver.solve_beyond(before, here, tau if tau < end else end, budget))
        there = ahead[-1]
        bound, _ = solver.gap_bound.bound(here.point, there.point)
        if len(ahead) == 1:
            step = (there.point.t - here.point.t) * _growth(bound, here.gap, there.gap, tol)
        if bound <= accepted:
            before, here = here, ahead.pop()
            n_nodes += 1
            yield here
            if progress is not None:
                done = (along(here.point.t) - along(begin)) / (along(end) - along(begin))
                progress(done, n_nodes, here.point.t)
        else:
            ahead.append(solver.solve_between(here, there, budget))


def find_nodes(
    solver: NodeSolver, begin: float, end: float, tol: float, progress: Tell | None = None
) -> tuple[NodeList, dict[str, int]]:
    """Return nodes between which no gap exceeds `tol`, in units of P(0), and counters of the work.

    What is kept of a node does not grow with the number of samples.
    """
    nodes = [found.node for found in search_nodes(solver, begin, end, tol, progress)]
    counters = {
        "nodes": len(nodes),
        "newton_steps": solver.steps,
        "row_visits": solver.rows.visits,
        "halved": solver.halved,
    }
    return NodeList(nodes, solver.bias), counters


def _growth(bound: float, gap: float, other_gap: float, tol: float) -> float:
    """Return the factor from the length of the last interval to that of the next.

    Beyond the gaps of its ends, the bound grows with the square of the length.
    """
    bulge = max(bound - max(gap, other_gap), 1e-6 * tol)
    factor = np.sqrt((INTERVAL_AIM - NODE_SHARE) * tol / bulge)
    return float(np.clip(factor, MAX_STEP_CUT, MAX_STEP_GROWTH))
