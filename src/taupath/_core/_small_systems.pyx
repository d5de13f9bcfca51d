"""Many small symmetric systems, each with a submatrix of the same matrix.

Neighbouring nodes of a path share most of their free points. Few points are free at only some of
the nodes: after the others are eliminated, one small system for each node remains.
"""

import numpy as np

from scipy.linalg.cython_lapack cimport dpotrf, dpotrs


def solve_each(const double[:, ::1] S, const double[::1] least, const unsigned char[:, ::1] free,
               double[:, ::1] x, const double[::1] sign, double below, const double[::1] lack,
               double[::1] multiplier):
    """Solve S_EE x_E = rhs_E for each row of x, which holds rhs; E are the free points of the row.

    With a multiplier μ (unless None), S_EE x_E + μ sign_E = rhs_E, and
    sign_E x_E - below μ = -lack.
    Entries of x that are not free become zero. Returns whether all systems could be solved: no
    squared pivot is below the `least` of its point.
    """
    cdef Py_ssize_t k, a, b, m, most = S.shape[0]
    cdef bint balanced = multiplier is not None, right = True
    cdef double[::1] matrix = np.empty(most * most + 1), rhs = np.empty(2 * most + 1)
    cdef int[::1] chosen = np.empty(most + 1, dtype=np.int32)
    cdef int size, n_rhs = 2 if balanced else 1, info
    cdef double over, under
    with nogil:
        for k in range(x.shape[0]):
            m = 0
            for a in range(most):
                if free[k, a]:
                    chosen[m] = <int> a
                    m += 1
            for a in range(m):
                for b in range(a, m):       # the lower triangle, by columns
                    matrix[a * m + b] = S[chosen[a], chosen[b]]
                rhs[a] = x[k, chosen[a]]
                if balanced:
                    rhs[m + a] = sign[chosen[a]]
            if m > 0:
                size = <int> m
                dpotrf("L", &size, &matrix[0], &size, &info)
                if info == 0:
                    for a in range(m):
                        if not matrix[a * m + a] * matrix[a * m + a] > least[chosen[a]]:
                            info = 1
                if info != 0:
                    right = False
                    break
                dpotrs("L", &size, &n_rhs, &matrix[0], &size, &rhs[0], &size, &info)
            if balanced:
                over = lack[k]
                under = below
                for a in range(m):
                    over = over + sign[chosen[a]] * rhs[a]
                    under = under + sign[chosen[a]] * rhs[m + a]
                if not under > 0.0:
                    right = False
                    break
                multiplier[k] = over / under
                for a in range(m):
                    rhs[a] = rhs[a] - multiplier[k] * rhs[m + a]
            for a in range(most):
                x[k, a] = 0.0
            for a in range(m):
                x[k, chosen[a]] = rhs[a]
    return right
