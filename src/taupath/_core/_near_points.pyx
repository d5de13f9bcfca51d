"""The few points near the margin, evaluated together.

Where rows have few columns, a walk makes many short steps within a small ball. As long as w stays
in it, only points within its radius of the margin can meet that, so all others are forgotten. The
rows of the near ones lie side by side, eight at a time, and are met by w and its rate at once.
"""

cimport cython
from libc.math cimport sqrt
from libc.string cimport memset

import numpy as np

from taupath._core._tolerances cimport EARLY, ROUNDED_UP

cdef extern from *:
    """
    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
    #define FOR_EVERY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define FOR_EVERY_PROCESSOR
    #endif

    #if defined(__GNUC__) || defined(__clang__)
    typedef double four_t __attribute__((vector_size(32), aligned(8)));
    typedef long long four_signs __attribute__((vector_size(32)));
    #define FOUR_AT(address) (*(four_t*) (address))
    FOR_EVERY_PROCESSOR
    static void products_of_both(const double* u, const double* v, Py_ssize_t d, double* rows,
                                 Py_ssize_t n, double* with_u, double* with_v) {
        Py_ssize_t i, k;
        for (i = 0; i < n; i += 8) {
            four_t a0 = {0.0}, a1 = a0, b0 = a0, b1 = a0;
            for (k = 0; k < d; k++, rows += 8) {
                const four_t x0 = FOUR_AT(rows), x1 = FOUR_AT(rows + 4);
                a0 += u[k] * x0;
                a1 += u[k] * x1;
                b0 += v[k] * x0;
                b1 += v[k] * x1;
            }
            FOUR_AT(with_u + i) = a0;
            FOUR_AT(with_u + i + 4) = a1;
            FOUR_AT(with_v + i) = b0;
            FOUR_AT(with_v + i + 4) = b1;
        }
    }
    FOR_EVERY_PROCESSOR
    static Py_ssize_t subtract_targets(const double* target, Py_ssize_t n, double step,
                                       double* slack, const double* rate, int* reached) {
        Py_ssize_t i, count = 0;
        for (i = 0; i < n; i += 8) {
            const four_t s0 = FOUR_AT(slack + i) - FOUR_AT(target + i);
            const four_t s1 = FOUR_AT(slack + i + 4) - FOUR_AT(target + i + 4);
            const four_signs below = (s0 + step * FOUR_AT(rate + i) < 0.0)
                                     | (s1 + step * FOUR_AT(rate + i + 4) < 0.0);
            FOUR_AT(slack + i) = s0;
            FOUR_AT(slack + i + 4) = s1;
            reached[count] = (int) i;
            count += ((below[0] | below[1]) | (below[2] | below[3])) != 0;
        }
        return count;
    }
    #else
    static void products_of_both(const double* u, const double* v, Py_ssize_t d, double* rows,
                                 Py_ssize_t n, double* with_u, double* with_v) {
        Py_ssize_t i, j, k;
        for (i = 0; i < n; i += 8)
            for (j = 0; j < 8; j++) {
                double a = 0.0, b = 0.0;
                for (k = 0; k < d; k++) {
                    a += u[k] * rows[i * d + 8 * k + j];
                    b += v[k] * rows[i * d + 8 * k + j];
                }
                with_u[i + j] = a;
                with_v[i + j] = b;
            }
    }
    static Py_ssize_t subtract_targets(const double* target, Py_ssize_t n, double step,
                                       double* slack, const double* rate, int* reached) {
        Py_ssize_t i, j, count = 0;
        for (i = 0; i < n; i += 8) {
            int below = 0;
            for (j = i; j < i + 8; j++) {
                slack[j] -= target[j];
                below |= slack[j] + step * rate[j] < 0.0;
            }
            reached[count] = (int) i;
            count += below;
        }
        return count;
    }
    #endif
    """
    # Products of n rows of d entries, in blocks of eight, with u and with v.
    void products_of_both(const double* u, const double* v, Py_ssize_t d, double* rows,
                          Py_ssize_t n, double* with_u, double* with_v) noexcept nogil
    # Subtract targets from n slacks. The blocks of eight in which one falls below zero within the
    # step go to `reached`, by their first place; returns their number.
    Py_ssize_t subtract_targets(const double* target, Py_ssize_t n, double step, double* slack,
                                const double* rate, int* reached) noexcept nogil

cdef enum:
    CAPACITY = 512      # points of a list, at most
    # Looks that a ball should last for: with fewer, lists are made too often; with more, they are
    # long.
    FEWEST_LOOKS = 8
    MOST_LOOKS = 16

# The radius of a ball, as a multiple of the last one, if that was too small or too large.
cdef double WIDER, NARROWER
WIDER, NARROWER = 1.25, 0.8
# The radius of the first ball, as part of the largest distance of a point from the margin.
cdef double FIRST_RADIUS = 0.02


cdef Py_ssize_t in_blocks(Py_ssize_t n):
    """Return n, rounded up to whole blocks."""
    return (n + BLOCK_SIZE - 1) // BLOCK_SIZE * BLOCK_SIZE


