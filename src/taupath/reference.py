"""Dual path finding as printed: Algorithm 1 of Yu, Vishwanathan and Zhang (UAI 2009).

This module is meant to be read beside the paper. Names, equation numbers and line numbers are
the paper's: an L-BFGS-B start at tau = 0, conjugate gradients for the step of the margin set
(16), the three candidate steps (19), (21) and (23), the updates (17) and (18), and recovery of
any tau by (17). Products with ``Q = (YX)(X'Y)`` go through the cached ``YX``; ``Q`` is never
formed. It is the yardstick of the tests and of the benchmarks; the engine behind
:func:`taupath.quantile_path` is another one.

What the printed algorithm leaves open is what counts as "= 0" in floating point. Every such
decision is one of the constants below. They matter: at a degenerate solution, such as w = 0,
b = 1 with a whole class on the margin (which scaled data reach near tau = 0), the path hangs on
the signs of numbers that are zero up to rounding.

Examples
--------
>>> import numpy as np
>>> from taupath.reference import dual_path_finding
>>> path = dual_path_finding(np.array([[1.0], [-1.0]]), np.array([1, -1]), lam=1.0)
>>> path.alpha(0.25)
array([0.5 , 0.25])
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.optimize import minimize
from scipy.sparse.linalg import LinearOperator, cg

__all__ = ["ReferencePath", "ReferenceStalled", "dual_path_finding"]

FloatArray = npt.NDArray[np.float64]
IndexArray = npt.NDArray[np.intp]
SetArray = npt.NDArray[np.int8]

# The index set of a sample (11), named by the sign of its gradient.
IN_L, IN_M, IN_R = -1, 0, 1

# (11) at tau = 0: |grad_i D| that counts as = 0. L-BFGS-B leaves 1e-8 or less on the margin set;
# the nearest sample off the margin had 4e-3 or more on the data measured.
MARGIN_IS_ZERO = 1e-6
# Line 3: L-BFGS-B is run again from where it stopped, at most this often, until it stands still.
# One run can stop far off, when a line search finds no decrease (7e-3 on two classes of iris).
START_RUNS = 10
# (19): a slope this small beside the sum of the magnitudes it is made of is rounding, that is,
# the gradient stands still. Happens whenever the margin set spans the feature space.
SLOPE_IS_ZERO = 1e-12
# (19), "eps_i > 0": L and R hold strict inequalities (11), so a member whose gradient was rounded
# to 0 or just across it is taken to lie this far inside its set. It then comes back to M after
# a tiny positive step when it heads the wrong way. Without it such samples are lost for good: on
# the scaled diabetes data (n = 668, lam = 1e-3) before tau = 0.05.
STRICTLY_INSIDE = 1e-12
# (16): relative residual at which conjugate gradients stop. Looser is slower: the same
# diabetes data take 2291 events, at 1e-10 15225, and at 1e-8 the walk goes in circles.
CG_RESIDUAL = 1e-14
# A gradient on the wrong side of its set or drifted away from (10), or an alpha outside its box
# (relative to 2/n), by more than this is no rounding: the walk has lost the solution.
LOST = 1e-4


class ReferenceStalled(RuntimeError):
    """Algorithm 1 cannot go on: it cycles, or has left the solution.

    Attributes
    ----------
    tau : float
        How far the walk came.
    n_events : int
        Passes through the main loop until then.
    """

    def __init__(self, reason: str, tau: float, n_events: int) -> None:
        super().__init__(f"{reason} (tau = {tau:.6g}, {n_events} events)")
        self.tau = tau
        self.n_events = n_events


@dataclass(frozen=True)
class ReferencePath:
    """The list of kinks K that Algorithm 1 returns, and what can be recovered from it.

    Per kink only alpha on the margin set is kept, and the indices that changed sets there; the
    sets themselves are kept in full at every n-th kink, so one tau is recovered in O(n).

    Attributes
    ----------
    taus : ndarray of shape (n_kinks,)
        The kinks, strictly increasing from the beginning to the end of the walk: 0 and 1.
    alpha_margin : list of ndarray
        alpha on M at each kink, in index order.
    moved, moved_to : ndarray of shape (n_moves,)
        The indices that changed sets, in order, and the set they went to (-1 L, 0 M, 1 R).
    n_moves_at : ndarray of shape (n_kinks,)
        How many of these moves were made up to and at each kink.
    sets_at : list of ndarray
        Full copies of the sets at kinks 0, n, 2n, ...
    n_events : int
        Passes through the main loop, zero-length steps included.
    yx, y, lam
        The data: YX with the bias column, labels, and the regularisation constant.
    """

    taus: FloatArray
    alpha_margin: list[FloatArray] = field(repr=False)
    moved: IndexArray = field(repr=False)
    moved_to: SetArray = field(repr=False)
    n_moves_at: IndexArray = field(repr=False)
    sets_at: list[SetArray] = field(repr=False)
    n_events: int
    yx: Any = field(repr=False)
    y: FloatArray = field(repr=False)
    lam: float

    @property
    def n_kinks(self) -> int:
        """Number of kinks, the two ends included."""
        return len(self.taus)

    def alpha(self, tau: float) -> FloatArray:
        """Return the dual solution at tau, 0 <= alpha_i <= c_i(tau), by (17) in O(n)."""
        k = self._kink(tau)
        in_set = self._sets_at_kink(k)
        alpha = self._alpha_at_kink(k, in_set)
        if tau == self.taus[k]:
            return alpha
        # Delta alpha_M is the difference quotient between the kinks around tau (section 4.2).
        width = self.taus[k + 1] - self.taus[k]
        slope = (self._alpha_at_kink(k + 1, self._sets_at_kink(k + 1)) - alpha) / width
        moving = alpha + (tau - self.taus[k]) * slope
        return np.where(in_set == IN_M, moving, _on_bounds(self.y, tau, in_set))

    def index_sets(self, tau: float) -> tuple[IndexArray, IndexArray, IndexArray]:
        """Return (L, M, R), valid from the kink at or below tau up to the next one."""
        in_set = self._sets_at_kink(self._kink(tau))
        left, margin, right = (np.flatnonzero(in_set == s) for s in (IN_L, IN_M, IN_R))
        return left, margin, right

    def coef(self, tau: float) -> FloatArray:
        """Return w at tau without the bias, by (9)."""
        return self._weights(tau)[:-1]

    def intercept(self, tau: float) -> float:
        """Return the bias b at tau, by (9)."""
        return float(self._weights(tau)[-1])

    def _weights(self, tau: float) -> FloatArray:
        weights: FloatArray = self.yx.T @ self.alpha(tau) / self.lam
        return weights

    def _kink(self, tau: float) -> int:
        if not self.taus[0] <= tau <= self.taus[-1]:
            walked = f"[{self.taus[0]:g}, {self.taus[-1]:g}]"
            raise ValueError(f"tau must lie in {walked}, got {tau!r}")
        return int(np.searchsorted(self.taus, tau, side="right")) - 1

    def _sets_at_kink(self, k: int) -> SetArray:
        copy, n = k // len(self.y), len(self.y)
        since = slice(self.n_moves_at[copy * n], self.n_moves_at[k])
        in_set = self.sets_at[copy].copy()
        in_set[self.moved[since]] = self.moved_to[since]  # of repeated indices the last one counts
        return in_set

    def _alpha_at_kink(self, k: int, in_set: SetArray) -> FloatArray:
        alpha = _on_bounds(self.y, self.taus[k], in_set)
        alpha[in_set == IN_M] = self.alpha_margin[k]
        return alpha


def dual_path_finding(
    X: Any,
    y: npt.ArrayLike,
    lam: float,
    *,
    max_kinks: int | None = None,
    tau_range: tuple[float, float] = (0.0, 1.0),
    start: tuple[npt.ArrayLike, tuple[IndexArray, IndexArray, IndexArray]] | None = None,
) -> ReferencePath:
    """Follow the minimiser of the dual (8) from tau = 0 to tau = 1 by Algorithm 1.

    Parameters
    ----------
    X : array or CSR matrix of shape (n_samples, n_features)
        Data; a column of ones is appended for the bias.
    y : array of shape (n_samples,)
        Labels, -1 or +1.
    lam : float
        The regularisation constant of (3); C = 1/(n lam) in the usual notation.
    max_kinks : int, optional
        Passes through the main loop after which the walk counts as going in circles. The
        default is 30 n + 100; real data need 2 n to 6 n.
    tau_range : pair of float
        Walk only this part of [0, 1].
    start : pair of alpha and (L, M, R), optional
        The dual solution at the beginning of it and the index sets from there on, where these are
        known; by default lines 3 and 4 find them.

    Returns
    -------
    ReferencePath
        The kinks and everything recovered from them.

    Raises
    ------
    ReferenceStalled
        When the start is not accurate enough to read off the index sets, when conjugate
        gradients do not converge, when the walk cycles, or when it has lost the solution.

    Notes
    -----
    The result carries no guarantee. The printed algorithm never recomputes anything from the
    data, so errors of the start and of every step stay in, and grow as lam falls; and nothing
    in it orders ties, so at degenerate solutions it may end with ReferenceStalled. Measured at
    kinks and midpoints, a sample of 2000 where there are more:

    ==========  ============  ====  ======  =============  =============
    data        n x d         lam   kinks   relative gap   KKT violation
    ==========  ============  ====  ======  =============  =============
    diabetes    668 x 8       1e-1  1626    9e-15          8e-14
    diabetes    668 x 8       1e-3  2292    1e-10          4e-11
    diabetes    668 x 8       1e-5  2659    1e-8           6e-10
    heart       270 x 13      1e-3  1095    2e-10          6e-12
    ionosphere  351 x 34      1e-3  1308    4e-11          1e-11
    a1a         1605 x 119    1e-3  7508    1e-9           5e-11
    fourclass   862 x 2       1e-3  2344    1e-4           4e-8
    australian  690 x 14      1e-1  2408    3e-8           1e-7
    australian  690 x 14      1e-3  3778    9e-5           3e-5
    australian  690 x 14      1e-5  stalls  at tau = 0.15  (drift)
    spam        2500 x 48784  1e-6  5655    9e-3           9e-6
    ==========  ============  ====  ======  =============  =============

    Diabetes, heart and ionosphere are scaled, fourclass (up to 190) and australian are as they
    come. Columns that differ by 1e6 in scale mostly end in ReferenceStalled; random lattices,
    duplicates and one-hot rows all went through.
    """
    y = np.asarray(y, dtype=np.float64)
    if not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError("y must hold the labels -1 and +1 only")
    if not lam > 0:
        raise ValueError(f"lam must be positive, got {lam!r}")
    begin, end = tau_range
    if not 0.0 <= begin < end <= 1.0:
        raise ValueError(f"tau_range must satisfy 0 <= a < b <= 1, got {tau_range!r}")
    n = len(y)
    yx = _labelled_rows(X, y)
    row_norms = np.sqrt(np.asarray((abs(yx) ** 2).sum(axis=1), dtype=np.float64).ravel())
    if max_kinks is None:
        max_kinks = 30 * n + 100

    alpha, in_set = _start(yx, y, lam, begin) if start is None else _given(start)  # lines 3 and 4
    gradient = yx @ (yx.T @ alpha) / lam - 1.0  # line 5, (10)
    if not np.max(np.abs(gradient[in_set == IN_M]), initial=0.0) <= LOST:
        raise ReferenceStalled("the start is too rough to read off the index sets", begin, 0)
    gradient[in_set == IN_M] = 0.0
    step = _step(yx, y, in_set)
    tau, n_events = begin, 0  # line 6
    first_sets, moves = in_set.copy(), list[tuple[int, int]]()
    kinks = [(tau, alpha[in_set == IN_M], len(moves))]

    while tau < end:  # line 7
        n_events += 1
        trouble = _trouble(gradient, alpha, step, _upper_bounds(y, tau), in_set)
        if trouble or n_events > max_kinks:
            raise ReferenceStalled(trouble or "the walk goes in circles", tau, n_events)
        slope = yx @ (yx.T @ step)  # the bracket of (18)
        standing = SLOPE_IS_ZERO * row_norms * (np.abs(step) @ row_norms)
        moves_on = np.abs(slope) > standing
        to_m = _eps_to_margin(gradient, np.where(moves_on, slope, 0.0), in_set, lam)
        to_l, to_r = _eps_to_bounds(alpha, step, _upper_bounds(y, tau), y, in_set)
        eps = min(to_m.min(), to_l.min(), to_r.min())  # line 8
        at_end = eps >= end - tau
        if at_end:
            eps = end - tau

        delta_c = 2.0 * eps / n  # (15)
        gradient += delta_c / lam * slope  # line 9, (18)
        alpha += delta_c * step  # line 10, (17)
        if not at_end:  # line 11: every index whose own step is the smallest one, as in (22)
            for candidates, to in ((to_m, IN_M), (to_l, IN_L), (to_r, IN_R)):
                moving = np.flatnonzero(candidates == eps)
                in_set[moving] = to
                moves += [(int(i), to) for i in moving]
        zero_length = tau + eps == tau
        tau = end if at_end else tau + eps  # line 12
        gradient[in_set == IN_M] = 0.0  # by the definition of M, above (18)
        alpha = np.where(in_set == IN_M, alpha, _on_bounds(y, tau, in_set))  # by (12)
        step = _step(yx, y, in_set)  # line 13
        if zero_length:  # lines 14 and 15: overwrite the last element
            kinks.pop()
        kinks.append((tau, alpha[in_set == IN_M], len(moves)))  # line 17

        # Not in the paper: once in n events and at the end, (18) against (10).
        if n_events % n == 0 or at_end:
            drift = np.max(np.abs(yx @ (yx.T @ alpha) / lam - 1.0 - gradient))
            if not drift <= LOST:
                reason = f"the walk has lost the solution: the gradient drifted by {drift:.1e}"
                raise ReferenceStalled(reason, tau, n_events)
    return _as_path(kinks, first_sets, moves, n_events, yx, y, lam)  # line 20


def _as_path(
    kinks: list[tuple[float, FloatArray, int]],
    start: SetArray,
    moves: list[tuple[int, int]],
    n_events: int,
    yx: Any,
    y: FloatArray,
    lam: float,
) -> ReferencePath:
    """Pack the list K, with a full copy of the sets at every n-th kink."""
    taus, alpha_margin, n_moves_at = zip(*kinks, strict=True)
    moved, moved_to = np.array(moves, dtype=np.intp).reshape(-1, 2).T
    in_set, done, copies = start, 0, []
    for until in n_moves_at[:: len(y)]:
        in_set[moved[done:until]] = moved_to[done:until]
        done = until
        copies.append(in_set.copy())
    return ReferencePath(
        taus=np.array(taus),
        alpha_margin=list(alpha_margin),
        moved=moved,
        moved_to=moved_to.astype(np.int8),
        n_moves_at=np.array(n_moves_at, dtype=np.intp),
        sets_at=copies,
        n_events=n_events,
        yx=yx,
        y=y,
        lam=lam,
    )


def _labelled_rows(X: Any, y: FloatArray) -> Any:
    """Return YX with the bias column, dense or CSR like the input."""
    if sparse.issparse(X):
        augmented = sparse.hstack([X, np.ones((len(y), 1))], format="csr", dtype=np.float64)
        return sparse.csr_array(sparse.diags_array(y) @ augmented)
    dense = np.asarray(X, dtype=np.float64)
    return y[:, None] * np.column_stack([dense, np.ones(len(dense))])


def _upper_bounds(y: FloatArray, tau: float) -> FloatArray:
    """Return c_i(tau) of (4)."""
    return np.where(y > 0, 2.0 * (1.0 - tau), 2.0 * tau) / len(y)


def _on_bounds(y: FloatArray, tau: float, in_set: SetArray) -> FloatArray:
    """Return alpha by (12): c_i on L, 0 on R, and 0 on M for the time being."""
    return np.where(in_set == IN_L, _upper_bounds(y, tau), 0.0)


def _start(yx: Any, y: FloatArray, lam: float, tau: float) -> tuple[FloatArray, SetArray]:
    """Solve (8) at tau by L-BFGS-B, read off the sets (11), and settle alpha_M by (14)."""
    c = _upper_bounds(y, tau)
    rough = _lbfgsb(yx, c, lam)
    gradient = yx @ (yx.T @ rough) / lam - 1.0
    # By (12), alpha_i inside its box puts i on the margin, however rough the gradient still is.
    margin = (np.abs(gradient) <= MARGIN_IS_ZERO) | ((rough > 0.0) & (rough < c))
    in_set = np.where(margin, IN_M, np.sign(gradient)).astype(np.int8)
    alpha = _on_bounds(y, tau, in_set)
    right_side = lam - yx[margin] @ (yx.T @ alpha)
    alpha[margin] = _solve_margin(yx[margin], right_side, rough[margin])
    return np.clip(alpha, 0.0, c), in_set


def _given(
    start: tuple[npt.ArrayLike, tuple[IndexArray, IndexArray, IndexArray]],
) -> tuple[FloatArray, SetArray]:
    """Return alpha and the sets of a start that is known."""
    alpha = np.array(start[0], dtype=np.float64)
    in_set = np.empty(len(alpha), dtype=np.int8)
    for indices, name in zip(start[1], (IN_L, IN_M, IN_R), strict=True):
        in_set[indices] = name
    return alpha, in_set


def _lbfgsb(yx: Any, c: FloatArray, lam: float) -> FloatArray:
    """Return the minimiser of the dual (8) over the box [0, c], by L-BFGS-B."""

    def dual(alpha: FloatArray) -> tuple[float, FloatArray]:
        v = yx.T @ alpha
        return float(v @ v / (2.0 * lam) - alpha.sum()), yx @ v / lam - 1.0

    box = {"method": "L-BFGS-B", "bounds": np.column_stack([np.zeros_like(c), c])}
    to_the_end = {"maxiter": 15000, "maxfun": 10**5, "maxcor": 20, "ftol": 0.0, "gtol": 1e-12}
    rough = np.zeros_like(c)
    for _ in range(START_RUNS):
        rough, before = minimize(dual, rough, jac=True, options=to_the_end, **box).x, rough
        if np.array_equal(rough, before):
            break
    return rough


def _solve_margin(yx_m: Any, right_side: FloatArray, start: FloatArray | None) -> FloatArray:
    """Solve Q_MM u = right_side by conjugate gradients; NaN where they do not converge."""
    m = len(right_side)
    if m == 0:
        return np.zeros(0)
    q_mm = LinearOperator((m, m), matvec=lambda u: yx_m @ (yx_m.T @ u), dtype=np.float64)
    # A direction that rounds to nothing divides by zero; the NaN that follow never converge.
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        u, info = cg(q_mm, right_side, x0=start, rtol=CG_RESIDUAL, atol=0.0, maxiter=20 * m + 100)
    return np.where(info == 0, u, np.nan)


def _step(yx: Any, y: FloatArray, in_set: SetArray) -> FloatArray:
    """Return d alpha / d c of (17) for all n: -y on L, Delta alpha_M (16) on M, 0 on R."""
    step = np.where(in_set == IN_L, -y, 0.0)
    margin = in_set == IN_M
    yx_m = yx[margin]
    step[margin] = _solve_margin(yx_m, -(yx_m @ (yx.T @ step)), None)
    return step


def _eps_to_margin(
    gradient: FloatArray, slope: FloatArray, in_set: SetArray, lam: float
) -> FloatArray:
    """Return eps_i of (19), infinite where it is not positive and on M."""
    # L and R are strict: negative on L, positive on R.
    inside = in_set * np.maximum(in_set * gradient, STRICTLY_INSIDE)
    eps = np.full(len(gradient), np.inf)
    heads_for_zero = (in_set != IN_M) & (inside * slope < 0.0)
    eps[heads_for_zero] = -lam * inside[heads_for_zero] / slope[heads_for_zero]
    return 0.5 * len(gradient) * eps


def _eps_to_bounds(
    alpha: FloatArray, step: FloatArray, c: FloatArray, y: FloatArray, in_set: SetArray
) -> tuple[FloatArray, FloatArray]:
    """Return eps_i of (21) and of (23), infinite off M."""
    n = len(y)
    to_l, to_r = np.full(n, np.inf), np.full(n, np.inf)
    margin = in_set == IN_M
    # To the upper bound: the room c_i - alpha_i shrinks at the rate Delta alpha_i + y_i. The two
    # cases with alpha_i = c_i are those without room: 0 if the rate is positive, else infinity.
    room, rate = np.maximum(c - alpha, 0.0), step + y
    meets = margin & (rate > 0.0)
    to_l[meets] = 0.5 * n * room[meets] / rate[meets]
    # To the lower bound: the room alpha_i shrinks at the rate -Delta alpha_i.
    room, rate = np.maximum(alpha, 0.0), -step
    meets = margin & (rate > 0.0)
    to_r[meets] = 0.5 * n * room[meets] / rate[meets]
    return to_l, to_r


def _trouble(
    gradient: FloatArray, alpha: FloatArray, step: FloatArray, c: FloatArray, in_set: SetArray
) -> str:
    """Say why the walk cannot go on from here; empty when it can."""
    if not np.isfinite(alpha).all() or not np.isfinite(step).all():
        return "conjugate gradients do not converge"
    if np.max(-in_set * gradient) > LOST:
        return "the walk has lost the solution: a gradient is on the wrong side of 0"
    if max(np.max(-alpha), np.max(alpha - c)) * len(c) / 2.0 > LOST:
        return "the walk has lost the solution: a dual variable is outside its box"
    return ""
