cimport cython
from taupath._core._bordered cimport FreeSystem
from taupath._core._bound_sums cimport BoundSums
from taupath._core._factor cimport Factor
from taupath._core._lag cimport Lag
from taupath._core._line cimport Line, Moment
from taupath._core._rows cimport Rows
from taupath._core._tolerances cimport ROUNDED_UP


# How much rounding there can be in a direction that was updated from event to event.
cdef struct Rounding:
    double terms                    # Σ |θ̇_a| ‖z_a‖, what ẇ was summed from
    double theta_speed              # the same as it is now
    double added                    # the most that one update has added to it
    double since_straight           # time since the direction was solved for
    double longest_step             # since the last refresh,
    double usual_step               # and before it


@cython.final
cdef class Motion:
    """A solution θ(t), w(t) and its direction, for index sets that stay as they are."""

    cdef Rows rows
    cdef Line line
    cdef FreeSystem system
    cdef Factor factor                       # the system's
    cdef Moment now
    cdef signed char[::1] status
    cdef long double[::1] theta, theta_rate  # of the free points, in the factor's order
    cdef long double multiplier, multiplier_rate    # of Σ sign_i θ_i = 0, if that is asked for
    cdef double[::1] pairs                   # w at the base and ẇ, interleaved
    cdef bint turned                         # they have changed since `margins` was last asked
    cdef double since_base                   # w(t) = w + since_base ẇ
    cdef bint lagging                        # whether updates of them are deferred
    cdef Lag lag                             # the deferred updates
    cdef BoundSums bound                     # what the bound points contribute
    cdef double speed                        # ‖(ẇ, time_part)‖, rounded up
    cdef double time_part                    # slacks also move with p: one more coordinate of ẇ
    cdef double speed_exact                  # ‖ẇ‖ when it was last computed directly
    cdef bint additive                       # ‖ẇ‖² can be updated from event to event
    cdef Rounding rounding
    cdef double[::1] row_norm
    cdef double longest                      # the largest of them
    cdef double[::1] length                  # |ġ_i| ≤ length_i speed: row_norm, more if p_i moves
    cdef double unsolved                     # what the last solve for w left of the free slacks
    cdef bint broken                         # the free rows turned out to be dependent
    cdef Py_ssize_t n_refactorizations
    # workspace: one entry per free point, and a vector like w while it is summed
    cdef double[::1] column, rhs
    cdef long double[::1] share, exact

    # Make room for so many free points.
    cdef reserve(self, Py_ssize_t capacity)
    # <z_i, w(t)> and <z_i, ẇ> for every i among the m points, interleaved.
    cdef void margins(self, const int* points, Py_ssize_t m, double* out) noexcept nogil
    # t, θ and w go on by dt.
    cdef void move(self, double dt) noexcept nogil
    # Bound point i, the factor's newest member at this distance, becomes free; the direction turns
    # so that its slack, which moves at `rate`, rests. Returns the length of the turn of ẇ.
    cdef double release(self, int i, double distance, double rate) noexcept nogil
    # The a-th free point goes to a bound, and the direction turns; returns the length of the turn.
    cdef double settle(self, Py_ssize_t a, int status) noexcept nogil
    # Take the a-th free point out of the factor and of what is kept in its order.
    cdef void drop(self, Py_ssize_t a) noexcept nogil
    # Bound point i becomes free at θ = at, without a rate; returns what `Factor.append` does.
    cdef double take(self, int i, long double at) noexcept nogil
    # z_i = Σ v_a z_a over the free points: let θ_i leave its bound and the free θ answer by -v, so
    # that w rests, until one of them meets a bound. Returns its position and sets the bound; -1 if
    # θ_i meets its other bound first. `at` is θ_i then.
    cdef Py_ssize_t slide(self, int i, int* bound, long double* at) noexcept nogil
    # Whether updating the direction would lose too many digits here.
    cdef bint needs_care(self) noexcept nogil
    # Solve for the direction: θ̇ such that <z_a, ẇ> = ṗ_a for every free a.
    cdef void straighten(self) noexcept nogil
    # Bring the free slacks back to zero and solve for the direction.
    cdef void polish(self) noexcept nogil
    # Sum w from the statuses and θ, then polish; returns by how much w had drifted.
    cdef double take_w(self) noexcept nogil
    # About the rounding of the longest row's margin.
    cdef double noise(self) noexcept nogil
    # How far the worst free θ is beyond its bounds.
    cdef double farthest_beyond(self) noexcept nogil

    cdef double _turn(self, double change, double column_multiplier, bint moving) noexcept nogil
    cdef double _turn_length(self, double change, double squared,
                             double column_multiplier) noexcept nogil
    cdef void _express(self, int i) noexcept nogil
    cdef bint _is_flat(self) noexcept nogil
    cdef void _rest(self) noexcept nogil
    cdef void _update_speed(self, double change) noexcept nogil
    cdef void _measure_speed(self) noexcept nogil
    cdef double _dual_speed(self) noexcept nogil
    cdef void _set_speed(self, double speed) noexcept nogil
    cdef void _rebase(self) noexcept nogil
    cdef void _catch_up(self) noexcept nogil
    cdef void _correct_w(self) noexcept nogil
    cdef void _meet_targets(self) noexcept nogil


# To be on the safe side of rounding in ‖ẇ‖.
cdef inline double upward(double length) noexcept nogil:
    return ROUNDED_UP * length
