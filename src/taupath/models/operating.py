"""Operating points of a model: which rows they are found on, and whether these were trained on."""

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.explanation import label_of
from taupath.estimators.fingerprints import share_seen
from taupath.estimators.pipelines import last_step, pos_label_of
from taupath.estimators.selection import QuantileSVCCV
from taupath.models.model import Model
from taupath.outcomes.held_out import Outcomes, outcomes_of
from taupath.outcomes.inputs import check_binary_classifier, positive_probability
from taupath.outcomes.operating import OperatingPoint, find_operating_point
from taupath.outcomes.promises import Promises
from taupath.outcomes.rates import changes_of_probabilities
from taupath.validation import UNIT_INTERVAL, check_known_labels, find_labels

OUT_OF_FOLD = (
    "Not guaranteed: these rows were judged by models that were trained without them, not by this "
    "one."
)
UNCHECKED = "This needs rows that the model was not trained on, which cannot be checked here."


def operate(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    max_fpr: float | None = None,
    min_recall: float | None = None,
    min_precision: float | None = None,
    max_alarms_per: Any = None,
    abstain: float | None = None,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    delta: float = 0.05,
) -> OperatingPoint:
    """Return the τ at which a promise about new rows holds, found on rows that were held out.

    The promise is about the rows that ``predict(X, tau=point.tau)`` flags, that is, predicts to be
    positive. It is kept unless the held-out rows are an unlucky draw, which has a probability of
    `delta` at most, with any number of rows and any distribution; new rows must be drawn as the
    held-out ones were. Every row counts once: there are no sample weights.

    Parameters
    ----------
    model : QuantileSVC, QuantileSVCCV, Model or classifier
        Fitted, for two classes; also as the last step of a pipeline, or in a search. Classifiers
        of other packages flag a row where the probability of the positive class is at least τ.
    X : array-like or sparse matrix of shape (n_samples, n_features), optional
        Rows that the model was not trained on; training rows are recognised and refused. For a
        `Model`, a data frame, a dict of columns or the name of a file. Without X, the out-of-fold
        rows of a `QuantileSVCCV`, or those of a `Model` that were held out when it was trained:
        `guaranteed` is then False, since other models have judged them.
    y : array-like of shape (n_samples,), optional
        Their labels. For a `Model` None means the target column of X.
    max_fpr : float, optional
        At most this share of negative rows is flagged.
    min_recall : float, optional
        At least this share of positive rows is flagged.
    min_precision : float, optional
        At least this share of flagged rows is positive.
    max_alarms_per : float or pair (alarms, rows), optional
        At most this share of all rows is flagged.
    abstain : float, optional
        What it costs to leave a row undecided. Rows are left undecided where that is cheaper than
        deciding, by their probability (Chow 1970), and where promises need it: `min_recall` then
        counts undecided positive rows as found. Without another promise, the mean cost of a row is
        bounded.
    cost_fp, cost_fn : float, default=1.0
        What the two mistakes cost, in the unit of `abstain`.
    delta : float, default=0.05
        Probability with which the promise may fail. Several promises share it equally, and hold
        together.

    Returns
    -------
    OperatingPoint
        Of all τ that keep the promise, the one that flags most rows for `max_fpr`,
        `min_precision` and `max_alarms_per`, and fewest for `min_recall`.

    Raises
    ------
    NoOperatingPoint
        If no τ keeps the promise, or if there are too few rows to make it. The message says how
        many are needed.

    Notes
    -----
    Shares of negative, positive and all rows are bounded by order statistics (Tong, Feng & Li
    2018). Precision is bounded by testing some 270 fixed τ (Angelopoulos, Bates, Candès, Jordan &
    Lei 2021).

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> import taupath
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> X, malignant = scale(X), y == 0
    >>> model = taupath.QuantileSVC(C=0.1).fit(X[::2], malignant[::2])
    >>> point = model.operate(X[1::2], malignant[1::2], max_fpr=0.05)
    >>> print(point)
    At τ = 0.36, at most 5 % of new negative rows are flagged, with 95 % confidence.
    On the held-out rows: 103 of 110 positive rows found, 3 of 174 negative rows flagged.
    >>> alarms = model.predict(X[1::2], tau=point.tau)
    """
    promises = Promises.checked(
        max_fpr=max_fpr,
        min_recall=min_recall,
        min_precision=min_precision,
        max_alarms_per=max_alarms_per,
        abstain=abstain,
        cost_fp=cost_fp,
        cost_fn=cost_fn,
        delta=delta,
    )
    estimator = model.estimator if isinstance(model, Model) else model
    check_binary_classifier(estimator)
    if X is None:
        if y is not None:
            raise ValueError("y is given without X")
        point = find_operating_point(_held_out(model), promises, False, OUT_OF_FOLD)
        return _telling_of_constant(point, estimator)
    if isinstance(model, Model):
        _, X, y = model._judged(X, y)
    elif y is None:
        raise ValueError("y is missing: the labels of the rows of X are needed")
    outcomes = _outcomes(estimator, X, y)
    share = share_seen(estimator, X)
    if share is not None and share > 0.0:
        n_rows = outcomes.n_rows
        other = " with other rows, or without any" if _has_held_out(model) else " with other rows"
        raise ValueError(
            f"{max(round(share * n_rows), 1)} of these {n_rows} rows were used to train the model: "
            "promises can only be made on rows that it has not seen; leave these out, or use "
            f"operate{other}"
        )
    point = find_operating_point(outcomes, promises, note=UNCHECKED if share is None else "")
    return _telling_of_constant(point, estimator)


