"""Searches whose kernels are computed on a device: their paths share kernel matrices."""

from dataclasses import replace

from taupath.approximate.array_libraries import Library
from taupath.approximate.kernel_source import SharedMatrices
from taupath.paths.path import SolutionPath
from taupath.validation import Checked


def with_shared_kernels(X: Checked, shared: SharedMatrices | None = None) -> Checked:
    """Return X, the paths of whose parts share kernel matrices if they are computed on a device."""
    if _on_host(X):
        return X
    return replace(X, source=replace(X.source, shared=shared or SharedMatrices()))


def jobs_at_a_time(X: Checked, n_jobs: int | None) -> int | None:
    """Return `n_jobs`, or 1 if kernels of X are computed on a device, which all jobs share."""
    return n_jobs if _on_host(X) else 1


def jobs_after(path: SolutionPath, n_jobs: int | None) -> int | None:
    """Return `n_jobs`, or 1 if the kernel of a first path was computed on a device."""
    library: Library = getattr(path.solutions, "library", Library())
    return n_jobs if library.on_host else 1


def _on_host(X: Checked) -> bool:
    return X.source is None or bool(X.source.library.on_host)
