"""Intervals for probabilities, with a stated coverage, from predictions for held-out samples.

How often is a sample positive whose predicted probability is s? Under the one assumption that this
share grows with s, the likelihood-ratio test for monotone functions (Banerjee & Wellner 2001) says
which values fit the held-out samples: 2 log LR has the same limiting distribution whatever the
function is. An interval holds the values that the test does not reject.
"""

from typing import Any, Self

import numpy as np
from scipy.optimize import isotonic_regression
from scipy.special import xlogy
from scipy.stats import norm

from taupath.estimators.costs import weights_as_counts
from taupath.validation import (
    UNIT_INTERVAL,
    check_all_within,
    check_numbers,
    check_real,
    check_weight,
    shown,
)

# Quantiles of the limiting distribution of 2 log LR, by coverage, with standard errors of at most
# 1 % from 0.3 on: `python benchmarks/monotone_quantiles.py` simulates them.
LEVELS = np.array(
    [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.925, 0.95, 0.975, 0.99]
)
QUANTILES = np.array(
    [
        *(0.0, 0.0060, 0.0399, 0.0910, 0.1695, 0.2766, 0.4292, 0.6500, 0.9849, 1.2361),
        *(1.6017, 1.8585, 2.2401, 2.9290, 3.8764),
    ]
)
# Values of a probability that are tested, evenly spaced in log-odds: finer than any interval from
# as many samples as a path can be walked for. Ends of intervals are interpolated between them.
TRIED = np.concatenate(([0.0], 1.0 / (1.0 + np.exp(-np.linspace(-12.0, 12.0, 1001))), [1.0]))
# Most predicted probabilities at which the test is inverted; intervals in between are interpolated.
MOST_TESTED = 400
# Share of the spread between models, times the normal quantile of the coverage, that intervals are
# widened by; 1 would add both errors as if they always had the same sign. On simulated truths 0.6
# covers what is stated, within a point, or more (docs/probabilities.md). With 0.45, 90 % intervals
# cover 82 to 85 % with 300 to 1000 samples of 20 features.
SHARE_OF_SPREAD = 0.6


