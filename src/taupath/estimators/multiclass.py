"""Probabilities of several classes from those of pairs, or of each class against the rest."""

from itertools import combinations

import numpy as np

# Distance kept from pairwise probabilities of 0 and 1, where the system becomes singular. Small
# against the errors of probabilities; its square is large against the rounding of doubles.
MARGIN = 1e-7


def couple_pairs(pairwise: np.ndarray) -> np.ndarray:
    """Return probabilities that fit pairwise ones best.

    Minimises Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)² subject to Σ p_i = 1 (the second method of Wu,
    Lin & Weng, JMLR 2004), whose solution is never negative. ``pairwise[:, i, j]`` is r_ij, the
    probability of class i given that it is i or j; the diagonal is not used.
    """
    n_samples, k, _ = pairwise.shape
    r = np.clip(pairwise, MARGIN, 1.0 - MARGIN)
    r[:, range(k), range(k)] = 0.0
    system = np.zeros((n_samples, k + 1, k + 1))
    system[:, :k, :k] = -r * r.transpose(0, 2, 1)
    system[:, range(k), range(k)] = (r**2).sum(axis=1)
    system[:, :k, k] = system[:, k, :k] = 1.0
    right = np.zeros((n_samples, k + 1, 1))
    right[:, k] = 1.0
    p = np.maximum(np.linalg.solve(system, right)[:, :k, 0], 0.0)
    return np.asarray(p / p.sum(axis=1, keepdims=True))


def couple_in_order(later: np.ndarray) -> np.ndarray:
    """Return probabilities of all classes from those of the second one of each pair.

    The columns are those of the pairs (0, 1), (0, 2), ..., (1, 2), ... of classes.
    """
    n_samples, n_pairs = later.shape
    k = round(np.sqrt(2 * n_pairs + 0.25) + 0.5)
    pairwise = np.zeros((n_samples, k, k))
    for (i, j), p in zip(combinations(range(k), 2), later.T, strict=True):
        pairwise[:, j, i], pairwise[:, i, j] = p, 1.0 - p
    return couple_pairs(pairwise)


def normalize_rest(against_rest: np.ndarray) -> np.ndarray:
    """Return probabilities in proportion to those of each class against the rest.

    All zero: return uniform probabilities.
    """
    total = against_rest.sum(axis=1, keepdims=True)
    uniform = 1.0 / against_rest.shape[1]
    return np.where(total > 0.0, against_rest / np.where(total > 0.0, total, 1.0), uniform)
