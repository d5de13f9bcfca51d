"""What docs/reproduction.md remarks beside the paper's tables and figures.

`python benchmarks/remarks.py` with the data in the folder named by TAUPATH_DATA. One thread.
"""

import argparse
import os

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

from pathlib import Path

import numpy as np

from taupath import SolutionPath, quantile_path, regularization_path
from taupath.datasets import PaperData, load_paper
from taupath.reproduce import lemma

UNSCALED = "diabetes/pima-indians-diabetes.csv"
LAMBDAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)


def scalings(data: PaperData, unscaled: np.ndarray) -> dict[str, np.ndarray]:
    """Return the training features of diabetes, which lie in [-1, 1], in other scales."""
    X = data.X_train
    low, high = unscaled.min(axis=0), unscaled.max(axis=0)
    return {
        "[-1, 1]": X,
        "[0, 1]": (X + 1.0) / 2.0,
        "standardised": (X - X.mean(axis=0)) / X.std(axis=0),
        "as they come": low + (X + 1.0) / 2.0 * (high - low),
    }


def diabetes(data_dir: Path) -> None:
    """Print zeros of the unscaled table, and kinks in each scale."""
    unscaled = np.loadtxt(data_dir / UNSCALED, delimiter=",")[:, :-1]
    print(f"diabetes, unscaled: {100.0 * np.mean(unscaled == 0.0):.1f} % zeros")
    data = load_paper("diabetes", data_dir)
    for name, X in scalings(data, unscaled).items():
        print(f"diabetes, {name}: {quantile_path(X, data.y_train, lam=data.lam).n_kinks} kinks")


def spam(data_dir: Path) -> None:
    """Print how much the functions of neighbouring λ differ at τ = ½."""
    data = load_paper("spam", data_dir)
    Cs = 1.0 / (len(data.y_train) * np.array(LAMBDAS))
    path = regularization_path(data.X_train, data.y_train, tau=0.5, C_max=Cs.max())
    values = path.decision_function(data.X_valid, Cs)
    for k, lam in enumerate(LAMBDAS[1:], 1):
        off = np.abs(values[:, k] - values[:, 0]).max() / np.abs(values[:, 0]).max()
        print(f"spam, λ = {lam:g}: f differs from that of {LAMBDAS[0]:g} by {off:.1e} at most")


def turns(path: SolutionPath, x: np.ndarray) -> tuple[int, int]:
    """Return how many kinks change the slope of f in τ at some x, by more than rounding, of all.

    A kink changes it if f there is off the straight line between its neighbours.
    """
    taus, values = path.values_at_nodes(x[:, None])
    before, after = np.diff(taus)[:-1], np.diff(taus)[1:]
    line = (values[:, :-2] * after + values[:, 2:] * before) / (before + after)
    off = np.abs(values[:, 1:-1] - line).max(axis=0)
    rounding = 1e-15 * np.abs(values).max()
    return int(np.sum(off > rounding)), len(off)


def simulated() -> None:
    """Print what is special about the simulated samples with an RBF kernel."""
    grid = (np.arange(lemma.N_GRID) + 0.5) / lemma.N_GRID
    changed, n_kinks = turns(lemma.simulated_path(200, 0), grid)
    print(f"simulated, n = 200: {changed} of {n_kinks} kinks change the slope of f")
    worst = lemma.simulated_path(800, 0).certify().worst_gap
    print(f"simulated, n = 800: relative gap {worst:.1e} at most")


def main(arguments: list[str] | None = None) -> None:
    """Print all remarks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TAUPATH_DATA"))
    data_dir = parser.parse_args(arguments).data
    simulated()
    if data_dir is None:
        print("no folder of data: give --data DIR, or set TAUPATH_DATA")
        return
    diabetes(Path(data_dir))
    spam(Path(data_dir))


if __name__ == "__main__":
    main()
