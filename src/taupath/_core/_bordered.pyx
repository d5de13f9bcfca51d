"""The equations of the free θ, with or without an equality constraint.

A free intercept asks for Σ sign_i θ_i = 0. The multiplier of this condition moves all margins by
sign_i, that is, it adds a vector c with <z_i, c> = sign_i to w. `BalancedSystem` solves for both by
eliminating the multiplier: it needs one more solve with the factor, which knows nothing of it.
"""

from libc.math cimport fabs

import numpy as np

from taupath._core._factor cimport make_factor
from taupath._core._tolerances cimport BALANCED

cdef enum:
    MOST_BALANCINGS = 4        # of the sum of signed coefficients; one gains nearly all digits


cdef FreeSystem make_system(Rows rows, Py_ssize_t capacity):
    return (BalancedSystem if rows.balanced else FreeSystem)(rows, capacity)


cdef class FreeSystem:
    """No equality constraint: the multiplier stays as it is."""

    def __init__(self, Rows rows, Py_ssize_t capacity):
        self.rows = rows
        self.factor = make_factor(rows, capacity)

    cdef const double* meet(self, const double* rhs, long double* coef, long double* exact,
                            long double total, long double* multiplier) noexcept nogil:
        return self.factor.meet(rhs, coef, exact)

    cdef double column(self, Py_ssize_t a, double* u, double* multiplier) noexcept nogil:
        multiplier[0] = 0.0
        return self.factor.column(a, u)

    cdef double newest_column(self, double distance, double* u, double* multiplier) noexcept nogil:
        self.column(self.factor.size - 1, u, multiplier)
        return distance * distance

    cdef void shift(self, long double a, long double* v) noexcept nogil:
        pass

    cdef void shift_pairs(self, double a, double b, double* pairs) noexcept nogil:
        pass

    cdef void count_bound(self, Py_ssize_t i, double at0, double at1) noexcept nogil:
        pass


cdef class BalancedSystem(FreeSystem):
    """Σ sign_i θ_i = 0 over all points."""

    def __init__(self, Rows rows, Py_ssize_t capacity):
        super().__init__(rows, capacity)
        self.level = np.zeros(rows.n_rows)
        self.fewest = 1

    cdef double _set_level(self) noexcept nogil:
        """Set x such that <z_b, Σ x_a z_a> = sign_b for every member; returns Σ sign_b x_b."""
        cdef Py_ssize_t a
        cdef double total = 0.0
        for a in range(self.factor.size):
            self.level[a] = self.rows.sign[self.factor.members[a]]
        self.factor.solve(&self.level[0])
        for a in range(self.factor.size):
            total = total + self.rows.sign[self.factor.members[a]] * self.level[a]
        return total

    cdef const double* meet(self, const double* rhs, long double* coef, long double* exact,
                            long double total, long double* multiplier) noexcept nogil:
        cdef Py_ssize_t a, m = self.factor.size
        cdef const double* v
        cdef double weight
        cdef long double lack, terms, change
        cdef int attempt
        if m == 1:
            return self._meet_one(rhs[0], coef, exact, total, multiplier)
        v = self.factor.meet(rhs, coef, exact)
        if m == 0:
            return v
        weight = self._set_level()
        for attempt in range(MOST_BALANCINGS):
            lack = -total
            terms = fabs(<double> total)
            for a in range(m):
                lack = lack + self.rows.sign[self.factor.members[a]] * coef[a]
                terms = terms + fabs(<double> coef[a])
            if fabs(<double> lack) <= BALANCED * terms:
                break
            # raising the multiplier lowers the coefficients, and all margins stay
            change = lack / weight
            multiplier[0] = multiplier[0] + change
            self.shift(change, exact)
            for a in range(m):
                self.factor.change[a] = -change * self.level[a]
                coef[a] = coef[a] + self.factor.change[a]
            self.rows.axpys_long(&self.factor.members[0], m, &self.factor.change[0], exact)
            if attempt < MOST_BALANCINGS - 1:
                v = self.factor.meet(rhs, coef, exact)
                continue
            # nearly dependent rows: meeting the margins again would only undo the balance
            v = self._rounded(exact)
        return v

    cdef const double* _rounded(self, const long double* exact) noexcept nogil:
        cdef Py_ssize_t k
        for k in range(self.rows.n_cols):
            self.factor.vector[k] = <double> exact[k]
        return &self.factor.vector[0]

    cdef const double* _meet_one(self, double rhs, long double* coef, long double* exact,
                                 long double total, long double* multiplier) noexcept nogil:
        # the balance says what the only coefficient is, and the multiplier puts it on its margin
        cdef int i = self.factor.members[0]
        cdef double sign = self.rows.sign[i]
        cdef long double change = sign * total - coef[0]
        cdef int _attempt
        coef[0] = sign * total
        self.rows.axpy_long(i, change, exact)
        for _attempt in range(2):
            change = sign * (rhs - self.rows.dot_long(i, exact))
            multiplier[0] = multiplier[0] + change
            self.shift(change, exact)
        self.factor.unsolved = 0.0
        return self._rounded(exact)

    cdef double column(self, Py_ssize_t a, double* u, double* multiplier) noexcept nogil:
        # the column without the constraint, and as much of the level as keeps the balance
        cdef Py_ssize_t b
        cdef double squared = self.factor.column(a, u), weight = self._set_level(), total = 0.0
        cdef double at_a = self.level[a], change
        for b in range(self.factor.size):
            total = total + self.rows.sign[self.factor.members[b]] * u[b]
        weight = weight - at_a * total
        change = total / weight
        for b in range(self.factor.size):
            u[b] = u[b] - change * (self.level[b] - at_a * u[b])
        u[a] = 1.0
        multiplier[0] = change
        return squared * (1.0 + change * at_a)

    cdef double newest_column(self, double distance, double* u, double* multiplier) noexcept nogil:
        return self.column(self.factor.size - 1, u, multiplier)

    cdef void shift(self, long double a, long double* v) noexcept nogil:
        self.rows.shift_long(a, v)

    cdef void shift_pairs(self, double a, double b, double* pairs) noexcept nogil:
        self.rows.shift(a, pairs, 2)
        self.rows.shift(b, pairs + 1, 2)

    cdef void count_bound(self, Py_ssize_t i, double at0, double at1) noexcept nogil:
        self.bound_total0 = self.bound_total0 + self.rows.sign[i] * at0
        self.bound_total1 = self.bound_total1 + self.rows.sign[i] * at1
