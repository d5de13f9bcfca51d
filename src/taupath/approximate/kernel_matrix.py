"""The kernel matrix of all samples: kept if it fits, else computed in tiles."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg.blas import daxpy, dsymv

from taupath.approximate.array_libraries import Library
from taupath.approximate.rounding import summation_depth
from taupath.paths.blocks import slices
from taupath.paths.kernels import Kernel

# Bytes of a tile: on the host it stays in the cache between being computed and being used; a GPU
# needs large ones to be busy.
TILE_ON_HOST, TILE_ON_DEVICE = 4_000_000, 1_000_000_000
# If more than one in so many rows are asked for, multiplying all of them is quicker than picking.
PICKED = 3
# Rows that are added up before their sum is added to others: rounding errors stay small.
ROWS_ADDED = 64
# Samples whose system is solved by a factorisation, at most; with more, by conjugate gradients.
# A factorisation of 1500 takes about 0.1 s on the host; a GPU is some hundred times faster. Neither
# limit was tuned.
FACTORED_ON_HOST, FACTORED_ON_DEVICE = 1500, 12_000
# Conjugate gradients stop at this part of the right-hand side, or after so many iterations: the
# step need not be more accurate than the piecewise quadratic is quadratic.
PART_LEFT = 1e-3
MAX_ITERATIONS = 300
# Columns of the matrix in the preconditioner: they hold most of what a smooth kernel has.
PRECONDITIONER_COLUMNS = 128

# Returns k(x_i, x_j) for some i and some j, as an array of the library.
Block = Callable[[Any, Any], Any]


class KernelMatrix:
    """K, with k(x_i, x_j) for all pairs of n samples, on the device of a library.

    It is kept if it takes at most `budget` bytes. `rows_used` counts the rows that products
    and systems have used.
    """

    def __init__(self, n: int, block: Block, budget: float, library: Library) -> None:
        self.n, self._block, self._budget, self._library = n, block, budget, library
        self.kept = 8.0 * n * n <= budget
        self.rows_used = 0
        self.tile = TILE_ON_HOST if library.on_host else TILE_ON_DEVICE
        if not self.kept:
            self.tile = int(min(self.tile, max(0.25 * budget, 8 * n)))
        self._all: Any = None

    def _matrix(self) -> Any:
        """Return all of K, computed once."""
        if self._all is None:
            whole = self._block(slice(None), slice(None)) if self._library.on_host else None
            if whole is None:
                whole = self._library.empty((self.n, self.n))
                for some in self._tiles(self.n, self.n):
                    whole[some, :] = self._block(some, slice(None))
            self._all = whole
        return self._all

    def _tiles(self, n_rows: int, n_columns: int) -> list[slice]:
        """Return the rows of each tile."""
        return list(slices(n_rows, max(self.tile // (8 * max(n_columns, 1)), 1)))

    def _between(self, one: np.ndarray, other: np.ndarray) -> Any:
        if self.kept and self._library.on_host:
            return self._matrix()[np.ix_(one, other)]
        if self.kept:
            return self._library.take(self._library.take(self._matrix(), one, 0), other, 1)
        return self._block(one, other)

    def _rows(self, members: np.ndarray) -> Any:
        if self.kept:
            return self._library.take(self._matrix(), members, 0)
        return self._block(members, slice(None))

    def times(self, coef: np.ndarray) -> np.ndarray:
        """Return K times each row of `coef`, shape (q, n)."""
        used = np.flatnonzero(coef.any(axis=0))
        if PICKED * len(used) < self.n or not self.kept:
            return self.combine(used, np.ascontiguousarray(coef[:, used]))
        self.rows_used += self.n
        library, found = self._library, np.empty_like(coef)
        if library.on_host:
            # K is symmetric, and LAPACK stores by columns: half of it is read
            for row, out in zip(coef, found, strict=True):
                out[:] = dsymv(1.0, self._matrix().T, row)
            return found
        right, whole = library.send(np.ascontiguousarray(coef.T)), self._matrix()
        for some in self._tiles(self.n, self.n):
            found[:, some] = library.fetch(whole[some, :] @ right).T
        return found

    def combine(self, members: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return Σ_j coef_qj K_j over the members j, shape (q, n), for coef of shape (q, m)."""
        if self.kept and PICKED * len(members) >= self.n:
            whole = np.zeros((len(coef), self.n))
            whole[:, members] = coef
            return self.times(whole)
        self.rows_used += len(members)
        library = self._library
        if self.kept and library.on_host:
            return self._added_up(members, coef)
        found = library.send(np.zeros((len(coef), self.n)))
        for some in self._tiles(len(members), self.n):
            part = library.send(np.ascontiguousarray(coef[:, some]))
            found = found + part @ self._rows(members[some])
        return library.fetch(found)

    def _added_up(self, members: np.ndarray, coef: np.ndarray) -> np.ndarray:
        """Return Σ_j coef_qj K_j from rows in the memory of the host, none of which is copied."""
        whole, found = self._matrix(), np.zeros((len(coef), self.n))
        for row, out in zip(coef, found, strict=True):
            used = np.flatnonzero(row)
            for some in slices(len(used), ROWS_ADDED):
                part = np.zeros(self.n)
                for k in used[some]:
                    daxpy(whole[members[k]], part, a=row[k])
                out += part
        return found

    def roundings(self, m: int) -> int:
        """Return how many roundings a term of `combine` with m members goes through."""
        if self.kept and self._library.on_host and PICKED * m < self.n:
            return summation_depth(m, ROWS_ADDED)
        return self.n  # in any order

    # -- systems -------------------------------------------------------------------------------

    def solve(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Solve (K_AA + constant + diag) X = right, shape (m, q), for the members A.

        By a factorisation, or with many members by conjugate gradients, up to PART_LEFT.
        """
        self.rows_used += len(members)
        most = FACTORED_ON_HOST if self._library.on_host else FACTORED_ON_DEVICE
        if not self.kept:
            most = min(most, int(np.sqrt(self._budget / 32.0)))  # the matrix, and room to work
        if len(members) <= most:
            return self._factored(members, constant, diagonal, right)
        return self._by_conjugate_gradients(members, constant, diagonal, right)

    def _factored(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Solve by a Cholesky factorisation.

        If rounding has left the matrix indefinite, a multiple of the identity is added: the step
        is then not Newton's, but still downhill.
        """
        library, added = self._library, 0.0
        sent, m = library.send(right), len(members)
        while True:
            matrix = self._between(members, members)
            matrix += constant
            if library.on_host:
                matrix.flat[:: m + 1] += diagonal + added
            else:
                matrix = matrix + library.diagonal(diagonal + added)
            found = library.solve_positive(matrix, sent)
            if found is not None:
                return found
            added = 10.0 * added or 1e-15 * m * (float(np.abs(diagonal).max()) + m)

    def _by_conjugate_gradients(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Solve for each column of `right`, preconditioned by some columns of the matrix."""
        apply = self._operator(members, constant, diagonal)
        precondition = self._preconditioner(members, constant, diagonal)
        found = np.zeros_like(right)
        for k in range(right.shape[1]):
            x, r = np.zeros(len(right)), right[:, k].copy()
            enough = PART_LEFT * float(np.linalg.norm(r))
            z = precondition(r)
            p, size = z.copy(), float(r @ z)
            for _ in range(MAX_ITERATIONS):
                if float(np.linalg.norm(r)) <= enough:
                    break
                image = apply(p)
                length = size / float(p @ image)
                x += length * p
                r -= length * image
                z = precondition(r)
                before, size = size, float(r @ z)
                p = z + size / before * p
            found[:, k] = x
        return found

    def _operator(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function v ↦ (K_AA + constant + diag) v."""
        library, m = self._library, len(members)
        tiles = self._tiles(m, m)
        fits = self.kept or 16.0 * m * m <= self._budget
        parts = [self._between(members[some], members) for some in tiles] if fits else None

        def apply(v: np.ndarray) -> np.ndarray:
            sent = library.send(v)
            rows = parts or (self._between(members[some], members) for some in tiles)
            found = np.concatenate([library.fetch(part @ sent) for part in rows])
            return np.asarray(found + constant * float(v.sum()) + diagonal * v)

        return apply

    def _preconditioner(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return an approximate inverse: that of Nyström's matrix of some columns, + diag."""
        m = len(members)
        most = PRECONDITIONER_COLUMNS
        if not self.kept:
            most = max(min(most, int(self._budget / (16.0 * m))), 1)
        chosen = np.unique(np.linspace(0, m - 1, most).astype(np.intp))
        columns = self._library.fetch(self._between(members, members[chosen])) + constant
        corner = columns[chosen]
        values, vectors = np.linalg.eigh(0.5 * (corner + corner.T))
        good = values > 1e-10 * values[-1]
        half = columns @ (vectors[:, good] / np.sqrt(values[good]))  # half halfᵀ is Nyström's
        scaled = half / diagonal[:, np.newaxis]
        inner = np.linalg.inv(np.eye(half.shape[1]) + half.T @ scaled)

        def precondition(r: np.ndarray) -> np.ndarray:
            return np.asarray(r / diagonal - scaled @ (inner @ (scaled.T @ r)))

        return precondition


def device_block(kernel: Kernel, X: Any, library: Library) -> Block:
    """Return the function that computes blocks of a kernel on the device of a library.

    A kernel that is a function of the user's gets arrays of NumPy; its values are sent.
    """
    if kernel.precomputed:
        return lambda one, other: library.send(np.ascontiguousarray(X[one][:, other]))
    dense = isinstance(X, np.ndarray)
    if not (dense and kernel.known):
        if dense or not kernel.known:
            return lambda one, other: library.send(kernel(X[one], X[other]))
        X = X.toarray()
    if kernel.function == "rbf":
        return _rbf_block(kernel.gamma, np.asarray(X), library)
    xp, sent = library.xp, library.send(np.asarray(X))

    def block(one: Any, other: Any) -> Any:
        some, others = _picked(library, sent, one), _picked(library, sent, other)
        products = kernel.gamma * (some @ others.T) + kernel.coef0
        return xp.tanh(products) if kernel.function == "sigmoid" else products**kernel.degree

    return block


def _rbf_block(gamma: float, X: np.ndarray, library: Library) -> Block:
    """Return blocks of exp(-γ ‖a - b‖²): one product with two more columns gives the exponents."""
    xp = library.xp
    X = np.sqrt(2.0 * gamma) * (X - X.mean(axis=0))  # less to round
    half, ones = -0.5 * np.square(X).sum(axis=1), np.ones(len(X))
    left = library.send(np.column_stack((X, half, ones)))
    right = library.send(np.column_stack((X, ones, half)))

    def block(one: Any, other: Any) -> Any:
        exponent = _picked(library, left, one) @ _picked(library, right, other).T
        return xp.exp(xp.clip(exponent, None, 0.0))

    return block


def _picked(library: Library, array: Any, which: Any) -> Any:
    return array[which, :] if isinstance(which, slice) else library.take(array, which, 0)
