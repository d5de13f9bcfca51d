"""The walk along one line: direction, next event, advance, apply.

    min_θ ½‖Σ θ_i z_i‖² - Σ p_i(t) θ_i   subject to   l_i(t) ≤ θ_i ≤ h_i(t)

with l, h, p affine in t. θ(t) is piecewise linear. A point is *lower* (θ = l, slack g ≥ 0),
*free* (g = 0) or *upper* (θ = h, g ≤ 0), where g_i = <z_i, w> - p_i and w = Σ θ_i z_i. Between
events the free θ move so that their slacks stay zero; an event is a free θ that meets a bound,
or a bound point's slack that meets zero. One point changes sides per event.

`Motion` has the direction, `Search` finds the next event, and the walk applies it. Every event is
written in a `Log`; a `Checkpoint` holds the last solution at which all points were checked.
"""

cimport cython
from libc.math cimport fabs, nextafter
from libc.string cimport memcpy

import numpy as np

from taupath._core._factor import keeps_basis
from taupath._core._line cimport (
    Line, Moment, bound_at, bound_rate, lower_at, set_moment, target_at, upper_at
)
from taupath._core._motion cimport Motion, upward
from taupath._core._rows cimport Rows
from taupath._core._search cimport NO_EVENT, Event, Search
from taupath._core._status cimport FREE, LOWER, UPPER, move_between
from taupath._core._tolerances cimport (
    CORRECTED_BEYOND, DOUBTFUL_DRIFT, DOUBTFUL_END, DOUBTFUL_NOISE, DOUBTFUL_PIVOT, DOUBTFUL_SOLVE,
    DRIFTED, HALF_OF_THE_DIGITS, IMPOSSIBLE_RATE, LONGEST_CORRECTION, STEADY, WRONG_SIDE
)

cdef enum Outcome:
    DONE = 0        # the end was reached
    MORE = 1        # the event allowance of this call is used up
    FULL = 2        # the factor has no room left
    STALLED = 3     # too many steps of length zero in a row
    WRONG = 4       # the check of all points found a slack or a θ on the wrong side


@cython.final
cdef class Log:
    """The events of a walk: when, which point, from what to what."""

    cdef double[::1] t
    cdef int[::1] index
    cdef signed char[::1] move
    cdef Py_ssize_t size

    def __init__(self):
        self.t = np.zeros(0)
        self.index = np.zeros(0, dtype=np.int32)
        self.move = np.zeros(0, dtype=np.int8)

    cdef reserve(self, Py_ssize_t room):
        """Make room for so many events."""
        if self.t.shape[0] < room:
            room = max(room, 2 * self.t.shape[0], 4096)
            self.t = np.resize(self.t, room)
            self.index = np.resize(self.index, room)
            self.move = np.resize(self.move, room)

    cdef void add(self, Moment* now, int i, int before, int after) noexcept nogil:
        # t is rounded up: then the new sets hold for every double τ ≥ t, the old ones for τ < t
        self.t[self.size] = nextafter(now.t, 2.0) if now.rest > 0.0 else now.t
        self.index[self.size] = i
        self.move[self.size] = <signed char> move_between(before, after)
        self.size += 1


@cython.final
cdef class Doubts:
    """Intervals of t in which something went less well than usual: they are looked at again."""

    cdef double[:, ::1] interval
    cdef Py_ssize_t size
    cdef bint raised                         # since the last full check,
    cdef double since                        # and from which t on
    # Free rows are nearly dependent, but a basis keeps half of the digits: as soon as they are not
    # any more, a full check ends the doubt. It costs less than a second look at each later kink.
    cdef bint passing
    cdef bint lasting                        # not even that: until the next regular check

    def __init__(self):
        self.interval = np.zeros((16, 2))

    cdef reserve(self):
        """Make room if little is left."""
        if not self.has_room():
            self.interval = np.resize(self.interval, (2 * self.interval.shape[0], 2))

    cdef bint has_room(self) noexcept nogil:
        return self.size + 4 <= self.interval.shape[0]      # for one event, and the end of a walk

    cdef void note(self, double since) noexcept nogil:
        """Raise a doubt about everything from this t to the next full check."""
        if not self.raised or since < self.since:
            self.since = since
        self.raised = True

    cdef void settle(self, double end) noexcept nogil:
        """Note an interval if a doubt was raised in it."""
        cdef double begin = self.since
        if not self.raised:
            return
        self.raised = False
        if self.size > 0 and self.interval[self.size - 1, 1] >= begin:
            self.interval[self.size - 1, 1] = end
        else:
            self.interval[self.size, 0] = begin
            self.interval[self.size, 1] = end
            self.size += 1


