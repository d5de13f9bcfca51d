"""In which metric w is measured: the tighter, the fewer points have to be looked at.

For every invertible R, |<z_i, Δw>| ≤ ‖R⁻ᵀ z_i‖ ‖R Δw‖. With RᵀR the second moments of the rows,
‖R Δw‖ is the root mean square of what Δw does to the margins, and the bound is about √d times
what really happens, however the columns are scaled and however they depend on each other. Plain
lengths are worse by the spread of the eigenvalues, where w moves in the narrow directions.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taupath._core._rows import Rows

__all__ = ["Metric", "natural_metric"]

# Rows at a time.
BLOCK = 8192
# Part of the mean diagonal entry that is added to it, once columns are scaled: it keeps R far
# from singular, and 1 + UPWARD covers what rounding can then do to a length.
RIDGE = 1e-8
UPWARD = 1e-6


@dataclass(frozen=True)
class Metric:
    """A way to measure w, and the rows' lengths that go with it.

    Attributes
    ----------
    R : ndarray of shape (n_cols, n_cols)
        Upper triangular; w is as long as ‖R w‖.
    length : ndarray of shape (n_rows,)
        ‖R⁻ᵀ z_i‖, rounded up.
    """

    R: np.ndarray
    length: np.ndarray


def natural_metric(rows: Rows) -> Metric:
    """Return the metric of the rows' second moments."""
    moments = np.zeros((rows.n_cols, rows.n_cols))
    for block in _blocks(rows):
        moments += block.T @ block
    scale = np.sqrt(np.diag(moments))
    scale[scale == 0.0] = 1.0
    moments /= np.outer(scale, scale)
    moments.flat[:: rows.n_cols + 1] += RIDGE
    R = np.linalg.cholesky(moments).T * scale
    inverse = np.linalg.inv(R)
    squared = [np.square(block @ inverse).sum(axis=1) for block in _blocks(rows)]
    return Metric(np.ascontiguousarray(R), (1.0 + UPWARD) * np.sqrt(np.concatenate(squared)))


def _blocks(rows: Rows) -> Iterator[np.ndarray]:
    for first in range(0, rows.n_rows, BLOCK):
        yield rows.block(np.arange(first, min(first + BLOCK, rows.n_rows), dtype=np.int32))
