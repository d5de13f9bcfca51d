"""The search for the next event: deadlines, and a look at the points that are due.

A free θ that meets a bound is found by looking at all of them. Of the bound points, only those are
looked at whose slack can have met zero since they were last seen: w would have had to move so far.
"""

from libc.math cimport sqrt
from libc.stdlib cimport free, malloc

import numpy as np

from taupath._core._deadlines cimport Deadlines, trailing_zeros
from taupath._core._motion cimport (
    Motion, is_fixed, lower_now, target_now, upper_now, upward
)
from taupath._core._rows cimport Rows, prefetch_line
from taupath._core._status cimport FREE, LOWER, UPPER

cdef enum:
    TOGETHER = 16       # see `_gather`
    BATCH = 8           # points evaluated at once
    AHEAD = 16          # points ahead of them that the memory is asked for
    SORTED_FROM = 512   # so many points are looked at in the order of memory

# Rows with fewer entries than this are near the processor anyway.
cdef Py_ssize_t CACHED = 1 << 16
# A rate below this part of ‖z_i‖‖ẇ‖ is rounding: the point moves along with the free ones.
cdef double STILL = 1e-11
# Nor does a rate mean anything below this part of ‖z_i‖ Σ |θ̇_a| ‖z_a‖.
cdef double SUMMED = 1e-17
# The same for the rate of a free θ relative to its bound, as part of the largest bound rate.
cdef double RESTING = 1e-13


