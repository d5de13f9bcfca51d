"""Time to read from a path, in runs of a solver for one τ and in fits of the path.

The three paths of the paper (linear kernel), and an RBF path of 800 × 20 simulated samples (C = 1):
CPU seconds of the fit, of α at one τ, of decisions about many samples with a τ each, and of their
probabilities. Both the first read of a path that has just been loaded and a later one are timed.
Reads are about 10 000 samples drawn from the training samples, for RBF about 200 new ones. The
solver is LIBLINEAR, for RBF scikit-learn's `SVC`. One process, one thread, in turn; the best run
counts.

Needs the paper's data, in the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import pickle
import sys
from collections.abc import Callable
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, machine, number, table
from sklearn.datasets import make_classification
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from taupath import quantile_path
from taupath.datasets import PAPER_NAMES, DataNotFound, load_paper
from taupath.reproduce.judge import Problem
from taupath.reproduce.peers import Liblinear

N_NEW = 10_000
N_RBF, N_RBF_NEW = 800, 200
READS = ("alpha", "predict", "probabilities")
NAMES = (*PAPER_NAMES, "rbf")
TAU = 0.3


def prepare(name: str) -> tuple[Callable[[], Any], Callable[[], Any], Any]:
    """Return a fit of the path, a run of the other solver, and samples to predict."""
    if name == "rbf":
        X, y = make_classification(N_RBF + N_RBF_NEW, 20, random_state=0)
        X = StandardScaler().fit_transform(X)
        known, labels, new = X[:N_RBF], y[:N_RBF], X[N_RBF:]
        weights = {0: TAU, 1: 1.0 - TAU}
        return (
            lambda: quantile_path(known, labels, C=1.0, kernel="rbf"),
            lambda: SVC(C=1.0, gamma="scale", class_weight=weights).fit(known, labels),
            new,
        )
    data = load_paper(name)
    X, y = data.X_train, data.y_train.astype(np.float64)
    new = X[np.random.default_rng(0).integers(0, X.shape[0], N_NEW)]
    liblinear = Liblinear(Problem(X, y, data.lam), [TAU])
    return (
        lambda: quantile_path(X, y, lam=data.lam),
        lambda: liblinear.train(TAU),
        new,
    )


def read(name: str, repeats: int) -> dict[str, Any]:
    """Measure one path."""
    fit, solve, new = prepare(name)
    taus = np.random.default_rng(1).uniform(size=new.shape[0])
    path = fit()
    stored = pickle.dumps(path)
    watch = Stopwatch()
    for _ in range(repeats):
        watch.time("fit", fit)
        watch.time("solver", solve)
        for job in READS:
            fresh = pickle.loads(stored)
            for when, tau in (("first", 0.4), ("later", 0.6)):
                if job == "alpha":
                    watch.time((job, when), fresh.alpha, tau)
                elif job == "predict":
                    watch.time((job, when), fresh.decide_each, new, taus)
                else:
                    watch.time((job, when), fresh.crossings, new)
    reads = [(job, when) for job in READS for when in ("first", "later")]
    return {
        "path": name,
        "kinks": path.n_kinks,
        "rows": new.shape[0],
        "solver": watch.best("solver"),
        "fit": watch.best("fit"),
        **{" ".join(which): watch.best(which) for which in reads},
    }


def main() -> int:
    """Print the tables, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--paths", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--repeats", type=int, default=5, help="runs of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    options = parser.parse_args()
    try:
        rows = [read(name, options.repeats) for name in options.paths]
    except DataNotFound as problem:
        print(problem, file=sys.stderr)
        return 1
    about = machine("numpy", "scipy", "scikit-learn", "taupath", "liblinear-official")
    if options.json:
        print(json.dumps({"rows": rows, "machine": about}, indent=2))
        return 0
    for title, unit in (("CPU seconds", None), ("runs of the solver", "solver"), ("fits", "fit")):
        columns = [
            (name, [_shown(row[name], row[unit] if unit else 1.0) for row in rows])
            for name in rows[0]
        ]
        print("\n".join(table(f"Reading from a path, in {title}", columns)))
        print()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    return 0


def _shown(value: Any, unit: float) -> str:
    return number(value / unit) if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
