"""Where kernels are computed, and kernel matrices that the paths of several samples share."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.approximate.array_libraries import Library, library_for, library_of, to_host
from taupath.approximate.kernel_matrix import WITH_SYSTEMS, Block, KernelMatrix
from taupath.paths.kernel_data import KernelData
from taupath.paths.kernels import Kernel, check_form
from taupath.validation import Checked


@dataclass(frozen=True)
class KernelSource:
    """Samples whose kernel is computed with a library.

    `features` lie on the host or on the device; with a precomputed kernel they are its matrix. The
    samples are their `rows`, or all. Paths of some of them share the matrices of all, which are in
    `shared` by their kernels, unless that is None.
    """

    features: Any
    library: Library
    rows: np.ndarray | None = None
    shared: dict[Kernel, Any] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as None: where it is unpickled, there may be no such device."""
        return type(None), ()

    def __getitem__(self, which: Any) -> "KernelSource":
        """Return some samples; indices of columns, if there are any, are those of the rows."""
        which = which[0] if isinstance(which, tuple) else which
        if isinstance(which, slice) and which == slice(None):
            return self
        rows = np.arange(self.features.shape[0]) if self.rows is None else self.rows
        return replace(self, rows=rows[which])

    def matrix(self, data: KernelData, places: np.ndarray, budget: float) -> KernelMatrix:
        """Return the kernel matrix of `data`, which are these samples at some `places`."""
        n, kernel, library = len(places), data.kernel, self.library
        if library.on_host:
            return KernelMatrix(n, data.between, budget, library)
        rows = places if self.rows is None else self.rows[places]
        everyone = np.array_equal(rows, np.arange(self.features.shape[0]))
        others = self._shared_bytes(kernel, everyone)
        if others + WITH_SYSTEMS * 8.0 * n**2 > budget:
            block = device_block(kernel, self.features, library)
            block = block if everyone else _of_rows(block, rows)
            return KernelMatrix(n, block, budget, library)
        assert self.shared is not None
        if kernel not in self.shared:
            block = device_block(kernel, self.features, library)
            all_rows = KernelMatrix(self.features.shape[0], block, np.inf, library)
            self.shared[kernel] = all_rows.whole()
        whole = self.shared[kernel]

        def block_of_shared(one: Any, other: Any) -> Any:
            return library.submatrix(whole, rows[one], rows[other])

        known = whole if everyone else None
        return KernelMatrix(n, block_of_shared, budget - others, library, known)

    def _shared_bytes(self, kernel: Kernel, everyone: bool) -> float:
        """Return the bytes of all shared matrices, this kernel's included, but the path's own."""
        if self.shared is None:
            return np.inf
        number = len(self.shared.keys() | {kernel}) - everyone
        return 8.0 * number * self.features.shape[0] ** 2

    def forget(self) -> None:
        """Give back what is shared."""
        if self.shared is not None:
            self.shared.clear()


def located(
    device: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[KernelSource | None, Any, Any, Any]:
    """Return what computes the kernel of X, and all arrays on the host.

    None if X lies on the host and `device` asks for no other. What lies on a device must lie where
    X does.
    """
    library = library_for(device, library_of(X))
    on_host = to_host(X, y=y, sample_weight=sample_weight)
    source = None if library_of(X).on_host else KernelSource(X, library)
    return source, *on_host


def shared_by_paths(X: Checked, library: Library) -> Checked:
    """Return samples the paths of which share kernel matrices on the device of a library."""
    features = X.features if X.source is None else X.source.features
    return replace(X, source=KernelSource(features, library, shared={}))


# -- blocks ----------------------------------------------------------------------------------------


def device_block(kernel: Kernel, X: Any, library: Library) -> Block:
    """Return the function that computes blocks of a kernel on the device of a library.

    X lies on the host or on the device. So do the arrays that a kernel gets that is a function of
    the user's, and the values that it returns.
    """
    if isinstance(X, np.ndarray) or sp.issparse(X):
        if kernel.precomputed:
            return lambda one, other: library.send(np.ascontiguousarray(X[one][:, other]))
        if not kernel.known:
            return lambda one, other: library.send(kernel(X[one], X[other]))
        X = library.send(np.asarray(X if isinstance(X, np.ndarray) else X.toarray()))
    if kernel.precomputed:
        return lambda one, other: library.double(_columns(library, _rows(library, X, one), other))
    if not kernel.known:
        return lambda one, other: _checked(
            library, kernel.function, _rows(library, X, one), _rows(library, X, other)
        )
    X = library.double(X)
    if kernel.function == "rbf":
        return _rbf_block(kernel.gamma, X, library)
    xp = library.xp

    def block(one: Any, other: Any) -> Any:
        some, others = _rows(library, X, one), _rows(library, X, other)
        products = kernel.gamma * (some @ others.T) + kernel.coef0
        return xp.tanh(products) if kernel.function == "sigmoid" else products**kernel.degree

    return block


def _rbf_block(gamma: float, X: Any, library: Library) -> Block:
    """Return blocks of exp(-γ ‖a - b‖²): one product with two more columns gives the exponents."""
    xp = library.xp
    X = float(np.sqrt(2.0 * gamma)) * (X - xp.mean(X, axis=0))  # less to round
    half = -0.5 * xp.sum(X * X, axis=1)[:, None]
    ones = xp.ones_like(half)
    left = library.concat((X, half, ones), axis=1)
    right = library.concat((X, ones, half), axis=1)

    def block(one: Any, other: Any) -> Any:
        exponent = _rows(library, left, one) @ _rows(library, right, other).T
        return library.exp_of_negative(exponent)

    return block


def _of_rows(block: Block, rows: np.ndarray) -> Block:
    """Return blocks of some rows and columns of what a function returns blocks of."""
    return lambda one, other: block(rows[one], rows[other])


def _rows(library: Library, array: Any, which: Any) -> Any:
    return array[which, :] if isinstance(which, slice) else library.take(array, which, 0)


def _columns(library: Library, array: Any, which: Any) -> Any:
    return array[:, which] if isinstance(which, slice) else library.take(array, which, 1)


def _checked(library: Library, function: Any, A: Any, B: Any) -> Any:
    """Return the values of a function of the user's at arrays on a device, as doubles."""
    values, shape = function(A, B), (A.shape[0], B.shape[0])
    if library_of(values) != library:
        raise TypeError(
            f"kernel got arrays {library.place} but returned a {type(values).__name__} "
            f"{library_of(values).place}: compute it with the library of its arguments"
        )
    check_form(str(values.dtype), tuple(values.shape), shape)
    if not bool(library.xp.all(library.xp.isfinite(values))):
        raise ValueError(
            "kernel returned NaN or infinity: scale X, or choose other parameters of the kernel"
        )
    return library.double(values)
