"""The search for the next event: deadlines, and a look at the points that are due.

A free θ that meets a bound is found by looking at all of them. A bound point is looked at only if
its slack can have met zero since it was last seen, that is, if w has moved far enough.
"""

cimport cython
from libc.math cimport fabs
from libc.stdlib cimport free, malloc

import numpy as np

from taupath._core._deadlines cimport metric_length, trailing_zeros
from taupath._core._factor import keeps_basis
from taupath._core._line cimport bound_at, bound_rate, target_at
from taupath._core._motion cimport upward
from taupath._core._near_points cimport BLOCK_SIZE
from taupath._core._rows cimport prefetch_line
from taupath._core._status cimport FREE, LOWER, UPPER
from taupath._core._tolerances cimport CLEARLY_LATER, RESTING, STILL, STILL_SUMMED

# Measured on rows of a few dozen columns; factors of two either way hardly matter.
cdef enum:
    TOGETHER = 16       # points, see `_gather`
    BATCH = 8           # points evaluated at once
    AHEAD = 16          # points ahead of them that are prefetched
    SORTED_FROM = 512   # from so many points on, they are looked at in the order of memory
    CACHED = 1 << 16    # stored entries up to which rows stay in the cache anyway
    MOST_LISTED = 300000    # samples; with more, lists fill up at once where many are on the margin


