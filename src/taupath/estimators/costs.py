"""Costs of mistakes, and the τ or the class with the least expected cost."""

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from taupath.validation import (
    UNIT_INTERVAL,
    check_all_within,
    check_known_labels,
    check_numbers,
    check_weight,
    find_labels,
    first_not_finite,
)

# The cost of the other mistake.
OTHER_COST = {"cost_fp": "cost_fn", "cost_fn": "cost_fp"}


def check_tau(tau: Any, name: str = "tau") -> float:
    """Return one τ."""
    one = check_numbers(tau, name)
    if one.ndim > 0:
        raise ValueError(f"{name} must be a number, got shape {one.shape}")
    return float(check_all_within(one, name, UNIT_INTERVAL))


def check_taus(
    tau: Any, name: str, n_samples: int, walked: tuple[float, float] = UNIT_INTERVAL
) -> np.ndarray:
    """Return a τ for all samples (no dimension), or one for each."""
    advice = f"; for one column per value use {name}s="
    return check_all_within(check_each(tau, name, n_samples, advice), name, walked)


def check_tau_columns(
    taus: Any, name: str = "taus", walked: tuple[float, float] = UNIT_INTERVAL, each: str = "column"
) -> np.ndarray:
    """Return several τ, one for each column of a result, or for what `each` names."""
    several = check_numbers(taus, name)
    if several.ndim != 1:
        raise ValueError(
            f"{name} must be one-dimensional, one value per {each}, got shape {several.shape}"
        )
    return check_all_within(several, name, walked)


def check_each(value: Any, name: str, n_samples: int, advice: str = "") -> np.ndarray:
    """Return a number for all samples (no dimension), or one for each."""
    array = check_numbers(value, name)
    if array.ndim > 1 or (array.ndim == 1 and len(array) != n_samples):
        raise ValueError(
            f"{name} must be a number or have shape ({n_samples},), got shape {array.shape}: an "
            f"array has one value per row{advice}"
        )
    return array


def _check_finite(costs: np.ndarray, name: str) -> np.ndarray:
    at = first_not_finite(costs)
    if at is not None:
        place = f" (first at [{', '.join(map(str, at))}])" if at else ""
        advice = ""
        if np.isposinf(costs[at]) and name in OTHER_COST:
            advice = f"; if this mistake must never be made, give {OTHER_COST[name]}=0"
        raise ValueError(f"{name} must be finite, got {float(costs[at])!r}{place}{advice}")
    return costs


def _first_at(found: np.ndarray) -> str:
    """Return where the first of some samples is, in words; nothing if one cost is for all."""
    return f" (first at [{int(found.argmax())}])" if found.ndim else ""


