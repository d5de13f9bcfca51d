"""The kernel matrix of all samples: kept if it fits, else computed in tiles."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath._core._kernel_sums import add_rows, lower_triangle
from taupath.approximate.array_libraries import Library
from taupath.approximate.rounding import EPS, EPS_SINGLE, summation_depth
from taupath.paths.blocks import slices

# Bytes of a tile: on the host it stays in the cache between being computed and being used; a GPU
# needs large ones to be busy.
TILE_ON_HOST, TILE_ON_DEVICE = 4_000_000, 1_000_000_000
# A matrix is kept if this many times its size is within the budget: the rest is for Newton systems.
WITH_SYSTEMS = 1.25
# With more vectors than this, one product with all of K is quicker than adding up rows for each.
FEW_VECTORS = 4
# Rows that are added up before their sum is added to others: rounding errors stay small.
ROWS_ADDED = 64

# Returns k(x_i, x_j) for some i and some j, as an array of the library.
Block = Callable[[Any, Any], Any]


class KernelMatrix:
    """K, with k(x_i, x_j) for all pairs of n samples, on the device of a library.

    It is kept if it fits into `budget` bytes: in double precision, or on a device in single
    precision, in which case `times` computes it again. `whole` is the matrix itself if it is
    known. `rows_used` counts the rows that products and systems have used.
    """

    def __init__(
        self, n: int, block: Block, budget: float, library: Library, whole: Any = None
    ) -> None:
        self.n, self.block, self.library = n, block, library
        self.entry = 0  # bytes of a kept entry
        for size in _entries(library):
            if WITH_SYSTEMS * size * n * n <= budget:
                self.entry = size
                break
        self.room = budget - self.entry * n * n  # bytes for systems
        self.rows_used = 0
        self.tile = TILE_ON_HOST if library.on_host else TILE_ON_DEVICE
        if library.on_host or not self.entry:
            self.tile = int(min(self.tile, max(0.25 * self.room, 8 * n)))
        self._all = whole

    @property
    def kept(self) -> bool:
        """Whether the matrix is in memory."""
        return self.entry > 0

    def whole(self) -> Any:
        """Return all of K, computed once."""
        if self._all is None:
            if self.library.on_host:
                self._all = self.block(slice(None), slice(None))
            else:
                whole = self.library.empty((self.n, self.n), single=self.entry == 4)
                for some in self.tiles(self.n, self.n):
                    whole[some, :] = self._rounded(self.block(some, slice(None)))
                self._all = whole
        return self._all

    def _rounded(self, block: Any) -> Any:
        return self.library.single(block) if self.entry == 4 else block

    def tiles(self, n_rows: int, n_columns: int) -> list[slice]:
        """Return the rows of each tile."""
        return list(slices(n_rows, max(self.tile // (8 * max(n_columns, 1)), 1)))

    def between(self, one: np.ndarray, other: np.ndarray) -> Any:
        """Return k(x_i, x_j) for some i and j, in the precision that the matrix is kept in."""
        if self.kept:
            return self.library.submatrix(self.whole(), one, other)
        return self.block(one, other)

    def lower_triangle(self, members: np.ndarray) -> Any:
        """Return k(x_i, x_j) for some i and j, as doubles that may be overwritten.

        Of a matrix that is kept on the host only the lower triangle.
        """
        if self.library.on_host and self.kept:
            found = np.zeros((len(members), len(members)))
            lower_triangle(self.whole(), members, found)
            return found
        return self.library.double(self.between(members, members))

    # -- products ------------------------------------------------------------------------------

    def times(self, coef: np.ndarray) -> np.ndarray:
        """Return K times each row of `coef`, shape (q, n), in double precision."""
        used = np.flatnonzero(coef.any(axis=0))
        if self.library.on_host and self.kept and len(coef) > FEW_VECTORS:
            self.rows_used += self.n
            return np.asarray(coef @ self.whole())
        return self._added_up(used, np.ascontiguousarray(coef[:, used]), self.entry == 8)

    def combine(self, members: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return Σ_j coef_qj K_j over the members j, shape (q, n), for coef of shape (q, m).

        In the precision that the matrix is kept in.
        """
        return self._added_up(members, coef, self.kept)

    def _added_up(self, members: np.ndarray, coef: np.ndarray, kept: bool) -> np.ndarray:
        """Return sums of rows, which are `kept` or computed."""
        library = self.library
        self.rows_used += len(members)
        if kept and library.on_host:
            return self._added_up_on_host(members, coef)
        if kept:
            found = [self._sum_of_kept_rows(members, row) for row in coef]
            return library.fetch(library.xp.stack(found))
        sent, found = library.send(coef), library.send(np.zeros((len(coef), self.n)))
        for some in self.tiles(len(members), self.n):
            found = found + sent[:, some] @ self.block(members[some], slice(None))
        return library.fetch(found)

    def _sum_of_kept_rows(self, members: np.ndarray, coef: np.ndarray) -> Any:
        """Return the sum of kept rows on a device, where it stays."""
        library, used = self.library, np.flatnonzero(coef)
        parts = [
            library.weighted_rows(self.whole(), members[used[some]], coef[used[some]])
            for some in self.tiles(len(used), self.n)
        ]
        return sum(parts[1:], parts[0]) if parts else library.send(np.zeros(self.n))

    def _added_up_on_host(self, members: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return sums of rows in the memory of the host, none of which is copied."""
        whole, found = self.whole(), np.zeros((len(coef), self.n))
        for row, out in zip(coef, found, strict=True):
            used = np.flatnonzero(row)
            for some in slices(len(used), ROWS_ADDED):
                part = np.zeros(self.n)
                add_rows(whole, members[used[some]], row[used[some]], part)
                out += part
        return found

    def rounding(self, m: int, exactly: bool = False) -> float:
        """Return the largest relative error of a term of `combine`, or of `times`, of m rows."""
        if self.library.on_host:
            quick = self.kept and not exactly
            return EPS * (summation_depth(m, ROWS_ADDED) if quick else self.n)  # or in any order
        at_a_time = max(self.tile // (8 * self.n), 1)
        depth = summation_depth(self.n, at_a_time)
        if exactly or self.entry != 4:
            return EPS * depth
        return EPS_SINGLE * (2 + min(at_a_time, self.n)) + EPS * depth


def _entries(library: Library) -> tuple[int, ...]:
    """Return the sizes of entries that a matrix may be kept with, the best first."""
    return (8,) if library.on_host else (8, 4)


def least_budget(n: int, library: Library) -> float:
    """Return the bytes from which on the kernel matrix of n samples is kept."""
    return WITH_SYSTEMS * min(_entries(library)) * n * n
