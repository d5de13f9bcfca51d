"""Data access: the only place that knows how rows are stored.

Row i of the canonical problem is z_i = sign_i * [x_i, bias]; X itself is never copied or changed.
"""

import numpy as np
from scipy.linalg.blas import dsyrk

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    #define prefetch_line(address) __builtin_prefetch(address)
    #else
    #define prefetch_line(address) ((void) 0)
    #endif
    """
    void prefetch_line(const void* address) noexcept nogil

# Gram matrices go through a dense block and BLAS while that has at most so many entries.
cdef Py_ssize_t DENSE_BLOCK = 1 << 22


cdef class Rows:
    """Base class; `DenseRows` and `CsrRows` implement the five products."""

    def __init__(self, Py_ssize_t n_rows, Py_ssize_t n_features, sign, double bias):
        self.n_rows = n_rows
        self.n_cols = n_features + (1 if bias != 0.0 else 0)
        self.sign = sign
        self.bias = bias
        self.scratch = np.zeros(self.n_cols)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        return 0.0

    cdef void dot2(self, Py_ssize_t i, const double* u, const double* v,
                   double* zu, double* zv) noexcept nogil:
        pass

    cdef void dot_pair(self, Py_ssize_t i, const double* pair, double* out) noexcept nogil:
        pass

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        pass

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        pass

    cdef void axpy2(self, Py_ssize_t i, double a, double* u, double b, double* v) noexcept nogil:
        pass

    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil:
        # z_i is spread over the scratch vector once, then met by every member.
        cdef Py_ssize_t k
        self.axpy(i, 1.0, &self.scratch[0])
        for k in range(m):
            out[k] = self.dot(members[k], &self.scratch[0])
        self._clear(i)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        pass

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        pass

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

    def __init__(self, const double[:, ::1] X, sign, double bias):
        super().__init__(X.shape[0], X.shape[1], sign, bias)
        self.X = X
        self.first = &X[0, 0]
        self.n_features = X.shape[1]
        self.n_stored = self.n_rows * self.n_cols

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

    cdef void dot2(self, Py_ssize_t i, const double* u, const double* v,
                   double* zu, double* zv) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        cdef const double* x = self.first + i * d
        cdef double a = 0.0, b = 0.0, e = 0.0, f = 0.0
        for j in range(0, d - 1, 2):
            a = a + x[j] * u[j]
            b = b + x[j] * v[j]
            e = e + x[j + 1] * u[j + 1]
            f = f + x[j + 1] * v[j + 1]
        if d & 1:
            a = a + x[d - 1] * u[d - 1]
            b = b + x[d - 1] * v[d - 1]
        if self.bias != 0.0:
            e = e + self.bias * u[d]
            f = f + self.bias * v[d]
        zu[0] = self.sign[i] * (a + e)
        zv[0] = self.sign[i] * (b + f)

    cdef void dot_pair(self, Py_ssize_t i, const double* pair, double* out) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        cdef const double* x = self.first + i * d
        cdef double a = 0.0, b = 0.0, e = 0.0, f = 0.0
        for j in range(0, d - 1, 2):
            a = a + x[j] * pair[2 * j]
            b = b + x[j] * pair[2 * j + 1]
            e = e + x[j + 1] * pair[2 * j + 2]
            f = f + x[j + 1] * pair[2 * j + 3]
        if d & 1:
            a = a + x[d - 1] * pair[2 * d - 2]
            b = b + x[d - 1] * pair[2 * d - 1]
        if self.bias != 0.0:
            e = e + self.bias * pair[2 * d]
            f = f + self.bias * pair[2 * d + 1]
        out[0] = self.sign[i] * (a + e)
        out[1] = self.sign[i] * (b + f)

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

    cdef void axpy2(self, Py_ssize_t i, double a, double* u, double b, double* v) noexcept nogil:
        self.axpy(i, a, u)
        self.axpy(i, b, v)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j
        cdef const double* x = self.first + i * self.n_features
        prefetch_line(&self.sign[i])
        for j in range(0, min(self.n_features, 64), 8):
            prefetch_line(x + j)

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n_cols):
            self.scratch[j] = 0.0


cdef class CsrRows(Rows):
    """Rows in compressed sparse row form, indices sorted and without duplicates."""

    def __init__(self, const double[::1] data, const int[::1] indices,
                 const Py_ssize_t[::1] indptr, Py_ssize_t n_features, sign, double bias):
        super().__init__(indptr.shape[0] - 1, n_features, sign, bias)
        self.data = data
        self.indices = indices
        self.indptr = indptr
        self.n_stored = data.shape[0] + (self.n_rows if bias != 0.0 else 0)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef const double* x
        cdef const int* at
        if count > 0:
            x = &self.data[start]
            at = &self.indices[start]
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

    cdef void dot2(self, Py_ssize_t i, const double* u, const double* v,
                   double* zu, double* zv) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef const double* x
        cdef const int* at
        if count > 0:
            x = &self.data[start]
            at = &self.indices[start]
            for k in range(0, count - 1, 2):
                a = a + x[k] * u[at[k]]
                b = b + x[k] * v[at[k]]
                c = c + x[k + 1] * u[at[k + 1]]
                d = d + x[k + 1] * v[at[k + 1]]
            if count & 1:
                k = count - 1
                a = a + x[k] * u[at[k]]
                b = b + x[k] * v[at[k]]
        if self.bias != 0.0:
            a = a + self.bias * u[self.n_cols - 1]
            b = b + self.bias * v[self.n_cols - 1]
        zu[0] = self.sign[i] * (a + c)
        zv[0] = self.sign[i] * (b + d)

    cdef void dot_pair(self, Py_ssize_t i, const double* pair, double* out) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, e = 0.0, f = 0.0
        cdef const double* x
        cdef const double* p
        cdef const double* q
        cdef const int* at
        if count > 0:
            x = &self.data[start]
            at = &self.indices[start]
            for k in range(0, count - 1, 2):
                p = pair + 2 * <Py_ssize_t> at[k]
                q = pair + 2 * <Py_ssize_t> at[k + 1]
                a = a + x[k] * p[0]
                b = b + x[k] * p[1]
                e = e + x[k + 1] * q[0]
                f = f + x[k + 1] * q[1]
            if count & 1:
                p = pair + 2 * <Py_ssize_t> at[count - 1]
                a = a + x[count - 1] * p[0]
                b = b + x[count - 1] * p[1]
        if self.bias != 0.0:
            p = pair + 2 * (self.n_cols - 1)
            e = e + self.bias * p[0]
            f = f + self.bias * p[1]
        out[0] = self.sign[i] * (a + e)
        out[1] = self.sign[i] * (b + f)

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef const double* x
        cdef const int* at
        a = a * self.sign[i]
        if count > 0:
            x = &self.data[start]
            at = &self.indices[start]
            for k in range(0, count - 3, 4):
                v[at[k]] = v[at[k]] + a * x[k]
                v[at[k + 1]] = v[at[k + 1]] + a * x[k + 1]
                v[at[k + 2]] = v[at[k + 2]] + a * x[k + 2]
                v[at[k + 3]] = v[at[k + 3]] + a * x[k + 3]
            for k in range(count & ~3, count):
                v[at[k]] = v[at[k]] + a * x[k]
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t k
        a = a * self.sign[i]
        for k in range(self.indptr[i], self.indptr[i + 1]):
            v[self.indices[k]] = v[self.indices[k]] + a * self.data[k]
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy2(self, Py_ssize_t i, double a, double* u, double b, double* v) noexcept nogil:
        cdef Py_ssize_t k, j
        cdef double x
        a = a * self.sign[i]
        b = b * self.sign[i]
        for k in range(self.indptr[i], self.indptr[i + 1]):
            j = self.indices[k]
            x = self.data[k]
            u[j] = u[j] + a * x
            v[j] = v[j] + b * x
        if self.bias != 0.0:
            u[self.n_cols - 1] = u[self.n_cols - 1] + a * self.bias
            v[self.n_cols - 1] = v[self.n_cols - 1] + b * self.bias

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.indptr[i], self.indptr[i + 1]):
            self.scratch[self.indices[k]] = 0.0
        if self.bias != 0.0:
            self.scratch[self.n_cols - 1] = 0.0


cdef class PatternRows(Rows):
    """Compressed sparse rows whose stored values are all one: one-hot and bag-of-words data.

    The walk is bound by memory traffic here, and two thirds of it are values that say nothing.
    """

    def __init__(self, const int[::1] indices, const Py_ssize_t[::1] indptr,
                 Py_ssize_t n_features, sign, double bias):
        super().__init__(indptr.shape[0] - 1, n_features, sign, bias)
        self.indices = indices
        self.indptr = indptr
        self.n_stored = indices.shape[0] + (self.n_rows if bias != 0.0 else 0)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef const int* at
        if count > 0:
            at = &self.indices[start]
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

    cdef void dot2(self, Py_ssize_t i, const double* u, const double* v,
                   double* zu, double* zv) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
        cdef const int* at
        if count > 0:
            at = &self.indices[start]
            for k in range(0, count - 1, 2):
                a = a + u[at[k]]
                b = b + v[at[k]]
                c = c + u[at[k + 1]]
                d = d + v[at[k + 1]]
            if count & 1:
                a = a + u[at[count - 1]]
                b = b + v[at[count - 1]]
        if self.bias != 0.0:
            a = a + self.bias * u[self.n_cols - 1]
            b = b + self.bias * v[self.n_cols - 1]
        zu[0] = self.sign[i] * (a + c)
        zv[0] = self.sign[i] * (b + d)

    cdef void dot_pair(self, Py_ssize_t i, const double* pair, double* out) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef double a = 0.0, b = 0.0, e = 0.0, f = 0.0
        cdef const double* p
        cdef const double* q
        cdef const int* at
        if count > 0:
            at = &self.indices[start]
            for k in range(0, count - 1, 2):
                p = pair + 2 * <Py_ssize_t> at[k]
                q = pair + 2 * <Py_ssize_t> at[k + 1]
                a = a + p[0]
                b = b + p[1]
                e = e + q[0]
                f = f + q[1]
            if count & 1:
                p = pair + 2 * <Py_ssize_t> at[count - 1]
                a = a + p[0]
                b = b + p[1]
        if self.bias != 0.0:
            p = pair + 2 * (self.n_cols - 1)
            e = e + self.bias * p[0]
            f = f + self.bias * p[1]
        out[0] = self.sign[i] * (a + e)
        out[1] = self.sign[i] * (b + f)

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], count = self.indptr[i + 1] - start, k
        cdef const int* at
        a = a * self.sign[i]
        if count > 0:
            at = &self.indices[start]
            for k in range(0, count - 3, 4):
                v[at[k]] = v[at[k]] + a
                v[at[k + 1]] = v[at[k + 1]] + a
                v[at[k + 2]] = v[at[k + 2]] + a
                v[at[k + 3]] = v[at[k + 3]] + a
            for k in range(count & ~3, count):
                v[at[k]] = v[at[k]] + a
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        cdef Py_ssize_t k
        a = a * self.sign[i]
        for k in range(self.indptr[i], self.indptr[i + 1]):
            v[self.indices[k]] = v[self.indices[k]] + a
        if self.bias != 0.0:
            v[self.n_cols - 1] = v[self.n_cols - 1] + a * self.bias

    cdef void axpy2(self, Py_ssize_t i, double a, double* u, double b, double* v) noexcept nogil:
        self.axpy(i, a, u)
        self.axpy(i, b, v)

    cdef void _clear(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.indptr[i], self.indptr[i + 1]):
            self.scratch[self.indices[k]] = 0.0
        if self.bias != 0.0:
            self.scratch[self.n_cols - 1] = 0.0
