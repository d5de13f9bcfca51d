"""Missing cells: filled in, flagged, left out or refused; features of any pipeline of columns."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from taupath.preparation import Preparation
from taupath.preparation.columns import ColumnFeatures, Feature, NumberColumn, TextColumn
from taupath.preparation.feature_state import feature_state, features_from_state
from taupath.tables import Table, TableError

AGE = np.array([30.0, np.nan, 25.0, 60.0, np.nan, 41.0])
JOB = np.array(["clerk", "nurse", None, "clerk", "nurse", "cook"], dtype=object)
HEIGHT = np.array([1.5, 1.7, 1.9, 1.6, 1.8, 1.7])
Y = np.array(["no", "yes", "no", "yes", "no", "yes"], dtype=object)
TABLE = Table("t.csv", columns={"age": AGE, "job": JOB, "height": HEIGHT, "y": Y})


def frame(*columns):
    return np.column_stack([column.astype(object) for column in columns])


def test_missing_cells_are_errors_that_name_the_options():
    with pytest.raises(TableError) as caught:
        Preparation.learn(TABLE)
    assert str(caught.value) == (
        "t.csv, line 2, column 'age': the cell is missing (2 in this column); "
        "--missing impute fills them in, --missing drop leaves such rows out"
    )


def test_missing_targets_are_errors_that_name_the_option():
    holes = np.where(np.arange(6) < 2, None, Y)
    with pytest.raises(TableError) as caught:
        Preparation.learn(Table("t.csv", columns={"height": HEIGHT, "y": holes}))
    assert str(caught.value) == (
        "t.csv, line 1, column 'y': the cell is missing (2 in the target); --missing drop "
        "leaves such rows out"
    )
    empty = Table("t.csv", columns={"height": HEIGHT, "y": np.full(6, None)})
    for missing in ("error", "impute", "drop"):
        with pytest.raises(TableError, match="all cells of the target are missing"):
            Preparation.learn(empty, missing=missing)


def test_filled_cells_are_those_of_scikit_learn():
    prep = Preparation.learn(TABLE, missing="impute", standardize=True)
    assert prep.feature_names == ["age", "job=clerk", "job=cook", "job=nurse", "height"]
    assert prep.notes == [
        "missing cells count as 35.5 for 'age' (2 rows), 'clerk' for 'job' (1 row)"
    ]
    X = prep.features(TABLE)
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    expected = numbers.fit_transform(np.column_stack([AGE, HEIGHT]))
    np.testing.assert_allclose(X[:, [0, 4]], expected, rtol=1e-13)
    text = make_pipeline(
        SimpleImputer(strategy="most_frequent", missing_values=None),
        OneHotEncoder(sparse_output=False),
    )
    np.testing.assert_array_equal(X[:, 1:4], text.fit_transform(frame(JOB)))
    # What was learned in training is used later, also where nothing was missing then.
    later = Table(
        "new.csv",
        columns={
            "age": np.array([np.nan]),
            "job": np.array([np.nan]),  # all of the column is missing
            "height": np.array([np.nan]),
        },
    )
    stored = Preparation.from_state(json.loads(json.dumps(prep.state())))
    filled = Table(
        "new.csv",
        columns={
            "age": np.array([np.nanmedian(AGE)]),
            "job": np.array(["clerk"], dtype=object),
            "height": np.array([np.median(HEIGHT)]),
        },
    )
    np.testing.assert_array_equal(stored.features(later), prep.features(filled))


def test_flags_say_where_cells_were_missing():
    prep = Preparation.learn(TABLE, missing="impute", flag_missing=True)
    assert prep.feature_names == [
        "age",
        "age (missing)",
        "job=clerk",
        "job=cook",
        "job=nurse",
        "job (missing)",
        "height",
    ]
    X = prep.features(TABLE)
    np.testing.assert_array_equal(X[:, 1], np.isnan(AGE))
    np.testing.assert_array_equal(X[:, 5], JOB == None)  # noqa: E711  # elementwise
    np.testing.assert_array_equal(X[2, 2:6], [0, 0, 0, 1])
    with pytest.raises(ValueError, match="go with missing='impute' only"):
        Preparation.learn(TABLE, flag_missing=True)


def test_rows_with_missing_cells_are_left_out():
    prep = Preparation.learn(TABLE, missing="drop")
    np.testing.assert_array_equal(prep.incomplete(TABLE), [0, 1, 1, 0, 1, 0])
    assert prep.feature_names == ["age", "job=clerk", "job=cook", "height"]
    assert prep.notes == ["left out: 3 rows with missing cells"]
    rows = prep.usable(TABLE)
    np.testing.assert_array_equal(prep.features(rows)[:, 0], [30, 60, 41])
    with pytest.raises(TableError, match=r"^t.csv, line 2, column 'age': the cell is missing, and"):
        prep.features(TABLE)
    untold = Table("t.csv", columns={"age": AGE, "job": JOB, "height": HEIGHT})
    assert prep.usable(untold).n_rows == 6  # there is no truth to compare with


def test_rows_without_response_are_left_out():
    target = np.where(np.arange(6) == 3, None, Y)
    rows = Table("t.csv", columns={"age": AGE, "height": HEIGHT, "y": target})
    prep = Preparation.learn(rows, missing="impute")
    assert prep.columns.columns[0].fill == np.median([30, 25, 41])
    assert prep.notes == [
        "left out: 1 row without 'y'",
        "missing cells count as 30 for 'age' (2 rows)",
    ]
    used = prep.usable(rows)
    np.testing.assert_array_equal(used.column("height"), np.delete(HEIGHT, 3))
    with pytest.raises(TableError, match="line 4, column 'y': the cell is missing"):
        Preparation.learn(Table("t.csv", columns={"height": HEIGHT, "y": target}))
    none = Table("t.csv", columns={"age": np.array([np.nan, 1.0]), "y": np.array([1.0, np.nan])})
    with pytest.raises(TableError, match="each row has a missing cell; --missing impute fills"):
        Preparation.learn(none, missing="drop")
    empty = Table("t.csv", columns={"a": np.full(6, np.nan), "h": HEIGHT, "y": Y})
    with pytest.raises(TableError, match=r"missing cell, as column 'a' is empty; .* --drop a$"):
        Preparation.learn(empty, missing="drop")
    prep = Preparation.learn(Table("t.csv", columns={"a": Y, "h": HEIGHT, "y": Y}), missing="drop")
    with pytest.raises(TableError, match=r"column 'a' is empty; there is nothing to compare with$"):
        prep.usable(empty)


def test_a_column_without_cells_is_named():
    rows = Table("t.csv", columns={"a b": np.full(6, np.nan), "h": HEIGHT, "y": Y})
    with pytest.raises(TableError, match=r"column 'a b': all cells are missing; .* --drop 'a b'$"):
        Preparation.learn(rows, missing="impute")


# --- any pipeline of columns ------------------------------------------------------------------


def translated():
    """Return a pipeline of scikit-learn and the same by hand."""
    transformer = ColumnTransformer(
        [
            (
                "numbers",
                make_pipeline(SimpleImputer(add_indicator=True), MinMaxScaler((-1, 1))),
                [0, 2],
            ),
            (
                "text",
                OneHotEncoder(drop="first", handle_unknown="ignore", sparse_output=False),
                [1],
            ),
            ("again", StandardScaler(), [2]),
            ("as it is", "passthrough", [2]),
        ]
    ).fit(frame(AGE, JOB, HEIGHT))
    imputer, minmax = transformer.named_transformers_["numbers"]
    standard = transformer.named_transformers_["again"]
    columns = [
        NumberColumn("age", float(imputer.statistics_[0])),
        NumberColumn("height", float(imputer.statistics_[1])),
        TextColumn("job", ("clerk", "cook", "nurse"), "ignore", "ignore"),
        NumberColumn("height"),
        NumberColumn("height"),
    ]
    scaled = [
        (-float(low) / float(scale), 1.0 / float(scale))
        for low, scale in zip(minmax.min_, minmax.scale_, strict=True)
    ]
    features = [
        Feature(0, "number", None, *scaled[0]),
        Feature(1, "number", None, *scaled[1]),
        Feature(0, "missing", None, *scaled[2]),
        Feature(2, "category", "cook"),
        Feature(2, "category", "nurse"),
        Feature(2, "missing"),
        Feature(3, "number", None, float(standard.mean_[0]), float(standard.scale_[0])),
        Feature(4, "number"),
    ]
    return transformer, ColumnFeatures(columns, features)


def test_features_can_be_those_of_a_pipeline_in_any_order():
    transformer, columns = translated()
    expected = transformer.transform(frame(AGE, JOB, HEIGHT)).astype(float)
    np.testing.assert_allclose(columns.apply(TABLE), expected, rtol=1e-14, atol=1e-15)
    again = features_from_state(json.loads(json.dumps(feature_state(columns))), 2)
    np.testing.assert_array_equal(again.apply(TABLE), columns.apply(TABLE))
    assert feature_state(again) == feature_state(columns)
    assert columns.names == ["age", "height", "job"]


def test_what_a_pipeline_predicts_is_not_guessed():
    _, columns = translated()
    prep = Preparation("classify", None, ["no", "yes"], columns)
    again = Preparation.from_state(json.loads(json.dumps(prep.state())))
    for unknown in (prep, again):
        assert unknown.target_in(TABLE) is None and not unknown.has_response(TABLE)
        with pytest.raises(TableError, match="which column holds the truth; name it: --target"):
            unknown.response(TABLE)
        known = unknown.with_target("y")
        assert known.target_in(TABLE) == "y" and known.has_response(TABLE)
        np.testing.assert_array_equal(known.response(TABLE), [0, 1, 0, 1, 0, 1])
    bare = Table("t.csv", columns={"age": AGE, "job": JOB, "height": HEIGHT})
    assert not prep.with_target("y").has_response(bare)
    with pytest.raises(TableError, match="column 'age' is a feature of the model"):
        prep.with_target("age")


def test_wide_features_are_sparse_with_flags_and_fills_too():
    rng = np.random.default_rng(0)
    words = np.array([f"w{k}" for k in rng.integers(150, size=2000)], dtype=object)
    words[rng.integers(2000, size=50)] = None
    more = np.array([f"v{k}" for k in rng.integers(120, size=2000)], dtype=object)
    number = np.where(rng.random(2000) < 0.1, np.nan, rng.normal(size=2000))
    rows = Table(
        "t.csv", columns={"a": words, "n": number, "b": more, "y": (np.arange(2000) % 2) * 1.0}
    )
    prep = Preparation.learn(rows, missing="impute", flag_missing=True, standardize=True)
    X = prep.features(rows)
    assert isinstance(X, sp.csr_array) and X.has_canonical_format
    columns = prep.columns
    # One feature of a category that is not 0 elsewhere makes them dense.
    shifted = [*columns.features[:-1], Feature(2, "category", columns.features[-1].category, 0.5)]
    dense = ColumnFeatures(columns.columns, shifted).apply(rows)
    assert isinstance(dense, np.ndarray)
    dense[:, -1] += 0.5
    np.testing.assert_array_equal(X.toarray(), dense)
