"""What it takes to read probabilities off a path, in fits of it.

The diabetes path of the paper, with the linear kernel (λ = 1e-3) and with RBF (γ = 1/8, features
standardised): CPU seconds of the fit, and of the probabilities of 10 000 samples, the first time
and again. One process, one thread, in turn; the best run counts.

Needs the paper's diabetes data, in the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import pickle
import sys
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, machine, number, table

from taupath import quantile_path
from taupath.datasets import DataNotFound, load_paper

N_NEW = 10_000
KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 1.0 / 8.0},
}


def read(kernel: str, X: np.ndarray, y: np.ndarray, new: np.ndarray, repeats: int) -> dict:
    """Measure one kernel."""
    path = quantile_path(X, y, lam=1e-3, **KERNELS[kernel])
    stored = pickle.dumps(path)
    watch = Stopwatch()
    for _ in range(repeats):
        watch.time("fit", quantile_path, X, y, lam=1e-3, **KERNELS[kernel])
        fresh = pickle.loads(stored)
        watch.time("first", fresh.crossings, new)
        watch.time("again", fresh.crossings, new)
    best = {name: watch.best(name) for name in ("fit", "first", "again")}
    values = fresh._tracks.table.n_values / (2 * len(new))
    return {
        "kernel": kernel,
        "kinks": path.n_kinks,
        **best,
        "first in fits": best["first"] / best["fit"],
        "again in fits": best["again"] / best["fit"],
        "values looked at per sample": values,
    }


def main() -> int:
    """Print the table, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=10, help="runs of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    options = parser.parse_args()
    try:
        data = load_paper("diabetes")
    except DataNotFound as problem:
        print(problem, file=sys.stderr)
        return 1
    X = data.X_train
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    rng = np.random.default_rng(0)
    new = X[rng.integers(0, len(X), N_NEW)] + 0.3 * rng.standard_normal((N_NEW, X.shape[1]))
    rows = [read(kernel, X, data.y_train, new, options.repeats) for kernel in KERNELS]
    about = machine("numpy", "scipy", "scikit-learn", "taupath")
    if options.json:
        print(json.dumps({"rows": rows, "machine": about}, indent=2))
        return 0
    columns = [(name, [_shown(row[name]) for row in rows]) for name in rows[0]]
    print("\n".join(table(f"Probabilities of {N_NEW} samples off the diabetes path", columns)))
    print()
    print(", ".join(f"{name} {value}" for name, value in about.items()))
    return 0


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


if __name__ == "__main__":
    sys.exit(main())
