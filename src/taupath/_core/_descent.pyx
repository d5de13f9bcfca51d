"""Passes over rows z_i = sign_i [x_i, bias] that lie as the user has stored them, and over margins.

Rows are float32 or float64, dense or CSR; every product and sum is a double. Sums over rows are
taken in blocks, so that their rounding grows with √n and not with n: `taupath.approximate.rounding` has the
bounds. `members` of None are all rows. Where all stored entries of a sparse matrix are 1, `ones`,
they are not read.
"""

from libc.stdlib cimport calloc, free as release
from libc.string cimport memset

ctypedef fused real:
    float
    double

cdef enum:
    BLOCK = 256     # rows summed before their sum is added to the total

block_of_rows = BLOCK


# --- products of rows with a vector -----------------------------------------------------------


cdef inline double _dense_dot(const real* x, Py_ssize_t d, const double* v) noexcept nogil:
    cdef Py_ssize_t j, whole = d - d % 4
    cdef double a = 0.0, b = 0.0, c = 0.0, e = 0.0
    for j in range(0, whole, 4):
        a = a + x[j] * v[j]
        b = b + x[j + 1] * v[j + 1]
        c = c + x[j + 2] * v[j + 2]
        e = e + x[j + 3] * v[j + 3]
    for j in range(whole, d):
        a = a + x[j] * v[j]
    return (a + b) + (c + e)


cdef inline double _sparse_dot(const real* x, const int* column, Py_ssize_t n,
                               const double* v) noexcept nogil:
    cdef Py_ssize_t j, even = n - n % 2
    cdef double a = 0.0, b = 0.0
    for j in range(0, even, 2):
        a = a + x[j] * v[column[j]]
        b = b + x[j + 1] * v[column[j + 1]]
    if n % 2:
        a = a + x[n - 1] * v[column[n - 1]]
    return a + b


cdef inline double _pattern_dot(const int* column, Py_ssize_t n, const double* v) noexcept nogil:
    cdef Py_ssize_t j, even = n - n % 2
    cdef double a = 0.0, b = 0.0
    for j in range(0, even, 2):
        a = a + v[column[j]]
        b = b + v[column[j + 1]]
    if n % 2:
        a = a + v[column[n - 1]]
    return a + b


def dense_products(const real[:, ::1] X, const signed char[::1] sign, double bias,
                   const double[::1] v, const int[::1] members, double[::1] out):
    """Set out[k] = <z_i, v>, i = members[k]."""
    cdef Py_ssize_t k, i, d = X.shape[1], m = out.shape[0]
    cdef double rest = bias * v[d] if bias != 0.0 else 0.0
    cdef bint everyone = members is None
    with nogil:
        for k in range(m):
            i = k if everyone else members[k]
            out[k] = sign[i] * (_dense_dot(&X[i, 0], d, &v[0]) + rest)


def sparse_products(const real[::1] data, const int[::1] indices, const Py_ssize_t[::1] indptr,
                    bint ones, const signed char[::1] sign, double bias, const double[::1] v,
                    const int[::1] members, double[::1] out):
    """Set out[k] = <z_i, v>, i = members[k]."""
    cdef Py_ssize_t k, i, length, m = out.shape[0]
    cdef double product, rest = bias * v[v.shape[0] - 1] if bias != 0.0 else 0.0
    cdef bint everyone = members is None
    cdef const real* x = &data[0] if data.shape[0] else NULL
    cdef const int* column = &indices[0] if indices.shape[0] else NULL
    with nogil:
        for k in range(m):
            i = k if everyone else members[k]
            length = indptr[i + 1] - indptr[i]
            if ones:
                product = _pattern_dot(column + indptr[i], length, &v[0])
            else:
                product = _sparse_dot(x + indptr[i], column + indptr[i], length, &v[0])
            out[k] = sign[i] * (product + rest)


# --- sums of rows -------------------------------------------------------------------------------


