"""Requests to partitions and their replies: vectors as long as w go out, sums come back.

A partition answers from its rows and the request alone. It caches margins and its dual point for
speed; whatever is missing, as after the loss of a worker, is computed again from w.
"""

from dataclasses import dataclass, field, fields
from threading import Lock
from typing import Any

import numpy as np

from taupath.approximate.interpolation import dual_between
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import RowSummary, RowSums
from taupath.engine.problem import largest_violation
from taupath.engine.rows import make_rows
from taupath.engine.status import FREE, UPPER
from taupath.paths.certificate import shortfalls
from taupath.paths.jobs import Boxes

# Bytes that a partition keeps for each row besides X, typically: sign and target, six arrays of
# margins, fractions and their changes, and two lists of rows.
KEPT_PER_ROW = 80
# Arrays of margins kept at a time: two nodes, an iterate, its step and its end, and some to spare.
MAX_MARGINS = 8
# Labels of one partition that an error can name; two are enough for a fit.
MAX_LABELS = 100

# Attributes of a `RowSummary` of which the largest counts; all others are sums.
DEPTHS = ("dot_depth", "sum_depth", "loss_depth", "n_cols")  # whole numbers
MAXIMA = (*DEPTHS, "largest_norm", "largest_target")


@dataclass(frozen=True)
class Setup:
    """What makes rows z from X and y: the constant feature, and classes, None for regression."""

    bias: float
    classes: np.ndarray | None


@dataclass(frozen=True, eq=False)
class MarginRef:
    """A reference to the margins <z_i, w> of all partitions.

    They are the sum of other margins, `terms` of numbers and factors, if a partition has kept
    these; else they are computed from w.
    """

    number: int
    w: np.ndarray
    terms: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class DualRef:
    """A reference to the dual point that margins make; `box` is that of each class."""

    at: MarginRef
    smoothing: Smoothing
    box: np.ndarray

    @property
    def key(self) -> tuple[float, ...]:
        """What its fractions depend on."""
        return self.at.number, self.smoothing.width, *self.smoothing.centre


@dataclass
class Reply:
    """Sums over partitions, largest values, and notes that cannot be added up."""

    sums: dict[str, np.ndarray] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
    notes: list[Any] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return sum(array.nbytes for array in self.sums.values()) + 8 * len(self.peaks)


