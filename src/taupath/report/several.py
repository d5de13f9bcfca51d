"""What the page of three classes or more carries: probabilities, from which any costs decide."""

from typing import Any

import numpy as np

from taupath.report.binary import MOST_CASES, reliability_payload
from taupath.report.encoding import packed
from taupath.report.inputs import Case, Cells

__all__ = ["several_payload"]

# A cost matrix with more rows than these cannot be edited by hand.
MOST_CLASSES = 20


def several_payload(case: Case, cells: Cells | None) -> dict[str, Any]:
    """Return the data of the page for a classifier of several classes."""
    if cells is None:
        raise ValueError("cases=False is for classifiers of two classes")
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
    wrong = 1.0 - proba[np.arange(len(truth)), truth]
    rows = cells.affordable(np.argsort(-wrong, kind="stable")[:MOST_CASES])
    return {
        "kind": "several",
        "classes": case.class_names,
        "truth": packed(truth, "u1"),
        "proba": packed(proba, "f8"),
        "reliability": [
            reliability_payload(truth == k, proba[:, k]) for k in range(len(model.classes_))
        ],
        "cases": {
            "count": len(rows),
            "rows": packed(rows, "u4"),
            "columns": cells.payload(rows),
        },
    }
