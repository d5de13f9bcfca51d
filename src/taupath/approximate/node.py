"""What is stored of the solution at one τ."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Smoothing:
    """How a dual point follows from margins: θ_i = l_i + a_i (h_i - l_i).

    The fraction a_i of the box is clip(centre + (p_i - m_i) / width, 0, 1).
    """

    width: float  # of the interval of margins over which a fraction goes from 0 to 1
    centre: np.ndarray  # the fraction of a sample on its target, for each of the two classes

    def between(self, other: "Smoothing") -> "Smoothing":
        """Return a smoothing for halfway between two nodes."""
        return Smoothing(min(self.width, other.width), 0.5 * (self.centre + other.centre))


@dataclass(frozen=True)
class Node:
    """The solution at one τ: θ is computed from it and the data.

    Fractions are shift + scale a_i, with a scale for each class: with a free intercept, this makes
    Σ sign_i θ_i zero.
    """

    tau: float
    w: np.ndarray
    smoothing: Smoothing
    shift: float
    scale: np.ndarray
