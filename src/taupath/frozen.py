"""One classifier of a path by itself: small, and as fast as a matrix product."""

from typing import Any

import numpy as np

from taupath.kernels import Kernel
from taupath.validation import check_new_features

__all__ = ["FrozenClassifier"]


class FrozenClassifier:
    """The classifier of one τ, made by `QuantileSVC.at`.

    It knows nothing of the path any more.

    Attributes
    ----------
    tau : float
        Whose classifier it is.
    classes_ : ndarray of shape (2,)
        The labels.
    pos_label_ : label
        The positive class, which is predicted where the decision function is exactly 0.
    intercept_ : float
        Constant part of the decision function.
    coef_ : ndarray of shape (n_features,)
        Weights of the features, for the linear kernel.
    support_vectors_, dual_coef_ : ndarray
        For other kernels: f(x) = Σ dual_coef_i k(support_vector_i, x) + intercept.
    support_ : ndarray of int
        For other kernels: which training samples these are.
    """

    def __init__(
        self,
        tau: float,
        classes: np.ndarray,
        pos_label: Any,
        n_features: int,
        intercept: float,
        *,
        coef: np.ndarray | None = None,
        kernel: Kernel | None = None,
        support: np.ndarray | None = None,
        support_vectors: Any = None,
        dual_coef: np.ndarray | None = None,
    ) -> None:
        self.tau, self.classes_, self.intercept_ = tau, classes, intercept
        self.pos_label_, self.n_features_in_ = pos_label, n_features
        if coef is not None:
            self.coef_ = coef
        else:
            self._kernel = kernel
            self.support_, self.support_vectors_ = support, support_vectors
            self.dual_coef_ = dual_coef

    def __repr__(self) -> str:
        return f"FrozenClassifier(tau={self.tau:g})"

    def decision_function(self, X: Any) -> np.ndarray:
        """Return for each row of X what decides: above 0 it is for ``classes_[1]``.

        With a precomputed kernel X is that of all training samples.
        """
        X = check_new_features(X, self.n_features_in_)
        if hasattr(self, "coef_"):
            return np.asarray(X @ self.coef_) + self.intercept_
        assert self._kernel is not None
        assert self.dual_coef_ is not None
        if self._kernel.precomputed:
            K = X[:, self.support_]
        elif len(self.dual_coef_):
            K = self._kernel(X, self.support_vectors_)
        else:
            K = np.zeros((X.shape[0], 0))
        return np.asarray(K @ self.dual_coef_) + self.intercept_

    def predict(self, X: Any) -> np.ndarray:
        """Return the label of each row of X."""
        decided = self.decision_function(X)
        larger = decided >= 0.0 if self.pos_label_ == self.classes_[1] else decided > 0.0
        return np.asarray(self.classes_[larger.astype(int)])
