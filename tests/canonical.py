"""The judge of every job with any kernel, from the original data alone.

It shares no code with the package. All of it is about one problem::

    minimise   P(w) = 1/2 |w|^2 + sum_i max(h_i (p_i - m_i), l_i (p_i - m_i)),   m_i = <z_i, w>
    maximise   D(theta) = sum_i p_i theta_i - 1/2 |w(theta)|^2,         l_i <= theta_i <= h_i

with w(theta) = sum_i theta_i z_i. An SVM has z = y phi(x), p = 1 and the box [0, 2 C (1 - tau) s]
or [0, 2 C tau s]; quantile regression has z = phi(x), p = y and [C (tau - 1) s, C tau s], with s
the sample weight. phi ends in a 1 for the intercept: the kernel in use is k(x, x') + 1.

With the linear kernel w is given beside theta and judged as such: where C is large, rounding
theta alone moves w(theta) by more than a gap of 1e-9 allows. With any other, w is w(theta).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import polynomial_kernel, rbf_kernel, sigmoid_kernel

import taupath
import verify
from problems import KINKS_BESIDES, KINKS_PER_SAMPLE

GAP, KKT = 1e-9, 1e-7
# A dual variable this close to an end of its box, relative to the widest box, is at that end.
AT_BOUND = 1e-10
# A dual variable may leave its box by this much, relative to the widest box: rounding only.
OUT_OF_BOX = 1e-13
# Quantile regression can end in an optimum of nothing, at tau = 0 if no y is below 0. What is so
# small beside C sum |y| is nothing.
NOTHING = 1e-15


@dataclass(frozen=True)
class Task:
    """Samples and a kernel: the arguments that all jobs share. Parameters are plain numbers."""

    X: Any
    y: Any
    kernel: Any = "linear"
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    intercept: str = "augmented"
    weight: np.ndarray | None = None

    def path(self, C: float, **kw: Any) -> Any:
        return taupath.quantile_path(self.X, self.y, C=C, **self.given, **kw)

    def regularization_path(self, tau: float, C_max: float) -> Any:
        return taupath.regularization_path(self.X, self.y, tau, C_max=C_max, **self.given)

    def regression_path(self, C: float, **kw: Any) -> Any:
        return taupath.quantile_regression_path(self.X, self.y, C=C, **self.given, **kw)

    @property
    def given(self) -> dict[str, Any]:
        """The keywords that go with X and y."""
        names = ("kernel", "gamma", "degree", "coef0", "intercept")
        return {name: getattr(self, name) for name in names} | {"sample_weight": self.weight}

    @property
    def bias(self) -> float:
        return {"augmented": 1.0, "none": 0.0}[self.intercept]

    @property
    def share(self) -> np.ndarray:
        """The sample weights s."""
        return np.ones(len(self.y)) if self.weight is None else np.asarray(self.weight, float)

    @cached_property
    def sign(self) -> np.ndarray:
        return verify.signed(self.y)

    @cached_property
    def gram(self) -> np.ndarray:
        """k(x_i, x_j), the bias included."""
        dense = self.X.toarray() if sparse.issparse(self.X) else np.asarray(self.X, float)
        return self.values(dense, dense) + self.bias

    def values(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        """Return the kernel of all pairs of rows, without the bias."""
        if callable(self.kernel):
            return np.asarray(self.kernel(A, B))
        if self.kernel == "linear":
            return A @ B.T
        if self.kernel == "rbf":
            return rbf_kernel(A, B, gamma=self.gamma)
        if self.kernel == "poly":
            return polynomial_kernel(A, B, self.degree, self.gamma, self.coef0)
        if self.kernel == "sigmoid":
            return sigmoid_kernel(A, B, self.gamma, self.coef0)
        assert self.kernel == "precomputed"
        return A

    def svm_at(self, C: float, tau: float) -> Canonical:
        n, cost = len(self.y), np.where(self.sign > 0, 2 * C * (1 - tau), 2 * C * tau)
        return Canonical(self.sign, np.ones(n), np.zeros(n), cost * self.share)

    def regression_at(self, C: float, tau: float, error_of_y: float = 0.0) -> Canonical:
        """Return the problem; `error_of_y`, as part of the largest |y|, is to be forgiven."""
        cost, y = C * self.share, np.asarray(self.y, float)
        nothing = NOTHING * float(cost @ np.abs(y))
        forgiven = error_of_y * float(np.abs(y).max() * cost.sum())
        return Canonical(np.ones(len(y)), y, (tau - 1) * cost, tau * cost, nothing, forgiven)


@dataclass(frozen=True)
class Canonical:
    """The problem at one value of the path's parameter; rows are sign_i phi(x_i).

    An objective of at most `nothing` has no relative gap; a gap of at most `forgiven` is none.
    """

    sign: np.ndarray
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    nothing: float = 0.0
    forgiven: float = 0.0

    @property
    def unit(self) -> float:
        """The scale of margins: 1 for an SVM, the largest |y| for regression."""
        return float(np.abs(self.target).max()) or 1.0

    @property
    def widest(self) -> float:
        return float((self.upper - self.lower).max())


@dataclass(frozen=True)
class Judgement:
    """A primal and a dual point of a canonical problem.

    Attributes
    ----------
    primal, dual
        The objectives P and D.
    gap
        (P - D) / P.
    kkt
        The largest error of a margin, in units of its scale.
    box
        How far theta leaves its box, relative to the widest one.
    margins
        The m_i.
    """

    primal: float
    dual: float
    gap: float
    kkt: float
    box: float
    margins: np.ndarray


def judge(
    task: Task, problem: Canonical, theta: np.ndarray, weights: np.ndarray | None = None
) -> Judgement:
    """Recompute everything from the data; `weights` is (w, b), for the linear kernel."""
    assert theta.shape == problem.target.shape
    assert np.isfinite(theta).all()
    sign, target, lower, upper = problem.sign, problem.target, problem.lower, problem.upper
    if weights is None:
        margins = sign * (task.gram @ (sign * theta))
        squared = squared_dual = float(theta @ margins)
        off = 0.0
    else:
        dense = task.X.toarray() if sparse.issparse(task.X) else np.asarray(task.X, float)
        rows = sign[:, None] * np.column_stack([dense, np.full(len(dense), task.bias)])
        margins, w_theta = rows @ weights, rows.T @ theta
        squared, squared_dual = float(weights @ weights), float(w_theta @ w_theta)
        off = float(np.sum((weights - w_theta) ** 2))
    short, beyond = np.maximum(target - margins, 0.0), np.maximum(margins - target, 0.0)
    primal = float(squared / 2 + upper @ short - lower @ beyond)
    # P - D = |w - w(theta)|^2 / 2 + sum_i [theta_i (m_i - p_i) + h_i short_i - l_i beyond_i]. No
    # term is negative, so nothing large is subtracted.
    gap = off / 2 + float(np.sum(theta * (margins - target) + upper * short - lower * beyond))
    none = AT_BOUND * problem.widest
    could_rise = np.where(theta >= upper - none, 0.0, short)
    could_fall = np.where(theta <= lower + none, 0.0, beyond)
    outside = max(float(np.max(lower - theta)), float(np.max(theta - upper)), 0.0)
    return Judgement(
        primal=primal,
        dual=float(target @ theta - squared_dual / 2),
        gap=gap / primal if primal > problem.nothing and abs(gap) > problem.forgiven else 0.0,
        kkt=float(max(could_rise.max(), could_fall.max())) / problem.unit,
        box=outside / problem.widest if outside else 0.0,
        margins=margins,
    )


def assert_optimal(
    found: Judgement, where: str = "", gap: float = GAP, kkt: float = KKT
) -> Judgement:
    """Assert, one by one, that theta is in its box, without a gap, and fits its margins."""
    assert found.box <= OUT_OF_BOX, f"{where}: theta leaves its box by {found.box:.2e}"
    assert abs(found.gap) <= gap, f"{where}: relative gap {found.gap:.2e}"
    assert found.kkt <= kkt, f"{where}: KKT violation {found.kkt:.2e}"
    return found


def assert_index_sets(
    found: Judgement, problem: Canonical, theta: np.ndarray, sets: Any, where: str, kkt: float = KKT
) -> None:
    """Assert that upper, free and lower points part the samples and fit theta and margins."""
    upper, free, lower = sets
    together = np.sort(np.concatenate(sets))
    assert np.array_equal(together, np.arange(len(theta))), f"{where}: not a partition"
    none, slack = AT_BOUND * problem.widest, (found.margins - problem.target) / problem.unit
    assert np.all(np.abs(theta - problem.upper)[upper] <= none), f"{where}: not at its upper bound"
    assert np.all(np.abs(theta - problem.lower)[lower] <= none), f"{where}: not at its lower bound"
    assert np.all(slack[upper] <= kkt), f"{where}: at the upper bound, but beyond the margin"
    assert np.all(slack[lower] >= -kkt), f"{where}: at the lower bound, but short of the margin"
    assert np.all(np.abs(slack[free]) <= kkt), f"{where}: free, but off the margin"


def assert_whole(
    task: Task,
    path: Any,
    ends: tuple[float, float],
    problem_at: Callable[[float], Canonical],
    theta_at: Callable[[float], np.ndarray],
    at_most: int,
) -> Any:
    """Assert that a path is optimal and right in all it says at every kink and midpoint."""
    kinks = path.taus
    assert (kinks[0], kinks[-1]) == ends
    assert np.all(np.diff(kinks) > 0)
    assert path.counters["kinks"] < KINKS_PER_SAMPLE * len(task.y) + KINKS_BESIDES
    values = verify.kinks_and_midpoints(kinks, at_most)
    for k, value in enumerate(map(float, values)):
        where, problem, theta = f"at {value!r}", problem_at(value), theta_at(value)
        said = None
        if task.kernel == "linear":
            said = np.append(path.coef(value), path.intercept(value))
        found = assert_optimal(judge(task, problem, theta, said), where)
        assert_index_sets(found, problem, theta, path.index_sets(value), where)
        if k in (len(values) // 3, len(values) - 1):  # costs a kernel matrix each
            f = path.decision_function(task.X, value)
            size = 1.0 + np.abs(found.margins).max()
            np.testing.assert_allclose(
                f, problem.sign * found.margins, rtol=0, atol=KKT * size, err_msg=where
            )
    return path


def assert_quantile_path(task: Task, C: float, at_most: int = 300, **kw: Any) -> Any:
    """Walk over tau and judge the path of an SVM."""
    path, n = task.path(C, **kw), len(task.y)
    ends = kw.get("tau_range", (0.0, 1.0))
    return assert_whole(
        task, path, ends, lambda tau: task.svm_at(C, tau), lambda t: path.alpha(t) * n * C, at_most
    )


def assert_regularization_path(task: Task, tau: float, C_max: float, at_most: int = 300) -> Any:
    """Walk over C and judge the path of an SVM."""
    path, n = task.regularization_path(tau, C_max), len(task.y)
    return assert_whole(
        task,
        path,
        (0.0, C_max),
        lambda C: task.svm_at(C, tau),
        lambda C: path.alpha(C) * n * C,
        at_most,
    )


def assert_regression_path(
    task: Task, C: float, at_most: int = 300, error_of_y: float = 0.0, **kw: Any
) -> Any:
    """Walk over tau and judge the path of quantile regression."""
    path = task.regression_path(C, **kw)
    ends = kw.get("tau_range", (0.0, 1.0))
    return assert_whole(
        task, path, ends, lambda t: task.regression_at(C, t, error_of_y), path.alpha, at_most
    )
