"""The intercept: none, a feature like the others, or one whose weight costs nothing."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.choices import INTERCEPTS
from taupath.paths.blocks import slices
from taupath.validation import check_choice

# Entries of X that are squared at a time, so that the squares take 8 MB at most.
ENTRIES_AT_A_TIME = 1 << 20
# With a free intercept, a column whose median is so many times the typical distance from it is
# centred: its common part says nothing and costs digits. Others would gain little, and might lose
# small entries.
SHIFTED = 16.0
# A free intercept may be moved by this part of itself to where it costs least: some roundings.
ROUNDED_BY = 8.0 * float(np.finfo(np.float64).eps)
# It is if one side costs so many times less than the other, or if anything was centred.
MUCH_LESS = 8.0
# What is left of Σ sign_i α_i may go to a free α of which it is at most this part: more would move
# w visibly if the row is long.
LITTLE = 1e-9
# Rows that the medians of columns are taken from; more would not change them much.
ROWS_FOR_MEDIANS = 1024


@dataclass(frozen=True)
class Intercept:
    """The constant part of the decision function.

    A constant feature `bias` is appended to every sample, 0 for none. If `free`, its weight costs
    nothing: then Σ sign_i θ_i = 0, and the size of the feature affects nothing but rounding.
    """

    bias: float
    free: bool = False

    @property
    def kind(self) -> str:
        """The user's name of this kind of intercept."""
        if self.free:
            return "free"
        return "augmented" if self.bias else "none"


def make_intercept(intercept: Any, X: "np.ndarray | sp.csr_array") -> Intercept:
    """Return the intercept of this kind for the linear kernel with features X."""
    constant = fixed_intercept(intercept)
    if constant is not None:
        return constant
    values = (X if isinstance(X, np.ndarray) else X.data).ravel()
    squares = sum(
        float(np.square(values[some], dtype=np.float64).sum())
        for some in slices(len(values), ENTRIES_AT_A_TIME)
    )
    return free_intercept(squares / X.shape[0])


def fixed_intercept(intercept: Any) -> Intercept | None:
    """Return the intercept of this kind; None if it is free, since its feature depends on X."""
    choice = check_choice(intercept, "intercept", INTERCEPTS)
    return {"augmented": Intercept(1.0), "none": Intercept(0.0)}.get(choice)


def free_intercept(mean_square: float) -> Intercept:
    """Return a free intercept whose feature is as large as the samples are long."""
    return Intercept(float(np.sqrt(max(mean_square, 0.0))) or 1.0, free=True)


def centre_of(values: np.ndarray, shifted: float) -> np.ndarray:
    """Return the median of each column where it is `shifted` times the typical distance from it.

    It is zero elsewhere. If entries lie within a factor of two of the median, subtracting it causes
    no rounding; the rounding of others is that of their distance.
    """
    middle = np.median(values, axis=0)
    distance = np.median(np.abs(values - middle), axis=0)
    return np.where(np.abs(middle) > shifted * distance, middle, 0.0)


