"""Solutions for other boxes, reached from a known one at a few events for each box that changes.

What a move finds is measured. If it is not as exact as promised, the problem is solved on its own,
in extended precision.
"""

from typing import NamedTuple

import numpy as np

from taupath._core._rows import Rows
from taupath._core._single_moves import SingleMoves
from taupath.engine.box_solver import BoxSolver
from taupath.engine.problem import Box
from taupath.engine.record import Solution
from taupath.engine.stepping import rounded
from taupath.engine.tolerances import EXACT_GAP, EXACT_KKT

# A move is trusted if its relative gap and its largest violation are these parts of what is
# promised. With index sets that are right only rounding is left, and what raised targets do, which
# is less.
TRUSTED_GAP, TRUSTED_KKT = 0.1 * EXACT_GAP, 0.01 * EXACT_KKT
# The gap that problems are solved to on their own: as far as extended precision goes, since
# decisions are asked for, and those are off by as much as the square root of the gap.
SOLVED_AGAIN_TO = 1e-18


class Known(NamedTuple):
    """A solution at one t, and its problem."""

    rows: Rows
    box: Box  # targets as given
    raised: np.ndarray  # targets that break ties, for which the index sets are right
    status: np.ndarray
    theta: np.ndarray

    def moves(self) -> SingleMoves:
        """Return moves that begin here."""
        box = self.box
        return SingleMoves(
            self.rows,
            self.raised,
            box.target.astype(float),
            box.lower,
            box.upper,
            self.status.astype(np.int8),
            np.nan_to_num(self.theta),
        )


def margins_with_other_boxes(
    known: Known, points: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return all margins <z_i, w> now, and that of each point if its box alone were another one.

    `lower` and `upper` are the other boxes of the points, which may be named several times.
    """
    moves = known.moves()
    points = points.astype(np.int32)
    own, gap, off = np.zeros(len(points)), np.full(len(points), np.inf), np.zeros(len(points))
    if moves.right:
        margins = moves.margins()
        moves.leave_each(points, lower, upper, own, gap, off)
    else:
        found = _solved_anew(BoxSolver(known.rows), known.box, known.theta)
        margins = known.rows.products(found.w)
    solver = None
    for k in np.flatnonzero(~((gap <= TRUSTED_GAP) & (off <= TRUSTED_KKT))):
        solver = solver or BoxSolver(known.rows)
        box = _with_boxes(known.box, points[k : k + 1], lower[k], upper[k])
        found = _solved_anew(solver, box, known.theta)
        own[k] = known.rows.products(found.w, points[k : k + 1])[0]
    known.rows.check()
    return margins, own


def moved_to_other_boxes(
    known: Known, points: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> Solution | None:
    """Return what moves lead to if all of these points have other boxes; None if it is not right.

    w is shifted.
    """
    moves = known.moves()
    reached = moves.right and all(
        moves.move(int(point), low, high)
        for point, low, high in zip(points, lower, upper, strict=True)
    )
    if not reached:
        return None
    *parts, gap, off = moves.solution()
    known.rows.check()
    return Solution(*parts) if gap <= TRUSTED_GAP and off <= TRUSTED_KKT else None


def solved_with_other_boxes(
    known: Known, points: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> Solution:
    """Return the same, solved on its own."""
    box = _with_boxes(known.box, points, lower, upper)
    return _solved_anew(BoxSolver(known.rows), box, known.theta)


def _with_boxes(
    box: Box, points: np.ndarray, lower: np.ndarray | float, upper: np.ndarray | float
) -> Box:
    """Return the problem with other boxes of some points."""
    all_lower, all_upper = box.lower.copy(), box.upper.copy()
    all_lower[points], all_upper[points] = lower, upper
    return box._replace(lower=all_lower, upper=all_upper)


def _solved_anew(solver: BoxSolver, box: Box, theta: np.ndarray) -> Solution:
    """Return the solution of a problem on its own, from a θ nearby."""
    found = solver.solve(box, np.nan_to_num(theta), SOLVED_AGAIN_TO)
    return rounded(found, box)
