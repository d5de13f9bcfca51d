"""How far sums and products of doubles can be off."""

from dataclasses import dataclass, replace

import numpy as np

__all__ = ["EPS", "Rounding", "in_blocks"]

# Twice the unit roundoff: what products of several factors 1 + δ exceed 1 + k δ by is within it.
EPS = float(np.finfo(np.float64).eps)
# Operations besides the long sums: weights, boxes, interpolation, a closed-form maximum.
OTHERS = 64


def in_blocks(n: int, block: int) -> int:
    """Return how many additions a term goes through in a sum of sums of `block` terms each."""
    return min(block, n) + -(-n // block)


@dataclass(frozen=True)
class Rounding:
    """Bounds on the rounding of objectives.

    Attributes
    ----------
    row : int
        Operations in a product <z_i, w>.
    rows : int
        Additions that a row goes through in Σ θ_i z_i.
    losses : int
        Additions that a loss goes through in the sum of all.
    cols : int
        Terms of <w, w>.
    reach : float
        Σ weight_i ‖z_i‖.
    aims : float
        Σ weight_i |p_i|.
    balance : float
        For a free intercept Σ weight_i, else 0.
    highest, longest : float
        Largest |p_i| and ‖z_i‖: of the optimal intercepts one puts a sample on its target.
    """

    row: int
    rows: int
    losses: int
    cols: int
    reach: float
    aims: float
    balance: float = 0.0
    highest: float = 0.0
    longest: float = 0.0

    def with_balance(self, balance: float, highest: float, longest: float) -> "Rounding":
        """Return this with what a free intercept adds to it."""
        return replace(self, balance=balance, highest=highest, longest=longest)

    def allowance(self, box: float, w: float, v: float, optimal: float) -> float:
        """Return how far the computed P(w) - D(θ) may be below the true one.

        Parameters
        ----------
        box : float
            The widest box of weight 1.
        w, v : float
            Lengths of w and of Σ θ_i z_i, at most.
        optimal : float
            Length of an optimal w, at most.
        """
        reach, aims = box * self.reach, box * self.aims
        off = self.rows * EPS * reach  # of the computed Σ θ_i z_i
        # Σ sign_i θ_i is zero up to rounding; the dual bound is off by that times the intercept
        off_balance = EPS * (self.rows + OTHERS) * box * self.balance
        return (
            EPS
            * (
                (self.row + OTHERS) * w * reach
                + (self.losses + OTHERS) * (aims + w * reach)
                + (self.cols + OTHERS) * (w * w + v * v)
            )
            + off * (v + 0.5 * off)
            + off_balance * (self.highest + self.longest * optimal)
        )
