"""Names for the numbers of the compiled core: where a point is, and how a walk ended."""

from enum import IntEnum

import numpy as np

LOWER = 0  # θ = l, slack ≥ 0: well classified, the paper's R
FREE = 1  # slack = 0: on the margin, M
UPPER = 2  # θ = h, slack ≤ 0: in error, L

# moves of a free point, as they are recorded
FREE_TO_LOWER = 2
FREE_TO_UPPER = 3
# The sets before and after each recorded move. The last two, from bound to bound, are not made by
# the walk: they occur between nodes, and in records that keep only some of the index sets.
BEFORE = np.array([LOWER, UPPER, FREE, FREE, LOWER, UPPER], dtype=np.int8)
AFTER = np.array([FREE, FREE, LOWER, UPPER, UPPER, LOWER], dtype=np.int8)

# The relative error of a θ that is computed in a few operations is at most this.
ROUNDING = 2e-15


def sides_of(
    theta: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    if_empty: np.ndarray,
    rounding: float = 0.0,
) -> np.ndarray:
    """Return the index sets by θ: free is what is inside its box. An empty box does not tell.

    A θ within `rounding` of a bound, as part of the bound, is at it.
    """
    nearer = np.where(2.0 * theta > lower + upper, UPPER, LOWER)
    above = theta > lower + rounding * np.abs(lower)
    inside = above & (theta < upper - rounding * np.abs(upper))
    sides = np.where(lower < upper, nearer, if_empty)
    return np.where(inside, FREE, sides).astype(np.int8)


class Outcome(IntEnum):
    """Every way out of a call of the walk."""

    DONE = 0  # the end was reached
    MORE = 1  # the event allowance of the call is used up
    FULL = 2  # room for more free points was made, call again
    STALLED = 3  # too many steps of length zero in a row
    WRONG = 4  # the check of all points found one on the wrong side
