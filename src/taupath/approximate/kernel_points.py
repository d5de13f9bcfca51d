"""Points of the problem with a kernel, by fractions of the boxes of all samples."""

from dataclasses import dataclass, replace

import numpy as np

from taupath._core._margins import inner
from taupath.approximate.dual_point import balance
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.kernel_matrix import KernelMatrix
from taupath.approximate.node import Smoothing
from taupath.approximate.rounding import EPS
from taupath.paths.intercept import Intercept
from taupath.paths.training_data import Responses


@dataclass(frozen=True)
class KernelIterate:
    """A primal point w = Σ β_i z_i, by fractions of boxes.

    Sums are over each class, in units of its box: a row for each of the two.
    """

    fraction: np.ndarray
    sums: np.ndarray  # Σ sign weight fraction k(x_i, .) at all samples
    totals: np.ndarray  # Σ sign weight fraction
    intercept: float  # a variable of its own, whether it costs something or not
    drift: float  # rounding error of the sums, at most so many ‖φ(x)‖

    def moved_to(self, there: "KernelIterate", s: float) -> "KernelIterate":
        """Return the point at s on the line from this one to another, in the same boxes."""
        r = 1.0 - s
        return KernelIterate(
            r * self.fraction + s * there.fraction,
            r * self.sums + s * there.sums,
            r * self.totals + s * there.totals,
            r * self.intercept + s * there.intercept,
            abs(r) * self.drift + abs(s) * there.drift,
        )


@dataclass(frozen=True)
class KernelNode:
    """A solution at τ; its gap is in units of P(0)."""

    theta: np.ndarray
    beta: np.ndarray  # w = Σ β_i z_i
    intercept: float
    point: PrimalDualPoint
    gap: float
    primal: KernelIterate
    dual: KernelIterate  # before balancing
    inner: np.ndarray  # samples between their bounds
    next_smoothing: Smoothing  # to begin with at a τ nearby


