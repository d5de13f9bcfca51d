"""A whole path of solutions: recover any of them, and certify all."""

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from taupath import upward
from taupath.engine.problem import Line
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.certificate import Certificate, Measure
from taupath.paths.crossings import (
    Changes,
    Crossings,
    Functions,
    KeptFunctions,
    Tracks,
    find_crossings,
)
from taupath.paths.training_data import Samples, Solution
from taupath.paths.walked import Rest, Stretch
from taupath.validation import check_levels, check_within, one_or_several, slices

__all__ = ["SolutionPath"]

# So many τ, each for some samples, are solved for one by one.
FEW_TAUS = 32
# Samples at a time whose decision functions are looked at for all τ; fewer where their kernel with
# the training samples takes more bytes than these.
ROWS_AT_A_TIME = 32768
BYTES_AT_A_TIME = 64e6


class SolutionPath:
    """Solutions for every value of a parameter within a stretch.

    What it keeps are the kinks and the index sets between them; each solution is computed from
    these and the training data when it is asked for, so it carries no error from the walk.

    Attributes
    ----------
    taus : ndarray
        The kinks, increasing; the first and the last are the ends of the stretch.
    method : str
        "exact".
    counters : dict
        What the walk did: ``kinks`` (events on the path), ``start_events``, ``rows_evaluated``,
        ``zero_length_steps``, ``refactorizations``, ``rewinds`` (stretches walked again with more
        care), ``repairs``, ``left_out`` and ``exchanges`` (points found dependent on the free
        ones), ``sum_free`` and ``max_free`` (size of the free set).
    """

    method = "exact"
    _parameter = "tau"
    _symbol = "τ"

    def __init__(
        self,
        samples: Samples,
        line: Line,
        weight: np.ndarray,
        stretches: Sequence[Rest | Stretch],
    ) -> None:
        self._samples, self._line, self._stretches = samples, line, stretches
        self._weight = weight
        self.taus = np.concatenate([stretch.kinks[k > 0 :] for k, stretch in enumerate(stretches)])
        self.taus.flags.writeable = False
        self.counters = dict(stretches[0].counters)
        for stretch in stretches[1:]:
            for name, count in stretch.counters.items():
                before = self.counters[name]
                self.counters[name] = max(before, count) if name == "max_free" else before + count

    def __repr__(self) -> str:
        n, d = self._samples.shape
        begin, end = self.tau_range
        return (
            f"<{type(self).__name__} of {n} samples and {d} features, {self._settings()}: "
            f"{self.n_kinks} kinks over {self._symbol} in [{begin:g}, {end:g}]>"
        )

    @property
    def tau_range(self) -> tuple[float, float]:
        """The stretch that was walked."""
        return float(self.taus[0]), float(self.taus[-1])

    @property
    def n_kinks(self) -> int:
        """Number of kinks, the ends included."""
        return len(self.taus)

    @property
    def nbytes(self) -> int:
        """Bytes of the record: kinks and index sets. The training data are not counted."""
        return self.taus.nbytes + sum(stretch.nbytes for stretch in self._stretches)

    # -- solutions -----------------------------------------------------------------------------

    def alpha(self, tau: float) -> np.ndarray:
        """Return the dual solution.

        Parameters
        ----------
        tau : float
            Within the walked stretch.

        Returns
        -------
        ndarray of shape (n_samples,)
            α: for classification in the paper's scale, 0 ≤ α_i ≤ c_i(τ); for regression
            C (τ - 1) ≤ α_i ≤ C τ.
        """
        tau = self._check(tau)
        status, theta, _, _ = self._solution(tau)
        return self._to_alpha(status, theta, tau)

    def index_sets(self, tau: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return L, M, R: samples in error, on the margin, and well classified.

        For regression: above the quantile, on it, and below. At a kink these are the sets just
        after it.
        """
        status, *_ = self._solution(self._check(tau))
        return (
            np.flatnonzero(status == UPPER),
            np.flatnonzero(status == FREE),
            np.flatnonzero(status == LOWER),
        )

    def coef(self, tau: float) -> np.ndarray:
        """Return the weights of the features, shape (n_features,), for the linear kernel."""
        return self._samples.coef(self._function(self._check(tau)))

    def intercept(self, tau: float) -> float:
        """Return the intercept."""
        return self._samples.intercept(self._function(self._check(tau)))

    def decision_function(self, X: Any, tau: Any = None, *, taus: Any = None) -> np.ndarray:
        """Return f_τ(x); the positive class is decided for where it is ≥ 0.

        For regression f_τ(x) is the τ-quantile.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel with the training samples.
        tau : float or array-like of shape (n_taus,)
            One τ, or several. For one τ per sample there is `decide_each`.
        taus : array-like of shape (n_taus,)
            Several τ; in place of `tau`. The name means one column each in estimators, too.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_taus)
            One column for each τ where several are asked for.
        """
        X = self._samples.check_new(X)
        asked = one_or_several(tau, taus, self._parameter)
        if np.ndim(asked) == 0:
            return self._samples.decide(X, self._function(self._check(asked)))
        decisions = np.empty((X.shape[0], len(asked)))
        for k in np.argsort(asked, kind="stable"):  # neighbours on the path share their factor
            decisions[:, k] = self._samples.decide(X, self._function(self._check(asked[k])))
        return decisions

    def decide_each(self, X: Any, tau: Any) -> np.ndarray:
        """Return f_τ(x) with a τ for each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        tau : array-like of shape (n_samples,)
            One for each.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self._samples.check_new(X)
        taus = np.asarray(tau, dtype=np.float64)
        if taus.shape != (X.shape[0],):
            raise ValueError(
                f"{self._parameter} must have shape ({X.shape[0]},), one value per row, got "
                f"{taus.shape}; for one column per value use decision_function with taus="
            )
        decisions = np.empty(X.shape[0])
        several, which = np.unique(taus, return_inverse=True)
        for value in (several[0], several[-1]) if len(several) else ():
            self._check(float(value))
        if len(several) <= FEW_TAUS or not self._tracks.complete:
            for k, value in enumerate(several):
                own = np.flatnonzero(which == k)
                decisions[own] = self._samples.decide(X[own], self._function(float(value)))
            return decisions
        for some in self._row_blocks(X.shape[0]):
            features = self._samples.features(X[some])
            decisions[some] = self._tracks.values(features, taus[some])
        return decisions

    def parts(self, tau: float) -> tuple[float, dict[str, Any]]:
        """Return the intercept at τ and what else the decision function is made of.

        ``coef`` for the linear kernel; otherwise ``kernel``, ``support``, ``support_vectors`` and
        ``dual_coef``.
        """
        solution = self._function(self._check(tau))
        return self._samples.intercept(solution), self._samples.parts(solution)

    def crossings(self, X: Any, level: Any = 0.0) -> Crossings:
        """Return for each sample where f_τ(x) ≥ level, exactly and for all τ of the stretch.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        level : float or array-like of shape (n_samples,)
            One for all samples, or one for each.

        Returns
        -------
        Crossings
            ``length`` of {τ : f_τ(x) ≥ level}, which for a classifier is the estimated probability
            of the positive class, and the ``first`` and ``last`` τ where that changes.
        """
        X = self._samples.check_new(X)
        levels = check_levels(level, X.shape[0])
        parts = [
            find_crossings(
                self._tracks,
                self._samples.features(X[some]),
                self._samples.norms(X[some]),
                levels[some],
            )
            for some in self._row_blocks(X.shape[0])
        ]
        return Crossings(
            *(
                np.concatenate([getattr(part, name) for part in parts])
                for name in ("length", "first", "last")
            )
        )

    def changes(self, X: Any) -> Changes:
        """Return all changes of the sign of f_τ(x), of each sample, exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        Changes
        """
        X = self._samples.check_new(X)
        found = []
        for some in self._row_blocks(X.shape[0]):
            features, norms = self._samples.features(X[some]), self._samples.norms(X[some])
            found.append((some.start, self._tracks.changes(features, norms)))
        return Changes.joined(found)

    def values_at_nodes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return all nodes, between which f_τ(x) is linear in τ, and its values there.

        Nodes are the kinks; one where f jumps is there twice.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_nodes,), ndarray of shape (n_samples, n_nodes)
        """
        features = self._samples.features(self._samples.check_new(X))
        return self._tracks.taus, self._tracks.all_values(features)

    @property
    def kept_nodes(self) -> np.ndarray:
        """The nodes whose functions are kept: all, or some where all would take too much memory."""
        return np.asarray(self._tracks.kept)

    def kept_functions(self, X: Any) -> KeptFunctions:
        """Return f_τ(x) at the kept nodes and in between, without solving for any τ."""
        return KeptFunctions(self._tracks, self._samples.features(self._samples.check_new(X)))

    def coefficients_at_kept(self, which: Any = slice(None), columns: Any = None) -> np.ndarray:
        """Return the weights of the features, or of some, at the kept nodes, or at some."""
        return self._samples.weights(self._tracks.coef[which], columns)

    def coefficients_at_nodes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield nodes and the weights of the features there, some nodes at a time.

        For the linear kernel. Nodes are those of `values_at_nodes`.

        Yields
        ------
        ndarray of shape (n_nodes,), ndarray of shape (n_nodes, n_features)
        """
        tracks = self._tracks
        at_a_time = max(int(BYTES_AT_A_TIME // (8 * self._samples.shape[1])), 1)
        for some in slices(len(tracks.taus), at_a_time):
            if tracks.complete:
                coef = tracks.coef[some]
            else:
                coef = self._functions(some.start, some.stop).coef
            yield tracks.taus[some], self._samples.weights(coef)

    def _row_blocks(self, n_rows: int) -> list[slice]:
        most = ROWS_AT_A_TIME
        if self._samples.by_theta:
            most = min(most, max(int(BYTES_AT_A_TIME // (8 * self._samples.shape[0])), 1))
        return slices(n_rows, most)

    @cached_property
    def _tracks(self) -> Tracks:
        samples = self._samples
        width = samples.shape[0] if samples.by_theta else samples.shape[1]
        nodes = np.concatenate([stretch.nodes for stretch in self._stretches])
        return Tracks(nodes, self._functions, width, max(samples.shape))

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_tracks"}

    def _functions(self, first: int, last: int) -> Functions:
        """Return the decision functions at the nodes first, ..., last - 1."""
        swept = []
        for stretch in self._stretches:
            begin, end = max(first, 0), min(last, len(stretch.nodes))
            if begin < end:
                swept.append(stretch.sweep(begin, end, self._samples.by_theta))
            first, last = first - len(stretch.nodes), last - len(stretch.nodes)
        if len(swept) == 1:
            return self._samples.functions(*swept[0])
        thetas = [theta for _, theta, _ in swept if theta is not None]
        # where widths differ, some stretches are at rest: zero but for the constant, which is last
        narrowest = min(w.shape[1] for w, _, _ in swept)
        return self._samples.functions(
            np.concatenate([w[:, -narrowest:] for w, _, _ in swept]),
            np.concatenate(thetas) if thetas else None,
            np.concatenate([multiplier for _, _, multiplier in swept]),
        )

    def _check(self, value: Any) -> float:
        return check_within(value, self._parameter, self.tau_range)

    def _solution(self, value: float) -> Solution:
        for stretch in self._stretches[:-1]:
            if value < stretch.kinks[-1]:
                return stretch.solution(value)
        return self._stretches[-1].solution(value)

    def simplify(self, tol: float) -> "SolutionPath":
        """Return a path through as few of the nodes as keep its gaps within `tol`.

        Between two of them w and α are interpolated linearly, which keeps α within its bounds. From
        each node, the next is as far away as the bound on the gaps in between allows.

        Parameters
        ----------
        tol : float
            What no gap shall exceed, at any τ, as part of the objective at w = 0 and τ = ½ (of a
            path over C: at C_max).

        Returns
        -------
        SolutionPath
            An `ApproximatePath`; its `certify` bounds the gaps at all τ.
        """
        return upward.simplify(self, tol)

    def _function(self, value: float) -> Solution:
        """Return a solution of which nothing but the decision function is going to be used."""
        return self._solution(value)

    # -- what differs from job to job ----------------------------------------------------------

    def _settings(self) -> str:
        raise NotImplementedError

    def _to_alpha(self, status: np.ndarray, theta: np.ndarray, value: float) -> np.ndarray:
        raise NotImplementedError

    def _to_theta(self, alpha: np.ndarray, value: float) -> np.ndarray:
        raise NotImplementedError

    def _to_t(self, value: float) -> float:
        """Return where on its line the path is."""
        return value

    # -- files ---------------------------------------------------------------------------------

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the path to a file that `taupath.load` reads.

        It holds the record and the training data, or, of an approximate or a simplified path with
        the linear kernel, the functions at the nodes; nothing that is run, and a checksum. A file
        of that name is replaced, or stays as it is if anything goes wrong.

        Parameters
        ----------
        file : path
            Where to.
        data : bool, optional
            Whether the file is to hold the training data. By default it does where nothing can be
            predicted without them: for exact paths, and for kernels.
        """
        upward.save(self, file, data)

    # -- certificates --------------------------------------------------------------------------

    def duality_gap(self, tau: float) -> float:
        """Return primal minus dual objective at τ as part of the primal, from the data."""
        return self._measure(self._check(tau)).gap

    def kkt_violation(self, tau: float) -> float:
        """Return the largest violation of an optimality condition at τ, from the data.

        In units of the margin: how far 1 - y f(x) has the wrong sign for a sample at a bound,
        or how far it is from zero for one strictly between. For regression in units of the
        largest |y|: the same of y - f(x).
        """
        return self._measure(self._check(tau)).kkt

    def _measure(self, value: float) -> Measure:
        status, theta, w, multiplier = self._solution(value)
        theta = self._to_theta(self._to_alpha(status, theta, value), value)
        return self._samples.measure((status, theta, w, multiplier), self._line, self._to_t(value))

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
