"""Choice and combination of kernels, C and γ by cross-validation, for every τ at once."""

import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from taupath.choices import COMBINE, LAPLACE
from taupath.estimators.base import (
    all_or_nothing,
    check_labels_of_classes,
    check_training_samples,
)
from taupath.estimators.candidates import Candidate, Standardization, scaled
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.combination import choose_per_tau, choose_stack
from taupath.estimators.combined import CombinedClassifier
from taupath.estimators.costs import (
    check_tau,
    check_tau_columns,
    weight_below,
    weights_as_counts,
)
from taupath.estimators.fit_time import LONG
from taupath.estimators.on_device import jobs_at_a_time, with_shared_kernels
from taupath.estimators.out_of_fold import (
    Data,
    Fold,
    HeldOut,
    Score,
    check_folds,
    fitted,
    held_out,
)
from taupath.estimators.parallel import run_all
from taupath.estimators.probability_intervals import ProbabilityIntervals
from taupath.estimators.quick_folds import is_quick, matrices_that_fit, methods_of
from taupath.estimators.search_grid import candidates_of
from taupath.estimators.search_time import PathSizes, path_sizes, rbf_seconds
from taupath.estimators.useful_range import useful_range
from taupath.fitting.over_tau import Request
from taupath.paths.options import Options
from taupath.progress import duration, share_of
from taupath.validation import UNIT_INTERVAL, check_choice, check_numbers, check_weight, shown

# Parameters that the model of each candidate takes unchanged.
OF_EACH_MODEL = (
    *("degree", "coef0", "intercept", "tau", "pos_label", "tau_range", "monotone"),
    *("clip", "class_weight", "multi_class", "cache_size", "tol", "device"),
)


