"""Sums and parts of a kernel matrix that is kept in memory."""


def add_rows(const double[:, ::1] matrix, const Py_ssize_t[::1] members,
             const double[::1] coef, double[::1] out):
    """Add Σ coef[k] matrix[members[k]] to `out`; four rows at a time keep the memory busy."""
    cdef Py_ssize_t k, j, m = members.shape[0], n = matrix.shape[1]
    cdef const double* a
    cdef const double* b
    cdef const double* c
    cdef const double* d
    cdef double p, q, r, s
    cdef double* total = &out[0]
    with nogil:
        for k in range(0, m - 3, 4):
            a, b = &matrix[members[k], 0], &matrix[members[k + 1], 0]
            c, d = &matrix[members[k + 2], 0], &matrix[members[k + 3], 0]
            p, q, r, s = coef[k], coef[k + 1], coef[k + 2], coef[k + 3]
            for j in range(n):
                total[j] = total[j] + ((p * a[j] + q * b[j]) + (r * c[j] + s * d[j]))
        for k in range(m - m % 4, m):
            a, p = &matrix[members[k], 0], coef[k]
            for j in range(n):
                total[j] = total[j] + p * a[j]


def lower_triangle(const double[:, ::1] matrix, const Py_ssize_t[::1] members, double[:, ::1] out):
    """Set the lower triangle of `out` to the rows and columns of the members."""
    cdef Py_ssize_t i, j
    cdef const double* row
    with nogil:
        for i in range(members.shape[0]):
            row = &matrix[members[i], 0]
            for j in range(i + 1):
                out[i, j] = row[members[j]]
