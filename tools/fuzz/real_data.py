"""Families of problems made from parts of real data, which lie in the folder TAUPATH_DATA."""

import csv
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.problem import CLASSIFICATION, REGRESSION, REGULARIZATION, Problem

Rng = np.random.Generator
CLASSES = ("a1a", "australian", "dna.scale", "fourclass", "heart_scale", "ionosphere")
NUMBERS = ("Boston", "GAGurine", "birthwt", "crabs", "engel", "geyser", "mcycle")


def folder() -> Path | None:
    """Return where the data are, if they are anywhere."""
    named = os.environ.get("TAUPATH_DATA")
    return Path(named) if named else None


@cache
def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels or targets of a data set."""
    data = folder()
    assert data is not None
    if name in CLASSES:
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(data / "classification" / f"{name}.svm"))
        return X.toarray(), (y == y.max()).astype(int)
    if name == "pima":
        with (data / "diabetes" / "pima-indians-diabetes.csv").open(encoding="utf-8") as file:
            table = np.array([[float(cell) for cell in row] for row in csv.reader(file)])
        return table[:, :-1], table[:, -1].astype(int)
    with (data / "regression" / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))[1:]
    columns = [column for cells in zip(*rows, strict=True) for column in numbers(cells)]
    return np.column_stack(columns[:-1]), columns[-1]


def numbers(cells: tuple[str, ...]) -> Iterator[np.ndarray]:
    """Yield a column of numbers, or one for each of the different words."""
    try:
        yield np.array(cells, dtype=float)
    except ValueError:
        for word in sorted(set(cells)):
            yield np.array([float(cell == word) for cell in cells])


def part(rng: Rng, most: int = 200) -> tuple[np.ndarray, np.ndarray, bool]:
    """Return some rows of a data set, and whether it is for regression."""
    name = str(rng.choice(["pima", *CLASSES, *NUMBERS]))
    X, y = load(name)
    some = rng.choice(len(y), min(len(y), int(rng.integers(15, most))), replace=False)
    if name not in NUMBERS and len(np.unique(y[some])) < 2:
        some[:2] = np.flatnonzero(y == 0)[0], np.flatnonzero(y == 1)[0]
    return X[some], y[some], name in NUMBERS


def real(rng: Rng, X: Any, y: np.ndarray, numeric: bool, most_C: float, **more: Any) -> Problem:
    """Return a problem with these data."""
    job = REGRESSION if numeric else str(rng.choice([CLASSIFICATION, REGULARIZATION], p=[0.8, 0.2]))
    C = float(10.0 ** rng.uniform(-3, most_C))
    kind = str(rng.choice(["augmented", "free", "none"], p=[0.45, 0.45, 0.1]))
    return Problem(job, X, y, C, tau=float(rng.uniform(0.1, 0.9)), intercept=kind, **more)


def real_raw(rng: Rng) -> Problem:
    """Real data as they are, dense or sparse."""
    X, y, numeric = part(rng)
    return real(rng, sparse.csr_array(X) if rng.random() < 0.3 else X, y, numeric, 2)


def real_one_hot(rng: Rng) -> Problem:
    """Real data in bins, one column for each bin."""
    X, y, numeric = part(rng)
    groups = []
    for column in X.T[:12]:
        edges = np.unique(np.quantile(column, [0.2, 0.4, 0.6, 0.8]))
        groups.append(np.eye(len(edges) + 1)[np.searchsorted(edges, column)])
    coded = np.hstack(groups)
    return real(rng, sparse.csr_array(coded) if rng.random() < 0.5 else coded, y, numeric, 3)


def real_kernel(rng: Rng) -> Problem:
    """Real data with RBF and polynomial kernels, standardised or not."""
    X, y, numeric = part(rng, 100)
    if rng.random() < 0.7:
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0.0, X.std(axis=0), 1.0)
    gamma = float(10.0 ** rng.uniform(-1, 1) / (X.shape[1] * (X.var() or 1.0)))
    if rng.random() < 0.7:
        return real(rng, X, y, numeric, 4, kernel="rbf", gamma=gamma)
    return real(rng, X, y, numeric, 1, kernel="poly", gamma=gamma, degree=3, coef0=1.0)


REAL: tuple[Callable[[Rng], Problem], ...] = (real_raw, real_one_hot, real_kernel)
