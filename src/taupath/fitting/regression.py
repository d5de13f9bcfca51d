"""Quantile regression for every quantile at once."""

from collections.abc import Callable
from typing import Any

from taupath.fitting.constrained import constrained_path
from taupath.fitting.constraints import check_constraints, check_l1
from taupath.fitting.over_tau import Request, path_over_tau
from taupath.fitting.walks import walk_regression
from taupath.paths.jobs import QuantileRegression
from taupath.paths.options import Options
from taupath.paths.path import SolutionPath
from taupath.progress import Progress
from taupath.validation import check_C


def quantile_regression_path(
    X: Any,
    y: Any,
    C: float = 1.0,
    *,
    kernel: str | Callable[[Any, Any], Any] = "linear",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    intercept: str = "augmented",
    sample_weight: Any = None,
    cache_size: float = 1000.0,
    tau_range: tuple[float, float] = (0.0, 1.0),
    n_jobs: int | None = None,
    method: str = "exact",
    tol: float = 1e-3,
    progress: Progress | None = None,
    device: str | None = None,
    l1: float = 0.0,
    constraints: Any = None,
) -> SolutionPath:
    """Follow the exact solution of quantile regression over τ.

    For every τ of `tau_range`, minimises

        ½ ‖w‖² + C Σ max(τ (y_i - f(x_i)), (τ - 1) (y_i - f(x_i))),

    so that f_τ(x) estimates the τ-quantile of y at x (Takeuchi, Le, Sears & Smola, JMLR 2006).

    Parameters
    ----------
    X, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size, tau_range
        As in `quantile_path`.
    n_jobs, method, tol, progress, device, constraints
        As in `quantile_path`.
    y : array-like of shape (n_samples,)
        The numbers to be predicted.
    C : float, default 1.0
        Weight of the loss. As C grows, solutions with the linear kernel approach the unregularised
        quantiles.
    l1 : float, default 0
        Adds l1 ‖w‖₁ to the objective; otherwise as in `quantile_path`. The same at all τ.

    Returns
    -------
    SolutionPath
        The same interface as that of `quantile_path`; `decision_function` is the quantile.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> path = taupath.quantile_regression_path(X, [0.0, 1.0, 5.0, 3.0, 4.0], C=100.0)
    >>> path.decision_function(X, 0.5).round(6)
    array([0., 1., 2., 3., 4.])
    """
    request = Request.checked(
        Options(kernel, gamma, degree, coef0, intercept, cache_size),
        tau_range,
        n_jobs,
        method,
        tol,
        progress,
        device,
    )
    job = QuantileRegression(check_C(C))
    l1, constraints = check_l1(l1), check_constraints(constraints)
    if l1 or constraints:
        return constrained_path(
            X, y, sample_weight, request, False, lambda *_: job, walk_regression, l1, constraints
        )
    return path_over_tau(X, y, sample_weight, request, False, lambda *_: job, walk_regression)
