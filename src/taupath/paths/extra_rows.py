"""Rows of the canonical problem that are no samples: penalties and constraints of w.

A row z with target p and the box [l, h] adds max(h (p - <z, w>), l (p - <z, w>)) to the objective.
With z = e_j, p = 0 and [-λ, λ] that is the penalty λ |w_j|, and with [0, ∞) the constraint
<z, w> ≥ p. The path hides these rows: its α, index sets and copies are those of the samples.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath._core._rows import Rows
from taupath.engine.problem import Line
from taupath.engine.readers import made_once
from taupath.engine.record import Record, Solution
from taupath.engine.rows import make_rows, order_in_memory
from taupath.engine.status import AFTER, FREE, LOWER, UPPER
from taupath.engine.tolerances import RAISE
from taupath.paths.certificate import Measure, Units, measure
from taupath.paths.evaluation import Evaluation, LinearEvaluation
from taupath.paths.intercept import Intercept
from taupath.paths.training_data import Responses, TrainingData

# A weight is exactly the one that a row asks for if that changes typical margins by no more than
# this part of a typical target, or of what the largest weight adds to them: rounding.
UNSEEN, ADDED = 1e-13, 1e-14
# The slack of a free row, in units of 1 and of its entry times the largest weight: rounding.
SLACK_ROUNDING = 1e-11
# How often the other weights are adjusted to weights that are fixed: twice, for digits that the
# first time lacks.
ADJUSTMENTS = 2
# Entries of the free rows up to which that is done (32 MB); beyond, solving anew is no slower.
MOST_ADJUSTED = 4e6
# Names of the ends of a line.
BOUNDS = ("lower0", "lower1", "upper0", "upper1")
TARGETS = ("target0", "target1")


@dataclass(frozen=True)
class ExtraRows:
    """Rows z over the features and, if there is one, the constant; their targets and boxes."""

    matrix: "sp.csr_array"
    line: Line  # targets and boxes at both ends of a path
    hard: np.ndarray  # whether bounds other than zero stand for infinity
    name: tuple[str, ...]  # what messages call each row

    def __len__(self) -> int:
        return len(self.name)

    def widened(self, factor: float) -> "ExtraRows":
        """Return the rows with bounds so many times as far off where they stand for infinity."""
        wider: Any = {
            name: np.where(self.hard, factor * getattr(self.line, name), getattr(self.line, name))
            for name in BOUNDS
        }
        return replace(self, line=replace(self.line, **wider))

    def in_units(self, unit: float) -> "Line":
        """Return the line for θ and w that are smaller by this factor."""
        ends: Any = {name: getattr(self.line, name) / unit for name in (*BOUNDS, *TARGETS)}
        return replace(self.line, **ends)

    @property
    def mirrored(self) -> bool:
        """Whether targets and boxes for -θ and -w are the same."""
        line = self.line
        return not (line.target0.any() or line.target1.any()) and all(
            np.array_equal(getattr(line, f"lower{end}"), -getattr(line, f"upper{end}"))
            for end in (0, 1)
        )

    @property
    def cost_nothing_at_zero(self) -> bool:
        """Whether w = 0 meets all constraints and pays no penalty; targets rest."""
        line = self.line
        return not np.maximum(line.upper0 * line.target0, line.lower0 * line.target0).any()

    def reached(self, record: Record) -> np.ndarray:
        """Return which rows are, anywhere in a record of all rows, at a bound for infinity."""
        n = len(record.status) - len(self)
        found = np.zeros(len(self), dtype=bool)
        for side, bound in ((LOWER, self.line.lower0), (UPPER, self.line.upper0)):
            at = record.status == side
            at[record.index[AFTER[record.move] == side]] = True
            if record.nodes is not None:
                at |= (record.nodes.status == side).any(axis=0)
            found |= at[n:] & (bound != 0.0)
        return np.asarray(found & self.hard)

    @made_once
    def _single(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows with one entry whose targets rest, its column and the entry."""
        rests = self.line.target0 == self.line.target1
        rows = np.flatnonzero((np.diff(self.matrix.indptr) == 1) & rests)
        first = self.matrix.indptr[rows]
        return rows, self.matrix.indices[first], self.matrix.data[first]

    def fixed(self, w: np.ndarray, free: np.ndarray, room: np.ndarray) -> np.ndarray:
        """Return the weights that rows fix, as those that are `free` do, and NaN for others.

        Those are fixed, too, that are off by no more than the `room` of their column. None is
        beyond a hard bound. Free rows whose slack is more than rounding, as between kinks that
        nearly coincide, fix nothing.
        """
        rows, columns, entries = self._single
        asked = self.line.target0[rows] / entries
        off = w[columns] - asked
        rounded = SLACK_ROUNDING * (1.0 + np.abs(entries) * np.abs(w).max(initial=0.0))
        exact = free[rows] & (np.abs(entries * off) <= rounded)
        exact |= np.abs(off) <= room[columns]
        exact |= self.hard[rows] & (entries * off < 0.0)
        found = np.full(len(w), np.nan)
        found[columns[exact]] = asked[exact] + 0.0  # no -0.0
        return found

    def breaks(self, w: np.ndarray, t: float, unit: float) -> bool:
        """Return whether w misses a constraint by more than rounding; targets are in this unit."""
        matrix, lower = self.matrix[self.hard], self.line.lower(t)[self.hard]
        short = self.line.target(t)[self.hard] - matrix @ w
        rounded = SLACK_ROUNDING * (unit + abs(matrix) @ np.abs(w))
        return bool((np.where(lower < 0.0, np.abs(short), short) > rounded).any())

    def room_if_raised(self, n_columns: int) -> np.ndarray:
        """Return by how much raised targets can change the weight that rows ask of each column.

        In units of a typical target.
        """
        _, columns, entries = self._single
        room = np.zeros(n_columns)
        np.maximum.at(room, columns, RAISE / np.abs(entries))
        return room


