"""Certified approximate paths with an RBF kernel on a GPU, by CuPy or PyTorch.

Seconds are wall seconds of the whole path, data transfers included, after a small path that loads
the libraries; `certify` is timed apart, and multiplies the whole kernel with all nodes again, in
float64. γ = 1 / n_features, C = 1. a9a is read from the folder named by TAUPATH_DATA; the others
are made. "100k" is kept in single precision, and "300k" is computed in tiles: its matrix would take
720 GB. With --repeats 2 each path is found twice: the first also compiles and loads what it needs.
With --judge the gap at random τ is computed on the host, from α, the decision function's
coefficients and the kernel alone, in float64; this takes the memory of the whole matrix, so it is
done up to 40 000 rows. With --peers there are also rows of cuML and TorchKM, where installed: one
fit at τ = ½ each, beside our whole path with the same intercept. Their gaps are P - D in units of
P(0), with the D of an α of ours that is within 1e-5 of the best; the judge computes both. With
--search, a cross-validation is timed with kernel matrices that its paths share, and without.
Rows are printed as JSON.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from gpu_peers import PEERS

from taupath import QuantileSVCCV, quantile_path
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
    "10k": (lambda: smooth(10_000), 1e-3),
    "sparse": (sparse_binary, 1e-3),
    "100k": (lambda: smooth(100_000), 1e-3),
    "300k": (lambda: smooth(300_000), 1e-2),
}


def kernel_matrix(X: np.ndarray, gamma: float) -> np.ndarray:
    """Return the matrix of the RBF kernel."""
    norms = np.square(X).sum(axis=1)
    K = X @ X.T
    K *= 2.0
    K -= norms[:, np.newaxis]
    K -= norms
    np.minimum(K, 0.0, out=K)
    K *= gamma
    return np.exp(K, out=K)


def largest_gap(
    X: np.ndarray, y: np.ndarray, path: Any, n_taus: int, gamma: float, C: float
) -> float:
    """Return the largest P - D at random τ, in units of P(0) at τ = ½."""
    n, K = X.shape[0], kernel_matrix(X, gamma)
    taus = np.random.default_rng(0).uniform(0.0, 1.0, n_taus)
    coef, alpha, b = np.zeros((n, n_taus)), np.empty((n, n_taus)), np.empty(n_taus)
    sign = np.where(y > 0, 1.0, -1.0)
    for k, tau in enumerate(taus):
        b[k], parts = path.parts(float(tau))
        coef[parts["support"], k] = parts["dual_coef"]
        alpha[:, k] = C * n * sign * path.alpha(float(tau))
    values = K @ coef
    cost = 2.0 * C * np.where(sign[:, np.newaxis] > 0.0, 1.0 - taus, taus)
    losses = cost * np.maximum(0.0, 1.0 - sign[:, np.newaxis] * (values + b))
    primal = 0.5 * ((coef * values).sum(axis=0) + b**2) + losses.sum(axis=0)
    quadratic = (alpha * (K @ alpha)).sum(axis=0) + alpha.sum(axis=0) ** 2
    return float((primal - (sign @ alpha - 0.5 * quadratic)).max()) / (C * n)


def judged_at_half(
    K: np.ndarray, y: np.ndarray, u: np.ndarray, b: float, alpha: np.ndarray
) -> tuple[float, float]:
    """Return P(u, b) at τ = ½, and P - D of a feasible α, for C = 1 and in units of P(0)."""
    n, values = len(y), K @ u
    primal = 0.5 * u @ values + np.maximum(0.0, 1.0 - y * (values + b)).sum()
    theta = n * alpha
    signed = y * theta
    balanced = abs(signed.sum()) <= 1e-9 * n
    assert balanced and theta.min() >= -1e-9 and theta.max() <= 1.0 + 1e-9
    dual = theta.sum() - 0.5 * signed @ (K @ signed)
    return float(primal) / n, float(primal - dual) / n


def measure_peers(name: str, device: str, cache_size: float) -> None:
    """Print a row for our path at τ = ½ and one for each peer, on one data set."""
    X, y = SETS[name][0]()
    gamma = 1.0 / X.shape[1]
    K = kernel_matrix(X, gamma)
    small = smooth(500)
    how = {"kernel": "rbf", "gamma": gamma, "intercept": "free", "method": "approximate"}
    how |= {"device": device, "cache_size": cache_size}
    near_half = quantile_path(X, y, tol=1e-5, tau_range=(0.4995, 0.5005), **how)
    alpha = near_half.alpha(0.5)
    del near_half  # and its kernel matrix

    def tell(solver: str, begun: float, u: np.ndarray, b: float, says: dict[str, Any]) -> None:
        row = {"data": name, "solver": solver, "seconds": round(time.perf_counter() - begun, 2)}
        objective, gap = judged_at_half(K, np.where(y > 0, 1.0, -1.0), u, b, alpha)
        print(json.dumps({**row, "objective": objective, "gap": gap, **says}), flush=True)

    begun = time.perf_counter()
    path = quantile_path(X, y, tol=SETS[name][1], **how)
    b, parts = path.parts(0.5)
    u = np.zeros(len(y))
    u[parts["support"]] = parts["dual_coef"]
    tell("taupath, whole path", begun, u, b, {"nodes": path.n_kinks, "tol": path.tol})
    del path
    for peer, fit in PEERS.items():
        if find_spec(peer) is None:
            print(f"{peer} is left out: it is not installed", file=sys.stderr)
            continue
        try:
            fit(*small, 1.0, 0.05, device)  # loads and compiles what it needs
            begun = time.perf_counter()
            tell(peer, begun, *fit(X, y, 1.0, gamma, device))
        except Exception as error:  # out of memory, for one
            print(f"{peer} failed on {name}: {error}", file=sys.stderr)


def measure(
    name: str, tol: float | None, device: str, cache_size: float, judge: int = 0, arrays: str = ""
) -> dict[str, Any]:
    """Return what was measured on one data set."""
    make, own_tol = SETS[name]
    X, y = make()
    given = moved(X, arrays)

    def tell(fraction: float, n_nodes: int) -> None:
        print(f"\r{name}: {fraction:.0%}, {n_nodes} nodes", end="", file=sys.stderr, flush=True)

    begin = time.perf_counter()
    path = quantile_path(
        given,
        y,
        kernel="rbf",
        gamma="auto",
        method="approximate",
        tol=tol or own_tol,
        device="auto" if arrays else device,
        cache_size=cache_size,
        progress=tell,
    )
    solved = time.perf_counter()
    certificate = path.certify()
    certified = time.perf_counter()
    judged = {}
    if judge and X.shape[0] <= JUDGED_ROWS:
        gap = largest_gap(X, y, path, judge, 1.0 / X.shape[1], 1.0)
        judged = {f"largest_gap_at_{judge}_taus": gap}
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
        "X": type(given).__module__.partition(".")[0],
        "stored": {0: "tiles", 4: "float32", 8: "float64"}[path.solutions.matrix.entry],
        **path.counters,
        **judged,
    }


def moved(X: np.ndarray, arrays: str) -> Any:
    """Return X as an array of a library on a GPU, if there is one."""
    if arrays == "cupy":
        import cupy

        return cupy.asarray(X)
    if arrays == "torch":
        import torch

        return torch.asarray(X, device="cuda")
    return X


def search(device: str, cache_size: float) -> None:
    """Print how long a cross-validation of 10 000 samples takes, with and without sharing."""
    X, y = smooth(10_000)
    how = {"kernel": "rbf", "method": "approximate", "combine": "best", "tol": 1e-2}
    for megabytes in (cache_size, 1.3 * 8e-6 * len(y) ** 2):
        model = QuantileSVCCV(**how, device=device, cache_size=megabytes)
        begin = time.perf_counter()
        model.fit(X, y)
        row = {"search": len(y), "cache_size": round(megabytes), "C": model.C_}
        row |= {"seconds": round(time.perf_counter() - begin, 2), "gamma": model.gamma_}
        print(json.dumps(row), flush=True)


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
    parser.add_argument("--arrays", default="", choices=("cupy", "torch"), help="where X lies")
    parser.add_argument("--peers", action="store_true", help="also cuML and TorchKM")
    parser.add_argument("--search", action="store_true", help="also a cross-validation")
    arguments = parser.parse_args()
    device = arguments.device
    quantile_path(*smooth(1000), kernel="rbf", method="approximate", tol=1e-2, device=device)
    if device == "cuda":
        print(json.dumps({"card": card(), "date": time.strftime("%Y-%m-%d")}), flush=True)
    for name in [name for name in arguments.sets for _ in range(arguments.repeats)]:
        try:
            found = measure(
                name,
                arguments.tol,
                device,
                arguments.cache_size,
                arguments.judge,
                arguments.arrays,
            )
        except DataNotFound as missing:
            print(f"{name} is left out: {missing}", file=sys.stderr)
            continue
        print("", file=sys.stderr)
        print(json.dumps(found), flush=True)
    for name in arguments.sets if arguments.peers else ():
        if name in ("a9a", "10k"):
            measure_peers(name, device, arguments.cache_size)
    if arguments.search:
        search(device, arguments.cache_size)
    return 0


if __name__ == "__main__":
    sys.exit(main())
