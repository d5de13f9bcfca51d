"""What the page of two classes carries: every change of every prediction, exactly."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.clipping import clipped
from taupath.estimators.explanation import BY_HELD_OUT, WITH_COSTS
from taupath.outcomes.inputs import columns_of, grid_around, positive_of
from taupath.outcomes.rates import (
    changes_of_probabilities,
    decision_changes,
    probabilities_of_changes,
    sign_changes,
)
from taupath.paths.crossings import Changes
from taupath.report.aggregates import (
    both_positive,
    cost_ratios,
    counts_payload,
    reliability_payload,
)
from taupath.report.encoding import packed
from taupath.report.inputs import ModelAndData
from taupath.report.listed_cases import CaseColumns, listed_payload
from taupath.report.low_rank import compress
from taupath.report.piecewise_linear import evenly_spread

# Bounds on the cases listed one by one: with more, tables would be sorted too slowly while the
# slider moves. With many kinks fewer are listed: MOST_VALUES values take a few seconds.
MOST_LISTED, FEWEST_LISTED = 5000, 500
MOST_VALUES = 40_000_000
# Points along each feature of the grid that the decision boundary is drawn from, and the most cases
# that are drawn with it.
GRID_SIZE = 57
MOST_POINTS = 2000


def binary_payload(
    source: ModelAndData, columns: CaseColumns | None, compare: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return the data of the page for a classifier of two classes.

    Without columns, aggregates only. `compare` has the probabilities of both classes that other
    classifiers give.
    """
    model: QuantileSVC = source.model
    positive = positive_of(model, source.X, source.y)
    by_sign = not model._by_probability
    found = model._crossings(source.X) if by_sign else None
    proba = model._proba(source.X, found)[:, model._positive]
    if found is None:
        changes = decision_changes(model, source.X)
    else:
        changes = sign_changes(model, source.X, found[0])
    larger = model.pos_label_ == model.classes_[1]
    others = {name: proba[:, int(larger)] for name, proba in compare.items()}
    weights = source.weights
    payload = {
        "classes": source.class_names[:: 1 if larger else -1],
        "tau": float(model.tau),
        "rule": "sign" if by_sign else "probability",
        **_about_decisions(model),
        **_decisions(positive, changes, proba, others, aggregate=columns is None),
        "coefficients": weights and weights.payload(aggregate=columns is None),
    }
    if columns is None:
        return payload
    rows = columns.affordable(_listed_rows(positive, proba, int(model.n_iter_.sum())))
    return payload | {
        "cases": {
            **listed_payload(rows, columns),
            "positive": packed(positive[rows], "u1"),
            "proba": packed(proba[rows], "f8"),
            "functions": _functions(source, source.X[rows]) if by_sign else None,
            "features": weights and weights.cases_payload(rows),
            **_changes_of(rows, changes),
        },
        "boundary": _boundary(source, positive, rows),
    }


def outcomes_payload(
    positive: np.ndarray, changes: Changes, class_names: list[str], with_costs: bool, least: float
) -> dict[str, Any]:
    """Return the data of a page of aggregates, from the truth and the decisions alone.

    `least` is the least probability, and `with_costs` says whether costs were in the training of
    the models that decided.
    """
    if positive.all() or not positive.any():
        raise ValueError("a report needs cases of both classes")
    share = probabilities_of_changes(changes)
    proba = clipped(np.column_stack((1.0 - share, share)), least)[:, 1]
    return {
        "classes": class_names,
        "tau": 0.5,
        "rule": "sign",
        "withCosts": _costs_in_training(with_costs),
        "constant": None,  # each fold had a model of its own
        **_decisions(positive, changes, proba, {}, aggregate=True),
        "coefficients": None,
    }


def _about_decisions(model: QuantileSVC) -> dict[str, Any]:
    """Return what holds for all decisions of a model.

    That is what costs in training mean, and the range of τ in which cases are told apart, if it is
    narrower because that did not pay elsewhere.
    """
    below, above = getattr(model, "constant_below_", 0.0), getattr(model, "constant_above_", 1.0)
    constant = {"below": float(below), "above": float(above), "why": BY_HELD_OUT}
    return {
        "withCosts": _costs_in_training(model.costs_in_training_),
        "constant": constant if below > 0.0 or above < 1.0 else None,
    }