class Partition:
    """Checked rows on a worker; `place` says in messages which partition it is.

    If there is `trouble` with the input, that says what is wrong, and there are no rows.
    """

    def __init__(
        self, X: Any, y: Any, weight: Any, place: str = "", trouble: str | None = None
    ) -> None:
        self.X, self.y, self.weight, self.place, self.trouble = X, y, weight, place, trouble
        self._forget()

    def _forget(self) -> None:
        self._lock = Lock()
        self._row_sums: RowSums | None = None
        self._margins: dict[int, np.ndarray] = {}
        self._dual_key: tuple[float, ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __sizeof__(self) -> int:
        """Bytes, including what it will keep: Dask's scheduler plans with them."""
        if self.trouble is not None:
            return 1000
        X = self.X
        stored = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
        return int(stored + self.y.nbytes + self.weight.nbytes + KEPT_PER_ROW * X.shape[0])

    def row_sums(self, setup: Setup) -> RowSums:
        """Return the rows as a solver sees them."""
        if self._row_sums is None:
            sign, target = np.ones(self.X.shape[0]), self.y
            if setup.classes is not None:
                target, sign = sign, np.where(self.y == setup.classes[1], 1.0, -1.0)
            self._row_sums = RowSums(make_rows(self.X, sign, setup.bias), target, self.weight)
        return self._row_sums

    def margins(self, rows: RowSums, ref: MarginRef) -> np.ndarray:
        """Return margins: cached ones, or the sum of others, or computed from the rows."""
        kept = self._margins
        found = kept.pop(ref.number, None)
        if found is None and ref.terms and all(number in kept for number, _ in ref.terms):
            found = np.zeros(rows.rows.n_rows)
            for number, factor in ref.terms:
                found += factor * kept[number]
        if found is None:
            found = rows.rows.products(ref.w)
        while len(kept) >= MAX_MARGINS:
            del kept[next(iter(kept))]
        kept[ref.number] = found
        return found

    def update(self, rows: RowSums, dual: DualRef, afresh: bool, hessian: bool) -> Reply:
        """Move to a dual point and return its sums, with the matrix of Newton's equations."""
        sums = rows.update(self.margins(rows, dual.at), dual.smoothing, afresh)
        self._dual_key = dual.key
        found = {
            "rows": sums.rows.copy(),
            "scalars": sums.scalars.copy(),
            "n_inner": np.array(sums.n_inner),
        }
        if hessian:
            found["hessian"] = _hessian(rows, dual.box, dual.smoothing.width)
        return Reply(found)

    def ensure(self, rows: RowSums, dual: DualRef) -> None:
        """Move to a dual point unless it is the present one."""
        if self._dual_key != dual.key:
            self.update(rows, dual, afresh=False, hessian=False)

    def keep_only(self, numbers: frozenset[int]) -> None:
        """Drop margins that nobody refers to any more."""
        self._margins = {k: margin for k, margin in self._margins.items() if k in numbers}


class Request:
    """Something to be computed in every partition and added up."""

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the reply of one partition."""
        raise NotImplementedError


@dataclass(frozen=True)
class Summarize(Request):
    """Sums that do not depend on w."""

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the summary, sums and largest values apart."""
        summary = rows.summary()
        names = [each.name for each in fields(summary) if each.name not in MAXIMA]
        sums = {name: np.asarray(getattr(summary, name), dtype=float) for name in names}
        return Reply(sums, {name: getattr(summary, name) for name in MAXIMA})


def as_summary(reply: Reply, n_partitions: int, depth: int) -> RowSummary:
    """Return the summary of all partitions, whose sums go through `depth` more additions."""
    peaks: dict[str, Any] = reply.peaks | {name: int(reply.peaks[name]) for name in DEPTHS}
    peaks["sum_depth"] += depth
    peaks["loss_depth"] += depth
    sums: dict[str, Any] = {
        name: float(value) if value.ndim == 0 else value for name, value in reply.sums.items()
    }
    # a sum of booleans: one class only if every partition says so
    sums |= {"n_rows": int(sums["n_rows"]), "one_class": sums["one_class"] == n_partitions}
    return RowSummary(**peaks, **sums)


@dataclass(frozen=True)
class UpdateDual(Request):
    """A dual point; optionally with Newton's matrix, and the losses between it and other points.

    `since` and `until` are the margins of these points, before and after it.
    """

    dual: DualRef
    afresh: bool
    hessian: bool
    since: tuple[MarginRef, ...] = ()
    until: tuple[MarginRef, ...] = ()
    n_panels: int = 0

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return its sums."""
        reply = partition.update(rows, self.dual, self.afresh, self.hessian)
        here = partition.margins(rows, self.dual.at)
        for k, ref in enumerate(self.since):
            there = partition.margins(rows, ref)
            reply.sums[f"since {k}"] = rows.along(there, here, self.n_panels)
        for k, ref in enumerate(self.until):
            there = partition.margins(rows, ref)
            reply.sums[f"until {k}"] = rows.along(here, there, self.n_panels)
        return reply


@dataclass(frozen=True)
class LineSearch(Request):
    """Slopes at some lengths of a step from a dual point.

    With `end`, also the dual point at the end of the step, in case it is taken.
    """

    dual: DualRef
    step: MarginRef
    lengths: tuple[float, ...]
    end: DualRef | None
    hessian: bool

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the slopes."""
        dual, rate = self.dual, partition.margins(rows, self.step)
        margin = partition.margins(rows, dual.at)
        slopes = [rows.slope(margin, rate, x, dual.smoothing, dual.box) for x in self.lengths]
        reply = Reply()
        if self.end is not None:
            reply = partition.update(rows, self.end, afresh=False, hessian=self.hessian)
        reply.sums["slopes"] = np.array(slopes)
        return reply


@dataclass(frozen=True)
class ChangeSmoothing(Request):
    """The change of Σ θ z with a narrower smoothing."""

    dual: DualRef
    narrower: Smoothing

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the change."""
        partition.ensure(rows, self.dual)
        margin, change = partition.margins(rows, self.dual.at), np.zeros(rows.rows.n_cols)
        rows.add_change(margin, self.dual.smoothing, self.narrower, self.dual.box, change)
        return Reply({"change": change})


@dataclass(frozen=True)
class Hessian(Request):
    """The matrix of Newton's equations at a dual point, or its product with p."""

    dual: DualRef
    width: float
    p: np.ndarray | None

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the matrix or the product."""
        partition.ensure(rows, self.dual)
        if self.p is None:
            return Reply({"hessian": _hessian(rows, self.dual.box, self.width)})
        rows.set_curvature(self.dual.box, self.width)
        product = np.zeros(rows.rows.n_cols)
        rows.add_hessian_product(self.p, product)
        return Reply({"product": product})


@dataclass(frozen=True)
class ChordLosses(Request):
    """Losses between two points."""

    begin: MarginRef
    end: MarginRef
    n_panels: int

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the losses."""
        begin, end = (partition.margins(rows, ref) for ref in (self.begin, self.end))
        return Reply({"losses": rows.along(begin, end, self.n_panels)})


@dataclass(frozen=True)
class AtNode(Request):
    """The sums of θ at a node."""

    node: Node
    at: MarginRef
    boxes: Boxes

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the sums and the largest violation."""
        found = rows.sums_at(self.node, self.boxes, partition.margins(rows, self.at))
        sums = {"v": found.v, "target_product": np.array(found.target_product)}
        return Reply(sums, {"violation": found.violation})


@dataclass(frozen=True)
class Objectives(Request):
    """The sums that make the primal and the dual objective between two nodes."""

    nodes: tuple[Node, ...]
    s: float
    tau: float
    w: np.ndarray
    boxes: Boxes

    def of(self, partition: Partition, rows: RowSums) -> Reply:
        """Return the sums and the largest violation."""
        _, theta = dual_between(rows, self.nodes, self.s, self.boxes, self.w)
        lower, upper = rows.bounds(self.boxes, self.tau)
        short, beyond = shortfalls(rows.rows.products(self.w), rows.target)
        sums = {
            "loss": np.array(upper @ short - lower @ beyond),
            "target_product": np.array(rows.target @ theta),
            "v": rows.rows.combine(theta),
        }
        return Reply(sums, {"violation": largest_violation(theta, lower, upper, short, beyond)})

    def alpha(self, partition: Partition, setup: Setup, scale: float) -> np.ndarray:
        """Return status and α = scale θ, within its bounds, of one partition: two columns."""
        rows = partition.row_sums(setup)
        status, theta = dual_between(rows, self.nodes, self.s, self.boxes, self.w)
        lower, upper = (scale * bound for bound in rows.bounds(self.boxes, self.tau))
        inside = np.clip(scale * theta, lower, upper)
        alpha = np.where(status == FREE, inside, np.where(status == UPPER, upper, lower))
        return np.column_stack((status, alpha))


@dataclass(frozen=True)
class Survey(Request):
    """Errors in the input of partitions, their labels, and the sums of squares of X."""

    labels: bool

    def survey(self, partition: Partition) -> Reply:
        """Return what was found when the partition was made."""
        if partition.trouble is not None:
            return Reply({"squares": np.array(0.0)}, notes=[(partition.trouble, None)])
        X = partition.X if isinstance(partition.X, np.ndarray) else partition.X.data
        squares = float(np.square(X, dtype=np.float64).sum()) if X.size else 0.0
        found = np.unique(partition.y)[:MAX_LABELS] if self.labels else None
        return Reply({"squares": np.array(squares)}, notes=[(None, found)])


def answer(partition: Partition, told: tuple[Request, Setup | None, frozenset[int]]) -> Reply:
    """Return the reply of one partition: the task that workers run.

    `told` holds the request, the setup of rows, and the numbers of margins still referred to.
    """
    request, setup, referred = told
    if isinstance(request, Survey):
        return request.survey(partition)
    assert setup is not None
    with partition._lock:
        rows = partition.row_sums(setup)
        before = rows.rows.visits
        reply = request.of(partition, rows)
        reply.sums["visits"] = np.array(rows.rows.visits - before)
        partition.keep_only(referred)
    return reply


def add(replies: list[Reply]) -> Reply:
    """Return the sum of replies, in their order."""
    first = replies[0]
    total = Reply(dict(first.sums), dict(first.peaks), list(first.notes))
    for other in replies[1:]:
        for name, array in other.sums.items():
            total.sums[name] = total.sums[name] + array
        for name, value in other.peaks.items():
            total.peaks[name] = max(total.peaks[name], value)
        total.notes += other.notes
    return total


def _hessian(rows: RowSums, box: np.ndarray, width: float) -> np.ndarray:
    rows.set_curvature(box, width)
    matrix = np.zeros((rows.rows.n_cols, rows.rows.n_cols))
    rows.add_hessian(matrix)
    return matrix
