"""Rows of a kernel, known only by their Gram matrix.

A vector v is represented by its products <z_i, v> with all rows. A product is then one entry of it,
and a row is a row of the Gram matrix, <z_i, z_j> = sign_i sign_j (k(x_i, x_j) + bias²). What is
stored are the sign_i sign_j k(x_i, x_j): a bias² that is large beside them would round them.
"""

from libc.math cimport fabs
from libc.string cimport memcpy, memset

import numpy as np

from taupath._core._kernel_loops cimport MOST_TOGETHER, add_rows, add_rows_to_pair
from taupath._core._row_loops cimport dense_axpy, extended
from taupath._core._rows cimport Rows, prefetch_line

# Squared lengths are differences of entries of the Gram matrix, so their error is about eps ‖z‖²:
# several times eps is rounding.
cdef double GRAM_RESOLUTION = 1e-15

cdef enum:
    SPARE_SLOTS = 16    # rows that a cache has room for beyond those of the free points
    LARGEST_EXPONENT = 480      # of sizes: products of two of them are far from infinity


cdef class KernelRows(Rows):
    """Rows known by a symmetric kernel matrix with signs, whose diagonal is given."""

    def __init__(self, const double[::1] diagonal, sign, double bias=0.0, bint balanced=False):
        super().__init__(diagonal.shape[0], diagonal.shape[0], sign, bias, balanced)
        self.of_bias = bias * bias
        self.n_cols = self.n_rows
        self.n_stored = self.n_rows
        self.longest = 1
        self.dual = True
        self.resolution = GRAM_RESOLUTION
        self.squares = np.add(diagonal, self.of_bias)
        self.norms = np.sqrt(np.maximum(self.squares, 0.0))
        exponent = np.frexp(np.sqrt(np.maximum(diagonal, 0.0)))[1]
        self.size = np.ldexp(1.0, np.minimum(exponent, LARGEST_EXPONENT))
        self.together = 1

    cdef const double* row(self, Py_ssize_t i) noexcept nogil:
        return NULL

    cdef void entries(self, Py_ssize_t i, const int* others, Py_ssize_t m,
                      double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef double each = self.sign[i] * self.of_bias
        for k in range(m):
            out[k] = self.row(others[k])[i] + each * self.sign[others[k]]

    cdef void prefetch_entries(self, Py_ssize_t i, const int* others, Py_ssize_t m) noexcept nogil:
        pass

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        return v[i]

    cdef long double dot_long(self, Py_ssize_t i, const long double* v) noexcept nogil:
        return v[i]

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(m):
            out[2 * k] = pair[2 * members[k]]
            out[2 * k + 1] = pair[2 * members[k] + 1]

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        dense_axpy[double, double](self.row(i), self.n_cols, a, v)
        if self.of_bias != 0.0:
            self.shift(a * self.sign[i] * self.of_bias, v, 1)

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        dense_axpy[double, extended](self.row(i), self.n_cols, a, v)
        if self.of_bias != 0.0:
            self.shift_long(a * self.sign[i] * self.of_bias, v)

    cdef void axpys_long(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil:
        cdef const double* x[MOST_TOGETHER]
        cdef double size[MOST_TOGETHER]
        cdef Py_ssize_t first = 0, k, some
        cdef long double total = 0.0
        while first < m:
            some = min(self.together, m - first)
            for k in range(some):
                x[k] = self.row(members[first + k])
                size[k] = self.size[members[first + k]]
                total = total + self.sign[members[first + k]] * coef[first + k]
            add_rows(x, some, coef + first, size, &self.size[0], self.n_cols, v)
            first += some
        if self.of_bias != 0.0:
            self.shift_long(total * self.of_bias, v)

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        cdef int member = <int> i
        cdef double[2] coef = [a, b]
        self.axpys_pair(&member, 1, coef, pair)

    cdef void axpys_pair(self, const int* members, Py_ssize_t m, const double* coef,
                         double* pair) noexcept nogil:
        cdef const double* x[MOST_TOGETHER]
        cdef Py_ssize_t first = 0, k, some
        cdef double a, b, each
        while first < m:
            some = min(self.together, m - first)
            a = 0.0
            b = 0.0
            for k in range(some):
                x[k] = self.row(members[first + k])
                each = self.sign[members[first + k]] * self.of_bias
                a = a + each * coef[2 * (first + k)]
                b = b + each * coef[2 * (first + k) + 1]
            add_rows_to_pair(x, some, coef + 2 * first, &self.sign[0], a, b, self.n_cols, pair)
            first += some

    cdef void turn(self, const int* members, Py_ssize_t m, const double* coef, double back,
                   double* pair) noexcept nogil:
        cdef double both[2 * MOST_TOGETHER]
        cdef Py_ssize_t first = 0, k, some
        while first < m:
            some = min(<Py_ssize_t> MOST_TOGETHER, m - first)
            for k in range(some):
                both[2 * k] = -back * coef[first + k]
                both[2 * k + 1] = coef[first + k]
            self.axpys_pair(members + first, some, both, pair)
            first += some

    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef const double* q = self.row(i)
        cdef double each = self.sign[i] * self.of_bias
        for k in range(m):
            out[k] = q[members[k]] + each * self.sign[members[k]]

    cdef double length(self, const double* v, Py_ssize_t stride) noexcept nogil:
        # a lower bound: the largest component along a row
        cdef Py_ssize_t i
        cdef double longest = 0.0
        for i in range(self.n_rows):
            if fabs(v[stride * i]) > longest * self.norms[i]:
                longest = fabs(v[stride * i]) / (self.norms[i] + 1e-300)
        return longest

    cdef double squared_rest(self, Py_ssize_t i, const double* q) noexcept nogil:
        return q[i]

    cdef void shift(self, double a, double* v, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_rows):
            v[stride * i] = v[stride * i] + a * self.sign[i]

    cdef void shift_long(self, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n_rows):
            v[i] = v[i] + a * self.sign[i]

    def squared_norms(self):
        """Return the squared length of every row."""
        return np.asarray(self.squares)


cdef class MatrixRows(KernelRows):
    """Rows of a kernel matrix with signs that is in memory."""

    def __init__(self, const double[:, ::1] Q, sign, double bias=0.0, bint balanced=False):
        super().__init__(np.ascontiguousarray(np.diagonal(Q)), sign, bias, balanced)
        self.Q = Q
        self.together = MOST_TOGETHER

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return MatrixRows(self.Q, self.sign, self.bias, self.balanced)

    cdef const double* row(self, Py_ssize_t i) noexcept nogil:
        return &self.Q[i, 0]

    cdef void entries(self, Py_ssize_t i, const int* others, Py_ssize_t m,
                      double* out) noexcept nogil:
        self.inner(i, others, m, out)       # row i is asked for more often than the others

    cdef void prefetch_entries(self, Py_ssize_t i, const int* others, Py_ssize_t m) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(m):
            prefetch_line(&self.Q[i, others[k]])

    def combine(self, const double[::1] factor, const int[::1] members=None, out=None):
        """Return `out`, or zero, plus Σ factor[k] z_k, as its products with all rows."""
        if members is not None or out is not None:
            return super().combine(factor, members, out)
        sign, Q = np.asarray(self.sign), np.asarray(self.Q)
        return Q @ np.asarray(factor) + self.of_bias * (sign @ np.asarray(factor)) * sign

    def gram(self, const int[::1] members):
        """Return the lower triangle of <z_a, z_b> over the members (the rest is zero)."""
        sign = np.asarray(self.sign, dtype=np.float64)[np.asarray(members)]
        some = np.asarray(self.Q)[np.ix_(members, members)]
        return np.tril(some + np.outer(self.of_bias * sign, sign))


cdef class CachedRows(KernelRows):
    """Rows of a kernel matrix with signs that are computed when needed; recent ones are kept.

    There are slots for `n_slots` rows, and for more if `inner` is asked for products with more:
    its members are the free points, whose rows every step needs. These rows stay in their slots
    until `inner` is asked for products with others.

    `source(i)` returns row i. If it raises, the row is zero and `check` raises the error.
    """

    def __init__(self, source, const double[::1] diagonal, sign, double bias, bint balanced,
                 Py_ssize_t n_slots):
        super().__init__(diagonal, sign, bias, balanced)
        self.source = source
        self.blocks = []
        self.slot_of = np.full(self.n_rows, -1, dtype=np.int32)
        self.address, self.held = np.zeros((2, self.n_rows), dtype=np.intp)
        self.owner = np.full(self.n_rows, -1, dtype=np.int32)
        self.recent = np.zeros(self.n_rows, dtype=np.int8)
        self.turn = 1
        self._grow(n_slots)

    cdef const double* row(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t slot = self.slot_of[i]
        cdef bint known
        if slot < 0:
            slot = self._vacate()
            with gil:
                self._compute(i, slot)
                known = self.error is None      # else the row is zero and must not be found again
            self.owner[slot] = <int> i if known else -1
            if known:
                self.slot_of[i] = <int> slot
        self.recent[slot] = 1
        return <const double*> self.address[slot]

    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil:
        self._hold(i, members, m)
        KernelRows.inner(self, i, members, m, out)

    cdef void _hold(self, Py_ssize_t i, const int* members, Py_ssize_t m) noexcept nogil:
        """Have slots for the members and i, and keep their rows there until the next call."""
        cdef Py_ssize_t k, slot
        if m + SPARE_SLOTS > self.n_slots and self.n_slots < self.n_rows:
            with gil:
                try:
                    self._grow(m + m // 4 + SPARE_SLOTS)
                except MemoryError:
                    pass                        # rows are computed again and again, but right
        self.turn += 1
        if m + SPARE_SLOTS > self.n_slots and self.n_slots < self.n_rows:
            return
        for k in range(m):
            slot = self.slot_of[members[k]]
            if slot >= 0:
                self.held[slot] = self.turn
        self.row(i)
        slot = self.slot_of[i]
        if slot >= 0:
            self.held[slot] = self.turn

    cdef Py_ssize_t _vacate(self) noexcept nogil:
        """Return a slot that is not held and was not used since the clock hand last passed it."""
        cdef Py_ssize_t slot
        while self.recent[self.hand] or self.held[self.hand] == self.turn:
            self.recent[self.hand] = 0
            self.hand = (self.hand + 1) % self.n_slots
        slot = self.hand
        self.hand = (self.hand + 1) % self.n_slots
        if self.owner[slot] >= 0:
            self.slot_of[self.owner[slot]] = -1
        return slot

    cdef int _grow(self, Py_ssize_t n_slots) except -1:
        """Have so many slots, or one for each row if these are fewer."""
        cdef Py_ssize_t k, more = min(n_slots, self.n_rows) - self.n_slots
        cdef double[:, ::1] block = np.zeros((more, self.n_rows))
        self.blocks.append(block)
        for k in range(more):
            self.address[self.n_slots + k] = <Py_ssize_t> &block[k, 0]
        self.n_slots += more
        return 0

    cdef void _compute(self, Py_ssize_t i, Py_ssize_t slot) noexcept:
        cdef double* target = <double*> self.address[slot]
        cdef const double[::1] fresh
        self.n_computed += 1
        try:
            fresh = np.ascontiguousarray(self.source(i), dtype=np.float64)
            if fresh.shape[0] != self.n_rows:
                raise ValueError(f"a row has {fresh.shape[0]} entries, not {self.n_rows}")
            memcpy(target, &fresh[0], self.n_rows * sizeof(double))
        except BaseException as error:
            self.error = error
            memset(target, 0, self.n_rows * sizeof(double))
