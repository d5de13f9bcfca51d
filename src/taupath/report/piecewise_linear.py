"""Piecewise linear functions of τ with fewer nodes, and a bound on the error.

A path has thousands of kinks, and few of them can be seen. Whatever decides predictions is stored
exactly. What is only drawn or printed is stored at the nodes kept here.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath.paths.blocks import slices
from taupath.report.encoding import packed

# Functions that are only drawn or printed may be off by this fraction of their range: under a
# pixel of a chart, and about the third digit of a number.
DRAWING_TOLERANCE = 1e-3
# A jump by less than this fraction of the tolerance comes from rounding.
NO_JUMP = 1e-2
# Bounds on the number of nodes that `thin_together` looks at together: about twice as many as the
# last chord spans, so that few are computed in vain.
LEAST_AHEAD, MOST_AHEAD = 8, 1024
# Numbers that `largest_error` works on at a time, few enough for the processor's cache.
IN_CACHE = 100_000


@dataclass(frozen=True)
class PiecewiseLinear:
    """Several functions of τ, each linear between nodes of its own.

    Function i has the entries starts[i], ..., starts[i + 1] - 1 of `at` and `values`.
    """

    nodes: np.ndarray  # values of τ, in order; twice where functions jump
    starts: np.ndarray
    at: np.ndarray  # indices of nodes
    values: np.ndarray  # values there

    def payload(self) -> dict[str, Any]:
        """Return what the page carries: exact nodes, and values to seven digits."""
        return {
            "nodes": packed(self.nodes, "f8"),
            "starts": packed(self.starts, "u4"),
            "at": packed(self.at, "u2" if len(self.nodes) <= 1 << 16 else "u4"),
            "values": packed(self.values, "f4"),
        }


def evenly_spread(n: int, most: int) -> np.ndarray:
    """Return up to `most` indices below n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def thin_each(taus: np.ndarray, values: np.ndarray, tolerance: float) -> PiecewiseLinear:
    """Return functions that differ from the given ones by at most a tolerance, at any τ.

    They are given by a row of values each, at nodes that increase; a node is there twice where
    functions jump. The returned ones have nodes of their own.
    """
    kept = [_thin(taus, row, tolerance) for row in values]
    starts = np.append(0, np.cumsum([len(nodes) for nodes in kept]))
    drawn = [row[nodes] for row, nodes in zip(values, kept, strict=True)]
    used, at = np.unique(np.concatenate(kept), return_inverse=True)
    return PiecewiseLinear(taus[used], starts, at, np.concatenate(drawn))


def _thin(taus: np.ndarray, values: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which nodes of one function to keep.

    Every second node is left out where the tolerance allows, again and again until none can be.
    Two neighbouring pieces and the chord in their place differ most at the node between them.
    That difference, added to the error that either piece has already, bounds the error of the
    chord.
    """
    kept, off = np.arange(len(taus)), np.zeros(len(taus) - 1)
    before = np.inf
    while len(kept) < before:
        before = len(kept)
        for first in (1, 2):
            middle = np.arange(first, len(kept) - 1, 2)
            left, right = kept[middle - 1], kept[middle + 1]
            width = taus[right] - taus[left]
            part = (taus[kept[middle]] - taus[left]) / np.where(width > 0.0, width, 1.0)
            chord = values[left] + part * (values[right] - values[left])
            added = np.maximum(off[middle - 1], off[middle]) + np.abs(values[kept[middle]] - chord)
            gone = added <= tolerance
            off[middle[gone] - 1] = added[gone]
            stays = np.ones(len(kept), dtype=bool)
            stays[middle[gone]] = False
            kept, off = kept[stays], off[stays[:-1]]
    return kept


def thin_together(taus: np.ndarray, values: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which nodes to keep if all functions share them; the arguments are as in `thin_each`.

    From each node kept, the slopes of all chords that pass every later node within the tolerance
    form a cone. When a node leaves it, the one before is kept. Two piecewise linear functions
    differ most at a node of either, so the tolerance holds at every τ.
    """
    columns = np.ascontiguousarray(values.T)
    last = len(taus) - 1
    kept, ahead = [0], LEAST_AHEAD
    while kept[-1] < last:
        begin = kept[-1]
        first = begin + 1
        while first <= last and taus[first] == taus[begin]:
            if np.abs(columns[first] - columns[begin]).max() > NO_JUMP * tolerance:  # a jump
                break
            first += 1
        if first <= last and taus[first] == taus[begin]:
            kept.append(first)
            continue
        low, high = np.full((1, len(values)), -np.inf), np.full((1, len(values)), np.inf)
        while first <= last:
            some = slice(first, first + ahead)
            width = (taus[some] - taus[begin])[:, None]
            rise = columns[some] - columns[begin]
            # the cones up to each node, and which nodes leave the one before them
            low = np.maximum.accumulate(np.concatenate((low[-1:], (rise - tolerance) / width)))
            high = np.minimum.accumulate(np.concatenate((high[-1:], (rise + tolerance) / width)))
            leaves = ((rise < low[:-1] * width) | (rise > high[:-1] * width)).any(axis=1)
            if leaves.any():
                first += int(leaves.argmax())
                break
            first += len(rise)
            ahead = min(2 * ahead, MOST_AHEAD)
        ahead = min(max(2 * (first - begin), LEAST_AHEAD), MOST_AHEAD)
        kept.append(first - 1)
    return np.array(kept)


def largest_error(taus: np.ndarray, values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the largest error of each function if it is linear between the nodes kept."""
    nodes = np.arange(len(taus))
    left = np.clip(np.searchsorted(kept, nodes, side="right") - 1, 0, len(kept) - 2)
    begin, end = taus[kept[left]], taus[kept[left + 1]]
    part = np.where(end > begin, (taus - begin) / np.where(end > begin, end - begin, 1.0), 0.0)
    part = np.where(nodes == kept[left + 1], 1.0, part)
    errors = np.zeros(len(values))
    for some in slices(len(values), IN_CACHE // len(taus)):
        ends = values[some][:, kept]
        drawn = ends[:, left + 1]
        drawn -= ends[:, left]
        drawn *= part
        drawn += ends[:, left]
        drawn -= values[some]
        errors[some] = np.maximum(drawn.max(axis=1), -drawn.min(axis=1))
    return errors
