"""Paths from Dask collections: the jobs of `classification` and `regression`."""

from collections.abc import Callable
from typing import Any

import distributed
import numpy as np

from taupath.approximate.gap_bound import Boxes, GapBound
from taupath.approximate.interpolation import NodeList
from taupath.approximate.node_search import check_tol, find_nodes
from taupath.approximate.node_solver import NodeSolver
from taupath.cluster.inputs import PartitionedData, check_survey
from taupath.cluster.paths import ClusterClassificationPath, ClusterRegressionPath, make_path
from taupath.cluster.remote_rows import RemoteRows
from taupath.cluster.requests import Setup
from taupath.cluster.rounds import current_client
from taupath.paths.intercept import Intercept, fixed_intercept, free_intercept
from taupath.progress import Tell

__all__ = ["classification_path", "gather", "regression_path"]


def gather(
    table: PartitionedData,
    client: "distributed.Client",
    intercept_of: Callable[[float], Intercept],
    classes: np.ndarray | None = None,
) -> tuple[Setup, RemoteRows]:
    """Have all rows in the memory of the workers, checked.

    Parameters
    ----------
    table : PartitionedData
        What is to be there.
    client : distributed.Client
        Where.
    intercept_of : callable
        Returns the intercept, given the mean of ‖x‖².
    classes : ndarray or None
        Known already, or to be found.
    """
    rounds = table.rounds(client)
    reply, found = check_survey(rounds, table.labels)
    constant = intercept_of(float(reply.sums["squares"]) / table.X.shape[0])
    rounds.setup = Setup(constant.bias, found if classes is None else classes)
    if classes is not None and (found is None or not np.array_equal(classes, found)):
        raise ValueError(f"y has the classes {found}, the path was made with {classes}")
    return rounds.setup, RemoteRows(rounds)


def _solve(
    many: RemoteRows,
    constant: Intercept,
    boxes: Boxes,
    walked: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> NodeList:
    continuum = GapBound(many.summary, many, boxes, constant.free)
    check_tol(tol, continuum, exact=False)
    solver = NodeSolver(many, continuum, constant.bias)
    found = find_nodes(solver, *walked, tol, progress)
    rounds = many.rounds
    counters = {
        **found.counters,
        "rounds": rounds.rounds,
        "bytes_sent": rounds.bytes_sent,
        "bytes_received": rounds.bytes_received,
        "partitions": len(rounds.partitions),
    }
    return NodeList(found.nodes, counters, constant.bias)


class _Gathered:
    """Rows on the cluster, and their intercept."""

    def __init__(
        self, table: PartitionedData, client: "distributed.Client", fixed: Intercept | None
    ) -> None:
        self.table = table
        self.constant = fixed or Intercept(1.0, free=True)
        self.setup, self.many = gather(table, client, lambda m: self._choose(fixed, m))
        weights = self.many.summary.class_weights
        if not weights.any():
            raise ValueError("sample_weight is zero for every sample")
        if self.setup.classes is not None and not weights.all():
            missing = self.setup.classes[1 if weights[0] == 0.0 else 0].item()
            raise ValueError(f"sample_weight is zero for every sample of class {missing!r}")

    def _choose(self, fixed: Intercept | None, mean_square: float) -> Intercept:
        self.constant = fixed or free_intercept(mean_square)
        return self.constant


def classification_path(
    X: Any,
    y: Any,
    sample_weight: Any,
    C_of: Callable[[int], float],
    intercept: Any,
    walked: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> ClusterClassificationPath:
    """Return the path of `quantile_path`; `C_of` gives C by the number of samples."""
    fixed, client = fixed_intercept(intercept), current_client()
    table = PartitionedData(X, y, sample_weight, True, client)
    n_samples = table.X.shape[0]
    C = C_of(n_samples)
    data = _Gathered(table, client, fixed)
    boxes = Boxes.of_classification(C)
    nodes = _solve(data.many, data.constant, boxes, walked, tol, progress)
    scale, classes = 1.0 / (n_samples * C), data.setup.classes
    path: ClusterClassificationPath = make_path(
        ClusterClassificationPath,
        data.table,
        nodes,
        boxes,
        data.constant,
        scale,
        classes,
        C=C,
        tol=tol,
    )
    return path


def regression_path(
    X: Any,
    y: Any,
    sample_weight: Any,
    C: float,
    intercept: Any,
    walked: tuple[float, float],
    tol: float,
    progress: Tell | None,
) -> ClusterRegressionPath:
    """Return the path of `quantile_regression_path`."""
    fixed, client = fixed_intercept(intercept), current_client()
    data = _Gathered(PartitionedData(X, y, sample_weight, False, client), client, fixed)
    boxes = Boxes.of_regression(C)
    nodes = _solve(data.many, data.constant, boxes, walked, tol, progress)
    path: ClusterRegressionPath = make_path(
        ClusterRegressionPath, data.table, nodes, boxes, data.constant, 1.0, C=C, tol=tol
    )
    return path
