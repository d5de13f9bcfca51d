from taupath._core._motion cimport Motion


cdef class Log:
    """The events of a walk: when, which point, from what to what."""

    cdef double[::1] t
    cdef int[::1] index
    cdef signed char[::1] move
    cdef Py_ssize_t size

    cdef reserve(self, Py_ssize_t room)
    cdef void add(self, Motion motion, int i, int before, int after) noexcept nogil


cdef class Checkpoint:
    """A solution to come back to, and how many events led to it."""

    cdef double t
    cdef signed char[::1] status
    cdef int[::1] members
    cdef long double[::1] theta
    cdef Py_ssize_t size, n_events

    cdef reserve(self, Py_ssize_t capacity)
    cdef void keep(self, Motion motion, Py_ssize_t n_events) noexcept nogil
