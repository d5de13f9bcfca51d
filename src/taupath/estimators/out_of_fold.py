"""Candidates judged on held-out samples."""

import inspect
import math
import numbers
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, cast

import numpy as np
from sklearn.base import clone
from sklearn.metrics import check_scoring, get_scorer_names
from sklearn.model_selection import LeaveOneOut, check_cv

from taupath.estimators.classifier import QuantileSVC
from taupath.estimators.quick_folds import FoldMethod, fit_quickly, from_matrix
from taupath.validation import Checked, check_integer, shown

# Most samples for ``cv="loo"``. Its time grows with the square of their number: for so many, the
# default search took 3 s of CPU time, and one with exact paths 17 s.
MOST_LEFT_OUT = 300


class Data(NamedTuple):
    """Samples as models take them."""

    X: Checked
    y: np.ndarray
    weight: np.ndarray


class Fold(NamedTuple):
    """The samples that a model is trained on, and those that it is judged by."""

    train: np.ndarray
    test: np.ndarray


class HeldOut(NamedTuple):
    """Probabilities of held-out samples, their Brier score, and their score if asked for."""

    proba: np.ndarray
    brier: float
    score: float | None


class Score:
    """A scorer that gets the sample weights if there are any and it takes them."""

    def __init__(self, scoring: Any, model: QuantileSVC, weighted: bool) -> None:
        if not callable(scoring) and not (
            isinstance(scoring, str) and scoring in get_scorer_names()
        ):
            raise ValueError(
                "scoring must be a function or a name among sklearn.metrics.get_scorer_names(), "
                f"got {shown(scoring)}"
            )
        self.scorer = cast(Callable[..., Any], check_scoring(model, scoring))
        takes = inspect.signature(self.scorer).parameters.values()
        named = any(each.name == "sample_weight" or each.kind == each.VAR_KEYWORD for each in takes)
        self.weighted = weighted and named

    def __call__(self, model: QuantileSVC, X: Any, y: np.ndarray, weight: np.ndarray) -> float:
        """Return the score of a model, which must be a finite number."""
        found = self.scorer(model, X, y, **({"sample_weight": weight} if self.weighted else {}))
        if not (isinstance(found, numbers.Real) and math.isfinite(found)):
            raise ValueError(f"scoring must return a finite number, got {shown(found)}")
        return float(found)


def check_folds(cv: Any, X: Checked, y: np.ndarray, weight: np.ndarray) -> list[Fold]:
    """Return the folds, one per sample for "loo"; every class must be in every training part."""
    if isinstance(cv, numbers.Integral):
        check_integer(cv, "cv", least=2)
        classes, counts = np.unique(y[weight > 0.0], return_counts=True)
        if len(classes) > 1 and counts.min() < cv:
            rare = shown(classes.tolist()[counts.argmin()])
            fewer = "" if counts.min() == 1 else "fewer folds, or "
            raise ValueError(
                f"class {rare} has fewer samples, {counts.min()}, than cv has folds, {shown(cv)}: "
                f"use {fewer}more samples of this class"
            )
    each = isinstance(cv, str) and cv == "loo"
    # weight 0 is absence: folds that are drawn here divide the other samples only
    drawn_here = isinstance(cv, numbers.Integral) or each
    own = np.flatnonzero(weight > 0.0) if drawn_here else np.arange(len(y))
    if each:
        cv = LeaveOneOut()
        if len(own) > MOST_LEFT_OUT:
            raise ValueError(
                f"cv='loo' is for at most {MOST_LEFT_OUT} samples, there are {len(own)}: it judges "
                "every candidate by that many fits; use 5 or 10 folds"
            )
    try:
        features = X.features if len(own) == len(y) else X.features[own]
        drawn = check_cv(cv, y[own], classifier=True).split(features, y[own])
        folds = [Fold(own[train], own[test]) for train, test in drawn]
    except (TypeError, ValueError, IndexError) as error:
        if "groups" in str(error):
            raise ValueError(
                f"{type(cv).__name__} needs groups, which fit does not take: give the folds "
                "themselves, cv=list(splitter.split(X, y, groups))"
            ) from None
        raise ValueError(
            "cv must be a number of folds, 'loo', a cross-validation generator, or the training "
            f"and test samples of each fold, got {shown(cv)}: {shown(str(error))}"
        ) from None
    if not folds:
        raise ValueError("cv has no folds")
    for fold in folds:
        train = fold.train
        missing = np.setdiff1d(y[weight > 0.0], y[train][weight[train] > 0.0])
        if len(missing) > 0:
            raise ValueError(
                f"cv leaves a training fold no samples of class {shown(missing.tolist()[0])}; use "
                "fewer, or stratified, folds"
            )
        if not weight[fold.test].any():
            raise ValueError("cv has a fold that holds out no samples of a weight above 0")
        both = np.intersect1d(train, fold.test)
        if len(both) > 0:
            raise ValueError(
                f"cv trains on samples that the same fold holds out, such as sample {both[0]}; "
                "the two must have none in common"
            )
    tests = np.concatenate([fold.test for fold in folds])
    missing = np.setdiff1d(y[weight > 0.0], y[tests][weight[tests] > 0.0])
    if len(missing) > 0:
        raise ValueError(
            f"cv holds out no samples of class {shown(missing.tolist()[0])}: candidates are judged "
            "by all classes; use more, or stratified, folds"
        )
    return folds


def held_out(
    model: QuantileSVC,
    data: Data,
    fold: Fold,
    score: Score | None,
    method: FoldMethod,
    progress: Any = None,
) -> HeldOut:
    """Fit a model to all folds but one, and return its predictions for that one."""
    (X, y, weight), (train, test) = data, fold
    own = clone(model).set_params(kernel=model.kernel)  # of a copied function, nothing is shared
    own._progress = progress
    columns = train if model.kernel == "precomputed" else slice(None)
    others, proba = X[test][:, columns], None
    if method.quickly:  # near the optimum, the direction in which τ is followed makes a difference
        own.set_params(pos_label=None)
    if method.matrix is not None:
        proba = from_matrix(own, method.matrix, data, train, test)
        if progress is not None and proba is not None:
            progress(1.0)
    if proba is None:  # where a matrix takes too many steps, an approximate path would, too
        fit = partial(fit_quickly, own) if method.quickly and method.matrix is None else own.fit
        fit(X[train][:, columns], y[train], weight[train])
        proba = own._unclipped(others)
    truth = y[test][:, np.newaxis] == own.classes_
    squares = 0.5 * ((proba - truth) ** 2).sum(axis=1)
    return HeldOut(
        proba,
        float(np.average(squares, weights=weight[test])),
        None if score is None else score(own, others.features, y[test], weight[test]),
    )


def fitted(model: QuantileSVC, data: Data, progress: Any = None) -> QuantileSVC:
    """Fit a model to all samples."""
    model._progress = progress
    model.fit(*data)
    model._progress = None
    return model
