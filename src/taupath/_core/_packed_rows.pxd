from taupath._core._sparse_rows cimport SparseRows


cdef class PackedRows(SparseRows):
    cdef const unsigned char[:, ::1] codes   # a byte for the letters of two runs; padded with 0
    cdef const int[:, ::1] columns           # those of the letters of both runs, for each byte
    cdef Py_ssize_t n_codes                  # bytes of a row that stand for runs
    cdef bint odd                            # the last of them stands for one run only
    cdef double[::1] pair_table              # of the pairs in `face`
    cdef double[::1] table                   # workspace for other tables, of doubles or of pairs

    cdef bint _add_split(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil
