"""Compressed sparse rows.

Where all stored entries are 1, as in one-hot and bag-of-words data, they are not read: the walk is
bound by memory traffic, and two thirds of it would be ones.
"""

import numpy as np

from taupath._core._sparse_loops cimport row_axpy, row_dot
from taupath._core._row_loops cimport (
    entry, extended, number, one_t, pair_of, pair_t, plus_times, times, value, zero)
from taupath._core._rows cimport BLOCK, PREFETCHED, Rows, prefetch_line

cdef enum:
    # Products of so many rows or more go by columns, if at most one entry in RARE is stored.
    BY_COLUMNS_FROM = 8
    RARE = 8


def products_with_columns(const double[::1] data, const int[::1] indices,
                          const Py_ssize_t[::1] indptr, const double[::1] others,
                          const int[::1] rows, const Py_ssize_t[::1] columns,
                          double[:, ::1] out):
    """Add X Zᵀ to `out`, with X in compressed rows and Z (`others`) in compressed columns.

    Much faster than a sparse product where most of `out` is not zero.
    """
    cdef Py_ssize_t i, k, j
    cdef double x
    cdef double* target
    with nogil:
        for i in range(out.shape[0]):
            target = &out[i, 0]
            for k in range(indptr[i], indptr[i + 1]):
                x = data[k]
                for j in range(columns[indices[k]], columns[indices[k] + 1]):
                    target[rows[j]] += x * others[j]


cdef class SparseRows(Rows):
    """Compressed sparse rows of float32 or float64, or all ones (`data` is None).

    No row has an index twice.
    """

    def __init__(self, data, const int[::1] indices, const Py_ssize_t[::1] indptr,
                 Py_ssize_t n_features, sign, double bias, bint balanced=False):
        super().__init__(indptr.shape[0] - 1, n_features, sign, bias, balanced)
        cdef const double[::1] doubles
        cdef const float[::1] floats
        self.data = data
        if data is not None and len(data):
            if data.dtype == np.float32:
                floats = data
                self.floats = &floats[0]
            else:
                doubles = data
                self.doubles = &doubles[0]
        self.indices = indices
        self.indptr = indptr
        self.columns = &indices[0] if indices.shape[0] else NULL
        self.n_features = n_features
        self.n_stored = indices.shape[0] + (self.n_rows if bias != 0.0 else 0)
        self.longest = np.diff(indptr).max(initial=0) + 1
        # adding up the sums of blocks should cost no more than adding up the rows
        self.block_size = max(<Py_ssize_t> BLOCK, n_features)

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return SparseRows(self.data, self.indices, self.indptr, self.n_features, self.sign,
                          self.bias, self.balanced)

    def squared_norms(self):
        """Return the squared length of every row."""
        out = np.empty(self.n_rows)
        cdef double[::1] view = out
        cdef double squared
        cdef Py_ssize_t i, k
        with nogil:
            for i in range(self.n_rows):
                squared = 0.0
                if self.doubles != NULL:
                    for k in range(self.indptr[i], self.indptr[i + 1]):
                        squared = squared + self.doubles[k] * self.doubles[k]
                elif self.floats != NULL:
                    for k in range(self.indptr[i], self.indptr[i + 1]):
                        squared = squared + <double> self.floats[k] * self.floats[k]
                else:
                    squared = self.indptr[i + 1] - self.indptr[i]
                view[i] = squared + self.bias * self.bias
        return out

    def gram(self, const int[::1] members):
        """Return the lower triangle of <z_a, z_b> over the members (the rest is zero)."""
        if self.quick_inner or not self._rarely_meet(members):
            return Rows.gram(self, members)
        out = np.zeros((members.shape[0], members.shape[0]))
        self._meet_by_columns(members, members, True, out)
        return out

    def products_between(self, const int[::1] members, const int[::1] others):
        """Return <z_a, z_b> for every member a and every other b."""
        if self.quick_inner or members.shape[0] < BY_COLUMNS_FROM or not self._rarely_meet(others):
            return Rows.products_between(self, members, others)
        out = np.zeros((members.shape[0], others.shape[0]))
        self._meet_by_columns(members, others, False, out)
        return out

    def _rarely_meet(self, const int[::1] members):
        """Return whether rows share few columns, and columns are not many more than entries."""
        stored = members.shape[0] * (self.n_stored // max(self.n_rows, 1))
        return (RARE * self.n_stored <= self.n_rows * self.n_cols
                and self.n_cols <= BY_COLUMNS_FROM * stored)

    def _meet_by_columns(self, const int[::1] members, const int[::1] others, bint lower,
                         double[:, ::1] out):
        """Add products of rows to `out`, column by column; if `lower`, of others up to a member.

        Only entries that both rows have are met.
        """
        cdef Py_ssize_t a, b, k, n = others.shape[0]
        cdef int column, j
        cdef double x, square = self.bias * self.bias
        cdef double* target
        cdef int[::1] end = np.zeros(self.n_features + 1, dtype=np.int32)
        for b in range(n):
            for k in range(self.indptr[others[b]], self.indptr[others[b] + 1]):
                end[self.columns[k] + 1] += 1
        np.cumsum(end, dtype=np.int32, out=np.asarray(end))
        cdef int[::1] where = np.empty(end[self.n_features], dtype=np.int32)
        cdef double[::1] entries = np.empty(end[self.n_features])
        with nogil:
            for b in range(n):          # `end` of each column moves from its beginning to its end
                for k in range(self.indptr[others[b]], self.indptr[others[b] + 1]):
                    j = end[self.columns[k]]
                    where[j] = <int> b
                    entries[j] = self._entry(k)
                    end[self.columns[k]] = j + 1
            for a in range(members.shape[0]):
                target = &out[a, 0]
                for k in range(self.indptr[members[a]], self.indptr[members[a] + 1]):
                    column = self.columns[k]
                    x = self._entry(k)
                    for j in range(end[column - 1] if column > 0 else 0, end[column]):
                        if lower and where[j] > a:
                            break
                        target[where[j]] += x * entries[j]
                for b in range(a + 1 if lower else n):
                    target[b] = (self.sign[members[a]] * self.sign[others[b]]
                                 * (target[b] + square))

    cdef inline double _entry(self, Py_ssize_t k) noexcept nogil:
        if self.doubles != NULL:
            return self.doubles[k]
        return self.floats[k] if self.floats != NULL else 1.0

    def add_outer_products(self, const double[::1] factor, const int[::1] members,
                           double[:, ::1] out):
        """Add Σ factor[k] z zᵀ, z = z_members[k], to the lower triangle of out.

        The indices of every row must be sorted.
        """
        cdef Py_ssize_t i, k, start, count
        with nogil:
            for k in range(members.shape[0]):
                i = members[k]
                start = self.indptr[i]
                count = self.indptr[i + 1] - start
                if self.doubles != NULL:
                    _add_outer(self, self.doubles + start, start, count, factor[k], out)
                elif self.floats != NULL:
                    _add_outer(self, self.floats + start, start, count, factor[k], out)
                else:
                    _add_outer(self, <const one_t*> NULL, start, count, factor[k], out)
        self.visits += members.shape[0]

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

    cdef void axpy_pair(self, Py_ssize_t i, double a, double b, double* pair) noexcept nogil:
        _axpy[pair_t](self, i, pair_of(a, b), <pair_t*> pair)

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t start = self.indptr[i], k
        for k in range(start, min(start + PREFETCHED, self.indptr[i + 1]), 16):
            prefetch_line(self.columns + k)
            if self.doubles != NULL:
                prefetch_line(self.doubles + k)
                prefetch_line(self.doubles + k + 8)
            elif self.floats != NULL:
                prefetch_line(self.floats + k)

    cdef void clear(self, Py_ssize_t i, double* v) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.indptr[i], self.indptr[i + 1]):
            v[self.columns[k]] = 0.0
        if self.bias != 0.0:
            v[self.n_features] = 0.0


