"""The pinball loss of predicted quantiles, over all levels at once."""

import numpy as np

from taupath.estimators.rearrangement import ROWS_REARRANGED_AT_ONCE, increasing_rearrangement
from taupath.paths.blocks import slices
from taupath.paths.path import SolutionPath
from taupath.validation import Checked


def pinball_over_levels(path: SolutionPath, X: Checked, y: np.ndarray) -> np.ndarray:
    """Return ∫ max(τ (y - q), (τ - 1) (y - q)) dτ over [0, 1] for each sample, exactly.

    q is the predicted quantile of level τ: rearranged, as `QuantileSVR.predict` returns it. Twice
    the integral is the continuous ranked probability score (CRPS).
    """
    losses = np.empty(X.shape[0])
    for some in slices(X.shape[0], ROWS_REARRANGED_AT_ONCE):
        taus, values = path.values_at_nodes(X[some])
        for i, row in enumerate(values, start=some.start):
            losses[i] = integrated_pinball(*increasing_rearrangement(taus, row), y[i])
    return losses


def integrated_pinball(levels: np.ndarray, values: np.ndarray, y: float) -> float:
    """Return the integral for one y and a quantile function that is linear between its levels.

    With e = q - y the integrand is max(e, 0) - τ e. On each piece, max(e, 0) is linear where e
    keeps its sign. Elsewhere it is a triangle, a share of the trapezium of its ends.
    """
    width, low, high = np.diff(levels), values[:-1] - y, values[1:] - y
    begin, end = levels[:-1], levels[1:]
    above, rise = np.maximum(low, 0.0) + np.maximum(high, 0.0), high - low
    share = np.ones(len(width))
    across = (low < 0.0) & (high > 0.0)
    share[across] = high[across] / rise[across]
    moment = (begin * (2.0 * low + high) + end * (low + 2.0 * high)) / 6.0
    return float(width @ (0.5 * above * share - moment))
