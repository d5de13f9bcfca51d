"""How often predicted probabilities come true: shares of the positive class, bin by bin."""

from typing import Any, NamedTuple

import numpy as np

from taupath.validation import check_choice, check_integer

# The 97.5 % quantile of the standard normal distribution, for intervals of 95 %.
Z_95 = 1.959963984540054


class ReliabilityBins(NamedTuple):
    """Bins of predicted probabilities; those without samples are left out.

    Attributes
    ----------
    prob_true, prob_pred : ndarray of shape (n_bins,)
        Share of positive samples, and mean predicted probability.
    interval : ndarray of shape (n_bins, 2)
        95 % interval of the share (Wilson's).
    counts : ndarray of int of shape (n_bins,)
        Number of samples.
    edges : ndarray of shape (n_bins, 2)
        Where each bin begins and ends.
    """

    prob_true: np.ndarray
    prob_pred: np.ndarray
    interval: np.ndarray
    counts: np.ndarray
    edges: np.ndarray


def reliability_bins(
    positive: np.ndarray, proba: np.ndarray, n_bins: Any, strategy: Any = "uniform"
) -> ReliabilityBins:
    """Return the shares of positive samples in bins of their predicted probabilities.

    Bins have the same width ("uniform") or the same number of samples ("quantile").
    """
    check_choice(strategy, "strategy", ("uniform", "quantile"))
    edges = np.linspace(0.0, 1.0, check_integer(n_bins, "n_bins", least=1) + 1)
    if strategy == "quantile":
        edges = np.unique(np.quantile(proba, edges))
    # Bins include their right end, as in `sklearn.calibration.calibration_curve`.
    which = np.searchsorted(edges[1:-1], proba)
    counts = np.bincount(which, minlength=max(len(edges) - 1, 1))
    filled = counts > 0
    n = counts[filled]
    share = np.bincount(which, positive, minlength=len(counts))[filled] / n
    mean = np.bincount(which, proba, minlength=len(counts))[filled] / n
    bounds = np.column_stack((edges[:-1], edges[1:])) if len(edges) > 1 else edges[[[0, 0]]]
    return ReliabilityBins(share, mean, _wilson(share, n), n, bounds[filled])


def _wilson(share: np.ndarray, n: np.ndarray) -> np.ndarray:
    """Return Wilson's 95 % interval of a probability, given the share observed in n trials."""
    z2 = Z_95**2 / n
    middle = (share + 0.5 * z2) / (1.0 + z2)
    half = np.sqrt(share * (1.0 - share) * z2 + 0.25 * z2**2) / (1.0 + z2)
    return np.clip(np.column_stack((middle - half, middle + half)), 0.0, 1.0)
