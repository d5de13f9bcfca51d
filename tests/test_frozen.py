"""One τ by itself: a classifier of scikit-learn's, small, fixed, and stored in a file."""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectFromModel
from sklearn.metrics import accuracy_score
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.svm import SVC
from sklearn.utils import estimator_checks, get_tags
from sklearn.utils.validation import check_is_fitted

import taupath as tp
from damage import ANYTHING, altered
from display_models import X_NEW, Y_NEW, X, Y
from hostile import places
from taupath import QuantileSVC
from taupath.estimators.frozen_classifier import FrozenClassifier
from taupath.storage.container import read_container, write_container

NAMED = pd.DataFrame(X, columns=["a", "b", "c"])

# every τ is tried
pytestmark = pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")


def made(kind):
    """Return a model and new samples as it takes them."""
    if kind == "precomputed":
        return QuantileSVC(kernel="precomputed").fit(X @ X.T, Y), X_NEW @ X.T
    if kind == "sparse":
        return QuantileSVC(kernel="rbf").fit(sparse.csr_array(X), Y), sparse.csr_array(X_NEW)
    if kind == "smaller":
        return QuantileSVC(pos_label="no").fit(X, Y), X_NEW
    if kind == "named":
        return QuantileSVC().fit(NAMED, Y), pd.DataFrame(X_NEW, columns=["a", "b", "c"])
    if kind == "poly":
        return QuantileSVC(kernel="poly", degree=2, coef0=1.0, intercept="free").fit(X, Y), X_NEW
    return QuantileSVC(kernel=kind).fit(X, Y), X_NEW


KINDS = ["linear", "rbf", "poly", "sparse", "precomputed", "smaller", "named"]


@pytest.mark.parametrize("kind", KINDS)
def test_it_decides_as_the_model_does_at_its_tau(kind):
    model, new = made(kind)
    for tau in (0.0, 0.3, 0.5, 0.9, 1.0):
        alone = model.at(tau)
        assert alone.tau == tau
        assert_array_equal(alone.classes_, model.classes_)
        assert alone.pos_label_ == model.pos_label_
        assert_array_equal(alone.predict(new), model.predict(new, tau=tau))
        expected = model.decision_function(new, tau=tau)
        assert_allclose(alone.decision_function(new), expected, rtol=0, atol=1e-12)
        assert alone.score(new, Y_NEW) == accuracy_score(Y_NEW, model.predict(new, tau=tau))


def test_scikit_learn_takes_it_for_a_fitted_classifier():
    alone = QuantileSVC().fit(NAMED, Y).at(0.3)
    assert is_classifier(alone)
    check_is_fitted(alone)
    assert alone.n_features_in_ == 3
    assert_array_equal(alone.feature_names_in_, ["a", "b", "c"])
    assert alone.get_params() == {"tau": 0.3}
    assert "FrozenClassifier" in alone._repr_html_()
    with pytest.raises(ValueError, match="feature names"):
        alone.predict(NAMED.rename(columns={"a": "z"}))
    with pytest.warns(UserWarning, match="FrozenClassifier was fitted with feature names"):
        alone.predict(X)
    with pytest.raises(ValueError, match="X has 2 features, but FrozenClassifier is expecting 3"):
        QuantileSVC().fit(X, Y).at(0.3).predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        alone.predict(NAMED.assign(a=np.nan))


def test_tags_say_what_it_takes():
    tags = get_tags(QuantileSVC().fit(X, Y).at(0.5))
    assert tags.estimator_type == "classifier" and not tags.classifier_tags.multi_class
    assert tags.input_tags.sparse and not tags.input_tags.pairwise
    # rows of a kernel matrix are cut by folds, its columns stay: they are the training samples
    of_kernel = QuantileSVC(kernel="precomputed").fit(X @ X.T, Y).at(0.5)
    assert not get_tags(of_kernel).input_tags.sparse
    assert not get_tags(of_kernel).input_tags.pairwise
    assert len(cross_val_score(of_kernel, X_NEW @ X.T, Y_NEW, cv=3)) == 3


