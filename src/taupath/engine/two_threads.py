"""One line, walked by two threads."""

from collections.abc import Callable

import numpy as np

from taupath._core._rows import Rows
from taupath.engine.meeting import Meeting, Passing, progress_of_two, walk_together
from taupath.engine.problem import Line
from taupath.engine.solver import Guess, Record, solve_path
from taupath.progress import Tell

__all__ = ["walk_in_two"]

# Seams of two walks are multiples of one over this, so that 1 - t is exact there.
SEAM = 2.0**50


def walk_in_two(
    rows: Rows,
    others: Rows,
    line: Line,
    begin: float,
    end: float,
    order: np.ndarray | None,
    progress: Tell | None,
    guess_at: Callable[[float], Guess] | None,
) -> list[tuple[bool, Record]]:
    """Walk a line from `begin` to `end`, in two threads that meet on the way.

    The first thread walks from `begin`. The second one begins in the middle, walks to the end, and
    then from the middle towards the first; or, if there is no guess of the middle, from the end.

    Parameters
    ----------
    rows, others : Rows
        The z_i, for the one thread and for the other.
    line, begin, end, order, progress
        As for `solve_path`.
    guess_at : callable, optional
        Returns about the status and θ of each sample at some t.

    Returns
    -------
    list of (bool, Record)
        Walks that together cover the way, in its order, and whether each went backward.
    """
    # the two meet when each has done half of the work
    report = progress_of_two(progress, (2.0, 0.0))
    back = line.reversed()
    middle = _rounded(0.5 * (begin + end))

    def first(meeting: Meeting) -> list[tuple[bool, Record]]:
        return [(False, solve_path(rows, line, begin, end, order, report(0), meeting))]

    def second(meeting: Meeting) -> list[tuple[bool, Record]]:
        own = report(1)
        if guess_at is None:
            return [(True, solve_path(others, back, 1 - end, 1 - begin, order, own, meeting))]
        guess = guess_at(middle)
        meeting.at = 1.0 - middle  # up to there is this thread's part
        away = solve_path(others, line, middle, end, order, own, Passing(meeting), guess)
        if meeting.other.at >= middle:
            return [(False, away)]
        towards = solve_path(others, back, 1 - middle, 1 - begin, order, own, meeting, guess)
        return [(True, towards), (False, away)]

    (((_, forward),), others_walked) = walk_together((first, second))
    backward, towards = others_walked[0]
    if not backward:
        return [(False, forward.until(middle)), *others_walked]
    if guess_at is not None and forward.end >= middle:  # it was there before it knew of the other
        return [(False, forward.until(middle)), *others_walked[1:]]
    seam = _rounded(forward.end)
    seam = seam if seam >= 1.0 - towards.end else forward.end
    return [(False, forward.until(seam)), (True, towards.until(1.0 - seam)), *others_walked[1:]]


def _rounded(t: float) -> float:
    return float(np.floor(t * SEAM) / SEAM)
