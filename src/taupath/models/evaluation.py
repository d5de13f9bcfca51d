"""Evaluation of a model: mistakes and what they cost at every τ, or losses at every quantile."""

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.costs import check_tau_columns, costs_to_tau, negative_cost, share_saved
from taupath.estimators.pipelines import last_step
from taupath.estimators.regressor import QuantileSVR
from taupath.models.model import Model
from taupath.outcomes.held_out import Outcomes, at_quantiles
from taupath.outcomes.rates import Rates, rates_of_estimator
from taupath.tables import Table, TableError
from taupath.tables.messages import quoted

# How many false alarms a miss costs, row by row of a table. After 1, it is a false alarm that
# costs 2, 5, ... misses.
RATIOS = (100, 50, 20, 10, 5, 2, 1)
# Quantiles that a table shows.
SHOWN_QUANTILES = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


def evaluate(
    model: Any,
    X: Any,
    y: Any,
    *,
    taus: Any = None,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    sample_weight: Any = None,
) -> dict[str, np.ndarray]:
    """Return how a model does on some cases: a table, as columns, with a row for each τ.

    ``pandas.DataFrame(taupath.evaluate(model, X, y))`` shows it.

    Parameters
    ----------
    model : QuantileSVC, QuantileSVCCV, QuantileSVR or Model
        Fitted; also as the last step of a pipeline, or in a search.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Cases, preferably ones that the model was not trained on. For a `Model`, which `load`
        returns, a data frame, a dict of columns or the name of a file.
    y : array-like of shape (n_samples,)
        Their labels, of two classes, or the numbers to be predicted. For a `Model` None means the
        target column of X.
    taus : array-like of shape (n_taus,), optional
        One row for each; for a regression these are the quantiles. By default the τ of `cost_fp`
        and `cost_fn`, or some between 1/101 (a miss costs 100 false alarms) and 100/101.
    cost_fp, cost_fn : float, optional
        What a false alarm and a miss cost, in any unit. All rows are judged by these costs, so that
        decisions made at different τ can be compared.
    sample_weight : array-like of shape (n_samples,), optional
        How often each case counts.

    Returns
    -------
    dict of ndarray
        For a classifier ``tau``; ``cost_fp`` and ``cost_fn``, what the mistakes of the row cost: as
        given, or else τ and 1 - τ in units of the cheaper one; ``tp``, ``fp``, ``fn`` and ``tn``,
        the numbers of true positives (found), false positives (false alarms), false negatives
        (missed) and true negatives (cleared); ``tpr``, ``tnr``, ``precision`` (NaN without alarms)
        and ``accuracy``; ``cost``, of all mistakes; ``cost_per_case``; and ``cost_without_model``,
        of deciding the same for all cases, whichever is cheaper.

        For a regression ``quantile``; ``pinball``, the mean loss; ``d2``, the part of the loss of
        a constant that is saved; and ``below``, the share of y up to the predicted quantile.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> import taupath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, malignant = scale(X), y == 0
    >>> model = taupath.QuantileSVC(C=0.1).fit(X[::2], malignant[::2])
    >>> found = taupath.evaluate(model, X[1::2], malignant[1::2], taus=[1 / 21, 0.5])
    >>> found["fn"], found["fp"]  # misses fall when a miss costs more
    (array([5., 9.]), array([18.,  3.]))
    """
    if isinstance(model, Model):
        _, X, y = model._judged(X, y)
        model = model.estimator
    last = last_step(model)[0]
    if isinstance(last, QuantileSVR):
        if cost_fp is not None or cost_fn is not None:
            raise ValueError("costs are for classifiers, this is a regression: give taus only")
        quantiles = check_tau_columns(SHOWN_QUANTILES if taus is None else taus, each="row")
        predicted = model.predict(X, quantile=quantiles)
        return at_quantiles(np.asarray(y, dtype=float), predicted, quantiles, sample_weight)
    costs = None
    if cost_fp is not None or cost_fn is not None:
        asked = costs_to_tau(cost_fp, cost_fn, 0)
        costs = float(cost_fp), float(cost_fn)  # type: ignore[arg-type]  # checked just now
        taus = [asked] if taus is None else taus
    rates = rates_of_estimator(model, X, y, sample_weight)
    walked = last._walked if hasattr(last, "_walked") else (0.0, 1.0)
    taus = usual_taus(walked) if taus is None else taus
    taus = check_tau_columns(taus, walked=walked, each="row")
    return at_taus(rates, taus, costs)


def usual_taus(walked: tuple[float, float]) -> list[float]:
    """Return the τ of a table that lie within the walked range."""
    taus = [*(1 / (1 + ratio) for ratio in RATIOS), *(r / (r + 1) for r in RATIOS[-2::-1])]
    return [tau for tau in taus if walked[0] <= tau <= walked[1]]


def truth_of(model: Model, table: Table) -> tuple[Any, np.ndarray]:
    """Return features and truth of a table that has both."""
    X = model.preparation.features(table)
    target = model.preparation.target
    unknown = target is None and model.preparation.column_names is not None
    if not unknown and not model.preparation.has_response(table):
        what = f"no column {quoted(target)}" if target else "no labels"
        if model.preparation.target_in(table) is not None:
            what = f"nothing in column {quoted(target)}"
        raise TableError(f"{table.source} has {what}: the truth is needed to compare with")
    return X, model.preparation.response(table)


