"""Estimators with an L1 penalty and with constraints."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score

import taupath as tp
from extra_rows import judge, judge_regression, problem, signs_of


def test_a_classifier_is_that_of_its_path():
    X, y, taus = problem(1)
    rules = [tp.Monotone([0, 3], 1), tp.Fair(np.arange(60) % 2, 0.05)]
    model = tp.QuantileSVC(0.7, l1=0.5, constraints=rules).fit(X, y)
    path = tp.quantile_path(X, y, 0.7, l1=0.5, constraints=rules)
    for tau in taus:
        assert_array_equal(model.path_.coef(tau), path.coef(tau))
        assert model.n_nonzero(tau) == path.n_nonzero(tau)
    assert model.n_nonzero() == path.n_nonzero(0.5) == np.count_nonzero(model.coef_)
    assert_allclose(model.decision_function(X), path.decision_function(X, 0.5))
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(X), model.predict(X))
    assert_array_equal(model.at(0.3).predict(X), model.predict(X, tau=0.3))
    proba = model.predict_proba(X)
    assert_allclose(proba[:, 1], path.crossings(X).length)


def test_constraints_are_for_the_positive_class():
    X, y, taus = problem(1)
    model = tp.QuantileSVC(0.7, constraints=tp.NonNegative(), pos_label=-1).fit(X, y)
    for tau in taus:
        judge(model.path_, X, -y, tau, 0.7, 0.0, *signs_of(range(6), 1.0, 6))
    assert (model.coef_ <= 0.0).all()  # as in scikit-learn, for the larger label


def test_they_are_parameters_like_others():
    X, y, _ = problem(1)
    rules = [tp.NonNegative([1])]
    for model in (tp.QuantileSVC(l1=0.2, constraints=rules), tp.QuantileSVR(l1=0.2)):
        other = clone(model)
        assert other.get_params()["l1"] == 0.2
        assert other.set_params(l1=1.0).l1 == 1.0
    assert model.constraints is None
    assert clone(tp.QuantileSVC(constraints=rules)).constraints == rules
    scores = cross_val_score(tp.QuantileSVC(0.7, l1=0.2, constraints=rules), X, y, cv=3)
    assert scores.mean() > 0.6


def test_features_by_name():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y, _ = problem(2)
    table = pandas.DataFrame(X, columns=list("abcdef"))
    rules, same = [tp.Monotone(["a", "d"], -1)], [tp.Monotone([0, 3], -1)]
    model = tp.QuantileSVC(0.7, constraints=rules).fit(table, y)
    assert_array_equal(model.coef_, tp.QuantileSVC(0.7, constraints=same).fit(X, y).coef_)
    given = {"intercept": "none", "conformal": 3}
    model = tp.QuantileSVR(0.7, constraints=rules, **given).fit(table, X[:, 4] + 0.1 * y)
    other = tp.QuantileSVR(0.7, constraints=same, **given).fit(X, X[:, 4] + 0.1 * y)
    assert_array_equal(model.predict_interval(table), other.predict_interval(X))
    with pytest.raises(ValueError, match="no column is named 'age'"):
        tp.QuantileSVC(constraints=tp.NonNegative("age")).fit(table, y)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_are_penalised_each(multi_class):
    X, y = load_iris(return_X_y=True)
    model = tp.QuantileSVC(l1=20.0, multi_class=multi_class).fit(X, y)
    used = np.any([path.coef(0.5) != 0.0 for path in model.paths_], axis=0)
    assert model.n_nonzero() == used.sum() <= 3
    assert tp.QuantileSVC(multi_class=multi_class).fit(X, y).n_nonzero() == 4
    with pytest.raises(ValueError, match="constraints are for two classes, y has 3"):
        tp.QuantileSVC(constraints=tp.NonNegative()).fit(X, y)


def test_a_regressor_is_that_of_its_path():
    X, _, taus = problem(1)
    y = X[:, 0] - X[:, 4] + np.random.default_rng(0).standard_normal(60)
    rules = [tp.NonNegative([0]), tp.Fair(np.arange(60) % 2, 0.05)]
    model = tp.QuantileSVR(2.0, l1=0.5, constraints=rules, intercept="augmented", conformal=3)
    model.fit(X, y)
    group = np.arange(60) % 2
    a = (group - group.mean()) @ X / 60
    for tau in taus:
        judge_regression(
            model.path_, X, y, tau, 2.0, 0.5, [np.eye(6)[0], a, -a], [0.0, -0.05, -0.05]
        )
        assert model.n_nonzero(tau) == model.path_.n_nonzero(tau)
    assert model.n_nonzero() == np.count_nonzero(model.coef_) < 6
    lower, upper = model.predict_interval(X).T
    assert (lower < upper).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"l1": -1.0}, "l1 must lie between 0 and"),
        ({"l1": "much"}, "l1 must be a real number"),
        ({"l1": 1.0, "kernel": "rbf"}, "for kernel='linear'"),
        ({"l1": 1.0, "intercept": "free"}, "intercept='augmented' or 'none'"),
        ({"l1": 1.0, "method": "approximate"}, "for exact paths"),
        ({"constraints": "positive"}, "must be a list of constraints"),
        ({"constraints": [tp.Fair(np.ones(3))]}, "X has 60 rows"),
    ],
)
def test_bad_input_is_named(given, message):
    X, y, _ = problem(0)
    for model in (tp.QuantileSVC(), tp.QuantileSVR(intercept="none")):
        with pytest.raises((ValueError, TypeError), match=message):
            model.set_params(**given).fit(X, y)


def test_what_is_not_supported_is_refused():
    X, y, _ = problem(0)
    for model in (tp.QuantileSVC(l1=1.0), tp.QuantileSVR(l1=1.0, intercept="none")):
        model.fit(X, y)
        with pytest.raises(ValueError, match="cannot be simplified"):
            model.simplify(1e-3)
    with pytest.raises(AttributeError, match="n_nonzero exists for kernel"):
        tp.QuantileSVC(kernel="rbf").fit(X, y).n_nonzero()
