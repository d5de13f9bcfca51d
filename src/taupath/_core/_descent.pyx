"""Coordinate descent on the dual problem, one sample after another."""

from taupath._core._rows cimport Rows


def descend(Rows rows, const int[::1] order, const double[::1] target, const double[::1] lower,
            const double[::1] upper, const double[::1] squared_norm, double[::1] theta,
            double[::1] w):
    """Set each θ_i to the best value in its box, the others fixed; w = Σ θ_i z_i follows.

    Return Σ of what these samples lost when they were visited: h (p - m)₊ - l (m - p)₊ - θ (p - m).
    """
    cdef Py_ssize_t k, i
    cdef double short, found, lost = 0.0
    with nogil:
        for k in range(order.shape[0]):
            i = order[k]
            short = target[i] - rows.dot(i, &w[0])
            lost += ((upper[i] if short > 0.0 else lower[i]) - theta[i]) * short
            if squared_norm[i] > 0.0:
                found = theta[i] + short / squared_norm[i]
            else:  # a row of zeros: nothing limits θ but its box
                found = upper[i] if short > 0.0 else lower[i]
            found = found if found > lower[i] else lower[i]
            found = found if found < upper[i] else upper[i]
            if found != theta[i]:
                rows.axpy(i, found - theta[i], &w[0])
                theta[i] = found
    rows.visits += order.shape[0]
    return lost
