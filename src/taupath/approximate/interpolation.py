"""Interpolation between nodes: w and θ are linear in the parameter from one node to the next."""

from collections.abc import Sequence

import numpy as np

from taupath.approximate.node import DualNode, Node, Smoothing
from taupath.approximate.row_sums import RowSums
from taupath.engine.node_blocks import travel_of
from taupath.engine.record import Solution
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.jobs import Boxes
from taupath.paths.training_data import Sweep


def interval_of(nodes: np.ndarray, value: float) -> tuple[int, float]:
    """Return the number of the interval between nodes that holds a value, and s within it."""
    k = int(np.clip(np.searchsorted(nodes, value, side="right") - 1, 0, len(nodes) - 2))
    return k, float((value - nodes[k]) / (nodes[k + 1] - nodes[k]))


def interpolate(begin: np.ndarray, end: np.ndarray, s: float) -> np.ndarray:
    """Return the point at s between two others; exactly these at s = 0 and s = 1."""
    return np.asarray((1.0 - s) * begin + s * end)


class Interpolation:
    """The decision functions of a path with the linear kernel: w at nodes, linear in between."""

    def __init__(self, taus: np.ndarray, w: np.ndarray, bias: float) -> None:
        self.taus, self.w, self.bias = taus, w, bias

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return self.taus.nbytes + self.w.nbytes

    def weights(self, value: float) -> np.ndarray:
        """Return w."""
        k, s = interval_of(self.taus, value)
        return interpolate(self.w[k], self.w[k + 1], s)

    def function(self, value: float) -> Solution:
        """Return a solution of which only w is known."""
        none = np.empty(0)
        return Solution(none, none, self.weights(value), 0.0)

    def sweep(self, first: int, last: int, with_theta: bool) -> Sweep:
        """Return w and intercept at the nodes first, ..., last - 1."""
        assert not with_theta
        w = self.w[first:last].copy()
        return Sweep(w, None, self.bias * w[:, -1], travel_of(w, self.bias))


class NodeList(Interpolation):
    """Nodes of a smoothed problem, in order: n_features + 8 numbers for each."""

    def __init__(self, nodes: Sequence[Node], bias: float) -> None:
        taus = np.array([node.tau for node in nodes])
        super().__init__(taus, np.array([node.w for node in nodes]), bias)
        self._width = np.array([node.smoothing.width for node in nodes])
        self._centre = np.array([node.smoothing.centre for node in nodes])
        self._shift = np.array([node.shift for node in nodes])
        self._scale = np.array([node.scale for node in nodes])

    def __len__(self) -> int:
        return len(self.taus)

    def __getitem__(self, k: int) -> Node:
        """Return the node with this number."""
        smoothing = Smoothing(float(self._width[k]), self._centre[k])
        shift, scale = float(self._shift[k]), self._scale[k]
        return Node(float(self.taus[k]), self.w[k], smoothing, shift, scale)

    def take(self, kept: np.ndarray) -> "NodeList":
        """Return some of the nodes."""
        return NodeList([self[k] for k in kept], self.bias)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        arrays = (self._width, self._centre, self._shift, self._scale)
        return super().nbytes + sum(array.nbytes for array in arrays)

    @property
    def smoothings(self) -> list[Smoothing]:
        """The smoothing of each node: it makes θ from w, up to the balance of a free intercept."""
        return [
            Smoothing(width, centre)
            for width, centre in zip(self._width.tolist(), self._centre, strict=True)
        ]

    def beside(self, value: float) -> tuple[list[Node], float]:
        """Return the one or two nodes that a solution is made of, and its s between them."""
        k, s = interval_of(self.taus, value)
        return [self[j] for j, weight in ((k, 1.0 - s), (k + 1, s)) if weight > 0.0], s


class DualNodeList(Interpolation):
    """Nodes of which θ is kept, in order: n_features + n_samples numbers for each."""

    def __init__(self, taus: np.ndarray, w: np.ndarray, fractions: np.ndarray, bias: float) -> None:
        super().__init__(taus, w, bias)
        self.fractions = fractions

    def __len__(self) -> int:
        return len(self.taus)

    def __getitem__(self, k: int) -> DualNode:
        """Return the node with this number."""
        return DualNode(float(self.taus[k]), self.w[k], self.fractions[k])

    def take(self, kept: np.ndarray) -> "DualNodeList":
        """Return some of the nodes."""
        return DualNodeList(self.taus[kept], self.w[kept], self.fractions[kept], self.bias)

    @property
    def nbytes(self) -> int:
        """Bytes of what is kept."""
        return super().nbytes + self.fractions.nbytes

    def beside(self, value: float) -> tuple[list[DualNode], float]:
        """Return the one or two nodes that a solution is made of, and its s between them."""
        k, s = interval_of(self.taus, value)
        return [self[j] for j, weight in ((k, 1.0 - s), (k + 1, s)) if weight > 0.0], s


def index_sets(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the status of each sample, given which θ are at their lower and upper bounds."""
    return np.where(low, LOWER, np.where(high, UPPER, FREE)).astype(np.int8)


def dual_between(
    row_sums: RowSums, nodes: Sequence[Node | DualNode], s: float, boxes: Boxes, w: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return status and θ at s between two nodes, or at one; w is the primal point there."""
    ends = [row_sums.dual_at(node, boxes) for node in nodes]
    theta = interpolate(ends[0][0], ends[1][0], s) if len(ends) == 2 else ends[0][0]
    low = np.logical_and.reduce([low for _, low, _ in ends])
    high = np.logical_and.reduce([high for _, _, high in ends])
    status = index_sets(low, high)
    both = low & high  # the box is empty
    if both.any():
        short = row_sums.target - row_sums.rows.products(w)
        status[both] = np.where(short[both] > 0.0, UPPER, LOWER)
    return status, theta
