"""Operating points: the τ at which a promise about new rows holds, found on held-out rows.

Rows are held out of training, and new rows are drawn as they were. A promise may fail for an
unlucky draw of the held-out rows; the probability of that is at most `delta`, however many rows
there are and whatever their distribution.

Decisions at different τ need not be nested: a row may be positive at some τ and negative at a
smaller one. Promises are about the decisions of `predict` all the same. A promise about alarms
counts a row as one at every τ up to the last at which it is positive, and a promise about misses
counts a row as missed at every τ above the first at which it is negative. Both count too many
rather than too few, and both are exact where decisions are nested.
"""

from dataclasses import dataclass
from math import inf
from typing import NamedTuple

import numpy as np

from taupath.exceptions import NoOperatingPoint
from taupath.outcomes.bounds import (
    PRECISION_TAUS,
    most_mistakes,
    p_values_of,
    precise,
    rows_needed,
    upper_bound,
)
from taupath.outcomes.held_out import Outcomes
from taupath.outcomes.promises import Promises
from taupath.outcomes.rates import Rates
from taupath.paths.crossings import Changes


@dataclass(frozen=True)
class OperatingPoint:
    """The τ at which a promise about new rows holds.

    A row is positive where ``predict(X, tau=tau)`` is. Of the other rows, those that are positive
    at `tau_low` are left undecided; there are none unless `abstain` was asked for.

    Attributes
    ----------
    tau : float
        The operating τ.
    tau_low : float
        With `abstain`, the τ at which rows must be negative to be decided so; else the same as
        `tau`.
    promise : str
        What holds for new rows, and with which confidence.
    guaranteed : bool
        Whether it is proved. It is not for rows that were judged by other models than this one.
    delta : float
        The probability with which the promise may fail.
    counts : dict of int
        What was seen on the held-out rows: ``tp``, ``fp``, ``fn`` and ``tn``, and the
        ``undecided_positive`` and ``undecided_negative`` rows.
    cost_bound : float or None
        With `abstain` and no other promise, the bound on the mean cost of a row.
    """

    tau: float
    tau_low: float
    promise: str
    guaranteed: bool
    delta: float
    counts: dict[str, int]
    cost_bound: float | None = None

    def __str__(self) -> str:
        return "\n".join((self.promise, self.seen()))

    def seen(self) -> str:
        """Return what was seen on the held-out rows, in words."""
        n = self.counts
        left = n["undecided_positive"], n["undecided_negative"]
        positive, negative = n["tp"] + n["fn"] + left[0], n["fp"] + n["tn"] + left[1]
        said = (
            f"On the held-out rows: {n['tp']} of {positive} positive rows found, "
            f"{n['fp']} of {negative} negative rows flagged"
        )
        if self.tau_low < self.tau:
            said += f", {sum(left)} rows undecided ({left[0]} positive)"
        return said + "."


class _Rows(NamedTuple):
    """Held-out rows: the truth, and up to which τ each is positive throughout, and at all."""

    truth: np.ndarray
    changes: Changes
    walked: tuple[float, float]
    until: np.ndarray  # positive at every τ up to this one; -inf if negative where the path begins
    last: np.ndarray  # the last τ at which it is positive; -inf if it never is

    @classmethod
    def of(cls, outcomes: Outcomes) -> "_Rows":
        assert outcomes.changes is not None
        changes, end = outcomes.changes, outcomes.walked[1]
        begin, who, when, change = changes
        until, last = np.full(len(begin), end), np.full(len(begin), end)
        falls = change < 0
        np.minimum.at(until, who[falls], when[falls])
        until[~begin] = -inf
        at_end = begin + np.bincount(who, change, minlength=len(begin)) > 0
        last[~at_end] = -inf
        ended = falls & ~at_end[who]
        np.maximum.at(last, who[ended], when[ended])
        return cls(outcomes.truth.astype(bool), changes, outcomes.walked, until, last)

    def positive_at(self, tau: float) -> np.ndarray:
        """Return which rows are positive at τ."""
        begin, who, when, change = self.changes
        before = when < tau
        return begin + np.bincount(who[before], change[before], minlength=len(begin)) > 0


