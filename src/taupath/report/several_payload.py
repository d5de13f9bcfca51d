"""What the page of three classes or more carries: probabilities, from which any costs decide."""

from typing import Any

import numpy as np

from taupath.report.aggregates import reliability_payload
from taupath.report.encoding import packed
from taupath.report.inputs import ModelAndData
from taupath.report.listed_cases import CaseColumns, listed_payload
from taupath.validation import check_known_labels

# A cost matrix with more rows cannot be edited by hand.
MOST_CLASSES = 20
# Cases listed one by one: with more, tables would be sorted too slowly while the slider moves.
MOST_LISTED = 5000


def several_payload(source: ModelAndData, columns: CaseColumns | None) -> dict[str, Any]:
    """Return the data of the page for a classifier of several classes.

    Without columns, aggregates only: how many cases of each class have about the same
    probabilities.
    """
    classes = source.model.classes_
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"a report has room for up to {MOST_CLASSES} classes, the estimator has {len(classes)}"
        )
    check_known_labels(source.y, classes)
    truth = np.searchsorted(classes, source.y)
    proba = source.model.predict_proba(source.samples)
    return {
        "kind": "several",
        "classes": source.class_names,
        "count": len(truth),
        **(_groups(truth, proba) if columns is None else _each_case(truth, proba, columns)),
        "reliability": [reliability_payload(truth == k, proba[:, k]) for k in range(len(classes))],
    }


def _each_case(truth: np.ndarray, proba: np.ndarray, columns: CaseColumns) -> dict[str, Any]:
    """Return truth and probabilities of all cases, and a list of the worst mistakes."""
    wrong = 1.0 - proba[np.arange(len(truth)), truth]
    rows = columns.affordable(np.argsort(-wrong, kind="stable")[:MOST_LISTED])
    return {
        "truth": packed(truth, "u1"),
        "proba": packed(proba, "f8"),
        "parts": None,
        "alike": None,
        "cases": listed_payload(rows, columns),
    }


def _groups(truth: np.ndarray, proba: np.ndarray) -> dict[str, Any]:
    """Return how many cases have the same class and, in hundredths, the same probabilities."""
    each = np.column_stack((truth, to_hundredths(proba)))
    groups, counts = np.unique(each, axis=0, return_counts=True)
    return {
        "truth": packed(groups[:, 0], "u1"),
        "proba": packed(groups[:, 1:], "u1"),
        "parts": 100,
        "alike": packed(counts, "u4"),
        "cases": None,
    }


def to_hundredths(proba: np.ndarray) -> np.ndarray:
    """Return probabilities in whole hundredths that add up to one, by largest remainders."""
    scaled = 100 * proba
    parts = np.floor(scaled).astype(np.int64)
    missing = 100 - parts.sum(axis=1)
    rank = np.argsort(np.argsort(parts - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(parts + (rank < missing[:, None]))
