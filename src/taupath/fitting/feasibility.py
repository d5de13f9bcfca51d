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
# targets take up to RAISE of it on every side, and the walk needs some of what is left. Others
# become equations: what that changes of w, no margin shows.
ROOM = 1.5 * RAISE
# A target that is so many times further from zero than those that w = 0 misses does not matter to
# whether they can be met. Linear programs take numbers from 1e20 on for infinite.
OUT_OF_SIGHT = 1e15
# Where room is looked for next to a w, an inequality that has so much of it, in units of the
# targets, has enough: far more than ROOM, and far less than what may be out of reach.
ENOUGH = 1e-2
# What a unit of rounding costs in that search, for each row, where room is worth 1: only what must
# count as rounding does. And how much of the room that is looked for counts as all of it.
DEAR, ALL_OF_IT = 10.0, 1.0 - 1e-6


def with_room(extra: ExtraRows, unit: float, resting: np.ndarray | None = None) -> ExtraRows:
    """Return the same constraints such that those with raised targets can be met, too.

    Rows that are always tight where the others are met, such as w_j ≥ 0 and w_j ≤ 0, become
    equations, and those that follow from other equations are left out. Only rows that are `resting`
    are looked at, by default all. Refuse constraints that no w meets, and name the first that those
    before it exclude; those whose targets move are taken where their line begins. `unit` is the
    scale of the targets of samples.
    """
    if not extra.hard.any():
        return extra
    check_asked(extra, unit)
    w = check_feasible(extra)
    hard = extra.hard if resting is None else extra.hard & resting
    rows = np.flatnonzero(hard)
    equal = extra.line.lower0[rows] < 0.0
    if not equal.any() and _has_room(extra.matrix[rows], extra.line.target0[rows] / unit):
        return extra
    found = _always_tight(extra, rows, w, unit)
    if found is None:
        raise _contradiction(
            extra, rows, lambda some: _always_tight(extra, some, w, unit) is not None
        )
    tight, kept, targets = found
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
    extra: ExtraRows, rows: np.ndarray, w: np.ndarray, unit: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """Return which rows are equations or leave hardly any room; None if there is a contradiction.

    And which of these the others among them follow from, and the targets of those.
    """
    equal = extra.line.lower0[rows] < 0.0
    equations = _equations(extra, rows[equal], w)
    if equations is None:
        return None
    found = _next_to(extra, rows[~equal], equations[0], w, unit)
    if found is None:
        return None
    cramped, w = found
    tight = np.sort(np.append(rows[equal], rows[~equal][cramped]))
    equations = _equations(extra, tight, w)
    return None if equations is None else (tight, *equations)


