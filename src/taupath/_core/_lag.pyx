"""Deferred updates of w for kernels.

A change of direction adds a combination of all free rows to ẇ. With a kernel that is a sum of as
many rows of the Gram matrix, with an entry for every point; but between two checks of all points
only the few near the margin are looked at. So the coefficients are kept, and what they add to w and
ẇ is computed only for the points that are looked at.
"""

cimport cython
import numpy as np

from taupath._core._row_loops cimport dense_dot, pair_t

cdef enum:
    REMEMBERED = 256    # slots filled last that are listed; a row further behind is rebuilt


@cython.final
cdef class Lag:
    """Deferred updates of w and ẇ, by free point.

    Parameters
    ----------
    rows : KernelRows
        The z_i.
    capacity : int
        Largest number of free points.
    """

    def __init__(self, KernelRows rows, Py_ssize_t capacity):
        self.rows = rows
        self.slot_of = np.full(rows.n_rows, -1, dtype=np.int32)
        self.filled = np.zeros(REMEMBERED, dtype=np.int32)
        self.known = np.zeros(rows.n_rows, dtype=np.int64)
        self.reserve(capacity)

    cdef reserve(self, Py_ssize_t capacity):
        pairs, (point_in, vacant) = np.zeros(2 * capacity), np.zeros((2, capacity), dtype=np.int32)
        if self.n_slots:
            pairs[:2 * self.n_slots] = self.pairs[:2 * self.n_slots]
            point_in[:self.n_slots] = self.point_in[:self.n_slots]
            vacant[:self.n_slots] = self.vacant[:self.n_slots]
        self.pairs, self.point_in, self.vacant = pairs, point_in, vacant
        self.inner = np.zeros((self.rows.n_rows, capacity))
        self.n_filled += REMEMBERED + 1     # every row is out of date

    cdef void enter(self, int i) noexcept nogil:
        cdef int slot
        if self.n_vacant:
            self.n_vacant -= 1
            slot = self.vacant[self.n_vacant]
        else:
            slot = <int> self.n_slots
            self.n_slots += 1
        self.slot_of[i] = slot
        self.point_in[slot] = i
        self.filled[self.n_filled % REMEMBERED] = slot
        self.n_filled += 1

    cdef void settle(self, int i, double* pairs) noexcept nogil:
        cdef double* own = &self.pairs[2 * self.slot_of[i]]
        if own[0] != 0.0 or own[1] != 0.0:
            self.rows.axpy_pair(i, own[0], own[1], pairs)
            own[0] = 0.0
            own[1] = 0.0

    cdef void leave(self, int i) noexcept nogil:
        self.vacant[self.n_vacant] = self.slot_of[i]
        self.n_vacant += 1
        self.slot_of[i] = -1

    cdef void put_off(self, int i, double a, double b) noexcept nogil:
        cdef double* own = &self.pairs[2 * self.slot_of[i]]
        own[0] = own[0] + a
        own[1] = own[1] + b

    cdef void move_base(self, double by) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_slots):
            self.pairs[2 * k] = self.pairs[2 * k] + by * self.pairs[2 * k + 1]

    cdef void complete(self, const int* points, Py_ssize_t m, double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef pair_t* total = <pair_t*> out
        cdef const pair_t* pairs = <const pair_t*> &self.pairs[0]
        for k in range(m):
            self._know(points[k])
            total[k] = dense_dot[double, pair_t](&self.inner[points[k], 0], self.n_slots, pairs,
                                                 total[k])

    cdef void _know(self, int i) noexcept nogil:
        """Bring row i of `inner` up to date."""
        cdef long long k
        cdef Py_ssize_t slot
        cdef double* inner = &self.inner[i, 0]
        if self.known[i] == self.n_filled:
            return
        if self.n_filled - self.known[i] > REMEMBERED:
            for slot in range(self.n_slots):
                if self.slot_of[self.point_in[slot]] == slot:
                    inner[slot] = self.rows.entry(i, self.point_in[slot])
        else:
            for k in range(self.known[i], self.n_filled):
                slot = self.filled[k % REMEMBERED]
                if self.slot_of[self.point_in[slot]] == slot:
                    inner[slot] = self.rows.entry(i, self.point_in[slot])
        self.known[i] = self.n_filled
