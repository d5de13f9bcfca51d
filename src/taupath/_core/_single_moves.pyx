"""From one solution to another by moving one θ, while the free ones follow.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i θ_i   subject to   l_i ≤ θ_i ≤ h_i   (and Σ sign_i θ_i = 0)

While θ_j moves to a bound of a new box, the free θ move so that their slacks stay zero, and the
result is optimal for the box that θ_j fills. An event is a free θ that meets a bound, or the slack
of a bound point that meets zero. Moves are short, a few events each, so all slacks are followed,
and the inverse of the equations of the free points is kept: every move begins with a copy of it.

What is found is not trusted: `settle` solves the equations of the final index sets anew, and
`measure` says how far from optimal the solution is.
"""

cimport cython
from libc.math cimport fabs, sqrt
from libc.string cimport memset

import numpy as np

from taupath._core._blas cimport axpy, dot
from taupath._core._moved_state cimport DEPENDENT, MovedState
from taupath._core._rows cimport Rows
from taupath._core._status cimport FREE, LOWER, UPPER

cdef enum Outcome:
    ARRIVED = 0     # θ_j is at the bound
    ON_MARGIN = 1   # its slack met zero on the way: it is free
    FULL = 2        # no room for another free point: make some and go on
    LOST = 3        # dependent free points, or no end of events

cdef enum:
    SPARE = 16              # room for free points beyond those of the first solution
    EVENTS_PER_POINT = 4    # a move is lost after so many events per point, and FEWEST_EVENTS
    FEWEST_EVENTS = 1000
    ROUNDS = 3              # of refinement, at most

# If a squared distance from the span of the free rows is below this part of ‖z‖², the inverse is
# made anew, unless it has not changed since, and looked at again.
cdef double DOUBTFUL = 1e-6
# The rate of a slack below this part of ‖z_i‖‖ẇ‖, or of the terms that it is summed from, is
# rounding.
cdef double STILL, STILL_TERMS
STILL, STILL_TERMS = 1e-9, 1e-14
# Refinement ends when no residual is above this part of its target, or of 1.
cdef double SETTLED = 1e-15
# A θ this close to its bound, as part of its box, is at the bound: as in `engine.problem`.
cdef double AT_BOUND = 1e-12
# The first solution is right if no slack and no θ, as part of its box, is further than this on the
# wrong side: ten times what targets are raised by.
cdef double RIGHT = 1e-9


cdef struct Stop:
    double step
    Py_ssize_t which    # a position among the free points, or a point
    int kind            # LOWER, UPPER: a free θ meets a bound; FREE: a slack meets zero; -1: goal


