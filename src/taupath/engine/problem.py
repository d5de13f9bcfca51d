"""The canonical problem, along one straight line of bounds and targets.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i(t) θ_i   subject to   l_i(t) ≤ θ_i ≤ h_i(t)

with l, h and p affine in t. Every job is a choice of rows z_i and of one such line.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from taupath.engine.readers import made_once
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.engine.tolerances import BEYOND_MARGIN

# Gaps are relative to the primal objective. That can vanish at an end of the line, so the divisor
# is at least this part of the objective in the middle, or of an estimate of it: the promised 1e-9
# of it, 1e-15, is about its rounding error. Since objectives are concave in t, only the outermost
# millionth of a line is affected.
VANISHING = 1e-6
TINY = float(np.finfo(np.float64).tiny)
# A θ this close to its bound, relative to the width of its box, is at the bound: where a sample
# reaches its bound, rounding leaves its θ about that far off.
AT_BOUND = 1e-12
# The same if all that the distance from the bound does to any margin is less than this.
INVISIBLE = 1e-10
# A slack of so many typical ones is an outlier's: no more of its loss counts in what gaps are
# relative to, so that one outlier cannot hide errors of all others.
OUTLYING = 10.0
# Of the random u_i by which targets are raised. Stored records depend on it: it must not change.
RAISE_SEED = 20090618


class Box(NamedTuple):
    """Bounds and targets at one t, and how much targets usually differ."""

    lower: np.ndarray
    upper: np.ndarray
    target: np.ndarray
    typical: float = 1.0


@dataclass(frozen=True)
class Line:
    """Bounds l and h and targets p of all points, at t = 0 and at t = 1; affine in between."""

    lower0: np.ndarray
    lower1: np.ndarray
    upper0: np.ndarray
    upper1: np.ndarray
    target0: np.ndarray
    target1: np.ndarray
    typical: float = 1.0  # how much targets usually differ

    def at(self, t: float) -> Box:
        """Return l(t), h(t) and p(t)."""
        return Box(self.lower(t), self.upper(t), self.target(t), self.typical)

    def lower(self, t: float) -> np.ndarray:
        """Return l(t)."""
        return _between(self.lower0, self.lower1, t)

    def upper(self, t: float) -> np.ndarray:
        """Return h(t)."""
        return _between(self.upper0, self.upper1, t)

    def target(self, t: float) -> np.ndarray:
        """Return p(t)."""
        return _between(self.target0, self.target1, t)

    def width(self, t: float) -> np.ndarray:
        """Return h(t) - l(t)."""
        return np.asarray(self.upper(t) - self.lower(t))

    @made_once
    def lower_rate(self) -> np.ndarray:
        """Rate of l."""
        return np.asarray(self.lower1 - self.lower0)

    @made_once
    def upper_rate(self) -> np.ndarray:
        """Rate of h."""
        return np.asarray(self.upper1 - self.upper0)

    @made_once
    def target_rate(self) -> np.ndarray:
        """Rate of p."""
        return np.asarray(self.target1 - self.target0)

    @made_once
    def from_zero(self) -> bool:
        """Whether all lower bounds are zero: then raised targets cost next to nothing."""
        return not (self.lower0.any() or self.lower1.any())

    def reversed(self) -> "Line":
        """Return the same line walked from its other end, t → 1 - t."""
        return replace(
            self,
            lower0=self.lower1,
            lower1=self.lower0,
            upper0=self.upper1,
            upper1=self.upper0,
            target0=self.target1,
            target1=self.target0,
        )

    def take(self, order: np.ndarray) -> "Line":
        """Return the same line with its points in another order."""
        ends = ("lower0", "lower1", "upper0", "upper1", "target0", "target1")
        return replace(self, **{end: getattr(self, end)[order] for end in ends})

    def raised(self, by: float) -> "Line":
        """Return the line with targets p_i + by u_i, fixed random u_i in [½, 1)."""
        u = _random_raises(len(self.target0).bit_length())[: len(self.target0)]
        return replace(self, target0=self.target0 + by * u, target1=self.target1 + by * u)


@lru_cache(maxsize=2)
def _random_raises(bits: int) -> np.ndarray:
    """Return the u_i of `Line.raised` for up to 2^bits points: making them anew takes longer."""
    u = np.random.default_rng(RAISE_SEED).uniform(0.5, 1.0, 1 << bits)
    u.flags.writeable = False
    return u


def _between(begin: np.ndarray, end: np.ndarray, t: float) -> np.ndarray:
    """Return the value at t, from both ends: values that go to zero there keep their digits."""
    return begin * (1.0 - t) + end * t


def objectives(box: Box, margin: np.ndarray, squared: float) -> tuple[float, float]:
    """Return the primal objective with slacks of outliers cut, and as it is.

    `margin` are the <z_i, w> and `squared` is ‖w‖².
    """
    lower, upper, short = box.lower, box.upper, box.target - margin
    usual = usual_slacks(short, box.typical)
    whole = float(np.maximum(upper * short, lower * short).sum()) + 0.5 * squared
    if usual is short:
        return whole, whole
    return float(np.maximum(upper * usual, lower * usual).sum()) + 0.5 * squared, whole


def violations(
    theta: np.ndarray, lower: np.ndarray, upper: np.ndarray, short: np.ndarray, beyond: np.ndarray
) -> np.ndarray:
    """Return the distance of each sample from its target if θ has room to close it, else 0 or less.

    `short` and `beyond` say how far each margin is below and above its target.
    """
    width = AT_BOUND * (upper - lower)
    off = np.maximum((theta < upper - width) * short, (theta > lower + width) * beyond)
    return np.asarray(off)


def largest_violation(
    theta: np.ndarray, lower: np.ndarray, upper: np.ndarray, short: np.ndarray, beyond: np.ndarray
) -> float:
    """Return the largest of the violations."""
    return float(violations(theta, lower, upper, short, beyond).max(initial=0.0))


def nearly_nothing(width: np.ndarray, length: np.ndarray) -> np.ndarray:
    """Return how far θ may be from a bound that it is as good as at, with rows of these lengths."""
    most = length * max(float(length.max(initial=0.0)), TINY)
    with np.errstate(divide="ignore", over="ignore"):  # INVISIBLE / 0 is no limit
        return np.minimum(AT_BOUND * width, INVISIBLE / most)


def without_large_constant(squared: float, constant: float, typical: float) -> float:
    """Return ‖w‖² if a large weight of the constant counts as no more than a large slack.

    A shift of all targets of a regression causes such a weight.
    """
    weight = abs(constant)
    return squared + min(weight, OUTLYING * typical) ** 2 - weight**2


def usual_slacks(short: np.ndarray, typical: float) -> np.ndarray:
    """Return the slacks, those of outliers cut to OUTLYING typical ones."""
    size = np.abs(short)
    most = OUTLYING * typical
    if not size.max(initial=0.0) > most:
        return short
    most = max(most, OUTLYING * float(np.median(size)))
    return np.asarray(np.clip(short, -most, most))


def rising_targets(line: Line, t: float, first: np.ndarray) -> Line:
    """Return the line from targets `first` to those of `line`, with its bounds at t."""
    lower, upper = line.lower(t), line.upper(t)
    return Line(lower, lower, upper, upper, first, line.target(t))


def correction(line: Line, t: float, margin: np.ndarray, status: np.ndarray) -> Line:
    """Return the line that leads from an approximate solution at t to the exact one.

    Its targets begin where the given index sets are optimal: at the margins <z_i, w> themselves
    for free points, and, for a bound point whose slack has the wrong sign, just beyond its margin.
    """
    target = line.target(t)
    beyond = BEYOND_MARGIN * (1.0 + np.abs(margin))
    choices = [margin, np.minimum(target, margin - beyond), np.maximum(target, margin + beyond)]
    first = np.select([status == FREE, status == LOWER, status == UPPER], choices)
    return rising_targets(line, t, first)
