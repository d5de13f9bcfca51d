"""Whole sparse and fair paths beside runs of ReHLine, which solves the same problems at one τ.

    pip install rehline
    OMP_NUM_THREADS=1 python benchmarks/constrained.py

For each problem: how far above the optimum, relative to it, ReHLine ends with its own tolerance,
the CPU time of one of its runs, and that of whole paths in units of it. Times are medians of
several runs in turns, in this process. Objectives are computed here, from the weights.
"""

import time
import warnings
from collections.abc import Callable
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import taupath as tp

TAU = 0.5
TURNS = 7
C = 1.0
# Iterations of ReHLine: by default it stops after 1000, with constraints that are not met.
MAX_ITER = 1_000_000
# Share of the L1 penalty in that of the elastic net.
L1_RATIO = 0.5
# The largest covariance, as part of that of the solution without the constraint.
FAIR_PART = 0.1


class Problem(NamedTuple):
    """One problem: an objective of w, a run of ReHLine, and paths, the first over τ."""

    name: str
    objective: Callable[[np.ndarray], float]
    rehline: Callable[[], np.ndarray]
    paths: dict[str, Callable[[], tp.SolutionPath]]


def with_constant(X: np.ndarray) -> np.ndarray:
    """Return the features with a constant one, as ReHLine needs them."""
    return np.column_stack((X, np.ones(len(X))))


def fair_svm(name: str, X: np.ndarray, y: np.ndarray, group: np.ndarray) -> Problem:
    """Return the SVM whose decisions and `group` have a small covariance."""
    from rehline import plqERM_Ridge

    sign, Z = np.where(y == 1, 1.0, -1.0), with_constant(X)
    frontier = tp.fairness_path(X, y, group, TAU, C)
    rho = FAIR_PART * frontier.tau_range[1]
    a = np.append((group - group.mean()) @ X / len(X), 0.0)

    def objective(w: np.ndarray) -> float:
        return float(0.5 * w @ w + C * np.maximum(0.0, 1.0 - sign * (Z @ w)).sum())

    rule = {"name": "custom", "A": np.stack((a, -a)), "b": np.full(2, rho)}

    def rehline() -> np.ndarray:
        model = plqERM_Ridge({"name": "svm"}, [rule], C=C, max_iter=MAX_ITER)
        return np.asarray(model.fit(X=Z, y=sign).coef_)

    over_tau = {"constraints": [tp.Fair(group, rho)]}
    return Problem(
        f"fair SVM, {name}",
        objective,
        rehline,
        {
            "over τ": lambda: tp.quantile_path(X, y, C, **over_tau),
            "over ρ": lambda: tp.fairness_path(X, y, group, TAU, C),
        },
    )


def sparse_svm(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    """Return the SVM with an elastic net."""
    sign, Z = np.where(y == 1, 1.0, -1.0), with_constant(X)
    run, l1, own_C = elastic_net({"name": "svm"}, Z, sign)

    def objective(w: np.ndarray) -> float:
        losses = np.maximum(0.0, 1.0 - sign * (Z @ w)).sum()
        return float(0.5 * w @ w + l1 * np.abs(w[:-1]).sum() + own_C * losses)

    return Problem(
        f"sparse SVM, {name}",
        objective,
        run,
        {
            "over τ": lambda: tp.quantile_path(X, y, own_C, l1=l1),
            "over λ₁": lambda: tp.sparsity_path(X, y, TAU, own_C),
        },
    )


def sparse_quantiles(name: str, X: np.ndarray, y: np.ndarray) -> Problem:
    """Return quantile regression with an elastic net."""
    Z = with_constant(X)
    run, l1, own_C = elastic_net({"name": "QR", "qt": TAU}, Z, y)

    def objective(w: np.ndarray) -> float:
        r = y - Z @ w
        losses = np.maximum(TAU * r, (TAU - 1.0) * r).sum()
        return float(0.5 * w @ w + l1 * np.abs(w[:-1]).sum() + own_C * losses)

    return Problem(
        f"sparse quantiles, {name}",
        objective,
        run,
        {"over τ": lambda: tp.quantile_regression_path(X, y, own_C, l1=l1)},
    )


def elastic_net(
    loss: dict[str, Any], Z: np.ndarray, y: np.ndarray
) -> tuple[Callable[[], np.ndarray], float, float]:
    """Return a run of ReHLine, and the l1 and C of the same problem here."""
    from rehline import plqERM_ElasticNet

    omega = np.append(np.ones(Z.shape[1] - 1), 0.0)  # the constant is not penalised

    def run() -> np.ndarray:
        model = plqERM_ElasticNet(loss, C=C, l1_ratio=L1_RATIO, omega=omega, max_iter=MAX_ITER)
        return np.asarray(model.fit(X=Z, y=y).coef_)

    return run, L1_RATIO / (1.0 - L1_RATIO), C / (1.0 - L1_RATIO)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return CPU seconds and the result."""
    begun = time.process_time()
    found = call()
    return time.process_time() - begun, found


def compare(problem: Problem) -> None:
    """Print one line."""
    seconds: dict[str, list[float]] = {"ReHLine": [], **{name: [] for name in problem.paths}}
    for _ in range(TURNS):
        spent, w = timed(problem.rehline)
        seconds["ReHLine"].append(spent)
        for name, follow in problem.paths.items():
            spent, path = timed(follow)
            seconds[name].append(spent)
            if name == "over τ":
                own = np.append(path.coef(TAU), path.intercept(TAU))
                gap = path.duality_gap(TAU)
            seconds.setdefault(f"kinks {name}", [path.n_kinks])
    best = problem.objective(own)
    one = median(seconds["ReHLine"])
    excess = (problem.objective(w) - best) / best
    parts = [
        f"{name}: {int(seconds[f'kinks {name}'][0])} kinks, {median(seconds[name]) / one:.1f} runs"
        for name in problem.paths
    ]
    print(
        f"{problem.name:34} ReHLine {1e3 * one:7.1f} ms, {excess:+.1e}; own gap {gap:.0e}; "
        + "; ".join(parts)
    )


def main() -> None:
    """Print the table."""
    warnings.simplefilter("ignore")  # ReHLine warns where it has not converged
    cancer, diabetes = load_breast_cancer(), load_diabetes(scaled=False)
    X, y = standardised(cancer.data), cancer.target
    fair, sparse = fair_svm, sparse_svm
    rng = np.random.default_rng(0)
    n, d = 2000, 50
    many = rng.standard_normal((n, d))
    weights = np.where(np.arange(d) < 10, 1.0, 0.0)
    labels = (many @ weights + 2.0 * rng.standard_normal(n) > 0.0).astype(int)
    numbers = many @ weights + 2.0 * rng.standard_normal(n)
    compare(fair("breast cancer, 569 × 30", X, y, (X[:, 0] > 0.0).astype(float)))
    compare(fair("Gaussian, 2000 × 50", many, labels, (many[:, 0] > 0.0).astype(float)))
    compare(sparse("breast cancer, 569 × 30", X, y))
    compare(sparse("Gaussian, 2000 × 50", many, labels))
    target = (diabetes.target - diabetes.target.mean()) / diabetes.target.std()
    compare(sparse_quantiles("diabetes, 442 × 10", standardised(diabetes.data), target))
    compare(sparse_quantiles("Gaussian, 2000 × 50", many, numbers))


def standardised(X: np.ndarray) -> np.ndarray:
    """Return X with mean 0 and deviation 1."""
    return np.asarray((X - X.mean(axis=0)) / X.std(axis=0))


if __name__ == "__main__":
    main()
