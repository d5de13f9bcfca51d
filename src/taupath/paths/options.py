"""Training data from users' arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.paths.intercept import Intercept, fixed_intercept, free_intercept, make_intercept
from taupath.paths.kernel_data import MEGABYTE, KernelData
from taupath.paths.kernels import check_square, make_kernel
from taupath.paths.training_data import Responses, TrainingData
from taupath.validation import check_positive


@dataclass(frozen=True)
class Options:
    """Users' choice of kernel and intercept; see `taupath.quantile_path`."""

    kernel: str | Callable[[Any, Any], Any] = "linear"
    gamma: float | str = "scale"
    degree: float = 3
    coef0: float = 0.0
    intercept: str = "augmented"
    cache_size: float = 1000.0


def make_training_data(
    X: "np.ndarray | sp.csr_array", responses: Responses, options: Options
) -> TrainingData:
    """Return the training data for checked X and responses; the options are checked here."""
    constant = fixed_intercept(options.intercept)
    kernel = make_kernel(options.kernel, options.gamma, options.degree, options.coef0, X)
    if kernel is None:
        return TrainingData(X, responses, constant or make_intercept(options.intercept, X))
    if kernel.precomputed:
        X = X if isinstance(X, np.ndarray) else X.toarray()
        check_square(X)
    budget = MEGABYTE * check_positive(options.cache_size, "cache_size")
    data = KernelData(X, responses, constant or Intercept(1.0, free=True), kernel, budget)
    if constant is None:
        data.constant = free_intercept(data.diagonal.mean())
    data.examine()
    return data
