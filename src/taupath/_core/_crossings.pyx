"""Sign changes of piecewise linear functions of τ, one for each sample.

Values at every so many nodes come first. Between two of these the sign of a function is constant if
its values there are further from zero than it can move in between; otherwise values at more nodes
are computed. Those at several nodes are computed together, for all samples that need them.
"""

from libc.math cimport INFINITY, fabs

import numpy as np

from scipy.linalg.cython_blas cimport dgemm, dgemv
from taupath._core._crossing_loops cimport (
    bent_values, dense_values, sift, sparse_values, squared_bend, step_t)

cdef enum:
    TOGETHER = 8            # nodes whose functions are laid out side by side
    MOST_LEVELS = 5
    MOST_STEPS = 128        # of the first level, if there is a longer step
    WIDE = 128              # coefficients from which on BLAS is quicker than a loop
    # Only coefficients that are off straight lines are multiplied if they are at most this share.
    FEW = 3
    # Sparse rows are multiplied with functions side by side if there is at least one for so many
    # coefficients, all of which have to be laid out.
    LEAST_SHARE = 128
    VALUES = 1 << 20        # of the first level that are kept at a time (8 MB)

# A coefficient this close to a straight line, relative to the smaller of its values at the ends, is
# on it: the rest is rounding.
cdef double ON_LINE = 2e-15

# Nodes from one value to the next, on each level. Between two neighbours of one level there are at
# most TOGETHER - 1 nodes of the level below.
STEPS = tuple(TOGETHER**level for level in range(MOST_LEVELS))


def bends(const double[::1] taus, const double[:, ::1] coef, const double[::1] constant,
          Py_ssize_t step):
    """Return how far functions are from straight lines over so many nodes each.

    Between the first and the last node of each step, the line through the functions at both is
    compared with the functions at the nodes: the result has the largest distance of the
    coefficients and of the constant.
    """
    cdef Py_ssize_t k, a, b, j, n = taus.shape[0], count = (n - 2 + step) // step
    cdef double[:, ::1] out = np.zeros((2, count))
    cdef double width, s, back
    with nogil:
        for k in range(count):
            a = k * step
            b = min(a + step, n - 1)
            width = taus[b] - taus[a]
            for j in range(a + 1, b):
                s = (taus[j] - taus[a]) / width if width > 0.0 else 0.0
                back = (taus[b] - taus[j]) / width if width > 0.0 else 1.0
                out[0, k] = max(out[0, k], squared_bend(
                    &coef[j, 0], &coef[a, 0], &coef[b, 0], s, back, coef.shape[1]))
                out[1, k] = max(out[1, k], fabs(
                    constant[j] - (back * constant[a] + s * constant[b])))
    np.sqrt(out[0], out=np.asarray(out[0]))
    return np.asarray(out)


def travelled(const double[:, ::1] w, Py_ssize_t d):
    """Return the distance from each w to the next, by their first d entries."""
    cdef Py_ssize_t k, n = max(w.shape[0] - 1, 0)
    cdef double[::1] out = np.empty(n)
    with nogil:
        for k in range(n):
            out[k] = squared_bend(&w[k + 1, 0], &w[k, 0], &w[k, 0], 0.0, 1.0, d)
    return np.sqrt(out)


cdef struct Samples:
    # features like a CSR matrix; `where` is for sparse ones only
    bint sparse
    const double* data
    const int* where
    const Py_ssize_t* begin
    const double* norm
    const double* level
    int* off_line               # scratch space: some columns


cdef struct Found:
    double* length
    double* first
    double* last
    unsigned char* undecided
    Py_ssize_t n_steps          # entries of a row of `undecided`


cdef struct Level:
    # some samples, their values at the nodes of this level one node after the other, and what is
    # found between these
    int* rows
    double* values
    double* norm
    double* since               # see `sift`
    double* length
    double* first
    double* last
    long long* unknown


