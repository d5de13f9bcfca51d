"""True and false positives as exact step functions of τ."""

from typing import Any

import numpy as np

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.pipelines import last_step
from taupath.outcomes.inputs import (
    check_binary_classifier,
    check_probabilities,
    find_positive,
    positive_of,
    positive_probability,
    weights_of,
)
from taupath.paths.crossings import Changes, Crossings


class Rates:
    """Numbers of true and false positives at every τ in [0, 1].

    `positive` is the truth, `weight` is how often each sample counts, and `changes` are the
    predictions at τ = 0 with all their changes.
    """

    def __init__(self, positive: np.ndarray, weight: np.ndarray, changes: Changes) -> None:
        begin, who, when, change = changes
        self.n_positive = float(weight[positive].sum())
        self.n_negative = float(weight[~positive].sum())
        self._when, which = np.unique(when, return_inverse=True)
        self._counts = []
        for own, total in ((positive, self.n_positive), (~positive, self.n_negative)):
            mine = own[who]
            steps = np.bincount(
                which[mine], (weight[who] * change)[mine], minlength=len(self._when)
            )
            counts = np.cumsum(np.append(weight[own & begin].sum(), steps))
            self._counts.append(np.clip(counts, 0.0, total))

    @property
    def prevalence(self) -> float:
        """The share of the positive class."""
        return self.n_positive / (self.n_positive + self.n_negative)

    def at(self, taus: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the numbers of true and false positives at several τ."""
        steps = np.searchsorted(self._when, taus, side="left")
        return self._counts[0][steps], self._counts[1][steps]

    def pieces(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the τ of all steps, with 0 and 1, and the two numbers between them."""
        inside = (self._when > 0.0) & (self._when < 1.0)
        steps = np.searchsorted(self._when, 0.0, side="right") + np.arange(inside.sum() + 1)
        edges = np.concatenate(([0.0], self._when[inside], [1.0]))
        return edges, self._counts[0][steps], self._counts[1][steps]


def changes_of_probabilities(proba: np.ndarray) -> Changes:
    """Return the changes of decisions that are positive where the probability is at least τ."""
    n = len(proba)
    return Changes(np.ones(n, dtype=bool), np.arange(n), proba, np.full(n, -1))


def probabilities_of_changes(
    changes: Changes, walked: tuple[float, float] = (0.0, 1.0)
) -> np.ndarray:
    """Return the length of {τ : positive} for each sample, including all τ below `walked`."""
    begin, who, when, change = changes
    first, last = walked
    at_end = begin + np.bincount(who, change, minlength=len(begin))
    # a change to negative ends a piece, a change to positive begins one
    pieces = np.bincount(who, change * np.clip(when, first, last), minlength=len(begin))
    return np.clip(first - first * begin - pieces + last * at_end, first, last)


def sign_changes(model: QuantileSVC, X: Any, found: Crossings | None = None) -> Changes:
    """Return all changes of the sign of f_τ(x), for a model of two classes and checked samples.

    `found` are the crossings of these samples, if they are known already.
    """
    return model._sign_changes(X, found)


def decision_changes(model: QuantileSVC, X: Any) -> Changes:
    """Return all changes of the decisions of a model of two classes about checked samples."""
    if model._by_probability:
        return changes_of_probabilities(model._positive_up_to(X))
    return sign_changes(model, X)


def rates_of_predictions(
    y_true: Any, y_proba: Any, sample_weight: Any = None, pos_label: Any = None
) -> Rates:
    """Return the rates of deciding for the positive class where its probability is at least τ."""
    positive = find_positive(y_true, pos_label)
    proba = check_probabilities(y_proba, len(positive))
    return Rates(positive, weights_of(sample_weight, positive), changes_of_probabilities(proba))


def rates_of_estimator(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, pos_label: Any = None
) -> Rates:
    """Return the rates of the predictions of a classifier at each τ.

    A `QuantileSVC` decides as its `predict`; other classifiers, for the positive class where its
    probability is at least τ.
    """
    check_binary_classifier(estimator)
    positive = positive_of(estimator, X, y, pos_label)
    weight = weights_of(sample_weight, positive)
    model, before = last_step(estimator)
    if not isinstance(model, QuantileSVC):
        proba = positive_probability(estimator, X, pos_label)
        return Rates(positive, weight, changes_of_probabilities(proba))
    for step in before:
        X = step.transform(X)
    return Rates(positive, weight, decision_changes(model, model._check_new(X)))
