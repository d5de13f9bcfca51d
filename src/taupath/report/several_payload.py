"""What the page of three classes or more carries: probabilities, from which any costs decide."""

from typing import Any

import numpy as np

from taupath.report.binary_payload import MOST_CASES, reliability_payload
from taupath.report.encoding import packed
from taupath.report.inputs import Case, Cells

__all__ = ["several_payload"]

# A cost matrix with more rows than these cannot be edited by hand.
MOST_CLASSES = 20
# In a page of aggregates probabilities are whole numbers of hundredths.
PARTS = 100


def several_payload(case: Case, cells: Cells | None) -> dict[str, Any]:
    """Return the data of the page for a classifier of several classes.

    Without cells, aggregates only: how many cases of each class have about the same probabilities.
    """
    model = case.model
    if len(model.classes_) > MOST_CLASSES:
        raise ValueError(
            f"a report has room for {MOST_CLASSES} classes, the estimator has {len(model.classes_)}"
        )
    unknown = np.unique(case.y[~np.isin(case.y, model.classes_)]).tolist()
    if unknown:
        raise ValueError(
            f"y has labels that the estimator was not fitted with: {', '.join(map(repr, unknown))}"
        )
    truth = np.searchsorted(model.classes_, case.y)
    proba = model.predict_proba(case.samples)
    return {
        "kind": "several",
        "classes": case.class_names,
        "count": len(truth),
        **(_groups(truth, proba) if cells is None else _single_cases(truth, proba, cells)),
        "reliability": [
            reliability_payload(truth == k, proba[:, k]) for k in range(len(model.classes_))
        ],
    }


def _single_cases(truth: np.ndarray, proba: np.ndarray, cells: Cells) -> dict[str, Any]:
    """Return truth and probabilities of all cases, and what is known of the most mistaken."""
    wrong = 1.0 - proba[np.arange(len(truth)), truth]
    rows = cells.affordable(np.argsort(-wrong, kind="stable")[:MOST_CASES])
    return {
        "truth": packed(truth, "u1"),
        "proba": packed(proba, "f8"),
        "parts": None,
        "alike": None,
        "cases": {
            "count": len(rows),
            "rows": packed(rows, "u4"),
            "columns": cells.payload(rows),
        },
    }


def _groups(truth: np.ndarray, proba: np.ndarray) -> dict[str, Any]:
    """Return how many cases have the same class and, in hundredths, the same probabilities."""
    groups, counts = np.unique(
        np.column_stack((truth, in_parts(proba))), axis=0, return_counts=True
    )
    return {
        "truth": packed(groups[:, 0], "u1"),
        "proba": packed(groups[:, 1:], "u1"),
        "parts": PARTS,
        "alike": packed(counts, "u4"),
        "cases": None,
    }


def in_parts(proba: np.ndarray) -> np.ndarray:
    """Return probabilities in whole hundredths that add up to one, by largest remainders."""
    scaled = PARTS * proba
    parts = np.floor(scaled).astype(np.int64)
    missing = PARTS - parts.sum(axis=1)
    rank = np.argsort(np.argsort(parts - scaled, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray(parts + (rank < missing[:, None]))
