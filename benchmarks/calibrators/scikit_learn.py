"""scikit-learn's `CalibratedClassifierCV` of an SVM: sigmoid (Platt) or isotonic."""

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.svm import SVC

from calibrators.base import CS, Found, choose_and_fit, outer_folds

__all__ = ["by_calibration"]


def by_calibration(
    method: str, kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray
) -> Found:
    """Choose C of an SVM that is calibrated by this method, then fit it to all samples."""
    calibrated = CalibratedClassifierCV(SVC(kernel=kernel), method=method, cv=outer_folds())
    return choose_and_fit(calibrated, CS[kernel], X, y, X_test)
