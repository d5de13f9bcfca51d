"""AllRows over all samples, wherever their rows lie: what a solver asks of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from taupath.approximate.node import Smoothing
from taupath.approximate.row_sums import DualSums, RowSummary, RowSums

__all__ = ["AllRows", "Iterate", "LocalRows"]


@dataclass(frozen=True)
class Iterate:
    """A w, and what its margins <z_i, w> are known by to whoever keeps them."""

    w: np.ndarray
    margin: Any


class AllRows(Protocol):
    """All samples.

    A place that is advanced or computed again from the data is used up.
    """

    summary: RowSummary

    @property
    def visits(self) -> int:
        """How often a row has been multiplied or added."""

    def rest(self) -> Iterate:
        """Return w = 0."""

    def onward(self, here: Iterate, before: Iterate | None, part: float) -> Iterate:
        """Return the place beyond `here`, as seen from `before`, by so many of their distances."""

    def halfway(self, one: Iterate, other: Iterate) -> Iterate:
        """Return the middle."""

    def kept(self, place: Iterate) -> Iterate:
        """Return a place that lasts when this one is used up."""

    def from_data(self, place: Iterate) -> Iterate:
        """Return the place with margins free of the rounding of many steps."""

    def update(
        self, place: Iterate, smoothing: Smoothing, box: np.ndarray, afresh: bool
    ) -> DualSums:
        """Bring shares up to date; what follows refers to them, with the box of each class."""

    def weigh(self, width: float) -> float:
        """Return the sum of the factors weight box / width of samples with shares in (0, 1)."""

    def squares(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ to the lower triangle."""

    def times(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""

    def moved(
        self, place: Iterate, smoothing: Smoothing, narrower: Smoothing, out: np.ndarray
    ) -> None:
        """Add what Σ θ z would change by with another smoothing, were no share to leave (0, 1)."""

    def set_out(self, place: Iterate, step: np.ndarray) -> None:
        """Look from a place into the direction of a step."""

    def slopes(
        self, place: Iterate, length: float, smoothing: Smoothing, within: tuple[float, float]
    ) -> Sequence[tuple[float, float, float]]:
        """Return Σ θ δ and how fast it falls so far on the way, and perhaps elsewhere on it.

        Each after the length that it is for; the one that is looked for lies within two others.
        """

    def advance(self, place: Iterate, length: float) -> Iterate:
        """Return where this much of the step leads to."""


class LocalRows:
    """All samples in one part, in this process. Margins are arrays, changed where they lie."""

    def __init__(self, part: RowSums) -> None:
        self.part, self.summary = part, part.summary()
        self._box = np.zeros(2)
        self._step = np.empty(0)
        self._rate = np.empty(self.summary.n_rows)

    @property
    def visits(self) -> int:
        """How often a row has been multiplied or added."""
        return self.part.rows.visits

    def rest(self) -> Iterate:
        """Return w = 0."""
        return Iterate(np.zeros(self.summary.n_cols), np.zeros(self.summary.n_rows))

    def onward(self, here: Iterate, before: Iterate | None, part: float) -> Iterate:
        """Return the place beyond `here`."""
        w, margin = here.w, here.margin.copy()
        if before is not None:
            w = w + part * (w - before.w)
            margin += part * (margin - before.margin)
        return Iterate(w, margin)

    def halfway(self, one: Iterate, other: Iterate) -> Iterate:
        """Return the middle."""
        return Iterate(0.5 * (one.w + other.w), 0.5 * (one.margin + other.margin))

    def kept(self, place: Iterate) -> Iterate:
        """Return a copy."""
        return Iterate(place.w, place.margin.copy())

    def from_data(self, place: Iterate) -> Iterate:
        """Compute the margins again."""
        self.part.rows.products(place.w, out=place.margin)
        return place

    def update(
        self, place: Iterate, smoothing: Smoothing, box: np.ndarray, afresh: bool
    ) -> DualSums:
        """Bring shares up to date."""
        self._box = box
        return self.part.update(place.margin, smoothing, afresh)

    def weigh(self, width: float) -> float:
        """Set the factors and return their sum."""
        return self.part.weigh(self._box, width)

    def squares(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ to the lower triangle."""
        self.part.squares(out)

    def times(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""
        self.part.times(p, out)

    def moved(
        self, place: Iterate, smoothing: Smoothing, narrower: Smoothing, out: np.ndarray
    ) -> None:
        """Add what Σ θ z would change by."""
        self.part.moved(place.margin, smoothing, narrower, self._box, out)

    def set_out(self, place: Iterate, step: np.ndarray) -> None:
        """Multiply all rows with the step."""
        self._step = step
        self.part.rows.products(step, out=self._rate)

    def slopes(
        self, place: Iterate, length: float, smoothing: Smoothing, within: tuple[float, float]
    ) -> Sequence[tuple[float, float, float]]:
        """Look there and nowhere else."""
        found = self.part.slope(place.margin, self._rate, length, smoothing, self._box)
        return [(length, *found)]

    def advance(self, place: Iterate, length: float) -> Iterate:
        """Go."""
        margin = place.margin
        margin += length * self._rate
        return Iterate(place.w + length * self._step, margin)