cdef class NodeFunctions:
    """Functions of x at successive nodes, and how far they can move in between.

    Parameters
    ----------
    taus : ndarray of shape (n_nodes,)
        The nodes.
    coef : ndarray of shape (n_nodes, n)
        f(x) = <coef, x> + constant at each node.
    constant : ndarray of shape (n_nodes,)
        See `coef`.
    travel, drift : ndarray of shape (n_nodes,)
        How far coef (in the norm of the features) and constant have moved up to each node.
    linear : bool
        Whether functions are linear between neighbouring nodes.
    bent : list of ndarray
        For each of STEPS but the first, how far coef and constant are from straight lines, see
        `bends`. May be empty, or end early.
    """

    cdef const double[::1] taus, constant, travel, drift
    cdef const double[:, ::1] coef
    cdef bint linear
    cdef list bent
    cdef const double* bend[MOST_LEVELS]     # NULL if it is not known
    cdef const double* bend_constant[MOST_LEVELS]
    cdef Py_ssize_t steps[MOST_LEVELS]       # STEPS
    cdef int top                             # the first level
    cdef readonly Py_ssize_t n_values        # values of functions computed so far

    def __init__(self, taus, coef, constant, travel, drift, bint linear, bent=()):
        cdef const double[:, ::1] one
        cdef int level
        self.taus, self.coef, self.constant = taus, coef, constant
        self.travel, self.drift = travel, drift
        self.linear = linear
        self.bent = list(bent)
        for level in range(MOST_LEVELS):
            self.bend[level] = NULL
            if 0 < level <= len(self.bent):
                one = self.bent[level - 1]
                self.bend[level], self.bend_constant[level] = &one[0, 0], &one[1, 0]
            self.steps[level] = STEPS[level]
        self.top = 0
        while self.top < MOST_LEVELS - 1 and self._n_steps() > MOST_STEPS:
            self.top += 1

    cdef Py_ssize_t _n_steps(self):
        """Return the number of steps of the first level."""
        return (self.taus.shape[0] - 2 + self.steps[self.top]) // self.steps[self.top]

    def search(self, const double[::1] data, const int[::1] indices, const Py_ssize_t[::1] indptr,
               const int[::1] rows, const double[::1] norm, const double[::1] level,
               double[::1] length, double[::1] first, double[::1] last,
               unsigned char[:, ::1] undecided):
        """Add what is found to length, first and last of these rows of the features.

        Features are stored like a CSR matrix; without `indices`, rows are dense. Steps between
        neighbouring nodes whose inside is not known are marked as undecided.
        """
        cdef Py_ssize_t n_steps = self._n_steps(), n_values = 0, begin, m, k
        cdef Py_ssize_t most = min(max(VALUES // (n_steps + 1), 1), rows.shape[0])
        cdef Samples samples
        cdef Found found
        cdef Level levels[MOST_LEVELS]
        cdef double[::1] values, tiles
        cdef double[:, ::1] ways
        cdef long long[::1] unknown
        cdef int[::1] chosen, off_line
        cdef double* tile = NULL
        if rows.shape[0] == 0:
            return
        samples.data = &data[0] if data.shape[0] else NULL
        samples.sparse = indices is not None
        samples.where = &indices[0] if samples.sparse and indices.shape[0] else NULL
        samples.begin, samples.norm, samples.level = &indptr[0], &norm[0], &level[0]
        found.length, found.first, found.last = &length[0], &first[0], &last[0]
        found.n_steps = undecided.shape[1]
        found.undecided = &undecided[0, 0] if found.n_steps else NULL
        kept = []
        for k in range(self.top + 1):
            chosen, unknown = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.longlong)
            values = np.empty(most * (n_steps + 1 if k == self.top else TOGETHER + 1))
            ways = np.empty((5, most))
            kept.append((chosen, unknown, values, ways))
            levels[k].rows, levels[k].unknown = &chosen[0], &unknown[0]
            levels[k].values, levels[k].norm = &values[0], &ways[0, 0]
            levels[k].since, levels[k].length = &ways[1, 0], &ways[2, 0]
            levels[k].first, levels[k].last = &ways[3, 0], &ways[4, 0]
        if not samples.sparse or data.shape[0] >= self.coef.shape[1]:
            off_line = np.empty(self.coef.shape[1] + 1, dtype=np.int32)
            samples.off_line = &off_line[0]
            tiles = np.zeros(TOGETHER * (self.coef.shape[1] + 1))
            tile = &tiles[0]
        with nogil:
            begin = 0
            while begin < rows.shape[0]:
                m = min(most, rows.shape[0] - begin)
                for k in range(m):
                    levels[self.top].rows[k] = rows[begin + k]
                self._search(self.top, 0, self.taus.shape[0] - 1, m, &samples, tile, levels,
                             &found, &n_values)
                begin += m
        self.n_values += n_values               # here, where one thread at a time is

    cdef void _search(self, int level, Py_ssize_t a, Py_ssize_t b, Py_ssize_t m,
                      const Samples* samples, double* tile, Level* levels, Found* found,
                      Py_ssize_t* n_values) noexcept nogil:
        """Search from node a to b, for the m rows of this level.

        Below the first level, values at both ends are there.
        """
        cdef Py_ssize_t step = self.steps[level], count, c, k, one, other
        cdef int i
        cdef Level* here = levels + level
        cdef step_t now
        count = (b - a + step - 1) // step
        if level == self.top:
            self._evaluate(a, step, count, here, 0, m, samples, tile)
            self._evaluate(b, 1, 1, here, count, m, samples, tile)
            n_values[0] += m * (count + 1)
        elif count > 1:
            if not self._bend(a, b, step, count - 1, here, m, samples, tile):
                self._evaluate(a + step, step, count - 1, here, 1, m, samples, tile)
            n_values[0] += m * (count - 1)
        for k in range(m):
            here.norm[k] = samples.norm[here.rows[k]]
            here.since[k] = here.first[k] = INFINITY
            here.length[k] = 0.0
            here.last[k] = -INFINITY
        for c in range(count):
            one = a + c * step
            other = min(one + step, b)
            now.begin, now.end = self.taus[one], self.taus[other]
            now.travel = self.travel[other] - self.travel[one]
            now.drift = self.drift[other] - self.drift[one]
            now.bend = now.bend_constant = INFINITY
            if self.bend[level] != NULL:
                now.bend = self.bend[level][one // step]
                now.bend_constant = self.bend_constant[level][one // step]
            now.linear = self.linear and other == one + 1
            sift(m, &now, here.values + c * m, here.values + (c + 1) * m, here.norm, here.since,
                 here.length, here.first, here.last, here.unknown)
            self._look_inside(level, one, other, c, m, samples, tile, levels, found, n_values)
        for k in range(m):
            i = here.rows[k]
            if here.since[k] < INFINITY:
                here.length[k] += self.taus[b] - here.since[k]
            found.length[i] += here.length[k]
            found.first[i] = min(found.first[i], here.first[k])
            found.last[i] = max(found.last[i], here.last[k])

    cdef void _look_inside(self, int level, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c,
                           Py_ssize_t m, const Samples* samples, double* tile, Level* levels,
                           Found* found, Py_ssize_t* n_values) noexcept nogil:
        """Search the c-th step of a level, from node a to b, for the rows that need it."""
        cdef Py_ssize_t k, n_open = 0, below
        cdef int i
        cdef Level* here = levels + level
        cdef Level* inner = levels + level - 1
        cdef const double* one = here.values + c * m
        cdef const double* other = one + m
        if level == 0:
            for k in range(m):
                if here.unknown[k]:
                    if self.linear:
                        _crosses(self, here.rows[k], a, one[k], other[k], found)
                    else:
                        found.undecided[here.rows[k] * found.n_steps + a] = 1
            return
        for k in range(m):
            inner.rows[n_open] = <int> k
            n_open += here.unknown[k]
        if n_open == 0:
            return
        below = (b - a - 1) // self.steps[level - 1] + 1    # steps of the next level
        for k in range(n_open):
            i = inner.rows[k]
            inner.values[k] = one[i]
            inner.values[below * n_open + k] = other[i]
            inner.rows[k] = here.rows[i]
        self._search(level - 1, a, b, n_open, samples, tile, levels, found, n_values)

    cdef void _evaluate(self, Py_ssize_t node, Py_ssize_t step, Py_ssize_t count,
                        const Level* here, Py_ssize_t column, Py_ssize_t m,
                        const Samples* samples, double* tile) noexcept nogil:
        """Set values, less the level, at every step-th node from this one on, `count` in all.

        They are the columns of the values from this one on.
        """
        cdef Py_ssize_t d = self.coef.shape[1], k, c, j, at, some, begin, size
        cdef double* values = here.values + column * m
        cdef int n_tile
        if not samples.sparse and d >= WIDE:
            self._multiply(node, step, count, here, values, m, samples)
        elif tile == NULL or (samples.sparse and m < d // LEAST_SHARE):
            for k in range(m):
                begin = samples.begin[here.rows[k]]
                size = samples.begin[here.rows[k] + 1] - begin
                for c in range(count):
                    at = node + c * step
                    values[c * m + k] = self.constant[at] + _sparse_dot(
                        samples.data + begin, samples.where + begin, size, &self.coef[at, 0]
                    ) - samples.level[here.rows[k]]
        else:
            for some from 0 <= some < count by TOGETHER:
                n_tile = <int> min(<Py_ssize_t> TOGETHER, count - some)
                for c in range(n_tile):
                    at = node + (some + c) * step
                    for j in range(d):
                        tile[TOGETHER * j + c] = self.coef[at, j]
                    tile[TOGETHER * d + c] = self.constant[at]
                if samples.sparse:
                    sparse_values(m, here.rows, samples.data, samples.where, samples.begin, d,
                                  tile, samples.level, n_tile, values + some * m)
                else:
                    dense_values(m, here.rows, samples.data, samples.begin, d, tile,
                                 samples.level, n_tile, values + some * m)

    cdef bint _bend(self, Py_ssize_t a, Py_ssize_t b, Py_ssize_t step, Py_ssize_t count,
                    const Level* here, Py_ssize_t m, const Samples* samples,
                    double* tile) noexcept nogil:
        """Set values at every step-th node between a and b, `count` in all, from those at both.

        Returns whether that was done: it is if functions are wide and most coefficients are linear
        in between.
        """
        cdef Py_ssize_t d = self.coef.shape[1], j, c, at, size = 0
        cdef double width = self.taus[b] - self.taus[a], most
        cdef double back[TOGETHER]
        cdef double s[TOGETHER]
        cdef double* off
        cdef const double* one = &self.coef[a, 0]
        cdef const double* other = &self.coef[b, 0]
        if samples.sparse or d < WIDE:
            return False
        for c in range(count):
            at = a + (c + 1) * step
            s[c] = (self.taus[at] - self.taus[a]) / width if width > 0.0 else 0.0
            back[c] = (self.taus[b] - self.taus[at]) / width if width > 0.0 else 1.0
        for j in range(d):
            off = tile + TOGETHER * size
            most = 0.0
            for c in range(count):
                off[c] = self.coef[a + (c + 1) * step, j] - (back[c] * one[j] + s[c] * other[j])
                most = max(most, fabs(off[c]))
            if most > ON_LINE * min(fabs(one[j]), fabs(other[j])):
                samples.off_line[size] = <int> j
                size += 1
        if size > d // FEW:
            return False
        off = tile + TOGETHER * size
        for c in range(count):
            off[c] = self.constant[a + (c + 1) * step] - (
                back[c] * self.constant[a] + s[c] * self.constant[b])
        bent_values(m, here.rows, samples.data, samples.begin, samples.off_line, size, tile,
                    here.values, here.values + (count + 1) * m, back, s, <int> count,
                    here.values + m)
        return True

    cdef void _multiply(self, Py_ssize_t node, Py_ssize_t step, Py_ssize_t count,
                        const Level* here, double* values, Py_ssize_t m,
                        const Samples* samples) noexcept nogil:
        """Set products of dense rows with the coefficients, as `_evaluate` does."""
        cdef Py_ssize_t k, c
        cdef int d = <int> self.coef.shape[1], n = <int> count, n_rows = <int> m, one = 1
        cdef int apart = <int> (step * self.coef.shape[1])
        cdef double unit = 1.0, zero = 0.0, constant
        cdef double* coef = <double*> &self.coef[node, 0]
        if here.rows[m - 1] - here.rows[0] == m - 1:        # rows are in order: these are all
            dgemm("T", "N", &n_rows, &n, &d, &unit,
                  <double*> samples.data + samples.begin[here.rows[0]], &d, coef, &apart, &zero,
                  values, &n_rows)
        else:
            for k in range(m):
                dgemv("T", &d, &n, &unit, coef, &apart,
                      <double*> samples.data + samples.begin[here.rows[k]], &one, &zero,
                      values + k, &n_rows)
        for c in range(count):
            constant = self.constant[node + c * step]
            for k in range(m):
                values[c * m + k] = (constant + values[c * m + k]) - samples.level[here.rows[k]]


cdef void _crosses(NodeFunctions functions, int i, Py_ssize_t a, double at_a, double at_b,
                   Found* found) noexcept nogil:
    """Note a sign change between node a and the next one."""
    cdef double begin = functions.taus[a], end = functions.taus[a + 1], width = end - begin
    cdef double part = fabs(at_a) / (fabs(at_a) + fabs(at_b))
    if at_a < 0.0:
        found.first[i] = min(found.first[i], begin)
        found.length[i] += (1.0 - part) * width
        if at_b > 0.0:      # a touch is no crossing
            found.last[i] = max(found.last[i], end)
    else:
        found.first[i] = min(found.first[i], begin + part * width)
        found.length[i] += part * width
        if at_a > 0.0:
            found.last[i] = max(found.last[i], begin + part * width)


cdef inline double _sparse_dot(const double* x, const int* where, Py_ssize_t size,
                               const double* coef) noexcept nogil:
    cdef Py_ssize_t k
    cdef double total = 0.0
    for k in range(size):
        total = total + x[k] * coef[where[k]]
    return total
