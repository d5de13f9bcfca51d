"""For which τ a classifier decides the same for all the rows that it was trained on."""

from typing import Any

import numpy as np

__all__ = ["ConstantDecisions"]

# Training rows of either class that are looked at first: two that are decided differently are
# enough to know that decisions are not constant.
LOOKED_AT_FIRST = 64
# How exactly the ends of the range with different decisions are found, in τ.
PRECISION = 1e-6


class ConstantDecisions:
    """What is known of the τ at which a path decides the same for all its training rows.

    For small τ all are positive, for large τ all are negative, and in between decisions differ.
    The borders are looked for where they are asked for: most questions are answered from the
    earlier ones.

    Parameters
    ----------
    positive_to, negative_from : float
        All training rows are known to be positive up to the one, and negative from the other on.
    """

    def __init__(self, positive_to: float = -np.inf, negative_from: float = np.inf) -> None:
        self.positive_to, self.negative_from = positive_to, negative_from
        # between these two decisions are known to differ
        self._first, self._last = np.inf, -np.inf

    def at(self, path: Any, tau: float, monotone: bool) -> bool | None:
        """Return whether all training rows are positive (True) or negative (False) at τ.

        None if decisions differ, or if the path does not have its training rows.
        """
        if tau <= self.positive_to:
            return True
        if tau >= self.negative_from:
            return False
        if self._first <= tau <= self._last or not _has_rows(path):
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
        """Return up to which τ all training rows are positive, and from which on negative.

        Infinite where there is no such τ, or where the path does not have its training rows.
        """
        if not _has_rows(path):
            return self.positive_to, self.negative_from
        begin, end = path.tau_range
        self.at(path, begin, monotone)
        self.at(path, end, monotone)
        for lower in (True, False):
            while True:
                if lower:
                    gap = max(self.positive_to, begin), min(self._first, self.negative_from, end)
                else:
                    gap = max(self._last, self.positive_to, begin), min(self.negative_from, end)
                if gap[1] - gap[0] <= PRECISION:
                    break
                self.at(path, 0.5 * (gap[0] + gap[1]), monotone)
        return self.positive_to, self.negative_from


def _has_rows(path: Any) -> bool:
    return bool(path.data.at_hand)


def _constant(path: Any, tau: float, monotone: bool) -> bool | None:
    """Return whether all training rows are positive, all negative (False), or neither (None)."""
    data = path.data
    few = np.concatenate(
        [own[:: -(-len(own) // LOOKED_AT_FIRST) or 1] for own in _by_class(data.sign)]
    )
    function = None if monotone else path.solutions.function(tau)
    for X in (data.X[few], data.X):
        if function is None:
            values = path.tau_range[0] + path.crossings(X).length - tau
        else:
            values = data.decide(X, function)
        positive = values >= 0.0
        if positive.any() and not positive.all():
            return None
    return bool(positive[0])


def _by_class(sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return np.flatnonzero(sign > 0), np.flatnonzero(sign < 0)
