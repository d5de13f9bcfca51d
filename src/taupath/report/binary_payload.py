"""What the page of two classes carries: every change of every prediction, exactly."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.outcomes.inputs import as_frame_of, columns_of, positive_of
from taupath.outcomes.rates import changes_of_probabilities, probabilities_of_changes, sign_changes
from taupath.outcomes.reliability import reliability_bins
from taupath.paths.crossings import Changes
from taupath.report.decision_counts import cost_ratios, counts_payload, joint
from taupath.report.encoding import packed
from taupath.report.inputs import Case, Cells
from taupath.report.low_rank import LowRank, chosen_of, compress

__all__ = [
    "TOLERANCE",
    "binary_payload",
    "coefficient_payload",
    "decisions_payload",
    "most_cases",
    "outcomes_payload",
    "reliability_payload",
]

# Functions that are only drawn or printed may be off by this part of their range.
TOLERANCE = 1e-3
# Cases that are carried one by one, and values of theirs that are looked at, one for each kink;
# all cases are in the counts.
MOST_CASES = 5000
MOST_VALUES = 40_000_000
FEWEST_CASES = 500
# Points of the grid that the boundary is drawn from, along each feature, and samples drawn.
GRID = 57
MOST_POINTS = 2000
N_BINS = 10


def binary_payload(
    case: Case, cells: Cells | None, compare: dict[str, np.ndarray]
) -> dict[str, Any]:
    """Return the data of the page for a classifier of two classes; aggregates only without cells.

    `compare` has the probabilities of both classes that other classifiers give.
    """
    model: QuantileSVC = case.model
    positive = positive_of(model, case.X, case.y)
    found = model.path_.crossings(case.path_X)
    proba = found.length
    by_sign = not model.monotone
    changes = sign_changes(model, case.X, found) if by_sign else changes_of_probabilities(proba)
    larger = model.pos_label_ == model.classes_[1]
    others = {name: proba[:, int(larger)] for name, proba in compare.items()}
    return {
        "classes": case.class_names[:: 1 if larger else -1],
        "tau": float(model.tau),
        "rule": "sign" if by_sign else "probability",
        **decisions_payload(positive, changes, proba, others, cells is None),
        **_single_cases(case, cells, positive, changes, proba),
        "coefficients": coefficient_payload(case, aggregate=cells is None),
    }


def outcomes_payload(
    positive: np.ndarray, changes: Changes, class_names: list[str]
) -> dict[str, Any]:
    """Return the data of a page of aggregates, from the truth and the decisions alone.

    Parameters
    ----------
    positive : ndarray of bool of shape (n_samples,)
        The truth.
    changes : Changes
        The decisions.
    class_names : list of str
        Of the negative and of the positive class.
    """
    if positive.all() or not positive.any():
        raise ValueError("a report needs cases of both classes")
    return {
        "classes": class_names,
        "tau": 0.5,
        "rule": "sign",
        **decisions_payload(positive, changes, probabilities_of_changes(changes), {}, True),
        "cases": None,
        "boundary": None,
        "coefficients": None,
    }


def decisions_payload(
    positive: np.ndarray,
    changes: Changes,
    proba: np.ndarray,
    compare: dict[str, np.ndarray],
    aggregate: bool,
) -> dict[str, Any]:
    """Return what follows from the truth and the decisions about each case, at every τ.

    `compare` has other probabilities of the positive class: they decide by the threshold τ.
    """
    nodes = cost_ratios() if aggregate else None
    return {
        "kind": "binary",
        "counts": [int((~positive).sum()), int(positive.sum())],
        "nodes": 0 if nodes is None else len(nodes),
        "events": counts_payload(positive, changes, nodes),
        "repeats": None if aggregate else _repeats(changes),
        "compare": [
            {
                "name": name,
                "events": counts_payload(positive, changes_of_probabilities(other), nodes),
                "both": counts_payload(positive, joint(changes, other), nodes),
                "brier": float(np.mean((other - positive) ** 2)),
            }
            for name, other in compare.items()
        ],
        "reliability": reliability_payload(positive, proba),
    }


def _repeats(changes: Changes) -> dict[str, Any]:
    """Return the changes of all cases that change more than once, case by case."""
    begin, who, when, _ = changes
    times = np.bincount(who, minlength=len(begin))
    own = times[who] > 1
    order = np.lexsort((when[own], who[own]))
    return {"counts": packed(times[times > 1], "u4"), "when": packed(when[own][order], "f8")}


def _single_cases(
    case: Case, cells: Cells | None, positive: np.ndarray, changes: Changes, proba: np.ndarray
) -> dict[str, Any]:
    """Return what is carried of single cases."""
    if cells is None:
        return {"cases": None, "boundary": None}
    rows = cells.affordable(_most_wrong(positive, proba, most_cases(case.model.path_.n_kinks)))
    weights = case.weights
    return {
        "cases": {
            **_cases(case, rows, positive, proba),
            **_own_changes(rows, changes),
            "features": None if weights is None else weights.cases_payload(rows),
            "columns": cells.payload(rows),
        },
        "boundary": _boundary(case, positive, rows),
    }


def most_cases(n_kinks: int) -> int:
    """Return how many cases can be carried one by one, for a path of so many kinks."""
    return int(np.clip(MOST_VALUES // n_kinks, FEWEST_CASES, MOST_CASES))


def _most_wrong(positive: np.ndarray, proba: np.ndarray, most: int) -> np.ndarray:
    """Return the cases that are carried one by one, those the model is most wrong about first.

    Among the false alarms at any τ the worst are the negative cases with the largest probability,
    among the misses the positive ones with the smallest: those are the first here at every τ.
    """
    wrong = np.where(positive, 1.0 - proba, proba)
    if len(wrong) <= most:
        return np.argsort(-wrong, kind="stable")
    halves = []
    for own in (np.flatnonzero(positive), np.flatnonzero(~positive)):
        halves.append(own[np.argsort(-wrong[own], kind="stable")][: most // 2])
    rows = np.concatenate(halves)
    return np.asarray(rows[np.argsort(-wrong[rows], kind="stable")])


def _cases(case: Case, rows: np.ndarray, positive: np.ndarray, proba: np.ndarray) -> dict[str, Any]:
    functions = None
    if not case.model.monotone:
        functions = _compressed(case, case.X[rows]).payload()
    return {
        "count": len(rows),
        "rows": packed(rows, "u4"),
        "positive": packed(positive[rows], "u1"),
        "proba": packed(proba[rows], "f8"),
        "functions": functions,
    }


def _compressed(case: Case, X: Any) -> LowRank:
    """Return f_τ(x) of checked samples."""
    return compress(case.model.path_.kept_functions(case.columns_for_path(X)), TOLERANCE)


def _own_changes(rows: np.ndarray, changes: Changes) -> dict[str, Any]:
    """Return where the decision about each carried case changes, in its order."""
    begin, who, when, _ = changes
    place = np.full(len(begin), -1)
    place[rows] = np.arange(len(rows))
    carried = place[who] >= 0
    own, when = place[who[carried]], when[carried]
    order = np.lexsort((when, own))
    return {
        "begin": packed(begin[rows], "u1"),
        "changeStarts": packed(np.searchsorted(own[order], np.arange(len(rows) + 1)), "u4"),
        "changes": packed(when[order], "f8"),
    }


def reliability_payload(positive: np.ndarray, proba: np.ndarray) -> dict[str, Any]:
    """Return shares of the positive class, bin by bin, with their 95 % intervals."""
    bins = reliability_bins(positive, proba, N_BINS)
    return {
        "seen": bins.prob_true.round(4).tolist(),
        "predicted": bins.prob_pred.round(4).tolist(),
        "low": bins.interval[:, 0].round(4).tolist(),
        "high": bins.interval[:, 1].round(4).tolist(),
        "counts": bins.counts.tolist(),
        "edges": bins.edges.tolist(),
        "brier": float(np.mean((proba - positive) ** 2)),
    }


def coefficient_payload(case: Case, aggregate: bool) -> dict[str, Any] | None:
    """Return the largest weights over τ, for the linear kernel.

    Of aggregates only those that several cases share: the name of a rare category tells of one.
    """
    weights = case.weights
    if weights is not None and aggregate:
        weights = weights.of_several()
    return None if weights is None else weights.payload(TOLERANCE)


# -- two features ------------------------------------------------------------------------------


def _boundary(case: Case, positive: np.ndarray, rows: np.ndarray) -> dict[str, Any] | None:
    """Return f_τ on a grid over two features, or the probability where that decides."""
    model = case.model
    if model.kernel == "precomputed" or np.ndim(case.given) != 2 or np.shape(case.given)[1] != 2:
        return None
    samples = columns_of(case.given)
    low, high = samples.min(axis=0), samples.max(axis=0)
    room = 0.06 * np.where(high > low, high - low, 1.0)
    low, high = low - room, high + room
    x, y = np.meshgrid(*(np.linspace(low[j], high[j], GRID) for j in (0, 1)))
    grid = case.transform(as_frame_of(case.given, np.column_stack((x.ravel(), y.ravel()))))
    if model.monotone:
        proba, functions = packed(model.path_.crossings(grid).length, "f4"), None
    else:
        proba, functions = None, _compressed(case, grid).payload()
    shown = rows if len(rows) <= MOST_POINTS else chosen_of(len(positive), MOST_POINTS)
    return {
        "low": low.tolist(),
        "high": high.tolist(),
        "size": GRID,
        "functions": functions,
        "proba": proba,
        "names": case.given_names(),
        "points": packed(samples[shown], "f4"),
        "positive": packed(positive[shown], "u1"),
        "carried": len(shown) == len(rows) and bool((shown == rows).all()),
    }
