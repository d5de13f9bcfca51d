"""Sums over the rows of samples that lie together.

Solving and certifying need nothing of the samples but these sums, so the samples may be split and
lie on several machines. Margins <z_i, w> and fractions of boxes stay with the rows.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taupath._core import _margins
from taupath._core._rows import Rows
from taupath.approximate.gap_bound import SampleLosses
from taupath.approximate.node import DualNode, Node, Smoothing
from taupath.approximate.rounding import Rounding, summation_depth
from taupath.engine.readers import made_once
from taupath.paths.jobs import Boxes

# The mean fraction is kept this far from 0 and 1: a centre at an end of the box would leave samples
# on their target no room to one side.
SMALLEST_CENTRE = 0.1


@dataclass(frozen=True)
class RowSummary(Rounding):
    """Sums over samples that do not depend on w; those by class have two entries or rows."""

    n_rows: int
    one_class: bool  # whether all signs are +1
    class_rows: np.ndarray  # Σ weight z of each class
    class_targets: np.ndarray  # Σ weight p
    class_weights: np.ndarray  # Σ weight
    losses_at_zero: np.ndarray  # Σ weight (p)₊ and Σ weight (-p)₊, shape (2, 2)


@dataclass(frozen=True)
class DualSums:
    """Sums of the fractions a of samples, in each class."""

    rows: np.ndarray  # Σ weight a z, one row for each class
    scalars: np.ndarray  # the properties below, shape (2, 5)
    n_inner: int  # number of samples with 0 < a < 1

    @property
    def short(self) -> np.ndarray:
        """Σ weight (p - m)₊."""
        return self.scalars[:, 0]

    @property
    def beyond(self) -> np.ndarray:
        """Σ weight (m - p)₊."""
        return self.scalars[:, 1]

    @property
    def targets(self) -> np.ndarray:
        """Σ weight a p."""
        return self.scalars[:, 2]

    @property
    def inner_weight(self) -> np.ndarray:
        """Σ weight over 0 < a < 1."""
        return self.scalars[:, 3]

    @property
    def inner_sum(self) -> np.ndarray:
        """Σ weight a over 0 < a < 1."""
        return self.scalars[:, 4]

    def mean_fraction(self, otherwise: np.ndarray) -> np.ndarray:
        """Return the mean of the fractions between 0 and 1 of each class, kept off the ends."""
        weight = self.inner_weight
        some = weight > 0.0
        mean = np.where(some, self.inner_sum / np.where(some, weight, 1.0), otherwise)
        return np.clip(mean, SMALLEST_CENTRE, 1.0 - SMALLEST_CENTRE)


class NodeSums(NamedTuple):
    """Σ θ z, Σ p θ and the largest violation of an optimality condition at a node."""

    v: np.ndarray
    target_product: float
    violation: float


class RowSums(SampleLosses):
    """Sums over samples that lie together, given their rows, p, and the factors of their boxes."""

    def __init__(self, rows: Rows, target: np.ndarray, weight: np.ndarray) -> None:
        super().__init__(target, weight, rows.signs)
        self.rows = rows
        self._fraction: np.ndarray | None = None

    @made_once
    def _class(self) -> np.ndarray:
        """0 for samples with sign +1, 1 for those with sign -1."""
        return (self.sign < 0).astype(np.int8)

    @made_once
    def one_class(self) -> bool:
        """Whether all signs are +1."""
        return not self._class.any()

    def summary(self) -> RowSummary:
        """Return the sums that do not depend on w."""
        rows, weight, target = self.rows, self.weight, self.target
        norms, size = np.asarray(rows.norms()), np.abs(target)
        own = [np.where(self._class == k, weight, 0.0) for k in (0, 1)]
        return RowSummary(
            dot_depth=rows.longest,
            sum_depth=summation_depth(rows.n_rows, rows.block_size),
            loss_depth=summation_depth(rows.n_rows, _margins.block_size),
            n_cols=rows.n_cols,
            norm_sum=float(weight @ norms),
            target_sum=float(weight @ size),
            weight_sum=float(weight.sum()),
            largest_norm=float(norms.max(initial=0.0)),
            largest_target=float(size.max(initial=0.0)),
            n_rows=rows.n_rows,
            one_class=self.one_class,
            class_rows=np.array([rows.combine(each) for each in own]),
            class_targets=np.array([_margins.inner(each, target) for each in own]),
            class_weights=np.array([each.sum() for each in own]),
            losses_at_zero=self.losses_at_zero(),
        )

    # -- the dual point --------------------------------------------------------------------------

    def _allocate(self) -> np.ndarray:
        n = self.rows.n_rows
        self._sum_of_rows = np.zeros((2, self.rows.n_cols))
        self._scalars = np.empty((2, 5))
        # one longer than needed: the core writes an entry before it decides whether to count it
        self._changed, self._inner = np.empty((2, n + 1), dtype=np.int32)
        self._change = np.empty(n + 1)
        self.inner = self._inner[:0]
        return np.zeros(n)

    def update(self, margin: np.ndarray, smoothing: Smoothing, afresh: bool = False) -> DualSums:
        """Return the sums of the fractions at these margins.

        If `afresh`, all rows are added up instead of those whose fractions changed, so that no
        rounding is carried along.
        """
        if self._fraction is None:
            self._fraction = self._allocate()
        if afresh:
            self._fraction[:] = 0.0
            self._sum_of_rows[:] = 0.0
        n_changed, n_inner = _margins.update_fractions(
            margin,
            self.target,
            self.weight,
            self.sign,
            smoothing.centre,
            smoothing.width,
            self._fraction,
            self._changed,
            self._change,
            self._inner,
            self._scalars,
        )
        self.inner = self._inner[:n_inner]
        members, change = self._changed[:n_changed], self._change[:n_changed]
        if self.one_class:
            self.rows.combine(change, members, self._sum_of_rows[0])
        else:
            for k in (0, 1):
                own = self._class[members] == k
                self.rows.combine(change[own], members[own], self._sum_of_rows[k])
        return DualSums(self._sum_of_rows, self._scalars, n_inner)

    # -- Newton's equations, over the samples with 0 < a < 1 -------------------------------------

    def set_curvature(self, box: np.ndarray, width: float) -> float:
        """Set factors weight box / width, with the box of each class, and return their sum."""
        self._factor = self.weight[self.inner] * box[self._class[self.inner]] / width
        return float(self._factor.sum())

    def add_hessian(self, out: np.ndarray) -> None:
        """Add Σ factor z zᵀ; only the lower triangle of `out` is right then."""
        self.rows.add_outer_products(self._factor, self.inner, out)

    def add_hessian_product(self, p: np.ndarray, out: np.ndarray) -> None:
        """Add Σ factor z <z, p>."""
        factor = self._factor * self.rows.products(p, self.inner)
        self.rows.combine(factor, self.inner, out)

    def add_change(
        self,
        margin: np.ndarray,
        smoothing: Smoothing,
        narrower: Smoothing,
        box: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Add the change of Σ θ z with another smoothing, as if no fraction left (0, 1)."""
        inner = self.inner
        own = self._class[inner]
        change = (narrower.centre - smoothing.centre)[own]
        short = self.target[inner] - margin[inner]
        change += short * (1.0 / narrower.width - 1.0 / smoothing.width)
        change *= self.weight[inner] * box[own]
        self.rows.combine(change, inner, out)

    def slope(
        self,
        margin: np.ndarray,
        rate: np.ndarray,
        step: float,
        smoothing: Smoothing,
        box: np.ndarray,
    ) -> tuple[float, float]:
        """Return Σ (θ - l) δ at margins m + step δ, and how fast it falls with the step."""
        samples = self.target, self.weight, self.sign
        centre, width = smoothing.centre, smoothing.width
        pull, curvature = _margins.slope(margin, rate, step, *samples, centre, width, box)
        return pull, curvature

    # -- nodes -----------------------------------------------------------------------------------

    def _fraction_at(self, node: Node | DualNode, margin: np.ndarray) -> np.ndarray:
        if isinstance(node, DualNode):
            return node.fraction
        width, centre = node.smoothing.width, node.smoothing.centre
        short = self.target - margin
        fraction = np.clip(centre[self._class] + (1.0 / width) * short, 0.0, 1.0)
        return np.asarray(node.shift + node.scale[self._class] * fraction)

    def theta(self, boxes: Boxes, tau: float, fraction: np.ndarray) -> np.ndarray:
        """Return θ with these fractions of the boxes at τ."""
        lower, upper = boxes.lower(tau)[self._class], boxes.upper(tau)[self._class]
        return np.asarray(self.weight * (lower + (upper - lower) * fraction))

    def bounds(self, boxes: Boxes, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return l and h of each sample at τ."""
        lower, upper = boxes.lower(tau)[self._class], boxes.upper(tau)[self._class]
        return self.weight * lower, self.weight * upper

    def dual_at(
        self, node: Node | DualNode, boxes: Boxes
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return θ at a node, and which are at their lower and which at their upper bound."""
        fraction = self._fraction_at(node, self.rows.products(node.w))
        widths = boxes.upper(node.tau) - boxes.lower(node.tau)
        empty = (widths[self._class] == 0.0) | (self.weight == 0.0)
        theta = self.theta(boxes, node.tau, fraction)
        return theta, empty | (fraction == 0.0), empty | (fraction == 1.0)

    def sums_at(self, node: Node | DualNode, boxes: Boxes, margin: np.ndarray) -> NodeSums:
        """Return the sums of θ at a node, and the largest violation.

        A sample that could move towards its target without leaving its box violates its condition
        by its distance from the target.
        """
        fraction = self._fraction_at(node, margin)
        theta = self.theta(boxes, node.tau, fraction)
        short = np.where(self.weight > 0.0, self.target - margin, 0.0)
        violation = np.where(short > 0.0, (fraction < 1.0) * short, (fraction > 0.0) * -short)
        movable = (boxes.upper(node.tau) > boxes.lower(node.tau))[self._class]
        worst = float(violation[movable].max(initial=0.0))
        return NodeSums(self.rows.combine(theta), _margins.inner(self.target, theta), worst)
