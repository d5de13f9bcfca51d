"""Sign changes of piecewise linear functions of τ, one for each sample, found by halving."""

from libc.math cimport fabs

from taupath._core._blas cimport dot

cdef enum:
    SHORT = 24      # coefficients below which a loop beats the call into BLAS, as measured


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
    """

    cdef const double[::1] taus, constant, travel, drift
    cdef const double[:, ::1] coef
    cdef bint linear
    cdef readonly Py_ssize_t n_values        # values of functions computed so far

    def __init__(self, taus, coef, constant, travel, drift, bint linear):
        self.taus, self.coef, self.constant = taus, coef, constant
        self.travel, self.drift = travel, drift
        self.linear = linear

    def search(self, const double[::1] data, const int[::1] indices, const Py_ssize_t[::1] indptr,
               const int[::1] rows, const double[::1] norm, const double[::1] level,
               double[::1] length, double[::1] first, double[::1] last,
               unsigned char[:, ::1] undecided):
        """Add what is found to length, first and last of these rows of the features.

        Features are stored like a CSR matrix; without `indices`, rows are dense. Steps between
        neighbouring nodes whose inside is not known are marked as undecided.
        """
        cdef Py_ssize_t k, begin, size, n_values = 0
        cdef const double* x
        cdef const int* where
        cdef int i
        with nogil:
            for k in range(rows.shape[0]):
                i = rows[k]
                begin = indptr[i]
                size = indptr[i + 1] - begin
                x = &data[begin] if size else NULL
                where = &indices[begin] if size and indices is not None else NULL
                self._search(i, x, where, size, norm[i], level[i], &length[i], &first[i],
                             &last[i], undecided, &n_values)
        self.n_values += n_values               # here, where one thread at a time is

    cdef double _value(self, Py_ssize_t node, const double* x, const int* where,
                       Py_ssize_t size, Py_ssize_t* n_values) noexcept nogil:
        cdef Py_ssize_t k
        cdef double total = 0.0, other = 0.0
        cdef const double* coef = &self.coef[node, 0]
        n_values[0] += 1
        if where == NULL:
            if size >= SHORT:
                return self.constant[node] + dot(size, x, coef)
            for k in range(0, size - 1, 2):     # two sums hide the latency of one
                total = total + x[k] * coef[k]
                other = other + x[k + 1] * coef[k + 1]
            if size & 1:
                total = total + x[size - 1] * coef[size - 1]
            return self.constant[node] + (total + other)
        for k in range(size):
            total = total + x[k] * coef[where[k]]
        return self.constant[node] + total

    cdef void _search(self, int i, const double* x, const int* where, Py_ssize_t size,
                      double norm, double level, double* length, double* first, double* last,
                      unsigned char[:, ::1] undecided, Py_ssize_t* n_values) noexcept nogil:
        # depth first, left half first: the right ends of later halves wait on a stack
        cdef Py_ssize_t ends[64]
        cdef double values[64]
        cdef Py_ssize_t waiting = 1, a = 0, b, middle
        cdef double at_a, at_b, width, part, reach
        ends[0] = self.taus.shape[0] - 1
        at_a = self._value(0, x, where, size, n_values) - level
        values[0] = self._value(ends[0], x, where, size, n_values) - level
        while waiting > 0:
            b = ends[waiting - 1]
            at_b = values[waiting - 1]
            width = self.taus[b] - self.taus[a]
            reach = norm * (self.travel[b] - self.travel[a]) + self.drift[b] - self.drift[a]
            # (if norm is infinite and w rests, reach is not a number and nothing is skipped)
            if (at_a < 0.0) == (at_b < 0.0) and (fabs(at_a) + fabs(at_b) > reach
                                                 or (self.linear and b == a + 1)):
                if at_a < 0.0:
                    first[0] = min(first[0], self.taus[a])
                else:
                    length[0] += width
                    last[0] = max(last[0], self.taus[b])
            elif b > a + 1:
                middle = (a + b) // 2
                ends[waiting] = middle
                values[waiting] = self._value(middle, x, where, size, n_values) - level
                waiting += 1
                continue
            elif not self.linear:
                undecided[i, a] = 1
            else:
                part = fabs(at_a) / (fabs(at_a) + fabs(at_b))
                if at_a < 0.0:
                    first[0] = min(first[0], self.taus[a])
                    length[0] += (1.0 - part) * width
                    if at_b > 0.0:      # a touch is no crossing
                        last[0] = max(last[0], self.taus[b])
                else:
                    first[0] = min(first[0], self.taus[a] + part * width)
                    length[0] += part * width
                    if at_a > 0.0:
                        last[0] = max(last[0], self.taus[a] + part * width)
            a = b
            at_a = at_b
            waiting -= 1
