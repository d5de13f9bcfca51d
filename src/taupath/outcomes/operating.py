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

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, inf, log, log1p
from typing import Any, NamedTuple

import numpy as np
from scipy.special import bdtr, bdtrc, bdtri, expit

from taupath.exceptions import NoOperatingPoint
from taupath.outcomes.held_out import Outcomes
from taupath.outcomes.rates import Rates
from taupath.paths.crossings import Changes
from taupath.validation import check_positive, check_real, shown

# The τ at which precision is tested: some 270 between 0.0009 and 0.9991, evenly spaced as logits,
# so that they suit rare classes, too. Fixed before any row is seen, as the proof requires.
PRECISION_TAUS = np.unique(np.round(expit(np.linspace(-7.0, 7.0, 281)), 4))[::-1]
# The part of delta that is spent where τ is the precision asked for: with probabilities that are
# right, precision is at least τ. The rest is spent evenly at every 14th τ, for
# probabilities that are not. On simulated scores, fewer places missed narrow ranges of
# probabilities, and more left too little for each.
SPENT_AT_PRECISION = 0.5
BETWEEN_STARTS = 14


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


class Promises(NamedTuple):
    """What is asked for, checked: shares between 0 and 1, or None."""

    max_fpr: float | None
    min_recall: float | None
    min_precision: float | None
    max_alarms: float | None
    alarms_in_words: str
    abstain: tuple[float, float, float] | None  # its cost, and those of the two mistakes
    delta: float

    @classmethod
    def checked(
        cls,
        *,
        max_fpr: Any = None,
        min_recall: Any = None,
        min_precision: Any = None,
        max_alarms_per: Any = None,
        abstain: Any = None,
        cost_fp: Any = 1.0,
        cost_fn: Any = 1.0,
        delta: Any = 0.05,
    ) -> "Promises":
        """Return what is asked for; raise if it makes no sense."""
        if all(
            each is None for each in (max_fpr, min_recall, min_precision, max_alarms_per, abstain)
        ):
            raise ValueError(
                "nothing is promised: give max_fpr, min_recall, min_precision, max_alarms_per or "
                "abstain"
            )
        alarms, in_words = _check_alarms(max_alarms_per)
        return cls(
            _check_share(max_fpr, "max_fpr"),
            _check_share(min_recall, "min_recall"),
            _check_share(min_precision, "min_precision"),
            alarms,
            in_words,
            _check_abstain(abstain, cost_fp, cost_fn),
            float(_check_share(delta, "delta", optional=False) or 0.0),
        )

    @property
    def number(self) -> int:
        """How many promises there are about shares of rows."""
        asked = (self.max_fpr, self.min_recall, self.min_precision, self.max_alarms)
        return sum(each is not None for each in asked)

    @property
    def each_delta(self) -> float:
        """The share of delta that each promise may use, so that all hold together."""
        return self.delta / max(self.number, 1)


def _check_share(value: Any, name: str, optional: bool = True) -> float | None:
    if value is None and optional:
        return None
    share = check_real(value, name)
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, both excluded, got {shown(value)}")
    return share


def _check_alarms(value: Any) -> tuple[float | None, str]:
    """Return a rate of alarms, given as such or as (alarms, rows), and in words."""
    name = "max_alarms_per"
    if not isinstance(value, Sequence) or isinstance(value, str):
        share = _check_share(value, name)
        return share, "" if share is None else f"at most {_percent(share)} of new rows are flagged"
    if len(value) != 2:
        raise ValueError(f"{name} must be a rate or a pair (alarms, rows), got {shown(value)}")
    alarms, rows = (check_positive(each, name) for each in value)
    if not alarms < rows:
        raise ValueError(f"{name} must have fewer alarms than rows, got {shown(value)}")
    return alarms / rows, f"at most {alarms:g} in {rows:g} new rows are flagged"


