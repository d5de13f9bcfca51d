"""Many functions of τ as sums of a few: what is drawn or printed of cases takes little room.

All decision functions of a linear model are combinations of as many functions of τ as there are
coefficients, and those of a smooth kernel very nearly of a few dozen. Singular vectors find them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taupath.paths.crossings import KeptFunctions
from taupath.report.encoding import packed
from taupath.report.piecewise_linear import (
    DRAWING_TOLERANCE,
    evenly_spread,
    largest_error,
    thin_together,
)

# Which nodes are kept is decided by so many functions; for up to so many rounds, half as many of
# those with the largest errors join them.
MOST_DECIDING = 100
ROUNDS = 3
# Singular vectors are computed from so many functions: more would take longer than all the rest.
MOST_FACTORED = 400
# Up to so many coefficients, all singular vectors are kept.
FEW_COEFFICIENTS = 40
# Nodes at which `compress` first looks how far each function reaches.
ROUGH_NODES = 64
# Values at which the error is measured, about: a second of work.
MOST_MEASURED = 2_000_000
# Singular values below this part of the largest one are noise: they are roots of eigenvalues,
# which are good to 1e-16 of the largest.
LEAST_SINGULAR = 1e-5
# Weights are stored in 16 bits, as multiples of the largest one of their column over this.
STEPS = 32767
# Of a tolerance, the part that a first attempt uses up: rounding comes on top.
THIN_PART, RANK_PART = 0.9, 0.8


@dataclass(frozen=True)
class LowRank:
    """Functions Σ_r weights[i, r] scales[r] basis[r](τ), linear between nodes.

    Attributes
    ----------
    taus : ndarray of shape (n_nodes,)
        Where functions are given; twice the same where they jump.
    basis : ndarray of float32 of shape (rank, n_nodes)
        The functions that they are made of.
    scales : ndarray of shape (rank,)
        Units of the weights.
    weights : ndarray of int16 of shape (n_functions, rank)
        How much of each.
    error : float
        The largest error of a function, as part of the range of them all.
    sampled : bool
        Whether the error was measured for some functions or at some nodes only: then it is no
        bound.
    """

    taus: np.ndarray
    basis: np.ndarray
    scales: np.ndarray
    weights: np.ndarray
    error: float
    sampled: bool = False

    def values(self) -> np.ndarray:
        """Return all functions at all nodes, as the page computes them."""
        return np.asarray((self.weights * self.scales) @ self.basis.astype(np.float64))

    def payload(self) -> dict[str, Any]:
        """Return what the page carries."""
        return {
            "taus": packed(self.taus, "f8"),
            "basis": packed(self.basis, "f4"),
            "scales": packed(self.scales, "f8"),
            "weights": packed(self.weights, "i2"),
            "error": self.error,
            "sampled": self.sampled,
        }


def compress(functions: KeptFunctions) -> LowRank:
    """Return f_τ(x) of samples, and how far they are off: about `DRAWING_TOLERANCE` at most.

    Some of the functions decide which nodes are left out, and all are computed at the others only.
    The error is measured at all kept nodes of the path, for as many functions as `MOST_MEASURED`
    values allow: those that reach furthest, and others. Where it is too large, the functions with
    the largest errors join those that decide.
    """
    taus = functions.taus
    rough = functions.values(nodes=evenly_spread(len(taus), ROUGH_NODES))
    reach = np.abs(rough - rough.mean(axis=0)).max(axis=1)
    some = functions.values(_furthest(reach, max(MOST_MEASURED // len(taus), MOST_DECIDING)))
    # half of the tolerance is for leaving out nodes, half for leaving out singular vectors; with
    # few coefficients, all vectors are kept
    part = 0.8 if functions.width <= FEW_COEFFICIENTS else 0.5
    allowed = part * DRAWING_TOLERANCE * float(np.ptp(some))
    deciding = _furthest(np.abs(some).max(axis=1), MOST_DECIDING)
    for _ in range(ROUNDS):
        kept = thin_together(taus, some[deciding], THIN_PART * allowed)
        errors = largest_error(taus, some, kept)
        if errors.max() <= allowed:
            break
        deciding = np.union1d(deciding, np.argsort(-errors)[: MOST_DECIDING // 2])
    values = functions.values(nodes=kept)
    found = factor(taus[kept], values, (1.0 - part) * DRAWING_TOLERANCE, float(errors.max()))
    return replace(found, sampled=len(some) < len(functions) or not functions.complete)


def _furthest(reach: np.ndarray, most: int) -> np.ndarray:
    """Return some of the functions: those that reach furthest, and others, evenly spread."""
    if len(reach) <= most:
        return np.arange(len(reach))
    furthest = np.argsort(-reach, kind="stable")[: most // 2]
    return np.union1d(furthest, evenly_spread(len(reach), most - most // 2))


def factor(taus: np.ndarray, values: np.ndarray, tolerance: float, error: float = 0.0) -> LowRank:
    """Return functions as sums of as few singular vectors as a tolerance needs.

    Parameters
    ----------
    taus, values : ndarray of shape (n_nodes,), (n_functions, n_nodes)
        The functions.
    tolerance : float
        As part of their range.
    error : float
        How far they are off already.
    """
    size = float(np.ptp(values)) or 1.0
    some = values
    if min(values.shape) > MOST_FACTORED:
        reach = np.abs(values - values.mean(axis=0)).max(axis=1)
        some = values[_furthest(reach, MOST_FACTORED)]
    basis = _right_vectors(some)
    basis = basis[: _rank_for(some, basis, RANK_PART * tolerance * size)].astype(np.float32)
    weights = values @ basis.T.astype(np.float64)
    scales = np.abs(weights).max(axis=0) / STEPS
    scales = np.where(scales > 0.0, scales, 1.0)
    found = LowRank(taus, basis, scales, np.rint(weights / scales).astype(np.int16), 0.0)
    return replace(found, error=(error + float(np.abs(values - found.values()).max())) / size)


def _right_vectors(values: np.ndarray) -> np.ndarray:
    """Return the right singular vectors above the noise, the largest first, as rows.

    From the smaller of the two products of the values with their transpose.
    """
    if len(values) >= values.shape[1]:
        square, vectors = np.linalg.eigh(values.T @ values)
        rows = vectors.T
    else:
        square, vectors = np.linalg.eigh(values @ values.T)
        rows = (vectors / np.sqrt(np.where(square > 0.0, square, 1.0))).T @ values
    return np.ascontiguousarray(rows[square >= LEAST_SINGULAR**2 * square[-1]][::-1])


def _rank_for(values: np.ndarray, basis: np.ndarray, tolerance: float) -> int:
    """Return the least rank whose error is within the tolerance."""
    weights = values @ basis.T
    first, last = 1, len(basis)
    while first < last:
        middle = (first + last) // 2
        rest = values - weights[:, :middle] @ basis[:middle]
        if float(np.abs(rest).max()) <= tolerance:
            last = middle
        else:
            first = middle + 1
    return first
