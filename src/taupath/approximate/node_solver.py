"""The solution at one τ to a given duality gap, by Newton's method on a smoothed loss.

If θ is the dual point that a `Smoothing` makes from w, then w = Σ θ_i z_i says that w minimises

    ½‖w‖² + Σ max_a (l_i + a (h_i - l_i)) (p_i - m_i) - ½ width (h_i - l_i) (a - centre)²,

0 ≤ a ≤ 1, a piecewise quadratic whose minimum Newton's method finds in a few steps. The gap of the
true problem that is left there comes from samples with 0 < a_i < 1, each less than `width` away
from its target. It falls with the square of `width` where their margins are spread, and is close to
zero where they are all equal and `centre` is the mean of their a_i.
So w and a few numbers are all that is stored of a node: θ follows from them and the data.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from taupath.approximate.all_rows import AllRows, Iterate
from taupath.approximate.dual_point import DualPoint
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.node import MAX_WIDTH, MIN_SHRINK, WIDEN, Node, Smoothing
from taupath.approximate.rounding import EPS
from taupath.exceptions import WalkFailed

# -- Newton's equations --
# Up to so many columns they are solved by a Cholesky factorisation (2 MB, in the cache); with more,
# by conjugate gradients, which touch only the rows with 0 < a < 1.
MAX_FACTORED = 512
# Conjugate gradients stop at this part of the right-hand side, or after so many iterations: a step
# need not be more accurate than the piecewise quadratic is quadratic.
CG_TOLERANCE = 0.02
MAX_CG_ITERATIONS = 200
# Limit on one step of a free intercept, in units of the largest |p|, for when no sample curves the
# loss; and the least that is added to its curvature, relative to that of all samples together.
MAX_INTERCEPT_STEP = 4.0
INTERCEPT_RIDGE = 1e-12

# -- the line search --
# A length is accepted where the slope is at most this part of its value at the beginning. More
# accuracy costs products with all rows and saves no Newton steps.
FLAT_SLOPE = 0.1
MAX_TRIALS = 60
# Until the minimum is bracketed, the length grows by at most this factor. Lengths below the second
# number count as zero.
MAX_GROWTH, SHORTEST_STEP = 8.0, 1e-12

# -- the smoothing --
# The width to begin with, in units of the largest |p|.
FIRST_WIDTH = 1.0
# A smoothed problem is solved if at most this part of the gap is not due to smoothing.
SOLVED = 0.1

# -- giving up --
# Newton steps at one width before another is tried, and in all before the solver gives up.
MAX_STEPS_PER_WIDTH, MAX_STEPS = 8, 1000
# After a node that took more steps than the second number, nodes begin wider by WIDEN, until one
# takes fewer than the first.
EASY_NODE, HARD_NODE = 5, 10


@dataclass(frozen=True)
class Solved:
    """A node and its margins; its gap is in units of P(0)."""

    node: Node
    iterate: Iterate
    point: PrimalDualPoint
    gap: float
    next_smoothing: Smoothing  # to begin with at a τ nearby


class NodeSolver:
    """Solves at one τ after another, on all samples; `bias` is the constant feature.

    `gap_bound` knows the boxes, the unit, and whether the intercept, the last column, is free.
    """

    def __init__(self, rows: AllRows, gap_bound: GapBound, bias: float) -> None:
        self.rows, self.gap_bound, self.bias = rows, gap_bound, bias
        self.steps = 0  # Newton steps so far
        self.halved = 0  # intervals that were halved
        self._unit = rows.summary.largest_target or 1.0
        self._head_start = 1.0
        n_cols = rows.summary.n_cols
        size = n_cols if n_cols <= MAX_FACTORED else 0
        self._matrix, self._work = np.empty((2, size, size))

    def solve_from_zero(self, tau: float, budget: float) -> Solved:
        """Solve at τ, starting from w = 0."""
        smoothing = Smoothing(FIRST_WIDTH * self._unit, np.full(2, 0.5))
        return self.solve(tau, self.rows.at_zero(), smoothing, budget)

    def solve_beyond(
        self, before: Solved | None, here: Solved, tau: float, budget: float
    ) -> Solved:
        """Solve at τ, starting from the extrapolated w."""
        last, factor = None, 0.0
        if before is not None:
            last = before.iterate
            factor = (tau - here.node.tau) / (here.node.tau - before.node.tau)
        start = self.rows.extrapolate(here.iterate, last, factor)
        return self.solve(tau, start, here.next_smoothing, budget)

    def solve_between(self, here: Solved, there: Solved, budget: float) -> Solved:
        """Solve halfway between two nodes, starting from the mean of their w."""
        self.halved += 1
        return self.solve(
            0.5 * (here.node.tau + there.node.tau),
            self.rows.midpoint(here.iterate, there.iterate),
            here.next_smoothing.between(there.next_smoothing),
            budget,
        )

    def solve(self, tau: float, iterate: Iterate, smoothing: Smoothing, budget: float) -> Solved:
        """Return a node whose gap is at most `budget`, in units of P(0).

        It starts from `iterate`, whose margins are overwritten, and `smoothing`.
        """
        rows, first_step = self.rows, self.steps
        box = np.asarray(self.gap_bound.boxes.upper(tau) - self.gap_bound.boxes.lower(tau))
        smoothing = smoothing.widened(self._head_start, self._unit)
        tries, patience, shrink = 0, MAX_STEPS_PER_WIDTH, MIN_SHRINK
        last_solved: tuple[Iterate, Smoothing] | None = None
        recomputed = False  # whether margins and sums are free of the rounding of earlier steps
        while True:
            sums = rows.update(iterate, smoothing, box, afresh=recomputed)
            dual = DualPoint(rows.summary, self.gap_bound, sums)
            node, point, gap, smoothing_gap = dual.evaluate(tau, iterate, smoothing)
            if gap <= budget and recomputed:
                break
            if gap <= budget:
                iterate, recomputed = rows.recompute(iterate), True
                continue
            recomputed = False
            if self.steps - first_step >= MAX_STEPS:
                raise WalkFailed(
                    f"the duality gap stays at {gap:.2g} of the objective at w = 0 where "
                    f"{budget:.2g} is wanted (try features of one scale, a larger tol, or "
                    "method='exact')",
                    tau,
                )
            residual = dual.residual(tau, iterate.w)
            if sums.n_inner and gap - smoothing_gap <= SOLVED * max(smoothing_gap, budget):
                last_solved = rows.copy(iterate), smoothing
                mean = dual.sums.mean_fraction(otherwise=smoothing.centre)
                narrower = smoothing.narrowed(mean, smoothing_gap / budget, shrink)
                # the new fractions at the old margins would be far outside (0, 1)
                rows.add_change(iterate, smoothing, narrower, residual)
                step = self._newton_step(box, residual, narrower.width)
                length, smoothing, tries = 1.0, narrower, 0
                rows.set_direction(iterate, step)
            elif tries < patience:
                step = self._newton_step(box, residual, smoothing.width)
                rows.set_direction(iterate, step)
                length = self._step_length(tau, iterate, step, smoothing, float(residual @ step))
                tries += 1
            else:
                # too many steps at this width: go back, or begin wider, or begin again at zero
                tries = 0
                if last_solved is not None:
                    iterate, smoothing = rows.copy(last_solved[0]), last_solved[1]
                    shrink, patience = float(np.sqrt(shrink)), patience + 1
                elif smoothing.width < MAX_WIDTH * self._unit:
                    smoothing = smoothing.widened(WIDEN, self._unit)
                else:
                    iterate, patience = rows.at_zero(), 2 * patience
                continue
            self.steps += 1
            iterate = rows.advance(iterate, length)
        if self.steps - first_step > HARD_NODE:
            self._head_start = WIDEN
        elif self.steps - first_step < EASY_NODE:
            self._head_start = 1.0
        mean = dual.sums.mean_fraction(otherwise=smoothing.centre)
        next_smoothing = smoothing.at_next(mean, gap / budget, FIRST_WIDTH * self._unit)
        return Solved(node, iterate, point, gap, next_smoothing)

    # -- steps ---------------------------------------------------------------------------------

    def _newton_step(self, box: np.ndarray, residual: np.ndarray, width: float) -> np.ndarray:
        """Return Newton's step for the smoothed problem, whose gradient is -residual."""
        curvature = self.rows.set_curvature(width)
        diagonal = np.ones(len(residual))
        if self.gap_bound.free:
            # if no sample curves the loss, nothing else limits the step of the intercept
            bias = self.bias
            steep = abs(float(residual[-1])) * bias / (MAX_INTERCEPT_STEP * self._unit)
            whole = bias**2 * float(self.rows.summary.class_weights @ box) / width
            diagonal[-1] = max(steep - bias**2 * curvature, INTERCEPT_RIDGE * whole)
        if len(residual) > MAX_FACTORED:
            return self._by_conjugate_gradients(residual, diagonal)
        self._matrix[:] = 0.0
        self.rows.add_hessian(self._matrix)
        self._matrix.flat[:: len(diagonal) + 1] += diagonal
        return self._by_factorization(residual)

    def _by_factorization(self, right: np.ndarray) -> np.ndarray:
        """Solve with the matrix, positive definite and given by its lower triangle.

        Columns are brought to one scale. If rounding has left the matrix indefinite all the same, a
        multiple of the identity is added: the step is then not Newton's, but still downhill.
        """
        matrix, work = self._matrix, self._work
        scale = 1.0 / np.sqrt(matrix.diagonal())
        matrix *= scale
        matrix *= scale[:, np.newaxis]
        added = len(matrix) * EPS
        while True:
            work[:] = matrix
            # LAPACK stores by columns: the lower triangle is its upper one
            factor, failed = dpotrf(work.T, lower=0, clean=0, overwrite_a=1)
            if not failed:
                solution, _ = dpotrs(factor, scale * right, lower=0)
                return np.asarray(scale * solution)
            matrix.flat[:: len(matrix) + 1] += added
            added *= 10.0

    def _by_conjugate_gradients(self, right: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        x, r = np.zeros_like(right), right.copy()
        enough = CG_TOLERANCE**2 * float(right @ right)
        p, size = r.copy(), float(r @ r)
        for _ in range(MAX_CG_ITERATIONS):
            if size <= enough:
                break
            image = diagonal * p
            self.rows.add_hessian_product(p, image)
            length = size / float(p @ image)
            x += length * p
            r -= length * image
            before, size = size, float(r @ r)
            p = r + size / before * p
        return x

    def _step_length(
        self, tau: float, iterate: Iterate, step: np.ndarray, smoothing: Smoothing, steepness: float
    ) -> float:
        """Return the length at which the slope, piecewise linear and rising, is about zero.

        `steepness` is minus the slope at the beginning.
        """
        own = slice(None, -1) if self.gap_bound.free else slice(None)
        fixed = self.gap_bound.boxes.lower(tau) @ self.rows.summary.class_rows
        linear = float(iterate.w[own] @ step[own]) - float(fixed @ step)
        squared = float(step[own] @ step[own])

        def slopes(x: float, within: tuple[float, float]) -> list[tuple[float, float, float]]:
            return [
                (linear + at * squared - pull, squared + curvature, at)
                for at, pull, curvature in self.rows.slopes(iterate, x, smoothing, within)
            ]

        return flat_length(slopes, steepness)


def flat_length(
    slopes: Callable[[float, tuple[float, float]], Sequence[tuple[float, float, float]]],
    steepness: float,
) -> float:
    """Return the length at which the slope of a convex function is about zero.

    ``slopes(x, within)`` returns slope, curvature and length, first at x; it may add others
    `within` an interval. `steepness` is minus the slope at 0.
    """
    low, high, x = 0.0, np.inf, 1.0
    for _ in range(MAX_TRIALS):
        seen = slopes(x, (low, high))
        slope, bend, x = seen[0]  # where was asked for
        if abs(slope) > FLAT_SLOPE * steepness:
            slope, bend, x = min(seen, key=lambda one: abs(one[0]))
        if abs(slope) <= FLAT_SLOPE * steepness:
            break
        low = max([at for other, _, at in seen if other <= 0.0], default=low)
        high = min([at for other, _, at in seen if other > 0.0], default=high)
        x = x - slope / bend if bend > 0.0 else np.inf
        if high == np.inf:
            x = min(x, MAX_GROWTH * low)
        elif not low < x < high:
            near = high < MAX_GROWTH * low
            x = 0.5 * (low + high) if near else np.sqrt(max(low, SHORTEST_STEP) * high)
    return float(x)
