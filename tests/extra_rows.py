"""Paths with extra rows are judged from the data alone, by weak duality; and problems for that."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.optimize import lsq_linear

import taupath as tp

GAP, KKT = 1e-9, 1e-7
# Kinds of features in `degenerate`.
KINDS = ("lattice", "scales", "shift", "near copies")


def judge(path, X, y, tau, C, l1=0.0, A=None, b=None, bias=1.0, weight=1.0, at=None):
    """Assert optimality of what a classification path shows at τ, or at `at` of its parameter.

    Minimised is ½|w|² + l1 |coef|₁ + Σ h_i max(0, 1 - y_i f(x_i)) with A coef ≥ b.
    """
    at, sign = tau if at is None else at, np.where(y == np.unique(y)[1], 1.0, -1.0)
    h = 2.0 * C * weight * np.where(sign > 0.0, 1.0 - tau, tau)
    theta = len(y) * C * path.alpha(at)
    _judge(path, X, sign, np.ones(len(y)), theta, 0.0 * h, h, l1, A, b, bias, at)


def judge_regression(path, X, y, tau, C, l1=0.0, A=None, b=None, bias=1.0, weight=1.0):
    """Assert optimality of what a path of quantile regression shows at τ.

    Minimised is ½|w|² + l1 |coef|₁ + C Σ max(τ r_i, (τ - 1) r_i), r = y - f(x), with A coef ≥ b.
    """
    whole, sign = C * weight * np.ones(len(y)), np.ones(len(y))
    low, high = (tau - 1.0) * whole, tau * whole
    _judge(path, X, sign, y, path.alpha(tau), low, high, l1, A, b, bias, tau)


def _judge(path, X, sign, target, theta, lower, upper, l1, A, b, bias, at):
    """Assert optimality, given signs, targets and θ within [lower, upper].

    Any θ in its box, β within [-l1, l1] and μ ≥ 0 bound the objective from below by
    Σ p θ + bᵀμ - ½|v + β + Aᵀμ|², where v = Σ θ_i y_i z_i. β and μ are complementary ones that
    come nearest to the path's own w.
    """
    X = X.toarray() if sparse.issparse(X) else X
    n, d = X.shape
    A, b = (np.zeros((0, d)), np.zeros(0)) if A is None else (np.asarray(A, float), np.asarray(b))
    rounding = 1e-13 * (upper - lower)
    assert theta.shape == (n,)
    assert np.all(theta >= lower - rounding) and np.all(theta <= upper + rounding)
    coef, intercept = path.coef(at), path.intercept(at)
    w, Z = np.append(coef, intercept / (bias or 1.0)), np.column_stack((X, np.full(n, bias)))
    v = Z.T @ (sign * theta)
    penalised = np.eye(d, d + 1) if l1 else np.zeros((0, d + 1))
    rows = np.vstack((penalised, np.column_stack((A, np.zeros(len(A))))))
    low = np.append(np.full(len(penalised), -l1), np.zeros(len(A)))
    high = np.append(np.full(len(penalised), l1), np.full(len(A), np.inf))
    # complementarity: β = -l1 sign(w) unless w is zero, and μ = 0 unless the constraint is tight
    found = np.append(-l1 * np.sign(coef)[: len(penalised)], np.zeros(len(A)))
    tight = A @ coef - b <= 1e-9 * (1.0 + np.abs(A) @ np.abs(coef))
    open_now = np.append(coef[: len(penalised)] == 0.0, tight)
    if open_now.any():
        rest, box = w - v - rows.T @ found, (low[open_now], high[open_now])
        solved = lsq_linear(rows[open_now].T, rest, box, method="bvls", tol=1e-15).x
        found[open_now] = np.clip(solved, *box)
    slack = target - sign * (X @ coef + intercept)
    dual_point = v + rows.T @ found
    losses = np.maximum(upper * slack, lower * slack)
    primal = 0.5 * w @ w + l1 * np.abs(coef).sum() + losses.sum()
    dual = theta @ target + b @ found[len(penalised) :] - 0.5 * dual_point @ dual_point
    assert -1e-12 <= (primal - dual) / primal <= GAP
    assert np.all(A @ coef >= b - 1e-14 * (1.0 + np.abs(A) @ np.abs(coef)))
    room, unit = 1e-10 * np.max(upper - lower), max(1.0, np.median(np.abs(target)))
    assert np.max(np.where(theta < upper - room, slack, 0.0), initial=0.0) <= KKT * unit
    assert np.max(np.where(theta > lower + room, -slack, 0.0), initial=0.0) <= KKT * unit
    assert np.abs(w - dual_point).max() <= KKT * max(1.0, np.abs(w).max())
    assert path.duality_gap(at) <= GAP and path.kkt_violation(at) <= KKT


def problem(seed, n=60, d=6):
    """Return integers with many ties, columns that depend on each other, and copies of samples."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, d)).astype(float)
    X[:, 1] = X[:, 0]
    X[:, 2] = 1.0 - X[:, 3]
    y = np.where(X[:, 0] + X[:, 3] + rng.standard_normal(n) > 0.0, 1, -1)
    return X, y, rng.uniform(0.02, 0.98, 5)


def signs_of(columns, direction, d):
    return direction * np.eye(d)[columns], np.zeros(len(columns))


def degenerate(seed, kind, classify):
    """Return X, y and other arguments of a random problem, with a C of up to 1e5."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    n, d = int(rng.integers(6, 45)), int(rng.integers(3, 9))
    X = rng.integers(-2, 3, (n, d)).astype(float)
    score = X @ rng.standard_normal(d)
    if kind == "scales":
        X *= 10.0 ** rng.uniform(-3, 3, d)
    if kind == "shift":
        X = rng.standard_normal((n, d)) + 10.0 ** rng.uniform(1, 4, d) * (rng.random(d) < 0.7)
    if kind == "near copies":
        X += 1e-9 * rng.standard_normal((n, d))
    X[:, -1] = -2.0 * X[:, 0]
    y = np.round(score + rng.choice([0.3, 3.0]) * rng.standard_normal(n))
    if classify:
        y = np.where(y > np.median(y), 1, -1)
    y[0] = -1
    y[-1] = 1
    group = np.arange(n) % 2
    rules = [
        tp.NonNegative(),
        tp.NonNegative([0]),
        tp.Monotone([1], -1),
        tp.Bound(np.ones(d), 0.0, 0.1),
        tp.Bound(np.arange(1.0, d + 1.0), 0.5, 0.5),
        tp.Fair(group, 0.01),
    ]
    some = rng.choice(6, int(rng.integers(0, 4)), replace=False)
    l1 = 10.0 ** rng.uniform(-3, 1) if len(some) < 2 or rng.random() < 0.5 else 0.0
    C = 10.0 ** rng.uniform(0, 5)
    return X, y, {"C": C, "l1": l1, "constraints": [rules[k] for k in some]}