class ProbabilityIntervals:
    """Intervals for the probability of the positive class, from held-out predictions.

    `fit` takes predicted probabilities of samples that the model was not trained on, and whether
    each is positive. `interval` then returns for each new prediction s the values of P(Y = 1 | s)
    that fit these samples. With a held-out set the coverage is as stated, if the share of positives
    increases with s and there are many samples. Out-of-fold predictions come from other models than
    the one that predicts; give `spread` to account for that.

    Examples
    --------
    >>> import numpy as np
    >>> import taupath
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(900, 2))
    >>> y = rng.uniform(size=900) < 1 / (1 + np.exp(-2 * X[:, 0]))
    >>> model = taupath.QuantileSVC().fit(X[:300], y[:300])
    >>> proba = model.predict_proba(X[300:])[:, 1]
    >>> intervals = taupath.ProbabilityIntervals().fit(proba, y[300:])
    >>> intervals.interval([0.2, 0.5, 0.8], coverage=0.9).round(2)
    array([[0.  , 0.08],
           [0.31, 0.56],
           [0.65, 0.81]])
    """

    def fit(self, proba: Any, positive: Any, sample_weight: Any = None) -> Self:
        """Store the predictions for held-out samples, and whether these are positive.

        Parameters
        ----------
        proba : array-like of shape (n_samples,)
            The probability of the positive class, predicted by a model that was not trained on the
            sample.
        positive : array-like of bool of shape (n_samples,)
            Whether the sample is positive.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples. Unequal ones count as fewer samples: (Σ w)² / Σ w².

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
        self._scores, at = np.unique(proba[counted], return_inverse=True)
        self._positive = np.bincount(at, weight[counted] * truth[counted])
        self._negative = np.bincount(at, weight[counted] * ~truth[counted])
        return self

    def interval(self, proba: Any, coverage: float = 0.9, spread: Any = None) -> np.ndarray:
        """Return an interval for each predicted probability.

        Parameters
        ----------
        proba : array-like of shape (n_samples,)
            Predicted probabilities of the positive class.
        coverage : float, default=0.9
            Share of the intervals that contain the true probability, at most 0.99.
        spread : array-like of shape (n_samples,), optional
            Standard deviation of each prediction, as `spread_of_folds` returns. Intervals are
            then wider, and meant for P(Y = 1 | x) rather than for P(Y = 1 | s).

        Returns
        -------
        ndarray of shape (n_samples, 2)

        Notes
        -----
        Of more than 400 different probabilities, 400 get intervals of their own, evenly spread in
        order. Those of the others are interpolated linearly.
        """
        if not hasattr(self, "_scores"):
            raise ValueError("call fit first")
        proba = _check_probabilities(proba)
        level = check_real(coverage, "coverage")
        if not 0.0 < level <= LEVELS[-1]:
            raise ValueError(
                f"coverage must lie above 0 and be at most {LEVELS[-1]:g}, got {shown(coverage)}"
            )
        n_effective = float(self._positive.sum() + self._negative.sum())
        # the limit is approached like n^(-1/3); without this factor, intervals of 90 % from 100 to
        # 400 samples cover 87 %
        most = float(np.interp(level, LEVELS, QUANTILES)) * (1.0 + n_effective ** (-1.0 / 3.0))
        if spread is None:
            return self._accepted(proba, most)
        wide = check_numbers(spread, "spread")
        if wide.shape != proba.shape or not ((wide >= 0.0) & np.isfinite(wide)).all():
            raise ValueError(
                f"spread must hold a number of at least 0 for each of {len(proba)} samples"
            )
        shift = SHARE_OF_SPREAD * float(norm.ppf(0.5 + 0.5 * level)) * wide
        ends = (np.maximum(proba - shift, 0.0), np.minimum(proba + shift, 1.0))
        lower, upper = (self._accepted(end, most)[:, k] for k, end in enumerate(ends))
        return np.column_stack((lower, upper))

    def _accepted(self, proba: np.ndarray, most: float) -> np.ndarray:
        """Return the least and the largest value that the test accepts at each probability."""
        at = np.unique(proba)
        if len(at) > MOST_TESTED:
            at = at[np.linspace(0, len(at) - 1, MOST_TESTED).astype(int)]
        found = np.array([_accepted_values(self._statistic(each), most) for each in at])
        return np.column_stack([np.interp(proba, at, found[:, k]) for k in (0, 1)])

    def _statistic(self, score: float) -> np.ndarray:
        """Return 2 log LR of each of `TRIED` as the value at this score.

        Given the value p there, the most likely monotone function is the isotonic fit of the
        samples below, cut off above p, and of those beyond, cut off below p.
        """
        begin = int(np.searchsorted(self._scores, score, side="left"))
        end = int(np.searchsorted(self._scores, score, side="right"))
        yes, no = self._positive, self._negative
        likely = _log_likelihood(yes[begin:end].sum(), no[begin:end].sum(), TRIED)
        likely += _cut_off(yes[:begin], no[:begin])
        # from the other end: negative samples, in the opposite order
        likely += _cut_off(no[end:][::-1], yes[end:][::-1])[::-1]
        return np.asarray(2.0 * (likely.max() - likely))


def spread_of_folds(proba: Any) -> np.ndarray:
    """Return the standard deviation of predictions, from those of the models of k folds.

    Each model was trained without one of the k folds; this is the delete-a-group jackknife.

    Parameters
    ----------
    proba : array-like of shape (n_folds, n_samples)
        The probability of the positive class, predicted by each model for the same new samples.

    Returns
    -------
    ndarray of shape (n_samples,)
    """
    several = check_numbers(proba, "proba")
    if several.ndim != 2 or len(several) < 2:
        raise ValueError(
            f"proba must have a row for each of at least two models, got shape {several.shape}"
        )
    check_all_within(several, "proba", UNIT_INTERVAL)
    return np.asarray(np.sqrt(len(several) - 1.0) * several.std(axis=0))


def _check_probabilities(proba: Any) -> np.ndarray:
    checked = check_all_within(check_numbers(proba, "proba"), "proba", UNIT_INTERVAL)
    if checked.ndim != 1 or len(checked) == 0:
        raise ValueError(
            "proba must have one dimension, one probability of the positive class for each "
            f"sample, got shape {checked.shape}"
        )
    return checked


def _log_likelihood(positive: Any, negative: Any, value: np.ndarray) -> np.ndarray:
    return np.asarray(xlogy(positive, value) + xlogy(negative, 1.0 - value))


def _cut_off(positive: np.ndarray, negative: np.ndarray) -> np.ndarray:
    """Return the log-likelihood of the isotonic fit, cut off above each of `TRIED`."""
    if len(positive) == 0:
        return np.zeros(len(TRIED))
    weight = positive + negative
    first = isotonic_regression(positive / weight, weights=weight).blocks[:-1]
    yes, no = np.add.reduceat(positive, first), np.add.reduceat(negative, first)
    value = yes / (yes + no)
    below = np.searchsorted(value, TRIED, side="right")
    own = np.append(0.0, np.cumsum(_log_likelihood(yes, no, value)))
    yes, no = (np.append(np.cumsum(each[::-1])[::-1], 0.0) for each in (yes, no))
    return np.asarray(own[below] + _log_likelihood(yes[below], no[below], TRIED))


def _accepted_values(statistic: np.ndarray, most: float) -> tuple[float, float]:
    """Return the ends of the values whose statistic is at most `most`, interpolated."""
    accepted = np.flatnonzero(statistic <= most)
    ends = []
    for inside, step in ((accepted[0], -1), (accepted[-1], 1)):
        outside = int(inside) + step
        if not 0 <= outside < len(TRIED):
            ends.append(float(TRIED[inside]))
            continue
        share = (most - statistic[inside]) / (statistic[outside] - statistic[inside])
        ends.append(float(TRIED[inside] + share * (TRIED[outside] - TRIED[inside])))
    return ends[0], ends[1]