def test_coefficients_have_the_shapes_and_signs_of_scikit_learn():
    cancer, y = load_breast_cancer(return_X_y=True)
    cancer = scale(cancer)
    theirs = SVC(C=0.1, kernel="linear", tol=1e-9).fit(cancer, y)
    for pos_label in (None, 0):
        model = QuantileSVC(C=0.1, intercept="free", pos_label=pos_label).fit(cancer, y)
        ours = model.at(0.5)
        for each in (ours, model):
            assert each.coef_.shape == theirs.coef_.shape
            assert each.intercept_.shape == theirs.intercept_.shape
            assert_allclose(each.coef_, theirs.coef_, rtol=0, atol=1e-5)
            assert_allclose(each.intercept_, theirs.intercept_, rtol=0, atol=1e-5)
        decided = cancer @ ours.coef_[0] + ours.intercept_[0]
        assert_allclose(ours.decision_function(cancer), decided, rtol=0, atol=1e-12)
    theirs = SVC(C=0.1, gamma=0.02, tol=1e-9).fit(cancer, y)
    for pos_label in (None, 0):
        model = QuantileSVC(C=0.1, gamma=0.02, kernel="rbf", intercept="free", pos_label=pos_label)
        ours = model.fit(cancer, y).at(0.5)
        assert not hasattr(ours, "coef_")
        assert ours.dual_coef_.shape == (1, len(ours.support_)) == (1, len(ours.support_vectors_))
        assert_array_equal(cancer[ours.support_], ours.support_vectors_)
        same = np.zeros((2, len(y)))
        same[0, ours.support_], same[1, theirs.support_] = ours.dual_coef_[0], theirs.dual_coef_[0]
        assert_allclose(*same, rtol=0, atol=1e-5)


def test_it_stays_what_it_is():
    alone = QuantileSVC().fit(X, Y).at(0.3)
    coef = alone.coef_.copy()
    assert clone(alone) is alone
    assert alone.fit(-X, Y) is alone
    assert_array_equal(alone.coef_, coef)
    assert alone.set_params() is alone
    with pytest.raises(ValueError, match=r"classifier of tau=0\.3, which cannot be changed"):
        alone.set_params(tau=0.5)
    # so that it is evaluated, calibrated and selected by as it is
    scores = cross_val_score(alone, X_NEW, Y_NEW, cv=3)
    assert scores.mean() == pytest.approx(alone.score(X_NEW, Y_NEW))
    calibrated = CalibratedClassifierCV(alone, cv=3).fit(X_NEW, Y_NEW)
    assert calibrated.predict_proba(X_NEW).shape == (len(X_NEW), 2)
    assert make_pipeline(alone).fit(X, Y).score(X_NEW, Y_NEW) == alone.score(X_NEW, Y_NEW)
    chosen = SelectFromModel(alone, prefit=True, max_features=1, threshold=-np.inf)
    assert_array_equal(chosen.transform(X)[:, 0], X[:, np.abs(coef[0]).argmax()])


def test_one_tau_alone_has_no_probabilities():
    alone = QuantileSVC().fit(X, Y).at(0.3)
    assert not hasattr(alone, "predict_proba")
    with pytest.raises(AttributeError, match="use predict_proba of the model"):
        alone.predict_proba(X)


def test_it_is_made_by_at_only():
    bare = FrozenClassifier(0.3)
    for ask in (bare.predict, bare.decision_function, bare.fit):
        with pytest.raises(NotFittedError, match="made by `at` of a fitted QuantileSVC"):
            ask(X)
    with pytest.raises(NotFittedError):
        bare.save("nowhere.tau")
    assert not hasattr(bare, "coef_")


# Those that fit to data of their own make no sense here: nothing is fitted.
CHECKS = [
    "check_estimator_cloneable",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_estimator_repr",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_estimators_unfitted",
]


@pytest.mark.parametrize("name", CHECKS)
def test_the_checks_of_scikit_learn(name):
    unfitted = name in ("check_estimators_unfitted", "check_no_attributes_set_in_init")
    alone = FrozenClassifier(0.3) if unfitted else made("linear")[0].at(0.3)
    getattr(estimator_checks, name)("FrozenClassifier", alone)


# --- costs ---------------------------------------------------------------------------------------


