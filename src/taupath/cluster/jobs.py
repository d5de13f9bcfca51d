"""Solutions at nodes, found on Dask collections."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.approximate.gap_bound import GapBound
from taupath.approximate.node_search import check_tol, find_nodes
from taupath.approximate.node_solver import NodeSolver
from taupath.approximate.training_data import AbsentData
from taupath.cluster.inputs import PartitionedData
from taupath.cluster.rounds import current_client
from taupath.cluster.rows import ClusterRows, gather
from taupath.cluster.solutions import OnCluster
from taupath.paths.intercept import Intercept, fixed_intercept, free_intercept
from taupath.paths.jobs import Job
from taupath.progress import Tell


def solve_on_cluster(
    X: Any,
    y: Any,
    sample_weight: Any,
    labelled: bool,
    make_job: Callable[[int, Any], Job],
    intercept: Any,
    tau_range: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> OnCluster:
    """Return solutions between which no gap exceeds `tol`.

    `labelled` tells whether y holds labels, not numbers. `make_job` returns the job, given the
    number of samples and the classes.
    """
    fixed, client = fixed_intercept(intercept), current_client()
    table = PartitionedData(X, y, sample_weight, labelled, client)
    make_job(table.X.shape[0], None)  # refuses a bad C before any rows are read
    setup, rows = gather(table, client, lambda mean: fixed or free_intercept(mean))
    constant = fixed or Intercept(setup.bias, free=True)
    _check_weights(rows.summary.class_weights, setup.classes)
    job = make_job(table.X.shape[0], setup.classes)
    gap_bound = GapBound(rows.summary, rows, job.boxes, constant.free, job.unit_at)
    check_tol(tol, gap_bound, exact=False)
    solver = NodeSolver(rows, gap_bound, constant.bias)
    nodes, counters = find_nodes(solver, *tau_range, tol, progress)
    rounds = rows.rounds
    counters |= {
        "rounds": rounds.rounds,
        "bytes_sent": rounds.bytes_sent,
        "bytes_received": rounds.bytes_received,
        "partitions": len(rounds.partitions),
    }
    data = AbsentData(table.X.shape, constant)
    return OnCluster(job, data, nodes, counters, tol, ClusterRows(table, setup.classes, constant))


def _check_weights(weights: np.ndarray, classes: np.ndarray | None) -> None:
    """Refuse weights that leave no sample of a class; `weights` are the sums of both classes."""
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample")
    if classes is not None and not weights.all():
        missing = classes[1 if weights[0] == 0.0 else 0].item()
        raise ValueError(f"sample_weight is zero for every sample of class {missing!r}")
