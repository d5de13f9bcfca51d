"""How a solution moves between two events, and how rounding is kept out of it.

The free θ move so that their slacks stay zero: <z_a, ẇ> = ṗ_a with ẇ = s + Σ θ̇_a z_a, where s is
what the points on moving bounds contribute. (Where rows are to be balanced, Σ sign_i θ_i = 0, the
multiplier of this condition moves all margins by sign_i, w includes that, and the free points
answer to both.) When a point enters or leaves the free ones the
direction is *turned*, by one column of the inverse. Turning loses digits little by little;
*straightening* takes the direction afresh, *polishing* also w itself.
"""

from libc.math cimport fabs, sqrt

import numpy as np

from taupath._core._factor cimport Factor, OrthogonalFactor
from taupath._core._rows cimport Rows
from taupath._core._status cimport FREE, LOWER

# ‖ẇ‖ below this part of the terms it is summed from is zero: only θ moves ("flat").
cdef double FLAT = 1e-14
# ‖ẇ‖² is updated by differences; below this part of its last exact value it is taken anew.
cdef double FADED = 1e-6
# ‖ẇ‖ below this part of the terms it is summed from, or θ̇ below this part of what was added to
# it since it was last taken afresh: take both afresh.
cdef double CANCELLED = 1e-4
# The same for a free point this close (as part of its length) to the span of others: the Gram
# matrix squares what is lost there.
cdef double NEARLY_DEPENDENT = 1e-2
# Where w rests, rounding in θ̇ may move θ by so much, as a change of margins, before θ̇ is taken
# afresh. The next step counts as long as the longest between the last two refreshes.
cdef double UNNOTICED = 1e-12
cdef double EPSILON = 2.2e-16
# Up to so many columns w is brought up to date at every event.
cdef Py_ssize_t SHORT = 1024


cdef long double[::1] _grown(long double[::1] old, Py_ssize_t used, Py_ssize_t capacity):
    """Return a longer array whose first `used` entries are those of `old`."""
    fresh = np.zeros(capacity, dtype=np.longdouble)
    if used:
        fresh[:used] = old[:used]
    return fresh


