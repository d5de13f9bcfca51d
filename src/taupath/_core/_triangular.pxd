"""Triangular systems whose rows lie anywhere in memory: L x = b and Lᵀ x = b."""

cimport taupath._core._vectors

cdef extern from *:
    """
    #if WITH_EIGHT
    #define BLOCKED_FROM 16

    /* Four rows at a time, so that x is read, or read and written, a quarter as often. */
    FOR_EVERY_PROCESSOR
    static void forward_blocked(double** row, Py_ssize_t first, Py_ssize_t m, double* x) {
        Py_ssize_t a, k;
        for (a = first; a + 4 <= m; a += 4) {
            const double *r0 = row[a], *r1 = row[a + 1], *r2 = row[a + 2], *r3 = row[a + 3];
            eight s0 = {0.0}, s1 = s0, s2 = s0, s3 = s0;
            double d0 = 0.0, d1 = 0.0, d2 = 0.0, d3 = 0.0;
            for (k = first; k + 8 <= a; k += 8) {
                const eight v = EIGHT(x + k);
                s0 += EIGHT(r0 + k) * v;
                s1 += EIGHT(r1 + k) * v;
                s2 += EIGHT(r2 + k) * v;
                s3 += EIGHT(r3 + k) * v;
            }
            for (; k < a; k++) {
                d0 += r0[k] * x[k];
                d1 += r1[k] * x[k];
                d2 += r2[k] * x[k];
                d3 += r3[k] * x[k];
            }
            x[a] = (x[a] - (ADDED_UP(s0) + d0)) / r0[a];
            x[a + 1] = (x[a + 1] - (ADDED_UP(s1) + d1) - r1[a] * x[a]) / r1[a + 1];
            x[a + 2] = (x[a + 2] - (ADDED_UP(s2) + d2) - r2[a] * x[a] - r2[a + 1] * x[a + 1])
                       / r2[a + 2];
            x[a + 3] = (x[a + 3] - (ADDED_UP(s3) + d3) - r3[a] * x[a] - r3[a + 1] * x[a + 1]
                        - r3[a + 2] * x[a + 2]) / r3[a + 3];
        }
        for (; a < m; a++) {
            double d = 0.0;
            for (k = first; k < a; k++) d += row[a][k] * x[k];
            x[a] = (x[a] - d) / row[a][a];
        }
    }

    FOR_EVERY_PROCESSOR
    static void backward_blocked(double** row, Py_ssize_t m, double* x) {
        Py_ssize_t a = m, k;
        while (a > 0) {
            if (a < 4) {
                a--;
                x[a] /= row[a][a];
                for (k = 0; k < a; k++) x[k] -= x[a] * row[a][k];
                continue;
            }
            a -= 4;
            {
                const double *r0 = row[a], *r1 = row[a + 1], *r2 = row[a + 2], *r3 = row[a + 3];
                const double x3 = x[a + 3] / r3[a + 3];
                const double x2 = (x[a + 2] - x3 * r3[a + 2]) / r2[a + 2];
                const double x1 = (x[a + 1] - x3 * r3[a + 1] - x2 * r2[a + 1]) / r1[a + 1];
                const double x0 = (x[a] - x3 * r3[a] - x2 * r2[a] - x1 * r1[a]) / r0[a];
                x[a] = x0;
                x[a + 1] = x1;
                x[a + 2] = x2;
                x[a + 3] = x3;
                for (k = 0; k + 8 <= a; k += 8)
                    *(eight*) (x + k) = EIGHT(x + k) - x3 * EIGHT(r3 + k) - x2 * EIGHT(r2 + k)
                                        - x1 * EIGHT(r1 + k) - x0 * EIGHT(r0 + k);
                for (; k < a; k++) x[k] = x[k] - x3 * r3[k] - x2 * r2[k] - x1 * r1[k] - x0 * r0[k];
            }
        }
    }
    #else
    #define BLOCKED_FROM PY_SSIZE_T_MAX
    static void forward_blocked(double** row, Py_ssize_t first, Py_ssize_t m, double* x) {}
    static void backward_blocked(double** row, Py_ssize_t m, double* x) {}
    #endif
    """
    const Py_ssize_t BLOCKED_FROM       # size from which on the following pay
    void forward_blocked(double** row, Py_ssize_t first, Py_ssize_t m, double* x) noexcept nogil
    void backward_blocked(double** row, Py_ssize_t m, double* x) noexcept nogil
