"""Dask clusters of worker processes on this machine, and data in partitions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import dask
import dask.array as da
import distributed
import numpy as np
from distributed.utils import get_mp_context

import taupath
from approximation import Job

# Worker processes are forked off one that has imported all this, which takes a tenth of the time.
PRELOADED = ["distributed", "dask.array", "dask.dataframe", "taupath.cluster"]
START = "forkserver" if os.name == "posix" else "spawn"


def preload() -> None:
    """Have the server import the above before it forks; Dask says once what it wants."""
    if START == "spawn":
        return
    with dask.config.set({"distributed.worker.multiprocessing-method": START}):
        get_mp_context().set_forkserver_preload(PRELOADED)


@contextmanager
def cluster_of(n_workers: int, **kw: Any) -> Iterator[distributed.Client]:
    """Yield the client of a cluster with so many worker processes."""
    preload()
    settings = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": START}),
        distributed.LocalCluster(n_workers=n_workers, **{**settings, **kw}) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def in_chunks(job: Job, rows: Any) -> tuple[da.Array, da.Array]:
    """Return X and y in partitions of so many rows."""
    X = da.from_array(job.X, chunks=(rows, job.X.shape[1]))
    return X, da.from_array(job.y, chunks=X.chunks[:1])


def cluster_path(job: Job, rows: Any = 100, **kw: Any) -> taupath.SolutionPath:
    """Return the path of the job with its rows in partitions; y and weights given otherwise."""
    make = taupath.quantile_regression_path if job.regression else taupath.quantile_path
    X, y = in_chunks(job, rows)
    weight = None if job.weight is None else da.from_array(job.weight, chunks=X.chunks[:1])
    settings = {"C": job.C, "intercept": job.intercept, "sample_weight": weight}
    return make(X, y, **{**settings, "method": "approximate", "tol": 3e-2, **kw})


class Here:
    """A path with α as an array, as the judge of approximate paths wants it."""

    def __init__(self, path: Any) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(self._path, name)

    def alpha(self, tau: float) -> np.ndarray:
        return np.asarray(self._path.alpha(tau).compute(scheduler="synchronous"))
