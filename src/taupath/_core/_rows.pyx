"""Data access: the only modules that know how rows are stored.

Row i of the canonical problem is z_i = sign_i * [x_i, bias]; X itself is never copied or changed.
Dense rows are here; the sparse ones are in `_sparse_rows`, those of a kernel in `_kernel_rows`.
"""

from libc.math cimport sqrt

import numpy as np
from scipy.linalg.blas import dsyrk

from taupath._core._blas cimport norm
from taupath._core._pairs cimport pair_of, pair_plus, pair_t, pair_times

# Gram matrices go through a dense block and BLAS while that has at most so many entries.
cdef Py_ssize_t DENSE_BLOCK = 1 << 22
# Squared lengths are differences of vectors.
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
