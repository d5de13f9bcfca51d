"""The walk along one line: direction, next event, advance, apply.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i(t) θ_i   subject to   l_i(t) ≤ θ_i ≤ h_i(t)

with l, h, p affine in t. θ(t) is piecewise linear. A point is *lower* (θ = l, slack g ≥ 0),
*free* (g = 0) or *upper* (θ = h, g ≤ 0), where g_i = <z_i, w> - p_i and w = Σ θ_i z_i. Between
events the free θ move so that their slacks stay zero; an event is a free θ that meets a bound,
or a bound point's slack that meets zero. One point changes sides per event.
"""

from libc.math cimport fabs, nextafter
from libc.string cimport memcpy

import numpy as np

from taupath._core._motion cimport is_fixed, lower_now, target_now, upper_now, upward
from taupath._core._rows cimport Rows
from taupath._core._search cimport NOTHING, Search
from taupath._core._status cimport (
    FREE, FREE_TO_LOWER, FREE_TO_UPPER, LOWER, LOWER_TO_FREE, UPPER, UPPER_TO_FREE
)

cdef enum Outcome:
    DONE = 0        # t_end was reached
    MORE = 1        # the event allowance of this call is used up
    FULL = 2        # the factor or the record has no room left
    STALLED = 3     # too many steps of length zero in a row
    WRONG = 4       # the check of all points found a slack or a θ on the wrong side

# A correction of t beyond this is no matter of rounding.
cdef double ULPS = 1e-14
# Slack (unit margins) or θ (as part of the widest box) on the wrong side by more than this calls
# for a repair.
cdef double WRONG_SIDE = 1e-9
# Part of the largest coefficient below which a dependence does not involve a point.
cdef double NEGLIGIBLE = 1e-9
# Drift of w between two refreshes, times the longest row: refresh more often above the one, less
# often below the other.
cdef double DRIFTED = 5e-11
cdef double STEADY = 1e-11


