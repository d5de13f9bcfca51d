cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define prefetch_line(address) __builtin_prefetch(address)
    #else
    #define prefetch_line(address) ((void) 0)
    #endif
    """
    void prefetch_line(const void* address) noexcept nogil

cdef enum:
    PREFETCHED = 64     # entries of a row to prefetch; the hardware continues from there
    # Terms added up before their sum is added to the total: rounding grows with BLOCK + n / BLOCK.
    BLOCK = 256


cdef class Rows:
    """Rows z_i of the canonical problem, seen only through inner products and axpys."""

    cdef readonly Py_ssize_t n_rows
    cdef readonly Py_ssize_t n_cols          # length of every v below, the bias included
    cdef readonly Py_ssize_t n_stored        # entries touched by a sweep over all rows
    cdef readonly Py_ssize_t longest         # most entries of a row, the bias included
    cdef readonly Py_ssize_t block_size      # rows that `combine` adds up before their sum
    cdef readonly Py_ssize_t visits          # how often `products` and `combine` touched a row
    cdef readonly bint balanced              # whether Σ sign_i θ_i = 0 is required, see `shift`
    cdef double shift_length                 # ‖c‖, see `shift`
    cdef readonly bint dual                  # vectors v are kept as <z_i, v> for every i
    cdef readonly bint quick_inner           # whether `inner` beats a product of dense matrices
    cdef readonly double resolution          # part of ‖z‖² below which a squared length is rounding
    cdef const signed char[::1] sign         # z_i = sign_i * [x_i, bias]
    cdef readonly double bias                # 0: no bias coordinate
    cdef double[::1] scratch                 # always zero between calls
    cdef object error                        # raised by `check`: nogil code could not raise it

    # <z_i, v>
    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil
    # out[k] = <z_i, v> for every i among the m members
    cdef void dots(self, const int* members, Py_ssize_t m, const double* v,
                   double* out) noexcept nogil
    # <z_i, v> in extended precision
    cdef long double dot_long(self, Py_ssize_t i, const long double* v) noexcept nogil
    # Prepare for `dot_pairs` with this pair. Rows may keep tables of it, so that only one walk at a
    # time may use them, and has to call this again after each change of the pair but by `turn`.
    cdef void face(self, const double* pair) noexcept nogil
    # <z_i, u> and <z_i, v> for every i among the m members; pair = u_0 v_0 u_1 v_1 ...
    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil
    # v += a z_i
    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil
    # v += a z_i, accumulated in extended precision
    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil
    # v += Σ coef_k z_i over the members i, accumulated in extended precision
    cdef void axpys_long(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil
    # u += a z_i and v += b z_i for u and v interleaved
    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil
    # v += Σ coef_k z_i over the members i, and u -= back times the same
    cdef void turn(self, const int* members, Py_ssize_t m, const double* coef, double back,
                   double* pair) noexcept nogil
    # v += a c, where <z_i, c> = sign_i: what a multiplier of Σ sign_i θ_i = 0 does to all margins
    cdef void shift(self, double a, double* v, Py_ssize_t stride) noexcept nogil
    cdef void shift_long(self, long double a, long double* v) noexcept nogil
    # out[k] = <z_i, z_members[k]> for k < m
    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil
    # about the length of v, whose entries are `stride` apart
    cdef double length(self, const double* v, Py_ssize_t stride) noexcept nogil
    # ‖q‖² of q = z_i minus its projection on other rows
    cdef double squared_rest(self, Py_ssize_t i, const double* q) noexcept nogil
    # prefetch row i
    cdef void prefetch(self, Py_ssize_t i) noexcept nogil
    # v = 0 where z_i is not
    cdef void clear(self, Py_ssize_t i, double* v) noexcept nogil


cdef class DenseRows(Rows):
    cdef object X                            # owns the memory
    cdef const double* doubles               # its first entry; NULL where X is float32
    cdef const float* floats
    cdef Py_ssize_t n_features
