"""Aggregates over all cases: counts of decisions, and reliability."""

from typing import Any

import numpy as np

from taupath.outcomes.reliability import reliability_bins
from taupath.paths.crossings import Changes
from taupath.report.encoding import packed

# A page of aggregates has counts at all cost ratios with two digits, up to this power of ten.
DECADES = 4
# Bins of the reliability diagram: few enough for readable intervals.
N_BINS = 10


def both_positive(changes: Changes, proba: np.ndarray) -> Changes:
    """Return where cases are positive both by these decisions and by probabilities."""
    begin, who, when, change = changes
    before = when < proba[who]
    who, when, change = who[before], when[before], change[before]
    still = np.flatnonzero(begin + np.bincount(who, change, minlength=len(proba)) > 0.5)
    return Changes(
        begin,
        np.append(who, still),
        np.append(when, proba[still]),
        np.append(change, np.full(len(still), -1)),
    )


def cost_ratios() -> np.ndarray:
    """Return the τ of all cost ratios with two digits and all hundredths, 0 and 1 included."""
    digits = np.arange(10, 100) / 10.0
    ratios = np.concatenate([digits * 10.0**k for k in range(DECADES)] + [[10.0**DECADES]])
    below = 1.0 / (1.0 + ratios)
    return np.unique(np.concatenate((below, 1.0 - below, np.linspace(0.0, 1.0, 101))))


def counts_payload(
    positive: np.ndarray, changes: Changes, nodes: np.ndarray | None
) -> dict[str, Any]:
    """Return how many cases of each class are predicted positive at τ = 0, and all changes.

    A change holds for all τ after its own. With `nodes`, each change is moved to the middle between
    two nodes: counts are right at every node, and the exact τ at which the decision about a single
    case changes is not revealed.
    """
    begin, who, when, change = changes
    inside = when < 1.0
    who, when, change = who[inside], when[inside], change[inside]
    if nodes is not None:
        k = np.clip(np.searchsorted(nodes, when, side="right") - 1, 0, len(nodes) - 2)
        when = 0.5 * (nodes[k] + nodes[k + 1])
    times, which = np.unique(when, return_inverse=True)
    steps = [
        np.bincount(which[own], change[own], minlength=len(times)).astype(np.int64)
        for own in (~positive[who], positive[who])
    ]
    kept = (steps[0] != 0) | (steps[1] != 0)
    return {
        "begin": [int((begin & ~positive).sum()), int((begin & positive).sum())],
        "when": packed(times[kept], "f8"),
        "alarms": _packed_steps(steps[0][kept]),
        "found": _packed_steps(steps[1][kept]),
    }


def _packed_steps(steps: np.ndarray) -> dict[str, str]:
    largest = int(np.abs(steps).max(initial=0))
    return packed(steps, "i1" if largest < 1 << 7 else "i2" if largest < 1 << 15 else "i4")


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
