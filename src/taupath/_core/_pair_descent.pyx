"""Descent on the dual problem with a kernel matrix in memory, two samples at a time.

    min ½ Σ_ij σ_i θ_i k_ij σ_j θ_j + ½ bias² (Σ σ_i θ_i)² - Σ θ_i,   0 ≤ θ_i ≤ h_i

The intercept bias² Σ σ_i θ_i is kept apart, as a variable of its own, so that moving two samples
does not move all margins together. `lack` is σ_i minus what f is at x_i without the intercept, for
all samples of the matrix: those without a box are carried along.

A step takes the sample (or the intercept) whose lack is largest among those that may rise, and the
partner with which the objective falls most (Fan, Chen & Lin 2005).
"""

cimport taupath._core._vectors
from libc.float cimport DBL_EPSILON

import numpy as np

cdef extern from *:
    """
    #define LANES 16
    #define CHUNK 128           /* an index is looked for in one chunk, not among all samples */
    #define NOWHERE 1e30
    #define FLATTEST 1e-6f      /* copies of a sample would have no curvature */

    FOR_EVERY_PROCESSOR
    static void add_row(Py_ssize_t n, double a, const float* x, double* out) {
        Py_ssize_t i;
        for (i = 0; i < n; i++) out[i] += a * x[i];
    }

    /* out += a x + b z; the index of the largest out + barred, which is set. */
    FOR_EVERY_PROCESSOR
    static Py_ssize_t add_and_find_largest(Py_ssize_t n, double a, const float* x, double b,
                                           const float* z, const float* barred, double* out,
                                           double* found) {
        double most = -NOWHERE;
        Py_ssize_t first, i, k, chunk = 0;
        for (first = 0; first < n; first += CHUNK) {
            const Py_ssize_t end = first + CHUNK < n ? first + CHUNK : n;
            double best[LANES], own = -NOWHERE;
            for (k = 0; k < LANES; k++) best[k] = -NOWHERE;
            for (i = first; i + LANES <= end; i += LANES)
                for (k = 0; k < LANES; k++) {
                    const double at = out[i + k] + (a * x[i + k] + b * z[i + k]);
                    const double there = at + barred[i + k];
                    out[i + k] = at;
                    best[k] = there > best[k] ? there : best[k];
                }
            for (; i < end; i++) {
                const double at = out[i] + (a * x[i] + b * z[i]), there = at + barred[i];
                out[i] = at;
                own = there > own ? there : own;
            }
            for (k = 0; k < LANES; k++) own = best[k] > own ? best[k] : own;
            if (own > most) { most = own; chunk = first; }
        }
        *found = most;
        for (i = chunk; i < n; i++)
            if (out[i] + barred[i] == most) return i;
        return -1;
    }

    /* The partner with which the objective falls most, -1 if there is none. Its gain is set, and
       the least lack - barred. Gains are in single precision: they only choose. */
    FOR_EVERY_PROCESSOR
    static Py_ssize_t find_partner(Py_ssize_t n, const double* lack, const float* barred,
                                   const float* row, const float* diagonal, double own,
                                   float own_square, double* least, float* gain) {
        double low = NOWHERE;
        float most = 0.0f;
        Py_ssize_t first, i, k, chunk = 0;
    #define LOOK_AT(i)                                                                  \\
        const double at = lack[i] - barred[i];                                          \\
        const float above = (float) (own - at), rise = above > 0.0f ? above : 0.0f;     \\
        const float bend = own_square + diagonal[i] - 2.0f * row[i];                    \\
        const float gained = rise * rise / (bend > FLATTEST ? bend : FLATTEST);
        for (first = 0; first < n; first += CHUNK) {
            const Py_ssize_t end = first + CHUNK < n ? first + CHUNK : n;
            double lowest[LANES];
            float best[LANES], here = 0.0f;
            for (k = 0; k < LANES; k++) { lowest[k] = NOWHERE; best[k] = 0.0f; }
            for (i = first; i + LANES <= end; i += LANES)
                for (k = 0; k < LANES; k++) {
                    LOOK_AT(i + k)
                    lowest[k] = at < lowest[k] ? at : lowest[k];
                    best[k] = gained > best[k] ? gained : best[k];
                }
            for (; i < end; i++) {
                LOOK_AT(i)
                low = at < low ? at : low;
                here = gained > here ? gained : here;
            }
            for (k = 0; k < LANES; k++) {
                low = lowest[k] < low ? lowest[k] : low;
                here = best[k] > here ? best[k] : here;
            }
            if (here > most) { most = here; chunk = first; }
        }
        *least = low;
        *gain = most;
        for (i = chunk; i < n && most > 0.0f; i++) {
            LOOK_AT(i)
            if (at < own && gained >= most) return i;
        }
        return -1;
    }
    """
    void add_row(Py_ssize_t n, double a, const float* x, double* out) noexcept nogil
    Py_ssize_t add_and_find_largest(Py_ssize_t n, double a, const float* x, double b,
                                    const float* z, const float* barred, double* out,
                                    double* found) noexcept nogil
    Py_ssize_t find_partner(Py_ssize_t n, const double* lack, const float* barred,
                            const float* row, const float* diagonal, double own, float own_square,
                            double* least, float* gain) noexcept nogil
    double FLATTEST

# Added to the lack of samples that cannot move: more than any lack.
cdef float BARRED = -1e20
# A θ that comes this close to an end of its box, as part of where it was or of the box, is there:
# the rest is rounding of the step. Anything more would be a part of f that θ does not have.
cdef double ROUNDING = 4.0 * DBL_EPSILON


