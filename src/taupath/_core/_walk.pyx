"""The walk along one line: direction, next event, advance, apply.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i(t) θ_i   subject to   l_i(t) ≤ θ_i ≤ h_i(t)

with l, h, p affine in t. θ(t) is piecewise linear. A point is *lower* (θ = l, slack g ≥ 0),
*free* (g = 0) or *upper* (θ = h, g ≤ 0), where g_i = <z_i, w> - p_i and w = Σ θ_i z_i. Between
events the free θ move so that their slacks stay zero; an event is a free θ that meets a bound,
or a bound point's slack that meets zero. One point changes sides per event.
"""

from libc.math cimport fabs, nextafter, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

import numpy as np

from taupath._core._blas cimport axpy as vector_axpy, norm
from taupath._core._deadlines cimport Deadlines
from taupath._core._factor cimport Factor, OrthogonalFactor
from taupath._core._rows cimport Rows
from taupath._core._status cimport (
    FREE, FREE_TO_LOWER, FREE_TO_UPPER, LOWER, LOWER_TO_FREE, UPPER, UPPER_TO_FREE
)

cdef enum Outcome:
    DONE = 0        # t_end was reached
    MORE = 1        # the event allowance of this call is used up
    FULL = 2        # the factor or the record has no room left
    STALLED = 3     # too many steps of length zero in a row
    WRONG = 4       # the check of all points found a slack or a θ on the wrong side

cdef enum:
    NOTHING = -1    # no event before t_end

# A rate below this part of ‖z_i‖‖ẇ‖ is rounding: the point moves along with the free ones.
cdef double STILL = 1e-11
# Nor does a rate mean anything below this part of ‖z_i‖ Σ |θ̇_a| ‖z_a‖.
cdef double SUMMED = 1e-17
# The same for the rate of a free θ relative to its bound, as part of the largest bound rate.
cdef double RESTING = 1e-13
# ‖ẇ‖ below this part of the terms it is summed from is zero: only θ moves ("flat").
cdef double FLAT = 1e-12
# ‖ẇ‖² is updated by differences; below this part of its last exact value it is taken anew.
cdef double FADED = 1e-6
# ‖ẇ‖ below this part of the terms it is summed from: take ẇ afresh after every event.
cdef double CANCELLED = 1e-4
# The same for a free point this close (as part of its length) to the span of others: the Gram
# matrix squares what is lost there.
cdef double NEARLY_DEPENDENT = 1e-2
# Travelled length is rounded up by this, to be on the safe side of rounding in ‖ẇ‖.
cdef double UPWARD = 1.0 + 1e-9
# A correction of t beyond this is no matter of rounding.
cdef double ULPS = 1e-14
# Slack (unit margins) or θ (as part of the widest box) on the wrong side by more than this calls
# for a repair.
cdef double WRONG_SIDE = 1e-9
# Part of the largest coefficient below which a dependence does not involve a point.
cdef double NEGLIGIBLE = 1e-9
# Up to so many columns w and ẇ are interleaved for each search: one cache line serves both.
cdef Py_ssize_t PAIRED = 4096
# Rows are asked for so many evaluations ahead.
cdef Py_ssize_t AHEAD = 4
# Drift of w between two refreshes, times the longest row: refresh more often above the one, less
# often below the other.
cdef double DRIFTED = 1e-11
cdef double STEADY = 2e-12


cdef long double[::1] _grown(long double[::1] old, Py_ssize_t used, Py_ssize_t capacity):
    """Return a longer array whose first `used` entries are those of `old`."""
    fresh = np.zeros(capacity, dtype=np.longdouble)
    if used:
        fresh[:used] = old[:used]
    return fresh


# What was seen of a point when it was last evaluated.
cdef struct Sighting:
    double slack        # turned so that it falls towards an event
    double rate
    double t
    double t_rest
    double variation    # the walk's variation and its integral, at that time
    double area


