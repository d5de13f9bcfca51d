"""What a search costs: `QuantileSVCCV()` beside a `GridSearchCV` of `SVC` over the same candidates.

Made data, standardised. The two take turns; CPU seconds in one thread, medians.

SVC       `GridSearchCV(SVC(probability=False))`: one SVM per candidate and fold, and one final fit
search    `QuantileSVCCV()`: all τ for each candidate and fold, and exact final paths of those used
exact     `QuantileSVCCV(method="exact")`: an exact path of each candidate and fold
refits    the final paths of `QuantileSVCCV()`
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import table
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from taupath import QuantileSVC, QuantileSVCCV

SIZES = ((300, 20), (1000, 20))


def cpu(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a job, and its result."""
    begun = time.process_time()
    found = job()
    return time.process_time() - begun, found


def measured(
    n_samples: int, n_features: int, seed: int, noise: float, separation: float
) -> list[float]:
    """Return the seconds of each column of the table."""
    X, y = make_classification(
        n_samples, n_features, random_state=seed, flip_y=noise, class_sep=separation
    )
    X = StandardScaler().fit_transform(X)
    search, model = cpu(lambda: QuantileSVCCV().fit(X, y))
    tried = [
        {name: value for name, value in each.items() if name in ("kernel", "gamma", "C")}
        for each in model.candidates_
    ]
    for each in tried:
        each["gamma"] = each["gamma"] or "scale"
    grid = [{name: [value] for name, value in each.items()} for each in tried]
    usual, _ = cpu(lambda: GridSearchCV(SVC(), grid, cv=5).fit(X, y))
    exact, _ = cpu(lambda: QuantileSVCCV(method="exact").fit(X, y))
    used = [each for each, about in zip(tried, model.candidates_, strict=True) if about["used"]]
    refits, _ = cpu(lambda: [QuantileSVC(**each).fit(X, y) for each in used])
    return [usual, search, exact, refits]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="What a search costs.")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--noise", type=float, default=0.01, help="share of random labels")
    parser.add_argument("--separation", type=float, default=1.0, help="of the two classes")
    arguments = parser.parse_args()
    rows = []
    for size in SIZES:
        kind = arguments.noise, arguments.separation
        measured(*size, 0, *kind)  # not counted: caches are filled
        each = [measured(*size, seed, *kind) for seed in range(arguments.repeats)]
        rows.append((f"{size[0]} × {size[1]}", *np.median(each, axis=0)))
    columns = [("data", [row[0] for row in rows])]
    for k, name in enumerate(("SVC", "search", "exact", "refits")):
        columns.append((name, [f"{row[1 + k]:.2f}" for row in rows]))
    columns.append(("search / SVC", [f"{row[2] / row[1]:.1f}" for row in rows]))
    columns.append(("exact / SVC", [f"{row[3] / row[1]:.1f}" for row in rows]))
    print("\n".join(table("CPU seconds of a search", columns)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
