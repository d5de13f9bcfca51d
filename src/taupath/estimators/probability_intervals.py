"""Intervals for probabilities, with a stated coverage, from predictions for held-out samples.

How often is a sample positive whose predicted probability is s? Among held-out samples, those with
the nearest predictions tell. Their number of positives is binomial, nearly, and Jeffreys' interval
for its probability is the interval for P(Y = 1 | s). Nothing is assumed about how P(Y = 1 | s)
varies with s, except that it changes little among so few samples. That is why they are few.
"""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import betaincinv

from taupath.estimators.costs import weights_as_counts
from taupath.validation import (
    UNIT_INTERVAL,
    check_all_within,
    check_numbers,
    check_real,
    check_weight,
    shown,
)

# An interval counts NEAREST * n ** (2 / 3) of n held-out samples. More of them give narrower
# intervals that miss P(Y = 1 | s) more often, because it varies among them. Of 0.4, 0.5, 0.65 and
# 0.8, this value had the least error of coverage at 90 % on the worst of the truths that
# OUT_OF_FOLD was chosen on; on average 0.65 was as good.
NEAREST = 0.5
# What an out-of-fold sample is worth, in samples that were held out from the model itself: it was
# predicted by another model, whose P(Y = 1 | s) differs a little. Of 0.65, 0.75, 0.85 and 1, this
# value gave the mean coverage that is closest to 90 and to 95 %, on the truths that
# benchmarks/questions/probability_intervals.py calls CHOSEN_ON.
OUT_OF_FOLD = 0.85
# The most different predictions that are kept, so that intervals of a large training set add little
# to a model file: even of a million samples, a window then spans 20 of them.
MOST_KEPT = 4096


@dataclass(frozen=True)
class HeldOutCounts:
    """Held-out samples in the order of their predictions, counted up to each of these."""

    score: np.ndarray  # different predictions, increasing
    total: np.ndarray  # samples up to each of them, itself included
    positive: np.ndarray  # those of them that are positive
    worth: float = 1.0  # of a sample, see OUT_OF_FOLD


class ProbabilityIntervals:
    """Intervals for the probability of the positive class, from held-out predictions.

    `fit` takes predicted probabilities of samples that the model was not trained on, and whether
    each is positive. `interval` then returns an interval for P(Y = 1 | s), the share of positives
    among all samples with the same predicted probability s. This is what can be learnt from
    held-out samples; P(Y = 1 | x) of a sample may differ from it. `QuantileSVCCV` has intervals
    of its own, see `QuantileSVC.predict_proba_interval`.

    Examples
    --------
    >>> import numpy as np
    >>> import taupath
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = rng.uniform(size=2000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> model = taupath.QuantileSVC().fit(X[:300], y[:300])
    >>> proba = model.predict_proba(X[300:])[:, 1]
    >>> intervals = taupath.ProbabilityIntervals().fit(proba, y[300:])
    >>> intervals.interval([0.2, 0.5, 0.8], coverage=0.9).round(2)
    array([[0.15, 0.31],
           [0.45, 0.64],
           [0.75, 0.89]])
    """

    def fit(
        self, proba: Any, positive: Any, sample_weight: Any = None, *, out_of_fold: bool = False
    ) -> Self:
        """Count the positives among held-out samples, in the order of their predictions.

        Parameters
        ----------
        proba : array-like of shape (n_samples,)
            The probability of the positive class, predicted by a model that was not trained on the
            sample.
        positive : array-like of bool of shape (n_samples,)
            Whether the sample is positive.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples. Unequal ones count as fewer samples: (Σ w)² / Σ w².
        out_of_fold : bool, default=False
            Whether the predictions come from cross-validation, each from the model of a fold, and
            not from the model whose predictions get intervals. Intervals are then about 8 % wider.

        Returns
        -------
        self
        """
        proba = _check_probabilities(proba)
        truth = np.asarray(positive)
        if truth.shape != proba.shape or not np.isin(truth, (False, True)).all():
            raise ValueError(
                f"positive must hold True or False for each of the {len(proba)} samples of proba"
            )
        truth, weight = truth.astype(bool), check_weight(sample_weight, len(proba))
        weight = weights_as_counts(weight)
        counted = weight > 0.0
        score, at = np.unique(proba[counted], return_inverse=True)
        total = np.cumsum(np.bincount(at, weight[counted]))
        found = np.cumsum(np.bincount(at, weight[counted] * truth[counted]))
        kept: Any = slice(None)
        if len(score) > MOST_KEPT:
            kept = np.linspace(0, len(score) - 1, MOST_KEPT).astype(int)
        worth = OUT_OF_FOLD if out_of_fold else 1.0
        self._counts = HeldOutCounts(score[kept], total[kept], found[kept], worth)
        return self

    def interval(self, proba: Any, coverage: float = 0.9) -> np.ndarray:
        """Return an interval for each predicted probability.

        Parameters
        ----------
        proba : array-like of shape (n_samples,)
            Predicted probabilities of the positive class.
        coverage : float, default=0.9
            Share of the intervals that contain P(Y = 1 | s), above 0 and below 1.

        Returns
        -------
        ndarray of shape (n_samples, 2)
            An interval need not contain the prediction itself: if it does not, the model is off.
        """
        if not hasattr(self, "_counts"):
            raise ValueError("call fit first")
        proba = _check_probabilities(proba)
        level = check_coverage(coverage)
        n_rows, n_positive = self._nearest(proba)
        n_rows, n_positive = self._counts.worth * n_rows, self._counts.worth * n_positive
        # Jeffreys' interval: quantiles of the posterior for the prior Beta(1/2, 1/2). Where no
        # sample is positive, or every one is, it reaches to the end.
        tails = 0.5 - 0.5 * level, 0.5 + 0.5 * level
        n_negative = np.maximum(n_rows - n_positive, 0.0)
        low, high = (betaincinv(n_positive + 0.5, n_negative + 0.5, tail) for tail in tails)
        least = 0.5 * self._counts.worth
        low, high = np.where(n_positive < least, 0.0, low), np.where(n_negative < least, 1.0, high)
        return np.column_stack((low, high))

    def _nearest(self, proba: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return how many samples have the nearest predictions, and how many are positive.

        Equal predictions are all counted or, beyond the nearest, in part.
        """
        counts = self._counts
        total, positive = np.append(0.0, counts.total), np.append(0.0, counts.positive)
        n = total[-1]
        size = min(n, NEAREST * n ** (2.0 / 3.0))
        before = total[np.searchsorted(counts.score, proba, side="left")]
        up_to = total[np.searchsorted(counts.score, proba, side="right")]
        begin = np.clip(0.5 * (before + up_to - size), 0.0, n - size)
        begin, end = np.minimum(begin, before), np.maximum(begin + size, up_to)
        found = np.interp(end, total, positive) - np.interp(begin, total, positive)
        return end - begin, np.maximum(found, 0.0)


def check_coverage(coverage: Any) -> float:
    """Return a share above 0 and below 1."""
    level = check_real(coverage, "coverage")
    if not 0.0 < level < 1.0:
        raise ValueError(f"coverage must lie between 0 and 1, got {shown(coverage)}")
    return level


def _check_probabilities(proba: Any) -> np.ndarray:
    checked = check_all_within(check_numbers(proba, "proba"), "proba", UNIT_INTERVAL)
    if checked.ndim != 1 or len(checked) == 0:
        raise ValueError(
            "proba must have one dimension, one probability of the positive class for each "
            f"sample, got shape {checked.shape}"
        )
    return checked
