"""The search for nodes: steps in τ as long as the bound on the gaps between two nodes allows."""

import numpy as np

from taupath.approximate.gap_bound import GapBound
from taupath.approximate.interpolation import NodeList
from taupath.approximate.node import Smoothing
from taupath.approximate.node_solver import NodeSolver, Solved
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


def find_nodes(
    solver: NodeSolver, begin: float, end: float, tol: float, progress: Tell | None = None
) -> tuple[NodeList, dict[str, int]]:
    """Return nodes between which no gap exceeds `tol`, in units of P(0), and counters of the work.

    Steps from `begin` to `end` are as long as the bound of the last interval suggests. An interval
    that turns out to be too long is halved, as often as necessary.
    """
    budget, accepted = NODE_SHARE * tol, (1.0 - SUMMATION_SLACK) * tol
    here = solver.solve_from_zero(begin, budget)
    nodes = [here.node]
    before: Solved | None = None
    ahead: list[Solved] = []  # solved beyond `here`, the nearest last
    step, halved = min(FIRST_STEP, end - begin), 0
    while here.node.tau < end:
        if not ahead:
            tau = here.node.tau + step
            ahead.append(_solve_beyond(solver, before, here, tau if tau < end else end, budget))
        there = ahead[-1]
        bound, _ = solver.gap_bound.bound(here.point, there.point)
        if len(ahead) == 1:
            step = (there.node.tau - here.node.tau) * _growth(bound, here.gap, there.gap, tol)
        if bound <= accepted:
            before, here = here, ahead.pop()
            nodes.append(here.node)
            if progress is not None:
                done = (along(here.node.tau) - along(begin)) / (along(end) - along(begin))
                progress(done, len(nodes), here.node.tau)
        else:
            halved += 1
            ahead.append(_solve_between(solver, here, there, budget))
    counters = {
        "nodes": len(nodes),
        "newton_steps": solver.steps,
        "row_visits": solver.rows.visits,
        "halved": halved,
    }
    return NodeList(nodes, solver.bias), counters


def _growth(bound: float, gap: float, other_gap: float, tol: float) -> float:
    """Return the factor from the length of the last interval to that of the next.

    Beyond the gaps of its ends, the bound grows with the square of the length.
    """
    bulge = max(bound - max(gap, other_gap), 1e-6 * tol)
    factor = np.sqrt((INTERVAL_AIM - NODE_SHARE) * tol / bulge)
    return float(np.clip(factor, MAX_STEP_CUT, MAX_STEP_GROWTH))


def _solve_beyond(
    solver: NodeSolver, before: Solved | None, here: Solved, tau: float, budget: float
) -> Solved:
    """Solve at τ, starting from the extrapolated w."""
    last, factor = None, 0.0
    if before is not None:
        last = before.iterate
        factor = (tau - here.node.tau) / (here.node.tau - before.node.tau)
    start = solver.rows.extrapolate(here.iterate, last, factor)
    return solver.solve(tau, start, here.next_smoothing, budget)


def _solve_between(solver: NodeSolver, here: Solved, there: Solved, budget: float) -> Solved:
    """Solve halfway between two nodes, starting from the mean of their w."""
    one, other = here.next_smoothing, there.next_smoothing
    return solver.solve(
        0.5 * (here.node.tau + there.node.tau),
        solver.rows.midpoint(here.iterate, there.iterate),
        Smoothing(min(one.width, other.width), 0.5 * (one.centre + other.centre)),
        budget,
    )
