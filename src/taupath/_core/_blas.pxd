"""Level-1 kernels: plain loops while a call would cost more than the work, BLAS beyond."""

from scipy.linalg.cython_blas cimport daxpy, ddot, dnrm2

cdef enum:
    LOOP_BELOW = 24     # length below which a loop beats the call into BLAS, as measured


cdef inline double dot(Py_ssize_t n, const double* x, const double* y) noexcept nogil:
    # four sums, since each addition waits for the last one to the same sum
    cdef Py_ssize_t k
    cdef double a = 0.0, b = 0.0, c = 0.0, d = 0.0
    cdef int length = <int> n, one = 1
    if n < LOOP_BELOW:
        for k in range(0, n - 3, 4):
            a = a + x[k] * y[k]
            b = b + x[k + 1] * y[k + 1]
            c = c + x[k + 2] * y[k + 2]
            d = d + x[k + 3] * y[k + 3]
        for k in range(n & ~3, n):
            a = a + x[k] * y[k]
        return (a + b) + (c + d)
    return ddot(&length, <double*> x, &one, <double*> y, &one)


cdef inline void axpy(Py_ssize_t n, double a, const double* x, double* y) noexcept nogil:
    cdef Py_ssize_t k
    cdef int length = <int> n, one = 1
    if n < LOOP_BELOW:
        for k in range(n):
            y[k] = y[k] + a * x[k]
    else:
        daxpy(&length, &a, <double*> x, &one, y, &one)


cdef inline double norm(Py_ssize_t n, const double* x) noexcept nogil:
    cdef int length = <int> n, one = 1
    return dnrm2(&length, <double*> x, &one)