class _Allowed(NamedTuple):
    """The τ at which all promises hold: above `above`, up to `up_to`, and among `some`."""

    above: float = -inf
    up_to: float = inf
    some: np.ndarray | None = None


def find_operating_point(
    outcomes: Outcomes, promises: Promises, guaranteed: bool = True, note: str = ""
) -> OperatingPoint:
    """Return the operating point of promises on some rows.

    `note` is added to the promise: what it depends on, or why it is not guaranteed.
    """
    rows = _Rows.of(outcomes)
    allowed = _allowed(rows, promises)
    if promises.abstain is None:
        tau = tau_low = _one_tau(rows, allowed)
    else:
        tau_low, tau = _two_taus(rows, allowed, promises.abstain)
    positive = rows.positive_at(tau)
    undecided = rows.positive_at(tau_low) & ~positive
    counts = _counts(rows.truth, positive, undecided)
    bound = None
    if promises.abstain is not None and promises.number == 0:
        bound = _cost_bound(counts, promises.abstain, promises.delta)
    return OperatingPoint(
        tau,
        tau_low,
        " ".join(filter(None, (promises.in_words(tau, tau_low, bound), note))),
        guaranteed,
        promises.delta,
        counts,
        bound,
    )


def _allowed(rows: _Rows, promises: Promises) -> _Allowed:
    """Return the τ at which all promises hold; each promise has its share of delta."""
    delta, truth = promises.each_delta, rows.truth
    above, up_to, some = -inf, inf, None
    for name, share, whose, what in (
        ("max_fpr", promises.max_fpr, ~truth, "negative rows"),
        ("max_alarms_per", promises.max_alarms, slice(None), "rows"),
    ):
        if share is not None:
            own = -_threshold(-rows.last[whose], share, delta, name, what)
            if own >= rows.walked[1]:
                raise NoOperatingPoint(
                    f"{name}: too many {what} are flagged at every τ below {rows.walked[1]:g}; "
                    "promise less"
                )
            above = max(above, own)
    if promises.min_recall is not None:
        share = 1.0 - promises.min_recall
        up_to = _threshold(rows.until[truth], share, delta, "min_recall", "positive rows")
        if up_to <= rows.walked[0]:
            raise NoOperatingPoint(
                "min_recall: too many positive rows are missed at every τ above "
                f"{rows.walked[0]:g}; promise less"
            )
    if promises.min_precision is not None:
        some = _precise_taus(rows, promises.min_precision, delta)
    return _Allowed(above, up_to, some)


def _threshold(scores: np.ndarray, share: float, delta: float, name: str, what: str) -> float:
    """Return the score that a share of rows lies below, at most, with probability 1 - delta."""
    n = len(scores)
    m = most_mistakes(n, share, delta)
    if m < 0:
        needed = rows_needed(share, delta)
        raise NoOperatingPoint(
            f"{name} with delta={delta:g} needs at least {needed} held-out {what}, there are {n}: "
            "hold out more, or promise less",
            needed,
        )
    return float(np.partition(scores, m)[m])


def _precise_taus(rows: _Rows, precision: float, delta: float) -> np.ndarray:
    """Return τ, from the largest to the smallest, at which alarms are precise enough."""
    begin, end = rows.walked
    taus = PRECISION_TAUS[(begin <= PRECISION_TAUS) & (end >= PRECISION_TAUS)]
    if len(taus) == 0:
        raise NoOperatingPoint(f"min_precision: no τ between {begin:g} and {end:g} is tested")
    right, wrong = Rates(rows.truth, np.ones(len(rows.truth)), rows.changes).at(taus)
    found = taus[precise(right, right + wrong, taus, precision, delta)]
    if len(found) > 0:
        return np.asarray(found)
    needed = rows_needed(1.0 - precision, delta)
    best = int(p_values_of(right, right + wrong, precision).argmin())
    raise NoOperatingPoint(
        f"min_precision with delta={delta:g} is certain at no τ: at least {needed} held-out rows "
        "must be flagged there, and more if some of them are negative; closest is τ = "
        f"{taus[best]:g} with {right[best]:.0f} positive and {wrong[best]:.0f} negative rows",
        needed,
    )


