"""Training on a prepared table, with its certificate."""

import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.regressor import QuantileSVR
from taupath.estimators.selection import QuantileSVCCV
from taupath.exceptions import InexactPathWarning
from taupath.fitting.method import choose_method
from taupath.models.certifying import certificate_of
from taupath.models.model import Model
from taupath.models.training_record import training_record
from taupath.paths.certificate import Certificate
from taupath.preparation import Preparation
from taupath.progress import share_of
from taupath.tables import Table

# Values of C to choose from: a decade apart, over the range that matters for standardized data.
CS = np.logspace(-4.0, 4.0, 9)
# Quantiles whose mean loss decides on the C of a regression.
COMPARED_QUANTILES = np.linspace(0.1, 0.9, 9)


def train(
    table: Table,
    preparation: Preparation,
    options: dict[str, Any],
    *,
    cv: int | None = None,
    points: int = 100,
    progress: Callable[[float, int], None] | None = None,
) -> tuple[Model, Certificate]:
    """Return a model of the table, and the certificate of its paths.

    The preparation was learned from the same table. `options` are parameters of `QuantileSVC` or
    `QuantileSVR`, `cv` is the number of folds that C is chosen by, and the result is checked at
    `points` values of τ.
    """
    X, y = preparation.features(table), preparation.response(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactPathWarning)  # the certificate says more
        estimator, chosen, seconds = fitted(X, y, preparation.task, options, cv, progress)
    certificate = certificate_of(estimator, points)
    record = {
        "file": name_of(table),
        **training_record(estimator, int(X.shape[0]), certificate),
        "task": preparation.task,
        "seconds": seconds,
        "cross-validation": chosen,
    }
    return Model(estimator, preparation, record), certificate


def fitted(
    X: Any,
    y: np.ndarray,
    task: str,
    options: dict[str, Any],
    cv: int | None,
    progress: Callable[[float, int], None] | None = None,
) -> tuple[QuantileSVC | QuantileSVR, dict[str, Any] | None, float]:
    """Return a fitted estimator, the losses that C was chosen by, and the seconds of its fit."""
    started = time.perf_counter()
    # the share of the work that is done before the last fit
    most = 1.0 - 1.0 / (len(CS) * (cv or 0) + 2)
    if task == "classify":
        if "conformal" in options:
            raise ValueError("conformal is for regression, not for classification")
        if "tau_range" in options:
            begin, end = options["tau_range"]
            options = {**options, "tau": min(max(0.5, begin), end)}
    else:
        for name in ("lam", "monotone", "tau_range"):
            if options.get(name) is not None:
                raise ValueError(f"{name} is for classification, not for regression")
    chosen = None
    if cv is not None:
        if not 2 <= cv <= len(y):
            raise ValueError(f"cv must be between 2 and the number of rows, {len(y)}; got {cv}")
        choose = _choose_for_classes if task == "classify" else _choose_for_quantiles
        chosen, options = choose(X, y, options, cv, share_of(progress, 0.0, most))
        chosen["seconds"] = time.perf_counter() - started
    begun = time.perf_counter()
    estimator = QuantileSVC(**options) if task == "classify" else QuantileSVR(**options)
    estimator._progress = progress if cv is None else share_of(progress, most, 1.0 - most)
    estimator.fit(X, y)
    estimator._progress = None
    return estimator, chosen, time.perf_counter() - begun


def name_of(table: Table) -> str:
    """Return what to call a table: its file without folders."""
    return "standard input" if table.source.startswith("<") else Path(table.source).name


def _choose_for_classes(
    X: Any, y: np.ndarray, options: dict[str, Any], folds: int, progress: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the losses of all C, and the options with the best C."""
    search = QuantileSVCCV(CS, cv=folds, **options)
    search._progress = progress
    search.fit(X, y)
    losses = {"Cs": search.Cs_.tolist(), "Brier score": search.brier_.mean(axis=1).tolist()}
    return losses, {**options, "C": search.C_}


def _choose_for_quantiles(
    X: Any, y: np.ndarray, options: dict[str, Any], folds: int, progress: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    splits = list(KFold(folds, shuffle=True, random_state=0).split(X))
    method = choose_method(options.get("method", "exact"), options["kernel"], X.shape[0])
    losses = np.zeros(len(CS))
    done, n = 0, len(splits) * len(CS)
    for learn, test in splits:  # fold after fold: paths of large C take longer
        for c, C in enumerate(CS):
            model = QuantileSVR(**{**options, "C": float(C), "method": method})
            model._progress = share_of(progress, done / n, 1.0 / n)
            predicted = model.fit(X[learn], y[learn]).predict(X[test], quantile=COMPARED_QUANTILES)
            losses[c] += sum(
                len(test) * mean_pinball_loss(y[test], predicted[:, k], alpha=tau)
                for k, tau in enumerate(COMPARED_QUANTILES)
            )
            done += 1
    losses /= len(y) * len(COMPARED_QUANTILES)
    best = float(CS[int(np.argmin(losses))])
    return {"Cs": CS.tolist(), "pinball loss": losses.tolist()}, {**options, "C": best}
