"""The solution that moves of single θ change, with the inverse of the equations of its free points.

When a point enters or leaves, the inverse changes by a matrix of rank one.
"""

cimport cython
from libc.string cimport memcpy

import numpy as np

from taupath._core._blas cimport axpy, dot


@cython.final
cdef class MovedState:
    """A solution: all θ, index sets and slacks, the free points and the inverse."""

    def __init__(self, Py_ssize_t n, Py_ssize_t capacity):
        self.theta, self.slack = np.zeros(n), np.zeros(n)
        self.status = np.zeros(n, dtype=np.int8)
        self.members = np.zeros(capacity, dtype=np.int32)
        self.inverse = np.zeros((capacity + 1, capacity + 1))

    cdef void copy(self, MovedState other) noexcept nogil:
        """Become what another one of the same capacity is."""
        cdef Py_ssize_t n = self.theta.shape[0], k
        memcpy(&self.theta[0], &other.theta[0], n * sizeof(double))
        memcpy(&self.slack[0], &other.slack[0], n * sizeof(double))
        memcpy(&self.status[0], &other.status[0], n)
        self.size, self.multiplier = other.size, other.multiplier
        memcpy(&self.members[0], &other.members[0], self.size * sizeof(int))
        for k in range(self.size + 1):
            memcpy(&self.inverse[k, 0], &other.inverse[k, 0], (self.size + 1) * sizeof(double))

    cdef reserve(self, Py_ssize_t capacity):
        cdef Py_ssize_t before = self.members.shape[0]
        self.members = np.resize(self.members, capacity)
        larger = np.zeros((capacity + 1, capacity + 1))
        larger[:before + 1, :before + 1] = self.inverse
        self.inverse = larger

    cdef Py_ssize_t position(self, int i) noexcept nogil:
        cdef Py_ssize_t a
        for a in range(self.size):
            if self.members[a] == i:
                return a
        return -1

    cdef bint add(self, int i, Py_ssize_t off, double square, const double* column,
                  double* work) noexcept nogil:
        cdef Py_ssize_t a, M = self.size + off
        cdef double rest = square
        if off and self.size == 0:      # the inverse of [[0, e], [e, ‖z‖²]]
            self.inverse[0, 0] = -rest
            self.inverse[0, 1] = self.inverse[1, 0] = column[0]
            self.inverse[1, 1] = 0.0
        else:
            for a in range(M):
                work[a] = dot(M, &self.inverse[a, 0], column)
                rest = rest - column[a] * work[a]
            if not rest > DEPENDENT * square:
                return False
            for a in range(M):
                axpy(M, work[a] / rest, work, &self.inverse[a, 0])
                self.inverse[a, M] = self.inverse[M, a] = -work[a] / rest
            self.inverse[M, M] = 1.0 / rest
        self.members[self.size] = i
        self.size += 1
        return True

    cdef void drop(self, Py_ssize_t a, Py_ssize_t off, double* work) noexcept nogil:
        cdef Py_ssize_t b, c, k = a + off, M = self.size + off
        cdef double pivot = self.inverse[k, k]
        self.size -= 1
        for b in range(a, self.size):
            self.members[b] = self.members[b + 1]
        if self.size == 0:
            return
        memcpy(work, &self.inverse[k, 0], M * sizeof(double))
        for b in range(M):
            if b != k:
                axpy(M, -work[b] / pivot, work, &self.inverse[b, 0])
        for b in range(M):
            if b == k:
                continue
            c = b - (b > k)
            memcpy(&self.inverse[c, 0], &self.inverse[b, 0], k * sizeof(double))
            for a in range(k + 1, M):
                self.inverse[c, a - 1] = self.inverse[b, a]
