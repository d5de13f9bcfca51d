"""Training on a prepared table, with its certificate."""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.regressor import QuantileSVR
from taupath.estimators.regressor_selection import QuantileSVRCV
from taupath.estimators.selection import QuantileSVCCV
from taupath.exceptions import InexactPathWarning
from taupath.models.certifying import certificate_of
from taupath.models.model import Model, with_columns
from taupath.models.training_record import training_record
from taupath.paths.certificate import Certificate
from taupath.preparation import Preparation
from taupath.progress import share_of
from taupath.tables import Table
from taupath.tables.messages import counted, quoted

# Values of C to choose from in regression, in standard deviations of y: a decade apart, over the
# range that matters for standardized data.
CS = np.logspace(-4.0, 4.0, 9)


def train(
    table: Table,
    preparation: Preparation,
    options: dict[str, Any],
    *,
    cv: int | None = None,
    costs: Mapping[str, Any] | None = None,
    points: int = 100,
    progress: Callable[[float, int], None] | None = None,
) -> tuple[Model, Certificate]:
    """Return a model of the table, and the certificate of its paths.

    The preparation was learned from the same table. `options` are parameters of `QuantileSVC` or
    `QuantileSVR`; with `cv`, the number of folds, those of `QuantileSVCCV` for classifiers.
    `costs` are ``cost_fp`` and ``cost_fn`` of `QuantileSVC.fit`: numbers, or names of columns. The
    result is checked at `points` values of τ.
    """
    X, y = preparation.features(table), preparation.response(table)
    own = with_columns(costs or {}, table)
    if cv is not None and cv <= len(y) and preparation.classes is not None:
        _check_class_sizes(y, preparation.classes, cv)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InexactPathWarning)  # the certificate says more
        estimator, chosen, seconds = fitted(X, y, preparation.task, options, cv, own, progress)
    certificate = certificate_of(estimator, points)
    record = {
        "file": name_of(table),
        **training_record(estimator, int(X.shape[0]), certificate),
        "task": preparation.task,
        "seconds": seconds,
        "cross-validation": chosen,
    }
    if costs:
        record["costs"] = dict(costs)
    return Model(estimator, preparation, record), certificate


def fitted(
    X: Any,
    y: np.ndarray,
    task: str,
    options: dict[str, Any],
    cv: int | None,
    costs: Mapping[str, Any],
    progress: Callable[[float, int], None] | None = None,
) -> tuple[QuantileSVC | QuantileSVR, dict[str, Any] | None, float]:
    """Return a fitted estimator, the losses that it was chosen by, and the seconds of its fit."""
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
        for name in ("lam", "monotone", "clip", "tau_range", "cost_fp", "cost_fn"):
            if {**options, **costs}.get(name) is not None:
                raise ValueError(f"{name} is for classification, not for regression")
    chosen = None
    if cv is not None:
        if not 2 <= cv <= len(y):
            raise ValueError(f"cv must be between 2 and the number of rows, {len(y)}; got {cv}")
        if task == "classify":
            return _combined(X, y, options, cv, costs, progress)
        chosen, options = _choose_for_quantiles(X, y, options, cv, share_of(progress, 0.0, most))
        chosen["seconds"] = time.perf_counter() - started
    begun = time.perf_counter()
    estimator = QuantileSVC(**options) if task == "classify" else QuantileSVR(**options)
    if isinstance(estimator, QuantileSVR):
        estimator._warns_of_patterns = False  # its advice is for Python
    estimator._progress = progress if cv is None else share_of(progress, most, 1.0 - most)
    estimator.fit(X, y, **costs)
    estimator._progress = None
    return estimator, chosen, time.perf_counter() - begun


def _check_class_sizes(y: np.ndarray, classes: Sequence[Any], folds: int) -> None:
    """Raise if a class has fewer rows than there are folds; y holds places in `classes`."""
    counts = np.bincount(y, minlength=len(classes))
    rare = int(counts.argmin())
    if counts[rare] < folds:
        raise ValueError(
            f"class {quoted(classes[rare])} has {counted(counts[rare], 'row')}, too few for "
            f"{folds} folds"
        )


def name_of(table: Table) -> str:
    """Return what to call a table: its file without folders."""
    return "standard input" if table.source.startswith("<") else Path(table.source).name


def _combined(
    X: Any,
    y: np.ndarray,
    options: dict[str, Any],
    folds: int,
    costs: Mapping[str, Any],
    progress: Any,
) -> tuple[QuantileSVC, dict[str, Any], float]:
    """Return the classifier found by cross-validation, all losses, and the seconds it took."""
    begun = time.perf_counter()
    if "tau_range" in options:
        options = {"combine": "best", **options}
    search = QuantileSVCCV(cv=folds, standardize=False, **options)  # the preparation has scaled X
    search._progress = progress
    search.fit(X, y, **costs)
    search._progress = None
    seconds = time.perf_counter() - begun - search.refit_time_
    losses = {
        "Cs": search.Cs_.tolist(),
        "kernels": [str(each["kernel"]) for each in search.candidates_],
        "gammas": [each["gamma"] for each in search.candidates_],
        "Brier score": [each["brier"] for each in search.candidates_],
        "used": [each["used"] for each in search.candidates_],
        "left out": search.left_out_,
        "seconds": seconds,
    }
    single = search.combination_ is None  # without a scaler, there is no pipeline around it
    return search.estimators_[0] if single else search, losses, search.refit_time_


def _choose_for_quantiles(
    X: Any, y: np.ndarray, options: dict[str, Any], folds: int, progress: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    # X is as the preparation makes it, and y in its own units. To divide y by its deviation would
    # be to multiply C by it.
    Cs = CS * (float(np.std(y)) or 1.0)
    shared = {name: value for name, value in options.items() if name != "conformal"}
    search = QuantileSVRCV(Cs, cv=folds, conformal=False, standardize=False, **shared)
    search._progress = progress
    search.fit(X, y)
    losses = {
        "Cs": [each["C"] for each in search.candidates_],
        "pinball loss": [each["pinball"] for each in search.candidates_],
    }
    return losses, {**options, "C": search.C_}
