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

    From each node kept, the chord to the next one misses nothing in between by more than the
    tolerance: slopes that pass all nodes so far form a cone, and the last node within it is kept
    when the next one leaves it. Two piecewise linear functions differ most at a node of either, so
    that this bound holds everywhere.

    Parameters
    ----------
    taus : ndarray of shape (n_nodes,)
        Where all functions are given, increasing; twice the same where they jump.
    values : ndarray of shape (n_functions, n_nodes)
        Their values.
    tolerance : ndarray of shape (n_functions,)
        How far each may be off.
    """
    n = len(values)
    rows, nodes = [np.arange(n)], [np.zeros(n, dtype=np.int64)]
    columns = np.ascontiguousarray(values.T)
    from_tau, from_value = np.full(n, taus[0]), columns[0].copy()
    low, high = np.full(n, -np.inf), np.full(n, np.inf)

    def keep(some: np.ndarray, k: int) -> None:
        rows.append(some)
        nodes.append(np.full(len(some), k))
        from_tau[some], from_value[some] = taus[k], columns[k, some]
        low[some], high[some] = -np.inf, np.inf

    everyone = np.arange(n)
    for k in range(1, len(taus)):
        ahead = from_tau < taus[k]
        slope = (columns[k] - from_value) / np.where(ahead, taus[k] - from_tau, 1.0)
        leaves = np.flatnonzero(ahead & ((slope < low) | (slope > high)))
        if len(leaves):
            keep(leaves, k - 1)
        here = np.flatnonzero(from_tau == taus[k])
        if len(here):  # a jump right at a node that is kept: kept as well, where it is one
            keep(here[columns[k, here] != from_value[here]], k)
        ahead = from_tau < taus[k]
        width = np.where(ahead, taus[k] - from_tau, 1.0)
        rise = columns[k] - from_value
        np.maximum(low, np.where(ahead, (rise - tolerance) / width, -np.inf), out=low)
        np.minimum(high, np.where(ahead, (rise + tolerance) / width, np.inf), out=high)
    keep(everyone[from_tau < taus[-1]], len(taus) - 1)
    return _gather(taus, values, np.concatenate(rows), np.concatenate(nodes))


def thin_together(taus: np.ndarray, values: np.ndarray, tolerance: float) -> np.ndarray:
    """Return which nodes to keep for all functions to be right up to one tolerance.

    Parameters
    ----------
    taus, values
        As for `thin_each`.
    tolerance : float
        How far any function may be off.
    """
    kept = [0]
    columns = np.ascontiguousarray(values.T)
    n = len(values)
    low, high = np.full(n, -np.inf), np.full(n, np.inf)
    # one piece of memory for all steps
    least, most = np.empty(n), np.empty(n)
    for k in range(1, len(taus)):
        width, rise = taus[k] - taus[kept[-1]], columns[k] - columns[kept[-1]]
        if width > 0.0:
            np.multiply(low, width, out=least)
            np.multiply(high, width, out=most)
            if (rise < least).any() or (rise > most).any():
                kept.append(k - 1)
                low[:], high[:] = -np.inf, np.inf
                width, rise = taus[k] - taus[k - 1], columns[k] - columns[k - 1]
        if width == 0.0:  # a jump right at a node that is kept: kept as well, where it is one
            if np.abs(rise).max() > NO_JUMP * tolerance:
                kept.append(k)
                low[:], high[:] = -np.inf, np.inf
            continue
        np.maximum(low, (rise - tolerance) / width, out=low)
        np.minimum(high, (rise + tolerance) / width, out=high)
    if kept[-1] != len(taus) - 1:
        kept.append(len(taus) - 1)
    return np.array(kept)


def largest_error(taus: np.ndarray, values: np.ndarray, kept: np.ndarray) -> float:
    """Return how far functions are off, at most, if they are linear between the nodes kept."""
    nodes = np.arange(len(taus))
    left = np.clip(np.searchsorted(kept, nodes, side="right") - 1, 0, len(kept) - 2)
    begin, end = taus[kept[left]], taus[kept[left + 1]]
    part = np.where(end > begin, (taus - begin) / np.where(end > begin, end - begin, 1.0), 0.0)
    part = np.where(nodes == kept[left + 1], 1.0, part)
    most = 0.0
    for some in slices(len(values), max(IN_CACHE // len(taus), 1)):
        ends = values[some][:, kept]
        drawn = ends[:, left + 1]
        drawn -= ends[:, left]
        drawn *= part
        drawn += ends[:, left]
        drawn -= values[some]
        most = max(most, float(drawn.max()), -float(drawn.min()))
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


def _gather(
    taus: np.ndarray, values: np.ndarray, rows: np.ndarray, nodes: np.ndarray
) -> PiecewiseLinear:
    order = np.lexsort((nodes, rows))
    rows, nodes = rows[order], nodes[order]
    starts = np.searchsorted(rows, np.arange(len(values) + 1))
    return PiecewiseLinear(taus, starts, nodes, values[rows, nodes])
