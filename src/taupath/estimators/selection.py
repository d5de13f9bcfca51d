"""Choice of C by cross-validation, for every τ at once."""

import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import check_cv

from taupath.estimators.base import all_or_nothing, check_labels_of_classes
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.costs import check_tau_columns
from taupath.estimators.parallel import run_all
from taupath.fitting.method import choose_method
from taupath.progress import share_of
from taupath.validation import Checked, check_Cs, check_integer, check_numbers, check_weight, shown


class QuantileSVCCV(QuantileSVC):
    """`QuantileSVC` whose C is chosen by cross-validation.

    On each fold, one path for each C gives the loss of held-out samples at every τ:

        2 (1-τ) for a positive sample that is predicted negative, 2 τ for a negative one that is
        predicted positive

    (a sample is predicted positive where its probability is at least τ). Averaged over all τ, this
    is the Brier score, which decides the C of the final path unless `scoring` is given. `best_C`
    returns the best C for a single τ.

    Parameters
    ----------
    Cs : iterable of float or int, default=10
        Values of C to choose from, or their number, between 1e-4 and 1e4 on a logarithmic scale.
    cv : int, cross-validation generator or iterable, default=5
        As in scikit-learn; for an integer, folds are stratified.
    scoring : str or callable, default=None
        Score by which C is chosen, as in scikit-learn: its name, or a scorer as returned by
        `make_cost_scorer`. The mean over held-out samples is maximised. None: the Brier score.
    kernel, gamma, degree, coef0, intercept, tau, pos_label, tau_range, monotone
        As in `QuantileSVC`.
    class_weight, multi_class, cache_size, method, tol
        As in `QuantileSVC`. Paths of folds are found by the same method as that of all samples.
    n_jobs : int, default=None
        Number of paths that are walked in parallel (joblib).
    verbose : int, default=0
        1 shows progress, with the time left, on a terminal or in a notebook.

    Attributes
    ----------
    C_ : float
        The C with the least Brier score, or the best of `scores_`; of several, the smallest.
    Cs_ : ndarray of shape (n_Cs,)
        The values of C.
    brier_ : ndarray of shape (n_Cs, n_folds)
        Mean squared distance of held-out probabilities to the truth, summed over classes and
        halved.
    scores_ : ndarray of shape (n_Cs, n_folds)
        If `scoring` is given, the scores of held-out samples.
    probabilities_ : list of ndarray
        For two classes: the probability of the positive class of all held-out samples, fold after
        fold, for each C.
    path_, paths_, classes_, pos_label_, coef_, intercept_
        As in `QuantileSVC`, for C_ and all samples.
    method_, n_iter_, n_features_in_, feature_names_in_
        As in `QuantileSVC`, for C_ and all samples.
    """

    def __init__(
        self,
        Cs: int | Iterable[float] = 10,
        *,
        cv: Any = 5,
        scoring: Any = None,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        intercept: str = "augmented",
        tau: float = 0.5,
        pos_label: Any = None,
        tau_range: tuple[float, float] = (0.0, 1.0),
        monotone: bool = False,
        class_weight: Any = None,
        multi_class: str = "ovo",
        cache_size: float = 1000.0,
        method: str = "exact",
        tol: float = 1e-3,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.Cs = Cs
        self.cv = cv
        self.scoring = scoring
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.intercept = intercept
        self.tau = tau
        self.pos_label = pos_label
        self.tau_range = tau_range
        self.monotone = monotone
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.cache_size = cache_size
        self.method = method
        self.tol = tol
        self.n_jobs = n_jobs
        self.verbose = verbose

    @all_or_nothing
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        cost_fp: Any = None,
        cost_fn: Any = None,
    ) -> "QuantileSVCCV":
        """Choose C, then follow the path of all samples.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the samples' costs, in training and in the losses.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            As in `QuantileSVC.fit`, in training and in the losses.

        Returns
        -------
        self
        """
        X, y = self._check_training(X, y)
        check_labels_of_classes(y)
        sample_weight = self._with_costs(y, sample_weight, cost_fp, cost_fn)
        weight = check_weight(sample_weight, X.shape[0])
        self.Cs_ = check_Cs(self.Cs, lambda number: np.logspace(-4.0, 4.0, number))
        folds = self._check_cv(X, y)
        method = choose_method(self.method, self.kernel, X.shape[0])
        own = {"Cs", "cv", "scoring"}
        shared = {k: v for k, v in self.get_params(deep=False).items() if k not in own}
        single = QuantileSVC(**shared).set_params(n_jobs=None, verbose=0, method=method)
        score = None
        if self.scoring is not None:
            score = _Score(self._check_scoring(single), sample_weight is not None)
        # Fold after fold, so that progress is even: paths of large C take longer, but every fold
        # takes about the same time.
        data = _Data(X, y, weight)
        jobs = [
            {"single": single, "C": float(C), "data": data, "fold": fold, "score": score}
            for fold in folds
            for C in self.Cs_
        ]
        done = len(jobs) / (len(jobs) + 1.0)  # the path of all samples is one more
        with self._watched() as progress:
            found = run_all(_held_out, jobs, self.n_jobs, share_of(progress, 0.0, done))
            by_C = [found[c :: len(self.Cs_)] for c in range(len(self.Cs_))]
            self._choose(by_C, np.array([weight[fold.test].sum() for fold in folds]))
            self._follow(X, y, sample_weight, share_of(progress, done, 1.0 - done))
        tests = np.concatenate([fold.test for fold in folds])
        self._truth, self._test_weight = y[tests], weight[tests]
        self.__dict__.pop("probabilities_", None)
        if len(self.classes_) == 2:
            self.probabilities_ = [
                np.concatenate([each.proba[:, self._positive] for each in own]) for own in by_C
            ]
        return self

    def _C_for(self, n_samples: int) -> float:
        return self.C_

    def loss(self, tau: Any) -> np.ndarray:
        """Return the mean loss of held-out samples, exactly, for any τ. Two classes only.

        Parameters
        ----------
        tau : float or array-like of shape (n_taus,)
            One τ, or several.

        Returns
        -------
        ndarray of shape (n_Cs,) or (n_Cs, n_taus)
        """
        self._check_two_classes()
        taus = check_tau_columns(np.atleast_1d(check_numbers(tau, "tau")), "tau")
        positive, weight = self._truth == self.pos_label_, self._test_weight
        losses = np.empty((len(self.Cs_), len(taus)))
        for row, proba in zip(losses, self.probabilities_, strict=True):
            missed = _weight_below(proba[positive], weight[positive], taus)
            cleared = _weight_below(proba[~positive], weight[~positive], taus)
            alarms = weight[~positive].sum() - cleared
            row[:] = (2.0 * (1.0 - taus) * missed + 2.0 * taus * alarms) / weight.sum()
        return losses[:, 0] if np.ndim(tau) == 0 else losses

    def best_C(self, tau: Any) -> Any:
        """Return the C with the least loss of held-out samples at τ; of several, the smallest.

        Parameters
        ----------
        tau : float or array-like of shape (n_taus,)
            One τ, or several.

        Returns
        -------
        float or ndarray of shape (n_taus,)
        """
        best = self.Cs_[self.loss(tau).argmin(axis=0)]
        return float(best) if np.ndim(tau) == 0 else best

    def _choose(self, by_C: "Sequence[Sequence[_HeldOut]]", weight_of_folds: np.ndarray) -> None:
        """Choose the C with the least mean loss of held-out samples."""
        self.brier_ = np.array([[fold.brier for fold in own] for own in by_C])
        losses = self.brier_
        self.__dict__.pop("scores_", None)
        if self.scoring is not None:
            self.scores_ = np.array([[fold.score for fold in own] for own in by_C])
            losses = -self.scores_
        self.C_ = float(self.Cs_[(losses @ weight_of_folds).argmin()])

    def _check_cv(self, X: Checked, y: np.ndarray) -> "list[_Fold]":
        if isinstance(self.cv, numbers.Integral):
            check_integer(self.cv, "cv", least=2)
        try:
            drawn = check_cv(self.cv, y, classifier=True).split(X.features, y)
            folds = [
                _Fold(np.arange(len(y))[train], np.arange(len(y))[test]) for train, test in drawn
            ]
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(
                "cv must be a number of folds, a cross-validation generator, or the training and "
                f"test samples of each fold, got {shown(self.cv)}: {shown(str(error))}"
            ) from None
        if not folds:
            raise ValueError("cv has no folds")
        return folds

    def _check_scoring(self, single: QuantileSVC) -> Callable[..., Any]:
        """Return the scorer that `scoring` names or is."""
        given = self.scoring
        if not callable(given) and not (isinstance(given, str) and given in get_scorer_names()):
            raise ValueError(
                "scoring must be a function or a name among sklearn.metrics.get_scorer_names(), "
                f"got {shown(given)}"
            )
        return cast(Callable[..., Any], check_scoring(single, given))