def _telling_of_constant(point: OperatingPoint, estimator: Any) -> OperatingPoint:
    """Return the point; its promise says so if the model decides the same for all cases there."""
    model, _ = last_step(estimator)
    if not isinstance(model, QuantileSVC) or not 0.0 < point.tau < 1.0:
        return point
    constant = label_of(model, model._constant_at(point.tau))
    if constant is None:
        return point
    note = f"At τ = {point.tau:g} the model decides {constant} for every case"
    return replace(point, promise=f"{point.promise} {note}{model._why_constant[1]}.")


def _outcomes(estimator: Any, X: Any, y: Any) -> Outcomes:
    """Return the decisions about some rows at every τ, and the truth."""
    model, before = last_step(estimator)
    if isinstance(model, QuantileSVC):
        for step in before:
            X = step.transform(X)
        n_rows = model._check_new(X).shape[0]
        return outcomes_of(model, X, _labels(estimator, y, n_rows))
    proba = positive_probability(estimator, X)
    positive = _labels(estimator, y, len(proba)) == pos_label_of(estimator)
    return Outcomes(positive, UNIT_INTERVAL, changes_of_probabilities(proba))


def _labels(estimator: Any, y: Any, n_rows: int) -> np.ndarray:
    labels, present = find_labels(y, n_rows)
    check_known_labels(present, estimator.classes_)
    return labels


def _search_of(model: Any) -> Any:
    """Return the `QuantileSVCCV` with held-out samples, also in pipelines, or None."""
    last = model.estimator if isinstance(model, Model) else model
    while not isinstance(last, QuantileSVCCV):
        if isinstance(last, Pipeline):
            last = last[-1]
        elif hasattr(last, "best_estimator_"):
            last = last.best_estimator_
        else:
            return None
    return last if getattr(last, "_held_out_tau", None) is not None else None


def _has_held_out(model: Any) -> bool:
    return getattr(model, "held_out", None) is not None or _search_of(model) is not None


def _held_out(model: Any) -> Outcomes:
    """Return the outcomes of rows that were held out in training."""
    stored = getattr(model, "held_out", None)
    if stored is not None:
        outcomes: Outcomes = stored.outcomes
        return outcomes
    last = _search_of(model)
    if last is None:
        raise ValueError(
            "X is missing: give rows that the model was not trained on; only QuantileSVCCV, and "
            "models of `taupath fit --folds` or `--holdout`, have held some out"
        )
    if (last._test_weight != 1.0).any():
        raise ValueError(
            "the out-of-fold rows have weights, with which nothing can be promised: give rows X"
        )
    if not last._held_out_once:
        raise ValueError(
            "cv held out some rows several times, and nothing can be promised by counting these "
            "more than once: give rows X"
        )
    changes = changes_of_probabilities(last._held_out_tau)
    return Outcomes(last._truth == last.pos_label_, last._walked, changes)
