"""How a model does on a table: for every τ, or every quantile."""

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix, d2_pinball_score, log_loss, mean_pinball_loss

from taupath.display.rates import Rates, rates_of_estimator
from taupath.model import Model
from taupath.tables import Table, TableError

__all__ = [
    "at_quantiles",
    "at_taus",
    "coverages",
    "mean_cost",
    "of_classes",
    "pieces_of",
    "rates_of",
    "scores_of",
    "truth_of",
]

# τ that a table shows.
TAUS = (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
# Central intervals whose coverage is counted.
COVERAGES = (0.5, 0.8, 0.9)


def truth_of(model: Model, table: Table) -> tuple[Any, np.ndarray]:
    """Return features and truth of a table that has both."""
    X = model.preparation.features(table)
    target = model.preparation.target
    unknown = target is None and model.preparation.column_names is not None
    if not unknown and not model.preparation.has_response(table):
        what = f"column {target!r}" if target else "labels"
        raise TableError(f"{table.source} has no {what}: the truth is needed to compare with")
    return X, model.preparation.response(table)


def rates_of(model: Model, X: Any, y: np.ndarray) -> Rates:
    """Return true and false positives at every τ."""
    return rates_of_estimator(model.estimator, X, y)


def at_taus(rates: Rates, taus: Any) -> dict[str, np.ndarray]:
    """Return a column for each measure, a row for each τ.

    ``cost`` is the mean per case in a unit where a false alarm costs τ and a miss 1 - τ.
    """
    taus = np.asarray(taus, dtype=float)
    tp, fp = rates.at(taus)
    return {"tau": taus, **_measures(rates, tp, fp), "cost": _cost(rates, tp, fp, taus)}


def pieces_of(rates: Rates, walked: tuple[float, float]) -> dict[str, np.ndarray]:
    """Return all pieces of what was walked on which decisions stay the same, with their measures.

    Between the two ends of a piece the cost is linear in τ.
    """
    edges, tp, fp = rates.pieces()
    begin, end = np.clip(edges[:-1], *walked), np.clip(edges[1:], *walked)
    known = begin < end
    begin, end, tp, fp = begin[known], end[known], tp[known], fp[known]
    return {
        "tau_from": begin,
        "tau_to": end,
        **_measures(rates, tp, fp),
        "cost_from": _cost(rates, tp, fp, begin),
        "cost_to": _cost(rates, tp, fp, end),
    }


def _measures(rates: Rates, tp: np.ndarray, fp: np.ndarray) -> dict[str, np.ndarray]:
    fn, tn = rates.n_positive - tp, rates.n_negative - fp
    with np.errstate(invalid="ignore"):
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


def _cost(rates: Rates, tp: np.ndarray, fp: np.ndarray, taus: np.ndarray) -> np.ndarray:
    total = rates.n_positive + rates.n_negative
    return np.asarray((taus * fp + (1.0 - taus) * (rates.n_positive - tp)) / total)


def mean_cost(rates: Rates, tau: float, cost_fp: float, cost_fn: float) -> float:
    """Return what decisions at τ cost per case."""
    tp, fp = rates.at(np.array([tau]))
    total = rates.n_positive + rates.n_negative
    return float((cost_fp * fp[0] + cost_fn * (rates.n_positive - tp[0])) / total)


def scores_of(model: Model, X: Any, y: np.ndarray) -> dict[str, float]:
    """Return Brier score and log-loss of the probabilities."""
    proba = model.estimator.predict_proba(X)
    k = proba.shape[1]
    truth = y[:, np.newaxis] == np.arange(k)
    tiny = np.finfo(float).eps
    return {
        "brier": float(0.5 * ((proba - truth) ** 2).sum(axis=1).mean()),
        "log_loss": float(log_loss(y, np.clip(proba, tiny, 1.0 - tiny), labels=np.arange(k)))
        if k == 2
        else float(-np.log(np.clip(proba[truth], tiny, 1.0)).mean()),
    }


def of_classes(model: Model, X: Any, y: np.ndarray, cost_matrix: Any = None) -> dict[str, Any]:
    """Return accuracy, confusion matrix and, where costs are given, the mean cost."""
    k = len(model.labels)
    predicted = model.estimator.predict(X, cost_matrix=cost_matrix)
    found = {
        "accuracy": float((predicted == y).mean()),
        "confusion": confusion_matrix(y, predicted, labels=np.arange(k)),
    }
    if cost_matrix is not None:
        found["cost"] = float(np.asarray(cost_matrix)[y, predicted].mean())
    return found


def at_quantiles(model: Model, X: Any, y: np.ndarray, quantiles: Any) -> dict[str, np.ndarray]:
    """Return, for each quantile, its loss, D², and the share of the truth below it."""
    quantiles = np.asarray(quantiles, dtype=float)
    predicted = model.estimator.predict(X, quantile=quantiles)
    columns = list(zip(quantiles, predicted.T, strict=True))
    return {
        "quantile": quantiles,
        "pinball": np.array([mean_pinball_loss(y, f, alpha=q) for q, f in columns]),
        "d2": np.array([d2_pinball_score(y, f, alpha=q) for q, f in columns]),
        "below": np.array([float((y <= f).mean()) for _, f in columns]),
    }


def coverages(model: Model, X: Any, y: np.ndarray) -> dict[float, float]:
    """Return how often central intervals hold the truth."""
    found = {}
    for coverage in COVERAGES:
        interval = model.estimator.predict_interval(X, coverage)
        found[coverage] = float(((interval[:, 0] <= y) & (y <= interval[:, 1])).mean())
    return found
