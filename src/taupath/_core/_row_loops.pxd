"""Loops over the stored entries of one row, written once for every storage and every precision.

An entry is a float32, a float64, or one of a matrix whose stored entries are all 1 and are never
read. It is multiplied with doubles, with extended precision, or with pairs (w_k, ẇ_k), both halves
at once. Cython makes one function of each combination; no element pays for the choice.
"""

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    typedef double pair_t __attribute__((vector_size(16), aligned(8)));
    static inline pair_t pair_of(double u, double v) { return (pair_t) {u, v}; }
    static inline pair_t pair_plus(pair_t a, pair_t b) { return a + b; }
    static inline pair_t pair_times(double x, pair_t a) { return x * a; }
    #else
    typedef struct { double u, v; } pair_t;
    static inline pair_t pair_of(double u, double v) { pair_t a; a.u = u; a.v = v; return a; }
    static inline pair_t pair_plus(pair_t a, pair_t b) { return pair_of(a.u + b.u, a.v + b.v); }
    static inline pair_t pair_times(double x, pair_t a) { return pair_of(x * a.u, x * a.v); }
    #endif
    """
    ctypedef struct pair_t:
        pass
    pair_t pair_of(double u, double v) noexcept nogil
    pair_t pair_plus(pair_t a, pair_t b) noexcept nogil
    pair_t pair_times(double x, pair_t a) noexcept nogil

ctypedef long double extended
ctypedef signed char one_t

ctypedef fused entry:
    float
    double
    one_t

ctypedef fused number:
    double
    extended
    pair_t


cdef inline double value(const entry* x, Py_ssize_t k) noexcept nogil:
    if entry is one_t:
        return 1.0
    else:
        return x[k]


cdef inline number zero(const number* like) noexcept nogil:
    if number is pair_t:
        return pair_of(0.0, 0.0)
    else:
        return 0.0


cdef inline number plus(number a, number b) noexcept nogil:
    if number is pair_t:
        return pair_plus(a, b)
    else:
        return a + b


cdef inline number times(double x, number a) noexcept nogil:
    if number is pair_t:
        return pair_times(x, a)
    else:
        return x * a


cdef inline number plus_times(number a, double x, number b) noexcept nogil:
    return plus[number](a, times[number](x, b))


cdef inline number dense_dot(const entry* x, Py_ssize_t d, const number* v,
                             number rest) noexcept nogil:
    """Return Σ x_j v_j + rest.

    The rest is the bias term. It is added to finished sums, so a large one rounds no other term.
    """
    cdef Py_ssize_t j
    cdef number a = zero[number](v), b = a
    for j in range(0, d - 1, 2):
        a = plus_times[number](a, value(x, j), v[j])
        b = plus_times[number](b, value(x, j + 1), v[j + 1])
    if d & 1:
        a = plus_times[number](a, value(x, d - 1), v[d - 1])
    return plus[number](a, plus[number](b, rest))


cdef inline void dense_axpy(const entry* x, Py_ssize_t d, number a, number* v) noexcept nogil:
    """Add a x to v; four at a time are loaded before any is stored."""
    cdef Py_ssize_t j
    cdef number v0, v1, v2, v3
    for j in range(0, d - 3, 4):
        v0 = plus_times[number](v[j], value(x, j), a)
        v1 = plus_times[number](v[j + 1], value(x, j + 1), a)
        v2 = plus_times[number](v[j + 2], value(x, j + 2), a)
        v3 = plus_times[number](v[j + 3], value(x, j + 3), a)
        v[j] = v0
        v[j + 1] = v1
        v[j + 2] = v2
        v[j + 3] = v3
    for j in range(d & ~3, d):
        v[j] = plus_times[number](v[j], value(x, j), a)


cdef inline void dense_axpys_long(const entry* X, Py_ssize_t d, const signed char* sign,
                                  const int* members, Py_ssize_t m, const long double* coef,
                                  long double* v) noexcept nogil:
    """Add Σ coef_k sign_i x_i over the members i to v; four sums at a time stay in registers."""
    cdef Py_ssize_t j, k
    cdef long double a, v0, v1, v2, v3
    cdef const entry* x
    for j in range(0, d - 3, 4):
        v0 = v[j]
        v1 = v[j + 1]
        v2 = v[j + 2]
        v3 = v[j + 3]
        for k in range(m):
            x = X + members[k] * d + j
            a = sign[members[k]] * coef[k]
            v0 = v0 + value(x, 0) * a
            v1 = v1 + value(x, 1) * a
            v2 = v2 + value(x, 2) * a
            v3 = v3 + value(x, 3) * a
        v[j] = v0
        v[j + 1] = v1
        v[j + 2] = v2
        v[j + 3] = v3
    for j in range(d & ~3, d):
        v0 = v[j]
        for k in range(m):
            a = sign[members[k]] * coef[k]
            v0 = v0 + value(X + members[k] * d, j) * a
        v[j] = v0


cdef inline number sparse_dot(const entry* x, const int* column, Py_ssize_t count,
                              const number* v, number rest) noexcept nogil:
    """Return Σ x_k v_column[k] + rest."""
    cdef Py_ssize_t k
    cdef number a = zero[number](v), b = a, c = a, d = a
    for k in range(0, count - 3, 4):
        a = plus_times[number](a, value(x, k), v[column[k]])
        b = plus_times[number](b, value(x, k + 1), v[column[k + 1]])
        c = plus_times[number](c, value(x, k + 2), v[column[k + 2]])
        d = plus_times[number](d, value(x, k + 3), v[column[k + 3]])
    for k in range(count & ~3, count):
        a = plus_times[number](a, value(x, k), v[column[k]])
    b = plus[number](b, rest)
    return plus[number](plus[number](a, b), plus[number](c, d))


cdef inline void sparse_axpy(const entry* x, const int* column, Py_ssize_t count, number a,
                             number* v) noexcept nogil:
    """Add a x_k to v_column[k]; no column occurs twice, so four at a time do not interfere."""
    cdef Py_ssize_t k
    cdef number v0, v1, v2, v3
    for k in range(0, count - 3, 4):
        v0 = plus_times[number](v[column[k]], value(x, k), a)
        v1 = plus_times[number](v[column[k + 1]], value(x, k + 1), a)
        v2 = plus_times[number](v[column[k + 2]], value(x, k + 2), a)
        v3 = plus_times[number](v[column[k + 3]], value(x, k + 3), a)
        v[column[k]] = v0
        v[column[k + 1]] = v1
        v[column[k + 2]] = v2
        v[column[k + 3]] = v3
    for k in range(count & ~3, count):
        v[column[k]] = plus_times[number](v[column[k]], value(x, k), a)
