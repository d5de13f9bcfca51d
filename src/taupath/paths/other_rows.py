"""What solutions become when samples leave or join: every sample left out, rows without or more.

C stays, and with it the box of every other sample; λ = 1 / (n C) does not. A sample that leaves is
a box that shrinks to nothing, and one that joins is a box that opens; the solution follows at a few
events each, see `engine.moves`. Copies of a sample share one box, of which each has its part.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from taupath.engine.moves import (
    Known,
    margins_with_other_boxes,
    moved_to_other_boxes,
    solved_with_other_boxes,
)
from taupath.engine.problem import TINY, Box
from taupath.engine.record import Solution
from taupath.engine.status import LOWER
from taupath.paths.jobs import Job
from taupath.paths.repeated_data import merge_copies
from taupath.paths.solution_at import SolutionAt, first_exact
from taupath.paths.solutions import Solutions
from taupath.paths.training_data import Responses, TrainingData
from taupath.paths.walked import Walked
from taupath.validation import (
    check_numbers,
    check_some_weights,
    check_targets,
    find_labels,
    refuse_masked,
    shown,
)

# A margin this close to zero, relative to 1 + its size, is solved for: ten thousand times what
# raised targets do to it.
DOUBTFUL_DECISION = 1e-6


class _Start(NamedTuple):
    """The solution of distinct samples at one value of the parameter, in units of y."""

    known: Known
    unit: float
    centre: float


def check_exact(solutions: Solutions, name: str) -> Walked:
    """Return the solutions if `name` can be asked of them: those of an exact path of samples."""
    if not isinstance(solutions, Walked):
        has = "an approximate one" if solutions.tol is not None else "one without training data"
        raise ValueError(f"{name} needs an exact path with its training data, this is {has}")
    if solutions.data.extra is not None:
        raise ValueError(f"{name} is not available for paths with l1 or constraints")
    if solutions.data.indefinite:
        raise ValueError(f"{name} needs a positive semidefinite kernel")
    return solutions


def left_out_decisions(walked: Walked, value: float, which: np.ndarray | None = None) -> np.ndarray:
    """Return f(x_i) of the solutions without sample i, of all samples or those of a mask.

    The others get f(x_i) of the solution with it. NaN if it is the last sample of its class.
    """
    data = walked.data
    distinct, group = data.distinct, data.group
    start = _start(walked, distinct, value)
    sign, weight = data.sign, data.weight
    whole = distinct.weight[group]
    rest = np.where(weight < whole, (whole - weight) / np.maximum(whole, TINY), 0.0)
    box = start.known.box
    lower, upper = rest * box.lower[group], rest * box.upper[group]
    theta = np.clip(start.known.theta, box.lower, box.upper)[group]
    moving = (theta > upper) | (theta < lower)
    if which is not None:
        moving &= which
    some = np.flatnonzero(moving & (weight > 0.0))
    with distinct.lock:
        margins, own = margins_with_other_boxes(start.known, group[some], lower[some], upper[some])
    found = margins[group]
    found[some] = own
    found = start.unit * sign * found + start.centre
    if walked.job.classes is not None:
        for side in (-1.0, 1.0):
            present = np.flatnonzero((sign == side) & (weight > 0.0))
            if len(present) == 1:
                found[present] = np.nan
    return np.asarray(found)


def left_out_errors(walked: Walked, value: float) -> np.ndarray:
    """Return which samples the solution without them decides wrongly.

    Without sample i, its own margin is smaller: nothing has to be solved for those that are decided
    wrongly even with it. Unless the intercept is free, it is smaller by θ_i ‖z_i‖² at most: nor for
    those that are far enough on the right side.
    """
    data = walked.data
    start = _start(walked, data.distinct, value)
    with data.distinct.lock:
        most = start.known.theta * data.distinct.rows.squared_norms()
    most = np.where(data.constant.free, np.inf, most)[data.group]
    decided = data.decide(data.X, walked.solution(value))
    margin = data.sign * decided
    # rounding, and what raised targets do, leave no doubt about these
    doubt = DOUBTFUL_DECISION * (1.0 + np.abs(margin))
    open_question = (margin > -doubt) & (margin < most + doubt)
    found = left_out_decisions(walked, value, open_question)
    found = np.where(open_question | np.isnan(found), found, decided)
    return np.where(np.isnan(found), True, (found >= 0.0) != (data.sign > 0.0))


def without_rows(walked: Walked, value: float, rows: Any) -> SolutionAt:
    """Return the solution without some of the samples."""
    data, job = walked.data, walked.job
    gone = check_rows(rows, data.shape[0])
    kept = np.flatnonzero(~gone)
    responses = Responses(*(each[kept] for each in data.responses))
    _check_enough(job, responses)
    distinct, group = data.distinct, data.group
    start = _start(walked, distinct, value)
    # sums without rounding, as those of `Copies`
    points = np.unique(group[gone])
    own: dict[int, list[float]] = {int(point): [] for point in points}
    for k in kept[np.isin(group[kept], points)]:
        own[int(group[k])].append(float(data.weight[k]))
    weight = distinct.weight.copy()
    weight[points] = [math.fsum(own[int(point)]) for point in points]
    share = np.divide(
        data.weight, weight[group], out=np.zeros(len(group)), where=weight[group] > 0.0
    )
    X = data.X[kept]
    if data.kernel is not None and data.kernel.precomputed:
        X = np.ascontiguousarray(X[:, kept])
    left = data.with_samples(X, responses)

    def of_those_left(found: Solution) -> SolutionAt:
        theta = (found.theta[group] * share)[kept]
        solution = found._replace(status=found.status[group][kept], theta=theta)
        return SolutionAt(job, left, solution, value, walked.least)

    return first_exact(map(of_those_left, _moved(job, distinct, start, value, points, weight)))


def with_more_rows(walked: Walked, value: float, X: Any, y: Any, sample_weight: Any) -> SolutionAt:
    """Return the solution with more samples."""
    data, job = walked.data, walked.job
    if data.kernel is not None and data.kernel.precomputed:
        raise ValueError(
            "with_rows needs features: a precomputed kernel does not have the kernel among the new "
            "rows"
        )
    X = data.check_new(X)
    added = _new_responses(job, X.shape[0], y, sample_weight)
    responses = Responses(
        *(np.concatenate(pair) for pair in zip(data.responses, added, strict=True))
    )
    if isinstance(data.X, np.ndarray):
        X_all = np.vstack((data.X, X.toarray() if sp.issparse(X) else X))
    else:
        X_all = sp.csr_array(sp.vstack((data.X, sp.csr_array(X)), format="csr"))
    # samples keep their numbers, and so do the distinct ones: new ones come last
    merged = merge_copies(X_all, responses, data.with_samples)
    distinct = merged.distinct
    before = walked.data.distinct.weight
    weight = np.append(before, np.zeros(len(distinct.sign) - len(before)))
    start = _start(walked, distinct, value, weight)
    points = np.unique(merged.group[data.shape[0] :])
    return first_exact(
        SolutionAt(job, merged, merged.expand(found), value, walked.least)
        for found in _moved(job, distinct, start, value, points, distinct.weight)
    )


def check_rows(rows: Any, n_samples: int) -> np.ndarray:
    """Return a mask of some of the samples, given their numbers or a mask."""
    refuse_masked(rows, "rows")
    try:
        array = np.asarray(rows)
    except ValueError:
        array = np.asarray(None)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(n_samples, dtype=bool)
    if array.dtype.kind not in "biu" or array.ndim != 1:
        raise TypeError(
            f"rows must be numbers of samples, or one True or False for each, got {shown(rows)}"
        )
    if array.dtype.kind == "b":
        if len(array) != n_samples:
            raise ValueError(f"rows has {len(array)} entries, the path has {n_samples} samples")
        return array.copy()
    wrong = (array < 0) | (array >= n_samples)
    if wrong.any():
        raise ValueError(
            f"rows has {int(array[wrong][0])}, the samples are 0, ..., {n_samples - 1}"
        )
    gone = np.zeros(n_samples, dtype=bool)
    gone[array] = True
    return gone


def _check_enough(job: Job, responses: Responses) -> None:
    """Refuse to forget all samples, or the last one of a class."""
    present = responses.weight > 0.0
    if not present.any():
        raise ValueError("rows leaves no sample of a weight above 0")
    if job.classes is not None:
        for label, side in zip(job.classes.tolist(), (-1.0, 1.0), strict=True):
            if not (present & (responses.sign == side)).any():
                raise ValueError(f"rows leaves no sample of class {shown(label)}")


def _new_responses(job: Job, n_rows: int, y: Any, sample_weight: Any) -> Responses:
    """Return signs, targets and weights of new samples, checked."""
    weight = check_some_weights(sample_weight, n_rows)
    if job.classes is None:
        return Responses(np.ones(n_rows), check_targets(y, n_rows), weight)
    labels, present = find_labels(y, n_rows)
    unknown = present[~np.isin(present, job.classes)].tolist()
    if unknown:
        raise ValueError(
            f"y has the label {shown(unknown[0])}, the path was trained on {job.classes.tolist()}"
        )
    return Responses(np.where(labels == job.classes[1], 1.0, -1.0), np.ones(n_rows), weight)


def check_costs_of_path(job: Job, cost_fp: Any, cost_fn: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return several costs of both mistakes, of the same shape."""
    if job.parameter != "tau":
        raise TypeError("cost_fp and cost_fn are for paths over tau; give C")
    if cost_fp is None or cost_fn is None:
        raise TypeError("cost_fp and cost_fn must be given together")
    costs = check_numbers(cost_fp, "cost_fp"), check_numbers(cost_fn, "cost_fn")
    for name, cost in zip(("cost_fp", "cost_fn"), costs, strict=True):
        if cost.ndim > 1 or not np.isfinite(cost).all() or (cost < 0.0).any():
            raise ValueError(f"{name} must be finite numbers of at least 0, got {shown(cost)}")
    try:
        both = np.broadcast_arrays(*costs)
    except ValueError:
        raise ValueError(
            f"cost_fp and cost_fn must have one length, got {costs[0].shape} and {costs[1].shape}"
        ) from None
    if not (both[0] + both[1] > 0.0).all():
        raise ValueError("cost_fp and cost_fn must not both be 0")
    return both[0], both[1]