class ExtendedData(TrainingData):
    """Samples and extra rows, for the linear kernel; a constant feature is a column like others."""

    extra: ExtraRows

    def __init__(self, X: Any, responses: Responses, constant: Intercept, extra: ExtraRows) -> None:
        super().__init__(X, responses, constant)
        self.extra = extra

    # -- what is walked: samples first, then the extra rows --------------------------------------

    @made_once
    def walked_X(self) -> Any:
        """The x_i with their constant, and the extra rows."""
        below = self.extra.matrix
        constant = np.full((self.X.shape[0], int(self.constant.bias != 0.0)), self.constant.bias)
        if isinstance(self.X, np.ndarray):
            return np.vstack((np.hstack((self.X, constant)), below.toarray()))
        return sp.csr_array(sp.vstack((sp.hstack((self.X, constant)), below), format="csr"))

    @property
    def _signs(self) -> np.ndarray:
        return np.append(self.sign, np.ones(len(self.extra)))

    @made_once
    def rows(self) -> Rows:
        """The z_i of samples, and the extra rows."""
        return make_rows(self.walked_X, self._signs, 0.0)

    def rows_to_walk(self) -> tuple[Rows, np.ndarray | None]:
        """Return rows laid out in memory for a quick walk, and their order."""
        order = order_in_memory(self.X, self.sign, self.response)
        if order is None:
            return make_rows(self.walked_X, self._signs, 0.0, rearranged=True), None
        order = np.append(order, len(order) + np.arange(len(self.extra)))
        return make_rows(self.walked_X[order], self._signs[order], 0.0), order

    def extended(self, line: Line, unit: float = 1.0) -> Line:
        """Return the line of samples, continued by the extra rows; θ is in this unit."""
        more = self.extra.in_units(unit)
        ends: Any = {
            name: np.append(getattr(line, name), getattr(more, name))
            for name in (*BOUNDS, *TARGETS)
        }
        return replace(line, **ends)

    # -- what is read: samples only --------------------------------------------------------------

    @made_once
    def _sizes(self) -> np.ndarray:
        """How large the entries of each column are: among samples, and in rows with several."""
        squares = self.X.multiply(self.X) if sp.issparse(self.X) else np.square(self.X)
        width = self.extra.matrix.shape[1]
        sizes = np.zeros((2, width))
        sizes[0, : self.X.shape[1]] = np.sqrt(np.asarray(squares.mean(axis=0)).ravel())
        sizes[0, self.X.shape[1] :] = abs(self.constant.bias)
        several = abs(self.extra.matrix[np.diff(self.extra.matrix.indptr) > 1])
        np.maximum.at(sizes[1], several.indices, several.data)
        return sizes

    def _unseen(self, w: np.ndarray) -> np.ndarray:
        """By how much the weight of each column can change before margins do."""
        added = np.maximum.accumulate((self._sizes * np.abs(w)).max(axis=1))
        change = UNSEEN * (self.units.typical or 1.0) + ADDED * added
        with np.errstate(divide="ignore", over="ignore"):  # a column without entries has any room
            room = np.minimum.reduce(change[:, np.newaxis] / self._sizes)
        return np.asarray(np.where(self._sizes[0] > 0.0, room, change[0]))

    @made_once
    def moved_if_raised(self) -> np.ndarray:
        """By how much raised targets can change the weight of each column.

        By what rows of a single entry ask for, and by what changes typical margins by as much.
        """
        moved = self.extra.room_if_raised(self._sizes.shape[1])
        size = self._sizes[0]
        moved = np.maximum(moved, np.divide(RAISE, size, out=0.0 * size, where=size > 0.0))
        return np.asarray((self.units.typical or 1.0) * moved)

    def expand(self, solution: Solution) -> Solution:
        """Return the solution of the samples."""
        n = self.distinct.shape[0]
        return solution._replace(status=solution.status[:n], theta=solution.theta[:n])

    def settled(self, found: Solution, raised: bool, t: float) -> Iterator[list[Solution]]:
        """Yield forms of a solution whose weights are exact where extra rows fix them.

        First with the other weights as they are, then with those that bring the free rows to their
        targets again. Index sets are those of raised targets, also where targets were read as given
        (`raised` tells that), so what raised targets may have left of a weight counts as fixed in
        one form, if no constraint is then broken, and as a weight in another.
        """
        unseen, by_raise = self._unseen(found.w), self.moved_if_raised
        rooms = [np.maximum(unseen, by_raise)] + ([] if raised else [unseen])
        free = found.status[self.shape[0] :] == FREE
        fixed = [self.extra.fixed(found.w, free, room) for room in rooms]
        forms = [found._replace(w=np.where(np.isnan(each), found.w, each)) for each in fixed]
        if np.array_equal(forms[0].w, forms[-1].w):
            del forms[1:], fixed[1:]
        elif self.extra.breaks(forms[0].w, t, self.units.typical or 1.0):
            del forms[0], fixed[0]
        yield forms
        yield [self._adjusted(*both, t) for both in zip(forms, fixed, strict=True)]

    def _adjusted(self, settled: Solution, fixed: np.ndarray, t: float) -> Solution:
        """Return the solution with weights that are not fixed such that free rows are on target."""
        targets = np.append(self.target, self.extra.line.target(t))
        members, w = np.flatnonzero(settled.status == FREE), settled.w
        others = np.flatnonzero(np.isnan(fixed))
        if len(members) * len(others) > MOST_ADJUSTED:
            return settled
        Z = self.walked_X[members][:, others]
        Z = self._signs[members, np.newaxis] * (Z if isinstance(Z, np.ndarray) else Z.toarray())
        for _ in range(ADJUSTMENTS if Z.size else 0):
            slack, _ = self._evaluation(settled._replace(w=w), targets).exact_slacks(members)
            w = w.copy()
            w[others] += np.linalg.lstsq(Z, slack, rcond=None)[0]
        return settled._replace(w=w)

    def whole(self, solution: Solution, found: Solution, t: float) -> Solution:
        """Return the solution of the samples, continued by the extra rows of the one found."""
        line, n = self.extra.line, self.distinct.shape[0]
        lower, upper = line.lower(t), line.upper(t)
        status, theta = found.status[n:], np.clip(found.theta[n:], lower, upper)
        at_bound = np.where(status == UPPER, upper, lower)
        return solution._replace(
            status=np.append(solution.status, status),
            theta=np.append(solution.theta, np.where(status == FREE, theta, at_bound)),
        )

    @property
    def by_theta(self) -> bool:
        """Never: w is not the sum over samples alone."""
        return False

    @made_once
    def units(self) -> Units:
        """What gaps and violations are relative to: for extra rows, to a typical target."""
        units = Units(self.target, self.weight)
        units.own = np.append(units.own, np.full(len(self.extra), units.typical or 1.0))
        return units

    @made_once
    def lengths(self) -> np.ndarray:
        """The lengths of all rows."""
        return self.norms(self.walked_X)

    def measure(self, solution: Solution, line: Line, t: float, least: float = 0.0) -> Measure:
        """Measure how far from optimal a whole solution is."""
        targets = np.append(self.target, self.extra.line.target(t))
        line = self._priced(line, t, solution.theta)
        return measure(self._evaluation(solution, targets), line, t, self.units, least)

    def _priced(self, line: Line, t: float, theta: np.ndarray) -> Line:
        """Return a line on which θ of a constraint has finite room, at t.

        The dual objective bounds that of all w that meet the constraints, whatever the room. It is
        the price at which the primal one counts what rounding violates a constraint by: here twice
        the multiplier, and the largest cost of a sample.
        """
        n, hard = self.shape[0], self.extra.hard
        widest = float(line.width(t)[:n].max())
        room = 2.0 * np.abs(theta[n:]) + widest
        lower, upper = line.lower(t), line.upper(t)
        lower[n:] = np.where(hard, np.maximum(lower[n:], -room), lower[n:])
        upper[n:] = np.where(hard, np.minimum(upper[n:], room), upper[n:])
        return replace(line, lower0=lower, lower1=lower, upper0=upper, upper1=upper)

    def _evaluation(self, solution: Solution, targets: np.ndarray) -> Evaluation:
        """Return the primal and the dual point of a whole solution."""
        Z = self.walked_X
        terms = Z.shape[1] if isinstance(Z, np.ndarray) else int(np.diff(Z.indptr).max(initial=1))
        return LinearEvaluation(
            solution.theta,
            self._signs,
            targets,
            solution.w,
            0.0,
            0.0,
            False,
            None,
            terms,
            self.lengths,
            Z.__matmul__,
            Z.T.__matmul__,
            Z.__getitem__,
        )
