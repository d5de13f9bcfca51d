"""Solutions at consecutive nodes, a block of nodes at a time, with matrix products.

Most free points of a block are free at all of its nodes. These are eliminated once for the block,
which leaves a small system for each node. Solutions are then refined until all targets are met.
Blocks too ill-conditioned for that are left to `Replay`, which solves for one node at a time.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf, dtrtri

from taupath._core._rows import Rows
from taupath._core._small_systems import solve_each
from taupath.engine.problem import Line
from taupath.engine.record import Record
from taupath.engine.status import AFTER, BEFORE, FREE, UPPER

# A block with a squared pivot below this fraction of its row's squared length is left to `Replay`:
# refinement would gain less than four digits a round.
LEAST_PIVOT = 1e-12
# Largest distance of free points from the margin, relative to their targets or to a typical one: a
# hundredth of what targets are raised by.
ON_MARGIN = 1e-12
# Rounds of refinement; two nearly always suffice.
MOST_ROUNDS = 4
# Largest distance accepted if rounding prevents a smaller one or may hide a larger one: a tenth of
# what targets are raised by. Rounding of sums is taken as TYPICAL_ROUNDING of the worst case.
MOST_NOISE, TYPICAL_ROUNDING = 1e-11, 0.1
EPSILON = float(np.finfo(np.float64).eps)
# Rows are multiplied as a dense matrix of at most so many entries (32 MB), unless it has more than
# MOST_ZEROS entries for each stored one.
LARGEST_DENSE, MOST_ZEROS = 1 << 22, 16
# Rounding error of a computed ‖Δw‖², relative to its largest possible value.
PRODUCT_ROUNDING = 1e-14


class Swept(NamedTuple):
    """Solutions at consecutive nodes; w and θ if asked for."""

    w: np.ndarray | None
    theta: np.ndarray | None
    multiplier: np.ndarray
    travel: np.ndarray  # ‖Δw‖ from each node to the next, without the constant feature

    @classmethod
    def joined(cls, parts: "list[Swept]") -> "Swept":
        """Return several parts as one; the last node of each is the first of the next."""
        if len(parts) == 1:
            return parts[0]
        last, earlier = parts[-1], parts[:-1]

        def together(name: str) -> Any:
            if getattr(last, name) is None:
                return None
            return np.concatenate(
                [getattr(each, name)[:-1] for each in earlier] + [getattr(last, name)]
            )

        travel = np.concatenate([each.travel for each in parts])
        return cls(together("w"), together("theta"), together("multiplier"), travel)


class _Members(NamedTuple):
    """The points that are free at some node of a block: those that are free at all come first."""

    points: np.ndarray
    n_always: int
    gram: np.ndarray  # their inner products
    dense: np.ndarray | None  # their rows, if these are multiplied as a dense matrix


class NodeBlocks:
    """Blocks of nodes along a record, one after the other.

    Parameters
    ----------
    rows : Rows
        The z_i.
    line : Line
        The line that was walked.
    record : Record
        The events along it.
    lengths : ndarray
        The lengths of the rows.
    with_w : bool
        Whether w is wanted.
    """

    def __init__(
        self, rows: Rows, line: Line, record: Record, lengths: np.ndarray, with_w: bool
    ) -> None:
        self.rows, self.line, self.record, self.lengths = rows, line, record, lengths
        self.with_w = with_w
        self._sign = rows.signs.astype(float)
        self._status, self._position = record.status.copy(), 0
        # for points at a bound throughout a block: θ at t = 0 and t = 1, and Σ θ_i z_i
        self._ends = np.zeros((2, rows.n_rows))
        self._sums = np.zeros((2, rows.n_cols), dtype=np.longdouble)
        self._members = _Members(np.zeros(0, dtype=np.int32), 0, np.zeros((0, 0)), None)

    def solve(self, positions: np.ndarray, t: np.ndarray, with_theta: bool) -> Swept | None:
        """Return the solutions at t by the index sets after `positions` events.

        Returns None if they are too ill-conditioned.
        """
        self._go_to(int(positions[0]))
        touched, status = self._touched(positions)
        self._sum_up(touched)
        members = self._members = self._gather(touched)
        system = _System.of(members, self.lengths, self._sign if self.rows.balanced else None)
        if system is None:
            return None
        points, some = members.points, slice(members.n_always, None)
        free = np.ones((len(t), len(points)), dtype=bool)
        free[:, some] = status == FREE
        if self.rows.balanced and not free.any(axis=1).all():
            return None
        line, sign = self.line, self._sign[points]
        lower = _between(line.lower0[touched], line.lower1[touched], t)
        upper = _between(line.upper0[touched], line.upper1[touched], t)
        theta = np.zeros(free.shape)
        theta[:, some] = np.where(free[:, some], 0.0, np.where(status == UPPER, upper, lower))
        products = self._products_with_sums(members)
        at_bounds = _between(products[0], products[1], t)
        target = _between(line.target0[points], line.target1[points], t)
        size = np.maximum(np.abs(target), line.typical)
        total = self._ends @ self._sign
        bound_total = _between(total[0], total[1], t)
        multiplier = np.zeros(len(t))
        small = np.ascontiguousarray(free[:, some]).view(np.uint8)
        w, worst = None, np.inf
        for attempt in range(MOST_ROUNDS + 1):
            if self.with_w and attempt > 0:
                w = self._combined(members, theta, multiplier, t)
                lack = target - self._margins(members, w)
            else:
                lack = target - at_bounds - theta @ members.gram
                if self.rows.balanced:
                    lack -= np.outer(multiplier, sign)
            lack[~free] = 0.0
            before, worst = worst, float((np.abs(lack) / size).max(initial=0.0))
            if attempt > 0 and (worst <= ON_MARGIN or worst > 0.5 * before):
                break
            found = system.solve(lack, small, bound_total + theta @ sign)
            if found is None:
                return None
            theta += found[0]
            multiplier += found[1]
        noise = TYPICAL_ROUNDING * self.lengths.max() * (np.abs(theta) @ self.lengths[points])
        noise = EPSILON * (noise + np.abs(at_bounds).max(axis=1, initial=0.0)).max() / line.typical
        if not max(worst, noise) <= MOST_NOISE:
            return None
        travel = self._travel(members, w, theta, t, products)
        full = None
        if with_theta:
            full = _between(self._ends[0], self._ends[1], t)
            full[:, points] = theta
        return Swept(w, full, multiplier, travel)

    def _go_to(self, position: int) -> None:
        """Go to the index sets after so many events."""
        begin, end = min(self._position, position), max(self._position, position)
        index, move = self.record.index[begin:end], self.record.move[begin:end]
        # of several events of a point, the last one counts
        if position < self._position:
            self._status[index[::-1]] = BEFORE[move[::-1]]
        else:
            self._status[index] = AFTER[move]
        self._position = position

    def _sum_up(self, touched: np.ndarray) -> None:
        """Update the sums over the points at a bound, except those that are touched."""
        line, status = self.line, self._status
        resting = status != FREE
        resting[touched] = False
        bounds = ((line.lower0, line.upper0), (line.lower1, line.upper1))
        for end, sums, (lower, upper) in zip(self._ends, self._sums, bounds, strict=True):
            now = np.where(resting, np.where(status == UPPER, upper, lower), 0.0)
            moved = np.flatnonzero(now != end).astype(np.int32)
            change = now[moved].astype(np.longdouble) - end[moved]
            sums += self.rows.exact_combination(change, moved)
            end[:] = now

    def _touched(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points that change sets within the block, and their statuses at each node."""
        first, last = int(positions[0]), int(positions[-1])
        step, become = (1, AFTER) if first <= last else (-1, BEFORE)
        events = slice(min(first, last), max(first, last))
        touched, which = np.unique(self.record.index[events], return_inverse=True)
        which, become = which[::step], become[self.record.move[events]][::step]
        status, done = self._status[touched], 0
        found = np.empty((len(positions), len(touched)), dtype=np.int8)
        for k, over in enumerate((step * (positions - first)).tolist()):
            status[which[done:over]] = become[done:over]
            found[k], done = status, over
        return touched, found

    def _gather(self, touched: np.ndarray) -> _Members:
        """Return the free points of the block; what the last block has is reused."""
        always = self._status == FREE
        always[touched] = False
        points = np.append(np.flatnonzero(always), touched).astype(np.int32)
        before, rows = self._members, self.rows
        place = np.full(rows.n_rows, -1)
        place[before.points] = np.arange(len(before.points))
        known = place[points] >= 0
        old, new, there = np.flatnonzero(known), np.flatnonzero(~known), place[points[known]]
        gram = np.empty((len(points), len(points)))
        gram[np.ix_(old, old)] = before.gram[np.ix_(there, there)]
        dense = None
        if self._is_dense(len(points)):
            dense = np.empty((len(points), rows.n_cols))
            again = new if before.dense is not None else np.arange(len(points))
            if before.dense is not None:
                dense[old] = before.dense[there]
            dense[again] = rows.block(points[again])
        if dense is None or rows.dual:
            products = rows.products_between(points[new], points)
        else:
            products = dense[new] @ dense.T
        gram[new] = products
        gram[:, new] = products.T
        return _Members(points, len(points) - len(touched), gram, dense)

    def _is_dense(self, n_points: int) -> bool:
        """Return whether so many rows are multiplied as a dense matrix."""
        rows = self.rows
        if rows.dual:
            return self.with_w
        full = bool(rows.n_cols * rows.n_rows <= MOST_ZEROS * rows.n_stored)
        return full and bool(n_points * rows.n_cols <= LARGEST_DENSE)

    def _products_with_sums(self, members: _Members) -> np.ndarray:
        """Return the products of the members with the sums at t = 0 and t = 1."""
        sums = self._sums.astype(float)
        if self.rows.dual:
            return np.asarray(sums[:, members.points])
        return np.stack([self.rows.products(each, members.points) for each in sums])

    def _combined(
        self, members: _Members, theta: np.ndarray, multiplier: np.ndarray, t: np.ndarray
    ) -> np.ndarray:
        """Return w at each node: Σ θ_i z_i over the bound points and over the members."""
        w = np.asarray(np.stack((1.0 - t, t), axis=1) @ self._sums.astype(float))
        if members.dense is not None:
            w += theta @ members.dense
        else:
            for each, factor in zip(w, theta, strict=True):
                self.rows.combine(factor, members.points, each)
        if self.rows.balanced:
            if self.rows.dual:
                w += np.outer(multiplier, self._sign)
            else:
                w[:, -1] += multiplier / self.rows.bias
        return w

    def _margins(self, members: _Members, w: np.ndarray) -> np.ndarray:
        """Return <z_a, w> of the members at each node."""
        if self.rows.dual:
            return np.asarray(w[:, members.points])
        if members.dense is not None:
            return np.asarray(w @ members.dense.T)
        return np.stack([self.rows.products(each, members.points) for each in w])

    def _travel(
        self,
        members: _Members,
        w: np.ndarray | None,
        theta: np.ndarray,
        t: np.ndarray,
        products: np.ndarray,
    ) -> np.ndarray:
        """Return how far w travels from each node to the next, without the constant feature."""
        bias = self.rows.bias
        if w is not None and not self.rows.dual:
            return travel_of(w, bias)
        # Δw = Δt (the difference of the sums) + Σ Δθ_a z_a
        moved, dt, rate = np.diff(theta, axis=0), np.diff(t), self._ends[1] - self._ends[0]
        difference = (self._sums[1] - self._sums[0]).astype(float)
        squared = dt**2 * float((rate if self.rows.dual else difference) @ difference)
        squared += 2.0 * dt * (moved @ (products[1] - products[0]))
        squared += np.einsum("ij,ij->i", moved @ members.gram, moved)
        balance = dt * float(rate @ self._sign) + moved @ self._sign[members.points]
        squared -= (bias * balance) ** 2
        terms = np.abs(dt) * float(np.abs(rate) @ self.lengths)
        terms += np.abs(moved) @ self.lengths[members.points]
        return np.asarray(np.sqrt(np.maximum(squared, 0.0) + PRODUCT_ROUNDING * terms**2))