def _start(
    walked: Walked, distinct: TrainingData, value: float, weight: np.ndarray | None = None
) -> _Start:
    """Return the solution at `value` as one of these distinct samples with these weights.

    Those of the path come first; others have weight 0.
    """
    piece, job = walked.piece_at(value), walked.job
    found, way = piece.solution(value), piece.way
    responses = distinct.responses if weight is None else distinct.responses._replace(weight=weight)
    line, t = job.boxes.line(responses), job.to_t(value)
    target = (line.target(t) - way.centre) / way.unit
    by = line.raised(-way.rise if way.turned else way.rise).target0 - line.target0
    theta, status = np.zeros(len(target)), np.full(len(target), LOWER, dtype=np.int8)
    theta[: len(found.theta)] = found.theta / way.unit
    status[: len(found.status)] = found.status
    box = Box(line.lower(t) / way.unit, line.upper(t) / way.unit, target, line.typical)
    return _Start(Known(distinct.rows, box, target + by, status, theta), way.unit, way.centre)


def _moved(
    job: Job,
    distinct: TrainingData,
    start: _Start,
    value: float,
    points: np.ndarray,
    weight: np.ndarray,
) -> Iterator[Solution]:
    """Yield the solution in which some of the distinct samples have other weights.

    First the one that is found quickly.
    """
    line, t = job.boxes.line(distinct.responses._replace(weight=weight)), job.to_t(value)
    lower, upper, unit = line.lower(t), line.upper(t), start.unit
    for find in (moved_to_other_boxes, solved_with_other_boxes):
        with distinct.lock:
            moved = find(start.known, points, lower[points] / unit, upper[points] / unit)
        if moved is None:
            continue
        w, multiplier = distinct.uncentred(unit * moved.w, unit * moved.multiplier, start.centre)
        found = Solution(moved.status, unit * moved.theta, w, multiplier)
        if distinct.centred:
            up, down = upper - found.theta, found.theta - lower
            found = distinct.with_best_intercept(found, up, down, start.centre)
        yield found
