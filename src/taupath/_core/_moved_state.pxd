cdef extern from *:
    """
    /* A squared distance from the span of the free rows below this part of ‖z‖² is rounding: the
       Gram matrix squares the condition number. */
    #define DEPENDENT 1e-11
    """
    const double DEPENDENT


cdef class MovedState:
    """What changes during a move: θ, index sets, slacks and the inverse."""

    cdef double[::1] theta, slack
    cdef signed char[::1] status
    cdef int[::1] members               # the free points, in the order of the inverse
    # of [[0, eᵀ], [e, Q_FF]], or of Q_FF where there is no multiplier
    cdef double[:, ::1] inverse
    cdef double multiplier
    cdef Py_ssize_t size                # number of free points

    cdef void copy(self, MovedState other) noexcept nogil
    cdef reserve(self, Py_ssize_t capacity)
    cdef Py_ssize_t position(self, int i) noexcept nogil
    # Add point i, whose column [sign_i, Q_Fi] and ‖z_i‖² are given, to the equations; `off` is 1 if
    # there is a multiplier. Returns False if its row depends on the others. `work` is overwritten.
    cdef bint add(self, int i, Py_ssize_t off, double square, const double* column,
                  double* work) noexcept nogil
    # Take the a-th free point out of the equations.
    cdef void drop(self, Py_ssize_t a, Py_ssize_t off, double* work) noexcept nogil
