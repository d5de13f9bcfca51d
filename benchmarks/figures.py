"""All displays as PNG files, on data that ship with scikit-learn or are made up.

`python benchmarks/figures.py -o DIR` writes the same figures every time.
"""

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from taupath import QuantileSVC, QuantileSVR
from taupath.display import (
    BoundaryDisplay,
    CoefficientDisplay,
    DecisionCurveDisplay,
    PerformanceDisplay,
    QuantileFanDisplay,
    ReliabilityDisplay,
    RocDisplay,
)

DPI = 150


def tumours() -> list[Any]:
    """Return training and test samples of breast tumours; malignant ones are positive."""
    data = load_breast_cancer(as_frame=True)
    return train_test_split(data.data, 1 - data.target, test_size=0.5, random_state=0)


def overlapping(n_samples: int = 3000, seed: int = 0) -> list[Any]:
    """Return samples of two classes whose log-odds are linear, a third of them positive."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 5))
    log_odds = X @ [1.5, -1.0, 0.7, 0.0, 0.0] - 1.0
    y = (rng.uniform(size=n_samples) < 1.0 / (1.0 + np.exp(-log_odds))).astype(int)
    return train_test_split(X, y, test_size=0.5, random_state=0)


def performance() -> Any:
    X, X_test, y, y_test = tumours()
    model = make_pipeline(StandardScaler(), QuantileSVC(C=0.01)).fit(X, y)
    return PerformanceDisplay.from_estimator(model, X_test, y_test).figure_


def roc() -> Any:
    X, X_test, y, y_test = overlapping()
    model = QuantileSVC(C=0.1).fit(X, y)
    display = RocDisplay.from_estimator(model, X_test, y_test, cost_fp=1.0, cost_fn=4.0)
    return display.figure_


def boundaries_of_lines() -> Any:
    """Three values of τ side by side, as in the paper's Figure 1."""
    rng = np.random.default_rng(3)
    y = np.repeat(["negative", "positive"], 70)
    X = rng.standard_normal((140, 2)) + np.where(y == "positive", 1.1, -1.1)[:, None] * [1.0, 0.4]
    model = QuantileSVC(C=1.0).fit(X, y)
    figure, axes = plt.subplots(1, 3, figsize=(10.0, 3.6), sharey=True, layout="constrained")
    for ax, tau in zip(axes, (0.05, 0.5, 0.95), strict=True):
        BoundaryDisplay.from_estimator(
            model, X, y, taus=tau, ax=ax, labels=False, legend=tau == 0.05
        )
        ax.set_title(rf"$\tau$ = {tau:g}", fontsize=11)
        ax.label_outer()
    return figure


def boundaries_of_moons() -> Any:
    X, y = make_moons(300, noise=0.3, random_state=0)
    model = QuantileSVC(C=1.0, kernel="rbf", gamma=1.0).fit(X, y)
    return BoundaryDisplay.from_estimator(model, X, y).figure_


def coefficients() -> Any:
    X, _, y, _ = tumours()
    model = make_pipeline(StandardScaler(), QuantileSVC(C=0.1)).fit(X, y)
    return CoefficientDisplay.from_estimator(model).figure_


def coefficients_of_quantiles() -> Any:
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), QuantileSVR(C=1.0)).fit(X, y)
    return CoefficientDisplay.from_estimator(model).figure_


def reliability() -> Any:
    X, X_test, y, y_test = overlapping()
    model = QuantileSVC(C=0.1).fit(X, y)
    return ReliabilityDisplay.from_estimator(model, X_test, y_test).figure_


def decision_curve() -> Any:
    X, X_test, y, y_test = overlapping()
    display = DecisionCurveDisplay.from_estimator(QuantileSVC().fit(X, y), X_test, y_test)
    logistic = LogisticRegression().fit(X, y)
    DecisionCurveDisplay.from_estimator(logistic, X_test, y_test, ax=display.ax_, linewidth=1.2)
    return display.figure_


def fan() -> Any:
    rng = np.random.default_rng(0)
    x = np.sort(rng.uniform(0.0, 10.0, 400))
    y = np.sin(x) + 0.25 * x + (0.1 + 0.12 * x) * rng.standard_normal(400)
    model = QuantileSVR(C=10.0, kernel="rbf", gamma=0.3).fit(x[:, None], y)
    return QuantileFanDisplay.from_estimator(model, x[:, None], y).figure_


def fan_along_a_feature() -> Any:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = make_pipeline(StandardScaler(), QuantileSVR(C=1.0)).fit(X, y)
    return QuantileFanDisplay.from_estimator(model, X, y, feature="bmi").figure_


def fan_of_samples() -> Any:
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    model = make_pipeline(StandardScaler(), QuantileSVR(C=1.0)).fit(X, y)
    return QuantileFanDisplay.from_estimator(
        model, X_test, y_test, quantiles=[0.1, 0.25, 0.5, 0.75, 0.9]
    ).figure_


FIGURES: dict[str, Callable[[], Any]] = {
    make.__name__: make
    for make in (
        performance,
        roc,
        boundaries_of_lines,
        boundaries_of_moons,
        coefficients,
        coefficients_of_quantiles,
        reliability,
        decision_curve,
        fan,
        fan_along_a_feature,
        fan_of_samples,
    )
}


def main() -> int:
    """Write the figures; return the exit status."""
    parser = argparse.ArgumentParser(description="All displays as PNG files.")
    parser.add_argument("-o", "--output", type=Path, default=Path("figures"), help="folder")
    parser.add_argument("--only", nargs="+", choices=FIGURES, default=FIGURES, help="some of them")
    arguments = parser.parse_args()
    arguments.output.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        figure = FIGURES[name]()
        file = arguments.output / f"{name}.png"
        figure.savefig(file, dpi=DPI, metadata={"Software": None})
        plt.close(figure)
        print(file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
