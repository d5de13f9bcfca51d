"""Two overlapping classes of Gaussian samples, as many and as wide as wanted.

x has independent standard normal entries; β is a random vector of length 1, and y = sign(β.x + ε)
with ε standard normal, so that a quarter of the labels lie on the wrong side of the true boundary.
"""

import numpy as np
from task import Task


def gaussian_classes(
    n_samples: int, n_features: int, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y as the head of this file says."""
    rng = np.random.default_rng(seed)
    direction = rng.standard_normal(n_features)
    direction /= np.linalg.norm(direction)
    X = rng.standard_normal((n_samples, n_features))
    noise = rng.standard_normal(n_samples)
    return X, np.where(X @ direction + noise > 0.0, 1.0, -1.0)


def load(
    n_samples: int = 2000,
    n_features: int = 20,
    C: float = 0.1,
    gamma: float = 0.0,
    intercept: str = "augmented",
) -> Task:
    """Return the SVM on such samples; with a γ, the one with the RBF kernel."""
    X, y = gaussian_classes(n_samples, n_features)
    name = f"gaussian {n_samples} × {n_features}" + (", RBF" if gamma else "")
    kernel = "rbf" if gamma else "linear"
    return Task(name, "classification", X, y, C, kernel, gamma, intercept)