@cython.final
cdef class Checkpoint:
    """A solution to come back to, and how many events led to it."""

    cdef double t
    cdef signed char[::1] status
    cdef int[::1] members
    cdef long double[::1] theta
    cdef Py_ssize_t size, n_events

    def __init__(self, Py_ssize_t n_points):
        self.status = np.zeros(n_points, dtype=np.int8)
        self.members = np.zeros(n_points, dtype=np.int32)
        self.theta = np.zeros(n_points, dtype=np.longdouble)

    cdef void keep(self, Motion motion, Py_ssize_t n_events) noexcept nogil:
        self.t = motion.now.t
        self.n_events = n_events
        self.size = motion.factor.size
        memcpy(&self.status[0], &motion.status[0], self.status.shape[0])
        memcpy(&self.members[0], &motion.factor.members[0], self.size * sizeof(int))
        memcpy(&self.theta[0], &motion.theta[0], self.size * sizeof(long double))


# A walk has stalled after this many steps of length zero in a row. An exchange may take one step
# for every free point, and no tie has been seen that took 1000 more.
cdef Py_ssize_t ZERO_STEPS = 1000, ZERO_STEPS_PER_FREE = 10


# How often rounding is removed, in events: from the free slacks (polish), and by summing w anew and
# checking all points (refresh). A refresh looks at all n rows: about n / 64 events cost as much.
cdef struct Schedule:
    Py_ssize_t polish_every, refresh_every, refresh_at_least, refresh_at_most
    Py_ssize_t since_polish, since_refresh


cdef struct Counts:
    Py_ssize_t zero_steps, left_out, exchanges, sum_free, max_free


