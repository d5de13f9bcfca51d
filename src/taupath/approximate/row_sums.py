"""Part of the samples: all that touches rows, and what they add up to.

Whoever solves and certifies needs nothing but these sums, so the samples may lie in several parts,
on several machines. Margins <z_i, w>, shares and which of them are between 0 and 1 stay here.
"""

from dataclasses import dataclass

import numpy as np

from taupath._core import _margins
from taupath._core._rows import Rows
from taupath.approximate.gap_bound import Boxes, SampleLosses
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.rounding import in_blocks

__all__ = ["DualSums", "RowSummary", "RowSums"]


@dataclass(frozen=True)
class RowSummary:
    """What does not change while w moves. Of each class where there are two entries.

    Attributes
    ----------
    n_rows, n_cols : int
        Numbers of samples, and of columns of z.
    one_class : bool
        Whether all signs are +1.
    row, depth, losses_depth : int
        Operations in a product, and additions that a row, and a loss, go through in a sum.
    reach, aims, weight : float
        Σ weight ‖z‖, Σ weight |p| and Σ weight.
    highest, longest : float
        Largest |p| and ‖z‖.
    all_rows, all_aims, all_weights : ndarray of shape (2, n_cols), (2,), (2,)
        Σ weight z, Σ weight p and Σ weight.
    at_rest : ndarray of shape (2, 2)
        Σ weight (p)₊ and Σ weight (-p)₊: losses at w = 0.
    """

    n_rows: int
    n_cols: int
    one_class: bool
    row: int
    depth: int
    losses_depth: int
    reach: float
    aims: float
    weight: float
    highest: float
    longest: float
    all_rows: np.ndarray
    all_aims: np.ndarray
    all_weights: np.ndarray
    at_rest: np.ndarray


@dataclass(frozen=True)
class DualSums:
    """What the shares a of samples add up to, in each class.

    Attributes
    ----------
    totals : ndarray of shape (2, n_cols)
        Σ weight a z.
    sums : ndarray of shape (2, 5)
        Σ weight (p - m)₊, Σ weight (m - p)₊, Σ weight p a; over samples with 0 < a < 1 also
        Σ weight and Σ weight a.
    n_between : int
        How many have 0 < a < 1.
    """

    totals: np.ndarray
    sums: np.ndarray
    n_between: int


