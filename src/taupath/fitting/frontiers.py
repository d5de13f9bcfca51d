"""At one τ: the solutions for every weight of an L1 penalty, and for every degree of fairness."""

import math
from bisect import bisect_left
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.engine.record import Solution
from taupath.fitting.constrained import Samples, walk_within
from taupath.fitting.constraints import (
    Bounded,
    Constraint,
    Fair,
    Training,
    check_constraints,
    check_l1,
    extra_rows,
)
from taupath.fitting.doubts import warn_of_inexact
from taupath.fitting.feasibility import check_feasible, with_room
from taupath.fitting.reach import check_reach
from taupath.fitting.walks import walk_frontier, walk_regularization
from taupath.paths.extra_rows import BOUNDS, ExtraRows
from taupath.paths.frontiers import Fairness, Frontier, Sparsity
from taupath.paths.jobs import Regularization
from taupath.paths.path import SolutionPath
from taupath.paths.training_data import TrainingData
from taupath.paths.walked import Walked, WalkedPiece
from taupath.progress import Progress, telling
from taupath.validation import DEFAULT_C, check_C, check_progress, check_real

# A covariance counts as zero if it is at most this part of ‖a‖ ‖w‖, where it is a·w: rounding.
NO_COVARIANCE = 1e-12
# Names of the bounds where a line begins.
AT_BEGIN = ("lower0", "upper0")
# Between kinks closer than this, relative to their size, solutions can be those of raised targets
# that would be zero without. So far beyond the last weight a path over an L1 penalty may end, and
# its walk goes further by four times this, so that zero weights are seen.
COINCIDENT = 1e-6


