"""Deferred updates of w for kernels.

A change of direction adds a combination of all free rows to ẇ. With a kernel that is a sum of as
many rows of the Gram matrix, with an entry for every point; but between two checks of all points
only the few near the margin are looked at. So the coefficients are kept, and what they add to w and
ẇ is computed only for the points that are looked at.
"""

cimport cython
import numpy as np

from taupath._core._kernel_loops cimport add_products

cdef enum:
    REMEMBERED = 256    # slots filled last that are listed; a row further behind is rebuilt
    TOGETHER = 8        # rows brought up to date together


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
        cdef Py_ssize_t k = self.n_slots, padded = (capacity + 7) // 8 * 8
        a, b = np.zeros((2, padded))
        point_in, vacant = np.zeros((2, capacity), dtype=np.int32)
        if k:
            a[:k], b[:k] = self.a[:k], self.b[:k]
            point_in[:k], vacant[:k] = self.point_in[:k], self.vacant[:k]
        self.a, self.b, self.point_in, self.vacant = a, b, point_in, vacant
        self.slots, self.points = np.zeros((2, TOGETHER * max(capacity, REMEMBERED)), np.int32)
        self.fresh = np.zeros(2 * max(capacity, REMEMBERED))
        self.inner = np.zeros((self.rows.n_rows, padded))
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

    cdef void settle(self, double* pairs) noexcept nogil:
        cdef Py_ssize_t k, m = 0
        for k in range(self.n_slots):
            if self.a[k] != 0.0 or self.b[k] != 0.0:
                self.points[m] = self.point_in[k]
                self.fresh[2 * m] = self.a[k]
                self.fresh[2 * m + 1] = self.b[k]
                self.a[k] = 0.0
                self.b[k] = 0.0
                m += 1
        self.rows.axpys_pair(&self.points[0], m, &self.fresh[0], pairs)

    cdef void leave(self, int i, double* pairs) noexcept nogil:
        cdef int slot = self.slot_of[i]
        if self.a[slot] != 0.0 or self.b[slot] != 0.0:
            self.rows.axpy_pair(i, self.a[slot], self.b[slot], pairs)
            self.a[slot] = 0.0
            self.b[slot] = 0.0
        self.vacant[self.n_vacant] = slot
        self.n_vacant += 1
        self.slot_of[i] = -1

    cdef void put_off(self, int i, double a, double b) noexcept nogil:
        cdef int slot = self.slot_of[i]
        self.a[slot] = self.a[slot] + a
        self.b[slot] = self.b[slot] + b

    cdef void move_base(self, double by) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.n_slots):
            self.a[k] = self.a[k] + by * self.b[k]

    cdef void complete(self, const int* points, Py_ssize_t m, double* out) noexcept nogil:
        cdef Py_ssize_t first = 0, some, k, padded = (self.n_slots + 7) & ~7
        while first < m:
            some = min(<Py_ssize_t> TOGETHER, m - first)
            self._know(points + first, some)
            for k in range(first, first + some):
                add_products(&self.inner[points[k], 0], &self.a[0], &self.b[0], padded,
                             out + 2 * k)
            first += some

    cdef void _know(self, const int* points, Py_ssize_t m) noexcept nogil:
        """Bring some rows of `inner` up to date.

        All that they lack is asked for from the memory before the first of it is needed.
        """
        cdef Py_ssize_t k, a, end = 0
        cdef Py_ssize_t begin[TOGETHER]
        cdef double* inner
        for k in range(m):
            begin[k] = end
            end = self._list(points[k], end)
            self.rows.prefetch_entries(points[k], &self.points[begin[k]], end - begin[k])
        for k in range(m - 1, -1, -1):
            self.rows.entries(points[k], &self.points[begin[k]], end - begin[k], &self.fresh[0])
            inner = &self.inner[points[k], 0]
            for a in range(begin[k], end):
                inner[self.slots[a]] = self.fresh[a - begin[k]]
            end = begin[k]

    cdef Py_ssize_t _list(self, int i, Py_ssize_t end) noexcept nogil:
        """List the slots that row i of `inner` lacks; returns where the list ends."""
        cdef long long k
        cdef Py_ssize_t slot
        if self.n_filled - self.known[i] > REMEMBERED:
            for slot in range(self.n_slots):
                end = self._list_slot(slot, end)
        else:
            for k in range(self.known[i], self.n_filled):
                end = self._list_slot(self.filled[k % REMEMBERED], end)
        self.known[i] = self.n_filled
        return end

    cdef inline Py_ssize_t _list_slot(self, Py_ssize_t slot, Py_ssize_t end) noexcept nogil:
        cdef int point = self.point_in[slot]
        self.slots[end] = <int> slot
        self.points[end] = point
        return end + (self.slot_of[point] == slot)      # not if it is vacant
