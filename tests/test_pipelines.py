"""Fitted scikit-learn pipelines in model files: the same predictions, for raw files too."""

import io
import warnings
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

import taupath as tp
from taupath.preparation.feature_state import feature_state, features_from_state
from taupath.preparation.pipelines import translated
from taupath.tables import TableError, as_table

NUMBERS, TEXTS = ["age", "height", "score"], ["job", "town"]
ROUNDING = 1e-12


def rows(n=120, seed=0):
    """Return raw columns of all kinds, with missing cells in some."""
    rng = np.random.default_rng(seed)

    def some(values):
        return np.where(rng.random(n) < 0.15, np.nan, values)

    frame = pd.DataFrame(
        {
            "age": some(rng.normal(40.0, 10.0, n).round(2)),
            "job": rng.choice(["clerk", "nurse", "smith", "cook"], n, p=[0.5, 0.3, 0.15, 0.05]),
            "height": rng.normal(1.7, 0.1, n),
            "smoker": rng.random(n) < 0.4,
            "town": rng.choice(["Bonn", "Köln", None], n, p=[0.5, 0.4, 0.1]),
            "score": some(rng.integers(0, 9, n).astype(float)),
            "code": rng.integers(1, 5, n),
            "level": rng.choice([0.5, 1.0, 2.5], n),
        }
    )
    return frame


def labels(frame, seed=0):
    rng = np.random.default_rng(seed)
    signal = 14.0 * (frame["height"] - 1.7) + frame["smoker"] + 0.3 * frame["code"] - 1.2
    return np.where(signal + rng.normal(0.0, 0.6, len(frame)) > 0.0, "no", "yes")


TRAIN, NEW = rows(), rows(60, seed=1)
Y = labels(TRAIN)


def features_of(transformer, frame):
    """Return the features of a fitted transformer, as dense floats."""
    with warnings.catch_warnings():  # of scikit-learn, about what the frames have on purpose
        warnings.filterwarnings("ignore", message="Found unknown categories")
        warnings.filterwarnings("ignore", message="Skipping features without any observed")
        X = transformer.transform(frame)
    X = X.toarray() if sp.issparse(X) else np.asarray(X)
    return X.astype(np.float64)


def check_features(transformer, train=TRAIN, *new):
    """Compare a fitted transformer's features with those of its translation, stored and read."""
    with warnings.catch_warnings():  # one column is empty on purpose
        warnings.filterwarnings("ignore", message="Skipping features without any observed")
        transformer.fit(train)
    names = [str(name) for name in train.columns]
    columns = translated([("it", transformer)], names)
    columns = features_from_state(feature_state(columns), 2)
    for frame in (train, *new):
        expected = features_of(transformer, frame)
        text = io.StringIO()
        frame.to_csv(text, index=False)
        for table in (as_table(frame), written(frame)):
            with warnings.catch_warnings():  # new values are part of what is compared
                warnings.filterwarnings("ignore", message=".*values that training did not have")
                found = columns.apply(table)
            found = found.toarray() if sp.issparse(found) else found
            assert found.shape == expected.shape
            np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)
    return columns


def written(frame):
    """Return the table that is read where a frame was written to a CSV file."""
    from taupath.tables.delimited import read_delimited

    return read_delimited(frame.to_csv(index=False).encode(), "frame.csv")


# -- one step ----------------------------------------------------------------------------------


SCALERS = [
    StandardScaler(),
    StandardScaler(with_mean=False),
    StandardScaler(with_std=False),
    StandardScaler(with_mean=False, with_std=False),
    MinMaxScaler(),
    MinMaxScaler(feature_range=(-3.0, 5.0)),
    RobustScaler(),
    RobustScaler(with_centering=False, quantile_range=(10.0, 80.0)),
    RobustScaler(with_scaling=False, unit_variance=True),
    MaxAbsScaler(),
]


