"""The example of ``taupath demo``: scikit-learn's breast cancer data in halves, and its path."""

import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from taupath.estimators.classifier import QuantileSVC
from taupath.models.evaluation import evaluate
from taupath.report import write_report
from taupath.tables import write_table

C = 0.1
# (cost of a missed cancer, cost of a false alarm), from caution to restraint.
COST_RATIOS = ((20, 1), (10, 1), (5, 1), (2, 1), (1, 1), (1, 2), (1, 5), (1, 10), (1, 20))


def _raw_halves() -> list[np.ndarray]:
    """Return X_train, X_test, y_train, y_test as they come; +1 is malignant."""
    data = load_breast_cancer()
    y = np.where(data.target == list(data.target_names).index("malignant"), 1, -1)
    return list(train_test_split(data.data, y, test_size=0.5, stratify=y, random_state=0))


def write_halves(folder: str) -> None:
    """Write both halves as they come, with the diagnosis in the last column."""
    X_train, X_test, y_train, y_test = _raw_halves()
    names = load_breast_cancer().feature_names.tolist()
    for part, X, y in (("train", X_train, y_train), ("test", X_test, y_test)):
        columns = dict(zip(names, X.T, strict=True))
        columns["diagnosis"] = np.where(y > 0, "malignant", "benign")
        write_table(Path(folder) / f"{part}.csv", columns)


def standardized_halves() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X_train, X_test, y_train, y_test, scaled by the training half; +1 is malignant."""
    X_train, X_test, y_train, y_test = _raw_halves()
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


class BreastCancer:
    """The path of the training half, its certificate, and the test half."""

    def __init__(self) -> None:
        self.X_train, self.X_test, self.y_train, self.y_test = standardized_halves()
        begin = time.perf_counter()
        self.estimator = QuantileSVC(C=C).fit(self.X_train, self.y_train)
        self.seconds = time.perf_counter() - begin
        self.path = self.estimator.path_
        self.certificate = self.path.certify()

    def at_cost_ratios(self) -> dict[str, np.ndarray]:
        """Return how the path does on the test half at each of the cost ratios."""
        taus = [cost_fp / (cost_fp + cost_fn) for cost_fn, cost_fp in COST_RATIOS]
        return evaluate(self.estimator, self.X_test, self.y_test, taus=taus)

    def write_report(self, output: str) -> None:
        """Write the page: raw columns, and logistic regression beside the path."""
        X_train, X_test, y_train, y_test = _raw_halves()
        logistic = make_pipeline(StandardScaler(), LogisticRegression()).fit(X_train, y_train)
        write_report(
            output,
            make_pipeline(logistic[0], self.estimator),
            X_test,
            y_test,
            class_names=["benign", "malignant"],
            target_name="diagnosis",
            compare={"logistic regression": logistic},
            feature_names=load_breast_cancer().feature_names.tolist(),
            title="Breast cancer: what should a missed case cost?",
            provenance={
                "trained on": f"half of scikit-learn's data, {len(y_train)} rows",
                "features": str(X_train.shape[1]),
                "kernel": "linear",
                "C": f"{C:g}",
                "kinks": str(self.path.n_kinks),
            },
            certificate=self.certificate,
        )
