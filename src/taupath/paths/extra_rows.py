"""Rows of the canonical problem that are no samples: penalties and constraints of w.

A row z with target p and the box [l, h] adds max(h (p - <z, w>), l (p - <z, w>)) to the objective.
With z = e_j, p = 0 and [-λ, λ] that is the penalty λ |w_j|, and with [0, ∞) the constraint
<z, w> ≥ p. The path hides these rows: its α, index sets and copies are those of the samples.
"""

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
from taupath.paths.certificate import Units
from taupath.paths.evaluation import Evaluation, LinearEvaluation
from taupath.paths.intercept import Intercept
from taupath.paths.training_data import Responses, TrainingData

# A weight is exactly the one that a row with a single entry asks for if the row's slack is at most
# this: more than rounding leaves of it, and a hundredth of what gaps may be.
AS_ASKED = 1e-11


@dataclass(frozen=True)
class ExtraRows:
    """Rows z over the features and, if there is one, the constant; their targets and boxes."""

    matrix: "sp.csr_array"
    target: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    hard: np.ndarray  # whether bounds other than zero stand for infinity
    name: tuple[str, ...]  # what messages call each row

    def __len__(self) -> int:
        return len(self.target)

    def widened(self, factor: float) -> "ExtraRows":
        """Return the rows with bounds so many times as far off where they stand for infinity."""
        lower, upper = (
            np.where(self.hard, factor * bound, bound) for bound in (self.lower, self.upper)
        )
        return replace(self, lower=lower, upper=upper)

    def reached(self, record: Record) -> np.ndarray:
        """Return which rows are, anywhere in a record of all rows, at a bound for infinity."""
        n = len(record.status) - len(self)
        found = np.zeros(len(self), dtype=bool)
        for side, bound in ((LOWER, self.lower), (UPPER, self.upper)):
            at = record.status == side
            at[record.index[AFTER[record.move] == side]] = True
            if record.nodes is not None:
                at |= (record.nodes.status == side).any(axis=0)
            found |= at[n:] & (bound != 0.0)
        return np.asarray(found & self.hard)

    @made_once
    def _single(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The rows with one entry, its column and the entry."""
        rows = np.flatnonzero(np.diff(self.matrix.indptr) == 1)
        first = self.matrix.indptr[rows]
        return rows, self.matrix.indices[first], self.matrix.data[first]

    def fixed(self, w: np.ndarray, free: np.ndarray) -> np.ndarray:
        """Return w with exact weights where rows fix them, as all rows that are `free` do.

        No weight is beyond a hard bound.
        """
        rows, columns, entries = self._single
        slack = entries * w[columns] - self.target[rows]
        exact = free[rows] | (np.abs(slack) <= AS_ASKED) | (self.hard[rows] & (slack < 0.0))
        found = w.copy()
        found[columns[exact]] = (self.target[rows] / entries)[exact] + 0.0  # no -0.0
        return found


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

    @property
    def _targets(self) -> np.ndarray:
        return np.append(self.target, self.extra.target)

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

    def extended(self, line: Line) -> Line:
        """Return the line of samples, continued by the extra rows, which rest."""
        extra, both = self.extra, (0, 1)
        own = {f"lower{end}": extra.lower for end in both}
        own |= {f"upper{end}": extra.upper for end in both}
        own |= {f"target{end}": extra.target for end in both}
        ends: Any = {name: np.append(getattr(line, name), more) for name, more in own.items()}
        return replace(line, **ends)

    # -- what is read: samples only --------------------------------------------------------------

    def expand(self, solution: Solution) -> Solution:
        """Return the solution of the samples; weights that extra rows fix are exact."""
        n = self.shape[0]
        w = self.extra.fixed(solution.w, solution.status[n:] == FREE)
        return solution._replace(status=solution.status[:n], theta=solution.theta[:n], w=w)

    def whole(self, solution: Solution, found: Solution) -> Solution:
        """Return the solution of the samples, continued by the extra rows of the one found."""
        extra, n = self.extra, self.shape[0]
        status, theta = found.status[n:], np.clip(found.theta[n:], extra.lower, extra.upper)
        at_bound = np.where(status == UPPER, extra.upper, extra.lower)
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

    def evaluation(self, solution: Solution) -> Evaluation:
        """Return the primal and the dual point of a whole solution, to be measured."""
        Z = self.walked_X
        terms = Z.shape[1] if isinstance(Z, np.ndarray) else int(np.diff(Z.indptr).max(initial=1))
        return LinearEvaluation(
            solution.theta,
            self._signs,
            self._targets,
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
