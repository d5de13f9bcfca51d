"""Judge solutions from the data alone, in extended precision.

Every job is, at each value of its parameter, an instance of one problem: minimise over w and b

    P = ½ ‖w‖² + Σ max(h_i r_i, l_i r_i),    r_i = p_i - s_i f(x_i),    f(x) = <w, x> + b,

with l ≤ 0 ≤ h, p = s y or 1, and ½ b² added if the intercept is an augmented feature. Its dual is
D = Σ p_i θ_i - ½ ‖v‖² with v = Σ θ_i s_i x_i, l ≤ θ ≤ h, and Σ s_i θ_i = 0 if the intercept is
free. For any w, b and any such θ

    P - D = ½ ‖w - v‖² + Σ [(h_i - θ_i) max(r_i, 0) + (θ_i - l_i) max(-r_i, 0)],

a sum without cancellation, which is what is computed here. No number comes from the library except
α, w and b as it returns them.

Doubles cannot hold every solution exactly. If w, b and θ are a unit u in their last place away from
the optimum, f(x_i) moves by at most ρ_i = u (Σ |w_j x_ij| + |b|), and with it P - D by at most

    Σ max(h_i - θ_i, θ_i - l_i) ρ_i + ½ ‖δ‖²,    δ_j = u (|w_j| + Σ |θ_i x_ij|),

where the sum is over the samples with r_i = 0, or about ρ_i: for the others the bracket above stays
zero, since θ_i is at the bound that belongs to the sign of r_i. With kernels w = Σ θ_i s_i φ(x_i),
and ρ_i = u (Σ |θ_j k_ij| + |b|). This is `floor`: no smaller gap can be asked for.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz.problem import REGRESSION, REGULARIZATION, Problem

Long = np.longdouble
if np.finfo(Long).nmant < 63:
    raise SystemExit(
        "the judge needs a long double of at least 80 bits, which is not to be had here"
    )
# The unit in the last place of a double, relative.
UNIT = Long(2.0) ** -53
# What an exact path promises: of the gap relative to the scale of the problem; of the distance of α
# from its box and of Σ s α from zero, relative to the widths of the boxes; of the distance of w
# from Σ θ z, relative to the terms of the sum; of decisions, relative to the terms of theirs.
GAP, OUTSIDE, OFF, DECIDED = 1e-9, 1e-9, 1e-7, 1e-10
# How far a bound, computed in doubles, is from the exact one.
SAME_BOUND = 16 * UNIT
# Boxes narrower than this part of the widest one count as closed.
CLOSED = 1e-12
# Objectives vanish at the ends of a path. They are concave in the parameter, so that nowhere else
# are they below this part of their value in the middle (over C, at its end).
VANISHING = 1e-6
# A residual, and an intercept that costs something, count in the scale of a regression with at most
# this many times a typical residual: a sample far away adds a constant to both objectives and no
# more, and so does a shift of all targets.
FAR = 100.0
# A gap is explained if it is at most so many times the gap that rounding w, b and α to doubles can
# cause: whatever is computed is a few units in the last place away from the nearest doubles.
EXPLAINED = 16.0


@dataclass
class Answer:
    """What a path says at some values of its parameter, one row each."""

    values: np.ndarray
    alpha: np.ndarray
    coef: np.ndarray | None  # none for kernels
    intercept: np.ndarray
    decisions: np.ndarray | None = None  # f at the training samples

    @classmethod
    def read(cls, path: Any, problem: Problem, values: np.ndarray) -> "Answer":
        """Ask the path."""
        linear = problem.kernel == "linear"
        alpha, coef, intercept = [], [], []
        for value in map(float, values):
            alpha.append(path.alpha(value))
            intercept.append(path.intercept(value))
            if linear:
                coef.append(path.coef(value))
        return cls(
            np.asarray(values), np.array(alpha), np.array(coef) if linear else None,
            np.array(intercept),
        )  # fmt: skip

    def distance(self, other: "Answer") -> float:
        """Return the largest difference, relative to the largest number; 0 if none differs."""
        found = 0.0
        for mine, its in zip(self.numbers, other.numbers, strict=True):
            if mine.tobytes() != its.tobytes():
                largest = max(np.abs(mine).max(), np.abs(its).max())
                apart = float(np.abs(mine - its).max() / largest) if largest else 0.0
                # zeros of either sign, or not a number
                found = max(found, apart or 5e-324) if apart == apart else np.inf
        return found

    @property
    def numbers(self) -> list[np.ndarray]:
        """All numbers."""
        return [self.alpha, self.intercept] + ([] if self.coef is None else [self.coef])

    def some(self, which: Any) -> "Answer":
        """Return only some rows."""
        coef = None if self.coef is None else self.coef[which]
        return Answer(self.values[which], self.alpha[which], coef, self.intercept[which])


@dataclass
class Verdict:
    """How far answers are from exact, one entry for each value of the parameter."""

    values: np.ndarray
    gap: np.ndarray  # relative to a robust scale
    plain_gap: np.ndarray  # relative to the primal objective
    outside: np.ndarray  # α outside its box, or out of balance
    off: np.ndarray  # w against Σ θ z
    decided: np.ndarray  # decisions against <w, x> + b
    floor: np.ndarray  # the gap that rounding w, b and α to doubles can cause, in units of `gap`

    @property
    def others(self) -> np.ndarray:
        """The largest of all but the gap, each in units of what is promised."""
        return np.maximum(self.outside / OUTSIDE, self.off / OFF)

    @property
    def badness(self) -> np.ndarray:
        """The largest of all, each in units of what is promised."""
        return np.maximum(self.gap / GAP, self.others)

    def explained(self, times: float = EXPLAINED) -> np.ndarray:
        """Return where nothing is wrong but a gap within `times` what rounding alone can cause."""
        return ((self.gap <= GAP) | (self.gap <= times * self.floor)) & (self.others <= 1.0)


class Judge:
    """The original data of a problem in extended precision."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        n = len(problem.y)
        self.weight = np.ones(n, Long) if problem.weight is None else problem.weight.astype(Long)
        self.free = problem.intercept == "free"
        self.augmented = problem.intercept == "augmented"
        if problem.job == REGRESSION:
            self.sign, self.target = np.ones(n, Long), problem.y.astype(Long)
            middle = weighted_median(self.target, self.weight)
            # of equal targets there is no scale but their own
            spread = typical(np.abs(self.target - middle), self.weight) or np.abs(middle)
            # below this, targets differ by rounding only
            self.unit = max(spread, 8 * UNIT * np.abs(middle)) or Long(1)
        else:
            self.sign = np.where(problem.y == np.max(problem.y), Long(1), Long(-1))
            self.target, self.unit = np.ones(n, Long), Long(1)
        if problem.kernel == "linear":
            X = problem.dense
            # With a free intercept, features may be measured from anywhere. Doubles close to their
            # middle make the differences exact.
            self.origin = np.median(X, axis=0) if self.free else np.zeros(X.shape[1])
            self.X = X.astype(Long) - self.origin.astype(Long)
        else:
            self.kernels = list(kernel_matrices(problem))

    def judge(self, answer: Answer, middle: Answer) -> Verdict:
        """Judge answers; `middle` is the one at the middle of the path."""
        if self.problem.kernel == "linear":
            return self._judge(answer, middle, linear_function)
        # The answer to a problem with a kernel that differs only by rounding is as good.
        verdicts = [self._judge(answer, middle, kernel_function(K)) for K in self.kernels]
        first = verdicts[0]
        for other in verdicts[1:]:
            better = other.badness < first.badness
            for name in ("gap", "plain_gap", "outside", "off", "decided", "floor"):
                setattr(first, name, np.where(better, getattr(other, name), getattr(first, name)))
        return first

    def bounds(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return l and h, and θ / α, one row for each value of the parameter."""
        problem, n = self.problem, len(self.sign)
        value, C = values.astype(Long)[:, None], Long(problem.C)
        if problem.job == REGRESSION:
            one = np.ones_like(value)
            return C * (value - 1) * self.weight, C * value * self.weight, one
        tau = value
        if problem.job == REGULARIZATION:
            tau, C = Long(problem.tau), value
        upper = 2 * C * self.weight * np.where(self.sign > 0, 1 - tau, tau)
        return np.zeros_like(upper), upper, n * C * np.ones_like(value)

    def _judge(
        self, answer: Answer, middle: Answer, evaluate: Callable[..., "Function"]
    ) -> Verdict:
        at_middle = self._measure(middle, evaluate)[1][0]
        gap, scale, primal, outside, off, decided, floor = self._measure(answer, evaluate)
        unit = np.maximum(np.maximum(scale, VANISHING * at_middle), Long(1e-300))
        return Verdict(
            answer.values, as_doubles(gap / unit), as_doubles(gap / np.maximum(primal, unit)),
            as_doubles(outside), as_doubles(off), as_doubles(decided), as_doubles(floor / unit),
        )  # fmt: skip

    def _measure(self, answer: Answer, evaluate: Callable[..., "Function"]) -> tuple:
        """Return gaps, their scales, primal objectives, and the other measures."""
        lower, upper, factor = self.bounds(answer.values)
        given = answer.alpha.astype(Long) * factor
        boxes = upper - lower
        width = np.maximum(boxes.max(axis=1), Long(1e-300))
        theta = np.clip(given, lower, upper)
        # A bound such as C (τ - 1) is known to rounding only: θ as close to it as that is there.
        for bound in (lower, upper):
            theta = np.where(np.abs(theta - bound) <= SAME_BOUND * np.abs(bound), bound, theta)
        # relative to its own box, unless that is nearly closed
        outside = (np.abs(given - theta) / (boxes + CLOSED * width[:, None])).max(axis=1)
        function = self._with_intercept(evaluate(self, answer, theta), theta)
        f, apart = function.f, function.apart
        r = self.target - self.sign * f
        if self.free:
            total = (self.sign * theta).sum(axis=1)
            terms = np.abs(theta).sum(axis=1)
            outside = np.maximum(outside, np.abs(total) / (terms + width))
            theta = self._balanced(theta, lower, upper, r, total)
        above, below = np.maximum(r, 0), np.maximum(-r, 0)
        gap = 0.5 * apart + ((upper - theta) * above + (theta - lower) * below).sum(axis=1)
        loss = upper * above - lower * below
        half = 0.5 * function.squared
        constant = np.abs(function.b) if self.augmented else np.zeros_like(half)
        primal = half + 0.5 * constant**2 + loss.sum(axis=1)
        scale = primal
        if self.problem.job == REGRESSION:
            size = np.abs(r)
            usual = np.array([typical(row, self.weight) for row in size])
            far = FAR * np.maximum(self.unit, usual)
            near = np.minimum(1, far[:, None] / np.maximum(size, Long(1e-300)))
            scale = half + 0.5 * np.minimum(constant, far) ** 2 + (loss * near).sum(axis=1)
        # Moving f by its rounding costs nothing for samples that stay on their side with θ at the
        # bound of this side: their part is linear, and adds up to zero at the optimum.
        up, down = upper - theta, theta - lower
        inside = (up > 0) & (down > 0)
        inside |= np.abs(r) <= EXPLAINED * function.rounding
        slope = np.where(inside, np.maximum(up, down), 0)
        floor = (slope * function.rounding).sum(axis=1) + 0.5 * function.cannot
        decided = np.zeros_like(gap)
        if answer.decisions is not None:
            terms = np.maximum(function.rounding / UNIT, Long(1e-300))
            decided = (np.abs(answer.decisions - function.decisions) / terms).max(axis=1)
        return gap, scale, primal, outside, function.off, decided, floor

    def _with_intercept(self, function: "Function", theta: np.ndarray) -> "Function":
        """Add what holds of the intercept: as a weight it is Σ θ s; if there is none, it is 0."""
        b = np.abs(function.b)
        if self.problem.intercept == "none":
            function.off = np.maximum(function.off, b / self.unit)
        elif self.augmented:
            total, terms = theta @ self.sign, np.abs(theta).sum(axis=1)
            apart = np.abs(function.b - total)
            function.off = np.maximum(function.off, apart / (terms + self.unit))
            function.apart = function.apart + apart**2
            function.cannot = function.cannot + (UNIT * (terms + b)) ** 2
        return function

    def _balanced(
        self,
        theta: np.ndarray,
        lower: np.ndarray,
        upper: np.ndarray,
        r: np.ndarray,
        total: np.ndarray,
    ) -> np.ndarray:
        """Return θ with Σ s θ = 0, changed where it costs least."""
        theta = theta.copy()
        for row, order in enumerate(np.argsort(np.abs(r), axis=1)):
            left = total[row]
            for i in order:
                if left == 0:
                    break
                wanted = theta[row, i] - self.sign[i] * left
                moved = min(max(wanted, lower[row, i]), upper[row, i])
                left += self.sign[i] * (moved - theta[row, i])
                theta[row, i] = moved
        return theta


@dataclass
class Function:
    """f of an answer at the training samples, and what belongs to it; one row for each value.

    Of w and v there are only the parts that belong to features.
    """

    f: np.ndarray
    decisions: np.ndarray  # the same f, from the origin of the features
    b: np.ndarray
    squared: np.ndarray  # ‖w‖²
    apart: np.ndarray  # ‖w - v‖²
    off: np.ndarray  # the largest |w - v|, relative to the terms of v
    rounding: np.ndarray  # how far rounding w, b and α to doubles can move f
    cannot: np.ndarray  # ‖w - v‖² that this rounding can cause


def linear_function(judge: Judge, answer: Answer, theta: np.ndarray) -> Function:
    """Return f of a linear answer."""
    X, w = judge.X, answer.coef.astype(Long)
    given = answer.intercept.astype(Long)
    b = given + w @ judge.origin.astype(Long)
    signed = theta * judge.sign
    v, terms = signed @ X, np.abs(signed) @ np.abs(X)
    # an error of w counts as much as it moves f, at least
    largest = np.maximum(np.abs(X).max(axis=0), Long(1e-300))
    apart = np.abs(w - v)
    if judge.free:  # Σ s θ = 0, so that each θ takes part in the rounding of all others
        rounding = 4 * UNIT * np.abs(theta).sum(axis=1)
        apart = np.maximum(apart - np.multiply.outer(rounding, largest), 0)
    off = apart / (terms + judge.unit / largest)
    dense = judge.problem.dense.astype(Long)
    size = np.abs(w) @ np.abs(dense).T
    return Function(
        f=w @ X.T + b[:, None],
        decisions=w @ dense.T + given[:, None],
        b=b,
        squared=(w**2).sum(axis=1),
        apart=((w - v) ** 2).sum(axis=1),
        off=off.max(axis=1, initial=0),
        rounding=UNIT * (size + np.abs(given)[:, None]),
        cannot=((UNIT * (terms + np.abs(w))) ** 2).sum(axis=1),
    )


def kernel_function(K: np.ndarray) -> Callable[[Judge, Answer, np.ndarray], Function]:
    """Return how answers are evaluated with this kernel matrix: w is v."""

    def evaluate(judge: Judge, answer: Answer, theta: np.ndarray) -> Function:
        signed, b = theta * judge.sign, answer.intercept.astype(Long)
        v, size = signed @ K, np.abs(signed) @ np.abs(K)
        if judge.free:
            size = size + _balancing(np.abs(theta), np.abs(K))
        if judge.augmented:  # as with the kernel K + 1
            size = size + np.abs(theta).sum(axis=1)[:, None]
        nothing = np.zeros(len(b), Long)
        return Function(
            f=v + b[:, None],
            decisions=v + b[:, None],
            b=b,
            squared=np.maximum((v * signed).sum(axis=1), 0),
            apart=nothing,
            off=nothing,
            rounding=UNIT * (size + np.abs(b)[:, None]),
            cannot=nothing,
        )

    return evaluate


def kernel_matrices(problem: Problem) -> Any:
    """Yield the kernel matrix of the samples: in doubles as scikit-learn has it, and to more."""
    from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel

    if problem.kernel == "precomputed":
        yield np.asarray(problem.X, dtype=Long)
        return
    X = problem.dense
    if problem.kernel == "rbf":
        yield rbf_kernel(X, gamma=problem.gamma).astype(Long)
        exact = X.astype(Long)
        squares = ((exact[:, None, :] - exact[None, :, :]) ** 2).sum(axis=2)
        yield np.exp(-Long(problem.gamma) * squares)
    else:
        yield polynomial_kernel(X, None, problem.degree, problem.gamma, problem.coef0).astype(Long)
        exact = X.astype(Long)
        yield (Long(problem.gamma) * (exact @ exact.T) + Long(problem.coef0)) ** problem.degree


def weighted_median(values: np.ndarray, weight: np.ndarray) -> Any:
    """Return a value with at least half of the weight on either side, itself included."""
    order = np.argsort(values, kind="stable")
    total = np.cumsum(weight[order])
    return values[order[int(np.searchsorted(total, total[-1] / 2))]]


def typical(sizes: np.ndarray, weight: np.ndarray) -> Any:
    """Return the weighted median of the sizes, of those above zero if that is zero."""
    found = weighted_median(sizes, weight)
    positive = (sizes > 0) & (weight > 0)
    if found == 0 and positive.any():
        found = weighted_median(sizes[positive], weight[positive])
    return found


def as_doubles(values: np.ndarray) -> np.ndarray:
    """Return the values as doubles; what is not a number counts as infinite."""
    with np.errstate(over="ignore"):
        doubles = np.asarray(values).astype(np.float64)
    return np.where(np.isnan(doubles), np.inf, doubles)


def _balancing(size: np.ndarray, K: np.ndarray) -> np.ndarray:
    """Return what each f moves by, in roundings, since Σ s θ = 0 leaves small θ few digits.

    Their sum is a multiple of the last digit of the largest θ, at best by the one whose row is the
    shortest.
    """
    found = np.zeros_like(size)
    for row, one in enumerate(size):
        small = np.flatnonzero((one > 0) & (2 * one < one.max()))
        if len(small):
            found[row] = one.max() * K[small[np.diag(K)[small].argmin()]]
    return found
