from taupath._core._status cimport LOWER


cdef class Line:
    """Bounds and targets of all points, affine in t: an `engine.problem.Line` in C."""

    cdef const double[::1] lower0, lower1, upper0, upper1, target0, target1
    cdef const double[::1] lower_rate, upper_rate, target_rate
    cdef bint moving_targets


# A time, kept to twice the digits: near t = 1 steps can be shorter than the last digit of t.
cdef struct Moment:
    double t
    double rest                             # what rounding keeps out of t
    long double from_zero, to_one           # t + rest, and 1 minus that


cdef inline void set_moment(Moment* now, double t, double rest) noexcept nogil:
    now.t = t
    now.rest = rest
    now.from_zero = <long double> t + rest
    now.to_one = (1.0 - <long double> t) - rest


cdef inline void add_to_moment(Moment* now, double dt) noexcept nogil:
    cdef double t, part
    dt = dt + now.rest
    t = now.t + dt
    part = t - now.t
    set_moment(now, t, (now.t - (t - part)) + (dt - part))


# Bounds and targets now. From both ends, so that values that go to zero there keep their digits;
# in extended precision, since many points share one bound and its rounding would add up.
cdef inline long double lower_at(Line line, const Moment* now, Py_ssize_t i) noexcept nogil:
    return line.lower0[i] * now.to_one + line.lower1[i] * now.from_zero


cdef inline long double upper_at(Line line, const Moment* now, Py_ssize_t i) noexcept nogil:
    return line.upper0[i] * now.to_one + line.upper1[i] * now.from_zero


cdef inline long double bound_at(Line line, const Moment* now, Py_ssize_t i,
                                 int status) noexcept nogil:
    return lower_at(line, now, i) if status == LOWER else upper_at(line, now, i)


cdef inline double target_at(Line line, const Moment* now, Py_ssize_t i) noexcept nogil:
    if not line.moving_targets:
        return line.target0[i]
    return <double> (line.target0[i] * now.to_one + line.target1[i] * now.from_zero)


cdef inline double bound_rate(Line line, Py_ssize_t i, int status) noexcept nogil:
    return line.lower_rate[i] if status == LOWER else line.upper_rate[i]
