"""Sums of many rows of a kernel matrix, four rows at a time, and products with one row."""

cimport taupath._core._vectors

cdef extern from *:
    """
    #include <math.h>

    #define MOST_TOGETHER 256
    #define COLUMNS 512         /* sums of so many columns stay in the fastest cache */
    /* x + GRID s - GRID s is x rounded to a multiple of s / 2^20. */
    #define GRID 6442450944.0

    /* v += sum of coef_k x_k over at most MOST_TOGETHER rows. Entries x_kj are at most size_k
       column_size_j, all of these powers of two.

       Entries and coefficients are split after their leading 20 bits, as part of the largest
       product in a column. Sums of products of leading parts are exact in doubles; the others are
       so much smaller that rounding them counts less than in extended precision. */
    FOR_EVERY_PROCESSOR
    static void add_rows(const double** x, Py_ssize_t m, const long double* coef,
                         const double* size, const double* column_size, Py_ssize_t n,
                         long double* v) {
        const double* row[MOST_TOGETHER + 3];
        double lead[MOST_TOGETHER + 3], rest[MOST_TOGETHER + 3], grid[MOST_TOGETHER + 3];
        double leading[COLUMNS], others[COLUMNS], largest = 0.0;
        Py_ssize_t first, j, k;
        int exponent;
        for (k = 0; k < m; k++) largest = fmax(largest, fabs((double) coef[k]) * size[k]);
        frexp(largest, &exponent);
        largest = ldexp(1.0, exponent);
        for (k = 0; k < m; k++) {
            const double by = GRID * (largest / size[k]);
            row[k] = x[k];
            lead[k] = ((double) coef[k] + by) - by;
            rest[k] = (double) (coef[k] - lead[k]);
            grid[k] = GRID * size[k];
        }
        for (; k % 4; k++) {
            row[k] = row[k - 1];
            lead[k] = rest[k] = 0.0;
            grid[k] = grid[k - 1];
        }
        m = k;
        for (first = 0; first < n; first += COLUMNS) {
            const Py_ssize_t count = n - first < COLUMNS ? n - first : COLUMNS;
            const double* wide = column_size + first;
            for (j = 0; j < count; j++) leading[j] = others[j] = 0.0;
            for (k = 0; k < m; k += 4) {
                const double *x0 = row[k] + first, *x1 = row[k + 1] + first;
                const double *x2 = row[k + 2] + first, *x3 = row[k + 3] + first;
                const double g0 = grid[k], g1 = grid[k + 1], g2 = grid[k + 2], g3 = grid[k + 3];
                const double a0 = lead[k], a1 = lead[k + 1], a2 = lead[k + 2], a3 = lead[k + 3];
                const double b0 = rest[k], b1 = rest[k + 1], b2 = rest[k + 2], b3 = rest[k + 3];
                for (j = 0; j < count; j++) {
                    const double s = wide[j];
                    const double y0 = (x0[j] + g0 * s) - g0 * s, y1 = (x1[j] + g1 * s) - g1 * s;
                    const double y2 = (x2[j] + g2 * s) - g2 * s, y3 = (x3[j] + g3 * s) - g3 * s;
                    leading[j] += (a0 * y0 + a1 * y1) + (a2 * y2 + a3 * y3);
                    others[j] += ((a0 * (x0[j] - y0) + b0 * x0[j])
                                  + (a1 * (x1[j] - y1) + b1 * x1[j]))
                                 + ((a2 * (x2[j] - y2) + b2 * x2[j])
                                    + (a3 * (x3[j] - y3) + b3 * x3[j]));
                }
            }
            for (j = 0; j < count; j++) v[first + j] += (long double) leading[j] + others[j];
        }
    }

    /* u += sum of coef_2k x_k and v += sum of coef_2k+1 x_k over some rows, and the same multiples
       of signs, for u and v interleaved. */
    FOR_EVERY_PROCESSOR
    static void add_rows_to_pair(const double** x, Py_ssize_t m, const double* coef,
                                 const signed char* sign, double u_sign, double v_sign,
                                 Py_ssize_t n, double* pair) {
        double u[COLUMNS], v[COLUMNS];
        Py_ssize_t first, j, k;
        for (first = 0; first < n; first += COLUMNS) {
            const Py_ssize_t count = n - first < COLUMNS ? n - first : COLUMNS;
            double* out = pair + 2 * first;
            for (j = 0; j < count; j++) {
                u[j] = u_sign * sign[first + j];
                v[j] = v_sign * sign[first + j];
            }
            for (k = 0; k + 4 <= m; k += 4) {
                const double *x0 = x[k] + first, *x1 = x[k + 1] + first;
                const double *x2 = x[k + 2] + first, *x3 = x[k + 3] + first;
                const double* c = coef + 2 * k;
                const double a0 = c[0], a1 = c[2], a2 = c[4], a3 = c[6];
                const double b0 = c[1], b1 = c[3], b2 = c[5], b3 = c[7];
                for (j = 0; j < count; j++) {
                    u[j] += (a0 * x0[j] + a1 * x1[j]) + (a2 * x2[j] + a3 * x3[j]);
                    v[j] += (b0 * x0[j] + b1 * x1[j]) + (b2 * x2[j] + b3 * x3[j]);
                }
            }
            for (; k < m; k++) {
                const double* x0 = x[k] + first;
                const double a0 = coef[2 * k], b0 = coef[2 * k + 1];
                for (j = 0; j < count; j++) {
                    u[j] += a0 * x0[j];
                    v[j] += b0 * x0[j];
                }
            }
            for (j = 0; j < count; j++) {
                out[2 * j] += u[j];
                out[2 * j + 1] += v[j];
            }
        }
    }

    /* out_0 += <x, u> and out_1 += <x, v>; m is a multiple of 8. */
    FOR_EVERY_PROCESSOR
    static void add_products(const double* x, const double* u, const double* v, Py_ssize_t m,
                             double* out) {
        Py_ssize_t k;
    #if WITH_EIGHT
        eight a = {0.0}, b = a;
        for (k = 0; k < m; k += 8) {
            a += EIGHT(x + k) * EIGHT(u + k);
            b += EIGHT(x + k) * EIGHT(v + k);
        }
        out[0] += ADDED_UP(a);
        out[1] += ADDED_UP(b);
    #else
        double a = 0.0, b = 0.0;
        for (k = 0; k < m; k++) {
            a += x[k] * u[k];
            b += x[k] * v[k];
        }
        out[0] += a;
        out[1] += b;
    #endif
    }
    """
    enum: MOST_TOGETHER
    void add_rows(const double** x, Py_ssize_t m, const long double* coef, const double* size,
                  const double* column_size, Py_ssize_t n, long double* v) noexcept nogil
    void add_rows_to_pair(const double** x, Py_ssize_t m, const double* coef,
                          const signed char* sign, double u_sign, double v_sign, Py_ssize_t n,
                          double* pair) noexcept nogil
    void add_products(const double* x, const double* u, const double* v, Py_ssize_t m,
                      double* out) noexcept nogil
