"""Rows of one-hot letters, two letters in a byte.

Every row has exactly one entry, a 1, in each of some runs of at most four columns. So two runs have
at most 16 pairs of letters. A product looks up each byte in a table of 16 sums. A combination of
rows adds to one of 16 cells for each byte, and the cells are added up for each letter at the end.
This takes half the additions, and an eighth of the memory traffic, that column numbers take.
"""

from libc.math cimport fabs, ilogb, ldexp
from libc.string cimport memset

import numpy as np

cimport taupath._core._vectors
from taupath._core._row_loops cimport number, pair_of, pair_t, plus, times, zero
from taupath._core._rows cimport Rows, prefetch_line
from taupath._core._sparse_rows cimport SparseRows

cdef extern from *:
    """
    /* The number of equal letters in n bytes, n a multiple of 16. Up to 112 bytes are counted in
       one byte: compilers make vector instructions of that. */
    static inline int n_equal(const unsigned char* x, const unsigned char* y, Py_ssize_t n) {
        int total = 0;
        Py_ssize_t first, j;
        for (first = 0; first < n; first += 112) {
            const Py_ssize_t last = first + 112 < n ? first + 112 : n;
            unsigned char some = 0;
            for (j = first; j < last; j++) {
                const unsigned char differ = x[j] ^ y[j];
                some += (unsigned char) (((differ & 3) == 0) + ((differ & 12) == 0));
            }
            total += some;
        }
        return total;
    }

    /* The same, with m of the rows of n bytes that begin at y. */
    FOR_EVERY_PROCESSOR
    static void count_equal(const unsigned char* x, const unsigned char* y, Py_ssize_t n,
                            const int* members, Py_ssize_t m, double* out) {
        Py_ssize_t k;
        for (k = 0; k < m; k++) out[k] = n_equal(x, y + n * members[k], n);
    }
    """
    void count_equal(const unsigned char* x, const unsigned char* y, Py_ssize_t n,
                     const int* members, Py_ssize_t m, double* out) noexcept nogil

cdef enum:
    LETTERS = 4         # of a run, at most: two bits
    CELLS = 16          # of the table for a byte
    # Tables pay from so many rows on.
    TABLE_FROM = 16
    # A coefficient is cut after CUT_BITS: so many first parts add up exactly in a double.
    CUT_BITS = 40
    CUT_TOGETHER = 4096

# Coefficients between these can be cut without underflow or overflow.
cdef double LEAST_CUT = 1e-250, MOST_CUT = 1e250