cdef class Walk(Search):
    """One walk from t to t_end, and its record.

    Parameters are those of the search, and whether to take all precautions.
    """

    cdef double box_scale                    # largest width of a box
    # record
    cdef double[::1] record_t
    cdef int[::1] record_index
    cdef signed char[::1] record_move
    cdef readonly Py_ssize_t n_events
    cdef Py_ssize_t since_polish, since_refresh, zero_run
    cdef Py_ssize_t polish_every, refresh_every, refresh_at_least, refresh_at_most
    cdef readonly Py_ssize_t n_zero_steps, n_left_out_total, n_exchanges
    cdef readonly Py_ssize_t sum_free, max_free
    cdef Py_ssize_t n_strides                # steps in which w moved, since the last refresh
    cdef double worst_seen                   # farthest on the wrong side at the last refresh
    # where all points were last found on their sides
    cdef double good_t
    cdef readonly Py_ssize_t good_events
    cdef signed char[::1] good_status
    cdef int[::1] good_members
    cdef long double[::1] good_theta
    cdef Py_ssize_t good_size

    def __init__(self, Rows rows, const double[::1] squared_norm, line, double t, double t_end,
                 status, members, theta_free, metric, bint orthogonal, bint careful):
        cdef Py_ssize_t n = rows.n_rows
        super().__init__(rows, squared_norm, line, t, t_end, status, members, theta_free, metric,
                         orthogonal)
        self.box_scale = max(np.abs(line.width(t)).max(), np.abs(line.width(t_end)).max(), 1e-300)
        self.polish_every = 1 if careful else 20 if orthogonal else 100
        self.record_t = np.zeros(0)
        self.record_index = np.zeros(0, dtype=np.int32)
        self.record_move = np.zeros(0, dtype=np.int8)
        self.refresh_at_most = 32 if careful else max(512, n // 2)
        self.refresh_at_least = min(max(16, n // 64), self.refresh_at_most)
        self.refresh_every = min(max(64, n // 64), self.refresh_at_most)
        self.good_status = np.zeros(n, dtype=np.int8)
        self._reserve_good()
        self._keep()
        self._refresh()

    cdef _reserve_good(self):
        """Make room for as many free points as the factor has; what was kept stays."""
        members = np.zeros(self.factor.capacity, dtype=np.int32)
        theta = np.zeros(self.factor.capacity, dtype=np.longdouble)
        if self.good_size:
            members[:self.good_size] = self.good_members[:self.good_size]
            theta[:self.good_size] = self.good_theta[:self.good_size]
        self.good_members, self.good_theta = members, theta

    def run(self, Py_ssize_t n_events):
        """Walk for at most `n_events` events; returns the outcome."""
        cdef Py_ssize_t room = self.n_events + n_events + 1     # an exchange is two events at once
        cdef Outcome outcome
        if self.record_t.shape[0] < room:
            room = max(room, 2 * self.record_t.shape[0], 4096)
            self.record_t = np.resize(self.record_t, room)
            self.record_index = np.resize(self.record_index, room)
            self.record_move = np.resize(self.record_move, room)
        with nogil:
            outcome = self._walk(n_events)
        if outcome == FULL:
            self._reserve_free(self.factor.capacity + self.factor.capacity // 2)
            self._reserve_good()
        return int(outcome)

    def look(self):
        """Look at every point where the walk is; returns whether that may be its end."""
        with nogil:
            self._refresh()
        return int(WRONG if self.worst_seen > WRONG_SIDE else DONE)

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
                self.since_polish = 0
            elif self._needs_care():
                self._straighten()
        return MORE

    # -- advance --------------------------------------------------------------------------

    cdef void _advance(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double distance
        cdef int i
        self._move(self.step)
        self.area = self.area + self.step * self.variation
        if self.speed > 0.0 and not self.sweeping:
            self.n_strides += 1
            self.deadlines.advance(self.step * self.pace)
            self.deadlines.locate(self.since_base, self.t)
        for k in range(self.n_due):
            i = self.due[k]
            if self.event_kind == FREE and i == self.event:
                continue
            distance = self.due_distance[k] + self.step * self.due_rate[k]
            self.deadlines.put(i, distance if distance > 0.0 else 0.0)
        if self.event == NOTHING:
            self._move_to(self.t_end)
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
        cdef double both[2]
        cdef double dt
        cdef Py_ssize_t a = self.event
        cdef int i
        if self.event_kind == FREE:
            i = <int> self.event
            self.rows.dot_pairs(&i, 1, &self.pairs[0], both)
            dt = -((both[0] + self.since_base * both[1] - target_now(self, i))
                   / (both[1] - self.target_rate[i]))
        else:
            i = self.factor.members[a]
            if self.event_kind == LOWER:
                dt = <double> ((lower_now(self, i) - self.theta[a])
                               / (self.theta_rate[a] - self.lower_rate[i]))
            else:
                dt = <double> ((upper_now(self, i) - self.theta[a])
                               / (self.theta_rate[a] - self.upper_rate[i]))
        if dt != 0.0 and -ULPS <= dt <= ULPS and self.t + dt <= self.t_end:
            self._move(dt)

    # -- apply ----------------------------------------------------------------------------

    cdef void _enter(self) noexcept nogil:
        cdef int i = <int> self.event
        cdef Py_ssize_t a = self.factor.size
        cdef bint was_lower = self.status[i] == LOWER
        cdef double bound_rate = self.lower_rate[i] if was_lower else self.upper_rate[i]
        cdef double distance = self.factor.append(i), change, squared = distance * distance
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
            self._wait_unseen(i, 0.0)
            return
        self.theta[a] = lower_now(self, i) if was_lower else upper_now(self, i)
        self.theta_rate[a] = bound_rate
        self.status[i] = FREE
        self._record(i, LOWER_TO_FREE if was_lower else UPPER_TO_FREE)
        self.rows.axpy_long(i, -bound_rate, &self.s[0])
        self._count_bound(i, LOWER if was_lower else UPPER, -1)
        change = self._set_column(a)
        if self.rows.balanced:
            squared = change
        change = -self.event_rate / squared
        self._turn(change, not self._is_flat())
        self.variation = self.variation + upward(fabs(change)) * self._column_length(squared)
        self._update_speed(change * self.event_rate)

    cdef void _exchange(self, int i) noexcept nogil:
        """Point i meets the margin, but z_i = Σ v_a z_a: at this t, θ moves while w rests.

        θ_i leaves its bound and the free θ answer by -v, until one of them meets a bound and
        makes room, or θ_i meets its other bound.
        """
        cdef Py_ssize_t a, m = self.factor.size, leaving = -1
        cdef bint was_lower = self.status[i] == LOWER
        cdef double sense = 1.0 if was_lower else -1.0
        cdef double most = <double> (upper_now(self, i) - lower_now(self, i)), largest = 0.0, rate, room
        cdef double speed = self.speed
        cdef long double at = lower_now(self, i) if was_lower else upper_now(self, i)
        cdef int kind = UPPER if was_lower else LOWER, k
        self._express(i)
        for a in range(m):
            largest = max(largest, fabs(<double> self.share[a]))
        for a in range(m):
            rate = -sense * <double> self.share[a]
            if fabs(rate) <= NEGLIGIBLE * largest:
                continue
            k = self.factor.members[a]
            if rate < 0.0:
                room = <double> (self.theta[a] - lower_now(self, k)) / -rate
            else:
                room = <double> (upper_now(self, k) - self.theta[a]) / rate
            if room < most:
                most = room if room > 0.0 else 0.0
                leaving = a
                kind = LOWER if rate < 0.0 else UPPER
        for a in range(m):
            self.theta[a] = self.theta[a] - sense * most * self.share[a]
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
                self._settle(i, LOWER if 2 * at < lower_now(self, i) + upper_now(self, i) else UPPER)
                self.broken = True
        self._take_s()
        self._straighten()
        self.variation = self.variation + upward(speed + self.speed)     # at most

    cdef void _settle(self, int i, int kind) noexcept nogil:
        """Free point i goes to a bound."""
        self.status[i] = <signed char> kind
        self.points[i].sense = -1.0 if kind == UPPER else 1.0
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
        if self.rows.balanced and self.factor.size == 1:
            self._replace_last(i, kind)
            return
        squared = self._set_column(a)
        self._turn(change, True)
        self._drop(a)
        self.rows.axpy_long(i, bound_rate, &self.s[0])
        self._count_bound(i, kind, 1)
        self._settle(i, kind)
        self.variation = self.variation + upward(fabs(change)) * self._column_length(squared)
        self._update_speed(change * change * squared)

    cdef void _replace_last(self, int i, int kind) noexcept nogil:
        """The only free point goes to a bound, which leaves the multiplier free in an interval.

        At the other end of it the next point meets the margin, which can then keep the balance.
        """
        cdef Py_ssize_t k
        cdef int j, next = -1
        cdef double both[2]
        cdef double way, slack, most = 1e300
        way = -self.rows.sign[i] if kind == UPPER else self.rows.sign[i]
        for k in range(self.rows.n_rows):
            j = <int> k
            if self.status[j] == FREE or is_fixed(self, j):
                continue
            if (way * self.rows.sign[j] > 0.0) != (self.status[j] == UPPER):
                continue
            self.rows.dot_pairs(&j, 1, &self.pairs[0], both)
            slack = fabs(both[0] + self.since_base * both[1] - target_now(self, j))
            if slack < most:
                most = slack
                next = j
        if next < 0:
            self.pinned = True      # all boxes close here, at the end of the line
            return
        self._drop(0)
        self._settle(i, kind)
        self.theta[0] = lower_now(self, next) if self.status[next] == LOWER else upper_now(self, next)
        self.theta_rate[0] = 0.0
        self._record(next, LOWER_TO_FREE if self.status[next] == LOWER else UPPER_TO_FREE)
        self.status[next] = FREE
        self.factor.append(next)
        self.multiplier = self.multiplier + way * most
        self._refresh()

    cdef void _record(self, int i, int move) noexcept nogil:
        # rounded up: then these sets hold for every number τ ≥ t that a double can hold, and the
        # former ones for every τ < t
        self.record_t[self.n_events] = nextafter(self.t, 2.0) if self.t_rest > 0.0 else self.t
        self.record_index[self.n_events] = i
        self.record_move[self.n_events] = <signed char> move
        self.n_events += 1
        self.n_left_out = 0
        self.pinned = False
        self.since_polish += 1
        self.since_refresh += 1
        self.sum_free += self.factor.size
        if self.factor.size > self.max_free:
            self.max_free = self.factor.size

    # -- looking at all points ----------------------------------------------------------------

    cdef void _refresh(self) noexcept nogil:
        """Take w from the statuses and θ, look at every point, set deadlines anew."""
        cdef Py_ssize_t i, a, n = self.rows.n_rows
        cdef long double beyond
        cdef double slack, stride, farthest = 0.0, worst = 0.0, drift = self.longest * self._take_w()
        cdef double both[2]
        cdef int point
        self.since_polish = 0
        if drift > DRIFTED and self.refresh_every > self.refresh_at_least:
            self.refresh_every = self.refresh_every // 2
        elif drift < STEADY and self.refresh_every < self.refresh_at_most:
            self.refresh_every = 2 * self.refresh_every
        for a in range(self.factor.size):
            i = self.factor.members[a]
            beyond = max(lower_now(self, i) - self.theta[a], self.theta[a] - upper_now(self, i))
            worst = max(worst, <double> beyond / self.box_scale)
        self.n_due = 0
        for i in range(n):
            if self.status[i] == FREE or is_fixed(self, i):
                continue
            point = <int> i
            self.rows.dot_pairs(&point, 1, &self.pairs[0], both)
            slack = both[0] - target_now(self, i)
            if self.status[i] == UPPER:
                slack = -slack
            worst = max(worst, -slack)
            self.due[self.n_due] = point
            self.due_distance[self.n_due] = slack
            self.n_due += 1
            farthest = max(farthest, slack * self.points[i].per_length)
        if farthest == 0.0:
            farthest = 1.0
        stride = farthest
        if self.deadlines.travelled > 0.0:
            stride = self.deadlines.travelled / self.n_strides
        self.deadlines.clear(farthest, stride)
        self.n_strides = 0
        self.deadlines.locate(self.since_base, self.t)
        for a in range(self.n_due):
            self._wait_unseen(self.due[a], self.due_distance[a])
        self.worst_seen = worst
        self.since_refresh = 0
        if worst <= WRONG_SIDE:
            self._keep()

    cdef void _keep(self) noexcept nogil:
        """Remember this solution, to come back to."""
        self.good_t = self.t
        self.good_events = self.n_events
        self.good_size = self.factor.size
        memcpy(&self.good_status[0], &self.status[0], self.rows.n_rows)
        memcpy(&self.good_members[0], &self.factor.members[0], self.good_size * sizeof(int))
        memcpy(&self.good_theta[0], &self.theta[0], self.good_size * sizeof(long double))

    # -- what came of it --------------------------------------------------------------------

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
