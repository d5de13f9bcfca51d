"""Checks of a trained model: its certificate, and whether a table is the one it was trained on."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_sample_weight

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.costs import weights_of_costs
from taupath.estimators.regressor import QuantileSVR
from taupath.models.model import Model
from taupath.models.training_record import about_paths
from taupath.paths.certificate import Certificate
from taupath.tables import Table, TableError

# Largest difference from a feature of training, relative to the largest feature: reading and
# scaling a column again may round the last digits differently.
SAME_VALUE = 1e-12


def simplified(model: Model, tol: float) -> tuple[Model, Certificate]:
    """Return a model with fewer nodes, whose gaps are at most `tol`, and its certificate.

    It has no operating point: it decides differently, so nothing that was promised holds for it.
    """
    estimator = model.estimator.simplify(tol)
    certificate = certificate_of(estimator, None)
    trained = {**model.trained, **about_paths(estimator, certificate)}
    small = replace(model, estimator=estimator, trained=trained, operating_point=None)
    return small, certificate


def certificate_of(
    estimator: QuantileSVC | QuantileSVR,
    points: int | None,
    X: Any = None,
    y: Any = None,
    costs: Mapping[str, Any] | None = None,
) -> Certificate:
    """Return the certificate of the worst path.

    For paths without data, give X, y and the costs in training, if there were any.
    """
    if X is not None and not estimator._all_paths()[0].has_data:
        X = _as_paths_take_it(estimator, X)
        found = [
            path.certify(X if own is None else X[own], *given)
            for model in _single(estimator)
            for path, (own, *given) in zip(
                model._all_paths(), _training_sets(model, y, costs or {}), strict=True
            )
        ]
    else:
        found = [path.certify(points) for path in estimator._all_paths()]
    gap = max(found, key=lambda each: each.worst_gap)
    kkt = max(found, key=lambda each: each.worst_kkt)
    return Certificate(
        worst_gap=gap.worst_gap,
        tau_gap=gap.tau_gap,
        worst_kkt=kkt.worst_kkt,
        tau_kkt=kkt.tau_kkt,
        n_checked=sum(each.n_checked for each in found),
        complete=all(each.complete for each in found),
        continuum=all(each.continuum for each in found),
        tol=max((each.tol for each in found if each.tol is not None), default=None),
        condition=_largest([each.condition for each in found]),
        checked_doubtful=all(each.complete or each.checked_doubtful for each in found),
    )


def _single(estimator: Any) -> list[Any]:
    """Return the estimators that a combined one consists of, or the only one."""
    return list(getattr(estimator, "estimators_", [estimator]))


def _as_paths_take_it(estimator: Any, X: Any) -> Any:
    scaler = getattr(estimator, "scaler_", None)
    return X if scaler is None else scaler.transform(X)


def _largest(values: list[float | None]) -> float | None:
    """Return the largest value, None if one is not known."""
    known = [value for value in values if value is not None]
    return max(known) if len(known) == len(values) else None


def _training_sets(
    estimator: QuantileSVC | QuantileSVR, y: np.ndarray, costs: Mapping[str, Any]
) -> Iterator[tuple[np.ndarray | None, np.ndarray, np.ndarray | None]]:
    """Yield which samples (None: all) each path was trained on, with what response and weight."""
    if isinstance(estimator, QuantileSVR):
        yield None, y, None
        return
    weight = None
    if estimator.class_weight is not None:
        weight = compute_sample_weight(estimator.class_weight, y)
    if costs:
        of_costs = weights_of_costs(y == estimator.pos_label_, np.ones(len(y)), **costs)
        weight = of_costs if weight is None else weight * of_costs
    for classes, positive in estimator._tasks():
        own = estimator._members_of(y, classes)
        labels = (y == estimator.classes_[positive]).astype(int)
        if own is None:
            yield None, labels, weight
        else:
            yield own, labels[own], None if weight is None else weight[own]


def has_data(model: Model) -> bool:
    """Return whether a model holds its training data."""
    return bool(model.estimator._all_paths()[0].has_data)


def differences(model: Model, table: Table) -> str | None:
    """Return how a table differs from the training table, None if it does not."""
    X = model.preparation.features(table)
    if not model.preparation.has_response(table):
        return "it does not hold the values to be predicted"
    try:
        y = model.preparation.response(table)
    except TableError as error:
        return str(error)
    rows = model.trained.get("rows")
    if X.shape[0] != rows:
        return f"it has {X.shape[0]} rows, training had {rows}"
    estimator = model.estimator
    if not has_data(model):
        return None  # the certificate decides
    X = _as_paths_take_it(estimator, X)
    estimator = _single(estimator)[0]  # all have the same data
    regression = isinstance(estimator, QuantileSVR)
    members = [None] if regression else estimator._members
    tasks = [(None, None)] if regression else estimator._tasks()
    for own, (_, positive), path in zip(members, tasks, estimator._all_paths(), strict=True):
        order = np.arange(X.shape[0]) if own is None else own
        response, known = y[order], path.data.target if regression else path.data.sign
        if not regression:
            response = np.where(response == positive, 1.0, -1.0)
        wrong = _first_difference(X[order], path.data.X)
        if wrong is None and not np.array_equal(response, known):
            wrong = int((response != known).argmax())
        if wrong is not None:
            return f"row {int(order[wrong]) + 1} differs"
    return None


def _first_difference(X: Any, known: Any) -> int | None:
    """Return the first row that differs, None if none does."""
    off = abs(X - known)
    largest = max(float(abs(known).max()), float(np.finfo(float).tiny))
    rows = off.max(axis=1)
    rows = np.asarray(rows.todense() if hasattr(rows, "todense") else rows).ravel()
    wrong = np.flatnonzero(rows > SAME_VALUE * largest)
    return int(wrong[0]) if len(wrong) else None
