"""Searches whose kernels are computed on a device: their paths share kernel matrices."""

from dataclasses import replace
from typing import Any

from taupath.approximate.array_libraries import library_for
from taupath.approximate.kernel_source import KernelSource, Shared
from taupath.validation import Checked


def with_shared_kernels(search: Any, X: Checked, shared: Shared | None = None) -> Checked:
    """Return X, the paths of whose parts share kernel matrices if they are computed on a device."""
    if search.method != "approximate":
        return X
    source = X.source or KernelSource(X.features, library_for(search.device))
    if source.library.on_host:
        return X
    return replace(X, source=replace(source, shared=shared or Shared()))


def jobs_at_a_time(X: Checked, n_jobs: int | None) -> int | None:
    """Return `n_jobs`, or 1 if kernels of X are computed on a device, which all jobs share."""
    return n_jobs if X.source is None else 1
