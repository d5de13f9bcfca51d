"""Array libraries on any device: NumPy, CuPy, PyTorch, or another that follows the array API.

The few operations that the libraries spell differently are here. All else is written with what
they have in common.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.linalg.lapack import dposv

from taupath.choices import DEVICES
from taupath.validation import check_choice, on_host

# By the name of a library: whether one of its arrays lies on a device, and how it becomes one of
# NumPy. Tests add a library whose devices need no hardware.
ON_DEVICE: dict[str, Callable[[Any], bool]] = {
    "cupy": lambda array: True,
    "torch": lambda array: getattr(getattr(array, "device", None), "type", None) == "cuda",
}
TO_NUMPY: dict[str, Callable[[Any], Any]] = {
    "cupy": lambda array: sys.modules["cupy"].asnumpy(array),
    "torch": lambda array: array.cpu().numpy(),
}


@dataclass(frozen=True)
class Library:
    """An array library `xp`, and the device on which its arrays lie; None for its default."""

    xp: Any = np
    device: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as NumPy: where it is unpickled, there may be nothing else."""
        return Library, ()

    @property
    def name(self) -> str:
        """The name of the library."""
        return str(self.xp.__name__).partition(".")[0]

    @property
    def on_host(self) -> bool:
        """Whether its arrays are those of NumPy."""
        return self.name == "numpy"

    @property
    def place(self) -> str:
        """What messages call the device."""
        return "on the host" if self.on_host else f"on {self.device or 'a GPU'} ({self.name})"

    @property
    def out_of_memory(self) -> type[Exception]:
        """What is raised when the memory of the device is not enough."""
        found: type[Exception] = MemoryError
        if self.name == "cupy":
            found = self.xp.cuda.memory.OutOfMemoryError
        elif self.name == "torch":
            found = self.xp.cuda.OutOfMemoryError
        return found

    def free(self) -> None:
        """Give back memory of the device that is kept for later arrays."""
        if self.name == "cupy":
            self.xp.get_default_memory_pool().free_all_blocks()
        elif self.name == "torch":
            self.xp.cuda.empty_cache()

    def send(self, array: np.ndarray) -> Any:
        """Return an array of NumPy as one of this library."""
        if self.on_host:
            return array
        if self.device is None:
            return self.xp.asarray(array)
        return self.xp.asarray(array, device=self.device)

    def fetch(self, array: Any) -> np.ndarray:
        """Return an array of this library as one of NumPy."""
        return np.asarray(TO_NUMPY.get(self.name, np.asarray)(array))

    def take(self, array: Any, members: np.ndarray, axis: int) -> Any:
        """Return some rows (axis 0) or columns (axis 1) of a matrix."""
        if self.name == "torch":
            return self.xp.index_select(array, axis, self.send(members))
        return self.xp.take(array, self.send(members), axis=axis)

    def weighted_rows(self, matrix: Any, rows: np.ndarray, coef: np.ndarray) -> Any:
        """Return the sum of some rows of a matrix with these coefficients, in double precision."""
        sent = self.send(coef)
        if self.name == "cupy":
            return _cupy_weighted_rows(self.xp, matrix, self.send(rows), sent)
        return self.double(self._as(sent, matrix.dtype) @ self.take(matrix, rows, 0))

    def submatrix(self, matrix: Any, rows: np.ndarray, columns: np.ndarray) -> Any:
        """Return some rows and columns of a symmetric matrix."""
        if self.name in ("numpy", "cupy", "torch"):
            return matrix[self.send(rows)[:, None], self.send(columns)[None, :]]
        return self.take(self.take(matrix, rows, 0), columns, 1)

    def empty(self, shape: tuple[int, int], single: bool = False) -> Any:
        """Return a matrix that is not filled yet, of doubles unless `single`."""
        dtype = self.xp.float32 if single else self.xp.float64
        where = {} if self.device is None else {"device": self.device}
        return self.xp.empty(shape, dtype=dtype, **where)

    def single(self, array: Any) -> Any:
        """Return an array in single precision."""
        return self._as(array, self.xp.float32)

    def double(self, array: Any) -> Any:
        """Return an array in double precision."""
        return self._as(array, self.xp.float64)

    def _as(self, array: Any, dtype: Any) -> Any:
        if array.dtype == dtype:
            return array
        if self.name == "torch":
            return array.to(dtype)
        return array.astype(dtype) if hasattr(array, "astype") else self.xp.astype(array, dtype)

    def concat(self, arrays: Sequence[Any], axis: int = 0) -> Any:
        """Return arrays one after the other."""
        if len(arrays) == 1:
            return arrays[0]
        join = getattr(self.xp, "concat", None) or self.xp.concatenate  # before NumPy 2
        return join(tuple(arrays), axis=axis)

    def exp_of_negative(self, array: Any) -> Any:
        """Return exp of an array, positive entries of which are rounding errors of 0."""
        if self.name == "torch":
            return array.clamp_(max=0.0).exp_()
        if self.name == "cupy":
            return _cupy_exp_of_negative(self.xp)(array, array)
        return self.xp.exp(self.xp.clip(array, None, 0.0))

    def diagonal(self, entries: np.ndarray) -> Any:
        """Return a diagonal matrix, of which only the entries are sent."""
        where = {} if self.device is None else {"device": self.device}
        return self.xp.eye(len(entries), dtype=self.xp.float64, **where) * self.send(entries)

    def solve_positive(self, matrix: Any, right: Any) -> np.ndarray | None:
        """Solve with a symmetric matrix, which may be overwritten; None if it is not positive."""
        if self.on_host:
            # LAPACK stores by columns: it takes the transpose without a copy, and reads the lower
            # triangle of the matrix
            _, solution, failed = dposv(matrix.T, right, lower=0, overwrite_a=1)
            return None if failed else np.asarray(solution)
        try:
            solution = self.fetch(self._solve(matrix, right))
        except (np.linalg.LinAlgError, RuntimeError):  # PyTorch's error is a RuntimeError
            return None
        return solution if np.isfinite(solution).all() else None

    def _solve(self, matrix: Any, right: Any) -> Any:
        xp = self.xp
        if self.name not in ("cupy", "torch"):  # the array API has no triangular solves
            xp.linalg.cholesky(matrix)  # raises unless positive
            return xp.linalg.solve(matrix, right)
        factor = xp.linalg.cholesky(matrix)
        if self.name == "torch":
            return xp.cholesky_solve(right, factor)
        from cupyx.scipy.linalg import solve_triangular

        half = solve_triangular(factor, right, lower=True)
        return solve_triangular(factor, half, lower=True, trans="T")


