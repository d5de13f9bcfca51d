"""What solvers are given and what they give back: a task, a grid of τ, and an answer for each τ."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix

__all__ = ["Answer", "Task", "narrow"]


@dataclass(frozen=True)
class Task:
    """One problem for every τ in (0, 1); `objective` says what is minimised.

    Attributes
    ----------
    name : str
        Data set and size.
    kind : {"classification", "regression"}
        Asymmetric-cost SVM, or quantile regression.
    X : ndarray or csr_matrix
        Features, without a constant.
    y : ndarray
        Labels ±1, or what is to be predicted.
    C : float
        Weight of the loss.
    kernel : {"linear", "rbf"}
        With `gamma` for "rbf".
    intercept : {"augmented", "free"}
        Regularised like a weight, or not.
    """

    name: str
    kind: str
    X: Any
    y: np.ndarray
    C: float
    kernel: str = "linear"
    gamma: float = 0.0
    intercept: str = "augmented"

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int(self.X.shape[1])

    @property
    def dense(self) -> np.ndarray:
        """The features as an array."""
        return self.X if isinstance(self.X, np.ndarray) else self.X.toarray()

    @property
    def sign(self) -> np.ndarray:
        """e_i of the canonical problem: labels, or ones."""
        return self.y if self.kind == "classification" else np.ones_like(self.y)

    def class_weight(self, tau: float) -> dict[int, float]:
        """Return the weights that make C the costs 2C(1-τ) and 2Cτ."""
        return {1: 2.0 * (1.0 - tau), -1: 2.0 * tau}

    def with_free_intercept(self) -> "Task":
        """Return the same with an intercept that costs nothing."""
        return replace(self, name=f"{self.name}, free intercept", intercept="free")


@dataclass(frozen=True)
class Answer:
    """A solution at one τ: θ = α/λ, or, of solvers that keep it to themselves, w, the bias last."""

    theta: np.ndarray | None = None
    w: np.ndarray | None = None


def narrow(X: Any) -> Any:
    """Return sparse features with indices of 32 bits, which is all that LIBLINEAR takes."""
    if isinstance(X, np.ndarray):
        return X
    indices, begins = (each.astype(np.int32) for each in (X.indices, X.indptr))
    return csr_matrix((X.data, indices, begins), X.shape)
