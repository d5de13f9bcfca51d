cdef enum:
    LEVELS = 36         # widths double from level to level
    SLOTS = 32          # a power of two


cdef class Deadlines:
    """Points waiting for the travelled length at which they could reach the margin."""

    cdef double travelled                    # ∫ ‖ẇ‖ dt so far
    cdef int[::1] following                  # linked lists through the points
    cdef int head[LEVELS][SLOTS]
    cdef Py_ssize_t waiting[LEVELS]
    cdef double width[LEVELS]
    cdef double per_width[LEVELS]
    cdef int level                           # where `pop` goes on
    cdef long long slot

    # Point i cannot reach the margin before `distance` more has been travelled.
    cdef void put(self, int i, double distance) noexcept nogil
    # Begin a search.
    cdef void rewind(self) noexcept nogil
    # A point that may be due by `limit` (points may come early, never late), or -1.
    # `limit` may shrink from call to call.
    cdef int pop(self, double limit) noexcept nogil
    cdef void clear(self, double farthest) noexcept nogil