@cython.final
cdef class NearPoints:
    """A list of points, and the ball that it is for.

    Parameters
    ----------
    rows : Rows
        The z_i.
    metric : Metric
        How to measure w.
    """

    def __init__(self, Rows rows, metric):
        cdef Py_ssize_t capacity = min(rows.n_rows, <Py_ssize_t> CAPACITY)
        cdef Py_ssize_t d = rows.n_cols, room = in_blocks(capacity), height = in_blocks(d)
        self.rows, self.n_cols, self.capacity = rows, d, capacity
        self.points = np.zeros(capacity, dtype=np.int32)
        self.place = np.full(rows.n_rows, -1, dtype=np.int32)
        self.reached = np.zeros(room // BLOCK_SIZE + 1, dtype=np.int32)
        self.slack, self.rate, self.target = np.zeros(room), np.zeros(room), np.zeros(room)
        self.blocks = np.zeros(room * d)
        R = np.zeros((height, d))
        R[:d] = metric.R[:d, :d]
        self.R_blocks = np.ravel(R.reshape(-1, BLOCK_SIZE, d).transpose(0, 2, 1))
        self.centre, self.w, self.w_rate = np.zeros(d), np.zeros(d), np.zeros(d)
        self.gone, self.row = np.zeros(d), np.zeros(d)
        self.gone_R, self.rate_R = np.zeros(height), np.zeros(height)
        self.radius = -1.0

    cdef void face(self, const double* pairs, double a) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_cols):
            self.w_rate[k] = pairs[2 * k + 1]
            self.w[k] = pairs[2 * k] + a * pairs[2 * k + 1]
            self.gone[k] = self.w[k] - self.centre[k]
        products_of_both(&self.gone[0], &self.w_rate[0], self.n_cols, &self.R_blocks[0],
                         self.n_cols, &self.gone_R[0], &self.rate_R[0])

    cdef Py_ssize_t look(self, double step) noexcept nogil:
        self.n_looks += 1
        products_of_both(&self.w[0], &self.w_rate[0], self.n_cols, &self.blocks[0], self.size,
                         &self.slack[0], &self.rate[0])
        return subtract_targets(&self.target[0], self.size, step, &self.slack[0], &self.rate[0],
                                &self.reached[0])

    cdef double away(self, double step) noexcept nogil:
        cdef Py_ssize_t k
        cdef double entry, total = 0.0
        for k in range(self.n_cols):
            entry = self.gone_R[k] + step * self.rate_R[k]
            total = total + entry * entry
        return ROUNDED_UP * sqrt(total)

    cdef bint leaves_ball(self, double step) noexcept nogil:
        return self.away(step) > EARLY * self.radius

    cdef double pace(self) noexcept nogil:
        cdef Py_ssize_t k
        cdef double total = 0.0
        for k in range(self.n_cols):
            total = total + self.rate_R[k] * self.rate_R[k]
        return ROUNDED_UP * sqrt(total)

    cdef void new_ball(self) noexcept nogil:
        if self.radius >= 0.0 and self.radius < self.wanted:
            self.wanted = self.radius       # the list was full
        if self.n_looks < FEWEST_LOOKS:
            self.wanted = WIDER * self.wanted
        elif self.n_looks > MOST_LOOKS:
            self.wanted = NARROWER * self.wanted
        self.radius = self.wanted
        self.n_looks = 0
        self._move_centre()

    cdef void forget_ball(self, const double* pairs, double a) noexcept nogil:
        self.face(pairs, a)
        self._move_centre()
        self.radius = -1.0

    cdef void _move_centre(self) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_cols):
            self.centre[k] = self.w[k]
            self.gone_R[k] = 0.0

    cdef void add(self, int i, double sense, double target) noexcept nogil:
        cdef Py_ssize_t k, j = self.size
        cdef double* block = &self.blocks[0] + j // BLOCK_SIZE * BLOCK_SIZE * self.n_cols
        self.size += 1
        self.points[j] = i
        self.place[i] = <int> j
        self.target[j] = sense * target
        memset(&self.row[0], 0, self.n_cols * sizeof(double))
        self.rows.axpy(i, sense, &self.row[0])
        for k in range(self.n_cols):
            block[BLOCK_SIZE * k + j % BLOCK_SIZE] = self.row[k]

    cdef void remove(self, int i) noexcept nogil:
        cdef Py_ssize_t k, j = self.place[i], last = self.size - 1
        cdef double* block = &self.blocks[0] + j // BLOCK_SIZE * BLOCK_SIZE * self.n_cols
        cdef double* other = &self.blocks[0] + last // BLOCK_SIZE * BLOCK_SIZE * self.n_cols
        self.place[i] = -1
        self.size = last
        if j == last:
            return
        for k in range(self.n_cols):
            block[BLOCK_SIZE * k + j % BLOCK_SIZE] = other[BLOCK_SIZE * k + last % BLOCK_SIZE]
        self.points[j] = self.points[last]
        self.slack[j], self.rate[j] = self.slack[last], self.rate[last]
        self.target[j] = self.target[last]
        self.place[self.points[j]] = <int> j

    cdef void clear(self, double farthest) noexcept nogil:
        cdef Py_ssize_t j
        if self.wanted == 0.0:
            self.wanted = FIRST_RADIUS * farthest
        for j in range(self.size):
            self.place[self.points[j]] = -1
        self.size = 0

    cdef bint full(self) noexcept nogil:
        return self.size == self.capacity
