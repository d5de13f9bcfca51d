from taupath._core._rows cimport Rows


cdef class SparseRows(Rows):
    """What compressed sparse rows have in common, whatever their values."""

    cdef const int[::1] indices
    cdef const Py_ssize_t[::1] indptr
    cdef const int* indices_start


cdef class CsrRows(SparseRows):
    cdef const double[::1] data
    cdef const double* data_start


cdef class PatternRows(SparseRows):
    pass
