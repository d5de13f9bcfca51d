"""Deadlines: which points have to be looked at before w has moved so far.

Since |<z_i, Δw>| ≤ ‖z_i‖ ‖Δw‖, a point with slack g_i cannot meet the margin before w has moved by
|g_i| / ‖z_i‖ from where that slack was seen. Deadlines need no exact order, only never to be
missed, so putting and popping take constant time.

Near points lie in a timing wheel over the length that w has travelled: levels of slots whose
widths double. A point goes to the level whose slots are at most an eighth of its distance wide,
hence is looked at after 7/8 of it at the earliest.

In few dimensions w goes to and fro and stays much nearer than it has travelled: √k steps away
after k. There, points that are many steps away lie in balls. A ball has a centre, a former place
of w, and holds points that cannot meet the margin while w stays within its radius of that centre.
When w is about to leave the ball its points come out, and its centre moves to w.
"""

from libc.math cimport frexp, sqrt

import numpy as np

# Rounding in a distance must not make a point late.
cdef double EARLY = 1.0 - 1e-9
# The smallest ball, in steps.
cdef double STRIDES = 4.0


cdef class Deadlines:
    """A timing wheel, and balls if there are to be any."""

    def __init__(self, Py_ssize_t n_points, const double[::1] w, const double[::1] rate,
                 bint with_balls):
        # w and rate belong to the caller, who keeps them
        self.w0 = &w[0]
        self.rate = &rate[0]
        self.n_cols = w.shape[0]
        self.following = np.full(n_points, -1, dtype=np.int32)
        self.n_balls = BALLS if with_balls else 0
        self.centre = np.zeros((max(self.n_balls, 1), self.n_cols))
        self.clear(1.0, 1.0)

    cdef void locate(self, double a, double t) noexcept nogil:
        self.a = a
        self.t = t

    cdef void clear(self, double farthest, double stride) noexcept nogil:
        cdef int level, k, exponent
        frexp(farthest, &exponent)
        self.travelled = 0.0
        for level in range(LEVELS):
            self.waiting[level] = 0
            self.width[level] = 2.0 ** (exponent - 3 + level - (LEVELS - 1))
            self.per_width[level] = 1.0 / self.width[level]
            for k in range(SLOTS):
                self.head[level][k] = -1
        for k in range(self.n_balls):
            self.inside[k] = -1
            self.radius[k] = STRIDES * stride * 2.0 ** k

    cdef void put(self, int i, double distance) noexcept nogil:
        cdef int level, exponent
        cdef long long slot, last
        distance = EARLY * distance
        if self.n_balls and distance >= self.radius[0] and self._put_in_ball(i, distance):
            return
        frexp(distance * self.per_width[0], &exponent)
        level = exponent - 4
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
        self.following[i] = self.head[level][slot]
        self.head[level][slot] = i
        self.waiting[level] += 1

    cdef bint _put_in_ball(self, int i, double distance) noexcept nogil:
        cdef int ball, exponent
        frexp(distance / self.radius[0], &exponent)
        ball = min(exponent - 1, <int> self.n_balls - 1)    # radius ≤ distance < 2 radius
        while True:
            if self.inside[ball] < 0:
                self._move_centre(ball)
            if self.radius[ball] + self.moved[ball] <= distance:
                break
            ball -= 1
            if ball < 0:
                return False
        if 4.0 * (self.radius[ball] - self.moved[ball]) < distance:
            return False
        self.following[i] = self.inside[ball]
        self.inside[ball] = i
        return True

    cdef void rewind(self) noexcept nogil:
        self.level = 0
        self.slot = <long long> (self.travelled * self.per_width[0])
        self.opened = False

    cdef void advance(self, double length) noexcept nogil:
        cdef int ball
        self.travelled = self.travelled + length
        for ball in range(self.n_balls):
            self.moved[ball] = self.moved[ball] + length

    cdef int pop(self, double reach) noexcept nogil:
        cdef int level = self.level, i, ball
        cdef long long last
        cdef double limit = self.travelled + reach
        while level < LEVELS:
            if self.waiting[level]:
                last = <long long> (self.travelled * self.per_width[level]) + SLOTS - 1
                while self.slot <= last and self.slot * self.width[level] <= limit:
                    i = self.head[level][self.slot & (SLOTS - 1)]
                    if i >= 0:
                        self.head[level][self.slot & (SLOTS - 1)] = self.following[i]
                        self.waiting[level] -= 1
                        self.level = level
                        return i
                    self.slot += 1
            level += 1
            if level < LEVELS:
                self.slot = <long long> (self.travelled * self.per_width[level])
        while level < LEVELS + self.n_balls:
            ball = level - LEVELS
            i = self.inside[ball]
            if i >= 0 and (self.opened or self._leaves(ball, reach)):
                self.opened = True
                self.inside[ball] = self.following[i]
                self.level = level
                return i
            level += 1
            self.opened = False
        self.level = level
        return -1

    cdef bint _leaves(self, int ball, double reach) noexcept nogil:
        """Whether w may leave the ball within `reach`; if so, its centre has moved to w."""
        if self.moved[ball] + reach < self.radius[ball]:
            return False
        self.moved[ball] = self._distance(ball)
        if self.moved[ball] + reach < self.radius[ball]:
            return False
        self._move_centre(ball)
        return True

    cdef void _move_centre(self, int ball) noexcept nogil:
        cdef Py_ssize_t k
        cdef double* centre = &self.centre[ball, 0]
        for k in range(self.n_cols):
            centre[k] = self.w0[k] + self.a * self.rate[k]
        self.centre_t[ball] = self.t
        self.moved[ball] = 0.0

    cdef double _distance(self, int ball) noexcept nogil:
        cdef Py_ssize_t k
        cdef const double* centre = &self.centre[ball, 0]
        cdef double total = (self.t - self.centre_t[ball]) ** 2, difference
        for k in range(self.n_cols):
            difference = self.w0[k] + self.a * self.rate[k] - centre[k]
            total = total + difference * difference
        return sqrt(total) * (1.0 + 1e-12)
