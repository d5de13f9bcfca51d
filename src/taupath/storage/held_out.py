"""Results on held-out rows: the truth, and what was predicted, without features."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.clipping import check_least
from taupath.exceptions import ModelFileError
from taupath.outcomes.held_out import HeldOut, Outcomes
from taupath.paths.crossings import Changes
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.validation import check_range, check_real

CHANGES = {"begin": np.int8, "who": np.int32, "when": np.float64, "change": np.int8}
QUANTILE_COLUMNS = ("quantile", "pinball", "d2", "below")


def pack_held_out(held_out: HeldOut | None, arrays: ArraysToWrite) -> dict[str, Any] | None:
    """Return the description of held-out results; their arrays are added to `arrays`."""
    if held_out is None:
        return None
    outcomes = held_out.outcomes
    classes = outcomes.quantiles is None
    found: dict[str, Any] = {
        "folds": held_out.folds,
        "share": held_out.share,
        "seconds": held_out.seconds,
        "range": list(outcomes.walked),
        "truth": arrays.put("truth", outcomes.truth.astype(np.int32 if classes else np.float64)),
    }
    if outcomes.changes is not None:
        found["least"] = float(outcomes.least)
        found["changes"] = {
            name: arrays.put(name, array.astype(dtype))
            for (name, dtype), array in zip(CHANGES.items(), outcomes.changes, strict=True)
        }
    if outcomes.proba is not None:
        found["proba"] = arrays.put("proba", outcomes.proba)
    if outcomes.quantiles is not None:
        found["quantiles"] = {
            name: arrays.put(name, outcomes.quantiles[name]) for name in QUANTILE_COLUMNS
        }
        if outcomes.coverage is not None:
            found["coverage"] = list(outcomes.coverage.items())
    return found


def unpack_held_out(found: Any, arrays: StoredArrays, estimator: Any) -> HeldOut | None:
    """Return the held-out results of a description, for this estimator."""
    if found is None:
        return None
    folds, share = found.get("folds"), check_real(found.get("share"), "share")
    if type(folds) is not int or not 0 <= folds < 1 << 31 or not 0.0 < share < 1.0:
        raise ModelFileError(f"rows cannot be held out in {folds!r} parts of {share!r}")
    outcomes = _outcomes(found, arrays, estimator)
    if outcomes.n_rows == 0:
        raise ModelFileError("no rows were held out")
    return HeldOut(outcomes, folds, share, check_real(found.get("seconds"), "seconds"))


def _outcomes(found: dict[str, Any], arrays: StoredArrays, estimator: Any) -> Outcomes:
    walked = check_range(found.get("range"))
    if not isinstance(estimator, QuantileSVC):
        truth = arrays.take(found.get("truth"), np.float64)
        return Outcomes(truth, walked, **_quantiles(found, arrays))
    truth, k = arrays.take(found.get("truth"), np.int32), len(estimator.classes_)
    if len(truth) and not (truth.min() >= 0 and truth.max() < k):
        raise ModelFileError("a held-out row belongs to no class")
    if k == 2:
        positive = truth == 1
        changes = _changes(found.get("changes"), arrays, len(truth))
        # files written before there was a least probability have none
        return Outcomes(positive, walked, changes, check_least(found.get("least", 0.0), k))
    proba = arrays.take(found.get("proba"), np.float64, len(truth), ndim=2)
    if proba.shape[1] != k or not ((proba >= 0.0) & (proba <= 1.0)).all():
        raise ModelFileError("the probabilities of held-out rows are not probabilities")
    return Outcomes(truth.astype(int), walked, proba=proba)


def _changes(found: Any, arrays: StoredArrays, n: int) -> Changes:
    begin = arrays.take(found["begin"], np.int8, n)
    who = arrays.take(found.get("who"), np.int32)
    when = arrays.take(found.get("when"), np.float64, len(who))
    change = arrays.take(found.get("change"), np.int8, len(who))
    inside = (when >= -1.0) & (when <= 1.0) & (who >= 0) & (who < n)  # not true of NaN
    if not (np.isin(begin, (0, 1)).all() and np.isin(change, (-1, 1)).all() and inside.all()):
        raise ModelFileError("decisions on held-out rows are neither positive nor negative")
    # changes of a row follow one another, and each is another one than the one before
    same = who[1:] == who[:-1]
    before = np.where(np.append(False, same), np.append(0, change[:-1]), 2 * begin[who] - 1)
    if not grows(who) or (when[1:] < when[:-1])[same].any() or (before == change).any():
        raise ModelFileError("changes of decisions on held-out rows are not in order")
    return Changes(begin.astype(bool), who.astype(int), when, change.astype(int))


def _quantiles(found: dict[str, Any], arrays: StoredArrays) -> dict[str, Any]:
    stored = found["quantiles"]
    quantile = arrays.take(stored["quantile"], np.float64)
    columns = {
        name: arrays.take(stored[name], np.float64, len(quantile)) for name in QUANTILE_COLUMNS
    }
    if not all(np.isfinite(columns[name]).all() for name in ("quantile", "pinball", "below")):
        raise ModelFileError("the losses of held-out rows are not finite")
    coverage = found.get("coverage")
    if coverage is not None:
        coverage = {
            check_real(wanted, "coverage"): check_real(share, "coverage")
            for wanted, share in coverage
        }
    return {"quantiles": columns, "coverage": coverage}
