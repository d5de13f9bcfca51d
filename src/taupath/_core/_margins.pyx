"""Passes over the margins m_i = <z_i, w> of all samples: dual points, slopes and sums of losses.

Class 0 are the rows with sign +1, class 1 those with sign -1; p are the targets. Sums are taken in
blocks: `taupath.approximate.rounding` bounds their error.
"""

from libc.stdlib cimport calloc, free as release
from libc.string cimport memset

from taupath._core._rows cimport BLOCK

block_size = BLOCK


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


# --- the smoothed loss ---------------------------------------------------------------------------
#
# The fraction a_i = clip(centre + (p_i - m_i) / width, 0, 1) says where in its box θ_i is.


def update_fractions(const double[::1] margin, const double[::1] target,
                     const double[::1] weight, const signed char[::1] sign,
                     const double[::1] centre, double width, double[::1] fraction,
                     int[::1] changed, double[::1] change, int[::1] inner, double[:, ::1] sums):
    """Recompute the fractions; return how many changed and how many are between 0 and 1.

    Parameters
    ----------
    fraction : in and out
        a.
    changed, change : out
        Rows whose fraction changed, and by how much, times their weight.
    inner : out
        Rows with 0 < a < 1. Like the two before it, one longer than there are rows.
    sums : out, shape (2, 5)
        For each class: Σ weight (p - m)₊, Σ weight (m - p)₊, Σ weight p a; over rows
        with 0 < a < 1 also Σ weight and Σ weight a.
    """
    cdef Py_ssize_t b, first, last, i, n = margin.shape[0], block = BLOCK
    cdef Py_ssize_t n_changed = 0, n_inner = 0
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
                # no branch, which would be mispredicted: the next row overwrites an outer one
                inner[n_inner] = <int> i
                n_inner += inside
                grown = a - fraction[i]
                fraction[i] = a
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
    return n_changed, n_inner


def slope(const double[::1] margin, const double[::1] rate, double step,
          const double[::1] target, const double[::1] weight, const signed char[::1] sign,
          const double[::1] centre, double width, const double[::1] box):
    """Return Σ box a δ, and Σ box δ² / width over 0 < a < 1, at margins m + step δ.

    `box` has one entry for each class, for weight 1.
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


# --- losses between two points -------------------------------------------------------------------


def chord_losses(const double[::1] begin, const double[::1] end, const double[::1] target,
                 const double[::1] weight, const signed char[::1] sign,
                 double[:, :, ::1] out):
    """Add up the losses at margins between `begin` and `end`.

    out[k, 0, j] = Σ weight (p - m)₊ and out[k, 1, j] = Σ weight (m - p)₊ over class k, at
    m = (1 - s) begin + s end, s = j / n_panels. The loss of a row that is on one side of its target
    at both ends is linear in s: only the others are evaluated in between.
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