cdef class Search(Motion):
    """A motion from t towards t_end, and the event that ends it.

    Parameters are those of the motion, where it ends at the latest, and the metric to measure w in
    (None: no metric, and many dimensions).
    """

    def __cinit__(self, *args, **kwargs):
        self.seen = NULL
        self.points = NULL

    def __dealloc__(self):
        free(self.seen)
        free(self.points)

    def __init__(self, Rows rows, const double[::1] squared_norm, line, double t, double t_end,
                 status, members, theta_free, metric, bint orthogonal):
        cdef Py_ssize_t n = rows.n_rows
        super().__init__(rows, squared_norm, line, t, status, members, theta_free, orthogonal)
        self.t_end = t_end
        self.rate_scale = max(np.abs(line.lower_rate).max(), np.abs(line.upper_rate).max(), 1e-300)
        self.length, self.time_part = self._with_targets(np.asarray(self.row_norm),
                                                         line.target_rate)
        if metric is not None:
            self.measuring = True
            self.R = metric.R
        self.sweeping = rows.dual            # where a look is only one at a number
        self.screening = not orthogonal and not self.sweeping   # few dimensions: directions do not last
        self.prefetching = rows.n_stored > CACHED
        self.together = TOGETHER if self.prefetching and orthogonal else 1
        self.deadlines = Deadlines(n, self.pairs, metric)
        self.chain = np.zeros(n, dtype=np.int32)
        self.bits = np.zeros(n // 64 + 1, dtype=np.uint64)
        self.due = np.zeros(n, dtype=np.int32)
        self.due_distance = np.zeros(n)
        self.due_rate = np.zeros(n)
        self.left_out = np.zeros(n, dtype=np.int32)
        self.seen = <Sighting*> malloc(max(n, 1) * sizeof(Sighting))
        self.points = <Point*> malloc(max(n, 1) * sizeof(Point))
        if self.seen == NULL or self.points == NULL:
            raise MemoryError(f"no room for {n} points")
        self._fill_points(self.length if metric is None else metric.length)

    cdef _with_targets(self, lengths, target_rate):
        """Return lengths, and the time part of the speed, that bound moving targets too."""
        if not self.moving_targets:
            return lengths, 0.0
        # slack rates are <[z_i, -ṗ_i κ], [ẇ, 1/κ]>: one more coordinate, the same bound
        kappa = (lengths.max() or 1.0) / np.abs(target_rate).max()
        return np.sqrt(lengths**2 + (kappa * target_rate)**2), 1.0 / kappa

    cdef _fill_points(self, const double[::1] length):
        cdef Py_ssize_t i
        for i in range(self.rows.n_rows):
            self.points[i].target0 = self.target0[i]
            self.points[i].target_rate = self.target_rate[i]
            self.points[i].per_length = 1.0 / length[i] if length[i] > 0.0 else 0.0
            self.points[i].sense = -1.0 if self.status[i] == UPPER else 1.0

    cdef void _next_event(self) noexcept nogil:
        cdef Py_ssize_t a, k
        cdef int i
        cdef double rate
        self.step = (self.t_end - self.t) - self.t_rest
        self.event = NOTHING
        self.n_due = 0
        for a in range(0 if self.pinned else self.factor.size):
            i = self.factor.members[a]
            rate = <double> (self.theta_rate[a] - self.lower_rate[i])
            if rate < -RESTING * self.rate_scale:
                propose(self, a, LOWER, <double> (self.theta[a] - lower_now(self, i)) / -rate)
            rate = <double> (self.theta_rate[a] - self.upper_rate[i])
            if rate > RESTING * self.rate_scale:
                propose(self, a, UPPER, <double> (upper_now(self, i) - self.theta[a]) / rate)
        if self.speed == 0.0:
            return
        self._measure_pace()
        self.still = max(STILL * self.speed, SUMMED * self.terms)
        if self.sweeping:
            self._look_at(&self.chain[0], self._bound_points(), False)
            self.n_due = 0
            return
        self.deadlines.locate(self.since_base, self.t)
        self.deadlines.rewind()
        while True:
            k = self._gather()
            if k == 0:
                return
            if k >= SORTED_FROM:
                self._sort_chain(k)
            self._look_at(&self.chain[0], k, self.prefetching and k < SORTED_FROM)

    cdef Py_ssize_t _bound_points(self) noexcept nogil:
        """Write down the points whose box is more than one point; returns their number."""
        cdef Py_ssize_t i, k = 0
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE and not is_fixed(self, i):
                self.chain[k] = <int> i
                k += 1
        return k

    cdef Py_ssize_t _gather(self) noexcept nogil:
        """Write down some points that may be due; returns their number.

        Where the memory is slow, short lists are taken together, so that it can be asked for all
        their points before the first is looked at.
        """
        cdef Py_ssize_t a, k = 0, more = 1
        while k < self.together and more:
            more = self.deadlines.pop(self.step * self.pace, &self.chain[k])
            if self.prefetching:
                for a in range(k, min(k + more, <Py_ssize_t> AHEAD)):
                    self.rows.prefetch(self.chain[a])
                    prefetch_line(&self.points[self.chain[a]])
            k += more
        return k

    cdef void _sort_chain(self, Py_ssize_t count) noexcept nogil:
        """Put the points in the order of memory: one bit each, then from bit to bit."""
        cdef Py_ssize_t k, word, first = self.bits.shape[0], last = 0
        cdef unsigned long long rest
        for k in range(count):
            word = self.chain[k] >> 6
            self.bits[word] |= 1ull << (self.chain[k] & 63)
            first = min(first, word)
            last = max(last, word)
        k = 0
        for word in range(first, last + 1):
            rest = self.bits[word]
            self.bits[word] = 0
            while rest:
                self.chain[k] = <int> (64 * word + trailing_zeros(rest))
                rest &= rest - 1
                k += 1

    cdef void _measure_pace(self) noexcept nogil:
        cdef Py_ssize_t j, k, d = self.rows.n_cols
        cdef double total, entry
        if not self.measuring:
            self.pace = self.speed
            return
        total = self.R[d, d] * self.R[d, d]
        for k in range(d):
            entry = self.R[k, d]
            for j in range(k, d):
                entry = entry + self.R[k, j] * self.pairs[2 * j + 1]
            total = total + entry * entry
        self.pace = upward(sqrt(total))

    cdef void _look_at(self, int* points, Py_ssize_t count, bint ask) noexcept nogil:
        """Evaluate slack and rate of these bound points; propose their entering.

        `ask`: the memory is to be asked for points ahead.
        """
        cdef double both[2 * BATCH]
        cdef double target, slack, rate
        cdef Py_ssize_t first = 0, m, k
        cdef int* batch
        cdef int i
        cdef const Point* point
        cdef double since_base = self.since_base
        while first < count:
            batch = points + first
            m = min(<Py_ssize_t> BATCH, count - first)
            first += BATCH
            if ask:
                for k in range(first + AHEAD - BATCH, min(first + AHEAD, count)):
                    self.rows.prefetch(points[k])
                    prefetch_line(&self.points[points[k]])
            if self.screening:
                m = self._screen(batch, m)
            self.rows.dot_pairs(batch, m, &self.pairs[0], both)
            self.n_rows_evaluated += m
            for k in range(m):
                i = batch[k]
                # a slack that is positive, and an event when it has fallen to zero
                point = &self.points[i]
                target = target_now(self, i) if self.moving_targets else point.target0
                rate = point.sense * (both[2 * k + 1] - point.target_rate)
                slack = point.sense * (both[2 * k] + since_base * both[2 * k + 1] - target)
                if self.screening:
                    see(self, i, slack, rate)
                note(self, i, slack, rate)
                # hardly ever, and only then is there more to ask
                if (slack + self.step * rate < 0.0 and rate < -self.length[i] * self.still
                        and not is_left_out(self, i) and propose(self, i, FREE, slack / -rate)):
                    self.event_rate = point.sense * rate

    cdef Py_ssize_t _screen(self, int* points, Py_ssize_t m) noexcept nogil:
        """Keep the points, in front, that what was seen of them does not keep off the margin."""
        cdef double slack, rate, dt, spread
        cdef Py_ssize_t k, kept = 0
        cdef Sighting* seen
        cdef int i
        for k in range(m):
            i = points[k]
            seen = &self.seen[i]
            dt = (self.t - seen.t) + (self.t_rest - seen.t_rest)
            spread = self.variation - seen.variation
            rate = seen.rate - self.length[i] * spread
            slack = (seen.slack + dt * seen.rate
                     - self.length[i] * (self.area - seen.area - dt * seen.variation))
            if slack > 0.0 and slack + self.step * rate > 0.0:
                note(self, i, slack, rate)
            else:
                points[kept] = i
                kept += 1
        return kept

    cdef void _wait_unseen(self, int i, double slack) noexcept nogil:
        """Let a bound point wait of which no rate is known."""
        if self.screening:
            see(self, i, -1.0, 0.0)     # a sighting that bounds nothing
        if self.points[i].per_length > 0.0 and not self.sweeping:
            self.deadlines.put(i, slack * self.points[i].per_length if slack > 0.0 else 0.0)


cdef inline void see(Search self, int i, double slack, double rate) noexcept nogil:
    self.seen[i].slack = slack
    self.seen[i].rate = rate
    self.seen[i].t = self.t
    self.seen[i].t_rest = self.t_rest
    self.seen[i].variation = self.variation
    self.seen[i].area = self.area


cdef inline void note(Search self, int i, double slack, double rate) noexcept nogil:
    self.due[self.n_due] = i
    self.due_distance[self.n_due] = slack * self.points[i].per_length
    self.due_rate[self.n_due] = rate * self.points[i].per_length
    self.n_due += 1


cdef inline bint propose(Search self, Py_ssize_t event, int kind, double step) noexcept nogil:
    if step < self.step:
        self.step = step if step > 0.0 else 0.0
        self.event = event
        self.event_kind = kind
        return True
    return False


cdef inline bint is_left_out(Search self, int i) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(self.n_left_out):
        if self.left_out[k] == i:
            return True
    return False
