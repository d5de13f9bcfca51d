"""A warning of quantile regressions that miss a pattern in their own training samples."""

import warnings

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from taupath.exceptions import MissedPatternWarning, levels_to_the_caller
from taupath.paths.path import SolutionPath
from taupath.validation import Checked

# Quantiles that are looked at, and neighbours of each sample.
LEVELS, NEIGHBOURS = (0.25, 0.5, 0.75), 5
# Samples that are looked at: with fewer, chance could look like a pattern; of more, some are drawn.
FEWEST_SAMPLES, MOST_SAMPLES = 30, 1000
# A pattern is a correlation between neighbours of at least this, and this many standard errors from
# 0. On 80 simulated linear, heteroscedastic sets, linear paths stayed below 3 errors; on real sets
# most fits with a loss 15 % above the best have 5 to 20 (`python benchmarks/quantiles.py` counts).
PATTERN, ERRORS_AWAY = 0.1, 4.0
# Samples closer to a quantile than this part of the deviation of y lie on it.
ON_THE_QUANTILE = 1e-6
MESSAGE = (
    "samples that are close in X tend to lie on the same side of the predicted quantiles, so this "
    "model misses a pattern. QuantileSVRCV standardises X and chooses kernel, C and gamma; or try "
    "StandardScaler, kernel='rbf' and a larger C"
)


def warn_of_missed_pattern(path: SolutionPath, X: Checked, y: np.ndarray) -> None:
    """Warn if neighbours lie on the same side of quantiles much more often than by chance."""
    if sparse.issparse(X.features) or len(y) < FEWEST_SAMPLES:
        return
    some = np.arange(len(y))
    if len(y) > MOST_SAMPLES:
        some = np.sort(np.random.default_rng(0).choice(len(y), MOST_SAMPLES, replace=False))
    X, y = X[some], y[some]
    residual = y[:, np.newaxis] - path.decision_function(X, np.array(LEVELS))
    residual[np.abs(residual) <= ON_THE_QUANTILE * y.std()] = 0.0
    correlation, errors = agreement(X.features, residual)
    if np.any((correlation >= PATTERN) & (errors >= ERRORS_AWAY)):
        warnings.warn(MESSAGE, MissedPatternWarning, stacklevel=levels_to_the_caller())


def agreement(features: np.ndarray, residual: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return for each column of residuals at `LEVELS` how much neighbours agree in their sides.

    The first is the correlation of τ - 1{residual < 0} between a sample and its neighbours in
    standardised features (Moran's I), the second the same in standard errors. Samples in the same
    place are not neighbours: copies agree in any case.
    """
    side = np.where(residual == 0.0, 0.0, np.array(LEVELS) - (residual < 0.0))
    deviation = features.std(axis=0)
    standardized = (features - features.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    # the nearest one is the sample itself
    distance, which = KDTree(standardized).query(standardized, min(2 * NEIGHBOURS + 1, len(side)))
    apart = distance > 0.0
    apart &= np.cumsum(apart, axis=1) <= NEIGHBOURS
    i, j = np.nonzero(apart)[0], which[apart]
    spread = (side**2).mean(axis=0)
    if len(i) == 0:
        return np.zeros(len(LEVELS)), np.zeros(len(LEVELS))
    found = (side[i] * side[j]).mean(axis=0) / np.where(spread > 0.0, spread, 1.0)
    # most pairs are neighbours of each other, and then count twice
    return found, found * np.sqrt(0.5 * len(i))
