"""Whether constraints can be met, and which of them leave no room at all."""

from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from scipy.linalg import qr
from scipy.optimize import linprog

from taupath.paths.extra_rows import BOUNDS, TARGETS, ExtraRows

# An equation follows from others if what is left of its row without them is at most this part of
# it, and contradicts them if it is off by more than this, relative to its terms: rounding.
FOLLOWS, CONTRADICTION = 1e-10, 1e-11


def with_room(extra: ExtraRows, resting: np.ndarray | None = None) -> ExtraRows:
    """Return the same constraints such that those with raised targets can be met, too.

    Rows that are always tight where the others are met, such as w_j ≥ 0 and w_j ≤ 0, become
    equations, and those that follow from other equations are left out. Only rows that are `resting`
    are looked at, by default all. Refuse constraints that no w meets, and name the first that those
    before it exclude; those whose targets move are taken where their line begins.
    """
    check_feasible(extra)
    hard = extra.hard if resting is None else extra.hard & resting
    rows = np.flatnonzero(hard)
    equal = extra.line.lower0[rows] < 0.0
    if not equal.any() and _has_room(extra, rows):
        return extra
    tight = rows[equal | _always_tight(extra, rows, equal)]
    kept = _independent(extra, tight)
    equations = np.isin(np.arange(len(extra)), kept)
    line = extra.line
    ends = {
        name: np.where(equations, -getattr(line, other), getattr(line, name))
        for name, other in (("lower0", "upper0"), ("lower1", "upper1"))
    }
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


def _has_room(extra: ExtraRows, rows: np.ndarray) -> bool:
    """Return whether a w is easily seen to meet these inequalities and be tight in none."""
    target = extra.line.target0[rows]
    if (target > 0.0).any():
        return False
    through_zero = extra.matrix[rows[target == 0.0]]
    some = through_zero.T @ np.ones(through_zero.shape[0])
    return bool((through_zero @ some > 0.0).all())


def _always_tight(extra: ExtraRows, rows: np.ndarray, equal: np.ndarray) -> np.ndarray:
    """Return which of these rows are tight for all w that meet them.

    A w / κ with slacks of at least 1 / κ, where slacks can be above 0, is found by one linear
    program: largest Σ s with A w ≥ κ b + s, 0 ≤ s ≤ 1, κ ≥ 1.
    """
    matrix, target = extra.matrix[rows], extra.line.target0[rows]
    n, d = matrix.shape
    slack = sp.csr_array(sp.diags_array(np.where(equal, 0.0, 1.0)))
    left = sp.csr_array(sp.hstack((-matrix, target[:, np.newaxis], slack)))
    unequal = ~equal
    found = linprog(
        np.concatenate((np.zeros(d + 1), -np.ones(n))),
        A_ub=left[unequal] if unequal.any() else None,
        b_ub=np.zeros(unequal.sum()) if unequal.any() else None,
        A_eq=left[equal] if equal.any() else None,
        b_eq=np.zeros(equal.sum()) if equal.any() else None,
        bounds=[(None, None)] * d + [(1.0, None)] + [(0.0, 1.0)] * n,
        method="highs",
    )
    if found.status != 0:  # too hard for the program: the walk will tell
        return np.zeros(n, dtype=bool)
    return np.asarray(unequal & (found.x[d + 1 :] < 0.5))


def _independent(extra: ExtraRows, tight: np.ndarray) -> np.ndarray:
    """Return equations that the others follow from; refuse equations that contradict each other."""
    matrix, target = extra.matrix[tight].toarray(), extra.line.target0[tight]
    used = matrix.any(axis=0)
    if not len(tight):
        return tight
    _, R, order = qr(matrix[:, used].T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    kept = np.sort(order[: np.count_nonzero(size > FOLLOWS * size[0])])
    w = np.linalg.lstsq(matrix[kept], target[kept], rcond=None)[0]
    off = np.abs(matrix @ w - target) > CONTRADICTION * (np.abs(matrix) @ np.abs(w) + abs(target))
    if off.any():
        raise _contradiction(extra.name[tight[int(off.argmax())]])
    return np.asarray(tight[kept])


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
    if _feasible(extra, hard):
        return
    first, last = 0, len(hard)  # of the shortest beginning that is infeasible
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if _feasible(extra, hard[:middle]) else (first, middle)
    raise _contradiction(extra.name[hard[last - 1]])


def _feasible(extra: ExtraRows, some: np.ndarray) -> bool:
    """Return whether a w meets these of the constraints."""
    equal, target = extra.line.lower0[some] < 0.0, extra.line.target0[some]
    at_least, exactly = some[~equal], some[equal]
    found = linprog(
        np.zeros(extra.matrix.shape[1]),
        A_ub=-extra.matrix[at_least] if len(at_least) else None,
        b_ub=-target[~equal] if len(at_least) else None,
        A_eq=extra.matrix[exactly] if len(exactly) else None,
        b_eq=target[equal] if len(exactly) else None,
        bounds=(None, None),
        method="highs",
    )
    return bool(found.status != 2)
