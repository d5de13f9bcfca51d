"""Where f_τ(x) changes its sign, for every τ of a path at once.

Between two kinks f_τ(x) is linear in τ, so its sign changes are found exactly from its values at
the kinks. Most of these need not be computed: between two τ, f(x) moves by no more than ‖φ(x)‖
times the distance that w travels, and it is no further from linear than ‖φ(x)‖ times the distance
of w from a straight line. If f(x) is further from zero than that at both ends of an interval, its
sign does not change in between; otherwise it is computed at a few more kinks.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from taupath._core._crossings import STEPS, NodeFunctions, bends
from taupath.engine.node_blocks import BENT_STEPS
from taupath.engine.problem import TINY
from taupath.engine.readers import made_once
from taupath.engine.tolerances import LENGTH_ROUNDED_UP, METRIC_RIDGE
from taupath.paths.blocks import slices

# Squares above this are normal numbers, with all their digits.
NORMAL = 1e-290
# The functions at all nodes are kept if they take at most this many bytes, a share of memory that
# any machine can spare. Otherwise those at some evenly spaced nodes are kept, as many as fit but no
# more than MOST_BLOCKS, which would only take more memory; the nodes in between are swept again on
# demand.
KEPT = 512e6
MOST_BLOCKS = 2048
# All sign changes are looked for between every STEP-th kept node: a longer interval is skipped less
# often, a shorter one costs more products.
STEP = 16
# Bytes that a sweep computes at a time: allocating larger blocks takes longer than filling them.
# Also those of functions that are gathered at a time, one for each of several samples.
SWEPT_BYTES = 8e6
# With at most so many coefficients, distances are measured in a metric of the training samples:
# with more, measuring would take longer than it saves.
MOST_METRIC_FEATURES = 64
# Travelled distances are rounded up by this factor, more than a sum of a million terms rounds.
UPWARD = 1.0 + 1e-9


@dataclass(frozen=True)
class Functions:
    """f(x) = <coef, features of x> + constant at consecutive nodes."""

    coef: np.ndarray  # one function per row
    constant: np.ndarray
    travel: np.ndarray  # how far w, without its constant part, moves from each node to the next
    # for each of `node_blocks.BENT_STEPS`, how far w is from straight lines, where that is known
    bent: np.ndarray | None = None


@dataclass(frozen=True)
class Crossings:
    """The set {τ : f_τ(x) ≥ level} of each x.

    Attributes
    ----------
    length : ndarray of shape (n_samples,)
        Its length.
    first : ndarray of shape (n_samples,)
        Where f_τ(x) first falls below the level: the end of the path if never.
    last : ndarray of shape (n_samples,)
        Where f_τ(x) is last at or above the level: the beginning of the path if never.
    """

    length: np.ndarray
    first: np.ndarray
    last: np.ndarray


class Changes(NamedTuple):
    """Decisions about samples along τ: positive where f_τ(x) ≥ 0.

    Attributes
    ----------
    begin : ndarray of bool of shape (n_samples,)
        Which samples are positive where the path begins.
    who, when, change : ndarray of shape (n_changes,)
        A sample whose decision changes, the last τ before the change, and what it changes to: 1
        for positive, -1 for negative. Those of one sample are in the order of τ.
    """

    begin: np.ndarray
    who: np.ndarray
    when: np.ndarray
    change: np.ndarray

    @classmethod
    def joined(cls, parts: "Iterable[tuple[int, Changes]]") -> "Changes":
        """Return the changes of all parts, each given with the number of its first sample."""
        renumbered = [part._replace(who=first + part.who) for first, part in parts]
        return cls(*map(np.concatenate, zip(*renumbered, strict=True)))


class Tracks:
    """The functions of a path: all of them if they fit into memory, else some.

    All functions are linear between the nodes `taus`; a node where they jump is listed twice.
    ``sweep(first, last)`` returns the functions at the nodes first, ..., last - 1; a function has
    `width` coefficients. Those at the nodes
    `edges` are kept, read-only: `kept` are their τ, `coef` and `constant` the functions. If
    `complete`, these are all nodes. If functions are `by_weights`, coefficients are the weights of
    features that have the norms of the samples.

    If the second `moments` of [features, 1] are given, the distances that functions travel are
    measured by them: |<x, v>| ≤ ‖L⁻¹ x‖ ‖Lᵀ v‖ with L Lᵀ = moments is much closer to what typical
    samples see than ‖x‖ ‖v‖.
    """

    def __init__(
        self,
        taus: np.ndarray,
        sweep: Callable[[int, int], Functions],
        width: int,
        moments: np.ndarray | None = None,
        by_weights: bool = False,
    ) -> None:
        self.taus, self._sweep, self._by_weights = taus, sweep, by_weights
        at_a_time = max(int(SWEPT_BYTES // (8 * width)), 2)
        if at_a_time > BENT_STEPS[-1]:
            at_a_time -= at_a_time % BENT_STEPS[-1]
        self._at_a_time = at_a_time
        self.complete = 8 * width * len(taus) <= KEPT
        self.edges = np.arange(len(taus)) if self.complete else _some_nodes(taus, width)
        coef, constant = np.empty((len(self.edges), width)), np.empty(len(self.edges))
        travel, drift = np.zeros(len(taus)), np.zeros(len(taus))
        bent = np.full((len(BENT_STEPS), len(taus)), np.inf)
        for first in range(0, len(taus) - 1, at_a_time):
            last = min(first + at_a_time, len(taus) - 1)
            block = sweep(first, last + 1)
            travel[first + 1 : last + 1] = block.travel
            drift[first + 1 : last + 1] = np.abs(np.diff(block.constant))
            if block.bent is not None and at_a_time % BENT_STEPS[-1] == 0:
                bent[:, first:last] = block.bent[:, :-1]
            begin, end = np.searchsorted(self.edges, (first, last + 1))
            inside = slice(None) if self.complete else self.edges[begin:end] - first
            coef[begin:end] = block.coef[inside]
            constant[begin:end] = block.constant[inside]
        self._travel, self._drift = UPWARD * np.cumsum(travel), UPWARD * np.cumsum(drift)
        self.kept, self.coef, self.constant = np.asarray(taus[self.edges]), coef, constant
        self._swept_bent = UPWARD * bent
        self._metric = None
        if moments is not None and self.complete:
            self._metric = L = _metric_of(moments)
            moved = np.diff(np.column_stack((coef, constant)), axis=0) @ L
            travel[1:] = np.sqrt(np.einsum("ij,ij->i", moved, moved))
            self._travel, self._drift = LENGTH_ROUNDED_UP * np.cumsum(travel), np.zeros(len(taus))
        for array in (self.taus, self.kept, self.coef, self.constant):
            array.flags.writeable = False  # users are handed views

    @made_once
    def table(self) -> NodeFunctions:
        """The kept functions, to be searched for sign changes."""
        return self._table(self.edges, self.coef, self.constant, self._bent())

    def _bent(self) -> list[np.ndarray]:
        """Return how far functions are from straight lines over several nodes, where it is known.

        An array for each of `STEPS` but the first; none if it is not known.
        """
        if not self.complete:
            return []
        if not self._by_weights:
            nothing = np.zeros((len(self.constant), 1))
            found = [bends(self.taus, nothing, self.constant, step) for step in BENT_STEPS]
            for one, step, bent in zip(found, BENT_STEPS, self._swept_bent, strict=True):
                one[0] = np.maximum.reduceat(bent[:-1], np.arange(0, len(bent) - 1, step))
            return found
        coef, constant = self.coef, self.constant
        if self._metric is not None:
            coef = np.column_stack((coef, constant)) @ self._metric
            constant = np.zeros(len(constant))
        up = LENGTH_ROUNDED_UP if self._metric is not None else UPWARD
        return [up * bends(self.taus, coef, constant, step) for step in STEPS[1:]]

    def _table(
        self, nodes: np.ndarray, coef: np.ndarray, constant: np.ndarray, bent: list[np.ndarray]
    ) -> NodeFunctions:
        return NodeFunctions(
            self.taus[nodes],
            np.ascontiguousarray(coef),
            np.ascontiguousarray(constant),
            self._travel[nodes],
            self._drift[nodes],
            len(nodes) == 1 or bool(np.all(np.diff(nodes) == 1)),
            bent,
        )

    def values(self, features: Any, taus: np.ndarray) -> np.ndarray:
        """Return f_τ(x) of each row at its own τ, where all functions are kept."""
        k = np.clip(np.searchsorted(self.taus, taus, side="right") - 1, 0, len(self.taus) - 2)
        width = self.taus[k + 1] - self.taus[k]
        s = np.where(width > 0.0, (taus - self.taus[k]) / np.where(width > 0.0, width, 1.0), 0.0)

        return np.asarray((1.0 - s) * self._each(features, k) + s * self._each(features, k + 1))

    def _each(self, features: Any, nodes: np.ndarray) -> np.ndarray:
        """Return the function of each row at its own node."""
        products = np.empty(len(nodes))
        if isinstance(features, np.ndarray):
            for some in slices(len(nodes), max(int(SWEPT_BYTES // (8 * features.shape[1])), 1)):
                coef = self.coef[nodes[some]]
                products[some] = np.einsum("ij,ij->i", features[some], coef)
        else:
            row = np.repeat(np.arange(len(nodes)), np.diff(features.indptr))
            terms = features.data * self.coef[nodes[row], features.indices]
            products[:] = np.bincount(row, terms, len(nodes))
        return np.asarray(products + self.constant[nodes])

    def all_values(self, features: Any) -> np.ndarray:
        """Return f_τ(x) of each row at all nodes."""
        if self.complete:
            return self.values_at(features, slice(None))
        values = np.empty((features.shape[0], len(self.taus)))
        for first, last in pairwise(self.edges):
            values[:, first : last + 1] = self._values_within(features, first, last)
        return values

    def values_at(self, features: Any, nodes: Any) -> np.ndarray:
        """Return f_τ(x) of each row at some of the kept nodes."""
        return np.asarray(features @ self.coef[nodes].T + self.constant[nodes])

    def crossings(
        self, features: "np.ndarray | sp.csr_array", norm: np.ndarray, level: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the arrays of `Crossings` for the rows of `features`.

        `norm` holds ‖φ(x)‖ of each row, or infinity if it is unknown; `level` has an entry per row.
        """
        n, taus, norm = len(level), self.taus, self._measured(features, norm)
        length, first, last = np.zeros(n), np.full(n, taus[-1]), np.full(n, taus[0])
        undecided = np.zeros((n, 0 if self.complete else len(self.edges)), dtype=np.uint8)

        if isinstance(features, np.ndarray):
            data, indices = np.ascontiguousarray(features).ravel(), None
            indptr = np.arange(n + 1) * features.shape[1]
        else:
            data, indices, indptr = (
                features.data,
                features.indices.astype(np.int32),
                features.indptr,
            )
        stored = data, indices, indptr.astype(np.intp)

        def search(functions: NodeFunctions, rows: np.ndarray) -> None:
            found = norm, level, length, first, last, undecided
            functions.search(*stored, rows.astype(np.int32), *found)

        search(self.table, np.arange(n))
        for k in np.flatnonzero(undecided.any(axis=0)):
            rows = np.flatnonzero(undecided[:, k])
            for functions in self.inside(int(k)):
                search(functions, rows)
        return length, first, last

    def _measured(self, features: Any, norm: np.ndarray) -> np.ndarray:
        """Return the length of each row in the metric, where there is one; else its `norm`."""
        if self._metric is None:
            return norm
        rows = features.toarray() if sp.issparse(features) else features
        rows = np.column_stack((rows, np.ones(len(rows))))
        rows = solve_triangular(self._metric, rows.T, lower=True, check_finite=False)
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", rows, rows)))

    def _coarse(
        self, features: Any, norm: np.ndarray, level: "np.ndarray | float"
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return every STEP-th kept node, f_τ(x) - level there, and where its sign is constant.

        The last has a column for each step from one of these nodes to the next.
        """
        some = np.unique(np.append(np.arange(0, len(self.edges), STEP), len(self.edges) - 1))
        nodes = self.edges[some]
        values = self.values_at(features, some) - np.reshape(level, (-1, 1))
        left, right = values[:, :-1], values[:, 1:]
        with np.errstate(invalid="ignore"):  # if a norm is infinite, nothing is skipped
            reach = np.outer(norm, np.diff(self._travel[nodes])) + np.diff(self._drift[nodes])
        quiet = ((left < 0.0) == (right < 0.0)) & (np.abs(left) + np.abs(right) > reach)
        return nodes, values, quiet

    def changes(self, features: Any, norm: np.ndarray) -> Changes:
        """Return all sign changes of f_τ(x) of each row; arguments as for `crossings`."""
        edges, values, quiet = self._coarse(features, self._measured(features, norm), 0.0)
        found: list[tuple[np.ndarray, ...]] = []
        for k in np.flatnonzero(~quiet.all(axis=0)):
            rows = np.flatnonzero(~quiet[:, k])
            first, last = edges[k], edges[k + 1]
            inside = self._values_within(features[rows], first, last)
            above = inside >= 0.0
            row, step = np.nonzero(above[:, 1:] != above[:, :-1])
            before, after = inside[row, step], inside[row, step + 1]
            begin, end = self.taus[first + step], self.taus[first + step + 1]
            zero = begin + (end - begin) * (before / (before - after))
            # f = 0 is positive: at that τ itself where f rises, after it where f falls
            falls = above[row, step]
            when = np.where(falls, zero, np.nextafter(zero, -np.inf))
            found.append((rows[row], when, np.where(falls, -1, 1)))
        who, when, change = (
            np.concatenate([part[k] for part in found] or [np.empty(0, dtype=kind)])
            for k, kind in enumerate((np.intp, np.float64, np.intp))
        )
        order = np.argsort(who, kind="stable")
        return Changes(values[:, 0] >= 0.0, who[order], when[order], change[order])

    def _values_within(self, features: Any, first: int, last: int) -> np.ndarray:
        """Return f_τ(x) of each row at the nodes first, ..., last."""
        values = np.empty((features.shape[0], last + 1 - first))
        for some in self._parts(first, last + 1):
            coef, constant = self.functions(some.start, some.stop)
            values[:, some.start - first : some.stop - first] = features @ coef.T + constant
        return values

    def _parts(self, first: int, last: int) -> Iterator[slice]:
        """Yield the nodes first, ..., last - 1, as many at a time as are swept at a time."""
        most = last - first if self.complete else self._at_a_time
        for some in slices(last - first, most):
            yield slice(first + some.start, first + some.stop)

    def functions(self, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients and constants at the nodes first, ..., last - 1."""
        if self.complete:
            return self.coef[first:last], self.constant[first:last]
        swept = self._sweep(first, last)
        return swept.coef, swept.constant

    def inside(self, k: int) -> Iterator[NodeFunctions]:
        """Yield the functions at all nodes from edge k to the next, some of them at a time.

        The last node of one part is the first of the next.
        """
        first, last = int(self.edges[k]), int(self.edges[k + 1])
        for some in self._parts(first, last):
            nodes = some.start, some.stop + 1
            yield self._table(np.arange(*nodes), *self.functions(*nodes), [])


def _metric_of(moments: np.ndarray) -> np.ndarray:
    """Return L with L Lᵀ = moments, up to a ridge that keeps it far from singular."""
    diagonal = moments.diagonal()
    size = np.sqrt(np.where(diagonal > NORMAL, diagonal, 1.0))  # squares below that have no digits
    scaled = moments / size / size[:, np.newaxis]
    return np.asarray(
        size[:, np.newaxis] * cholesky(scaled + METRIC_RIDGE * np.eye(len(size)), lower=True)
    )


def _some_nodes(taus: np.ndarray, width: int) -> np.ndarray:
    """Return the nodes whose functions are kept if those of all would take too much memory."""
    most = int(max(min(KEPT // (8 * width), MOST_BLOCKS), 2))
    first = np.flatnonzero(np.diff(taus) == 0.0)
    jumps = np.concatenate((first, first + 1))
    if 2 * len(jumps) > most:  # so many cannot all be shown
        jumps = jumps[:0]
    even = np.linspace(0, len(taus) - 1, min(most - len(jumps), len(taus))).astype(int)
    return np.unique(np.concatenate((even, jumps)))


class KeptFunctions:
    """f_τ(x) of several samples at the kept nodes, and interpolated in between."""

    def __init__(self, tracks: Tracks, features: Any) -> None:
        self._tracks, self._features = tracks, features
        self.taus, self.width = tracks.kept, tracks.coef.shape[1]
        self.complete = tracks.complete

    def __len__(self) -> int:
        return int(self._features.shape[0])

    def values(self, rows: Any = slice(None), nodes: Any = slice(None)) -> np.ndarray:
        """Return the values at the kept nodes; optionally only some rows and nodes."""
        return self._tracks.values_at(self._features[rows], nodes)

    def between(self, taus: np.ndarray, rows: Any = slice(None)) -> np.ndarray:
        """Return the values at all of these τ, linear between kept nodes."""
        kept, coef, constant = self.taus, self._tracks.coef, self._tracks.constant
        k = np.clip(np.searchsorted(kept, taus, side="right") - 1, 0, len(kept) - 2)
        s = np.clip((taus - kept[k]) / np.maximum(kept[k + 1] - kept[k], TINY), 0.0, 1.0)
        coef = coef[k] + s[:, None] * (coef[k + 1] - coef[k])
        constant = constant[k] + s * (constant[k + 1] - constant[k])
        return np.asarray(self._features[rows] @ coef.T + constant)
