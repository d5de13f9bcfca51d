"""A path made of chords: solutions at nodes, straight lines in between."""

import copy
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from taupath.approximate.gap_bound import Boxes, GapBound, PrimalDualPoint, SampleLosses
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import RowSums
from taupath.approximate.training_data import StoredSamples
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.training_data import Solution
from taupath.paths.walked import Sweep

__all__ = ["Chords", "Lines", "NodeList", "between", "chord_at", "dual_between", "make_end"]


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
    nodes : ndarray of shape (n_nodes,)
        Where the nodes are, increasing.
    w : ndarray of shape (n_nodes, n_cols)
        The primal points.
    counters : dict
        What it took to find them.
    bias : float
        The constant feature.
    """

    def __init__(
        self, nodes: np.ndarray, w: np.ndarray, counters: dict[str, int], bias: float
    ) -> None:
        self.kinks = self.nodes = nodes
        self.w, self.counters, self.bias = w, counters, bias

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
        return w, None, self.bias * w[:, -1]


class NodeList(Lines):
    """Nodes of a smoothed problem, in order: n_features + 8 numbers for each.

    Parameters
    ----------
    nodes : sequence of Node
        In order.
    counters : dict
        What it took to find them.
    bias : float
        The constant feature.
    """

    def __init__(self, nodes: Sequence[Node], counters: dict[str, int], bias: float) -> None:
        taus = np.array([node.tau for node in nodes])
        super().__init__(taus, np.array([node.w for node in nodes]), counters, bias)
        self._width = np.array([node.smoothing.width for node in nodes])
        self._centre = np.array([node.smoothing.centre for node in nodes])
        self._shift = np.array([node.shift for node in nodes])
        self._scale = np.array([node.scale for node in nodes])

    def take(self, kept: np.ndarray) -> Self:
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
        return [self.node(k).smoothing for k in range(len(self.nodes))]

    def node(self, k: int) -> Node:
        """Return one of them."""
        smoothing = Smoothing(float(self._width[k]), self._centre[k])
        shift, scale = float(self._shift[k]), self._scale[k]
        return Node(float(self.nodes[k]), self.w[k], smoothing, shift, scale)

    def beside(self, value: float) -> tuple[list[Node], float]:
        """Return the nodes that a point on a chord is made of, one or two, and where it is."""
        k, s = chord_at(self.nodes, value)
        return [self.node(j) for j, part in ((k, 1.0 - s), (k + 1, s)) if part > 0.0], s


class Chords(NodeList):
    """Nodes of a smoothed problem, in terms of a path.

    θ at a node is made from w there and the data, whenever it is asked for: what is kept does not
    grow with the samples.

    Parameters
    ----------
    samples : StoredSamples
        Where the rows come from.
    continuum : GapBound
        Boxes, units.
    losses : SampleLosses
        Targets and weights.
    nodes : sequence of Node
        In order.
    counters : dict
        What it took to find them.
    """

    def __init__(
        self,
        samples: StoredSamples,
        continuum: GapBound,
        losses: SampleLosses,
        nodes: Sequence[Node],
        counters: dict[str, int],
    ) -> None:
        super().__init__(nodes, counters, samples.constant.bias)
        self.samples, self.continuum, self.losses = samples, continuum, losses

    def _part(self) -> RowSums:
        return self.samples.row_sums(self.losses.target, self.losses.weight)

    def solution(self, value: float) -> Solution:
        """Return status, θ, w and the intercept, from the data."""
        w = self.weights(value)
        status, theta = dual_between(self._part(), *self.beside(value), self.continuum.boxes, w)
        return status, theta, w, self.samples.intercept((status, theta, w, 0.0))

    def at_node(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return status and θ at a node."""
        theta, low, high = self._part().dual_at(self.node(k), self.continuum.boxes)
        return np.where(low, LOWER, np.where(high, UPPER, FREE)).astype(np.int8), theta

    def end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of chords, and its largest violation of a condition.

        Everything is computed from the data.
        """
        part, node = self._part(), self.node(k)
        margin = part.rows.products(node.w)
        v, aim, off = part.sums_at(node, self.continuum.boxes, margin)
        return make_end(node, margin, v, aim, self.samples.constant.free), off


def make_end(node: Node, margin: Any, v: np.ndarray, aim: float, free: bool) -> PrimalDualPoint:
    """Return a node as the end of chords; a free intercept, the last column, costs nothing."""
    w = node.w
    if free:
        w, v = w[:-1], v[:-1]
    return PrimalDualPoint(node.tau, margin, aim, (w, w), (v, v))


def dual_between(
    part: RowSums, nodes: Sequence[Node], s: float, boxes: Boxes, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return status and θ on the chord of two nodes, whose point there is w, or at one."""
    ends = [part.dual_at(node, boxes) for node in nodes]
    theta = between(ends[0][0], ends[1][0], s) if len(ends) == 2 else ends[0][0]
    low = np.logical_and.reduce([low for _, low, _ in ends])
    high = np.logical_and.reduce([high for _, _, high in ends])
    status = np.where(low, LOWER, np.where(high, UPPER, FREE)).astype(np.int8)
    both = low & high  # no box at all
    if both.any():
        short = part.target - part.rows.products(w)
        status[both] = np.where(short[both] > 0.0, UPPER, LOWER)
    return status, theta
