"""The paper's job: the SVM for every misclassification cost."""

from typing import Any

import numpy as np

from taupath.path import SolutionPath
from taupath.problem import quantile_classification
from taupath.rows import make_rows, order_in_memory
from taupath.solver import Progress, solve_path
from taupath.validation import (
    check_choice,
    check_features,
    check_labels,
    check_range,
    check_weight,
    check_weighted_classes,
    regularization_to_C,
)

__all__ = ["quantile_path"]

# The default of C, told apart from a 1.0 that somebody wrote beside `lam` by being this object.
_DEFAULT_C = float("1.0")
_BIAS = {"augmented": 1.0, "none": 0.0}


def quantile_path(
    X: Any,
    y: Any,
    C: float = _DEFAULT_C,
    lam: float | None = None,
    *,
    intercept: str = "augmented",
    sample_weight: Any = None,
    tau_range: tuple[float, float] = (0.0, 1.0),
    progress: Progress | None = None,
) -> SolutionPath:
    """Follow the exact solution of the asymmetric-cost SVM over τ.

    For every τ of `tau_range`, minimises

        λ/2 ‖w‖² + Σ c_i(τ) max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ)/n for y_i = +1, 2τ/n for -1.

    τ = cost_fp / (cost_fp + cost_fn), so that costs can be chosen after training; at τ = ½ this
    is the ordinary SVM.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, dense or sparse. float64 in C order and CSR are used where they lie.
    y : array-like of shape (n_samples,)
        Two classes; the larger label is the positive one.
    C : float, default 1.0
        1 / (n λ), as in scikit-learn.
    lam : float, optional
        λ; give this or C.
    intercept : {"augmented", "none"}
        "augmented": a constant feature 1, regularised like the others (the paper's choice).
        "none": the decision function passes through the origin.
    sample_weight : array-like of shape (n_samples,), optional
        Factors of c_i: weight 2 is two copies, weight 0 is absence.
    tau_range : pair of float
        Walk only this part of [0, 1].
    progress : callable, optional
        Called as ``progress(fraction, n_events)`` about ten times a second.

    Returns
    -------
    SolutionPath
        All solutions, with their certificates.

    Raises
    ------
    ValueError, TypeError
        For arguments that make no problem; the message names argument and value.
    WalkFailed
        Where the walk could not be finished; this should not happen.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = taupath.quantile_path(X, [0, 1, 0, 1], C=1.0)
    >>> bool(path.duality_gap(0.3) < 1e-12)
    True
    """
    features = check_features(X)
    n_samples = features.shape[0]
    classes, positive = check_labels(y, n_samples)
    C = regularization_to_C(None if C is _DEFAULT_C else C, lam, n_samples)
    bias = _BIAS[check_choice(intercept, "intercept", tuple(_BIAS))]
    weight = check_weight(sample_weight, n_samples)
    check_weighted_classes(weight, classes, positive)
    begin, end = check_range(tau_range)
    if progress is not None and not callable(progress):
        raise TypeError(f"progress must be callable or None, got {progress!r}")

    sign = np.where(positive, 1.0, -1.0)
    order = order_in_memory(features, sign)
    if order is None:
        rows = make_rows(features, sign, bias, rearranged=True)
    else:
        rows = make_rows(features[order], sign[order], bias)
    line = quantile_classification(positive, weight, C)
    record = solve_path(rows, rows.squared_norms(), line, begin, end, order, progress)
    return SolutionPath(features, positive, classes, weight, C, bias, line, record)