def column_shift(X: "np.ndarray | sp.csr_array") -> np.ndarray | None:
    """Return what to subtract from each column for the walk; None for nothing.

    Sparse rows are never centred: that would fill them.
    """
    if not isinstance(X, np.ndarray):
        return None
    shift = centre_of(X[:: -(-X.shape[0] // ROWS_FOR_MEDIANS)], SHIFTED)
    return shift if shift.any() else None


def exact_intercept(X: "np.ndarray | sp.csr_array", shift: np.ndarray | None) -> Intercept:
    """Return the free intercept of rows x - shift.

    Its feature is a power of two, so that the intercept is its product with w without rounding.
    """
    if shift is None:
        found = make_intercept("free", X)
    else:
        parts = slices(X.shape[0], max(ENTRIES_AT_A_TIME // X.shape[1], 1))
        squares = sum(float(np.square(X[some] - shift).sum()) for some in parts)
        found = free_intercept(squares / X.shape[0])
    return Intercept(2.0 ** round(math.log2(found.bias)), free=True)


def prices(up: np.ndarray, down: np.ndarray, sign: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what each unit costs by which the intercept is above and below the wish of a sample.

    `up` and `down` are the room of θ. Near an end of a path one side costs next to nothing, as the
    objective itself does.
    """
    positive = sign > 0.0
    return np.where(positive, down, up), np.where(positive, up, down)


class Wishes:
    """By how much each free sample wishes the intercept to move, and what it costs not to.

    The slacks of the samples and the room of their θ are given. The sum of all costs is convex and
    piecewise linear in the move, so the best of some numbers lies beside its minimum `best`.
    """

    def __init__(
        self, slack: np.ndarray, sign: np.ndarray, up: np.ndarray, down: np.ndarray, most: float
    ) -> None:
        self._above, self._below = prices(np.maximum(up, 0.0), np.maximum(down, 0.0), sign)
        self._wish = np.clip(sign * slack, -most, most)
        order = np.argsort(self._wish, kind="stable")
        left = np.cumsum(self._above[order])
        right = self._below.sum() - np.cumsum(self._below[order])
        self.best = float(self._wish[order[min(int((left < right).sum()), len(order) - 1)]])

    def cost(self, move: float) -> float:
        """Return what this move costs all samples."""
        off = move - self._wish
        return float(np.where(off > 0.0, self._above, -self._below) @ off)

    def best_of(self, near: float, moved: Callable[[float], float]) -> float:
        """Return the best double near the given one; ``moved(x)`` is what x moves samples by."""
        candidates = [np.nextafter(near, -np.inf), near, np.nextafter(near, np.inf)]
        return float(min(candidates, key=lambda each: self.cost(moved(each))))


def round_intercept(
    intercept: float, wishes: Wishes, w: np.ndarray, shift: np.ndarray | None
) -> float:
    """Return the best double for a free intercept; one weight in w makes up for what it lacks.

    x_j differs little from its shift, so a change of w_j adds shift_j times as much to all samples.
    The column is the one whose weight does that in the smallest steps.
    """
    exact = np.longdouble(intercept)
    found = wishes.best_of(float(exact + wishes.best), lambda b: float(b - exact))
    if shift is None:
        return found
    usable = np.flatnonzero((w != 0.0) & (shift != 0.0))
    if len(usable):
        one = usable[(np.spacing(np.abs(w[usable])) * np.abs(shift[usable])).argmin()]
        nearest, before, by = float(exact + wishes.best), float(w[one]), float(shift[one])
        gained = float(nearest - exact)
        weight = wishes.best_of(
            before + (wishes.best - gained) / by, lambda v: gained + (v - before) * by
        )
        rounding = abs(weight - before) <= ROUNDED_BY * float(np.abs(w).max())
        better = wishes.cost(gained + (weight - before) * by) < wishes.cost(float(found - exact))
        if rounding and better:
            w[one] = weight
            return nearest
    return found


def restore_balance(
    alpha: np.ndarray,
    sign: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    free: np.ndarray,
    lengths: np.ndarray,
    roundings: int,
) -> None:
    """Change free α so that Σ sign_i α_i = 0, to the last digit where they have room for it.

    The largest free α takes the most, whose rounding is the largest anyway. What is left goes to
    those with finer digits, the shortest rows first, if that is little even for them. If the sum is
    off by rounding only, none may move Σ α_i z_i by more than so many `roundings` of one α do, and
    the later ones by no more than two: `lengths` are those of the rows.
    """
    most, part = roundings, 1.0
    while (excess := math.fsum(sign * alpha)) != 0.0:
        down = sign * excess > 0.0  # towards the lower bound
        able = free & (np.where(down, alpha - lower, upper - alpha) >= abs(excess))
        unit = np.spacing(np.abs(alpha))
        if abs(excess) <= unit.sum():
            usual = unit.max() * np.median(lengths)
            moved = most * (unit * lengths)[free].max(initial=usual)
            able &= (abs(excess) * lengths <= moved) & (abs(excess) <= part * np.abs(alpha))
        first = part == 1.0
        able &= first | (unit < abs(excess))  # less than the excess is left then
        some = np.flatnonzero(able)
        if len(some) == 0:
            return
        one = some[np.abs(alpha[some]).argmax() if first else lengths[some].argmin()]
        alpha[one] = min(max(alpha[one] - sign[one] * excess, lower[one]), upper[one])
        most, part = 2, LITTLE