@cache
def _cupy_exp_of_negative(cupy: Any) -> Any:
    """Return a function of CuPy that reads and writes an array once."""
    return cupy.ElementwiseKernel("T x", "T y", "y = exp(min(x, (T)0))", "exp_of_negative")


# Threads that share a column of a matrix when its rows are added up, so that all processors work.
SHARING = 16
# One thread adds up a part of the rows of one column. Neighbours read neighbours.
WEIGHTED_ROWS = """
template <typename T>
__global__ void weighted_rows(const T* matrix, const long long* rows, const double* coef,
                              double* parts, long long n_rows, long long n)
{
    long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= n) return;
    long long share = (n_rows + gridDim.y - 1) / gridDim.y;
    long long first = blockIdx.y * share;
    long long last = first + share < n_rows ? first + share : n_rows;
    double sum = 0.0;
    #pragma unroll 8
    for (long long i = first; i < last; ++i)
        sum += coef[i] * (double)matrix[rows[i] * n + column];
    parts[blockIdx.y * n + column] = sum;
}
"""


@cache
def _cupy_module(cupy: Any) -> Any:
    names = ("weighted_rows<float>", "weighted_rows<double>")
    return cupy.RawModule(code=WEIGHTED_ROWS, name_expressions=names)


def _cupy_weighted_rows(cupy: Any, matrix: Any, rows: Any, coef: Any) -> Any:
    """Add up rows without copying them, which would take three times as long."""
    n = matrix.shape[1]
    kind = "float" if matrix.dtype == cupy.float32 else "double"
    add = _cupy_module(cupy).get_function(f"weighted_rows<{kind}>")
    parts = cupy.empty((SHARING, n))
    add((-(-n // 256), SHARING), (256,), (matrix, rows, coef, parts, len(rows), n))
    return parts.sum(axis=0)


def library_of(array: Any) -> Library:
    """Return the library and the device of an array; NumPy unless kernels can be computed there."""
    name = type(array).__module__.partition(".")[0]
    if name not in ON_DEVICE or not ON_DEVICE[name](array):
        return Library()
    return Library(sys.modules[name], None if name == "cupy" else array.device)


def to_host(X: Any, **others: Any) -> list[Any]:
    """Return arrays as those of NumPy; all that lie on a device must lie where X does."""
    library, found = library_of(X), []
    for name, array in {"X": X, **others}.items():
        own = library_of(array)
        if own not in (library, Library()):
            raise ValueError(f"{name} lies {own.place} but X {library.place}: move one of them")
        try:
            found.append(array if own.on_host else library.fetch(array))
        except (RuntimeError, TypeError):
            found.append(on_host(array, name))  # says why NumPy cannot read it
    return found


def library_for(device: Any, given: Library | None = None) -> Library:
    """Return the library that kernels are computed with, if X is `given` by a library.

    By default that one. For ``device="cpu"`` NumPy, for "cuda" one for a GPU, for "auto" one for a
    GPU if there is one.
    """
    if device is None:
        return given or Library()
    device = check_choice(device, "device", DEVICES, or_else="None")
    if given is not None and not given.on_host:
        if device == "cpu":
            raise ValueError(f"device='cpu' but X lies {given.place}: leave device out, or move X")
        return given
    found = None if device == "cpu" else _library_of_gpu()
    if found is not None:
        return found
    if device != "cuda":
        return Library()
    raise ValueError(
        "device='cuda' needs an NVIDIA GPU and either CuPy or PyTorch with CUDA, and found none: "
        "pip install 'taupath[gpu]' on a machine with a GPU, or use device='cpu'"
    )


@cache
def _library_of_gpu() -> Library | None:
    """Return a library for a GPU of this machine, looked for once; None if there is none."""
    if find_spec("cupy") is not None:
        import cupy

        if _has_gpu(cupy):
            return Library(cupy)
    if find_spec("torch") is not None:
        import torch

        if torch.cuda.is_available():
            return Library(torch, torch.device("cuda"))
    return None


def _has_gpu(cupy: Any) -> bool:
    try:
        return bool(cupy.cuda.runtime.getDeviceCount() > 0)
    except cupy.cuda.runtime.CUDARuntimeError:  # no driver
        return False
