"""Paths with an RBF kernel beside `SVC`, in one process and one thread.

Seconds are CPU seconds; path and `SVC` are run in turn, and the best run of each counts. `SVC` has
its default tolerance and gives one solution, at τ = ½; with --grid also at nine τ, by class
weights. The bound holds for every τ, as part of the objective at w = 0 and τ = ½, and is computed
again from the data (`certify`); the largest gap at random τ is computed here, from α, the
coefficients and the kernel alone.

"banana" is made: two bent clouds in 5 dimensions, 5 000 rows, γ = "scale". a9a is read from the
folder named by TAUPATH_DATA: 10 000 rows, γ = 1 / 123. C = 1 for both, and `method="approximate"`.

With --exact N ..., exact paths of N samples of two overlapping Gaussian classes in 20 dimensions
are found instead (C = 1, γ = "scale"), beside one `SVC` and beside 99 of them: the mean of nine τ,
times 99.
"""

import argparse
import json
import os
import sys
from dataclasses import asdict, dataclass
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, error, machine, number, table
from datasets.gaussian import gaussian_classes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC

from taupath import quantile_path
from taupath.datasets import DataNotFound, load_classification

PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath")
N_JUDGED = 20
TAUS = tuple(k / 10 for k in range(1, 10))


@dataclass(frozen=True)
class Row:
    """What was measured on one data set."""

    name: str
    n_samples: int
    n_features: int
    tol: float
    runs: int
    path: float
    svc: float
    grid: float  # nine τ; NaN if it was not asked for
    nodes: int
    newton_steps: int
    row_visits: int
    bound: float
    gap: float


