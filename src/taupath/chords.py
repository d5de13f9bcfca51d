"""A path made of chords: solutions at nodes, straight lines in between."""

import copy
from collections.abc import Sequence

import numpy as np

from taupath._core._descent import inner
from taupath.continuum import Continuum, End
from taupath.samples import Solution
from taupath.shares import Node, Smoothing
from taupath.status import FREE, LOWER, UPPER
from taupath.stored import StoredSamples
from taupath.stretch import Sweep

__all__ = ["Chords", "Lines", "between", "chord_at"]


def chord_at(nodes: np.ndarray, value: float) -> tuple[int, float]:
    """Return the number of the chord that a value is on, and how much of it is behind."""
    k = int(np.clip(np.searchsorted(nodes, value, side="right") - 1, 0, len(nodes) - 2))
    return k, float((value - nodes[k]) / (nodes[k + 1] - nodes[k]))


def between(begin: np.ndarray, end: np.ndarray, s: float) -> np.ndarray:
    """Return the point on a chord; its ends exactly."""
    return np.asarray((1.0 - s) * begin + s * end)


class Lines:
    """The decision functions of a path: w at nodes, straight lines in between.

    Parameters
    ----------
    samples : StoredSamples
        What makes functions of w.
    nodes : ndarray of shape (n_nodes,)
        Where the nodes are, increasing.
    w : ndarray of shape (n_nodes, n_cols)
        The primal points.
    counters : dict
        What it took to find them.
    """

    def __init__(
        self, samples: StoredSamples, nodes: np.ndarray, w: np.ndarray, counters: dict[str, int]
    ) -> None:
        self.samples, self.counters = samples, counters
        self.kinks = self.nodes = nodes
        self.w = w

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the nodes, their places not counted."""
        return self.w.nbytes

    def weights(self, value: float) -> np.ndarray:
        """Return w."""
        k, s = chord_at(self.nodes, value)
        return between(self.w[k], self.w[k + 1], s)

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return w and intercept at the nodes first, ..., last - 1."""
        assert not with_theta
        w = self.w[first:last].copy()
        bias = self.samples.constant.bias
        return w, None, bias * w[:, -1] if bias else np.zeros(len(w))


class Chords(Lines):
    """Nodes of a smoothed problem, in terms of a path.

    θ at a node is made from w there and the data, whenever it is asked for: what is kept are
    n_features + 8 numbers for each node, however many samples there are.

    Parameters
    ----------
    samples : StoredSamples
        Where the rows come from.
    continuum : Continuum
        Targets, boxes, units.
    nodes : sequence of Node
        In order.
    counters : dict
        What it took to find them.
    """

    def __init__(
        self,
        samples: StoredSamples,
        continuum: Continuum,
        nodes: Sequence[Node],
        counters: dict[str, int],
    ) -> None:
        taus = np.array([node.tau for node in nodes])
        super().__init__(samples, taus, np.array([node.w for node in nodes]), counters)
        self.continuum = continuum
        self._width = np.array([node.smoothing.width for node in nodes])
        self._centre = np.array([node.smoothing.centre for node in nodes])
        self._shift = np.array([node.shift for node in nodes])
        self._scale = np.array([node.scale for node in nodes])

    def take(self, kept: np.ndarray) -> "Chords":
        """Return the chords between these nodes."""
        other = copy.copy(self)
        other.kinks = other.nodes = self.nodes[kept]
        other.w, other._width, other._centre = self.w[kept], self._width[kept], self._centre[kept]
        other._shift, other._scale = self._shift[kept], self._scale[kept]
        return other

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept of the nodes."""
        arrays = (self.w, self._width, self._centre, self._shift, self._scale)
        return sum(array.nbytes for array in arrays)

    @property
    def smoothings(self) -> list[Smoothing]:
        """What makes θ from w at each node, up to the balance of a free intercept."""
        return [
            Smoothing(float(width), centre)
            for width, centre in zip(self._width, self._centre, strict=True)
        ]

    def solution(self, value: float) -> Solution:
        """Return status, θ, w and the intercept, from the data."""
        k, s = chord_at(self.nodes, value)
        ends = [self._dual(j) for j, part in ((k, 1.0 - s), (k + 1, s)) if part > 0.0]
        w = self.weights(value)
        theta = between(ends[0][0], ends[1][0], s) if len(ends) == 2 else ends[0][0]
        low = np.logical_and.reduce([low for _, low, _ in ends])
        high = np.logical_and.reduce([high for _, _, high in ends])
        status = np.where(low, LOWER, np.where(high, UPPER, FREE)).astype(np.int8)
        both = low & high  # no box at all
        if both.any():
            short = self.continuum.target - self.samples.points.products(w)
            status[both] = np.where(short[both] > 0.0, UPPER, LOWER)
        return status, theta, w, self.samples.intercept((status, theta, w, 0.0))

    def _share(self, k: int, margin: np.ndarray) -> np.ndarray:
        """Return where in its box each θ is at a node: 0 at its lower end, 1 at the upper."""
        own = (self.samples.points.sign < 0).astype(np.intp)
        short = self.continuum.target - margin
        share = np.clip(self._centre[k][own] + (1.0 / self._width[k]) * short, 0.0, 1.0)
        return np.asarray(self._shift[k] + self._scale[k][own] * share)

    def _theta(self, k: int, share: np.ndarray) -> np.ndarray:
        own = (self.samples.points.sign < 0).astype(np.intp)
        boxes, tau = self.continuum.boxes, float(self.nodes[k])
        lower, upper = boxes.lower(tau)[own], boxes.upper(tau)[own]
        return np.asarray(self.continuum.weight * (lower + (upper - lower) * share))

    def _dual(self, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return θ at a node, and which are at their lower and which at their upper end."""
        share = self._share(k, self.samples.points.products(self.w[k]))
        theta = self._theta(k, share)
        boxes, tau = self.continuum.boxes, float(self.nodes[k])
        own = (self.samples.points.sign < 0).astype(np.intp)
        empty = ((boxes.upper(tau) - boxes.lower(tau))[own] == 0.0) | (self.continuum.weight == 0.0)
        return theta, empty | (share == 0.0), empty | (share == 1.0)

    def at_node(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return status and θ at a node."""
        theta, low, high = self._dual(k)
        return np.where(low, LOWER, np.where(high, UPPER, FREE)).astype(np.int8), theta

    def end(self, k: int) -> tuple[End, float]:
        """Return node k as the end of chords, and its largest violation of a condition.

        Everything is computed from the data. A sample that could move towards its target without
        leaving its box violates its condition by as much as it is away from there.
        """
        samples = self.samples
        points, continuum = samples.points, self.continuum
        w = self.w[k]
        margin = points.products(w)
        share = self._share(k, margin)
        theta = self._theta(k, share)
        v = points.total(theta)
        aim = inner(continuum.target, theta)
        short = np.where(continuum.weight > 0.0, continuum.target - margin, 0.0)
        boxes, tau = continuum.boxes, float(self.nodes[k])
        some = (boxes.upper(tau) > boxes.lower(tau))[(points.sign < 0).astype(np.intp)]
        off = np.where(short > 0.0, (share < 1.0) * short, (share > 0.0) * -short)[some]
        if samples.constant.free:
            w, v = w[:-1], v[:-1]
        return End(tau, margin, aim, (w, w), (v, v)), float(off.max(initial=0.0))
