"""CPU time of fits of small data beside scikit-learn's `LinearSVC`.

Rows of the breast cancer data (its first ten features, the means) and of Gaussian data with ten
features, and the digits with a path for each pair of classes, all standardised. `QuantileSVC`
follows whole paths, `LinearSVC` solves for one pair of costs; both have their default parameters.
One process, one thread, in turn; the best run counts. `walk` is the part of the fit that is spent
in the engine.
"""

import argparse
import os
import sys
import warnings
from collections.abc import Iterator
from time import process_time
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, machine, number, table
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from taupath import QuantileSVC
from taupath.fitting import walks

SIZES = (50, 200, 500)
N_FEATURES = 10
APART = 1.0  # distance of the two Gaussian classes, along each feature


def problems() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield the name, the samples and the labels of each problem."""
    random = np.random.default_rng(0)
    cancer, malignant = load_breast_cancer(return_X_y=True)
    for n in SIZES:
        some = random.permutation(len(cancer))[:n]
        yield f"breast cancer {n}", cancer[some, :N_FEATURES], malignant[some]
        label = np.arange(n) % 2
        yield f"Gaussian {n}", random.normal(label[:, None] * APART, 1.0, (n, N_FEATURES)), label
    yield "digits", *load_digits(return_X_y=True)


def measure(name: str, X: np.ndarray, y: np.ndarray, repeats: int) -> dict[str, Any]:
    """Measure one problem."""
    X = StandardScaler().fit_transform(X)
    watch, walk, solve = Stopwatch(), [], walks.solve_path

    def timed(*args: Any, **kwargs: Any) -> Any:
        begun = process_time()
        record = solve(*args, **kwargs)
        walk[-1] += process_time() - begun
        return record

    walks.solve_path = timed
    try:
        for _ in range(repeats):
            walk.append(0.0)
            model = watch.time("QuantileSVC", QuantileSVC().fit, X, y)
            watch.time("LinearSVC", LinearSVC().fit, X, y)
    finally:
        walks.solve_path = solve
    whole, one = watch.best("QuantileSVC"), watch.best("LinearSVC")
    return {
        "data": name,
        "kinks": int(model.n_iter_.sum()),
        "LinearSVC": number(one),
        "QuantileSVC": number(whole),
        "walk": number(min(walk)),
        "ratio": number(whole / one),
    }


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50, help="runs of each kind")
    options = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # of LinearSVC, for digits
    rows = [measure(*problem, options.repeats) for problem in problems()]
    columns = [(name, [str(row[name]) for row in rows]) for name in rows[0]]
    print("\n".join(table("Small fits, in CPU seconds", columns)))
    print(", ".join(f"{name} {value}" for name, value in machine("scikit-learn").items()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