@cython.final
cdef class SingleMoves:
    """A solution, and those that one moved θ after the other leads to.

    Parameters
    ----------
    rows : Rows
        The z_i.
    raised, given : ndarray
        Targets p, raised to break ties and as they are.
    lower, upper : ndarray
        The boxes; they are copied.
    status, theta : ndarray
        The solution to begin with.

    Attributes
    ----------
    right : bool
        Whether that is a solution, up to rounding, and its free rows are independent.
    n_events : int
        Events so far.
    """

    cdef Rows rows
    cdef MovedState now, first
    cdef const double[::1] raised, given
    cdef double[::1] lower, upper, square, length
    cdef double[::1] w, v, rate, column, direction
    cdef Py_ssize_t off                 # 1 if there is a multiplier: its place is the first
    cdef bint fresh                     # the inverse has not been updated since it was made
    cdef readonly bint right
    cdef readonly Py_ssize_t n_events

    def __init__(self, Rows rows, const double[::1] raised, const double[::1] given, lower, upper,
                 const signed char[::1] status, const double[::1] theta):
        cdef Py_ssize_t i, n = rows.n_rows, m = np.count_nonzero(np.equal(status, FREE))
        self.rows, self.raised, self.given = rows, raised, given
        self.lower, self.upper = np.array(lower, dtype=float), np.array(upper, dtype=float)
        self.square = np.maximum(rows.squared_norms(), 0.0)
        self.length = np.sqrt(self.square)
        self.off = 1 if rows.balanced else 0
        self.w, self.v, self.rate = np.zeros(rows.n_cols), np.zeros(rows.n_cols), np.zeros(n)
        self.now = MovedState(n, m + SPARE)
        self.first = MovedState(n, m + SPARE)
        self._make_columns()
        self.right = True
        for i in range(n):
            self.now.status[i] = LOWER
            if status[i] != FREE:
                self.now.status[i] = status[i]
                self.now.theta[i] = self.upper[i] if status[i] == UPPER else self.lower[i]
                continue
            self.now.theta[i] = theta[i]
            self.right = self.right and self._add(<int> i)
        with nogil:
            self._settle(&self.raised[0])
            self._take_slacks()
        self.right = self.right and self._is_right()
        self.first.copy(self.now)

    cdef bint _is_right(self):
        theta, slack = np.asarray(self.now.theta), np.asarray(self.now.slack)
        status = np.asarray(self.now.status)
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        room = RIGHT * np.maximum(upper - lower, np.max(upper - lower, initial=0.0))
        inside = (theta >= lower - room) & (theta <= upper + room)
        side = np.where(status == UPPER, slack, np.where(status == LOWER, -slack, np.abs(slack)))
        return bool((inside & ((side <= RIGHT) | (lower == upper))).all())

    cdef _make_columns(self):
        room = self.now.inverse.shape[0]
        self.column, self.direction = np.zeros(room), np.zeros(room)

    cdef _reserve(self):
        cdef Py_ssize_t capacity = 2 * self.now.members.shape[0]
        self.now.reserve(capacity)
        self.first.reserve(capacity)
        self._make_columns()

    # -- for Python ---------------------------------------------------------------------------

    def leave_each(self, const int[::1] points, const double[::1] lower, const double[::1] upper,
                   double[::1] margin, double[::1] gap, double[::1] off):
        """Give each of the points a new box in turn, all others as at first.

        Fill in its margin <z_i, w> + sign_i b then, the relative gap, and the largest violation;
        the gap is infinite where the move was lost.
        """
        cdef Py_ssize_t k
        cdef int i, outcome
        cdef double before_lower, before_upper
        for k in range(points.shape[0]):
            i = points[k]
            before_lower, before_upper = self.lower[i], self.upper[i]
            outcome = self._move(i, lower[k], upper[k])
            if outcome == LOST:
                gap[k] = np.inf
            else:
                with nogil:
                    self._settle(&self.given[0])
                    self._measure(&gap[k], &off[k])
                    margin[k] = self._margin(i)
            self.lower[i], self.upper[i] = before_lower, before_upper
            self.now.copy(self.first)
            self.fresh = False

    def move(self, int i, double lower, double upper):
        """Give point i a new box and go on from there; returns whether the solution was found."""
        if self._move(i, lower, upper) == LOST:
            return False
        with nogil:
            self._settle(&self.raised[0])
            self._take_slacks()
        return True

    def solution(self):
        """Return status, θ, w, the multiplier, the relative gap and the largest violation.

        With the targets as given. w is shifted by the multiplier.
        """
        cdef double gap, off
        with nogil:
            self._settle(&self.given[0])
            self._measure(&gap, &off)
        w = self.rows.shifted(np.array(self.w), self.now.multiplier).astype(float)
        return (np.array(self.now.status), np.array(self.now.theta), w, self.now.multiplier,
                gap, off)

    def margins(self):
        """Return <z_i, w> + sign_i b of all points in the present solution, targets as given."""
        out = np.empty(self.rows.n_rows)
        cdef double[::1] view = out
        cdef Py_ssize_t i
        with nogil:
            self._settle(&self.given[0])
            for i in range(view.shape[0]):
                view[i] = self._margin(i)
        return out

    cdef int _move(self, int i, double lower, double upper):
        """Move θ_i until it is right for a new box."""
        cdef double theta = self.now.theta[i], goal
        cdef int status = self.now.status[i], outcome = FULL
        cdef bint stopping = False
        self.lower[i], self.upper[i] = lower, upper
        if status == FREE:
            goal = min(max(theta, lower), upper)
            if goal == theta and lower < upper:
                return ARRIVED
            with nogil:
                self._drop(self.now.position(i))
        else:
            goal = upper if self.now.slack[i] < 0.0 else lower
            stopping = (goal - theta) * self.now.slack[i] < 0.0
        self.now.status[i] = UPPER if goal == upper and lower < upper else LOWER
        while outcome == FULL:
            with nogil:
                outcome = self._drive(i, goal, stopping)
            if outcome == FULL:
                self._reserve()
        return outcome

    # -- the move -----------------------------------------------------------------------------

    cdef int _drive(self, int j, double goal, bint stopping) noexcept nogil:
        cdef Py_ssize_t events = 0, most = FEWEST_EVENTS + EVENTS_PER_POINT * self.rows.n_rows
        cdef double sense, curve
        cdef Stop stop
        cdef int i
        while True:
            if self.now.theta[j] == goal:
                return ARRIVED
            sense = 1.0 if goal > self.now.theta[j] else -1.0
            if self.now.size + 1 >= self.now.members.shape[0]:
                return FULL
            if self.off and self.now.size == 0:
                if not self._hand_over(j, sense * self.rows.sign[j], stopping):
                    return LOST
                if self.now.status[j] == FREE:
                    return ON_MARGIN
            curve = self._direct(j, sense)
            stop = self._next(j, goal, sense, curve, stopping)
            self._advance(j, sense, stop.step)
            if stop.kind < 0:
                if stop.which == j:     # its slack met zero
                    return ON_MARGIN if self._enter(j) else LOST
                self.now.theta[j] = goal
                return ARRIVED
            events += 1
            self.n_events += 1
            if events > most:
                return LOST
            if stop.kind == FREE:
                if not self._enter(<int> stop.which):
                    return LOST
            else:
                i = self.now.members[stop.which]
                self.now.theta[i] = (self.upper[i] if stop.kind == UPPER
                                     else self.lower[i])
                self.now.status[i] = <signed char> stop.kind
                self._drop(stop.which)

    cdef double _direct(self, int j, double sense) noexcept nogil:
        """Find the rates of the free θ, of the multiplier and of all slacks as θ_j moves.

        Returns ‖ẇ‖², which is also the rate of the slack of j; 0 if only rounding is left of it.
        """
        cdef Py_ssize_t a, i, m = self.now.size, M = self.now.size + self.off
        cdef double curve = self.square[j], shift = 0.0, terms = self.length[j], least
        self._column_of(j)
        for a in range(M):
            self.direction[a] = -sense * dot(M, &self.now.inverse[a, 0], &self.column[0])
            curve = curve + sense * self.column[a] * self.direction[a]
        if curve <= DOUBTFUL * self.square[j] and not self.fresh and self._renew():
            return self._direct(j, sense)
        if m == self.rows.n_cols or curve <= DEPENDENT * self.square[j]:
            # the free rows span that of j: w rests
            memset(&self.rate[0], 0, self.rate.shape[0] * sizeof(double))
            return 0.0
        if self.off:
            shift = self.direction[0]
        memset(&self.v[0], 0, self.v.shape[0] * sizeof(double))
        self.rows.axpy(j, sense, &self.v[0])
        for a in range(m):
            self.rows.axpy(self.now.members[a], self.direction[self.off + a], &self.v[0])
            terms = terms + fabs(self.direction[self.off + a]) * self.length[self.now.members[a]]
        least = max(STILL * sqrt(curve), STILL_TERMS * terms)
        for i in range(self.rows.n_rows):
            self.rate[i] = self.rows.dot(i, &self.v[0]) + self.rows.sign[i] * shift
            if fabs(self.rate[i]) <= least * self.length[i]:
                self.rate[i] = 0.0
        return curve

    cdef Stop _next(self, int j, double goal, double sense, double curve,
                    bint stopping) noexcept nogil:
        """Return what ends the present direction."""
        cdef Py_ssize_t a
        cdef int i
        cdef double step, rate
        cdef Stop stop
        stop.step, stop.which, stop.kind = fabs(goal - self.now.theta[j]), -1, -1
        if stopping and curve > 0.0:
            step = -sense * self.now.slack[j] / curve
            if 0.0 <= step < stop.step:
                stop.step, stop.which = step, j
        for a in range(self.now.size):
            i = self.now.members[a]
            rate = self.direction[self.off + a]
            if rate > 0.0:
                step = (self.upper[i] - self.now.theta[i]) / rate
                if step < stop.step:
                    stop.step, stop.which, stop.kind = max(step, 0.0), a, UPPER
            elif rate < 0.0:
                step = (self.lower[i] - self.now.theta[i]) / rate
                if step < stop.step:
                    stop.step, stop.which, stop.kind = max(step, 0.0), a, LOWER
        if curve == 0.0:
            return stop
        for i in range(<int> self.rows.n_rows):
            rate = self.rate[i]
            if (rate == 0.0 or self.now.status[i] == FREE
                    or (rate < 0.0) == (self.now.status[i] == UPPER)
                    or i == j or self.lower[i] == self.upper[i]):
                continue
            if fabs(self.now.slack[i]) < stop.step * fabs(rate):
                step = fabs(self.now.slack[i] / rate)
                stop.step, stop.which, stop.kind = step, i, FREE
            elif self.now.slack[i] * rate > 0.0:     # rounding has put it on the wrong side
                stop.step, stop.which, stop.kind = 0.0, i, FREE
        return stop

    cdef void _advance(self, int j, double sense, double step) noexcept nogil:
        cdef Py_ssize_t a, i
        self.now.theta[j] = self.now.theta[j] + step * sense
        for a in range(self.now.size):
            i = self.now.members[a]
            self.now.theta[i] = self.now.theta[i] + step * self.direction[self.off + a]
        if self.off:
            self.now.multiplier = self.now.multiplier + step * self.direction[0]
        axpy(self.rows.n_rows, step, &self.rate[0], &self.now.slack[0])

    cdef bint _hand_over(self, int j, double way, bint stopping) noexcept nogil:
        """No point is free: move the multiplier until one meets the margin that can keep balance.

        It is θ_j itself if its slack is to end at zero and comes first.
        """
        cdef Py_ssize_t i, nearest = -1
        cdef double distance = 1e300
        for i in range(self.rows.n_rows):
            if i == j or self.lower[i] == self.upper[i]:
                continue
            if (way * self.rows.sign[i] > 0.0) == (self.now.status[i] == UPPER):
                if fabs(self.now.slack[i]) < distance:
                    distance, nearest = fabs(self.now.slack[i]), i
        if stopping and fabs(self.now.slack[j]) <= distance:
            distance, nearest = fabs(self.now.slack[j]), j
        if nearest < 0:
            return False
        self.now.multiplier = self.now.multiplier + way * distance
        for i in range(self.rows.n_rows):
            self.now.slack[i] = self.now.slack[i] + self.rows.sign[i] * way * distance
        return self._enter(<int> nearest)

    # -- the free points ------------------------------------------------------------------------

    cdef void _column_of(self, int i) noexcept nogil:
        if self.off:
            self.column[0] = self.rows.sign[i]
        if self.now.size:
            self.rows.inner(i, &self.now.members[0], self.now.size, &self.column[self.off])

    cdef bint _enter(self, int i) noexcept nogil:
        """Make a point free; returns False if its row depends on those of the others."""
        self.now.slack[i] = 0.0
        return self._add(i)

    cdef bint _renew(self) noexcept nogil:
        """Make the inverse anew; returns whether that went well."""
        cdef Py_ssize_t a, m = self.now.size
        self.now.size = 0
        for a in range(m):
            if not self._add(self.now.members[a]):
                self.now.size = m
                return False
        self.fresh = True
        return True

    cdef bint _add(self, int i) noexcept nogil:
        self._column_of(i)
        self.now.status[i] = FREE
        self.fresh = False
        return self.now.add(i, self.off, self.square[i], &self.column[0], &self.direction[0])

    cdef void _drop(self, Py_ssize_t a) noexcept nogil:
        self.fresh = False
        self.now.drop(a, self.off, &self.direction[0])

    # -- what was found -------------------------------------------------------------------------

    cdef void _settle(self, const double* target) noexcept nogil:
        """Sum w, and bring the slacks of the free points to zero, and Σ sign_i θ_i, by refining."""
        cdef Py_ssize_t a, i, M = self.now.size + self.off
        cdef double total = 0.0, worst, wrong, change
        memset(&self.w[0], 0, self.w.shape[0] * sizeof(double))
        for i in range(self.rows.n_rows):
            if self.now.theta[i] != 0.0:
                self.rows.axpy(i, self.now.theta[i], &self.w[0])
                total = total + self.rows.sign[i] * self.now.theta[i]
        if self.now.size == 0:
            return
        for _ in range(ROUNDS):
            worst = 0.0
            self.column[0] = -total
            for a in range(self.now.size):
                i = self.now.members[a]
                self.column[self.off + a] = target[i] - self._margin(i)
                wrong = fabs(self.column[self.off + a]) / max(fabs(target[i]), 1.0)
                worst = max(worst, wrong)
            if worst <= SETTLED and not self.off:
                return
            for a in range(M):
                change = dot(M, &self.now.inverse[a, 0], &self.column[0])
                if a < self.off:
                    self.now.multiplier = self.now.multiplier + change
                    self.direction[0] = 0.0
                else:
                    self.direction[a] = change
            for a in range(self.now.size):
                i = self.now.members[a]
                change = self.direction[self.off + a]
                self.now.theta[i] = self.now.theta[i] + change
                self.rows.axpy(i, change, &self.w[0])
                total = total + self.rows.sign[i] * change

    cdef double _margin(self, Py_ssize_t i) noexcept nogil:
        return self.rows.dot(i, &self.w[0]) + self.off * self.rows.sign[i] * self.now.multiplier

    cdef void _take_slacks(self) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.rows.n_rows):
            self.now.slack[i] = self._margin(i) - self.raised[i]

    cdef void _measure(self, double* gap, double* off) noexcept nogil:
        """Find the gap relative to the primal objective, and the largest violation.

        Of targets as given; see `engine.problem.duality_gap` and `violation_in`. A θ beyond its
        bound counts as a violation, too: of the margins that move if it is put there.
        """
        cdef Py_ssize_t i
        cdef double margin, short, theta, near, apart = 0.0, squared = 0.0, loss = 0.0
        cdef double longest = 0.0
        gap[0] = off[0] = 0.0
        for i in range(self.rows.n_rows):
            margin = self._margin(i)
            short = self.given[i] - margin
            theta = min(max(self.now.theta[i], self.lower[i]), self.upper[i])
            apart = apart + fabs(self.now.theta[i] - theta) * self.length[i]
            longest = max(longest, self.length[i])
            gap[0] += max((self.upper[i] - theta) * short, (self.lower[i] - theta) * short)
            loss = loss + max(self.upper[i] * short, self.lower[i] * short)
            squared = squared + self.now.theta[i] * (
                margin - self.off * self.rows.sign[i] * self.now.multiplier)
            near = AT_BOUND * (self.upper[i] - self.lower[i])
            short = short / max(fabs(self.given[i]), 1.0)
            if theta < self.upper[i] - near:
                off[0] = max(off[0], short)
            if theta > self.lower[i] + near:
                off[0] = max(off[0], -short)
        off[0] = max(off[0], apart * longest)
        gap[0] += 0.5 * apart * apart
        gap[0] = gap[0] / max(loss + 0.5 * squared, 1e-300)
