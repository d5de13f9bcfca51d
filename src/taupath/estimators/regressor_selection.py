"""Choice of kernel, C and γ of quantile regression by cross-validation, for all levels at once."""

import copy
import warnings
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from taupath.approximate.kernel_source import SharedMatrices
from taupath.choices import METHODS
from taupath.estimators.base import all_or_nothing, check_training_samples
from taupath.estimators.candidates import (
    GAMMA_STEP,
    Candidate,
    Standardization,
    check_Cs,
    check_gammas,
    check_kernels,
    make_grid,
    mean_and_deviation,
    scaled,
)
from taupath.estimators.conformal import calibrate, make_folds
from taupath.estimators.costs import check_tau, weights_as_counts
from taupath.estimators.on_device import jobs_at_a_time, with_shared_kernels
from taupath.estimators.parallel import run_all
from taupath.estimators.pinball import pinball_over_levels
from taupath.estimators.rearrangement import rearranged_quantiles
from taupath.estimators.regressor import QuantileSVR
from taupath.exceptions import InexactPathWarning
from taupath.paths.path import SolutionPath
from taupath.progress import share_of
from taupath.validation import (
    Checked,
    check_choice,
    check_targets,
    check_weight,
    shown,
)

# Ends of the values of C that are tried if only their number is given. Three of them, with the
# values of γ below, had losses within 1.9 % of the best of 40 candidates on seven real data sets.
LEAST_C, LARGEST_C = 0.3, 30.0
# Where the best candidate is at an end, the search goes on beyond it, at most so many steps, while
# each of them lowers the loss by this part, and by so many standard errors: with one or less, a
# single outlier among the held-out samples can lead it far away.
STEPS_BEYOND, WORTH_A_STEP, ERRORS_BEYOND = 4, 0.005, 2.0
# What to use instead of the search with a kernel matrix.
WITH_A_MATRIX = "use QuantileSVR with GridSearchCV"
# Parameters that the model of each candidate takes unchanged.
SHARED = ("degree", "coef0", "intercept", "quantile", "cache_size", "tol", "device")


