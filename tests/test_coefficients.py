"""`coef_` and `intercept_` of the estimators, at their own τ, as scikit-learn has them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import LinearSVC

import taupath as tp
from display_models import X_NEW, X_THREE, Y_THREE, X, Y
from taupath import QuantileSVC, QuantileSVCCV, QuantileSVR


@pytest.mark.parametrize("pos_label", ["yes", "no"])
@pytest.mark.parametrize("tau", [0.2, 0.5])
@pytest.mark.parametrize("method", ["exact", "approximate"])
def test_they_are_the_decision_function_at_tau(method, tau, pos_label):
    model = QuantileSVC(tau=tau, pos_label=pos_label, method=method).fit(X, Y)
    assert model.coef_.shape == (1, 3) and model.intercept_.shape == (1,)
    decided = X_NEW @ model.coef_[0] + model.intercept_[0]
    assert_allclose(model.decision_function(X_NEW), decided, rtol=0, atol=1e-12)
    alone = model.at(tau)
    assert_array_equal(alone.coef_, model.coef_)
    assert_array_equal(alone.intercept_, model.intercept_)


def test_the_choice_of_C_has_those_of_its_C(tmp_path):
    model = QuantileSVCCV(
        [0.1, 1.0], cv=3, tau=0.3, kernel="linear", combine="best", standardize=False
    ).fit(X, Y)
    same = QuantileSVC(model.C_, tau=0.3).fit(X, Y)
    assert_array_equal(model.coef_, same.coef_)
    model.save(tmp_path / "model.tau")
    assert_array_equal(tp.load(tmp_path / "model.tau").coef_, same.coef_)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_have_one_row_for_each_path(multi_class):
    iris, y = load_iris(return_X_y=True)
    model = QuantileSVC(multi_class=multi_class).fit(iris, y)
    assert model.coef_.shape == (3, 4) and model.intercept_.shape == (3,)
    for row, constant, path in zip(model.coef_, model.intercept_, model.paths_, strict=True):
        assert_array_equal(row, path.coef(0.5))
        assert constant == path.intercept(0.5)
    if multi_class == "ovr":  # each class against the rest, as in scikit-learn
        theirs = LinearSVC(loss="hinge", tol=1e-8, max_iter=10**6, random_state=0).fit(iris, y)
        assert_allclose(model.coef_[[0, 2]], theirs.coef_[[0, 2]], rtol=0, atol=1e-3)


def test_other_kernels_have_none():
    for model in (QuantileSVC(kernel="rbf").fit(X, Y), QuantileSVR(kernel="rbf").fit(X, X[:, 0])):
        for name in ("coef_", "intercept_"):
            assert not hasattr(model, name)
            with pytest.raises(AttributeError, match=rf'{name} exists for kernel="linear" only'):
                getattr(model, name)
    for model in (QuantileSVC(), QuantileSVR()):
        assert not hasattr(model, "coef_")
        with pytest.raises(NotFittedError):
            model.coef_  # noqa: B018  # reading it raises


@pytest.mark.parametrize(
    "model",
    [
        QuantileSVC(C=0.01),
        QuantileSVCCV([0.01], cv=3, kernel="linear", combine="best", standardize=False),
    ],
)
def test_features_are_selected_by_them(model):
    cancer, y = load_breast_cancer(return_X_y=True)
    cancer = scale(cancer)
    chosen = SelectFromModel(model, max_features=8, threshold=-np.inf).fit(cancer, y)
    largest = np.argsort(-np.abs(chosen.estimator_.coef_[0]))[:8]
    assert_array_equal(np.flatnonzero(chosen.get_support()), np.sort(largest))
    pipe = make_pipeline(StandardScaler(), SelectFromModel(model), QuantileSVC(C=0.1))
    assert pipe.fit(cancer, y).score(cancer, y) > 0.95
    assert RFE(model, n_features_to_select=28).fit(cancer, y).n_features_ == 28
    iris = load_iris(return_X_y=True)
    assert SelectFromModel(model).fit(*iris).transform(iris[0]).shape[1] < 4


def test_quantiles_have_them_in_the_shape_of_scikit_learn():
    model = QuantileSVR(C=1e4, quantile=0.3).fit(X_THREE, Y_THREE)
    theirs = QuantileRegressor(quantile=0.3, alpha=0.0).fit(X_THREE, Y_THREE)
    assert model.coef_.shape == theirs.coef_.shape
    assert_allclose(model.coef_, theirs.coef_, rtol=0, atol=1e-2)
    assert_allclose(model.intercept_, theirs.intercept_, rtol=0, atol=1e-2)
    function = model.path_.decision_function(X_THREE, 0.3)
    assert_allclose(X_THREE @ model.coef_ + model.intercept_, function, rtol=0, atol=1e-10)
    chosen = SelectFromModel(model, max_features=2, threshold=-np.inf).fit(X_THREE, Y_THREE)
    assert chosen.get_support().sum() == 2
