"""Constraints on the weights, as users give them, and the rows that they become."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath.engine.problem import Line
from taupath.paths.extra_rows import ExtraRows
from taupath.validation import LARGEST, NO_FEATURE, check_numbers, check_real, refuse_masked, shown

# A bound that stands for infinity is so many times what the losses and the targets alone could move
# a weight by. It is not larger since θ counts as at its other bound within a part of the width.
AS_GOOD_AS_INFINITE = 10.0
# A group that varies by less is refused: its products with features, which are at least as large,
# could be too small for doubles.
SMALLEST_SPREAD = NO_FEATURE


class Training(NamedTuple):
    """What constraints are made of: features, their names if they have any, and weights."""

    X: Any
    names: list[str] | None
    weight: np.ndarray
    bias: float  # the constant feature, 0 for none

    def columns(self, features: Any) -> np.ndarray:
        """Return the indices of features, given by one or several indices or names; None: all."""
        n_features = self.X.shape[1]
        if features is None:
            return np.arange(n_features)
        one = isinstance(features, str) or np.ndim(features) == 0
        found = [self._column(each) for each in ([features] if one else features)]
        if len(found) == 0:
            raise ValueError("features is empty: name one, or leave the constraint out")
        if len(set(found)) < len(found):
            raise ValueError(f"features names one of them twice: {shown(features)}")
        return np.array(found)

    def _column(self, feature: Any) -> int:
        n_features = int(self.X.shape[1])
        if isinstance(feature, str):
            if self.names is None:
                raise ValueError(
                    f"feature {feature!r} is a name, and X has none: give its column index"
                )
            n_named = self.names.count(feature)
            if n_named != 1:
                so_many = "no column is" if n_named == 0 else f"{n_named} columns are"
                raise ValueError(f"{so_many} named {feature!r}: give a column index")
            return self.names.index(feature)
        if isinstance(feature, (bool, np.bool_)) or not isinstance(feature, (int, np.integer)):
            raise TypeError(f"features must be column indices or names, got {shown(feature)}")
        if not -n_features <= feature < n_features:
            raise ValueError(
                f"feature {feature} does not exist: X has {n_features} columns, counted from 0"
            )
        return int(feature) % n_features


class Bounded(NamedTuple):
    """lower ≤ A w ≤ upper; the last column of A is for the intercept."""

    A: "sp.csr_array"
    lower: np.ndarray
    upper: np.ndarray


class Constraint(ABC):
    """A condition on the weights that holds at every τ."""

    @abstractmethod
    def bounded(self, training: Training) -> Bounded:
        """Return the condition as bounds of linear functionals."""

    def for_samples(self, rows: np.ndarray) -> "Constraint":
        """Return the condition for some of the samples."""
        return self


def _signs(columns: np.ndarray, direction: float, n_features: int) -> Bounded:
    """Return direction · w_j ≥ 0 for each of these columns."""
    k = len(columns)
    A = sp.csr_array((np.full(k, direction), (np.arange(k), columns)), shape=(k, n_features + 1))
    return Bounded(A, np.zeros(k), np.full(k, np.inf))


@dataclass(frozen=True)
class NonNegative(Constraint):
    """w_j ≥ 0 for some features, by default for all.

    Parameters
    ----------
    features : int, str or sequence of these, optional
        Column indices, or names if X is a data frame.
    """

    features: Any = None

    def bounded(self, training: Training) -> Bounded:
        """Return the condition as bounds of linear functionals."""
        return _signs(training.columns(self.features), 1.0, training.X.shape[1])


@dataclass(frozen=True)
class Monotone(Constraint):
    """The decision function rises, or falls, with each of some features.

    Parameters
    ----------
    features : int, str or sequence of these
        Column indices, or names if X is a data frame.
    direction : {1, -1}
        1: it never falls as a feature grows; -1: it never rises.
    """

    features: Any
    direction: int = 1

    def bounded(self, training: Training) -> Bounded:
        """Return the condition as bounds of linear functionals."""
        if check_real(self.direction, "direction of Monotone") not in (1.0, -1.0):
            raise ValueError(f"direction of Monotone must be 1 or -1, got {shown(self.direction)}")
        columns = training.columns(self.features)
        return _signs(columns, float(self.direction), training.X.shape[1])


@dataclass(frozen=True, eq=False)
class Bound(Constraint):
    """lower ≤ a·w + intercept·b ≤ upper, where w are the weights and b is the intercept.

    With ``intercept=1`` that bounds the decision function at the point a.

    Parameters
    ----------
    a : array-like of shape (n_features,)
        The coefficients.
    lower, upper : float
        One of them may be infinite; if they are equal, a·w has this value.
    intercept : float, default 0
        The coefficient of the intercept.
    """

    a: Any
    lower: float = -np.inf
    upper: float = np.inf
    intercept: float = 0.0

    def bounded(self, training: Training) -> Bounded:
        """Return the condition as bounds of linear functionals."""
        a, n_features = check_numbers(self.a, "a of Bound"), training.X.shape[1]
        if a.shape != (n_features,):
            raise ValueError(f"a of Bound has shape {a.shape}, expected ({n_features},)")
        coefficients = np.append(a, check_real(self.intercept, "intercept of Bound"))
        if not (np.abs(coefficients) <= LARGEST).all():
            raise ValueError("a of Bound has an entry that is not finite, or too large")
        if not coefficients.any():
            raise ValueError("a of Bound is zero: that bounds nothing")
        if coefficients[-1] and not training.bias:
            raise ValueError("Bound is for the intercept, but there is none")
        lower = check_real(self.lower, "lower of Bound")
        upper = check_real(self.upper, "upper of Bound")
        if lower == -np.inf and upper == np.inf:
            raise ValueError("Bound has neither lower nor upper: give one of them")
        if not lower <= upper or lower == np.inf or upper == -np.inf:
            raise ValueError(f"Bound from {lower} to {upper} is impossible")
        if any(math.isfinite(end) and abs(end) > LARGEST for end in (lower, upper)):
            raise ValueError(f"Bound from {lower} to {upper} is too large")
        return Bounded(sp.csr_array(coefficients[np.newaxis]), np.array([lower]), np.array([upper]))


@dataclass(frozen=True, eq=False)
class Fair(Constraint):
    """|cov(group, f(x))| ≤ rho over the training samples.

    The usual convex surrogate of equal treatment (Zafar et al. 2017). Samples count as much as in
    training: with weights, with `class_weight` and with costs given to `fit`, it is the covariance
    of samples weighted so.

    Parameters
    ----------
    group : array-like of shape (n_samples,)
        Two values of any kind, or numbers. Of two values, the one that sorts last counts as 1, the
        other as 0.
    rho : float, default 0
        The largest covariance.
    """

    group: Any
    rho: float = 0.0

    def bounded(self, training: Training) -> Bounded:
        """Return the condition as bounds of linear functionals."""
        rho = _check_penalty(self.rho, "rho of Fair")
        return _Covariance(numbers_of_group(self.group, training.X.shape[0]), rho).bounded(training)

    def for_samples(self, rows: np.ndarray) -> Constraint:
        """Return the condition for some of the samples, whose groups count as among all."""
        rho = _check_penalty(self.rho, "rho of Fair")
        return _Covariance(numbers_of_group(self.group, np.size(self.group))[rows], rho)


@dataclass(frozen=True, eq=False)
class _Covariance(Constraint):
    """|cov(group, f(x))| ≤ rho, for a group of finite numbers."""

    group: np.ndarray
    rho: float

    def bounded(self, training: Training) -> Bounded:
        X, weight = training.X, training.weight
        share = weight / weight.sum()
        group = self.group - self.group.min()  # rounding of a large offset would hide what varies
        a = np.asarray(X.T @ (share * (group - share @ group))).ravel()
        largest = np.abs(X).max() * np.abs(group).max() if X.shape[1] else 0.0
        a[np.abs(a) <= X.shape[0] * np.finfo(float).eps * float(largest)] = 0.0
        if not a.any():
            return _signs(np.zeros(0, dtype=int), 1.0, X.shape[1])  # any w is fair
        A = sp.csr_array(np.append(a, 0.0)[np.newaxis])
        return Bounded(A, np.array([-self.rho]), np.array([self.rho]))


def numbers_of_group(group: Any, n_samples: int) -> np.ndarray:
    """Return the group of each sample as a number."""
    refuse_masked(group, "group")
    try:
        values = np.asarray(group)
    except ValueError:
        raise ValueError("group must be a list of values, one for each row of X") from None
    if values.shape != (n_samples,):
        raise ValueError(f"group has shape {values.shape}, X has {n_samples} rows")
    if _any_missing(values):
        raise ValueError("group has values that are missing or not finite")
    try:
        kinds = np.unique(values)
    except TypeError:
        raise TypeError("group mixes values that cannot be sorted") from None
    if len(kinds) == 1:
        raise ValueError(f"group has a single value, {shown(kinds[0])}: nothing to compare")
    if len(kinds) == 2:
        return np.asarray(values == kinds[1], dtype=float)
    if values.dtype.kind not in "fiub":
        raise TypeError(f"group has {len(kinds)} values: give numbers, or one Fair for each")
    numbers = values.astype(float)
    if np.abs(numbers).max() > LARGEST:
        raise ValueError(f"group has numbers above {LARGEST:g}: divide it by a constant")
    if np.ptp(numbers) < SMALLEST_SPREAD:
        raise ValueError(
            f"group varies by less than {SMALLEST_SPREAD:g}: multiply it by a constant"
        )
    return numbers


def _any_missing(values: np.ndarray) -> bool:
    """Return whether a value is None, NaN, NaT or NA, or a number that is not finite."""
    if values.dtype.kind in "fc":
        return not np.isfinite(values).all()
    if values.dtype.kind in "mM":
        return bool(np.isnat(values).any())
    return values.dtype.kind == "O" and any(map(_is_missing, values))


def _is_missing(value: Any) -> bool:
    """Return whether a value does not equal itself, or cannot tell; None is missing, too."""
    try:
        return value is None or not bool(value == value)  # NaN and NaT do not
    except TypeError:  # pandas.NA
        return True


def check_l1(l1: Any) -> float:
    """Return the weight of the L1 penalty."""
    return _check_penalty(l1, "l1")


def _check_penalty(value: Any, name: str) -> float:
    number = check_real(value, name)
    if not 0.0 <= number <= LARGEST:
        raise ValueError(f"{name} must lie between 0 and {LARGEST:g}, got {shown(value)}")
    return number


def check_constraints(constraints: Any) -> tuple[Constraint, ...]:
    """Return the constraints: none, one, or several."""
    if constraints is None:
        return ()
    several = (constraints,) if isinstance(constraints, Constraint) else constraints
    if not isinstance(several, Sequence) or isinstance(several, (str, bytes)):
        raise TypeError(f"constraints must be a list of constraints, got {shown(constraints)}")
    for one in several:
        if not isinstance(one, Constraint):
            raise TypeError(f"constraints must be NonNegative, Monotone, ..., got {shown(one)}")
    return tuple(several)


def extra_rows(
    l1: float, constraints: Sequence[Constraint], training: Training, strength: float
) -> ExtraRows:
    """Return the rows of a penalty and of constraints; `strength` is C times the sum of weights.

    A row may be scaled if its box is. All are about as long as the longest sample, so that raising
    targets to break ties moves margins by no more than that. Rows that fix a weight are longer:
    together, what their raised targets move is half of what any other row is raised by, so that
    weights fixed exactly still meet the constraints.
    """
    X, bias, n_features = training.X, training.bias, training.X.shape[1]
    squares = np.asarray((X.multiply(X) if sp.issparse(X) else np.square(X)).sum(axis=1))
    length = math.sqrt(float(squares.max()) + bias**2) or 1.0
    of_single = 2.0 * math.sqrt(n_features) * length
    parts: list[tuple[Any, ...]] = []
    if l1 > 0.0:
        matrix = sp.csr_array(of_single * sp.eye_array(n_features, n_features + 1))
        box = np.full(n_features, l1 / of_single)
        parts.append((matrix, 0.0 * box, -box, box, box < 0.0, ["l1"] * n_features))
    for number, one in enumerate(constraints):
        A, lower, upper = _in_own_units(_bounded(one, number, training))
        single, norms = np.diff(A.indptr) == 1, np.sqrt(A.multiply(A).sum(axis=1))
        lengths = np.where(single, of_single, length)
        scale = lengths / norms
        name, equal = f"constraint {number}, {shown(one)},", lower == upper
        for sign, bound in ((1.0, lower), (-1.0, -upper)):
            some = np.flatnonzero((bound > -np.inf) & ~(equal & (sign < 0.0)))
            target = scale[some] * bound[some]
            alone = 2.0 * strength * length / lengths[some] + np.abs(target) / lengths[some] ** 2
            far = AS_GOOD_AS_INFINITE * alone
            matrix = sp.csr_array(sp.diags_array(sign * scale[some]) @ A[some])
            below = np.where(equal[some], -far, 0.0)
            parts.append((matrix, target, below, far, far > 0.0, [name] * len(some)))
    matrix = sp.csr_array(sp.vstack([part[0] for part in parts], format="csr"))
    if not bias:
        matrix = sp.csr_array(matrix[:, :n_features])
    matrix.eliminate_zeros()
    matrix.sort_indices()
    target, lower, upper, hard = (np.concatenate([part[k] for part in parts]) for k in range(1, 5))
    names = tuple(name for part in parts for name in part[5])
    return ExtraRows(matrix, Line(lower, lower, upper, upper, target, target), hard, names)


def _bounded(one: Constraint, number: int, training: Training) -> Bounded:
    try:
        return one.bounded(training)
    except (TypeError, ValueError) as error:
        raise type(error)(f"constraint {number}: {error}") from None


def _in_own_units(given: Bounded) -> Bounded:
    """Return the bounds of rows whose largest entries are about 1, so that squares are in reach.

    What rows are divided by is a power of two: that rounds nothing.
    """
    A, lower, upper = given
    _, exponent = np.frexp(abs(A).max(axis=1).toarray().ravel())
    A = sp.csr_array((A.data, A.indices, A.indptr), shape=A.shape)
    A.data = np.ldexp(A.data, -np.repeat(exponent, np.diff(A.indptr)))
    with np.errstate(over="ignore"):  # then a bound has no effect, or is refused as too far off
        return Bounded(A, np.ldexp(lower, -exponent), np.ldexp(upper, -exponent))
