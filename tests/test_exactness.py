"""The promise on real data: gap and optimality conditions at every kink and every midpoint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import taupath
import verify
from taupath.datasets import PAPER_NAMES, classification_names, load_classification

pytestmark = pytest.mark.slow

LAMBDAS = [1e-1, 1e-3, 1e-5]
# Kinks and midpoints to look at; where there are more, a random sample.
POINTS = 2000
FILES = [
    "a1a",
    "a1a.t",
    "a9a",
    "a9a.t",
    "australian",
    "dna.scale",
    "dna.scale.t",
    "fourclass",
    "heart_scale",
    "ionosphere",
]


def two_classes(y: np.ndarray) -> np.ndarray:
    """Return labels -1 and 1: the largest label against the rest."""
    return np.where(y == y.max(), 1, -1)


def scaled(X: sparse.csr_matrix) -> np.ndarray:
    """Return X with every column stretched to [-1, 1]."""
    dense = X.toarray()
    low, high = dense.min(axis=0), dense.max(axis=0)
    return 2.0 * (dense - low) / np.where(high > low, high - low, 1.0) - 1.0


def load(file: str, folder: Path) -> tuple[Any, np.ndarray]:
    """Return features and labels of a file, either the training or the test part of a set."""
    data = load_classification(file.removesuffix(".t"), folder)
    X, y = (data.X_test, data.y_test) if file.endswith(".t") else (data.X, data.y)
    return X, two_classes(y)


def assert_exact(X: Any, y: np.ndarray, lam: float) -> None:
    path = taupath.quantile_path(X, y, lam=lam)
    assert np.all(np.diff(path.taus) > 0)
    taus = verify.kinks_and_midpoints(path.taus, POINTS)
    verify.assert_certified(path, X, y, None, taus, lam=lam)
    # The path's own certificate, over points of its own choice, agrees.
    assert path.certify(200).holds()


def test_no_file_is_forgotten(data_dir):
    stored = {file.name.removesuffix(".svm") for file in data_dir.glob("classification/*.svm")}
    assert stored == set(FILES)
    assert {file for file in FILES if not file.endswith(".t")} == set(
        classification_names(data_dir)
    )


@pytest.mark.parametrize("name", PAPER_NAMES)
def test_the_data_of_the_paper(name, paper_data):
    data = paper_data(name)
    assert_exact(data.X_train, data.y_train, data.lam)


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("file", FILES)
def test_every_file_as_stored(file, lam, data_dir):
    X, y = load(file, data_dir)
    assert_exact(X, y, lam)


@pytest.mark.parametrize("lam", LAMBDAS)
@pytest.mark.parametrize("file", ["a1a", "australian", "dna.scale", "heart_scale", "ionosphere"])
def test_files_that_are_stored_sparse_as_dense_matrices(file, lam, data_dir):
    X, y = load(file, data_dir)
    assert_exact(X.toarray(), y, lam)


@pytest.mark.parametrize("lam", LAMBDAS)
def test_australian_scaled(lam, data_dir):
    X, y = load("australian", data_dir)
    assert_exact(scaled(X), y, lam)


@pytest.mark.parametrize("lam", LAMBDAS)
def test_diabetes_unscaled(lam, data_dir):
    table = np.loadtxt(data_dir / "diabetes" / "pima-indians-diabetes.csv", delimiter=",")
    assert_exact(table[:, :-1], two_classes(table[:, -1]), lam)
