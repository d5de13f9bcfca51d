"""What a file without training data still says about them: fingerprints, constant decisions."""

import math
from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.constant_decisions import ConstantDecisions
from taupath.estimators.fingerprints import TrainingRows, rows_of
from taupath.exceptions import ModelFileError
from taupath.storage.arrays import ArraysToWrite, StoredArrays, grows
from taupath.validation import check_real


def pack_fingerprints(estimator: Any, arrays: ArraysToWrite) -> dict[str, Any]:
    """Return what to store of training rows that are not stored themselves."""
    found: dict[str, Any] = {"rows": None, "constant": None}
    rows = rows_of(estimator)
    if rows is not None:
        rows = rows.some()
        found["rows"] = {
            "salt": rows.salt,
            "limit": rows.limit,
            "marks": arrays.put("marks", rows.marks.view(np.int64)),
            "twins": rows.twins,
            "whole": rows.whole,
        }
        if rows.counts is not None:
            found["rows"] |= {"apart": rows.apart, "counts": None}
            if (rows.counts > 1).any():
                found["rows"]["counts"] = arrays.put("counts", rows.counts.astype(np.int32))
    if hasattr(estimator, "path_") and isinstance(estimator, QuantileSVC):
        ends = estimator._constant.range(estimator.path_, estimator.monotone)
        found["constant"] = [end if math.isfinite(end) else None for end in ends]
    return found


def unpack_fingerprints(found: Any, arrays: StoredArrays, estimator: Any) -> None:
    """Give an estimator what the file holds of its training rows."""
    if found is None:  # the file holds the rows themselves, or was written before version 3
        return
    rows, constant = found.get("rows"), found.get("constant")
    if rows is not None:
        estimator._training_rows = _unpack_rows(rows, arrays)
    if constant is not None and isinstance(estimator, QuantileSVC):
        low, high = constant
        ends = (
            -math.inf if low is None else check_real(low, "constant"),
            math.inf if high is None else check_real(high, "constant"),
        )
        if not ends[0] < ends[1]:
            raise ModelFileError("decisions cannot all be positive and negative at once")
        estimator._constant = ConstantDecisions(*ends)


def _unpack_rows(found: Any, arrays: StoredArrays) -> TrainingRows:
    salt, limit, whole = found.get("salt"), found.get("limit"), found.get("whole")
    marks = arrays.take(found.get("marks"), np.int64).view(np.uint64)
    twins = check_real(found.get("twins"), "twins")
    if not all(type(word) is int and 0 <= word < 1 << 64 for word in (salt, limit, whole or 0)):
        raise ModelFileError("the fingerprints of rows have no salt")
    if not 0.0 < twins < 1.0 or len(marks) == 0 or not grows(marks, strictly=True):
        raise ModelFileError("the fingerprints of rows are not in order")
    if int(marks[-1]) > limit:
        raise ModelFileError("a fingerprint of a row is above their limit")
    if "apart" not in found:  # an older file
        return TrainingRows(salt, limit, marks, twins, whole)
    apart, counts = found["apart"], np.ones(len(marks), dtype=np.int64)
    if not isinstance(apart, bool):
        raise ModelFileError("rows are apart, or they are not")
    if found.get("counts") is not None:
        counts = arrays.take(found["counts"], np.int32, len(marks)).astype(np.int64)
    if counts.min() < 1:
        raise ModelFileError("a fingerprint stands for no rows")
    return TrainingRows(salt, limit, marks, twins, whole, counts, apart)
