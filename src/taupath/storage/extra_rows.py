"""Rows of paths that are no samples, and the constraints of estimators, which some of them are."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.engine.problem import Line
from taupath.exceptions import ModelFileError
from taupath.fitting.constraints import (
    Bound,
    Constraint,
    Fair,
    Monotone,
    NonNegative,
    check_constraints,
    numbers_of_group,
)
from taupath.paths.extra_rows import BOUNDS, TARGETS, ExtraRows
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.budget import PER_SAMPLE
from taupath.validation import check_real

# Files do not hold the names of extra rows: only fits mention them.
NAME = "an extra row"
# Copies of dense rows while a path is read: the rows beside the samples, and as they are walked.
DENSE_COPIES = 2


def pack_extra_rows(extra: ExtraRows, arrays: ArraysToWrite) -> dict[str, Any]:
    """Return the description of extra rows; their arrays are added to `arrays`."""
    found: dict[str, Any] = {"rows": arrays.put_matrix("extra", extra.matrix)}
    for name in (*BOUNDS, *TARGETS):
        found[name] = arrays.put(f"extra_{name}", getattr(extra.line, name))
    return found | {"hard": arrays.put("hard", extra.hard.astype(np.int8))}


def unpack_extra_rows(found: Any, arrays: StoredArrays, X: Any, width: int) -> ExtraRows:
    """Return rows over so many columns, those of X and a constant; count what both take."""
    if not isinstance(found, dict):
        raise ModelFileError("the description of extra rows is missing")
    matrix = arrays.take_sparse(found.get("rows"))
    n, what = matrix.shape[0], "the extra rows of a path"
    arrays.budget.take(PER_SAMPLE * n, what)
    if isinstance(X, np.ndarray):
        arrays.budget.read(8.0 * DENSE_COPIES * (X.shape[0] + n) * width, what)
    ends: Any = {name: arrays.take(found.get(name), np.float64, n) for name in (*BOUNDS, *TARGETS)}
    hard = arrays.take(found.get("hard"), np.int8, n)
    if matrix.shape[1] != width or not np.isin(hard, (0, 1)).all():
        raise ModelFileError("the extra rows of a path do not fit its features")
    alone = np.diff(matrix.indptr) == 1
    entries = matrix.data[matrix.indptr[:-1][alone]]
    with np.errstate(all="ignore"):  # what is not finite is refused below
        asked = [ends[name][alone] / entries for name in TARGETS]  # of single weights
    if not all(np.isfinite(numbers).all() for numbers in (matrix.data, *ends.values(), *asked)):
        raise ModelFileError("the extra rows of a path, or what they ask for, are not finite")
    line = Line(**ends)
    if not ((line.lower0 <= line.upper0) & (line.lower1 <= line.upper1)).all():
        raise ModelFileError("the boxes of extra rows are empty")
    return ExtraRows(matrix, line, hard == 1, (NAME,) * n)


# -- constraints, as users give them ---------------------------------------------------------------


def pack_constraints(given: Any, arrays: ArraysToWrite) -> list[dict[str, Any]]:
    """Return the descriptions of constraints; their arrays are added to `arrays`."""
    described = []
    for one in check_constraints(given):
        kind = next((name for name, (own, *_) in KINDS.items() if type(one) is own), None)
        if kind is None:
            raise ValueError(f"{type(one).__name__} cannot be stored in a model file; pickle it")
        described.append({"kind": kind, **KINDS[kind][1](one, arrays)})
    return described


def unpack_constraints(found: Any, arrays: StoredArrays) -> list[Constraint]:
    """Return the constraints of descriptions."""
    if not isinstance(found, list):
        raise ModelFileError("the constraints of an estimator are missing")
    constraints = []
    for each in found:
        kind = each.get("kind")
        if not isinstance(kind, str) or kind not in KINDS:
            raise ModelFileError(f"it holds an unknown constraint, {kind!r:.60}")
        constraints.append(KINDS[kind][2](each, arrays))
    return constraints


def _plain(features: Any) -> Any:
    """Return indices or names as JSON can hold them."""
    if features is None or isinstance(features, str):
        return features
    if np.ndim(features) == 0:
        return int(features)
    return [each if isinstance(each, str) else int(each) for each in features]


def _features(found: Any) -> Any:
    """Return indices or names of a description."""
    several = found if isinstance(found, list) else [found]
    if not all(type(each) in (int, str) for each in several):
        raise ModelFileError("the features of a constraint are neither indices nor names")
    return found


def _direction(found: Any) -> int:
    """Return the direction of a description."""
    if type(found) is not int or found not in (1, -1):
        raise ModelFileError("the direction of a constraint is neither 1 nor -1")
    return found


def _pack_bound(one: Bound, arrays: ArraysToWrite) -> dict[str, Any]:
    ends = {"lower": one.lower, "upper": one.upper}
    return {
        "a": arrays.put("bound", np.asarray(one.a, dtype=float)),
        "intercept": float(one.intercept),
        **{name: float(end) if np.isfinite(end) else None for name, end in ends.items()},
    }


def _unpack_bound(found: dict[str, Any], arrays: StoredArrays) -> Bound:
    ends = (found.get("lower"), found.get("upper"))
    lower, upper = (
        none if end is None else check_real(end, "a bound")
        for end, none in zip(ends, (-np.inf, np.inf), strict=True)
    )
    intercept = check_real(found.get("intercept"), "the intercept of a bound")
    return Bound(arrays.take(found.get("a"), np.float64), lower, upper, intercept)


def _pack_fair(one: Fair, arrays: ArraysToWrite) -> dict[str, Any]:
    group = numbers_of_group(one.group, np.size(one.group))
    return {"group": arrays.put("group", group), "rho": float(one.rho)}


# Of each kind: its class, and the functions that store and restore it.
KINDS: dict[str, tuple[type[Constraint], Callable[..., Any], Callable[..., Any]]] = {
    "NonNegative": (
        NonNegative,
        lambda one, _: {"features": _plain(one.features)},
        lambda found, _: NonNegative(
            None if found["features"] is None else _features(found["features"])
        ),
    ),
    "Monotone": (
        Monotone,
        lambda one, _: {"features": _plain(one.features), "direction": int(one.direction)},
        lambda found, _: Monotone(_features(found["features"]), _direction(found["direction"])),
    ),
    "Bound": (Bound, _pack_bound, _unpack_bound),
    "Fair": (
        Fair,
        _pack_fair,
        lambda found, arrays: Fair(
            arrays.take(found["group"], np.float64), check_real(found["rho"], "rho")
        ),
    ),
}
