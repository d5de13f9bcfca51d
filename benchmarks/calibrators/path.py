"""Probabilities off the path of `QuantileSVC`, as they are and recalibrated."""

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression

from calibrators.base import CS, Found, for_choice, inner_folds
from taupath import QuantileSVC, QuantileSVCCV

__all__ = ["by_path", "recalibrate"]

# Where recalibration takes probabilities to: the logit of 0 is no number.
FIRM = 1e-3


def by_path(
    kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, multi_class: str = "ovo"
) -> dict[str, Found]:
    """Choose C of a path, then follow that of all samples; return P̂ as it is and recalibrated."""
    some = for_choice(y)
    search = QuantileSVCCV(
        CS[kernel],
        cv=inner_folds(),
        kernel=kernel,
        gamma="scale",
        combine="best",
        standardize=False,
        multi_class=multi_class,
    )
    search.fit(X[some], y[some])
    C = search.C_
    model = QuantileSVC(C, kernel=kernel, multi_class=multi_class, clip=0).fit(X, y)
    proba = model.predict_proba(X_test)
    found = {"path": Found(proba, C)}
    if len(model.classes_) == 2:
        held_out = search.probabilities_[int(np.flatnonzero(search.Cs_ == C)[0])]
        truth = np.concatenate([y[some][test] for _, test in inner_folds().split(X[some], y[some])])
        again = recalibrate(held_out, truth == model.classes_[1], proba[:, 1])
        found["recalibrated"] = Found(np.column_stack((1.0 - again, again)), C)
    return found


def recalibrate(held_out: np.ndarray, truth: np.ndarray, proba: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + exp(-a logit P̂ - b)), a and b fitted to held-out P̂."""

    def scores(p: np.ndarray) -> np.ndarray:
        return logit(np.clip(p, FIRM, 1.0 - FIRM))[:, np.newaxis]

    return np.asarray(
        LogisticRegression(C=np.inf).fit(scores(held_out), truth).predict_proba(scores(proba))[:, 1]
    )
