"""How often predicted probabilities come true: shares of the positive class, bin by bin."""

from typing import Any, NamedTuple

import numpy as np

from taupath.validation import check_choice, check_integer

# The 97.5 % quantile of the standard normal distribution, for intervals of 95 %.
Z_95 = 1.959963984540054


class ReliabilityBins(NamedTuple):
    """Bins of predicted probabilities, one row each; bins without samples are left out."""

    prob_true: np.ndarray  # share of positive samples
    prob_pred: np.ndarray  # mean predicted probability
    interval: np.ndarray  # Wilson's 95 % interval of the share, (n_bins, 2)
    counts: np.ndarray  # number of samples
    edges: np.ndarray  # where the bin begins and ends, (n_bins, 2)


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