cdef inline number _bias_term(SparseRows rows, const number* v) noexcept nogil:
    """Return what the bias adds to every product."""
    if rows.bias == 0.0:
        return zero[number](v)
    return times[number](rows.bias, v[rows.n_features])


cdef inline number _dot(SparseRows rows, Py_ssize_t i, const number* v,
                        number rest) noexcept nogil:
    cdef Py_ssize_t first = rows.indptr[i], count = rows.indptr[i + 1] - first
    cdef const int* column = rows.columns + first
    cdef number found
    if rows.doubles != NULL:
        found = row_dot[double, number](rows.doubles + first, column, count, v, rest)
    elif rows.floats != NULL:
        found = row_dot[float, number](rows.floats + first, column, count, v, rest)
    else:
        found = row_dot[one_t, number](NULL, column, count, v, rest)
    return times[number](rows.sign[i], found)


cdef inline void _axpy(SparseRows rows, Py_ssize_t i, number a, number* v) noexcept nogil:
    cdef Py_ssize_t first = rows.indptr[i], count = rows.indptr[i + 1] - first
    cdef const int* column = rows.columns + first
    cdef number signed_a = times[number](rows.sign[i], a)
    if rows.doubles != NULL:
        row_axpy[double, number](rows.doubles + first, column, count, signed_a, v)
    elif rows.floats != NULL:
        row_axpy[float, number](rows.floats + first, column, count, signed_a, v)
    else:
        row_axpy[one_t, number](NULL, column, count, signed_a, v)
    if rows.bias != 0.0:
        v[rows.n_features] = plus_times[number](v[rows.n_features], rows.bias, signed_a)


cdef void _add_outer(SparseRows rows, const entry* x, Py_ssize_t start, Py_ssize_t count,
                     double factor, double[:, ::1] out) noexcept nogil:
    """Add factor z zᵀ to the lower triangle."""
    cdef Py_ssize_t j, k, row, d = rows.n_features
    cdef const int* column = rows.columns + start
    cdef double a
    for j in range(count):
        a = factor * value(x, j)
        row = column[j]
        for k in range(j + 1):
            out[row, column[k]] += a * value(x, k)
    if rows.bias != 0.0:
        for j in range(count):
            out[d, column[j]] += factor * rows.bias * value(x, j)
        out[d, d] += factor * rows.bias * rows.bias
