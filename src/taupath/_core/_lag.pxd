cimport cython
from taupath._core._kernel_rows cimport KernelRows


@cython.final
cdef class Lag:
    """Σ (a_j, b_j) z_j over the free points j: deferred updates of w and ẇ."""

    cdef KernelRows rows
    cdef int[::1] slot_of                    # of each point; -1: it has none
    cdef int[::1] point_in                   # the point in each slot
    cdef int[::1] vacant                     # slots without a point, last out first
    cdef Py_ssize_t n_vacant
    cdef Py_ssize_t n_slots                  # slots in use so far
    cdef double[::1] a, b                    # a_j and b_j by slot; zero where vacant
    # <z_i, z_j> for every point i and the point j in every slot. A row is brought up to date when
    # it is needed.
    cdef double[:, ::1] inner
    cdef int[::1] filled                     # the slots that were filled last
    cdef long long n_filled                  # how many were filled so far
    cdef long long[::1] known                # n_filled at the last update of row i of `inner`
    cdef int[::1] slots, points              # workspace: some of the slots, the points in them,
    cdef double[::1] fresh                   # and two numbers for each

    # Make room for so many free points.
    cdef reserve(self, Py_ssize_t capacity)
    # Point i becomes free and gets a slot.
    cdef void enter(self, int i) noexcept nogil
    # Apply all deferred updates to w and ẇ.
    cdef void settle(self, double* pairs) noexcept nogil
    # Point i is no longer free; its deferred updates are applied.
    cdef void leave(self, int i, double* pairs) noexcept nogil
    # a_i += a, b_i += b
    cdef void put_off(self, int i, double a, double b) noexcept nogil
    # a_j += by b_j for all j
    cdef void move_base(self, double by) noexcept nogil
    # Add the deferred updates to <z_i, w> and <z_i, ẇ>, interleaved, for each of the m points i.
    cdef void complete(self, const int* points, Py_ssize_t m, double* out) noexcept nogil

    cdef void _know(self, const int* points, Py_ssize_t m) noexcept nogil
    cdef Py_ssize_t _list(self, int i, Py_ssize_t end) noexcept nogil
    cdef Py_ssize_t _list_slot(self, Py_ssize_t slot, Py_ssize_t end) noexcept nogil
