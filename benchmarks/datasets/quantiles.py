"""Made-up data for quantile regression, as many and as wide as wanted.

X is standard normal, and so are β and ε; y = Xβ + ε (1 + 0.3 |x_0|).
"""

import numpy as np
from task import Task


def heteroscedastic(
    n_samples: int, n_features: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y as the head of this file says."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_samples, n_features))
    beta, noise = rng.standard_normal(n_features), rng.standard_normal(n_samples)
    return X, X @ beta + noise * (1.0 + 0.3 * np.abs(X[:, 0]))


def load(n_samples: int = 1000, n_features: int = 9, C: float = 1.0) -> Task:
    """Return quantile regression with a free intercept."""
    X, y = heteroscedastic(n_samples, n_features)
    return Task(f"quantiles {n_samples} × {n_features}", "regression", X, y, C, intercept="free")
