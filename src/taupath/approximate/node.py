"""What is stored of the solution at one τ."""

from dataclasses import dataclass

import numpy as np

# The largest width of a smoothing, in units of the largest |p|: with it, all samples have 0 < a < 1
# at w = 0.
MAX_WIDTH = 4.0
# The factor by which the width grows if its problem takes too many steps.
WIDEN = 4.0
# Limits on the factor by which the width shrinks once its problem is solved. If the smaller one
# turns out to be too small, it is replaced by its square root.
MIN_SHRINK, MAX_SHRINK = 0.25, 0.7
# The part of the budget that smoothing should leave at a narrower width, and at the next node. The
# rest allows for the estimate of the gap, which assumes that margins are spread.
SMOOTHING_SHARE, NEXT_SMOOTHING_SHARE = 0.5, 0.8


@dataclass(frozen=True)
class Smoothing:
    """How a dual point follows from margins: θ_i = l_i + a_i (h_i - l_i).

    The fraction a_i of the box is clip(centre + (p_i - m_i) / width, 0, 1).
    """

    width: float  # of the interval of margins over which a fraction goes from 0 to 1
    centre: np.ndarray  # the fraction of a sample on its target, for each of the two classes

    def between(self, other: "Smoothing") -> "Smoothing":
        """Return a smoothing for halfway between two nodes."""
        return Smoothing(min(self.width, other.width), 0.5 * (self.centre + other.centre))

    def widened(self, factor: float, unit: float) -> "Smoothing":
        """Return a wider smoothing; `unit` is the largest |p|."""
        return Smoothing(min(factor * self.width, MAX_WIDTH * unit), self.centre)

    def narrowed(self, mean: np.ndarray, gap: float, shrink: float) -> "Smoothing":
        """Return a smoothing that should bring the gap within the budget.

        `gap` is the gap with this one, in budgets, and `mean` the mean fraction of each class. The
        width shrinks by `shrink` at most.
        """
        factor = float(np.sqrt(SMOOTHING_SHARE / max(gap, 1.0)))
        # if the width changes little, so does the centre
        weight = (1.0 - shrink) / (1.0 - MIN_SHRINK)
        return Smoothing(
            self.width * max(min(factor, MAX_SHRINK), shrink),
            self.centre + weight * (mean - self.centre),
        )

    def at_next(self, mean: np.ndarray, gap: float, widest: float) -> "Smoothing":
        """Return the smoothing to begin with at a τ nearby; `gap` is in budgets."""
        factor = float(np.sqrt(NEXT_SMOOTHING_SHARE / max(gap, 1e-3)))
        return Smoothing(min(min(max(factor, 0.5), 2.0) * self.width, widest), mean)


@dataclass(frozen=True)
class Node:
    """The solution at one τ: θ is computed from it and the data.

    Fractions are shift + scale a_i, with a scale for each class: with a free intercept, this makes
    Σ sign_i θ_i zero.
    """

    tau: float
    w: np.ndarray
    smoothing: Smoothing
    shift: float
    scale: np.ndarray


@dataclass(frozen=True)
class DualNode:
    """The solution at one τ, of which θ is kept: as the fractions of all boxes."""

    tau: float
    w: np.ndarray
    fraction: np.ndarray
