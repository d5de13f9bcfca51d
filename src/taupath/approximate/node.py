"""What is stored of the solution at one τ."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Smoothing:
    """How a dual point follows from margins: θ_i = l_i + a_i (h_i - l_i).

    The fraction a_i of the box is clip(centre + (p_i - m_i) / width, 0, 1).

    Attributes
    ----------
    width : float
        The interval of margins over which a fraction goes from 0 to 1.
    centre : ndarray of shape (2,)
        The fraction of a sample on its target, for each class.
    """

    width: float
    centre: np.ndarray


@dataclass(frozen=True)
class Node:
    """The solution at one τ; θ is computed from it and the data.

    Attributes
    ----------
    tau : float
        The value of the parameter.
    w : ndarray of shape (n_cols,)
        The primal point.
    smoothing : Smoothing
        Makes the dual point from w.
    shift, scale : float, ndarray of shape (2,)
        Fractions are shift + scale a_i: with a free intercept, this makes Σ sign_i θ_i zero.
    """

    tau: float
    w: np.ndarray
    smoothing: Smoothing
    shift: float
    scale: np.ndarray
