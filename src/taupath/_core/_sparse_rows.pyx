"""Compressed sparse rows, with their values or all ones."""

from taupath._core._pairs cimport pair_of, pair_plus, pair_t, pair_times
from taupath._core._rows cimport PREFETCHED, Rows, prefetch_line


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