cdef class PackedRows(SparseRows):
    """Sparse rows of ones that are letters, see `engine.rows.pack`."""

    def __init__(self, codes, columns, Py_ssize_t n_runs, const int[::1] indices,
                 const Py_ssize_t[::1] indptr, Py_ssize_t n_features, sign, double bias,
                 bint balanced=False):
        super().__init__(None, indices, indptr, n_features, sign, bias, balanced)
        self.codes, self.columns = codes, columns
        self.n_codes = (n_runs + 1) // 2
        self.odd = n_runs % 2
        self.quick_inner = True
        self.pair_table, self.table = np.zeros((2, 2 * CELLS * self.codes.shape[1]))

    def sharing(self):
        """Return the same rows over the same memory, for another thread."""
        return PackedRows(self.codes, self.columns, 2 * self.n_codes - self.odd, self.indices,
                          self.indptr, self.n_features, self.sign, self.bias, self.balanced)

    cdef void face(self, const double* pair) noexcept nogil:
        _tabulate[pair_t](self, <const pair_t*> pair, <pair_t*> &self.pair_table[0])

    cdef void dot_pairs(self, const int* members, Py_ssize_t m, const double* pair,
                        double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef const pair_t* table = <const pair_t*> &self.pair_table[0]
        cdef pair_t rest = pair_of(0.0, 0.0)
        if self.bias != 0.0:
            rest = times[pair_t](self.bias, (<const pair_t*> pair)[self.n_features])
        for k in range(m):
            (<pair_t*> out)[k] = _look_up[pair_t](self, members[k], table, rest)

    cdef void dots(self, const int* members, Py_ssize_t m, const double* v,
                   double* out) noexcept nogil:
        cdef Py_ssize_t k
        cdef double rest = self.bias * v[self.n_features] if self.bias != 0.0 else 0.0
        cdef double* table = &self.table[0]
        if m < TABLE_FROM:
            Rows.dots(self, members, m, v, out)
            return
        memset(table, 0, CELLS * self.codes.shape[1] * sizeof(double))
        _tabulate[double](self, v, table)
        for k in range(m):
            out[k] = _look_up[double](self, members[k], table, rest)

    cdef void inner(self, Py_ssize_t i, const int* members, Py_ssize_t m,
                    double* out) noexcept nogil:
        cdef Py_ssize_t k, width = self.codes.shape[1]
        cdef const unsigned char* code = &self.codes[i, 0]
        # what stands for no run is equal in all rows
        cdef double rest = self.bias * self.bias - (2 * (width - self.n_codes) + self.odd)
        count_equal(code, &self.codes[0, 0], width, members, m, out)
        for k in range(m):
            out[k] = self.sign[i] * self.sign[members[k]] * (out[k] + rest)

    cdef void turn(self, const int* members, Py_ssize_t m, const double* coef, double back,
                   double* pair) noexcept nogil:
        cdef Py_ssize_t k
        cdef double a, total = 0.0
        cdef double* table = &self.table[0]
        cdef const int* column = &self.columns[0, 0]
        memset(table, 0, CELLS * self.n_codes * sizeof(double))
        for k in range(m):
            a = self.sign[members[k]] * coef[k]
            total = total + a
            _spread[double](self, members[k], a, table)
        for k in range(_n_letters(self)):
            _turn_one(pair + 2 * column[k], _cell_sum[double](table, k), back)
        if self.bias != 0.0:
            _turn_one(pair + 2 * self.n_features, self.bias * total, back)

    cdef void axpys_long(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil:
        cdef Py_ssize_t some
        while m > 0:
            some = min(<Py_ssize_t> CUT_TOGETHER, m)
            if some < TABLE_FROM or not self._add_split(members, some, coef, v):
                Rows.axpys_long(self, members, some, coef, v)
            members += some
            coef += some
            m -= some

    cdef bint _add_split(self, const int* members, Py_ssize_t m, const long double* coef,
                         long double* v) noexcept nogil:
        """The same, with coefficients cut in two; returns whether that was possible.

        The first parts are multiples of one power of two, and so are their sums, which are exact.
        The rest is small: sums of it round less than extended precision does.
        """
        cdef Py_ssize_t k
        cdef double largest = 0.0, grid, high, low
        cdef long double a, total = 0.0
        cdef pair_t* table = <pair_t*> &self.table[0]
        cdef const int* column = &self.columns[0, 0]
        cdef double both[2]
        for k in range(m):
            largest = max(largest, fabs(<double> coef[k]))
        if not LEAST_CUT < largest < MOST_CUT:
            return False
        # adding this and taking it away again rounds to multiples of the last of the bits
        grid = 1.5 * ldexp(1.0, ilogb(largest) + 1 - CUT_BITS + 52)
        memset(table, 0, CELLS * self.n_codes * sizeof(pair_t))
        for k in range(m):
            a = self.sign[members[k]] * coef[k]
            total = total + a
            high = (<double> a + grid) - grid
            low = <double> (a - high)
            _spread[pair_t](self, members[k], pair_of(high, low), table)
        for k in range(_n_letters(self)):
            (<pair_t*> both)[0] = _cell_sum[pair_t](table, k)
            v[column[k]] = v[column[k]] + both[0] + both[1]
        if self.bias != 0.0:
            v[self.n_features] = v[self.n_features] + self.bias * total
        return True

    cdef void prefetch(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(0, self.codes.shape[1], 64):     # bytes of a cache line
            prefetch_line(&self.codes[i, k])


cdef inline Py_ssize_t _n_letters(PackedRows rows) noexcept nogil:
    """Return for how many letters there are cells."""
    return 2 * LETTERS * rows.n_codes - (LETTERS if rows.odd else 0)


cdef inline void _tabulate(PackedRows rows, const number* v, number* table) noexcept nogil:
    """Set the sums of v over the columns of two letters, for each byte and pair of letters."""
    cdef Py_ssize_t k, x, y
    cdef const int* column
    cdef number second
    for k in range(rows.n_codes):
        column = &rows.columns[k, 0]
        for y in range(LETTERS):
            second = v[column[LETTERS + y]]
            if rows.odd and k == rows.n_codes - 1:
                second = zero[number](v)
            for x in range(LETTERS):
                table[CELLS * k + LETTERS * y + x] = plus[number](v[column[x]], second)


cdef inline number _look_up(PackedRows rows, Py_ssize_t i, const number* table,
                            number rest) noexcept nogil:
    """Return sign_i (Σ table[byte] + rest); the table is zero where nothing is stored."""
    cdef Py_ssize_t k
    cdef const unsigned char* code = &rows.codes[i, 0]
    cdef number a = zero[number](table), b = a, c = a, d = a
    for k in range(0, rows.n_codes, 4):
        a = plus[number](a, table[code[k]])
        b = plus[number](b, table[CELLS + code[k + 1]])
        c = plus[number](c, table[2 * CELLS + code[k + 2]])
        d = plus[number](d, table[3 * CELLS + code[k + 3]])
        table += 4 * CELLS
    return times[number](rows.sign[i], plus[number](plus[number](plus[number](a, b),
                                                                 plus[number](c, d)), rest))


cdef inline void _spread(PackedRows rows, Py_ssize_t i, number a, number* table) noexcept nogil:
    """Add a to the cell of every byte; four at a time are loaded before any is stored."""
    cdef Py_ssize_t k, last = rows.n_codes & ~3
    cdef const unsigned char* code = &rows.codes[i, 0]
    cdef number* cell0
    cdef number* cell1
    cdef number* cell2
    cdef number* cell3
    cdef number a0, a1, a2, a3
    for k in range(0, last, 4):
        cell0 = table + code[k]
        cell1 = table + (CELLS + code[k + 1])
        cell2 = table + (2 * CELLS + code[k + 2])
        cell3 = table + (3 * CELLS + code[k + 3])
        a0 = plus[number](cell0[0], a)
        a1 = plus[number](cell1[0], a)
        a2 = plus[number](cell2[0], a)
        a3 = plus[number](cell3[0], a)
        cell0[0] = a0
        cell1[0] = a1
        cell2[0] = a2
        cell3[0] = a3
        table += 4 * CELLS
    for k in range(last, rows.n_codes):
        table[code[k]] = plus[number](table[code[k]], a)
        table += CELLS


cdef inline number _cell_sum(const number* table, Py_ssize_t letter) noexcept nogil:
    """Return the sum of the four cells that a letter occurs in; letters are counted by bytes."""
    cdef Py_ssize_t which = letter % (2 * LETTERS)
    cdef const number* cell = table + CELLS * (letter // (2 * LETTERS))
    if which < LETTERS:
        cell += which
        return plus[number](plus[number](cell[0], cell[LETTERS]),
                            plus[number](cell[2 * LETTERS], cell[3 * LETTERS]))
    cell += LETTERS * (which - LETTERS)
    return plus[number](plus[number](cell[0], cell[1]), plus[number](cell[2], cell[3]))


cdef inline void _turn_one(double* pair, double by, double back) noexcept nogil:
    pair[0] = pair[0] - back * by
    pair[1] = pair[1] + by
