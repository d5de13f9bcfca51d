"""The line that is walked: bounds and targets, affine in t."""

import numpy as np


cdef class Line:
    """The arrays of an `engine.problem.Line`."""

    def __init__(self, line):
        self.lower0, self.lower1, self.lower_rate = line.lower0, line.lower1, line.lower_rate
        self.upper0, self.upper1, self.upper_rate = line.upper0, line.upper1, line.upper_rate
        self.target0, self.target1, self.target_rate = line.target0, line.target1, line.target_rate
        self.moving_targets = bool(np.any(line.target_rate))
