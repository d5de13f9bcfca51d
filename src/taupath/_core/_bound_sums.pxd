from taupath._core._bordered cimport FreeSystem
from taupath._core._line cimport Line, Moment
from taupath._core._rows cimport Rows


cdef class BoundSums:
    """Sums over the bound points: of their θ_i z_i, signs and lengths, at the ends of the line."""

    cdef Rows rows
    cdef Line line
    cdef FreeSystem system
    cdef const signed char[::1] status
    cdef const double[::1] row_norm
    cdef bint complete                       # whether Σ θ_i z_i is known, not just its rate
    cdef long double[::1] at0, at1           # Σ θ_i z_i at t = 0 and at t = 1; else 0 and the rate
    cdef double terms0, terms1               # Σ |θ_i| ‖z_i‖ at t = 0 and at t = 1
    cdef int[::1] waiting                    # points still to be added to these,
    cdef long double[::1] waiting0, waiting1        # ... and what they are multiplied by
    cdef Py_ssize_t n_waiting
    cdef int[::1] some                       # workspace: some of the bound points,
    cdef long double[::1] by                 # and what they are multiplied by

    # Sum over all points with these statuses.
    cdef void take(self) noexcept nogil
    # Point i is at a bound from now on (how = 1), or no longer (how = -1).
    cdef void change(self, int i, int status, int how) noexcept nogil
    # Set v to d/dt Σ θ_i z_i, and to Σ θ_i z_i.
    cdef void rate(self, long double* v) noexcept nogil
    cdef void value(self, const Moment* now, long double* v) noexcept nogil

    cdef double _end0(self, Py_ssize_t i, int status) noexcept nogil
    cdef double _end1(self, Py_ssize_t i, int status) noexcept nogil
    cdef void _count(self, Py_ssize_t i, int status, int how) noexcept nogil
    cdef void _add_waiting(self) noexcept nogil
    cdef void _sum(self, int which, const Moment* now, long double* v) noexcept nogil
