"""What a solver needs of all samples, wherever their rows are stored."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from taupath.approximate.node import Smoothing
from taupath.approximate.row_sums import DualSums, RowSummary, RowSums


@dataclass(frozen=True)
class Iterate:
    """A primal point w and its margins <z_i, w>, or a reference to them."""

    w: np.ndarray
    margin: Any


class AllRows(Protocol):
    """Sums over all samples.

    `advance` and `recompute` may overwrite the margins of the iterate they are given.
    """

    summary: RowSummary

    @property
    def visits(self) -> int:
        """How often a row has been multiplied or added."""

    def at_zero(self) -> Iterate:
        """Return w = 0."""

    def extrapolate(self, here: Iterate, before: Iterate | None, factor: float) -> Iterate:
        """Return here + factor (here - before); `here` if there is nothing before it."""

    def midpoint(self, one: Iterate, other: Iterate) -> Iterate:
        """Return the point halfway between two others."""

    def copy(self, iterate: Iterate) -> Iterate:
        """Return the same point with margins that are not shared."""

    def recompute(self, iterate: Iterate) -> Iterate:
        """Return the same point, its margins computed from w."""

    def update(
        self, iterate: Iterate, smoothing: Smoothing, box: np.ndarray, afresh: bool
    ) -> DualSums:
        """Return the sums of the dual point there, which the next four methods refer to."""

    def set_curvature(self, width: float) -> float:
        """Return the sum of the factors weight box / width of samples with 0 < a < 1."""

    def add_hessian(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ to the lower triangle."""

    def add_hessian_product(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""

    def add_change(
        self, iterate: Iterate, smoothing: Smoothing, narrower: Smoothing, out: np.ndarray
    ) -> None:
        """Add the change of Σ θ z with another smoothing, as if no fraction left (0, 1)."""

    def set_direction(self, iterate: Iterate, step: np.ndarray) -> None:
        """Prepare `slopes` and `advance` along a step."""

    def slopes(
        self, iterate: Iterate, length: float, smoothing: Smoothing, within: tuple[float, float]
    ) -> Sequence[tuple[float, float, float]]:
        """Return lengths, Σ (θ - l) δ there, and how fast that falls; the first is `length`.

        Implementations may add other lengths; the one looked for is `within` the given interval.
        """

    def advance(self, iterate: Iterate, length: float) -> Iterate:
        """Return the iterate after `length` times the step."""


class LocalRows:
    """All samples in this process; margins are arrays, which are overwritten."""

    def __init__(self, row_sums: RowSums) -> None:
        self.row_sums, self.summary = row_sums, row_sums.summary()
        self._box = np.zeros(2)
        self._step = np.empty(0)
        self._rate = np.empty(self.summary.n_rows)

    @property
    def visits(self) -> int:
        """How often a row has been multiplied or added."""
        return int(self.row_sums.rows.visits)

    def at_zero(self) -> Iterate:
        """Return w = 0."""
        return Iterate(np.zeros(self.summary.n_cols), np.zeros(self.summary.n_rows))

    def extrapolate(self, here: Iterate, before: Iterate | None, factor: float) -> Iterate:
        """Return here + factor (here - before)."""
        if before is None:
            return self.copy(here)
        w = here.w + factor * (here.w - before.w)
        return Iterate(w, here.margin + factor * (here.margin - before.margin))

    def midpoint(self, one: Iterate, other: Iterate) -> Iterate:
        """Return the point halfway between two others."""
        return Iterate(0.5 * (one.w + other.w), 0.5 * (one.margin + other.margin))

    def copy(self, iterate: Iterate) -> Iterate:
        """Return the same point with margins of its own."""
        return Iterate(iterate.w, iterate.margin.copy())

    def recompute(self, iterate: Iterate) -> Iterate:
        """Return the same point, its margins computed from w."""
        self.row_sums.rows.products(iterate.w, out=iterate.margin)
        return iterate

    def update(
        self, iterate: Iterate, smoothing: Smoothing, box: np.ndarray, afresh: bool
    ) -> DualSums:
        """Return the sums of the dual point there."""
        self._box = box
        return self.row_sums.update(iterate.margin, smoothing, afresh)

    def set_curvature(self, width: float) -> float:
        """Set the factors and return their sum."""
        return self.row_sums.set_curvature(self._box, width)

    def add_hessian(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ to the lower triangle."""
        self.row_sums.add_hessian(out)

    def add_hessian_product(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""
        self.row_sums.add_hessian_product(p, out)

    def add_change(
        self, iterate: Iterate, smoothing: Smoothing, narrower: Smoothing, out: np.ndarray
    ) -> None:
        """Add the change of Σ θ z."""
        self.row_sums.add_change(iterate.margin, smoothing, narrower, self._box, out)

    def set_direction(self, iterate: Iterate, step: np.ndarray) -> None:
        """Multiply all rows with the step."""
        self._step = step
        self.row_sums.rows.products(step, out=self._rate)

    def slopes(
        self, iterate: Iterate, length: float, smoothing: Smoothing, within: tuple[float, float]
    ) -> Sequence[tuple[float, float, float]]:
        """Return the slope at `length` only."""
        found = self.row_sums.slope(iterate.margin, self._rate, length, smoothing, self._box)
        return [(length, *found)]

    def advance(self, iterate: Iterate, length: float) -> Iterate:
        """Return the iterate after `length` times the step."""
        margin = iterate.margin
        margin += length * self._rate
        return Iterate(iterate.w + length * self._step, margin)
