"""Pipelines that a model file cannot hold: the error names the step and says what to do."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

import taupath as tp
from taupath.preparation.pipelines import translated

RNG = np.random.default_rng(0)
HEIGHTS = pd.DataFrame({"height": RNG.normal(1.7, 0.1, 60), "code": RNG.integers(1, 5, 60)})
Y = np.where(HEIGHTS["height"] + 0.05 * RNG.normal(size=60) > 1.7, "no", "yes")


class Mine(TransformerMixin, BaseEstimator):
    """A transformer of somebody's own."""

    def fit(self, X, y=None):
        self.fitted_ = True
        return self

    def transform(self, X):
        return X


class MyScaler(StandardScaler):
    """One that may do anything."""


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ([("pca", PCA(1))], r"step 'pca' \(PCA\) cannot be stored: .*apply this step"),
        ([("mine", Mine())], r"step 'mine' \(Mine\) cannot be stored"),
        ([("mine", MyScaler())], r"step 'mine' \(MyScaler\) cannot be stored"),
        ([("log", FunctionTransformer(np.log1p))], r"step 'log' .*holds no code; apply it to"),
        ([("scale", MinMaxScaler(clip=True))], r"step 'scale' .*train with clip=False"),
        ([("fill", SimpleImputer(missing_values=-1))], r"step 'fill' .*write missing cells as NaN"),
        (
            [("scale", StandardScaler()), ("code", OneHotEncoder(handle_unknown="ignore"))],
            r"step 'code' .*encode raw columns",
        ),
        (
            [("prep", ColumnTransformer([("in", make_pipeline(PCA(1)), ["code"])]))],
            r"step 'pca' in 'in' in 'prep' \(PCA\)",
        ),
        (
            [
                (
                    "prep",
                    ColumnTransformer(
                        [("a", "passthrough", ["code"])], transformer_weights={"a": -1.0}
                    ),
                )
            ],
            "the weight of 'a' must be above 0",
        ),
    ],
)
def test_steps_that_cannot_be_stored_are_named(steps, said, tmp_path):
    pipeline = Pipeline([*steps, ("svc", tp.QuantileSVC(C=0.1))]).fit(HEIGHTS, Y)
    with pytest.raises(ValueError, match=said) as caught:
        tp.save(pipeline, tmp_path / "model.tau")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "model.tau").exists()


def test_estimators_that_cannot_be_stored_are_named(tmp_path):
    file = tmp_path / "model.tau"
    for last, said in (
        (LogisticRegression(), r"step 'last' \(LogisticRegression\) cannot be stored"),
        (tp.QuantileSVC(kernel=laplacian_kernel), "step 'last' .*its kernel is a Python function"),
        (
            GridSearchCV(tp.QuantileSVC(), {"C": [0.1, 1.0]}, cv=2),
            r"step 'last' \(GridSearchCV\) .*give its best_estimator_",
        ),
    ):
        pipeline = Pipeline([("scale", StandardScaler()), ("last", last)]).fit(HEIGHTS, Y)
        with pytest.raises(ValueError, match=said):
            tp.save(pipeline, file)
    with pytest.raises(TypeError, match="a LogisticRegression cannot be stored; give a path"):
        tp.save(LogisticRegression().fit(HEIGHTS, Y), file)
    X = StandardScaler().fit_transform(HEIGHTS)
    search = GridSearchCV(tp.QuantileSVC(), {"C": [0.1, 1.0]}, cv=2).fit(X, Y)
    with pytest.raises(TypeError, match="a GridSearchCV cannot be stored; give its best_estimator"):
        tp.save(search, file)
    for unfitted in (make_pipeline(StandardScaler(), tp.QuantileSVC()), tp.QuantileSVC()):
        with pytest.raises(ValueError, match="not fitted"):
            tp.save(unfitted, file)
    assert not file.exists()


@pytest.mark.parametrize(
    ("values", "steps", "said"),
    [
        (["a", None, np.nan], [], "several kinds of missing cells"),
        (["a", "NA", None], [], "several kinds of missing cells"),
        (["a", "a", None, np.nan], [SimpleImputer(strategy="most_frequent")], "values=None, or"),
        (["a", " a", "b"], [], "differ in blanks alone"),
        ([None, None, None], [], "missing cells only"),
        ([pd.Timestamp("2020-01-01"), pd.Timestamp("2020-01-02")] * 2, [], "use text, numbers or"),
    ],
)
def test_values_that_a_file_cannot_hold_are_refused(values, steps, said):
    frame = pd.DataFrame({"town": values}, dtype=object)
    transformer = make_pipeline(*steps, OneHotEncoder()).fit(frame)
    with pytest.raises(ValueError, match=f"step 'onehotencoder' in 'it' .*column 'town'.*{said}"):
        translated([("it", transformer)], ["town"])


def test_text_as_a_number_is_refused():
    frame = pd.DataFrame({"town": ["1", None, "2"]}, dtype=object)
    imputer = SimpleImputer(strategy="most_frequent", missing_values=None).fit(frame)
    with pytest.raises(ValueError, match="column 'town' holds text that is used as a number"):
        translated([("it", imputer)], ["town"])
