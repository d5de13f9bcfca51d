"""Newton's systems of equations: those of the kernel matrix of some samples, plus a diagonal."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from taupath.approximate.kernel_matrix import KernelMatrix

# Samples whose system is solved by a factorisation, at most; with more, by conjugate gradients.
# A factorisation then takes 60 ms on one core of the host and 7 to 33 ms on an H200. There its size
# is an eighth of all samples, between these two: with 12 000 a path of 32 561 samples took a fifth
# longer than with 5000, but one of 100 000 took a fifth less.
FACTORED_ON_HOST, FACTORED_ON_DEVICE = 1500, (5000, 12_000)
# Conjugate gradients stop at this part of the right-hand side, or after so many iterations. With
# 1e-3 each step takes fewer of these, but there are up to twice as many steps.
PART_LEFT = 1e-6
MAX_ITERATIONS = 300
# Samples whose columns make the preconditioner: they hold most of what a smooth kernel has.
LANDMARKS_ON_HOST, LANDMARKS_ON_DEVICE = 128, 1024
# The part of the room for systems that the columns of the landmarks may take.
ROOM_FOR_LANDMARKS = 0.1
# Added to the diagonal of the landmarks' matrix, relative to it: copies would make it singular.
LANDMARK_RIDGE = 1e-8
# Conjugate gradients use single precision unless an entry of the diagonal, relative to the largest
# k(x, x), is smaller than this: rounding the matrix could make it indefinite.
SINGLE_FROM = 1e-3

# A linear map of an array of the library.
Map = Callable[[Any], Any]


class KernelSystems:
    """Solves (K_AA + constant + diag) X = right for some samples A of a kernel matrix."""

    def __init__(self, matrix: KernelMatrix) -> None:
        self.matrix, self.largest = matrix, 0
        self._half: Any = None
        self._scale = 1.0

    def solve(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Return X, shape (m, q): by a factorisation, or with many members up to PART_LEFT."""
        matrix = self.matrix
        matrix.rows_used += len(members)
        self.largest = max(self.largest, len(members))
        most = FACTORED_ON_HOST
        if not matrix.library.on_host:
            most = int(np.clip(matrix.n // 8, *FACTORED_ON_DEVICE))
        most = min(most, int(np.sqrt(matrix.room / 32.0)))  # the system, and room to work
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
        library, added = self.matrix.library, 0.0
        sent, m = library.send(right), len(members)
        while True:
            system = self.matrix.lower_triangle(members)
            system += constant
            if library.on_host:
                system.flat[:: m + 1] += diagonal + added
            else:
                system += library.diagonal(diagonal + added)
            found = library.solve_positive(system, sent)
            if found is not None:
                return found
            added = 10.0 * added or 1e-15 * m * (float(np.abs(diagonal).max()) + m)

    def _by_conjugate_gradients(
        self, members: np.ndarray, constant: float, diagonal: np.ndarray, right: np.ndarray
    ) -> np.ndarray:
        """Solve for each column of `right`, preconditioned by the columns of the landmarks.

        All vectors stay on the device.
        """
        library = self.matrix.library
        on_diagonal = library.send(diagonal)
        precondition = self._preconditioner(members, constant, on_diagonal)
        single = float(diagonal.min()) >= SINGLE_FROM * self._scale
        apply = self._operator(members, constant, on_diagonal, single)
        found = []
        for column in right.T:
            residual = library.send(np.ascontiguousarray(column))
            enough = PART_LEFT**2 * float(residual @ residual)
            z = precondition(residual)
            x, p, size = 0.0 * z, z, float(residual @ z)
            for _ in range(MAX_ITERATIONS):
                if float(residual @ residual) <= enough:
                    break
                image = apply(p)
                bend = float(p @ image)
                if not bend > 0.0:  # rounding: what is solved so far must do
                    break
                length = size / bend
                x = x + length * p
                residual = residual - length * image
                z = precondition(residual)
                before, size = size, float(residual @ z)
                p = z + (size / before) * p
            found.append(library.fetch(x))
        return np.column_stack(found)

    def _operator(self, members: np.ndarray, constant: float, diagonal: Any, single: bool) -> Map:
        """Return the function v ↦ (K_AA + constant + diag) v."""
        library, m = self.matrix.library, len(members)
        rounded = library.single if single else library.double
        tiles = self.matrix.tiles(m, m)

        def tile(some: slice) -> Any:
            return rounded(self.matrix.between(members[some], members))

        fits = (4.0 if single else 8.0) * m * m + 2.0 * self.matrix.tile <= self.matrix.room
        parts = [tile(some) for some in tiles] if fits else None

        def apply(v: Any) -> Any:
            given = rounded(v)
            products = [part @ given for part in parts or map(tile, tiles)]
            product = library.double(library.concat(products))
            return product + constant * float(library.xp.sum(v)) + diagonal * v

        return apply

    def _preconditioner(self, members: np.ndarray, constant: float, diagonal: Any) -> Map:
        """Return an approximate inverse: that of Nyström's matrix of the landmarks, + diag."""
        library = self.matrix.library
        half = library.take(self._landmark_columns(), members, 0)
        half = library.concat((half, 0.0 * half[:, :1] + float(np.sqrt(constant))), axis=1)
        scaled = half / diagonal[:, None]
        inner = half.T @ scaled
        inner += library.diagonal(np.ones(inner.shape[0]))
        inverse = library.xp.linalg.inv(inner)

        def precondition(r: Any) -> Any:
            return r / diagonal - scaled @ (inverse @ (scaled.T @ r))

        return precondition

    def _landmark_columns(self) -> Any:
        """Return H, computed once: H Hᵀ is Nyström's approximation of K by the landmarks."""
        if self._half is None:
            matrix, library = self.matrix, self.matrix.library
            most = LANDMARKS_ON_HOST if library.on_host else LANDMARKS_ON_DEVICE
            most = max(min(most, int(ROOM_FOR_LANDMARKS * matrix.room / (8.0 * matrix.n))), 1)
            chosen = np.unique(np.linspace(0, matrix.n - 1, most).astype(np.intp))
            corner = library.fetch(library.double(matrix.between(chosen, chosen)))
            self._scale = float(corner.diagonal().max()) or 1.0
            corner.flat[:: len(chosen) + 1] += LANDMARK_RIDGE * len(chosen) * self._scale
            corner = np.linalg.cholesky(0.5 * (corner + corner.T))
            change = library.send(solve_triangular(corner, np.eye(len(corner)), lower=True).T)
            everyone = np.arange(matrix.n)
            parts = [
                library.double(matrix.between(everyone[some], chosen)) @ change
                for some in matrix.tiles(matrix.n, len(chosen))
            ]
            self._half = library.concat(parts)
        return self._half
