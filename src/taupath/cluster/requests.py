"""What is asked of partitions, and what they answer: w-sized vectors there, sums back.

A partition answers from its rows and what is in the request. MarginRef, shares and which of them are
between 0 and 1 it keeps, but only to be quicker: whatever is missing, as after the loss of a
worker, is computed again from w.
"""

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

from taupath.approximate.gap_bound import Boxes
from taupath.approximate.interpolation import dual_between
from taupath.approximate.node import Node, Smoothing
from taupath.approximate.row_sums import RowSums
from taupath.engine.rows import make_rows
from taupath.engine.status import FREE, UPPER
from taupath.paths.certificate import AT_BOUND

__all__ = [
    "ChordLosses",
    "LineSearch",
    "MarginRef",
    "NewtonMatrix",
    "NodeSums",
    "Objectives",
    "Partition",
    "Reply",
    "Request",
    "Setup",
    "SmoothingChange",
    "Summarize",
    "Survey",
    "UpdateDual",
    "add",
    "answer",
]

# Bytes for each row that a partition is going to keep beside it: sign and target, margins of six
# places, shares, their changes, and two lists of rows.
KEPT_PER_ROW = 80
# MarginRef kept at a time, at most.
MOST_MARGINS = 8
# Labels that are told of in an error.
MANY_LABELS = 100


@dataclass(frozen=True)
class Setup:
    """What makes rows z from X and y: constant feature, and classes, None for regression."""

    bias: float
    classes: np.ndarray | None


@dataclass(frozen=True, eq=False)
class MarginRef:
    """MarginRef <z_i, w>, by number.

    `made_of` are numbers and factors of others that they are a sum of; if these are not there
    either, w will do.
    """

    number: int
    w: np.ndarray
    made_of: tuple[tuple[int, float], ...] = ()


@dataclass
class Reply:
    """DualSums over some partitions, largest values, and what cannot be added up."""

    sums: dict[str, np.ndarray] = field(default_factory=dict)
    peaks: dict[str, float] = field(default_factory=dict)
    notes: list[Any] = field(default_factory=list)

    @property
    def nbytes(self) -> int:
        """Bytes of the numbers."""
        return sum(array.nbytes for array in self.sums.values()) + 8 * len(self.peaks)


