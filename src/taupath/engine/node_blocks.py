"""Solutions at consecutive nodes, a block of nodes at a time, with matrix products.

Most free points of a block are free at all of its nodes. Their θ are linear in the θ of the points
that change sets within the block, in t and in the multiplier, with the same coefficients at all
nodes: solving for these coefficients leaves a small system for each node. All targets are then
checked, and met more exactly if need be. Blocks too ill-conditioned for that are left to `Replay`,
which solves for one node at a time.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg.blas import daxpy
from scipy.linalg.lapack import dpotrf, dpotrs

from taupath._core._crossings import travelled
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
# Parts of a solution that do not belong to single points: 1 - t, t and -μ.
MULTIPLIER, FIXED = 2, 3
# Steps of so many nodes: those of `_crossings.STEPS` that fit into a block.
BENT_STEPS = (8, 64)
# Rounding error of a computed ‖Δw‖², relative to its largest possible value.
PRODUCT_ROUNDING = 1e-14


class Swept(NamedTuple):
    """Solutions at consecutive nodes; w and θ if asked for."""

    w: np.ndarray | None
    theta: np.ndarray | None
    multiplier: np.ndarray
    travel: np.ndarray  # ‖Δw‖ from each node to the next, without the constant feature
    # for each of BENT_STEPS, how far w is at each node from the straight line between the nodes at
    # the ends of its step, of so many nodes from the first one on; infinity if that is not known
    bent: np.ndarray

    @classmethod
    def joined(
        cls, parts: "list[Swept]", w: np.ndarray | None, theta: np.ndarray | None
    ) -> "Swept":
        """Return several parts as one, with w and θ of all of them.

        The last node of each part is the first of the next.
        """
        last, earlier = parts[-1], parts[:-1]
        multiplier = [each.multiplier[:-1] for each in earlier] + [last.multiplier]
        travel = np.concatenate([each.travel for each in parts])
        bent = np.concatenate([each.bent[:, :-1] for each in earlier] + [last.bent], axis=1)
        return cls(w, theta, np.concatenate(multiplier), travel, bent)


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
        self.sign = rows.signs.astype(float)
        self._status, self._position = record.status.copy(), 0
        # for points at a bound throughout a block: θ at t = 0 and t = 1, and Σ θ_i z_i
        self._ends = np.zeros((2, rows.n_rows))
        self._sums = np.zeros((2, rows.n_cols), dtype=np.longdouble)
        self._members = _Members(np.zeros(0, dtype=np.int32), 0, np.zeros((0, 0)), None)

    def solve(
        self,
        positions: np.ndarray,
        t: np.ndarray,
        w: np.ndarray | None,
        theta: np.ndarray | None,
        first: int,
        end: int,
    ) -> Swept | None:
        """Return the solutions at t by the index sets after `positions` events.

        These are the nodes of a sweep from the first one on; the last of all is `end`. w and θ are
        filled in unless they are None. Returns None if solutions are too ill-conditioned.
        """
        self._go_to(int(positions[0]))
        touched, status = self._touched(positions)
        self._sum_up(touched)
        members = self._members = self._gather(touched)
        basis = _Basis.of(self, members)
        if basis is None:
            return None
        line, sign, c = self.line, self.sign[touched], members.n_always
        free = np.ascontiguousarray(status == FREE).view(np.uint8)
        if self.rows.balanced and not c and not free.any(axis=1).all():
            return None
        lower = _between(line.lower0[touched], line.lower1[touched], t)
        upper = _between(line.upper0[touched], line.upper1[touched], t)
        parts = np.zeros((len(t), FIXED + len(touched)))
        parts[:, 0], parts[:, 1] = 1.0 - t, t
        own = parts[:, FIXED:]
        own[:] = np.where(status == FREE, 0.0, -np.where(status == UPPER, upper, lower))
        rest = not line.target_rate[members.points].any()  # one line of targets then serves all t
        at = t[:1] if rest else t
        target = _between(line.target0[members.points], line.target1[members.points], at)
        size = np.maximum(np.abs(target), line.typical)
        total = self._ends @ self.sign
        bound_total = _between(total[0], total[1], t)
        worst = np.inf
        for left in reversed(range(MOST_ROUNDS)):
            balance = bound_total + parts @ basis.balance - own @ sign
            found = basis.solve(parts, free, balance)
            if found is None:
                return None
            own -= found[0]
            parts[:, MULTIPLIER] -= found[1]
            lack = np.abs(parts @ basis.lacks) / size
            lack[:, c:] *= free
            before, worst = worst, float(lack.max(initial=0.0))
            if worst <= ON_MARGIN or worst > 0.5 * before or not left:
                break
            basis.refine()
        # θ is a sum of rounded terms; products with the bound points are largest at an end
        noise = TYPICAL_ROUNDING * self.lengths.max() * (np.abs(parts) @ basis.terms).max()
        at_bounds = _between(basis.at_bounds[0], basis.at_bounds[1], t[[0, -1]])
        noise = EPSILON * (noise + np.abs(at_bounds).max(initial=0.0)) / line.typical
        if not max(worst, noise) <= MOST_NOISE:
            return None
        multiplier = -parts[:, MULTIPLIER]
        by_parts = None if w is None else basis.w
        if w is not None and by_parts is not None:
            np.matmul(parts, by_parts, out=w)
        if theta is not None or (w is not None and by_parts is None):
            own_theta = np.concatenate((parts @ basis.shares, -own), axis=1)
            if w is not None and by_parts is None:
                self._combine(members, own_theta, multiplier, t, w)
            if theta is not None:
                np.matmul(np.stack((1.0 - t, t), axis=1), self._ends, out=theta)
                theta[:, members.points] = own_theta
        if w is not None and not self.rows.dual:
            return Swept(w, theta, multiplier, travel_of(w, self.rows.bias), unknown_bent(len(t)))
        lengths = self._lengths_of(members, basis)
        travel = lengths(np.diff(parts[:, 1:], axis=0))
        return Swept(w, theta, multiplier, travel, _bent(t, parts[:, 1:], lengths, first, end))

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
            self.rows.exact_combination(change, moved, out=sums)
            end[:] = now

    def _touched(self, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the points that change sets within the block, and their statuses at each node."""
        first, last = int(positions[0]), int(positions[-1])
        step, become = (1, AFTER) if first <= last else (-1, BEFORE)
        events = slice(min(first, last), max(first, last))
        touched, which = np.unique(self.record.index[events], return_inverse=True)
        which, become = which[::step], become[self.record.move[events]][::step]
        # the last event of each point up to each node, counted from 1: 0 if there is none
        node = np.searchsorted(step * (positions - first), np.arange(len(which)), side="right")
        latest = np.zeros((len(positions), len(touched)), dtype=np.int32)
        latest[node, which] = 1 + np.arange(len(which))  # of several events, the last one counts
        np.maximum.accumulate(latest, axis=0, out=latest)
        become = np.append(np.int8(0), become)
        return touched, np.where(latest > 0, become[latest], self._status[touched])

    def _gather(self, touched: np.ndarray) -> _Members:
        """Return the free points of the block; what the last block has is reused."""
        always = self._status == FREE
        always[touched] = False
        points = np.append(np.flatnonzero(always), touched).astype(np.int32)
        before, rows = self._members, self.rows
        place = np.full(rows.n_rows, -1)
        place[before.points] = np.arange(len(before.points))
        there = place[points]
        new = np.flatnonzero(there < 0)
        if len(new) == len(points):
            gram = np.empty((len(points), len(points)))
        else:  # what is there of new points stands for nothing and is overwritten
            gram = before.gram.take(there, axis=0, mode="wrap").take(there, axis=1, mode="wrap")
        dense = None
        if self._is_dense(len(points)):
            if before.dense is None or len(new) == len(points):
                dense = np.ascontiguousarray(rows.block(points))
            else:
                dense = before.dense.take(there, axis=0, mode="wrap")
                dense[new] = rows.block(points[new])
        if dense is None or rows.dual or rows.quick_inner:
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

    def products_with_sums(self, members: _Members) -> np.ndarray:
        """Return the products of the members with the sums at t = 0 and t = 1."""
        sums = self._sums.astype(float)
        if self.rows.dual:
            return np.asarray(sums[:, members.points])
        return np.stack([self.rows.products(each, members.points) for each in sums])

    def fixed_parts(self) -> np.ndarray:
        """Return w of the points at a bound, at t = 0 and t = 1, and of a multiplier of -1."""
        fixed = np.zeros((FIXED, self.rows.n_cols))
        fixed[:MULTIPLIER] = self._sums
        if self.rows.balanced and self.rows.dual:
            fixed[MULTIPLIER] = -self.sign
        elif self.rows.balanced:
            fixed[MULTIPLIER, -1] = -1.0 / self.rows.bias
        return fixed

    def _combine(
        self,
        members: _Members,
        theta: np.ndarray,
        multiplier: np.ndarray,
        t: np.ndarray,
        w: np.ndarray,
    ) -> None:
        """Fill in w at each node: Σ θ_i z_i over the bound points and over the members."""
        # one after the other and in place: all of `fixed_parts` at once would take more memory
        last = self._sums[1].astype(float)
        for each, s, shift, factor in zip(w, t, multiplier, theta, strict=True):
            each[:] = self._sums[0]
            each *= 1.0 - s
            daxpy(last, each, a=s)
            if self.rows.balanced and self.rows.dual:
                each += shift * self.sign
            elif self.rows.balanced:
                each[-1] += shift / self.rows.bias
            self.rows.combine(factor, members.points, each)

    def _lengths_of(self, members: _Members, basis: "_Basis") -> Callable[[np.ndarray], np.ndarray]:
        """Return a function that returns how far w moves, without the constant feature.

        Its argument has a row for each move: the changes of all parts but the first.
        """
        rows, c, sign = self.rows, members.n_always, self.sign[members.points]
        # w without the multiplier's part moves by Σ moved_k u_k, u_k = Σ shares_k z_a + others:
        # for t the rate of the points at a bound, for each touched point its own -z
        shares, lacks = (
            np.concatenate((each[1:2] - each[:1], each[2:])) for each in (basis.shares, basis.lacks)
        )
        products = -lacks  # <z_a, u_k>
        products[0] += self.line.target_rate[members.points]
        if rows.balanced:
            products[1] += sign
        rate = self._ends[1] - self._ends[0]
        difference = np.empty(rows.n_cols)
        np.subtract(self._sums[1], self._sums[0], out=difference, casting="same_kind")
        at_bounds = basis.at_bounds[1] - basis.at_bounds[0]
        squares = shares @ products[:, :c].T
        squares[2:] -= products[:, c:].T
        squares[0] += shares @ at_bounds[:c]
        squares[0, 2:] -= at_bounds[c:]
        squares[0, 0] += float((rate if rows.dual else difference) @ difference)
        balance = shares @ sign[:c]
        balance[0] += float(rate @ self.sign)
        balance[2:] -= sign[c:]
        terms = np.abs(shares) @ self.lengths[members.points[:c]]
        terms[0] += float(np.abs(rate) @ self.lengths)
        terms[2:] += self.lengths[members.points[c:]]

        def lengths(moved: np.ndarray) -> np.ndarray:
            squared = np.einsum("ij,ij->i", moved @ squares, moved)
            squared -= (rows.bias * (moved @ balance)) ** 2
            squared = np.maximum(squared, 0.0) + PRODUCT_ROUNDING * (np.abs(moved) @ terms) ** 2
            return np.asarray(np.sqrt(squared))

        return lengths