class _Score:
    """A scorer that is given the weights if there are any and it takes them."""

    def __init__(self, scorer: Callable[..., Any], weighted: bool) -> None:
        takes = inspect.signature(scorer).parameters.values()
        named = any(each.name == "sample_weight" or each.kind == each.VAR_KEYWORD for each in takes)
        self.scorer, self.weighted = scorer, weighted and named

    def __call__(self, model: QuantileSVC, X: Any, y: np.ndarray, weight: np.ndarray) -> float:
        found = self.scorer(model, X, y, **({"sample_weight": weight} if self.weighted else {}))
        if not (isinstance(found, numbers.Real) and math.isfinite(found)):
            raise ValueError(f"scoring must return a finite number, got {shown(found)}")
        return float(found)


class _Data(NamedTuple):
    X: Checked
    y: np.ndarray
    weight: np.ndarray


class _Fold(NamedTuple):
    train: np.ndarray
    test: np.ndarray


class _HeldOut(NamedTuple):
    """Probabilities of held-out samples, their Brier score, and their score if asked for."""

    proba: np.ndarray
    brier: float
    score: float | None


def _held_out(
    single: QuantileSVC,
    C: float,
    data: _Data,
    fold: _Fold,
    score: _Score | None,
    progress: Any = None,
) -> _HeldOut:
    """Fit a model to all folds but one, and return its predictions for that one."""
    (X, y, weight), (train, test) = data, fold
    missing = np.setdiff1d(y[weight > 0.0], y[train][weight[train] > 0.0])
    if len(missing) > 0:
        raise ValueError(
            f"cv leaves a training fold no samples of class {shown(missing.tolist()[0])}; use "
            "fewer, or stratified, folds"
        )
    model = clone(single).set_params(C=C)
    model._progress = progress
    columns = train if single.kernel == "precomputed" else slice(None)
    model.fit(X[train][:, columns], y[train], weight[train])
    held_out = X[test][:, columns]
    proba = model.predict_proba(held_out)
    truth = y[test][:, np.newaxis] == model.classes_
    squares = 0.5 * ((proba - truth) ** 2).sum(axis=1)
    return _HeldOut(
        proba,
        float(np.average(squares, weights=weight[test])),
        None if score is None else score(model, held_out.features, y[test], weight[test]),
    )


def _weight_below(proba: np.ndarray, weight: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """Return the total weight of probabilities below each τ."""
    order = np.argsort(proba)
    total = np.append(0.0, np.cumsum(weight[order]))
    return np.asarray(total[np.searchsorted(proba[order], taus, side="left")])
