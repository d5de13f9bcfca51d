from taupath._core._factor cimport Factor
from taupath._core._rows cimport Rows


cdef class Motion:
    """A solution θ(t), w(t) and its direction, for index sets that stay as they are."""

    cdef Rows rows
    cdef Factor factor
    # bounds and targets at t = 0 and t = 1, and the differences
    cdef const double[::1] lower0, lower1, upper0, upper1, target0, target1
    cdef double[::1] lower_rate, upper_rate, target_rate
    cdef bint moving_targets, moving_bounds
    cdef readonly double t
    cdef double t_rest                       # what rounding keeps out of t
    cdef long double from_zero, to_one       # t + t_rest, and 1 minus that
    cdef signed char[::1] status
    cdef long double[::1] theta, theta_rate  # of the free points, in the factor's order
    cdef double[::1] pairs                   # w at the base and ẇ, interleaved
    cdef double since_base                   # w(t) = w + since_base ẇ
    cdef long double[::1] s                  # bound points' part of ẇ: Σ l̇_i z_i + Σ ḣ_i z_i
    cdef long double[::1] exact              # a vector like w while it is being summed up
    cdef long double[::1] share              # of the free points in another one, see `_express`
    cdef double[::1] column, rhs, levelled
    # Where rows are to be balanced: the multiplier of Σ sign_i θ_i = 0, its rate and its part in
    # `column`, and Σ sign_i θ_i over the bound points as it is at t = 0 and at t = 1.
    cdef long double multiplier, multiplier_rate, bound_total0, bound_total1
    cdef double column_multiplier
    cdef double[::1] row_norm
    cdef double longest                      # the largest of them
    cdef double time_part                    # slacks also move with p: ‖(ẇ, time_part)‖ is speed
    cdef double speed, speed_exact
    cdef double terms                        # Σ |θ̇_a| ‖z_a‖, what ẇ is summed from
    cdef double theta_speed, rounded         # that alone, and the most that was ever added to it
    cdef double since_straight               # time since the direction was last taken afresh
    cdef double longest_step, usual_step     # since the last refresh, and before it
    cdef bint broken
    cdef readonly Py_ssize_t n_refactorizations

    cdef _reserve_free(self, Py_ssize_t capacity)
    # t, θ and w go on by dt.
    cdef void _move(self, double dt) noexcept nogil
    cdef void _move_to(self, double t) noexcept nogil
    cdef void _add_to_t(self, double dt) noexcept nogil
    cdef void _weigh_ends(self) noexcept nogil
    # θ̇_a changes by `change`, the other free points answer; w(t) stays what it is. ẇ changes by
    # `change` times the part of z_a orthogonal to the others.
    # Unless `moving`, ẇ is left alone: w will rest.
    # `_set_column` comes before.
    cdef void _turn(self, double change, bint moving) noexcept nogil
    # The direction in which θ_a changes by 1 and the slacks of all other free points rest;
    # returns how fast that of a changes.
    cdef double _set_column(self, Py_ssize_t a) noexcept nogil
    # Length of what `column` adds to ẇ, given what `_set_column` has returned.
    cdef double _column_length(self, double squared) noexcept nogil
    # Point i becomes bound (how = 1) or free (how = -1).
    cdef void _count_bound(self, int i, int status, int how) noexcept nogil
    # Bring margins (rhs) and balance to where they belong, by θ and w, or by their rates.
    cdef const double* _meet(self, long double* coef, long double* multiplier,
                             long double total) noexcept nogil
    # ‖ẇ‖² has changed by `change`.
    cdef void _update_speed(self, double change) noexcept nogil
    cdef void _measure_speed(self) noexcept nogil
    cdef double _dual_speed(self) noexcept nogil
    cdef void _set_speed(self, double speed) noexcept nogil
    # Whether the free points span everything, so that w rests between events.
    cdef bint _is_flat(self) noexcept nogil
    # ẇ = 0: only θ moves.
    cdef void _rest(self) noexcept nogil
    # Solve Σ share_a z_a = z_i, or come as close as the free points can.
    cdef void _express(self, int i) noexcept nogil
    # Whether turning from direction to direction would lose too many digits here.
    cdef bint _needs_care(self) noexcept nogil
    # Bring the base of w to t.
    cdef void _rebase(self) noexcept nogil
    # Bring the free slacks back to zero and straighten the direction.
    cdef void _polish(self) noexcept nogil
    # ẇ = s + Σ θ̇_a z_a anew, and θ̇ such that <z_a, ẇ> = ṗ_a for every free a.
    cdef void _straighten(self) noexcept nogil
    cdef void _correct_w(self) noexcept nogil
    cdef void _meet_targets(self) noexcept nogil
    # Sum up s from the statuses.
    cdef void _take_s(self) noexcept nogil
    # Sum up w from the statuses and θ, then polish; returns by how much w had drifted.
    cdef double _take_w(self) noexcept nogil


# Bounds and targets now. From both ends, so that values that go to zero there keep their digits;
# in extended precision, since many points share one bound and its rounding would add up.
cdef inline long double lower_now(Motion m, Py_ssize_t i) noexcept nogil:
    return m.lower0[i] * m.to_one + m.lower1[i] * m.from_zero


cdef inline long double upper_now(Motion m, Py_ssize_t i) noexcept nogil:
    return m.upper0[i] * m.to_one + m.upper1[i] * m.from_zero


cdef inline double target_now(Motion m, Py_ssize_t i) noexcept nogil:
    if not m.moving_targets:
        return m.target0[i]
    return <double> (m.target0[i] * m.to_one + m.target1[i] * m.from_zero)


# Whether a box is one point, all along.
cdef inline bint is_fixed(Motion m, Py_ssize_t i) noexcept nogil:
    return m.lower0[i] == m.upper0[i] and m.lower1[i] == m.upper1[i]


# Speeds and lengths, rounded up: to be on the safe side of rounding in ‖ẇ‖.
cdef inline double upward(double length) noexcept nogil:
    return (1.0 + 1e-9) * length
