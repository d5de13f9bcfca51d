"""Estimators among scikit-learn's: its own checks, data frames, routing, representations."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import NotFittedError, UnsetMetadataPassedError
from sklearn.metrics import balanced_accuracy_score, roc_auc_score
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    KFold,
    TunedThresholdClassifierCV,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from taupath import QuantileSVC, QuantileSVCCV, QuantileSVR, QuantileSVRCV

# f_½(x) is what an SVM decides by, and a probability is read off the whole path: they agree in
# their decisions, not in their order. Who wants both takes monotone=True, which passes.
OTHER_ORDER = {
    "check_decision_proba_consistency": "f at τ = ½ and the length of {τ : f ≥ 0} are two rankings"
}

# Solutions near the optimum depend on the order of steps; method="exact" passes.
NEAR_OPTIMUM = dict.fromkeys(
    (
        "check_sample_weight_equivalence_on_dense_data",
        "check_sample_weight_equivalence_on_sparse_data",
    ),
    "weights and copies lead to different solutions near the optimum of each fold",
)

ESTIMATORS = [
    QuantileSVC(),
    QuantileSVC(monotone=True),
    QuantileSVC(kernel="rbf", gamma=0.5, intercept="free"),
    QuantileSVC(multi_class="ovr"),
    QuantileSVCCV([0.1, 1.0], cv=3),
    QuantileSVCCV([0.1, 1.0], cv=3, method="exact"),
    QuantileSVR(),
    QuantileSVR(kernel="rbf", gamma=0.5, intercept="augmented"),
    QuantileSVR(conformal=2),
    QuantileSVRCV([3.0], gamma="scale", cv=2),
    QuantileSVRCV([1.0, 10.0], kernel="linear", cv=3),
]


def expected_failures(estimator):
    if isinstance(estimator, QuantileSVCCV):
        return NEAR_OPTIMUM if estimator.method == "auto" else {}
    return {} if isinstance(estimator, QuantileSVR) or estimator.monotone else OTHER_ORDER


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # data without a pattern
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")  # of its own checks
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=expected_failures,
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


def frame(n=90):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 3))
    table = pd.DataFrame(values, columns=["age", "height", "weight"])
    return table, np.where(values[:, 0] + rng.normal(size=n) > 0.0, "ill", "well")


X, Y = frame()


def test_data_frames_of_either_kind_are_arrays_with_names():
    by_array = QuantileSVC().fit(X.to_numpy(), Y)
    for table in (X, pl.from_pandas(X)):
        model = QuantileSVC().fit(table, Y)
        assert_array_equal(model.feature_names_in_, ["age", "height", "weight"])
        assert_array_equal(model.predict_proba(table), by_array.predict_proba(X.to_numpy()))
    labels = pl.Series(Y.tolist())
    assert_array_equal(QuantileSVC().fit(pl.from_pandas(X), labels).classes_, ["ill", "well"])
    numbers = X["age"] * 2.0
    assert_allclose(
        QuantileSVR().fit(X, numbers).predict(X, [0.2, 0.8]),
        QuantileSVR().fit(X.to_numpy(), numbers.to_numpy()).predict(X.to_numpy(), [0.2, 0.8]),
    )


def test_arrays_are_the_same_samples_in_every_form():
    values, labels = X.to_numpy(), np.where(Y == "ill", 1, 0)
    plain = QuantileSVC().fit(values, labels)
    forms = [values.tolist(), np.asfortranarray(values), values[::-1][::-1], values.astype(">f8")]
    for samples in forms:
        for y in (labels, labels.astype(float), labels == 1, labels.tolist()):
            model = QuantileSVC().fit(samples, y)
            assert model.n_features_in_ == 3
            assert_array_equal(model.path_.taus, plain.path_.taus)
            assert_array_equal(model.predict_proba(samples), plain.predict_proba(values))


@pytest.mark.parametrize("model", [QuantileSVC(), QuantileSVR()])
def test_a_fit_to_an_array_forgets_the_names_of_a_data_frame(model):
    y = np.arange(90) % 2
    assert hasattr(model.fit(X, y), "feature_names_in_")
    model.fit(X.to_numpy()[:, :2], y)
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 2


@pytest.mark.parametrize(
    ("samples", "y", "message"),
    [
        (np.ones((4, 2)), np.array([0.0, 1.0, np.inf, 0.0]), "y contains infinity"),
        (np.ones((4, 2)), np.array([0.0, 1.0, np.nan, 0.0]), "y contains NaN"),
        (np.ones((4, 2)), np.array([0, 1, 0]), "inconsistent numbers of samples"),
        (np.ones((4, 2)), np.array([[0, 1], [1, 0], [0, 1], [1, 1]]), "1d array"),
        (np.ones((4, 0)), np.array([0, 1, 0, 1]), "0 feature"),
        (np.ones((0, 2)), np.array([], dtype=int), "0 sample"),
        (np.ones(4), np.array([0, 1, 0, 1]), "Expected 2D array"),
        (np.full((4, 2), np.nan), np.array([0, 1, 0, 1]), "X contains NaN"),
    ],
)
@pytest.mark.parametrize("model", [QuantileSVC(), QuantileSVR()])
def test_arrays_of_the_wrong_form_are_refused_and_change_nothing(model, samples, y, message):
    fitted = clone(model).fit(X, np.arange(90) % 2)
    with pytest.raises(ValueError, match=message):
        fitted.fit(samples, y)
    assert_array_equal(fitted.feature_names_in_, ["age", "height", "weight"])


def test_numbers_that_are_no_labels_are_refused():
    with pytest.raises(ValueError, match="continuous"):
        QuantileSVC().fit(X.to_numpy(), np.linspace(0.0, 1.0, 90))


@pytest.mark.parametrize(
    "model", [QuantileSVC(), QuantileSVR(), QuantileSVRCV([1.0], kernel="linear", cv=2)]
)
def test_other_columns_and_no_fit_are_refused(model):
    y = Y if isinstance(model, QuantileSVC) else np.arange(90.0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="features"):
        model.fit(X.to_numpy(), y).predict(X.to_numpy()[:, :2])


@pytest.mark.parametrize(
    "model",
    [
        QuantileSVC(),
        QuantileSVCCV([1.0], cv=3),
        QuantileSVR(),
        QuantileSVRCV([1.0], kernel="linear", cv=2),
    ],
)
def test_columns_without_numbers_are_named(model):
    y = np.arange(90.0) if isinstance(model, QuantileSVR) else Y
    words = X.assign(height="tall")
    message = "X must hold numbers only, its column 'height' does not: .*'tall'"
    for table in (words, pl.DataFrame(words.to_dict("list"))):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(table, y)
    with pytest.raises(ValueError, match="X must hold numbers only, its column 1 does not"):
        clone(model).fit(words.to_numpy(), y)
    with pytest.raises(ValueError, match=message):
        clone(model).fit(X, y).predict(words)
    # numbers written as text are numbers, here as in scikit-learn; other errors stay as they are
    clone(model).fit(X.astype(str).to_numpy().astype(object), y)
    with pytest.raises(ValueError, match="X contains NaN"):
        clone(model).fit(X.assign(height=np.nan), y)
    with pytest.raises(ValueError, match="2D array"):
        clone(model).fit(X["age"].to_numpy(), y)


def test_one_class_is_refused_wherever_it_is_left():
    with pytest.raises(ValueError, match="y has one class only: 'ill'"):
        QuantileSVC().fit(X, np.full(90, "ill"))
    with pytest.raises(ValueError, match="y has one class only: 'ill'"):
        QuantileSVC().fit(X, Y, sample_weight=Y == "ill")
    order = np.argsort(Y)
    with pytest.raises(ValueError, match="y has one class only"):
        cross_validate(QuantileSVC(), X.iloc[order], Y[order], cv=KFold(2), error_score="raise")


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # data without a pattern
def test_costs_are_routed_through_a_pipeline():
    with config_context(enable_metadata_routing=True):
        model = QuantileSVC().set_predict_request(tau=True).set_fit_request(sample_weight=True)
        pipe = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model)
        weight = np.random.default_rng(1).uniform(size=90)
        pipe.fit(X, Y, sample_weight=weight)
        scaled = StandardScaler().fit_transform(X)
        same = QuantileSVC().fit(scaled, Y, sample_weight=weight)
        assert_array_equal(pipe.predict(X, tau=0.2), same.predict(scaled, tau=0.2))
        assert_array_equal(
            make_pipeline(StandardScaler(), QuantileSVC().set_predict_request(cost_matrix=True))
            .fit(X, Y)
            .predict(X, cost_matrix=[[0, 1], [9, 0]]),
            QuantileSVC().fit(scaled, Y).predict(scaled, tau=0.1),
        )
        routed = QuantileSVC().set_fit_request(sample_weight=True)
        routed.set_score_request(sample_weight=False)
        scores = cross_validate(routed, X, Y, params={"sample_weight": weight})
        assert len(scores["test_score"]) == 5


def test_every_cost_is_routed():
    names = {"tau", "taus", "cost_fp", "cost_fn", "cost_matrix"}
    with config_context(enable_metadata_routing=True):
        for model in (QuantileSVC(), QuantileSVCCV([1.0], cv=3)):
            asked = model.set_predict_request(**dict.fromkeys(names, True)).get_metadata_routing()
            assert set(asked.predict.requests) == names
            assert set(asked.fit.requests) == {"sample_weight", "cost_fp", "cost_fn"}
        fit = QuantileSVC().set_predict_request(cost_fp=True, cost_fn=True)
        pipe = make_pipeline(StandardScaler(), fit).fit(X, Y)
        cost = np.linspace(0.1, 5.0, 90)
        assert_array_equal(
            pipe.predict(X, cost_fp=cost, cost_fn=1.0),
            pipe[-1].predict(pipe[0].transform(X), tau=cost / (1.0 + cost)),
        )
        # costs that were not asked for are refused by name
        with pytest.raises(UnsetMetadataPassedError, match="tau"):
            pipe.predict(X, tau=0.2)
        fan = make_pipeline(StandardScaler(), QuantileSVR().set_predict_request(quantile=True))
        fan.fit(X, np.arange(90.0))
        assert fan.predict(X, quantile=[0.1, 0.9]).shape == (90, 2)


def test_weights_are_routed_to_the_regressor_and_the_choice_of_C():
    weight = np.random.default_rng(2).uniform(0.5, 2.0, size=90)
    scaled = StandardScaler().fit_transform(X)
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        for model, y in (
            (QuantileSVR(conformal=3), np.arange(90.0)),
            (QuantileSVRCV([1.0], kernel="linear", cv=3), np.arange(90.0)),
            (QuantileSVCCV([0.1, 1.0], cv=3), Y),
        ):
            asked = clone(model).set_fit_request(sample_weight=True)
            pipe = make_pipeline(scaler, asked).fit(X, y, sample_weight=weight)
            alone = clone(model).fit(scaled, y, sample_weight=weight)
            assert_array_equal(pipe.predict(X), alone.predict(scaled))


# -- among other estimators ------------------------------------------------------------------------


def test_a_threshold_is_a_tau():
    for threshold in (0.2, 0.7):
        fixed = FixedThresholdClassifier(
            QuantileSVC(C=0.1), threshold=threshold, response_method="predict_proba"
        ).fit(X, Y)
        same = QuantileSVC(C=0.1, monotone=True).fit(X, Y)
        assert_array_equal(fixed.predict(X), same.predict(X, tau=threshold))
    at_zero = FixedThresholdClassifier(QuantileSVC(tau=0.3), threshold=0.0)
    at_zero.set_params(response_method="decision_function").fit(X, Y)
    assert_array_equal(at_zero.predict(X), QuantileSVC(tau=0.3).fit(X, Y).predict(X))


def test_thresholds_are_tuned_and_probabilities_calibrated():
    tuned = TunedThresholdClassifierCV(QuantileSVC(C=0.1), scoring="balanced_accuracy", cv=3)
    tuned.fit(X, Y)
    assert 0.0 < tuned.best_threshold_ < 1.0
    assert balanced_accuracy_score(Y, tuned.predict(X)) > 0.6
    for method in ("sigmoid", "isotonic"):
        calibrated = CalibratedClassifierCV(QuantileSVC(C=0.1), method=method, cv=3).fit(X, Y)
        proba = calibrated.predict_proba(X)
        assert_allclose(proba.sum(axis=1), 1.0)
        assert roc_auc_score(Y, proba[:, 1]) > 0.7


def test_grids_are_searched_over_their_parameters():
    pipe = make_pipeline(StandardScaler(), QuantileSVC(kernel="rbf"))
    grid = {"quantilesvc__C": [1e-4, 1.0], "quantilesvc__tau": [0.5, 0.8]}
    search = GridSearchCV(pipe, grid, cv=3, scoring="neg_brier_score", error_score="raise")
    search.fit(X, Y == "well")
    assert search.best_params_["quantilesvc__C"] == 1.0
    assert search.best_estimator_.predict_proba(X).shape == (90, 2)
    # a kernel matrix is cut by folds, since the estimator says that it is one
    K = (X @ X.T).to_numpy()
    by_kernel = GridSearchCV(QuantileSVC(kernel="precomputed"), {"C": [0.1, 1.0]}, cv=3).fit(K, Y)
    by_samples = GridSearchCV(QuantileSVC(), {"C": [0.1, 1.0]}, cv=3).fit(X, Y)
    assert_allclose(
        by_kernel.cv_results_["mean_test_score"], by_samples.cv_results_["mean_test_score"]
    )
    of_folds = GridSearchCV(QuantileSVR(conformal=3), {"conformal": [3, 5]}, cv=3)
    assert of_folds.fit(X, np.arange(90.0)).best_estimator_.calibration_ is not None


def test_a_pipeline_with_data_frames_in_between_hands_on_the_names():
    for kind in ("pandas", "polars"):
        pipe = make_pipeline(StandardScaler(), QuantileSVC()).set_output(transform=kind).fit(X, Y)
        assert_array_equal(pipe[-1].feature_names_in_, ["age", "height", "weight"])
        plain = make_pipeline(StandardScaler(), QuantileSVC()).fit(X, Y)
        assert_array_equal(pipe.predict_proba(X), plain.predict_proba(X))


def test_they_show_themselves():
    assert repr(QuantileSVC(C=2.0, tau=0.3)) == "QuantileSVC(C=2.0, tau=0.3)"
    for model, y in (
        (QuantileSVC(C=2.5), Y),
        (QuantileSVCCV([2.5], cv=3), Y),
        (QuantileSVR(C=2.5, conformal=3), np.arange(90.0)),
        (QuantileSVRCV([2.5], kernel="linear", cv=3), np.arange(90.0)),
    ):
        for each in (model, clone(model).fit(X, y), make_pipeline(StandardScaler(), model)):
            html = each._repr_html_()
            assert type(model).__name__ in html and "2.5" in html
            assert "</style>" in html


def test_tags_say_what_they_take():
    assert get_tags(QuantileSVC()).input_tags.sparse
    assert not get_tags(QuantileSVC()).input_tags.pairwise
    for model in (QuantileSVC(kernel="precomputed"), QuantileSVR(kernel="precomputed")):
        assert get_tags(model).input_tags.pairwise
        assert not get_tags(model).input_tags.sparse
    assert get_tags(QuantileSVRCV()).input_tags.sparse
    assert get_tags(QuantileSVC()).classifier_tags.multi_class