class QuantileSVRCV(QuantileSVR):
    """`QuantileSVR` whose kernel, C and γ are chosen by cross-validation; the one to start with.

    Each candidate is fitted without each fold, and judged by the pinball loss of the fold's samples
    averaged over all levels, exactly (half the continuous ranked probability score). The candidate
    with the least loss is fitted to all samples. The same folds tell how much wider intervals must
    be to hold their share of new samples.

    Parameters
    ----------
    Cs : iterable of float or int, default=3
        Values of C to choose from, or their number, between 0.3 and 30 on a logarithmic scale. If
        only the number is given and the best of them is at an end, the search goes on beyond it,
        while that lowers the loss by more than two standard errors.
    kernel : str, callable or iterable of these, default=("linear", "rbf")
        One kernel, or several to choose from: "linear", "rbf", "poly", "sigmoid" or functions.
    gamma : float, str or iterable of these, default="grid"
        Coefficients of "rbf", "poly" and "sigmoid" to choose from: numbers, "scale" and "auto" as
        in scikit-learn, or "grid" for 1/16, 1/4, 1 and 4 times "scale", and beyond these if the
        best is at an end.
    cv : int, cross-validation generator or iterable, default=5
        Number of folds, of samples in an order that is fixed and random; or as in scikit-learn.
    conformal : bool, default=True
        Whether `predict_interval` is calibrated by the samples that were held out.
    standardize : bool, default=True
        Whether features are brought to mean 0 and standard deviation 1 (sparse ones are not
        shifted), and C is a factor of losses in standard deviations of y. `predict`, `coef_` and
        all else are in the units of X and y. If false, C and γ are for X and y as they are.
    degree, coef0, intercept, quantile, cache_size, method, tol
        As in `QuantileSVR`.
    n_jobs : int, default=None
        Number of paths that are walked in parallel (joblib).
    verbose : int, default=0
        1 shows progress, with the time left, on a terminal or in a notebook.
    device : {"cpu", "cuda", "auto"}, default=None
        As in `QuantileSVC`. The values of C share a kernel matrix for each fold and γ, as far as
        `cache_size` allows; `n_jobs` is then 1.

    Attributes
    ----------
    C_, kernel_, gamma_ : float, str or callable, float or None
        What was chosen: the least loss or, beyond the ends of given values, the last step that
        was worth it. γ is None for kernels without.
    candidates_ : list of dict
        What was tried: ``"kernel"``, ``"gamma"``, ``"C"``, and ``"pinball"``, the mean loss of all
        held-out samples; ``pandas.DataFrame(model.candidates_)`` shows it.
    pinball_ : ndarray of shape (n_candidates, n_folds)
        Mean loss of held-out samples over all levels, in units of y.
    best_estimator_ : Pipeline or QuantileSVR
        The same model as a pipeline of `StandardScaler` and `QuantileSVR`; with
        ``standardize=False`` the latter alone.
    scaler_ : StandardScaler or None
        What X is standardised by.
    path_ : SolutionPath
        The path of all samples: of standardised X, and of y in its own units. Its C is `C_` times
        the standard deviation of y, which gives the same solutions as dividing y by it.
    calibration_, coef_, intercept_, method_, n_iter_, n_features_in_, feature_names_in_
        As in `QuantileSVR`.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.linspace(0.0, 6.0, 60).reshape(-1, 1)
    >>> y = 1000.0 + 50.0 * np.sin(X[:, 0]) + 5.0 * np.cos(40.0 * X[:, 0])
    >>> model = taupath.QuantileSVRCV().fit(X, y)
    >>> model.kernel_
    'rbf'
    """

    def __init__(
        self,
        Cs: int | Iterable[float] = 3,
        *,
        kernel: Any = ("linear", "rbf"),
        gamma: Any = "grid",
        cv: Any = 5,
        conformal: bool = True,
        standardize: bool = True,
        degree: float = 3,
        coef0: float = 0.0,
        intercept: str = "free",
        quantile: float = 0.5,
        cache_size: float = 1000.0,
        method: str = "exact",
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        device: str | None = None,
    ) -> None:
        self.Cs = Cs
        self.kernel = kernel
        self.gamma = gamma
        self.cv = cv
        self.conformal = conformal
        self.standardize = standardize
        self.degree = degree
        self.coef0 = coef0
        self.intercept = intercept
        self.quantile = quantile
        self.cache_size = cache_size
        self.method = method
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.device = device

    @all_or_nothing
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QuantileSVRCV":
        """Choose kernel, C and γ, then follow the path of all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            What is to be predicted.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the samples' losses, in training, in the choice and in the calibration:
            weight 2 is two copies in the same fold, weight 0 is absence. For the calibration see
            `QuantileSVR.fit`.

        Returns
        -------
        self
        """
        for name in ("conformal", "standardize"):
            if not isinstance(getattr(self, name), (bool, np.bool_)):
                raise TypeError(f"{name} must be True or False, got {shown(getattr(self, name))}")
        kernels, Cs = check_kernels(self.kernel, WITH_A_MATRIX), check_Cs(self.Cs, _evenly).tolist()
        check_choice(self.method, "method", METHODS)
        check_tau(self.quantile, "quantile")
        X, y, sample_weight = check_training_samples(self, X, y, sample_weight, y_numeric=True)
        targets, weight = check_targets(y, X.shape[0]), check_weight(sample_weight, X.shape[0])
        # where each fold is standardised by itself, no other one has its kernel matrices
        shared = SharedMatrices(latest=bool(self.standardize))
        data = _Data(with_shared_kernels(X, shared), targets, weight)
        folds = make_folds(self.cv, data.weight, "cv")
        gammas = check_gammas(self.gamma, _Units.of(data, self.standardize).variance, X.shape[1])
        grid = make_grid(kernels, gammas, Cs)
        parts = [
            _Part.of(data.some(train), data.some(test), self.standardize) for train, test in folds
        ]
        with self._watched() as progress:
            tried, by_candidate, best, begin = self._search(grid, X.shape[0], parts, progress)
            self.candidates_ = [
                {**each._asdict(), "pinball": _loss(own, parts)}
                for each, own in zip(tried, by_candidate, strict=True)
            ]
            self.pinball_ = np.array([[fold.loss for fold in own] for own in by_candidate])
            self.kernel_, self.gamma_, self.C_ = tried[best]
            last = tried[best].model(QuantileSVR, self, SHARED, X.shape[0])
            last.set_params(n_jobs=self.n_jobs)
            last._progress = share_of(progress, begin, 1.0 - begin)
            units = _Units.of(data, self.standardize)
            path = _fitted(last, units, units.standardized(data))
        self.scaler_ = units.scaler
        self._set_paths([path])
        self.calibration_ = None
        if self.conformal:
            own = by_candidate[best]

            def quantiles_of(k: int, quantiles: np.ndarray) -> np.ndarray:
                return rearranged_quantiles(own[k].path, parts[k].test.X, quantiles)

            self.calibration_ = calibrate(quantiles_of, data.y, data.weight, folds)
        return self

    def _search(
        self,
        grid: list[Candidate],
        n_samples: int,
        parts: "Sequence[_Part]",
        progress: Any,
    ) -> "tuple[list[Candidate], list[list[_HeldOut]], int, float]":
        """Return what was tried, what it left of each fold, the best, and the work done."""
        tried: list[Candidate] = []
        by_candidate: list[list[_HeldOut]] = []
        new, best, begin = grid, 0, 0.0
        for step in range(STEPS_BEYOND + 1):
            models = [each.model(QuantileSVR, self, SHARED, n_samples) for each in new]
            # Fold after fold, so that progress is even: paths of some candidates take longer, but
            # every fold takes about the same time.
            jobs = [{"model": model, "part": part} for part in parts for model in models]
            # what is left is taken to be another candidate, and the path of all samples
            size = (1.0 - begin) * len(jobs) / (len(jobs) + len(parts) + 1.0)
            n_jobs = jobs_at_a_time(parts[0].train.X, self.n_jobs)
            found = run_all(_held_out, jobs, n_jobs, share_of(progress, begin, size))
            begin += size
            tried += new
            by_candidate += [found[c :: len(new)] for c in range(len(new))]
            losses = [_loss(own, parts) for own in by_candidate[-len(new) :]]
            first = len(tried) - len(new) + int(np.argmin(losses))
            if step > 0 and not _worth_it(by_candidate[best], by_candidate[first], parts):
                break
            best = first
            new = self._beyond(tried, best)
            if not new:
                break
        return tried, by_candidate, best, begin

    def _beyond(self, tried: list[Candidate], best: int) -> list[Candidate]:
        """Return the neighbours of the best candidate that were not tried yet.

        There are some only if it is at an end of values that were not given one by one.
        """
        own = tried[best]
        found = []
        if isinstance(self.Cs, (int, np.integer)) and self.Cs > 1:
            step = float((LARGEST_C / LEAST_C) ** (1.0 / (self.Cs - 1)))
            found += [own._replace(C=own.C * factor) for factor in (1.0 / step, step)]
        if isinstance(self.gamma, str) and self.gamma == "grid" and own.gamma is not None:
            steps = (1.0 / GAMMA_STEP, GAMMA_STEP)
            found += [own._replace(gamma=own.gamma * factor) for factor in steps]
        return [each for each in found if not any(each.same(other) for other in tried)]

    def _check_new(self, X: Any) -> Checked:
        checked = super()._check_new(X)
        return scaled(self.scaler_, checked)

    @property
    def best_estimator_(self) -> Pipeline | QuantileSVR:
        """The model as a pipeline of `StandardScaler` and `QuantileSVR`, or the latter alone."""
        check_is_fitted(self)
        chosen = Candidate(self.kernel_, self.gamma_, self.path_.C)
        model = chosen.model(QuantileSVR, self, SHARED, self.path_.data.shape[0])
        model.n_features_in_ = self.n_features_in_
        model.calibration_ = self.calibration_
        model._set_paths([self.path_])
        first: Any = model if self.scaler_ is None else copy.copy(self.scaler_)
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return model if first is model else Pipeline([("scaler", first), ("quantilesvr", model)])

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features at `quantile`, in the units of X and y; linear kernel only."""
        self._check_linear("coef_")
        coef = self.path_.coef(self.quantile)
        return coef if self.scaler_ is None else coef / self.scaler_.scale_

    @property
    def intercept_(self) -> float:
        """The constant that goes with `coef_`."""
        self._check_linear("intercept_")
        constant, scaler = self.path_.intercept(self.quantile), self.scaler_
        if scaler is None or not scaler.with_mean:
            return constant
        return constant - float(self.coef_ @ scaler.mean_)

    def _check_linear(self, name: str) -> None:
        check_is_fitted(self)
        if self.kernel_ != "linear":
            raise AttributeError(
                f"{name} exists for the linear kernel only; chosen was {shown(self.kernel_)}"
            )


# -- fits ------------------------------------------------------------------------------------------


class _Data(NamedTuple):
    X: Checked
    y: np.ndarray
    weight: np.ndarray

    def some(self, which: np.ndarray) -> "_Data":
        return _Data(self.X[which], self.y[which], self.weight[which])


class _Units(NamedTuple):
    """What X is standardised by, its variance after that, and the unit of losses."""

    scaler: StandardScaler | None
    variance: float  # of all entries of X
    loss: float  # the standard deviation of y; 1 if y is constant or nothing is standardised

    @classmethod
    def of(cls, data: _Data, standardize: bool) -> "_Units":
        """Return those of some samples."""
        features = Standardization.of(data.X, data.weight, standardize)
        if not standardize:
            return cls(*features, 1.0)
        deviation = float(mean_and_deviation(data.y[:, np.newaxis], data.weight)[1][0])
        return cls(*features, deviation if deviation > 0.0 else 1.0)

    def standardized(self, data: _Data) -> _Data:
        """Return samples with standardised X."""
        return data._replace(X=scaled(self.scaler, data.X))


class _Part(NamedTuple):
    """A fold: what is left for training, and what is held out, both in the units of the former."""

    units: _Units
    train: _Data
    test: _Data

    @classmethod
    def of(cls, train: _Data, test: _Data, standardize: bool) -> "_Part":
        """Return the fold of these samples as they were given."""
        units = _Units.of(train, standardize)
        return cls(units, units.standardized(train), units.standardized(test))


class _HeldOut(NamedTuple):
    """The path without a fold, and the losses of the fold's samples, with their mean."""

    path: SolutionPath
    losses: np.ndarray  # of each sample
    loss: float