class Partition:
    """Rows that are together on a worker.

    Parameters
    ----------
    X, y, weight : ndarray or CSR, ndarray, ndarray
        Checked.
    place : str
        Which one this is, for messages.
    trouble : str or None
        What is wrong with it: then there are no rows.
    """

    def __init__(
        self, X: Any, y: Any, weight: Any, place: str = "", trouble: str | None = None
    ) -> None:
        self.X, self.y, self.weight, self.place, self.trouble = X, y, weight, place, trouble
        self._forget()

    def _forget(self) -> None:
        self._lock = Lock()
        self._part: RowSums | None = None
        self._margins: dict[int, np.ndarray] = {}
        self._shares_of: tuple[Any, ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if not name.startswith("_")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._forget()

    def __sizeof__(self) -> int:
        """Bytes, of what it is going to keep, too: schedulers plan with them."""
        if self.trouble is not None:
            return 1000
        X = self.X
        stored = X.nbytes if isinstance(X, np.ndarray) else X.data.nbytes + X.indices.nbytes
        return int(stored + self.y.nbytes + self.weight.nbytes + KEPT_PER_ROW * X.shape[0])

    def part(self, setup: Setup) -> RowSums:
        """Return the rows as a solver sees them."""
        if self._part is None:
            n = self.X.shape[0]
            if setup.classes is None:
                sign, target = np.ones(n, dtype=np.int8), self.y
            else:
                sign = np.where(self.y == setup.classes[1], 1, -1).astype(np.int8)
                target = np.ones(n)
            self._part = RowSums(make_rows(self.X, sign, setup.bias), target, self.weight)
        return self._part

    def margins(self, part: RowSums, asked: MarginRef) -> np.ndarray:
        """Return margins, kept ones or from others or from the rows."""
        found = self._margins.pop(asked.number, None)
        if found is None and asked.made_of:
            kept = self._margins
            if all(number in kept for number, _ in asked.made_of):
                found = np.zeros(part.rows.n_rows)
                for number, factor in asked.made_of:
                    found += factor * kept[number]
        if found is None:
            found = part.rows.products(asked.w)
        while len(self._margins) >= MOST_MARGINS:
            del self._margins[next(iter(self._margins))]
        self._margins[asked.number] = found
        return found

    def update(self, part: RowSums, place: MarginRef, smoothing: Smoothing, afresh: bool) -> Reply:
        """Bring the shares up to date."""
        sums = part.update(self.margins(part, place), smoothing, afresh)
        self._shares_of = _shares_of(place, smoothing)
        return Reply(
            {
                "totals": sums.totals.copy(),
                "sums": sums.sums.copy(),
                "n_between": np.array(sums.n_between),
            }
        )

    def with_shares(self, part: RowSums, place: MarginRef, smoothing: Smoothing) -> np.ndarray:
        """Return margins, having made sure that the shares are theirs."""
        if self._shares_of != _shares_of(place, smoothing):
            self.update(part, place, smoothing, afresh=False)
        return self.margins(part, place)

    def keep_only(self, numbers: frozenset[int]) -> None:
        """Forget margins that nobody will ask for."""
        self._margins = {k: margin for k, margin in self._margins.items() if k in numbers}


def _shares_of(place: MarginRef, smoothing: Smoothing) -> tuple[Any, ...]:
    return place.number, smoothing.width, *smoothing.centre


class Request:
    """Something to be computed in every partition."""

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Return the partition's part of it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Summarize(Request):
    """RowSummary."""

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Return the facts, those that are largest values apart."""
        facts = part.summary()
        summed = ("n_rows", "reach", "aims", "weight")
        largest = ("n_cols", "row", "depth", "losses_depth", "highest", "longest")
        arrays = ("all_rows", "all_aims", "all_weights", "at_rest")
        return Reply(
            {name: np.asarray(getattr(facts, name)) for name in (*summed, *arrays)},
            {name: getattr(facts, name) for name in largest}
            | {"two_classes": float(not facts.one_class)},
        )


@dataclass(frozen=True)
class UpdateDual(Request):
    """DualPoint at a place; with the matrix of Newton's equations, and chords from and to others."""

    place: MarginRef
    smoothing: Smoothing
    box: np.ndarray
    afresh: bool
    squares: bool
    since: tuple[MarginRef, ...] = ()
    until: tuple[MarginRef, ...] = ()
    n_panels: int = 0

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """UpdateDual."""
        reply = partition.update(part, self.place, self.smoothing, self.afresh)
        if self.squares:
            reply.sums["squares"] = _squares(part, self.box, self.smoothing.width)
        here = partition.margins(part, self.place)
        for k, other in enumerate(self.since):
            reply.sums[f"since {k}"] = part.along(
                partition.margins(part, other), here, self.n_panels
            )
        for k, other in enumerate(self.until):
            reply.sums[f"until {k}"] = part.along(
                here, partition.margins(part, other), self.n_panels
            )
        return reply


@dataclass(frozen=True)
class LineSearch(Request):
    """Slopes at some lengths of a step; with the shares at the end of it, should it be taken."""

    place: MarginRef
    step: MarginRef
    lengths: tuple[float, ...]
    smoothing: Smoothing
    box: np.ndarray
    end: MarginRef | None
    squares: bool

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Look along the step."""
        margin, rate = partition.margins(part, self.place), partition.margins(part, self.step)
        slopes = [part.slope(margin, rate, x, self.smoothing, self.box) for x in self.lengths]
        reply = Reply()
        if self.end is not None:
            reply = partition.update(part, self.end, self.smoothing, afresh=False)
            if self.squares:
                reply.sums["squares"] = _squares(part, self.box, self.smoothing.width)
        reply.sums["slopes"] = np.array(slopes)
        return reply


@dataclass(frozen=True)
class SmoothingChange(Request):
    """What Σ θ z would change by with a narrower smoothing."""

    place: MarginRef
    smoothing: Smoothing
    narrower: Smoothing
    box: np.ndarray

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Sum over the shares in between."""
        margin, moved = partition.with_shares(part, self.place, self.smoothing), _zeros(part)
        part.moved(margin, self.smoothing, self.narrower, self.box, moved)
        return Reply({"moved": moved})


@dataclass(frozen=True)
class NewtonMatrix(Request):
    """Newton's matrix, or its product with p, at a place."""

    place: MarginRef
    smoothing: Smoothing
    box: np.ndarray
    width: float
    p: np.ndarray | None

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Multiply."""
        partition.with_shares(part, self.place, self.smoothing)
        if self.p is None:
            return Reply({"squares": _squares(part, self.box, self.width)})
        part.weigh(self.box, self.width)
        product = _zeros(part)
        part.times(self.p, product)
        return Reply({"product": product})


@dataclass(frozen=True)
class ChordLosses(Request):
    """Losses on the way from one place to another."""

    begin: MarginRef
    end: MarginRef
    n_panels: int

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Sum the losses."""
        begin, end = (partition.margins(part, margins) for margins in (self.begin, self.end))
        return Reply({"losses": part.along(begin, end, self.n_panels)})


@dataclass(frozen=True)
class NodeSums(Request):
    """A node as the end of chords."""

    node: Node
    place: MarginRef
    boxes: Boxes

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Make θ from w."""
        margin = partition.margins(part, self.place)
        v, aim, off = part.end_at(self.node, self.boxes, margin)
        return Reply({"v": v, "aim": np.array(aim)}, {"off": off})


@dataclass(frozen=True)
class Objectives(Request):
    """Primal and dual objective on a chord, without the squares, and Σ θ z."""

    nodes: tuple[Node, ...]
    s: float
    tau: float
    w: np.ndarray
    boxes: Boxes

    def of(self, partition: Partition, part: RowSums) -> Reply:
        """Measure."""
        _, theta = dual_between(part, self.nodes, self.s, self.boxes, self.w)
        lower, upper = part.bounds(self.boxes, self.tau)
        short = part.target - part.rows.products(self.w)
        over, under = np.maximum(short, 0.0), np.maximum(-short, 0.0)
        width = AT_BOUND * (upper - lower)
        off = np.maximum((theta < upper - width) * over, (theta > lower + width) * under)
        sums = {
            "loss": np.array(upper @ over - lower @ under),
            "aim": np.array(part.target @ theta),
            "v": part.rows.combine(theta),
        }
        return Reply(sums, {"off": float(off.max(initial=0.0))})

    def alpha(self, partition: Partition, setup: Setup, scale: float) -> np.ndarray:
        """Return status and α = scale θ, within its bounds, of one partition: two columns."""
        part = partition.part(setup)
        status, theta = dual_between(part, self.nodes, self.s, self.boxes, self.w)
        lower, upper = (scale * bound for bound in part.bounds(self.boxes, self.tau))
        inside = np.clip(scale * theta, lower, upper)
        alpha = np.where(status == FREE, inside, np.where(status == UPPER, upper, lower))
        return np.column_stack((status, alpha))


@dataclass(frozen=True)
class Survey(Request):
    """What is wrong with partitions, their labels, and the squares of their features."""

    labels: bool

    def survey(self, partition: Partition) -> Reply:
        """Look at what was checked when the partition was made."""
        if partition.trouble is not None:
            return Reply({"squares": np.array(0.0)}, notes=[(partition.trouble, None)])
        X = partition.X if isinstance(partition.X, np.ndarray) else partition.X.data
        squares = float(np.square(X, dtype=np.float64).sum()) if X.size else 0.0
        found = np.unique(partition.y)[:MANY_LABELS] if self.labels else None
        return Reply({"squares": np.array(squares)}, notes=[(None, found)])


def answer(partition: Partition, told: tuple[Request, Setup | None, frozenset[int]]) -> Reply:
    """Return what one partition has to say: the task that workers run.

    `told` are the request, what makes rows, and the numbers of margins that are still wanted.
    """
    request, setup, wanted = told
    if isinstance(request, Survey):
        return request.survey(partition)
    assert setup is not None
    with partition._lock:
        part = partition.part(setup)
        before = part.rows.visits
        reply = request.of(partition, part)
        reply.sums["visits"] = np.array(part.rows.visits - before)
        partition.keep_only(wanted)
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


def _zeros(part: RowSums) -> np.ndarray:
    return np.zeros(part.rows.n_cols)


def _squares(part: RowSums, box: np.ndarray, width: float) -> np.ndarray:
    part.weigh(box, width)
    matrix = np.zeros((part.rows.n_cols, part.rows.n_cols))
    part.squares(matrix)
    return matrix
