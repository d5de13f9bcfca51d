"""All samples in many parts, on a cluster: what a solver asks for, in few rounds.

A round costs some milliseconds however little is asked. So with the slopes of a step goes the
question of what would be if the step were taken as it is, and with shares that may be those of a
node, the losses of the chords beside it. What a solver asks for next is then often known.
"""

from collections.abc import Sequence
from itertools import count
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from taupath.approximate.all_rows import Iterate
from taupath.approximate.gap_bound import N_PANELS, Boxes
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.node_solver import MOST_FACTORED
from taupath.approximate.row_sums import DualSums, RowSummary
from taupath.cluster.requests import (
    ChordLosses,
    LineSearch,
    MarginRef,
    NewtonMatrix,
    NodeSums,
    Reply,
    Request,
    SmoothingChange,
    Summarize,
    UpdateDual,
)
from taupath.cluster.rounds import Rounds

__all__ = ["RemoteRows"]

# Besides a length, what multiples of it are looked at in the same round: steps that are not taken
# as they are, are mostly shorter.
NEARBY = (0.6, 0.35, 0.15, 0.03, 1.6, 3.0)
# Once the length is known to lie between two others: how many more are looked at; and how much
# less than the longer one is of interest, where the other is zero.
N_WITHIN, SHORT = 6, 1e-4


