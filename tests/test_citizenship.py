"""Estimators among scikit-learn's: its own checks, data frames, routing, representations."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from taupath import QuantileSVC, QuantileSVCCV, QuantileSVR

# f_½(x) is what an SVM decides by, and a probability is read off the whole path: they agree in
# their decisions, not in their order. Who wants both takes monotone=True, which passes.
OTHER_ORDER = {
    "check_decision_proba_consistency": "f at τ = ½ and the length of {τ : f ≥ 0} are two rankings"
}

ESTIMATORS = [
    QuantileSVC(),
    QuantileSVC(monotone=True),
    QuantileSVC(kernel="rbf", gamma=0.5, intercept="free"),
    QuantileSVC(multi_class="ovr"),
    QuantileSVCCV([0.1, 1.0], cv=3),
    QuantileSVR(),
    QuantileSVR(kernel="rbf", gamma=0.5, intercept="augmented"),
    QuantileSVR(conformal=2),
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    ESTIMATORS,
    expected_failed_checks=lambda e: (
        {} if isinstance(e, QuantileSVR) or e.monotone else OTHER_ORDER
    ),
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


@pytest.mark.parametrize("model", [QuantileSVC(), QuantileSVR()])
def test_other_columns_and_no_fit_are_refused(model):
    y = Y if isinstance(model, QuantileSVC) else np.arange(90.0)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.fit(X, y)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X.rename(columns={"age": "years"}))
    with pytest.raises(ValueError, match="features"):
        model.fit(X.to_numpy(), y).predict(X.to_numpy()[:, :2])
    words = X.assign(age="old")
    with pytest.raises(ValueError, match="could not convert string to float"):
        model.fit(words, y)


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


def test_they_show_themselves():
    assert repr(QuantileSVC(C=2.0, tau=0.3)) == "QuantileSVC(C=2.0, tau=0.3)"
    html = QuantileSVC().fit(X, Y)._repr_html_()
    assert "QuantileSVC" in html and "<script" in html


def test_tags_say_what_they_take():
    assert get_tags(QuantileSVC()).input_tags.sparse
    assert not get_tags(QuantileSVC()).input_tags.pairwise
    for model in (QuantileSVC(kernel="precomputed"), QuantileSVR(kernel="precomputed")):
        assert get_tags(model).input_tags.pairwise
        assert not get_tags(model).input_tags.sparse
    assert get_tags(QuantileSVC()).classifier_tags.multi_class