def check_costs(cost_fp: Any, cost_fn: Any, n_samples: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs of a false positive and a false negative, for all samples or for each."""
    if cost_fp is None or cost_fn is None:
        missing = "cost_fp" if cost_fp is None else "cost_fn"
        raise ValueError(f"cost_fp and cost_fn go together, {missing} is missing")
    costs = []
    for name, cost in (("cost_fp", cost_fp), ("cost_fn", cost_fn)):
        costs.append(_check_finite(check_each(cost, name, n_samples), name))
        negative = costs[-1] < 0.0
        if negative.any():
            first = float(costs[-1][negative].flat[0])
            raise ValueError(f"{name} must not be negative, got {first!r}{_first_at(negative)}")
    return costs[0], costs[1]


def costs_to_tau(cost_fp: Any, cost_fn: Any, n_samples: int) -> np.ndarray:
    """Return τ = cost_fp / (cost_fp + cost_fn): one for all samples, or one for each."""
    fp, fn = check_costs(cost_fp, cost_fn, n_samples)
    largest = np.maximum(fp, fn)
    nothing = largest == 0.0
    if nothing.any():
        advice = "; leave such samples out" if nothing.ndim else ""
        raise ValueError(
            f"cost_fp and cost_fn are both 0{_first_at(nothing)}: no decision costs anything"
            f"{advice}"
        )
    fp, fn = fp / largest, fn / largest
    return np.asarray(fp / (fp + fn))


def weights_of_costs(
    positive: np.ndarray, weight: np.ndarray, cost_fp: Any, cost_fn: Any
) -> np.ndarray:
    """Return sample weights times the cost of a mistake about each, divided by the mean cost.

    The mistake about a positive sample is a false negative, that about a negative one a false
    positive. Dividing by the mean keeps the meaning of C: the unit of the costs does not matter,
    and equal costs change nothing.
    """
    fp, fn = check_costs(cost_fp, cost_fn, len(positive))
    cost = np.where(positive, fn, fp)
    for name, members in (("cost_fp", ~positive), ("cost_fn", positive)):
        if not (cost[members & (weight > 0.0)] > 0.0).any():
            of = "positive" if name == "cost_fn" else "negative"
            raise ValueError(
                f"{name} is 0 for every {of} sample: samples whose mistakes cost nothing do not "
                f"count, and both classes are needed"
            )
    cost /= cost.max()  # no sum below overflows
    found = np.asarray(weight * (cost / np.average(cost, weights=weight / weight.max())))
    for name, members in (("cost_fp", ~positive), ("cost_fn", positive)):
        if not found[members].any():
            raise ValueError(f"{name} is too small compared with the largest cost: it counts as 0")
    return found


def check_cost_matrix(cost_matrix: Any, n_samples: int, n_classes: int) -> np.ndarray:
    """Return a matrix for all samples, or one for each."""
    costs = _check_finite(check_numbers(cost_matrix, "cost_matrix"), "cost_matrix")
    one, each = (n_classes, n_classes), (n_samples, n_classes, n_classes)
    if costs.shape not in (one, each):
        raise ValueError(
            f"cost_matrix must have shape {one}, or {each} for one matrix per sample, "
            f"got {costs.shape}"
        )
    return costs


def least_cost_class(proba: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Return the class with the least expected cost, for each sample.

    `proba` has a column for each class. [i, j] of `costs`, which is one matrix or one for each
    sample, is the cost of predicting class j where i is true.
    """
    expected = np.einsum("ni,...ij->nj" if costs.ndim == 2 else "ni,nij->nj", proba, costs)
    return np.asarray(expected.argmin(axis=1))


def weights_as_counts(weight: np.ndarray) -> np.ndarray:
    """Return weights that add up to the number of samples they are worth, (Σ w)² / Σ w²."""
    weight = weight / weight.max()  # no square below underflows
    return np.asarray(weight * (weight.sum() / (weight @ weight)))


def weight_below(proba: np.ndarray, weight: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """Return the total weight of probabilities below each τ."""
    order = np.argsort(proba)
    total = np.append(0.0, np.cumsum(weight[order]))
    return np.asarray(total[np.searchsorted(proba[order], taus, side="left")])


def negative_cost(
    y: Any,
    predicted: np.ndarray,
    classes: np.ndarray,
    pos_label: Any,
    cost_fp: Any,
    cost_fn: Any,
    sample_weight: Any = None,
) -> float:
    """Return minus the mean cost of predicted labels, given the true ones of two classes."""
    labels, present = find_labels(y, len(predicted))
    check_known_labels(present, classes)
    cost_fp, cost_fn = check_costs(cost_fp, cost_fn, len(labels))
    weight = check_weight(sample_weight, len(labels))
    truth, alarm = labels == pos_label, predicted == pos_label
    cost = np.where(alarm & ~truth, cost_fp, 0.0) + np.where(truth & ~alarm, cost_fn, 0.0)
    most = float(cost.max(initial=0.0)) or 1.0  # divided by it, no sum overflows
    return -most * float(np.average(cost / most, weights=weight))


def share_saved(cost: Any, constant: float) -> Any:
    """Return 1 - cost / `constant`, the cost of the best constant decision."""
    if constant == 0.0:
        raise ValueError(
            "there is nothing to save: deciding the same for all samples costs nothing; score "
            "without savings, or give samples of both classes"
        )
    return 1.0 - cost / constant


class CostScoreMixin(ClassifierMixin):
    """The `score` of classifiers that can be judged by costs."""

    classes_: np.ndarray
    pos_label_: Any

    def score(
        self, X: Any, y: Any, sample_weight: Any = None, cost_fp: Any = None, cost_fn: Any = None
    ) -> float:
        """Return the accuracy of `predict`, or with costs minus the mean cost of a decision.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weight of each sample in the mean.
        cost_fp, cost_fn : float or array-like of shape (n_samples,), optional
            What a false positive and a false negative cost. Decisions are those of `predict` at
            these costs; a `FrozenClassifier`, and a classifier whose `fit` was given costs,
            decides at its own τ. Two classes only.

        Returns
        -------
        float
        """
        if cost_fp is None and cost_fn is None:
            predicted = self.predict(X)
            y, _ = find_labels(y, len(predicted))
            weight = None if sample_weight is None else check_weight(sample_weight, len(predicted))
            return float(accuracy_score(y, predicted, sample_weight=weight))
        predicted = self._predict_to_score(X, cost_fp, cost_fn)
        classes, positive = self.classes_, self.pos_label_
        return negative_cost(y, predicted, classes, positive, cost_fp, cost_fn, sample_weight)

    def _predict_to_score(self, X: Any, cost_fp: Any, cost_fn: Any) -> np.ndarray:
        raise NotImplementedError
