"""A factorisation in extended precision: columns are appended and removed, equations solved.

A = Q R, where A has the columns given so far. If they are given as vectors, Q is kept as well, and
the condition is not squared; if only their products are known, R is the Cholesky factor.
"""

from libc.math cimport sqrtl

import numpy as np

from taupath._core._blas cimport axpy, dot, norm

cdef enum:
    FEWEST = 32             # columns that there is room for at first
    MOST_PASSES = 3         # of orthogonalisation

# Another pass is made where one has left less than this part of a column: then rounding shows.
cdef double LEFT = 0.5


cdef class ExtendedFactor:
    """R, and Q if columns have a `length`, else only their products are known."""

    cdef readonly Py_ssize_t size
    cdef Py_ssize_t length
    cdef long double[:, ::1] R, Q            # row j is column j of R, and of Q
    cdef long double[::1] coming, direction  # the same of the column that may be appended
    cdef long double rest                    # and the diagonal entry

    def __init__(self, Py_ssize_t length=0):
        self.length = length
        self.clear()

    def clear(self):
        """Have no columns."""
        self.size = 0
        self._make_room(FEWEST)

    cdef int _make_room(self, Py_ssize_t n_columns) except -1:
        cdef Py_ssize_t m = self.size
        R = np.zeros((n_columns, n_columns), dtype=np.longdouble)
        Q = np.zeros((n_columns, self.length), dtype=np.longdouble)
        if m:
            R[:m, :m] = self.R[:m, :m]
            Q[:m] = self.Q[:m]
        self.R, self.Q = R, Q
        self.coming = np.zeros(n_columns, dtype=np.longdouble)
        self.direction = np.zeros(self.length, dtype=np.longdouble)
        return 0

    def project(self, const long double[::1] column):
        """Look at a column: how far is it from the span of the others?"""
        cdef Py_ssize_t j, _pass
        cdef long double part, before, after = _dot(&column[0], &column[0], self.length)
        self.direction[:] = column
        self.coming[:] = 0.0
        with nogil:
            for _pass in range(MOST_PASSES if self.size else 0):
                before = after
                for j in range(self.size):
                    part = _dot(&self.Q[j, 0], &self.direction[0], self.length)
                    self.coming[j] = self.coming[j] + part
                    _add(-part, &self.Q[j, 0], &self.direction[0], self.length)
                after = _dot(&self.direction[0], &self.direction[0], self.length)
                if after > LEFT * LEFT * before:
                    break
        self.rest = sqrtl(after)

    def project_products(self, const long double[::1] products, long double square):
        """Look at a column that has these products with the others and with itself."""
        cdef Py_ssize_t j
        cdef long double left = square
        for j in range(self.size):
            self.coming[j] = (
                products[j] - _dot(&self.R[j, 0], &self.coming[0], j)) / self.R[j, j]
            left = left - self.coming[j] * self.coming[j]
        self.rest = sqrtl(left) if left > 0.0 else 0.0

    @property
    def distance(self):
        """How far the column that was last looked at is from the span of the others."""
        return np.longdouble(self.rest)

    def parts(self):
        """Return x with A x = the projection of the column that was last looked at."""
        x = np.array(self.coming[:self.size])
        self._back(x)
        return x

    def rest_of_column(self):
        """Return the column that was last looked at, less its projection."""
        return np.array(self.direction)

    def append(self):
        """Add the column that was last looked at; its rest must not be zero."""
        cdef Py_ssize_t j, m = self.size
        for j in range(m):
            self.R[m, j] = self.coming[j]
        self.R[m, m] = self.rest
        for j in range(self.length):
            self.Q[m, j] = self.direction[j] / self.rest
        self.size += 1
        if self.size == self.R.shape[0]:
            self._make_room(2 * self.size)

    def remove(self, Py_ssize_t k):
        """Remove column k. Rotations of rows make R triangular again.

        The column that was last looked at stays so, and is further from the others now.
        """
        cdef Py_ssize_t i, j, m = self.size - 1
        cdef long double[::1] cosine = np.empty(m + 1, dtype=np.longdouble)
        cdef long double[::1] sine = np.empty(m + 1, dtype=np.longdouble)
        cdef long double a, b, h
        with nogil:
            for j in range(k, m):
                for i in range(j + 2):
                    self.R[j, i] = self.R[j + 1, i]
                for i in range(k, j):
                    _rotate(cosine[i], sine[i], &self.R[j, i], &self.R[j, i + 1], 1)
                a, b = self.R[j, j], self.R[j, j + 1]
                h = sqrtl(a * a + b * b)
                cosine[j] = a / h if h > 0.0 else 1.0
                sine[j] = b / h if h > 0.0 else 0.0
                self.R[j, j] = h
                self.R[j, j + 1] = 0.0
                _rotate(cosine[j], sine[j], &self.coming[j], &self.coming[j + 1], 1)
                if self.length:
                    _rotate(cosine[j], sine[j], &self.Q[j, 0], &self.Q[j + 1, 0], self.length)
            if self.length:
                _add(self.coming[m], &self.Q[m, 0], &self.direction[0], self.length)
            self.rest = sqrtl(self.rest * self.rest + self.coming[m] * self.coming[m])
            self.coming[m] = 0.0
        self.size = m

    def subtract_first(self, const long double[::1] factor, long double coming=0.0):
        """Subtract factor_j times the first column from each other column j; remove the first.

        Likewise `coming` times the first column from the column that was last looked at.
        """
        cdef Py_ssize_t j
        for j in range(1, self.size):
            self.R[j, 0] = self.R[j, 0] - factor[j - 1] * self.R[0, 0]
        self.coming[0] = self.coming[0] - coming * self.R[0, 0]
        self.remove(0)

    def distances(self, double[:, ::1] columns):
        """Return how far columns, one in each row, are from the span of those here, roughly.

        The columns are overwritten.
        """
        cdef Py_ssize_t i, j
        out = np.empty(columns.shape[0])
        cdef double[::1] view = out
        cdef double[:, ::1] basis = np.asarray(self.Q[:self.size]).astype(np.float64)
        with nogil:
            for i in range(columns.shape[0]):
                for j in range(self.size):
                    axpy(self.length, -dot(self.length, &basis[j, 0], &columns[i, 0]),
                         &basis[j, 0], &columns[i, 0])
                view[i] = norm(self.length, &columns[i, 0])
        return out

    def solve(self, rhs):
        """Return x with Aᵀ A x = rhs, and A x, which has more digits than x."""
        cdef Py_ssize_t j
        x = np.array(rhs, dtype=np.longdouble)
        image = np.zeros(self.length, dtype=np.longdouble)
        cdef long double[::1] view = x, sum = image
        with nogil:
            for j in range(self.size):
                view[j] = (view[j] - _dot(&self.R[j, 0], &view[0], j)) / self.R[j, j]
                if self.length:
                    _add(view[j], &self.Q[j, 0], &sum[0], self.length)
        self._back(x)
        return x, image

    cdef int _back(self, long double[::1] x) except -1:
        """Solve R x = x in place."""
        cdef Py_ssize_t j
        with nogil:
            for j in range(self.size - 1, -1, -1):
                x[j] = x[j] / self.R[j, j]
                _add(-x[j], &self.R[j, 0], &x[0], j)
        return 0


cdef inline long double _dot(const long double* a, const long double* b,
                             Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef long double even = 0.0, odd = 0.0
    for k in range(0, n - 1, 2):
        even = even + a[k] * b[k]
        odd = odd + a[k + 1] * b[k + 1]
    if n & 1:
        even = even + a[n - 1] * b[n - 1]
    return even + odd


cdef inline void _add(long double factor, const long double* a, long double* to,
                      Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    for k in range(n):
        to[k] = to[k] + factor * a[k]


cdef inline void _rotate(long double c, long double s, long double* a, long double* b,
                         Py_ssize_t n) noexcept nogil:
    cdef Py_ssize_t k
    cdef long double first
    for k in range(n):
        first = c * a[k] + s * b[k]
        b[k] = c * b[k] - s * a[k]
        a[k] = first
