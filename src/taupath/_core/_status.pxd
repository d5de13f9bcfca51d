# Where a point is; `taupath/status.py` has the same numbers for Python.
cdef enum:
    LOWER = 0       # θ = l, slack ≥ 0: well classified, the paper's R
    FREE = 1        # slack = 0: on the margin, M
    UPPER = 2       # θ = h, slack ≤ 0: in error, L

# Moves, as they are recorded: what a point was and what it became.
cdef enum:
    LOWER_TO_FREE = 0
    UPPER_TO_FREE = 1
    FREE_TO_LOWER = 2
    FREE_TO_UPPER = 3
    LOWER_TO_UPPER = 4  # in records of some index sets only
    UPPER_TO_LOWER = 5


cdef inline int status_before(int move) noexcept nogil:
    if move < FREE_TO_LOWER:
        return 2 * move
    return FREE if move < LOWER_TO_UPPER else 2 * (move - LOWER_TO_UPPER)


cdef inline int status_after(int move) noexcept nogil:
    if move < FREE_TO_LOWER:
        return FREE
    return 2 * (move - FREE_TO_LOWER) if move < LOWER_TO_UPPER else 2 * (UPPER_TO_LOWER - move)
