"""Level-1 kernels: plain loops while a call would cost more than the work, BLAS beyond."""

from scipy.linalg.cython_blas cimport daxpy, ddot, dnrm2

cdef enum:
    LOOP_BELOW = 24     # length below which a loop beats the call into BLAS, as measured


cdef inline double dot(Py_ssize_t n, const double* x, const double* y) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total = 0.0
    cdef int length = <int> n, one = 1
    if n < LOOP_BELOW:
        for k in range(n):
            total = total + x[k] * y[k]
        return total
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
