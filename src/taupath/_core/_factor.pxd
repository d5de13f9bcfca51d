cimport cython
from taupath._core._rows cimport Rows


cdef class Factor:
    """Cholesky factor L of the Gram matrix of the member rows: <z_a, z_b> = (L Lᵀ)_ab."""

    cdef readonly Py_ssize_t size            # number of members
    cdef readonly Py_ssize_t capacity
    cdef int[::1] members                    # row numbers, in the order of the factor
    cdef Rows rows
    cdef const double[::1] squared_norm      # ‖z_i‖² of every row
    cdef double[:, ::1] storage
    cdef double** row                        # row[a]: a-th row of L, inside storage
    cdef double[::1] cosine, sine            # rotations of the last removal
    cdef double[::1] work, vector
    cdef long double[::1] change             # of the coefficients, in `meet`
    cdef bint stale                          # a solve gained few digits: factor anew
    cdef double unsolved                     # what the last solve left, relative to its terms
    cdef int[::1] order

    # Take row i in as last member; returns its distance to the span of the members,
    # and takes nothing in when that is zero up to rounding.
    cdef double append(self, int i) noexcept nogil
    # Drop the a-th member; later ones move up by one.
    cdef void remove(self, Py_ssize_t a) noexcept nogil
    # Factor the members anew, in their order; False if one turns out to be dependent.
    cdef bint rebuild(self) noexcept nogil
    # Whether a member is closer to the span of those before it than this part of its length.
    cdef bint nearly_dependent(self, double part) noexcept nogil
    # u with u_a = 1 such that q = Σ u_b z_b is orthogonal to all members but a; returns ‖q‖².
    cdef double column(self, Py_ssize_t a, double* u) noexcept nogil
    # x ← (L Lᵀ)⁻¹ x
    cdef void solve(self, double* x) noexcept nogil
    # Given v = (anything) + Σ coef_b z_b, change coef so that <z_b, v> = rhs_b for every member.
    # v is kept in extended precision in `exact` (in and out); returns it rounded, in a vector of
    # the factor's own.
    cdef const double* meet(self, const double* rhs, long double* coef,
                            long double* exact) noexcept nogil
    # x: the change of the coefficients that v needs, to first order
    cdef void _lacking(self, const double* rhs, const double* v, double* x) noexcept nogil
    # x ← L⁻¹ x, where the entries before `first` are zero
    cdef void _forward(self, double* x, Py_ssize_t first=*) noexcept nogil
    cdef void _backward(self, double* x) noexcept nogil
    cdef double _refined_pivot(self, int i, double* r) noexcept nogil
    cdef void _rotate_row(self, Py_ssize_t b, Py_ssize_t a, Py_ssize_t k,
                          double carry) noexcept nogil


@cython.final
cdef class OrthogonalFactor(Factor):
    """The same L by orthogonalisation, with the basis kept: Z = L Y, Y Yᵀ = I."""

    cdef double[:, ::1] basis


# A factor without members: orthogonal if the rows have few columns.
cdef Factor make_factor(Rows rows, Py_ssize_t capacity)
