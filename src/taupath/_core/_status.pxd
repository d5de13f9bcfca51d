# Where a point is; `engine/status.py` has the same numbers for Python.
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
    LOWER_TO_UPPER = 4  # from bound to bound: only in records that have some of the index sets
    UPPER_TO_LOWER = 5


cdef inline int move_between(int before, int after) noexcept nogil:
    if after == FREE:
        return LOWER_TO_FREE if before == LOWER else UPPER_TO_FREE
    return FREE_TO_LOWER if after == LOWER else FREE_TO_UPPER


cdef inline int status_before(int move) noexcept nogil:
    if move < FREE_TO_LOWER:
        return LOWER if move == LOWER_TO_FREE else UPPER
    if move < LOWER_TO_UPPER:
        return FREE
    return LOWER if move == LOWER_TO_UPPER else UPPER


cdef inline int status_after(int move) noexcept nogil:
    if move < FREE_TO_LOWER:
        return FREE
    return LOWER if move == FREE_TO_LOWER or move == UPPER_TO_LOWER else UPPER
