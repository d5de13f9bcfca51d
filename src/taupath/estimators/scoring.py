"""Scorers for scikit-learn: minus the mean cost of a classifier's decisions."""

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.metadata_routing import UNUSED

from taupath.estimators.costs import costs_to_tau, negative_cost, share_saved
from taupath.estimators.decisions import PathClassifier
from taupath.estimators.pipelines import last_step, pos_label_of


def make_cost_scorer(
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    *,
    pos_label: Any = None,
    savings: bool = False,
) -> "CostScorer":
    """Return a scorer: minus the mean cost of a classifier's decisions at these costs, or savings.

    For `scoring=` of scikit-learn's `cross_val_score`, `cross_validate`, `GridSearchCV` and so
    on, and of `QuantileSVCCV`. Larger is better; 0 means no mistakes.

    Parameters
    ----------
    cost_fp, cost_fn : float, optional
        What a false positive (a false alarm) and a false negative (a miss) cost. Leave them out
        if each sample has costs of its own, and have these routed, see below.
    pos_label : label, optional
        The positive class; by default that of the classifier, its `pos_label_`, or else the
        larger label.
    savings : bool, default=False
        True: return 1 - cost / cost of the best constant decision. It is 1 without mistakes, 0 if
        the decisions cost as much as the cheaper of the two constant decisions, and negative if
        they cost more.

    Returns
    -------
    CostScorer
        Called as ``scorer(estimator, X, y)``.

    Notes
    -----
    The decisions for these costs are scored. A `QuantileSVC`, also as the last step of a pipeline,
    decides as its `predict` with `cost_fp` and `cost_fn`, or, if its `fit` was given costs, as its
    `predict` without costs. Another classifier of two classes decides
    for the positive one where its probability is at least cost_fp / (cost_fp + cost_fn), so that
    the two can be compared; one without `predict_proba` decides as its `predict`. No
    `ConstantDecisionWarning` is given: a search tries many models, some of them constant.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.model_selection import cross_val_score
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> import taupath
    >>> X, y = load_breast_cancer(return_X_y=True)  # 0 is malignant, 1 is benign
    >>> model = make_pipeline(StandardScaler(), taupath.QuantileSVC(C=0.1, pos_label=0))
    >>> scorer = taupath.make_cost_scorer(cost_fp=1, cost_fn=20)
    >>> bool(cross_val_score(model, X, y, scoring=scorer).mean() > -0.5)
    True

    Costs that differ between samples, split into folds like X and y:

    >>> from sklearn import config_context
    >>> from sklearn.model_selection import cross_validate
    >>> with config_context(enable_metadata_routing=True):
    ...     scorer = taupath.make_cost_scorer(cost_fp=1).set_score_request(cost_fn=True)
    ...     found = cross_validate(model, X, y, scoring=scorer, params={"cost_fn": X[:, 0]})
    >>> len(found["test_score"])
    5
    """
    return CostScorer(cost_fp, cost_fn, pos_label=pos_label, savings=savings)


class CostScorer(BaseEstimator):
    """The scorer that `make_cost_scorer` makes; `set_score_request` says which costs are routed."""

    # metadata routing takes every argument of `score` but the estimator
    __metadata_request__score = {"estimator": UNUSED}  # noqa: RUF012  # as scikit-learn reads it

    def __init__(
        self,
        cost_fp: Any = None,
        cost_fn: Any = None,
        *,
        pos_label: Any = None,
        savings: bool = False,
    ) -> None:
        self.cost_fp = cost_fp
        self.cost_fn = cost_fn
        self.pos_label = pos_label
        self.savings = savings

    def score(
        self,
        estimator: Any,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        cost_fp: Any = None,
        cost_fn: Any = None,
    ) -> float:
        """Return minus the mean cost, or the savings, of a fitted classifier of two classes.

        `cost_fp` and `cost_fn`, for all samples or for each, replace those of the constructor.
        """
        model, before = last_step(estimator)
        if len(estimator.classes_) != 2:
            raise ValueError(
                f"cost_fp and cost_fn are for two classes, not {len(estimator.classes_)}"
            )
        cost_fp = self.cost_fp if cost_fp is None else cost_fp
        cost_fn = self.cost_fn if cost_fn is None else cost_fn
        classes, positive = estimator.classes_, pos_label_of(estimator, self.pos_label)
        if isinstance(model, PathClassifier):
            for step in before:
                X = step.transform(X)
            predicted = model._predict_for_costs(X, cost_fp, cost_fn)
        elif hasattr(estimator, "predict_proba"):
            place = classes.tolist().index(positive)
            proba = np.asarray(estimator.predict_proba(X))[:, place]
            alarm = proba >= costs_to_tau(cost_fp, cost_fn, len(proba))
            predicted = classes[np.where(alarm, place, 1 - place)]
        else:
            predicted = np.asarray(estimator.predict(X))

        def score_of(decided: np.ndarray) -> float:
            return negative_cost(y, decided, classes, positive, cost_fp, cost_fn, sample_weight)

        if not self.savings:
            return score_of(predicted)
        constant = max(score_of(np.full(len(predicted), label)) for label in classes)
        return float(share_saved(score_of(predicted), constant))

    __call__ = score  # as scikit-learn calls scorers
