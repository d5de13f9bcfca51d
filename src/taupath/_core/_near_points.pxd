cimport cython
from taupath._core._rows cimport Rows

cdef enum:
    BLOCK_SIZE = 8


@cython.final
cdef class NearPoints:
    """The points that can meet the margin while w stays within a ball."""

    cdef Rows rows
    cdef Py_ssize_t n_cols, capacity
    cdef Py_ssize_t size                     # of the list
    cdef int[::1] points                     # in no order
    cdef int[::1] place                      # where in the list each point is, or -1
    cdef double[::1] slack, rate             # of each, turned so that slacks are positive
    cdef double[::1] target
    cdef int[::1] reached                    # first places of blocks, see `look`
    # Rows in blocks of eight, column by column.
    cdef double[::1] blocks, R_blocks
    cdef double radius                       # of the ball, in the metric; negative: there is none
    cdef double wanted                       # that of the next ball, 0 before the first
    cdef Py_ssize_t n_looks                  # in this ball
    cdef double[::1] centre
    cdef double[::1] w, w_rate, gone         # w now, its rate, and w - centre
    cdef double[::1] gone_R, rate_R          # the last two in the metric
    cdef double[::1] row                     # scratch space

    # w is at pairs[2 k] + a pairs[2 k + 1], which moves at pairs[2 k + 1].
    cdef void face(self, const double* pairs, double a) noexcept nogil
    # Evaluate slacks and rates; returns how many blocks, listed in `reached`, have a slack that
    # falls below zero within the step.
    cdef Py_ssize_t look(self, double step) noexcept nogil
    # How far w will be from the centre after a step, rounded up.
    cdef double away(self, double step) noexcept nogil
    # Whether w may be outside of the ball then.
    cdef bint leaves_ball(self, double step) noexcept nogil
    # How fast w moves, rounded up.
    cdef double pace(self) noexcept nogil
    # A ball around w, of a radius that suits the present steps. The caller completes the list.
    cdef void new_ball(self) noexcept nogil
    # The points of the list wait for the next ball.
    cdef void forget_ball(self, const double* pairs, double a) noexcept nogil
    # There must be room for the point.
    cdef void add(self, int i, double sense, double target) noexcept nogil
    cdef void remove(self, int i) noexcept nogil
    # Forget all points. `farthest` is the largest distance of a point from the margin.
    cdef void clear(self, double farthest) noexcept nogil
    cdef bint full(self) noexcept nogil
    cdef void _move_centre(self) noexcept nogil
