"""Paths over τ with an L1 penalty and with constraints on the weights."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taupath.fitting.constraints import (
    Constraint,
    Training,
    extra_rows,
)
from taupath.fitting.doubts import warn_of_inexact
from taupath.fitting.feasibility import with_room
from taupath.fitting.over_tau import Request, Walk
from taupath.fitting.reach import check_reach
from taupath.fitting.walks import unit_of
from taupath.paths.certificate import Units
from taupath.paths.extra_rows import ExtendedData, ExtraRows
from taupath.paths.intercept import Intercept, fixed_intercept
from taupath.paths.jobs import Job, label_responses, target_responses
from taupath.paths.path import SolutionPath
from taupath.paths.repeated_data import merge_copies
from taupath.paths.training_data import Responses, TrainingData
from taupath.paths.walked import Walked, WalkedPiece
from taupath.progress import telling
from taupath.validation import check_features, is_dask, shown

# If θ of a constraint reaches a bound that stands for infinity, the bound is moved by this factor
# and the walk begins again, so many times.
FURTHER, MOST_TIMES = 1e3, 3


@dataclass(frozen=True)
class Samples:
    """Checked samples, to which extra rows are added."""

    X: Any
    names: list[str] | None  # of the features
    classes: np.ndarray | None  # None for regression
    responses: Responses
    constant: Intercept

    @classmethod
    def checked(
        cls, X: Any, y: Any, sample_weight: Any, intercept: str, labelled: bool = True
    ) -> "Samples":
        """Return the samples of a user; `labelled` tells whether y holds labels, not numbers."""
        if is_dask(X, y, sample_weight):
            raise ValueError("l1 and constraints are for arrays in memory, not for Dask")
        constant = fixed_intercept(intercept)
        if constant is None:
            raise ValueError(
                "l1 and constraints are for intercept='augmented' or 'none', not for 'free'"
            )
        columns = getattr(X, "columns", None)
        names = None if columns is None else [str(name) for name in columns]
        X, classes = check_features(X), None
        if labelled:
            classes, responses = label_responses(y, X.shape[0], sample_weight)
        else:
            responses = target_responses(y, X.shape[0], sample_weight)
        return cls(X, names, classes, responses, constant)

    @property
    def training(self) -> Training:
        """What constraints are made of."""
        return Training(self.X, self.names, self.responses.weight, self.constant.bias)

    @property
    def unit(self) -> float:
        """The scale of the targets: walks raise them by a part of it."""
        target, weight = self.responses.target, self.responses.weight
        return unit_of(Units(target, weight), target, weight)

    def strength(self, C: float) -> float:
        """Return C times the sum of weights."""
        return C * float(self.responses.weight.sum())

    def extended(self, extra: ExtraRows) -> TrainingData:
        """Return the samples with extra rows; copies of a sample are walked as one."""

        def make(X: Any, responses: Responses) -> TrainingData:
            return ExtendedData(X, responses, self.constant, extra)

        return merge_copies(self.X, self.responses, make)


def constrained_path(
    X: Any,
    y: Any,
    sample_weight: Any,
    request: Request,
    labelled: bool,
    make_job: Callable[[int, Any], Job],
    walk: Walk,
    l1: float,
    constraints: Sequence[Constraint],
) -> SolutionPath:
    """Return the exact path whose objective has `l1` ‖w‖₁, and whose w meet all constraints."""
    options = request.options
    if request.method == "approximate":
        raise ValueError("l1 and constraints are for exact paths, not for approximate ones")
    if not (isinstance(options.kernel, str) and options.kernel == "linear"):
        raise ValueError(f"l1 and constraints are for kernel='linear', got {shown(options.kernel)}")
    samples = Samples.checked(X, y, sample_weight, options.intercept, labelled)
    job = make_job(samples.X.shape[0], samples.classes)
    extra = extra_rows(l1, constraints, samples.training, samples.strength(job.C))
    extra = with_room(extra, samples.unit)
    tell = telling(request.progress, "kinks", "τ")

    def walked(data: TrainingData) -> Walked:
        check_reach(job.C, data)
        return walk(job, data, request.tau_range, tell, request.in_two_threads)

    found, _ = walk_within(samples, extra, walked)
    warn_of_inexact(found)
    return SolutionPath(found)


def walk_within(
    samples: Samples, extra: ExtraRows, walk: Callable[[TrainingData], Walked]
) -> tuple[Walked, ExtraRows]:
    """Return what a walk finds, with bounds for infinity so far off that no θ reaches them."""
    for _ in range(MOST_TIMES):
        data = samples.extended(extra)
        walked = walk(data.distinct).on(data)
        reached = _reached(walked, extra)
        if not reached.any():
            return walked, extra
        extra = extra.widened(FURTHER)
    raise ValueError(f"{extra.name[int(reached.argmax())]} can hardly be met with the others")


def _reached(walked: Walked, extra: ExtraRows) -> np.ndarray:
    """Return which extra rows reach a bound that stands for infinity."""
    records = [piece.record for piece in walked.pieces if isinstance(piece, WalkedPiece)]
    return np.asarray(sum(extra.reached(record) for record in records), dtype=bool)
