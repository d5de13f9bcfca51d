"""The share of a walk's work that is done, for progress and the time left.

Kinks are not spread evenly over t: half of them can lie below t = 0.001. The constants are from
the times of walks on a9a, splice, spam, diabetes and Gaussian data, linear and RBF, with either
class in the majority: estimates of the whole time were right within a factor of two from 15 % of
it on, with few exceptions.
"""

from math import log

import numpy as np

from taupath._core._walk import Walk
from taupath.engine.problem import Line
from taupath.engine.record import State
from taupath.engine.status import FREE, LOWER, UPPER

# Distance of t from 0 and 1 below which kinks and nodes are no longer dense on the scale of odds.
NEAR_THE_ENDS = 1e-4
# Share of the kinks that samples have on their way to the other side; the rest come later.
KINKS_BY_MOVES = 0.75
# Kinks of a sample of one class while the other class moves, for each one while its own does.
KINKS_BESIDE = 0.3
# The share of work is the share of kinks to this power: later kinks take longer if few samples
# are on the margin at first, and less long if most are.
SLOWING, QUICKENING = 1.2, 0.7
# The estimate is at most this before the end: it may be too high, and must leave something to do.
NEARLY_DONE = 0.95


def along(t: float) -> float:
    """Return the mean of t and of its log odds, scaled from 0 to 1: where on a path t is."""

    def odds(t: float) -> float:
        return log((t + NEAR_THE_ENDS) / (1.0 - t + NEAR_THE_ENDS))

    return 0.5 * (t + (odds(t) - odds(0.0)) / (odds(1.0) - odds(0.0)))


class WorkDone:
    """The share of a walk that is done.

    Over all t, samples go over to the side where they end: those whose boxes close become upper,
    those whose boxes open become lower. If most boxes open, the share of samples that have gone
    over grows like the number of kinks up to the middle; then it stands still, and kinks are
    counted. If most close, it is the other way round: up to the middle there is only t. On other
    lines kinks are taken to be spread evenly.
    """

    def __init__(self, line: Line, begin: float, end: float) -> None:
        self._begin, self._end = begin, end
        self._closing = line.upper_rate < 0.0
        closing = float(self._closing.mean())
        self._whole = (begin, end) == (0.0, 1.0) and closing > 0.0
        self._mostly_closing = closing > 0.5
        # share of kinks before the middle
        self._half = (1.0 - closing + KINKS_BESIDE * closing) / (1.0 + KINKS_BESIDE)
        self._at_half = 0.0
        self._latest = 0.0

    def share(self, walk: Walk | State, kinks: int) -> float:
        """Return the share of the work that is done; it never falls."""
        if walk.t >= self._end:
            return 1.0
        if not self._whole:
            done = (walk.t - self._begin) / (self._end - self._begin)
        elif self._mostly_closing:
            done = min(self._late(walk), NEARLY_DONE) ** QUICKENING
        else:
            done = min(self._early(walk, kinks), NEARLY_DONE) ** SLOWING
        self._latest = max(self._latest, done)
        return self._latest

    def _early(self, walk: Walk | State, kinks: int) -> float:
        """Return the share of kinks, where most are before the middle."""
        if walk.t < 0.5 or not self._at_half:
            self._at_half = KINKS_BY_MOVES * self._moved(walk.status) / max(kinks, 1)
        return self._at_half * kinks

    def _late(self, walk: Walk | State) -> float:
        """Return the share of kinks, where most are after the middle."""
        if walk.t < 0.5:
            self._at_half = self._moved(walk.status)
            return 2.0 * along(walk.t) * self._half
        moved = (self._moved(walk.status) - self._at_half) / (1.0 - self._at_half)
        return self._half + (1.0 - self._half) * max(moved, 0.0)

    def _moved(self, status: np.ndarray) -> float:
        """Return the share of samples that have gone over; those on the margin are half-way."""
        over = np.where(self._closing, status == UPPER, status == LOWER)
        return float(over.mean() + 0.5 * (status == FREE).mean())
