"""Many functions of τ as sums of a few: what is drawn or printed of cases takes little room.

All decision functions of a linear model are combinations of as many functions of τ as there are
coefficients, and those of a smooth kernel very nearly of a few dozen. Singular vectors find them.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from taupath.paths.crossings import KeptFunctions
from taupath.report.encoding import packed
from taupath.report.piecewise_linear import largest_error, thin_together

__all__ = ["LowRank", "chosen_of", "compress", "factor"]

# Functions that say which nodes to keep for all, how often others may join them, and functions
# that say which singular vectors.
MOST_ASKED = 100
ROUNDS = 3
MOST_VECTORS = 400
# So many coefficients are few.
FEW = 40
# Nodes at which it is seen how far each function reaches.
ROUGHLY = 64
# Values of functions that their error is measured at, about.
MOST_MEASURED = 2_000_000
# Singular values below this part of the largest one do not matter.
LEAST = 1e-5
# Weights are stored as multiples of their column's largest one over this.
STEPS = 32767


@dataclass(frozen=True)
class LowRank:
    """Functions Σ_r weights[i, r] scales[r] basis[r](τ), linear between nodes.

    Attributes
    ----------
    taus : ndarray of shape (n_nodes,)
        Where functions are given; twice the same where they jump.
    basis : ndarray of float32 of shape (rank, n_nodes)
        What they are made of.
    scales : ndarray of shape (rank,)
        Units of the weights.
    weights : ndarray of int16 of shape (n_functions, rank)
        How much of each.
    error : float
        How far a function is off, at most, as part of the range of them all.
    sampled : bool
        Whether that was measured for some functions or at some nodes only: then it is no bound.
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

    def payload(self, rows: np.ndarray | None = None) -> dict[str, Any]:
        """Return what the page carries of all functions, or of some."""
        weights = self.weights if rows is None else self.weights[rows]
        return {
            "taus": packed(self.taus, "f8"),
            "basis": packed(self.basis, "f4"),
            "scales": packed(self.scales, "f8"),
            "weights": packed(weights, "i2"),
            "error": self.error,
            "sampled": self.sampled,
        }


def compress(functions: KeptFunctions, tolerance: float) -> LowRank:
    """Return f_τ(x) of samples, off by about a tolerance at most, and by how much.

    Nodes are left out as some of the functions allow, and all are computed at the others only.
    The error that this makes is measured at all kept nodes of the path, for as many functions as
    `MOST_MEASURED` numbers are enough for: those that reach furthest, and others. Where it is too
    large, the functions that are off most have a say, too.

    Parameters
    ----------
    functions : KeptFunctions
        f_τ(x) of the samples.
    tolerance : float
        Half of it, or more, is for leaving out nodes, the rest for leaving out singular vectors;
        as part of the range of all functions.
    """
    taus = functions.taus
    rough = functions.values(nodes=chosen_of(len(taus), ROUGHLY))
    reach = np.abs(rough - rough.mean(axis=0)).max(axis=1)
    some = functions.values(_furthest(reach, max(MOST_MEASURED // len(taus), MOST_ASKED)))
    # of few coefficients all singular vectors are kept: the tolerance is for leaving out nodes
    part = 0.8 if functions.width <= FEW else 0.5
    allowed = part * tolerance * float(np.ptp(some))
    asked = _furthest(np.abs(some).max(axis=1), MOST_ASKED)
    for _ in range(ROUNDS):
        kept = thin_together(taus, some[asked], 0.9 * allowed)
        off = largest_error(taus, some, kept)
        if off.max() <= allowed:
            break
        asked = np.union1d(asked, np.argsort(-off)[: MOST_ASKED // 2])
    values = functions.values(nodes=kept)
    found = factor(taus[kept], values, (1.0 - part) * tolerance, float(off.max()))
    return replace(found, sampled=len(some) < len(functions) or not functions.complete)


def _furthest(reach: np.ndarray, most: int) -> np.ndarray:
    """Return some of the functions: those that reach furthest, and others, evenly spread."""
    if len(reach) <= most:
        return np.arange(len(reach))
    furthest = np.argsort(-reach, kind="stable")[: most // 2]
    return np.union1d(furthest, chosen_of(len(reach), most - most // 2))


def factor(taus: np.ndarray, values: np.ndarray, tolerance: float, error: float = 0.0) -> LowRank:
    """Return functions by as few singular vectors as a tolerance needs.

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
    asked = values
    if min(values.shape) > MOST_VECTORS:
        reach = np.abs(values - values.mean(axis=0)).max(axis=1)
        asked = values[_furthest(reach, MOST_VECTORS)]
    basis = _right_vectors(asked)
    basis = basis[: _rank_for(asked, basis, 0.8 * tolerance * size)].astype(np.float32)
    weights = values @ basis.T.astype(np.float64)
    scales = np.abs(weights).max(axis=0) / STEPS
    scales = np.where(scales > 0.0, scales, 1.0)
    found = LowRank(taus, basis, scales, np.rint(weights / scales).astype(np.int16), 0.0)
    off = float(np.abs(values - found.values()).max())
    return LowRank(taus, basis, scales, found.weights, (error + off) / size)


def chosen_of(n: int, most: int) -> np.ndarray:
    """Return some of n, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.int64))


def _right_vectors(values: np.ndarray) -> np.ndarray:
    """Return the right singular vectors that matter, the largest first, as rows.

    From the product of the values with themselves, which is small: good to 1e-6 down to 1e-5 of
    the largest singular value, below which nothing is seen.
    """
    if len(values) >= values.shape[1]:
        square, vectors = np.linalg.eigh(values.T @ values)
        return np.ascontiguousarray(vectors.T[::-1][square[::-1] >= LEAST**2 * square[-1]])
    square, vectors = np.linalg.eigh(values @ values.T)
    matter = square >= LEAST**2 * square[-1]
    length = np.sqrt(np.where(square > 0.0, square, 1.0))
    return np.ascontiguousarray(((vectors / length).T @ values)[matter][::-1])


def _rank_for(values: np.ndarray, basis: np.ndarray, tolerance: float) -> int:
    """Return the least rank that leaves nothing above the tolerance."""
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
