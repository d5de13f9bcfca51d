"""All samples, in partitions on a cluster, for a solver that asks in few rounds.

A round takes some milliseconds however little is asked. So the slopes of a step are asked for
together with the dual point at its end, in case it is taken; and a dual point that may be a node,
together with the losses between it and its neighbours. The solver's next question is then often
answered already.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from weakref import WeakValueDictionary

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.gap_bound import N_PANELS
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.node_solver import MAX_FACTORED
from taupath.approximate.row_sums import DualSums, NodeSums
from taupath.cluster.requests import (
    AtNode,
    ChangeSmoothing,
    ChordLosses,
    DualRef,
    Hessian,
    LineSearch,
    MarginRef,
    Reply,
    Request,
    Summarize,
    UpdateDual,
    as_summary,
)
from taupath.cluster.rounds import Rounds
from taupath.paths.jobs import Boxes

# Multiples of a length whose slopes are asked for in the same round. A step that is not accepted at
# once is mostly too long.
TRIAL_MULTIPLES = (0.6, 0.35, 0.15, 0.03, 1.6, 3.0)
# Once the length is bracketed: further lengths asked for in the same round, spaced geometrically
# down to this part of the longer end if the shorter one is zero.
TRIALS_IN_BRACKET, SHORTEST_TRIAL = 6, 1e-4


class RemoteRows:
    """All samples in partitions: `AllRows` and `Losses` at once."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self._numbers = count()
        self._alive: WeakValueDictionary[int, MarginRef] = WeakValueDictionary()
        reply = self._ask(Summarize())
        self.summary = as_summary(reply, len(rounds.partitions), rounds.depth)
        self._factored = self.summary.n_cols <= MAX_FACTORED
        # the present dual point, its sums, and the width of its curvature
        self._now: DualRef | None = None
        self._reply = Reply()
        self._width = 1.0
        # the step, its end, and the dual point there if it is known
        self._step = self._end = self._refer(np.zeros(self.summary.n_cols))
        self._ahead: tuple[DualRef, Reply] | None = None
        # margins of the neighbours that a node will have, and the losses between
        self._since: tuple[MarginRef, ...] = ()
        self._until: tuple[MarginRef, ...] = ()
        self._losses: dict[tuple[int, int], np.ndarray] = {}

    def _ask(self, request: Request) -> Reply:
        return self.rounds.ask(request, frozenset(self._alive))

    def _refer(self, w: np.ndarray, *terms: tuple[MarginRef, float]) -> MarginRef:
        numbered = tuple((ref.number, factor) for ref, factor in terms)
        ref = MarginRef(next(self._numbers), w, numbered)
        self._alive[ref.number] = ref
        return ref

    def _iterate(self, w: np.ndarray, *terms: tuple[MarginRef, float]) -> Iterate:
        return Iterate(w, self._refer(w, *terms))

    @property
    def _dual(self) -> DualRef:
        assert self._now is not None  # after `update`
        return self._now

    @property
    def visits(self) -> int:
        """How often a row has been multiplied or added."""
        return self.rounds.visits

    # -- iterates --------------------------------------------------------------------------------

    def at_zero(self) -> Iterate:
        """Return w = 0."""
        return self._iterate(np.zeros(self.summary.n_cols))

    def extrapolate(self, here: Iterate, before: Iterate | None, factor: float) -> Iterate:
        """Return here + factor (here - before)."""
        self._since, self._until = (here.margin,), ()
        if before is None:
            return here
        terms = (here.margin, 1.0 + factor), (before.margin, -factor)
        return self._iterate(here.w + factor * (here.w - before.w), *terms)

    def midpoint(self, one: Iterate, other: Iterate) -> Iterate:
        """Return the point halfway between two others."""
        self._since, self._until = (one.margin,), (other.margin,)
        return self._iterate(0.5 * (one.w + other.w), (one.margin, 0.5), (other.margin, 0.5))

    def copy(self, iterate: Iterate) -> Iterate:
        """Return the iterate: margins have numbers, and none are overwritten."""
        return iterate

    def recompute(self, iterate: Iterate) -> Iterate:
        """Return the same point with margins that are not made of others."""
        return self._iterate(iterate.w)

    # -- the dual point --------------------------------------------------------------------------

    def update(
        self, iterate: Iterate, smoothing: Smoothing, box: np.ndarray, afresh: bool
    ) -> DualSums:
        """Return the sums of the dual point there."""
        at: MarginRef = iterate.margin
        self._now, self._width = DualRef(at, smoothing, box), smoothing.width
        if not afresh and at is self._end and self._ahead is not None:
            known, self._reply = self._ahead
            assert known.smoothing is smoothing and known.box is box
            self._ahead = None
        elif not afresh:
            self._reply = self._ask(UpdateDual(self._now, False, self._factored))
        else:
            # likely to be a node: then no step follows, but bounds between it and its neighbours
            neighbours = self._since, self._until
            self._reply = self._ask(UpdateDual(self._now, True, False, *neighbours, N_PANELS))
            sums = self._reply.sums
            since = [(ref.number, at.number) for ref in self._since]
            until = [(at.number, ref.number) for ref in self._until]
            self._losses = {pair: sums[f"since {k}"] for k, pair in enumerate(since)}
            self._losses |= {pair: sums[f"until {k}"] for k, pair in enumerate(until)}
        sums = self._reply.sums
        return DualSums(sums["rows"], sums["scalars"], int(sums["n_inner"]))

    def set_curvature(self, width: float) -> float:
        """Return the sum of the factors weight box / width."""
        self._width = width
        return float(self._dual.box @ self._reply.sums["scalars"][:, 3]) / width

    def add_hessian(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ to the lower triangle."""
        dual, sums = self._dual, self._reply.sums
        if "hessian" not in sums:
            sums["hessian"] = self._ask(Hessian(dual, dual.smoothing.width, None)).sums["hessian"]
        out += dual.smoothing.width / self._width * sums["hessian"]

    def add_hessian_product(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""
        out += self._ask(Hessian(self._dual, self._width, p)).sums["product"]

    def add_change(
        self, iterate: Iterate, smoothing: Smoothing, narrower: Smoothing, out: np.ndarray
    ) -> None:
        """Add the change of Σ θ z."""
        dual = DualRef(iterate.margin, smoothing, self._dual.box)
        out += self._ask(ChangeSmoothing(dual, narrower)).sums["change"]

    # -- steps -----------------------------------------------------------------------------------

    def set_direction(self, iterate: Iterate, step: np.ndarray) -> None:
        """Give the step and its end a number; rows are multiplied when slopes are asked for."""
        self._step = self._refer(step)
        self._end = self._refer(iterate.w + step, (iterate.margin, 1.0), (self._step, 1.0))
        self._ahead = None

    def slopes(
        self, iterate: Iterate, length: float, smoothing: Smoothing, within: tuple[float, float]
    ) -> Sequence[tuple[float, float, float]]:
        """Return slopes at `length` and at others; first also ask for the end of the step."""
        low, high = within
        if high == np.inf:
            others = [multiple * length for multiple in TRIAL_MULTIPLES]
        else:
            shortest = max(low, SHORTEST_TRIAL * high)
            others = np.geomspace(shortest, high, TRIALS_IN_BRACKET + 2)[1:-1].tolist()
        lengths = (length, *others)
        dual = DualRef(iterate.margin, smoothing, self._dual.box)
        first = length == 1.0 and self._ahead is None
        end = replace(dual, at=self._end) if first else None
        reply = self._ask(LineSearch(dual, self._step, lengths, end, first and self._factored))
        slopes = reply.sums.pop("slopes")
        if end is not None:
            self._ahead = end, reply
        pulls, curvatures = slopes.T.tolist()
        return list(zip(lengths, pulls, curvatures, strict=True))

    def advance(self, iterate: Iterate, length: float) -> Iterate:
        """Return the iterate after `length` times the step."""
        if length == 1.0:
            return Iterate(self._end.w, self._end)
        w = iterate.w + length * self._step.w
        return self._iterate(w, (iterate.margin, 1.0), (self._step, length))

    # -- losses ----------------------------------------------------------------------------------

    def losses_at_zero(self) -> np.ndarray:
        """Return the losses at w = 0."""
        return self.summary.losses_at_zero

    def along(self, begin: MarginRef, end: MarginRef, n_panels: int) -> np.ndarray:
        """Return the losses between two points."""
        known = self._losses.get((begin.number, end.number))
        if known is not None and known.shape[2] == n_panels + 1:
            return known
        return self._ask(ChordLosses(begin, end, n_panels)).sums["losses"]

    # -- nodes -----------------------------------------------------------------------------------

    def sums_at(self, node: Node, boxes: Boxes) -> tuple[MarginRef, NodeSums]:
        """Return the margins of a node, the sums of its θ, and its largest violation."""
        at = self._refer(node.w)
        reply = self._ask(AtNode(node, at, boxes))
        target_product = float(reply.sums["target_product"])
        return at, NodeSums(reply.sums["v"], target_product, reply.peaks["violation"])
