"""How a solution moves between two events, and how rounding is kept out of it.

The free θ move so that their slacks stay zero: <z_a, ẇ> = ṗ_a with ẇ = s + Σ θ̇_a z_a, where s is
what the points on moving bounds contribute. When a point enters or leaves the free set the
direction is *turned*, by one column of the inverse. Turning loses digits little by little;
*straightening* solves for the direction, *polishing* also for w itself.
"""

cimport cython
from libc.math cimport fabs, sqrt

import numpy as np

from taupath._core._bordered cimport make_system
from taupath._core._bound_sums cimport BoundSums
from taupath._core._factor import keeps_basis
from taupath._core._line cimport (
    add_to_moment, bound_at, bound_rate, lower_at, set_moment, target_at, upper_at
)
from taupath._core._status cimport FREE, LOWER, UPPER
from taupath._core._tolerances cimport (
    AVERAGED, DIRECTION_CANCELLED, FLAT, MARGIN_DRIFT, NEARLY_DEPENDENT, NOT_INVOLVED, PRECISION,
    SPEED_CANCELLED
)

cdef enum:
    REBASED_UP_TO = 1024    # columns up to which bringing w up to date costs little beside an event
    FIRST_CAPACITY = 64     # free points that the factor has room for at first, at least
    SPARE = 8               # and so many more than there are


