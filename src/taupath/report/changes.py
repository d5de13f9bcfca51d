"""Decisions about cases as functions of τ, and the counts of a page that follow from them."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath.report.encoding import packed

__all__ = ["Changes", "changes_of_probabilities", "cost_ratios", "counts_payload", "joint"]

# Cost ratios with two digits, up to ten thousand to one: where a page of aggregates has its counts.
DECADES = 4


@dataclass(frozen=True)
class Changes:
    """Whether each case is taken for positive, at every τ.

    Attributes
    ----------
    begin : ndarray of bool of shape (n_samples,)
        Whether a case is taken for positive at τ = 0.
    who : ndarray of int of shape (n_changes,)
        A case whose decision changes.
    when : ndarray of shape (n_changes,)
        The last τ before it does. Those of one case are in order.
    """

    begin: np.ndarray
    who: np.ndarray
    when: np.ndarray

    def directions(self) -> np.ndarray:
        """Return what each change is: 1 to positive, -1 to negative."""
        order = np.lexsort((np.arange(len(self.who)), self.who))
        who = self.who[order]
        place = np.arange(len(who)) - np.searchsorted(who, who)  # first, second, ... of its case
        directions = np.empty(len(who), dtype=np.int64)
        directions[order] = np.where(self.begin[who] ^ (place % 2 == 1), -1, 1)
        return directions

    def probabilities(self) -> np.ndarray:
        """Return which part of [0, 1] each case is taken for positive."""
        directions, n = self.directions(), len(self.begin)
        end = self.begin + np.bincount(self.who, directions, minlength=n)
        when = np.clip(self.when, 0.0, 1.0)
        return np.asarray(end - np.bincount(self.who, directions * when, minlength=n))


def changes_of_probabilities(proba: np.ndarray) -> Changes:
    """Return the decisions of the rule: positive where the probability is at least τ."""
    n = len(proba)
    return Changes(np.ones(n, dtype=bool), np.arange(n), proba)


def joint(changes: Changes, proba: np.ndarray) -> Changes:
    """Return where a case is taken for positive both by these decisions and by probabilities."""
    before = changes.when < proba[changes.who]
    who, when = changes.who[before], changes.when[before]
    passed = np.bincount(who, minlength=len(proba))
    still = np.flatnonzero(changes.begin ^ (passed % 2 == 1))
    return Changes(changes.begin, np.append(who, still), np.append(when, proba[still]))


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
    inside = changes.when < 1.0
    who, when, direction = changes.who[inside], changes.when[inside], changes.directions()[inside]
    if nodes is not None:
        k = np.clip(np.searchsorted(nodes, when, side="right") - 1, 0, len(nodes) - 2)
        when = 0.5 * (nodes[k] + nodes[k + 1])
    times, which = np.unique(when, return_inverse=True)
    steps = [
        np.bincount(which[own], direction[own], minlength=len(times)).astype(np.int64)
        for own in (~positive[who], positive[who])
    ]
    kept = (steps[0] != 0) | (steps[1] != 0)
    begin = changes.begin
    return {
        "begin": [int((begin & ~positive).sum()), int((begin & positive).sum())],
        "when": packed(times[kept], "f8"),
        "alarms": _packed_steps(steps[0][kept]),
        "found": _packed_steps(steps[1][kept]),
    }


def _packed_steps(steps: np.ndarray) -> dict[str, str]:
    largest = int(np.abs(steps).max(initial=0))
    return packed(steps, "i1" if largest < 1 << 7 else "i2" if largest < 1 << 15 else "i4")
