"""The metric that w is measured in: the tighter its bounds, the fewer points are evaluated.

For every invertible R, |<z_i, Δw>| ≤ ‖R⁻ᵀ z_i‖ ‖R Δw‖. With RᵀR the second moments of the rows,
‖R Δw‖ is the root mean square change of the margins, and the bound is about √d times the true
change, however the columns are scaled and correlated. Plain lengths can be worse by the spread of
the eigenvalues, if w moves in the narrow directions.

If targets move, too, slacks change by <(z_i, -ṗ_i), (Δw, Δt)>: t is one more column.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.tolerances import ABSENT_COLUMN, LENGTH_ROUNDED_UP, METRIC_RIDGE

# Rows that are made dense at a time: 8 MB with 128 columns.
METRIC_BLOCK = 8192


@dataclass(frozen=True)
class Metric:
    """A norm ‖R (w, t)‖ and the lengths of the rows in its dual norm."""

    R: np.ndarray  # upper triangular; zero for t if the targets rest
    length: np.ndarray  # ‖R⁻ᵀ (z_i, -ṗ_i)‖ of each row, rounded up


def natural_metric(rows: Rows, line: Line) -> Metric:
    """Return the metric of the second moments of the rows that can meet the margin at all."""
    moving = bool(np.any(line.target_rate))
    size = rows.n_cols + moving
    used = (line.upper0 > line.lower0) | (line.upper1 > line.lower1)
    moments, largest = np.zeros((size, size)), np.zeros(size)
    # a single block is made only once
    only = list(_blocks(rows, line, moving)) if rows.n_rows <= METRIC_BLOCK else None
    for some, block in only or _blocks(rows, line, moving):
        largest = np.maximum(largest, np.abs(block).max(axis=0))
        block = block[used[some]]
        moments += block.T @ block
    # a column that only other rows have must not become so long for those that numbers overflow
    scale = np.maximum(np.sqrt(np.diag(moments)), ABSENT_COLUMN * largest)
    scale[scale == 0.0] = 1.0
    moments /= np.outer(scale, scale)
    moments.flat[:: size + 1] += METRIC_RIDGE
    R = np.linalg.cholesky(moments).T * scale
    inverse = np.linalg.inv(R)
    length = np.empty(rows.n_rows)
    for some, block in only or _blocks(rows, line, moving):
        length[some] = np.sqrt(np.square(block @ inverse).sum(axis=1))
    with_time = np.zeros((rows.n_cols + 1, rows.n_cols + 1))
    with_time[:size, :size] = R
    return Metric(with_time, LENGTH_ROUNDED_UP * length)


def _blocks(rows: Rows, line: Line, moving: bool) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the rows (z_i, -ṗ_i), some at a time."""
    for first in range(0, rows.n_rows, METRIC_BLOCK):
        some = slice(first, min(first + METRIC_BLOCK, rows.n_rows))
        block = rows.block(np.arange(some.start, some.stop, dtype=np.int32))
        yield some, np.column_stack([block, -line.target_rate[some]]) if moving else block
