"""Deadlines: which points have to be looked at before w has travelled so far.

Since |<z_i, ẇ>| ≤ ‖z_i‖ ‖ẇ‖, a point with slack g_i cannot meet the margin before w has travelled
|g_i| / ‖z_i‖. Deadlines need no exact order, only never to be missed, so they lie in a timing
wheel: levels of slots whose widths double. A point goes to the level whose slots are at most an
eighth of its distance wide, hence is looked at after 7/8 of it at the earliest; putting and
popping take constant time.
"""

import numpy as np

from libc.math cimport frexp

# Rounding in a distance must not make a point late.
cdef double EARLY = 1.0 - 1e-9


cdef class Deadlines:
    """A timing wheel over the travelled length."""

    def __init__(self, Py_ssize_t n_points):
        self.following = np.full(n_points, -1, dtype=np.int32)
        self.clear(1.0)

    cdef void clear(self, double farthest) noexcept nogil:
        """Forget all points and choose widths so that `farthest` fits the coarsest level."""
        cdef int level, k
        cdef int exponent
        frexp(farthest, &exponent)
        self.travelled = 0.0
        for level in range(LEVELS):
            self.waiting[level] = 0
            self.width[level] = 2.0 ** (exponent - 3 + level - (LEVELS - 1))
            self.per_width[level] = 1.0 / self.width[level]
            for k in range(SLOTS):
                self.head[level][k] = -1

    cdef void put(self, int i, double distance) noexcept nogil:
        cdef int level, exponent
        cdef long long slot, last
        frexp(distance * self.per_width[0], &exponent)
        level = exponent - 4
        if level < 0:
            level = 0
        elif level >= LEVELS:
            level = LEVELS - 1
        last = <long long> (self.travelled * self.per_width[level]) + SLOTS - 1
        if distance < SLOTS * self.width[level]:
            slot = <long long> ((self.travelled + EARLY * distance) * self.per_width[level])
            if slot > last:
                slot = last
        else:
            slot = last
        slot = slot & (SLOTS - 1)
        self.following[i] = self.head[level][slot]
        self.head[level][slot] = i
        self.waiting[level] += 1

    cdef void rewind(self) noexcept nogil:
        self.level = 0
        self.slot = <long long> (self.travelled * self.per_width[0])

    cdef int pop(self, double limit) noexcept nogil:
        cdef int level = self.level, i
        cdef long long last
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
        self.level = level
        return -1