cdef class Walk:
    """One walk from t to t_end, and its record.

    Parameters are the rows, the line (value at t = 0 and rate of l, h and p), the stretch, and
    the solution at its beginning: the status of every point, the free points and their θ.
    """

    cdef Rows rows
    cdef Factor factor
    cdef Deadlines deadlines
    # bounds and targets at t = 0 and t = 1, and the differences
    cdef const double[::1] lower0, lower1, upper0, upper1, target0, target1
    cdef double[::1] lower_rate, upper_rate, target_rate
    cdef readonly double t, t_end
    cdef double t_rest                       # what rounding keeps out of t
    cdef long double from_zero, to_one       # t + t_rest and 1 minus that
    cdef signed char[::1] status
    cdef long double[::1] theta, theta_rate  # of the free points, in the factor's order
    cdef double[::1] column, rhs
    cdef double[::1] w, w_rate               # w(t) = w + since_base w_rate
    cdef long double[::1] s                  # bound points' part of ẇ: Σ l̇_i z_i + Σ ḣ_i z_i
    cdef long double[::1] exact              # a vector like w while it is being summed up
    cdef double[::1] pairs                   # w(t) and w_rate interleaved; only if they are short
    cdef double since_base                   # t minus the base of w
    cdef double speed, speed_exact           # ‖ẇ‖ (with the time part, see `length`)
    cdef double terms                        # Σ |θ̇_a| ‖z_a‖, what ẇ is summed from
    cdef double time_part                    # slacks also move with p: see `length`
    cdef double[::1] length                  # ‖z_i‖, enlarged for moving targets
    cdef double[::1] per_length              # 1 / length; 0 for a point that never moves
    cdef double[::1] row_norm
    cdef double rate_scale, box_scale        # largest rate of a bound, largest width of a box
    cdef bint moving_targets, screening, broken, moving_bounds, paired
    # Since ‖ẇ(t) - ẇ(t')‖ is at most the variation of ẇ between, what was seen at t' bounds the
    # slack at t: the extrapolated slack less ‖z_i‖ ∫ (variation - variation') dt.
    cdef double variation, area              # Σ ‖jumps of ẇ‖, and its integral over t
    cdef Sighting* seen
    # points looked at in this search
    cdef int[::1] chain, due
    cdef double[::1] due_slack, due_rate
    cdef Py_ssize_t n_due
    cdef int[::1] left_out                   # dependent on the free points until those change
    cdef Py_ssize_t n_left_out
    # the next event
    cdef double step
    cdef Py_ssize_t event                    # position of a free point, or number of a bound one
    cdef int event_kind                      # its status afterwards
    cdef double event_rate                   # ġ of an entering point
    # record
    cdef double[::1] record_t
    cdef int[::1] record_index
    cdef signed char[::1] record_move
    cdef readonly Py_ssize_t n_events
    cdef Py_ssize_t since_polish, since_refresh, zero_run
    cdef Py_ssize_t polish_every, refresh_every, refresh_at_least, refresh_at_most
    cdef readonly Py_ssize_t n_rows_evaluated, n_zero_steps, n_refactorizations, n_left_out_total, n_exchanges
    cdef Py_ssize_t n_strides                # steps in which w moved, since the last refresh
    cdef readonly Py_ssize_t n_polished, n_flat, sum_free, max_free, n_checks
    cdef readonly double worst_seen
    # where all points were last found on their sides
    cdef readonly double good_t
    cdef readonly Py_ssize_t good_events
    cdef signed char[::1] good_status
    cdef int[::1] good_members
    cdef long double[::1] good_theta
    cdef Py_ssize_t good_size

    def __cinit__(self, *args, **kwargs):
        self.seen = NULL

    def __dealloc__(self):
        free(self.seen)

    def __init__(self, Rows rows, const double[::1] squared_norm, line, double t, double t_end,
                 status, members, theta_free, Py_ssize_t orthogonal_up_to, bint careful):
        cdef Py_ssize_t n = rows.n_rows, capacity
        self.rows = rows
        self.lower0, self.lower1, self.lower_rate = line.lower0, line.lower1, line.lower_rate
        self.upper0, self.upper1, self.upper_rate = line.upper0, line.upper1, line.upper_rate
        self.target0, self.target1, self.target_rate = line.target0, line.target1, line.target_rate
        self.t, self.t_end = t, t_end
        self._weigh_ends()
        self.status = np.array(status, dtype=np.int8)
        self.good_status = np.array(status, dtype=np.int8)
        self.good_t = t
        self.moving_targets = bool(np.any(line.target_rate))
        self.moving_bounds = bool(np.any(line.lower_rate) or np.any(line.upper_rate))
        self.rate_scale = max(np.abs(line.lower_rate).max(), np.abs(line.upper_rate).max(), 1e-300)
        self.box_scale = max(np.abs(line.width(t)).max(), np.abs(line.width(t_end)).max(), 1e-300)
        norms = np.sqrt(np.asarray(squared_norm))
        self.row_norm = norms
        self.time_part = 0.0
        if self.moving_targets:
            # slack rates are <[z_i, -ṗ_i κ], [ẇ, 1/κ]>: one more coordinate, the same bound
            kappa = (norms.max() or 1.0) / np.abs(line.target_rate).max()
            self.time_part = 1.0 / kappa
            norms = np.sqrt(norms**2 + (kappa * np.asarray(line.target_rate))**2)
        self.length = norms
        self.per_length = np.divide(1.0, norms, out=np.zeros(n), where=norms > 0.0)
        orthogonal = rows.n_cols <= orthogonal_up_to
        capacity = max(len(members) + 8, min(rows.n_cols, n) + 1 if orthogonal else 64)
        cls = OrthogonalFactor if orthogonal else Factor
        self.screening = not orthogonal      # few dimensions: directions do not last
        self.polish_every = 1 if careful else 10 if orthogonal else 50
        self.factor = cls(rows, squared_norm, capacity)
        self.w = np.zeros(rows.n_cols)
        self.w_rate = np.zeros(rows.n_cols)
        self.deadlines = Deadlines(n, self.w, self.w_rate, orthogonal)
        self.paired = rows.n_cols <= PAIRED
        if self.paired:
            self.pairs = np.zeros(2 * rows.n_cols)
        self.s = np.zeros(rows.n_cols, dtype=np.longdouble)
        self.exact = np.zeros(rows.n_cols, dtype=np.longdouble)
        self.chain = np.zeros(n, dtype=np.int32)
        self.due = np.zeros(n, dtype=np.int32)
        self.due_slack = np.zeros(n)
        self.due_rate = np.zeros(n)
        self.left_out = np.zeros(n, dtype=np.int32)
        self.record_t = np.zeros(0)
        self.record_index = np.zeros(0, dtype=np.int32)
        self.record_move = np.zeros(0, dtype=np.int8)
        self.refresh_at_most = 32 if careful else max(512, n // 2)
        self.refresh_at_least = min(max(16, n // 64), self.refresh_at_most)
        self.refresh_every = min(max(64, n // 64), self.refresh_at_most)
        self.theta = np.zeros(0, dtype=np.longdouble)
        self.theta_rate = np.zeros(0, dtype=np.longdouble)
        self.good_theta = np.zeros(0, dtype=np.longdouble)
        self.good_members = np.zeros(0, dtype=np.int32)
        self._reserve(capacity)
        self.seen = <Sighting*> malloc(max(n, 1) * sizeof(Sighting))
        if self.seen == NULL:
            raise MemoryError(f"no room for {n} points")
        cdef long double[::1] theta = np.array(theta_free, dtype=np.longdouble)
        cdef Py_ssize_t a
        for a in range(len(members)):
            if self.factor.append(members[a]) == 0.0:
                raise ValueError("free points are linearly dependent")
            self.theta[a] = theta[a]
            self.good_members[a] = members[a]
            self.good_theta[a] = theta[a]
        self.good_size = self.factor.size
        self.n_refactorizations = 1
        self._refresh()

    cdef _reserve(self, Py_ssize_t capacity):
        cdef Py_ssize_t used = self.factor.size
        self.theta = _grown(self.theta, used, capacity)
        self.theta_rate = _grown(self.theta_rate, used, capacity)
        self.column = np.zeros(capacity)
        self.rhs = np.zeros(capacity)
        self.good_theta = _grown(self.good_theta, self.good_size, capacity)
        members = np.zeros(capacity, dtype=np.int32)
        if self.good_size:
            members[:self.good_size] = self.good_members[:self.good_size]
        self.good_members = members
        self.factor.reserve(capacity)

    def run(self, Py_ssize_t n_events):
        """Walk for at most `n_events` events; returns the outcome."""
        cdef Py_ssize_t room = self.n_events + n_events + 1     # an exchange is two events at once
        cdef Outcome outcome
        if self.record_t.shape[0] < room:
            room = max(room, 2 * self.record_t.shape[0])
            self.record_t = np.resize(self.record_t, room)
            self.record_index = np.resize(self.record_index, room)
            self.record_move = np.resize(self.record_move, room)
        with nogil:
            outcome = self._walk(n_events)
        if outcome == FULL:
            self._reserve(self.factor.capacity + self.factor.capacity // 2)
        return int(outcome)

    cdef Outcome _walk(self, Py_ssize_t n_events) noexcept nogil:
        cdef Py_ssize_t last = self.n_events + n_events
        while self.n_events < last:
            if self.factor.size == self.factor.capacity:
                return FULL
            self._next_event()
            self._advance()
            if self.event == NOTHING:
                self._refresh()
                return WRONG if self.worst_seen > WRONG_SIDE else DONE
            if self.event_kind == FREE:
                self._enter()
            else:
                self._leave()
            if self.broken:
                return STALLED
            if self.zero_run > 1000 + 10 * self.factor.size:
                return STALLED
            if self.since_refresh >= self.refresh_every:
                self._refresh()
                if self.worst_seen > WRONG_SIDE:
                    return WRONG
            elif self.since_polish >= self.polish_every:
                self._polish()
            elif self._needs_care():
                self._straighten()
        return MORE

    # -- where bounds and targets are now ------------------------------------------------------

    cdef long double _between(self, double begin, double end) noexcept nogil:
        # from both ends, so that values that go to zero there keep their digits; in extended
        # precision, since many points share one bound and its rounding would add up
        return begin * self.to_one + end * self.from_zero

    cdef long double _lower(self, Py_ssize_t i) noexcept nogil:
        return self._between(self.lower0[i], self.lower1[i])

    cdef long double _upper(self, Py_ssize_t i) noexcept nogil:
        return self._between(self.upper0[i], self.upper1[i])

    cdef double _target(self, Py_ssize_t i) noexcept nogil:
        if not self.moving_targets:
            return self.target0[i]
        return <double> self._between(self.target0[i], self.target1[i])

    cdef void _add_to_t(self, double step) noexcept nogil:
        # t + t_rest is kept to twice the digits: near t = 1 steps can be shorter than t's last one
        cdef double before = self.t, part
        step = step + self.t_rest
        self.t = before + step
        part = self.t - before
        self.t_rest = (before - (self.t - part)) + (step - part)
        self._weigh_ends()

    cdef void _weigh_ends(self) noexcept nogil:
        self.from_zero = <long double> self.t + self.t_rest
        self.to_one = (1.0 - <long double> self.t) - self.t_rest

    # -- direction ------------------------------------------------------------------------

    cdef double _turn(self, Py_ssize_t a, double change) noexcept nogil:
        """θ̇_a changes by `change`, the other free points answer; w(t) stays what it is.

        ẇ changes by `change` times the part of z_a orthogonal to the others, whose squared
        length is returned.
        """
        cdef Py_ssize_t b
        cdef double squared, c, back
        if self.rows.n_cols * self.rows.n_rows < 2 * self.factor.size * self.rows.n_stored:
            self._rebase()      # cheaper than changing w along with w_rate
        back = -self.since_base
        squared = self.factor.column(a, &self.column[0])
        self.terms = 0.0
        for b in range(self.factor.size):
            c = change * self.column[b]
            self.theta_rate[b] = self.theta_rate[b] + c
            self.terms = self.terms + ((fabs(c) + fabs(<double> self.theta_rate[b]))
                                       * self.row_norm[self.factor.members[b]])
            if back != 0.0:
                self.rows.axpy2(self.factor.members[b], back * c, &self.w[0], c, &self.w_rate[0])
            else:
                self.rows.axpy(self.factor.members[b], c, &self.w_rate[0])
        return squared

    cdef bint _needs_care(self) noexcept nogil:
        """Whether turning from direction to direction would lose too many digits here."""
        return (self.speed < CANCELLED * self.terms
                or self.factor.smallest_pivot() < NEARLY_DEPENDENT)

    cdef void _measure_speed(self) noexcept nogil:
        """‖ẇ‖ itself; where it is rounding only, ẇ becomes zero."""
        cdef Py_ssize_t a, k
        cdef double terms = 0.0
        cdef double speed = norm(self.rows.n_cols, &self.w_rate[0])
        for a in range(self.factor.size):
            terms = terms + fabs(<double> self.theta_rate[a]) * self.row_norm[self.factor.members[a]]
        if (speed <= FLAT * terms
                or (self.factor.size == self.rows.n_cols and not self.moving_targets)):
            for k in range(self.rows.n_cols):
                self.w_rate[k] = 0.0
            speed = 0.0
            self.n_flat += 1
        self.terms = terms
        self.speed_exact = speed
        self.speed = UPWARD * sqrt(speed * speed + self.time_part * self.time_part)

    cdef void _update_speed(self, double change) noexcept nogil:
        """‖ẇ‖² changes by `change`."""
        cdef double squared = self.speed * self.speed + change
        if squared <= FADED * self.speed_exact * self.speed_exact:
            self._straighten()
        elif self.moving_targets:
            self._measure_speed()
        else:
            self.speed = sqrt(squared)
            if self.speed > self.speed_exact:
                self.speed_exact = self.speed

    # -- next event -----------------------------------------------------------------------

    cdef void _next_event(self) noexcept nogil:
        cdef Py_ssize_t a, k
        cdef int i
        cdef long double rate
        self.step = (self.t_end - self.t) - self.t_rest
        self.event = NOTHING
        self.n_due = 0
        for a in range(self.factor.size):
            i = self.factor.members[a]
            rate = self.theta_rate[a] - self.lower_rate[i]
            if rate < -RESTING * self.rate_scale:
                self._propose(a, LOWER, <double> ((self.theta[a] - self._lower(i)) / -rate))
            rate = self.theta_rate[a] - self.upper_rate[i]
            if rate > RESTING * self.rate_scale:
                self._propose(a, UPPER, <double> ((self._upper(i) - self.theta[a]) / rate))
        if self.speed == 0.0:
            return
        self.deadlines.locate(self.since_base, self.time_part * self.t)
        self.deadlines.rewind()
        self._spread_pairs()
        while True:
            i = self.deadlines.pop(self.step * self.speed)
            if i < 0:
                return
            k = 0
            while i >= 0:
                self.chain[k] = i
                k += 1
                i = self.deadlines.following[i]
            for a in range(k):
                if a + AHEAD < k:
                    self.rows.prefetch(self.chain[a + AHEAD])
                self._look_at(self.chain[a])

    cdef void _look_at(self, int i) noexcept nogil:
        """Evaluate slack and rate of bound point i from w itself; propose its entering."""
        cdef double slack, rate, dt, spread
        cdef Sighting* seen = &self.seen[i]
        if self.screening:
            dt = (self.t - seen.t) + (self.t_rest - seen.t_rest)
            spread = self.variation - seen.variation
            rate = seen.rate - self.length[i] * spread
            slack = (seen.slack + dt * seen.rate
                     - self.length[i] * (self.area - seen.area - dt * seen.variation))
            if slack > 0.0 and slack + self.step * rate > 0.0:
                self._note(i, slack, rate)
                return
        self._evaluate(i, &slack, &rate)
        if self.status[i] == UPPER:
            slack = -slack
            rate = -rate
        # now a slack that is positive, and an event when it has fallen to zero
        if self.screening:
            seen.slack = slack
            seen.rate = rate
            seen.t = self.t
            seen.t_rest = self.t_rest
            seen.variation = self.variation
            seen.area = self.area
        self._note(i, slack, rate)
        self.n_rows_evaluated += 1
        if (rate < -self.length[i] * max(STILL * self.speed, SUMMED * self.terms)
                and not self._is_left_out(i)):
            if self._propose(i, FREE, slack / -rate):
                self.event_rate = -rate if self.status[i] == UPPER else rate

    cdef inline void _evaluate(self, int i, double* slack, double* rate) noexcept nogil:
        """Slack of point i at t, and its rate."""
        cdef double both[2]
        if self.paired:
            self.rows.dot_pair(i, &self.pairs[0], both)
            slack[0] = both[0] - self._target(i)
        else:
            self.rows.dot2(i, &self.w[0], &self.w_rate[0], &both[0], &both[1])
            slack[0] = both[0] + self.since_base * both[1] - self._target(i)
        rate[0] = both[1] - self.target_rate[i]

    cdef void _spread_pairs(self) noexcept nogil:
        cdef Py_ssize_t k
        if self.paired:
            for k in range(self.rows.n_cols):
                self.pairs[2 * k] = self.w[k] + self.since_base * self.w_rate[k]
                self.pairs[2 * k + 1] = self.w_rate[k]

    cdef inline void _note(self, int i, double slack, double rate) noexcept nogil:
        self.due[self.n_due] = i
        self.due_slack[self.n_due] = slack
        self.due_rate[self.n_due] = rate
        self.n_due += 1

    cdef inline bint _propose(self, Py_ssize_t event, int kind, double step) noexcept nogil:
        if step < self.step:
            self.step = step if step > 0.0 else 0.0
            self.event = event
            self.event_kind = kind
            return True
        return False

    cdef inline bint _is_left_out(self, int i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_left_out):
            if self.left_out[k] == i:
                return True
        return False

    # -- advance --------------------------------------------------------------------------

    cdef void _advance(self) noexcept nogil:
        cdef Py_ssize_t a, k
        cdef int i
        cdef double slack
        for a in range(self.factor.size):
            self.theta[a] = self.theta[a] + self.step * self.theta_rate[a]
        self._add_to_t(self.step)
        self.area = self.area + self.step * self.variation
        self.since_base = self.since_base + self.step
        if self.speed > 0.0:
            self.n_strides += 1
            self.deadlines.advance(self.step * self.speed)
            self.deadlines.locate(self.since_base, self.time_part * self.t)
        for k in range(self.n_due):
            i = self.due[k]
            if self.event_kind == FREE and i == self.event:
                continue
            slack = self.due_slack[k] + self.step * self.due_rate[k]
            self._wait(i, slack)
        if self.event == NOTHING:
            self.t = self.t_end
            self.t_rest = 0.0
            self._weigh_ends()
        else:
            self._correct_t()
        if self.step == 0.0:
            self.n_zero_steps += 1
            self.zero_run += 1
        else:
            self.zero_run = 0

    cdef void _correct_t(self) noexcept nogil:
        """One Newton step on the time of the event: `step` itself was rounded.

        Where (1 - t) or t is tiny, so small an error in t shows in bounds that go to zero there.
        """
        cdef long double dt
        cdef double slack, rate
        cdef Py_ssize_t a
        cdef int i
        if self.event_kind == FREE:
            i = <int> self.event
            self._spread_pairs()
            self._evaluate(i, &slack, &rate)
            dt = -slack / rate
        else:
            i = self.factor.members[self.event]
            if self.event_kind == LOWER:
                dt = ((self._lower(i) - self.theta[self.event])
                      / (self.theta_rate[self.event] - self.lower_rate[i]))
            else:
                dt = ((self._upper(i) - self.theta[self.event])
                      / (self.theta_rate[self.event] - self.upper_rate[i]))
        if not (-ULPS <= dt <= ULPS) or self.t + dt > self.t_end:
            return
        for a in range(self.factor.size):
            self.theta[a] = self.theta[a] + dt * self.theta_rate[a]
        self._add_to_t(<double> dt)
        self.since_base = self.since_base + <double> dt

    cdef void _wait(self, int i, double slack) noexcept nogil:
        if self.per_length[i] > 0.0:
            self.deadlines.put(i, slack * self.per_length[i] if slack > 0.0 else 0.0)

    cdef void _wait_unseen(self, int i, double slack) noexcept nogil:
        """The same where no rate is known: a sighting that bounds nothing."""
        self.seen[i].slack = -1.0
        self.seen[i].rate = 0.0
        self.seen[i].t = self.t
        self.seen[i].t_rest = self.t_rest
        self.seen[i].variation = self.variation
        self.seen[i].area = self.area
        self._wait(i, slack)

    # -- apply ----------------------------------------------------------------------------

    cdef void _enter(self) noexcept nogil:
        cdef int i = <int> self.event
        cdef Py_ssize_t a = self.factor.size
        cdef bint was_lower = self.status[i] == LOWER
        cdef double bound_rate = self.lower_rate[i] if was_lower else self.upper_rate[i]
        cdef double distance = self.factor.append(i), change
        if distance == 0.0 and self.moving_targets:
            self._exchange(i)
            return
        if not self.moving_targets and fabs(self.event_rate) > 1.01 * distance * self.speed:
            # With resting targets the slack of a dependent point rests too, at a value that the
            # raised targets keep off zero, and a rate |ġ| ≤ distance ‖ẇ‖ is all that a point at
            # this distance can have. More is rounding; the point waits until the free change.
            if distance > 0.0:
                self.factor.remove(a)
                self._straighten()
            self.left_out[self.n_left_out] = i
            self.n_left_out += 1
            self.n_left_out_total += 1
            self._wait(i, 0.0)
            return
        self.theta[a] = self._lower(i) if was_lower else self._upper(i)
        self.theta_rate[a] = bound_rate
        self.status[i] = FREE
        self._record(i, LOWER_TO_FREE if was_lower else UPPER_TO_FREE)
        change = -self.event_rate / (distance * distance)
        self.rows.axpy_long(i, -bound_rate, &self.s[0])
        self._turn(a, change)
        self.variation = self.variation + UPWARD * fabs(change) * distance
        self._update_speed(change * self.event_rate)

    cdef void _exchange(self, int i) noexcept nogil:
        """Point i meets the margin, but z_i = Σ v_a z_a: at this t, θ moves while w rests.

        θ_i leaves its bound and the free θ answer by -v, until one of them meets a bound and
        makes room, or θ_i meets its other bound.
        """
        cdef Py_ssize_t a, m = self.factor.size, leaving = -1
        cdef bint was_lower = self.status[i] == LOWER
        cdef double sense = 1.0 if was_lower else -1.0
        cdef double most = <double> (self._upper(i) - self._lower(i)), largest = 0.0, rate, room
        cdef long double at = self._lower(i) if was_lower else self._upper(i)
        cdef int kind = UPPER if was_lower else LOWER, k
        self.rows.inner(i, &self.factor.members[0], m, &self.column[0])
        self.factor.solve(&self.column[0])
        for a in range(m):
            largest = max(largest, fabs(self.column[a]))
        for a in range(m):
            rate = -sense * self.column[a]
            if fabs(rate) <= NEGLIGIBLE * largest:
                continue
            k = self.factor.members[a]
            if rate < 0.0:
                room = <double> (self.theta[a] - self._lower(k)) / -rate
            else:
                room = <double> (self._upper(k) - self.theta[a]) / rate
            if room < most:
                most = room if room > 0.0 else 0.0
                leaving = a
                kind = LOWER if rate < 0.0 else UPPER
        for a in range(m):
            self.theta[a] = self.theta[a] - sense * most * self.column[a]
        self.n_exchanges += 1
        self._record(i, LOWER_TO_FREE if was_lower else UPPER_TO_FREE)
        if leaving < 0:
            self._settle(i, kind)
        else:
            self._settle(self.factor.members[leaving], kind)
            self._drop(leaving)
            self.status[i] = FREE
            self.theta[self.factor.size] = at + sense * most
            self.theta_rate[self.factor.size] = 0.0
            if self.factor.append(i) == 0.0:
                at = self.theta[self.factor.size]
                self._settle(i, LOWER if 2 * at < self._lower(i) + self._upper(i) else UPPER)
                self.broken = True
        self._take_s()
        self._straighten()

    cdef void _settle(self, int i, int kind) noexcept nogil:
        """Free point i goes to a bound."""
        self.status[i] = <signed char> kind
        self._record(i, FREE_TO_LOWER if kind == LOWER else FREE_TO_UPPER)
        self._wait_unseen(i, 0.0)

    cdef void _drop(self, Py_ssize_t a) noexcept nogil:
        """Take the a-th free point out of the factor and of what is kept in its order."""
        cdef Py_ssize_t k
        for k in range(a, self.factor.size - 1):
            self.theta[k] = self.theta[k + 1]
            self.theta_rate[k] = self.theta_rate[k + 1]
        self.factor.remove(a)

    cdef void _leave(self) noexcept nogil:
        cdef Py_ssize_t a = self.event
        cdef int i = self.factor.members[a], kind = self.event_kind
        cdef double bound_rate = self.lower_rate[i] if kind == LOWER else self.upper_rate[i]
        cdef double change = <double> (bound_rate - self.theta_rate[a]), squared
        squared = self._turn(a, change)
        self._drop(a)
        self.rows.axpy_long(i, bound_rate, &self.s[0])
        self._settle(i, kind)
        self.variation = self.variation + UPWARD * fabs(change) * sqrt(squared)
        self._update_speed(change * change * squared)

    cdef void _record(self, int i, int move) noexcept nogil:
        # rounded up: then these sets hold for every number τ ≥ t that a double can hold, and the
        # former ones for every τ < t
        self.record_t[self.n_events] = nextafter(self.t, 2.0) if self.t_rest > 0.0 else self.t
        self.record_index[self.n_events] = i
        self.record_move[self.n_events] = <signed char> move
        self.n_events += 1
        self.n_left_out = 0
        self.since_polish += 1
        self.since_refresh += 1
        self.sum_free += self.factor.size
        if self.factor.size > self.max_free:
            self.max_free = self.factor.size

    # -- keeping rounding down --------------------------------------------------------------

    cdef void _rebase(self) noexcept nogil:
        if self.since_base != 0.0:
            vector_axpy(self.rows.n_cols, self.since_base, &self.w_rate[0], &self.w[0])
            self.since_base = 0.0

    cdef void _polish(self) noexcept nogil:
        """Bring the free slacks back to zero and straighten the direction."""
        cdef Py_ssize_t k
        self._rebase()
        for k in range(self.rows.n_cols):
            self.exact[k] = self.w[k]
        self._meet_targets()
        self._straighten()
        if self.factor.stale:
            self.n_refactorizations += 1
            if self.factor.rebuild():
                for k in range(self.rows.n_cols):
                    self.exact[k] = self.w[k]
                self._meet_targets()
                self._straighten()
            else:
                self.broken = True
        self.since_polish = 0
        self.n_polished += 1

    cdef void _straighten(self) noexcept nogil:
        """ẇ = s + Σ θ̇_a z_a anew, and θ̇ such that <z_a, ẇ> = ṗ_a for every free a."""
        cdef Py_ssize_t a, k
        self._rebase()          # w(t) itself must not jump
        for k in range(self.rows.n_cols):
            self.exact[k] = self.s[k]
        for a in range(self.factor.size):
            self.rows.axpy_long(self.factor.members[a], self.theta_rate[a], &self.exact[0])
            self.rhs[a] = self.target_rate[self.factor.members[a]]
        self.factor.meet(&self.rhs[0], &self.theta_rate[0], &self.exact[0], &self.w_rate[0])
        self._measure_speed()

    cdef void _meet_targets(self) noexcept nogil:
        """From w in `exact`: bring the free slacks to zero."""
        cdef Py_ssize_t a
        for a in range(self.factor.size):
            self.rhs[a] = self._target(self.factor.members[a])
        self.factor.meet(&self.rhs[0], &self.theta[0], &self.exact[0], &self.w[0])

    cdef void _take_s(self) noexcept nogil:
        """Sum up s from the statuses."""
        cdef Py_ssize_t i, k
        cdef double rate
        for k in range(self.rows.n_cols):
            self.s[k] = 0.0
        if not self.moving_bounds:
            return
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                rate = self.lower_rate[i] if self.status[i] == LOWER else self.upper_rate[i]
                if rate != 0.0:
                    self.rows.axpy_long(i, rate, &self.s[0])

    cdef void _refresh(self) noexcept nogil:
        """Take w from the statuses and θ, look at every point, set deadlines anew."""
        cdef Py_ssize_t i, a, n = self.rows.n_rows
        cdef long double at
        cdef double slack, farthest = 0.0, worst = 0.0, drift = 0.0, longest = 0.0
        self._rebase()
        for a in range(self.rows.n_cols):
            self.exact[a] = 0.0
        for i in range(n):
            if self.status[i] != FREE:
                at = self._lower(i) if self.status[i] == LOWER else self._upper(i)
                if at != 0.0:
                    self.rows.axpy_long(i, at, &self.exact[0])
            longest = max(longest, self.row_norm[i])
        for a in range(self.factor.size):
            self.rows.axpy_long(self.factor.members[a], self.theta[a], &self.exact[0])
        for a in range(self.rows.n_cols):
            drift = drift + <double> ((self.w[a] - self.exact[a]) * (self.w[a] - self.exact[a]))
        drift = longest * sqrt(drift)
        self._meet_targets()
        self._take_s()
        self._straighten()
        self.since_polish = 0
        if drift > DRIFTED and self.refresh_every > self.refresh_at_least:
            self.refresh_every = self.refresh_every // 2
        elif drift < STEADY and self.refresh_every < self.refresh_at_most:
            self.refresh_every = 2 * self.refresh_every
        for a in range(self.factor.size):
            i = self.factor.members[a]
            at = max(self._lower(i) - self.theta[a], self.theta[a] - self._upper(i))
            worst = max(worst, <double> at / self.box_scale)
        self.n_due = 0
        for i in range(n):
            if self.status[i] == FREE or (self.lower0[i] == self.upper0[i]
                                          and self.lower1[i] == self.upper1[i]):
                continue
            slack = self.rows.dot(i, &self.w[0]) - self._target(i)
            if self.status[i] == UPPER:
                slack = -slack
            worst = max(worst, -slack)
            self.due[self.n_due] = <int> i
            self.due_slack[self.n_due] = slack
            self.n_due += 1
            if self.length[i] > 0.0:
                farthest = max(farthest, slack / self.length[i])
        self.deadlines.clear(farthest if farthest > 0.0 else 1.0, self.deadlines.travelled
                             / self.n_strides if self.n_strides else farthest)
        self.n_strides = 0
        self.deadlines.locate(self.since_base, self.time_part * self.t)
        for a in range(self.n_due):
            self._wait_unseen(self.due[a], self.due_slack[a])
        self.worst_seen = worst
        self.n_checks += 1
        self.since_refresh = 0
        if worst <= WRONG_SIDE:
            self.good_t = self.t
            self.good_events = self.n_events
            self.good_size = self.factor.size
            memcpy(&self.good_status[0], &self.status[0], n)
            memcpy(&self.good_members[0], &self.factor.members[0], self.good_size * sizeof(int))
            memcpy(&self.good_theta[0], &self.theta[0], self.good_size * sizeof(long double))

    # -- what came of it --------------------------------------------------------------------

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

    def rewind(self):
        """Go back to where all points were last found on their sides."""
        self.n_events = self.good_events
        return (self.good_t, np.array(self.good_status),
                np.array(self.good_members[:self.good_size]),
                np.array(self.good_theta[:self.good_size]))

    @property
    def events(self):
        """Record: t, point, move."""
        k = self.n_events
        return (np.array(self.record_t[:k]), np.array(self.record_index[:k]),
                np.array(self.record_move[:k]))

    @property
    def w_now(self):
        """W at t."""
        return np.asarray(self.w) + self.since_base * np.asarray(self.w_rate)
