from taupath._core._deadlines cimport Deadlines
from taupath._core._motion cimport Motion

cdef enum:
    NOTHING = -1    # no event before t_end


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
    double variation    # the walk's variation and its integral, at that time
    double area


cdef class Search(Motion):
    """The next event of a motion."""

    cdef Deadlines deadlines
    cdef readonly double t_end
    cdef Point* points
    cdef const double[::1] length            # ‖z_i‖, enlarged for moving targets
    # How far w moves is measured in a metric: ‖R (ẇ, 1)‖; without one, plainly.
    cdef const double[:, ::1] R
    cdef bint measuring
    cdef double pace                         # speed in the metric
    cdef double rate_scale                   # largest rate of a bound
    cdef bint screening, prefetching
    cdef bint sweeping                       # every bound point is looked at in every search
    cdef Py_ssize_t together                 # short lists are taken together up to so many points
    # Since ‖ẇ(t) - ẇ(t')‖ is at most the variation of ẇ between, what was seen at t' bounds the
    # slack at t: the extrapolated slack less ‖z_i‖ ∫ (variation - variation') dt.
    cdef double variation, area              # Σ ‖jumps of ẇ‖, and its integral over t
    cdef Sighting* seen
    # points looked at in this search
    cdef int[::1] chain, due
    cdef unsigned long long[::1] bits        # to sort the chain with, all zero between
    cdef double[::1] due_distance, due_rate  # slack and rate in the metric: per length
    cdef Py_ssize_t n_due
    cdef int[::1] left_out                   # dependent on the free points until those change
    cdef Py_ssize_t n_left_out
    cdef bint pinned                         # the only free point has nowhere to go
    cdef double still                        # a rate below this part of ‖z_i‖ is rounding
    # the next event
    cdef double step
    cdef Py_ssize_t event                    # position of a free point, or number of a bound one
    cdef int event_kind                      # its status afterwards
    cdef double event_rate                   # ġ of an entering point
    cdef readonly Py_ssize_t n_rows_evaluated

    cdef _with_targets(self, lengths, target_rate)
    cdef _fill_points(self, const double[::1] length)
    # Set the next event and the step to it.
    cdef void _next_event(self) noexcept nogil
    cdef Py_ssize_t _bound_points(self) noexcept nogil
    cdef Py_ssize_t _gather(self) noexcept nogil
    cdef void _sort_chain(self, Py_ssize_t count) noexcept nogil
    cdef void _measure_pace(self) noexcept nogil
    cdef void _look_at(self, int* points, Py_ssize_t count, bint ask) noexcept nogil
    cdef Py_ssize_t _screen(self, int* points, Py_ssize_t m) noexcept nogil
    # Let a bound point wait of which no rate is known.
    cdef void _wait_unseen(self, int i, double slack) noexcept nogil