def _check_abstain(abstain: Any, cost_fp: Any, cost_fn: Any) -> tuple[float, float, float] | None:
    fp, fn = check_positive(cost_fp, "cost_fp"), check_positive(cost_fn, "cost_fn")
    if abstain is None:
        if (fp, fn) != (1.0, 1.0):
            raise ValueError("cost_fp and cost_fn go with abstain, which is missing")
        return None
    cost = check_positive(abstain, "abstain")
    most = 1.0 / (1.0 / fp + 1.0 / fn)
    if not cost < most:
        raise ValueError(
            f"abstain={cost:g} is not worth it at any probability: deciding costs {most:g} at most "
            f"with cost_fp={fp:g} and cost_fn={fn:g}; give less than that"
        )
    return cost, fp, fn


# -- the mathematics -------------------------------------------------------------------------------


def most_mistakes(n: int, share: float, delta: float) -> int:
    """Return how many of n rows may be mistakes if a share of mistakes is promised; -1: none may.

    The threshold of Tong, Feng & Li (2018): let all rows be sorted by a score and let the m + 1
    worst be beyond a threshold that is put at the last of them, which then is no mistake. The true
    share of mistakes exceeds `share` with the probability P(Bin(n, share) ≤ m) if scores have no
    ties, and with a smaller one if they have. Returned is the largest m for which it is at most
    `delta`.
    """
    return bisect_right(range(n + 1), delta, key=lambda m: float(bdtr(m, n, share))) - 1


def rows_needed(share: float, delta: float) -> int:
    """Return the smallest n with (1 - share)ⁿ ≤ delta: with fewer rows nothing can be promised."""
    n = max(ceil(log(delta) / log1p(-share)), 1)
    while n > 1 and most_mistakes(n - 1, share, delta) >= 0:  # the logarithms are rounded
        n -= 1
    while most_mistakes(n, share, delta) < 0:
        n += 1
    return n


def precise(
    right: np.ndarray, alarms: np.ndarray, taus: np.ndarray, precision: float, delta: float
) -> np.ndarray:
    """Return at which τ precision is at least as asked for; no τ is wrong, with 1 - delta.

    `taus` decrease and must not depend on the rows; `alarms` of them are flagged at each τ, `right`
    of these are positive.

    Learn-then-Test (Angelopoulos, Bates, Candès, Jordan & Lei 2021): precision is a ratio of two
    unknown shares, but however many rows are flagged at a fixed τ, each of them is positive with
    the same probability, the precision, independently of the others. So P(Bin(alarms, precision) ≥
    right) is a p-value of the hypothesis that precision is lower than asked for.

    Hypotheses are tested from the largest τ to the smallest by the fallback procedure (Wiens 2003),
    a fixed sequence that may start in several places: each hypothesis has a part of delta, and
    after a rejection the next one also gets what this one was tested with. Proof that a true
    hypothesis is rejected with a probability of delta at most: consider the first one. It was
    tested with no more than the parts since the true hypothesis before it, which was not rejected
    and passed nothing on. These sums are fixed numbers, and over all true hypotheses they add up to
    delta at most.
    """
    p_values = _p_values(right, alarms, precision)
    level, found = 0.0, np.zeros(len(taus), dtype=bool)
    for k, part in enumerate(_parts_of_delta(taus, precision, delta)):
        level += part
        found[k] = p_values[k] <= level
        level = level if found[k] else 0.0
    return found


def _p_values(right: np.ndarray, alarms: np.ndarray, precision: float) -> np.ndarray:
    """Return P(Bin(alarms, precision) ≥ right)."""
    return np.asarray(bdtrc(right - 1.0, alarms.astype(int), precision))


