"""What decisions cost along a path over an L1 penalty or over fairness."""

from typing import Any, NamedTuple

import numpy as np

from taupath.fitting.constraints import numbers_of_group
from taupath.outcomes.inputs import weights_of
from taupath.outcomes.rates import Rates
from taupath.paths.frontiers import Frontier
from taupath.paths.path import SolutionPath
from taupath.validation import check_known_labels, check_labels


class Outcomes(NamedTuple):
    """Decisions about samples at several values of a path's parameter."""

    values: np.ndarray
    found: np.ndarray  # how many positive samples are taken for positive
    false_alarms: np.ndarray  # how many negative ones are
    cost: np.ndarray  # per sample: 2τ for a false positive, 2(1-τ) for a false negative
    n_features: np.ndarray  # how many features have a weight other than zero
    shares: np.ndarray | None  # of samples taken for positive, one row for each of two groups


def frontier_of(path: Any) -> Frontier:
    """Return the job of a path that `sparsity_path` or `fairness_path` has returned."""
    if not isinstance(path, SolutionPath):
        raise TypeError(f"path must be a SolutionPath, got {type(path).__name__}")
    if not isinstance(path.job, Frontier):
        raise ValueError(
            f"path is one over {path.job.symbol}: give one of sparsity_path or fairness_path"
        )
    return path.job


def outcomes_along(
    path: SolutionPath,
    X: Any,
    y: Any,
    group: Any = None,
    sample_weight: Any = None,
    values: np.ndarray | None = None,
) -> Outcomes:
    """Return what decisions about samples come to at several values of a path's parameter.

    By default at both ends and wherever a decision changes, or a feature enters or leaves: what
    holds at a value has held since the one before it.
    """
    job = frontier_of(path)
    present, positive = check_labels(y, np.size(y))
    check_known_labels(present, job.classes)
    weight = weights_of(sample_weight, positive)
    changes = path.changes(X)
    if len(changes.begin) != len(positive):
        raise ValueError(f"X has {len(changes.begin)} rows, y has {len(positive)} values")
    rates = Rates(positive, weight, changes)
    if values is None:
        ranges = np.concatenate(path.nonzero_ranges())
        values = np.unique(np.concatenate((path.tau_range, changes.when, ranges.ravel())))
        n_features = _n_inside(ranges, values)
    else:
        n_features = np.array([path.n_nonzero(float(value)) for value in values])
    found, alarms = rates.at(values)
    costs = 2.0 * job.tau * alarms + 2.0 * (1.0 - job.tau) * (rates.n_positive - found)
    return Outcomes(
        values,
        found,
        alarms,
        costs / (rates.n_positive + rates.n_negative),
        n_features,
        None if group is None else _shares(group, weight, changes, values),
    )


def _n_inside(ranges: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return how many of the ranges (begin, end] each value lies in; 0 lies in those from 0 on."""
    begun = np.searchsorted(np.sort(ranges[:, 0]), values, side="left")
    ended = np.searchsorted(np.sort(ranges[:, 1]), values, side="left")
    return np.where(values == 0.0, np.count_nonzero(ranges[:, 0] == 0.0), begun - ended)


def _shares(group: Any, weight: np.ndarray, changes: Any, values: np.ndarray) -> np.ndarray:
    """Return the shares of both groups that are taken for positive."""
    numbers = numbers_of_group(group, len(weight))
    members = numbers == numbers.max()
    if not np.isin(numbers, (numbers.min(), numbers.max())).all():
        raise ValueError("group must have two values for shares to be compared")
    rates = Rates(members, weight, changes)
    if not (rates.n_positive > 0.0 and rates.n_negative > 0.0):
        raise ValueError("group has no sample of a weight above 0 on one side")
    of_second, of_first = rates.at(values)
    return np.stack((of_first / rates.n_negative, of_second / rates.n_positive))
