"""True and false positives of classifiers and of predicted probabilities, at every τ."""

from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from taupath.display.inputs import (
    check_binary_classifier,
    check_probabilities,
    find_positive,
    last_step,
    positive_of,
    positive_probability,
    weights_of,
)
from taupath.estimators.classifier import QuantileSVC
from taupath.outcomes.rates import Rates, changes_of_probabilities, sign_changes

__all__ = ["rates_of_estimator", "rates_of_predictions"]


def rates_of_predictions(
    y_true: Any, y_proba: Any, sample_weight: Any = None, pos_label: Any = None
) -> Rates:
    """Return the rates of the rule: positive where the probability is at least τ."""
    positive = find_positive(y_true, pos_label)
    proba = check_probabilities(y_proba, len(positive))
    return Rates(positive, weights_of(sample_weight, positive), *changes_of_probabilities(proba))


def rates_of_estimator(
    estimator: Any, X: Any, y: Any, sample_weight: Any = None, pos_label: Any = None
) -> Rates:
    """Return the rates of what `predict` returns at each τ.

    For a classifier without costs in `predict`, of the rule: positive where the probability is at
    least τ.
    """
    check_binary_classifier(estimator)
    positive = positive_of(estimator, X, y, pos_label)
    weight = weights_of(sample_weight, positive)
    model, before = last_step(estimator)
    if not isinstance(model, QuantileSVC) or model.monotone:
        proba = positive_probability(estimator, X, pos_label)
        return Rates(positive, weight, *changes_of_probabilities(proba))
    for step in before:
        X = step.transform(X)
    X = validate_data(model, X, accept_sparse="csr", dtype=np.float64, reset=False)
    return Rates(positive, weight, *sign_changes(model, X))
