cimport cython
from taupath._core._deadlines cimport Deadlines
from taupath._core._line cimport Line
from taupath._core._motion cimport Motion
from taupath._core._near_points cimport NearPoints
from taupath._core._rows cimport Rows

cdef enum:
    NO_EVENT = -1       # the kind of an event that is the end of the line


# What ends a step.
cdef struct Event:
    double step         # time until then
    int kind            # the point's status afterwards, or NO_EVENT
    Py_ssize_t which    # an entering point; a leaving one's position in the factor
    double rate         # ġ of an entering point


# What a look at a point needs, side by side in memory.
cdef struct Point:
    double target0              # the target, where targets rest
    double target_rate
    double per_length           # one over the length in the metric; 0: the point never moves
    double sense                # turns the slack of a bound point positive


# What was seen of a point when it was last evaluated.
cdef struct Sighting:
    double slack        # turned so that it falls towards an event
    double rate
    double t
    double t_rest
    double variation    # the search's variation and its integral, at that time
    double area


# A point taken from the deadlines in this search: slack and rate in the metric, per length.
cdef struct Due:
    int point
    double distance
    double rate


@cython.final
cdef class Search:
    """The next event of a motion."""

    cdef Motion motion
    cdef Rows rows
    cdef Line line
    cdef Deadlines deadlines
    cdef double t_end
    cdef Event event                         # the first one found so far
    cdef double least                        # its step, negative if it is late
    cdef Point* points
    cdef int[::1] movable                    # points whose box is more than one point, at some t
    cdef const double[::1] length            # the motion's
    # How far w moves is measured in a metric: ‖R (ẇ, 1)‖; without one, plainly.
    cdef const double[:, ::1] R
    cdef bint measuring
    # Dense rows: a list of the points near the margin. The others are looked at when w leaves its
    # ball, or on a step that is longer than that.
    cdef bint listing
    cdef NearPoints near
    cdef bint beyond                         # this step leads out of a new ball
    cdef double pace                         # speed in the metric
    cdef Py_ssize_t n_strides                # steps in which w moved, since `restart`
    cdef double rate_scale                   # largest rate of a bound
    cdef double still                        # a rate below this part of ‖z_i‖ is rounding
    cdef bint screening, prefetching
    cdef bint sweeping                       # every bound point is looked at in every search
    cdef Py_ssize_t together                 # short lists are taken together up to so many points
    # Since ‖ẇ(t) - ẇ(t')‖ is at most the variation of ẇ between, what was seen at t' bounds the
    # slack at t: the extrapolated slack less ‖z_i‖ ∫ (variation - variation') dt.
    cdef double variation, area              # Σ ‖jumps of ẇ‖, and its integral over t
    cdef Sighting* seen
    # points looked at in this search
    cdef int[::1] chain
    cdef unsigned long long[::1] bits        # to sort the chain with, all zero between
    cdef Due* due
    cdef Py_ssize_t n_due
    cdef int[::1] left_out                   # dependent on the free points until those change
    cdef Py_ssize_t n_left_out
    cdef bint pinned                         # the only free point has nowhere to go
    cdef Py_ssize_t n_rows_evaluated

    cdef Event next_event(self) noexcept nogil
    # The motion has made the step to the event: points that were looked at wait again.
    cdef void advance(self) noexcept nogil
    # A point has changed sides: those left out may enter again.
    cdef void sets_changed(self) noexcept nogil
    # Point i is at a bound now.
    cdef void settled(self, int i, int status) noexcept nogil
    # Bound point i depends on the free ones, so it cannot enter.
    cdef void leave_out(self, int i) noexcept nogil
    # Evaluate all slacks and set all deadlines; returns by how much the worst slack is wrong.
    cdef double restart(self) noexcept nogil
    # The bound point that meets the margin first if all margins move by way * sign_i, -1 if none
    # does; `slack` is how far they move until then.
    cdef int nearest(self, double way, double* slack) noexcept nogil

    cdef _fill_points(self, const double[::1] length)
    cdef void _look_at_free(self) noexcept nogil
    cdef void _look_at_bound(self, Py_ssize_t a, int bound) noexcept nogil
    cdef Py_ssize_t _bound_points(self) noexcept nogil
    cdef void _look_at_near(self) noexcept nogil
    cdef void _renew_near(self) noexcept nogil
    cdef void _list(self, int i, double slack) noexcept nogil
    cdef void _unlist_beyond(self, double radius) noexcept nogil
    cdef void _look_at_due(self) noexcept nogil
    cdef Py_ssize_t _gather(self, double reach) noexcept nogil
    cdef void _prefetch(self, int i) noexcept nogil
    cdef void _sort_chain(self, Py_ssize_t count) noexcept nogil
    cdef void _measure_pace(self) noexcept nogil
    cdef void _look_at(self, int* points, Py_ssize_t count, bint ask) noexcept nogil
    cdef Py_ssize_t _screen(self, int* points, Py_ssize_t m) noexcept nogil
    cdef void _wait_unseen(self, int i, double slack) noexcept nogil
