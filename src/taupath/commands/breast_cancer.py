"""The demonstration: one path over all costs, on the breast cancer data of scikit-learn."""

import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from taupath.estimators.classifier import QuantileSVC
from taupath.models.evaluation import evaluate
from taupath.outcomes.cost_table import cost_table
from taupath.report import write_report
from taupath.tables import write_table

if TYPE_CHECKING:
    from taupath.paths.certificate import Certificate

__all__ = [
    "COST_RATIOS",
    "breast_cancer_halves",
    "figures",
    "report",
    "write_halves",
]

C = 0.1

# What found, missed, cleared and alarmed cases are called.
NAMES = ("cancers found", "missed", "healthy cleared", "false alarms")

# (cost of a missed cancer, cost of a false alarm), from caution to restraint
COST_RATIOS = ((20, 1), (10, 1), (5, 1), (2, 1), (1, 1), (1, 2), (1, 5), (1, 10), (1, 20))


def _raw_halves() -> list[np.ndarray]:
    """Return features and labels of the training half and the test half, mixed up as given."""
    data = load_breast_cancer()
    y = np.where(data.target == list(data.target_names).index("malignant"), 1, -1)
    return list(train_test_split(data.data, y, test_size=0.5, stratify=y, random_state=0))


def write_halves(folder: str) -> None:
    """Write both halves as they are, with the diagnosis in the last column."""
    X_train, X_test, y_train, y_test = _raw_halves()
    names = load_breast_cancer().feature_names.tolist()
    for part, X, y in (("train", X_train, y_train), ("test", X_test, y_test)):
        columns = dict(zip(names, X.T, strict=True))
        columns["diagnosis"] = np.where(y > 0, "malignant", "benign")
        write_table(Path(folder) / f"{part}.csv", columns)


def breast_cancer_halves() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return X_train, X_test, y_train, y_test; +1 is malignant.

    Columns are standardised by mean and deviation of the training half.
    """
    X_train, X_test, y_train, y_test = _raw_halves()
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test), y_train, y_test


def figures(output: str) -> dict[str, Any]:
    """Fit the path, write the page, and return what there is to say, for machines."""
    demo = _Demo()
    demo.write(output)
    certificate = demo.certificate
    return {
        "kinks": demo.path.n_kinks,
        "bytes": demo.path.nbytes,
        "at": demo.columns(),
        "certificate": {"holds": certificate.holds(), **asdict(certificate)},
        "report": output,
    }


def report(output: str) -> Iterator[str]:
    """Fit the path, write the page, and yield the lines to print as they become known."""
    demo = _Demo()
    n_train, n_features = demo.X_train.shape
    yield (
        f"Breast cancer data: {n_train} cases to learn from, {len(demo.y_test)} to test on "
        f"({np.count_nonzero(demo.y_test > 0)} malignant), {n_features} features."
    )
    yield (
        f"The exact SVM for every τ in [0, 1] (C = {C:g}): {demo.path.n_kinks} kinks "
        f"in {1e3 * demo.seconds:.0f} ms, {demo.path.nbytes / 1e3:.0f} kB."
    )
    yield ""
    yield "On the test cases, as a missed cancer costs less and less against a false alarm:"
    yield ""
    yield from cost_table(demo.columns(), own_costs=True, names=NAMES)
    yield ""
    yield "miss : alarm is what the two mistakes cost; costs are those of all mistakes together."
    yield "Without model: the same decision for all, whichever is cheaper."
    yield ""
    yield from _certificate(demo.certificate)
    demo.write(output)
    yield ""
    yield f"Try costs of your own: open {output} in a browser."


class _Demo:
    """The fitted path and the test half."""

    def __init__(self) -> None:
        self.X_train, self.X_test, self.y_train, self.y_test = breast_cancer_halves()
        begin = time.perf_counter()
        self.estimator = QuantileSVC(C=C).fit(self.X_train, self.y_train)
        self.seconds = time.perf_counter() - begin
        self.path = self.estimator.path_
        self.certificate = self.path.certify()

    def columns(self) -> dict[str, np.ndarray]:
        """Return how each of the cost ratios does on the test half."""
        taus = [cost_fp / (cost_fp + cost_fn) for cost_fn, cost_fp in COST_RATIOS]
        return evaluate(self.estimator, self.X_test, self.y_test, taus=taus)

    def write(self, output: str) -> None:
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
                "trained on": f"half of scikit-learn's data, {len(self.y_train)} rows",
                "features": str(self.X_train.shape[1]),
                "kernel": "linear",
                "C": f"{C:g}",
                "kinks": str(self.path.n_kinks),
            },
            certificate=self.certificate,
        )


def _certificate(certificate: "Certificate") -> Iterator[str]:
    extent = "every kink and every midpoint" if certificate.complete else "a sample of the path"
    yield f"Certificate, from the data, at {certificate.n_checked} values of τ ({extent}):"
    yield (
        f"the relative duality gap is at most {certificate.worst_gap:.1e} "
        f"(τ = {certificate.tau_gap:.4f}), and no optimality condition"
    )
    yield (
        f"is violated by more than {certificate.worst_kkt:.1e} of a margin "
        f"(τ = {certificate.tau_kkt:.4f})."
    )
