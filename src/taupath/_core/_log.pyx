"""What a walk writes down: its events, and the last solution that was found to be right."""

from libc.math cimport nextafter
from libc.string cimport memcpy

import numpy as np

from taupath._core._status cimport move_between


cdef class Log:
    """Events in the order of the walk."""

    def __init__(self):
        self.t = np.zeros(0)
        self.index = np.zeros(0, dtype=np.int32)
        self.move = np.zeros(0, dtype=np.int8)

    cdef reserve(self, Py_ssize_t room):
        """Make room for so many events."""
        if self.t.shape[0] < room:
            room = max(room, 2 * self.t.shape[0], 4096)
            self.t = np.resize(self.t, room)
            self.index = np.resize(self.index, room)
            self.move = np.resize(self.move, room)

    cdef void add(self, Motion motion, int i, int before, int after) noexcept nogil:
        # t is rounded up: then the new sets hold for every double τ ≥ t, the old ones for τ < t
        self.t[self.size] = (nextafter(motion.now.t, 2.0) if motion.now.rest > 0.0
                             else motion.now.t)
        self.index[self.size] = i
        self.move[self.size] = <signed char> move_between(before, after)
        self.size += 1

    def arrays(self):
        """Return t, point and move of each event."""
        n = self.size
        return np.array(self.t[:n]), np.array(self.index[:n]), np.array(self.move[:n])


cdef class Checkpoint:
    """A copy of index sets and free θ."""

    def __init__(self, Py_ssize_t n_points):
        self.status = np.zeros(n_points, dtype=np.int8)
        self.members = np.zeros(0, dtype=np.int32)
        self.theta = np.zeros(0, dtype=np.longdouble)

    cdef reserve(self, Py_ssize_t capacity):
        """Make room for so many free points."""
        self.members = np.resize(self.members, capacity)
        self.theta = np.resize(self.theta, capacity)

    cdef void keep(self, Motion motion, Py_ssize_t n_events) noexcept nogil:
        self.t = motion.now.t
        self.n_events = n_events
        self.size = motion.factor.size
        memcpy(&self.status[0], &motion.status[0], self.status.shape[0])
        memcpy(&self.members[0], &motion.factor.members[0], self.size * sizeof(int))
        memcpy(&self.theta[0], &motion.theta[0], self.size * sizeof(long double))

    def state(self):
        """Return t, the status of every point, the free points, and their θ."""
        return (self.t, np.array(self.status), np.array(self.members[:self.size]),
                np.array(self.theta[:self.size]))
