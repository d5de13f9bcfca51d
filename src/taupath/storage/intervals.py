"""Intervals for probabilities: the counts of held-out samples that they come from."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.probability_intervals import HeldOutCounts, ProbabilityIntervals
from taupath.exceptions import ModelFileError
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.validation import MAX_ROWS, UNIT_INTERVAL, check_within

# How far counts may be from what they can be: they are sums of weights, and rounded.
TOTALS_ROUNDED = 1e-9


def pack_intervals(
    intervals: ProbabilityIntervals | None, arrays: ArraysToWrite
) -> dict[str, Any] | None:
    """Return the description of intervals; their arrays are added to `arrays`."""
    if intervals is None:
        return None
    counts = intervals._counts
    names = ("score", "total", "positive")
    found: dict[str, Any] = {name: arrays.put(name, getattr(counts, name)) for name in names}
    return found | {"worth": counts.worth}


def unpack_intervals(found: Any, arrays: StoredArrays, estimator: Any) -> ProbabilityIntervals:
    """Return the intervals of a description, for this estimator."""
    if not isinstance(estimator, QuantileSVC) or len(estimator.classes_) != 2:
        raise ModelFileError("intervals for probabilities are for classifiers of two classes")
    score = arrays.take(found.get("score"), np.float64)
    total = arrays.take(found.get("total"), np.float64, len(score))
    positive = arrays.take(found.get("positive"), np.float64, len(score))
    worth = check_within(found.get("worth"), "worth", UNIT_INTERVAL)
    right = len(score) > 0 and score[0] >= 0.0 and score[-1] <= 1.0 and worth > 0.0
    right = right and grows(score, strictly=True) and grows(total) and grows(positive)
    if not right or not (total[0] > 0.0 and total[-1] <= MAX_ROWS and positive[0] >= 0.0):
        raise ModelFileError("the predictions that intervals come from are out of order")
    if not (positive <= total * (1.0 + TOTALS_ROUNDED)).all():
        raise ModelFileError("more held-out samples are positive than there are")
    intervals = ProbabilityIntervals()
    intervals._counts = HeldOutCounts(score, total, positive, worth)
    return intervals
