"""What the least probability `clip` of `QuantileSVC` does to the log-loss.

Sets and splits are those of decisions.py: 60 % to train on, at most 600 cases, and 40 % to judge
by. Log-loss counts probabilities below 1e-12 as 1e-12. "0" is `clip=0`, the exact lengths;
"laplace" is the default, 1 / (n + 2); "1e-06" and "0.01" are numbers. "exact" is the share of test
cases, in %, whose length is exactly 0 or 1.

linear, C = 1   `QuantileSVC()`
RBF, C = 100    `QuantileSVC(100, kernel="rbf")`, flexible for so few cases
best            `QuantileSVCCV(combine="best")`
"""

import argparse
import os
import sys
from collections.abc import Callable

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import table
from datasets.real import load
from questions.decisions import MOST_TRAINED, REAL, SIMULATED, TEST_SHARE, simulated
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler

from taupath import QuantileSVC, QuantileSVCCV
from taupath.estimators.clipping import clipped, least_probability

MODELS: dict[str, Callable[[], QuantileSVC]] = {
    "linear, C = 1": lambda: QuantileSVC(clip=0),
    "RBF, C = 100": lambda: QuantileSVC(100.0, kernel="rbf", clip=0),
    "best": lambda: QuantileSVCCV(combine="best", clip=0),
}
CLIPS = (0.0, 1e-6, "laplace", 0.01)


def judged(model: QuantileSVC, name: str, split: int) -> np.ndarray:
    """Return the share of lengths that are 0 or 1, and the log-loss with each of CLIPS."""
    X, y = load(name) if name in REAL else simulated(name, split)
    y = y == y.max()
    splits = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=split)
    train, test = next(splits.split(X, y))
    train = train[:MOST_TRAINED]
    scaler = StandardScaler().fit(X[train])
    model.fit(scaler.transform(X[train]), y[train])
    proba = model.predict_proba(scaler.transform(X[test]))
    found = [float(np.mean((proba == 0.0).any(axis=1)))]
    for clip in CLIPS:
        least = least_probability(clip, np.ones(len(train)), 2)
        counted = np.clip(clipped(proba, least)[:, 1], 1e-12, 1.0 - 1e-12)
        found.append(log_loss(y[test], counted))
    return np.array(found)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Log-loss with and without clipping.")
    parser.add_argument("--splits", type=int, default=10, help="of each set")
    arguments = parser.parse_args()
    rows = []
    for kind, make in MODELS.items():
        for name in (*REAL, *SIMULATED):
            print(f"measuring {kind}, {name} ...", file=sys.stderr, flush=True)
            each = [judged(make(), name, split) for split in range(arguments.splits)]
            rows.append((kind, name, *np.mean(each, axis=0)))
        own = [row[2:] for row in rows if row[0] == kind]
        rows.append((kind, "mean", *np.mean(own, axis=0)))
    columns = [("model", [row[0] for row in rows]), ("data", [row[1] for row in rows])]
    columns.append(("exact", [f"{100.0 * row[2]:.1f}" for row in rows]))
    for k, clip in enumerate(CLIPS):
        columns.append(
            (f"{clip:g}" if clip != "laplace" else clip, [f"{row[3 + k]:.3f}" for row in rows])
        )
    print("\n".join(table("Log-loss", columns)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
