"""Bounds on the rounding error of computed duality gaps."""

from dataclasses import dataclass

import numpy as np

# Twice the unit roundoff: k EPS bounds the error of k roundings, terms of higher order included.
EPS = float(np.finfo(np.float64).eps)
# Roundings besides those of the long sums: weights, boxes, interpolation, the maximum of a
# quadratic. They are fewer, and do not grow with the data.
OTHER_ROUNDINGS = 64


def summation_depth(n: int, block: int) -> int:
    """Return how many additions a term goes through in a sum of n, taken in blocks."""
    return min(block, n) + -(-n // block)


@dataclass(frozen=True)
class Rounding:
    """What the rounding error of a computed duality gap depends on.

    Attributes
    ----------
    dot_depth, sum_depth, loss_depth : int
        Roundings that a term goes through in <z_i, w>, in Σ θ_i z_i, and in the sum of all losses.
    n_cols : int
        Terms of <w, w>.
    norm_sum, target_sum, weight_sum : float
        Σ weight ‖z‖, Σ weight |p| and Σ weight.
    largest_norm, largest_target : float
        Largest ‖z‖ and |p|.
    """

    dot_depth: int
    sum_depth: int
    loss_depth: int
    n_cols: int
    norm_sum: float
    target_sum: float
    weight_sum: float
    largest_norm: float
    largest_target: float

    def allowance(self, box: float, w: float, v: float, optimal: float, free: bool) -> float:
        """Return how far the computed P(w) - D(θ) may be below the true one.

        Parameters
        ----------
        box : float
            The widest box of weight 1.
        w, v : float
            Upper bounds on the lengths of w and of Σ θ_i z_i.
        optimal : float
            Upper bound on the length of an optimal w.
        free : bool
            Whether the intercept is free, so that Σ sign_i θ_i has to be zero.
        """
        norms, targets = box * self.norm_sum, box * self.target_sum
        v_error = self.sum_depth * EPS * norms
        error = v_error * (v + 0.5 * v_error) + EPS * (
            (self.dot_depth + OTHER_ROUNDINGS) * w * norms
            + (self.loss_depth + OTHER_ROUNDINGS) * (targets + w * norms)
            + (self.n_cols + OTHER_ROUNDINGS) * (w * w + v * v)
        )
        if free:
            # The dual bound is off by the computed Σ sign_i θ_i times an optimal intercept. One of
            # these puts a sample on its target.
            imbalance = EPS * (self.sum_depth + OTHER_ROUNDINGS) * box * self.weight_sum
            error += imbalance * (self.largest_target + self.largest_norm * optimal)
        return error
