"""What the page of two classes carries: every change of every prediction, exactly."""

from typing import Any

import numpy as np

from taupath.classifier import QuantileSVC
from taupath.display.coefficients import largest_coefficients
from taupath.display.inputs import as_frame_of, columns_of, positive_of
from taupath.display.reliability import ReliabilityDisplay
from taupath.rates import sign_changes
from taupath.report.encoding import packed, packed_functions
from taupath.report.inputs import Case, Cells
from taupath.report.lowrank import LowRank, compress
from taupath.report.thinning import join, thin_each

__all__ = [
    "TOLERANCE",
    "binary_payload",
    "coefficient_payload",
    "most_cases",
    "reliability_payload",
]

# Functions that are only drawn or printed may be off by this part of their range.
TOLERANCE = 1e-3
# Cases that are carried one by one, and values of theirs that are looked at, one for each kink;
# all cases are in the counts.
MOST_CASES = 5000
MOST_VALUES = 40_000_000
FEWEST_CASES = 500
# Features whose coefficients are drawn.
MOST_COEFFICIENTS = 30
# Points of the grid that the boundary is drawn from, along each feature, and samples drawn.
GRID = 57
MOST_POINTS = 2000
N_BINS = 10


def binary_payload(case: Case, cells: Cells) -> dict[str, Any]:
    """Return the data of the page for a classifier of two classes."""
    model: QuantileSVC = case.model
    positive = positive_of(model, case.X, case.y)
    found = model.path_.crossings(case.path_X)
    proba = found.length
    if model.monotone:  # positive where the probability is at least τ
        n = len(proba)
        begin, who, when = np.ones(n, dtype=bool), np.arange(n), proba
        change = np.full(n, -1)
    else:
        begin, who, when, change = sign_changes(model, case.X, found)
    rows = cells.affordable(_most_wrong(positive, proba, most_cases(model.path_.n_kinks)))
    return {
        "kind": "binary",
        "classes": case.class_names[:: 1 if model.pos_label_ == model.classes_[1] else -1],
        "tau": float(model.tau),
        "rule": "probability" if model.monotone else "sign",
        "counts": [int((~positive).sum()), int(positive.sum())],
        "events": _events(positive, begin, who, when, change),
        "reliability": reliability_payload(positive, proba),
        "cases": {
            **_cases(case, rows, positive, proba),
            **_own_changes(rows, len(positive), begin, who, when),
            "columns": cells.payload(rows),
        },
        "coefficients": coefficient_payload(case),
        "boundary": _boundary(case, positive, rows),
    }


def most_cases(n_kinks: int) -> int:
    """Return how many cases can be carried one by one, for a path of so many kinks."""
    return int(np.clip(MOST_VALUES // n_kinks, FEWEST_CASES, MOST_CASES))


def _events(
    positive: np.ndarray, begin: np.ndarray, who: np.ndarray, when: np.ndarray, change: np.ndarray
) -> dict[str, Any]:
    """Return how many are taken for positive at τ = 0, and each change, in the order of τ.

    A change holds for all τ after its own. It counts ±1 for a case of the positive class and ±2
    for one of the negative class.
    """
    inside = when < 1.0
    who, when, change = who[inside], when[inside], change[inside]
    order = np.argsort(when, kind="stable")
    step = change * np.where(positive[who], 1, 2)
    return {
        "begin": [int((begin & ~positive).sum()), int((begin & positive).sum())],
        "when": packed(when[order], "f8"),
        "step": packed(step[order], "i1"),
    }


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
        "rows": packed(rows, "u4"),
        "positive": packed(positive[rows], "u1"),
        "proba": packed(proba[rows], "f8"),
        "functions": functions,
    }


def _compressed(case: Case, X: Any) -> LowRank:
    """Return f_τ(x) of checked samples."""
    X = case.columns_for_path(X)
    return compress(lambda some: case.model.path_.values_at_nodes(X[some]), X.shape[0], TOLERANCE)


def _own_changes(
    rows: np.ndarray, n: int, begin: np.ndarray, who: np.ndarray, when: np.ndarray
) -> dict[str, Any]:
    """Return where the prediction of each carried case changes, in its order."""
    place = np.full(n, -1)
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
    bins = ReliabilityDisplay.of(positive, proba, N_BINS, "uniform", None)
    return {
        "seen": bins.prob_true.tolist(),
        "predicted": bins.prob_pred.tolist(),
        "low": bins.interval[:, 0].tolist(),
        "high": bins.interval[:, 1].tolist(),
        "counts": bins.counts.tolist(),
        "edges": bins.edges.tolist(),
        "brier": float(np.mean((proba - positive) ** 2)),
    }


def coefficient_payload(case: Case) -> dict[str, Any] | None:
    """Return the largest coefficients over τ, for the linear kernel."""
    model = case.model
    if model.kernel != "linear":
        return None
    taus, coef, shown = largest_coefficients(model.path_, model.n_features_in_, MOST_COEFFICIENTS)
    tolerance = np.full(len(coef), TOLERANCE * float(np.ptp(coef)))
    return {
        "names": [case.feature_names[j] for j in shown],
        "functions": packed_functions(join([thin_each(taus, coef, tolerance)])),
        "tolerance": TOLERANCE,
        "features": int(model.n_features_in_),
    }


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
    shown = rows if len(rows) <= MOST_POINTS else _spread(len(positive), MOST_POINTS)
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


def _spread(n: int, n_shown: int) -> np.ndarray:
    return np.linspace(0, n - 1, n_shown).astype(np.int64)
