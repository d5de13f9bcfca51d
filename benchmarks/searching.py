"""What a search costs: `QuantileSVCCV()` beside a `GridSearchCV` of `SVC` over the same candidates.

Made data, standardised. The two take turns; CPU seconds in one thread, medians.

SVC       `GridSearchCV(SVC(probability=False))`: one SVM per candidate and fold, and one final fit
search    `QuantileSVCCV()`: a path per candidate and fold, and the final fits of those it uses
walks     the paths of all folds alone
reading   the probabilities of the cases that they hold out
refits    the final fits
"""

import argparse
import os
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import table
from sklearn.datasets import make_classification
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from taupath import QuantileSVC, QuantileSVCCV

SIZES = ((300, 20), (1000, 20))


def cpu(job: Callable[[], Any]) -> tuple[float, Any]:
    """Return the CPU seconds of a job, and its result."""
    begun = time.process_time()
    found = job()
    return time.process_time() - begun, found


def measured(n_samples: int, n_features: int, seed: int) -> list[float]:
    """Return the seconds of each column of the table."""
    X, y = make_classification(n_samples, n_features, random_state=seed)
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
    walks = reading = 0.0
    for train, test in StratifiedKFold(5).split(X, y):
        for each in tried:
            seconds, path = cpu(partial(QuantileSVC(**each).fit, X[train], y[train]))
            walks += seconds
            reading += cpu(partial(path.predict_proba, X[test]))[0]
    used = [each for each, about in zip(tried, model.candidates_, strict=True) if about["used"]]
    refits, _ = cpu(lambda: [QuantileSVC(**each).fit(X, y) for each in used])
    return [usual, search, walks, reading, refits]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="What a search costs.")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    rows = []
    for size in SIZES:
        measured(*size, 0)  # not counted: caches are filled
        each = [measured(*size, seed) for seed in range(arguments.repeats)]
        rows.append((f"{size[0]} × {size[1]}", *np.median(each, axis=0)))
    columns = [("data", [row[0] for row in rows])]
    for k, name in enumerate(("SVC", "search", "walks", "reading", "refits")):
        columns.append((name, [f"{row[1 + k]:.2f}" for row in rows]))
    columns.append(("search / SVC", [f"{row[2] / row[1]:.1f}" for row in rows]))
    columns.append(("walks / SVC", [f"{row[3] / row[1]:.1f}" for row in rows]))
    print("\n".join(table("CPU seconds of a search", columns)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
