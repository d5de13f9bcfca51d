"""Quantiles of a random forest, by the package quantile-forest, for the study of intervals."""

from importlib.util import find_spec

import numpy as np

__all__ = ["forest_quantiles", "installed"]

TREES = 300
# Samples in a leaf at least; the forests' usual 1 makes narrower intervals.
LEAF = 5


def installed() -> bool:
    """Return whether the package is there."""
    return find_spec("quantile_forest") is not None


def forest_quantiles(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, quantiles: tuple[float, ...]
) -> np.ndarray:
    """Return these quantiles of test samples, one column each."""
    from quantile_forest import RandomForestQuantileRegressor

    forest = RandomForestQuantileRegressor(
        n_estimators=TREES, min_samples_leaf=LEAF, random_state=0
    ).fit(X, y)
    return np.asarray(forest.predict(X_test, quantiles=list(quantiles)))