def _next_to(
    extra: ExtraRows, rows: np.ndarray, equations: np.ndarray, w: np.ndarray, unit: float
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return which inequalities cannot have ROOM, and a w that meets all; None if none does.

    It is looked for next to w, in units of 2 ROOM. A first linear program asks whether all can have
    half a unit; if not, a second one for up to a whole unit of each.
    """
    n, d = len(rows), extra.matrix.shape[1]
    none = np.zeros(n, dtype=bool)
    if n == 0:
        return none, w
    length, scale = float(abs(extra.matrix).max()), 2.0 * ROOM * unit
    matrix, target = extra.matrix[rows], extra.line.target0[rows]
    short = np.maximum(_short(extra, rows, w), -ENOUGH * unit) / scale
    norms = np.sqrt(matrix.multiply(matrix).sum(axis=1))
    rounding = CONTRADICTION * (norms * np.linalg.norm(w) + np.abs(target)) / scale
    for room in (sp.csr_array(np.ones((n, 1))), sp.eye_array(n)):
        # -A v + room s - q ≤ -short, where q is rounding
        k = room.shape[1]
        exactly = sp.csr_array(extra.matrix[equations] / length)
        exactly.resize(len(equations), d + k + n)
        found = linprog(
            np.concatenate((np.zeros(d), -np.ones(k), np.full(n, DEAR * n))),
            A_ub=sp.csr_array(sp.hstack((-matrix / length, room, -sp.eye_array(n)))),
            b_ub=-short,
            A_eq=exactly,
            b_eq=_short(extra, equations, w) / scale,
            bounds=[(None, None)] * d + [(0.0, 1.0)] * k + [(0.0, most) for most in rounding],
            method="highs",
        )
        if found.status == 2:
            return None
        if found.status != 0:  # too hard for the program: the walk will tell
            return none, w
        had, point = found.x[d : d + k], w + found.x[:d] * scale / length
        if k == 1 and had[0] >= 0.5:
            return none, point
    return had < ALL_OF_IT, point


def _short(extra: ExtraRows, rows: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return by how much w falls short of targets, without rounding of their size."""
    reached = extra.matrix[rows].astype(np.longdouble) @ w.astype(np.longdouble)
    return np.asarray(extra.line.target0[rows] - reached, dtype=float)


def _equations(
    extra: ExtraRows, tight: np.ndarray, point: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows that the others follow from, and their targets; None if these contradict.

    Inequalities with hardly any room become equations with their targets if that meets all, and
    otherwise as at a point. Those of zero are preferred where two ends of a bound enclose it, so
    that weights can be exactly zero.
    """
    if not len(tight):
        return tight, np.zeros(0)
    matrix, target = extra.matrix[tight].toarray(), extra.line.target0[tight]
    equal, length = extra.line.lower0[tight] < 0.0, np.linalg.norm(matrix, axis=1)
    _, R, order = qr(matrix[:, matrix.any(axis=0)].T, mode="economic", pivoting=True)
    size = np.abs(np.diag(R))
    kept = np.sort(order[: np.count_nonzero(size > FOLLOWS * size[0])])
    two_ends = [(matrix == -row).all(axis=1).any() for row in matrix[target < 0.0]]
    or_zero = target.copy()
    or_zero[target < 0.0] *= ~np.array(two_ends, dtype=bool)
    for least in (or_zero, target, matrix @ point):
        wanted = np.where(equal, target, np.maximum(target, least))[kept]
        w = np.linalg.lstsq(matrix[kept], wanted, rcond=None)[0]
        short = target - matrix @ w
        off = np.where(equal, np.abs(short), short)
        if (off <= CONTRADICTION * (length * np.linalg.norm(w) + np.abs(target))).all():
            return tight[kept], wanted
    return None


def _contradiction(
    extra: ExtraRows, rows: np.ndarray, met: Callable[[np.ndarray], bool]
) -> ValueError:
    """Return the error that names the first row that those before it exclude."""
    first, last = 0, len(rows)
    while last - first > 1:
        middle = (first + last) // 2
        first, last = (middle, last) if met(rows[:middle]) else (first, middle)
    name = extra.name[rows[last - 1]]
    return ValueError(f"{name} contradicts those before it: no w meets all")


def check_feasible(extra: ExtraRows) -> np.ndarray:
    """Return a w that meets the constraints; refuse those that none meets.

    The error names the first that those before it exclude. Those whose targets move are taken where
    their line begins.
    """
    hard = np.flatnonzero(extra.hard)
    w = _meeting(extra, hard)
    if w is None:
        raise _contradiction(extra, hard, lambda some: _meeting(extra, some) is not None)
    return w


def _meeting(extra: ExtraRows, some: np.ndarray) -> np.ndarray | None:
    """Return a w that meets these of the constraints, up to a small part of their targets."""
    equal, target = extra.line.lower0[some] < 0.0, extra.line.target0[some]
    # the largest target that w = 0 misses, and the largest entry, are the units of the program
    asked = float(np.where(equal, np.abs(target), target).max(initial=0.0))
    zero = np.zeros(extra.matrix.shape[1])
    if asked == 0.0:
        return zero
    length = float(abs(extra.matrix).max())
    matrix, target = extra.matrix[some] / length, np.maximum(target / asked, -OUT_OF_SIGHT)
    found = linprog(
        zero,
        A_ub=-matrix[~equal] if not equal.all() else None,
        b_ub=-target[~equal] if not equal.all() else None,
        A_eq=matrix[equal] if equal.any() else None,
        b_eq=target[equal] if equal.any() else None,
        bounds=(None, None),
        method="highs",
    )
    if found.status == 2:
        return None
    # if it is too hard for the program, the walk will tell
    return zero if found.x is None else np.asarray(found.x * asked / length)
