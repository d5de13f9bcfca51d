"""The factorisation of a changing set of rows: append, remove, solve. It knows nothing of paths.

`Factor` works on the Gram matrix alone. `OrthogonalFactor` keeps an orthonormal basis of the
member rows as well. That costs O(size * n_cols) per change, but does not square the condition
number, so it copes with badly scaled columns.
"""

cimport cython
from libc.math cimport fabs, sqrt
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memmove

import numpy as np

from taupath._core._blas cimport axpy, dot
from taupath._core._tolerances cimport (
    DEPENDENT_ON_BASIS, PIVOT_CANCELLED, SOLVED, STALE, STALE_VISIBLE
)
from taupath._core._triangular cimport BLOCKED_FROM, backward_blocked, forward_blocked

cdef enum:
    ORTHOGONAL_UP_TO = 128      # columns up to which a basis is cheap beside the rest of an event
    MOST_REFINEMENTS = 4        # rounds of a solve; the first two gain all digits but in bad cases


def keeps_basis(Rows rows):
    """Return whether the factor of these rows keeps an orthonormal basis."""
    return rows.n_cols <= ORTHOGONAL_UP_TO and not rows.dual


cdef Factor make_factor(Rows rows, Py_ssize_t capacity):
    return (OrthogonalFactor if keeps_basis(rows) else Factor)(rows, capacity)


def independent_rows(Rows rows, members):
    """Return for each member whether it is independent of those before it."""
    return make_factor(rows, len(members) + 1).take_all(members)