def banana(n_samples: int = 5000, seed: int = 0) -> tuple[np.ndarray, np.ndarray, float]:
    """Return X, y and γ of two bent clouds."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1, 1], n_samples)
    angle = rng.uniform(0.0, np.pi, n_samples)
    X = 0.5 * rng.standard_normal((n_samples, 5))
    X[:, 0] += 2.0 * np.where(y > 0, np.cos(angle), 1.0 - np.cos(angle))
    X[:, 1] += 2.0 * np.where(y > 0, np.sin(angle), 0.5 - np.sin(angle))
    return X, y, 1.0 / (5.0 * float(X.var()))


def a9a(n_samples: int = 10_000) -> tuple[Any, np.ndarray, float]:
    """Return X, y and γ of some rows of a9a."""
    data = load_classification("a9a")
    chosen = np.random.default_rng(0).permutation(len(data.y))[:n_samples]
    return data.X[chosen], data.y[chosen], 1.0 / data.X.shape[1]


SETS = {"banana": banana, "a9a": a9a}


def true_gap(K: np.ndarray, y: np.ndarray, path: Any, tau: float) -> float:
    """Return P - D for C = 1 and the augmented intercept, in units of P(0) at τ = ½."""
    n = len(y)
    sign = np.where(y > 0, 1.0, -1.0)
    cost = 2.0 * np.where(y > 0, 1.0 - tau, tau)
    b, parts = path.parts(tau)
    coef = np.zeros(n)
    coef[parts["support"]] = parts["dual_coef"]
    values, signed = K @ coef, sign * n * path.alpha(tau)
    losses = cost * np.maximum(0.0, 1.0 - sign * (values + b))
    primal = 0.5 * (coef @ values + b**2) + losses.sum()
    dual = (sign * signed).sum() - 0.5 * (signed @ (K @ signed) + signed.sum() ** 2)
    return float(primal - dual) / n


def svc(X: Any, y: np.ndarray, gamma: Any, tau: float) -> SVC:
    """Return the SVC for one τ, with C = 1."""
    costs = {1: 2.0 * (1.0 - tau), -1: 2.0 * tau}
    return SVC(gamma=gamma, class_weight=costs, cache_size=1000).fit(X, y)


def measure(name: str, tol: float, repeats: int, grid: bool) -> Row:
    """Measure one data set."""
    X, y, gamma = SETS[name]()
    watch = Stopwatch()
    for _ in range(repeats):
        watch.time(0.5, svc, X, y, gamma, 0.5)
        how = {"kernel": "rbf", "gamma": gamma, "method": "approximate", "tol": tol}
        path = watch.time("path", quantile_path, X, y, **how)
    for tau in TAUS if grid else ():
        watch.time(("grid", tau), svc, X, y, gamma, tau)
    random = np.random.default_rng(0).uniform(0.0, 1.0, N_JUDGED)
    bound, K = path.certify().worst_gap, rbf_kernel(X, gamma=gamma)
    return Row(
        name=name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        tol=tol,
        runs=watch.runs("path"),
        path=watch.best("path"),
        svc=watch.best(0.5),
        grid=sum(watch.best(("grid", tau)) for tau in TAUS) if grid else float("nan"),
        nodes=path.n_kinks,
        newton_steps=path.counters["newton_steps"],
        row_visits=path.counters["row_visits"],
        bound=bound,
        gap=max(true_gap(K, y, path, float(tau)) for tau in random),
    )


def report(rows: list[Row], facts: dict[str, Any]) -> list[str]:
    """Return the lines of the table."""
    columns = [
        ("data", [row.name for row in rows]),
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("tol", [f"{row.tol:g}" for row in rows]),
        ("path, s", [number(row.path) for row in rows]),
        ("SVC, s", [number(row.svc) for row in rows]),
        ("ratio", [number(row.path / row.svc) for row in rows]),
        ("nine SVC, s", ["" if row.grid != row.grid else number(row.grid) for row in rows]),
        ("nodes", [str(row.nodes) for row in rows]),
        ("steps", [str(row.newton_steps) for row in rows]),
        ("passes", [number(row.row_visits / row.n_samples) for row in rows]),
        ("bound", [error(row.bound) for row in rows]),
        ("gap", [error(row.gap) for row in rows]),
    ]
    about = ", ".join(f"{name}: {fact}" for name, fact in facts.items())
    return [*table("Approximate paths with an RBF kernel", columns), "", about]


def exact(sizes: list[int], repeats: int) -> list[str]:
    """Measure exact paths, and return the lines of their table."""
    rows = []
    for n in sizes:
        X, y = gaussian_classes(n, 20)
        watch = Stopwatch()
        for _ in range(repeats):
            watch.time(0.5, svc, X, y, "scale", 0.5)
            path = watch.time("path", quantile_path, X, y, C=1.0, kernel="rbf", gamma="scale")
        for tau in TAUS:
            watch.time(("grid", tau), svc, X, y, "scale", tau)
        seconds, one = watch.best("path"), watch.best(0.5)
        many = 99.0 * float(np.mean([watch.best(("grid", tau)) for tau in TAUS]))
        gap = max(path.duality_gap(tau) for tau in TAUS)
        rows.append((n, path.n_kinks, seconds, one, seconds / one, seconds / many, gap))
    heads = ("n", "kinks", "path, s", "SVC, s", "SVC runs", "of 99 SVC", "gap")
    shown = (str, str, number, number, number, number, error)
    columns = [
        (head, [show(row[k]) for row in rows])
        for k, (head, show) in enumerate(zip(heads, shown, strict=True))
    ]
    about = ", ".join(f"{name}: {fact}" for name, fact in machine(*PACKAGES).items())
    return [*table("Exact paths with an RBF kernel", columns), "", about]


def main() -> int:
    """Measure the data sets that were asked for, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--tol", type=float, default=1e-3)
    parser.add_argument("--repeats", type=int, default=4, help="the best counts")
    parser.add_argument("--grid", action="store_true", help="SVC at nine τ as well")
    parser.add_argument("--exact", type=int, nargs="+", metavar="N", help="exact paths instead")
    parser.add_argument("--json", help="file for the rows")
    arguments = parser.parse_args()
    if arguments.exact:
        print("\n".join(exact(arguments.exact, arguments.repeats)))
        return 0
    rows = []
    for name in arguments.sets:
        try:
            rows.append(measure(name, arguments.tol, arguments.repeats, arguments.grid))
        except DataNotFound as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
    print("\n".join(report(rows, machine(*PACKAGES))))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump([asdict(row) for row in rows], file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