@pytest.mark.parametrize("scaler", SCALERS, ids=repr)
def test_scalers(scaler):
    columns = ["height", "smoker", "code", "level"]
    constant = TRAIN[columns].assign(same=3.0)
    check_features(scaler, constant, NEW[columns].assign(same=4.0))


@pytest.mark.parametrize("strategy", ["mean", "median", "most_frequent", "constant"])
@pytest.mark.parametrize("add_indicator", [False, True])
@pytest.mark.parametrize("keep_empty_features", [False, True])
def test_imputers_of_numbers(strategy, add_indicator, keep_empty_features):
    imputer = SimpleImputer(
        strategy=strategy, add_indicator=add_indicator, keep_empty_features=keep_empty_features
    )
    train = TRAIN[NUMBERS].assign(nothing=np.nan)
    new = NEW[NUMBERS].assign(nothing=1.5)
    new.loc[0, "height"] = np.nan  # never missing in training
    check_features(imputer, train, new)
    for before, after in product(SCALERS[:5:4], SCALERS[6::3]):
        check_features(make_pipeline(before, imputer, after), train[NUMBERS], new[NUMBERS])


@pytest.mark.parametrize("drop", [None, "first", "if_binary", "by name"])
@pytest.mark.parametrize("handle_unknown", ["error", "ignore", "infrequent_if_exist", "warn"])
@pytest.mark.parametrize("rare", [{}, {"min_frequency": 20}, {"max_categories": 2}], ids=str)
def test_encoders(drop, handle_unknown, rare):
    encoder = OneHotEncoder(drop=drop, handle_unknown=handle_unknown, **rare)
    columns = ["job", "code", "smoker"]
    if drop == "by name":
        encoder.set_params(drop=[TRAIN[name].mode()[0] for name in columns])
    new = NEW[columns].copy()
    if handle_unknown != "error":
        new.loc[0, "job"] = "pilot"
        new.loc[1, "code"] = 17
        new["job"] = new["job"].astype(object)
        new.loc[2, "job"] = None
    check_features(encoder, TRAIN[columns], new)
    check_features(make_pipeline(encoder, MaxAbsScaler()), TRAIN[columns], new)
    dense = encoder.set_params(sparse_output=False)
    check_features(make_pipeline(dense, StandardScaler()), TRAIN[columns], new)


def test_missing_cells_can_be_a_category():
    for missing in (None, np.nan):
        train = TRAIN[["town", "score"]].astype(object)
        train = train.where(train.notna(), missing)
        new = NEW[["town", "score"]].astype(object).where(NEW[["town", "score"]].notna(), missing)
        for drop, rare in product([None, "first"], [None, 25]):
            encoder = OneHotEncoder(drop=drop, min_frequency=rare, handle_unknown="ignore")
            columns = check_features(encoder, train, new)
            flags = [name for name in columns.feature_names if name.endswith("(missing)")]
            assert flags == ([] if rare else ["town (missing)", "score (missing)"])


@pytest.mark.parametrize("fill", ["most_frequent", "missing", "NA", "Bonn"])
@pytest.mark.parametrize("add_indicator", [False, True])
def test_imputed_text(fill, add_indicator):
    given = {"strategy": "constant", "fill_value": fill}
    if fill == "most_frequent":
        given = {"strategy": fill}
    steps = [SimpleImputer(add_indicator=add_indicator, **given)]
    for drop, unknown in product([None, "if_binary", "first"], ["error", "ignore"]):
        encoder = OneHotEncoder(drop=drop, handle_unknown=unknown, sparse_output=False)
        columns = check_features(make_pipeline(*steps, encoder), TRAIN[TEXTS], NEW[TEXTS])
        scaled = make_pipeline(*steps, encoder, StandardScaler())
        check_features(scaled, TRAIN[TEXTS], NEW[TEXTS])
    assert any("(missing)" in name for name in columns.feature_names) == (
        add_indicator or fill == "NA"
    )


def test_categories_of_numbers_are_found_in_files():
    train = pd.DataFrame({"code": [1, 2, 10], "level": [0.1 + 0.2, 1e-7, 2.0]})
    check_features(OneHotEncoder(), train)
    texts = train.astype(str).assign(code=["01", "2", "10"])  # text that a file reads as numbers
    check_features(OneHotEncoder(), texts)


