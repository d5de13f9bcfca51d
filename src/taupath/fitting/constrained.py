"""Paths over τ with an L1 penalty and with constraints of the weights."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from taupath.fitting.constraints import Constraint, Training, check_feasible, extra_rows
from taupath.fitting.doubts import warn_of_inexact
from taupath.fitting.over_tau import Request
from taupath.fitting.reach import check_reach
from taupath.fitting.walks import walk_classification
from taupath.paths.extra_rows import ExtendedData
from taupath.paths.intercept import fixed_intercept
from taupath.paths.jobs import QuantileClassification, label_responses
from taupath.paths.path import SolutionPath
from taupath.paths.walked import Walked, WalkedPiece
from taupath.progress import telling
from taupath.validation import check_features, is_dask, shown

# If θ of a constraint reaches a bound that stands for infinity, the bound is moved by this factor
# and the walk begins again, so many times.
FURTHER, MOST_TIMES = 1e3, 3


def constrained_path(
    X: Any,
    y: Any,
    sample_weight: Any,
    request: Request,
    make_job: Callable[[int, np.ndarray], QuantileClassification],
    l1: float,
    constraints: Sequence[Constraint],
) -> SolutionPath:
    """Return the exact path whose objective has `l1` ‖w‖₁, and whose w meet all constraints."""
    options = request.options
    if is_dask(X, y, sample_weight) or request.method == "approximate":
        raise ValueError("l1 and constraints are for exact paths, not for approximate ones or Dask")
    if not (isinstance(options.kernel, str) and options.kernel == "linear"):
        raise ValueError(f"l1 and constraints are for kernel='linear', got {shown(options.kernel)}")
    constant = fixed_intercept(options.intercept)
    if constant is None:
        raise ValueError("l1 and constraints are for intercept='augmented' or 'none', got 'free'")
    columns = getattr(X, "columns", None)
    names = None if columns is None else [str(name) for name in columns]
    X = check_features(X)
    classes, responses = label_responses(y, X.shape[0], sample_weight)
    job = make_job(X.shape[0], classes)
    training = Training(X, names, responses.weight, constant.bias)
    strength = job.C * float(responses.weight.sum())
    extra = extra_rows(l1, constraints, training, strength)
    check_feasible(extra)
    tell = telling(request.progress, "kinks", "τ")
    for _ in range(MOST_TIMES):
        data = ExtendedData(X, responses, constant, extra)
        check_reach(job.C, data)
        walked = walk_classification(job, data, request.tau_range, tell, request.in_two_threads)
        reached = _reached(walked, data)
        if not reached.any():
            warn_of_inexact(walked)
            return SolutionPath(walked)
        extra = extra.widened(FURTHER)
    raise ValueError(f"{extra.name[int(reached.argmax())]} can hardly be met beside the others")


def _reached(walked: Walked, data: ExtendedData) -> np.ndarray:
    """Return which extra rows reach a bound that stands for infinity."""
    records = [piece.record for piece in walked.pieces if isinstance(piece, WalkedPiece)]
    return np.asarray(sum(data.extra.reached(record) for record in records), dtype=bool)
