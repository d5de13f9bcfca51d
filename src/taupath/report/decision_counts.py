"""Decisions about cases as functions of τ, and the counts of a page that follow from them."""

from typing import Any

import numpy as np

from taupath.paths.crossings import Changes
from taupath.report.encoding import packed

__all__ = ["cost_ratios", "counts_payload", "joint"]

# Cost ratios with two digits, up to ten thousand to one: where a page of aggregates has its counts.
DECADES = 4


def joint(changes: Changes, proba: np.ndarray) -> Changes:
    """Return where a case is taken for positive both by these decisions and by probabilities."""
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
    """Return how many are taken for positive at τ = 0, by class, and how that changes with τ.

    A change holds for all τ after its own. With `nodes`, counts are right at these τ and stay the
    same around each of them: what is known of single cases, the exact τ of their changes, is not
    in there.
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
