"""Two walks of one line, from its two ends, each in a thread of its own."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

from taupath.progress import Tell

__all__ = ["Meeting", "Passing", "Stopped", "progress_of_two", "walk_together"]


class Stopped(Exception):
    """The other walk has failed."""


class Meeting:
    """What one of two walks knows of the other. Either counts t from its own end.

    Attributes
    ----------
    at : float
        Where this walk is.
    """

    def __init__(self) -> None:
        self.at = 0.0
        self.stop = False
        self.other = self

    @classmethod
    def pair(cls) -> "tuple[Meeting, Meeting]":
        """Return both."""
        one, two = cls(), cls()
        one.other, two.other = two, one
        return one, two

    def reached(self, t: float) -> bool:
        """Tell where this walk is; returns whether the other has been there."""
        if self.stop:
            raise Stopped
        self.at = t
        return t >= 1.0 - self.other.at


class Passing:
    """In place of a meeting, for a walk that goes away from the other one.

    Attributes
    ----------
    at : float
        Where this walk is.
    """

    def __init__(self, meeting: Meeting) -> None:
        self.at, self._meeting = 0.0, meeting

    def reached(self, t: float) -> bool:
        """Tell where this walk is; it meets nobody."""
        if self._meeting.stop:
            raise Stopped
        self.at = t
        return False


def walk_together(walks: Sequence[Callable[[Meeting], Any]]) -> list[Any]:
    """Run two walks at a time, the first one in this thread; returns what both return.

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
    """Return what the one and the other walk report to, so that `progress` hears of both.

    Only the first one's thread calls it, with the weighted sum of both fractions.
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