cdef class Factor:
    """Cholesky factor of a changing set of rows."""

    def __cinit__(self):
        self.row = NULL

    def __init__(self, Rows rows, Py_ssize_t capacity=16):
        self.rows = rows
        self.squared_norm = rows.squared_norms()
        self.vector = np.zeros(rows.n_cols)
        self.reserve(capacity)

    def __dealloc__(self):
        free(self.row)

    def reserve(self, Py_ssize_t capacity):
        """Make room for `capacity` members, keeping those that are in."""
        if capacity <= self.capacity:
            return
        members = np.zeros(capacity, dtype=np.int32)
        # rows a power of two apart would share cache sets
        storage = np.zeros((capacity, capacity + 8 + capacity % 2))
        cdef double[:, ::1] fresh = storage
        cdef Py_ssize_t a
        cdef double** row = <double**> malloc(capacity * sizeof(double*))
        if row == NULL:
            raise MemoryError(f"no room for a factor of {capacity} rows")
        for a in range(capacity):
            row[a] = &fresh[a, 0]
            if a < self.size:
                memcpy(row[a], self.row[a], (a + 1) * sizeof(double))
                members[a] = self.members[a]
        free(self.row)
        self.row = row
        self.members = members
        self.order = np.zeros(capacity, dtype=np.int32)
        self.storage = storage
        self.cosine = np.zeros(capacity)
        self.sine = np.zeros(capacity)
        self.work = np.zeros(capacity)
        self.change = np.zeros(capacity, dtype=np.longdouble)
        self.capacity = capacity

    def load(self, const int[::1] members, const double[:, ::1] L):
        """Take these members with their Cholesky factor, computed elsewhere."""
        cdef Py_ssize_t a
        self.reserve(members.shape[0] + 8)
        self.size = members.shape[0]
        for a in range(self.size):
            self.members[a] = members[a]
            memcpy(self.row[a], &L[a, 0], (a + 1) * sizeof(double))

    cdef void _forward(self, double* x, Py_ssize_t first=0) noexcept nogil:
        cdef Py_ssize_t a
        if self.size - first >= BLOCKED_FROM:
            forward_blocked(self.row, first, self.size, x)
            return
        for a in range(first, self.size):
            x[a] = (x[a] - dot(a - first, self.row[a] + first, x + first)) / self.row[a][a]

    cdef void _backward(self, double* x) noexcept nogil:
        cdef Py_ssize_t a
        if self.size >= BLOCKED_FROM:
            backward_blocked(self.row, self.size, x)
            return
        for a in range(self.size - 1, -1, -1):
            x[a] = x[a] / self.row[a][a]
            axpy(a, -x[a], self.row[a], x)

    cdef void solve(self, double* x) noexcept nogil:
        self._forward(x)
        self._backward(x)

    cdef double append(self, int i) noexcept nogil:
        cdef Py_ssize_t m = self.size
        cdef double* r = self.row[m]
        cdef double pivot
        self.rows.inner(i, &self.members[0], m, r)
        self._forward(r)
        pivot = self.squared_norm[i] - dot(m, r, r)
        if pivot <= PIVOT_CANCELLED * self.squared_norm[i]:
            pivot = self._refined_pivot(i, r)
        if pivot <= self.rows.resolution * self.squared_norm[i]:
            return 0.0
        r[m] = sqrt(pivot)
        self.members[m] = i
        self.size = m + 1
        return r[m]

    cdef double _refined_pivot(self, int i, double* r) noexcept nogil:
        # q = z_i minus its projection, formed in the rows' own space and projected once more:
        # ‖q‖² is then free of the cancellation in ‖z_i‖² - ‖r‖².
        cdef Py_ssize_t a, k, m = self.size
        cdef double* q = &self.vector[0]
        cdef double* x = &self.work[0]
        for k in range(self.rows.n_cols):
            q[k] = 0.0
        self.rows.axpy(i, 1.0, q)
        for a in range(m):
            x[a] = r[a]
        for k in range(2):
            self._backward(x)
            for a in range(m):
                self.rows.axpy(self.members[a], -x[a], q)
            for a in range(m):
                x[a] = self.rows.dot(self.members[a], q)
            self._forward(x)
            if k == 0:
                for a in range(m):
                    r[a] = r[a] + x[a]
        return self.rows.squared_rest(i, q)

    cdef void remove(self, Py_ssize_t a) noexcept nogil:
        # Row a goes; the rows below get one entry too many, which rotations of neighbouring
        # columns take away again. Four rows share each rotation: their chains hide latency.
        cdef Py_ssize_t b, k, m = self.size - 1
        cdef double* gone = self.row[a]
        cdef double* x0
        cdef double* x1
        cdef double* x2
        cdef double* x3
        cdef double carry0, carry1, carry2, carry3, c, s, y
        cdef double* cosine = &self.cosine[0]
        cdef double* sine = &self.sine[0]
        memmove(&self.row[a], &self.row[a + 1], (m - a) * sizeof(double*))
        self.row[m] = gone
        memmove(&self.members[0] + a, &self.members[0] + a + 1, (m - a) * sizeof(int))
        self.size = m
        b = a
        while b < m:
            if b + 4 > m:
                self._rotate_row(b, a, a, self.row[b][a])
                b += 1
                continue
            x0 = self.row[b]
            x1 = self.row[b + 1]
            x2 = self.row[b + 2]
            x3 = self.row[b + 3]
            carry0 = x0[a]
            carry1 = x1[a]
            carry2 = x2[a]
            carry3 = x3[a]
            for k in range(a, b):
                c = cosine[k]
                s = sine[k]
                y = x0[k + 1]
                x0[k] = c * carry0 + s * y
                carry0 = c * y - s * carry0
                y = x1[k + 1]
                x1[k] = c * carry1 + s * y
                carry1 = c * y - s * carry1
                y = x2[k + 1]
                x2[k] = c * carry2 + s * y
                carry2 = c * y - s * carry2
                y = x3[k + 1]
                x3[k] = c * carry3 + s * y
                carry3 = c * y - s * carry3
            self._rotate_row(b, a, b, carry0)
            self._rotate_row(b + 1, a, b, carry1)
            self._rotate_row(b + 2, a, b, carry2)
            self._rotate_row(b + 3, a, b, carry3)
            b += 4

    cdef void _rotate_row(self, Py_ssize_t b, Py_ssize_t a, Py_ssize_t k,
                          double carry) noexcept nogil:
        # Finish row b from column k on (earlier columns are done), then set rotation b.
        cdef double* x = self.row[b]
        cdef double y, length
        while k < b:
            y = x[k + 1]
            x[k] = self.cosine[k] * carry + self.sine[k] * y
            carry = self.cosine[k] * y - self.sine[k] * carry
            k += 1
        y = x[b + 1]
        length = sqrt(carry * carry + y * y)
        self.cosine[b] = carry / length
        self.sine[b] = y / length
        x[b] = length

    cdef bint rebuild(self) noexcept nogil:
        cdef Py_ssize_t a, m = self.size
        memcpy(&self.order[0], &self.members[0], m * sizeof(int))
        self.size = 0
        self.stale = False
        for a in range(m):
            if self.append(self.order[a]) == 0.0:
                return False
        return True

    cdef bint nearly_dependent(self, double part) noexcept nogil:
        cdef Py_ssize_t a
        cdef double pivot
        for a in range(self.size):
            pivot = self.row[a][a]
            if pivot * pivot < part * part * self.squared_norm[self.members[a]]:
                return True
        return False

    cdef double column(self, Py_ssize_t a, double* u) noexcept nogil:
        cdef Py_ssize_t b, m = self.size
        cdef double scale
        for b in range(m):
            u[b] = 0.0
        u[a] = 1.0
        self._forward(u, a)
        self._backward(u)
        scale = 1.0 / u[a]
        for b in range(m):
            u[b] = u[b] * scale
        u[a] = 1.0
        return scale

    cdef const double* meet(self, const double* rhs, long double* coef,
                            long double* exact) noexcept nogil:
        # Residuals are taken through the rows, of a v that is more exact than they need: each
        # round gains the digits that the factor still has.
        cdef Py_ssize_t a, k, m = self.size, n = self.rows.n_cols
        cdef double* x = &self.work[0]
        cdef double* v = &self.vector[0]
        cdef double length, worst, lack, size, before = 1e300, terms = 0.0
        cdef int attempt
        for k in range(n):
            v[k] = <double> exact[k]
        self.unsolved = 0.0
        for attempt in range(MOST_REFINEMENTS):
            length = self.rows.length(v, 1)
            worst = 0.0
            lack = 0.0          # in units of v: comparable from round to round, as v shrinks
            self.rows.dots(&self.members[0], m, v, x)
            for a in range(m):
                x[a] = rhs[a] - x[a]
                size = sqrt(self.squared_norm[self.members[a]])
                worst = max(worst, fabs(x[a]) / (fabs(rhs[a]) + length * size + 1e-300))
                lack = max(lack, fabs(x[a]) / (size + 1e-300))
            self.unsolved = worst
            if attempt == 1 and lack > STALE * before and lack > STALE_VISIBLE * terms:
                self.stale = True
            if worst <= SOLVED or lack > 0.5 * before:
                break
            before = lack
            self._lacking(rhs, v, x)
            terms = 0.0
            for a in range(m):
                coef[a] = coef[a] + x[a]
                self.change[a] = x[a]
                terms += fabs(<double> coef[a]) * sqrt(self.squared_norm[self.members[a]])
            self.rows.axpys_long(&self.members[0], m, &self.change[0], exact)
            for k in range(n):
                v[k] = <double> exact[k]
        return v

    cdef void _lacking(self, const double* rhs, const double* v, double* x) noexcept nogil:
        self.solve(x)           # x comes in as the residual

    # -- for Python ---------------------------------------------------------------------------

    def take(self, int i):
        """Append row i; returns its distance to the span of the members, 0 if it lies in it."""
        if self.size == self.capacity:
            self.reserve(self.capacity + self.capacity // 2 + 1)
        return self.append(i)

    def take_all(self, const int[::1] candidates):
        """Append each candidate that is independent of the members so far; returns which were."""
        self.reserve(self.size + candidates.shape[0])
        return np.array([self.append(i) > 0.0 for i in candidates], dtype=bool)

    def drop(self, Py_ssize_t a):
        """Remove the a-th member."""
        if not 0 <= a < self.size:
            raise IndexError(f"there are {self.size} members, got {a}")
        self.remove(a)

    @property
    def indices(self):
        """Row numbers of the members, in the order of L."""
        return np.array(self.members[:self.size])

    @property
    def L(self):
        """The factor, as a lower triangular matrix."""
        cdef Py_ssize_t a, b
        out = np.zeros((self.size, self.size))
        cdef double[:, :] view = out
        for a in range(self.size):
            for b in range(a + 1):
                view[a, b] = self.row[a][b]
        return out

    def met(self, const double[::1] s, const double[::1] rhs):
        """Return coef and v = s + Σ coef_b z_b with <z_b, v> = rhs_b for every member."""
        coef = np.zeros(self.size + 1, dtype=np.longdouble)
        exact = np.array(s, dtype=np.longdouble)
        cdef long double[::1] coef_view = coef, exact_view = exact
        if self.size:
            self.meet(&rhs[0], &coef_view[0], &exact_view[0])
        return coef[:self.size], np.asarray(exact, dtype=float)

    def column_of(self, Py_ssize_t a):
        """Return u and ‖q‖² of `column`."""
        u = np.zeros(self.size)
        cdef double[::1] view = u
        squared = self.column(a, &view[0])
        return u, squared


@cython.final
cdef class OrthogonalFactor(Factor):
    """L together with an orthonormal basis of the member rows."""

    def reserve(self, Py_ssize_t capacity):
        """Make room for `capacity` members and their basis."""
        if capacity <= self.capacity:
            return
        basis = np.zeros((capacity, self.rows.n_cols))
        if self.size:
            basis[:self.size] = self.basis[:self.size]
        Factor.reserve(self, capacity)
        self.basis = basis

    cdef double append(self, int i) noexcept nogil:
        cdef Py_ssize_t a, k, m = self.size, n = self.rows.n_cols
        cdef double* r = self.row[m]
        cdef double* q = &self.basis[m, 0]
        cdef double h, length
        for k in range(n):
            q[k] = 0.0
        self.rows.axpy(i, 1.0, q)
        for a in range(m):
            r[a] = 0.0
        for _k in range(2):      # once for the projection, once for its rounding
            for a in range(m):
                h = dot(n, &self.basis[a, 0], q)
                r[a] = r[a] + h
                axpy(n, -h, &self.basis[a, 0], q)
        length = sqrt(dot(n, q, q))
        if length <= DEPENDENT_ON_BASIS * sqrt(self.squared_norm[i]):
            return 0.0
        for k in range(n):
            q[k] = q[k] / length
        r[m] = length
        self.members[m] = i
        self.size = m + 1
        return length

    cdef void remove(self, Py_ssize_t a) noexcept nogil:
        cdef Py_ssize_t b, k, n = self.rows.n_cols
        cdef double c, s, x
        cdef double* upper
        cdef double* lower
        Factor.remove(self, a)
        for b in range(a, self.size):
            c = self.cosine[b]
            s = self.sine[b]
            upper = &self.basis[b, 0]
            lower = &self.basis[b + 1, 0]
            for k in range(n):
                x = upper[k]
                upper[k] = c * x + s * lower[k]
                lower[k] = c * lower[k] - s * x

    cdef void _lacking(self, const double* rhs, const double* v, double* x) noexcept nogil:
        cdef Py_ssize_t a, m = self.size, n = self.rows.n_cols
        for a in range(m):
            x[a] = rhs[a]
        self._forward(x)
        for a in range(m):
            x[a] = x[a] - dot(n, &self.basis[a, 0], v)
        self._backward(x)
