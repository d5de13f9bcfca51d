"""Prediction intervals with the coverage they state, calibrated on held-out samples."""

import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, check_cv

from taupath.validation import check_integer, shown

# Levels of intervals that are tried. With few samples, one for each rank. With many, EVEN_LEVELS
# evenly spaced ones, 0.3 % of coverage apart, and TAIL_LEVELS within TAIL of 1 that get ever closer
# to it, to tell large coverages apart.
EVEN_LEVELS, TAIL_LEVELS, TAIL = 300, 100, 0.02
# Rounding allowed for when the effective number of samples, 1 / Σ share², is cut to an integer:
# far above its error, far below 1.
RANK_ROUNDING = 1e-6
# Shares that differ by less are equal: cumulative sums of up to 10 000 shares round by less.
SAME_SHARE = 1e-12


@dataclass(frozen=True)
class Calibration:
    """The share of held-out samples that the intervals of each level hold.

    The intervals of level t reach from the quantile (1-t)/2 to the quantile (1+t)/2 of the path,
    and a step further on both sides. Levels and steps grow together, so that one interval lies
    within the next for every sample.
    """

    level: np.ndarray  # in (0, 1], increasing
    step: np.ndarray  # in units of y, never decreasing
    share: np.ndarray  # of held-out samples, by weight, that lie within; never decreasing
    n_effective: float  # number of held-out samples; (Σ weight)² / Σ weight² if they have weights

    def at(self, coverage: float) -> tuple[float, float]:
        """Return level and step of the narrowest intervals that hold enough held-out samples.

        Enough is (1 + 1/n) coverage; the 1/n allows for the new sample. If this is more than all of
        them, the step is infinite.
        """
        wanted = coverage * (1.0 + 1.0 / self.n_effective)
        if wanted > 1.0 + SAME_SHARE:
            return 1.0, np.inf
        k = int(np.argmax(self.share >= wanted - SAME_SHARE))
        return float(self.level[k]), float(self.step[k])


def make_folds(
    folds: Any, weight: np.ndarray, name: str = "conformal"
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return training and held-out samples of each fold, without those of weight 0.

    If `folds` is a number, samples are shuffled with a fixed seed. `name` is that of the argument.
    """
    present = np.flatnonzero(weight > 0.0)
    optional = name == "conformal"
    if isinstance(folds, numbers.Integral):
        n_folds = check_integer(folds, name, least=2, or_else="None" if optional else None)
        if n_folds > len(present):
            raise ValueError(
                f"{name}={shown(folds)} asks for more folds than there are samples, "
                f"n_samples={len(present)} (of a weight above 0); use fewer folds"
            )
        shuffled = KFold(n_folds, shuffle=True, random_state=0)
        return [(present[train], present[test]) for train, test in shuffled.split(present)]
    try:
        drawn = check_cv(folds).split(np.empty((len(weight), 1)))
        given = [(_members(train, weight), _members(test, weight)) for train, test in drawn]
    except (TypeError, ValueError, IndexError) as error:
        if "groups" in str(error) and hasattr(folds, "split"):
            raise ValueError(
                f"{name}={type(folds).__name__}(...) needs groups: give {name}=list(splitter.split("
                "X, y, groups)), with at least two groups"
            ) from None
        raise ValueError(
            f"{name} must be {'None, ' if optional else ''}a number of folds, or the training and "
            "the held-out samples of each fold, as cv in scikit-learn, got "
            f"{shown(folds)}: {shown(str(error))}"
        ) from None
    found = [tuple(np.intersect1d(part, present) for part in fold) for fold in given]
    if not found or any(len(part) == 0 for fold in found for part in fold):
        raise ValueError(
            f"{name} must give for each fold samples (of a weight above 0) to train on and to "
            f"hold out, got {len(found)} folds, not all of them with both"
        )
    for k, (train, test) in enumerate(found):
        both = np.intersect1d(train, test)
        if len(both) > 0:
            raise ValueError(
                f"{name} must hold out samples that are not trained on, but fold {k} does both "
                f"with {len(both)} of them (sample {both[0]} is one)"
            )
    return [(train, test) for train, test in found]


def _members(part: Any, weight: np.ndarray) -> np.ndarray:
    """Return the numbers of samples that are given by these, or by a mask."""
    array = np.asarray(part)
    return np.asarray(np.arange(len(weight))[array] if array.size else array.astype(np.intp))


def calibrate(
    predict: Callable[[int, np.ndarray], np.ndarray],
    y: np.ndarray,
    weight: np.ndarray,
    folds: Sequence[tuple[np.ndarray, np.ndarray]],
) -> Calibration:
    """Return the share of held-out samples in their intervals, from paths that have not seen them.

    For every level t, the step s(t) is that of conformal quantile regression (Romano, Patterson &
    Candès 2019), with the samples that all folds hold out in place of a second sample: the least
    step with (1 + 1/n) t of the samples in their intervals. Intervals widened by s(t) need not lie
    within each other. Those widened by the largest s of all smaller levels, and by at least 0, do;
    `Calibration.at` takes the first of them that covers enough.

    `folds` are those of `make_folds`, and ``predict(k, quantiles)`` returns the quantiles, a column
    each, of the samples that fold k holds out.
    """
    held_out = np.concatenate([test for _, test in folds])
    importance = weight[held_out] / weight[held_out].sum()
    n = 1.0 / float((importance**2).sum())
    level = _levels(n)
    quantiles = np.concatenate((0.5 - 0.5 * level, 0.5 + 0.5 * level))
    # how far each sample lies outside its interval of each level; negative inside
    outside = np.empty((len(held_out), len(level)))
    done = 0
    for k, (_, test) in enumerate(folds):
        low, high = np.split(predict(k, quantiles), 2, axis=1)
        truth = y[test, np.newaxis]
        outside[done : done + len(test)] = np.maximum(low - truth, truth - high)
        done += len(test)
    wanted = np.minimum((1.0 + 1.0 / n) * level, 1.0)
    least = _weighted_quantiles(outside, importance, wanted)
    step = np.maximum(np.maximum.accumulate(least), 0.0)
    share = np.maximum.accumulate(importance @ (outside <= step))
    # where all samples lie within, the share is 1 without rounding
    share[np.all(outside <= step, axis=0)] = 1.0
    return Calibration(level, step, share, n)


def _levels(n: float) -> np.ndarray:
    """Return the levels to try, increasing; the last one is 1."""
    if n <= EVEN_LEVELS + TAIL_LEVELS:
        ranks = np.arange(1, int(n + RANK_ROUNDING) + 1)
        return np.append(ranks / (n + 1.0), 1.0)
    even = np.arange(1, EVEN_LEVELS) / EVEN_LEVELS
    tail = 1.0 - np.geomspace(TAIL, 1.0 / (n + 1.0), TAIL_LEVELS)
    return np.unique(np.concatenate((even, tail, [1.0])))


def _weighted_quantiles(
    values: np.ndarray, importance: np.ndarray, wanted: np.ndarray
) -> np.ndarray:
    """Return for each column the least value up to which the wanted share of importance lies."""
    found = np.empty(len(wanted))
    for k, share in enumerate(wanted):
        order = np.argsort(values[:, k], kind="stable")
        reached = np.cumsum(importance[order]) >= share - SAME_SHARE
        reached[-1] = True
        found[k] = values[order[np.argmax(reached)], k]
    return found
