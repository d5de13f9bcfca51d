"""Certified approximate paths with an RBF kernel on a GPU, by CuPy or PyTorch.

Seconds are wall seconds of the whole path, data transfers included, after a small path that loads
the libraries; `certify` is timed apart, and multiplies the whole kernel with all nodes again, in
float64. γ = 1 / n_features, C = 1. a9a is read from the folder named by TAUPATH_DATA; the others
are made. "100k" is kept in single precision, and "300k" is computed in tiles: its matrix would take
720 GB. With --repeats 2 each path is found twice: the first also compiles and loads what it needs.
With --judge the gap at random τ is computed on the host, from α, the decision function's
coefficients and the kernel alone, in float64; this takes the memory of the whole matrix, so it is
done up to 40 000 rows. Rows are printed as JSON.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from taupath import quantile_path
from taupath.datasets import DataNotFound, load_classification


def a9a() -> tuple[Any, np.ndarray]:
    """Return X and y of a9a."""
    data = load_classification("a9a")
    return data.X.toarray(), data.y


def sparse_binary(n_samples: int = 49_749, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows like those of w8a: 300 columns, 12 ones each, 3 % positive."""
    rng = np.random.default_rng(seed)
    X = np.zeros((n_samples, 300))
    columns = rng.permuted(np.tile(np.arange(300), (n_samples, 1)), axis=1)[:, :12]
    np.put_along_axis(X, columns, 1.0, axis=1)
    score = X @ rng.standard_normal(300) + rng.standard_normal(n_samples)
    return X, np.where(score > np.quantile(score, 0.97), 1, -1)


def smooth(n_samples: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return Gaussian rows in 20 dimensions, whose classes overlap."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, 20))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3]
    return X, np.where(rng.uniform(size=n_samples) < 1.0 / (1.0 + np.exp(-2.0 * f)), 1, -1)


# Rows whose matrix fits into the memory of the host.
JUDGED_ROWS = 40_000
# Data and tolerance.
SETS: dict[str, tuple[Callable[[], tuple[Any, np.ndarray]], float]] = {
    "a9a": (a9a, 1e-3),
    "sparse": (sparse_binary, 1e-3),
    "100k": (lambda: smooth(100_000), 1e-3),
    "300k": (lambda: smooth(300_000), 1e-2),
}


def largest_gap(X: np.ndarray, y: np.ndarray, path: Any, n_taus: int) -> float:
    """Return the largest P - D at random τ, for C = 1, in units of P(0) at τ = ½."""
    n, gamma = X.shape[0], 1.0 / X.shape[1]
    norms = np.square(X).sum(axis=1)
    K = X @ X.T
    K *= 2.0
    K -= norms[:, np.newaxis]
    K -= norms
    np.minimum(K, 0.0, out=K)
    K *= gamma
    np.exp(K, out=K)
    taus = np.random.default_rng(0).uniform(0.0, 1.0, n_taus)
    coef, alpha, b = np.zeros((n, n_taus)), np.empty((n, n_taus)), np.empty(n_taus)
    sign = np.where(y > 0, 1.0, -1.0)
    for k, tau in enumerate(taus):
        b[k], parts = path.parts(float(tau))
        coef[parts["support"], k] = parts["dual_coef"]
        alpha[:, k] = n * sign * path.alpha(float(tau))
    values = K @ coef
    cost = 2.0 * np.where(sign[:, np.newaxis] > 0.0, 1.0 - taus, taus)
    losses = cost * np.maximum(0.0, 1.0 - sign[:, np.newaxis] * (values + b))
    primal = 0.5 * ((coef * values).sum(axis=0) + b**2) + losses.sum(axis=0)
    quadratic = (alpha * (K @ alpha)).sum(axis=0) + alpha.sum(axis=0) ** 2
    return float((primal - (sign @ alpha - 0.5 * quadratic)).max()) / n


def measure(
    name: str, tol: float | None, device: str, cache_size: float, judge: int = 0
) -> dict[str, Any]:
    """Return what was measured on one data set."""
    make, own_tol = SETS[name]
    X, y = make()

    def tell(fraction: float, n_nodes: int) -> None:
        print(f"\r{name}: {fraction:.0%}, {n_nodes} nodes", end="", file=sys.stderr, flush=True)

    begin = time.perf_counter()
    path = quantile_path(
        X,
        y,
        kernel="rbf",
        gamma="auto",
        method="approximate",
        tol=tol or own_tol,
        device=device,
        cache_size=cache_size,
        progress=tell,
    )
    solved = time.perf_counter()
    certificate = path.certify()
    certified = time.perf_counter()
    judged = {}
    if judge and X.shape[0] <= JUDGED_ROWS:
        judged = {f"largest_gap_at_{judge}_taus": largest_gap(X, y, path, judge)}
    return {
        "data": name,
        "n": X.shape[0],
        "d": X.shape[1],
        "tol": path.tol,
        "seconds": round(solved - begin, 2),
        "certify_seconds": round(certified - solved, 2),
        "bound": certificate.worst_gap,
        "holds": certificate.holds(),
        "library": path.solutions.library.name,
        "stored": {0: "tiles", 4: "float32", 8: "float64"}[path.solutions.matrix.entry],
        **path.counters,
        **judged,
    }


def card() -> str:
    """Return the name of the GPU."""
    try:
        import cupy

        return str(cupy.cuda.runtime.getDeviceProperties(0)["name"].decode())
    except ImportError:
        import torch

        return str(torch.cuda.get_device_name(0))


def main() -> int:
    """Measure the data sets that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--tol", type=float, help="default: 1e-3, and 1e-2 for 300k")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--cache-size", type=float, default=90_000.0, help="MB of the device")
    parser.add_argument("--repeats", type=int, default=1, help="paths of each set")
    parser.add_argument("--judge", type=int, default=0, metavar="N", help="random τ to judge")
    arguments = parser.parse_args()
    device = arguments.device
    quantile_path(*smooth(1000), kernel="rbf", method="approximate", tol=1e-2, device=device)
    if device == "cuda":
        print(json.dumps({"card": card(), "date": time.strftime("%Y-%m-%d")}), flush=True)
    for name in [name for name in arguments.sets for _ in range(arguments.repeats)]:
        try:
            found = measure(
                name, arguments.tol, device, arguments.cache_size, judge=arguments.judge
            )
        except DataNotFound as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
            continue
        print("", file=sys.stderr)
        print(json.dumps(found), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
