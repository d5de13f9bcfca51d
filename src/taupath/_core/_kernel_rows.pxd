from taupath._core._rows cimport Rows


cdef class KernelRows(Rows):
    cdef const double[::1] squares, norms    # ‖z_i‖² and ‖z_i‖
    cdef double[::1] size                    # powers of two: entry ij is at most size_i size_j
    cdef double of_bias                      # bias², part of every k(x_i, x_j) that is not stored
    cdef Py_ssize_t together                 # rows that may be looked at together

    # sign_i sign_j k(x_i, x_j) for every j, until the next call
    cdef const double* row(self, Py_ssize_t i) noexcept nogil
    # u += Σ coef_2k z_i and v += Σ coef_2k+1 z_i over the members i; pair = u_0 v_0 u_1 v_1 ...
    cdef void axpys_pair(self, const int* members, Py_ssize_t m, const double* coef,
                         double* pair) noexcept nogil
    # <z_i, z_j> for some others j whose rows are at hand
    cdef void entries(self, Py_ssize_t i, const int* others, Py_ssize_t m,
                      double* out) noexcept nogil
    # prefetch what `entries` will read
    cdef void prefetch_entries(self, Py_ssize_t i, const int* others, Py_ssize_t m) noexcept nogil


cdef class MatrixRows(KernelRows):
    cdef const double[:, ::1] Q


cdef class CachedRows(KernelRows):
    cdef object source
    cdef list blocks                         # own the memory of the slots
    cdef Py_ssize_t[::1] address             # of each slot
    cdef readonly Py_ssize_t n_slots
    cdef int[::1] slot_of                    # slot of row i; -1: not cached
    cdef int[::1] owner                      # row in a slot; -1: none
    cdef signed char[::1] recent             # whether a slot was used since the hand passed it
    cdef Py_ssize_t[::1] held                # the `turn` that a slot was last held in
    cdef Py_ssize_t turn                     # slots held in this one keep their rows
    cdef Py_ssize_t hand                     # slot that is considered next for a new row
    cdef readonly Py_ssize_t n_computed

    cdef Py_ssize_t _vacate(self) noexcept nogil
    cdef void _compute(self, Py_ssize_t i, Py_ssize_t slot) noexcept
    cdef void _hold(self, Py_ssize_t i, const int* members, Py_ssize_t m) noexcept nogil
    cdef int _grow(self, Py_ssize_t n_slots) except -1
