"""Certified approximate kernel paths on a GPU, in hard cases: does the bound hold everywhere?

Large and small γ, large C, copies, labels that contradict each other: for each, a path with an RBF
kernel is found on the GPU with the matrix in float64, in float32 and in tiles, and on the CPU. The
gap at random τ is computed on the host from α, the coefficients and the kernel alone, in float64;
it must not exceed the bound, nor the bound the tolerance. Decision functions of the two devices may
differ by as much as their bounds allow: ‖f - f*‖² is at most twice the gap. Rows are printed as
JSON; the exit status is 1 if one of these fails.
"""

import argparse
import json
import sys
from typing import Any

import numpy as np
from gpu import card, largest_gap, smooth

from taupath import quantile_path

TOL = 1e-3
# Megabytes for each of n² entries, with the quarter to spare that a kept matrix needs.
CACHES = {"float64": 1.3 * 8e-6, "float32": 1.4 * 4e-6, "tiles": 2e-6}


def contradictory(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples half of which come twice, with both labels."""
    X, y = smooth(n // 2)
    return np.concatenate([X, X[: n // 2]]), np.concatenate([y, -y])


def copies(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return samples that differ from one of a few by 1e-7 only."""
    X, y = smooth(n)
    rng = np.random.default_rng(1)
    return X[rng.integers(0, 40, n)] + 1e-7 * rng.standard_normal(X.shape), y


# Data, γ and C.
HARD = {
    "usual": (smooth, 0.05, 1.0),
    "large gamma": (smooth, 10.0, 1.0),
    "small gamma": (smooth, 1e-5, 1.0),
    "large C": (smooth, 0.05, 100.0),
    "large gamma and C": (smooth, 10.0, 1e4),
    "near copies": (copies, 0.05, 1.0),
    "contradictory": (contradictory, 0.05, 1.0),
    "contradictory, large C": (contradictory, 0.5, 1e3),
}


def apart(one: Any, other: Any, X: np.ndarray, n_taus: int = 50) -> float:
    """Return the largest difference of two decision functions, in units of what is allowed."""
    taus = np.random.default_rng(2).uniform(0.0, 1.0, n_taus)
    values = [path.decision_function(X, taus=taus) for path in (one, other)]
    differ = float(np.abs(values[0] - values[1]).max())
    # K(x, x) and the constant's 1 make |f(x) - f*(x)| at most sqrt(2 (2 gap)) for each path
    gaps = [np.sqrt(2.0 * path.certify().worst_gap * path.C * len(X)) for path in (one, other)]
    return differ / (np.sqrt(2.0) * sum(gaps))


def main() -> int:
    """Check all cases with every way of storing the matrix."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--rows", type=int, default=3000)
    parser.add_argument("--judge", type=int, default=500, metavar="N", help="random τ to judge")
    options = parser.parse_args()
    if options.device == "cuda":
        print(json.dumps({"card": card()}), flush=True)
    wrong = 0
    for name, (make, gamma, C) in HARD.items():
        X, y = make(options.rows)
        how = {"kernel": "rbf", "gamma": gamma, "C": C, "method": "approximate", "tol": TOL}
        on_host = quantile_path(X, y, device="cpu", **how)
        for storage, each in CACHES.items():
            row: dict[str, Any] = {"case": name, "storage": storage}
            try:
                path = quantile_path(
                    X, y, device=options.device, cache_size=each * len(y) ** 2, **how
                )
            except (ValueError, RuntimeError, MemoryError) as error:
                print(json.dumps({**row, "refused": str(error)}), flush=True)
                wrong += 1
                continue
            stored = {0: "tiles", 4: "float32", 8: "float64"}[path.solutions.matrix.entry]
            bound = path.certify().worst_gap
            gap = largest_gap(X, y, path, options.judge, gamma, C)
            differ = apart(path, on_host, X)
            # the judge rounds, too: its sums are differences of two objectives
            fine = bool(gap <= bound * (1.0 + 1e-9) and bound <= TOL and differ <= 1.0)
            wrong += not fine
            row |= {"stored": stored, "nodes": path.n_kinks, "bound": bound, "gap": gap}
            print(json.dumps({**row, "apart": round(differ, 3), "fine": fine}), flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
