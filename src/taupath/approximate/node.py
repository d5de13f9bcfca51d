"""What is kept of one τ."""

from dataclasses import dataclass

import numpy as np

__all__ = ["Node", "Smoothing"]


@dataclass(frozen=True)
class Smoothing:
    """What makes shares from margins.

    Attributes
    ----------
    width : float
        How far from its target a sample's share is neither 0 nor 1, at most.
    centre : ndarray of shape (2,)
        The share at the target, for each class.
    """

    width: float
    centre: np.ndarray


@dataclass(frozen=True)
class Node:
    """What is kept of a τ: θ is recomputed from it.

    Attributes
    ----------
    tau : float
        Where it is.
    w : ndarray of shape (n_cols,)
        The primal point.
    smoothing : Smoothing
        What makes the dual point from w.
    shift, scale : float, ndarray of shape (2,)
        The share is shift + scale a_i, which with a free intercept makes Σ sign_i θ_i zero.
    """

    tau: float
    w: np.ndarray
    smoothing: Smoothing
    shift: float
    scale: np.ndarray