class _System(NamedTuple):
    """The equations of a block after eliminating the members C that are always free.

    T are the other members, G = [[G_CC, G_CT], [G_TC, G_TT]], and G_CC = L Lᵀ.
    """

    inverse: np.ndarray  # L⁻¹: products with it are much faster than solving
    shares: np.ndarray  # L⁻¹ G_CT
    rest: np.ndarray  # G_TT - G_TC G_CC⁻¹ G_CT
    least: np.ndarray  # smallest squared pivot accepted for each T
    sign: np.ndarray | None  # L⁻¹ sign_C, if there is a multiplier
    rest_sign: np.ndarray  # sign_T - G_TC G_CC⁻¹ sign_C

    @classmethod
    def of(
        cls, members: _Members, lengths: np.ndarray, sign: np.ndarray | None
    ) -> "_System | None":
        """Return the system; None if it is too ill-conditioned."""
        points, c, gram = members.points, members.n_always, members.gram
        least = LEAST_PIVOT * lengths[points] ** 2
        inverse = np.zeros((c, c))
        if c:
            L, info = dpotrf(np.array(gram[:c, :c], order="F"), lower=1, overwrite_a=1)
            if info or not np.all(L.diagonal() ** 2 > least[:c]):
                return None
            inverse, _ = dtrtri(L, lower=1, overwrite_c=1)
        shares = inverse @ gram[:c, c:]
        rest = np.ascontiguousarray(gram[c:, c:] - shares.T @ shares)
        if sign is None:
            return cls(inverse, shares, rest, least[c:], None, np.zeros(len(points) - c))
        own = inverse @ sign[points[:c], np.newaxis]
        rest_sign = sign[points[c:]] - (shares.T @ own)[:, 0]
        return cls(inverse, shares, rest, least[c:], own, rest_sign)

    def solve(
        self, lack: np.ndarray, free: np.ndarray, balance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the changes of θ and of the multiplier that raise margins by `lack`.

        `balance` is Σ sign_i θ_i, which must become zero if there is a multiplier. Arrays have one
        row for each node; `free` is 1 for each T that is free there, otherwise 0. Returns None if a
        small system is ill-conditioned.
        """
        c = len(self.inverse)
        always = self.inverse @ lack[:, :c].T
        some = np.ascontiguousarray(lack[:, c:] - always.T @ self.shares)
        change = np.zeros(len(lack))
        if self.sign is None:
            right = solve_each(self.rest, self.least, free, some, self.rest_sign, 0.0, None, None)
        else:
            below = float((self.sign * self.sign).sum())
            balance = balance + (always.T @ self.sign)[:, 0]
            right = solve_each(
                self.rest, self.least, free, some, self.rest_sign, below, balance, change
            )
            always -= self.sign * change
        if not right:
            return None
        always -= self.shares @ some.T
        return np.concatenate((always.T @ self.inverse, some), axis=1), change


def travel_of(w: np.ndarray, bias: float) -> np.ndarray:
    """Return the distance from each w to the next, without the constant feature."""
    moved = np.diff(w[:, :-1] if bias else w, axis=0)
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", moved, moved)))


def _between(begin: np.ndarray, end: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the values at each t, one row for each."""
    return np.asarray(np.stack((1.0 - t, t), axis=1) @ np.stack((begin, end)))
