"""Real data of the tests, read from the folder named by TAUPATH_DATA."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taupath.datasets import load_classification, load_svm


def slow(*values: Any) -> Any:
    """Mark a set of parameters for `make test-all` only."""
    return pytest.param(*values, marks=pytest.mark.slow)


# One for every run, the others with the slow tests.
CLASSIFICATION = ["heart_scale", *map(slow, ("ionosphere", "diabetes", "fourclass", "a1a"))]


def load_dense(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return features and labels of a classification set."""
    if name == "diabetes":
        X, y = load_svm(folder / "diabetes" / "diabetes_scale.svm", n_features=8)
    else:
        data = load_classification(name, folder)
        X, y = data.X, data.y
    return X.toarray(), y
