"""The SVM for every misclassification cost (the paper's job), and for every C."""

from collections.abc import Callable
from typing import Any

import numpy as np

from taupath.fitting.constrained import constrained_path
from taupath.fitting.constraints import check_constraints, check_l1
from taupath.fitting.doubts import warn_of_inexact
from taupath.fitting.over_tau import Request, path_over_tau
from taupath.fitting.reach import check_reach
from taupath.fitting.walks import walk_classification, walk_regularization
from taupath.paths.jobs import QuantileClassification, Regularization, label_responses
from taupath.paths.options import Options, make_training_data
from taupath.paths.path import SolutionPath
from taupath.progress import Progress, telling
from taupath.validation import (
    DEFAULT_C,
    check_C,
    check_features,
    check_progress,
    check_real,
    regularization_to_C,
)


def quantile_path(
    X: Any,
    y: Any,
    C: float = DEFAULT_C,
    lam: float | None = None,
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
    """Follow the exact solution of the asymmetric-cost SVM over τ.

    For every τ of `tau_range`, minimises

        λ/2 ‖w‖² + Σ c_i(τ) max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ)/n for y_i = +1, 2τ/n for -1.

    τ = cost_fp / (cost_fp + cost_fn), so that costs can be chosen after training; at τ = ½ this
    is the ordinary SVM.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Features, dense or sparse. float64 in C order and CSR are used where they lie. With
        ``kernel="precomputed"`` the kernel matrix, shape (n_samples, n_samples). A Dask array or
        data frame stays on its cluster: for ``method="approximate"``, with y and `sample_weight`
        that are Dask collections or arrays. An array of CuPy or PyTorch on a GPU stays there, for
        ``method="approximate"`` with a kernel; y and `sample_weight` are arrays on the same GPU or
        on the host. The path keeps a copy of X on the host, where it predicts.
    y : array-like of shape (n_samples,)
        Two classes; the larger label is the positive one.
    C : float, default 1.0
        1 / (n λ), as in scikit-learn. C · weight · ‖x‖² must lie between 1e-60 and 1e30, the range
        in which doubles can tell solutions apart; features below 1e-100 count as 0.
    lam : float, optional
        λ; give this or C.
    kernel : {"linear", "rbf", "poly", "sigmoid", "precomputed"} or callable
        As in `sklearn.svm.SVC`; a callable gets two matrices and returns the kernel of all pairs
        of their rows.
    gamma : {"scale", "auto"} or float
        Parameter of "rbf", "poly" and "sigmoid"; "scale" is 1 / (n_features X.var()), "auto"
        1 / n_features.
    degree, coef0 : float
        `degree` is for "poly", `coef0` for "poly" and "sigmoid".
    intercept : {"augmented", "free", "none"}
        "augmented": a constant feature 1, regularised like the others (the paper's choice).
        "free": not regularised, as in LIBSVM and `sklearn.svm.SVC`.
        "none": the decision function passes through the origin.
    sample_weight : array-like of shape (n_samples,), optional
        Factors of c_i: weight 2 is two copies, weight 0 is absence.
    cache_size : float, default 1000
        Megabytes for the kernel matrix. If it does not fit, its rows are computed on demand, and
        the most recent ones are kept. Every step needs the rows of the samples on the margin: if
        these do not fit, either, the cache grows for them, to 20 n_samples bytes for each. For an
        approximate path, what does not fit is computed in tiles whenever it is needed.
    tau_range : pair of float
        Walk only this part of [0, 1].
    n_jobs : int, optional
        2 or more, or -1: walk with two threads, which meet on the way. More do not help.
    method : {"exact", "approximate", "auto"}
        "approximate", for large data: solutions at some τ, interpolated linearly between them, with
        duality gaps of at most `tol` at every τ, certified. With the linear kernel, features of
        float32 stay as they are. "auto" takes this if the exact path is predicted, from walks of
        some samples, to take more than a minute; ``path.method`` says which it was, and
        ``path.method_reason`` why.
    tol : float, default 1e-3
        For approximate paths: the largest gap, relative to the objective at w = 0 and τ = ½.
    progress : callable, optional
        Called as ``progress(fraction, n_events)`` about ten times a second; for approximate paths,
        after every node, with the number of nodes. `fraction` is the share of the work that is
        done, as far as can be told: with t seconds gone, about ``t * (1 - fraction) / fraction``
        are left.
    device : {"cpu", "cuda", "auto"}, optional
        Where the kernel of an approximate path is computed, by default where X lies. "cuda" is an
        NVIDIA GPU, by CuPy or PyTorch, and `cache_size` is then memory of the GPU; "auto" takes one
        if there is one.
    l1 : float, default 0
        Adds λ l1 ‖w‖₁ to λ/2 ‖w‖² in the objective; the intercept is not penalised. Weights of
        features that it rules out are exactly zero. For exact paths with the linear kernel and
        ``intercept="augmented"`` or ``"none"``, as are constraints.
    constraints : list of NonNegative, Monotone, Bound and Fair, optional
        What the weights have to meet at every τ.

    Returns
    -------
    SolutionPath
        All solutions, with their certificates.

    Raises
    ------
    ValueError, TypeError
        For invalid arguments; the message names the argument and its value.
    WalkFailed
        If there are more than a thousand kinks per sample, or an approximate path does not reach
        `tol`. Neither should happen.
    ClusterFailed
        If a Dask cluster goes away or stops responding.

    Warns
    -----
    InexactPathWarning
        If solutions where the walk met difficulties are not as exact as promised.
    IndefiniteKernelWarning
        For a kernel matrix with negative eigenvalues. The path is then that of the nearest
        positive semidefinite matrix; its certificate says how far it is from optimal with the
        given kernel.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = taupath.quantile_path(X, [0, 1, 0, 1], C=1.0)
    >>> bool(path.duality_gap(0.3) < 1e-12)
    True
    """

    def make_job(n_samples: int, classes: np.ndarray) -> QuantileClassification:
        return QuantileClassification(regularization_to_C(C, lam, n_samples), classes)

    request = Request.checked(
        Options(kernel, gamma, degree, coef0, intercept, cache_size),
        tau_range,
        n_jobs,
        method,
        tol,
        progress,
        device,
    )
    l1, constraints = check_l1(l1), check_constraints(constraints)
    if l1 or constraints:
        return constrained_path(
            X, y, sample_weight, request, True, make_job, walk_classification, l1, constraints
        )
    return path_over_tau(X, y, sample_weight, request, True, make_job, walk_classification)


def regularization_path(
    X: Any,
    y: Any,
    tau: float = 0.5,
    *,
    C_max: float,
    kernel: str | Callable[[Any, Any], Any] = "linear",
    gamma: float | str = "scale",
    degree: float = 3,
    coef0: float = 0.0,
    intercept: str = "augmented",
    sample_weight: Any = None,
    cache_size: float = 1000.0,
    progress: Progress | None = None,
) -> SolutionPath:
    """Follow the exact solution of the SVM over C, from 0 to C_max, at a fixed τ.

    For every C, minimises

        ½ ‖w‖² + C Σ c_i max(0, 1 - y_i wᵀx_i),   c_i = 2(1-τ) for y_i = +1, 2τ for -1.

    Parameters
    ----------
    X, y, kernel, gamma, degree, coef0, intercept, sample_weight, cache_size, progress
        As in `quantile_path`.
    tau : float, default 0.5
        cost_fp / (cost_fp + cost_fn), strictly between 0 and 1. At ½ this is the ordinary SVM.
    C_max : float
        Where the path ends.

    Returns
    -------
    SolutionPath
        The same interface as that of `quantile_path`, with C as the parameter.

    Examples
    --------
    >>> import numpy as np, taupath
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = taupath.regularization_path(X, [0, 1, 0, 1], C_max=10.0)
    >>> bool(path.duality_gap(2.5) < 1e-9)
    True
    """
    tell = telling(check_progress(progress), "kinks", "C")
    X = check_features(X)
    classes, responses = label_responses(y, X.shape[0], sample_weight)
    options = Options(kernel, gamma, degree, coef0, intercept, cache_size)
    data = make_training_data(X, responses, options)
    tau = check_real(tau, "tau")
    if not 0.0 < tau < 1.0:
        raise ValueError(f"tau must lie strictly between 0 and 1, got {tau!r}")
    job = Regularization(tau, check_C(C_max, "C_max"), classes)
    check_reach(job.C_max, data, "C_max")
    walked = walk_regularization(job, data.distinct, tell).on(data)
    warn_of_inexact(walked)
    return SolutionPath(walked)
