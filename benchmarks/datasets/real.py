"""Real data of two and more classes, dense; of large sets 2000 rows are drawn."""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from taupath.datasets import load_classification, load_paper

__all__ = ["MOST_ROWS", "load", "scaled"]

# Rows that are drawn of larger sets.
MOST_ROWS = 2000


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features, dense, and labels of a real set; large ones are cut."""
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "diabetes":
        data = load_paper(name)
        X, y = (
            np.concatenate([getattr(data, f"{what}_{part}") for part in ("train", "valid", "test")])
            for what in "Xy"
        )
        return X, y
    found = load_classification(name)
    X, y = found.X.toarray(), found.y
    if len(y) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X[rows], y[rows]
    return X, y


def scaled(X_train: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardise columns by the training part; leave features alone that are all 0 or 1."""
    if np.isin(X_train, (0.0, 1.0)).all():
        return X_train, X_test
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test)
