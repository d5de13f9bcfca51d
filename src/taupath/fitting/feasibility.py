"""Whether constraints can be met, and which of them leave no room at all."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from scipy.optimize import linprog

from taupath.engine.tolerances import RAISE
from taupath.fitting.reach import check_asked
from taupath.paths.extra_rows import BOUNDS, TARGETS, ExtraRows

# An equation follows from others if what is left of its row without them is at most this part of
# it, and contradicts them if it is off by more than this, relative to its target and to what its
# row and w, as long as they are, could add up to: rounding.
FOLLOWS, CONTRADICTION = 1e-10, 1e-11
# The room, in units of the targets, that inequalities must leave to be walked as such: raised
# targets take up to RAISE of it on every side. Others become equations: what that changes of w, no
# margin shows.
ROOM = RAISE
# A target that is so many times further from zero than those that w = 0 misses does not matter to
# whether they can be met. Linear programs take numbers from 1e20 on for infinite.
OUT_OF_SIGHT = 1e15


def with_room(extra: ExtraRows, unit: float, resting: np.ndarray | None = None) -> ExtraRows:
    """Return the same constraints such that those with raised targets can be met, too.

    Rows that are always tight where the others are met, such as w_j ≥ 0 and w_j ≤ 0, become
    equations, and those that follow from other equations are left out. Only rows that are `resting`
    are looked at, by default all. Refuse constraints that no w meets, and name the first that those
    before it exclude; those whose targets move are taken where their line begins. `unit` is the
    scale of the targets of samples.
    """
    check_asked(extra, unit)
    check_feasible(extra)
    hard = extra.hard if resting is None else extra.hard & resting
    rows = np.flatnonzero(hard)
    equal = extra.line.lower0[rows] < 0.0
    matrix, target = extra.matrix[rows], extra.line.target0[rows] / unit
    if not equal.any() and _has_room(matrix, target):
        return extra
    always, w = _always_tight(matrix, target, equal)
    tight = rows[equal | always]
    kept, targets = _independent(extra, tight, unit * w)
    equations = np.isin(np.arange(len(extra)), kept)
    line = extra.line
    ends = {
        name: np.where(equations, -getattr(line, other), getattr(line, name))
        for name, other in (("lower0", "upper0"), ("lower1", "upper1"))
    }
    for name in TARGETS:
        ends[name] = getattr(line, name).copy()
        ends[name][kept] = targets
    extra = replace(extra, line=replace(line, **ends))
    return _some(extra, np.setdiff1d(np.arange(len(extra)), np.setdiff1d(tight, kept)))


def _some(extra: ExtraRows, rows: np.ndarray) -> ExtraRows:
    """Return some of the rows."""
    ends = {name: getattr(extra.line, name)[rows] for name in (*BOUNDS, *TARGETS)}
    return ExtraRows(
        sp.csr_array(extra.matrix[rows]),
        replace(extra.line, **ends),
        extra.hard[rows],
        tuple(extra.name[k] for k in rows),
    )


def _has_room(matrix: "sp.csr_array", target: np.ndarray) -> bool:
    """Return whether a w is easily seen to meet these inequalities with room in each."""
    near = matrix[target > -ROOM]
    w = near.T @ np.ones(near.shape[0])
    if near.shape[0]:
        least = float((near @ w).min())
        if least <= 0.0:
            return False
        w *= 2.0 * ROOM / least
    return bool((matrix @ w - target >= ROOM).all())


def _always_tight(
    matrix: "sp.csr_array", target: np.ndarray, equal: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return which of these rows leave no room to any w that meets them, and a w that does.

    A w / κ with slacks of at least 1 / κ, where slacks can be as large as ROOM, is found by one
    linear program: largest Σ s with A w ≥ κ b + s, 0 ≤ s ≤ 1, 1 ≤ κ ≤ ½ / ROOM.
    """
    n, d = matrix.shape
    length, asked = float(abs(matrix).max()), _asked(target, equal) or 1.0
    slack = sp.csr_array(sp.diags_array(np.where(equal, 0.0, 1.0)))
    in_sight = np.maximum(target / asked, -OUT_OF_SIGHT)[:, np.newaxis]
    left = sp.csr_array(sp.hstack((-matrix / length, in_sight, slack)))
    unequal = ~equal
    found = linprog(
        np.concatenate((np.zeros(d + 1), -np.ones(n))),
        A_ub=left[unequal] if unequal.any() else None,
        b_ub=np.zeros(unequal.sum()) if unequal.any() else None,
        A_eq=left[equal] if equal.any() else None,
        b_eq=np.zeros(equal.sum()) if equal.any() else None,
        bounds=[(None, None)] * d + [(asked, 0.5 * asked / ROOM)] + [(0.0, 1.0)] * n,
        method="highs",
    )
    if found.status != 0:  # too hard for the program: the walk will tell
        return np.zeros(n, dtype=bool), np.zeros(d)
    return unequal & (found.x[d + 1 :] < 0.5), found.x[:d] * asked / (length * found.x[d])


