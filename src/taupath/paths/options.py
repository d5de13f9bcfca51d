"""Training data from users' arguments."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from taupath.paths.intercept import column_shift, exact_intercept, fixed_intercept
from taupath.paths.kernel_data import MEGABYTE, KernelData
from taupath.paths.kernels import check_square, make_kernel
from taupath.paths.repeated_data import merge_copies
from taupath.paths.training_data import Responses, TrainingData
from taupath.validation import check_positive

Maker = Callable[["np.ndarray | sp.csr_array", Responses], TrainingData]


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
    X: "np.ndarray | sp.csr_array",
    responses: Responses,
    options: Options,
    *,
    known: bool = False,
    merge: bool = True,
    with_free: Maker | None = None,
) -> TrainingData:
    """Return the training data for checked X and responses; the options are checked here.

    If they are `known`, as those of a model file are, there is no warning of an indefinite kernel.
    Unless `merge` is False, copies of a sample are walked as one. With the linear kernel and a free
    intercept, `with_free` makes the data; usually they are centred.
    """
    if with_free is None:
        with_free = _centred
    constant = fixed_intercept(options.intercept)
    kernel = make_kernel(options.kernel, options.gamma, options.degree, options.coef0, X)
    precomputed = kernel is not None and kernel.precomputed
    if precomputed:
        X = X if isinstance(X, np.ndarray) else X.toarray()
        check_square(X)

    def make(X: "np.ndarray | sp.csr_array", responses: Responses) -> TrainingData:
        if kernel is None:
            return TrainingData(X, responses, constant) if constant else with_free(X, responses)
        budget = MEGABYTE * check_positive(options.cache_size, "cache_size")
        data = KernelData(X, responses, constant, kernel, budget)
        data.centred = constant is None
        data.check_symmetric()
        if not known:
            data.warn_if_indefinite()
        return data

    return merge_copies(X, responses, make, precomputed) if merge else make(X, responses)


def _centred(X: "np.ndarray | sp.csr_array", responses: Responses) -> TrainingData:
    return centred_data(X, responses, column_shift(X))


def centred_data(
    X: "np.ndarray | sp.csr_array", responses: Responses, shift: np.ndarray | None
) -> TrainingData:
    """Return the training data with a free intercept whose walk subtracts `shift` from each x."""
    data = TrainingData(X, responses, exact_intercept(X, shift), shift)
    data.centred = True
    return data
