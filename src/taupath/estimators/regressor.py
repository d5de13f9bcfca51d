"""The regressor: quantiles are chosen when it predicts, and they never cross."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.metrics import d2_pinball_score
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from taupath.estimators.base import PathEstimator, all_or_nothing
from taupath.estimators.conformal import Calibration, calibrate, make_folds
from taupath.estimators.costs import check_each, check_tau
from taupath.estimators.fit_time import advise
from taupath.estimators.missed_pattern import warn_of_missed_pattern
from taupath.estimators.rearrangement import ROWS_REARRANGED_AT_ONCE, rearranged_quantiles
from taupath.fitting.constraints import check_constraints
from taupath.fitting.regression import quantile_regression_path
from taupath.paths.blocks import slices
from taupath.paths.path import SolutionPath
from taupath.progress import share_of
from taupath.validation import (
    MAX_ROWS,
    UNIT_INTERVAL,
    Checked,
    check_all_within,
    check_integer,
    check_numbers,
    check_real,
    check_targets,
    check_weight,
    shown,
)

# Up to this many draws per sample, solving for each τ is cheaper than values at all kinks.
FEW_DRAWS = 8
# Parameters that `quantile_regression_path` takes unchanged.
PASSED_ON = (
    *("C", "kernel", "gamma", "degree", "coef0", "intercept", "cache_size", "tol", "n_jobs", "l1"),
    *("constraints", "device"),
)


class QuantileSVR(RegressorMixin, PathEstimator):
    """Kernel quantile regression for every quantile at once.

    `fit` follows the exact solution over the quantile, so that any quantile, interval or whole
    distribution can be predicted afterwards. Where fitted quantiles cross, they are rearranged: the
    predicted quantile function of each sample is the increasing one with the same values.

    Nothing is scaled or chosen: `QuantileSVRCV` does both, and is the one to start with. If
    training samples show that kernel, C or the scale of the features is unsuited, `fit` gives a
    `MissedPatternWarning`.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss against ½‖w‖².
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="linear"
        As in `sklearn.svm.SVR`.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid".
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    intercept : {"augmented", "free", "none"}, default="free"
        "free": not regularised, as in `sklearn.svm.SVR`. "augmented": a constant feature,
        regularised like the others. "none": no intercept.
    quantile : float, default=0.5
        What `predict` returns if no other quantile is asked for.
    conformal : int, cross-validation generator or iterable, default=None
        Number of folds, held out in turn, from which `predict_interval` learns how much wider
        intervals must be to hold their share of new samples: paths that follow their training
        samples closely have intervals that are too narrow. 10 is a good number; each fold takes
        as long as the path itself, or longer. The shuffling of samples is fixed; for groups, time
        series or a single held-out part, give the samples of each fold as for `cv` in
        scikit-learn. None: intervals are those of the path. Quantiles, `cdf`, `sample` and
        `score` are those of the path in any case.
    cache_size : float, default=1000.0
        Memory for a kernel matrix, in megabytes; `quantile_path` says what happens beyond it.
    n_jobs : int, default=None
        2 or more walk each path from both ends, in two threads.
    l1, constraints
        As in `QuantileSVC`, with ``intercept="augmented"`` or ``"none"``.
    method, tol, verbose, device
        As in `QuantileSVC`.

    Attributes
    ----------
    path_ : SolutionPath
        The path, of all samples.
    calibration_ : Calibration or None
        The share of held-out samples that intervals hold: `level`, `step`, `share`.
    coef_, intercept_ : ndarray of shape (n_features,), float
        For the linear kernel, at `quantile`.
    method_ : str
        "exact" or "approximate".
    n_iter_ : int
        Number of kinks, or nodes, of the path.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where `fit` was given any.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.arange(6.0).reshape(-1, 1)
    >>> model = taupath.QuantileSVR(C=100.0).fit(X, [0.0, 1.0, 5.0, 3.0, 4.0, 5.0])
    >>> model.predict([[2.0]], quantile=[0.1, 0.5, 0.9]).round(6)
    array([[2., 2., 5.]])
    """

    def __init__(
        self,
        C: float = 1.0,
        *,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        intercept: str = "free",
        quantile: float = 0.5,
        conformal: Any = None,
        cache_size: float = 1000.0,
        method: str = "exact",
        tol: float = 1e-3,
        n_jobs: int | None = None,
        l1: float = 0.0,
        constraints: Any = None,
        verbose: int = 0,
        device: str | None = None,
    ) -> None:
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.intercept = intercept
        self.quantile = quantile
        self.conformal = conformal
        self.cache_size = cache_size
        self.method = method
        self.tol = tol
        self.n_jobs = n_jobs
        self.l1 = l1
        self.constraints = constraints
        self.verbose = verbose
        self.device = device

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QuantileSVR":
        """Follow the path.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            What is to be predicted.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the samples' losses: weight 2 is two copies, weight 0 is absence. With
            `conformal`, intervals cover shares of the weight, as much as (Σ w)² / Σ w² samples
            without weights can tell.

        Returns
        -------
        self
        """
        X, y, sample_weight = self._check_training(X, y, sample_weight, y_numeric=True)
        check_tau(self.quantile, "quantile")
        weight = check_weight(sample_weight, X.shape[0])
        self.calibration_: Calibration | None = None
        folds = [] if self.conformal is None else make_folds(self.conformal, weight)
        n = len(folds) + 1
        pairwise = self.kernel == "precomputed"
        with self._watched() as progress:
            first = share_of(progress, 0.0, 1.0 / n) if folds else progress
            job = self._job(self.method, X, y, weight)
            advise(first, quantile_regression_path, job)
            self._set_paths([quantile_regression_path(**job, progress=first)])
            if folds:
                constraints = check_constraints(self.constraints)

                def held_out(k: int, quantiles: np.ndarray) -> np.ndarray:
                    train, test = folds[k]
                    columns = train if pairwise else slice(None)
                    job = self._job(self.method_, X[train][:, columns], y[train], weight[train])
                    job["constraints"] = [each.for_samples(train) for each in constraints]
                    path = quantile_regression_path(
                        **job, progress=share_of(progress, (k + 1) / n, 1.0 / n)
                    )
                    return rearranged_quantiles(path, X[test][:, columns], quantiles)

                self.calibration_ = calibrate(held_out, y, weight, folds)
        if self._warns_of_patterns and not pairwise:
            there = np.flatnonzero(weight > 0.0)
            warn_of_missed_pattern(self.path_, X[there], y[there])
        return self

    # Whether `fit` warns if the path misses a pattern; not where kernel and C are being chosen.
    _warns_of_patterns = True

    def _all_paths(self) -> list[SolutionPath]:
        return [self.path_]

    def _set_paths(self, paths: Sequence[SolutionPath]) -> None:
        (self.path_,) = paths
        self.n_iter_, self.method_ = self.path_.n_kinks, self.path_.method

    def _job(self, method: str, X: Checked, y: np.ndarray, weight: np.ndarray) -> dict[str, Any]:
        """Return the arguments of the path of some samples."""
        own = {name: getattr(self, name) for name in PASSED_ON}
        return {"X": X, "y": y, "sample_weight": weight, "method": method, **own}

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features at `quantile`, shape (n_features,); for the linear kernel only.

        ``X @ coef_ + intercept_`` is what `predict` returns where fitted quantiles do not cross.
        """
        self._check_linear("coef_")
        return self.path_.coef(self.quantile)

    @property
    def intercept_(self) -> float:
        """The constant that goes with `coef_`."""
        self._check_linear("intercept_")
        return self.path_.intercept(self.quantile)

    def n_nonzero(self, quantile: float | None = None) -> int:
        """Return how many features have a weight other than zero at a quantile.

        For the linear kernel; with `l1`, zeros are exact.

        Parameters
        ----------
        quantile : float, optional
            That of the constructor if not given.

        Returns
        -------
        int
        """
        self._check_linear("n_nonzero")
        at = self.quantile if quantile is None else check_tau(quantile, "quantile")
        return self.path_.n_nonzero(at)

    def predict(self, X: Any, quantile: Any = None) -> np.ndarray:
        """Predict quantiles of y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        quantile : float or array-like of shape (n_quantiles,), optional
            One quantile, or several; that of the constructor if not given.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_quantiles)
            Never decreasing from a quantile to a larger one.
        """
        X = self._check_new(X)
        quantiles = _check_quantiles(self.quantile if quantile is None else quantile)
        found = rearranged_quantiles(self.path_, X, np.atleast_1d(quantiles))
        return found[:, 0] if quantiles.ndim == 0 else found

    def predict_interval(self, X: Any, coverage: float = 0.8) -> np.ndarray:
        """Predict an interval that holds y with probability `coverage`.

        If C is so large that the path follows its training samples closely, intervals hold fewer of
        the new ones, unless `conformal` is given. Intervals of a smaller coverage lie within those
        of a larger one.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.8
            According to the path, the same probability remains on either side.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            The quantiles (1 - coverage) / 2 and (1 + coverage) / 2. With `conformal`, those of
            another coverage, and a step further on both sides; infinite for coverages above
            n / (n + 1), about which n held-out samples say nothing.

        Notes
        -----
        `conformal` is conformalised quantile regression (Romano, Patterson & Candès 2019), with
        scores pooled over folds in place of a second sample, and the path of all samples in place
        of theirs. Its coverage is right if that path predicts as well as those of the folds. As a
        rule coverage is slightly larger, since the path has seen more samples, and the more so the
        fewer folds there are. For finite samples this is not a guarantee.
        """
        number = check_real(coverage, "coverage")
        if not 0.0 < number < 1.0:
            raise ValueError(f"coverage must lie between 0 and 1, got {shown(coverage)}")
        check_is_fitted(self)
        level, step = number, 0.0
        if self.calibration_ is not None:
            level, step = self.calibration_.at(number)
        interval = self.predict(X, quantile=[0.5 - 0.5 * level, 0.5 + 0.5 * level])
        return np.asarray(interval + np.array([-step, step]))

    def cdf(self, X: Any, y: Any) -> np.ndarray:
        """Return the predicted probability of values up to y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : float or array-like of shape (n_samples,)
            One value for all samples, or one for each.

        Returns
        -------
        ndarray of shape (n_samples,)
            The length of {τ : f_τ(x) ≤ y}, exactly.
        """
        X = self._check_new(X)
        levels = np.nextafter(check_each(y, "y", X.shape[0]), np.inf)
        if np.isnan(levels).any():
            raise ValueError("y must not be NaN: give the values to compare with")
        return 1.0 - self.path_.crossings(X, levels).length

    def sample(self, X: Any, n: int = 1, random_state: Any = None) -> np.ndarray:
        """Draw from the predicted distribution of y.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        n : int, default=1
            How many values to draw for each.
        random_state : int, RandomState instance or None
            As in scikit-learn.

        Returns
        -------
        ndarray of shape (n_samples, n)
        """
        X = self._check_new(X)
        n = check_integer(n, "n", least=0)
        if n > MAX_ROWS:
            raise ValueError(f"n must be at most {MAX_ROWS}, got {shown(n)}")
        taus = check_random_state(random_state).uniform(size=(X.shape[0], n))
        drawn = np.empty((X.shape[0], n))
        if n <= FEW_DRAWS:
            for k in range(n):
                drawn[:, k] = self.path_.decide_each(X, taus[:, k])
            return drawn
        for some in slices(X.shape[0], ROWS_REARRANGED_AT_ONCE):
            nodes, values = self.path_.values_at_nodes(X[some])
            for i, row in enumerate(values, start=some.start):
                drawn[i] = np.interp(taus[i], nodes, row)
        return drawn

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return D² of the pinball loss at the constructor's quantile.

        1 for predictions without loss, 0 for those of a constant (`sklearn.metrics.
        d2_pinball_score`).
        """
        predicted = self.predict(X)
        y = check_targets(y, len(predicted))
        weight = None if sample_weight is None else check_weight(sample_weight, len(predicted))
        return float(d2_pinball_score(y, predicted, sample_weight=weight, alpha=self.quantile))


def _check_quantiles(quantile: Any) -> np.ndarray:
    """Return one quantile (no dimension) or several."""
    quantiles = check_numbers(quantile, "quantile")
    if quantiles.ndim > 1:
        raise ValueError(
            f"quantile must be a number or have one dimension, got shape {quantiles.shape}"
        )
    return check_all_within(quantiles, "quantile", UNIT_INTERVAL)
