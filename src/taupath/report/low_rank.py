"""Many functions of τ as sums of a few, so that the functions of all cases take little space.

The decision functions of a linear model are combinations of as many functions of τ as there are
coefficients; those of a smooth kernel, very nearly, of a few dozen. Singular vectors find them.
"""

from bisect import bisect_left
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

# Number of functions that decide which nodes are kept. In each round, half as many of those with
# the largest errors join them.
MOST_DECIDING = 100
ROUNDS = 3
# Functions that singular vectors are computed from: more would take longer than everything else.
MOST_FACTORED = 400
# Up to this many coefficients, all singular vectors are kept.
FEW_COEFFICIENTS = 40
# Nodes at which `compress` first estimates the range of each function.
ROUGH_NODES = 64
# Approximate number of values at which the error is measured: a second of work.
MOST_MEASURED = 2_000_000
# Singular values below this fraction of the largest are noise: they are square roots of
# eigenvalues, which are accurate to 1e-16 of the largest.
LEAST_SINGULAR = 1e-5
# Weights are stored in 16 bits, as multiples of 1 / STEPS of the largest one in their column.
STEPS = 32767
# Fractions of a tolerance that are used before rounding, which takes the rest.
THIN_PART, RANK_PART = 0.9, 0.8


@dataclass(frozen=True)
class LowRank:
    """Functions Σ_r weights[i, r] scales[r] basis[r](τ), linear between nodes."""

    taus: np.ndarray  # the nodes; twice where functions jump
    basis: np.ndarray  # float32, (rank, n_nodes)
    scales: np.ndarray  # units of the weights, (rank,)
    weights: np.ndarray  # int16, (n_functions, rank)
    error: float  # the largest of any function, as a fraction of their common range
    sampled: bool = False  # error measured for some functions or nodes only, so not a bound

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
    """Return f_τ(x) of samples to about `DRAWING_TOLERANCE`, with the error that was measured.

    Some functions decide which nodes are left out; all are computed at the other nodes only. The
    error is measured at all kept nodes of the path, for as many functions as `MOST_MEASURED` values
    allow: those that reach furthest, and others. If it is too large, the functions with the largest
    errors join those that decide.
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
    """Return functions, given at nodes, as sums of as few singular vectors as a tolerance needs.

    The tolerance is a fraction of their range; `error` is how far the values are off already.
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

    def fits(rank: int) -> bool:
        rest = values - weights[:, :rank] @ basis[:rank]
        return float(np.abs(rest).max()) <= tolerance

    return 1 + bisect_left(range(1, len(basis)), True, key=fits)
