"""The least probability that a classifier predicts, so that none is exactly 0 or 1."""

from typing import Any

import numpy as np

from taupath.choices import LAPLACE
from taupath.estimators.costs import weights_as_counts
from taupath.validation import check_choice, check_real, shown


def least_probability(clip: Any, weight: np.ndarray, n_classes: int) -> float:
    """Return the least probability that the parameter `clip` stands for.

    "laplace" is 1 / (n + n_classes), Laplace's estimate for a class that none of n samples had.
    Weights count as in a stack: weight 2 is two copies, but small weights, such as shares of 1,
    count as (Σ w)² / Σ w² samples.
    """
    if isinstance(clip, str):
        check_choice(clip, "clip", (LAPLACE,), or_else="a number")
        n_samples = max(float(weight.sum()), float(weights_as_counts(weight).sum()))
        return 1.0 / (n_samples + n_classes)
    return check_least(clip, n_classes)


def check_least(clip: Any, n_classes: int) -> float:
    """Return a least probability; raise unless all classes can have at least that."""
    least = check_real(clip, "clip")
    if not 0.0 <= least < 1.0 / n_classes:
        raise ValueError(
            f"clip must be at least 0 and below 1/{n_classes}, for {n_classes} classes, or "
            f"{LAPLACE!r}; got {shown(clip)}"
        )
    return least


def clipped(proba: np.ndarray, least: float) -> np.ndarray:
    """Return probabilities of classes, one column each, that are at least `least`.

    Those below are raised to it, and what the others of the row have above it shrinks in
    proportion. Rows with nothing to raise stay as they are.
    """
    rows = np.flatnonzero((proba < least).any(axis=1))
    above = np.maximum(proba[rows] - least, 0.0)
    room = 1.0 - proba.shape[1] * least
    found = proba.copy()
    found[rows] = least + above * (room / above.sum(axis=1, keepdims=True))
    return found
