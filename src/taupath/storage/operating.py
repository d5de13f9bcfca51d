"""Operating points: a τ, what is promised there, and the counts on held-out rows."""

import math
from dataclasses import asdict
from typing import Any

from taupath.exceptions import ModelFileError
from taupath.outcomes.operating import OperatingPoint
from taupath.validation import check_real

# Most characters of a promise: all promises together, and a note, take less than a third of it.
LONGEST_PROMISE = 1000
COUNTS = ("tp", "fp", "fn", "tn", "undecided_positive", "undecided_negative")


def pack_operating_point(point: OperatingPoint | None) -> dict[str, Any] | None:
    """Return the description of an operating point."""
    return None if point is None else asdict(point)


def unpack_operating_point(found: Any, estimator: Any) -> OperatingPoint | None:
    """Return the operating point of a description, for this estimator."""
    if found is None:
        return None
    if not isinstance(found, dict) or len(getattr(estimator, "classes_", ())) != 2:
        raise ModelFileError("only a classifier of two classes has an operating point")
    begin, end = estimator._walked
    tau, low = (check_real(found[name], name) for name in ("tau", "tau_low"))
    if not begin <= low <= tau <= end:
        raise ModelFileError(f"an operating point lies outside of the path: τ = {tau!r}")
    delta, bound = check_real(found["delta"], "delta"), found["cost_bound"]
    if not 0.0 < delta < 1.0 or type(found["guaranteed"]) is not bool:
        raise ModelFileError("the confidence of an operating point is not valid")
    if bound is not None and not 0.0 <= check_real(bound, "cost_bound") < math.inf:
        raise ModelFileError(f"costs cannot be bounded by {bound!r:.60}")
    return OperatingPoint(
        tau, low, _promise(found["promise"]), found["guaranteed"], delta, _counts(found), bound
    )


def _promise(text: Any) -> str:
    if type(text) is not str or len(text) > LONGEST_PROMISE or not text.isprintable():
        raise ModelFileError("the promise of an operating point is not a sentence")
    return text


def _counts(found: dict[str, Any]) -> dict[str, int]:
    counts = found["counts"]
    whole = isinstance(counts, dict) and all(
        type(counts.get(name)) is int and counts[name] >= 0 for name in COUNTS
    )
    if not whole or len(counts) != len(COUNTS):
        raise ModelFileError("the counts of an operating point are not valid")
    return {name: counts[name] for name in COUNTS}