def _one_tau(rows: _Rows, allowed: _Allowed) -> float:
    """Return one allowed τ: next to the only bound, or between two."""
    above, up_to, some = allowed
    if above >= up_to:
        raise NoOperatingPoint(
            f"promises about alarms need τ above {above:.4g}, min_recall needs τ up to "
            f"{up_to:.4g}: no τ keeps both; promise less, or give abstain, which leaves rows in "
            "between undecided"
        )
    if some is not None:
        within = some[(above < some) & (some <= up_to)]
        if len(within) == 0:
            raise NoOperatingPoint(
                f"min_precision holds at some τ from {some[-1]:g} to {some[0]:g}, the other "
                f"promises from {max(above, 0.0):.4g} to {min(up_to, 1.0):.4g}: no τ keeps all; "
                "promise less"
            )
        return float(within[-1])
    if up_to == inf:
        return _just_above(rows, above)
    if above == -inf:
        return _just_below(rows, up_to)
    return number_between(above, up_to)


def _two_taus(
    rows: _Rows, allowed: _Allowed, costs: tuple[float, float, float]
) -> tuple[float, float]:
    """Return the τ of Chow's rule, moved outwards where promises need it.

    With the probability P that a row is positive, deciding so costs (1 - P) cost_fp on average,
    deciding the opposite P cost_fn. Abstaining costs less than both where P lies between.
    """
    cost, cost_fp, cost_fn = costs
    low, high = cost / cost_fn, 1.0 - cost / cost_fp
    begin, end = rows.walked
    if not begin <= low < high <= end:
        raise ValueError(
            f"these costs need decisions at τ = {low:.4g} and {high:.4g}, the path has those from "
            f"{begin:g} to {end:g}"
        )
    above, up_to, some = allowed
    if some is not None:
        within = some[(above < some) & (high <= some)]
        if len(within) == 0:
            raise NoOperatingPoint(
                f"min_precision holds up to τ = {some[0]:g}, the other promises and costs need τ "
                f"from {max(above, high):.4g} on: no τ keeps all; promise less"
            )
        high = float(within[-1])
    elif above >= high:
        high = _just_above(rows, above)
    return (_just_below(rows, up_to) if low > up_to else low), high


def _just_above(rows: _Rows, above: float) -> float:
    """Return a τ above this one and below the next one at which a row is last positive."""
    larger = rows.last[rows.last > above]
    end = float(larger.min()) if len(larger) else rows.walked[1]
    return number_between(max(above, rows.walked[0]), min(end, rows.walked[1]))


def _just_below(rows: _Rows, up_to: float) -> float:
    """Return a τ up to this one and above the one before at which a row is first negative."""
    smaller = rows.until[rows.until < up_to]
    begin = float(smaller.max()) if len(smaller) else rows.walked[0]
    return number_between(max(begin, rows.walked[0]), min(up_to, rows.walked[1]))


def number_between(low: float, high: float) -> float:
    """Return the number with the fewest digits that lies well between two others, or the larger.

    Well between: in the middle half, where rounding does not change a decision.
    """
    middle, quarter = low + 0.5 * (high - low), 0.25 * (high - low)
    for digits in range(1, 17):
        found = round(middle, digits)
        if low + quarter <= found <= high - quarter and low < found < high:
            return found
    return middle if low < middle < high else high


def _counts(truth: np.ndarray, positive: np.ndarray, undecided: np.ndarray) -> dict[str, int]:
    negative = ~positive & ~undecided
    each = {
        "tp": truth & positive,
        "fp": ~truth & positive,
        "fn": truth & negative,
        "tn": ~truth & negative,
        "undecided_positive": truth & undecided,
        "undecided_negative": ~truth & undecided,
    }
    return {name: int(rows.sum()) for name, rows in each.items()}


def _cost_bound(counts: dict[str, int], costs: tuple[float, float, float], delta: float) -> float:
    """Return a bound on the mean cost of a row, from exact bounds on three shares of rows.

    Valid because both τ follow from the costs alone, and not from these rows.
    """
    cost, cost_fp, cost_fn = costs
    n = sum(counts.values())
    undecided = counts["undecided_positive"] + counts["undecided_negative"]
    bound = 0.0
    for number, each in ((counts["fp"], cost_fp), (counts["fn"], cost_fn), (undecided, cost)):
        bound += each * upper_bound(number, n, delta / 3.0)
    return min(bound, max(costs))
