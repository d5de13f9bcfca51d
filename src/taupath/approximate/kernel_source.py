"""Where kernels are computed, and kernel matrices that the paths of several samples share."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.approximate.array_libraries import Library, library_for, library_of, to_host
from taupath.approximate.kernel_matrix import WITH_SYSTEMS, Block, KernelMatrix
from taupath.paths.kernel_data import KernelData
from taupath.paths.kernels import Kernel, check_form


class SharedMatrices:
    """Kernel matrices of all samples, computed once. With `latest`, only the last one is kept."""

    def __init__(self, latest: bool = False) -> None:
        self.latest = latest
        # by what they are computed from, which is kept as well: it may have no hash of its own
        self.matrices: dict[tuple[Any, ...], tuple[Any, Kernel, Any]] = {}

    def bytes_with(self, source: "KernelSource", kernel: Kernel) -> float:
        """Return the bytes that the matrices will take if this one is among them."""
        keys = {_key(source, kernel)}
        number = len(keys if self.latest else keys | self.matrices.keys())
        return 8.0 * number * float(source.features.shape[0]) ** 2

    def matrix(self, source: "KernelSource", kernel: Kernel) -> Any:
        """Return the kernel matrix of all samples of a source, computed once."""
        key, features = _key(source, kernel), source.features
        if key not in self.matrices:
            if self.latest:
                self.matrices.clear()
            block = device_block(kernel, features, source.library)
            found = KernelMatrix(features.shape[0], block, np.inf, source.library)
            self.matrices[key] = features, kernel, found.whole()
        return self.matrices[key][-1]


def _key(source: "KernelSource", kernel: Kernel) -> tuple[Any, ...]:
    function = id(kernel.function) if callable(kernel.function) else kernel.function
    return id(source.features), function, kernel.gamma, kernel.degree, kernel.coef0


@dataclass(frozen=True)
class KernelSource:
    """Samples whose kernel is computed with a library.

    `features` lie on the host or on the device; with a precomputed kernel they are its matrix. The
    samples are their `rows`, or all. Paths of some of them may share the matrices of all.
    """

    features: Any
    library: Library
    rows: np.ndarray | None = None
    shared: SharedMatrices | None = None

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
        n_all = self.features.shape[0]
        everyone = np.array_equal(rows, np.arange(n_all))
        if self.shared is not None:
            bytes_of_others = self.shared.bytes_with(self, kernel) - 8.0 * n_all**2 * everyone
            if bytes_of_others + WITH_SYSTEMS * 8.0 * n**2 <= budget:
                whole = self.shared.matrix(self, kernel)
                known = whole if everyone else None
                block = _of_rows(lambda i, j: library.submatrix(whole, i, j), rows)
                return KernelMatrix(n, block, budget - bytes_of_others, library, known)
        block = device_block(kernel, self.features, library)
        return KernelMatrix(n, block if everyone else _of_rows(block, rows), budget, library)

    def forget(self) -> None:
        """Give back what is shared."""
        if self.shared is not None:
            self.shared.matrices.clear()


def located(
    device: Any, X: Any, y: Any, sample_weight: Any
) -> tuple[KernelSource | None, Any, Any, Any]:
    """Return what computes the kernel of X where X lies on a device, and all arrays on the host.

    None for X on the host. What lies on a device must lie where X does.
    """
    library = library_of(X)
    source = None if library.on_host else KernelSource(X, library_for(device, library))
    return source, *to_host(X, y=y, sample_weight=sample_weight)


# -- blocks ----------------------------------------------------------------------------------------


def device_block(kernel: Kernel, X: Any, library: Library) -> Block:
    """Return the function that computes blocks of a kernel on the device of a library.

    X lies on the host or on the device. So do the arrays that a kernel gets that is a function of
    the user's, and the values that it returns.
    """
    if isinstance(X, np.ndarray) or sp.issparse(X):
        if kernel.precomputed:
            return lambda one, other: library.send(_dense(X[one][:, other]))
        if not kernel.known:
            return lambda one, other: library.send(kernel(X[one], X[other]))
        X = library.send(_dense(X))
    if kernel.precomputed:
        return lambda one, other: library.double(_columns(library, _rows(library, X, one), other))
    X = library.double(X)
    if not kernel.known:
        return lambda one, other: _checked(
            library, kernel.function, _rows(library, X, one), _rows(library, X, other)
        )
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


def _dense(X: Any) -> np.ndarray:
    return np.ascontiguousarray(X.toarray() if sp.issparse(X) else X)


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
