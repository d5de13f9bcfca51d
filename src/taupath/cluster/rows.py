"""The rows of a path on a cluster: computed when they are needed, and forgotten again."""

from collections.abc import Callable
from typing import Any

import dask.array as da
import distributed
import numpy as np
from dask import delayed

from taupath.cluster.inputs import PartitionedData, as_array, check_survey
from taupath.cluster.remote_rows import RemoteRows
from taupath.cluster.requests import Objectives, Partition, Setup
from taupath.cluster.rounds import current_client
from taupath.paths.intercept import Intercept


def gather(
    table: PartitionedData,
    client: "distributed.Client",
    intercept_of: Callable[[float], Intercept],
    classes: np.ndarray | None = None,
) -> tuple[Setup, RemoteRows]:
    """Load all rows into the memory of the workers, and check them.

    ``intercept_of(mean)`` returns the intercept, given the mean of ‖x‖². `classes` are those of y,
    if they are known already.
    """
    rounds = table.rounds(client)
    reply, found = check_survey(rounds, table.labels)
    constant = intercept_of(float(reply.sums["squares"]) / table.X.shape[0])
    rounds.setup = Setup(constant.bias, found if classes is None else classes)
    if classes is not None and (found is None or not np.array_equal(classes, found)):
        raise ValueError(f"y has the classes {found}, the path was made with {classes}")
    return rounds.setup, RemoteRows(rounds)


class ClusterRows:
    """The collections that a path was made from, computed again on demand.

    `classes` and `constant` are those of the path; there are no classes for regression.
    """

    def __init__(
        self, table: PartitionedData, classes: np.ndarray | None, constant: Intercept
    ) -> None:
        self.table, self.classes, self.constant = table, classes, constant

    @classmethod
    def of(
        cls, X: Any, y: Any, sample_weight: Any, classes: np.ndarray | None, constant: Intercept
    ) -> "ClusterRows":
        """Return the rows of these collections."""
        table = PartitionedData(X, y, sample_weight, classes is not None, current_client())
        return cls(table, classes, constant)

    def gather(self) -> RemoteRows:
        """Return the rows, which stay on the cluster as long as the result."""
        return gather(self.table, current_client(), lambda _: self.constant, self.classes)[1]

    def dual_solution(self, point: Objectives, scale: float) -> Any:
        """Return status and α of all samples, two columns of a Dask array."""
        setup = Setup(self.constant.bias, self.classes)
        find, asked = delayed(_alpha), delayed(point)
        sizes = [n for n in self.table.rows if n]
        blocks = [
            da.from_delayed(find(partition, asked, setup, scale), (n, 2), dtype=np.float64)
            for n, partition in zip(sizes, self.table.partitions(), strict=True)
        ]
        return da.concatenate(blocks)


def _alpha(partition: Partition, point: Objectives, setup: Setup, scale: float) -> np.ndarray:
    if partition.trouble is not None:
        raise ValueError(partition.trouble)
    return np.asarray(point.alpha(partition, setup, scale))


def map_rows(X: Any, n_features: int, n_columns: int | None, decide: Any, **given: Any) -> Any:
    """Return decide(rows, **given) of a collection as a Dask array that is not computed yet.

    It has `n_columns`, or one dimension if that is None.
    """
    features = as_array(X, "X", None)
    if features.ndim != 2 or features.shape[1] != n_features:
        raise ValueError(
            f"X has shape {features.shape}, the path was made with {n_features} features"
        )
    if features.numblocks[1] > 1:
        features = features.rechunk({1: -1})
    shape: dict[str, Any] = {"drop_axis": 1}
    if n_columns is not None:
        shape = {"chunks": (features.chunks[0], (n_columns,))}
    meta = np.empty((0,) * (1 if n_columns is None else 2))
    return features.map_blocks(decide, dtype=np.float64, meta=meta, **shape, **given)
