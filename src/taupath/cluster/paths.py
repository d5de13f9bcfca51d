"""Approximate paths whose rows are on a Dask cluster."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from taupath.approximate.gap_bound import Boxes, GapBound, PrimalDualPoint
from taupath.approximate.interpolation import NodeList, make_end
from taupath.approximate.path import (
    ApproximateClassificationPath,
    ApproximateRegressionPath,
    ByNodes,
)
from taupath.approximate.training_data import AbsentSamples
from taupath.cluster import is_dask
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.certificate import Certificate
from taupath.paths.intercept import Intercept
from taupath.paths.path import SolutionPath
from taupath.validation import one_or_several

__all__ = ["ClusterClassificationPath", "ClusterRegressionPath", "make_path"]


class OnCluster(ByNodes):
    """What approximate paths have in common whose rows are on a cluster.

    Nodes and their w are here: coefficients and decision functions need no cluster. Rows are
    computed again, from the collections that were passed in, when a certificate is asked for.
    """

    _stretches: list[NodeList]  # type: ignore[assignment]  # nodes only
    _boxes: Boxes
    _table: Any = None
    _many: Any = None
    # α in terms of θ
    _scale: float

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value
            for name, value in super().__getstate__().items()
            if name not in ("_table", "_many")
        }

    def attach(self, X: Any, y: Any, sample_weight: Any = None) -> "OnCluster":
        """Give the rows back to a path that was pickled.

        Parameters
        ----------
        X, y, sample_weight
            The Dask collections that it was made from.
        """
        from taupath.cluster.inputs import PartitionedData
        from taupath.cluster.rounds import current_client

        labels = self._classes() is not None
        table = PartitionedData(X, y, sample_weight, labels, current_client())
        if table.X.shape != self._samples.shape:
            raise ValueError(
                f"X has shape {table.X.shape}, the path was made with {self._samples.shape}"
            )
        self._table, self._certified = table, None
        return self

    def take(self, kept: np.ndarray, tol: float) -> ByNodes:
        """Return the path through these nodes, whose gaps have been found to be within `tol`."""
        other = super().take(kept, tol)
        assert isinstance(other, OnCluster)
        other._table = self._table
        return other

    def _classes(self) -> np.ndarray | None:
        return getattr(self, "classes", None)

    def _rows(self) -> Any:
        if self._table is None:
            raise ValueError(
                "this path was pickled, and its rows were left on the cluster: "
                "path.attach(X, y) gives them back"
            )
        return self._table

    @contextmanager
    def _session(self) -> Iterator[None]:
        """Keep the rows on the cluster for a while."""
        if self._many is not None:
            yield
            return
        from taupath.cluster.jobs import gather
        from taupath.cluster.rounds import current_client

        _, self._many = gather(
            self._rows(), current_client(), lambda _: self._samples.constant, self._classes()
        )
        try:
            yield
        finally:
            self._many = None

    # -- certificates ----------------------------------------------------------------------------

    def _continuum(self) -> GapBound:
        free = self._samples.constant.free
        return GapBound(self._many.summary, self._many, self._boxes, free)

    def _end(self, k: int) -> tuple[PrimalDualPoint, float]:
        node = self._stretches[0].node(k)
        margin, (v, aim, off) = self._many.sums_at(node, self._boxes)
        return make_end(node, margin, v, aim, self._samples.constant.free), off

    def certify(self, max_points: int | None = None) -> Certificate:
        """Bound the gap of every solution of the path, from the data on the cluster.

        As `ApproximatePath.certify` does; two rounds for each node.
        """
        with self._session():
            return super().certify(max_points)

    def simplify(self, tol: float) -> SolutionPath:
        """Return a path through as few of the nodes as keep its gaps within `tol`."""
        with self._session():
            return super().simplify(tol)

    def duality_gap(self, tau: float) -> float:
        """Return primal minus dual objective at τ, from the data on the cluster.

        As part of the objective at w = 0 and τ = ½.
        """
        with self._session():
            reply, w = self._point_on_cluster(self._check(tau)), self._weights(tau)
            v = reply.sums["v"]
            if self._samples.constant.free:
                w, v = w[:-1], v[:-1]
            primal = 0.5 * float(w @ w) + float(reply.sums["loss"])
            dual = float(reply.sums["target_product"]) - 0.5 * float(v @ v)
            return (primal - dual) / self._continuum().unit

    def kkt_violation(self, tau: float) -> float:
        """Return the largest violation of a condition at τ, in units of the largest target.

        Of samples that could move towards their target without leaving their bounds: how far away
        they are from it.
        """
        with self._session():
            reply = self._point_on_cluster(self._check(tau))
            return float(reply.peaks["violation"]) / (self._many.summary.largest_target or 1.0)

    def _weights(self, tau: float) -> np.ndarray:
        return self._stretches[0].weights(tau)

    def _point(self, tau: float) -> Any:
        from taupath.cluster.requests import Objectives

        nodes, s = self._stretches[0].beside(tau)
        return Objectives(tuple(nodes), s, tau, self._weights(tau), self._boxes)

    def _point_on_cluster(self, tau: float) -> Any:
        return self._many.rounds.ask(self._point(tau))

    # -- solutions, lazily -----------------------------------------------------------------------

    def alpha(self, tau: float) -> Any:
        """Return the dual solution as a Dask array, in the partitions of the rows.

        As `SolutionPath.alpha`; nothing is computed before it is asked for.
        """
        return self._dual_solution(tau)[:, 1]

    def index_sets(self, tau: float) -> tuple[Any, Any, Any]:
        """Return L, M, R as Dask arrays whose sizes are not known yet."""
        import dask.array as da

        status = self._dual_solution(tau)[:, 0].astype(np.int8)
        upper, free, lower = (da.flatnonzero(status == one) for one in (UPPER, FREE, LOWER))
        return upper, free, lower

    def _dual_solution(self, tau: float) -> Any:
        """Return status and α of all samples, two columns."""
        import dask.array as da
        from dask import delayed

        from taupath.cluster.requests import Setup

        table, setup = self._rows(), Setup(self._samples.constant.bias, self._classes())
        find, point = delayed(_alpha), delayed(self._point(self._check(tau)))
        blocks = [
            da.from_delayed(find(partition, point, setup, self._scale), (n, 2), dtype=np.float64)
            for n, partition in zip([n for n in table.rows if n], table.partitions(), strict=True)
        ]
        return da.concatenate(blocks)

    def decision_function(self, X: Any, tau: Any = None, *, taus: Any = None) -> Any:
        """Return f_τ(x); of a Dask collection as a Dask array that is not computed yet.

        Otherwise as `SolutionPath.decision_function`.
        """
        if not is_dask(X):
            return super().decision_function(X, tau, taus=taus)
        from taupath.cluster.inputs import as_array

        features, n_features = as_array(X, "X", None), self._samples.shape[1]
        if features.ndim != 2 or features.shape[1] != n_features:
            raise ValueError(
                f"X has shape {features.shape}, the path was made with {n_features} features"
            )
        if features.numblocks[1] > 1:
            features = features.rechunk({1: -1})
        asked = one_or_several(tau, taus, self._parameter)
        several = np.ndim(asked) == 1
        ours = self._without_rows()
        for value in np.atleast_1d(asked):
            self._check(float(value))
        return features.map_blocks(
            _decide,
            path=ours,
            tau=asked,
            dtype=np.float64,
            meta=np.empty((0,) * (1 + several)),
            **({"chunks": (features.chunks[0], (len(asked),))} if several else {"drop_axis": 1}),
        )

    def _without_rows(self) -> "OnCluster":
        other: OnCluster = object.__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other

    def save(self, file: str | os.PathLike[str], data: bool | None = None) -> None:
        """Write the path to a file that `taupath.load` reads, without the rows.

        They stay on the cluster. The file holds the decision functions at the nodes and the
        certificate, which is computed first if it has not been.

        Parameters
        ----------
        file : path
            Where to.
        data : False or None
            The file cannot hold the training data.
        """
        if data:
            raise ValueError("data=True: the rows of this path are on a cluster, not here")
        super().save(file)


def _alpha(partition: Any, point: Any, setup: Any, scale: float) -> np.ndarray:
    if partition.trouble is not None:
        raise ValueError(partition.trouble)
    return np.asarray(point.alpha(partition, setup, scale))


def _decide(X: Any, path: OnCluster, tau: Any) -> np.ndarray:
    if X.shape[0] == 0:
        return np.empty((0, len(tau)) if np.ndim(tau) else 0)
    return np.asarray(path.decision_function(X, tau))


class ClusterClassificationPath(OnCluster, ApproximateClassificationPath):
    """The asymmetric-cost SVM for every τ, made by `quantile_path` from Dask collections.

    `counters` also has ``partitions``, ``rounds``, and ``bytes_sent`` and ``bytes_received``: those
    of requests and of sums, as they leave and reach this process.
    """


class ClusterRegressionPath(OnCluster, ApproximateRegressionPath):
    """Quantile regression for every τ, made by `quantile_regression_path` likewise."""


def make_path(
    kind: Any,
    table: Any,
    nodes: NodeList,
    boxes: Boxes,
    constant: Intercept,
    scale: float,
    *args: Any,
    **kw: Any,
) -> Any:
    """Return a path of one of these kinds."""
    samples = AbsentSamples(table.X.shape, constant)
    path = kind(samples, None, None, [nodes], *args, **kw)
    path._boxes, path._scale, path._table = boxes, scale, table
    return path
