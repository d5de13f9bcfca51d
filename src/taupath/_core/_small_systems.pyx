"""Many small symmetric systems, each with a submatrix of the same matrix.

Neighbouring nodes of a path share most of their free points. Few points are free at only some of
the nodes: after the others are eliminated, one small system for each node remains.
"""

from libc.math cimport sqrt

import numpy as np

from taupath._core._blas cimport dot
from scipy.linalg.cython_lapack cimport dpotrs


cdef struct System:
    # the Cholesky factor of S_EE, row by row, and E in the order of its rows
    double* L
    int* members
    int size, apart             # rows; entries from one row to the next
    double* cosine
    double* sine


cdef bint append(System* system, const double* row, double least, int i) noexcept nogil:
    """Add point i with this row of S; returns whether its squared pivot is above the least."""
    cdef int a, m = system.size, apart = system.apart
    cdef double* x = system.L + m * apart
    cdef double pivot
    for a in range(m):
        x[a] = (row[system.members[a]] - dot(a, system.L + a * apart, x)) / system.L[a * apart + a]
    pivot = row[i] - dot(m, x, x)
    if not pivot > least:
        return False
    x[m] = sqrt(pivot)
    system.members[m] = i
    system.size = m + 1
    return True


cdef void remove(System* system, int a) noexcept nogil:
    """Take out the a-th point: the rows below it move up, and rotations take an entry of each."""
    cdef int b, k
    cdef double carry, y, length
    cdef double* x
    cdef double* out
    for b in range(a + 1, system.size):
        x = system.L + b * system.apart
        out = x - system.apart
        for k in range(a):
            out[k] = x[k]
        carry = x[a]
        for k in range(a, b - 1):
            y = x[k + 1]
            out[k] = system.cosine[k] * carry + system.sine[k] * y
            carry = system.cosine[k] * y - system.sine[k] * carry
        y = x[b]
        length = sqrt(carry * carry + y * y)
        system.cosine[b - 1], system.sine[b - 1] = carry / length, y / length
        out[b - 1] = length
        system.members[b - 1] = system.members[b]
    system.size -= 1


cdef bint go_on(System* system, const double* S, const double* least,
                const unsigned char* free, unsigned char* inside) noexcept nogil:
    """Go on to other free points; returns whether all squared pivots are above the least."""
    cdef int a, i, most = system.apart
    for a in range(system.size - 1, -1, -1):
        i = system.members[a]
        if not free[i]:
            inside[i] = 0
            remove(system, a)
    for i in range(most):
        if free[i] and not inside[i]:
            if not append(system, S + i * most, least[i], i):
                return False
            inside[i] = 1
    return True


def solve_each(const double[:, ::1] S, const double[::1] least, const unsigned char[:, ::1] free,
               double[:, ::1] x, const double[::1] sign, double below, const double[::1] lack,
               double[::1] multiplier):
    """Solve S_EE x_E = rhs_E for each row of x, which holds rhs; E are the free points of the row.

    With a multiplier μ (unless None), S_EE x_E + μ sign_E = rhs_E, and
    sign_E x_E - below μ = -lack.
    Entries of x that are not free become zero. Returns whether all systems could be solved: no
    squared pivot is below the `least` of its point. The factor of one row is updated for the next:
    their free points differ by few.
    """
    cdef Py_ssize_t k, a, most = S.shape[0]
    cdef bint balanced = multiplier is not None, right = True
    cdef double[::1] L = np.zeros(most * most + 1), rhs = np.empty(2 * most + 1)
    cdef double[:, ::1] rotations = np.empty((2, most + 1))
    cdef int[::1] members = np.empty(most + 1, dtype=np.int32)
    cdef unsigned char[::1] inside = np.zeros(most + 1, dtype=np.uint8)
    cdef System system
    cdef int m, n_rhs = 2 if balanced else 1, info
    cdef double over, under
    if most == 0 and not balanced:
        return True
    system.L, system.members, system.size, system.apart = &L[0], &members[0], 0, <int> most
    system.cosine, system.sine = &rotations[0, 0], &rotations[1, 0]
    with nogil:
        for k in range(x.shape[0]):
            if most > 0 and not go_on(&system, &S[0, 0], &least[0], &free[k, 0], &inside[0]):
                right = False
                break
            m = system.size
            for a in range(m):
                rhs[a] = x[k, members[a]]
                if balanced:
                    rhs[m + a] = sign[members[a]]
            if m > 0:       # by columns, L is the upper factor
                dpotrs("U", &m, &n_rhs, system.L, &system.apart, &rhs[0], &m, &info)
            if balanced:
                over = lack[k]
                under = below
                for a in range(m):
                    over = over + sign[members[a]] * rhs[a]
                    under = under + sign[members[a]] * rhs[m + a]
                if not under > 0.0:
                    right = False
                    break
                multiplier[k] = over / under
                for a in range(m):
                    rhs[a] = rhs[a] - multiplier[k] * rhs[m + a]
            for a in range(most):
                x[k, a] = 0.0
            for a in range(m):
                x[k, members[a]] = rhs[a]
    return right
