"""Products and sums of compressed sparse rows and pairs (w_k, ẇ_k), four entries at a time.

Results are those of `sparse_dot` and `sparse_axpy`, to the last bit: the order of sums is theirs.
"""

cimport taupath._core._vectors
from taupath._core._row_loops cimport entry, number, pair_t, sparse_axpy, sparse_dot

cdef extern from *:
    """
    #ifdef __has_builtin
    #if __has_builtin(__builtin_shufflevector) && __has_builtin(__builtin_convertvector)
    #define WITH_FOURS 1
    #endif
    #endif

    #if defined(WITH_FOURS)
    typedef double four_entries __attribute__((vector_size(32), aligned(8)));
    typedef float four_floats __attribute__((vector_size(16), aligned(4)));
    #define FOUR_DOUBLES(x) (*(const four_entries*) (x))
    #define FOUR_FLOATS(x) __builtin_convertvector(*(const four_floats*) (x), four_entries)
    #define JOINED(u, v) __builtin_shufflevector(u, v, 0, 1, 2, 3)
    #define FIRST_HALF(a) __builtin_shufflevector(a, a, 0, 1)
    #define SECOND_HALF(a) __builtin_shufflevector(a, a, 2, 3)
    #define FIRST_TWICE(a) __builtin_shufflevector(a, a, 0, 0, 1, 1)
    #define SECOND_TWICE(a) __builtin_shufflevector(a, a, 2, 2, 3, 3)

    #define LOOPS(kind, FOUR, dot_pair, axpy_pair)                                              \\
        FOR_EVERY_PROCESSOR                                                                     \\
        static pair_t dot_pair(const kind* x, const int* column, Py_ssize_t count,              \\
                               const pair_t* v, pair_t rest) {                                  \\
            Py_ssize_t k;                                                                       \\
            four_entries s01 = {0.0}, s23 = s01;                                                \\
            pair_t s0;                                                                          \\
            for (k = 0; k + 4 <= count; k += 4) {                                               \\
                const four_entries e = FOUR(x + k);                                             \\
                s01 += FIRST_TWICE(e) * JOINED(v[column[k]], v[column[k + 1]]);                 \\
                s23 += SECOND_TWICE(e) * JOINED(v[column[k + 2]], v[column[k + 3]]);            \\
            }                                                                                   \\
            s0 = FIRST_HALF(s01);                                                               \\
            for (; k < count; k++) s0 += (double) x[k] * v[column[k]];                          \\
            return (s0 + (SECOND_HALF(s01) + rest)) + (FIRST_HALF(s23) + SECOND_HALF(s23));     \\
        }                                                                                       \\
        FOR_EVERY_PROCESSOR                                                                     \\
        static void axpy_pair(const kind* x, const int* column, Py_ssize_t count, pair_t a,     \\
                              pair_t* v) {                                                      \\
            Py_ssize_t k;                                                                       \\
            const four_entries both = JOINED(a, a);                                             \\
            for (k = 0; k + 4 <= count; k += 4) {                                               \\
                const four_entries e = FOUR(x + k);                                             \\
                pair_t *v0 = v + column[k], *v1 = v + column[k + 1];                            \\
                pair_t *v2 = v + column[k + 2], *v3 = v + column[k + 3];                        \\
                const four_entries s01 = JOINED(*v0, *v1) + FIRST_TWICE(e) * both;              \\
                const four_entries s23 = JOINED(*v2, *v3) + SECOND_TWICE(e) * both;             \\
                *v0 = FIRST_HALF(s01);                                                          \\
                *v1 = SECOND_HALF(s01);                                                         \\
                *v2 = FIRST_HALF(s23);                                                          \\
                *v3 = SECOND_HALF(s23);                                                         \\
            }                                                                                   \\
            for (; k < count; k++) v[column[k]] += (double) x[k] * a;                           \\
        }
    LOOPS(float, FOUR_FLOATS, dot_float_pairs, axpy_float_pairs)
    LOOPS(double, FOUR_DOUBLES, dot_double_pairs, axpy_double_pairs)
    #else
    #define WITH_FOURS 0
    #define dot_float_pairs(x, column, count, v, rest) (rest)
    #define dot_double_pairs(x, column, count, v, rest) (rest)
    #define axpy_float_pairs(x, column, count, a, v) ((void) 0)
    #define axpy_double_pairs(x, column, count, a, v) ((void) 0)
    #endif
    """
    const bint WITH_FOURS      # whether this compiler has them
    # <x, v> + rest
    pair_t dot_float_pairs(const float* x, const int* column, Py_ssize_t count, const pair_t* v,
                           pair_t rest) noexcept nogil
    pair_t dot_double_pairs(const double* x, const int* column, Py_ssize_t count, const pair_t* v,
                            pair_t rest) noexcept nogil
    # v += a x
    void axpy_float_pairs(const float* x, const int* column, Py_ssize_t count, pair_t a,
                          pair_t* v) noexcept nogil
    void axpy_double_pairs(const double* x, const int* column, Py_ssize_t count, pair_t a,
                           pair_t* v) noexcept nogil


cdef inline number row_dot(const entry* x, const int* column, Py_ssize_t count, const number* v,
                           number rest) noexcept nogil:
    """Return Σ x_k v_column[k] + rest."""
    if WITH_FOURS:
        if number is pair_t:
            if entry is float:
                return dot_float_pairs(x, column, count, v, rest)
            elif entry is double:
                return dot_double_pairs(x, column, count, v, rest)
    return sparse_dot[entry, number](x, column, count, v, rest)


cdef inline void row_axpy(const entry* x, const int* column, Py_ssize_t count, number a,
                          number* v) noexcept nogil:
    """Add a x_k to v_column[k]."""
    if WITH_FOURS:
        if number is pair_t:
            if entry is float:
                axpy_float_pairs(x, column, count, a, v)
                return
            elif entry is double:
                axpy_double_pairs(x, column, count, a, v)
                return
    sparse_axpy[entry, number](x, column, count, a, v)
