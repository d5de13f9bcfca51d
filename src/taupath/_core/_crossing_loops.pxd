"""The inner loops of the search for sign changes, see `_crossings`."""

cdef extern from *:
    """
    #include <math.h>

    #if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__gnu_linux__)
    #define ON_ANY_PROCESSOR __attribute__((target_clones("avx512f", "avx2", "default")))
    #else
    #define ON_ANY_PROCESSOR
    #endif

    #if defined(__GNUC__) || defined(__clang__)
    typedef double eight __attribute__((vector_size(64), aligned(8)));
    #define EIGHT(address) (*(const eight*) (address))
    #define ADD(sum, x, address) (sum) += (x) * EIGHT(address)
    #define TOTAL(sum, other, address, less) ((sum) + (other)) + EIGHT(address) - (less)
    #define ENTRY(sum, k) (sum)[k]
    #define NOTHING {0.0}
    #else
    typedef struct { double at[8]; } eight;
    static eight total_of(eight a, const eight* b, const double* constant, double less) {
        int k;
        for (k = 0; k < 8; k++) a.at[k] = (a.at[k] + b->at[k]) + constant[k] - less;
        return a;
    }
    #define ADD(sum, x, address) \
        do { int _k; for (_k = 0; _k < 8; _k++) (sum).at[_k] += (x) * (address)[_k]; } while (0)
    #define TOTAL(sum, other, address, less) total_of(sum, &(other), address, less)
    #define ENTRY(sum, k) (sum).at[k]
    #define NOTHING {{0.0}}
    #endif

    /* The values of `count` functions, at most eight, for m rows, less the level of each row. The
       j-th coefficients of eight functions are side by side in `tile`, and last their constants.
       There are two sums of each, which hides latency. */
    ON_ANY_PROCESSOR
    static void dense_values(Py_ssize_t m, const int* rows, const double* data,
                             const Py_ssize_t* begin, Py_ssize_t d, const double* tile,
                             const double* level, int count, double* out) {
        Py_ssize_t i, j;
        int k;
        for (i = 0; i < m; i++) {
            const double* x = data + begin[rows[i]];
            eight a = NOTHING, b = NOTHING;
            for (j = 0; j + 1 < d; j += 2) {
                ADD(a, x[j], tile + 8 * j);
                ADD(b, x[j + 1], tile + 8 * j + 8);
            }
            if (j < d) ADD(a, x[j], tile + 8 * j);
            a = TOTAL(a, b, tile + 8 * d, level[rows[i]]);
            for (k = 0; k < count; k++) out[k * m + i] = ENTRY(a, k);
        }
    }

    ON_ANY_PROCESSOR
    static void sparse_values(Py_ssize_t m, const int* rows, const double* data, const int* where,
                              const Py_ssize_t* begin, Py_ssize_t d, const double* tile,
                              const double* level, int count, double* out) {
        Py_ssize_t i, j;
        int k;
        for (i = 0; i < m; i++) {
            const Py_ssize_t end = begin[rows[i] + 1];
            eight a = NOTHING, b = NOTHING;
            for (j = begin[rows[i]]; j + 1 < end; j += 2) {
                ADD(a, data[j], tile + 8 * (Py_ssize_t) where[j]);
                ADD(b, data[j + 1], tile + 8 * (Py_ssize_t) where[j + 1]);
            }
            if (j < end) ADD(a, data[j], tile + 8 * (Py_ssize_t) where[j]);
            a = TOTAL(a, b, tile + 8 * d, level[rows[i]]);
            for (k = 0; k < count; k++) out[k * m + i] = ENTRY(a, k);
        }
    }

    /* The same for dense rows between two nodes with the values `one` and `other`: on the straight
       line between these, at back[k] and s[k], plus the product of some entries with the tile. */
    ON_ANY_PROCESSOR
    static void bent_values(Py_ssize_t m, const int* rows, const double* data,
                            const Py_ssize_t* begin, const int* where, Py_ssize_t size,
                            const double* tile, const double* one, const double* other,
                            const double* back, const double* s, int count, double* out) {
        Py_ssize_t i, j;
        int k;
        for (i = 0; i < m; i++) {
            const double* x = data + begin[rows[i]];
            eight a = NOTHING, b = NOTHING;
            for (j = 0; j + 1 < size; j += 2) {
                ADD(a, x[where[j]], tile + 8 * j);
                ADD(b, x[where[j + 1]], tile + 8 * j + 8);
            }
            if (j < size) ADD(a, x[where[j]], tile + 8 * j);
            a = TOTAL(a, b, tile + 8 * size, 0.0);
            for (k = 0; k < count; k++)
                out[k * m + i] = (back[k] * one[i] + s[k] * other[i]) + ENTRY(a, k);
        }
    }

    /* The squared distance of w from the point (1 - s) u + s v, where back = 1 - s. */
    ON_ANY_PROCESSOR
    static double squared_bend(const double* w, const double* u, const double* v, double s,
                               double back, Py_ssize_t d) {
        double a[8] = {0.0}, total = 0.0;
        Py_ssize_t j;
        int k;
        for (j = 0; j + 8 <= d; j += 8)
            for (k = 0; k < 8; k++) {
                const double off = w[j + k] - (back * u[j + k] + s * v[j + k]);
                a[k] += off * off;
            }
        for (; j < d; j++) {
            const double off = w[j] - (back * u[j] + s * v[j]);
            total += off * off;
        }
        for (k = 0; k < 8; k++) total += a[k];
        return total;
    }

    /* How far the function of a sample can move in a step: norm times the first, plus the second,
       of both the way that it goes and its distance from a straight line. */
    typedef struct {
        double begin, end;              /* the τ of the step */
        double travel, drift, bend, bend_constant;
        int linear;                     /* or it is a straight line */
    } step_t;

    /* Look at one step of some samples, given values at both of its ends. `since` is where the
       function became positive, infinity if it is not, and `length` what was positive before.
       Truth values are 0.0 and 1.0: then compilers make vector instructions of all this. */
    ON_ANY_PROCESSOR
    static void sift(Py_ssize_t m, const step_t* step, const double* __restrict one,
                     const double* __restrict other, const double* __restrict norm,
                     double* __restrict since, double* __restrict length, double* __restrict first,
                     double* __restrict last, long long* __restrict unknown) {
        const double begin = step->begin, end = step->end, none = HUGE_VAL;
        const double travel = step->travel, drift = step->drift;
        const double bend = step->bend, bend_constant = step->bend_constant;
        const double linear = step->linear ? 1.0 : 0.0;
        Py_ssize_t k;
        for (k = 0; k < m; k++) {
            const double a = one[k], b = other[k], size_a = fabs(a), size_b = fabs(b);
            const double least = size_a < size_b ? size_a : size_b;
            /* if a norm is infinite, products may not be numbers, and nothing is skipped */
            const double way = norm[k] * travel + drift, off = norm[k] * bend + bend_constant;
            const double straight = least > off ? 1.0 : linear;
            const double far = size_a + size_b > way ? 1.0 : straight;
            const double below_a = a < 0.0 ? 1.0 : 0.0, below_b = b < 0.0 ? 1.0 : 0.0;
            const double quiet = below_a == below_b ? far : 0.0;
            const double positive = below_a < quiet ? 1.0 : 0.0;
            const double negative = quiet + below_a > 1.5 ? 1.0 : 0.0;
            const double gone = since[k] < none ? begin - since[k] : 0.0;
            const double start = since[k] < begin ? since[k] : begin;
            const double earliest = first[k] < begin ? first[k] : begin;
            length[k] += positive > 0.5 ? 0.0 : gone;
            since[k] = positive > 0.5 ? start : none;
            last[k] = positive > 0.5 ? end : last[k];
            first[k] = negative > 0.5 ? earliest : first[k];
            unknown[k] = quiet > 0.5 ? 0 : 1;
        }
    }
    """
    ctypedef struct step_t:
        double begin, end, travel, drift, bend, bend_constant
        int linear
    void sift(Py_ssize_t m, const step_t* step, const double* one, const double* other,
              const double* norm, double* since, double* length, double* first, double* last,
              long long* unknown) noexcept nogil
    void dense_values(Py_ssize_t m, const int* rows, const double* data, const Py_ssize_t* begin,
                      Py_ssize_t d, const double* tile, const double* level, int count,
                      double* out) noexcept nogil
    void sparse_values(Py_ssize_t m, const int* rows, const double* data, const int* where,
                       const Py_ssize_t* begin, Py_ssize_t d, const double* tile,
                       const double* level, int count, double* out) noexcept nogil
    void bent_values(Py_ssize_t m, const int* rows, const double* data, const Py_ssize_t* begin,
                     const int* where, Py_ssize_t size, const double* tile, const double* one,
                     const double* other, const double* back, const double* s, int count,
                     double* out) noexcept nogil
    double squared_bend(const double* w, const double* u, const double* v, double s, double back,
                        Py_ssize_t d) noexcept nogil
