"""How often the promised gap of 1e-9 is missed, where it is: `python benchmarks/limits.py`.

Random problems of three kinds, each at the edge of what double precision can hold: columns that
differ by 1e12 in scale; quantile regressions whose functions pass through nearly all samples; and
kernels with large entries. Nothing is timed.
"""

import argparse
import os
import warnings

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from collections.abc import Callable

import numpy as np

from taupath import SolutionPath, quantile_path, quantile_regression_path
from taupath.exceptions import InexactPathWarning

GAP = 1e-9
POINTS = 100  # kinks and midpoints that are looked at
UNIT = 1.1e-16  # of rounding


def scaled_columns(rng: np.random.Generator) -> SolutionPath:
    """Return the path of two overlapping classes, with columns from 1e-6 to 1e6 and C above 1."""
    n, d = int(rng.integers(20, 80)), int(rng.integers(2, 7))
    y = rng.permutation(np.arange(n) % 2 * 2 - 1)
    X = rng.standard_normal((n, d)) + 0.5 * y[:, None]
    return quantile_path(X * np.logspace(-6, 6, d), y, C=10.0 ** rng.uniform(0.0, 3.0))


def close_regression(rng: np.random.Generator) -> SolutionPath:
    """Return a regression that can pass through all samples: a narrow RBF kernel, and a large C."""
    n = int(rng.integers(20, 60))
    X = rng.uniform(size=(n, 1))
    y = np.sin(6.0 * X[:, 0]) + 0.1 * rng.standard_normal(n)
    C, gamma = 10.0 ** rng.uniform(3.0, 6.0), 10.0 ** rng.uniform(1.0, 3.0)
    return quantile_regression_path(X, y, C=C, kernel="rbf", gamma=gamma, intercept="free")


def large_kernel(rng: np.random.Generator) -> SolutionPath:
    """Return a path with a cubic kernel, whose matrix has entries of 1e4 and far more."""
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 5))
    y = rng.permutation(np.arange(n) % 2 * 2 - 1)
    X = 10.0 ** rng.uniform(1.0, 2.0) * (rng.standard_normal((n, d)) + 0.5 * y[:, None])
    C = 10.0 ** rng.uniform(0.0, 3.0)
    return quantile_path(X, y, C=C, kernel="poly", degree=3, gamma=1.0, coef0=1.0)


KINDS: dict[str, Callable[[np.random.Generator], SolutionPath]] = {
    "columns that differ by 1e12, C from 1 to 1000": scaled_columns,
    "regression through nearly all samples, C from 1e3 to 1e6": close_regression,
    "cubic kernels with entries of 1e4 and more, C from 1 to 1000": large_kernel,
}


def count(make: Callable[[np.random.Generator], SolutionPath], n_problems: int) -> str:
    """Return how many problems of a kind miss the gap, and how that compares with rounding."""
    found = [make(np.random.default_rng(seed)).certify(POINTS) for seed in range(n_problems)]
    missed = [each for each in found if each.worst_gap > GAP]
    promised = sum(each.promised is True for each in missed)
    beyond = max((each.worst_gap / (UNIT * each.condition) for each in missed), default=0.0)
    worst = max(each.worst_gap for each in found)
    return (
        f"{len(missed)} of {n_problems} above {GAP:g}, {promised} of these with a condition that "
        f"promises it; the worst {worst:.1e}, at most {beyond:.1f} times what rounding can cost"
    )


def main(arguments: list[str] | None = None) -> None:
    """Print one line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", type=int, default=240, help="so many of each kind")
    n_problems = parser.parse_args(arguments).problems
    warnings.simplefilter("ignore", InexactPathWarning)  # that is what is counted
    for name, make in KINDS.items():
        print(f"{name}: {count(make, n_problems)}", flush=True)


if __name__ == "__main__":
    main()
