"""What the points at their bounds contribute to w and to its direction.

Bounds are affine in t, so sums at both ends of the line give them at every t. With few columns both
are kept up to date; with many, only the rate is.
"""

cimport cython
from libc.math cimport fabs

import numpy as np

from taupath._core._factor import keeps_basis
from taupath._core._line cimport bound_at, bound_rate
from taupath._core._status cimport FREE, LOWER

cdef enum:
    TOGETHER = 1024         # points that are added up at a time
    WAITING = 256           # points that wait until they are added together

cdef enum:                  # which sum
    AT_0
    AT_1
    NOW


@cython.final
cdef class BoundSums:
    """Sums over the points that are at their bounds, in extended precision.

    Parameters
    ----------
    system : FreeSystem
        It is told which points are at their bounds.
    line : Line
        Bounds and targets.
    status : ndarray
        Where every point is: it is read whenever all points are summed.
    row_norm : ndarray
        The lengths of the rows.
    """

    def __init__(self, FreeSystem system, Line line, status, row_norm):
        self.system, self.rows, self.line = system, system.rows, line
        self.status, self.row_norm = status, row_norm
        self.complete = keeps_basis(self.rows)
        self.at0, self.at1 = np.zeros((2, self.rows.n_cols), np.longdouble)
        self.waiting = np.zeros(WAITING, np.int32)
        self.waiting0, self.waiting1 = np.zeros((2, WAITING), np.longdouble)
        self.some, self.by = np.zeros(TOGETHER, np.int32), np.zeros(TOGETHER, np.longdouble)

    cdef void take(self) noexcept nogil:
        cdef Py_ssize_t i
        self.n_waiting = 0
        self.system.bound_total0 = 0.0
        self.system.bound_total1 = 0.0
        self.terms0 = 0.0
        self.terms1 = 0.0
        for i in range(self.rows.n_rows):
            if self.status[i] != FREE:
                self._count(i, self.status[i], 1)
        if self.complete:
            self._sum(AT_0, NULL, &self.at0[0])
        self._sum(AT_1, NULL, &self.at1[0])

    cdef void change(self, int i, int status, int how) noexcept nogil:
        if self.n_waiting == WAITING:
            self._add_waiting()
        self.waiting[self.n_waiting] = i
        self.waiting0[self.n_waiting] = how * self._end0(i, status)
        self.waiting1[self.n_waiting] = how * self._end1(i, status)
        self.n_waiting += 1
        self._count(i, status, how)

    cdef void rate(self, long double* v) noexcept nogil:
        cdef Py_ssize_t k
        self._add_waiting()
        for k in range(self.rows.n_cols):
            v[k] = self.at1[k] - self.at0[k]

    cdef void value(self, const Moment* now, long double* v) noexcept nogil:
        cdef Py_ssize_t k
        if not self.complete:
            self._sum(NOW, now, v)
            return
        self._add_waiting()
        for k in range(self.rows.n_cols):
            v[k] = now.to_one * self.at0[k] + now.from_zero * self.at1[k]

    # What is summed in at0 and at1.
    cdef double _end0(self, Py_ssize_t i, int status) noexcept nogil:
        if not self.complete:
            return 0.0
        return self.line.lower0[i] if status == LOWER else self.line.upper0[i]

    cdef double _end1(self, Py_ssize_t i, int status) noexcept nogil:
        if not self.complete:
            return bound_rate(self.line, i, status)
        return self.line.lower1[i] if status == LOWER else self.line.upper1[i]

    cdef void _count(self, Py_ssize_t i, int status, int how) noexcept nogil:
        cdef double end0 = self.line.lower0[i] if status == LOWER else self.line.upper0[i]
        cdef double end1 = self.line.lower1[i] if status == LOWER else self.line.upper1[i]
        self.system.count_bound(i, how * end0, how * end1)
        self.terms0 = self.terms0 + how * fabs(end0) * self.row_norm[i]
        self.terms1 = self.terms1 + how * fabs(end1) * self.row_norm[i]

    cdef void _add_waiting(self) noexcept nogil:
        cdef Py_ssize_t m = self.n_waiting
        if self.complete:
            self.rows.axpys_long(&self.waiting[0], m, &self.waiting0[0], &self.at0[0])
        self.rows.axpys_long(&self.waiting[0], m, &self.waiting1[0], &self.at1[0])
        self.n_waiting = 0

    cdef void _sum(self, int which, const Moment* now, long double* v) noexcept nogil:
        """Set v to one of the sums over all points at their bounds."""
        cdef Py_ssize_t i, k, n = self.rows.n_rows, m = 0
        cdef int status
        for k in range(self.rows.n_cols):
            v[k] = 0.0
        for i in range(n):
            status = self.status[i]
            if status != FREE:
                self.some[m] = <int> i
                if which == AT_0:
                    self.by[m] = self._end0(i, status)
                elif which == AT_1:
                    self.by[m] = self._end1(i, status)
                else:
                    self.by[m] = bound_at(self.line, now, i, status)
                m += self.by[m] != 0.0
            if m == TOGETHER or i == n - 1:
                self.rows.axpys_long(&self.some[0], m, &self.by[0], v)
                m = 0