def _fitted(model: QuantileSVR, units: _Units, data: _Data) -> SolutionPath:
    """Fit a model to standardised samples, its C in units of their losses."""
    model.set_params(C=model.C * units.loss)
    model._warns_of_patterns = False
    model.fit(*data)
    return model.path_


def _held_out(model: QuantileSVR, part: _Part, progress: Any = None) -> _HeldOut:
    """Fit a model to all folds but one, and return its loss on that one."""
    own = clone(model).set_params(kernel=model.kernel)  # of a copied function, nothing is shared
    own._progress = progress
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactPathWarning)  # the fit of all samples gives its own
        path = _fitted(own, part.units, part.train)
    losses = pinball_over_levels(path, part.test.X, part.test.y)
    # copied without what was derived from it, kernel matrices and what predictions need
    kept = SolutionPath(copy.copy(path.solutions))
    return _HeldOut(kept, losses, float(np.average(losses, weights=part.test.weight)))


def _loss(own: Sequence[_HeldOut], parts: Sequence[_Part]) -> float:
    """Return the mean loss of all held-out samples."""
    weight = [part.test.weight.sum() for part in parts]
    return float(np.average([fold.loss for fold in own], weights=weight))


def _worth_it(
    before: Sequence[_HeldOut], after: Sequence[_HeldOut], parts: Sequence[_Part]
) -> bool:
    """Return whether a step lowers the loss by enough, and by more than chance would."""
    weight = np.concatenate([part.test.weight for part in parts])
    # weight 2 is two copies; but small weights, such as shares of 1, count as (Σ w)² / Σ w² samples
    number = max(weight.sum(), weights_as_counts(weight).sum())
    share = weight / weight.sum()
    gains = [old.losses - new.losses for old, new in zip(before, after, strict=True)]
    gain = np.concatenate(gains)
    mean = float(share @ gain)
    error = float(np.sqrt(share @ (gain - mean) ** 2 / number))
    return mean > max(WORTH_A_STEP * _loss(before, parts), ERRORS_BEYOND * error)


# -- arguments -------------------------------------------------------------------------------------


def _evenly(number: int) -> np.ndarray:
    """Return so many values of C, rounded to what they look like."""
    return np.array([float(f"{C:.12g}") for C in np.geomspace(LEAST_C, LARGEST_C, number)])
