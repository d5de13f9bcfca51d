"""Held-out probabilities that are good enough to choose by, in a fraction of an exact path's time.

A search with ``method="auto"`` judges its candidates by these: with the linear kernel by
approximate paths, with the RBF kernel by a few solutions for a kernel matrix that all folds share.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath.approximate.held_out_rows import positive_shares
from taupath.estimators.candidates import Candidate
from taupath.estimators.classifier import QuantileSVC
from taupath.exceptions import WalkFailed
from taupath.paths.blocks import slices
from taupath.paths.kernel_data import MEGABYTE
from taupath.paths.kernels import Kernel
from taupath.validation import UNIT_INTERVAL, Checked, check_range

# Entries of a kernel matrix that are computed in double precision at a time: 32 MB.
COMPUTED_AT_A_TIME = 1 << 22
# Tolerance of approximate paths that only choose.
FOLD_TOL = 1e-2
# With the linear kernel, a matrix is the quicker way up to so many samples, and so large a product
# of C and the sum of all weights times k(x, x): beyond, two samples at a time take too many steps.
MOST_LINEAR, MOST_LINEAR_WORK = 2000, 1e4
# How far solutions for a matrix may be from optimal. Below, probabilities with the linear kernel
# hardly get better. With the RBF kernel and 0.03, f of samples that are far from all others can be
# so small that its sign is wrong. With little to learn from, all of f is small: C times the sum of
# all weights times k(x, x) is then below TAKES.
VIOLATION, TAKES = {"linear": 0.1, "rbf": 0.02}, 100.0
# The square of the constant feature by which each `intercept` is a part of w. That of a free one is
# so large that an intercept of 1 costs little beside the losses; if these are small, larger still.
CONSTANT_SQUARE = {"augmented": 1.0, "free": 1000.0, "none": 0.0}


class FoldMethod(NamedTuple):
    """How a candidate is judged: quickly or not, and with a kernel matrix of all samples or not."""

    quickly: bool
    matrix: np.ndarray | None = None  # in single precision


def is_quick(search: Any) -> bool:
    """Return whether a search judges candidates quickly where it can.

    Not if exact or approximate paths are asked for, nor if a scorer needs models or τ is limited.
    """
    whole = check_range(search.tau_range) == UNIT_INTERVAL
    return bool(search.method == "auto" and search.scoring is None and whole)


def matrices_that_fit(search: Any, n_samples: int) -> int:
    """Return how many kernel matrices the `cache_size` of a search holds."""
    return int(MEGABYTE * search.cache_size // (4.0 * n_samples**2))


def methods_of(
    grid: Sequence[Candidate], search: Any, X: Checked, weight: np.ndarray
) -> list[FoldMethod]:
    """Return how each candidate of a search on these samples is judged."""
    if not is_quick(search):
        return [FoldMethod(False)] * len(grid)
    n_samples = X.shape[0]
    kinds = {(each.kernel, each.gamma) for each in grid if each.kernel == "rbf"}
    room = matrices_that_fit(search, n_samples)
    kinds = kinds if len(kinds) <= room else set()
    linear = any(each.kernel == "linear" for each in grid)
    if linear and n_samples <= MOST_LINEAR and len(kinds) < room:
        kinds.add(("linear", None))
    matrices: dict[tuple[Any, float | None], np.ndarray]
    matrices = {kind: _matrix(*kind, X.features) for kind in kinds}
    found = []
    for each in grid:  # functions need not be hashable
        matrix = None if callable(each.kernel) else matrices.get((each.kernel, each.gamma))
        if each.kernel == "linear" and matrix is not None:
            work = each.C * float(weight @ matrix.diagonal())
            matrix = matrix if work <= MOST_LINEAR_WORK else None
        found.append(FoldMethod(each.kernel == "linear" or matrix is not None, matrix))
    return found


def _matrix(kernel: Any, gamma: float | None, X: Any) -> np.ndarray:
    """Return k(x_i, x_j) of all samples, in single precision."""
    if kernel == "rbf":
        n, rbf = X.shape[0], Kernel("rbf", gamma or 1.0)
        found = np.empty((n, n), dtype=np.float32)
        for some in slices(n, COMPUTED_AT_A_TIME // n):
            found[some] = rbf(X[some], X)
        return found
    products = X @ X.T
    return np.asarray(products.toarray() if sp.issparse(products) else products, dtype=np.float32)


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
    square, diagonal, shares = CONSTANT_SQUARE[model.intercept], matrix.diagonal(), []
    jobs = model._jobs(X[train], y[train], weight[train])
    for job, members in zip(jobs, model._members, strict=True):
        trained = train if members is None else train[members]
        sign, own, C = np.where(job["y"] == 1, 1.0, -1.0), job["sample_weight"], job["C"]
        size = min(C * float(own @ diagonal[trained]) / TAKES, 1.0)
        violation = size * VIOLATION[model.kernel]
        bias = float(np.sqrt(square / min(C * own.sum(), 1.0) if square > 1.0 else square))
        share = positive_shares(matrix, trained, test, sign, own, C, bias, violation)
        if share is None:
            return None
        shares.append(share)
    return model._of_lengths(shares)
