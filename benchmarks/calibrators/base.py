"""What all ways to probabilities share: how C is chosen, and what they return."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import GridSearchCV, StratifiedKFold

__all__ = ["CS", "Found", "choose_and_fit", "for_choice", "inner_folds", "outer_folds"]

CS = {"linear": (1e-3, 1e-2, 1e-1, 1.0, 10.0), "rbf": (1e-2, 1e-1, 1.0, 10.0, 100.0)}
# Samples that C is chosen on, at most.
MOST_FOR_CHOICE = 500


@dataclass(frozen=True)
class Found:
    """Probabilities of all classes on test samples, and the C that was chosen."""

    proba: np.ndarray
    C: float


def inner_folds() -> StratifiedKFold:
    """Return the folds that C is chosen on."""
    return StratifiedKFold(3, shuffle=True, random_state=0)


def outer_folds() -> StratifiedKFold:
    """Return the folds that scores are calibrated on."""
    return StratifiedKFold(5, shuffle=True, random_state=0)


def for_choice(y: np.ndarray) -> np.ndarray:
    """Return the samples that C is chosen on."""
    return np.random.default_rng(0).permutation(len(y))[:MOST_FOR_CHOICE]


def choose_and_fit(
    calibrated: BaseEstimator, Cs: Sequence[float], X: np.ndarray, y: np.ndarray, X_test: np.ndarray
) -> Found:
    """Choose C of a calibrated SVM by Brier score, then fit it to all samples."""
    some = for_choice(y)
    search = GridSearchCV(
        calibrated,
        {"estimator__C": Cs},
        scoring="neg_brier_score",
        cv=inner_folds(),
        refit=False,
        error_score="raise",
    ).fit(X[some], y[some])
    C = float(search.best_params_["estimator__C"])
    model = clone(calibrated).set_params(estimator__C=C).fit(X, y)
    return Found(model.predict_proba(X_test), C)