def dense_total(const real[:, ::1] X, const signed char[::1] sign, double bias,
                const int[::1] members, const double[::1] factor, double[::1] out):
    """Add Σ factor[k] z_i, i = members[k], to out."""
    cdef Py_ssize_t b, first, last, k, j, i, d = X.shape[1], m = factor.shape[0], block = BLOCK
    cdef double a, constant
    cdef bint everyone = members is None
    cdef const real* x
    cdef double* part = <double*> calloc(d, sizeof(double))
    if part == NULL:
        raise MemoryError()
    with nogil:
        for b in range((m + block - 1) // block):
            first = b * block
            last = min(first + block, m)
            memset(part, 0, d * sizeof(double))
            constant = 0.0
            for k in range(first, last):
                i = k if everyone else members[k]
                a = sign[i] * factor[k]
                if a == 0.0:
                    continue
                x = &X[i, 0]
                for j in range(d):
                    part[j] = part[j] + a * x[j]
                constant = constant + a
            for j in range(d):
                out[j] += part[j]
            if bias != 0.0:
                out[d] += bias * constant
    release(part)


def sparse_total(const real[::1] data, const int[::1] indices, const Py_ssize_t[::1] indptr,
                 bint ones, const signed char[::1] sign, double bias, const int[::1] members,
                 const double[::1] factor, double[::1] out):
    """Add Σ factor[k] z_i, i = members[k], to out.

    Blocks are as long as a row has columns, where that is more: then their sums cost no more than
    the rows.
    """
    cdef Py_ssize_t b, first, last, k, j, i, width = out.shape[0], m = factor.shape[0]
    cdef Py_ssize_t d = width - 1 if bias != 0.0 else width
    cdef Py_ssize_t block = max(<Py_ssize_t> BLOCK, d)
    cdef double a, constant
    cdef bint everyone = members is None
    cdef double* part = <double*> calloc(max(d, 1), sizeof(double))
    if part == NULL:
        raise MemoryError()
    with nogil:
        for b in range((m + block - 1) // block):
            first = b * block
            last = min(first + block, m)
            memset(part, 0, d * sizeof(double))
            constant = 0.0
            for k in range(first, last):
                i = k if everyone else members[k]
                a = sign[i] * factor[k]
                if a == 0.0:
                    continue
                if ones:
                    for j in range(indptr[i], indptr[i + 1]):
                        part[indices[j]] = part[indices[j]] + a
                else:
                    for j in range(indptr[i], indptr[i + 1]):
                        part[indices[j]] = part[indices[j]] + a * data[j]
                constant = constant + a
            for j in range(d):
                out[j] += part[j]
            if bias != 0.0:
                out[d] += bias * constant
    release(part)


def sparse_squares(const real[::1] data, const int[::1] indices, const Py_ssize_t[::1] indptr,
                   bint ones, const signed char[::1] sign, double bias, const int[::1] members,
                   const double[::1] factor, double[:, ::1] out):
    """Add Σ factor[k] z_i z_iᵀ, i = members[k], to the lower triangle of out."""
    cdef Py_ssize_t k, j, l, i, row, d = out.shape[0] - 1, m = factor.shape[0]
    cdef double a
    with nogil:
        for k in range(m):
            i = members[k]
            for j in range(indptr[i], indptr[i + 1]):
                row = indices[j]
                if ones:
                    for l in range(indptr[i], j + 1):  # columns are sorted
                        out[row, indices[l]] += factor[k]
                else:
                    a = factor[k] * data[j]
                    for l in range(indptr[i], j + 1):
                        out[row, indices[l]] += a * data[l]
            if bias != 0.0:
                for j in range(indptr[i], indptr[i + 1]):
                    out[d, indices[j]] += factor[k] * bias * data[j]
                out[d, d] += factor[k] * bias * bias


def inner(const double[::1] a, const double[::1] b):
    """Return Σ a_i b_i, summed in blocks."""
    cdef Py_ssize_t first, i, n = a.shape[0], block = BLOCK
    cdef double total = 0.0, part
    with nogil:
        for first in range((n + block - 1) // block):
            part = 0.0
            for i in range(first * block, min((first + 1) * block, n)):
                part = part + a[i] * b[i]
            total = total + part
    return total


# --- the smoothed loss, from margins ------------------------------------------------------------
#
# The share a_i = clip(centre + (p_i - m_i) / width, 0, 1) says where in its box θ_i is. Class 0 are
# the rows with sign +1, class 1 those with sign -1.


def shares(const double[::1] margin, const double[::1] target, const double[::1] weight,
           const signed char[::1] sign, const double[::1] centre, double width,
           double[::1] share, int[::1] changed, double[::1] change, int[::1] between,
           double[:, ::1] sums):
    """Bring shares up to date; return how many have changed and how many are between 0 and 1.

    Parameters
    ----------
    share : in and out
        a.
    changed, change : out
        Rows whose share is another now, and by how much it has grown, times their weight.
    between : out
        Rows with 0 < a < 1. Like the two before it, one longer than there are rows.
    sums : out, shape (2, 5)
        Of each class: Σ weight (p - m)₊, Σ weight (m - p)₊, Σ weight p a; over rows
        between 0 and 1 also Σ weight and Σ weight a.
    """
    cdef Py_ssize_t b, first, last, i, n = margin.shape[0], block = BLOCK
    cdef Py_ssize_t n_changed = 0, n_between = 0
    cdef int k, j, inside
    cdef double short, a, grown
    cdef double part[2][5]
    cdef double each = 1.0 / width
    sums[:, :] = 0.0
    with nogil:
        for b in range((n + block - 1) // block):
            first = b * block
            last = min(first + block, n)
            memset(part, 0, sizeof(part))
            for i in range(first, last):
                k = sign[i] < 0
                short = target[i] - margin[i]
                a = centre[k] + each * short
                inside = (a > 0.0) & (a < 1.0)
                a = a if a > 0.0 else 0.0
                a = a if a < 1.0 else 1.0
                # without branches, which would be guessed wrong: what does not count is overwritten
                between[n_between] = <int> i
                n_between += inside
                grown = a - share[i]
                share[i] = a
                changed[n_changed] = <int> i
                change[n_changed] = weight[i] * grown
                n_changed += grown != 0.0
                part[k][0] += weight[i] * (short if short > 0.0 else 0.0)
                part[k][1] += weight[i] * (-short if short < 0.0 else 0.0)
                part[k][2] += weight[i] * target[i] * a
                part[k][3] += inside * weight[i]
                part[k][4] += inside * weight[i] * a
            for k in range(2):
                for j in range(5):
                    sums[k, j] += part[k][j]
    return n_changed, n_between


def slope(const double[::1] margin, const double[::1] rate, double step,
          const double[::1] target, const double[::1] weight, const signed char[::1] sign,
          const double[::1] centre, double width, const double[::1] box):
    """Return Σ box a δ and Σ box δ² / width over 0 < a < 1, at margins m + step δ.

    `box` is that of each class, for weight 1.
    """
    cdef Py_ssize_t i, n = margin.shape[0]
    cdef int k
    cdef double a, pull, first = 0.0, second = 0.0, each = 1.0 / width
    cdef bint inside
    with nogil:
        for i in range(n):
            k = sign[i] < 0
            a = centre[k] + each * (target[i] - margin[i] - step * rate[i])
            inside = (a > 0.0) & (a < 1.0)
            a = a if a > 0.0 else 0.0
            a = a if a < 1.0 else 1.0
            pull = box[k] * weight[i] * rate[i]
            first = first + a * pull
            second = second + inside * pull * rate[i]
    return first, each * second


# --- the loss all along a chord -----------------------------------------------------------------


def chord_losses(const double[::1] begin, const double[::1] end, const double[::1] target,
                 const double[::1] weight, const signed char[::1] sign,
                 double[:, :, ::1] out):
    """Sum losses at margins on the way from `begin` to `end`.

    out[k, 0, j] = Σ weight (p - m)₊ and out[k, 1, j] = Σ weight (m - p)₊ over class k, at
    m = (1 - s) begin + s end, s = j / n_panels. A row on one side of its target at both ends is
    on that side all along, where its loss is linear: only others are looked at in between.
    """
    cdef Py_ssize_t b, first, last, i, j, n = begin.shape[0], block = BLOCK
    cdef Py_ssize_t n_panels = out.shape[2] - 1
    cdef int k, side
    cdef double before, after, s, short
    cdef double ends[2][2][2]
    cdef double* part = <double*> calloc(4 * (n_panels + 1), sizeof(double))
    if part == NULL:
        raise MemoryError()
    out[:, :, :] = 0.0
    with nogil:
        for b in range((n + block - 1) // block):
            first = b * block
            last = min(first + block, n)
            memset(ends, 0, sizeof(ends))
            memset(part, 0, 4 * (n_panels + 1) * sizeof(double))
            for i in range(first, last):
                k = sign[i] < 0
                before, after = target[i] - begin[i], target[i] - end[i]
                if before >= 0.0 and after >= 0.0:
                    ends[k][0][0] += weight[i] * before
                    ends[k][0][1] += weight[i] * after
                elif before <= 0.0 and after <= 0.0:
                    ends[k][1][0] -= weight[i] * before
                    ends[k][1][1] -= weight[i] * after
                else:
                    for j in range(n_panels + 1):
                        s = <double> j / n_panels
                        short = weight[i] * ((1.0 - s) * before + s * after)
                        side = short < 0.0
                        part[(2 * k + side) * (n_panels + 1) + j] += -short if side else short
            for k in range(2):
                for side in range(2):
                    for j in range(n_panels + 1):
                        s = <double> j / n_panels
                        out[k, side, j] += (part[(2 * k + side) * (n_panels + 1) + j]
                                            + (1.0 - s) * ends[k][side][0]
                                            + s * ends[k][side][1])
    release(part)