def sparsity_path(
    X: Any,
    y: Any,
    tau: float = 0.5,
    C: float = DEFAULT_C,
    *,
    l1_max: float | None = None,
    constraints: Any = None,
    intercept: str = "augmented",
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """Follow the exact solution of the linear SVM over the weight λ₁ of an L1 penalty, at one τ.

    For every λ₁ from 0 on, minimises

        ½ ‖w‖² + λ₁ ‖w‖₁ + C Σ c_i max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ) for y_i = +1, 2τ for -1,

    where the intercept is not penalised by λ₁. Features enter and leave at kinks.

    Parameters
    ----------
    X, y, constraints, sample_weight, progress
        As in `quantile_path`.
    tau : float, default 0.5
        cost_fp / (cost_fp + cost_fn), strictly between 0 and 1. At ½ this is the ordinary SVM.
    C : float, default 1.0
        Weight of the loss.
    l1_max : float, optional
        Where the path ends. By default where the last weight becomes zero; with `constraints` that
        forbid this, give it.
    intercept : {"augmented", "none"}
        "augmented": a constant feature 1. "none": the decision function passes through the origin.

    Returns
    -------
    SolutionPath
        The same interface as that of `quantile_path`, with λ₁ as the parameter: ``path.taus`` are
        its kinks, and ``path.n_nonzero(l1)`` counts features.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 4.0]])
    >>> path = taupath.sparsity_path(X, [0, 0, 1, 1], C=10.0)
    >>> [path.n_nonzero(l1) for l1 in (0.0, 20.0, path.tau_range[1])]
    [2, 1, 0]
    """
    tell = telling(check_progress(progress), "kinks", Sparsity.symbol)
    tau, C, constraints = _check_tau(tau), check_C(C), check_constraints(constraints)
    samples = Samples.checked(X, y, sample_weight, intercept)
    largest = _enough(samples, tau, C) if l1_max is None else check_C(l1_max, "l1_max")
    if l1_max is None and constraints:
        raise ValueError("give l1_max: with constraints, weights need not become zero")
    extra = extra_rows(largest, constraints, samples.training, samples.strength(C))
    extra = with_room(extra, samples.unit)
    _, begin = _solved(samples, _without(extra, ~extra.hard), tau, C)
    bounds: Any = {name: np.where(extra.hard, getattr(extra.line, name), 0.0) for name in AT_BEGIN}
    extra = replace(extra, line=replace(extra.line, **bounds))
    assert samples.classes is not None
    job = Sparsity(tau, C, samples.classes, largest)
    walked = _walked(job, samples, extra, begin, tell)
    if l1_max is None:
        (piece,) = walked.pieces
        assert isinstance(piece, WalkedPiece)
        end = job.to_t(_all_zero_from(walked, samples.X.shape[1]))
        record = piece.record.until(min(end, piece.record.end))
        walked = Walked(job, walked.data, [WalkedPiece(job, piece.data, piece.way, record)])
    return SolutionPath(walked)


def fairness_path(
    X: Any,
    y: Any,
    group: Any,
    tau: float = 0.5,
    C: float = DEFAULT_C,
    *,
    l1: float = 0.0,
    constraints: Any = None,
    intercept: str = "augmented",
    sample_weight: Any = None,
    progress: Progress | None = None,
) -> SolutionPath:
    """Follow the exact solution of the linear SVM over how unfair it may be, at one τ.

    For every ρ from 0 to where it makes no difference, minimises

        ½ ‖w‖² + C Σ c_i max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ) for y_i = +1, 2τ for -1,

    subject to |cov(group, f(x))| ≤ ρ over the training samples.

    Parameters
    ----------
    X, y, l1, constraints, sample_weight, progress
        As in `quantile_path`.
    group : array-like of shape (n_samples,)
        Two values of any kind, or numbers, as for `Fair`.
    tau : float, default 0.5
        cost_fp / (cost_fp + cost_fn), strictly between 0 and 1. At ½ this is the ordinary SVM.
    C : float, default 1.0
        Weight of the loss.
    intercept : {"augmented", "none"}
        "augmented": a constant feature 1. "none": the decision function passes through the origin.

    Returns
    -------
    SolutionPath
        The same interface as that of `quantile_path`, with ρ as the parameter. It ends at the
        covariance of the solution without the constraint.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 2.0], [3.0, 4.0]])
    >>> path = taupath.fairness_path(X, [0, 0, 1, 1], ["a", "a", "a", "b"], C=10.0)
    >>> f = path.decision_function(X, 0.1)
    >>> abs(np.cov([0, 0, 0, 1], f, ddof=0)[0, 1]).round(9)
    np.float64(0.1)
    """
    tell = telling(check_progress(progress), "kinks", Fairness.symbol)
    tau, C, l1 = _check_tau(tau), check_C(C), check_l1(l1)
    constraints = check_constraints(constraints)
    samples = Samples.checked(X, y, sample_weight, intercept)
    a = Fair(group).bounded(samples.training).A
    if not a.shape[0]:
        raise ValueError("no feature varies with group: any decision function is fair")

    def extra_of(sign: float, rho: float) -> ExtraRows:
        """Return all extra rows; the last one's target is that of sign · cov ≤ rho."""
        several = (*constraints, _AtMost(sign * a, rho))
        extra = extra_rows(l1, several, samples.training, samples.strength(C))
        return with_room(extra, samples.unit, np.arange(len(extra)) < len(extra) - 1)

    without = extra_of(1.0, 0.0)
    last = np.arange(len(without)) == len(without) - 1
    w, _ = _solved(samples, _without(without, last), tau, C)
    covariance = float((a[:, : len(w)] @ w)[0])
    size = math.hypot(*a.data) * math.hypot(*w)
    if abs(covariance) <= NO_COVARIANCE * size:
        raise ValueError(
            "without the constraint, the covariance of group and decision is zero already: there "
            "is nothing to follow"
        )
    rho_max = abs(covariance)
    sign = math.copysign(1.0, covariance)
    extra = extra_of(sign, rho_max)
    first = np.where(last, 0.0, extra.line.target0)
    extra = replace(extra, line=replace(extra.line, target0=first))
    _, begin = _solved(samples, extra_of(sign, 0.0), tau, C)
    assert samples.classes is not None
    job = Fairness(tau, C, samples.classes, rho_max)
    return SolutionPath(_walked(job, samples, extra, begin, tell))


class _AtMost(Constraint):
    """a·w ≤ rho, the side of a `Fair` that matters."""

    def __init__(self, a: "sp.csr_array", rho: float) -> None:
        self.a, self.rho = a, rho

    def __repr__(self) -> str:
        return "the covariance with group"

    def bounded(self, training: Training) -> Bounded:
        """Return the condition as a bound of a linear functional."""
        return Bounded(-self.a, np.array([-self.rho]), np.array([np.inf]))


def _without(extra: ExtraRows, some: np.ndarray) -> ExtraRows:
    """Return the rows with empty boxes for some of them: these are then no constraints at all."""
    empty: Any = {name: np.where(some, 0.0, getattr(extra.line, name)) for name in BOUNDS}
    return replace(extra, line=replace(extra.line, **empty), hard=extra.hard & ~some)


def _solved(
    samples: Samples, extra: ExtraRows, tau: float, C: float
) -> tuple[np.ndarray, Solution]:
    """Return w with extra rows that rest, and the solution of all rows.

    It is where a walk over C ends, which has far fewer kinks than one over rising targets.
    """
    check_feasible(extra)
    assert samples.classes is not None
    job = Regularization(tau, C, samples.classes)

    def walk(data: TrainingData) -> Walked:
        check_reach(C, data)
        return walk_regularization(job, data)

    walked, _ = walk_within(samples, extra, walk)
    (piece,) = walked.pieces
    return walked.solution(C).w, piece.solution(C)


def _walked(
    job: Frontier, samples: Samples, extra: ExtraRows, begin: Solution, tell: Any
) -> Walked:
    """Return the solutions of a job; warn if they are not as exact as promised."""

    def walk(data: TrainingData) -> Walked:
        return walk_frontier(job, data, begin, tell)

    found, _ = walk_within(samples, extra, walk)
    warn_of_inexact(found)
    return found


def _check_tau(tau: Any) -> float:
    number = check_real(tau, "tau")
    if not 0.0 < number < 1.0:
        raise ValueError(f"tau must lie strictly between 0 and 1, got {number!r}")
    return number


def _enough(samples: Samples, tau: float, C: float) -> float:
    """Return a weight of the penalty clearly beyond that from which on all weights are zero."""
    upper = C * samples.responses.weight
    upper = upper * np.where(samples.responses.sign > 0.0, 2.0 * (1.0 - tau), 2.0 * tau)
    enough = float(np.max(abs(samples.X).T @ upper, initial=0.0)) or 1.0
    return enough * (1.0 + 4.0 * COINCIDENT)


def _all_zero_from(walked: Walked, n_features: int) -> float:
    """Return a value of the parameter from which on all weights are zero.

    The walk, whose targets are raised, may follow tiny weights for longer, and between kinks that
    would be one without raised targets there are some. So short intervals are not looked at.
    """
    kinks = walked.kinks
    wide = np.flatnonzero(np.diff(kinks) > COINCIDENT * kinks[1:])

    def all_zero(value: float) -> bool:
        return not walked.solution(value).w[:n_features].any()

    middles = 0.5 * (kinks[wide] + kinks[wide + 1])
    first = bisect_left(middles, True, key=lambda middle: all_zero(float(middle)))
    if first == len(wide):
        return float(kinks[-1])
    # raised targets move the kink, too
    end, apart = float(middles[first]), 0.5 * COINCIDENT * float(kinks[wide[first] + 1])
    begin = float(kinks[wide[first]]) + apart
    if all_zero(begin):
        return begin
    while end - begin > apart:
        middle = 0.5 * (begin + end)
        begin, end = (begin, middle) if all_zero(middle) else (middle, end)
    return end
