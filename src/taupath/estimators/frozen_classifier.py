"""The classifier of one τ, without its path: small, and as fast as a matrix product."""

import os
from typing import Any, Never, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from taupath import upward
from taupath.estimators.base import check_samples
from taupath.estimators.costs import CostScoreMixin
from taupath.paths.kernels import Kernel


class FrozenClassifier(CostScoreMixin, BaseEstimator):
    """The classifier of one τ, made by `QuantileSVC.at`.

    Like `sklearn.frozen.FrozenEstimator` it cannot change: `fit` does nothing and
    `sklearn.base.clone` returns the classifier itself, so that it can be evaluated, calibrated or
    used as a step wherever scikit-learn would fit a copy. One τ alone gives no probabilities: for
    `predict_proba`, use the model that it was made from.

    Parameters
    ----------
    tau : float
        The τ of the classifier. It cannot be set to another one.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels.
    pos_label_ : label
        The positive class, which is predicted where the decision function is exactly 0.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features, for the linear kernel.
    intercept_ : ndarray of shape (1,)
        Constant part of the decision function.
    support_vectors_ : ndarray or sparse array of shape (n_support, n_features)
        For other kernels, unless precomputed: the samples that the decision function is made of.
    dual_coef_ : ndarray of shape (1, n_support)
        For other kernels: f(x) = Σ dual_coef_[0, i] k(support_vectors_[i], x) + intercept_[0].
    support_ : ndarray of int of shape (n_support,)
        For other kernels: which training samples these are.
    n_features_in_ : int
        Number of features; with a precomputed kernel, of training samples.
    feature_names_in_ : ndarray of str
        Their names, where `fit` of the model was given any.
    """

    coef_: np.ndarray
    support_: np.ndarray
    support_vectors_: Any
    dual_coef_: np.ndarray
    _kernel: Kernel | None

    def __init__(self, tau: float) -> None:
        self.tau = tau

    @classmethod
    def _made(
        cls,
        tau: float,
        classes: np.ndarray,
        pos_label: Any,
        n_features: int,
        feature_names: np.ndarray | None,
        intercept: float,
        *,
        kernel: Kernel | None = None,
        **parts: Any,
    ) -> Self:
        """Return the classifier whose function, above 0 for ``classes[1]``, has these parts.

        `coef`, or with a kernel `support`, `dual_coef` and, unless precomputed, `support_vectors`.
        """
        made = cls(tau)
        made.classes_, made.pos_label_ = classes, pos_label
        made.n_features_in_ = n_features
        if feature_names is not None:
            made.feature_names_in_ = feature_names
        made.intercept_ = np.array([intercept])
        made._kernel = kernel
        for name, value in parts.items():
            if value is not None:
                row = name in ("coef", "dual_coef")
                setattr(made, f"{name}_", value.reshape(1, -1) if row else value)
        return made

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        return f"FrozenClassifier(tau={self.tau:g})"

    def __sklearn_clone__(self) -> Self:
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "intercept_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        kernel = getattr(self, "_kernel", None)
        tags.input_tags.sparse = kernel is None or not kernel.precomputed
        return tags

    def set_params(self, **params: Any) -> Self:
        """Raise an error: the classifier cannot change. Without arguments, do nothing."""
        if params:
            raise ValueError(
                f"this is the classifier of tau={self.tau:g}, which cannot be changed; for another "
                "τ use `at` of the model it was made from"
            )
        return self

    def fit(self, X: Any, y: Any = None) -> Self:
        """Change nothing; the classifier was fitted by the model it was made from."""
        self._check_made()
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the decision function: above 0 for ``classes_[1]``.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples; with a precomputed kernel, their kernel with all training samples.

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        self._check_made()
        X = check_samples(self, X, exact=True, reset=False)[0].features
        if self._kernel is None:
            return np.asarray(X @ self.coef_[0] + self.intercept_[0])
        vectors = getattr(self, "support_vectors_", None)  # none with a precomputed kernel
        K = self._kernel.with_support(X, self.support_, vectors)
        return np.asarray(K @ self.dual_coef_[0] + self.intercept_[0])

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row of X."""
        decided = self.decision_function(X)
        larger = decided >= 0.0 if self.pos_label_ == self.classes_[1] else decided > 0.0
        return np.asarray(self.classes_[larger.astype(int)])

    @property
    def predict_proba(self) -> Never:
        """Not available: probabilities need the whole path."""
        raise AttributeError(
            "one τ alone gives no probabilities; use predict_proba of the model that this "
            "classifier was made from"
        )

    def _predict_to_score(self, X: Any, cost_fp: Any, cost_fn: Any) -> np.ndarray:
        return self.predict(X)

    def save(self, file: str | os.PathLike[str]) -> None:
        """Write the classifier to a file that `taupath.load` reads.

        The file holds the coefficients, or the support vectors of a kernel, and a checksum, but no
        code.

        Parameters
        ----------
        file : path
            The file to write. An existing one is replaced only when the new one is complete.
        """
        self._check_made()
        upward.save(self, file)

    def _check_made(self) -> None:
        try:
            check_is_fitted(self)
        except NotFittedError:
            raise NotFittedError(
                "a FrozenClassifier is not fitted by itself: it is made by `at` of a fitted "
                "QuantileSVC"
            ) from None