cdef class Motion:
    """The solution at t and its direction.

    Parameters are the rows, the line (value at t = 0 and at t = 1 of l, h and p), t, and the
    solution there: the status of every point, the free points and their θ.
    """

    def __init__(self, Rows rows, const double[::1] squared_norm, line, double t, status, members,
                 theta_free, bint orthogonal):
        cdef Py_ssize_t a, capacity
        cdef long double[::1] theta = np.array(theta_free, dtype=np.longdouble)
        self.rows = rows
        self.lower0, self.lower1, self.lower_rate = line.lower0, line.lower1, line.lower_rate
        self.upper0, self.upper1, self.upper_rate = line.upper0, line.upper1, line.upper_rate
        self.target0, self.target1, self.target_rate = line.target0, line.target1, line.target_rate
        self.moving_targets = bool(np.any(line.target_rate))
        self.moving_bounds = bool(np.any(line.lower_rate) or np.any(line.upper_rate))
        self.t = t
        self.longest_step = 1.0
        self._weigh_ends()
        self.status = np.array(status, dtype=np.int8)
        self.row_norm = np.sqrt(np.asarray(squared_norm))
        self.longest = np.asarray(self.row_norm).max()
        self.pairs = np.zeros(2 * rows.n_cols)
        self.s = np.zeros(rows.n_cols, dtype=np.longdouble)
        self.exact = np.zeros(rows.n_cols, dtype=np.longdouble)
        capacity = max(len(members) + 8, min(rows.n_cols, rows.n_rows) + 1 if orthogonal else 64)
        self.factor = (OrthogonalFactor if orthogonal else Factor)(rows, squared_norm, capacity)
        self.theta = np.zeros(0, dtype=np.longdouble)
        self.theta_rate = np.zeros(0, dtype=np.longdouble)
        self._reserve_free(capacity)
        for a in range(len(members)):
            if self.factor.append(members[a]) == 0.0:
                raise ValueError("free points are linearly dependent")
            self.theta[a] = theta[a]
        self.n_refactorizations = 1

    cdef _reserve_free(self, Py_ssize_t capacity):
        cdef Py_ssize_t used = self.factor.size
        self.theta = _grown(self.theta, used, capacity)
        self.theta_rate = _grown(self.theta_rate, used, capacity)
        self.share = np.zeros(capacity, dtype=np.longdouble)
        self.column = np.zeros(capacity)
        self.levelled = np.zeros(capacity)
        self.rhs = np.zeros(capacity)
        self.factor.reserve(capacity)

    # -- along the direction ---------------------------------------------------------------

    cdef void _move(self, double dt) noexcept nogil:
        cdef Py_ssize_t a
        for a in range(self.factor.size):
            self.theta[a] = self.theta[a] + dt * self.theta_rate[a]
        self.multiplier = self.multiplier + dt * self.multiplier_rate
        self._add_to_t(dt)
        self.since_base = self.since_base + dt
        self.since_straight = self.since_straight + dt
        self.longest_step = max(self.longest_step, dt)

    cdef void _move_to(self, double t) noexcept nogil:
        self.t = t
        self.t_rest = 0.0
        self._weigh_ends()

    cdef void _add_to_t(self, double dt) noexcept nogil:
        # t + t_rest is kept to twice the digits: near t = 1 steps can be shorter than t's last one
        cdef double before = self.t, part
        dt = dt + self.t_rest
        self.t = before + dt
        part = self.t - before
        self.t_rest = (before - (self.t - part)) + (dt - part)
        self._weigh_ends()

    cdef void _weigh_ends(self) noexcept nogil:
        self.from_zero = <long double> self.t + self.t_rest
        self.to_one = (1.0 - <long double> self.t) - self.t_rest

    # -- direction -------------------------------------------------------------------------

    cdef double _set_column(self, Py_ssize_t a) noexcept nogil:
        cdef Py_ssize_t b
        cdef double squared = self.factor.column(a, &self.column[0]), total = 0.0, weight, at_a
        self.column_multiplier = 0.0
        if not self.rows.balanced:
            return squared
        # the same for the others alone, then as much of it as keeps the balance
        weight = self.factor.level(&self.levelled[0])
        at_a = self.levelled[a]
        for b in range(self.factor.size):
            total = total + self.rows.sign[self.factor.members[b]] * self.column[b]
        weight = weight - at_a * total
        self.column_multiplier = total / weight
        for b in range(self.factor.size):
            self.column[b] = (self.column[b] - self.column_multiplier
                              * (self.levelled[b] - at_a * self.column[b]))
        self.column[a] = 1.0
        return squared * (1.0 + self.column_multiplier * at_a)

    cdef double _column_length(self, double squared) noexcept nogil:
        cdef double shift = self.column_multiplier * self.rows.shift_length
        return sqrt(squared + shift * shift)

    cdef void _turn(self, double change, bint moving) noexcept nogil:
        cdef Py_ssize_t b
        cdef double c, left = 0.0, added = 0.0
        cdef int i
        if self.rows.n_cols <= SHORT:
            self._rebase()      # costs little here, and rounds less
        for b in range(self.factor.size):
            i = self.factor.members[b]
            c = change * self.column[b]
            self.theta_rate[b] = self.theta_rate[b] + c
            left = left + fabs(<double> self.theta_rate[b]) * self.row_norm[i]
            added = added + fabs(c) * self.row_norm[i]
            if moving:
                self.rows.axpy_pair(i, -self.since_base * c, c, &self.pairs[0])
        if self.rows.balanced:
            c = change * self.column_multiplier
            self.multiplier_rate = self.multiplier_rate + c
            if moving:
                self.rows.shift(-self.since_base * c, &self.pairs[0], 2)
                self.rows.shift(c, &self.pairs[1], 2)
        self.terms = left + added
        self.rounded = max(self.rounded, added)
        self.theta_speed = left

    cdef void _count_bound(self, int i, int status, int how) noexcept nogil:
        how = how * self.rows.sign[i]
        if status == LOWER:
            self.bound_total0 = self.bound_total0 + how * self.lower0[i]
            self.bound_total1 = self.bound_total1 + how * self.lower1[i]
        else:
            self.bound_total0 = self.bound_total0 + how * self.upper0[i]
            self.bound_total1 = self.bound_total1 + how * self.upper1[i]

    cdef const double* _meet(self, long double* coef, long double* multiplier,
                             long double total) noexcept nogil:
        if self.rows.balanced:
            return self.factor.meet_in_balance(&self.rhs[0], coef, &self.exact[0], total,
                                               multiplier)
        return self.factor.meet(&self.rhs[0], coef, &self.exact[0])

    cdef bint _needs_care(self) noexcept nogil:
        if self._is_flat():
            # w rests, whatever rounding does to θ̇: what they differ by adds up
            if (EPSILON * self.rounded * self.longest
                    * (self.since_straight + self.usual_step) > UNNOTICED):
                return True
        elif self.speed < CANCELLED * self.terms:
            return True
        return (self.theta_speed < CANCELLED * self.rounded
                or self.factor.smallest_pivot() < NEARLY_DEPENDENT)

    cdef bint _is_flat(self) noexcept nogil:
        return self.factor.size == self.rows.n_cols and not self.moving_targets

    cdef void _measure_speed(self) noexcept nogil:
        """‖ẇ‖ itself; where it is rounding only, ẇ becomes zero."""
        cdef Py_ssize_t a
        cdef double length = self.rows.length(&self.pairs[1], 2)
        self.terms = 0.0
        for a in range(self.factor.size):
            self.terms = self.terms + (fabs(<double> self.theta_rate[a])
                                       * self.row_norm[self.factor.members[a]])
        self.theta_speed = self.terms
        if length <= FLAT * self.terms or self._is_flat():
            self._rest()
        elif self.rows.dual:
            self._set_speed(max(length, self._dual_speed()))
        else:
            self._set_speed(length)

    cdef double _dual_speed(self) noexcept nogil:
        """‖ẇ‖ from ‖ẇ‖² = Σ θ̇_i <z_i, ẇ>, rounded up."""
        cdef Py_ssize_t i
        cdef double squared = 0.0, terms = 0.0, part
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                part = self.lower_rate[i] if self.status[i] == LOWER else self.upper_rate[i]
                part = part * self.pairs[2 * i + 1]
                squared = squared + part
                terms = terms + fabs(part)
        for i in range(self.factor.size):
            part = <double> self.theta_rate[i] * self.pairs[2 * self.factor.members[i] + 1]
            squared = squared + part
            terms = terms + fabs(part)
        part = <double> self.multiplier_rate * self.rows.shift_length
        return sqrt(max(squared, 0.0) + EPSILON * terms + part * part)

    cdef void _set_speed(self, double speed) noexcept nogil:
        self.speed_exact = speed
        self.speed = upward(sqrt(speed * speed + self.time_part * self.time_part))

    cdef void _rest(self) noexcept nogil:
        cdef Py_ssize_t k
        self._rebase()
        for k in range(self.rows.n_cols):
            self.pairs[2 * k + 1] = 0.0
        self._set_speed(0.0)

    cdef void _update_speed(self, double change) noexcept nogil:
        cdef double squared = self.speed * self.speed + change
        if self._is_flat():
            self._rest()
        elif squared <= FADED * self.speed_exact * self.speed_exact:
            self._straighten()
        elif self.moving_targets or self.rows.balanced:
            self._measure_speed()
        else:
            self.speed = sqrt(squared)
            if self.speed > self.speed_exact:
                self.speed_exact = self.speed

    cdef void _express(self, int i) noexcept nogil:
        cdef Py_ssize_t a, k
        for k in range(self.rows.n_cols):
            self.exact[k] = 0.0
        self.rows.axpy_long(i, -1.0, &self.exact[0])
        for a in range(self.factor.size):
            self.share[a] = 0.0
            self.rhs[a] = 0.0
        self.factor.meet(&self.rhs[0], &self.share[0], &self.exact[0])

    # -- keeping rounding down --------------------------------------------------------------

    cdef void _rebase(self) noexcept nogil:
        cdef Py_ssize_t k
        if self.since_base != 0.0:
            for k in range(self.rows.n_cols):
                self.pairs[2 * k] = self.pairs[2 * k] + self.since_base * self.pairs[2 * k + 1]
            self.since_base = 0.0

    cdef void _polish(self) noexcept nogil:
        self._correct_w()
        self._straighten()
        if self.factor.stale:
            self.n_refactorizations += 1
            if self.factor.rebuild():
                self._correct_w()
                self._straighten()
            else:
                self.broken = True

    cdef void _straighten(self) noexcept nogil:
        cdef Py_ssize_t a, k
        cdef const double* v
        self._rebase()          # w(t) itself must not jump
        for k in range(self.rows.n_cols):
            self.exact[k] = self.s[k]
        for a in range(self.factor.size):
            self.rows.axpy_long(self.factor.members[a], self.theta_rate[a], &self.exact[0])
            self.rhs[a] = self.target_rate[self.factor.members[a]]
        if self.rows.balanced:
            self.rows.shift_long(self.multiplier_rate, &self.exact[0])
        v = self._meet(&self.theta_rate[0], &self.multiplier_rate,
                       self.bound_total0 - self.bound_total1)
        for k in range(self.rows.n_cols):
            self.pairs[2 * k + 1] = v[k]
        self.rounded = 0.0
        self.since_straight = 0.0
        self._measure_speed()

    cdef void _correct_w(self) noexcept nogil:
        """Bring the free slacks back to zero."""
        cdef Py_ssize_t k
        self._rebase()
        for k in range(self.rows.n_cols):
            self.exact[k] = self.pairs[2 * k]
        self._meet_targets()

    cdef void _meet_targets(self) noexcept nogil:
        """The same from w in `exact`."""
        cdef Py_ssize_t a, k
        cdef const double* v
        for a in range(self.factor.size):
            self.rhs[a] = target_now(self, self.factor.members[a])
        v = self._meet(&self.theta[0], &self.multiplier,
                       -(self.to_one * self.bound_total0 + self.from_zero * self.bound_total1))
        for k in range(self.rows.n_cols):
            self.pairs[2 * k] = v[k]

    cdef void _take_s(self) noexcept nogil:
        cdef Py_ssize_t i, k
        cdef double rate
        for k in range(self.rows.n_cols):
            self.s[k] = 0.0
        self.bound_total0 = 0.0
        self.bound_total1 = 0.0
        for i in range(self.rows.n_rows if self.rows.balanced else 0):
            if self.status[i] != FREE:
                self._count_bound(<int> i, self.status[i], 1)
        if not self.moving_bounds:
            return
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                rate = self.lower_rate[i] if self.status[i] == LOWER else self.upper_rate[i]
                if rate != 0.0:
                    self.rows.axpy_long(i, rate, &self.s[0])

    cdef double _take_w(self) noexcept nogil:
        cdef Py_ssize_t i, k
        cdef long double at
        cdef double drift
        self._rebase()
        for k in range(self.rows.n_cols):
            self.exact[k] = 0.0
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                at = lower_now(self, i) if self.status[i] == LOWER else upper_now(self, i)
                if at != 0.0:
                    self.rows.axpy_long(i, at, &self.exact[0])
        for k in range(self.factor.size):
            self.rows.axpy_long(self.factor.members[k], self.theta[k], &self.exact[0])
        if self.rows.balanced:
            self.rows.shift_long(self.multiplier, &self.exact[0])
        for k in range(self.rows.n_cols):
            self.pairs[2 * k] = <double> (self.pairs[2 * k] - self.exact[k])
        drift = self.rows.length(&self.pairs[0], 2)
        self._take_s()
        self._meet_targets()
        self._straighten()
        self.usual_step, self.longest_step = self.longest_step, 0.0
        return drift

    # -- the same from Python ----------------------------------------------------------------

    @property
    def statuses(self):
        """Status of every point now."""
        return np.array(self.status)

    @property
    def free(self):
        """The free points, in the factor's order."""
        return np.array(self.factor.members[:self.factor.size])

    @property
    def theta_free(self):
        """θ of the free points, in the same order."""
        return np.array(self.theta[:self.factor.size])
