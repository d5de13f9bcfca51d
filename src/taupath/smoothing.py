"""One τ to a given duality gap: Newton's method on a smoothed loss.

The dual point is made from w: with shares a_i = clip(centre + (p_i - m_i) / width, 0, 1) of the
margins m_i = <z_i, w>, θ_i = l_i + a_i (h_i - l_i). Then w = Σ θ_i z_i says that w minimises

    ½‖w‖² + Σ max over a in [0, 1] of (l_i + a (h_i - l_i)) (p_i - m_i) - ½ width (h_i - l_i) (a - centre)²,

a piecewise quadratic, whose minimum Newton's method finds in a few steps. What is left of the gap of
the true problem comes from samples with 0 < a_i < 1, each less than `width` away from its target;
it falls with the square of `width` where their margins are spread, and is hardly there where they
are all the same and `centre` is the mean of their shares.
So w and three numbers are all there is to keep of a node: θ follows from them and the data.
"""

from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from taupath._core import _descent
from taupath.continuum import Continuum, End
from taupath.exceptions import WalkFailed
from taupath.points import Points

__all__ = ["Node", "NodeSolver", "Solved"]

# Columns up to which Newton's equations are solved by a factorisation, beyond by conjugate
# gradients over the rows with 0 < a < 1.
MOST_FACTORED = 512
# Of the residual, up to which conjugate gradients go.
CG_TOLERANCE = 0.02
MOST_CG_STEPS = 200
# A step is as long as it should be where the slope is this part of what it was.
FLAT = 0.1
MOST_TRIALS = 40
# Newton steps at one width, after which a wider smoothing is tried; how much wider; and how many
# steps in all before giving up.
PATIENCE = 8
WIDER = 4.0
NARROWER = 0.25
# Where the last node took more steps than the second of these, the next begins as much wider; where
# it took fewer than the first, as it is.
EASY, HARD = 5, 10
MOST_STEPS = 500
# The smoothing that is begun with, and the widest, in units of the margin or of the spread of y.
WIDEST = 1.0
# A smoothed problem is solved where ½‖w - Σ θ z‖² is this part of the gap of smoothing.
SOLVED = 0.1
# Of the budget, what smoothing shall leave at the next node.
AIM = 0.8
# The least and the largest centre.
LEAST_CENTRE = 0.1
# How far a free intercept goes in one step, in units of the margin or of the spread of y; and what
# is added to its curvature, as part of that with all shares inside.
FARTHEST = 4.0
RIDGE = 1e-12


@dataclass(frozen=True)
class Node:
    """What is kept of a τ: θ is recomputed from it.

    Attributes
    ----------
    tau : float
        Where it is.
    w : ndarray of shape (n_cols,)
        The primal point.
    width : float
        Of the smoothing.
    centre : ndarray of shape (2,)
        The share at the target, for each class.
    shift, scale : float, ndarray of shape (2,)
        The share is shift + scale a_i, which with a free intercept makes Σ sign_i θ_i zero.
    """

    tau: float
    w: np.ndarray
    width: float
    centre: np.ndarray
    shift: float
    scale: np.ndarray


@dataclass(frozen=True)
class Solved:
    """A node with its margins and shares.

    `gap` is in units of P(0), `next_width` and `next_centre` are for the τ beside it.
    """

    node: Node
    end: End
    share: np.ndarray
    gap: float
    next_width: float
    next_centre: np.ndarray


class _State:
    """Shares and what they add up to, kept up to date while w moves."""

    def __init__(self, solver: "NodeSolver") -> None:
        self._solver = solver
        n = solver.points.n_rows
        self.share = np.zeros(n)
        self.totals = np.zeros((2, solver.points.n_cols))  # Σ weight a z of each class
        self.sums = np.empty((2, 5))
        self._changed, self._between = np.empty(n, dtype=np.int32), np.empty(n, dtype=np.int32)
        self._change = np.empty(n)
        self.between = self._between[:0]

    def update(self, margin: np.ndarray, width: float, centre: np.ndarray) -> None:
        """Bring shares, totals and sums up to date."""
        solver = self._solver
        n_changed, n_between = _descent.shares(
            margin,
            solver.continuum.target,
            solver.continuum.weight,
            solver.points.sign,
            centre,
            width,
            self.share,
            self._changed,
            self._change,
            self._between,
            self.sums,
        )
        self.between = self._between[:n_between]
        self._add(self._changed[:n_changed], self._change[:n_changed])

    def _add(self, rows: np.ndarray, change: np.ndarray) -> None:
        points = self._solver.points
        if self._solver.one_class:
            points.total(change, rows, self.totals[0])
            return
        negative = points.sign[rows] < 0
        for k, own in enumerate((~negative, negative)):
            points.total(change[own], rows[own], self.totals[k])

    def afresh(self, margin: np.ndarray, width: float, centre: np.ndarray) -> None:
        """Compute everything from these margins, so that nothing is left of earlier rounding."""
        self.share[:] = 0.0
        self.totals[:] = 0.0
        self.update(margin, width, centre)


