from taupath._core._factor cimport Factor
from taupath._core._rows cimport Rows


cdef class FreeSystem:
    """The equations of the free θ: <z_a, w> = p_a for every free point a. A factor solves them."""

    cdef Rows rows
    cdef Factor factor
    cdef Py_ssize_t fewest                   # free points that the equations cannot do without
    cdef long double bound_total0, bound_total1     # Σ sign_i θ_i of the bound points, at the ends

    # As `Factor.meet`: change coef, the multiplier and v = (anything) + Σ coef_a z_a + multiplier c
    # such that <z_a, v> = rhs_a, and here also Σ sign_a coef_a = total.
    cdef const double* meet(self, const double* rhs, long double* coef, long double* exact,
                            long double total, long double* multiplier) noexcept nogil
    # The change of the free θ and of the multiplier such that θ_a changes by 1 and the slacks of
    # all others rest; returns the change of the slack of a.
    cdef double column(self, Py_ssize_t a, double* u, double* multiplier) noexcept nogil
    # The same for the newest member, given the distance that `append` returned for it.
    cdef double newest_column(self, double distance, double* u, double* multiplier) noexcept nogil
    # v += a c, and the same for every other entry of v
    cdef void shift(self, long double a, long double* v) noexcept nogil
    cdef void shift_pairs(self, double a, double b, double* pairs) noexcept nogil
    # Point i is at a bound, with these values at t = 0 and t = 1 (negated: it is no longer).
    cdef void count_bound(self, Py_ssize_t i, double at0, double at1) noexcept nogil


cdef class BalancedSystem(FreeSystem):
    """The same with Σ sign_i θ_i = 0: the Gram matrix is bordered by the signs of the free rows."""

    cdef double[::1] level

    cdef double _set_level(self) noexcept nogil
    cdef const double* _meet_one(self, double rhs, long double* coef, long double* exact,
                                 long double total, long double* multiplier) noexcept nogil
    cdef const double* _rounded(self, const long double* exact) noexcept nogil


# The system of these rows, without free points.
cdef FreeSystem make_system(Rows rows, Py_ssize_t capacity)