def _parts_of_delta(taus: np.ndarray, precision: float, delta: float) -> np.ndarray:
    """Return the part of delta for each τ; they depend on no row."""
    starts = np.arange(len(taus)) % BETWEEN_STARTS == BETWEEN_STARTS // 2
    parts = starts * ((1.0 - SPENT_AT_PRECISION) * delta / max(starts.sum(), 1))
    parts[np.abs(taus - precision).argmin()] += SPENT_AT_PRECISION * delta
    return np.asarray(parts)


# -- along the path --------------------------------------------------------------------------------


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
        " ".join(filter(None, (_in_words(promises, tau, tau_low, bound), note))),
        guaranteed,
        promises.delta,
        counts,
        bound,
    )


def _allowed(rows: _Rows, promises: Promises) -> _Allowed:
    """Return the τ at which all promises hold; each promise has its share of delta."""
    delta, truth = promises.each_delta, rows.truth
    above, up_to, some = -inf, inf, None
    if promises.max_fpr is not None:
        scores = -rows.last[~truth]
        above = -_threshold(scores, promises.max_fpr, delta, "max_fpr", "negative rows")
    if promises.max_alarms is not None:
        own = -_threshold(-rows.last, promises.max_alarms, delta, "max_alarms_per", "rows")
        above = max(above, own)
    if promises.min_recall is not None:
        share = 1.0 - promises.min_recall
        up_to = _threshold(rows.until[truth], share, delta, "min_recall", "positive rows")
    if above >= rows.walked[1]:
        raise NoOperatingPoint(
            f"too many rows are flagged at every τ below {rows.walked[1]:g}: no τ keeps the promise"
        )
    if up_to <= rows.walked[0]:
        raise NoOperatingPoint(
            f"too many positive rows are missed at every τ above {rows.walked[0]:g}: no τ keeps "
            "the promise"
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
    right, wrong = Rates(rows.truth, np.ones(len(rows.truth)), rows.changes).at(taus)
    found = taus[precise(right, right + wrong, taus, precision, delta)]
    if len(found) > 0:
        return np.asarray(found)
    needed, seen = rows_needed(1.0 - precision, delta), ""
    if len(taus) > 0:
        best = int(_p_values(right, right + wrong, precision).argmin())
        seen = f"; closest is τ = {taus[best]:g}: {right[best]:.0f} right, {wrong[best]:.0f} wrong"
    raise NoOperatingPoint(
        f"min_precision with delta={delta:g} is certain at no τ: at least {needed} held-out rows "
        f"must be flagged there, and more if some of them are negative{seen}",
        needed,
    )


def _one_tau(rows: _Rows, allowed: _Allowed) -> float:
    """Return one τ that is allowed: of alarms as many as may be, of misses, too."""
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


# -- what is said ----------------------------------------------------------------------------------


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
        share = 1.0 if number == n else float(bdtri(number, n, delta / 3.0))
        bound += each * share
    return min(bound, max(costs))


def _percent(share: float) -> str:
    return f"{100.0 * share:.6g} %"


def _in_words(promises: Promises, tau: float, tau_low: float, bound: float | None) -> str:
    """Return the promises as a sentence."""
    said = []
    if promises.max_fpr is not None:
        said.append(f"at most {_percent(promises.max_fpr)} of new negative rows are flagged")
    if promises.max_alarms is not None:
        said.append(promises.alarms_in_words)
    if promises.min_recall is not None:
        found = "found" if promises.abstain is None else "found or left undecided"
        said.append(f"at least {_percent(promises.min_recall)} of new positive rows are {found}")
    if promises.min_precision is not None:
        said.append(f"at least {_percent(promises.min_precision)} of flagged new rows are positive")
    if bound is not None:
        said.append(f"a new row costs at most {bound:.4g} on average")
    where = f"At τ = {tau:g}"
    if tau_low < tau:
        where = f"With rows undecided between τ = {tau_low:g} and {tau:g}"
    *first, last = said
    all_said = f"{', '.join(first)} and {last}" if first else last
    return f"{where}, {all_said}, with {_percent(1.0 - promises.delta)} confidence."