cdef class PairDescent:
    """Solves for one box after another; θ = 0 in the beginning.

    A `sign` of 0 is that of samples that are only carried along.
    """

    cdef const float[:, ::1] matrix
    cdef const double[::1] sign
    cdef float[::1] diagonal, nothing, cannot_rise, cannot_fall
    cdef double[::1] theta, before, upper, lack, lack_before
    cdef double square, total
    cdef bint begun
    cdef readonly double intercept
    cdef readonly Py_ssize_t steps

    def __init__(self, const float[:, ::1] matrix, const double[::1] sign, double bias):
        n = matrix.shape[0]
        self.matrix, self.sign, self.square = matrix, sign, bias * bias
        self.diagonal = np.ascontiguousarray(np.diagonal(matrix))
        self.nothing, self.cannot_rise, self.cannot_fall = np.zeros((3, n), dtype=np.float32)
        self.theta, self.before, self.upper, self.lack_before = np.zeros((4, n))
        self.lack = np.array(sign)

    def values(self):
        """Return f of all samples."""
        return np.asarray(self.sign) - np.asarray(self.lack) + self.intercept

    def carry(self, const double[::1] upper, double factor):
        """Go on to other boxes: θ moves by `factor` times its last move, or stays at its bound."""
        cdef Py_ssize_t i, n = self.lack.shape[0]
        cdef double here, there, goal
        with nogil:
            for i in range(n):
                here = self.lack[i]
                self.lack[i] = here + factor * (here - self.lack_before[i])
                self.lack_before[i] = here
            self.total = 0.0
            for i in range(n):
                if self.sign[i] == 0.0:
                    continue
                here = self.theta[i]
                there = here + factor * (here - self.before[i])
                goal = min(max(there, 0.0), upper[i])
                if self.begun and here >= self.upper[i]:
                    goal = upper[i]
                elif here <= 0.0:
                    goal = 0.0
                if goal != there:
                    add_row(n, self.sign[i] * (there - goal), &self.matrix[i, 0], &self.lack[0])
                self.before[i], self.theta[i], self.upper[i] = here, goal, upper[i]
                self.total += self.sign[i] * goal
        self.begun = True

    cdef void place(self, Py_ssize_t i, double theta) noexcept nogil:
        """Set θ_i, up to rounding at the ends of its box, and whether σ_i θ_i may rise and fall."""
        cdef double upper = self.upper[i]
        cdef bint more, less
        if theta <= ROUNDING * self.theta[i]:
            theta = 0.0
        elif upper - theta <= ROUNDING * upper:
            theta = upper
        more, less = theta < upper, theta > 0.0
        if self.sign[i] < 0.0:
            more, less = less, more
        self.theta[i] = theta
        self.cannot_rise[i] = 0.0 if more else BARRED
        self.cannot_fall[i] = 0.0 if less else BARRED

    def solve(self, double violation, Py_ssize_t most):
        """Take steps until no two lacks are further apart than this; return whether they sufficed.

        At most so many steps are taken.
        """
        cdef Py_ssize_t i, j, n = self.lack.shape[0], taken = 0
        cdef double own, least, middle, constant, length, bend
        cdef float gain
        cdef bint settled
        with nogil:
            for i in range(n):
                self.place(i, self.theta[i])
            i = self.moved(-1, -1, 0.0, &own)
            while True:
                constant = self.square * self.total
                if constant >= own:  # the intercept falls, and a sample with it
                    i, own = -1, constant
                    j = find_partner(n, &self.lack[0], &self.cannot_fall[0], &self.nothing[0],
                                     &self.diagonal[0], own, self.square, &least, &gain)
                else:
                    j = find_partner(n, &self.lack[0], &self.cannot_fall[0], &self.matrix[i, 0],
                                     &self.diagonal[0], own, self.diagonal[i], &least, &gain)
                    if (own - constant) ** 2 >= gain * (self.diagonal[i] + self.square):
                        j = -1
                least = min(least, constant)
                middle = 0.5 * (own + least)
                settled = own - least <= violation
                if settled or (i < 0 and j < 0) or taken >= most:
                    break
                if i < 0 or j < 0:
                    bend = self.diagonal[max(i, j)] + self.square
                else:
                    bend = self.diagonal[i] + self.diagonal[j] - 2.0 * self.matrix[i, j]
                length = (own - (constant if j < 0 else self.lack[j])) / max(bend, FLATTEST)
                if i >= 0:
                    length = min(length, self.room(i, self.sign[i]))
                if j >= 0:
                    length = min(length, self.room(j, -self.sign[j]))
                i = self.moved(i, j, length, &own)
                taken += 1
        self.steps += taken
        self.intercept = middle if self.square > 0.0 else 0.0
        return settled

    cdef Py_ssize_t moved(self, Py_ssize_t i, Py_ssize_t j, double length,
                          double* own) noexcept nogil:
        """Let σ_i θ_i rise and σ_j θ_j fall; return what may rise next, and set its lack.

        An index of -1 is the intercept.
        """
        cdef const float* up = &self.nothing[0]
        cdef const float* down = up
        if i >= 0:
            self.place(i, self.theta[i] + self.sign[i] * length)
            self.total += length
            up = &self.matrix[i, 0]
        if j >= 0:
            self.place(j, self.theta[j] - self.sign[j] * length)
            self.total -= length
            down = &self.matrix[j, 0]
        return add_and_find_largest(self.lack.shape[0], -length, up, length, down,
                                    &self.cannot_rise[0], &self.lack[0], own)

    cdef double room(self, Py_ssize_t i, double towards) noexcept nogil:
        """Return how far θ_i can move upwards, or downwards."""
        return self.upper[i] - self.theta[i] if towards > 0.0 else self.theta[i]
