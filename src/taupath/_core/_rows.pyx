"""Data access for the walk, the replay and the sums of approximate paths.

Row i of the canonical problem is z_i = sign_i * [x_i, bias]; X itself is never copied or changed.
Dense rows are here, sparse ones in `_sparse_rows`, rows of a kernel in `_kernel_rows`; no other
module knows how rows are stored. Products and sums are doubles, whatever the entries are.
"""

from libc.math cimport sqrt
from libc.string cimport memset

import numpy as np
from scipy.linalg.blas import dsyrk

from taupath._core._blas cimport norm
from taupath._core._row_loops cimport (
    dense_axpy, dense_axpys_long, dense_dot, extended, number, pair_of, pair_t, plus_times, times,
    zero)

cdef extern from "float.h":
    const int LDBL_MANT_DIG

# Significant bits of extended precision: 64 on x86, except with MSVC, whose long double has 53.
SUM_BITS = LDBL_MANT_DIG

# Gram matrices are computed by BLAS from a dense block of at most so many entries (32 MB).
cdef Py_ssize_t DENSE_BLOCK = 1 << 22
# Entries of a dense block whose outer products are added up at a time: 2 MB stay in the cache.
cdef Py_ssize_t OUTER_BLOCK = 1 << 18
# What is left of a row after projection is known to eps ‖z‖ times the condition of the members, for
# which six digits are allowed: a squared length below this part of ‖z‖² is rounding.
cdef double VECTOR_RESOLUTION = 1e-20
cdef double EPS = np.finfo(np.float64).eps


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
        self.block_size = BLOCK
        self.resolution = VECTOR_RESOLUTION
        self.scratch = np.zeros(self.n_cols)

    def sharing(self):
        """Return the same rows over the same memory, for another thread; None if not possible."""
        return None

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        return 0.0

    cdef void dots(self, const int* members, Py_ssize_t m, const double* v,
                   double* out) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(m):
            out[k] = self.dot(members[k], v)

    cdef long double dot_long(self, Py_ssize_t i, const long double* v) noexcept nogil:
        return 0.0

    cdef void face(self, const double* pair) noexcept nogil:
        pass

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        pass

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        pass

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        pass

    cdef void axpys_long(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(m):
            self.axpy_long(members[k], coef[k], v)

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        pass

    cdef void turn(self, const int* members, Py_ssize_t m, const double* coef, double back,
                   double* pair) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(m):
            self.axpy_pair(members[k], -back * coef[k], coef[k], pair)

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
        self.clear(i, &self.scratch[0])

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

    cdef void clear(self, Py_ssize_t i, double* v) noexcept nogil:
        pass

    def check(self):
        """Raise the error of a row that could not be computed, if there is one."""
        if self.error is not None:
            error, self.error = self.error, None
            raise error

    @property
    def signs(self):
        """The sign of every row."""
        return np.asarray(self.sign)

    def products(self, const double[::1] v, const int[::1] members=None, out=None):
        """Return <z_i, v> for every row, or for every member; in `out` if it is given."""
        cdef const int[::1] which = members
        if which is None:
            which = np.arange(self.n_rows, dtype=np.int32)
        cdef Py_ssize_t m = which.shape[0]
        if out is None:
            out = np.empty(m)
        cdef double[::1] view = out
        if m > 0:
            with nogil:
                self.dots(&which[0], m, &v[0], &view[0])
        self.visits += m
        return out

    def combine(self, const double[::1] factor, const int[::1] members=None, out=None):
        """Return `out`, or zero, plus Σ factor[k] z_k over all rows or over the members.

        Summed in blocks of `block_size` rows. Zero factors are skipped.
        """
        cdef bint everyone = members is None
        cdef Py_ssize_t b, j, k, m = factor.shape[0], size = self.block_size, touched = 0
        if out is None:
            out = np.zeros(self.n_cols)
        cdef double[::1] view = out, block = np.zeros(self.n_cols)
        with nogil:
            for b in range((m + size - 1) // size):
                for k in range(b * size, min((b + 1) * size, m)):
                    if factor[k] != 0.0:
                        self.axpy(k if everyone else members[k], factor[k], &block[0])
                        touched += 1
                for j in range(self.n_cols):
                    view[j] = view[j] + block[j]
                    block[j] = 0.0
        self.visits += touched
        return out

    def exact_combination(self, const long double[::1] theta, const int[::1] members=None,
                          out=None):
        """Return `out`, or zero, plus Σ theta_k z_k over all rows or members; extended precision.
        """
        used = np.flatnonzero(theta)
        cdef const long double[::1] coef = np.asarray(theta)[used]
        cdef const int[::1] which = (used if members is None
                                     else np.asarray(members)[used]).astype(np.int32)
        if out is None:
            out = np.zeros(self.n_cols, dtype=np.longdouble)
        cdef long double[::1] view = out
        if len(used):
            with nogil:
                self.axpys_long(&which[0], which.shape[0], &coef[0], &view[0])
        return out

    def shifted(self, v, long double multiplier):
        """Return v, in extended precision, as a multiplier of Σ sign_i θ_i = 0 shifts it."""
        out = np.array(v, dtype=np.longdouble)
        cdef long double[::1] view = out
        if self.balanced:
            self.shift_long(multiplier, &view[0])
        return out

    def exact_products(self, const long double[::1] v, const int[::1] members=None):
        """Return <z_i, v> for every row, or for every member, in extended precision."""
        cdef bint everyone = members is None
        cdef Py_ssize_t k, m = self.n_rows if everyone else members.shape[0]
        out = np.empty(m, dtype=np.longdouble)
        cdef long double[::1] view = out
        with nogil:
            for k in range(m):
                view[k] = self.dot_long(k if everyone else members[k], &v[0])
        return out

    def add_outer_products(self, const double[::1] factor, const int[::1] members,
                           double[:, ::1] out):
        """Add Σ factor[k] z zᵀ, z = z_members[k], to out; only its lower triangle is right then."""
        cdef Py_ssize_t first, step = max(OUTER_BLOCK // self.n_cols, 1)
        total = np.asarray(out)
        for first in range(0, members.shape[0], step):
            block = self.block(members[first:first + step])
            total += block.T @ (block * np.asarray(factor[first:first + step])[:, np.newaxis])
        self.visits += members.shape[0]

    def gram(self, const int[::1] members):
        """Return the lower triangle of <z_a, z_b> over the members (the rest is zero)."""
        cdef Py_ssize_t a, m = members.shape[0]
        cdef bint full = self.n_cols * self.n_rows <= 16 * self.n_stored
        if full and not self.quick_inner and m * self.n_cols <= DENSE_BLOCK:
            return dsyrk(1.0, self.block(members).T, trans=1).T
        out = np.zeros((m, m))
        cdef double[:, ::1] view = out
        with nogil:
            for a in range(m):
                self.inner(members[a], &members[0], a + 1, &view[a, 0])
        return out

    def products_between(self, const int[::1] members, const int[::1] others):
        """Return <z_a, z_b> for every member a and every other b."""
        out = np.empty((members.shape[0], others.shape[0]))
        cdef double[:, ::1] view = out
        cdef Py_ssize_t a
        with nogil:
            for a in range(members.shape[0] if others.shape[0] else 0):
                self.inner(members[a], &others[0], others.shape[0], &view[a, 0])
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
        cdef double[::1] view = out, spread = np.zeros(self.n_cols)
        cdef Py_ssize_t i
        with nogil:
            for i in range(self.n_rows):
                self.axpy(i, 1.0, &spread[0])
                view[i] = self.dot(i, &spread[0])
                self.clear(i, &spread[0])
        return out

    def norms(self):
        """Return the length of every row, rounded up."""
        return np.sqrt(self.squared_norms()) * (1.0 + self.longest * EPS)


cdef class DenseRows(Rows):
    """Rows of a C-contiguous matrix of float32 or float64."""

    def __init__(self, X, sign, double bias, bint balanced=False):
        super().__init__(X.shape[0], X.shape[1], sign, bias, balanced)
        cdef const double[:, ::1] doubles
        cdef const float[:, ::1] floats
        self.X = X
        if X.dtype == np.float32:
            floats = X
            self.floats = &floats[0, 0] if X.size else NULL
        else:
            doubles = X
            self.doubles = &doubles[0, 0] if X.size else NULL
        self.n_features = X.shape[1]
        self.n_stored = self.n_rows * self.n_cols
        self.longest = self.n_features + 1

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return DenseRows(self.X, self.sign, self.bias, self.balanced)

    cdef double dot(self, Py_ssize_t i, const double* v) noexcept nogil:
        return _dot[double](self, i, v, _bias_term[double](self, v))

    cdef long double dot_long(self, Py_ssize_t i, const long double* v) noexcept nogil:
        return _dot[extended](self, i, v, _bias_term[extended](self, v))

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef const pair_t* v = <const pair_t*> pair
        cdef pair_t rest = _bias_term[pair_t](self, v)
        for k in range(m):
            (<pair_t*> out)[k] = _dot[pair_t](self, members[k], v, rest)

    cdef void axpy(self, Py_ssize_t i, double a, double* v) noexcept nogil:
        _axpy[double](self, i, a, v)

    cdef void axpy_long(self, Py_ssize_t i, long double a, long double* v) noexcept nogil:
        _axpy[extended](self, i, a, v)

    cdef void axpys_long(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil:
        cdef Py_ssize_t k, d = self.n_features
        if self.floats == NULL:
            dense_axpys_long(self.doubles, d, &self.sign[0], members, m, coef, v)
        else:
            dense_axpys_long(self.floats, d, &self.sign[0], members, m, coef, v)
        if self.bias != 0.0:
            for k in range(m):
                v[d] = v[d] + self.bias * (self.sign[members[k]] * coef[k])

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        _axpy[pair_t](self, i, pair_of(a, b), <pair_t*> pair)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t j, d = self.n_features
        prefetch_line(&self.sign[i])
        for j in range(0, min(d, PREFETCHED), 8):
            if self.floats == NULL:
                prefetch_line(self.doubles + i * d + j)
            else:
                prefetch_line(self.floats + i * d + j)

    cdef void clear(self, Py_ssize_t i, double* v) noexcept nogil:
        memset(v, 0, self.n_cols * sizeof(double))


cdef inline number _bias_term(DenseRows rows, const number* v) noexcept nogil:
    """Return what the bias adds to every product."""
    if rows.bias == 0.0:
        return zero[number](v)
    return times[number](rows.bias, v[rows.n_features])


cdef inline number _dot(DenseRows rows, Py_ssize_t i, const number* v,
                        number rest) noexcept nogil:
    cdef Py_ssize_t d = rows.n_features
    cdef number found
    if rows.floats == NULL:
        found = dense_dot[double, number](rows.doubles + i * d, d, v, rest)
    else:
        found = dense_dot[float, number](rows.floats + i * d, d, v, rest)
    return times[number](rows.sign[i], found)


cdef inline void _axpy(DenseRows rows, Py_ssize_t i, number a, number* v) noexcept nogil:
    cdef Py_ssize_t d = rows.n_features
    cdef number signed_a = times[number](rows.sign[i], a)
    if rows.floats == NULL:
        dense_axpy[double, number](rows.doubles + i * d, d, signed_a, v)
    else:
        dense_axpy[float, number](rows.floats + i * d, d, signed_a, v)
    if rows.bias != 0.0:
        v[d] = plus_times[number](v[d], rows.bias, signed_a)
