from taupath._core._rows cimport Rows


cdef class SparseRows(Rows):
    cdef object data                         # owns the memory of the entries; None: all are 1
    cdef const double* doubles               # NULL where the entries are float32 or all 1
    cdef const float* floats
    cdef const int[::1] indices
    cdef const Py_ssize_t[::1] indptr
    cdef const int* columns                  # the first of the indices
    cdef Py_ssize_t n_features

    cdef double _entry(self, Py_ssize_t k) noexcept nogil
