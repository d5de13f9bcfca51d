"""The entry to the cluster: imports Dask only if a Dask collection is passed."""

from types import ModuleType
from typing import Any

from taupath.choices import METHODS
from taupath.exceptions import install_command
from taupath.validation import check_choice


def cluster_solver(method: Any, kernel: Any) -> ModuleType:
    """Return the module that solves on Dask collections; refuse what it cannot do."""
    if check_choice(method, "method", METHODS) == "exact":
        raise ValueError(
            "method='exact' needs all rows in one place, and X is a Dask collection: use "
            "method='approximate', or pass X.compute() and y.compute() if they fit into memory"
        )
    if not (isinstance(kernel, str) and kernel == "linear"):
        raise ValueError(f"Dask collections are for kernel='linear', got kernel={kernel!r}")
    try:
        from taupath.cluster import jobs
    except ImportError as error:
        if (error.name or "").split(".")[0] not in ("dask", "distributed"):
            raise
        raise ImportError(
            f"Dask collections need {error.name}; install it with: "
            + install_command("dask[array]", "distributed"),
            name=error.name,
        ) from error
    return jobs
