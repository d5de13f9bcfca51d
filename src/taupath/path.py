"""A whole path of solutions: recover any of them, and certify all."""

import threading
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath._core._replay import Replay
from taupath.certificate import Certificate, HingeProblem, Measure
from taupath.problem import Line
from taupath.rows import make_rows
from taupath.solver import ORTHOGONAL_UP_TO, Record, raised_targets
from taupath.status import FREE, LOWER, UPPER
from taupath.validation import check_new_features, check_tau

__all__ = ["SolutionPath"]

# Distance from a kink, in units of τ's last digit, within which its rounding may matter.
NEAR_A_KINK = 4.0
# Index sets to try there, and the slack on the wrong side with which one of them is right.
MOST_CANDIDATES = 16
RIGHT_SIDE = 1e-11


class SolutionPath:
    """The solution of the asymmetric-cost SVM for every τ of a stretch.

    Made by `quantile_path`. What it keeps are the kinks and the index sets between them; each
    solution is computed from these and the training data when it is asked for, so it carries no
    error from the walk.

    Attributes
    ----------
    taus : ndarray
        The kinks, increasing; the first and the last are the ends of the stretch.
    classes : ndarray of shape (2,)
        The labels; the second one is positive.
    C, lam : float
        Regularisation, C = 1 / (n λ).
    counters : dict
        What the walk did: ``kinks`` (events on the path), ``start_events``, ``rows_evaluated``,
        ``zero_length_steps``, ``refactorizations``, ``rewinds`` (stretches walked again with more
        care), ``repairs``, ``left_out`` and ``exchanges`` (points found dependent on the free
        ones), ``sum_free`` and ``max_free`` (size of the free set).
    """

    def __init__(
        self,
        X: "np.ndarray | sp.csr_array",
        positive: np.ndarray,
        classes: np.ndarray,
        weight: np.ndarray,
        C: float,
        bias: float,
        line: Line,
        record: Record,
    ) -> None:
        self.classes = classes
        self.C = C
        self.lam = 1.0 / (len(positive) * C)
        self.counters = record.counters
        self._X, self._positive, self._weight, self._bias = X, positive, weight, bias
        self._line, self._record = line, record
        kinks = np.concatenate(([record.begin], record.t, [record.end]))
        self.taus = kinks[np.concatenate(([True], np.diff(kinks) > 0.0))]
        self.taus.flags.writeable = False
        self._start_afresh()

    # What follows from the data and the record is made when it is first needed.

    @cached_property
    def _sign(self) -> np.ndarray:
        return np.where(self._positive, 1.0, -1.0)

    @cached_property
    def _replay(self) -> Replay:
        rows = make_rows(self._X, self._sign, self._bias)
        record = self._record
        return Replay(
            rows,
            rows.squared_norms(),
            self._line,
            record.status,
            record.free,
            record.index,
            record.move,
            ORTHOGONAL_UP_TO,
        )

    @cached_property
    def _target(self) -> np.ndarray:
        return raised_targets(self._line.target0)

    @cached_property
    def _judge(self) -> HingeProblem:
        return HingeProblem(self._X, self._sign, self._bias, self.lam)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_sign", "_replay", "_target", "_judge", "_lock", "_last")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._start_afresh()

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._last: tuple[float, np.ndarray, np.ndarray, np.ndarray] | None = None

    def __repr__(self) -> str:
        n, d = self._X.shape
        begin, end = self.tau_range
        return (
            f"<SolutionPath of {n} samples and {d} features, C={self.C:g}: "
            f"{self.n_kinks} kinks over τ in [{begin:g}, {end:g}]>"
        )

    @property
    def tau_range(self) -> tuple[float, float]:
        """The stretch of τ that was walked."""
        return self._record.begin, self._record.end

    @property
    def n_kinks(self) -> int:
        """Number of kinks, the ends included."""
        return len(self.taus)

    @property
    def nbytes(self) -> int:
        """Bytes of the record: kinks and index sets. The training data are not counted."""
        record = self._record
        arrays = (self.taus, record.status, record.free, record.t, record.index, record.move)
        return sum(array.nbytes for array in arrays)

    # -- solutions -----------------------------------------------------------------------------

    def alpha(self, tau: float) -> np.ndarray:
        """Return the dual solution in the paper's scale, 0 ≤ α_i ≤ c_i(τ).

        Parameters
        ----------
        tau : float
            Within the walked stretch.

        Returns
        -------
        ndarray of shape (n_samples,)
            α.
        """
        _, alpha, _ = self._solution(check_tau(tau, self.tau_range))
        return alpha.copy()

    def index_sets(self, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return L, M, R: samples in error, on the margin, and well classified.

        At a kink these are the sets just after it.
        """
        status, _, _ = self._solution(check_tau(tau, self.tau_range))
        return (
            np.flatnonzero(status == UPPER),
            np.flatnonzero(status == FREE),
            np.flatnonzero(status == LOWER),
        )

    def coef(self, tau: float) -> np.ndarray:
        """Return the weights of the features, shape (n_features,)."""
        _, _, w = self._solution(check_tau(tau, self.tau_range))
        return w[: self._X.shape[1]].copy()

    def intercept(self, tau: float) -> float:
        """Return the intercept."""
        _, _, w = self._solution(check_tau(tau, self.tau_range))
        return float(self._bias * w[-1]) if self._bias else 0.0

    def decision_function(self, X: Any, tau: Any) -> np.ndarray:
        """Return f_τ(x); the positive class is decided for where it is ≥ 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        tau : float or array-like of shape (n_taus,)
            One τ, or several.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_taus)
            One column for each τ where several are asked for.
        """
        X = check_new_features(X, self._X.shape[1])
        taus = np.asarray(tau)
        if taus.ndim == 0:
            return np.asarray(X @ self.coef(tau)) + self.intercept(tau)
        if taus.ndim != 1:
            raise ValueError(f"tau must be a number or have one dimension, got shape {taus.shape}")
        W = np.empty((len(taus), X.shape[1]))
        b = np.empty(len(taus))
        for k in np.argsort(taus, kind="stable"):  # neighbours on the path share their factor
            W[k], b[k] = self.coef(taus[k]), self.intercept(taus[k])
        return np.asarray(X @ W.T) + b

    def _box(self, tau: float) -> np.ndarray:
        """Return c_i(τ) (the paper's Eq. 4, times the sample's weight)."""
        cost = np.where(self._positive, 2.0 * (1.0 - tau), 2.0 * tau)
        return np.asarray(cost * self._weight / len(self._positive))

    def _solution(self, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return status, α and w at τ."""
        with self._lock:
            if self._last is None or self._last[0] != tau:
                self._last = (tau, *self._solve(tau))
            return self._last[1:]

    def _solve(self, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        status, theta, w = self._at_its_kink(tau)
        box = self._box(tau)
        absent = (box == 0.0) & (status != FREE)
        if absent.any():  # on either side of the margin its α is 0
            slack = self._replay.products(w, np.flatnonzero(absent).astype(np.int32)) - 1.0
            status[absent] = np.where(slack < 0.0, UPPER, LOWER)
        alpha = np.where(status == UPPER, box, np.minimum(theta * self.lam, box))
        return status, alpha, w

    def _at_its_kink(self, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return status, θ and w at τ, by the sets that fit best where τ is all but a kink.

        A kink is recorded to the last digit of τ or two, and where rows are long that much of τ
        moves w visibly. The points that change sides thereabouts tell before from after.
        """
        times = self._record.t
        near = NEAR_A_KINK * np.spacing(tau)
        position = int(np.searchsorted(times, tau, side="right"))
        first = int(np.searchsorted(times, tau - near, side="left"))
        last = int(np.searchsorted(times, tau + near, side="right"))
        if first == last:
            self._replay.seek(position)
            status, theta, w = self._replay.solution(tau, self._target)
            return status, theta, w
        movers = np.unique(self._record.index[first:last])
        candidates = sorted(range(first, last + 1), key=lambda k: abs(k - position))
        least = np.inf
        for k in candidates[:MOST_CANDIDATES]:
            self._replay.seek(k)
            status, theta, w = self._replay.solution(tau, self._target)
            slack = self._replay.products(w, movers) - self._target[movers]
            side = status[movers]
            wrong = np.where(side == UPPER, slack, np.where(side == LOWER, -slack, 0.0))
            most_wrong = wrong.max(initial=0.0)
            if most_wrong < least:
                least, best = most_wrong, (status, theta, w)
            if most_wrong <= RIGHT_SIDE:
                break
        return best

    # -- certificates --------------------------------------------------------------------------

    def duality_gap(self, tau: float) -> float:
        """Return primal minus dual objective at τ as part of the primal, from the data."""
        return self._measure(check_tau(tau, self.tau_range)).gap

    def kkt_violation(self, tau: float) -> float:
        """Return the largest violation of an optimality condition at τ, from the data.

        In units of the margin: how far 1 - y f(x) has the wrong sign for a sample at a bound,
        or how far it is from zero for one strictly between.
        """
        return self._measure(check_tau(tau, self.tau_range)).kkt

    def _measure(self, tau: float) -> Measure:
        return self._judge.measure(
            self.alpha(tau), self.coef(tau), self.intercept(tau), self._box(tau)
        )

    def certify(self, max_points: int | None = 4000) -> Certificate:
        """Measure gap and optimality conditions along the whole path, from the data.

        Between two kinks the solution is linear and the index sets are fixed, so violations are
        largest at a kink.

        Parameters
        ----------
        max_points : int or None
            Check all kinks and all midpoints between kinks, or, where that is more than
            `max_points`, as many, evenly chosen among them. None for all of them.

        Returns
        -------
        Certificate
            The worst gap and the worst violation, with the τ where they occur.
        """
        points = np.concatenate((self.taus, 0.5 * (self.taus[1:] + self.taus[:-1])))
        points = np.unique(points)
        complete = max_points is None or len(points) <= max_points
        if max_points is not None and not complete:
            if max_points < 2:
                raise ValueError(f"max_points must be at least 2, got {max_points}")
            points = points[np.linspace(0, len(points) - 1, max_points).astype(int)]
        measures = [self._measure(float(tau)) for tau in points]
        gaps = np.array([m.gap for m in measures])
        kkts = np.array([m.kkt for m in measures])
        gap, kkt = int(gaps.argmax()), int(kkts.argmax())
        return Certificate(
            worst_gap=float(gaps[gap]),
            tau_gap=float(points[gap]),
            worst_kkt=float(kkts[kkt]),
            tau_kkt=float(points[kkt]),
            n_checked=len(points),
            complete=bool(complete),
        )
