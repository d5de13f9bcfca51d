"""Every sample left out, and rows forgotten or added, beside refits and beside LIBLINEAR.

Part one: `leave_one_out` at one τ against a refit of the path for every sample. Part two: its CPU
time on the paper's diabetes data in runs of LIBLINEAR, with `loo_error` at many τ, and 1 % of the
rows forgotten or added. Part three, with ``--cv``: C chosen by 5 folds, 10 folds and ``cv="loo"``,
in several drawings of the rows to train on.
One process, one thread, in turn; the best run counts.

Needs data in the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, machine, table
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.metrics import log_loss
from sklearn.preprocessing import StandardScaler

from taupath import QuantileSVCCV, SolutionPath, quantile_path
from taupath.datasets import DataNotFound, load_classification, load_paper
from taupath.engine.box_solver import BoxSolver
from taupath.engine.stepping import rounded
from taupath.reproduce.judge import Problem
from taupath.reproduce.peers import Liblinear

TAU = 0.3
# Refits walk this much of the path: there is none of a single τ.
A_LITTLE = 1e-6
MANY_TAUS = np.linspace(0.05, 0.95, 19)
# The relative gap of refits, which are solved once more in extended precision.
SOLVED_TO = 1e-20
# How much of the rows is forgotten, and added.
FORGOTTEN = 0.01
# Part three: rows to train on, and drawings of them.
TRAINED, DRAWINGS = 60, 3
FOLDS = (5, 10, "loo")


def sets(folder: Path) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield names, features and labels."""
    data = load_paper("diabetes", folder)
    yield "diabetes", data.X_train, data.y_train
    for name in ("heart_scale", "ionosphere", "fourclass"):
        given = load_classification(name, folder)
        yield name, given.X.toarray(), given.y
    cancer, iris, wine = load_breast_cancer(), load_iris(), load_wine()
    yield "breast cancer", StandardScaler().fit_transform(cancer.data), cancer.target
    yield "iris, two classes", iris.data[50:], iris.target[50:]
    two = wine.target < 2
    yield "wine, two classes", StandardScaler().fit_transform(wine.data[two]), wine.target[two]


def agreement(name: str, X: np.ndarray, y: np.ndarray, every: int) -> Iterator[list[Any]]:
    """Yield, for both kernels and two intercepts, how far decisions are from those of refits."""
    for kernel in ("linear", "rbf"):
        for intercept in ("augmented", "free"):
            given: dict[str, Any] = {"C": 1.0, "kernel": kernel, "intercept": intercept}
            given["gamma"] = 1.0 / (X.shape[1] * X.var())
            path = quantile_path(X, y, **given)
            watch = Stopwatch()
            for _ in range(3):
                found = watch.time("all", path.leave_one_out, TAU)
            some = np.arange(0, len(y), every)
            refitted = found.copy()
            for i in some:
                others = np.arange(len(y)) != i
                refit = quantile_path(
                    X[others], y[others], tau_range=(TAU, TAU + A_LITTLE), **given
                )
                refitted[i] = exact_decisions(refit, X[i : i + 1], TAU)[0]
            off = np.abs(found - refitted).max()
            n_support = int(np.count_nonzero(path.alpha(TAU)))
            time = f"{1e3 * watch.best('all'):.1f}"
            yield [f"{name}, {len(y)} × {X.shape[1]}", kernel, intercept, n_support, time, off]


def exact_decisions(path: SolutionPath, X: np.ndarray, tau: float) -> np.ndarray:
    """Return decisions at τ, solved in extended precision with targets as given."""
    data = path.data.distinct
    box = path.job.line(data).at(tau)
    near = path.data.merge_theta(path.solutions.solution(tau).theta)
    found = rounded(BoxSolver(data.rows).solve(box, near, SOLVED_TO), box)
    w, multiplier = data.uncentred(found.w, found.multiplier, 0.0)
    return data.decide(X, found._replace(w=w, multiplier=multiplier))


