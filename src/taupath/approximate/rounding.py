"""Bounds on the rounding error of computed duality gaps."""

from dataclasses import dataclass

import numpy as np

# Twice the unit roundoff: k EPS bounds the error of k roundings, terms of higher order included.
EPS = float(np.finfo(np.float64).eps)
EPS_SINGLE = float(np.finfo(np.float32).eps)
# Roundings besides those of the long sums: weights, boxes, interpolation, the maximum of a
# quadratic. They are fewer, and do not grow with the data.
OTHER_ROUNDINGS = 64


def summation_depth(n: int, block: int) -> int:
    """Return how many additions a term goes through in a sum of n, taken in blocks."""
    return min(block, n) + -(-n // block)


@dataclass(frozen=True)
class Rounding:
    """What the rounding error of a computed duality gap depends on.

    The depths are the numbers of roundings that a term goes through.
    """

    dot_depth: int  # in <z_i, w>
    sum_depth: int  # in Σ θ_i z_i
    loss_depth: int  # in the sum of all losses
    n_cols: int  # terms of <w, w>
    norm_sum: float  # Σ weight ‖z‖
    target_sum: float  # Σ weight |p|
    weight_sum: float  # Σ weight
    largest_norm: float  # largest ‖z‖
    largest_target: float  # largest |p|

    def allowance(self, box: float, w: float, v: float, optimal: float, free: bool) -> float:
        """Return how far the computed P(w) - D(θ) may be below the true one.

        `box` is the widest box of weight 1; `w`, `v` and `optimal` bound the lengths of w, of
        Σ θ_i z_i and of an optimal w. If the intercept is `free`, Σ sign_i θ_i has to be zero.
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
