"""Scores in money: `score` with costs, the cost scorer, and C chosen by any score."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, get_scorer
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

import taupath as tp
from display_models import X_NEW, Y_NEW, X, Y
from taupath import QuantileSVC, QuantileSVCCV, load, make_cost_scorer

RNG = np.random.default_rng(5)
FP, FN = RNG.uniform(0.1, 3.0, size=len(Y)), RNG.uniform(0.1, 9.0, size=len(Y))
NEW_FP, NEW_FN = RNG.uniform(0.1, 3.0, len(Y_NEW)), RNG.uniform(0.1, 9.0, len(Y_NEW))
WEIGHT = RNG.uniform(0.5, 2.0, size=len(Y_NEW))


def cost_of(predicted, truth, fp, fn, positive="yes", weight=None):
    """Return the mean cost, sample by sample."""
    fp, fn = np.broadcast_to(fp, len(truth)), np.broadcast_to(fn, len(truth))
    costs = [
        0.0 if p == t else fp[i] if p == positive else fn[i]
        for i, (p, t) in enumerate(zip(predicted, truth, strict=True))
    ]
    return np.average(costs, weights=weight)


# extreme costs may well decide the same for all
CONSTANT = pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")


# --- score ---------------------------------------------------------------------------------------


@CONSTANT
@pytest.mark.parametrize("pos_label", ["yes", "no"])
@pytest.mark.parametrize(("fp", "fn"), [(1.0, 20.0), (5, 1), (NEW_FP, NEW_FN), (2.0, NEW_FN)])
def test_with_costs_it_is_minus_what_the_decisions_for_them_cost(fp, fn, pos_label):
    model = QuantileSVC(pos_label=pos_label).fit(X, Y)
    predicted = model.predict(X_NEW, cost_fp=fp, cost_fn=fn)
    for weight in (None, WEIGHT):
        cost = cost_of(predicted, Y_NEW, fp, fn, pos_label, weight)
        assert cost > 0.0
        found = model.score(X_NEW, Y_NEW, weight, cost_fp=fp, cost_fn=fn)
        assert found == pytest.approx(-cost)
        found = make_cost_scorer(fp, fn)(model, X_NEW, Y_NEW, sample_weight=weight)
        assert found == pytest.approx(-cost)


def test_without_costs_it_is_the_accuracy_at_its_tau():
    for tau in (0.2, 0.5):
        model = QuantileSVC(tau=tau).fit(X, Y)
        right = accuracy_score(Y_NEW, model.predict(X_NEW), sample_weight=WEIGHT)
        assert model.score(X_NEW, Y_NEW, WEIGHT) == right


@CONSTANT
def test_decisions_for_these_costs_cost_less_than_those_for_others():
    model = QuantileSVC().fit(X, Y)
    apt = model.score(X, Y, cost_fp=1, cost_fn=10)
    assert apt > model.at(0.9).score(X, Y, cost_fp=1, cost_fn=10)
    assert apt > -cost_of(model.predict(X), Y, 1, 10)


def test_the_largest_costs_do_not_overflow():
    model = QuantileSVC().fit(X, Y)
    wrong = np.mean(model.predict(X) != Y)
    assert model.score(X, Y, cost_fp=1e308, cost_fn=1e308) == pytest.approx(-1e308 * wrong)
    usual = make_cost_scorer(1, 1, savings=True)(model, X, Y)
    assert make_cost_scorer(1e308, 1e308, savings=True)(model, X, Y) == pytest.approx(usual)


def test_costs_that_make_no_sense_are_refused():
    model = QuantileSVC().fit(X, Y)
    for ask in (model.score, model.at(0.5).score):
        with pytest.raises(ValueError, match="cost_fn is missing"):
            ask(X, Y, cost_fp=1)
        with pytest.raises(ValueError, match="cost_fp must not be negative"):
            ask(X, Y, cost_fp=-1, cost_fn=1)
        with pytest.raises(ValueError, match="labels that the estimator was not fitted with"):
            ask(X, np.where(Y == "no", "never", Y), cost_fp=1, cost_fn=1)
        with pytest.raises(ValueError, match=r"cost_fn must be a number or have shape \(120,\)"):
            ask(X, Y, cost_fp=1, cost_fn=[1, 2])
        with pytest.raises(ValueError, match="sample_weight has shape"):
            ask(X, Y, [1.0], cost_fp=1, cost_fn=2)
    several = QuantileSVC().fit(*load_iris(return_X_y=True))
    with pytest.raises(ValueError, match="two classes"):
        several.score(*load_iris(return_X_y=True), cost_fp=1, cost_fn=1)


# --- the scorer ----------------------------------------------------------------------------------


def test_other_classifiers_decide_by_their_probabilities_at_the_same_tau():
    theirs = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, Y)
    for column, positive in enumerate(theirs.classes_):
        scorer = make_cost_scorer(NEW_FP, NEW_FN, pos_label=positive)
        alarm = theirs.predict_proba(X_NEW)[:, column] >= NEW_FP / (NEW_FP + NEW_FN)
        predicted = theirs.classes_[np.where(alarm, column, 1 - column)]
        cost = cost_of(predicted, Y_NEW, NEW_FP, NEW_FN, positive)
        assert scorer(theirs, X_NEW, Y_NEW) == pytest.approx(-cost)
    default = make_cost_scorer(NEW_FP, NEW_FN)(theirs, X_NEW, Y_NEW)
    assert default == scorer(theirs, X_NEW, Y_NEW)  # the larger label
    # without probabilities there is nothing to move
    fixed = LinearSVC().fit(X, Y)
    cost = cost_of(fixed.predict(X_NEW), Y_NEW, 1, 4)
    assert make_cost_scorer(1, 4)(fixed, X_NEW, Y_NEW) == pytest.approx(-cost)
    alone = QuantileSVC().fit(X, Y).at(0.2)
    assert make_cost_scorer(1, 4)(alone, X_NEW, Y_NEW) == alone.score(
        X_NEW, Y_NEW, cost_fp=1, cost_fn=4
    )


@CONSTANT
def test_pipelines_and_searches_are_looked_into():
    scorer = make_cost_scorer(1, 6)
    pipe = make_pipeline(StandardScaler(), QuantileSVC(pos_label="no")).fit(X, Y)
    new = pipe[0].transform(X_NEW)
    expected = pipe[-1].score(new, Y_NEW, cost_fp=1, cost_fn=6)
    assert scorer(pipe, X_NEW, Y_NEW) == expected
    search = GridSearchCV(pipe, {"quantilesvc__C": [1.0]}, cv=3).fit(X, Y)
    assert scorer(search, X_NEW, Y_NEW) == expected


@pytest.mark.parametrize("model", [QuantileSVC(pos_label="no"), LogisticRegression()])
def test_it_scores_folds_and_chooses_parameters(model):
    scorer = make_cost_scorer(1, 5)
    folds = StratifiedKFold(3)
    expected = [
        scorer(clone(model).fit(X[learn], Y[learn]), X[test], Y[test])
        for learn, test in folds.split(X, Y)
    ]
    assert_allclose(cross_val_score(model, X, Y, scoring=scorer, cv=folds), expected)
    grid = {"C": [1e-4, 1e-2, 1.0]}
    search = GridSearchCV(model, grid, scoring=scorer, cv=folds).fit(X, Y)
    best = int(search.cv_results_["mean_test_score"].argmax())
    assert search.best_params_["C"] == grid["C"][best]
    assert_allclose(search.cv_results_["mean_test_score"][2], np.mean(expected))
    assert search.score(X_NEW, Y_NEW) == scorer(search.best_estimator_, X_NEW, Y_NEW)
    both = cross_validate(model, X, Y, scoring={"cost": scorer, "right": "accuracy"}, cv=folds)
    assert_allclose(both["test_cost"], expected)


@pytest.mark.parametrize("model", [QuantileSVC(), LogisticRegression()])
def test_costs_of_each_sample_are_routed(model):
    folds = StratifiedKFold(3)
    expected = [
        make_cost_scorer(FP[test], FN[test])(clone(model).fit(X[learn], Y[learn]), X[test], Y[test])
        for learn, test in folds.split(X, Y)
    ]
    costs = {"cost_fp": FP, "cost_fn": FN}
    with config_context(enable_metadata_routing=True):
        scorer = make_cost_scorer().set_score_request(cost_fp=True, cost_fn=True)
        found = cross_validate(model, X, Y, scoring=scorer, cv=folds, params=costs)
        assert_allclose(found["test_score"], expected)
        search = GridSearchCV(model, {"C": [1.0]}, scoring=scorer, cv=folds).fit(X, Y, **costs)
        assert search.best_score_ == pytest.approx(np.mean(expected))
        # one of the two may be the same for all; weights are routed, too
        one = make_cost_scorer(cost_fp=2.0).set_score_request(cost_fn=True, sample_weight="w")
        params = {"cost_fn": FN, "w": FP}
        found = cross_validate(model, X, Y, scoring=one, cv=folds, params=params)
        learn, test = next(iter(folds.split(X, Y)))
        fitted = clone(model).fit(X[learn], Y[learn])
        assert found["test_score"][0] == make_cost_scorer(2.0, FN[test])(
            fitted, X[test], Y[test], sample_weight=FP[test]
        )
        with pytest.raises(UnsetMetadataPassedError, match="cost_fn"):
            cross_validate(model, X, Y, scoring=make_cost_scorer(), params={"cost_fn": FN})


def test_the_own_score_takes_routed_costs():
    costs = {"cost_fp": FP, "cost_fn": FN}
    with config_context(enable_metadata_routing=True):
        model = QuantileSVC().set_score_request(cost_fp=True, cost_fn=True)
        found = cross_validate(model, X, Y, params=costs, cv=3)["test_score"]
        scorer = make_cost_scorer().set_score_request(cost_fp=True, cost_fn=True)
        same = cross_validate(model, X, Y, params=costs, cv=3, scoring=scorer)["test_score"]
    assert_array_equal(found, same)


def test_the_scorer_is_copied_and_shown():
    scorer = make_cost_scorer(1, 20, pos_label="no")
    assert repr(scorer) == "CostScorer(cost_fn=20, cost_fp=1, pos_label='no')"
    model = QuantileSVC(pos_label="no").fit(X, Y)
    for other in (clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert other(model, X, Y) == scorer(model, X, Y)


def test_what_the_scorer_cannot_judge_is_refused():
    model = QuantileSVC().fit(X, Y)
    with pytest.raises(ValueError, match="cost_fn is missing"):
        make_cost_scorer(1)(model, X, Y)
    with pytest.raises(NotFittedError):
        make_cost_scorer(1, 1)(QuantileSVC(), X, Y)
    with pytest.raises(ValueError, match="fit it with pos_label='no'"):
        make_cost_scorer(1, 1, pos_label="no")(model, X, Y)
    iris = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match="for two classes, not 3"):
        make_cost_scorer(1, 1)(LogisticRegression(max_iter=1000).fit(*iris), *iris)


def test_a_search_is_not_told_of_each_model_that_is_constant():
    model = QuantileSVC().fit(X, Y)
    with pytest.warns(tp.ConstantDecisionWarning):
        found = model.score(X, Y, cost_fp=1, cost_fn=20)
    assert make_cost_scorer(1, 20)(model, X, Y) == found  # warnings are errors
    assert (
        QuantileSVCCV(
            [1e-4, 1.0],
            cv=3,
            scoring=make_cost_scorer(1, 20),
            kernel="linear",
            combine="best",
            standardize=False,
        )
        .fit(X, Y)
        .C_
        > 0
    )


# --- choice of C ---------------------------------------------------------------------------------

CS = [1e-4, 1e-2, 1.0, 100.0]


@pytest.mark.parametrize(
    "scoring", ["roc_auc", "accuracy", make_cost_scorer(1, 5), get_scorer("neg_log_loss")]
)
def test_C_is_chosen_by_any_score(scoring):
    folds = StratifiedKFold(4)
    model = QuantileSVCCV(
        CS, cv=folds, scoring=scoring, kernel="linear", combine="best", standardize=False
    ).fit(X, Y)
    scorer = get_scorer(scoring)
    expected = [cross_val_score(QuantileSVC(C), X, Y, scoring=scorer, cv=folds) for C in CS]
    assert_allclose(model.scores_, expected)
    best_C = CS[int(np.mean(expected, axis=1).argmax())]
    assert best_C == model.C_
    # what is known of the Brier score and of every τ stays
    plain = model.set_params(scoring=None, method="exact")
    plain = clone(plain).fit(X, Y)
    assert_array_equal(model.brier_, plain.brier_)
    assert_array_equal(model.loss([0.2, 0.7]), plain.loss([0.2, 0.7]))
    assert not hasattr(plain, "scores_")
    assert not hasattr(model.set_params(scoring=None).fit(X, Y), "scores_")
    assert model.C_ == plain.C_


def test_costs_may_choose_another_C_than_the_brier_score():
    chosen = {
        cost: QuantileSVCCV(
            CS,
            scoring=make_cost_scorer(1, cost),
            cv=3,
            kernel="linear",
            combine="best",
            standardize=False,
        )
        .fit(X, Y)
        .C_
        for cost in (0.05, 1, 20)
    }
    assert len(set(chosen.values())) > 1


def test_scores_of_folds_are_weighted_where_they_can_be():
    weight = np.random.default_rng(0).integers(1, 4, size=len(Y)).astype(float)
    folds = StratifiedKFold(3)
    model = QuantileSVCCV(
        [1.0], cv=folds, scoring="accuracy", kernel="linear", combine="best", standardize=False
    ).fit(X, Y, weight)
    for k, (learn, test) in enumerate(folds.split(X, Y)):
        single = QuantileSVC().fit(X[learn], Y[learn], weight[learn])
        assert model.scores_[0, k] == pytest.approx(single.score(X[test], Y[test], weight[test]))
    plain = QuantileSVCCV(
        [1.0],
        cv=folds,
        scoring=lambda model, X, y: model.score(X, y),
        kernel="linear",
        combine="best",
        standardize=False,
    )
    assert plain.fit(X, Y, weight).scores_.shape == (1, 3)


def test_a_score_of_several_classes_and_a_kernel_matrix():
    iris, y = load_iris(return_X_y=True)
    model = QuantileSVCCV(
        [0.01, 1.0], cv=3, scoring="accuracy", kernel="linear", combine="best", standardize=False
    ).fit(iris, y)
    assert model.scores_.shape == (2, 3)
    by_matrix = QuantileSVCCV(
        CS, cv=3, kernel="precomputed", scoring="accuracy", combine="best"
    ).fit(X @ X.T, Y)
    by_samples = QuantileSVCCV(
        CS, cv=3, scoring="accuracy", kernel="linear", combine="best", standardize=False
    ).fit(X, Y)
    assert_allclose(by_matrix.scores_, by_samples.scores_)


def test_scores_that_are_none_are_refused(tmp_path):
    with pytest.raises(ValueError, match="nonsense"):
        QuantileSVCCV(
            CS, scoring="nonsense", kernel="linear", combine="best", standardize=False
        ).fit(X, Y)
    with pytest.raises(ValueError, match="scoring must be a function or a name"):
        QuantileSVCCV(
            CS, scoring=["accuracy", "roc_auc"], kernel="linear", combine="best", standardize=False
        ).fit(X, Y)
    for wrong in (lambda *_: np.nan, lambda *_: "good"):
        with pytest.raises(ValueError, match="scoring must return a finite number"):
            QuantileSVCCV(
                [1.0], cv=3, scoring=wrong, kernel="linear", combine="best", standardize=False
            ).fit(X, Y)
    # a file holds what was chosen, not by what
    model = QuantileSVCCV(
        [0.1, 1.0],
        cv=3,
        scoring=make_cost_scorer(1, 2),
        kernel="linear",
        combine="best",
        standardize=False,
    ).fit(X, Y)
    model.save(tmp_path / "model.tau")
    assert load(tmp_path / "model.tau").C == model.C_