def _costs_in_training(with_costs: bool) -> str | None:
    return f"The model {WITH_COSTS}." if with_costs else None


def _decisions(
    positive: np.ndarray,
    changes: Changes,
    proba: np.ndarray,
    compare: dict[str, np.ndarray],
    *,
    aggregate: bool,
) -> dict[str, Any]:
    """Return what follows from the truth and the decisions about each case, at every τ.

    `compare` has other probabilities of the positive class, which decide by the threshold τ.
    """
    nodes = cost_ratios() if aggregate else None
    return {
        "kind": "binary",
        "counts": [int((~positive).sum()), int(positive.sum())],
        "nodes": 0 if nodes is None else len(nodes),
        "events": counts_payload(positive, changes, nodes),
        "repeats": None if aggregate else _repeated_changes(changes),
        "compare": [
            {
                "name": name,
                "events": counts_payload(positive, changes_of_probabilities(other), nodes),
                "both": counts_payload(positive, both_positive(changes, other), nodes),
                "brier": float(np.mean((other - positive) ** 2)),
            }
            for name, other in compare.items()
        ],
        "reliability": reliability_payload(positive, proba),
        "cases": None,
        "boundary": None,
    }


def _repeated_changes(changes: Changes) -> dict[str, Any]:
    """Return the changes of all cases that change more than once, case by case."""
    begin, who, when, _ = changes
    times = np.bincount(who, minlength=len(begin))
    own = times[who] > 1
    order = np.lexsort((when[own], who[own]))
    return {"counts": packed(times[times > 1], "u4"), "when": packed(when[own][order], "f8")}


# -- single cases --------------------------------------------------------------------------------


def _listed_rows(positive: np.ndarray, proba: np.ndarray, n_kinks: int) -> np.ndarray:
    """Return the cases to list, those the model is most wrong about first.

    The worst false alarms, at any τ, are the negative cases with the largest probability; the worst
    misses are the positive ones with the smallest. If not all cases are listed, half are of either
    class.
    """
    most = int(np.clip(MOST_VALUES // n_kinks, FEWEST_LISTED, MOST_LISTED))
    wrong = np.where(positive, 1.0 - proba, proba)
    order = np.argsort(-wrong, kind="stable")
    if len(order) <= most:
        return order
    ranks = np.where(positive[order], np.cumsum(positive[order]), np.cumsum(~positive[order]))
    return np.asarray(order[ranks <= most // 2])


def _functions(source: ModelAndData, X: Any) -> dict[str, Any]:
    """Return f_τ(x) of checked samples."""
    return compress(source.model.path_.kept_functions(X)).payload()


def _changes_of(rows: np.ndarray, changes: Changes) -> dict[str, Any]:
    """Return where the decision about each of these cases changes."""
    begin, who, when, _ = changes
    place = np.full(len(begin), -1)
    place[rows] = np.arange(len(rows))
    listed = place[who] >= 0
    own, when = place[who[listed]], when[listed]
    order = np.lexsort((when, own))
    return {
        "begin": packed(begin[rows], "u1"),
        "changeStarts": packed(np.searchsorted(own[order], np.arange(len(rows) + 1)), "u4"),
        "changes": packed(when[order], "f8"),
    }


def _boundary(
    source: ModelAndData, positive: np.ndarray, rows: np.ndarray
) -> dict[str, Any] | None:
    """Return f_τ on a grid over two features, or the probability where that decides."""
    model, given = source.model, source.given
    if model.kernel == "precomputed" or np.ndim(given) != 2 or np.shape(given)[1] != 2:
        return None
    samples = columns_of(given)
    x, y, points = grid_around(given, samples, GRID_SIZE)
    grid = source.transform(points)
    by_probability = model._by_probability
    shown = rows if len(rows) <= MOST_POINTS else evenly_spread(len(positive), MOST_POINTS)
    return {
        "low": [float(x[0, 0]), float(y[0, 0])],
        "high": [float(x[-1, -1]), float(y[-1, -1])],
        "size": GRID_SIZE,
        "functions": None if by_probability else _functions(source, grid),
        "proba": packed(model._positive_up_to(grid), "f4") if by_probability else None,
        "names": source.given_names(),
        "points": packed(samples[shown], "f4"),
        "positive": packed(positive[shown], "u1"),
        "carried": np.array_equal(shown, rows),
    }
