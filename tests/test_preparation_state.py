"""The state of a preparation: plain, exact, and trusted in nothing."""

import copy
import json
import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from taupath.preparation import Preparation
from taupath.tables import Table

RNG = np.random.default_rng(0)
JOBS = np.array(["clerk", "driver", "τ-tester"], dtype=object)[RNG.integers(3, size=40)]
COLUMNS = Table(
    "t.csv",
    columns={
        "id": np.arange(40.0),
        "age": RNG.normal(size=40) * 1e-7,
        "job": JOBS,
        "y": RNG.integers(2, size=40) + 0.0,
    },
)
LABELS = np.arange(40.0) % 2
DENSE = Table("t.npz", matrix=RNG.normal(size=(40, 3)), labels=LABELS)
SPARSE = Table("t.svm", matrix=sp.csr_array(RNG.normal(size=(40, 3))), labels=LABELS)

HOLES = Table(
    "t.csv",
    columns={
        "id": np.array([f"k{i}" for i in range(40)], dtype=object),
        "age": np.where(np.arange(40) % 7 == 3, np.nan, RNG.normal(size=40)),
        "job": np.where(np.arange(40) % 5 == 1, None, JOBS),
        "y": RNG.integers(2, size=40) + 0.0,
    },
)

PREPARATIONS = {
    "columns": (COLUMNS, Preparation.learn(COLUMNS, standardize=True, drop=["id"])),
    "regression": (COLUMNS, Preparation.learn(COLUMNS, task="regress", target="age")),
    "positive": (COLUMNS, Preparation.learn(COLUMNS, positive="0")),
    "holes": (
        HOLES,
        Preparation.learn(HOLES, keep=["id"], missing="impute", flag_missing=True, unseen="error"),
    ),
    "filled": (HOLES, Preparation.learn(HOLES, drop=["id"], missing="impute")),
    "dense": (DENSE, Preparation.learn(DENSE, standardize=True)),
    "sparse": (SPARSE, Preparation.learn(SPARSE, standardize=True)),
    "plain": (SPARSE, Preparation.learn(SPARSE, task="regress")),
}


@pytest.mark.parametrize("name", PREPARATIONS)
def test_a_state_survives_json_exactly(name):
    table, prep = PREPARATIONS[name]
    text = json.dumps(prep.state(), allow_nan=False)
    again = Preparation.from_state(json.loads(text))
    assert json.dumps(again.state()) == text
    assert again.task == prep.task
    assert again.target == prep.target
    assert again.drop == prep.drop
    assert again.keep == prep.keep
    assert again.missing == prep.missing
    assert again.classes == prep.classes
    assert again.feature_names == prep.feature_names
    assert abs(again.features(table) - prep.features(table)).max() == 0
    np.testing.assert_array_equal(again.response(table), prep.response(table))


VERSION_1 = {
    "version": 1,
    "task": "classify",
    "target": "y",
    "ignore": ["id"],
    "classes": [0, 1],
    "features": {
        "kind": "columns",
        "columns": [
            {"kind": "number", "name": "age", "shift": 0.5, "scale": 2.0},
            {"kind": "categories", "name": "job", "categories": ["clerk", "driver"]},
        ],
    },
}
VERSION_1_MATRIX = {
    "version": 1,
    "task": "regress",
    "target": None,
    "ignore": [],
    "classes": None,
    "features": {
        "kind": "matrix",
        "n_features": 2,
        "sparse": False,
        "shift": [1.0, 2.0],
        "scale": [2.0, 4.0],
    },
}
STATES = {
    **{name: prep.state() for name, (_, prep) in PREPARATIONS.items()},
    "version 1": VERSION_1,
}


def test_version_1_is_still_read():
    prep = Preparation.from_state(VERSION_1)
    assert (prep.task, prep.target, prep.classes) == ("classify", "y", [0, 1])
    assert (prep.drop, prep.keep, prep.missing) == (["id"], [], "error")
    assert prep.feature_names == ["age", "job=clerk", "job=driver"]
    rows = Table(
        "t.csv",
        columns={
            "job": np.array(["driver", "clerk"], dtype=object),
            "age": np.array([1.5, np.nan]),
        },
    )
    np.testing.assert_array_equal(prep.features(rows.take([0])), [[0.5, 0.0, 1.0]])
    with pytest.raises(ValueError, match="line 2, column 'age': the cell is missing"):
        prep.features(rows)
    new = Table("t.csv", columns={"job": np.array(["cook"], dtype=object), "age": np.array([1.5])})
    with pytest.raises(ValueError, match="'cook' is not one of the model's categories"):
        prep.features(new)
    again = Preparation.from_state(prep.state())
    assert again.state()["version"] == 2
    assert again.state() == prep.state()