def test_its_score_with_costs_is_what_its_decisions_cost():
    model = QuantileSVC(pos_label="no").fit(X, Y)
    alone, weight = model.at(0.5), np.linspace(0.5, 2.0, len(Y_NEW))
    predicted = alone.predict(X_NEW)
    alarm, miss = (predicted == "no") & (Y_NEW == "yes"), (predicted == "yes") & (Y_NEW == "no")
    assert alarm.any() and miss.any()
    cost = np.average(3.0 * alarm + 7.0 * miss, weights=weight)
    found = alone.score(X_NEW, Y_NEW, sample_weight=weight, cost_fp=3.0, cost_fn=7.0)
    assert found == pytest.approx(-cost)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_it_comes_back_from_its_file(kind, tmp_path):
    model, new = made(kind)
    for tau in (0.0, 0.3, 1.0):
        alone = model.at(tau)
        alone.save(tmp_path / "alone.tau")
        again = tp.load(tmp_path / "alone.tau")
        assert type(again) is FrozenClassifier and again.tau == tau
        assert again.pos_label_ == alone.pos_label_
        assert_array_equal(again.classes_, alone.classes_)
        assert_array_equal(again.decision_function(new), alone.decision_function(new))
        assert_array_equal(again.predict(new), alone.predict(new))
        assert hasattr(again, "feature_names_in_") == (kind == "named")
        again.save(tmp_path / "again.tau")
        assert (tmp_path / "again.tau").read_bytes() == (tmp_path / "alone.tau").read_bytes()
        assert len(pickle.dumps(again)) > 0


def test_its_file_is_small_and_holds_no_training_data(tmp_path):
    model = QuantileSVC().fit(X, Y)
    model.at(0.3).save(tmp_path / "alone.tau")
    _, arrays = read_container(tmp_path / "alone.tau")
    assert [array.shape for array in arrays.values()] == [(3,)]


def test_functions_are_not_stored(tmp_path):
    alone = QuantileSVC(kernel=laplacian_kernel).fit(X, Y).at(0.5)
    with pytest.raises(ValueError, match="Python function cannot be stored"):
        alone.save(tmp_path / "alone.tau")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["linear", "rbf", "precomputed"])
def test_what_cannot_be_is_refused(kind, tmp_path):
    model, _ = made(kind)
    file = tmp_path / "alone.tau"
    model.at(0.3).save(file)
    content, arrays = read_container(file)
    wrong = [
        {"tau": 1.5},
        {"tau": None},
        {"classes": {"dtype": "<i8", "values": [1, 2, 3]}},
        {"positive": 2},
        {"intercept": None},
        {"n_features": 2},
        {"n_features": 0},
        {"feature_names": ["a"]},
        {"kernel": "magic"},
        {"kernel": None},
        {"coef" if kind == "linear" else "dual_coef": "nothing"},
        {"preparation": {}, "trained": {}},
    ]
    if kind == "rbf":
        wrong += [{"gamma": -1.0}, {"gamma": None}, {"support_vectors": None}]
    for change in wrong:
        write_container(file, content | change, arrays)
        with pytest.raises(tp.ModelFileError):
            tp.load(file)
    for name, array in arrays.items():
        others = [np.full_like(array, np.nan)] if array.dtype.kind == "f" else []
        if name.startswith("support."):
            others = [array[::-1].copy(), array - 1000]
            others += [array + 1000] if kind == "precomputed" else []
        for other in others:
            write_container(file, content, arrays | {name: other})
            with pytest.raises(tp.ModelFileError):
                tp.load(file)


@pytest.mark.parametrize("kind", ["linear", "rbf", "precomputed"])
def test_descriptions_with_anything_in_any_place_are_refused_or_harmless(kind, tmp_path):
    model, new = made(kind)
    file = tmp_path / "alone.tau"
    model.at(0.3).save(file)
    content, arrays = read_container(file)
    for place in places(content):
        for value in ANYTHING:
            write_container(file, altered(content, place, value), arrays)
            try:
                alone = tp.load(file)
            except tp.ModelFileError as error:
                assert "\n" not in str(error)
                continue
            if place == ("n_features",):  # more training samples than the kernel is given of
                with pytest.raises(ValueError, match="features"):
                    alone.predict(new)
            else:
                assert len(alone.predict(new)) == len(new)
