cimport cython
from libc.math cimport sqrt

cdef extern from *:
    """
    #if defined(__GNUC__) || defined(__clang__)
    static inline int trailing_zeros(unsigned long long x) { return __builtin_ctzll(x); }
    #else
    static inline int trailing_zeros(unsigned long long x) {
        int n = 0;
        while (!(x & 1)) { x >>= 1; n++; }
        return n;
    }
    #endif
    """
    int trailing_zeros(unsigned long long x) noexcept nogil


cdef enum:
    LEVELS = 50         # of the wheel; widths double from each to the next: 15 digits of distance
    SLOTS = 32          # of a level: as many as an unsigned int has bits
    BALLS = 60          # radii double from each to the next; the middle one is a step at first
    ITEMS = 14          # points of a chunk, which is then as long as a cache line


cdef struct Chunk:
    int following
    int count
    int items[ITEMS]


@cython.final
cdef class Deadlines:
    """Points waiting for w to have moved so far that they could reach the margin."""

    # where w is: w0 + a rate, and t as one more coordinate
    cdef const double* pairs                 # w0 and rate interleaved
    cdef double a, t
    cdef Py_ssize_t n_cols
    cdef Py_ssize_t n_points
    # Lists of points are linked chunks: a cache line holds several points.
    cdef int[:, ::1] pool
    cdef Chunk* chunks
    cdef int vacant                          # first of the chunks that no list uses
    # the wheel, for deadlines on the scale of travelled length
    cdef double travelled                    # ∫ ‖ẇ‖ dt since the last `clear`
    cdef int head[LEVELS][SLOTS]
    cdef unsigned int occupied[LEVELS]       # a bit for each slot
    cdef unsigned long long levels           # a bit for each level with a point
    cdef double width[LEVELS]
    cdef double per_width[LEVELS]
    # the balls, for points far away
    cdef Py_ssize_t n_balls                  # none: travelled length must do
    cdef int inside[BALLS]
    cdef unsigned long long balls            # a bit for each ball with a point
    cdef double radius[BALLS]
    cdef double per_radius                   # one over the smallest
    cdef double since[BALLS]                 # travelled - since bounds w's distance to the centre
    cdef double[:, ::1] centre
    cdef const double[:, ::1] R              # distances are ‖R (w - centre, t - centre_t)‖
    cdef double stride                       # mean length of the last steps
    cdef double[::1] gone
    cdef double centre_t[BALLS]
    cdef int level                           # where `pop` goes on

    # w is at w0 + a rate.
    cdef void locate(self, double a, double t) noexcept nogil
    # Point i cannot reach the margin before w has moved by `distance`.
    cdef void put(self, int i, double distance) noexcept nogil
    # Begin a search.
    cdef void rewind(self) noexcept nogil
    # Write down some points that may be due before w has moved by `reach`; returns how many, 0 if
    # there are none left. Points may come early, never late. `reach` may shrink from call to call.
    cdef Py_ssize_t pop(self, double reach, int* points) noexcept nogil
    # w has moved by `length`, in a straight line.
    cdef void advance(self, double length) noexcept nogil
    # Forget all points. `farthest` is the largest distance to come, `stride` the mean length of a
    # step.
    cdef void clear(self, double farthest, double stride) noexcept nogil
    cdef void _add(self, int* first, int i) noexcept nogil
    cdef Py_ssize_t _empty(self, int* first, int* points) noexcept nogil
    cdef bint _put_in_ball(self, int i, double distance) noexcept nogil
    cdef bint _leaves(self, int ball, double reach) noexcept nogil
    cdef void _move_centre(self, int ball) noexcept nogil
    cdef double _distance(self, int ball) noexcept nogil


# ‖R (v, t)‖ for a vector v whose entries are `stride` apart, and upper triangular R
cdef inline double metric_length(const double[:, ::1] R, const double* v, Py_ssize_t stride,
                                 double t) noexcept nogil:
    cdef Py_ssize_t j, k, d = R.shape[0] - 1
    cdef double entry = R[d, d] * t, total = entry * entry
    for k in range(d):
        entry = R[k, d] * t
        for j in range(k, d):
            entry = entry + R[k, j] * v[stride * j]
        total = total + entry * entry
    return sqrt(total)
