"""Shift and scale that give columns mean 0 and standard deviation 1."""

import numpy as np


def standardizing(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means and standard deviations of the columns of a matrix.

    A constant column has its value and 1. Deviations are squared relative to the largest, which
    neither overflows nor vanishes; what is too large even so is not finite.

    Parameters
    ----------
    X : ndarray of shape (n_rows, n_columns)
        Finite numbers, one row at least.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        shift = X.mean(axis=0)
        constant = X.min(axis=0) == X.max(axis=0)
        shift[constant] = X[0, constant]
        deviations = np.abs(X - shift)
        largest = deviations.max(axis=0)
        unit = np.where(largest > 0, largest, 1.0)
        scale = unit * np.sqrt(np.mean((deviations / unit) ** 2, axis=0))
    scale[constant | (scale == 0)] = 1.0
    return shift, scale