def test_a_matrix_of_version_1_is_still_read():
    prep = Preparation.from_state(VERSION_1_MATRIX)
    rows = Table("t.npz", matrix=np.array([[3.0, 10.0]]))
    np.testing.assert_array_equal(prep.features(rows), [[1.0, 2.0]])


def changed(name, *path_and_value):
    *path, value = path_and_value
    state = copy.deepcopy(STATES[name])
    inner = state
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return state


def column(k):
    return "columns", "features", "columns", k


def feature(j):
    return "columns", "features", "features", j


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "the preparation must be a dict, not null"),
        ([], "the preparation must be a dict, not list"),
        ({}, "missing or unexpected members"),
        (changed("columns", "more", 1), "missing or unexpected members: 'more'"),
        (changed("columns", "version", 3), "version must be a whole number from 1 to 2; got 3"),
        (changed("columns", "version", 1), "missing or unexpected members"),
        (changed("version 1", "version", 2), "missing or unexpected members"),
        (changed("columns", "version", True), "version must be a whole number"),
        (changed("columns", "task", "rank"), "task must be one of classify, regress; got 'rank'"),
        (changed("columns", "task", ["classify"]), "task must be one of"),
        (changed("columns", "task", "regress"), "classes if and only if"),
        (changed("columns", "target", 3), "target must be text, not int"),
        (changed("columns", "target", "job"), "a column is both used and left out"),
        (changed("columns", "target", "id"), "a column is both used and left out"),
        (changed("columns", "drop", ["age"]), "a column is both used and left out"),
        (changed("version 1", "ignore", ["age"]), "a column is both used and left out"),
        (changed("columns", "keep", ["id"]), "a column is both used and left out"),
        (changed("columns", "keep", ["y"]), "a column is both used and left out"),
        (changed("columns", "drop", "id"), "drop must be a list, not str"),
        (changed("version 1", "ignore", "id"), "ignore must be a list, not str"),
        (changed("columns", "drop", [1]), "must be text, not int"),
        (changed("columns", "drop", ["a", "a"]), "a text comes twice"),
        (changed("columns", "keep", {}), "keep must be a list, not dict"),
        (changed("columns", "missing", "guess"), "missing must be one of error, impute, drop"),
        (changed("columns", "missing", None), "missing must be one of error, impute, drop"),
        (changed("columns", "classes", None), "classes if and only if"),
        (changed("columns", "classes", 2), "classes must be a list, not int"),
        (changed("columns", "classes", [1]), "two or more different labels"),
        (changed("columns", "classes", [1, 1.0]), "two or more different labels"),
        (changed("columns", "classes", [1, "1"]), "all text or all numbers"),
        (changed("columns", "classes", [0, True]), "must be a number, not bool"),
        (changed("columns", "classes", [0, None]), "must be a number, not null"),
        (changed("columns", "classes", [0, [1]]), "must be a number, not list"),
        (changed("columns", "classes", [0, float("nan")]), "must be finite; got nan"),
        (changed("columns", "classes", [0, 10**400]), "must be finite; got inf"),
        (changed("columns", "features", []), "features must be a dict, not list"),
        (changed("columns", "features", "kind", "matrix"), "missing or unexpected members"),
        (changed("columns", "features", "kind", "none"), "kind must be one of columns, matrix"),
        (changed("columns", "features", {}), "there is no 'kind'"),
        (changed("columns", "features", "columns", []), "there is no column"),
        (changed("columns", "features", "columns", {}), "must be a list, not dict"),
        (changed(*column(0), 1), "a column of the preparation must be a"),
        (changed(*column(0), {}), "there is no 'kind'"),
        (changed(*column(0), "kind", []), "kind must be one of number, text"),
        (changed(*column(0), "kind", "text"), "missing or unexpected members"),
        (changed(*column(0), "name", "id"), "a column is both used and left out"),
        (changed(*column(0), "name", 1), "name must be text, not int"),
        (changed(*column(0), "fill", "1"), "fill must be a number, not str"),
        (changed(*column(0), "fill", float("nan")), "fill must be finite"),
        (changed(*column(1), "categories", []), "there are no categories"),
        (changed(*column(1), "categories", [1]), "must be text, not int"),
        (changed(*column(1), "categories", ["a", "a"]), "comes twice"),
        (changed(*column(1), "categories", ["a"]), "the category is none of its column"),
        (changed(*column(1), "unseen", "fill"), "unseen must be one of ignore, error"),
        (changed(*column(1), "missing", "drop"), "missing must be one of error, ignore, fill"),
        (changed(*column(1), "missing", "fill"), "filled with is none of its categories"),
        (changed(*column(1), "fill", "clerk"), "filled with is none of its categories"),
        (changed("filled", "features", "columns", 1, "fill", "cook"), "is none of its categories"),
        (changed("filled", "features", "columns", 1, "fill", []), "is none of its categories"),
        (changed("columns", "features", "features", []), "there is none, or two are the same"),
        (changed("columns", "features", "features", None), "features must be a list, not null"),
        (changed(*feature(0), []), "a feature of the preparation must be a dict, not list"),
        (changed(*feature(0), {}), "missing or unexpected members"),
        (changed(*feature(0), "column", 2), "column must be a whole number from 0 to 1; got 2"),
        (changed(*feature(0), "column", -1), "column must be a whole number from 0 to 1"),
        (changed(*feature(0), "column", True), "column must be a whole number from 0 to 1"),
        (changed(*feature(0), "column", 1), "its column has no number"),
        (changed(*feature(0), "part", "category"), "its column has no category"),
        (changed(*feature(0), "part", "sum"), "part must be one of number, missing, category"),
        (changed(*feature(0), "category", "clerk"), "the category is none of its column"),
        (changed(*feature(1), "category", "cook"), "the category is none of its column"),
        (changed(*feature(1), "category", ["clerk"]), "the category is none of its column"),
        (changed(*feature(1), "category", "driver"), "there is none, or two are the same"),
        (changed(*feature(1), "scale", 1e-310), "shift or scale is too large or too small"),
        (changed(*feature(0), "scale", 0.0), "finite and above zero"),
        (changed(*feature(0), "scale", -1), "finite and above zero"),
        (changed(*feature(0), "shift", "1"), "must be a number, not str"),
        (changed(*feature(0), "shift", float("inf")), "must be finite"),
        (changed("version 1", "features", "columns", 0, "scale", 0.0), "finite and above zero"),
        (changed("version 1", "features", "columns", 0, "name", "job"), "a text comes twice"),
        (changed("version 1", "features", "columns", 0, "kind", "text"), "kind must be one of"),
        (changed("version 1", "features", "columns", 1, "categories", []), "no categories"),
        (changed("dense", "features", "n_features", 0), "a whole number from 1 to 2147483647"),
        (changed("dense", "features", "n_features", 10**30), "a whole number from 1 to 2147483647"),
        (changed("dense", "features", "n_features", 4), "shift must have 4 numbers, not 3"),
        (changed("dense", "features", "n_features", 3.0), "must be a whole number"),
        (changed("dense", "features", "sparse", 0), "sparse must be true or false, not int"),
        (changed("dense", "features", "sparse", True), "sparse features cannot have a shift"),
        (changed("dense", "features", "shift", [0, 0, None]), "must be a number, not null"),
        (changed("dense", "features", "scale", [1, 1, 0]), "finite and above zero"),
        (changed("dense", "features", "scale", "111"), "scale must be a list, not str"),
        (changed("sparse", "target", "y"), "a matrix has no named columns"),
        (changed("sparse", "drop", ["y"]), "a matrix has no named columns"),
    ],
)
def test_states_that_are_wrong_are_refused_with_a_reason(state, said):
    with pytest.raises(ValueError) as caught:
        Preparation.from_state(state)
    assert said in str(caught.value)
    assert re.match("the preparation|a (column|feature) of the preparation", str(caught.value))
    assert len(str(caught.value)) < 200


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=8,
)


def paths(state, before=()):
    """Yield the path of every member of a state."""
    for key in state if isinstance(state, dict) else range(len(state)):
        yield (*before, key)
        if isinstance(state[key], dict | list):
            yield from paths(state[key], (*before, key))


@given(data=st.data(), name=st.sampled_from(sorted(STATES)), value=anything)
def test_a_state_with_anything_in_it_is_refused_or_works(data, name, value):
    table, _ = PREPARATIONS.get(name, (COLUMNS, None))
    path = data.draw(st.sampled_from(list(paths(STATES[name]))))
    try:
        other = Preparation.from_state(changed(name, *path, value))
    except ValueError:
        return
    assert json.loads(json.dumps(other.state(), allow_nan=False)) == other.state()
    assert other.n_features > 0
    try:
        X = other.features(table)
    except ValueError:
        return
    assert X.shape == (table.n_rows, other.n_features)
