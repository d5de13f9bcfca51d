"""What is promised about new rows: shares, costs and a confidence, checked and in words."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from taupath.validation import check_positive, check_real, shown


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
            None if max_fpr is None else _check_share(max_fpr, "max_fpr"),
            None if min_recall is None else _check_share(min_recall, "min_recall"),
            None if min_precision is None else _check_share(min_precision, "min_precision"),
            alarms,
            in_words,
            _check_abstain(abstain, cost_fp, cost_fn),
            _check_share(delta, "delta"),
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

    def in_words(self, tau: float, tau_low: float, bound: float | None) -> str:
        """Return the promises as a sentence."""
        said = []
        if self.max_fpr is not None:
            said.append(f"at most {percent(self.max_fpr)} of new negative rows are flagged")
        if self.max_alarms is not None:
            said.append(self.alarms_in_words)
        if self.min_recall is not None:
            found = "found" if self.abstain is None else "found or left undecided"
            said.append(f"at least {percent(self.min_recall)} of new positive rows are {found}")
        if self.min_precision is not None:
            said.append(f"at least {percent(self.min_precision)} of flagged new rows are positive")
        if bound is not None:
            said.append(f"a new row costs at most {bound:.4g} on average")
        where = f"At τ = {tau:g}"
        if tau_low < tau:
            where = f"With rows undecided between τ = {tau_low:g} and {tau:g}"
        *first, last = said
        all_said = f"{', '.join(first)} and {last}" if first else last
        return f"{where}, {all_said}, with {percent(1.0 - self.delta)} confidence."


def _check_share(value: Any, name: str) -> float:
    share = check_real(value, name)
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, both excluded, got {shown(value)}")
    return share


def _check_alarms(value: Any) -> tuple[float | None, str]:
    """Return a rate of alarms, given as such or as (alarms, rows), and in words."""
    name = "max_alarms_per"
    if value is None:
        return None, ""
    if isinstance(value, np.ndarray) and value.ndim > 0:
        value = value.tolist()
    if not isinstance(value, Sequence) or isinstance(value, str):
        share = _check_share(value, name)
        return share, f"at most {percent(share)} of new rows are flagged"
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


def percent(share: float) -> str:
    """Return a share in per cent."""
    return f"{100.0 * share:.6g} %"