class KernelPoints:
    """What a solver needs of samples that are seen through a kernel.

    `gap_bound` knows the boxes and the unit. `lengths` are ‖φ(x_i)‖. `whole` has all samples at
    their upper bounds.
    """

    def __init__(
        self,
        matrix: KernelMatrix,
        responses: Responses,
        constant: Intercept,
        gap_bound: GapBound,
        lengths: np.ndarray,
    ) -> None:
        self.matrix, self.gap_bound, self.constant = matrix, gap_bound, constant
        self.sign, self.target, self.weight = responses
        self.own_class = (self.sign < 0.0).astype(np.intp)
        self.n_classes = 1 + int(self.own_class.any())
        self.lengths, self.refreshed = lengths, 0
        self._longest = self.weight * lengths  # of each sample's term in w, if its box is 1
        n = len(self.sign)
        signed_weight = self.sign * self.weight
        whole = np.array([signed_weight[self.own_class == k].sum() for k in (0, 1)])
        self.whole = KernelIterate(np.ones(n), np.zeros((2, n)), whole, 0.0, 0.0)
        # its sums are needed only if lower bounds are not zero
        if gap_bound.boxes.lower(0.0).any() or gap_bound.boxes.lower(1.0).any():
            (self.whole,) = self.afresh(self.whole)

    def zero(self, tau: float) -> KernelIterate:
        """Return w = 0."""
        lower, box = self.boxes(tau)
        part = np.divide(-lower, box, out=np.zeros(2), where=box > 0.0)
        return KernelIterate(
            part[self.own_class],
            part[:, np.newaxis] * self.whole.sums,
            part * self.whole.totals,
            0.0,
            float(part.max()) * self.whole.drift,
        )

    def boxes(self, tau: float) -> tuple[np.ndarray, np.ndarray]:
        """Return l and h - l of each class."""
        lower = self.gap_bound.boxes.lower(tau)
        return lower, self.gap_bound.boxes.upper(tau) - lower

    def values(self, tau: float, iterate: KernelIterate) -> tuple[np.ndarray, float]:
        """Return Σ sign_j β_j k(x_i, x_j) of all samples, and Σ sign_j β_j."""
        lower, box = self.boxes(tau)
        values, total = box @ iterate.sums, float(box @ iterate.totals)
        if lower.any():
            values += lower @ self.whole.sums
            total += float(lower @ self.whole.totals)
        return values, total

    def margins(self, values: np.ndarray, intercept: float) -> np.ndarray:
        """Return the margins, given the sums and the intercept."""
        return np.asarray(self.sign * (values + intercept))

    @property
    def price(self) -> float:
        """½ price b² is what an intercept b costs."""
        return 0.0 if self.constant.free or not self.constant.bias else self.constant.bias**-2

    def implied(self, total: float) -> float:
        """Return the intercept of Σ β_i z_i, given Σ sign_i β_i, if it is part of it."""
        return 0.0 if self.constant.free else self.constant.bias**2 * total

    def changed(
        self, iterate: KernelIterate, fraction: np.ndarray, members: np.ndarray, coef: np.ndarray
    ) -> KernelIterate:
        """Return the iterate with other fractions: those of members, by `coef` / sign."""
        used = np.flatnonzero(coef)
        members, coef = members[used], coef[used]
        if len(members) == 0:
            return replace(iterate, fraction=fraction)
        own = self.own_class[members]
        by_class = np.array([np.where(own == k, coef, 0.0) for k in range(self.n_classes)])
        sums = iterate.sums.copy()
        sums[: self.n_classes] += self.matrix.combine(members, by_class)
        totals = iterate.totals.copy()
        totals[: self.n_classes] += by_class.sum(axis=1)
        # by Cauchy-Schwarz, a term is at most |coef| times both lengths; one rounding for the sum
        terms = float(np.abs(coef) @ self.lengths[members])
        before = float(np.abs(iterate.fraction) @ self._longest)
        drift = (self.matrix.rounding(len(members)) + 4.0 * EPS) * terms + EPS * before
        return KernelIterate(fraction, sums, totals, iterate.intercept, iterate.drift + drift)

    def afresh(self, *iterates: KernelIterate) -> list[KernelIterate]:
        """Return iterates with sums that are computed from all samples, in double precision."""
        self.refreshed += 1
        own = self.sign * self.weight * np.eye(2)[self.own_class].T  # of each class
        coef = np.concatenate([own[: self.n_classes] * each.fraction for each in iterates])
        products = self.matrix.times(coef).reshape(len(iterates), self.n_classes, -1)
        relative = self.matrix.rounding(len(self.sign), exactly=True) + 4.0 * EPS
        found = []
        for each, sums in zip(iterates, products, strict=True):
            whole, totals = np.zeros((2, len(self.sign))), np.zeros(2)
            whole[: self.n_classes] = sums
            totals[: self.n_classes] = own[: self.n_classes] @ each.fraction
            drift = relative * float(np.abs(each.fraction) @ self._longest)
            found.append(KernelIterate(each.fraction, whole, totals, each.intercept, drift))
        return found

    def cost(self, drift: float) -> float:
        """Return what errors of sums of so many ‖φ(x)‖ can do to a gap, in units of P(0)."""
        widest = 2.0 * self.gap_bound.boxes.widest()
        return (
            2.0
            * widest**2
            * self.gap_bound.rounding.norm_sum
            * (drift + self.whole.drift)
            / self.gap_bound.unit
        )

    def node(
        self,
        tau: float,
        primal: KernelIterate,
        dual: KernelIterate,
        between_bounds: np.ndarray,
        gap: float,
        next_smoothing: Smoothing,
    ) -> KernelNode:
        """Return a node with these points."""
        balanced = self.balanced(tau, dual)
        theta, beta = (self.theta(tau, each.fraction) for each in (balanced, primal))
        (values, _), (new_values, total) = (self.values(tau, each) for each in (primal, balanced))
        point = PrimalDualPoint(
            tau,
            self.margins(values, primal.intercept),
            float(inner(self.target, theta)),
            self.pair(beta, values, primal.intercept),
            self.pair(theta, new_values, self.implied(total)),
        )
        return KernelNode(
            theta, beta, primal.intercept, point, gap, primal, dual, between_bounds, next_smoothing
        )

    def pair(
        self, theta: np.ndarray, values: np.ndarray, intercept: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return a point as a pair, see `paths.training_data.Points`."""
        rest = np.sqrt(self.price) * intercept
        return np.append(self.sign * theta, rest), np.append(values, rest)

    def theta(self, tau: float, fraction: np.ndarray) -> np.ndarray:
        """Return θ, or β, with these fractions."""
        lower, box = self.boxes(tau)
        return np.asarray(self.weight * (lower[self.own_class] + box[self.own_class] * fraction))

    def balanced(self, tau: float, iterate: KernelIterate) -> KernelIterate:
        """Return a dual point with Σ sign_i θ_i = 0 if the intercept is free."""
        if not self.constant.free:
            return iterate
        whole, one_class = self.whole.totals, self.n_classes == 1
        shift, scale = balance(*self.boxes(tau), whole, iterate.totals, one_class)
        sums = scale[:, np.newaxis] * iterate.sums
        if shift:
            sums += shift * self.whole.sums
        fraction = shift + scale[self.own_class] * iterate.fraction
        totals = shift * whole + scale * iterate.totals
        return replace(iterate, fraction=fraction, sums=sums, totals=totals)
