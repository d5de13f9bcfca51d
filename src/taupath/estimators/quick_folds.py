"""Held-out probabilities that are good enough to choose by, in a fraction of an exact path's time.

A search with ``method="auto"`` judges its candidates by these: with the linear kernel by
approximate paths, with the RBF kernel by a few solutions for a kernel matrix that all folds share.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from taupath.approximate.held_out_rows import positive_shares
from taupath.estimators.candidates import Candidate
from taupath.estimators.classifier import QuantileSVC
from taupath.exceptions import WalkFailed
from taupath.paths.kernel_data import MEGABYTE
from taupath.paths.kernels import Kernel
from taupath.validation import UNIT_INTERVAL, Checked, check_positive, check_range

# Tolerance of approximate paths that only choose.
FOLD_TOL = 1e-2
# The constant feature by which each `intercept` is a part of w. That of a free one is so large that
# its weight costs next to nothing.
CONSTANT_FEATURE = {"augmented": 1.0, "free": 30.0, "none": 0.0}


class Way(NamedTuple):
    """How a candidate is judged: quickly or not, and with a kernel matrix of all samples or not."""

    quickly: bool
    matrix: np.ndarray | None = None  # in single precision


def ways_of(grid: Sequence[Candidate], search: Any, X: Checked) -> list[Way]:
    """Return how each candidate of a search on these samples is judged.

    Kernel matrices are made if `cache_size` holds all of them.
    """
    whole = check_range(search.tau_range) == UNIT_INTERVAL
    if search.method != "auto" or search.scoring is not None or not whole:
        return [Way(False)] * len(grid)
    rbf = dict.fromkeys(each.gamma for each in grid if each.kernel == "rbf")
    budget = MEGABYTE * check_positive(search.cache_size, "cache_size")
    matrices: dict[float | None, np.ndarray] = {}
    if 4.0 * len(rbf) * X.shape[0] ** 2 <= budget:
        for gamma in rbf:
            kernel = Kernel("rbf", gamma or 1.0)
            matrices[gamma] = kernel(X.features, X.features).astype(np.float32)
    found = []
    for each in grid:
        matrix = matrices.get(each.gamma) if each.kernel == "rbf" else None
        found.append(Way(each.kernel == "linear" or matrix is not None, matrix))
    return found


def fit_quickly(model: QuantileSVC, X: Checked, y: np.ndarray, weight: np.ndarray) -> None:
    """Fit an approximate path, or an exact one if the data allow no approximate one."""
    try:
        own = {"method": "approximate", "tol": max(model.tol, FOLD_TOL)}
        model.set_params(**own).fit(X, y, weight)
    except (WalkFailed, ValueError):
        model.set_params(method="exact").fit(X, y, weight)


def from_matrix(
    model: QuantileSVC,
    matrix: np.ndarray,
    data: tuple[Checked, np.ndarray, np.ndarray],
    train: np.ndarray,
    test: np.ndarray,
) -> np.ndarray | None:
    """Return the probabilities of held-out samples; None if the matrix takes too many steps.

    `data` are all samples with their labels and weights. The model is not fitted, but knows its
    classes afterwards.
    """
    X, y, weight = data
    shares = []
    jobs = model._jobs(X[train], y[train], weight[train])
    for job, members in zip(jobs, model._members, strict=True):
        trained = train if members is None else train[members]
        sign = np.where(job["y"] == 1, 1.0, -1.0)
        bias = CONSTANT_FEATURE[model.intercept]
        share = positive_shares(matrix, trained, test, sign, job["sample_weight"], job["C"], bias)
        if share is None:
            return None
        shares.append(share)
    return model._of_lengths(shares)
