"""A whole path of solutions: recover any of them, and certify all."""

import os
from collections.abc import Iterator
from typing import Any, cast

import numpy as np

from taupath import upward
from taupath.engine.readers import ReadersLock, made_once
from taupath.engine.record import Solution
from taupath.paths.blocks import slices
from taupath.paths.certificate import Certificate
from taupath.paths.crossings import (
    MOST_METRIC_FEATURES,
    Changes,
    Crossings,
    Functions,
    KeptFunctions,
    Tracks,
)
from taupath.paths.leaving_out import LeavingOut
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import BYTES_AT_A_TIME
from taupath.paths.used_features import UsedFeatures
from taupath.validation import (
    check_all_within,
    check_integer,
    check_levels,
    check_numbers,
    one_or_several,
)

# Up to this many different τ in `decide_each` are solved for one by one, which takes less work than
# sweeping over all nodes.
FEW_TAUS = 32


class SolutionPath(LeavingOut, UsedFeatures):
    """Solutions for every value of a parameter.

    Returned by `quantile_path`, `regularization_path` and `quantile_regression_path`. The parameter
    is τ, or C for the second of them. An exact path keeps its kinks and the index sets between
    them; each solution is computed from these and the training data on demand, so it carries no
    error from the walk. An approximate path keeps solutions at nodes, between which w and α are
    interpolated linearly; its gaps are certified at all values of the parameter. If the training
    data were Dask collections, they stay on their cluster, and whatever has one entry per sample is
    a Dask array.
    """

    method_reason: str | None = None  # why ``method="auto"`` chose the method, if it did

    def __init__(self, solutions: Solutions) -> None:
        self.solutions = solutions
        self.job, self.data = solutions.job, solutions.data
        self.lock = ReadersLock()  # one thread makes the tracks, the others wait

    def __repr__(self) -> str:
        n, d = self.data.shape
        (begin, end), job, solutions = self.tau_range, self.job, self.solutions
        within = "" if solutions.tol is None else f", gaps within {solutions.tol:g}"
        without = "" if self.has_data else ", without training data"
        extra = "" if self.data.extra is None else f", {len(self.data.extra)} extra rows"
        return (
            f"<SolutionPath of {solutions.method} {job.kind}, {n} samples and {d} features, "
            f"{job.settings}{extra}: {self.n_kinks} {solutions.noun} over {job.symbol} in "
            f"[{begin:g}, {end:g}]{within}{without}>"
        )

    @property
    def taus(self) -> np.ndarray:
        """The kinks, or the nodes of an approximate path: increasing, with both ends."""
        return self.solutions.kinks

    @property
    def tau_range(self) -> tuple[float, float]:
        """The first and the last value of the parameter."""
        return self.solutions.range

    @property
    def n_kinks(self) -> int:
        """Number of kinks or nodes, including both ends."""
        return len(self.taus)

    @property
    def nbytes(self) -> int:
        """Bytes of the record: kinks and index sets. The training data are not counted."""
        return self.solutions.nbytes

    @property
    def method(self) -> str:
        """Either "exact" or "approximate"."""
        return self.solutions.method

    @property
    def counters(self) -> dict[str, int]:
        """Counters of the work that finding the path took.

        For an exact path: ``kinks`` (events on the path), ``start_events``, ``rows_evaluated``,
        ``zero_length_steps``, ``refactorizations``, ``rewinds`` (stretches that failed a check and
        were thrown away), ``repairs`` (stretches solved node by node instead), ``left_out`` and
        ``exchanges`` (points found dependent on the free ones), ``sum_free`` and ``max_free`` (size
        of the free set). For an approximate path:
        ``nodes``, ``newton_steps``, or ``passes`` of coordinate descent over samples if features
        outnumber them, ``row_visits`` (rows multiplied or added), ``halved`` (steps that were too
        long); with a kernel also ``refreshed`` (sums computed afresh) and
        ``largest_system`` (samples in a Newton step); on a cluster also ``partitions``, ``rounds``,
        ``bytes_sent`` and ``bytes_received``.
        """
        return self.solutions.counters

    @property
    def has_data(self) -> bool:
        """Whether the path has its training data, here or on a cluster."""
        return self.solutions.stated is None

    # -- what only some paths have -------------------------------------------------------------

    @property
    def C(self) -> float:
        """Weight of the loss, 1 / (n λ) for classification; a path over C has none."""
        return float(self._own("C"))

    @property
    def lam(self) -> float:
        """λ = 1 / (n C), of a classification path over τ."""
        return float(self._own("lam")(self.data.shape[0]))

    @property
    def classes(self) -> np.ndarray:
        """The two labels of a classification path; the second one is positive."""
        return np.asarray(self._own("classes"))

    @property
    def tau(self) -> float:
        """The τ of all solutions of a path over C."""
        return float(self._own("tau"))

    @property
    def Cs(self) -> np.ndarray:
        """The kinks of a path over C, increasing, from 0 to C_max."""
        self._own("C_max", "Cs")
        return self.taus

    @property
    def tol(self) -> float:
        """The bound on all gaps of an approximate path."""
        return float(self._own("tol"))

    @property
    def stated(self) -> Certificate:
        """The certificate of a path that was stored without its training data."""
        return cast(Certificate, self._own("stated"))

    def _own(self, name: str, asked: str | None = None) -> Any:
        """Return what the job or the solutions call `name`, if they have it."""
        found = getattr(self.job, name, getattr(self.solutions, name, None))
        if found is None:
            raise AttributeError(f"{self!r} has no attribute {asked or name!r}")
        return found

    # -- solutions -----------------------------------------------------------------------------

    def alpha(self, tau: float) -> Any:
        """Return the dual solution.

        Parameters
        ----------
        tau : float
            Within `tau_range`.

        Returns
        -------
        ndarray of shape (n_samples,)
            α: for classification in the paper's scale, 0 ≤ α_i ≤ c_i(τ); for regression
            C (τ - 1) ≤ α_i ≤ C τ.
        """
        return self.solutions.alpha(self.solutions.check(tau))

    def index_sets(self, tau: float) -> tuple[Any, Any, Any]:
        """Return L, M, R: samples in error, on the margin, and well classified.

        For regression: above the quantile, on it, and below. At a kink these are the sets just
        after it.
        """
        return self.solutions.index_sets(self.solutions.check(tau))

    def coef(self, tau: float) -> np.ndarray:
        """Return the weights of the features, shape (n_features,), for the linear kernel."""
        return self.data.coef(self._function(tau))

    def n_nonzero(self, tau: float) -> int:
        """Return how many features have a weight other than zero; with `l1`, zeros are exact."""
        return int(np.count_nonzero(self.coef(tau)))

    def intercept(self, tau: float) -> float:
        """Return the intercept."""
        return self.data.intercept(self._function(tau))

    def decision_function(self, X: Any, tau: Any = None, *, taus: Any = None) -> Any:
        """Return f_τ(x): x is classified as positive where it is ≥ 0.

        For regression f_τ(x) is the τ-quantile.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel with the training samples.
        tau : float or array-like of shape (n_taus,)
            One τ, or several. For one τ per sample there is `decide_each`.
        taus : array-like of shape (n_taus,)
            Several τ, instead of `tau`: one column each, as in estimators.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_taus)
            One column for each τ where several are asked for.
        """
        return self.solutions.decisions(X, one_or_several(tau, taus, self.job.parameter))

    def decide_each(self, X: Any, tau: Any) -> np.ndarray:
        """Return f_τ(x) with a τ for each sample.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.
        tau : array-like of shape (n_samples,)
            One value per sample.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        X = self.data.check_new(X)
        taus = check_numbers(tau, self.job.parameter)
        if taus.shape != (X.shape[0],):
            raise ValueError(
                f"{self.job.parameter} must have shape ({X.shape[0]},), one value per row, got "
                f"{taus.shape}; for one column per value use decision_function with taus="
            )
        check_all_within(taus, self.job.parameter, self.tau_range)
        decisions = np.empty(X.shape[0])
        several, which = np.unique(taus, return_inverse=True)
        if len(several) <= FEW_TAUS or not self._tracks.complete:
            for k, value in enumerate(several):
                own = np.flatnonzero(which == k)
                decisions[own] = self.data.decide(X[own], self._function(value))
            return decisions
        for some, features in self.data.blocks(X):
            decisions[some] = self._tracks.values(features, taus[some])
        return decisions

    def parts(self, tau: float) -> tuple[float, dict[str, Any]]:
        """Return the intercept at τ and the other parts of the decision function.

        ``coef`` for the linear kernel; otherwise ``kernel``, ``support``, ``support_vectors`` and
        ``dual_coef``.
        """
        solution = self._function(tau)
        return self.data.intercept(solution), self.data.parts(solution)

    def crossings(self, X: Any, level: Any = 0.0) -> Crossings:
        """Return for each sample where f_τ(x) ≥ level, exactly and over all τ of the path.

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
        X = self.data.check_new(X)
        levels = check_levels(level, X.shape[0])
        found = [
            self._tracks.crossings(features, self.data.norms(X[some]), levels[some])
            for some, features in self.data.blocks(X)
        ]
        length, first, last = map(np.concatenate, zip(*found, strict=True))
        begin, end = self.tau_range
        length = np.minimum(length, end - begin)  # a sum of pieces is rounded
        return Crossings(length, first, last)

    def changes(self, X: Any) -> Changes:
        """Return all sign changes of f_τ(x) of each sample, exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        Changes
        """
        X = self.data.check_new(X)
        return Changes.joined(
            (some.start, self._tracks.changes(features, self.data.norms(X[some])))
            for some, features in self.data.blocks(X, len(self._tracks.edges))
        )

    def values_at_nodes(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return all nodes, between which f_τ(x) is linear in τ, and its values there.

        The nodes are the kinks; a kink at which f jumps is listed twice.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            As for `decision_function`.

        Returns
        -------
        ndarray of shape (n_nodes,), ndarray of shape (n_samples, n_nodes)
        """
        features = self.data.features(self.data.check_new(X))
        return self._tracks.taus, self._tracks.all_values(features)

    @property
    def kept_nodes(self) -> np.ndarray:
        """The nodes whose functions are cached: all of them if they fit into memory, else some."""
        return self._tracks.kept

    def kept_functions(self, X: Any) -> KeptFunctions:
        """Return f_τ(x) at the kept nodes and interpolated between them, solving for no τ."""
        return KeptFunctions(self._tracks, self.data.features(self.data.check_new(X)))

    def coefficients_at_kept(self, which: Any = slice(None), columns: Any = None) -> np.ndarray:
        """Return the feature weights at the kept nodes; optionally only some nodes and columns."""
        return self.data.weights(self._tracks.coef[which], columns)

    def coefficients_at_nodes(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield nodes and the feature weights there, a block of nodes at a time.

        For the linear kernel. The nodes are those of `values_at_nodes`.

        Yields
        ------
        ndarray of shape (n_nodes,), ndarray of shape (n_nodes, n_features)
        """
        tracks = self._tracks
        for some in slices(len(tracks.taus), BYTES_AT_A_TIME // (8 * self.data.shape[1])):
            yield tracks.taus[some], self.data.weights(tracks.functions(some.start, some.stop)[0])

    @made_once
    def _tracks(self) -> Tracks:
        data, sweep = self.data, self.solutions.sweep

        def functions(first: int, last: int) -> Functions:
            return data.functions(sweep(first, last, data.by_theta))

        measured = (
            self.method == "exact" and not data.by_theta and data.width <= MOST_METRIC_FEATURES
        )
        moments = data.second_moments() if measured else None
        return Tracks(self.solutions.nodes, functions, data.width, moments, not data.by_theta)

    def __getstate__(self) -> dict[str, Any]:
        derived = ("_tracks", "lock")
        return {name: value for name, value in self.__dict__.items() if name not in derived}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.lock = ReadersLock()

    def _function(self, tau: Any) -> Solution:
        return self.solutions.function(self.solutions.check(tau))

    def simplify(self, tol: float) -> "SolutionPath":
        """Return an approximate path through few of the nodes, with gaps within `tol`.

        Between two of them w and α are interpolated linearly, which keeps α within its bounds.

        Parameters
        ----------
        tol : float
            The bound on the gap at every τ, relative to the objective at w = 0 and τ = ½ (over C:
            at C_max).

        Returns
        -------
        SolutionPath
            Its `certify` bounds the gaps at all τ.
        """
        return cast(SolutionPath, upward.simplify(self, tol))

    # -- files ---------------------------------------------------------------------------------

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the path to a file that `taupath.load` reads.

        The file holds the record and the training data or, for an approximate or simplified path
        with the linear kernel, the functions at the nodes. An approximate path with a kernel is
        stored with its training data, or only with its support vectors if they are at most nine
        tenths. The file contains no code, and has a checksum. An existing file is replaced only if
        all goes well.

        Parameters
        ----------
        file : path
            Where to write.
        data : bool, optional
            Whether to store the training data. By default they are stored only if predictions
            need them: for exact paths, and for kernels.
        """
        upward.save(self, file, data)

    # -- certificates --------------------------------------------------------------------------

    def duality_gap(self, tau: float) -> float:
        """Return primal minus dual objective at τ, computed from the data.

        An upper bound: what rounding can do to it is added. Relative to the primal objective, in
        which outliers count no more than ten typical samples, or to a millionth of that at τ = ½
        (over C: at C_max), if that is larger. For an approximate path, relative to the objective at
        w = 0 and τ = ½ (over C: at C_max). No solution's objective is more than twice that.
        """
        return self.solutions.measure(self.solutions.check(tau)).gap

    def kkt_violation(self, tau: float) -> float:
        """Return the largest violation of an optimality condition at τ, computed from the data.

        In units of the margin: the part of 1 - y f(x) with the wrong sign for a sample at a bound,
        its size for one strictly between. For regression: y - f(x), in units of the typical
        distance of y from its median, or of the sample's own if that is larger.
        """
        return self.solutions.measure(self.solutions.check(tau)).kkt

    def certify(
        self, max_points: Any = 4000, y: Any = None, sample_weight: Any = None, *, X: Any = None
    ) -> Certificate:
        """Measure gaps and optimality conditions along the whole path, from the data.

        Between two kinks the solution is linear and the index sets are fixed, so violations are
        largest at a kink. For an approximate path, the gap between two nodes is a quadratic plus
        the losses of samples that pass the margin, which are bounded from above. So the certificate
        holds for every τ, and it allows for rounding.

        Parameters
        ----------
        max_points : int or None
            Check all kinks and all midpoints between kinks, or `max_points` of them, evenly
            chosen, if there are more; those where the walk met difficulties are checked in any
            case. None for all of them. On an approximate path, all nodes are checked.
        X, y, sample_weight
            The training data of a path that was stored without them, also as
            ``certify(X, y, sample_weight)``. With other data of the same shape, the certificate
            says how far from optimal the path is for these.

        Returns
        -------
        Certificate
            The largest gap and violation, each with its τ. For an approximate path, `worst_gap`
            bounds the gaps at all τ, in the units of `duality_gap`; `worst_kkt` is the largest
            violation at a node.
        """
        if y is None and X is None and sample_weight is None:
            if max_points is not None:
                max_points = check_integer(max_points, "max_points", least=2, or_else="None")
            return self.solutions.certify(max_points)
        given = max_points if X is None else X
        if y is None or (not hasattr(given, "__len__") and not hasattr(given, "shape")):
            raise TypeError(
                "certify takes both X and y, and with them sample_weight, or none of the three"
            )
        return self.attach(given, y, sample_weight).certify()

    def attach(self, X: Any, y: Any, sample_weight: Any = None) -> "SolutionPath":
        """Return the path with its training data, which it was stored without.

        For a simplified path the exact one is walked again, for its α. A pickled path of a Dask
        cluster gets its rows back.

        Parameters
        ----------
        X, y, sample_weight
            What the path was trained on.

        Returns
        -------
        SolutionPath
            The same functions; α, gaps and certificates are available again.
        """
        solutions = self.solutions.attach(X, y, sample_weight)
        return self if solutions is self.solutions else SolutionPath(solutions)
