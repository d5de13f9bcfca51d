"""Predictions of a classifier that combines several, however the combination was chosen."""

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from taupath.estimators.candidates import scaled
from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.combination import PerTau, Stack
from taupath.estimators.explanation import BY_HELD_OUT, PartsOf, parts_of_features
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.paths.crossings import Crossings
from taupath.paths.path import SolutionPath
from taupath.validation import Checked


class CombinedClassifier(QuantileSVC):
    """One fitted classifier, or several whose probabilities are combined; see `QuantileSVCCV`."""

    combine: str
    estimators_: list[QuantileSVC]
    combination_: Stack | PerTau | None  # None for one classifier
    scaler_: StandardScaler | None  # of the features that the estimators are given
    constant_below_: float
    constant_above_: float
    kernel_: Any  # of the best candidate

    @property
    def _why_constant(self) -> tuple[str, str]:  # type: ignore[override]  # known after fitting
        if self.combination_ is None:
            return QuantileSVC._why_constant
        advice = "; try more samples, or costs that are closer to each other"
        return BY_HELD_OUT + advice, BY_HELD_OUT

    # -- several combined --------------------------------------------------------------------------

    @property
    def _by_probability(self) -> bool:
        return bool(self.monotone) or self.combination_ is not None

    def _positive_last(self, columns: np.ndarray) -> np.ndarray:
        """Return an array with classes along its last axis, of two the positive one last."""
        turned = len(self.classes_) == 2 and self._positive == 0
        return np.asarray(columns[..., ::-1] if turned else columns)

    def _unclipped(self, X: Checked, found: list[Crossings] | None = None) -> np.ndarray:
        if self.combination_ is None:
            return super()._unclipped(X, found)
        each = np.array([self._positive_last(model._unclipped(X)) for model in self.estimators_])
        return self._positive_last(self.combination_.proba(each))

    def _positive_up_to(self, X: Checked) -> np.ndarray:
        ends = self.constant_below_, self.constant_above_
        return np.asarray(np.clip(super()._positive_up_to(X), *ends))

    def _constant_at(self, tau: float) -> Any:
        if self.combination_ is None:
            return super()._constant_at(tau)
        if self.constant_below_ <= tau <= self.constant_above_:
            return None
        return self._labels(np.array(tau < self.constant_below_))[()]

    def _all_paths(self) -> list[SolutionPath]:
        return [path for model in self.estimators_ for path in model.paths_]

    def _set_paths(self, paths: Sequence[SolutionPath]) -> None:
        own, begin = [], 0
        for model in self.estimators_:
            other, n_paths = copy.copy(model), len(model.paths_)
            other._set_paths(paths[begin : begin + n_paths])
            own.append(other)
            begin += n_paths
        self.estimators_, self._members = own, own[0]._members
        # combined probabilities are shrunk as if one more sample of each class had been seen
        self.clip_ = own[0].clip_ if self.combination_ is None else 0.0
        super()._set_paths(paths)
        if self.combination_ is not None:
            self.__dict__.pop("path_", None)

    def _check_new(self, X: Any) -> Checked:
        checked = super()._check_new(X)
        return checked if checked is X else scaled(self.scaler_, checked)

    def crossing_interval(self, X: Any) -> np.ndarray:
        """Return the first and the last τ where a sample's prediction changes.

        As in `QuantileSVC.crossing_interval` for ``combine="best"``. Otherwise a prediction changes
        once, and both are the same.
        """
        check_is_fitted(self)
        if self.combination_ is None:
            return super().crossing_interval(X)
        self._check_two_classes("crossing_interval of a combined model")
        where = self._positive_up_to(self._check_new(X))
        return np.column_stack((where, where))

    # -- a single one ------------------------------------------------------------------------------

    @property
    def best_estimator_(self) -> Pipeline | QuantileSVC:
        """The model as a pipeline of `StandardScaler` and `QuantileSVC`, or the latter alone."""
        check_is_fitted(self)
        if self.combination_ is not None:
            raise AttributeError(
                f"best_estimator_ is for combine='best', not for combine={self.combine!r}"
            )
        model, scaler = copy.copy(self.estimators_[0]), copy.copy(self.scaler_)
        model._names, model._intervals = self._names, self._intervals
        first: Any = model if scaler is None else scaler
        if hasattr(self, "feature_names_in_"):
            first.feature_names_in_ = self.feature_names_in_
        return model if scaler is None else Pipeline([("scaler", scaler), ("quantilesvc", model)])

    def at(self, tau: float) -> FrozenClassifier:
        """Return the classifier of a single τ, see `QuantileSVC.at`; for ``combine="best"`` only.

        With a kernel and standardised features, use ``best_estimator_[-1].at(tau)`` on features
        that were standardised by `scaler_`.
        """
        self._check_two_classes()
        if self.combination_ is not None:
            raise ValueError(
                f"at(tau) is for combine='best': with combine={self.combine!r} no single SVM "
                "decides; use predict(X, tau=...)"
            )
        if self.scaler_ is None:
            return super().at(tau)
        if self.kernel_ != "linear":
            raise ValueError(
                "at(tau) standardises X for the linear kernel only; use "
                "best_estimator_[-1].at(tau) on scaler_.transform(X)"
            )
        found = super().at(tau)
        if hasattr(self.scaler_, "mean_") and self.scaler_.with_mean:
            found.intercept_ = found.intercept_ - found.coef_ @ (
                self.scaler_.mean_ / self.scaler_.scale_
            )
        found.coef_ = found.coef_ / self.scaler_.scale_
        return found

    @property
    def coef_(self) -> np.ndarray:
        """Weights of the features at `tau`, in the units of X; for one linear candidate only."""
        coef = super().coef_
        return coef if self.scaler_ is None else coef / self.scaler_.scale_

    @property
    def intercept_(self) -> np.ndarray:
        """Constants that go with `coef_`, one for each path."""
        constant, scaler = super().intercept_, self.scaler_
        if scaler is None or not scaler.with_mean:
            return constant
        return np.asarray(constant - self.coef_ @ scaler.mean_)

    def _check_linear(self, name: str) -> None:
        check_is_fitted(self)
        if self.combination_ is not None or self.kernel_ != "linear":
            raise AttributeError(f"{name} exists for one candidate with the linear kernel only")

    def _parts_of(self, names: list[str]) -> PartsOf:
        return parts_of_features(names, self.scaler_)
