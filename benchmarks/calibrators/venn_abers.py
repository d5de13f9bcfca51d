"""Cross Venn-Abers calibration of an SVM, by the package venn-abers; for two classes."""

import warnings
from importlib.util import find_spec
from typing import Self

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.svm import SVC

from calibrators.base import CS, Found, choose_and_fit, outer_folds

__all__ = ["VennAbersSVC", "by_venn_abers", "installed"]


def installed() -> bool:
    """Return whether the package is there."""
    return find_spec("venn_abers") is not None


class VennAbersSVC(ClassifierMixin, BaseEstimator):
    """An SVM for each of five folds, Venn-Abers on what each has not seen, and their mean.

    Each fold gives two probabilities of a sample, p0 and p1: of isotonic regressions that take it
    for negative and for positive. The mean is the one of Vovk, Petej & Fedorova (2015), which is
    the least to be regretted in log-loss: with geometric means G over folds,
    G(p1) / (G(p1) + G(1 - p0)). Isotonic regression needs the order of scores only, which the
    logistic function of f(x) keeps.
    """

    def __init__(self, estimator: SVC) -> None:
        self.estimator = estimator

    def fit(self, X: np.ndarray, y: np.ndarray) -> Self:
        """Fit one SVM and one calibrator for each fold."""
        with np.errstate():  # importing it turns NumPy's warnings off, for everybody
            from venn_abers import VennAbers

        self.classes_ = np.unique(y)
        self.folds_ = []
        for train, held_out in outer_folds().split(X, y):
            model = clone(self.estimator).fit(X[train], y[train])
            calibrator = VennAbers()
            truth = (y[held_out] == self.classes_[1]).astype(int)
            with warnings.catch_warnings():  # with few samples it takes the least of nothing
                warnings.simplefilter("ignore", RuntimeWarning)
                calibrator.fit(_scores(model, X[held_out]), truth)
            self.folds_.append((model, calibrator))
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return the mean of the folds."""
        pairs = np.array(
            [found.predict_proba(_scores(model, X))[1] for model, found in self.folds_]
        )
        positive = _geometric_mean(pairs[:, :, 1])
        negative = _geometric_mean(1.0 - pairs[:, :, 0])
        p = positive / (positive + negative)
        return np.column_stack((1.0 - p, p))


def _scores(model: SVC, X: np.ndarray) -> np.ndarray:
    p = expit(model.decision_function(X))
    return np.column_stack((1.0 - p, p))


def _geometric_mean(p: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):  # the mean with a zero is zero
        return np.exp(np.log(p).mean(axis=0))


def by_venn_abers(kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Found:
    """Choose C, then fit to all samples."""
    return choose_and_fit(VennAbersSVC(SVC(kernel=kernel)), CS[kernel], X, y, X_test)