class RowSums(SampleLosses):
    """Samples that lie together.

    Parameters
    ----------
    rows : Rows
        Their rows.
    target, weight : ndarray of shape (n_rows,)
        p and the factors of the boxes.
    """

    def __init__(self, rows: Rows, target: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(target, weight, rows.signs)
        self.rows = rows
        self.one_class = bool((self.sign > 0).all())
        self._share: np.ndarray | None = None

    def summary(self) -> RowSummary:
        """Return what does not change."""
        rows, weight, target = self.rows, self.weight, self.target
        norms = rows.norms()
        all_rows, all_aims, all_weights = np.zeros((2, rows.n_cols)), np.zeros(2), np.zeros(2)
        for k, own in enumerate((self.sign > 0, self.sign < 0)):
            rows.combine(np.where(own, weight, 0.0), None, all_rows[k])
            all_aims[k] = _margins.inner(weight[own], target[own])
            all_weights[k] = weight[own].sum()
        return RowSummary(
            n_rows=rows.n_rows,
            n_cols=rows.n_cols,
            one_class=self.one_class,
            row=rows.longest,
            depth=in_blocks(rows.n_rows, rows.block_size),
            losses_depth=in_blocks(rows.n_rows, _margins.block_size),
            reach=float(weight @ norms),
            aims=float(weight @ np.abs(target)),
            weight=float(weight.sum()),
            highest=self.highest,
            longest=float(norms.max(initial=0.0)),
            all_rows=all_rows,
            all_aims=all_aims,
            all_weights=all_weights,
            at_rest=self.at_rest(),
        )

    # -- shares ----------------------------------------------------------------------------------

    def _allocate(self) -> np.ndarray:
        n = self.rows.n_rows
        self._share = np.zeros(n)
        self._totals = np.zeros((2, self.rows.n_cols))
        self._sums = np.empty((2, 5))
        # one longer than need be: the core writes first and counts then
        self._changed, self._between = np.empty((2, n + 1), dtype=np.int32)
        self._change = np.empty(n + 1)
        self.between = self._between[:0]
        return self._share

    def update(self, margin: np.ndarray, smoothing: Smoothing, afresh: bool = False) -> DualSums:
        """Bring the shares up to date with these margins, and return what they add up to.

        Parameters
        ----------
        margin : ndarray of shape (n_rows,)
            <z_i, w>.
        smoothing : Smoothing
            What makes shares from them.
        afresh : bool
            Leave nothing of the rounding of earlier sums.
        """
        share = self._share if self._share is not None else self._allocate()
        if afresh:
            share[:] = 0.0
            self._totals[:] = 0.0
        n_changed, n_between = _margins.shares(
            margin,
            self.target,
            self.weight,
            self.sign,
            smoothing.centre,
            smoothing.width,
            share,
            self._changed,
            self._change,
            self._between,
            self._sums,
        )
        self.between = self._between[:n_between]
        rows, change = self._changed[:n_changed], self._change[:n_changed]
        if self.one_class:
            self.rows.combine(change, rows, self._totals[0])
        else:
            negative = self.sign[rows] < 0
            for k, own in enumerate((~negative, negative)):
                self.rows.combine(change[own], rows[own], self._totals[k])
        return DualSums(self._totals, self._sums, n_between)

    # -- Newton's equations, over the samples with shares between 0 and 1 ------------------------

    def weigh(self, box: np.ndarray, width: float) -> float:
        """Set factors weight box / width, with the box of each class, and return their sum."""
        own = np.where(self.sign[self.between] > 0, box[0], box[1])
        self._factor = self.weight[self.between] * own / width
        return float(self._factor.sum())

    def squares(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ; only the lower triangle of `out` is right then."""
        self.rows.add_outer_products(self._factor, self.between, out)

    def times(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""
        factor = self._factor * self.rows.products(p, self.between)
        self.rows.combine(factor, self.between, out)

    def moved(
        self,
        margin: np.ndarray,
        smoothing: Smoothing,
        narrower: Smoothing,
        box: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add what Σ θ z would change by with another smoothing, were no share to leave (0, 1)."""
        between = self.between
        k = (self.sign[between] < 0).astype(np.intp)
        short = self.target[between] - margin[between]
        grown = (narrower.centre - smoothing.centre)[k]
        grown += short * (1.0 / narrower.width - 1.0 / smoothing.width)
        grown *= self.weight[between] * box[k]
        self.rows.combine(grown, between, out)

    def slope(
        self,
        margin: np.ndarray,
        rate: np.ndarray,
        step: float,
        smoothing: Smoothing,
        box: np.ndarray,
    ) -> tuple[float, float]:
        """Return Σ θ δ, less what θ has at a = 0, and how fast it falls, at margins m + step δ."""
        pull, stiffness = _margins.slope(
            margin,
            rate,
            step,
            self.target,
            self.weight,
            self.sign,
            smoothing.centre,
            smoothing.width,
            box,
        )
        return pull, stiffness

    # -- nodes -----------------------------------------------------------------------------------

    def share_at(self, node: Node, margin: np.ndarray) -> np.ndarray:
        """Return where in its box each θ is at a node: 0 at its lower end, 1 at the upper."""
        own = (self.sign < 0).astype(np.intp)
        short = self.target - margin
        width, centre = node.smoothing.width, node.smoothing.centre
        share = np.clip(centre[own] + (1.0 / width) * short, 0.0, 1.0)
        return np.asarray(node.shift + node.scale[own] * share)

    def theta_at(self, node: Node, boxes: Boxes, share: np.ndarray) -> np.ndarray:
        """Return θ."""
        own = (self.sign < 0).astype(np.intp)
        lower, upper = boxes.lower(node.tau)[own], boxes.upper(node.tau)[own]
        return np.asarray(self.weight * (lower + (upper - lower) * share))

    def bounds(self, boxes: Boxes, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return l and h of each sample at τ."""
        own = (self.sign < 0).astype(np.intp)
        return self.weight * boxes.lower(tau)[own], self.weight * boxes.upper(tau)[own]

    def dual_at(self, node: Node, boxes: Boxes) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return θ at a node, and which are at their lower and which at their upper end."""
        share = self.share_at(node, self.rows.products(node.w))
        theta = self.theta_at(node, boxes, share)
        own = (self.sign < 0).astype(np.intp)
        widths = boxes.upper(node.tau) - boxes.lower(node.tau)
        empty = (widths[own] == 0.0) | (self.weight == 0.0)
        return theta, empty | (share == 0.0), empty | (share == 1.0)

    def end_at(
        self, node: Node, boxes: Boxes, margin: np.ndarray
    ) -> tuple[np.ndarray, float, float]:
        """Return Σ θ z, Σ p θ and the largest violation of a condition at a node.

        A sample that could move towards its target without leaving its box violates its condition
        by as much as it is away from there.
        """
        share = self.share_at(node, margin)
        theta = self.theta_at(node, boxes, share)
        short = np.where(self.weight > 0.0, self.target - margin, 0.0)
        some = (boxes.upper(node.tau) > boxes.lower(node.tau))[(self.sign < 0).astype(np.intp)]
        off = np.where(short > 0.0, (share < 1.0) * short, (share > 0.0) * -short)[some]
        aim = _margins.inner(self.target, theta)
        return self.rows.combine(theta), aim, float(off.max(initial=0.0))