@cython.final
cdef class Search:
    """The event that ends the present direction.

    Parameters
    ----------
    motion : Motion
        The solution and its direction.
    t_end : float
        Where the motion ends at the latest.
    metric : Metric or None
        How to measure w; None where there are many dimensions.
    """

    def __cinit__(self, *args):
        self.seen = NULL
        self.points = NULL
        self.due = NULL

    def __dealloc__(self):
        free(self.seen)
        free(self.points)
        free(self.due)

    def __init__(self, Motion motion, double t_end, metric):
        cdef Py_ssize_t n = motion.rows.n_rows
        self.motion, self.rows, self.line = motion, motion.rows, motion.line
        self.t_end = t_end
        line = self.line
        self.rate_scale = max(np.abs(line.lower_rate).max(), np.abs(line.upper_rate).max(), 1e-300)
        self.length = motion.length
        self.measuring = metric is not None
        if self.measuring:
            self.R = metric.R
        orthogonal = keeps_basis(self.rows)
        dense = 2 * self.rows.n_stored >= n * self.rows.n_cols and n <= MOST_LISTED
        self.listing = self.measuring and dense and not self.line.moving_targets
        if self.listing:
            self.near = NearPoints(self.rows, metric)
        self.sweeping = self.rows.dual and not motion.lagging   # margins are stored
        # in few dimensions directions do not last, and a sighting is soon worth nothing
        self.screening = not orthogonal and not self.sweeping
        self.prefetching = self.rows.n_stored > CACHED
        self.together = TOGETHER if self.prefetching and orthogonal else 1
        self.deadlines = Deadlines(n, motion.pairs, metric)
        fixed = np.equal(line.lower0, line.upper0) & np.equal(line.lower1, line.upper1)
        self.movable = np.flatnonzero(~fixed).astype(np.int32)
        self.chain = np.zeros(n, dtype=np.int32)
        self.bits = np.zeros(n // 64 + 1, dtype=np.uint64)
        self.left_out = np.zeros(n, dtype=np.int32)
        self.seen = <Sighting*> malloc(max(n, 1) * sizeof(Sighting))
        self.points = <Point*> malloc(max(n, 1) * sizeof(Point))
        self.due = <Due*> malloc(max(n, 1) * sizeof(Due))
        if self.seen == NULL or self.points == NULL or self.due == NULL:
            raise MemoryError(f"no room for {n} points")
        self._fill_points(self.length if metric is None else metric.length)

    cdef _fill_points(self, const double[::1] length):
        cdef Py_ssize_t i
        for i in range(self.rows.n_rows):
            self.points[i].target0 = self.line.target0[i]
            self.points[i].target_rate = self.line.target_rate[i]
            self.points[i].per_length = 1.0 / length[i] if length[i] > 0.0 else 0.0
            self.points[i].sense = -1.0 if self.motion.status[i] == UPPER else 1.0

    # -- the next event -------------------------------------------------------------------------

    cdef Event next_event(self) noexcept nogil:
        self.least = self.event.step = (self.t_end - self.motion.now.t) - self.motion.now.rest
        self.event.kind = NO_EVENT
        self.n_due = 0
        self.beyond = False
        if not self.pinned:
            self._look_at_free()
        if self.motion.speed == 0.0:
            return self.event
        self.still = max(STILL * self.motion.speed, STILL_SUMMED * self.motion.rounding.terms)
        if self.sweeping:
            self._look_at(&self.chain[0], self._bound_points(), False)
        elif self.listing:
            self.near.face(&self.motion.pairs[0], self.motion.since_base)
            self._look_at_near()
            if self.near.leaves_ball(self.event.step):
                self._renew_near()
                self._look_at_near()
            self.beyond = self.near.leaves_ball(self.event.step)
            if self.beyond:
                self.pace = self.near.pace()
                self._look_at_due()
        else:
            self._measure_pace()
            self._look_at_due()
        return self.event

    cdef void _look_at_free(self) noexcept nogil:
        """Propose the events of free θ that meet a bound."""
        cdef const int* members = &self.motion.factor.members[0]
        cdef const long double* theta = &self.motion.theta[0]
        cdef const long double* theta_rate = &self.motion.theta_rate[0]
        cdef const double* lower_rate = &self.line.lower_rate[0]
        cdef const double* upper_rate = &self.line.upper_rate[0]
        cdef double to_one = <double> self.motion.now.to_one
        cdef double from_zero = <double> self.motion.now.from_zero
        cdef double at, at_rate
        cdef Py_ssize_t a
        cdef int i
        for a in range(self.motion.factor.size):
            i = members[a]
            at = <double> theta[a]
            at_rate = <double> theta_rate[a]
            if may_meet(at, at_rate - lower_rate[i], to_one * self.line.lower0[i],
                        from_zero * self.line.lower1[i], self.event.step):
                self._look_at_bound(a, LOWER)
            if may_meet(-at, upper_rate[i] - at_rate, -to_one * self.line.upper0[i],
                        -from_zero * self.line.upper1[i], self.event.step):
                self._look_at_bound(a, UPPER)

    cdef void _look_at_bound(self, Py_ssize_t a, int bound) noexcept nogil:
        """Propose that the a-th free θ meets a bound, if it moves towards it."""
        cdef int i = self.motion.factor.members[a]
        cdef double rate = <double> (self.motion.theta_rate[a] - bound_rate(self.line, i, bound))
        cdef double way = <double> (bound_at(self.line, &self.motion.now, i, bound)
                                    - self.motion.theta[a])
        if (rate if bound == UPPER else -rate) > RESTING * self.rate_scale:
            propose(self, a, bound, way / rate)

    cdef void _look_at_near(self) noexcept nogil:
        """Evaluate slacks and rates of the near points; propose their entering."""
        cdef const double* slack = &self.near.slack[0]
        cdef const double* rate = &self.near.rate[0]
        cdef Py_ssize_t j, k, first, n_reached = self.near.look(self.event.step)
        self.n_rows_evaluated += self.near.size
        for k in range(n_reached):
            first = self.near.reached[k]
            for j in range(first, min(first + BLOCK_SIZE, self.near.size)):
                propose_entering(self, self.near.points[j], slack[j], rate[j])

    cdef void _renew_near(self) noexcept nogil:
        """List the points near w where it is now; the others wait."""
        cdef double both[2 * BATCH]
        cdef double reach
        cdef Py_ssize_t first, k, m, size
        cdef int i
        self.n_strides += 1
        self.deadlines.advance(self.near.away(0.0))
        self.deadlines.locate(self.motion.since_base, self.motion.now.t)
        self.near.new_ball()
        reach = self.near.radius
        self._unlist_beyond(reach)
        self.deadlines.rewind()
        while True:
            m = self._gather(reach)
            if m == 0:
                break
            self.n_rows_evaluated += m
            first = 0
            while first < m:
                size = min(<Py_ssize_t> BATCH, m - first)
                if self.prefetching:
                    for k in range(first + AHEAD, min(first + AHEAD + size, m)):
                        self._prefetch(self.chain[k])
                self.motion.margins(&self.chain[first], size, both)
                for k in range(size):
                    i = self.chain[first + k]
                    self._list(i, self.points[i].sense * (both[2 * k] - self.points[i].target0))
                first += size
        for k in range(self.n_due):
            self.deadlines.put(self.due[k].point, self.due[k].distance)
        self.n_due = 0

    cdef void _list(self, int i, double slack) noexcept nogil:
        """Put a point on the list, or let it wait."""
        cdef double distance = max(slack, 0.0) * self.points[i].per_length
        while self.near.full() and distance < self.near.radius:
            self._unlist_beyond(0.5 * self.near.radius)
        if distance < self.near.radius:
            self.near.add(i, self.points[i].sense, self.points[i].target0)
            self.near.slack[self.near.size - 1] = slack
        else:
            note(self, i, max(slack, 0.0), 0.0)

    cdef void _unlist_beyond(self, double radius) noexcept nogil:
        """Make the ball smaller."""
        cdef Py_ssize_t j
        cdef double slack
        cdef int i
        self.near.radius = radius
        for j in range(self.near.size - 1, -1, -1):
            i = self.near.points[j]
            slack = max(self.near.slack[j], 0.0)
            if not slack * self.points[i].per_length < radius:
                self.near.remove(i)
                note(self, i, slack, 0.0)

    cdef void _look_at_due(self) noexcept nogil:
        """Look at all points that wait and may meet the margin within the step."""
        cdef Py_ssize_t k
        self.deadlines.locate(self.motion.since_base, self.motion.now.t)
        self.deadlines.rewind()
        while True:
            k = self._gather(self.event.step * self.pace)
            if k == 0:
                return
            if k >= SORTED_FROM:
                self._sort_chain(k)
            self._look_at(&self.chain[0], k, self.prefetching and k < SORTED_FROM)

    cdef Py_ssize_t _bound_points(self) noexcept nogil:
        """List the movable points that are at a bound; returns their number."""
        cdef Py_ssize_t j, k = 0
        cdef const signed char* status = &self.motion.status[0]
        cdef int* chain = &self.chain[0]
        for j in range(self.movable.shape[0]):
            chain[k] = self.movable[j]
            k += status[chain[k]] != FREE
        return k

    cdef Py_ssize_t _gather(self, double reach) noexcept nogil:
        """List some points that may be due before w has moved so far; returns their number.

        Where the memory is slow, short lists are taken together, so that all their points are
        prefetched before the first is looked at.
        """
        cdef Py_ssize_t a, k = 0, more = 1
        while k < self.together and more:
            more = self.deadlines.pop(reach, &self.chain[k])
            if self.prefetching:
                for a in range(k, min(k + more, <Py_ssize_t> AHEAD)):
                    self._prefetch(self.chain[a])
            k += more
        return k

    cdef void _prefetch(self, int i) noexcept nogil:
        self.rows.prefetch(i)
        prefetch_line(&self.points[i])
        if self.screening:
            prefetch_line(&self.seen[i])

    cdef void _sort_chain(self, Py_ssize_t count) noexcept nogil:
        """Put the points in the order of memory: set one bit each, then go from bit to bit."""
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
        self.pace = self.motion.speed
        if self.measuring:
            self.pace = upward(metric_length(self.R, &self.motion.pairs[1], 2, 1.0))

    cdef void _look_at(self, int* points, Py_ssize_t count, bint ask) noexcept nogil:
        """Evaluate slack and rate of these bound points; propose their entering.

        `ask`: points ahead are to be prefetched.
        """
        cdef double both[2 * BATCH]
        cdef double target, slack, rate
        cdef Py_ssize_t first = 0, m, k
        cdef int* batch
        cdef int i
        cdef const Point* point
        cdef bint moving_targets = self.line.moving_targets
        while first < count:
            batch = points + first
            m = min(<Py_ssize_t> BATCH, count - first)
            first += BATCH
            if ask:
                for k in range(first + AHEAD - BATCH, min(first + AHEAD, count)):
                    self._prefetch(points[k])
            if self.screening:
                m = self._screen(batch, m)
            self.motion.margins(batch, m, both)
            self.n_rows_evaluated += m
            for k in range(m):
                i = batch[k]
                # a slack that is positive, and an event when it has fallen to zero
                point = &self.points[i]
                target = (target_at(self.line, &self.motion.now, i) if moving_targets
                          else point.target0)
                rate = point.sense * (both[2 * k + 1] - point.target_rate)
                slack = point.sense * (both[2 * k] - target)
                if self.screening:
                    see(self, i, slack, rate)
                if not self.sweeping:
                    note(self, i, slack, rate)
                propose_entering(self, i, slack, rate)

    cdef Py_ssize_t _screen(self, int* points, Py_ssize_t m) noexcept nogil:
        """Move to the front the points that may reach the margin, by what was last seen of them.

        Returns their number; the others go on waiting.
        """
        cdef double slack, rate, dt
        cdef double t = self.motion.now.t, t_rest = self.motion.now.rest, step = self.event.step
        cdef double variation = self.variation, area = self.area
        cdef const double* length = &self.length[0]
        cdef const Sighting* seen
        cdef Py_ssize_t k, kept = 0
        cdef int i
        for k in range(m):
            i = points[k]
            seen = &self.seen[i]
            dt = (t - seen.t) + (t_rest - seen.t_rest)
            rate = seen.rate - length[i] * (variation - seen.variation)
            slack = (seen.slack + dt * seen.rate
                     - length[i] * (area - seen.area - dt * seen.variation))
            if slack > 0.0 and slack + step * rate > 0.0:
                note(self, i, slack, rate)
            else:
                points[kept] = i
                kept += 1
        return kept

    # -- what happens to points ------------------------------------------------------------------

    cdef void advance(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double distance, step = self.event.step
        cdef const Due* due
        self.area = self.area + step * self.variation
        if self.motion.speed > 0.0 and not self.sweeping and (self.beyond or not self.listing):
            self.n_strides += 1
            self.deadlines.advance(step * self.pace)
            self.deadlines.locate(self.motion.since_base, self.motion.now.t)
            if self.listing:
                self.near.forget_ball(&self.motion.pairs[0], self.motion.since_base)
        for k in range(self.n_due):
            due = &self.due[k]
            if self.event.kind == FREE and due.point == self.event.which:
                continue
            distance = due.distance + step * due.rate
            self.deadlines.put(due.point, distance if distance > 0.0 else 0.0)
        if self.listing and self.event.kind == FREE and self.near.place[self.event.which] >= 0:
            self.near.remove(<int> self.event.which)

    cdef void sets_changed(self) noexcept nogil:
        self.n_left_out = 0
        self.pinned = False

    cdef void settled(self, int i, int status) noexcept nogil:
        self.points[i].sense = -1.0 if status == UPPER else 1.0
        self._wait_unseen(i, 0.0)

    cdef void leave_out(self, int i) noexcept nogil:
        self.left_out[self.n_left_out] = i
        self.n_left_out += 1
        self._wait_unseen(i, 0.0)

    cdef void _wait_unseen(self, int i, double slack) noexcept nogil:
        """Let a bound point wait of which no rate is known."""
        if self.screening:
            see(self, i, -1.0, 0.0)     # a sighting that bounds nothing
        if self.points[i].per_length == 0.0 or self.sweeping:
            return
        if self.listing and self.near.radius >= 0.0:
            if not self.near.full():
                self.near.add(i, self.points[i].sense, self.points[i].target0)
                return
            self.near.radius = -1.0     # the list is no longer complete
        self.deadlines.put(i, slack * self.points[i].per_length if slack > 0.0 else 0.0)

    cdef double restart(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double slack, stride, farthest = 0.0, worst = 0.0
        cdef double both[2 * BATCH]
        cdef int i
        self.n_due = self._bound_points()
        for k in range(self.n_due):
            if k % BATCH == 0:
                self.motion.margins(&self.chain[k], min(<Py_ssize_t> BATCH, self.n_due - k), both)
            i = self.chain[k]
            slack = both[2 * (k % BATCH)] - target_at(self.line, &self.motion.now, i)
            slack = self.points[i].sense * slack
            worst = max(worst, -slack)
            self.due[k].distance = slack
            farthest = max(farthest, slack * self.points[i].per_length)
        stride = farthest = farthest if farthest > 0.0 else 1.0
        if self.deadlines.travelled > 0.0:
            stride = self.deadlines.travelled / self.n_strides
        self.n_strides = 0
        self.deadlines.clear(farthest, stride)
        self.deadlines.locate(self.motion.since_base, self.motion.now.t)
        if self.listing:
            self.near.clear(farthest)
            self.near.forget_ball(&self.motion.pairs[0], self.motion.since_base)
        for k in range(self.n_due):
            self._wait_unseen(self.chain[k], self.due[k].distance)
        self.n_due = 0
        return worst

    cdef int nearest(self, double way, double* slack) noexcept nogil:
        cdef Py_ssize_t k
        cdef int i, nearest = -1
        cdef double both[2]
        cdef double distance
        slack[0] = 1e300
        for k in range(self._bound_points()):
            i = self.chain[k]
            if (way * self.rows.sign[i] > 0.0) != (self.motion.status[i] == UPPER):
                continue
            self.motion.margins(&i, 1, both)
            distance = fabs(both[0] - target_at(self.line, &self.motion.now, i))
            if distance < slack[0]:
                slack[0] = distance
                nearest = i
        return nearest


cdef inline void see(Search self, int i, double slack, double rate) noexcept nogil:
    cdef Sighting* seen = &self.seen[i]
    seen.slack = slack
    seen.rate = rate
    seen.t = self.motion.now.t
    seen.t_rest = self.motion.now.rest
    seen.variation = self.variation
    seen.area = self.area


cdef inline void note(Search self, int i, double slack, double rate) noexcept nogil:
    cdef Due* due = &self.due[self.n_due]
    due.point = i
    due.distance = slack * self.points[i].per_length
    due.rate = rate * self.points[i].per_length
    self.n_due += 1


cdef inline bint may_meet(double at, double rate, double term0, double term1,
                          double step) noexcept nogil:
    """Return whether θ may fall to the bound term0 + term1 within a step, as far as doubles tell.

    `rate` is relative to the bound.
    """
    return (at - (term0 + term1) + step * rate
            < CLEARLY_LATER * (fabs(at) + fabs(term0) + fabs(term1)))


cdef inline bint propose(Search self, Py_ssize_t which, int kind, double step) noexcept nogil:
    if step < self.least:       # of several that rounding has made late, the one that is latest
        self.least, self.event.step = step, (step if step > 0.0 else 0.0)
        self.event.which = which
        self.event.kind = kind
        return True
    return False


cdef inline void propose_entering(Search self, int i, double slack, double rate) noexcept nogil:
    # hardly ever true, and only then is there more to ask
    if (slack + self.least * rate < 0.0 and rate < -self.length[i] * self.still
            and not is_left_out(self, i) and propose(self, i, FREE, slack / -rate)):
        self.event.rate = self.points[i].sense * rate


cdef inline bint is_left_out(Search self, int i) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(self.n_left_out):
        if self.left_out[k] == i:
            return True
    return False
