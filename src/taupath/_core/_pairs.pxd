"""Two numbers side by side, (w_k, ẇ_k): what is done to the one is done to the other.

Compilers with vector types get one instruction for both, all others a struct.
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
