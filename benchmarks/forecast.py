"""Predicted and real times of exact paths, for the choice that method="auto" makes.

python benchmarks/forecast.py [--longest 60]
"""

import argparse
import time
from typing import Any

import numpy as np
import scipy.sparse as sp

import taupath as tp
from taupath.fitting import over_tau

Data = tuple[Any, np.ndarray]


def gaussian(n: int, d: int) -> Data:
    """Return two dense clouds that overlap."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1, 1], n)
    return rng.standard_normal((n, d)) + 0.3 * y[:, None] / np.sqrt(d / 10), y


def sparse(n: int, d: int, entries: int, columns: np.ndarray | None = None) -> Data:
    """Return binary rows with so many entries, in given columns or anywhere."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, d, (n, entries)) if columns is None else columns
    ends = np.arange(0, n * entries + 1, entries)
    X = sp.csr_array((np.ones(n * entries), indices.ravel(), ends), shape=(n, d))
    X.sum_duplicates()
    f = X @ rng.standard_normal(d) * (1.0 if columns is None else 0.4)
    least = 0.0 if columns is None else np.quantile(f, 0.85)
    return X, np.where(f + 2.0 * rng.standard_normal(n) > least, 1, -1)


def one_hot(n: int, columns: int, levels: int) -> Data:
    """Return columns of categories, some of them rare."""
    drawn = np.random.default_rng(1).geometric(0.35, (n, columns)) - 1
    places = np.minimum(drawn, levels - 1) + levels * np.arange(columns)
    return sparse(n, columns * levels, columns, places)


def bent(n: int, d: int) -> Data:
    """Return two clouds that no line parts."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, np.where(f + 0.7 * rng.standard_normal(n) > 0.0, 1, -1)


PROBLEMS: list[tuple[str, Any, dict[str, Any]]] = [
    ("Gaussian 16000 x 20", lambda: gaussian(16_000, 20), {}),
    ("Gaussian 64000 x 20", lambda: gaussian(64_000, 20), {}),
    ("Gaussian 4000 x 100", lambda: gaussian(4000, 100), {}),
    ("Gaussian 16000 x 100", lambda: gaussian(16_000, 100), {}),
    ("Gaussian 4000 x 500", lambda: gaussian(4000, 500), {}),
    ("one-hot 4000 x 595", lambda: one_hot(4000, 85, 7), {}),
    ("one-hot 8000 x 595", lambda: one_hot(8000, 85, 7), {}),
    ("sparse 4000 x 2000", lambda: sparse(4000, 2000, 20), {}),
    ("RBF 4000 x 5", lambda: bent(4000, 5), {"kernel": "rbf"}),
    ("RBF 8000 x 5", lambda: bent(8000, 5), {"kernel": "rbf"}),
    ("RBF 2500 x 50", lambda: bent(2500, 50), {"kernel": "rbf"}),
]


class _Predicted(Exception):
    """The prediction is there; the path itself is timed apart from it."""


def prediction(X: Any, y: np.ndarray, how: dict[str, Any]) -> float | None:
    """Return the predicted seconds of the exact path."""
    found: list[float | None] = []
    real = over_tau.forecast_of

    def spy(*given: Any) -> float | None:
        found.append(real(*given))
        raise _Predicted

    over_tau.forecast_of = spy
    try:
        tp.quantile_path(X, y, method="auto", **how)
    except _Predicted:
        pass
    finally:
        over_tau.forecast_of = real
    return found[0] if found else None


def main() -> None:
    """Print a line for each problem."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--longest", type=float, default=60.0, help="seconds of a path to measure")
    longest = parser.parse_args().longest
    for name, make, how in PROBLEMS:
        X, y = make()
        begun = time.process_time()
        predicted = prediction(X, y, how)
        trials = time.process_time() - begun
        line = f"{name:24}  predicted {predicted:7.2f} s, trials {trials:5.2f} s"
        if predicted is not None and predicted <= longest:
            begun = time.process_time()
            tp.quantile_path(X, y, **how)
            line += f", real {time.process_time() - begun:7.2f} s"
        print(line, flush=True)


if __name__ == "__main__":
    main()
