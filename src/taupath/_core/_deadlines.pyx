"""Deadlines: which points have to be looked at before w has moved by a given length.

Since |<z_i, Δw>| ≤ ‖z_i‖ ‖Δw‖ (in any metric), a point with slack g_i cannot meet the margin before
w has moved by |g_i| / ‖z_i‖ from where that slack was seen. Deadlines must never be missed, but
need no exact order, so putting and popping take constant time.

Near points lie in a timing wheel over the length that w has travelled: levels of slots whose
widths double. A point goes to the level whose slots are at most an eighth of its distance wide,
hence is looked at after 7/8 of it at the earliest.

In few dimensions w goes to and fro and stays much nearer than it has travelled: √k steps away
after k. There, points that are many steps away lie in balls. A ball has a centre, a former place
of w, and holds points that cannot meet the margin while w stays within its radius of that centre.
When w is about to leave the ball its points come out, and its centre moves to w.
"""

cimport cython
from libc.math cimport frexp
from libc.string cimport memcpy

import numpy as np

from taupath._core._tolerances cimport EARLY, FARTHER

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    /* e with x = f 2^e, 1/2 <= f < 1; very small for x = 0 */
    static inline int exponent_of(double x) {
        uint64_t bits;
        memcpy(&bits, &x, sizeof bits);
        return (int) ((bits >> 52) & 0x7ff) - 1022;
    }
    static inline uint32_t rotated(uint64_t x, int by) {
        uint32_t y = (uint32_t) x;
        return by ? (y << by) | (y >> (32 - by)) : y;
    }
    """
    int exponent_of(double x) noexcept nogil
    unsigned int rotated(unsigned long long x, int by) noexcept nogil


# Balls are for points at least so many steps away: nearer ones would soon come out again.
cdef double STRIDES = 8.0
# Weight of the last step in their mean length: it follows the last 64 steps or so.
cdef double LATELY = 1.0 / 64.0


@cython.final
cdef class Deadlines:
    """A timing wheel; in a metric, which is for few dimensions, also balls."""

    def __init__(self, Py_ssize_t n_points, const double[::1] pairs, metric=None):
        # w and its rate, interleaved, belong to the caller, who keeps them
        self.pairs = &pairs[0]
        self.n_cols = pairs.shape[0] // 2
        self.n_points = n_points
        # all chunks of a list are full but its first
        self.pool = np.zeros((n_points // ITEMS + min(n_points, LEVELS * SLOTS + BALLS) + 1,
                              sizeof(Chunk) // sizeof(int)), dtype=np.int32)
        self.chunks = <Chunk*> &self.pool[0, 0]
        self.n_balls = 0
        if metric is not None:
            self.n_balls = BALLS
            self.R = metric.R
            self.gone = np.zeros(self.n_cols)
        self.centre = np.zeros((max(self.n_balls, 1), self.n_cols))
        self.clear(1.0, 1.0)

    cdef void locate(self, double a, double t) noexcept nogil:
        self.a = a
        self.t = t

    cdef void clear(self, double farthest, double stride) noexcept nogil:
        cdef int level, k, exponent
        frexp(farthest, &exponent)
        self.travelled = 0.0
        self.levels = 0
        self.balls = 0
        self.vacant = 0
        for k in range(<int> self.pool.shape[0]):
            self.chunks[k].following = k + 1
        for level in range(LEVELS):
            self.occupied[level] = 0
            self.width[level] = 2.0 ** (exponent - 3 + level - (LEVELS - 1))
            self.per_width[level] = 1.0 / self.width[level]
            for k in range(SLOTS):
                self.head[level][k] = -1
        self.stride = stride
        for k in range(self.n_balls):
            self.inside[k] = -1
            self.radius[k] = stride * 2.0 ** (k - BALLS // 2)
        if self.n_balls:
            self.per_radius = 1.0 / self.radius[0]

    cdef void put(self, int i, double distance) noexcept nogil:
        cdef int level
        cdef long long slot, last
        distance = EARLY * distance
        if self.n_balls and distance >= STRIDES * self.stride and self._put_in_ball(i, distance):
            return
        level = exponent_of(distance * self.per_width[0]) - 4
        if level < 0:
            level = 0
        elif level >= LEVELS:
            level = LEVELS - 1
        last = <long long> (self.travelled * self.per_width[level]) + SLOTS - 1
        if distance < SLOTS * self.width[level]:
            slot = <long long> ((self.travelled + distance) * self.per_width[level])
            if slot > last:
                slot = last
        else:
            slot = last
        slot = slot & (SLOTS - 1)
        self._add(&self.head[level][slot], i)
        self.occupied[level] |= 1u << slot
        self.levels |= 1ull << level

    cdef bint _put_in_ball(self, int i, double distance) noexcept nogil:
        cdef double moved
        # radius ≤ distance < 2 radius
        cdef int ball = min(exponent_of(distance * self.per_radius) - 1, <int> self.n_balls - 1)
        if ball < 0:
            return False
        while True:
            if self.inside[ball] < 0:
                self._move_centre(ball)
            moved = self.travelled - self.since[ball]
            if self.radius[ball] + moved <= distance:
                break
            ball -= 1
            if ball < 0:
                return False
        if 4.0 * (self.radius[ball] - moved) < distance:
            return False
        self._add(&self.inside[ball], i)
        self.balls |= 1ull << ball
        return True

    cdef void _add(self, int* first, int i) noexcept nogil:
        """Add point i to the list that begins with this chunk."""
        cdef int k = first[0]
        if k < 0 or self.chunks[k].count == ITEMS:
            k = self.vacant
            self.vacant = self.chunks[k].following
            self.chunks[k].following = first[0]
            self.chunks[k].count = 0
            first[0] = k
        self.chunks[k].items[self.chunks[k].count] = i
        self.chunks[k].count += 1

    cdef Py_ssize_t _empty(self, int* first, int* points) noexcept nogil:
        """Move the points of a list to `points`; returns their number."""
        cdef int k = first[0], following
        cdef Py_ssize_t n = 0
        while k >= 0:
            memcpy(points + n, self.chunks[k].items, self.chunks[k].count * sizeof(int))
            n += self.chunks[k].count
            following = self.chunks[k].following
            self.chunks[k].following = self.vacant
            self.vacant = k
            k = following
        first[0] = -1
        return n

    cdef void rewind(self) noexcept nogil:
        self.level = 0

    cdef void advance(self, double length) noexcept nogil:
        self.travelled = self.travelled + length
        self.stride = self.stride + LATELY * (length - self.stride)

    cdef Py_ssize_t pop(self, double reach, int* points) noexcept nogil:
        cdef int level = self.level, slot, ball
        cdef long long first, n_due
        cdef unsigned int due
        cdef unsigned long long rest
        while level < LEVELS:
            rest = self.levels >> level
            if rest == 0:
                level = LEVELS
                break
            level = level + trailing_zeros(rest)
            # slots that begin before travelled + reach, counted from the present one on
            first = <long long> (self.travelled * self.per_width[level])
            if (self.travelled + reach) * self.per_width[level] - first >= SLOTS:
                due = self.occupied[level]
            else:
                n_due = <long long> ((self.travelled + reach) * self.per_width[level]) - first + 1
                due = self.occupied[level] & rotated((2ull << (n_due - 1)) - 1,
                                                     first & (SLOTS - 1))
            if due:
                slot = trailing_zeros(due)
                self.occupied[level] &= ~(1u << slot)
                if self.occupied[level] == 0:
                    self.levels &= ~(1ull << level)
                self.level = level
                return self._empty(&self.head[level][slot], points)
            level += 1
        while level < LEVELS + self.n_balls:
            rest = self.balls >> (level - LEVELS)
            if rest == 0:
                level = LEVELS + <int> self.n_balls
                break
            level = level + trailing_zeros(rest)
            ball = level - LEVELS
            level += 1
            if self._leaves(ball, reach):
                self.balls &= ~(1ull << ball)
                self.level = level
                return self._empty(&self.inside[ball], points)
        self.level = level
        return 0

    cdef bint _leaves(self, int ball, double reach) noexcept nogil:
        """Whether w may leave the ball within `reach`; if so, its centre has moved to w."""
        if self.travelled - self.since[ball] + reach < self.radius[ball]:
            return False
        self.since[ball] = self.travelled - self._distance(ball)
        if self.travelled - self.since[ball] + reach < self.radius[ball]:
            return False
        self._move_centre(ball)
        return True

    cdef void _move_centre(self, int ball) noexcept nogil:
        cdef Py_ssize_t k
        cdef double* centre = &self.centre[ball, 0]
        for k in range(self.n_cols):
            centre[k] = self.pairs[2 * k] + self.a * self.pairs[2 * k + 1]
        self.centre_t[ball] = self.t
        self.since[ball] = self.travelled

    cdef double _distance(self, int ball) noexcept nogil:
        """Return how far w is from the centre of a ball, rounded up."""
        cdef Py_ssize_t k
        cdef const double* centre = &self.centre[ball, 0]
        for k in range(self.n_cols):
            self.gone[k] = self.pairs[2 * k] + self.a * self.pairs[2 * k + 1] - centre[k]
        return metric_length(self.R, &self.gone[0], 1, self.t - self.centre_t[ball]) * FARTHER

    # -- for Python -----------------------------------------------------------------------------

    def restart(self, double farthest, double stride):
        """Forget all points."""
        self.clear(farthest, stride)

    def schedule(self, int i, double distance):
        """Put point i."""
        self.put(i, distance)

    def due(self, double length, double t):
        """Return all that may be due on the way from w to w + length · rate, and go there.

        The caller moves w afterwards. `t` is the time there.
        """
        cdef int[::1] points = np.empty(self.n_points, dtype=np.int32)
        cdef Py_ssize_t count
        found = []
        self.locate(0.0, self.t)
        self.rewind()
        while True:
            count = self.pop(length, &points[0])
            if count == 0:
                break
            found.extend(points[:count])
        self.advance(length)
        self.locate(0.0, t)
        return found