class _Basis:
    """How the θ of the members C that are always free depend on the rest, within a block.

    θ_C = (1 - t) θ_C0 + t θ_C1 - μ σ_C - Σ θ_j β_j, with a β_j for each other member j, T in all,
    and the multiplier μ. The factors of these vectors, 1 - t, t, -μ and -θ_T, are the `parts` of a
    node.
    """

    shares: np.ndarray  # θ_C0, θ_C1, σ_C and all β_j: one row for each part
    lacks: np.ndarray  # how far each part leaves the margins of the members below their targets

    def __init__(
        self, blocks: NodeBlocks, members: _Members, least: np.ndarray, L: np.ndarray
    ) -> None:
        c, points, rows = members.n_always, members.points, blocks.rows
        self._members, self._L, self._least = members, L, least[c:]
        self._balanced, self._sign = rows.balanced, blocks.sign[points[:c]]
        self._lengths = blocks.lengths[points]
        self.at_bounds = blocks.products_with_sums(members)
        line, k = blocks.line, FIXED + len(points) - c
        self._right = np.zeros((k, len(points)))
        self._right[0], self._right[1] = line.target0[points], line.target1[points]
        self._fixed = None
        right = np.zeros((k, len(points)))
        right[:MULTIPLIER] = self._right[:MULTIPLIER] - self.at_bounds
        if rows.balanced:
            right[MULTIPLIER] = blocks.sign[points]
        right[FIXED:] = members.gram[c:]
        if blocks.with_w and members.dense is not None:
            self._fixed = np.concatenate((blocks.fixed_parts(), -members.dense[c:]))
        self._places = points if rows.dual and self._fixed is not None else None
        if self._places is None:
            self._right = right
        self.shares = self._solved(right[:, :c])
        self._measure()

    @classmethod
    def of(cls, blocks: NodeBlocks, members: _Members) -> "_Basis | None":
        """Return the basis of a block; None if it is too ill-conditioned."""
        c = members.n_always
        least = LEAST_PIVOT * blocks.lengths[members.points] ** 2
        L = np.zeros((c, c))
        if c:
            L, info = dpotrf(members.gram[:c, :c].T, lower=1)
            if info or not np.all(L.diagonal() ** 2 > least[:c]):
                return None
        return cls(blocks, members, least, L)

    def _solved(self, right: np.ndarray) -> np.ndarray:
        """Return x with G_CC x = right, for each row."""
        if right.shape[1] == 0:
            return np.zeros(right.shape)
        return np.asarray(dpotrs(self._L, right.T, lower=1)[0].T)

    def _measure(self) -> None:
        """Set how far margins are below their targets, computed from the rows or their products."""
        c = self._members.n_always
        if self._places is None:
            self.lacks = self._right - self.shares @ self._members.gram[:c]
        else:
            w = self.w
            assert w is not None
            self.lacks = self._right - w[:, self._places]
        self._rest = np.ascontiguousarray(self.lacks[FIXED:, c:])  # G_TT - G_TC G_CC⁻¹ G_CT
        self.balance = self.shares @ self._sign  # Σ sign_i θ_i over C
        self.terms = np.abs(self.shares) @ self._lengths[:c]
        self.terms[FIXED:] += self._lengths[c:]

    @property
    def w(self) -> np.ndarray | None:
        """What each part contributes to w; None if rows are not multiplied as a dense matrix."""
        if self._fixed is None:
            return None
        dense = self._members.dense
        assert dense is not None
        return np.asarray(self._fixed + self.shares @ dense[: self._members.n_always])

    def refine(self) -> None:
        """Bring the margins of C nearer to their targets."""
        self.shares += self._solved(self.lacks[:, : self._members.n_always])
        self._measure()

    def solve(
        self, parts: np.ndarray, free: np.ndarray, balance: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the changes of θ_T and of the multiplier that bring free points to their margins.

        `balance` is Σ sign_i θ_i, which must become zero if there is a multiplier. Arrays have one
        row for each node; `free` is 1 for each T that is free there, otherwise 0. Returns None if a
        small system is ill-conditioned.
        """
        some = np.ascontiguousarray(parts @ self.lacks[:, self._members.n_always :])
        change, sign = np.zeros(len(parts)), np.zeros(some.shape[1])
        if self._balanced:
            sign = self.lacks[MULTIPLIER, self._members.n_always :].copy()
            below = float(self.balance[MULTIPLIER])
            right = solve_each(self._rest, self._least, free, some, sign, below, balance, change)
        else:
            right = solve_each(self._rest, self._least, free, some, sign, 0.0, None, None)
        return (some, change) if right else None


def travel_of(w: np.ndarray, bias: float) -> np.ndarray:
    """Return the distance from each w to the next, without the constant feature."""
    return np.asarray(travelled(np.ascontiguousarray(w), w.shape[1] - (bias != 0.0)))


def unknown_bent(n_nodes: int) -> np.ndarray:
    """Return `Swept.bent` of nodes where it is not known."""
    return np.full((len(BENT_STEPS), n_nodes), np.inf)


def _bent(
    t: np.ndarray,
    parts: np.ndarray,
    lengths: Callable[[np.ndarray], np.ndarray],
    first: int,
    end: int,
) -> np.ndarray:
    """Return `Swept.bent` for the nodes from `first` on; `end` is the last one of the sweep."""
    bent, nodes = unknown_bent(len(t)), first + np.arange(len(t))
    for found, step in zip(bent, BENT_STEPS, strict=True):
        left = nodes - nodes % step
        right = np.minimum(left + step, end)
        known = np.flatnonzero((left >= first) & (right <= nodes[-1]))
        if len(known) == 0:
            continue
        one, other = left[known] - first, right[known] - first
        width = t[other] - t[one]
        s = np.divide(t[known] - t[one], width, out=np.zeros(len(known)), where=width != 0.0)
        s = s[:, np.newaxis]
        found[known] = lengths(parts[known] - ((1.0 - s) * parts[one] + s * parts[other]))
        found[known[left[known] == nodes[known]]] = 0.0
    return bent


def _between(begin: np.ndarray, end: np.ndarray, t: np.ndarray) -> np.ndarray:
    """Return the values at each t, one row for each."""
    return np.asarray(np.stack((1.0 - t, t), axis=1) @ np.stack((begin, end)))