@cython.final
cdef class Walk:
    """One walk along a line.

    Parameters
    ----------
    rows : Rows
        The z_i.
    line : engine.problem.Line
        Bounds and targets.
    state : engine.solver.State
        Where the walk begins: t, the status of every point, the free points and their θ.
    end : float
        Where it ends.
    metric : Metric, optional
        How to measure w in few dimensions.
    careful : bool
        Whether to take all precautions against rounding.
    """

    cdef Line line
    cdef Motion motion
    cdef Search search
    cdef Log log
    cdef Checkpoint checkpoint
    cdef Doubts doubts
    cdef Schedule schedule
    cdef Counts counts
    cdef double box_scale                    # largest width of a box
    cdef bint with_basis                     # the factor keeps one
    cdef bint noisy                          # margins were rounded visibly at the last check
    cdef Py_ssize_t zero_run                 # steps of length zero in a row
    cdef readonly bint right                 # whether all points begin on their right sides

    def __init__(self, Rows rows, line, state, double end, metric=None, bint careful=False):
        cdef Py_ssize_t n = rows.n_rows
        cdef Schedule* schedule = &self.schedule
        self.line = Line(line)
        self.motion = Motion(rows, self.line, state)
        self.search = Search(self.motion, end, metric)
        self.log = Log()
        self.checkpoint = Checkpoint(n)
        self.doubts = Doubts()
        self.checkpoint.keep(self.motion, 0)
        self.box_scale = max(np.abs([line.width(state.t), line.width(end)]).max(), 1e-300)
        self.with_basis = keeps_basis(rows)
        schedule.polish_every = 1 if careful else 20 if self.with_basis else 100
        schedule.refresh_at_most = 32 if careful else max(512, n // 2)
        schedule.refresh_at_least = min(max(16, n // 64), schedule.refresh_at_most)
        schedule.refresh_every = min(max(64, n // 64), schedule.refresh_at_most)
        self.right = self._refresh()
        self.doubts.raised = False      # before, w had not been summed: it had not drifted
        self.doubts.size = 0

    def run(self, Py_ssize_t n_events):
        """Walk for at most `n_events` events; returns the outcome."""
        cdef Outcome outcome
        self.log.reserve(self.log.size + n_events + 1)      # an exchange is two events at once
        self.doubts.reserve()
        with nogil:
            outcome = self._walk(n_events)
        if outcome == FULL:
            self.motion.reserve(3 * self.motion.factor.capacity // 2)
        return int(outcome)

    def look(self):
        """Check every point where the walk is; returns whether that may be its end."""
        cdef bint right
        with nogil:
            right = self._refresh()
        return int(DONE if right else WRONG)

    cdef Outcome _walk(self, Py_ssize_t n_events) noexcept nogil:
        cdef Py_ssize_t last = self.log.size + n_events
        cdef Event event
        while self.log.size < last and self.doubts.has_room():
            if self.motion.factor.size == self.motion.theta.shape[0]:
                return STALLED      # more free rows than columns: some are independent by rounding
            if self.motion.factor.size == self.motion.factor.capacity:
                return FULL
            event = self.search.next_event()
            self._advance(event)
            if event.kind == NO_EVENT:
                return DONE if self._refresh() else WRONG
            if event.kind == FREE:
                self._enter(event)
            else:
                self._leave(event)
            if self.motion.broken or self._has_stalled():
                return STALLED
            if not self._remove_rounding():
                return WRONG
        return MORE

    cdef bint _has_stalled(self) noexcept nogil:
        return self.zero_run > ZERO_STEPS + ZERO_STEPS_PER_FREE * self.motion.factor.size

    # -- advance --------------------------------------------------------------------------

    cdef void _advance(self, Event event) noexcept nogil:
        if (not self.doubts.raised
                and ((self.motion.rows.dual and self.motion.noise() > DOUBTFUL_NOISE)
                     or self.motion.now.to_one < DOUBTFUL_END)):
            self.doubts.note(self.motion.now.t)
        self.motion.move(event.step)
        self.search.advance()
        if event.kind == NO_EVENT:
            set_moment(&self.motion.now, self.search.t_end, 0.0)
        else:
            self._correct_t(event)
        if event.step == 0.0:
            self.counts.zero_steps += 1
            self.zero_run += 1
        else:
            self.zero_run = 0

    cdef void _correct_t(self, Event event) noexcept nogil:
        """Make one Newton step on the time of the event: the step to it was rounded.

        Where 1 - t or t is tiny, even so small an error in t shows in bounds that go to zero.
        """
        cdef double both[2]
        cdef double dt
        cdef int i
        if event.kind == FREE:
            i = <int> event.which
            self.motion.margins(&i, 1, both)
            dt = -((both[0] - target_at(self.line, &self.motion.now, i))
                   / (both[1] - self.line.target_rate[i]))
        else:
            i = self.motion.factor.members[event.which]
            dt = <double> ((bound_at(self.line, &self.motion.now, i, event.kind)
                            - self.motion.theta[event.which])
                           / (self.motion.theta_rate[event.which]
                              - bound_rate(self.line, i, event.kind)))
        if (dt != 0.0 and fabs(dt) <= LONGEST_CORRECTION
                and self.motion.now.t + dt <= self.search.t_end):
            self.motion.move(dt)

    # -- apply ----------------------------------------------------------------------------

    cdef void _enter(self, Event event) noexcept nogil:
        cdef int i = <int> event.which
        cdef double distance = self.motion.factor.append(i)
        if distance == 0.0 and self.line.moving_targets:
            self._exchange(i)
            return
        if (not self.line.moving_targets
                and fabs(event.rate) > IMPOSSIBLE_RATE * distance * self.motion.speed):
            # With resting targets the slack of a dependent point rests too, at a value that the
            # raised targets keep off zero. The rate is rounding: the point waits until the free
            # ones change.
            if distance > 0.0:
                self.motion.factor.remove(self.motion.factor.size - 1)
                self.motion.straighten()
            if distance > 0.0 or self.motion.rows.dual:
                self.doubts.note(self.motion.now.t)     # a Gram matrix hides distances of 1e-8
            self.search.leave_out(i)
            self.counts.left_out += 1
            return
        if distance < DOUBTFUL_PIVOT * self.motion.row_norm[i]:
            self.doubts.note(self.motion.now.t)
            self.doubts.lasting |= (not self.with_basis
                                    or distance < HALF_OF_THE_DIGITS * self.motion.row_norm[i])
            self.doubts.passing = not self.doubts.lasting
        self._record(i, self.motion.status[i], FREE)
        self.search.variation = (self.search.variation
                                 + self.motion.release(i, distance, event.rate))

    cdef void _leave(self, Event event) noexcept nogil:
        cdef int i = self.motion.factor.members[event.which]
        cdef double turn
        if self.motion.factor.size == self.motion.system.fewest:
            self._replace_last(i, event.kind)
            return
        turn = self.motion.settle(event.which, event.kind)
        self._settled(i, event.kind)
        self.search.variation = self.search.variation + turn

    cdef void _exchange(self, int i) noexcept nogil:
        """Point i meets the margin, but depends on the free ones: at this t, θ moves while w rests.

        θ_i leaves its bound, until a free θ meets one and makes room or θ_i meets its other bound.
        """
        cdef int bound
        cdef long double at
        cdef double speed = self.motion.speed
        cdef Py_ssize_t leaving = self.motion.slide(i, &bound, &at)
        self.counts.exchanges += 1
        self._record(i, self.motion.status[i], FREE)
        if leaving < 0:
            self._settled(i, bound)
        else:
            self._settled(self.motion.factor.members[leaving], bound)
            self.motion.drop(leaving)
            if self.motion.take(i, at) == 0.0:
                self._settled(i, LOWER if 2 * at < (lower_at(self.line, &self.motion.now, i)
                                                    + upper_at(self.line, &self.motion.now, i))
                              else UPPER)
                self.motion.broken = True
        self.motion.bound.take()
        self.motion.straighten()
        # the turn of ẇ is at most this long
        self.search.variation = self.search.variation + upward(speed + self.motion.speed)

    cdef void _replace_last(self, int i, int bound) noexcept nogil:
        """The only free point goes to a bound, which leaves the multiplier free in an interval.

        At the other end of it the next point meets the margin, which can then keep the balance.
        """
        cdef double way = self.motion.rows.sign[i], distance
        cdef int other
        if bound == UPPER:
            way = -way
        other = self.search.nearest(way, &distance)
        if other < 0:
            self.search.pinned = True       # all boxes close here, at the end of the line
            return
        self.motion.drop(0)
        self._settled(i, bound)
        self._record(other, self.motion.status[other], FREE)
        self.motion.take(other, bound_at(self.line, &self.motion.now, other,
                                         self.motion.status[other]))
        self.motion.multiplier = self.motion.multiplier + way * distance
        self._refresh()

    cdef void _settled(self, int i, int bound) noexcept nogil:
        """A free point has gone to a bound."""
        self.motion.status[i] = <signed char> bound
        self._record(i, FREE, bound)
        self.search.settled(i, bound)

    cdef void _record(self, int i, int before, int after) noexcept nogil:
        self.log.add(&self.motion.now, i, before, after)
        self.search.sets_changed()
        self.schedule.since_polish += 1
        self.schedule.since_refresh += 1
        self.counts.sum_free += self.motion.factor.size
        self.counts.max_free = max(self.counts.max_free, self.motion.factor.size)

    # -- rounding -----------------------------------------------------------------------------

    cdef bint _remove_rounding(self) noexcept nogil:
        """Do what is due against rounding; returns whether all points are still on their sides."""
        if (self.schedule.since_refresh >= self.schedule.refresh_every
                or (self.doubts.passing
                    and not self.motion.factor.nearly_dependent(DOUBTFUL_PIVOT))):
            return self._refresh()
        if self.schedule.since_polish >= self.schedule.polish_every:
            self.motion.polish()
            if self.motion.unsolved > DOUBTFUL_SOLVE:
                self.doubts.note(self.checkpoint.t)
            self.schedule.since_polish = 0
        elif self.motion.needs_care():
            self.motion.straighten()
        return True

    cdef bint _refresh(self) noexcept nogil:
        """Sum w anew, check all points and set their deadlines; returns whether all are right."""
        cdef Schedule* schedule = &self.schedule
        cdef double before = self.motion.farthest_beyond() / self.box_scale
        cdef double drift = self.motion.longest * self.motion.take_w()
        cdef double beyond = self.motion.farthest_beyond() / self.box_scale
        cdef bint was_noisy = self.noisy
        self.doubts.passing = False
        self.doubts.lasting = False
        self.noisy = self.motion.noise() > DOUBTFUL_NOISE
        if (drift > DOUBTFUL_DRIFT or self.motion.unsolved > DOUBTFUL_SOLVE
                or self.noisy or was_noisy
                or self.motion.factor.nearly_dependent(DOUBTFUL_PIVOT)):
            self.doubts.note(self.checkpoint.t)
        if drift > DRIFTED and schedule.refresh_every > schedule.refresh_at_least:
            schedule.refresh_every = schedule.refresh_every // 2
        elif drift < STEADY and schedule.refresh_every < schedule.refresh_at_most:
            schedule.refresh_every = 2 * schedule.refresh_every
        schedule.since_polish = 0
        schedule.since_refresh = 0
        if (self.search.restart() > WRONG_SIDE
                or beyond > (WRONG_SIDE if before > WRONG_SIDE else CORRECTED_BEYOND)):
            return False
        self.doubts.settle(self.motion.now.t)
        self.checkpoint.keep(self.motion, self.log.size)
        return True

    # -- for Python -----------------------------------------------------------------------------

    def state(self):
        """Return where the walk is: t, the status of every point, the free points and their θ."""
        m = self.motion.factor.size
        return (self.motion.now.t, self.status, np.array(self.motion.factor.members[:m]),
                np.array(self.motion.theta[:m]))

    def rewind(self):
        """Go back to the last full check that found all points right; returns the state there."""
        last = self.checkpoint
        self.log.size = last.n_events
        return (last.t, np.array(last.status), np.array(last.members[:last.size]),
                np.array(last.theta[:last.size]))

    @property
    def t(self):
        """Where the walk is."""
        return self.motion.now.t

    @property
    def status(self):
        """Status of every point."""
        return np.array(self.motion.status)

    @property
    def doubtful(self):
        """Intervals of t that should be looked at again, up to the last full check."""
        return np.array(self.doubts.interval[:self.doubts.size])

    @property
    def n_events(self):
        """Number of events in the record."""
        return self.log.size

    @property
    def n_checked_events(self):
        """Number of events up to the last full check that found all points right."""
        return self.checkpoint.n_events

    @property
    def events(self):
        """Record: t, point, move."""
        k = self.log.size
        return np.array(self.log.t[:k]), np.array(self.log.index[:k]), np.array(self.log.move[:k])

    @property
    def counters(self):
        """What was counted along the way, to be added up over walks."""
        return {
            "rows_evaluated": self.search.n_rows_evaluated,
            "zero_length_steps": self.counts.zero_steps,
            "refactorizations": self.motion.n_refactorizations,
            "left_out": self.counts.left_out,
            "exchanges": self.counts.exchanges,
            "sum_free": self.counts.sum_free,
        }

    @property
    def max_free(self):
        """The most free points there were after an event."""
        return self.counts.max_free