def _asked(target: np.ndarray, equal: np.ndarray) -> float:
    """Return the largest target that w = 0 misses: programs are solved in this unit."""
    return float(np.where(equal, np.abs(target), target).max(initial=0.0))


def _independent(
    extra: ExtraRows, tight: np.ndarray, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows that the others among the `tight` follow from, and their targets as equations.

    Refuse those that contradict each other. `point` is a w that meets inequalities with hardly any
    room between them.
    """
    if not len(tight):
        return tight, np.zeros(0)
    found = _equations(extra, tight, point)
    if found is None:
        n_last = _first_excluded(
            len(tight), lambda n: _equations(extra, tight[:n], point) is not None
        )
        raise _contradiction(extra.name[tight[n_last]])
    return found


def _equations(
    extra: ExtraRows, tight: np.ndarray, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return what `_independent` does, or None.

    Rows keep their targets if all are then met, otherwise they are those of the point.
    """
    matrix, target = extra.matrix[tight].toarray(), extra.line.target0[tight]
    equal, length = extra.line.lower0[tight] < 0.0, np.linalg.norm(matrix, axis=1)
    _, R, order = qr(matrix[:, matrix.any(axis=0)].T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    kept = np.sort(order[: np.count_nonzero(size > FOLLOWS * size[0])])
    for wanted in (target[kept], matrix[kept] @ point):
        w = np.linalg.lstsq(matrix[kept], wanted, rcond=None)[0]
        short = target - matrix @ w
        off = np.where(equal, np.abs(short), short)
        if (off <= CONTRADICTION * (length * np.linalg.norm(w) + np.abs(target))).all():
            return tight[kept], wanted
    return None


def _contradiction(name: str) -> ValueError:
    return ValueError(f"{name} contradicts those before it: no w meets all")


def check_feasible(extra: ExtraRows) -> None:
    """Refuse constraints that no w meets, and name the first that those before it exclude.

    Those whose targets move are taken where their line begins.
    """
    hard = np.flatnonzero(extra.hard)
    equal, target = extra.line.lower0[hard] < 0.0, extra.line.target0[hard]
    if (target[~equal] <= 0.0).all() and (target[equal] == 0.0).all():
        return  # w = 0 does
    if not _feasible(extra, hard):
        n_last = _first_excluded(len(hard), lambda n: _feasible(extra, hard[:n]))
        raise _contradiction(extra.name[hard[n_last]])


def _first_excluded(n: int, met: Callable[[int], bool]) -> int:
    """Return the number of the first of n rows that, with those before it, cannot be met."""
    first, last = 0, n
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if met(middle) else (first, middle)
    return last - 1


def _feasible(extra: ExtraRows, some: np.ndarray) -> bool:
    """Return whether a w meets these of the constraints."""
    equal, target = extra.line.lower0[some] < 0.0, extra.line.target0[some]
    asked = _asked(target, equal)
    if asked == 0.0:
        return True
    matrix = extra.matrix[some] / float(abs(extra.matrix).max())
    target = np.maximum(target / asked, -OUT_OF_SIGHT)
    found = linprog(
        np.zeros(matrix.shape[1]),
        A_ub=-matrix[~equal] if not equal.all() else None,
        b_ub=-target[~equal] if not equal.all() else None,
        A_eq=matrix[equal] if equal.any() else None,
        b_eq=target[equal] if equal.any() else None,
        bounds=(None, None),
        method="highs",
    )
    return bool(found.status != 2)