@cython.final
cdef class Motion:
    """The solution at t and its direction.

    Parameters
    ----------
    rows : Rows
        The z_i.
    line : Line
        Bounds and targets.
    state : State
        t, and the solution there: status of every point, free points and their θ.
    """

    def __init__(self, Rows rows, Line line, state):
        # free rows are independent: at most n_cols, and one more while a point enters; see `Walk`
        cdef Py_ssize_t most = min(rows.n_cols, rows.n_rows) + 1, m = len(state.free)
        if m > most:
            raise ValueError("free points are linearly dependent")
        self.rows, self.line, self.turned, self.n_refactorizations = rows, line, True, 1
        self.rounding.longest_step = 1.0
        set_moment(&self.now, state.t, 0.0)
        self.status = np.array(state.status, dtype=np.int8)
        self.pairs = np.zeros(2 * rows.n_cols)
        self.exact = np.zeros(rows.n_cols, dtype=np.longdouble)
        first = most if keeps_basis(rows) else FIRST_CAPACITY
        self.system = make_system(rows, max(m + SPARE, first))
        self.factor = self.system.factor
        self.additive = not line.moving_targets
        self.row_norm = self.length = np.sqrt(np.asarray(self.factor.squared_norm))
        self.longest = np.asarray(self.row_norm).max()
        if line.moving_targets:
            # slack rates are <[z_i, -ṗ_i κ], [ẇ, 1/κ]>: one more coordinate, the same bound
            kappa = (self.longest or 1.0) / np.abs(line.target_rate).max()
            by_target = kappa * np.asarray(line.target_rate)
            self.length = np.sqrt(np.square(self.row_norm) + np.square(by_target))
            self.time_part = 1.0 / kappa
        theta = np.zeros(most, dtype=np.longdouble)
        theta[:m] = state.theta
        self.theta, self.theta_rate = theta, np.zeros(most, dtype=np.longdouble)
        self.share = np.zeros(most, dtype=np.longdouble)
        self.column, self.rhs = np.zeros(most), np.zeros(most)
        self.bound = BoundSums(self.system, line, self.status, self.row_norm)
        if not self.factor.take_all(state.free).all():
            raise ValueError("free points are linearly dependent")
        # targets move only in short corrections
        self.lagging = rows.dual and not line.moving_targets
        if self.lagging:
            self.lag = Lag(rows, self.factor.capacity)
            for i in state.free:
                self.lag.enter(i)

    cdef reserve(self, Py_ssize_t capacity):
        self.factor.reserve(capacity)
        if self.lagging:
            self.lag.reserve(capacity)

    cdef void margins(self, const int* points, Py_ssize_t m, double* out) noexcept nogil:
        cdef Py_ssize_t k
        if self.turned:
            self.rows.face(&self.pairs[0])
            self.turned = False
        self.rows.dot_pairs(points, m, &self.pairs[0], out)
        if self.lagging:
            self.lag.complete(points, m, out)
        for k in range(m):
            out[2 * k] = out[2 * k] + self.since_base * out[2 * k + 1]

    cdef void move(self, double dt) noexcept nogil:
        cdef Py_ssize_t a
        for a in range(self.factor.size):
            self.theta[a] = self.theta[a] + dt * self.theta_rate[a]
        self.multiplier = self.multiplier + dt * self.multiplier_rate
        add_to_moment(&self.now, dt)
        self.since_base = self.since_base + dt
        self.rounding.since_straight = self.rounding.since_straight + dt
        self.rounding.longest_step = max(self.rounding.longest_step, dt)

    # -- index sets change, the direction turns -----------------------------------------------

    cdef double release(self, int i, double distance, double rate) noexcept nogil:
        cdef Py_ssize_t a = self.factor.size - 1
        cdef int status = self.status[i]
        cdef double squared, change, multiplier, by_multiplier
        self.theta[a] = bound_at(self.line, &self.now, i, status)
        self.theta_rate[a] = bound_rate(self.line, i, status)
        self.status[i] = FREE
        if self.lagging:
            self.lag.enter(i)
        self.bound.change(i, status, -1)
        squared = self.system.newest_column(distance, &self.column[0], &multiplier)
        change = -rate / squared
        by_multiplier = self._turn(change, multiplier, not self._is_flat())
        self._update_speed(change * rate + by_multiplier)
        return self._turn_length(change, squared, multiplier)

    cdef double settle(self, Py_ssize_t a, int status) noexcept nogil:
        cdef int i = self.factor.members[a]
        cdef double rate = bound_rate(self.line, i, status), multiplier
        cdef double change = <double> (rate - self.theta_rate[a])
        cdef double squared = self.system.column(a, &self.column[0], &multiplier)
        cdef double by_multiplier = self._turn(change, multiplier, True)
        self.drop(a)
        self.status[i] = <signed char> status
        self.bound.change(i, status, 1)
        self._update_speed(change * change * squared + by_multiplier)
        return self._turn_length(change, squared, multiplier)

    cdef double _turn(self, double change, double column_multiplier, bint moving) noexcept nogil:
        """Change θ̇ by `change` times `column`, and ẇ accordingly; w(t) stays.

        Unless `moving`, ẇ is left alone: w will rest. Returns what the multiplier adds to ‖ẇ‖².
        """
        cdef Py_ssize_t b
        cdef double c, left = 0.0, added = 0.0, before = <double> self.multiplier_rate
        cdef int i
        if self.rows.n_cols <= REBASED_UP_TO:
            self._rebase()      # rounds less
        for b in range(self.factor.size):
            i = self.factor.members[b]
            c = change * self.column[b]
            self.theta_rate[b] = self.theta_rate[b] + c
            left = left + fabs(<double> self.theta_rate[b]) * self.row_norm[i]
            added = added + fabs(c) * self.row_norm[i]
            self.column[b] = c
            if moving and self.lagging:
                self.lag.put_off(i, -self.since_base * c, c)
        c = change * column_multiplier
        self.multiplier_rate = self.multiplier_rate + c
        if moving:
            if not self.lagging:
                self.rows.turn(&self.factor.members[0], self.factor.size, &self.column[0],
                               self.since_base, &self.pairs[0])
            self.system.shift_pairs(-self.since_base * c, c, &self.pairs[0])
            self.turned = True
        self.rounding.terms = left + added
        self.rounding.added = max(self.rounding.added, added)
        self.rounding.theta_speed = left
        return c * (2.0 * before + c) * self.rows.shift_length * self.rows.shift_length

    cdef double _turn_length(self, double change, double squared,
                             double column_multiplier) noexcept nogil:
        cdef double shift = column_multiplier * self.rows.shift_length
        return upward(fabs(change)) * sqrt(squared + shift * shift)

    cdef void drop(self, Py_ssize_t a) noexcept nogil:
        cdef Py_ssize_t k
        if self.lagging:
            self.lag.leave(self.factor.members[a], &self.pairs[0])
        for k in range(a, self.factor.size - 1):
            self.theta[k] = self.theta[k + 1]
            self.theta_rate[k] = self.theta_rate[k + 1]
        self.factor.remove(a)

    cdef double take(self, int i, long double at) noexcept nogil:
        self.status[i] = FREE
        if self.lagging:
            self.lag.enter(i)
        self.theta[self.factor.size] = at
        self.theta_rate[self.factor.size] = 0.0
        return self.factor.append(i)

    cdef Py_ssize_t slide(self, int i, int* bound, long double* at) noexcept nogil:
        cdef Py_ssize_t a, leaving = -1
        cdef bint was_lower = self.status[i] == LOWER
        cdef double sense = 1.0 if was_lower else -1.0, largest = 0.0, rate, room
        cdef double most = <double> (upper_at(self.line, &self.now, i)
                                     - lower_at(self.line, &self.now, i))
        cdef int k
        bound[0] = UPPER if was_lower else LOWER
        self._express(i)
        for a in range(self.factor.size):
            largest = max(largest, fabs(<double> self.share[a]))
        for a in range(self.factor.size):
            rate = -sense * <double> self.share[a]
            if fabs(rate) <= NOT_INVOLVED * largest:
                continue
            k = self.factor.members[a]
            if rate < 0.0:
                room = <double> (self.theta[a] - lower_at(self.line, &self.now, k)) / -rate
            else:
                room = <double> (upper_at(self.line, &self.now, k) - self.theta[a]) / rate
            if room < most:
                most = room if room > 0.0 else 0.0
                leaving = a
                bound[0] = LOWER if rate < 0.0 else UPPER
        for a in range(self.factor.size):
            self.theta[a] = self.theta[a] - sense * most * self.share[a]
        at[0] = bound_at(self.line, &self.now, i, self.status[i]) + sense * most
        return leaving

    cdef void _express(self, int i) noexcept nogil:
        """Set `share` such that Σ share_a z_a = z_i, or as close as the free rows come."""
        cdef Py_ssize_t a, k
        for k in range(self.rows.n_cols):
            self.exact[k] = 0.0
        self.rows.axpy_long(i, -1.0, &self.exact[0])
        for a in range(self.factor.size):
            self.share[a] = 0.0
            self.rhs[a] = 0.0
        self.factor.meet(&self.rhs[0], &self.share[0], &self.exact[0])

    # -- speed ----------------------------------------------------------------------------------

    cdef bint _is_flat(self) noexcept nogil:
        """Whether the free rows span everything, so that w rests between events."""
        return self.factor.size == self.rows.n_cols and not self.line.moving_targets

    cdef void _rest(self) noexcept nogil:
        """ẇ = 0: only θ moves."""
        cdef Py_ssize_t k
        self._catch_up()
        self._rebase()
        for k in range(self.rows.n_cols):
            self.pairs[2 * k + 1] = 0.0
        self.turned = True
        self._set_speed(0.0)

    cdef void _set_speed(self, double speed) noexcept nogil:
        self.speed_exact = speed
        self.speed = upward(sqrt(speed * speed + self.time_part * self.time_part))

    cdef void _update_speed(self, double change) noexcept nogil:
        """‖ẇ‖² has changed by `change`."""
        cdef double squared = self.speed * self.speed + change
        if self._is_flat():
            self._rest()
        elif squared <= SPEED_CANCELLED * self.speed_exact * self.speed_exact:
            self.straighten()
        elif self.additive:
            self.speed = sqrt(squared)
            self.speed_exact = max(self.speed_exact, self.speed)
        else:
            self._measure_speed()

    cdef void _measure_speed(self) noexcept nogil:
        """Compute ‖ẇ‖ directly; if it is nothing but rounding, ẇ becomes zero."""
        cdef Py_ssize_t a
        cdef double length, terms = 0.0
        self._catch_up()
        length = self.rows.length(&self.pairs[1], 2)
        for a in range(self.factor.size):
            terms += fabs(<double> self.theta_rate[a]) * self.row_norm[self.factor.members[a]]
        self.rounding.terms = terms
        self.rounding.theta_speed = terms
        if length <= FLAT * terms or self._is_flat():
            self._rest()
        elif self.rows.dual:
            self._set_speed(max(length, self._dual_speed()))
        else:
            self._set_speed(length)

    cdef double _dual_speed(self) noexcept nogil:
        """Return ‖ẇ‖ from ‖ẇ‖² = Σ θ̇_i <z_i, ẇ>, rounded up."""
        cdef Py_ssize_t i
        cdef double squared = 0.0, terms = 0.0, part
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                part = bound_rate(self.line, i, self.status[i]) * self.pairs[2 * i + 1]
                squared = squared + part
                terms = terms + fabs(part)
        for i in range(self.factor.size):
            part = <double> self.theta_rate[i] * self.pairs[2 * self.factor.members[i] + 1]
            squared = squared + part
            terms = terms + fabs(part)
        part = <double> self.multiplier_rate * self.rows.shift_length
        return sqrt(max(squared, 0.0) + PRECISION * terms + part * part)

    # -- keeping rounding down --------------------------------------------------------------

    cdef bint needs_care(self) noexcept nogil:
        cdef Rounding* r = &self.rounding
        if self._is_flat():
            # w rests, whatever rounding does to θ̇: the difference adds up. The next step is
            # taken to be as long as the longest between the last two refreshes.
            if (PRECISION * r.added * self.longest
                    * (r.since_straight + r.usual_step) > MARGIN_DRIFT):
                return True
        elif self.speed < DIRECTION_CANCELLED * r.terms:
            return True
        return (r.theta_speed < DIRECTION_CANCELLED * r.added
                or self.factor.nearly_dependent(NEARLY_DEPENDENT))

    cdef void _rebase(self) noexcept nogil:
        """Bring the base of w to t."""
        cdef Py_ssize_t k
        if self.since_base != 0.0:
            for k in range(self.rows.n_cols):
                self.pairs[2 * k] = self.pairs[2 * k] + self.since_base * self.pairs[2 * k + 1]
            if self.lagging:
                self.lag.move_base(self.since_base)
            self.turned = True
            self.since_base = 0.0

    cdef void _catch_up(self) noexcept nogil:
        """Apply all deferred updates."""
        if self.lagging:
            self.lag.settle(&self.pairs[0])

    cdef void polish(self) noexcept nogil:
        self._correct_w()
        self.straighten()
        if self.factor.stale:
            self.n_refactorizations += 1
            if self.factor.rebuild():
                self._correct_w()
                self.straighten()
            else:
                self.broken = True

    cdef void straighten(self) noexcept nogil:
        cdef Py_ssize_t a, k
        cdef const double* v
        self._catch_up()
        self._rebase()          # w(t) itself must not jump
        self.bound.rate(&self.exact[0])
        self.rows.axpys_long(&self.factor.members[0], self.factor.size, &self.theta_rate[0],
                             &self.exact[0])
        for a in range(self.factor.size):
            self.rhs[a] = self.line.target_rate[self.factor.members[a]]
        self.system.shift(self.multiplier_rate, &self.exact[0])
        v = self.system.meet(&self.rhs[0], &self.theta_rate[0], &self.exact[0],
                             self.system.bound_total0 - self.system.bound_total1,
                             &self.multiplier_rate)
        for k in range(self.rows.n_cols):
            self.pairs[2 * k + 1] = v[k]
        self.turned = True
        self.rounding.added = 0.0
        self.rounding.since_straight = 0.0
        self._measure_speed()

    cdef void _correct_w(self) noexcept nogil:
        """Bring the free slacks back to zero."""
        cdef Py_ssize_t k
        self._catch_up()
        self._rebase()
        for k in range(self.rows.n_cols):
            self.exact[k] = self.pairs[2 * k]
        self._meet_targets()

    cdef void _meet_targets(self) noexcept nogil:
        """The same from w in `exact`."""
        cdef Py_ssize_t a, k
        cdef const double* v
        for a in range(self.factor.size):
            self.rhs[a] = target_at(self.line, &self.now, self.factor.members[a])
        v = self.system.meet(&self.rhs[0], &self.theta[0], &self.exact[0],
                             -(self.now.to_one * self.system.bound_total0
                               + self.now.from_zero * self.system.bound_total1),
                             &self.multiplier)
        self.unsolved = self.factor.unsolved
        for k in range(self.rows.n_cols):
            self.pairs[2 * k] = v[k]
        self.turned = True

    cdef double take_w(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double drift
        self._catch_up()
        self._rebase()
        self.bound.take()
        self.bound.value(&self.now, &self.exact[0])
        self.rows.axpys_long(&self.factor.members[0], self.factor.size, &self.theta[0],
                             &self.exact[0])
        self.system.shift(self.multiplier, &self.exact[0])
        for k in range(self.rows.n_cols):
            self.pairs[2 * k] = <double> (self.pairs[2 * k] - self.exact[k])
        drift = self.rows.length(&self.pairs[0], 2)
        self._meet_targets()
        self.straighten()
        self.rounding.usual_step = self.rounding.longest_step
        self.rounding.longest_step = 0.0
        return drift

    cdef double noise(self) noexcept nogil:
        cdef Py_ssize_t a
        cdef double terms
        if not self.rows.dual:
            return PRECISION * self.longest * self.rows.length(&self.pairs[0], 2)
        # entries of a Gram matrix are rounded, each in its own way
        terms = <double> (self.now.to_one * self.bound.terms0
                          + self.now.from_zero * self.bound.terms1)
        for a in range(self.factor.size):
            terms = terms + fabs(<double> self.theta[a]) * self.row_norm[self.factor.members[a]]
        return PRECISION * self.longest * AVERAGED * terms

    cdef double farthest_beyond(self) noexcept nogil:
        cdef Py_ssize_t a
        cdef int i
        cdef double worst = 0.0
        for a in range(self.factor.size):
            i = self.factor.members[a]
            worst = max(worst, <double> max(lower_at(self.line, &self.now, i) - self.theta[a],
                                            self.theta[a] - upper_at(self.line, &self.now, i)))
        return worst