def diabetes(folder: Path, repeats: int) -> list[list[Any]]:
    """Return CPU seconds on the paper's diabetes data, and the same in runs of LIBLINEAR."""
    data = load_paper("diabetes", folder)
    X, y = data.X_train, data.y_train.astype(np.float64)
    n = len(y)
    path = quantile_path(X, y, lam=data.lam)
    liblinear = Liblinear(Problem(data.X_train, y, data.lam), [0.5])
    some = np.random.default_rng(0).choice(n, round(FORGOTTEN * n), replace=False)
    rest = np.setdiff1d(np.arange(n), some)
    fewer = quantile_path(X[rest], y[rest], C=path.C)
    half = (0.5, 0.5 + A_LITTLE)
    jobs: dict[str, Callable[[], Any]] = {
        f"leave_one_out at τ = 0.5, all {n} samples": lambda: path.leave_one_out(0.5),
        f"leave_one_out at τ = {TAU}, all {n} samples": lambda: path.leave_one_out(TAU),
        f"loo_error at {len(MANY_TAUS)} τ": lambda: path.loo_error(MANY_TAUS),
        f"without {len(some)} rows, at τ = 0.5": lambda: path.without(some, 0.5),
        f"with {len(some)} more rows, at τ = 0.5": lambda: fewer.with_rows(X[some], y[some], 0.5),
        "an exact refit at τ = 0.5": lambda: quantile_path(
            X[rest], y[rest], C=path.C, tau_range=half
        ),
        "LIBLINEAR": lambda: liblinear.train(0.5),
    }
    watch = Stopwatch()
    for _ in range(repeats):
        for job, run_once in jobs.items():
            watch.time(job, run_once)
    run = watch.best("LIBLINEAR")
    forgotten, refit = path.without(some, 0.5), quantile_path(X[rest], y[rest], C=path.C)
    off = np.abs(forgotten.decision_function(X) - exact_decisions(refit, X, 0.5)).max()
    print(
        f"without {len(some)} rows: gap {forgotten.duality_gap:.1e}, violation "
        f"{forgotten.kkt_violation:.1e}, decisions {off:.1e} from those of a refit"
    )
    return [
        [what, f"{1e3 * watch.best(what):.2f}", f"{watch.best(what) / run:.1f}"] for what in jobs
    ]


def choices(folder: Path) -> Iterator[list[Any]]:
    """Yield, for each set and number of folds, what is chosen, its log-loss, and the time of `fit`.

    The chosen C, one for each drawing, and the log-loss on new rows of the model with this C.
    """
    for name, X, y in sets(folder):
        watch = Stopwatch()
        losses: dict[Any, list[float]] = {cv: [] for cv in FOLDS}
        chosen: dict[Any, list[str]] = {cv: [] for cv in FOLDS}
        for draw in range(DRAWINGS):
            order = np.random.default_rng(draw).permutation(len(y))
            some, others = order[:TRAINED], order[TRAINED:]
            if len(others) < TRAINED // 4 or min(np.unique(y[some], return_counts=True)[1]) < 10:
                continue
            for cv in FOLDS:
                model = QuantileSVCCV(cv=cv, kernel="linear", combine="best")
                watch.time(cv, model.fit, X[some], y[some])
                chosen[cv].append(f"{model.C_:.2g}")
                proba = model.predict_proba(X[others])
                losses[cv].append(log_loss(y[others], proba, labels=model.classes_))
        for cv in FOLDS:
            loss, time = f"{np.mean(losses[cv]):.4f}", f"{watch.best(cv):.2f}"
            yield [name, cv, ", ".join(chosen[cv]), loss, time]


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, help="runs of each kind")
    parser.add_argument("--every", type=int, default=1, help="compare every so many samples")
    parser.add_argument("--cv", action="store_true", help="part three only")
    options = parser.parse_args()
    folder = Path(os.environ.get("TAUPATH_DATA", "."))
    try:
        if options.cv:
            shown("C chosen by folds", ("data", "cv", "C", "log-loss", "CPU s"), choices(folder))
            return 0
        shown(
            "diabetes, λ = 1e-3",
            ("what", "CPU ms", "LIBLINEAR runs"),
            diabetes(folder, options.repeats),
        )
        rows = (row for each in sets(folder) for row in agreement(*each, options.every))
        columns = ("data", "kernel", "intercept", "α ≠ 0", "CPU ms", "off by")
        shown(
            f"every sample left out at τ = {TAU}, C = 1",
            columns,
            ([*row[:-1], f"{row[-1]:.1e}"] for row in rows),
        )
    except DataNotFound as problem:
        print(problem, file=sys.stderr)
        return 1
    about = machine("numpy", "scipy", "scikit-learn", "taupath", "liblinear-official")
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    return 0


def shown(title: str, names: tuple[str, ...], rows: Any) -> None:
    """Print a table."""
    found = [[str(cell) for cell in row] for row in rows]
    columns = [(name, [row[k] for row in found]) for k, name in enumerate(names)]
    print("\n".join(table(title, columns)), flush=True)
    print()


if __name__ == "__main__":
    sys.exit(main())