class NodeSolver:
    """Solves at one τ after another, each begun from what is known.

    Parameters
    ----------
    points : Points
        The rows.
    continuum : Continuum
        Targets, boxes, units.
    free : bool
        Whether the intercept, the last column, costs nothing.
    unit : float
        What differences of margins are measured in.
    """

    def __init__(self, points: Points, continuum: Continuum, free: bool, unit: float) -> None:
        self.points, self.continuum, self.free, self.unit = points, continuum, free, unit
        self.one_class = bool((points.sign > 0).all())
        self.steps = 0
        self._head_start = 1.0
        weight = continuum.weight
        # Σ weight z, Σ weight p and Σ weight of each class
        self.all_rows, self.all_aims = np.zeros((2, points.n_cols)), np.zeros(2)
        self.all_weights = np.zeros(2)
        for k, own in enumerate((points.sign > 0, points.sign < 0)):
            points.total(np.where(own, weight, 0.0), None, self.all_rows[k])
            self.all_aims[k] = _descent.inner(weight[own], continuum.target[own])
            self.all_weights[k] = weight[own].sum()
        self._state = _State(self)
        self._rate = np.empty(points.n_rows)

    def rest(self, tau: float) -> Solved:
        """Return w = 0, not solved for, to begin with."""
        centre = np.full(2, 0.5)
        w = np.zeros(self.points.n_cols)
        node = Node(tau, w, WIDEST * self.unit, centre, 0.0, np.ones(2))
        end = End(tau, np.zeros(self.points.n_rows), 0.0, (w, w), (w, w))
        return Solved(node, end, self._state.share, np.inf, node.width, centre)

    def solve(
        self,
        tau: float,
        w: np.ndarray,
        margin: np.ndarray,
        width: float,
        centre: np.ndarray,
        budget: float,
    ) -> Solved:
        """Return a node whose gap is at most `budget`, in units of P(0).

        Parameters
        ----------
        tau : float
            Where.
        w, margin : ndarray
            To begin with; `margin` is overwritten.
        width, centre : float, ndarray of shape (2,)
            Of the smoothing, to begin with.
        budget : float
            Largest gap.
        """
        state, unit = self._state, self.continuum.unit
        box = self.continuum.boxes.upper(tau) - self.continuum.boxes.lower(tau)
        fixed = self.continuum.boxes.lower(tau) @ self.all_rows
        begun = self.steps
        tries, patience = 0, PATIENCE
        fresh = False
        width = min(self._head_start * width, WIDEST * self.unit)
        while True:
            (state.afresh if fresh else state.update)(margin, width, centre)
            node, end, gap = self._judge(tau, w, margin, width, centre)
            if gap <= budget:
                if fresh:
                    break
                self.points.products(w, out=margin)
                fresh = True
                continue
            fresh = False
            off = self._residual(node, end)
            residual = self._cost(off, w) / unit
            if residual <= SOLVED * max(gap - residual, budget):
                # the smoothed problem is solved, the smoothing too coarse
                factor = np.sqrt(0.5 * budget / max(gap - residual, budget))
                narrower = width * min(max(float(factor), NARROWER), 0.7)
                nearer = self._centre(state, centre)
                step = self._narrow(margin, off, box, width, centre, narrower, nearer)
                w = w + step
                margin += self.points.products(step, out=self._rate)
                width, centre = narrower, nearer
                self.steps += 1
                tries = 0
                continue
            if self.steps - begun >= MOST_STEPS:
                raise WalkFailed(
                    f"the duality gap stays at {gap:.2g} of the objective at w = 0, "
                    f"wanted is {budget:.2g},",
                    tau,
                )
            if tries == patience and width < WIDEST * self.unit:
                width = min(WIDER * width, WIDEST * self.unit)
                tries, patience = 0, 2 * patience
                continue
            tries += 1
            self.steps += 1
            step = self._newton(off, box, width)
            rate = self.points.products(step, out=self._rate)
            length = self._line_search(
                w, margin, step, rate, width, centre, box, fixed, float(off @ step)
            )
            w = w + length * step
            margin += length * rate
        if self.steps - begun > HARD:
            self._head_start = WIDER
        elif self.steps - begun < EASY:
            self._head_start = 1.0
        left = max(gap, 1e-3 * budget)
        wider = width * min(max(np.sqrt(AIM * budget / left), 0.5), 2.0)
        return Solved(
            node,
            replace(end, margin=margin),
            state.share,
            gap,
            min(float(wider), WIDEST * self.unit),
            self._centre(state, centre),
        )

    # -- one step ------------------------------------------------------------------------------

    def _judge(
        self, tau: float, w: np.ndarray, margin: np.ndarray, width: float, centre: np.ndarray
    ) -> tuple[Node, End, float]:
        """Return the node with these shares, and its gap in units of P(0)."""
        state, boxes = self._state, self.continuum.boxes
        lower, upper = boxes.lower(tau), boxes.upper(tau)
        box = upper - lower
        shift, scale = self._balance(lower, box)
        inside = shift * self.all_rows + scale[:, np.newaxis] * state.totals
        v = lower @ self.all_rows + box @ inside
        aim = float(lower @ self.all_aims + box @ (shift * self.all_aims + scale * state.sums[:, 2]))
        w_own, v_own = (w[:-1], v[:-1]) if self.free else (w, v)
        loss = float(upper @ state.sums[:, 0] - lower @ state.sums[:, 1])
        gap = 0.5 * float(w_own @ w_own) + loss - aim + 0.5 * float(v_own @ v_own)
        node = Node(tau, w, width, centre, shift, scale)
        return node, End(tau, margin, aim, (w_own, w_own), (v_own, v_own)), gap / self.continuum.unit

    def _balance(self, lower: np.ndarray, box: np.ndarray) -> tuple[float, np.ndarray]:
        """Return shift and scale of the shares that make Σ sign θ zero, where it has to be.

        Shares of the class, or the side, that is too much are brought nearer to where they count
        for nothing.
        """
        shift, scale = 0.0, np.ones(2)
        if not self.free:
            return shift, scale
        inner = box * self._state.totals[:, -1]
        fixed = float(lower @ self.all_rows[:, -1])
        excess = fixed + float(inner.sum())
        if self.one_class:
            if excess > 0.0:  # towards the lower ends
                scale[0] = -fixed / inner[0]
            elif excess < 0.0:  # towards the upper ends
                whole = float(box[0] * self.all_rows[0, -1])
                scale[0] = (fixed + whole) / (whole - inner[0])
                shift = 1.0 - float(scale[0])
        elif excess > 0.0:
            scale[0] = -inner[1] / inner[0]
        elif excess < 0.0:
            scale[1] = -inner[0] / inner[1]
        return shift, scale

    def _residual(self, node: Node, end: End) -> np.ndarray:
        """Return Σ θ z - w, minus the gradient; θ without balance for a free intercept."""
        if not self.free:
            return end.v[0] - node.w
        boxes = self.continuum.boxes
        lower = boxes.lower(node.tau)
        box = boxes.upper(node.tau) - lower
        v = lower @ self.all_rows + box @ self._state.totals
        v[:-1] -= node.w[:-1]
        return np.asarray(v)

    def _cost(self, off: np.ndarray, w: np.ndarray) -> float:
        """Return about what is to be gained by going on at the same smoothing.

        ½‖w - Σ θ z‖², and for a free intercept what balancing takes from the dual objective.
        """
        if not self.free:
            return 0.5 * float(off @ off)
        imbalance = abs(float(off[-1])) / self.points.bias
        reach = self.unit + abs(float(w[-1])) * self.points.bias
        return 0.5 * float(off[:-1] @ off[:-1]) + reach * imbalance

    def _centre(self, state: _State, centre: np.ndarray) -> np.ndarray:
        """Return the mean share, of those between 0 and 1, of each class."""
        some = state.sums[:, 3] > 0.0
        mean = np.where(some, state.sums[:, 4] / np.where(some, state.sums[:, 3], 1.0), centre)
        return np.clip(mean, LEAST_CENTRE, 1.0 - LEAST_CENTRE)

    def _narrow(
        self,
        margin: np.ndarray,
        off: np.ndarray,
        box: np.ndarray,
        width: float,
        centre: np.ndarray,
        narrower: float,
        nearer: np.ndarray,
    ) -> np.ndarray:
        """Return the step to the solution of a narrower smoothing, were no share to leave (0, 1).

        Shares of the new smoothing, at the margins of the old one, would be far outside.
        """
        between = self._state.between
        k = (self.points.sign[between] < 0).astype(np.intp)
        short = self.continuum.target[between] - margin[between]
        moved = (nearer - centre)[k] + short * (1.0 / narrower - 1.0 / width)
        off = self.points.total(self.continuum.weight[between] * box[k] * moved, between, off.copy())
        return self._newton(off, box, narrower)

    def _newton(self, off: np.ndarray, box: np.ndarray, width: float) -> np.ndarray:
        """Return Newton's step for the smoothed problem."""
        between = self._state.between
        sign = self.points.sign[between]
        factor = self.continuum.weight[between] * np.where(sign > 0, box[0], box[1]) / width
        diagonal = np.ones(self.points.n_cols)
        if self.free:
            # no share need be inside: then the intercept would go anywhere
            bias = self.points.bias
            steep = abs(float(off[-1])) * bias / (FARTHEST * self.unit)
            whole = bias**2 * float(self.all_weights @ box) / width
            diagonal[-1] = max(steep - bias**2 * float(factor.sum()), RIDGE * whole)
        if self.points.n_cols <= MOST_FACTORED:
            matrix = self.points.squares(factor, between)
            matrix.flat[:: len(matrix) + 1] += diagonal
            return np.asarray(cho_solve(cho_factor(matrix, lower=True), off))
        return self._by_conjugate_gradients(off, factor, diagonal)

    def _by_conjugate_gradients(
        self, off: np.ndarray, factor: np.ndarray, diagonal: np.ndarray
    ) -> np.ndarray:
        between = self._state.between
        x, r = np.zeros_like(off), off.copy()
        enough = CG_TOLERANCE**2 * float(off @ off)
        p, size = r.copy(), float(r @ r)
        for _ in range(MOST_CG_STEPS):
            if size <= enough:
                break
            image = diagonal * p
            self.points.total(factor * self.points.products(p, between), between, image)
            length = size / float(p @ image)
            x += length * p
            r -= length * image
            before, size = size, float(r @ r)
            p = r + size / before * p
        return x

    def _line_search(
        self,
        w: np.ndarray,
        margin: np.ndarray,
        step: np.ndarray,
        rate: np.ndarray,
        width: float,
        centre: np.ndarray,
        box: np.ndarray,
        fixed: np.ndarray,
        slope_at_rest: float,
    ) -> float:
        """Return how far to go: where the slope, piecewise linear and rising, is about zero."""
        continuum = self.continuum
        w_own, step_own = (w[:-1], step[:-1]) if self.free else (w, step)
        straight = float(w_own @ step_own) - float(fixed @ step)
        squared = float(step_own @ step_own)

        def slope(x: float) -> tuple[float, float]:
            first, second = _descent.slope(
                margin,
                rate,
                x,
                continuum.target,
                continuum.weight,
                self.points.sign,
                centre,
                width,
                box,
            )
            return straight + x * squared - first, squared + second

        steep = abs(slope_at_rest)
        low, high, x = 0.0, np.inf, 1.0
        for _ in range(MOST_TRIALS):
            rise, bend = slope(x)
            if abs(rise) <= FLAT * steep:
                break
            if rise > 0.0:
                high = x
            else:
                low = x
            x = x - rise / bend if bend > 0.0 else np.inf
            if not low < x < high:
                x = 0.5 * (low + high) if high < np.inf else 4.0 * low
        return x
