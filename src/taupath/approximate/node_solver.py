"""One τ to a given duality gap: Newton's method on a smoothed loss.

With the dual point θ that shares make from w, w = Σ θ_i z_i says that w minimises

    ½‖w‖² + Σ max_a (l_i + a (h_i - l_i)) (p_i - m_i) - ½ width (h_i - l_i) (a - centre)²,

0 ≤ a ≤ 1, a piecewise quadratic, whose minimum Newton's method finds in a few steps. What is left
of the gap of the true problem comes from samples with 0 < a_i < 1, each less than `width` away from
its target; it falls with the square of `width` where their margins are spread, and is hardly there
where they are all the same and `centre` is the mean of their shares.
So w and a few numbers are all there is to keep of a node: θ follows from them and the data.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs

from taupath.approximate.all_rows import AllRows, Iterate
from taupath.approximate.dual_point import DualPoint
from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.rounding import EPS
from taupath.exceptions import WalkFailed

__all__ = ["NodeSolver", "Solved"]

# Columns up to which Newton's equations are solved by a factorisation, beyond by conjugate
# gradients over the rows with 0 < a < 1.
MOST_FACTORED = 512
# Of the residual, up to which conjugate gradients go.
CG_TOLERANCE = 0.02
MOST_CG_STEPS = 200
# A step is as long as it should be where the slope is this part of what it was.
FLAT = 0.1
MOST_TRIALS = 60
# How much farther to look for the end of a step, and the least step that is of interest.
FARTHER, TINY = 8.0, 1e-12
# The smoothing that is begun with, and the widest, in units of the largest |p|. With the latter the
# shares of all samples are between 0 and 1 at w = 0.
BEGINNING, WIDEST = 1.0, 4.0
# Newton steps at one width, after which another is tried.
PATIENCE = 8
# How much wider a smoothing becomes whose problem is too hard to begin with.
WIDER = 4.0
# How much narrower one becomes whose problem is solved: at once, at most, and at least. Where that
# was too much, it is the square root of it the next time.
NARROWER, BARELY_NARROWER = 0.25, 0.7
# Where the last node took more steps than the second of these, the next begins WIDER; where it took
# fewer than the first, as it is.
EASY, HARD = 5, 10
# Steps before giving up.
MOST_STEPS = 1000
# A smoothed problem is solved where all but this part of the gap is due to smoothing.
SOLVED = 0.1
# Of the budget, what smoothing shall leave at a narrower width, and at the next node.
AIM, NEXT_AIM = 0.5, 0.8
# How far a free intercept goes in one step, in units of the largest |p|; and what is added to its
# curvature, as part of that with all shares inside.
FARTHEST = 4.0
RIDGE = 1e-12


@dataclass(frozen=True)
class Solved:
    """A node with its margins.

    `gap` is in units of P(0), `next_smoothing` is for a τ beside it.
    """

    node: Node
    place: Iterate
    end: PrimalDualPoint
    gap: float
    next_smoothing: Smoothing


class NodeSolver:
    """Solves at one τ after another, each begun from what is known.

    Parameters
    ----------
    passes : AllRows
        All samples.
    continuum : GapBound
        Losses, boxes, units.
    bias : float
        The constant feature.
    free : bool
        Whether the intercept, the last column, costs nothing.

    Attributes
    ----------
    steps : int
        How many Newton steps have been made.
    """

    def __init__(self, passes: AllRows, continuum: GapBound, bias: float, free: bool) -> None:
        self.passes, self.continuum, self.bias, self.free = passes, continuum, bias, free
        self.steps = 0
        self._highest = passes.summary.highest or 1.0
        self._widest = WIDEST * self._highest
        self._head_start = 1.0
        self._shares = DualPoint(passes.summary, continuum, free)
        n_cols = passes.summary.n_cols
        size = n_cols if n_cols <= MOST_FACTORED else 0
        self._matrix, self._work = np.empty((2, size, size))

    def solve_afresh(self, tau: float, budget: float) -> Solved:
        """Solve at τ, beginning with w = 0."""
        return self.solve(tau, self.passes.rest(), self._centred(BEGINNING), budget)

    def solve(self, tau: float, place: Iterate, smoothing: Smoothing, budget: float) -> Solved:
        """Return a node whose gap is at most `budget`, in units of P(0).

        Parameters
        ----------
        tau : float
            Where.
        place, smoothing : Iterate, Smoothing
            To begin with; the place is used up.
        budget : float
            Largest gap.
        """
        shares, passes, begun, box = self._shares, self.passes, self.steps, self._box(tau)
        smoothing = self._wider(smoothing, self._head_start)
        tries, patience, narrowing = 0, PATIENCE, NARROWER
        solved: tuple[Iterate, Smoothing] | None = None
        from_data = False  # whether margins and sums are free of the rounding of many steps
        while True:
            shares.update(passes.update(place, smoothing, box, afresh=from_data))
            node, end, gap, left = shares.judge(tau, place, smoothing)
            if gap <= budget and from_data:
                break
            if gap <= budget:
                place, from_data = passes.from_data(place), True
                continue
            from_data = False
            if self.steps - begun >= MOST_STEPS:
                raise WalkFailed(
                    f"the duality gap stays at {gap:.2g} of the objective at w = 0 where "
                    f"{budget:.2g} is wanted (try features of one scale, a larger tol, or "
                    "method='exact')",
                    tau,
                )
            off = shares.residual(tau, place.w)
            if gap - left <= SOLVED * max(left, budget) and shares.n_between:
                # the smoothed problem is solved, the smoothing too coarse
                solved = passes.kept(place), smoothing
                narrower = self._narrower(smoothing, left, budget, narrowing)
                # shares of the new smoothing, at the margins of the old one, would be far outside
                passes.moved(place, smoothing, narrower, off)
                step = self._newton_step(box, off, narrower.width)
                length, smoothing, tries = 1.0, narrower, 0
                passes.set_out(place, step)
            elif tries == patience and solved is not None:
                # too narrow at once
                place, smoothing, tries = passes.kept(solved[0]), solved[1], 0
                narrowing, patience = float(np.sqrt(narrowing)), patience + 1
                continue
            elif tries == patience and smoothing.width < self._widest:
                smoothing, tries = self._wider(smoothing, WIDER), 0
                continue
            elif tries == patience:
                # from here there is no way: all the way
                place, tries, patience = passes.rest(), 0, 2 * patience
                continue
            else:
                step = self._newton_step(box, off, smoothing.width)
                passes.set_out(place, step)
                length = self._length(tau, place, step, smoothing, float(off @ step))
                tries += 1
            self.steps += 1
            place = passes.advance(place, length)
        if self.steps - begun > HARD:
            self._head_start = WIDER
        elif self.steps - begun < EASY:
            self._head_start = 1.0
        factor = float(np.sqrt(NEXT_AIM * budget / max(gap, 1e-3 * budget)))
        width = min(max(factor, 0.5), 2.0) * smoothing.width
        centre = shares.mean(otherwise=smoothing.centre)
        following = Smoothing(min(width, BEGINNING * self._highest), centre)
        return Solved(node, place, end, gap, following)

    # -- the smoothing -------------------------------------------------------------------------

    def _centred(self, width: float) -> Smoothing:
        return Smoothing(width * self._highest, np.full(2, 0.5))

    def _wider(self, smoothing: Smoothing, factor: float) -> Smoothing:
        return Smoothing(min(factor * smoothing.width, self._widest), smoothing.centre)

    def _narrower(self, smoothing: Smoothing, left: float, budget: float, most: float) -> Smoothing:
        """Return one that leaves a gap within the budget, `left` being that of this one.

        It is narrower by no more than the factor `most`.
        """
        factor = float(np.sqrt(AIM * budget / max(left, budget)))
        mean = self._shares.mean(otherwise=smoothing.centre)
        # where the width must not change by much, the centre must not either
        part = (1.0 - most) / (1.0 - NARROWER)
        return Smoothing(
            smoothing.width * max(min(factor, BARELY_NARROWER), most),
            smoothing.centre + part * (mean - smoothing.centre),
        )

    # -- steps ---------------------------------------------------------------------------------

    def _box(self, tau: float) -> np.ndarray:
        return np.asarray(self.continuum.boxes.upper(tau) - self.continuum.boxes.lower(tau))

    def _newton_step(self, box: np.ndarray, off: np.ndarray, width: float) -> np.ndarray:
        """Return Newton's step for the smoothed problem, whose gradient is -off."""
        inside = self.passes.weigh(width)
        diagonal = np.ones(len(off))
        if self.free:
            # no share need be inside: then the intercept would go anywhere
            bias = self.bias
            steep = abs(float(off[-1])) * bias / (FARTHEST * self._highest)
            whole = bias**2 * float(self.passes.summary.all_weights @ box) / width
            diagonal[-1] = max(steep - bias**2 * inside, RIDGE * whole)
        if len(off) > MOST_FACTORED:
            return self._by_conjugate_gradients(off, diagonal)
        self._matrix[:] = 0.0
        self.passes.squares(self._matrix)
        self._matrix.flat[:: len(diagonal) + 1] += diagonal
        return self._by_factorization(off)

    def _by_factorization(self, right: np.ndarray) -> np.ndarray:
        """Solve with the matrix, positive definite and given by its lower triangle.

        Columns are brought to one scale. Where rounding has left it indefinite all the same, as
        much is added as makes it definite: the step is then not Newton's, but still downhill.
        """
        matrix, work = self._matrix, self._work
        scale = 1.0 / np.sqrt(matrix.diagonal())
        matrix *= scale
        matrix *= scale[:, np.newaxis]
        added = len(matrix) * EPS
        while True:
            work[:] = matrix
            # what lies in rows here lies in columns for LAPACK: the lower triangle is the upper
            factor, failed = dpotrf(work.T, lower=0, clean=0, overwrite_a=1)
            if not failed:
                solution, _ = dpotrs(factor, scale * right, lower=0)
                return np.asarray(scale * solution)
            matrix.flat[:: len(matrix) + 1] += added
            added *= 10.0

    def _by_conjugate_gradients(self, off: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
        x, r = np.zeros_like(off), off.copy()
        enough = CG_TOLERANCE**2 * float(off @ off)
        p, size = r.copy(), float(r @ r)
        for _ in range(MOST_CG_STEPS):
            if size <= enough:
                break
            image = diagonal * p
            self.passes.times(p, image)
            length = size / float(p @ image)
            x += length * p
            r -= length * image
            before, size = size, float(r @ r)
            p = r + size / before * p
        return x

    def _length(
        self,
        tau: float,
        place: Iterate,
        step: np.ndarray,
        smoothing: Smoothing,
        steepness: float,
    ) -> float:
        """Return how far to go: where the slope, piecewise linear and rising, is about zero.

        `steepness` is minus the slope at the beginning.
        """
        w_own, step_own = (place.w[:-1], step[:-1]) if self.free else (place.w, step)
        fixed = self.continuum.boxes.lower(tau) @ self.passes.summary.all_rows
        straight = float(w_own @ step_own) - float(fixed @ step)
        squared = float(step_own @ step_own)
        low, high, x = 0.0, np.inf, 1.0
        for _ in range(MOST_TRIALS):
            seen = [
                (straight + at * squared - pull, squared + stiffness, at)
                for at, pull, stiffness in self.passes.slopes(place, x, smoothing, (low, high))
            ]
            slope, bend, x = seen[0]  # where was asked for
            if abs(slope) > FLAT * steepness:
                slope, bend, x = min(seen, key=lambda one: abs(one[0]))
            if abs(slope) <= FLAT * steepness:
                break
            low = max([at for other, _, at in seen if other <= 0.0], default=low)
            high = min([at for other, _, at in seen if other > 0.0], default=high)
            x = x - slope / bend if bend > 0.0 else np.inf
            if high == np.inf:
                x = min(x, FARTHER * low)
            elif not low < x < high:
                x = 0.5 * (low + high) if high < FARTHER * low else np.sqrt(max(low, TINY) * high)
        return float(x)
