"""From what mistakes cost to the τ, or the class, that costs least."""

from typing import Any

import numpy as np

__all__ = ["check_cost_matrix", "check_taus", "costs_to_tau", "least_cost_class", "matrix_to_costs"]


def _real(value: Any, name: str) -> np.ndarray:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number or an array of numbers, got {value!r}") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} must be finite, got {value!r}")
    return array


def _one_or_each(array: np.ndarray, name: str, n_samples: int) -> np.ndarray:
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n_samples):
        raise ValueError(
            f"{name} must be a number or have shape ({n_samples},), got shape {array.shape}"
        )
    return array


def check_taus(tau: Any, name: str, n_samples: int) -> np.ndarray:
    """Return a τ for all samples (no dimension), or one for each."""
    taus = _one_or_each(_real(tau, name), name, n_samples)
    outside = (taus < 0.0) | (taus > 1.0)
    if outside.any():
        raise ValueError(f"{name} must lie in [0, 1], got {float(taus[outside].flat[0])!r}")
    return taus


def costs_to_tau(cost_fp: Any, cost_fn: Any, n_samples: int) -> np.ndarray:
    """Return τ = cost_fp / (cost_fp + cost_fn): one for all samples, or one for each.

    Parameters
    ----------
    cost_fp, cost_fn : float or array-like of shape (n_samples,)
        What a false positive (a false alarm) and a false negative (a miss) cost.
    n_samples : int
        How many there are.
    """
    if cost_fp is None or cost_fn is None:
        missing = "cost_fp" if cost_fp is None else "cost_fn"
        raise ValueError(f"cost_fp and cost_fn go together, {missing} is missing")
    costs = {}
    for name, cost in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        costs[name] = _one_or_each(_real(cost, name), name, n_samples)
        if (costs[name] < 0.0).any():
            raise ValueError(f"{name} must not be negative, got {float(costs[name].min())!r}")
    largest = np.maximum(costs["cost_fp"], costs["cost_fn"])
    if (largest == 0.0).any():
        raise ValueError("cost_fp and cost_fn are both 0: then every decision is as good")
    fp, fn = costs["cost_fp"] / largest, costs["cost_fn"] / largest
    return np.asarray(fp / (fp + fn))


def check_cost_matrix(cost_matrix: Any, n_samples: int, n_classes: int) -> np.ndarray:
    """Return a matrix for all samples, or one for each."""
    costs = _real(cost_matrix, "cost_matrix")
    one, each = (n_classes, n_classes), (n_samples, n_classes, n_classes)
    if costs.shape not in (one, each):
        raise ValueError(
            f"cost_matrix must have shape {one}, or {each} for one matrix per sample, "
            f"got {costs.shape}"
        )
    return costs


def matrix_to_costs(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return what a false positive and a false negative cost more than the right decision.

    Of matrices for two classes, rows for the true one and columns for the predicted one.
    """
    return costs[..., 0, 1] - costs[..., 0, 0], costs[..., 1, 0] - costs[..., 1, 1]


def least_cost_class(proba: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the column of a cost matrix with the least expected cost, for each sample.

    Parameters
    ----------
    proba : ndarray of shape (n_samples, n_classes)
        Probabilities of the classes.
    costs : ndarray of shape (n_classes, n_classes) or (n_samples, n_classes, n_classes)
        [i, j] is the cost of predicting class j where i is true.
    """
    expected = np.einsum("ni,...ij->nj" if costs.ndim == 2 else "ni,nij->nj", proba, costs)
    return np.asarray(expected.argmin(axis=1))
