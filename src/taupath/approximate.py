"""Certified approximate paths: nodes at chosen τ, straight lines in between."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taupath.continuum import Boxes, Continuum
from taupath.points import Points
from taupath.rounding import Rounding
from taupath.smoothing import Node, NodeSolver, Solved
from taupath._core._descent import block_of_rows
from taupath.rounding import in_blocks

__all__ = ["Found", "check_tol", "find_nodes", "make_continuum"]

Progress = Callable[[float, int], object]

# Of the tolerance, what a node may use up itself; the rest is for the chords beside it.
NODE_SHARE = 0.25
# Of the tolerance, what the gap of the next chord is to be.
CHORD_AIM = 0.9
# The first step, as part of the way; and how much longer, at most, or shorter the next one is.
FIRST_STEP = 0.02
LONGER, SHORTER = 3.0, 0.2


@dataclass(frozen=True)
class Found:
    """The nodes of a path, in order, and what it took to find them.

    `bounds` are those of the chords, in units of P(0).
    """

    nodes: list[Node]
    bounds: np.ndarray
    counters: dict[str, int]


def make_continuum(
    points: Points, target: np.ndarray, weight: np.ndarray, boxes: Boxes
) -> Continuum:
    """Return what bounds gaps of these points between two τ."""
    rounding = Rounding(
        row=points.longest,
        rows=points.depth,
        losses=in_blocks(points.n_rows, block_of_rows),
        cols=points.n_cols,
        reach=float(weight @ points.norms()),
        aims=float(weight @ np.abs(target)),
    )
    return Continuum(target, weight, points.sign, boxes, rounding)


def check_tol(tol: float, continuum: Continuum) -> None:
    """Refuse a tolerance that rounding hides."""
    least = continuum.least()
    if tol < least:
        raise ValueError(
            f"tol={tol!r} is less than what doubles can certify for these data: the least is "
            f"{least:.2g}; give at least that, or use method='exact'"
        )


def find_nodes(
    solver: NodeSolver,
    begin: float,
    end: float,
    tol: float,
    progress: Progress | None = None,
) -> Found:
    """Return nodes between which no gap exceeds `tol`, in units of P(0).

    Goes from `begin` to `end` by steps as long as the gap of the last chord suggests. A chord that
    is found to be too long is halved, as often as need be.
    """
    continuum, budget = solver.continuum, NODE_SHARE * tol
    rest = solver.rest(begin)
    first = solver.solve(
        begin, rest.node.w, rest.end.margin, rest.next_width, rest.next_centre, budget
    )
    nodes, bounds = [first.node], []
    before: Solved | None = None
    here, ahead = first, []  # type: Solved, list[Solved]
    step, halved = FIRST_STEP * (end - begin), 0
    while here.node.tau < end:
        if not ahead:
            tau = here.node.tau + step
            ahead.append(_onward(solver, before, here, tau if tau < end else end, budget))
        there = ahead[-1]
        bound, _ = continuum.bound(here.end, there.end)
        if len(ahead) == 1:
            step = (there.node.tau - here.node.tau) * _next(bound, here.gap, there.gap, tol)
        if bound <= tol:
            before, here = here, ahead.pop()
            nodes.append(here.node)
            bounds.append(bound)
            if progress is not None:
                progress((here.node.tau - begin) / (end - begin), len(nodes))
        else:
            halved += 1
            ahead.append(_halfway(solver, here, there, budget))
    counters = {
        "nodes": len(nodes),
        "newton_steps": solver.steps,
        "row_visits": solver.points.visits,
        "halved": halved,
    }
    return Found(nodes, np.array(bounds), counters)


def _next(bound: float, gap: float, other: float, tol: float) -> float:
    """Return how much longer than the last one the next chord is to be.

    Between the gaps of its ends, the gap of a chord grows with the square of its length.
    """
    bulge = max(bound - max(gap, other), 1e-6 * tol)
    return float(np.clip(np.sqrt((CHORD_AIM - NODE_SHARE) * tol / bulge), SHORTER, LONGER))


def _onward(
    solver: NodeSolver, before: Solved | None, here: Solved, tau: float, budget: float
) -> Solved:
    """Solve at τ, from where the last chord leads to."""
    w, margin = here.node.w, here.end.margin.copy()
    if before is not None:
        part = (tau - here.node.tau) / (here.node.tau - before.node.tau)
        w = w + part * (w - before.node.w)
        margin += part * (margin - before.end.margin)
    return solver.solve(tau, w, margin, here.next_width, here.next_centre, budget)


def _halfway(solver: NodeSolver, here: Solved, there: Solved, budget: float) -> Solved:
    """Solve between two nodes, from the middle of their chord."""
    return solver.solve(
        0.5 * (here.node.tau + there.node.tau),
        0.5 * (here.node.w + there.node.w),
        0.5 * (here.end.margin + there.end.margin),
        min(here.next_width, there.next_width),
        0.5 * (here.next_centre + there.next_centre),
        budget,
    )
