"""Piecewise linear functions of τ with fewer nodes, and a bound on what that changes.

A path has thousands of kinks, and few of them can be seen. What decides predictions is stored
exactly; what is only drawn or printed is stored at the nodes kept here.
"""

from dataclasses import dataclass

import numpy as np

from taupath.validation import slices

__all__ = ["PiecewiseLinear", "join", "largest_error", "thin_each", "thin_together"]

# A jump by less than this part of the tolerance is none.
NO_JUMP = 1e-2
# Nodes that are looked at together, at least and at most.
AHEAD, MOST_AHEAD = 8, 1024
# Numbers at a time that stay close to the processor.
IN_CACHE = 100_000


@dataclass(frozen=True)
class PiecewiseLinear:
    """Several functions of τ, each linear between nodes of its own.

    Attributes
    ----------
    nodes : ndarray of shape (n_nodes,)
        Values of τ, in order; one where functions jump is there twice.
    starts : ndarray of int of shape (n_functions + 1,)
        Function i has the entries starts[i], ..., starts[i + 1] - 1 of the following.
    at : ndarray of int
        Which node.
    values : ndarray
        The value there.
    """

    nodes: np.ndarray
    starts: np.ndarray
    at: np.ndarray
    values: np.ndarray


def thin_each(taus: np.ndarray, values: np.ndarray, tolerance: np.ndarray) -> PiecewiseLinear:
    """Return functions that differ from the given ones by no more than a tolerance, at any τ.

    Parameters
    ----------
    taus : ndarray of shape (n_nodes,)
        Where all functions are given, increasing; twice the same where they jump.
    values : ndarray of shape (n_functions, n_nodes)
        Their values.
    tolerance : ndarray of shape (n_functions,)
        How far each may be off.
    """
    kept = [_thin(taus, row, most) for row, most in zip(values, tolerance, strict=True)]
    starts = np.append(0, np.cumsum([len(nodes) for nodes in kept]))
    drawn = [row[nodes] for row, nodes in zip(values, kept, strict=True)]
    return PiecewiseLinear(taus, starts, np.concatenate(kept), np.concatenate(drawn))


def _thin(taus: np.ndarray, values: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which nodes of one function to keep.

    Every second node is left out where that does no harm, as often as there are some. Two
    neighbouring pieces and the chord in their place differ most at the node between them: so
    that, added to what either piece is off already, bounds the error of the chord.
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
    """Return which nodes to keep for all functions to be right up to one tolerance.

    From each node kept, the chord to the next one misses nothing in between by more than the
    tolerance: slopes that pass all nodes so far form a cone, and the last node within it is kept
    when the next one leaves it. Two piecewise linear functions differ most at a node of either, so
    that this bound holds everywhere.

    Parameters
    ----------
    taus, values
        As for `thin_each`.
    tolerance : float
        How far any function may be off.
    """
    columns = np.ascontiguousarray(values.T)
    last = len(taus) - 1
    kept, ahead = [0], AHEAD
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
        ahead = min(max(2 * (first - begin), AHEAD), MOST_AHEAD)
        kept.append(first - 1)
    return np.array(kept)


def largest_error(taus: np.ndarray, values: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return how far each function is off, at most, if it is linear between the nodes kept."""
    nodes = np.arange(len(taus))
    left = np.clip(np.searchsorted(kept, nodes, side="right") - 1, 0, len(kept) - 2)
    begin, end = taus[kept[left]], taus[kept[left + 1]]
    part = np.where(end > begin, (taus - begin) / np.where(end > begin, end - begin, 1.0), 0.0)
    part = np.where(nodes == kept[left + 1], 1.0, part)
    most = np.zeros(len(values))
    for some in slices(len(values), max(IN_CACHE // len(taus), 1)):
        ends = values[some][:, kept]
        drawn = ends[:, left + 1]
        drawn -= ends[:, left]
        drawn *= part
        drawn += ends[:, left]
        drawn -= values[some]
        most[some] = np.maximum(drawn.max(axis=1), -drawn.min(axis=1))
    return most


def join(parts: list[PiecewiseLinear]) -> PiecewiseLinear:
    """Return the functions of all parts, which have the same nodes, with only the nodes used."""
    before = np.cumsum([0] + [len(part.values) for part in parts])
    starts = [part.starts[:-1] + n for part, n in zip(parts, before[:-1], strict=True)]
    used, at = np.unique(np.concatenate([part.at for part in parts]), return_inverse=True)
    return PiecewiseLinear(
        parts[0].nodes[used],
        np.append(np.concatenate(starts), before[-1]),
        at,
        np.concatenate([part.values for part in parts]),
    )
