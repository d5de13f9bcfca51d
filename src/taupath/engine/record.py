"""What a walk leaves behind: its events, and nodes where index sets alone would not do."""

from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from taupath.engine.box_solver import Solved
from taupath.engine.status import AFTER, BEFORE, FREE


class State(NamedTuple):
    """A solution at t: the status of every point, the free points and their θ."""

    t: float
    status: np.ndarray
    free: np.ndarray
    theta: np.ndarray


class Solution(NamedTuple):
    """A solution that is read, in the scale of the walk or of the path."""

    status: np.ndarray  # index sets, int8
    theta: np.ndarray  # the dual solution
    w: np.ndarray  # Σ θ_i z_i, in the coordinates of the rows
    multiplier: float  # of Σ sign_i θ_i = 0, if the intercept is free


class Events(NamedTuple):
    """Some of the events of a walk: at which t, which point, from what to what."""

    t: np.ndarray
    point: np.ndarray
    move: np.ndarray


class Node(NamedTuple):
    """A solution that is kept, and the number of the stretch that it belongs to."""

    t: float
    stretch: int
    status: np.ndarray
    found: Solved


@dataclass(frozen=True)
class Nodes:
    """Solutions that are kept, in stretches: between two nodes of a stretch θ is interpolated.

    Walks store them where a problem is so ill-conditioned that index sets do not determine θ well.
    """

    t: np.ndarray  # increasing
    stretch: np.ndarray  # the number of the stretch that each node belongs to, int32
    status: np.ndarray  # index sets, int8, one row for each node
    theta: np.ndarray  # of the free points, node by node
    multiplier: np.ndarray  # of Σ sign_i θ_i = 0
    w: np.ndarray | None  # one row for each node; None if θ will do

    @classmethod
    def of(cls, nodes: list[Node], with_w: bool) -> "Nodes":
        """Return these nodes in the order of t; stretches that touch keep their order."""
        begins = {node.stretch: node.t for node in reversed(nodes)}
        nodes = sorted(nodes, key=lambda node: (node.t, begins[node.stretch]))
        status = np.array([node.status for node in nodes])
        theta = np.array([node.found.theta for node in nodes], dtype=float)
        return cls(
            np.array([node.t for node in nodes]),
            np.array([node.stretch for node in nodes], dtype=np.int32),
            status,
            theta[status == FREE],
            np.array([node.found.multiplier for node in nodes], dtype=float),
            np.array([node.found.w for node in nodes], dtype=float) if with_w else None,
        )

    def until(self, end: float) -> "Nodes | None":
        """Return the nodes up to an earlier end, and the one beyond it that it takes to read it."""
        kept = int(np.searchsorted(self.t, end, side="right"))
        if 0 < kept < len(self.t) and self.stretch[kept - 1] == self.stretch[kept]:
            kept += 1
        if kept == 0:
            return None
        n_free = int((self.status[:kept] == FREE).sum())
        return Nodes(
            self.t[:kept],
            self.stretch[:kept],
            self.status[:kept],
            self.theta[:n_free],
            self.multiplier[:kept],
            None if self.w is None else self.w[:kept],
        )

    def in_order(self, order: np.ndarray) -> "Nodes":
        """Return the same nodes where point k is called `order[k]`."""
        theta = np.zeros(self.status.shape)
        theta[self.status == FREE] = self.theta
        status, named = np.empty_like(self.status), np.empty_like(theta)
        status[:, order], named[:, order] = self.status, theta
        return replace(self, status=status, theta=named[status == FREE])

    def around(self, t: float) -> tuple[int, int] | None:
        """Return the nodes next to t, the same twice if t is one; None outside the stretches."""
        after = int(np.searchsorted(self.t, t))
        if after < len(self.t) and self.t[after] == t:
            return after, after
        if 0 < after < len(self.t) and self.stretch[after - 1] == self.stretch[after]:
            return after - 1, after
        return None

    def free_theta(self, k: int) -> np.ndarray:
        """Return θ of the free points of node k."""
        ends = self._ends
        return self.theta[ends[k] : ends[k + 1]]

    @property
    def _ends(self) -> np.ndarray:
        return np.append(0, np.cumsum((self.status == FREE).sum(axis=1)))


@dataclass
class Record:
    """The record of a walk from `begin` to `end`: index sets, and nodes in hard stretches."""

    begin: float
    end: float
    status: np.ndarray  # index sets at the beginning, int8
    free: np.ndarray  # the free points at the beginning, int32
    t: np.ndarray  # of each event
    index: np.ndarray  # the point of each event
    move: np.ndarray  # from which set to which
    counters: dict[str, int] = field(default_factory=dict)  # see COUNTED
    nodes: Nodes | None = None
    # intervals of t, (k, 2), where the walk met a difficulty; None if that is not known
    doubtful: np.ndarray | None = None

    def until(self, end: float) -> "Record":
        """Return the part of the record up to an earlier end."""
        kept = np.searchsorted(self.t, end, side="right")
        parts = {name: getattr(self, name)[:kept] for name in ("t", "index", "move")}
        nodes = self.nodes and self.nodes.until(end)
        doubtful = self.doubtful
        if doubtful is not None:
            doubtful = np.minimum(doubtful[doubtful[:, 0] <= end], end)
        return replace(self, end=end, nodes=nodes, doubtful=doubtful, **parts)

    def in_order(self, order: np.ndarray) -> "Record":
        """Return the same record where point k is called `order[k]`."""
        order = order.astype(np.int32)
        status = np.empty_like(self.status)
        status[order] = self.status
        nodes = self.nodes and self.nodes.in_order(order)
        free, index = order[self.free], order[self.index]
        return replace(self, status=status, free=free, index=index, nodes=nodes)


def moves_between(before: np.ndarray, after: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return which points have changed sets, and their moves; departures from FREE come first."""
    index = np.flatnonzero(before != after)
    move = np.empty(len(index), dtype=np.int8)
    for k, (one, other) in enumerate(zip(BEFORE, AFTER, strict=True)):
        move[(before[index] == one) & (after[index] == other)] = k
    order = np.argsort(AFTER[move] == FREE, kind="stable")
    return index[order].astype(np.int32), move[order]
