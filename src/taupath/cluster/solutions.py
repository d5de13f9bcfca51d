"""Solutions at nodes whose rows are on a Dask cluster."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from taupath.approximate.gap_bound import GapBound, PrimalDualPoint
from taupath.approximate.interpolation import NodeList
from taupath.approximate.solutions import ByFunctions
from taupath.approximate.training_data import AbsentData, StoredData
from taupath.cluster.requests import Objectives
from taupath.engine.readers import ReadersLock
from taupath.engine.record import Solution
from taupath.engine.status import FREE, LOWER, UPPER
from taupath.paths.certificate import Measure
from taupath.paths.jobs import Job
from taupath.paths.solutions import decide_at
from taupath.validation import is_dask

if TYPE_CHECKING:
    from taupath.cluster.remote_rows import RemoteRows
    from taupath.cluster.rows import ClusterRows


class OnCluster(ByFunctions):
    """Solutions at nodes whose rows are on a cluster.

    The nodes and their w are in this process: coefficients and decision functions need no cluster.
    The rows are computed again from the users' collections when a certificate is asked for, and
    they are left out of pickles.
    """

    functions: NodeList

    def __init__(
        self,
        job: Job,
        data: StoredData,
        functions: NodeList,
        counters: dict[str, int],
        tol: float,
        rows: "ClusterRows | None",
    ) -> None:
        super().__init__(job, data, functions, counters, tol)
        self._rows: ClusterRows | None = rows
        self._remote: RemoteRows | None = None  # within a session
        self._lock = ReadersLock()  # of the session: one thread at a time has one

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_lock"}
        return {**state, "_rows": None, "_remote": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._lock = ReadersLock()

    @property
    def rows(self) -> "ClusterRows":
        """The users' collections."""
        if self._rows is None:
            raise ValueError(
                "this path was pickled, and its rows were left on the cluster: "
                "path.attach(X, y) restores them"
            )
        return self._rows

    def attach(self, X: Any, y: Any, sample_weight: Any) -> "OnCluster":
        """Give the rows back to a path that was pickled."""
        from taupath.cluster.rows import ClusterRows

        classes = getattr(self.job, "classes", None)
        rows = ClusterRows.of(X, y, sample_weight, classes, self.data.constant)
        if rows.table.X.shape != self.data.shape:
            raise ValueError(
                f"X has shape {rows.table.X.shape}, the path was made with {self.data.shape}"
            )
        self._rows, self._certificate = rows, None
        return self

    def take(self, kept: np.ndarray, tol: float) -> "OnCluster":
        """Return the solutions at some of the nodes."""
        fewer = self.functions.take(kept)
        return OnCluster(self.job, self.data, fewer, self.counters, tol, self._rows)

    @contextmanager
    def session(self) -> Iterator[None]:
        """Keep the rows on the cluster for a while."""
        with self._lock:
            if self._remote is not None:
                yield
                return
            self._remote = self.rows.gather()
            try:
                yield
            finally:
                self._remote = None

    @property
    def _there(self) -> "RemoteRows":
        assert self._remote is not None
        return self._remote

    # -- certificates ----------------------------------------------------------------------------

    @property
    def gap_bound(self) -> GapBound:
        """The bound on gaps between nodes."""
        rows, job = self._there, self.job
        return GapBound(rows.summary, rows, job.boxes, self.data.constant.free, job.unit_at)

    def end(self, k: int) -> tuple[PrimalDualPoint, float]:
        """Return node k as the end of an interval, from the data, and its largest violation."""
        node = self.functions[k]
        return self._as_end(node, *self._there.sums_at(node, self.job.boxes))

    def measure(self, value: float) -> Measure:
        """Measure the solution from the data on the cluster."""
        with self.session():
            reply = self._there.rounds.ask(self._point(value))
            w, v = self.functions.weights(value), reply.sums["v"]
            if self.data.constant.free:
                w, v = w[:-1], v[:-1]
            primal = 0.5 * float(w @ w) + float(reply.sums["loss"])
            dual = float(reply.sums["target_product"]) - 0.5 * float(v @ v)
            kkt = float(reply.peaks["violation"]) / (self._there.summary.largest_target or 1.0)
            return self.in_units(Measure(0.0, kkt, primal, dual))

    def _point(self, value: float) -> Objectives:
        nodes, s = self.functions.beside(value)
        return Objectives(tuple(nodes), s, value, self.functions.weights(value), self.job.boxes)

    # -- solutions -------------------------------------------------------------------------------

    def solution(self, value: float) -> Solution:
        """Raise an error: θ is on the cluster."""
        raise NotImplementedError("θ of this path is on a cluster: use alpha")

    def alpha(self, value: float) -> Any:
        """Return the dual solution as a Dask array, in the partitions of the rows."""
        return self._dual_solution(value)[:, 1]

    def index_sets(self, value: float) -> tuple[Any, Any, Any]:
        """Return L, M, R as Dask arrays whose sizes are not known yet."""
        import dask.array as da

        status = self._dual_solution(value)[:, 0].astype(np.int8)
        upper, free, lower = (da.flatnonzero(status == one) for one in (UPPER, FREE, LOWER))
        return upper, free, lower

    def _dual_solution(self, value: float) -> Any:
        """Return status and α of all samples, two columns."""
        scale = self.job.alpha_scale(self.data.shape[0], value)
        return self.rows.dual_solution(self._point(value), scale)

    def decisions(self, X: Any, asked: Any) -> Any:
        """Return f(x); of a Dask collection as a Dask array that is not computed yet."""
        if not is_dask(X):
            return super().decisions(X, asked)
        from taupath.cluster.rows import map_rows

        for value in np.atleast_1d(asked):
            self.check(float(value))
        given = {"data": self.data, "functions": self.functions, "asked": asked}
        n_columns = len(asked) if np.ndim(asked) else None
        return map_rows(X, self.data.shape[1], n_columns, _decide, **given)


def _decide(X: Any, data: AbsentData, functions: NodeList, asked: Any) -> np.ndarray:
    """Return decisions about the rows of one chunk: a task that workers run."""
    if X.shape[0] == 0:
        return np.empty((0, len(asked)) if np.ndim(asked) else 0)
    return decide_at(data, functions.function, data.check_new(X), asked)
