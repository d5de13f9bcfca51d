"""Kernels: their names and parameters, and the memory that their matrices may take."""

from dataclasses import replace
from typing import Any

import numpy as np

from taupath.exceptions import ModelFileError
from taupath.paths.kernel_data import FEWEST_ROWS, MEGABYTE
from taupath.paths.kernels import Kernel, make_kernel
from taupath.paths.options import Options
from taupath.storage.budget import KERNEL_COPIES, Budget
from taupath.validation import check_positive


def pack_kernel(kernel: Kernel | None) -> dict[str, Any]:
    """Return the description of a kernel; None is the linear one."""
    if kernel is None:
        return {"kernel": "linear"}
    if callable(kernel.function):
        raise ValueError(
            "a kernel that is a Python function cannot be stored in a model file, which holds no "
            'code; use kernel="precomputed", or pickle the model'
        )
    return {
        "kernel": kernel.function,
        "gamma": float(kernel.gamma),
        "degree": float(kernel.degree),
        "coef0": float(kernel.coef0),
    }


def unpack_kernel(found: dict[str, Any], X: Any) -> Options:
    """Return kernel and intercept of a description, for training data or support vectors X."""
    kernel, intercept = found.get("kernel"), found.get("intercept")
    if not isinstance(kernel, str) or not isinstance(intercept, str):
        raise ModelFileError("kernel and intercept are missing")
    if kernel == "precomputed" and not isinstance(X, np.ndarray):
        raise ModelFileError("a kernel matrix is not stored as a sparse one")
    options = Options(kernel, intercept=intercept)
    if kernel == "linear":
        return options
    gamma = check_positive(found.get("gamma"), "gamma")
    return replace(options, gamma=gamma, degree=found["degree"], coef0=found["coef0"])


def with_cache(options: Options, found: dict[str, Any], X: Any, budget: Budget) -> Options:
    """Return the options with the memory for the kernel matrix of training data X."""
    if options.kernel == "linear":
        return options
    cache_size = check_positive(found.get("cache_size"), "cache_size")
    cache = _cache(MEGABYTE * cache_size, X, options, budget)
    return replace(options, cache_size=cache / MEGABYTE)


def _cache(stored: float, X: Any, options: Options, budget: Budget) -> float:
    """Return the bytes for a kernel matrix: those stored, or as many as the budget has left.

    Rows that are not kept are computed when they are needed. A matrix that may be indefinite is
    kept if it was: it is not used as it is.
    """
    n = X.shape[0]
    matrix = 8.0 * n * n
    if matrix <= stored and KERNEL_COPIES * matrix > budget.left:
        kernel = make_kernel(options.kernel, options.gamma, options.degree, options.coef0, X)
        if kernel is not None and not kernel.positive:
            budget.read(KERNEL_COPIES * matrix, f"the kernel matrix of {n} samples")
        stored = min(stored, matrix - 1.0)
    if stored < matrix:
        budget.read(8.0 * FEWEST_ROWS * n, f"rows of the kernel matrix of {n} samples")
        stored = min(stored, max(budget.left, 8.0 * FEWEST_ROWS * n))
    return stored