class QuantileSVCCV(CombinedClassifier):
    """The classifier to start with: `QuantileSVC` with kernel, C and γ left to cross-validation.

    Features are standardised. Each candidate, a kernel with its γ and a C, is fitted with one fold
    held out at a time, and predicts probabilities for that fold. By default these are stacked: the
    probability is the logistic function of a weighted sum of the candidates' logits, with weights
    that minimise the log-loss of held-out samples. The candidates that are used are then fitted to
    all samples.

    Parameters
    ----------
    Cs : "auto", iterable of float, or int, default="auto"
        Values of C to choose from, or their number, between 1e-4 and 1e4 on a logarithmic scale.
        "auto": 0.01, 0.1 and 1 for the linear kernel, 1 and 10 for others.
    kernel : str, callable or iterable of these, default="auto"
        One kernel, or several: "linear", "rbf", "poly", "sigmoid" or functions; or "precomputed",
        alone. "auto": linear and RBF. If the RBF paths would take more than five minutes of CPU
        time, as with 10 000 samples or more, fewer of the automatic γ and C are tried with it, and
        none if even that takes longer.
    gamma : float, str or iterable of these, default="grid"
        Coefficients of "rbf", "poly" and "sigmoid" to choose from: numbers, "scale" and "auto" as
        in scikit-learn, or "grid" for 1 and 4 times "scale". With automatic C, a stack tries 4
        times "scale" with C = 10 only.
    combine : {"stack", "best", "per_tau"}, default="stack"
        What the final model is. "stack": see above. "best": the candidate with the least Brier
        score, or the best of `scoring`; decisions are those of its SVMs and probabilities the exact
        lengths, as in `QuantileSVC`. "per_tau": for each τ the candidate with the least cost of
        held-out samples, averaged over nearby τ; two classes only. With "stack" and "per_tau" a
        sample is positive where its probability is at least τ, and no probability is exactly 0
        or 1.
    cv : int, "loo", cross-validation generator or iterable, default=5
        As in scikit-learn; for an integer, folds are stratified. "loo": every sample is held out by
        itself, for at most 300 samples.
    scoring : str or callable, default=None
        Score by which ``combine="best"`` chooses, as in scikit-learn: its name, or a scorer as
        returned by `make_cost_scorer`. The mean over held-out samples is maximised. None: the Brier
        score, which is the loss at τ averaged over all τ.
    standardize : bool, default=True
        Whether features are brought to mean 0 and standard deviation 1 (sparse ones are not
        shifted, a kernel matrix is left alone). `coef_` is in the units of X.
    degree, coef0, intercept, tau, pos_label, tau_range, monotone, clip
        As in `QuantileSVC`. The last three are for ``combine="best"``.
    class_weight, multi_class, cache_size, tol
        As in `QuantileSVC`.
    method : {"auto", "exact", "approximate"}, default="auto"
        As in `QuantileSVC`, for all paths. "auto" judges candidates without exact paths: with the
        RBF kernel by a few solutions for a kernel matrix that all folds share, if `cache_size`
        holds it, and with the linear kernel by these or approximate paths; unless `scoring` needs
        models, or `tau_range` is limited. The final paths are exact, linear ones up to 20 000
        samples.
    n_jobs : int, default=None
        Number of paths that are walked in parallel (joblib).
    verbose : int, default=0
        1 shows progress, with the time left, on a terminal or in a notebook. Before a long search
        it says how long the RBF paths will take, and what is left out.
    device : {"cpu", "cuda", "auto"}, default=None
        As in `QuantileSVC`. All folds and values of C share one kernel matrix for each γ, as far
        as `cache_size` allows; `n_jobs` is then 1.

    Attributes
    ----------
    candidates_ : list of dict
        What was tried: ``"kernel"``, ``"gamma"``, ``"C"``; ``"brier"``, the mean of all held-out
        samples; and ``"used"``, whether it is part of the model.
        ``pandas.DataFrame(model.candidates_)`` shows it.
    refit_time_ : float
        Seconds that the final fits to all samples took.
    left_out_ : list of str
        What was not tried because it would take too long, how long, and why.
    C_, kernel_, gamma_ : float, str or callable, float or None
        The best candidate: the least Brier score, or the best of `scores_`; of several, the first.
    Cs_ : ndarray of shape (n_candidates,)
        The C of each candidate.
    brier_ : ndarray of shape (n_candidates, n_folds)
        Mean squared distance of held-out probabilities to the truth, summed over classes and
        halved.
    scores_ : ndarray of shape (n_candidates, n_folds)
        If `scoring` is given, the scores of held-out samples.
    probabilities_ : list of ndarray
        For two classes: the probability of the positive class of all held-out samples, fold after
        fold, for each candidate.
    estimators_ : list of QuantileSVC
        The fitted candidates that the model consists of; one for ``combine="best"``.
    combination_ : Stack, PerTau or None
        How their probabilities are combined, with ``weights`` and ``intercept``.
    constant_below_, constant_above_ : float
        At τ outside of this range, decisions about held-out samples were no better than one
        decision for all: `predict` decides positive for all below it, negative for all above. Two
        classes only; 0 and 1 for ``combine="best"``, which is not checked.
    best_estimator_ : Pipeline or QuantileSVC
        For ``combine="best"``: the same model as a pipeline of `StandardScaler` and `QuantileSVC`;
        with ``standardize=False`` the latter alone.
    scaler_ : StandardScaler or None
        What X is standardised by.
    paths_ : list of SolutionPath
        All paths of `estimators_`, each with its certificate.
    path_ : SolutionPath
        The path for two classes and ``combine="best"``.
    classes_, pos_label_, clip_, coef_, intercept_, method_, n_iter_
        As in `QuantileSVC`; the coefficients for ``combine="best"`` and the linear kernel only.
    n_features_in_, feature_names_in_
        As in `QuantileSVC`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> import taupath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = taupath.QuantileSVCCV(pos_label=0).fit(X, y)  # 0 is malignant
    >>> alarms = model.predict(X, cost_fp=1, cost_fn=20) == 0
    """

    def __init__(
        self,
        Cs: str | int | Iterable[float] = "auto",
        *,
        kernel: Any = "auto",
        gamma: Any = "grid",
        combine: str = "stack",
        cv: Any = 5,
        scoring: Any = None,
        standardize: bool = True,
        degree: float = 3,
        coef0: float = 0.0,
        intercept: str = "augmented",
        tau: float = 0.5,
        pos_label: Any = None,
        tau_range: tuple[float, float] = (0.0, 1.0),
        monotone: bool = False,
        clip: str | float = LAPLACE,
        class_weight: Any = None,
        multi_class: str = "ovo",
        cache_size: float = 1000.0,
        method: str = "auto",
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
        device: str | None = None,
    ) -> None:
        self.Cs = Cs
        self.kernel = kernel
        self.gamma = gamma
        self.combine = combine
        self.cv = cv
        self.scoring = scoring
        self.standardize = standardize
        self.degree = degree
        self.coef0 = coef0
        self.intercept = intercept
        self.tau = tau
        self.pos_label = pos_label
        self.tau_range = tau_range
        self.monotone = monotone
        self.clip = clip
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.cache_size = cache_size
        self.method = method
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.device = device

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        cost_fp: Any = None,
        cost_fn: Any = None,
    ) -> "QuantileSVCCV":
        """Judge all candidates by cross-validation, and fit those that are used to all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the samples' costs, in training, in the losses and in the combination.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            As in `QuantileSVC.fit`, in training, in the losses and in the combination.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y, sample_weight = check_training_samples(self, X, y, sample_weight)
        X = with_shared_kernels(X)
        self._training_rows = None
        check_labels_of_classes(y)
        sample_weight = self._with_costs(y, sample_weight, cost_fp, cost_fn)
        weight = check_weight(sample_weight, X.shape[0])
        self._find_classes(y, weight)
        if self.combine == "per_tau" and len(self.classes_) > 2:
            raise ValueError(
                f"combine='per_tau' is for two classes, y has {len(self.classes_)}; use 'stack'"
            )
        folds = check_folds(self.cv, X, y, weight)
        self._find_classes(y, weight)
        self._class_weights(y)  # refused before the search, if they cannot be used
        sizes = PathSizes(
            path_sizes(y, [slice(None)], self.multi_class),
            path_sizes(y, [fold.train for fold in folds], self.multi_class),
            matrices_that_fit(self, X.shape[0]) if is_quick(self) else 0,
        )
        alone = isinstance(self.kernel, str) and self.kernel == "precomputed"
        standard = Standardization.of(X, weight, bool(self.standardize) and not alone)
        self.scaler_ = standard.scaler
        grid, self.left_out_ = candidates_of(self, standard.variance, X.shape[1], sizes)
        models = [each.model(QuantileSVC, self, OF_EACH_MODEL, X.shape[0]) for each in grid]
        score = None
        if self.scoring is not None:
            score = Score(self.scoring, models[0], sample_weight is not None)
        data = Data(scaled(self.scaler_, X), y, weight)
        n_jobs = len(folds) * len(models)
        done = n_jobs / (n_jobs + 1.0)  # the final paths take longer, but are few
        with self._watched() as progress:
            for line in self._announced(grid, sizes) if hasattr(progress, "say") else ():
                progress.say(line)
            part = share_of(progress, 0.0, done)
            by_candidate = self._held_out(grid, models, data, folds, score, part)
            tests = np.concatenate([fold.test for fold in folds])
            self._truth, self._test_weight = y[tests], weight[tests]
            self._held_out_once = len(np.unique(tests)) == len(tests)
            weight_of_folds = np.array([weight[fold.test].sum() for fold in folds])
            best = self._judge(grid, by_candidate, weight_of_folds)
            used = self._combine(by_candidate, best)
            for place, each in enumerate(self.candidates_):
                each["used"] = place in used
            rest = share_of(progress, done, 1.0 - done)
            self._fit_all([models[place] for place in used], data, rest)
        return self

    def _check_parameters(self) -> None:
        """Check what does not depend on the data: also what only the final paths would refuse."""
        check_choice(self.combine, "combine", COMBINE)
        own = Options(intercept=self.intercept, cache_size=self.cache_size)
        how = (self.n_jobs, self.method, self.tol, None, self.device)
        tau_range = Request.checked(own, self.tau_range, *how).tau_range
        if not isinstance(self.standardize, (bool, np.bool_)):
            raise TypeError(f"standardize must be True or False, got {shown(self.standardize)}")
        if self.combine == "best":
            return
        if tau_range != UNIT_INTERVAL:
            raise ValueError(
                f"tau_range={shown(self.tau_range)} is for combine='best': combining "
                "probabilities needs every τ"
            )
        if self.scoring is not None:
            raise ValueError(
                "scoring chooses one candidate, so it is for combine='best', not for "
                f"combine={shown(self.combine)}"
            )

    def _announced(self, grid: list[Candidate], sizes: PathSizes) -> list[str]:
        """Return what to say before a search: what is left out, or how long it will take."""
        seconds = rbf_seconds(grid, sizes)
        if self.left_out_ or seconds <= LONG:
            return self.left_out_
        return [f"The RBF paths will take about {duration(seconds)} of CPU time"]

    def _held_out(
        self,
        grid: Sequence[Candidate],
        models: Sequence[QuantileSVC],
        data: Data,
        folds: Sequence[Fold],
        score: Score | None,
        progress: Any,
    ) -> list[list[HeldOut]]:
        """Return, for each candidate, predictions for all folds; kernel matrices are gone then."""
        methods = methods_of(grid, self, data.X, data.weight)
        # Fold after fold, so that progress is even: paths of some candidates take longer, but every
        # fold takes about the same time.
        jobs = [
            {"model": model, "data": data, "fold": fold, "score": score, "method": method}
            for fold in folds
            for model, method in zip(models, methods, strict=True)
        ]
        found = run_all(held_out, jobs, jobs_at_a_time(data.X, self.n_jobs), progress)
        return [found[c :: len(models)] for c in range(len(models))]

    def _judge(
        self,
        grid: list[Candidate],
        by_candidate: Sequence[Sequence[HeldOut]],
        weight_of_folds: np.ndarray,
    ) -> int:
        """Store how each candidate did, and return the best one's index."""
        self.brier_ = np.array([[fold.brier for fold in own] for own in by_candidate])
        losses = self.brier_
        for name in ("scores_", "probabilities_"):
            self.__dict__.pop(name, None)
        if self.scoring is not None:
            self.scores_ = np.array([[fold.score for fold in own] for own in by_candidate])
            losses = -self.scores_
        best = int((losses @ weight_of_folds).argmin())
        mean = self.brier_ @ weight_of_folds / weight_of_folds.sum()
        self.candidates_ = [
            {**each._asdict(), "brier": float(brier)}
            for each, brier in zip(grid, mean, strict=True)
        ]
        self.kernel_, self.gamma_, self.C_ = grid[best]
        self.Cs_ = np.array([each.C for each in grid])
        if len(self.classes_) == 2:
            self.probabilities_ = [
                np.concatenate([each.proba[:, self._positive] for each in own])
                for own in by_candidate
            ]
        return best

    def _combine(self, by_candidate: Sequence[Sequence[HeldOut]], best: int) -> list[int]:
        """Fit the combination, and return the indices of the candidates it uses."""
        self.combination_, self.constant_below_, self.constant_above_ = None, *UNIT_INTERVAL
        self._held_out_tau: np.ndarray | None = None
        self._intervals = None
        two = len(self.classes_) == 2
        weight = self._test_weight * self._class_weights(self._truth)
        if self.combine == "best":
            if two:
                self._held_out_tau = self.probabilities_[best]
                self._learn_intervals(self._held_out_tau, weight)
            return [best]
        counts = weight > 0.0
        # weight 2 is two copies; but small weights, such as shares of 1, count as (Σ w)² / Σ w²
        # samples
        as_counts = weights_as_counts(weight)
        weight = max(weight, as_counts, key=np.sum)
        each = np.array([np.concatenate([fold.proba for fold in own]) for own in by_candidate])
        each = self._positive_last(each)
        classes = self._positive_last(self.classes_)
        order = np.argsort(classes)
        truth = order[np.searchsorted(classes, self._truth[counts], sorter=order)]
        choose = choose_stack if self.combine == "stack" else choose_per_tau
        used, self.combination_ = choose(each[:, counts], truth, weight[counts])
        if two:
            proba = self.combination_.proba(each[used])[:, 1]
            self._learn_intervals(proba, weight)
            limits = useful_range(proba[counts], truth == 1, weight[counts])
            self.constant_below_, self.constant_above_ = limits
            self._held_out_tau = np.clip(proba, *limits)
        return [int(place) for place in used]

    def _learn_intervals(self, proba: np.ndarray, weight: np.ndarray) -> None:
        """Make intervals for probabilities from those of out-of-fold samples."""
        if self._held_out_once:
            positive = self._truth == self.pos_label_
            self._intervals = ProbabilityIntervals().fit(proba, positive, weight, out_of_fold=True)

    def _fit_all(self, models: list[QuantileSVC], data: Data, progress: Any) -> None:
        """Fit the models of the candidates that are used to all samples."""
        begun = time.perf_counter()
        jobs = [{"model": model, "data": data} for model in models]
        if len(jobs) == 1:
            models[0].set_params(n_jobs=self.n_jobs)
        self.estimators_ = run_all(fitted, jobs, jobs_at_a_time(data.X, self.n_jobs), progress)
        for model in self.estimators_:  # costs are part of the weights that it was given
            model.costs_in_training_ = self.costs_in_training_
        self.refit_time_ = time.perf_counter() - begun
        self._set_paths(self._all_paths())

    # -- held-out losses ---------------------------------------------------------------------------

    def loss(self, tau: Any) -> np.ndarray:
        """Return the mean loss of held-out samples for any τ. Two classes only.

        It is 2 (1-τ) for a positive sample that is predicted negative, and 2 τ for a negative one
        that is predicted positive. Averaged over all τ, this is the Brier score. With
        ``method="exact"`` it is exact, otherwise as exact as `probabilities_`.

        Parameters
        ----------
        tau : float or array-like of shape (n_taus,)
            One τ, or several.

        Returns
        -------
        ndarray of shape (n_candidates,) or (n_candidates, n_taus)
        """
        self._check_two_classes()
        taus = check_tau_columns(np.atleast_1d(check_numbers(tau, "tau")), "tau")
        positive, weight = self._truth == self.pos_label_, self._test_weight
        losses = np.empty((len(self.Cs_), len(taus)))
        for row, proba in zip(losses, self.probabilities_, strict=True):
            missed = weight_below(proba[positive], weight[positive], taus)
            cleared = weight_below(proba[~positive], weight[~positive], taus)
            alarms = weight[~positive].sum() - cleared
            row[:] = (2.0 * (1.0 - taus) * missed + 2.0 * taus * alarms) / weight.sum()
        return losses[:, 0] if np.ndim(tau) == 0 else losses

    def best_candidate(self, tau: float) -> dict[str, Any]:
        """Return the entry of `candidates_` with the least loss of held-out samples at τ.

        Parameters
        ----------
        tau : float
            One τ.

        Returns
        -------
        dict
            With its ``"kernel"``, ``"gamma"``, ``"C"`` and so on. Of several candidates that are
            equally good, the first.
        """
        return self.candidates_[int(self.loss(check_tau(tau)).argmin())]
