"""Data access: the only place that knows how rows are stored.

Row i of the canonical problem is z_i = sign_i * [x_i, bias]; X itself is never copied or changed.
With a kernel the z_i are not at hand. There a vector v is known by its products <z_i, v> with all
rows, and everything works as before: a product is one entry, and a row is a row of the Gram matrix.
"""

from libc.math cimport fabs, sqrt

import numpy as np
from scipy.linalg.blas import dsyrk

from taupath._core._blas cimport norm
from taupath._core._pairs cimport pair_of, pair_plus, pair_t, pair_times

cdef extern from "float.h":
    const int LDBL_MANT_DIG

# Bits of the sums that are called extended: 64 on x86 but for MSVC, whose long double has 53.
SUM_BITS = LDBL_MANT_DIG

# Gram matrices go through a dense block and BLAS while that has at most so many entries.
cdef Py_ssize_t DENSE_BLOCK = 1 << 22
# Entries of a row to ask the memory for in advance; it goes on by itself from there.
cdef Py_ssize_t PREFETCHED = 64
# Squared lengths are differences of entries of the Gram matrix where there is nothing else, and
# of vectors otherwise.
cdef double GRAM_RESOLUTION = 1e-15
cdef double VECTOR_RESOLUTION = 1e-20


cdef class Rows:
    """Base class; the others implement its products."""

    def __init__(self, Py_ssize_t n_rows, Py_ssize_t n_features, sign, double bias,
                 bint balanced=False):
        if balanced and bias == 0.0:
            raise ValueError("rows to be balanced need a bias")
        self.balanced = balanced
        self.shift_length = 1.0 / bias if balanced else 0.0
        self.n_rows = n_rows
        self.n_cols = n_features + (1 if bias != 0.0 else 0)
        self.sign = sign
        self.bias = bias
        self.resolution = VECTOR_RESOLUTION
        self.scratch = np.zeros(self.n_cols)

    def sharing(self):
        """Return the same rows over the same memory, for another thread; None if not possible."""
        return None

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        return 0.0

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        pass

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        pass

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        pass

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        pass

    cdef void shift(self, double a, double* v, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t last = stride * (self.n_cols - 1)
        v[last] = v[last] + a / self.bias

    cdef void shift_long(self, long double a, long double* v) noexcept nogil:
        v[self.n_cols - 1] = v[self.n_cols - 1] + a / self.bias

    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil:
        # z_i is spread over the scratch vector once, then met by every member.
        cdef Py_ssize_t k
        self.axpy(i, 1.0, &self.scratch[0])
        for k in range(m):
            out[k] = self.dot(members[k], &self.scratch[0])
        self._clear(i)

    cdef double length(self, const double* v, Py_ssize_t stride) noexcept nogil:
        cdef Py_ssize_t k
        cdef double squared = 0.0
        if stride == 1:
            return norm(self.n_cols, v)
        for k in range(self.n_cols):
            squared = squared + v[stride * k] * v[stride * k]
        return sqrt(squared)

    cdef double squared_rest(self, Py_ssize_t i, const double* q) noexcept nogil:
        cdef double length = self.length(q, 1)
        return length * length

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        pass

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        pass

    def check(self):
        """Raise what went wrong where nothing could be raised."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    @property
    def signs(self):
        """The sign of every row."""
        return np.asarray(self.sign)

    def combine(self, const double[::1] theta):
        """Return the sum of theta_i z_i, skipping zeros."""
        v = np.zeros(self.n_cols)
        cdef double[::1] view = v
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.n_rows):
                if theta[i] != 0.0:
                    self.axpy(i, theta[i], &view[0])
        return v

    def products(self, const double[::1] v):
        """Return <z_i, v> for every row."""
        out = np.empty(self.n_rows)
        cdef double[::1] view = out
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.n_rows):
                view[i] = self.dot(i, &v[0])
        return out

    def gram(self, const int[::1] members):
        """Return the lower triangle of <z_a, z_b> over the members (the rest is zero)."""
        cdef Py_ssize_t a, m = members.shape[0]
        if m * self.n_cols <= DENSE_BLOCK and self.n_cols * self.n_rows <= 16 * self.n_stored:
            return dsyrk(1.0, self.block(members).T, trans=1).T
        out = np.zeros((m, m))
        cdef double[:, ::1] view = out
        with nogil:
            for a in range(m):
                self.inner(members[a], &members[0], a + 1, &view[a, 0])
        return out

    def block(self, const int[::1] members):
        """Return the members as a dense matrix."""
        out = np.zeros((members.shape[0], self.n_cols))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t a
        with nogil:
            for a in range(members.shape[0]):
                self.axpy(members[a], 1.0, &view[a, 0])
        return out

    def squared_norms(self):
        """Return the squared length of every row."""
        out = np.empty(self.n_rows)
        cdef double[::1] view = out
        cdef int i
        with nogil:
            for i in range(<int> self.n_rows):
                self.inner(i, &i, 1, &view[i])
        return out


cdef class DenseRows(Rows):
    """Rows of a C-contiguous float64 matrix."""

    def __init__(self, const double[:, ::1] X, sign, double bias, bint balanced=False):
        super().__init__(X.shape[0], X.shape[1], sign, bias, balanced)
        self.X = X
        self.first = &X[0, 0]
        self.n_features = X.shape[1]
        self.n_stored = self.n_rows * self.n_cols

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return DenseRows(self.X, self.sign, self.bias, self.balanced)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        cdef const double* x = self.first + i * d
        cdef double a = 0.0, b = 0.0
        for j in range(0, d - 1, 2):
            a = a + x[j] * v[j]
            b = b + x[j + 1] * v[j + 1]
        if d & 1:
            a = a + x[d - 1] * v[d - 1]
        if self.bias != 0.0:
            b = b + self.bias * v[d]
        return self.sign[i] * (a + b)

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t j, k, d = self.n_features
        cdef const pair_t* p = <const pair_t*> pair
        cdef const double* x
        cdef pair_t a, b, rest = pair_of(0.0, 0.0)
        if self.bias != 0.0:
            rest = pair_times(self.bias, p[d])
        for k in range(m):
            x = self.first + members[k] * d
            a = rest
            b = pair_of(0.0, 0.0)
            for j in range(0, d - 1, 2):
                a = pair_plus(a, pair_times(x[j], p[j]))
                b = pair_plus(b, pair_times(x[j + 1], p[j + 1]))
            if d & 1:
                b = pair_plus(b, pair_times(x[d - 1], p[d - 1]))
            (<pair_t*> out)[k] = pair_times(self.sign[members[k]], pair_plus(a, b))

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        cdef const double* x = self.first + i * d
        a = a * self.sign[i]
        for j in range(d):
            v[j] = v[j] + a * x[j]
        if self.bias != 0.0:
            v[d] = v[d] + a * self.bias

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        cdef const double* x = self.first + i * d
        a = a * self.sign[i]
        for j in range(d):
            v[j] = v[j] + a * x[j]
        if self.bias != 0.0:
            v[d] = v[d] + a * self.bias

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        cdef const double* x = self.first + i * d
        cdef pair_t* p = <pair_t*> pair
        cdef pair_t both = pair_of(a * self.sign[i], b * self.sign[i])
        for j in range(d):
            p[j] = pair_plus(p[j], pair_times(x[j], both))
        if self.bias != 0.0:
            p[d] = pair_plus(p[d], pair_times(self.bias, both))

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* x = self.first + i * self.n_features
        prefetch_line(&self.sign[i])
        for j in range(0, min(self.n_features, PREFETCHED), 8):
            prefetch_line(x + j)

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_cols):
            self.scratch[j] = 0.0


cdef class KernelRows(Rows):
    """Rows known by their Gram matrix only, which is symmetric; the bias is in it already."""

    def __init__(self, const double[::1] squared_norms, sign, double bias=0.0,
                 bint balanced=False):
        super().__init__(squared_norms.shape[0], squared_norms.shape[0], sign, bias, balanced)
        self.n_cols = self.n_rows
        self.n_stored = self.n_rows
        self.dual = True
        self.resolution = GRAM_RESOLUTION
        self.squares = squared_norms
        self.norms = np.sqrt(np.maximum(squared_norms, 0.0))

    cdef const double* row(self, Py_ssize_t i) noexcept nogil:
        return NULL

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        return v[i]

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(m):
            out[2 * k] = pair[2 * members[k]]
            out[2 * k + 1] = pair[2 * members[k] + 1]

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* q = self.row(i)
        for j in range(self.n_cols):
            v[j] = v[j] + a * q[j]

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* q = self.row(i)
        for j in range(self.n_cols):
            v[j] = v[j] + a * q[j]

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* q = self.row(i)
        cdef pair_t* p = <pair_t*> pair
        cdef pair_t both = pair_of(a, b)
        for j in range(self.n_cols):
            p[j] = pair_plus(p[j], pair_times(q[j], both))

    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef const double* q = self.row(i)
        for k in range(m):
            out[k] = q[members[k]]

    cdef double length(self, const double* v, Py_ssize_t stride) noexcept nogil:
        # no less than its part along any row
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
    """The whole Gram matrix is at hand."""

    def __init__(self, const double[:, ::1] Q, sign, double bias=0.0, bint balanced=False):
        super().__init__(np.ascontiguousarray(np.diagonal(Q)), sign, bias, balanced)
        self.Q = Q

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return MatrixRows(self.Q, self.sign, self.bias, self.balanced)

    cdef const double* row(self, Py_ssize_t i) noexcept nogil:
        return &self.Q[i, 0]

    def combine(self, const double[::1] theta):
        """Return the sum of theta_i z_i, as its products with all rows."""
        return np.asarray(self.Q) @ np.asarray(theta)

    def gram(self, const int[::1] members):
        """Return the lower triangle of <z_a, z_b> over the members (the rest is zero)."""
        return np.tril(np.asarray(self.Q)[np.ix_(members, members)])


cdef class CachedRows(KernelRows):
    """Rows of the Gram matrix are computed when they are needed; the last ones are kept.

    `source(i)` returns row i. What it raises is kept for `check`, and zeros stand in for the row.
    """

    def __init__(self, source, const double[::1] squared_norms, sign, double bias, bint balanced,
                 Py_ssize_t n_slots):
        super().__init__(squared_norms, sign, bias, balanced)
        n_slots = min(n_slots, self.n_rows)
        self.source = source
        self.slots = np.zeros((n_slots, self.n_rows))
        self.slot_of = np.full(self.n_rows, -1, dtype=np.int32)
        self.owner = np.full(n_slots, -1, dtype=np.int32)
        self.recent = np.zeros(n_slots, dtype=np.int8)

    cdef const double* row(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t slot = self.slot_of[i]
        if slot < 0:
            slot = self._vacate()
            with gil:
                self._compute(i, slot)
            self.slot_of[i] = <int> slot
            self.owner[slot] = <int> i
        self.recent[slot] = 1
        return &self.slots[slot, 0]

    cdef Py_ssize_t _vacate(self) noexcept nogil:
        """A slot that was not used since the hand last came by."""
        cdef Py_ssize_t slot
        while self.recent[self.hand]:
            self.recent[self.hand] = 0
            self.hand = (self.hand + 1) % self.owner.shape[0]
        slot = self.hand
        self.hand = (self.hand + 1) % self.owner.shape[0]
        if self.owner[slot] >= 0:
            self.slot_of[self.owner[slot]] = -1
        return slot

    cdef void _compute(self, Py_ssize_t i, Py_ssize_t slot) noexcept:
        cdef double[::1] target = self.slots[slot]
        cdef const double[::1] fresh
        self.n_computed += 1
        try:
            fresh = np.ascontiguousarray(self.source(i), dtype=np.float64)
            target[:] = fresh
        except BaseException as error:
            self.error = error
            target[:] = 0.0


cdef class SparseRows(Rows):
    """Compressed sparse rows, indices without duplicates."""

    def __init__(self, const int[::1] indices, const Py_ssize_t[::1] indptr,
                 Py_ssize_t n_features, sign, double bias, bint balanced=False):
        super().__init__(indptr.shape[0] - 1, n_features, sign, bias, balanced)
        self.indices = indices
        self.indptr = indptr
        self.indices_start = &indices[0] if indices.shape[0] else NULL
        self.n_stored = indices.shape[0] + (self.n_rows if bias != 0.0 else 0)

    def _n_features(self):
        return self.n_cols - (1 if self.bias != 0.0 else 0)

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.indptr[i], self.indptr[i + 1]):
            self.scratch[self.indices[k]] = 0.0
        if self.bias != 0.0:
            self.scratch[self.n_cols - 1] = 0.0


cdef class CsrRows(SparseRows):
    """Compressed sparse rows with their values."""

    def __init__(self, const double[::1] data, const int[::1] indices,
                 const Py_ssize_t[::1] indptr, Py_ssize_t n_features, sign, double bias,
                 bint balanced=False):
        super().__init__(indices, indptr, n_features, sign, bias, balanced)
        self.data = data
        self.data_start = &data[0] if data.shape[0] else NULL

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return CsrRows(self.data, self.indices, self.indptr, self._n_features(), self.sign,
                       self.bias, self.balanced)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef const double* x = self.data_start + start
        cdef const int* at = self.indices_start + start
        for k in range(0, count - 3, 4):
            a = a + x[k] * v[at[k]]
            b = b + x[k + 1] * v[at[k + 1]]
            c = c + x[k + 2] * v[at[k + 2]]
            d = d + x[k + 3] * v[at[k + 3]]
        for k in range(count & ~3, count):
            a = a + x[k] * v[at[k]]
        if self.bias != 0.0:
            b = b + self.bias * v[self.n_cols - 1]
        return self.sign[i] * ((a + b) + (c + d))

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t start, count, j, k
        cdef const pair_t* p = <const pair_t*> pair
        cdef const double* x
        cdef const int* at
        cdef pair_t a, b, rest = pair_of(0.0, 0.0)
        if self.bias != 0.0:
            rest = pair_times(self.bias, p[self.n_cols - 1])
        for k in range(m):
            start = self.indptr[members[k]]
            count = self.indptr[members[k] + 1] - start
            x = self.data_start + start
            at = self.indices_start + start
            a = rest
            b = pair_of(0.0, 0.0)
            for j in range(0, count - 1, 2):
                a = pair_plus(a, pair_times(x[j], p[at[j]]))
                b = pair_plus(b, pair_times(x[j + 1], p[at[j + 1]]))
            if count & 1:
                b = pair_plus(b, pair_times(x[count - 1], p[at[count - 1]]))
            (<pair_t*> out)[k] = pair_times(self.sign[members[k]], pair_plus(a, b))

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef const double* x = self.data_start + start
        cdef const int* at = self.indices_start + start
        cdef double v0, v1, v2, v3
        a = a * self.sign[i]
        for k in range(0, count - 3, 4):
            v0 = v[at[k]] + a * x[k]
            v1 = v[at[k + 1]] + a * x[k + 1]
            v2 = v[at[k + 2]] + a * x[k + 2]
            v3 = v[at[k + 3]] + a * x[k + 3]
            v[at[k]] = v0
            v[at[k + 1]] = v1
            v[at[k + 2]] = v2
            v[at[k + 3]] = v3
        for k in range(count & ~3, count):
            v[at[k]] = v[at[k]] + a * x[k]
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef const double* x = self.data_start + start
        cdef const int* at = self.indices_start + start
        cdef long double v0, v1
        a = a * self.sign[i]
        for k in range(0, count - 1, 2):        # no index is there twice
            v0 = v[at[k]] + a * x[k]
            v1 = v[at[k + 1]] + a * x[k + 1]
            v[at[k]] = v0
            v[at[k + 1]] = v1
        if count & 1:
            v[at[count - 1]] = v[at[count - 1]] + a * x[count - 1]
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        cdef Py_ssize_t k
        cdef pair_t* p = <pair_t*> pair
        cdef pair_t both = pair_of(a * self.sign[i], b * self.sign[i]), p0, p1, p2, p3
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start
        cdef const double* x = self.data_start + start
        cdef const int* at = self.indices_start + start
        for k in range(0, count - 3, 4):        # no index is there twice
            p0 = pair_plus(p[at[k]], pair_times(x[k], both))
            p1 = pair_plus(p[at[k + 1]], pair_times(x[k + 1], both))
            p2 = pair_plus(p[at[k + 2]], pair_times(x[k + 2], both))
            p3 = pair_plus(p[at[k + 3]], pair_times(x[k + 3], both))
            p[at[k]] = p0
            p[at[k + 1]] = p1
            p[at[k + 2]] = p2
            p[at[k + 3]] = p3
        for k in range(count & ~3, count):
            p[at[k]] = pair_plus(p[at[k]], pair_times(x[k], both))
        if self.bias != 0.0:
            p[self.n_cols - 1] = pair_plus(p[self.n_cols - 1], pair_times(self.bias, both))

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], k
        for k in range(start, min(start + PREFETCHED, self.indptr[i + 1]), 16):
            prefetch_line(self.indices_start + k)
            prefetch_line(self.data_start + k)
            prefetch_line(self.data_start + k + 8)


cdef class PatternRows(SparseRows):
    """Compressed sparse rows whose stored values are all one: one-hot and bag-of-words data.

    The walk is bound by memory traffic here, and two thirds of it are values that say nothing.
    """

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return PatternRows(self.indices, self.indptr, self._n_features(), self.sign, self.bias,
                           self.balanced)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef const int* at = self.indices_start + start
        for k in range(0, count - 3, 4):
            a = a + v[at[k]]
            b = b + v[at[k + 1]]
            c = c + v[at[k + 2]]
            d = d + v[at[k + 3]]
        for k in range(count & ~3, count):
            a = a + v[at[k]]
        if self.bias != 0.0:
            b = b + self.bias * v[self.n_cols - 1]
        return self.sign[i] * ((a + b) + (c + d))

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t start, count, j, k
        cdef const pair_t* p = <const pair_t*> pair
        cdef const int* at
        cdef pair_t a, b, c, d, rest = pair_of(0.0, 0.0)
        if self.bias != 0.0:
            rest = pair_times(self.bias, p[self.n_cols - 1])
        for k in range(m):
            start = self.indptr[members[k]]
            count = self.indptr[members[k] + 1] - start
            at = self.indices_start + start
            a = rest
            b = pair_of(0.0, 0.0)
            c = b
            d = b
            for j in range(0, count - 3, 4):
                a = pair_plus(a, p[at[j]])
                b = pair_plus(b, p[at[j + 1]])
                c = pair_plus(c, p[at[j + 2]])
                d = pair_plus(d, p[at[j + 3]])
            for j in range(count & ~3, count):
                b = pair_plus(b, p[at[j]])
            (<pair_t*> out)[k] = pair_times(self.sign[members[k]],
                                            pair_plus(pair_plus(a, b), pair_plus(c, d)))

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef const int* at = self.indices_start + start
        cdef double v0, v1, v2, v3
        a = a * self.sign[i]
        for k in range(0, count - 3, 4):
            v0 = v[at[k]] + a
            v1 = v[at[k + 1]] + a
            v2 = v[at[k + 2]] + a
            v3 = v[at[k + 3]] + a
            v[at[k]] = v0
            v[at[k + 1]] = v1
            v[at[k + 2]] = v2
            v[at[k + 3]] = v3
        for k in range(count & ~3, count):
            v[at[k]] = v[at[k]] + a
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef const int* at = self.indices_start + start
        cdef long double v0, v1
        a = a * self.sign[i]
        for k in range(0, count - 1, 2):        # no index is there twice
            v0 = v[at[k]] + a
            v1 = v[at[k + 1]] + a
            v[at[k]] = v0
            v[at[k + 1]] = v1
        if count & 1:
            v[at[count - 1]] = v[at[count - 1]] + a
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        cdef Py_ssize_t k
        cdef pair_t* p = <pair_t*> pair
        cdef pair_t both = pair_of(a * self.sign[i], b * self.sign[i]), p0, p1, p2, p3
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start
        cdef const int* at = self.indices_start + start
        for k in range(0, count - 3, 4):        # no index is there twice
            p0 = pair_plus(p[at[k]], both)
            p1 = pair_plus(p[at[k + 1]], both)
            p2 = pair_plus(p[at[k + 2]], both)
            p3 = pair_plus(p[at[k + 3]], both)
            p[at[k]] = p0
            p[at[k + 1]] = p1
            p[at[k + 2]] = p2
            p[at[k + 3]] = p3
        for k in range(count & ~3, count):
            p[at[k]] = pair_plus(p[at[k]], both)
        if self.bias != 0.0:
            p[self.n_cols - 1] = pair_plus(p[self.n_cols - 1], pair_times(self.bias, both))

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], k
        for k in range(start, min(start + PREFETCHED, self.indptr[i + 1]), 16):
            prefetch_line(self.indices_start + k)
