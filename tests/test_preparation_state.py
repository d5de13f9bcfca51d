"""The state of a preparation: plain, exact, and trusted in nothing."""

import copy
import json

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

PREPARATIONS = {
    "columns": (COLUMNS, Preparation.learn(COLUMNS, standardize=True, ignore=["id"])),
    "regression": (COLUMNS, Preparation.learn(COLUMNS, task="regress", target="age")),
    "positive": (COLUMNS, Preparation.learn(COLUMNS, positive="0")),
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
    assert again.ignore == prep.ignore
    assert again.classes == prep.classes
    assert again.feature_names == prep.feature_names
    assert abs(again.features(table) - prep.features(table)).max() == 0
    np.testing.assert_array_equal(again.response(table), prep.response(table))


def changed(name, *path_and_value):
    *path, value = path_and_value
    state = copy.deepcopy(PREPARATIONS[name][1].state())
    inner = state
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    return state


@pytest.mark.parametrize(
    ("state", "said"),
    [
        (None, "the preparation must be a dict, not null"),
        ([], "the preparation must be a dict, not list"),
        ({}, "members too many or too few"),
        (changed("columns", "more", 1), "members too many or too few: 'more'"),
        (changed("columns", "version", 2), "version must be a whole number from 1 to 1; got 2"),
        (changed("columns", "version", True), "version must be a whole number"),
        (changed("columns", "task", "rank"), "task must be one of classify, regress; got 'rank'"),
        (changed("columns", "task", ["classify"]), "task must be one of"),
        (changed("columns", "task", "regress"), "classes if and only if"),
        (changed("columns", "target", 3), "target must be text, not int"),
        (changed("columns", "target", None), "members too many or too few"),
        (changed("columns", "target", "job"), "a column is both used and left out"),
        (changed("columns", "target", "id"), "a column is both used and left out"),
        (changed("columns", "ignore", ["age"]), "a column is both used and left out"),
        (changed("columns", "ignore", "id"), "ignore must be a list, not str"),
        (changed("columns", "ignore", [1]), "must be text, not int"),
        (changed("columns", "ignore", ["a", "a"]), "a text comes twice"),
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
        (changed("columns", "features", "kind", "matrix"), "kind must be one of columns"),
        (changed("columns", "features", "columns", []), "there is no column"),
        (changed("columns", "features", "columns", {}), "must be a list, not dict"),
        (changed("columns", "features", "columns", 0, 1), "a column of the preparation must be a"),
        (changed("columns", "features", "columns", 0, {}), "there is no 'kind'"),
        (changed("columns", "features", "columns", 0, "kind", []), "kind must be one of number"),
        (changed("columns", "features", "columns", 0, "kind", "categories"), "members too many"),
        (changed("columns", "features", "columns", 0, "name", "job"), "a text comes twice"),
        (changed("columns", "features", "columns", 0, "name", 1), "name must be text, not int"),
        (changed("columns", "features", "columns", 0, "scale", 0.0), "finite and above zero"),
        (changed("columns", "features", "columns", 0, "scale", -1), "finite and above zero"),
        (changed("columns", "features", "columns", 0, "shift", "1"), "must be a number, not str"),
        (changed("columns", "features", "columns", 0, "shift", float("inf")), "must be finite"),
        (changed("columns", "features", "columns", 1, "categories", []), "there are no categories"),
        (changed("columns", "features", "columns", 1, "categories", [1]), "must be text, not int"),
        (changed("columns", "features", "columns", 1, "categories", ["a", "a"]), "comes twice"),
        (changed("dense", "features", "n_features", 0), "a whole number from 1 to 2147483647"),
        (changed("dense", "features", "n_features", 10**30), "a whole number from 1 to 2147483647"),
        (changed("dense", "features", "n_features", 4), "shift must have 4 numbers, not 3"),
        (changed("dense", "features", "n_features", 3.0), "must be a whole number"),
        (changed("dense", "features", "sparse", 0), "sparse must be true or false, not int"),
        (changed("dense", "features", "sparse", True), "sparse features cannot have a shift"),
        (changed("dense", "features", "shift", [0, 0, None]), "must be a number, not null"),
        (changed("dense", "features", "scale", [1, 1, 0]), "finite and above zero"),
        (changed("dense", "features", "scale", "111"), "scale must be a list, not str"),
        (changed("sparse", "target", "y"), "members too many or too few"),
    ],
)
def test_states_that_are_wrong_are_refused_with_a_reason(state, said):
    with pytest.raises(ValueError) as caught:
        Preparation.from_state(state)
    assert said in str(caught.value)
    assert str(caught.value).startswith(("the preparation", "a column of the preparation"))
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


@given(data=st.data(), name=st.sampled_from(sorted(PREPARATIONS)), value=anything)
def test_a_state_with_anything_in_it_is_refused_or_works(data, name, value):
    table, prep = PREPARATIONS[name]
    path = data.draw(st.sampled_from(list(paths(prep.state()))))
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
