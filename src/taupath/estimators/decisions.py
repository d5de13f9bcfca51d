"""Predictions of a fitted classifier: labels for given costs, probabilities, a single τ."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from taupath import upward
from taupath.estimators.base import PathEstimator
from taupath.estimators.clipping import clipped
from taupath.estimators.constant_decisions import ConstantDecisions
from taupath.estimators.costs import (
    CostScoreMixin,
    check_cost_matrix,
    check_tau,
    check_tau_columns,
    check_taus,
    costs_to_tau,
    least_cost_class,
)
from taupath.estimators.explanation import (
    BY_TRAINING,
    Explanation,
    PartsOf,
    explain,
    parts_of_features,
)
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.estimators.multiclass import couple_in_order, normalize_rest
from taupath.estimators.pipelines import feature_names_of
from taupath.estimators.probability_intervals import ProbabilityIntervals
from taupath.exceptions import ConstantDecisionWarning
from taupath.paths.crossings import Changes, Crossings
from taupath.paths.path import SolutionPath
from taupath.validation import Checked, check_all_within


class PathClassifier(CostScoreMixin, PathEstimator):
    """A classifier that has one path or several; subclasses fit them."""

    tau: float
    monotone: bool
    multi_class: str
    classes_: np.ndarray
    pos_label_: Any
    path_: SolutionPath
    paths_: list[SolutionPath]
    clip_: float
    costs_in_training_: bool = False
    _members: list[np.ndarray | None]  # training samples of each path; None for all
    _constant: ConstantDecisions  # of `path_`
    # reasons for a constant decision, for the warning and for an explanation
    _why_constant = (
        ", including those it was trained on: at these costs it does not tell cases apart; try a "
        "larger C, or costs that are closer to each other",
        BY_TRAINING,
    )
    _intervals: ProbabilityIntervals | None = None  # from out-of-fold samples, if there are any
    _names: Sequence[Any] | None = None  # names of the classes, where `classes_` are codes

    @property
    def _positive(self) -> int:
        """The position of the positive class in `classes_`."""
        return int(self.pos_label_ == self.classes_[1])

    @property
    def _towards(self) -> float:
        """The factor that makes the function of a path positive for ``classes_[1]``."""
        return -1.0 if len(self.classes_) == 2 and self._positive == 0 else 1.0

    def _check_two_classes(self, what: str = "tau") -> None:
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(f"{what} is for two classes, not {len(self.classes_)}")

    @property
    def _walked(self) -> tuple[float, float]:
        """The range of τ that can be asked for."""
        return self.paths_[0].tau_range

    @property
    def _by_probability(self) -> bool:
        """Whether a sample is decided positive if its probability is at least τ."""
        return bool(self.monotone)

    def _columns(self, X: Any, members: np.ndarray | None) -> Any:
        """Return X for the path of some training samples; of a kernel matrix, their columns."""
        return X if members is None or self.kernel != "precomputed" else X[:, members]

    # -- decisions -----------------------------------------------------------------------------

    def predict(
        self,
        X: Any,
        *,
        tau: Any = None,
        taus: Any = None,
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
        taus : array-like of shape (n_taus,), optional
            Several τ, for all samples: one column each. Two classes only.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            What a false positive (a false alarm) and a false negative (a miss) cost; positive is
            `pos_label_`. Two classes only. If `fit` was given costs, these multiply them.
        cost_matrix : array-like of shape (n_classes, n_classes), optional
            [i, j] is what predicting ``classes_[j]`` costs where ``classes_[i]`` is true: the
            class with the least expected cost is predicted. Shape (n_samples, n_classes,
            n_classes) for one matrix per sample.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_taus)
            Labels. Where nothing is given, those of `self.tau`, or the most probable ones of
            several classes.

        Warns
        -----
        ConstantDecisionWarning
            If one τ gives all samples the same label, and all training samples, too.
        """
        X = self._check_new(X)
        asked = {
            "tau": tau,
            "taus": taus,
            "cost_fp and cost_fn": cost_fp if cost_fp is not None else cost_fn,
            "cost_matrix": cost_matrix,
        }
        given = [name for name, value in asked.items() if value is not None]
        if len(given) > 1:
            raise ValueError(
                f"give one of tau, taus, costs and cost_matrix, got {' and '.join(given)}"
            )
        n, k = X.shape[0], len(self.classes_)
        if cost_matrix is not None:
            return self._predict_by_matrix(X, check_cost_matrix(cost_matrix, n, k))
        if k > 2:
            if given:
                be = "are" if " and " in given[0] else "is"
                raise ValueError(f"{given[0]} {be} for two classes, not {k}; give a cost_matrix")
            return np.asarray(self.classes_[self._proba(X).argmax(axis=1)])
        if taus is not None:
            return self._labels(self._decide_columns(X, taus) >= 0.0)
        if given == ["cost_fp and cost_fn"]:
            each = self._tau_of_costs(cost_fp, cost_fn, n)
        else:
            each = self._check_taus(tau, n)
        positive = self._decide(X, each) >= 0.0
        if each.ndim == 0 and (positive.all() or not positive.any()):
            self._warn_of_constant(float(each))
        return self._labels(positive)

    def _predict_for_costs(self, X: Any, cost_fp: Any, cost_fn: Any) -> np.ndarray:
        """Return decisions to be judged by these costs, without a `ConstantDecisionWarning`.

        They are those of `predict` at these costs or, if `fit` was given costs, without any.
        """
        X = self._check_new(X)
        taus = self._tau_of_costs(cost_fp, cost_fn, X.shape[0])
        if self.costs_in_training_:
            taus = self._check_taus(None, X.shape[0])
        return self._labels(self._decide(X, taus) >= 0.0)

    def _check_taus(self, tau: Any, n_samples: int) -> np.ndarray:
        """Return a τ for all samples or one for each; for None, that of the constructor."""
        return check_taus(self.tau if tau is None else tau, "tau", n_samples, self._walked)

    def _tau_of_costs(self, cost_fp: Any, cost_fn: Any, n_samples: int) -> np.ndarray:
        taus = costs_to_tau(cost_fp, cost_fn, n_samples)
        return check_all_within(taus, "tau", self._walked)

    def _constant_at(self, tau: float) -> Any:
        """Return the label that all training samples get at τ, None if they differ."""
        positive = self._constant.at(self.path_, tau, self.monotone)
        return None if positive is None else self._labels(np.array(positive))[()]

    def _warn_of_constant(self, tau: float) -> None:
        if not 0.0 < tau < 1.0:
            return  # one of the mistakes costs nothing, so the same label for all is right
        label = self._constant_at(tau)
        if label is not None:
            shown = np.asarray(label).item() if self._names is None else self._names[int(label)]
            warnings.warn(
                f"at τ = {tau:.3g} the model decides {shown!r} for every case"
                f"{self._why_constant[0]}",
                ConstantDecisionWarning,
                stacklevel=3,
            )

    def _labels(self, positive: np.ndarray) -> np.ndarray:
        """Return the label of each decision for or against the positive class."""
        return np.asarray(self.classes_[np.where(positive, self._positive, 1 - self._positive)])

    def _decide(self, X: Checked, taus: np.ndarray) -> np.ndarray:
        """Return for each sample a number that is ≥ 0 if it is positive at its (checked) τ."""
        if self._by_probability:
            return np.asarray(self._positive_up_to(X) - taus)
        X = self._columns(X, self._members[0])
        if taus.ndim == 0:
            return np.asarray(self.path_.decision_function(X, float(taus)))
        return np.asarray(self.path_.decide_each(X, taus))

    def _decide_columns(self, X: Checked, taus: Any) -> np.ndarray:
        """Return the same with a column for each τ, which is checked here."""
        taus = check_tau_columns(taus, walked=self._walked)
        if self._by_probability:
            return np.asarray(np.subtract.outer(self._positive_up_to(X), taus))
        X = self._columns(X, self._members[0])
        return np.asarray(self.path_.decision_function(X, taus=taus))

    def _predict_by_matrix(self, X: Checked, costs: np.ndarray) -> np.ndarray:
        if len(self.classes_) > 2:
            return np.asarray(self.classes_[least_cost_class(self._proba(X), costs)])
        ordered = costs if self._positive == 1 else costs[..., ::-1, ::-1]
        # how much more each mistake costs than the right decision; rows are the true classes
        extra = ordered[..., [0, 1], [1, 0]] - ordered[..., [0, 1], [0, 1]]
        cost_fp, cost_fn = (np.broadcast_to(extra[..., k], X.shape[0]) for k in (0, 1))
        # a "mistake" that costs less than the right decision is always made, or never
        positive = cost_fp <= 0.0
        usual = (cost_fp >= 0.0) & (cost_fn >= 0.0) & (np.maximum(cost_fp, cost_fn) > 0.0)
        if usual.any():
            taus = self._tau_of_costs(cost_fp[usual], cost_fn[usual], int(usual.sum()))
            taus = taus[0] if costs.ndim == 2 else taus
            positive[usual] = self._decide(X[usual], np.asarray(taus)) >= 0.0
        mixed = (cost_fp < 0.0) & (cost_fn < 0.0)
        if mixed.any():
            proba = self._proba(X[mixed])
            each = costs if costs.ndim == 2 else costs[mixed]
            positive[mixed] = least_cost_class(proba, each) == self._positive
        return self._labels(positive)

    def decision_function(self, X: Any, tau: Any = None, *, taus: Any = None) -> np.ndarray:
        """Return the decision function: ``classes_[1]`` is predicted where it is above 0.

        Where it is exactly 0, the positive class is predicted.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        tau : float or array-like of shape (n_samples,), optional
            One τ for all samples or one for each; that of the constructor if not given. Two
            classes only.
        taus : array-like of shape (n_taus,), optional
            Several τ, for all samples: one column each. Two classes only.

        Returns
        -------
        ndarray of shape (n_samples,), (n_samples, n_taus) or (n_samples, n_classes)
            f_τ(x), or -f_τ(x) where `pos_label_` is ``classes_[0]``; with ``monotone=True`` the
            probability of the positive class minus τ in place of f_τ(x). For three classes or
            more, the probabilities, which `predict` compares.
        """
        X = self._check_new(X)
        if len(self.classes_) > 2:
            if tau is not None or taus is not None:
                self._check_two_classes()
            return self._proba(X)
        if tau is not None and taus is not None:
            raise ValueError("give tau or taus, not both")
        if taus is not None:
            return self._towards * self._decide_columns(X, taus)
        return self._towards * self._decide(X, self._check_taus(tau, X.shape[0]))

    # -- probabilities -------------------------------------------------------------------------

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probability of each class, read off the path.

        For two classes that of the positive one is the length of {τ : f_τ(x) ≥ 0}, exactly but for
        probabilities near 0 and 1, see `clip`.

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
        with np.errstate(divide="ignore"):  # log 0 is -inf, as in scikit-learn
            return np.asarray(np.log(self.predict_proba(X)))

    def crossing_interval(self, X: Any) -> np.ndarray:
        """Return the first and the last τ where a sample's prediction changes.

        Where boundaries of different τ do not cross at this sample, both are the probability of
        the positive class. Their distance shows how much boundaries cross; it says nothing about
        how far the probability is from the truth, as `predict_proba_interval` does.

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
                'with multi_class="ovo", classes have no intervals; use multi_class="ovr", which '
                "has one for each class against the rest"
            )
        found = self._crossings(X)
        intervals = [np.column_stack((each.first, each.last)) for each in found]
        return intervals[0] if len(intervals) == 1 else np.stack(intervals, axis=1)

    def _crossings(self, X: Checked) -> list[Crossings]:
        """Return where each path changes its decisions about the samples."""
        each = zip(self.paths_, self._members, strict=True)
        return [path.crossings(self._columns(X, members)) for path, members in each]

    def _proba(self, X: Checked, found: list[Crossings] | None = None) -> np.ndarray:
        """Return probabilities as `predict_proba` does; `found` as in `_unclipped`."""
        return clipped(self._unclipped(X, found), self.clip_)

    def _unclipped(self, X: Checked, found: list[Crossings] | None = None) -> np.ndarray:
        """Return probabilities exactly as the paths have them.

        `found` are the crossings of these samples, if they are known already.
        """
        begin = self._walked[0]
        return self._of_lengths([begin + each.length for each in found or self._crossings(X)])

    def _of_lengths(self, positive: list[np.ndarray]) -> np.ndarray:
        """Return the probabilities of all classes from the lengths of {τ : f_τ(x) ≥ 0}."""
        k = len(self.classes_)
        if k == 2:
            both = (1.0 - positive[0], positive[0])
            return np.column_stack(both if self._positive == 1 else both[::-1])
        joint = normalize_rest if self.multi_class == "ovr" else couple_in_order
        return joint(np.column_stack(positive))

    def _positive_up_to(self, X: Checked) -> np.ndarray:
        """Return the largest τ at which each sample is positive, where probabilities decide."""
        return np.asarray(self._proba(X)[:, self._positive])

    # -- operating points ----------------------------------------------------------------------

    def operate(self, X: Any = None, y: Any = None, **promises: Any) -> Any:
        """Return the τ at which a promise about new samples holds. Two classes only.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features), optional
            Samples that the model was not trained on.
        y : array-like of shape (n_samples,), optional
            Their labels.
        **promises
            ``max_fpr``, ``min_recall``, ``min_precision``, ``max_alarms_per``, ``abstain`` and
            ``delta``, as in `taupath.operate`.

        Returns
        -------
        OperatingPoint
        """
        check_is_fitted(self)
        return upward.operate(self, X, y, promises)

    # -- why -----------------------------------------------------------------------------------

    def explain(
        self, X: Any, tau: Any = None, *, cost_fp: Any = None, cost_fn: Any = None
    ) -> list[Explanation]:
        """Explain the decision about each sample. Two classes only.

        An explanation has the costs at which the decision flips, exactly and over all τ. With the
        linear kernel it also has what each feature adds to f_τ(x), compared with 0, that is, with
        the mean if features are standardised. These parts and the intercept add up to f_τ(x).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        tau : float or array-like of shape (n_samples,), optional
            One τ for all samples or one for each; that of the constructor if not given.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            What a false positive and a false negative cost, in place of τ.

        Returns
        -------
        list of Explanation
            One for each sample; ``print`` shows it in words.
        """
        self._check_two_classes("explain")
        names = feature_names_of(self, [], None)
        return self._explain(X, tau, cost_fp, cost_fn, self._parts_of(names))

    def _parts_of(self, names: list[str]) -> PartsOf:
        """Return a function that makes a part of each feature."""
        return parts_of_features(names)

    def _explain(
        self, X: Any, tau: Any, cost_fp: Any, cost_fn: Any, parts_of: PartsOf
    ) -> list[Explanation]:
        X = self._check_new(X)
        if cost_fp is None and cost_fn is None:
            return explain(self, X, self._check_taus(tau, X.shape[0]), parts_of)
        if tau is not None:
            raise ValueError("give tau or costs, not both")
        return explain(self, X, self._tau_of_costs(cost_fp, cost_fn, X.shape[0]), parts_of)

    def _sign_changes(self, X: Checked, found: Crossings | None = None) -> Changes:
        """Return all changes of the sign of f_τ(x), for two classes.

        `found` are the crossings of these samples, if they are known already.
        """
        path, X = self.path_, self._columns(X, self._members[0])
        if found is None:
            found = path.crossings(X)
        # Most samples change once, from positive to negative, and their crossing is that change.
        begin = found.first > path.tau_range[0]
        once = found.first >= found.last
        falls = np.flatnonzero(once & begin)
        who, when, change = [falls], [found.first[falls]], [np.full(len(falls), -1)]
        others = np.flatnonzero(~once)
        if len(others):
            all_changes = path.changes(X[others])
            begin[others] = all_changes.begin
            who.append(others[all_changes.who])
            when.append(all_changes.when)
            change.append(all_changes.change)
        return Changes(begin, np.concatenate(who), np.concatenate(when), np.concatenate(change))

    # -- a single τ ----------------------------------------------------------------------------

    def at(self, tau: float) -> FrozenClassifier:
        """Return the classifier of a single τ, without the path. Two classes only.

        Parameters
        ----------
        tau : float
            Within the walked range.

        Returns
        -------
        FrozenClassifier
            A scikit-learn classifier that predicts as this one does at τ (with ``monotone=True``,
            as it would without). It has `coef_` and `intercept_`, or support vectors, and can be
            saved; it has no `predict_proba`, which needs the whole path.
        """
        self._check_two_classes()
        tau = check_tau(tau)
        intercept, parts = self.path_.parts(tau)
        if self._members[0] is not None and "support" in parts:
            parts["support"] = self._members[0][parts["support"]]
        for name in {"coef", "dual_coef"} & parts.keys():
            parts[name] = self._towards * parts[name]
        return FrozenClassifier._made(
            tau,
            self.classes_,
            self.pos_label_,
            self.n_features_in_,
            getattr(self, "feature_names_in_", None),
            self._towards * intercept,
            **parts,
        )

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features at `tau`, one row for each path; for the linear kernel only.

        For two classes there is one row, and ``X @ coef_.T + intercept_`` is above 0 where
        ``classes_[1]`` is predicted (unless ``monotone=True``).
        """
        self._check_linear("coef_")
        return self._towards * np.array([path.coef(self.tau) for path in self.paths_])

    @property
    def intercept_(self) -> np.ndarray:
        """Constants that go with `coef_`, one for each path."""
        self._check_linear("intercept_")
        return self._towards * np.array([path.intercept(self.tau) for path in self.paths_])

    def _predict_to_score(self, X: Any, cost_fp: Any, cost_fn: Any) -> np.ndarray:
        if self.costs_in_training_:
            return self.predict(X)
        return self.predict(X, cost_fp=cost_fp, cost_fn=cost_fn)