def at_taus(
    rates: Rates, taus: Any, costs: tuple[float, float] | None = None
) -> dict[str, np.ndarray]:
    """Return a column for each measure and a row for each τ, as `evaluate` does.

    `costs` are those of a false alarm and of a miss. By default each row has its own, τ and 1 - τ,
    in units of the cheaper one.
    """
    taus = np.asarray(taus, dtype=float)
    tp, fp = rates.at(taus)
    if costs is None:
        cheaper = np.minimum(taus, 1.0 - taus)
        cheaper[cheaper == 0.0] = 1.0
        cost_fp, cost_fn = taus / cheaper, (1.0 - taus) / cheaper
    else:
        cost_fp, cost_fn = (np.full(len(taus), cost) for cost in costs)
    cost = cost_fp * fp + cost_fn * (rates.n_positive - tp)
    return {
        "tau": taus,
        "cost_fp": cost_fp,
        "cost_fn": cost_fn,
        **_measures(rates, tp, fp),
        "cost": cost,
        "cost_per_case": cost / (rates.n_positive + rates.n_negative),
        "cost_without_model": np.minimum(cost_fp * rates.n_negative, cost_fn * rates.n_positive),
    }


def pieces_of(
    rates: Rates, walked: tuple[float, float], costs: tuple[float, float] | None = None
) -> dict[str, np.ndarray]:
    """Return the intervals of τ on which decisions stay the same, with their measures.

    Given the costs of a false alarm and of a miss, ``cost`` is that of all mistakes.
    """
    edges, tp, fp = rates.pieces()
    begin, end = np.clip(edges[:-1], *walked), np.clip(edges[1:], *walked)
    known = begin < end
    tp, fp = tp[known], fp[known]
    columns = {"tau_from": begin[known], "tau_to": end[known], **_measures(rates, tp, fp)}
    if costs is not None:
        columns["cost"] = costs[0] * fp + costs[1] * (rates.n_positive - tp)
    return columns


def amounts_of(
    estimator: QuantileSVC, X: Any, y: np.ndarray, cost_fp: Any, cost_fn: Any
) -> dict[str, np.ndarray]:
    """Return what decisions cost if each case has costs of its own: a table, as columns.

    Its rows are the decisions of a classifier of two classes for these costs (without costs, if
    they were in its training), the positive class for all, and the negative class for all.
    ``cost`` is of all mistakes; ``saved`` is compared with the cheaper of the last two rows.
    """
    classes, positive = estimator.classes_, estimator.pos_label_
    truth, n = y == positive, len(y)
    negative = classes[1 - estimator._positive]
    decided = np.array(
        [
            estimator._predict_for_costs(X, cost_fp, cost_fn),
            *(np.full(n, label) for label in (positive, negative)),
        ]
    )
    cost = np.array(
        [-n * negative_cost(y, each, classes, positive, cost_fp, cost_fn) for each in decided]
    )
    alarm = decided == positive
    return {
        "tp": (alarm & truth).sum(axis=1),
        "fp": (alarm & ~truth).sum(axis=1),
        "fn": (~alarm & truth).sum(axis=1),
        "tn": (~alarm & ~truth).sum(axis=1),
        "cost": cost,
        "cost_per_case": cost / n,
        "saved": share_saved(cost, float(cost[1:].min())),
    }


def _measures(rates: Rates, tp: np.ndarray, fp: np.ndarray) -> dict[str, np.ndarray]:
    fn, tn = rates.n_positive - tp, rates.n_negative - fp
    with np.errstate(invalid="ignore"):  # 0 / 0 is not used
        precision = np.where(tp + fp > 0.0, tp / (tp + fp), np.nan)
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "tpr": tp / rates.n_positive,
        "tnr": tn / rates.n_negative,
        "precision": precision,
        "accuracy": (tp + tn) / (rates.n_positive + rates.n_negative),
    }


def scores_of(outcomes: Outcomes) -> dict[str, float]:
    """Return Brier score and log-loss of the probabilities."""
    proba = outcomes.probabilities()
    truth = outcomes.truth[:, np.newaxis] == np.arange(proba.shape[1])
    tiny = np.finfo(float).eps
    return {
        "brier": float(0.5 * ((proba - truth) ** 2).sum(axis=1).mean()),
        "log_loss": float(-np.log(np.maximum(proba[truth], tiny)).mean()),
    }


def of_classes(outcomes: Outcomes, cost_matrix: Any = None) -> dict[str, Any]:
    """Return accuracy, confusion matrix and, where costs are given, the mean cost."""
    truth, decided = outcomes.truth, outcomes.decided(cost_matrix)
    k = outcomes.probabilities().shape[1]
    found = {
        "accuracy": float((decided == truth).mean()),
        "confusion": confusion_matrix(truth, decided, labels=np.arange(k)),
    }
    if cost_matrix is not None:
        found["cost"] = float(np.asarray(cost_matrix)[truth, decided].mean())
    return found
