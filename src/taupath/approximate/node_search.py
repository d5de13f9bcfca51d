"""Certified approximate paths: nodes at chosen τ, straight lines in between."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.approximate.all_rows import LocalRows
from taupath.approximate.gap_bound import Boxes, GapBound, Losses, SampleLosses
from taupath.approximate.interpolation import Chords
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.node_solver import NodeSolver, Solved
from taupath.approximate.rounding import Rounding
from taupath.approximate.row_sums import RowSummary
from taupath.approximate.training_data import StoredSamples
from taupath.engine.work import along
from taupath.paths.intercept import make_intercept
from taupath.progress import Tell
from taupath.validation import check_choice

__all__ = [
    "approximate_stretch",
    "check_tol",
    "choose_method",
    "find_nodes",
    "make_gap_bound",
]

# Of the tolerance, what a node may use up itself; the rest is for the chords beside it.
NODE_SHARE = 0.5
# Of the tolerance, what the gap of the next chord is to be.
CHORD_AIM = 0.95
# DualSums in another order shall not take a bound above the tolerance.
ROUNDED = 1e-9
# The first step; and how much longer, at most, or shorter the next one is.
FIRST_STEP = 5e-4
LONGER, SHORTER = 3.0, 0.2


# With method="auto": samples, from which on paths are approximate. The exact path of twice as many
# takes minutes where there are hundreds of features.
MANY_SAMPLES = 20_000


@dataclass(frozen=True)
class Found:
    """The nodes of a path, in order, and what it took to find them.

    `bounds` are those of the chords, in units of P(0).
    """

    nodes: list[Node]
    bounds: np.ndarray
    counters: dict[str, int]


def make_gap_bound(facts: RowSummary, losses: Losses, boxes: Boxes, free: bool) -> GapBound:
    """Return what bounds gaps of samples of which this is known between two τ."""
    rounding = Rounding(
        row=facts.row,
        rows=facts.depth,
        losses=facts.losses_depth,
        cols=facts.n_cols,
        reach=facts.reach,
        aims=facts.aims,
    )
    if free:
        rounding = rounding.with_balance(facts.weight, facts.highest, facts.longest)
    return GapBound(losses, boxes, rounding)


def choose_method(method: Any, kernel: Any, n_samples: int) -> str:
    """Return "exact" or "approximate", for "auto" by the number of samples."""
    chosen = check_choice(method, "method", ("exact", "approximate", "auto"))
    linear = isinstance(kernel, str) and kernel == "linear"
    if chosen == "approximate" and not linear:
        raise ValueError(
            f"method='approximate' is for kernel='linear', got kernel={kernel!r}; "
            "use method='exact' with it"
        )
    if chosen == "auto":
        chosen = "approximate" if linear and n_samples >= MANY_SAMPLES else "exact"
    return chosen


def approximate_stretch(
    X: "np.ndarray | sp.csr_array",
    sign: np.ndarray,
    target: np.ndarray,
    weight: np.ndarray,
    boxes: Boxes,
    intercept: Any,
    tau_range: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> tuple[StoredSamples, Chords]:
    """Return the samples and the chords of a path; all arguments but `intercept` are checked.

    Parameters
    ----------
    X : ndarray or CSR
        Features, of float32 or float64.
    sign, target, weight : ndarray of shape (n_samples,)
        Class, p, and factor of the box of each sample.
    boxes : Boxes
        Boxes of weight 1.
    intercept : {"augmented", "free", "none"}
        The kind of intercept.
    tau_range : pair of float
        Where the path begins and ends.
    tol : float
        The largest gap, in units of the objective at w = 0 and τ = ½.
    progress : callable or None
        Called with the fraction that is done and the number of nodes.
    """
    samples = StoredSamples(X, sign, make_intercept(intercept, X))
    constant, part = samples.constant, samples.row_sums(target, weight)
    passes = LocalRows(part)
    losses = SampleLosses(target, weight, part.sign)
    continuum = make_gap_bound(passes.summary, losses, boxes, constant.free)
    check_tol(tol, continuum)
    solver = NodeSolver(passes, continuum, constant.bias, constant.free)
    found = find_nodes(solver, *tau_range, tol, progress)
    return samples, Chords(samples, continuum, losses, found.nodes, found.counters)


def check_tol(tol: float, continuum: GapBound, exact: bool = True) -> None:
    """Refuse a tolerance that rounding hides; say whether the exact path is another way."""
    least = continuum.least()
    if tol < least:
        raise ValueError(
            f"tol={tol!r} is less than what doubles can certify for these data: the least is "
            f"{least:.2g}; give at least that" + (", or use method='exact'" if exact else "")
        )


def find_nodes(
    solver: NodeSolver,
    begin: float,
    end: float,
    tol: float,
    progress: Tell | None = None,
) -> Found:
    """Return nodes between which no gap exceeds `tol`, in units of P(0).

    Goes from `begin` to `end` by steps as long as the gap of the last chord suggests. A chord that
    is found to be too long is halved, as often as need be.
    """
    continuum, budget, within = solver.continuum, NODE_SHARE * tol, (1.0 - ROUNDED) * tol
    first = solver.solve_afresh(begin, budget)
    nodes, bounds = [first.node], []
    before: Solved | None = None
    here, ahead = first, []  # type: Solved, list[Solved]
    step, halved = min(FIRST_STEP, end - begin), 0
    while here.node.tau < end:
        if not ahead:
            tau = here.node.tau + step
            ahead.append(_onward(solver, before, here, tau if tau < end else end, budget))
        there = ahead[-1]
        bound, _ = continuum.bound(here.end, there.end)
        if len(ahead) == 1:
            step = (there.node.tau - here.node.tau) * _next(bound, here.gap, there.gap, tol)
        if bound <= within:
            before, here = here, ahead.pop()
            nodes.append(here.node)
            bounds.append(bound)
            if progress is not None:
                done = (along(here.node.tau) - along(begin)) / (along(end) - along(begin))
                progress(done, len(nodes), here.node.tau)
        else:
            halved += 1
            ahead.append(_halfway(solver, here, there, budget))
    counters = {
        "nodes": len(nodes),
        "newton_steps": solver.steps,
        "row_visits": solver.passes.visits,
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
    part = 0.0
    if before is not None:
        part = (tau - here.node.tau) / (here.node.tau - before.node.tau)
    place = solver.passes.onward(here.place, before.place if before is not None else None, part)
    return solver.solve(tau, place, here.next_smoothing, budget)


def _halfway(solver: NodeSolver, here: Solved, there: Solved, budget: float) -> Solved:
    """Solve between two nodes, from the middle of their chord."""
    one, other = here.next_smoothing, there.next_smoothing
    return solver.solve(
        0.5 * (here.node.tau + there.node.tau),
        solver.passes.halfway(here.place, there.place),
        Smoothing(min(one.width, other.width), 0.5 * (one.centre + other.centre)),
        budget,
    )
