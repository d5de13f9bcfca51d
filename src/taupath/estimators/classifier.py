"""The classifier: costs are chosen when it predicts, and probabilities agree with predictions."""

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from taupath.choices import LAPLACE
from taupath.estimators.base import all_or_nothing, check_labels_of_classes
from taupath.estimators.clipping import least_probability
from taupath.estimators.constant_decisions import ConstantDecisions
from taupath.estimators.costs import check_tau, weights_of_costs
from taupath.estimators.decisions import PathClassifier
from taupath.estimators.fit_time import advise
from taupath.estimators.on_device import jobs_after, jobs_at_a_time
from taupath.estimators.parallel import run_all
from taupath.estimators.probability_intervals import check_coverage
from taupath.fitting.classification import quantile_path
from taupath.fitting.constraints import check_constraints
from taupath.paths.path import SolutionPath
from taupath.progress import share_of
from taupath.validation import (
    DEFAULT_C,
    LARGEST,
    Checked,
    check_choice,
    check_range,
    check_real,
    check_weight,
    check_within,
    regularization_to_C,
    shown,
)

# Parameters that `quantile_path` takes unchanged.
PASSED_ON = (
    *("kernel", "gamma", "degree", "coef0", "intercept", "tau_range", "cache_size", "tol", "l1"),
    *("constraints", "device"),
)


