"""One line, walked by two threads that meet on the way."""

import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.record import Record
from taupath.engine.solver import Guess, solve_path
from taupath.progress import Tell

# Each of two walks covers at least this much of the line at its own end: there the other one, which
# counts t from the far end, would lose digits of a small t.
OWN_PART = 2.0**-12
# Where two walks meet, t is rounded to a multiple of one over this, so that 1 - t is exact.
SEAM = 2.0**50


class Leg(NamedTuple):
    """The record of a walk, and whether it went backward along the line."""

    backward: bool
    record: Record


class Stopped(Exception):
    """The other walk has failed."""


class Meeting:
    """What one of two walks knows of the other. Each counts t from its own end."""

    def __init__(self) -> None:
        self.at = 0.0  # where this walk is
        self.stop = False  # set if the other walk has failed
        self.other = self

    @classmethod
    def pair(cls) -> "tuple[Meeting, Meeting]":
        """Return the two sides of a meeting."""
        one, two = cls(), cls()
        one.other, two.other = two, one
        return one, two

    def reached(self, t: float) -> bool:
        """Note where this walk is; return whether the other has been there."""
        self.passing(t)
        self.at = t
        return t >= 1.0 - self.other.at

    def passing(self, t: float) -> bool:
        """Return False: a walk away from the other one cannot meet it, but may have to stop."""
        if self.stop:
            raise Stopped
        return False


def walk_together(walks: Sequence[Callable[[Meeting], Any]]) -> list[Any]:
    """Run two walks at a time, the first one in this thread, and return both results.

    If one fails, the other is stopped, and the error is raised.
    """
    meetings = Meeting.pair()
    found: list[Any] = [None, None]
    errors: list[BaseException] = []

    def run(k: int) -> None:
        try:
            found[k] = walks[k](meetings[k])
        except Stopped:
            pass
        except BaseException as error:
            errors.append(error)
            meetings[1 - k].stop = True

    thread = threading.Thread(target=run, args=(1,), name="taupath-from-the-end")
    thread.start()
    run(0)
    thread.join()
    if errors:
        raise errors[0]
    return found


def progress_of_two(
    progress: Tell | None, weights: tuple[float, float]
) -> Callable[[int], Tell | None]:
    """Return the progress callbacks of walk 0 and walk 1.

    Only walk 0 calls `progress`, with the weighted sum of both fractions.
    """
    if progress is None:
        return lambda which: None
    whole = progress
    state = [(0.0, 0), (0.0, 0)]

    def of(which: int) -> Tell:
        def report(fraction: float, n_events: int, at: float | None) -> None:
            state[which] = weights[which] * fraction, n_events
            if which == 0:
                whole(min(state[0][0] + state[1][0], 1.0), state[0][1] + state[1][1], None)

        return report

    return of


def walk_in_two(
    rows: Rows,
    others: Rows,
    line: Line,
    begin: float,
    end: float,
    order: np.ndarray | None,
    progress: Tell | None,
    guess_at: Callable[[float], Guess] | None,
) -> list[Leg]:
    """Return walks that together cover a line from `begin` to `end`, in its order.

    The first thread walks from `begin`. The second one begins in the middle, walks to the end, and
    then from the middle towards the first; or, without ``guess_at(t)`` for the middle, from the
    end. `others` are the same rows for the second thread.
    """
    # the two meet when each has done half of the work
    report = progress_of_two(progress, (2.0, 0.0))
    back = line.reversed()
    middle = _rounded(0.5 * (begin + end))

    last = {"forward": min(end, 1.0 - OWN_PART), "backward": min(1.0 - begin, 1.0 - OWN_PART)}
    if begin >= last["forward"] or 1.0 - end >= last["backward"]:
        last = {"forward": end, "backward": 1.0 - begin}

    def first(meeting: Meeting) -> Record:
        return solve_path(rows, line, begin, last["forward"], order, report(0), meeting.reached)

    def second(meeting: Meeting) -> list[Leg]:
        own, met = report(1), meeting.reached
        if guess_at is None:
            return [Leg(True, solve_path(others, back, 1 - end, last["backward"], order, own, met))]
        guess = guess_at(middle)
        meeting.at = 1.0 - middle  # up to there is this thread's part
        away = solve_path(others, line, middle, end, order, own, meeting.passing, guess)
        if meeting.other.at >= middle:
            return [Leg(False, away)]
        towards = solve_path(others, back, 1 - middle, last["backward"], order, own, met, guess)
        return [Leg(True, towards), Leg(False, away)]

    forward, walked = walk_together((first, second))
    backward, towards = walked[0]
    if not backward:
        return [Leg(False, forward.until(middle)), *walked]
    if guess_at is not None and forward.end >= middle:  # it was there before it knew of the other
        return [Leg(False, forward.until(middle)), *walked[1:]]
    seam = _rounded(forward.end)
    seam = seam if seam >= 1.0 - towards.end else forward.end
    parts = forward.until(seam), towards.until(1.0 - seam)
    return [Leg(False, parts[0]), Leg(True, parts[1]), *walked[1:]]


def _rounded(t: float) -> float:
    return float(np.floor(t * SEAM) / SEAM)
