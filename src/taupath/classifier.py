"""The classifier: costs are chosen when it predicts, and probabilities agree with predictions."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from taupath.approximate import choose_method
from taupath.classification import quantile_path
from taupath.costs import (
    check_cost_matrix,
    check_taus,
    costs_to_tau,
    least_cost_class,
    matrix_to_costs,
)
from taupath.coupling import couple_pairs, normalize_rest
from taupath.estimator import PathEstimator
from taupath.frozen import FrozenClassifier
from taupath.paths import ClassificationPath
from taupath.validation import check_choice, check_range, check_weight, check_within

__all__ = ["QuantileSVC"]

DEFAULT_C = 1.0


class QuantileSVC(ClassifierMixin, PathEstimator):
    """Support vector classifier for every misclassification cost at once.

    `fit` follows the exact solution of the asymmetric-cost SVM over τ = cost_fp / (cost_fp +
    cost_fn), so that costs are arguments of `predict`, one for all samples or one for each, and
    the probability of the positive class is the part of [0, 1] in which a sample is taken for
    positive.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, as in `sklearn.svm.SVC`.
    lam : float, default=None
        λ instead of C, which then is 1 / (n_samples λ).
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="linear"
        As in `sklearn.svm.SVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        Of "rbf", "poly" and "sigmoid".
    degree : int, default=3
        Of "poly".
    coef0 : float, default=0.0
        Of "poly" and "sigmoid".
    intercept : {"augmented", "free", "none"}, default="augmented"
        "augmented": a constant feature, regularised like the others. "free": not regularised, as
        in `sklearn.svm.SVC`. "none": no intercept.
    tau : float, default=0.5
        The τ of `predict` where no costs are given; two classes only. At 0.5 this is the ordinary
        SVM.
    tau_range : pair of float, default=(0.0, 1.0)
        The part of [0, 1] that is walked. Of another τ nothing is known then, and a probability
        beyond an end of the part is that end.
    monotone : bool, default=False
        False: `predict` decides for the positive class where f_τ(x) ≥ 0, as the SVM of these costs
        does. True: where its probability is at least τ, so that a sample that is positive at some
        τ is so at every smaller one. The two differ only where boundaries of different τ cross.
    class_weight : dict or "balanced", default=None
        Factors of the samples' costs by class. They change probabilities like other shares of the
        classes would.
    multi_class : {"ovo", "ovr"}, default="ovo"
        For three classes or more: a path for each pair of classes, whose probabilities are
        coupled, or one for each class against the rest.
    cache_size : float, default=1000.0
        Megabytes for a kernel matrix.
    method : {"exact", "approximate", "auto"}, default="exact"
        "approximate", for the linear kernel and large data: a path whose duality gaps are at most
        `tol` at every τ, certified. Features of float32 stay as they are. "auto" takes this from
        20 000 samples on; `method_` says which it was.
    tol : float, default=1e-3
        Of approximate paths: largest gap, as part of the objective at w = 0 and τ = ½.
    n_jobs : int, default=None
        Paths of several classes that are walked at a time (joblib). Of two classes, 2 or more
        walk the path from both ends, in two threads.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; of two, the second one is positive.
    path_ : ClassificationPath
        The path, where there are two classes.
    paths_ : list of ClassificationPath
        All paths: of pairs (0, 1), (0, 2), ..., (1, 2), ... of classes, the second one positive;
        with "ovr" of each class, positive, against the rest.
    method_ : str
        "exact" or "approximate": what the paths are.
    n_iter_ : ndarray of int
        Kinks, or nodes, of each path.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where `fit` was given any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> import taupath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = taupath.QuantileSVC(C=0.1).fit(StandardScaler().fit_transform(X), y)
    >>> X = StandardScaler().fit_transform(X)
    >>> [int(model.predict(X, cost_fp=cost, cost_fn=1).sum()) for cost in (0.01, 1, 100)]
    [391, 360, 308]
    """

    def __init__(
        self,
        C: float = DEFAULT_C,
        *,
        lam: float | None = None,
        kernel: str | Callable[[Any, Any], Any] = "linear",
        gamma: float | str = "scale",
        degree: float = 3,
        coef0: float = 0.0,
        intercept: str = "augmented",
        tau: float = 0.5,
        tau_range: tuple[float, float] = (0.0, 1.0),
        monotone: bool = False,
        class_weight: Any = None,
        multi_class: str = "ovo",
        cache_size: float = 1000.0,
        method: str = "exact",
        tol: float = 1e-3,
        n_jobs: int | None = None,
    ) -> None:
        self.C = C
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.intercept = intercept
        self.tau = tau
        self.tau_range = tau_range
        self.monotone = monotone
        self.class_weight = class_weight
        self.multi_class = multi_class
        self.cache_size = cache_size
        self.method = method
        self.tol = tol
        self.n_jobs = n_jobs

    # -- training ------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QuantileSVC":
        """Follow the path, or the paths.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the samples' costs: weight 2 is two copies, weight 0 is absence.

        Returns
        -------
        self
        """
        X, y = self._check_training(X, y)
        C = None if self.lam is not None and self.C == DEFAULT_C else self.C
        self._follow(X, y, sample_weight, C, self.lam)
        return self

    def _follow(self, X: Any, y: Any, sample_weight: Any, C: Any, lam: Any) -> None:
        """Follow the paths of checked samples."""
        check_classification_targets(y)
        check_choice(self.multi_class, "multi_class", ("ovo", "ovr"))
        weight = check_weight(sample_weight, X.shape[0])
        present = np.unique(y[weight > 0.0])
        if len(present) < 2:
            raise ValueError(
                f"y has one class only: {present.tolist()[0]!r}, of samples with a weight above 0; "
                "give samples of at least two classes"
            )
        if self.class_weight is not None:
            weight = weight * compute_sample_weight(self.class_weight, y)
        self.classes_ = present
        check_taus(self.tau, "tau", 0)
        if len(present) > 2 and self.tau != 0.5:
            raise ValueError(
                f"tau={self.tau!r} is for two classes, y has {len(present)}; "
                "give predict a cost_matrix instead"
            )
        begin_and_end = check_range(self.tau_range)
        if len(present) == 2:
            check_within(self.tau, "tau", begin_and_end)
        method = choose_method(self.method, self.kernel, X.shape[0])
        # samples of each path; None for all
        self._members = [self._members_of(y, classes) for classes, _ in self._tasks()]
        jobs = [
            self._job(X, y, weight, members, positive) | {"C": C, "lam": lam, "method": method}
            for members, (_, positive) in zip(self._members, self._tasks(), strict=True)
        ]
        if len(jobs) == 1:
            jobs[0] |= {"n_jobs": self.n_jobs, "progress": self._progress}
        self._set_paths(Parallel(n_jobs=self.n_jobs)(delayed(quantile_path)(**job) for job in jobs))

    def _all_paths(self) -> list[ClassificationPath]:
        return self.paths_

    def _set_paths(self, paths: Sequence[ClassificationPath]) -> None:
        self.paths_ = list(paths)
        if len(self.classes_) == 2:
            self.path_ = self.paths_[0]
        elif hasattr(self, "path_"):
            del self.path_
        self.n_iter_ = np.array([path.n_kinks for path in self.paths_])
        self.method_ = self.paths_[0].method

    def _tasks(self) -> list[tuple[np.ndarray, int]]:
        """Return for each path its classes and which of them is positive."""
        k = len(self.classes_)
        if k == 2 or self.multi_class == "ovo":
            return [(np.array(pair), pair[1]) for pair in combinations(range(k), 2)]
        return [(np.arange(k), positive) for positive in range(k)]

    def _members_of(self, y: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
        """Return the samples of these classes; None if these are all."""
        members = np.isin(y, self.classes_[classes])
        return None if members.all() else np.flatnonzero(members)

    def _job(
        self, X: Any, y: np.ndarray, weight: np.ndarray, members: np.ndarray | None, positive: int
    ) -> dict[str, Any]:
        """Return the arguments of one path."""
        if members is not None:
            X, y, weight = self._columns(X[members], members), y[members], weight[members]
        return {
            "X": X,
            "y": (y == self.classes_[positive]).astype(int),
            "sample_weight": weight,
            **{
                name: getattr(self, name)
                for name in (
                    "kernel",
                    "gamma",
                    "degree",
                    "coef0",
                    "intercept",
                    "tau_range",
                    "cache_size",
                    "tol",
                )
            },
        }

    # -- decisions -----------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        tau: Any = None,
        cost_fp: Any = None,
        cost_fn: Any = None,
        cost_matrix: Any = None,
    ) -> np.ndarray:
        """Predict the class of each sample, for costs of your choice.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        tau : float or array-like of shape (n_samples,), optional
            τ = cost_fp / (cost_fp + cost_fn), for all samples or for each. Two classes only.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            What a false positive (a false alarm) and a false negative (a miss) cost.
        cost_matrix : array-like of shape (n_classes, n_classes), optional
            [i, j] is what predicting ``classes_[j]`` costs where ``classes_[i]`` is true: the
            class with the least expected cost is predicted. Shape (n_samples, n_classes,
            n_classes) for one matrix per sample.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels. Where nothing is given, those of `self.tau`, or the most probable ones of
            several classes.
        """
        X = self._check_new(X)
        given = [
            name
            for name, value in (
                ("tau", tau),
                ("cost_fp and cost_fn", cost_fp if cost_fp is not None else cost_fn),
                ("cost_matrix", cost_matrix),
            )
            if value is not None
        ]
        if len(given) > 1:
            raise ValueError(f"give one of tau, costs and cost_matrix, got {' and '.join(given)}")
        n, k = X.shape[0], len(self.classes_)
        if cost_matrix is not None:
            return self._predict_by_matrix(X, check_cost_matrix(cost_matrix, n, k))
        if k > 2:
            if given:
                raise ValueError(f"{given[0]} is for two classes, not {k}; give a cost_matrix")
            return np.asarray(self.classes_[self._proba(X).argmax(axis=1)])
        if given == ["cost_fp and cost_fn"]:
            taus = costs_to_tau(cost_fp, cost_fn, n)
        else:
            taus = check_taus(self.tau if tau is None else tau, "tau", n)
        return np.asarray(self.classes_[(self._decide(X, taus) >= 0.0).astype(int)])

    def _decide(self, X: Any, taus: np.ndarray) -> np.ndarray:
        """Return for each sample what tells, by its sign, whether it is positive at its τ."""
        for end in (taus.min(), taus.max()) if taus.size else ():
            check_within(float(end), "tau", self.path_.tau_range)
        if self.monotone:
            return np.asarray(self._proba(X)[:, 1] - taus)
        X = self._columns(X, self._members[0])
        if taus.ndim == 0:
            return np.asarray(self.path_.decision_function(X, float(taus)))
        return np.asarray(self.path_.decide_each(X, taus))

    def _predict_by_matrix(self, X: Any, costs: np.ndarray) -> np.ndarray:
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[least_cost_class(self._proba(X), costs)])
        cost_fp, cost_fn = (np.broadcast_to(c, X.shape[0]) for c in matrix_to_costs(costs))
        # a "mistake" that costs less than the right decision is always, or never, made
        positive = cost_fp <= 0.0
        usual = (cost_fp >= 0.0) & (cost_fn >= 0.0) & (np.maximum(cost_fp, cost_fn) > 0.0)
        if usual.any():
            taus = costs_to_tau(cost_fp[usual], cost_fn[usual], int(usual.sum()))
            taus = taus[0] if costs.ndim == 2 else taus
            positive[usual] = self._decide(X[usual], np.asarray(taus)) >= 0.0
        mixed = (cost_fp < 0.0) & (cost_fn < 0.0)
        if mixed.any():
            proba = self._proba(X[mixed])
            each = costs if costs.ndim == 2 else costs[mixed]
            positive[mixed] = least_cost_class(proba, each) == 1
        return np.asarray(self.classes_[positive.astype(int)])

    def decision_function(self, X: Any, tau: Any = None) -> np.ndarray:
        """Return what decides: the positive class is predicted where it is ≥ 0.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        tau : float or array-like of shape (n_samples,), optional
            One τ for all samples or one for each; that of the constructor if not given. Two
            classes only.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            f_τ(x); with ``monotone=True`` the probability of the positive class less τ. For three
            classes or more, what `predict` compares: the probabilities.
        """
        X = self._check_new(X)
        if len(self.classes_) > 2:
            if tau is not None:
                raise ValueError(f"tau is for two classes, not {len(self.classes_)}")
            return self._proba(X)
        return self._decide(X, check_taus(self.tau if tau is None else tau, "tau", X.shape[0]))

    # -- probabilities -------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, read off the path.

        For two classes that of the positive one is the length of {τ : f_τ(x) ≥ 0}, exactly.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
        """
        return self._proba(self._check_new(X))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithm of `predict_proba`."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict_proba_interval(self, X: Any) -> np.ndarray:
        """Return the first and the last τ where a sample's prediction changes.

        Both are the probability of the positive class, where boundaries of different τ do not
        cross at this sample; how far they are apart says how much they do.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            For two classes. For several, with ``multi_class="ovr"``, shape (n_samples, n_classes,
            2), of each class against the rest.
        """
        X = self._check_new(X)
        if len(self.classes_) > 2 and self.multi_class == "ovo":
            raise ValueError(
                'pairs of classes have no interval in common; use multi_class="ovr" for one of '
                "each class against the rest"
            )
        found = [
            path.crossings(self._columns(X, members))
            for path, members in zip(self.paths_, self._members, strict=True)
        ]
        intervals = [np.column_stack((each.first, each.last)) for each in found]
        return intervals[0] if len(intervals) == 1 else np.stack(intervals, axis=1)

    def _proba(self, X: Any) -> np.ndarray:
        k = len(self.classes_)
        positive = [
            path.tau_range[0] + path.crossings(self._columns(X, members)).length
            for path, members in zip(self.paths_, self._members, strict=True)
        ]
        if k == 2:
            return np.column_stack((1.0 - positive[0], positive[0]))
        if self.multi_class == "ovr":
            return normalize_rest(np.column_stack(positive))
        pairwise = np.zeros((X.shape[0], k, k))
        for (i, j), p in zip(combinations(range(k), 2), positive, strict=True):
            pairwise[:, j, i], pairwise[:, i, j] = p, 1.0 - p
        return couple_pairs(pairwise)

    # -- one classifier of all -----------------------------------------------------------------

    def at(self, tau: float) -> FrozenClassifier:
        """Return the classifier of one τ by itself, without the path. Two classes only."""
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(f"tau is for two classes, not {len(self.classes_)}")
        tau = float(check_taus(tau, "tau", 0))
        intercept, parts = self.path_.parts(tau)
        if self._members[0] is not None and "support" in parts:
            parts["support"] = self._members[0][parts["support"]]
        return FrozenClassifier(tau, self.classes_, self.n_features_in_, intercept, **parts)

    def _columns(self, X: Any, members: np.ndarray | None) -> Any:
        """Return X as the path of these training samples takes it."""
        return X if members is None or self.kernel != "precomputed" else X[:, members]
