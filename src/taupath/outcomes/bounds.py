"""Exact bounds on the shares of mistakes among new rows, from counts of held-out ones.

Knows no path: rows have scores, or are counted at some τ.
"""

from bisect import bisect_right
from math import ceil, log, log1p

import numpy as np
from scipy.special import bdtr, bdtrc, bdtri, expit

# The τ at which precision is tested: some 270 between 0.0009 and 0.9991, evenly spaced as logits,
# so that they suit rare classes, too. Fixed before any row is seen, as the proof requires.
PRECISION_TAUS = np.unique(np.round(expit(np.linspace(-7.0, 7.0, 281)), 4))[::-1]
# The part of delta that is spent where τ is the precision asked for: with probabilities that are
# right, precision is at least τ. The rest is spent evenly at every 14th τ, for probabilities that
# are not. On simulated scores, fewer places missed narrow ranges of probabilities, and more left
# too little for each.
SPENT_AT_PRECISION = 0.5
BETWEEN_STARTS = 14
# A number of rows that nobody has: what shares next to 0 would need has 300 digits.
MOST_NEEDED = 1e15


def most_mistakes(n: int, share: float, delta: float) -> int:
    """Return how many of n rows may be mistakes if a share of mistakes is promised; -1: none may.

    Tong, Feng & Li (2018): rows are mistakes where a score lies beyond a threshold, and the
    threshold is the score of the row that comes after the m worst ones. The share of new rows that
    are mistakes then exceeds `share` with the probability P(Bin(n, share) ≤ m), or with a smaller
    one if scores have ties. Returned is the largest m for which it is at most `delta`.
    """
    return bisect_right(range(n + 1), delta, key=lambda m: float(bdtr(m, n, share))) - 1


def rows_needed(share: float, delta: float) -> int:
    """Return the smallest n with (1 - share)ⁿ ≤ delta: with fewer rows nothing can be promised."""
    n = ceil(min(log(delta) / log1p(-share), MOST_NEEDED))
    enough = n > 1 and (1.0 - share) ** (n - 1) <= delta  # the logarithms are rounded
    return n - 1 if enough else n


def precise(
    right: np.ndarray, alarms: np.ndarray, taus: np.ndarray, precision: float, delta: float
) -> np.ndarray:
    """Return at which τ precision is at least as asked for; no τ is wrong, with 1 - delta.

    `taus` decrease and must not depend on the rows; `alarms` of them are flagged at each τ, `right`
    of these are positive.

    Learn-then-Test (Angelopoulos, Bates, Candès, Jordan & Lei 2021): precision is a ratio of two
    unknown shares, but however many rows are flagged at a fixed τ, each of them is positive with
    the same probability, the precision, independently of the others. So P(Bin(alarms, precision) ≥
    right) is a p-value of the hypothesis that precision is lower than asked for.

    Hypotheses are tested from the largest τ to the smallest by the fallback procedure (Wiens 2003),
    a fixed sequence that may start in several places: each hypothesis has a part of delta, and
    after a rejection the next one also gets what this one was tested with. Proof that a true
    hypothesis is rejected with a probability of delta at most: consider the first one. It was
    tested with no more than the parts since the true hypothesis before it, which was not rejected
    and passed nothing on. These sums are fixed numbers, and over all true hypotheses they add up to
    delta at most.
    """
    p_values = p_values_of(right, alarms, precision)
    level, found = 0.0, np.zeros(len(taus), dtype=bool)
    for k, part in enumerate(_parts_of_delta(taus, precision, delta)):
        level += part
        found[k] = p_values[k] <= level
        level = level if found[k] else 0.0
    return found


def p_values_of(right: np.ndarray, alarms: np.ndarray, precision: float) -> np.ndarray:
    """Return P(Bin(alarms, precision) ≥ right)."""
    return np.asarray(bdtrc(right - 1.0, alarms.astype(int), precision))


def _parts_of_delta(taus: np.ndarray, precision: float, delta: float) -> np.ndarray:
    """Return the part of delta for each τ; they depend on no row."""
    starts = np.arange(len(taus)) % BETWEEN_STARTS == BETWEEN_STARTS // 2
    parts = starts * ((1.0 - SPENT_AT_PRECISION) * delta / max(starts.sum(), 1))
    parts[np.abs(taus - precision).argmin()] += SPENT_AT_PRECISION * delta
    return np.asarray(parts)


def upper_bound(count: int, n: int, delta: float) -> float:
    """Return what a share is at most, with 1 - delta, if `count` of n rows have it."""
    return 1.0 if count >= n else float(bdtri(count, n, delta))