class QuantileSVC(PathClassifier):
    """Support vector classifier for every misclassification cost at once.

    `fit` follows the exact solution of the asymmetric-cost SVM over τ = cost_fp / (cost_fp +
    cost_fn). Costs are therefore arguments of `predict`, for all samples or for each one, and the
    probability of the positive class is the share of [0, 1] in which a sample is predicted
    positive.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss, as in `sklearn.svm.SVC`.
    lam : float, default=None
        λ, to set C = 1 / (n_samples λ).
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable, default="linear"
        As in `sklearn.svm.SVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly" and "sigmoid".
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    intercept : {"augmented", "free", "none"}, default="augmented"
        "augmented": a constant feature, regularised like the others. "free": not regularised, as
        in `sklearn.svm.SVC`. "none": no intercept.
    tau : float, default=0.5
        The τ of `predict` if no costs are given; two classes only. At 0.5 this is the ordinary
        SVM.
    pos_label : label, default=None
        The positive one of two classes: what a false negative misses. `cost_fp`, `cost_fn`, τ,
        `path_` and `crossing_interval` refer to it. None: the larger label. The order of
        `classes_`, the columns of `predict_proba` and the sign of `decision_function` do not
        depend on it.
    tau_range : pair of float, default=(0.0, 1.0)
        The part of [0, 1] that is walked. No other τ can be asked for, and probabilities are
        clipped to it.
    monotone : bool, default=False
        False: `predict` decides for the positive class where f_τ(x) ≥ 0, as the SVM of these costs
        does. True: where its probability is at least τ, so that a sample that is positive at some
        τ is positive at every smaller one. The two differ only where boundaries of different τ
        cross.
    clip : "laplace" or float, default="laplace"
        The least probability of `predict_proba`. A sample may be on the same side at every τ; its
        probability then is this instead of exactly 0, or 1 minus this. "laplace": 1 / (n_samples +
        n_classes), Laplace's estimate for what none of n samples showed. 0: no such limit.
    class_weight : dict or "balanced", default=None
        Factors of the samples' costs, by class. They shift probabilities as if the classes had
        other shares. "balanced" counts samples whatever their weights, as in scikit-learn.
    multi_class : {"ovo", "ovr"}, default="ovo"
        For three classes or more: a path for each pair of classes, whose probabilities are
        coupled, or one for each class against the rest.
    cache_size : float, default=1000.0
        Memory for a kernel matrix, in megabytes; `quantile_path` says what happens beyond it.
    method : {"exact", "approximate", "auto"}, default="exact"
        "approximate", for large data: a path whose duality gaps are at most `tol` at every τ,
        certified. With the linear kernel, features of float32 stay as they are. "auto" chooses it
        if the exact path, of several the largest, is predicted to take more than a minute;
        `method_` says what was chosen, and ``path_.method_reason`` why.
    tol : float, default=1e-3
        Bound on the duality gap of approximate paths, as a fraction of the objective at w = 0 and
        τ = ½.
    n_jobs : int, default=None
        Number of paths of several classes that are walked in parallel (joblib). For two classes, 2
        or more walk the path from both ends, in two threads.
    l1 : float, default=0.0
        Weight of an L1 penalty added to ½‖w‖², which makes weights of features exactly zero: see
        `quantile_path`, and `n_nonzero`. For exact paths with the linear kernel and an intercept
        that is not "free", as are constraints.
    constraints : list of NonNegative, Monotone, Bound and Fair, default=None
        What the weights of `path_`, which is positive for `pos_label`, have to meet at every τ; two
        classes only. Features of data frames can be given by name.
    verbose : int, default=0
        1 shows progress, with the time left, on a terminal or in a notebook, and before a long
        exact fit how long the approximate method would take.
    device : {"cpu", "cuda", "auto"}, default=None
        Where ``method="approximate"`` computes the kernel: see `quantile_path`. X, y and weights on
        a GPU stay there in `fit`; all predictions take and return arrays of the host. On a GPU,
        paths of several classes are found one after the other, whatever `n_jobs` is.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels, sorted.
    pos_label_ : label
        The positive class, if there are two classes.
    path_ : SolutionPath
        The path, if there are two classes: f_τ(x) ≥ 0 decides for `pos_label_`.
    paths_ : list of SolutionPath
        All paths: of pairs (0, 1), (0, 2), ..., (1, 2), ... of classes, the second one positive;
        with "ovr" of each class, positive, against the rest.
    coef_, intercept_ : ndarray of shape (1, n_features), ndarray of shape (1,)
        For the linear kernel, at `tau`. The function is above 0 for ``classes_[1]``, as in
        scikit-learn. For several classes, one row for each of `paths_`.
    clip_ : float
        The least probability of `predict_proba`; the largest is 1 minus this for each other class.
    costs_in_training_ : bool
        Whether `fit` was given costs. `score` and `make_cost_scorer` then judge the decisions at
        `tau`, which already include the costs.
    method_ : str
        "exact" or "approximate".
    n_iter_ : ndarray of int
        Number of kinks, or nodes, of each path.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where `fit` was given any.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import StandardScaler
    >>> import taupath
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant, 1 is benign
    >>> X = StandardScaler().fit_transform(X)
    >>> model = taupath.QuantileSVC(C=0.1, pos_label=0).fit(X, y)

    Alarms, by what a missed malignant tumour costs:

    >>> [int((model.predict(X, cost_fp=1, cost_fn=cost) == 0).sum()) for cost in (0.01, 1, 100)]
    [144, 208, 337]
    """

    # Costs that are routed to a scorer go no further, unless `set_fit_request` asks for them.
    __metadata_request__fit = {"cost_fp": False, "cost_fn": False}  # noqa: RUF012  # as scikit-learn reads it

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
        pos_label: Any = None,
        tau_range: tuple[float, float] = (0.0, 1.0),
        monotone: bool = False,
        clip: str | float = LAPLACE,
        class_weight: Any = None,
        multi_class: str = "ovo",
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
        self.lam = lam
        self.kernel = kernel
        self.gamma = gamma
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
        self.l1 = l1
        self.constraints = constraints
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
    ) -> "QuantileSVC":
        """Follow the path, or the paths.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` the kernel matrix.
        y : array-like of shape (n_samples,)
            Labels of two classes or more.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of the samples' costs: weight 2 is two copies, weight 0 is absence.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            What a false positive and a false negative cost, for all samples or for each: the loss
            of a negative sample is multiplied by its `cost_fp`, that of a positive one by its
            `cost_fn`, both divided by the mean cost. Two classes only. They change what
            probabilities and τ mean, see Notes.

        Returns
        -------
        self

        Notes
        -----
        With costs, let a(x) be the mean `cost_fn` of positive samples at x, b(x) the mean
        `cost_fp` of negative ones, and η(x) the probability of the positive class. Instead of η(x),
        the path then estimates

            P(x) = a(x) η(x) / (a(x) η(x) + b(x) (1 - η(x)))

        So decisions at τ = ½ have the lowest expected cost, and costs given to `predict` multiply
        those in training: ``predict(X, cost_fp=2, cost_fn=1)`` decides as if every false positive
        cost twice what it cost in training. Do not give `predict` the same costs again: they would
        count twice. If costs follow from x, they can be divided out again:
        η = b P / (b P + a (1 - P)).
        """
        X, y, sample_weight = self._check_training(X, y, sample_weight)
        weight = self._with_costs(y, sample_weight, cost_fp, cost_fn)
        with self._watched() as progress:
            self._follow(X, y, weight, progress)
        return self

    def predict_proba_interval(self, X: Any, coverage: float = 0.9) -> np.ndarray:
        """Return an interval for the probability of the positive class. Two classes only.

        It is an interval for P(Y = 1 | s), the share of positives among all samples with the same
        predicted probability s, and comes from the out-of-fold samples of a search: only
        `QuantileSVCCV`, and its `best_estimator_`, has some. With samples of your own that were
        held out, use `ProbabilityIntervals`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        coverage : float, default=0.9
            Share of the intervals that contain P(Y = 1 | s), above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            An interval need not contain the prediction itself: if it does not, the model is off.
        """
        self._check_two_classes("predict_proba_interval")
        proba = self._unclipped(self._check_new(X))[:, self._positive]
        check_coverage(coverage)
        if self._intervals is None:
            raise ValueError(
                "intervals with a stated coverage come from out-of-fold samples, and this model "
                "has none: fit a QuantileSVCCV whose cv holds out each sample once, or give "
                "ProbabilityIntervals samples that were held out"
            )
        return self._intervals.interval(proba, coverage)

    def n_nonzero(self, tau: float | None = None) -> int:
        """Return how many features have a weight other than zero at τ.

        For the linear kernel; with `l1`, zeros are exact. Of several classes, features count that
        any of the paths uses.

        Parameters
        ----------
        tau : float, optional
            That of the constructor if not given.

        Returns
        -------
        int
        """
        self._check_linear("n_nonzero")
        at = check_within(self.tau if tau is None else tau, "tau", self._walked)
        return int(np.any([path.coef(at) != 0.0 for path in self.paths_], axis=0).sum())

    def _with_costs(self, y: np.ndarray, sample_weight: Any, cost_fp: Any, cost_fn: Any) -> Any:
        """Return sample weights, multiplied by the costs of mistakes if there are any."""
        self.costs_in_training_ = not (cost_fp is None and cost_fn is None)
        if not self.costs_in_training_:
            return sample_weight
        check_labels_of_classes(y)
        weight = check_weight(sample_weight, len(y))
        self._find_classes(y, weight)
        if len(self.classes_) > 2:
            raise ValueError(
                f"cost_fp and cost_fn are for two classes, y has {len(self.classes_)}; use "
                "sample_weight here and cost_matrix in predict"
            )
        return weights_of_costs(y == self.pos_label_, weight, cost_fp, cost_fn)

    def _C_for(self, n_samples: int) -> float:
        """Return the C of a path of `n_samples` samples."""
        return regularization_to_C(self.C, self.lam, n_samples, copied=True)

    def _jobs(self, X: Checked, y: np.ndarray, sample_weight: Any) -> list[dict[str, Any]]:
        """Return the arguments of all paths of checked samples."""
        check_labels_of_classes(y)
        check_choice(self.multi_class, "multi_class", ("ovo", "ovr"))
        weight = check_weight(sample_weight, X.shape[0])
        self._find_classes(y, weight)
        n_classes = len(self.classes_)
        weight = weight * self._class_weights(y)
        if not isinstance(self.monotone, (bool, np.bool_)):
            raise TypeError(f"monotone must be True or False, got {shown(self.monotone)}")
        tau, walked = check_tau(self.tau), check_range(self.tau_range)
        if n_classes == 2:
            check_within(tau, "tau", walked)
        elif tau != 0.5:
            raise ValueError(
                f"tau={tau:g} is for two classes, y has {n_classes}; "
                "give predict a cost_matrix instead"
            )
        if n_classes > 2 and check_constraints(self.constraints):
            raise ValueError(f"constraints are for two classes, y has {n_classes}; l1 is for any")
        self.clip_ = least_probability(self.clip, weight, n_classes)
        self._intervals = None
        self._members = [self._members_of(y, classes) for classes, _ in self._tasks()]
        return [
            self._job(X, y, weight, members, positive) | {"method": self.method}
            for members, (_, positive) in zip(self._members, self._tasks(), strict=True)
        ]

    def _follow(self, X: Checked, y: np.ndarray, sample_weight: Any, progress: Any) -> None:
        """Follow the paths of checked samples."""
        jobs = self._jobs(X, y, sample_weight)
        if len(jobs) == 1:
            advise(progress, quantile_path, jobs[0])
            jobs[0] |= {"n_jobs": self.n_jobs}
        elif self.method == "auto":  # the largest path decides for all
            largest = max(range(len(jobs)), key=lambda k: jobs[k]["X"].shape[0])
            first = quantile_path(**jobs[largest], progress=share_of(progress, 0.0, 1 / len(jobs)))
            rest = [job | {"method": first.method} for job in jobs]
            del rest[largest]
            part = share_of(progress, 1 / len(jobs), 1.0 - 1 / len(jobs))
            paths = run_all(quantile_path, rest, jobs_after(first, self.n_jobs), part)
            self._set_paths([*paths[:largest], first, *paths[largest:]])
            return
        n_jobs = jobs_at_a_time(X, self.n_jobs)
        self._set_paths(run_all(quantile_path, jobs, n_jobs, progress))

    def _class_weights(self, y: np.ndarray) -> np.ndarray:
        """Return the factor of each sample that `class_weight` stands for."""
        given = self.class_weight
        if given is None:
            return np.ones(len(y))
        if not isinstance(given, dict) and not (isinstance(given, str) and given == "balanced"):
            raise ValueError(
                'class_weight must be None, "balanced", or a dictionary of a factor for each '
                f"class, got {shown(given)}"
            )
        for factor in () if isinstance(given, str) else given.values():
            if not 0.0 <= check_real(factor, "class_weight") <= LARGEST:
                raise ValueError(
                    f"class_weight must hold factors from 0 to {LARGEST:g}, got {shown(factor)}"
                )
        try:
            factors = np.asarray(compute_sample_weight(given, y))
        except ValueError as error:
            raise ValueError(f"class_weight cannot be used: {shown(str(error))}") from None
        absent = np.intersect1d(self.classes_, y[factors == 0.0])
        if len(absent) > 0:
            raise ValueError(
                f"class_weight is 0 for class {shown(absent.tolist()[0])}, which leaves nothing of "
                "it to learn from: give a factor above 0, or leave its samples out"
            )
        return factors

    def _find_classes(self, y: np.ndarray, weight: np.ndarray) -> None:
        """Find the classes, and the positive one of two."""
        self.classes_ = np.unique(y[weight > 0.0])
        classes = self.classes_.tolist()
        if len(classes) < 2:
            raise ValueError(
                f"y has one class only: {shown(classes[0])}, of samples with a weight above 0; "
                "give samples of at least two classes"
            )
        if len(classes) > 2:
            if self.pos_label is not None:
                raise ValueError(
                    f"pos_label={shown(self.pos_label)} is for two classes, y has {len(classes)}; "
                    "leave it out and give predict a cost_matrix"
                )
            self.__dict__.pop("pos_label_", None)
        elif self.pos_label is None:
            self.pos_label_ = classes[1]
        elif np.isscalar(self.pos_label) and self.pos_label in classes:
            self.pos_label_ = classes[classes.index(self.pos_label)]
        else:
            raise ValueError(
                f"pos_label={shown(self.pos_label)} is not a label of y, which has "
                f"{shown(classes[0])} and {shown(classes[1])}"
            )

    def _all_paths(self) -> list[SolutionPath]:
        return self.paths_

    def _set_paths(self, paths: Sequence[SolutionPath]) -> None:
        self.paths_ = list(paths)
        self._constant = ConstantDecisions()
        if self.monotone:  # beyond these τ all probabilities are on the same side
            self._constant = ConstantDecisions(self.clip_, np.nextafter(1.0 - self.clip_, 2.0))
        self.__dict__.pop("path_", None)
        if len(self.classes_) == 2:
            self.path_ = self.paths_[0]
        self.n_iter_ = np.array([path.n_kinks for path in self.paths_])
        self.method_ = self.paths_[0].method

    def _tasks(self) -> list[tuple[np.ndarray, int]]:
        """Return for each path its classes and which of them is positive."""
        k = len(self.classes_)
        if k == 2:
            return [(np.arange(2), self._positive)]
        if self.multi_class == "ovo":
            return [(np.array(pair), pair[1]) for pair in combinations(range(k), 2)]
        return [(np.arange(k), positive) for positive in range(k)]

    def _members_of(self, y: np.ndarray, classes: np.ndarray) -> np.ndarray | None:
        """Return the samples of these classes; None if they are all samples."""
        if len(classes) == 2:
            one, other = self.classes_[classes]
            members = (y == one) | (y == other)
        else:
            members = np.isin(y, self.classes_[classes])
        return None if members.all() else np.flatnonzero(members)

    def _job(
        self,
        X: Checked,
        y: np.ndarray,
        weight: np.ndarray,
        members: np.ndarray | None,
        positive: int,
    ) -> dict[str, Any]:
        """Return the arguments of one path."""
        if members is not None:
            X, y, weight = self._columns(X[members], members), y[members], weight[members]
        return {
            "X": X,
            "y": (y == self.classes_[positive]).astype(int),
            "sample_weight": weight,
            "C": self._C_for(len(y)),
            **{name: getattr(self, name) for name in PASSED_ON},
        }
