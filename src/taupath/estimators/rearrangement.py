"""Quantiles that do not cross: the increasing rearrangement of a path's functions."""

import numpy as np

from taupath.paths.blocks import slices
from taupath.paths.path import SolutionPath
from taupath.validation import UNIT_INTERVAL, Checked

# Quantiles are lowered by this much, so that the lower end is returned where f jumps. Large against
# the rounding of τ, small against the distance of kinks.
BELOW = 1e-12
# f_q(x) is accepted as the q-quantile if a share q of the values lies below it up to this much in
# q, and up to the same fraction of their spread in y: ten times `BELOW`, and too little to notice.
SAME_QUANTILE = 1e-11
# Functions that are equal differ by this fraction of their values, as rounded sums of a few terms.
# Far from 0 that is more than `SAME_QUANTILE` of the spread. More rounding costs time only: where
# f_q(x) is not accepted, values are sorted.
ROUNDED = 8.0 * float(np.finfo(float).eps)
# Pieces of a function that rise by less than this fraction of its range are flat up to the rounding
# of their ends.
FLAT_PIECE = 1e-15
# Pairs of a piece and a gap between nodes that are summed up at a time: 8 MB an array.
GAPS_AT_A_TIME = 1_000_000
# Up to this many quantiles, testing f_q(x) first is cheaper than sorting the values at all kinks.
FEW_QUANTILES = 16
# Samples whose values at all kinks are computed at a time, to bound memory.
ROWS_REARRANGED_AT_ONCE = 256


def rearranged_quantiles(path: SolutionPath, X: Checked, quantiles: np.ndarray) -> np.ndarray:
    """Return the increasing rearrangement of τ → f_τ(x) at some quantiles.

    The q-quantile of the values f_τ(x), τ uniform on [0, 1]. Where f_τ(x) increases with τ it is
    f_q(x) itself; otherwise values are sorted (Chernozhukov, Fernández-Val & Galichon 2010). The
    path is over all of [0, 1]. A column for each quantile, never decreasing from one to a larger.
    """
    quantiles = np.maximum(quantiles - BELOW, 0.0)
    if len(quantiles) <= FEW_QUANTILES:
        values = path.decision_function(X, np.append(quantiles, UNIT_INTERVAL))
        found, ends = values[:, :-2], values[:, -2:]
        # at most the spread of all values, so that neither the unit nor the zero of y matters
        spread = np.abs(ends[:, 1] - ends[:, 0])
        wrong = np.zeros(X.shape[0], dtype=bool)
        for k, q in enumerate(quantiles):
            step = SAME_QUANTILE * spread + ROUNDED * np.abs(found[:, k])
            wrong |= path.crossings(X, found[:, k] + step).length > 1.0 - q + SAME_QUANTILE
            wrong |= path.crossings(X, found[:, k] - step).length < 1.0 - q - SAME_QUANTILE
        rows = np.flatnonzero(wrong)
    else:
        found = np.empty((X.shape[0], len(quantiles)))
        rows = np.arange(X.shape[0])
    for some in slices(len(rows), ROWS_REARRANGED_AT_ONCE):
        taus, values = path.values_at_nodes(X[rows[some]])
        for i, row in zip(rows[some], values, strict=True):
            found[i] = sorted_quantiles(taus, row, quantiles)
    # only the last digits may still decrease
    order = np.argsort(quantiles, kind="stable")
    found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
    return np.asarray(found)


def sorted_quantiles(taus: np.ndarray, values: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Return some quantiles of the values of a piecewise linear function of a uniform τ."""
    return np.asarray(np.interp(quantiles, *increasing_rearrangement(taus, values)))


def increasing_rearrangement(taus: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the quantile function of the values of a piecewise linear function of a uniform τ.

    The function is given at its nodes; it jumps where a τ occurs twice. The quantile function is
    linear between the returned levels, from 0 to 1, and its values there never decrease.
    """
    width = np.diff(taus)
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    flat = high - low <= FLAT_PIECE * (values.max() - values.min())
    steep = ~flat
    ends, places = np.unique(np.concatenate((low, high[steep])), return_inverse=True)
    begin, end = places[: len(low)], places[len(low) :]
    # The share of values up to y grows at the rate Σ width / (high - low) of the pieces around y,
    # and by the width of a flat piece at once.
    rate = width[steep] / (high[steep] - low[steep])
    grown = np.append(0.0, _sum_between(begin[steep], end, rate, len(ends)) * np.diff(ends))
    jump = np.bincount(begin[flat], width[flat], len(ends))
    share = np.cumsum(np.column_stack((grown, jump)).ravel())  # at each end: before and after it
    return share / share[-1], np.repeat(ends, 2)


def _sum_between(begin: np.ndarray, end: np.ndarray, rate: np.ndarray, n_ends: int) -> np.ndarray:
    """Return for each gap between neighbouring ends the sum of the rates of pieces across it.

    Rates differ by many orders of magnitude, so they are added up and never subtracted again.
    """
    total = np.zeros(n_ends - 1)
    gaps = end - begin
    first = np.append(0, np.cumsum(gaps))
    # as many pieces at a time as span GAPS_AT_A_TIME gaps together, but at least one
    k = 0
    while k < len(gaps):
        last = max(int(np.searchsorted(first, first[k] + GAPS_AT_A_TIME, side="right")) - 1, k + 1)
        here = gaps[k:last]
        gap = np.arange(first[k], first[last]) + np.repeat(begin[k:last] - first[k:last], here)
        total += np.bincount(gap, np.repeat(rate[k:last], here), n_ends - 1)
        k = last
    return total