@pytest.mark.parametrize("form", [str, str.lower, lambda text: str(int(text == "True"))])
def test_truth_values_may_be_written_in_several_ways(form):
    train = TRAIN[["smoker"]]
    for transformer in (OneHotEncoder(), StandardScaler(), FunctionTransformer()):
        columns = check_features(transformer, train)
        texts = train["smoker"].map(str).map(form)
        for table in (as_table({"smoker": texts}), written(texts.to_frame())):
            found = columns.apply(table)
            np.testing.assert_array_equal(found, columns.apply(as_table(train)))


# -- several steps -----------------------------------------------------------------------------


def numbers():
    return make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())


def texts(**how):
    return make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(**how))


TRANSFORMERS = {
    "names": make_column_transformer((numbers(), NUMBERS), (texts(), TEXTS)),
    "remainder": make_column_transformer(
        (numbers(), NUMBERS), (texts(drop="first"), TEXTS), remainder="passthrough"
    ),
    "scaled remainder": make_column_transformer(
        (texts(), TEXTS), ("drop", NUMBERS), remainder=StandardScaler()
    ),
    "places": ColumnTransformer(
        [("a", numbers(), [0, -3]), ("b", "passthrough", slice(6, None)), ("c", texts(), [1])]
    ),
    "slice of names": ColumnTransformer(
        [("a", numbers(), slice("height", "smoker")), ("b", "drop", slice("town", None))],
        remainder="drop",
    ),
    "mask": ColumnTransformer([("a", numbers(), [True] + [False] * 4 + [True, False, True])]),
    "selectors": make_column_transformer(
        (numbers(), make_column_selector(dtype_include="number")),
        (texts(), make_column_selector("town|job")),
        ("passthrough", make_column_selector("no such column")),
        remainder="passthrough",
    ),
    "twice": ColumnTransformer(
        [
            ("a", numbers(), ["age", "score"]),
            ("b", make_pipeline(SimpleImputer(), MinMaxScaler()), ["score", "age"]),
            ("c", numbers(), ["age"]),
            ("d", OneHotEncoder(), ["code", "smoker"]),
            ("e", OneHotEncoder(drop="first"), ["code"]),
            ("f", "passthrough", ["code", "smoker"]),
        ]
    ),
    "weights": ColumnTransformer(
        [("a", numbers(), NUMBERS), ("b", OneHotEncoder(), ["code"])],
        transformer_weights={"a": 0.5, "b": 3.0},
    ),
    "scaled together": make_pipeline(
        make_column_transformer((numbers(), NUMBERS), (texts(sparse_output=False), TEXTS)),
        None,
        RobustScaler(),
        "passthrough",
        FunctionTransformer(),
        MaxAbsScaler(),
    ),
    "chosen again": make_pipeline(
        make_column_transformer(
            (SimpleImputer(add_indicator=True), NUMBERS),
            (OneHotEncoder(sparse_output=False), ["code"]),
            remainder="drop",
            verbose_feature_names_out=False,
        ).set_output(transform="pandas"),
        make_column_transformer(
            (StandardScaler(), ["score", "missingindicator_age", "code_2"]),
            (MinMaxScaler(), [0]),
            ("drop", ["height"]),
            remainder="passthrough",
        ),
    ),
    "nested": make_column_transformer(
        (
            make_pipeline(
                make_column_transformer((numbers(), ["age"]), remainder="passthrough"),
                StandardScaler(),
            ),
            ["age", "height", "code"],
        ),
        (OneHotEncoder(), ["level", "job"]),
    ),
}


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_transformers_of_columns(name):
    check_features(TRANSFORMERS[name], TRAIN, NEW)


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_a_saved_pipeline_predicts_the_same(name, tmp_path):
    pipeline = Pipeline([("columns", TRANSFORMERS[name]), ("svc", tp.QuantileSVC(C=1.0))])
    pipeline.fit(TRAIN, Y)
    tp.save(pipeline, tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    assert b"pickle" not in (tmp_path / "model.tau").read_bytes()
    assert model.classes_.tolist() == ["no", "yes"] and model.pos_label_ == "yes"
    NEW.to_csv(tmp_path / "new.csv", index=False)
    for data in (NEW, NEW[NEW.columns[::-1]], pl.from_pandas(NEW), tmp_path / "new.csv"):
        np.testing.assert_allclose(
            model.predict_proba(data), pipeline.predict_proba(NEW), rtol=ROUNDING, atol=ROUNDING
        )
        f = model.decision_function(data, tau=0.4)
        expected = pipeline[-1].decision_function(pipeline[:-1].transform(NEW), tau=0.4)
        np.testing.assert_allclose(f, expected, rtol=ROUNDING, atol=ROUNDING)
        assert (model.predict(data, tau=0.4) == pipeline.predict(NEW, tau=0.4)).all()
    assert model.score(NEW, labels(NEW)) == pipeline.score(NEW, labels(NEW))


@pytest.mark.parametrize(
    "last",
    [
        tp.QuantileSVC(kernel="rbf", class_weight={"no": 2.0, "yes": 1.0}),
        tp.QuantileSVC(pos_label="no", tau=0.4),
        tp.QuantileSVC(pos_label="no", class_weight={"no": 2.0, "yes": 1.0}),
        tp.QuantileSVC(method="approximate", monotone=True),
        tp.QuantileSVCCV(Cs=[0.1, 1.0], cv=2, pos_label="no"),
    ],
    ids=repr,
)
def test_every_classifier_can_be_last(last, tmp_path):
    pipeline = make_pipeline(TRANSFORMERS["names"], make_pipeline(MinMaxScaler(), last))
    pipeline.fit(TRAIN, Y)
    tp.save(pipeline, tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    fitted = pipeline[-1][-1]
    assert model.pos_label_ == fitted.pos_label_
    for how in ({}, {"cost_fp": 2, "cost_fn": 3}, {"cost_matrix": [[0, 3], [2, 0]]}):
        assert (model.predict(NEW, **how) == pipeline.predict(NEW, **how)).all()
    found, expected = model.predict_proba(NEW), pipeline.predict_proba(NEW)
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=ROUNDING)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_several_classes_and_labels_that_are_no_text(multi_class, tmp_path):
    for grades in (np.array([3, 1, 2]), np.array([3.0, -1.0, 2.0]), np.array(["b", "a", "c"])):
        y = grades[TRAIN["code"].to_numpy() % 3]
        pipeline = make_pipeline(numbers(), tp.QuantileSVC(C=0.1, multi_class=multi_class))
        pipeline.fit(TRAIN[NUMBERS], y)
        tp.save(pipeline, tmp_path / "model.tau")
        model = tp.load(tmp_path / "model.tau")
        predicted = model.predict(NEW)
        assert predicted.dtype.kind == y.dtype.kind
        assert (predicted == pipeline.predict(NEW[NUMBERS])).all()
        found, expected = model.predict_proba(NEW), pipeline.predict_proba(NEW[NUMBERS])
        np.testing.assert_allclose(found, expected, rtol=1e-10, atol=ROUNDING)


def test_truth_values_as_labels(tmp_path):
    y, truth = (frame["height"] > 1.7 for frame in (TRAIN, NEW))
    pipeline = make_pipeline(numbers(), tp.QuantileSVC()).fit(TRAIN[NUMBERS], y)
    tp.save(pipeline, tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    assert model.predict(NEW).dtype == bool and model.pos_label_ is True
    expected = pipeline.score(NEW[NUMBERS], truth)
    for form in (truth, truth.tolist(), truth.map(str), truth.astype(int)):
        assert model.score(NEW, form) == expected


def test_regressions(tmp_path):
    y = TRAIN["height"] * 10 + TRAIN["code"]
    for last in (tp.QuantileSVR(C=2.0, quantile=0.3), tp.QuantileSVR(kernel="rbf", conformal=3)):
        pipeline = make_pipeline(TRANSFORMERS["names"], last).fit(TRAIN, y)
        tp.save(pipeline, tmp_path / "model.tau")
        model = tp.load(tmp_path / "model.tau")
        found = model.predict(NEW, quantile=[0.1, 0.9])
        expected = pipeline.predict(NEW, quantile=[0.1, 0.9])
        np.testing.assert_allclose(found, expected, rtol=1e-10)
        interval = pipeline[-1].predict_interval(pipeline[:-1].transform(NEW), 0.7)
        np.testing.assert_allclose(model.predict_interval(NEW, 0.7), interval, rtol=1e-10)
        np.testing.assert_allclose(model.predict(NEW), pipeline.predict(NEW), rtol=1e-10)


def test_a_pipeline_of_polars_frames(tmp_path):
    frame = pl.from_pandas(TRAIN)
    filled = SimpleImputer(missing_values=None, strategy="most_frequent")
    transformer = make_column_transformer(
        (numbers(), NUMBERS), (make_pipeline(filled, OneHotEncoder()), TEXTS)
    )
    pipeline = make_pipeline(transformer, tp.QuantileSVC(C=0.1)).fit(frame, Y)
    tp.save(pipeline, tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    expected = pipeline.predict_proba(pl.from_pandas(NEW))
    np.testing.assert_allclose(model.predict_proba(NEW), expected, rtol=ROUNDING, atol=ROUNDING)


def test_columns_without_names_are_called_by_their_places(tmp_path):
    X = TRAIN[NUMBERS].to_numpy()
    pipeline = make_pipeline(numbers(), tp.QuantileSVC(C=0.1)).fit(X, Y)
    tp.save(pipeline, tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    assert model.feature_names_in_.tolist() == ["x1", "x2", "x3"]
    new = NEW[NUMBERS]
    new.to_csv(tmp_path / "new.csv", index=False, header=False)
    expected = pipeline.predict_proba(new.to_numpy())
    for data in (new.to_numpy(), tmp_path / "new.csv", new.set_axis(["x1", "x2", "x3"], axis=1)):
        found = model.predict_proba(data)
        np.testing.assert_allclose(found, expected, rtol=ROUNDING, atol=ROUNDING)
    with pytest.raises(TableError, match="columns of the model are missing: 'x1', 'x2', 'x3'"):
        model.predict(new)


def test_wide_encodings_stay_sparse(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"word": [f"w{k}" for k in rng.integers(0, 300, 900)], "x": rng.random(900)}
    )
    y = (frame["x"] + 0.3 * (frame["word"] < "w2") > 0.6).astype(int)
    pipeline = make_pipeline(
        make_column_transformer((OneHotEncoder(), ["word"]), remainder="passthrough"),
        tp.QuantileSVC(C=0.1),
    ).fit(frame, y)
    tp.save(pipeline, tmp_path / "model.tau")
    model = tp.load(tmp_path / "model.tau")
    assert sp.issparse(model.preparation.features(as_table(frame)))
    expected = pipeline.predict_proba(frame)
    np.testing.assert_allclose(model.predict_proba(frame), expected, rtol=1e-10, atol=ROUNDING)


# -- values of columns -------------------------------------------------------------------------


def test_unknown_values_are_errors_where_the_encoder_says_so():
    columns = check_features(OneHotEncoder(), TRAIN[["job"]])
    for cell, said in (
        ("pilot", "'pilot' is not one of the model's categories"),
        (None, "missing"),
    ):
        with pytest.raises(TableError, match=said):
            columns.apply(as_table({"job": ["clerk", cell]}))


def test_missing_numbers_are_errors_without_an_imputer():
    columns = check_features(StandardScaler(), TRAIN[["height"]])
    with pytest.raises(TableError, match="row 2, column 'height': the cell is missing"):
        columns.apply(as_table({"height": [1.0, None]}))
