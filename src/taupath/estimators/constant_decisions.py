"""The τ at which a classifier decides the same for all rows that it was trained on."""

from typing import Any

import numpy as np

from taupath.validation import Checked

# Training rows of either class that are decided first: if decisions differ at all, they nearly
# always differ among these.
LOOKED_AT_FIRST = 64
# Accuracy of the borders of the constant ranges, in τ: finer than messages show.
BORDER_ACCURACY = 1e-6


class ConstantDecisions:
    """The ranges of τ in which a path is known to decide the same for all its training rows.

    All are positive up to `positive_to` and negative from `negative_from` on; in between, decisions
    differ. Each answer narrows the borders down, so that most questions need no computation.
    """

    def __init__(self, positive_to: float = -np.inf, negative_from: float = np.inf) -> None:
        self.positive_to, self.negative_from = positive_to, negative_from
        # decisions are known to differ from the first of these τ to the last
        self._first, self._last = np.inf, -np.inf

    def at(self, path: Any, tau: float, monotone: bool) -> bool | None:
        """Return whether all training rows are positive (True) or negative (False) at τ.

        None if decisions differ, or if the path does not have its training rows.
        """
        if tau <= self.positive_to:
            return True
        if tau >= self.negative_from:
            return False
        if self._first <= tau <= self._last or not path.data.at_hand:
            return None
        found = _constant(path, tau, monotone)
        if found is True and tau < self._first:
            self.positive_to = tau
        elif found is False and tau > self._last:
            self.negative_from = tau
        else:
            self._first, self._last = min(self._first, tau), max(self._last, tau)
            return None
        return found

    def range(self, path: Any, monotone: bool) -> tuple[float, float]:
        """Return the τ up to which all training rows are positive, and from which on negative.

        Infinite if there is no such τ, or if the path does not have its training rows.
        """
        if not path.data.at_hand:
            return self.positive_to, self.negative_from
        begin, end = path.tau_range
        self.at(path, begin, monotone)
        self.at(path, end, monotone)
        for ends in (self._end_of_positive, self._begin_of_negative):
            while np.diff(ends(begin, end))[0] > BORDER_ACCURACY:
                self.at(path, 0.5 * sum(ends(begin, end)), monotone)
        return self.positive_to, self.negative_from

    def _end_of_positive(self, begin: float, end: float) -> tuple[float, float]:
        """Return an interval with the τ from which on not all rows are positive."""
        return max(self.positive_to, begin), min(self._first, self.negative_from, end)

    def _begin_of_negative(self, begin: float, end: float) -> tuple[float, float]:
        """Return an interval with the τ from which on all rows are negative."""
        return max(self._last, self.positive_to, begin), min(self.negative_from, end)


def _constant(path: Any, tau: float, monotone: bool) -> bool | None:
    """Return whether all training rows are positive, all negative (False), or neither (None)."""
    data = path.data
    classes = np.flatnonzero(data.sign > 0), np.flatnonzero(data.sign < 0)
    few = np.concatenate([own[:: -(-len(own) // LOOKED_AT_FIRST) or 1] for own in classes])
    function = None if monotone else path.solutions.function(tau)
    for X in (data.X[few], data.X):
        if function is None:
            values = path.tau_range[0] + path.crossings(Checked(X)).length - tau
        else:
            values = data.decide(X, function)
        positive = values >= 0.0
        if positive.any() and not positive.all():
            return None
    return bool(positive[0])
