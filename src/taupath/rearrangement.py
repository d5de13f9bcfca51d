"""Quantile functions that increase: those of a path, their values put in order."""

from typing import Any

import numpy as np

from taupath.path import SolutionPath
from taupath.validation import slices

__all__ = ["increasing_rearrangement", "rearranged_quantiles"]

# Where f jumps, the quantile is any value in between: the lower end is taken, as of a little less.
LESS = 1e-12
# A value is the quantile it should be if that holds up to so much of y, or of [0, 1].
SAME = 1e-11
# A step of a function that rises by no more than this part of its range is flat.
FLAT = 1e-9
# Samples at a time whose values at all kinks are looked at.
ROWS_AT_A_TIME = 256


def rearranged_quantiles(path: SolutionPath, X: Any, quantiles: np.ndarray) -> np.ndarray:
    """Return the increasing rearrangement of τ → f_τ(x) at some quantiles.

    The q-quantile of the values f_τ(x), τ uniform on [0, 1]. Where f_τ(x) increases with τ it is
    f_q(x) itself; otherwise values are sorted (Chernozhukov, Fernández-Val & Galichon 2010).

    Parameters
    ----------
    path : SolutionPath
        Over all of [0, 1].
    X : ndarray or sparse array of shape (n_samples, n_features)
        Samples.
    quantiles : ndarray of shape (n_quantiles,)
        In [0, 1].

    Returns
    -------
    ndarray of shape (n_samples, n_quantiles)
        Never decreasing from a quantile to a larger one.
    """
    quantiles = np.maximum(quantiles - LESS, 0.0)
    found = path.decision_function(X, quantiles)
    off = np.zeros(X.shape[0], dtype=bool)
    for k, q in enumerate(quantiles):
        step = SAME * (1.0 + np.abs(found[:, k]))
        off |= path.crossings(X, found[:, k] + step).length > 1.0 - q + SAME
        off |= path.crossings(X, found[:, k] - step).length < 1.0 - q - SAME
    rows = np.flatnonzero(off)
    for some in slices(len(rows), ROWS_AT_A_TIME):
        taus, values = path.values_at_nodes(X[rows[some]])
        for i, row in zip(rows[some], values, strict=True):
            found[i] = sorted_quantiles(taus, row, quantiles)
    # what is left are last digits
    order = np.argsort(quantiles, kind="stable")
    found[:, order] = np.maximum.accumulate(found[:, order], axis=1)
    return np.asarray(found)


def sorted_quantiles(taus: np.ndarray, values: np.ndarray, quantiles: np.ndarray) -> np.ndarray:
    """Return quantiles of the values of a piecewise linear function of a uniform τ.

    Parameters
    ----------
    taus, values : ndarray of shape (n_nodes,)
        The function at its nodes; a τ that is there twice is a jump.
    quantiles : ndarray
        In [0, 1].
    """
    width = np.diff(taus)
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    flat = high <= low
    rise = np.where(flat, 1.0, high - low)
    total = width.sum()

    def share(y: float, jumps: np.ndarray) -> float:
        """Return the part of [0, 1] with values up to y; `jumps` tells which flat steps count."""
        part = np.where(flat, jumps, np.clip((y - low) / rise, 0.0, 1.0))
        return float(part @ width / total)

    ends = np.unique(values)
    found = np.empty(len(quantiles))
    for k, q in enumerate(quantiles):
        # the first end with a share of at least q; between ends, shares are linear
        first, last = 0, len(ends) - 1
        while first < last:
            middle = (first + last) // 2
            if share(ends[middle], low <= ends[middle]) >= q:
                last = middle
            else:
                first = middle + 1
        found[k] = ends[first]
        if first > 0:
            here, before = ends[first], ends[first - 1]
            least, most = share(before, low <= before), share(here, low < here)
            if least < q < most:
                found[k] = before + (q - least) / (most - least) * (here - before)
    return found


def increasing_rearrangement(taus: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return all quantiles of the values of a piecewise linear function of a uniform τ.

    Parameters
    ----------
    taus, values : ndarray of shape (n_nodes,)
        As for `sorted_quantiles`.

    Returns
    -------
    levels, quantiles : ndarray
        The quantile function is linear between these levels, from 0 to 1; its values there never
        decrease.
    """
    width = np.diff(taus)
    low, high = np.minimum(values[:-1], values[1:]), np.maximum(values[:-1], values[1:])
    ends = np.unique(values)
    flat = high - low <= FLAT * (ends[-1] - ends[0])
    from_end, to_end = np.searchsorted(ends, low), np.searchsorted(ends, high)
    # between two ends, each step over them gives its share of τ per unit of value
    density = np.where(flat, 0.0, width / np.where(flat, 1.0, high - low))
    change = np.bincount(from_end, density, len(ends)) - np.bincount(to_end, density, len(ends))
    between = np.maximum(np.cumsum(change)[:-1], 0.0) * np.diff(ends)
    jump = np.bincount(to_end[flat], width[flat], len(ends))
    mass = np.zeros(2 * len(ends))
    mass[1::2], mass[2::2] = jump, between
    levels = np.cumsum(mass)
    return levels / levels[-1], np.repeat(ends, 2)