class RemoteRows:
    """All samples, in partitions; `AllRows` and `Losses` at once."""

    def __init__(self, rounds: Rounds) -> None:
        self.rounds = rounds
        self._numbers = count()
        self._alive: WeakValueDictionary[int, MarginRef] = WeakValueDictionary()
        taken = self._ask(Summarize())
        sums, peaks = taken.sums, taken.peaks
        self.summary = RowSummary(
            n_rows=int(sums["n_rows"]),
            n_cols=int(peaks["n_cols"]),
            one_class=not peaks["two_classes"],
            row=int(peaks["row"]),
            depth=int(peaks["depth"]) + rounds.depth,
            losses_depth=int(peaks["losses_depth"]) + rounds.depth,
            reach=float(sums["reach"]),
            aims=float(sums["aims"]),
            weight=float(sums["weight"]),
            highest=peaks["highest"],
            longest=peaks["longest"],
            all_rows=sums["all_rows"],
            all_aims=sums["all_aims"],
            all_weights=sums["all_weights"],
            at_rest=sums["at_rest"],
        )
        self._factored = self.summary.n_cols <= MOST_FACTORED
        # where shares were made, and what they add up to
        self._at: tuple[MarginRef, Smoothing, np.ndarray] | None = None
        self._reply = Reply()
        self._width = 1.0
        # the step, its end, and what is known of it
        self._step = self._end = self._margins(np.zeros(self.summary.n_cols))
        self._ahead: tuple[Smoothing, np.ndarray, Reply] | None = None
        # places at the other ends of chords, and losses on the way
        self._since: tuple[MarginRef, ...] = ()
        self._until: tuple[MarginRef, ...] = ()
        self._losses: dict[tuple[int, int], np.ndarray] = {}

    def _ask(self, request: Request) -> Reply:
        return self.rounds.ask(request, frozenset(self._alive))

    def _margins(self, w: np.ndarray, *made_of: tuple[MarginRef, float]) -> MarginRef:
        of = tuple((margins.number, factor) for margins, factor in made_of)
        found = MarginRef(next(self._numbers), w, of)
        self._alive[found.number] = found
        return found

    def _place(self, w: np.ndarray, *made_of: tuple[MarginRef, float]) -> Iterate:
        return Iterate(w, self._margins(w, *made_of))

    @property
    def visits(self) -> int:
        """How often a row has been multiplied or added."""
        return self.rounds.visits

    # -- places ----------------------------------------------------------------------------------

    def rest(self) -> Iterate:
        """Return w = 0."""
        return self._place(np.zeros(self.summary.n_cols))

    def onward(self, here: Iterate, before: Iterate | None, part: float) -> Iterate:
        """Return the place beyond `here`."""
        self._since, self._until = (here.margin,), ()
        if before is None:
            return here
        made_of = (here.margin, 1.0 + part), (before.margin, -part)
        return self._place(here.w + part * (here.w - before.w), *made_of)

    def halfway(self, one: Iterate, other: Iterate) -> Iterate:
        """Return the middle."""
        self._since, self._until = (one.margin,), (other.margin,)
        return self._place(0.5 * (one.w + other.w), (one.margin, 0.5), (other.margin, 0.5))

    def kept(self, place: Iterate) -> Iterate:
        """Return the place: margins have numbers, and none is changed."""
        return place

    def from_data(self, place: Iterate) -> Iterate:
        """Return the place with margins that are made of no others."""
        return self._place(place.w)

    # -- shares ----------------------------------------------------------------------------------

    def update(
        self, place: Iterate, smoothing: Smoothing, box: np.ndarray, afresh: bool
    ) -> DualSums:
        """Bring shares up to date."""
        at: MarginRef = place.margin
        self._at, self._width = (at, smoothing, box), smoothing.width
        if not afresh and at is self._end and self._ahead is not None:
            assert self._ahead[0] is smoothing and self._ahead[1] is box
            self._reply, self._ahead = self._ahead[2], None
        elif not afresh:
            self._reply = self._ask(UpdateDual(at, smoothing, box, False, self._factored))
        else:
            # likely to be a node: then there is no step from here, but there are chords
            ends = self._since, self._until
            self._reply = self._ask(UpdateDual(at, smoothing, box, True, False, *ends, N_PANELS))
            self._losses = {
                (one.number, at.number): self._reply.sums[f"since {k}"]
                for k, one in enumerate(self._since)
            } | {
                (at.number, one.number): self._reply.sums[f"until {k}"]
                for k, one in enumerate(self._until)
            }
        sums = self._reply.sums
        return DualSums(sums["totals"], sums["sums"], int(sums["n_between"]))

    def weigh(self, width: float) -> float:
        """Return the sum of the factors weight box / width."""
        assert self._at is not None
        self._width = width
        return float(self._at[2] @ self._reply.sums["sums"][:, 3]) / width

    def squares(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ to the lower triangle."""
        assert self._at is not None
        place, smoothing, box = self._at
        if "squares" not in self._reply.sums:
            matrix = self._ask(NewtonMatrix(place, smoothing, box, smoothing.width, None))
            self._reply.sums["squares"] = matrix.sums["squares"]
        out += smoothing.width / self._width * self._reply.sums["squares"]

    def times(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""
        assert self._at is not None
        out += self._ask(NewtonMatrix(*self._at, self._width, p)).sums["product"]

    def moved(
        self, place: Iterate, smoothing: Smoothing, narrower: Smoothing, out: np.ndarray
    ) -> None:
        """Add what Σ θ z would change by."""
        assert self._at is not None
        out += self._ask(SmoothingChange(place.margin, smoothing, narrower, self._at[2])).sums[
            "moved"
        ]

    # -- steps -----------------------------------------------------------------------------------

    def set_out(self, place: Iterate, step: np.ndarray) -> None:
        """Give the step and its end a number; rows are multiplied when slopes are asked for."""
        self._step = self._margins(step)
        self._end = self._margins(place.w + step, (place.margin, 1.0), (self._step, 1.0))
        self._ahead = None

    def slopes(
        self, place: Iterate, length: float, smoothing: Smoothing, within: tuple[float, float]
    ) -> Sequence[tuple[float, float, float]]:
        """Look there and nearby; the first time, also at the shares at the end of the step."""
        assert self._at is not None
        box, first = self._at[2], length == 1.0 and self._ahead is None
        low, high = within
        if high == np.inf:
            others = [part * length for part in NEARBY]
        else:
            others = np.geomspace(max(low, SHORT * high), high, N_WITHIN + 2)[1:-1].tolist()
        lengths = (length, *others)
        end = self._end if first else None
        squares = first and self._factored
        reply = self._ask(
            LineSearch(place.margin, self._step, lengths, smoothing, box, end, squares)
        )
        slopes = reply.sums.pop("slopes")
        if first:
            self._ahead = smoothing, box, reply
        pulls, bends = slopes.T.tolist()
        return list(zip(lengths, pulls, bends, strict=True))

    def advance(self, place: Iterate, length: float) -> Iterate:
        """Go."""
        if length == 1.0:
            return Iterate(self._end.w, self._end)
        w = place.w + length * self._step.w
        return self._place(w, (place.margin, 1.0), (self._step, length))

    # -- losses ----------------------------------------------------------------------------------

    @property
    def highest(self) -> float:
        """Largest |p|."""
        return self.summary.highest

    def at_rest(self) -> np.ndarray:
        """Return those at w = 0."""
        return self.summary.at_rest

    def along(self, begin: MarginRef, end: MarginRef, n_panels: int) -> np.ndarray:
        """Return those on the way."""
        known = self._losses.get((begin.number, end.number))
        if known is not None and known.shape[2] == n_panels + 1:
            return known
        return self._ask(ChordLosses(begin, end, n_panels)).sums["losses"]

    # -- nodes -----------------------------------------------------------------------------------

    def end_at(self, node: Node, boxes: Boxes) -> tuple[Any, np.ndarray, float, float]:
        """Return margins, Σ θ z, Σ p θ and the largest violation of a condition at a node."""
        place = self._margins(node.w)
        reply = self._ask(NodeSums(node, place, boxes))
        return place, reply.sums["v"], float(reply.sums["aim"]), reply.peaks["off"]
