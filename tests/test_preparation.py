"""From tables to features and responses."""

import json

import numpy as np
import pytest
import scipy.sparse as sp

from taupath.preparation import Preparation
from taupath.preparation.learn_columns import MANY_NUMBERS, MOST_CATEGORIES
from taupath.tables import Table, TableError, read_table

PEOPLE = """age,job,height,y
31,clerk,1.5,no
40,driver,1.7,yes
25,clerk,1.9,no
60,nurse,1.5,yes
"""


@pytest.fixture
def table(tmp_path):
    """A function from text to a table; its file is called t.csv."""

    def make(text, name="t.csv"):
        file = tmp_path / name
        file.write_text(text)
        read = read_table(file)
        read.source = name
        return read

    return make


@pytest.fixture
def people(table):
    return table(PEOPLE)


def matrix(X, labels=None, source="t.npz"):
    labels = None if labels is None else np.asarray(labels, dtype=np.float64)
    return Table(source, matrix=X, labels=labels, unit="row")


def learn_error(*arguments, **options):
    with pytest.raises(TableError) as caught:
        Preparation.learn(*arguments, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def error_of(function, table):
    with pytest.raises(TableError) as caught:
        function(table)
    assert str(caught.value).isprintable()
    return str(caught.value)


# --- features of named columns --------------------------------------------------------------------


def test_numbers_stay_and_text_becomes_one_feature_for_each_category(people):
    prep = Preparation.learn(people)
    assert prep.target == "y"
    assert prep.task == "classify"
    assert prep.classes == ["no", "yes"]
    assert prep.feature_names == ["age", "job=clerk", "job=driver", "job=nurse", "height"]
    X = prep.features(people)
    assert isinstance(X, np.ndarray) and X.dtype == np.float64
    np.testing.assert_array_equal(
        X,
        [[31, 1, 0, 0, 1.5], [40, 0, 1, 0, 1.7], [25, 1, 0, 0, 1.9], [60, 0, 0, 1, 1.5]],
    )
    np.testing.assert_array_equal(prep.response(people), [0, 1, 0, 1])
    assert prep.response(people).dtype.kind == "i"


def test_standardized_columns_have_mean_0_and_deviation_1_and_categories_stay(table):
    people = table("a,b,c,job,y\n1,0.1,0,x,0\n2,0.1,0,x,1\n6,0.1,1,z,1\n")
    prep = Preparation.learn(people, standardize=True)
    X = prep.features(people)
    np.testing.assert_allclose(X[:, [0, 2]].mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(X[:, [0, 2]].std(axis=0), 1, rtol=1e-15)
    np.testing.assert_array_equal(X[:, 1], 0)
    np.testing.assert_array_equal(X[:, 3:], [[1, 0], [1, 0], [0, 1]])
    # What was learned is used for other rows too, one by one.
    np.testing.assert_array_equal(prep.features(people.take([2])), X[[2]])


def test_columns_are_found_by_name_wherever_they_are_and_others_are_ignored(people, table):
    prep = Preparation.learn(people)
    other = table("height,new,job,age\n1.5,?,clerk,31\n")
    np.testing.assert_array_equal(prep.features(other), [[31, 1, 0, 0, 1.5]])
    assert not prep.has_response(other)
    assert error_of(prep.response, other).startswith("t.csv: there is no column 'y'")


def test_dropped_columns_are_neither_features_nor_needed(table):
    rows = table("id,when,a,y\n" + "".join(f"k{i},,{i},{i % 2}\n" for i in range(30)))
    assert learn_error(rows, drop=["when"]) == (
        "t.csv, column 'id': 30 different texts in 30 rows, such as 'k0': it looks like an "
        "identifier: leave it out with --drop id, or copy it to the output with "
        "--keep-id id"
    )
    prep = Preparation.learn(rows, drop=["id", "when"])
    assert prep.feature_names == ["a"]
    assert prep.drop == ["id", "when"]
    np.testing.assert_array_equal(prep.features(table("a\n7\n")), [[7]])


def test_columns_of_nearly_different_texts_look_like_identifiers_too(table):
    words = [f"w{i}" for i in range(38)] + ["w0", "w1"]
    lines = "".join(f"{w},{w[::-1]},{i % 3},{i % 2}\n" for i, w in enumerate(words))
    rows = table("ticket no,-code,a,y\n" + lines)
    assert learn_error(rows) == (
        "t.csv, column 'ticket no': 38 different texts in 40 rows, such as 'w0': it looks like an "
        "identifier, and so does '-code': leave them out with --drop 'ticket no' --drop=-code, "
        "or copy it to the output with --keep-id 'ticket no'"
    )
    prep = Preparation.learn(rows, drop=["-code"], keep=["ticket no"])
    assert prep.feature_names == ["a"]
    assert (prep.drop, prep.keep) == (["-code"], ["ticket no"])
    # Where many come twice it is a column of categories.
    halves = table("a,y\n" + "".join(f"w{i // 2},{i % 2}\n" for i in range(40)))
    assert Preparation.learn(halves).n_features == 20


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "__index_level_0__"])
@pytest.mark.parametrize("values", [range(6), range(1, 7), [7, 3, 12, 0, 5, 9]])
def test_an_index_without_name_is_no_feature(table, name, values):
    text = f"{name},a,y\n" + "".join(f"{v},{v * v},{k % 2}\n" for k, v in enumerate(values))
    prep = Preparation.learn(table(text))
    assert prep.feature_names == ["a"]
    name = name or "x1"
    assert prep.drop == [name]
    assert prep.notes == [
        f"column {name!r} has no name and numbers the rows: it is not used "
        f"(--keep-id {name.replace('Unnamed: 0', repr('Unnamed: 0'))} copies it to the output)"
    ]
    # It is not needed later, and need not be an index then.
    np.testing.assert_array_equal(prep.features(table("a\n7\n")), [[7]])
    kept = Preparation.learn(table(text), keep=[name])
    assert (kept.drop, kept.keep, kept.notes) == ([], [name], [])


def test_a_column_without_name_that_is_no_index_is_a_feature(table):
    prep = Preparation.learn(table(",a,y\n1,2,0\n1,3,1\n2,4,0\n"))
    assert prep.feature_names == ["x1", "a"]
    prep = Preparation.learn(table("0,a,y\n0,2,0\n1,3,1\n2,4,0\n"))
    assert prep.feature_names == ["0", "a"]
    assert prep.notes == []


@pytest.mark.parametrize(
    ("name", "noted"),
    [("id", True), ("PassengerId", True), ("user_ID", True), ("row id", True), ("grid", False)],
)
def test_numbers_that_may_be_identifiers_are_pointed_out_and_used(table, name, noted):
    rows = table(f"{name},y\n" + "".join(f"{1000 + 7 * i},{i % 2}\n" for i in range(20)))
    prep = Preparation.learn(rows)
    assert prep.feature_names == [name]
    assert len(prep.notes) == noted
    assert not noted or "--drop" in prep.notes[0]


def test_many_categories_look_like_an_identifier(table):
    n = MOST_CATEGORIES + 1
    rows = table("id,a,y\n" + "".join(f"k{i % n},1,{i % 2}\n" for i in range(2 * n)))
    said = learn_error(rows)
    assert said.startswith(f"t.csv, column 'id': {n} different texts in {2 * n} rows")


def test_wide_encodings_are_sparse_and_equal_the_dense_ones(table, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [
        f"w{rng.integers(200)},{rng.integers(3)},v{rng.integers(90)},{i % 2}" for i in range(999)
    ]
    rows = table("word,number,other,y\n" + "\n".join(lines))
    prep = Preparation.learn(rows, standardize=True)
    X = prep.features(rows)
    assert isinstance(X, sp.csr_array) and X.dtype == np.float64
    assert X.has_canonical_format
    assert X.shape == (999, prep.n_features)
    monkeypatch.setattr("taupath.preparation.columns.WIDE", 10**6)
    dense = Preparation.from_state(prep.state()).features(rows)
    assert isinstance(dense, np.ndarray)
    np.testing.assert_array_equal(X.toarray(), dense)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("age,job,height\n31,clerk,1\n3x,clerk,1\n", "line 3, column 'age': '3x' is not a number"),
        ("age,job,height\n31,clerk,\n", "line 2, column 'height': the cell is missing"),
        ("age,job,height\n31,clerk,inf\n", "line 2, column 'height': the value is infinite"),
        ("age,title\n31,clerk\n", "columns of the model are missing: 'job', 'height'; the file"),
    ],
)
def test_tables_that_do_not_fit_are_errors_with_their_place(people, table, text, said):
    prep = Preparation.learn(people)
    error = error_of(prep.features, table(text))
    assert error.removeprefix("t.csv").lstrip(",: ").startswith(said)


@pytest.mark.parametrize("cell", ["pilot", "7"])
def test_unseen_categories_are_ignored_and_counted_or_errors(people, table, cell):
    rows = table(f"age,job,height\n30,clerk,1\n31,{cell},1\n32,{cell},1\n")
    where = r"t\.csv: values that training did not have are ignored: column 'job' in 2 of 3 rows "
    prep = Preparation.learn(people)
    with pytest.warns(UserWarning, match=rf"{where}\(first '{cell}'\)"):
        X = prep.features(rows)
    np.testing.assert_array_equal(X[:, 1:4], [[1, 0, 0], [0, 0, 0], [0, 0, 0]])
    strict = Preparation.learn(people, unseen="error")
    said = (
        f"t.csv, line 3, column 'job': '{cell}' is not one of the model's categories 'clerk', "
        "'driver', 'nurse'; `taupath predict --unseen ignore` predicts without it"
    )
    assert error_of(strict.features, rows) == said
    assert error_of(lambda table: prep.features(table, unseen="error"), rows) == said
    with pytest.warns(UserWarning, match=where):
        np.testing.assert_array_equal(strict.features(rows, unseen="ignore"), X)


def test_categories_that_look_like_numbers_are_found_by_their_number(table):
    prep = Preparation.learn(table("n,y\n1,0\n2,1\n3+,0\n1,1\n2,0\n1,0\n"))
    assert prep.feature_names == ["n=1", "n=2", "n=3+"]
    np.testing.assert_array_equal(prep.features(table("n,m\n2,0\n1.0,0\n")), [[0, 1, 0], [1, 0, 0]])


def test_text_among_numbers_is_a_mistake_with_its_line(table):
    said = learn_error(table("age,y\n30,0\n41,1\n3x,0\n50,1\n"))
    assert said.startswith("t.csv, line 4, column 'age': '3x' is not a number, but most cells")
    many = [str(i % (MANY_NUMBERS + 1)) for i in range(500)]
    many[321] = "unknown"
    said = learn_error(table("age,y\n" + "".join(f"{c},{i % 2}\n" for i, c in enumerate(many))))
    assert said.startswith("t.csv, line 323, column 'age': 'unknown' is not a number")


def test_decimal_commas_are_named(table):
    said = learn_error(table("a;y\n1;0\n2,5;1\n3,5;0\n"))
    assert said == "t.csv, line 3, column 'a': '2,5' has a decimal comma; write a decimal point"


def test_numbers_too_large_to_standardize_are_an_error(table):
    rows = table("a,y\n1e308,0\n1.7e308,1\n1.7e308,1\n")
    assert Preparation.learn(rows).features(rows)[0, 0] == 1e308
    assert "column 'a': the numbers are too large" in learn_error(rows, standardize=True)
    X = np.array([[1e308, 1], [1.7e308, 2]])
    assert "feature 1: too large" in learn_error(matrix(X, [0, 1]), standardize=True)


def test_values_too_far_from_the_model_are_errors_with_their_place(table):
    prep = Preparation.learn(table("a,y\n0,0\n1e-300,1\n"), standardize=True)
    said = error_of(prep.features, table("a,b\n0,1\n1e100,1\n"))
    assert said == "t.csv, line 3, column 'a': 1e+100 is too far from those of training"
    for kind in (np.array, sp.csr_array):
        prep = Preparation.learn(matrix(kind([[0.0], [1e-300]]), [0, 1]), standardize=True)
        said = error_of(prep.features, matrix(kind([[0.0], [0.0], [1e100]])))
        assert said == "t.npz, row 3: a value is too far from those of training"


# --- the target -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "options", "target"),
    [
        ("a,b,c", {}, "c"),
        ("a,Class,c", {}, "Class"),
        ("LABEL,b,c", {}, "LABEL"),
        ("y,target,c", {}, "c"),
        ("a,b,c", {"target": "a"}, "a"),
        ("a,b,c", {"target": "2"}, "b"),
        ("a,3,2", {"target": "2"}, "2"),
        ("a,b,c", {"drop": ["c"]}, "b"),
        ("y,target,c", {"drop": ["y"]}, "target"),
    ],
)
def test_the_target_is_the_column_asked_for_or_a_sensible_one(table, header, options, target):
    prep = Preparation.learn(table(f"{header}\n0,1,0\n1,0,1\n"), **options)
    assert prep.target == target
    assert target not in prep.feature_names


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"target": "d"}, "there is no target column 'd'; the file has 'a', 'b'"),
        ({"target": "3"}, "there is no target column '3'; the file has 'a', 'b'"),
        ({"target": "0"}, "there is no target column '0'"),
        ({"target": "9" * 5000}, "there is no target column '999"),
        ({"target": "a", "drop": ["a"]}, "column 'a' is the target and cannot be left out"),
        ({"drop": ["d"]}, "columns to drop are not there: 'd'; the file has 'a', 'b'"),
        ({"drop": ["a", "b"]}, "all columns are left out"),
        ({"keep": ["d"]}, "columns to keep are not there: 'd'; the file has 'a', 'b'"),
        ({"keep": ["a"], "drop": ["a"]}, "columns are both dropped and kept: 'a'"),
        ({"target": "a", "keep": ["a"]}, "column 'a' is the target and cannot be left out"),
        ({"drop": ["a"]}, "there is no column besides the target 'b'"),
    ],
)
def test_wrong_columns_are_errors_that_list_the_right_ones(table, options, said):
    assert learn_error(table("a,b\n0,1\n1,0\n"), **options).startswith(f"t.csv: {said}")


def test_one_column_only_hints_at_separators(table):
    said = learn_error(table("1:2:3\n4:5:6\n", "t.txt"))
    assert said.endswith("besides the target '1:2:3'; --delimiter says what is between the cells")


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (["1", "-1", "1.0"], [-1, 1]),
        (["2", "10", "1"], [1, 2, 10]),
        (["0.5", "1", "1.5"], [0.5, 1, 1.5]),
        (["True", "False", "True"], ["False", "True"]),
        (["b", "a", "7"], ["7", "a", "b"]),
    ],
)
def test_classes_are_sorted_and_whole_numbers_are_integers(table, labels, classes):
    rows = table("a,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))
    prep = Preparation.learn(rows)
    assert prep.classes == classes
    assert [type(label) for label in prep.classes] == [type(label) for label in classes]
    places = [classes.index(label) if label in classes else None for label in labels]
    for code, place in zip(prep.response(rows), places, strict=True):
        assert place is None or code == place


@pytest.mark.parametrize("positive", ["-1", -1, -1.0, "-1.0"])
def test_the_positive_class_comes_last(table, positive):
    rows = table("a,y\n1,1\n2,-1\n3,1\n")
    prep = Preparation.learn(rows, positive=positive)
    assert prep.classes == [1, -1]
    np.testing.assert_array_equal(prep.response(rows), [0, 1, 0])
    assert Preparation.learn(rows, positive="1").classes == [-1, 1]


@pytest.mark.parametrize(
    ("two", "positive", "why"),
    [
        (("1", "0"), 1, "as opposed to 0"),
        (("1", "-1"), 1, "as opposed to -1"),
        (("yes", "no"), "yes", "as opposed to no"),
        (("Yes", "no"), "Yes", "as opposed to no"),
        (("True", "False"), "True", "as opposed to False"),
        (("positive", "Negative"), "positive", "as opposed to Negative"),
        (("2", "1"), 2, "the larger label; --positive 1 swaps them"),
        (("2", "-1.5"), 2, "the larger label; --positive -1.5 swaps them"),
        (("sick", "all well"), "sick", "the later label; --positive 'all well' swaps them"),
        (("no", "-x"), "no", "the later label; --positive=-x swaps them"),
    ],
)
def test_why_a_class_is_positive_is_said(table, two, positive, why):
    rows = table("a,y\n" + "".join(f"{i},{two[i % 2]}\n" for i in range(4)))
    prep = Preparation.learn(rows)
    assert (prep.classes[1], prep.why_positive) == (positive, why)
    asked = Preparation.learn(rows, positive=two[1])
    assert asked.classes == prep.classes[::-1]
    assert asked.why_positive == "you asked for it"


def test_a_positive_class_must_be_one_of_two(people, table):
    said = learn_error(people, positive="maybe")
    assert said == "t.csv, column 'y': there is no class 'maybe', only 'no', 'yes'"
    said = learn_error(table("a,y\n1,1\n2,2\n3,3\n"), positive="1")
    assert said.endswith("a positive class needs two classes, but there are 1, 2, 3")
    with pytest.raises(ValueError, match="goes with task 'classify' only"):
        Preparation.learn(people, task="regress", positive="yes")


def test_unknown_labels_are_errors_with_their_line_and_the_known_ones(people, table):
    prep = Preparation.learn(people)
    rows = table("age,job,height,y\n1,clerk,1,no\n1,clerk,1,perhaps\n")
    said = error_of(prep.response, rows)
    assert said == (
        "t.csv, line 3, column 'y': the label 'perhaps' is not one of the model's classes "
        "'no', 'yes'"
    )


def test_one_class_is_an_error(table):
    said = learn_error(table("a,y\n1,yes\n2,yes\n"))
    assert said == "t.csv, column 'y': all rows have the label 'yes'; there must be two"


def test_responses_that_are_no_classes_suggest_regression(table):
    whole = table("a,y\n" + "".join(f"1,{i}\n" for i in range(60)))
    fractions = table("a,y\n" + "".join(f"1,{i}.5\n" for i in range(12)))
    words = table("a,y\n" + "".join(f"1,w{i}\n" for i in range(60)))
    assert learn_error(whole).endswith("60 classes in 60 rows; for numbers ask for --task regress")
    assert learn_error(fractions).endswith("for numbers ask for --task regress")
    assert learn_error(words).endswith("60 classes in 60 rows; is this an identifier?")
    many_of_each = table("a,y\n" + "".join(f"{i},{i % 60}\n" for i in range(600)))
    assert len(Preparation.learn(many_of_each).classes) == 60


def test_there_must_be_rows_to_learn_from(people):
    assert learn_error(people.take([])) == "t.csv: there are no rows to learn from"


def test_regression_takes_numbers_only(people, table):
    said = learn_error(people, task="regress")
    assert said.startswith("t.csv, line 2, column 'y': 'no' is not a number; for classes ask")
    prep = Preparation.learn(people, task="regress", target="height")
    assert prep.classes is None
    np.testing.assert_array_equal(prep.response(people), [1.5, 1.7, 1.9, 1.5])
    with pytest.raises(ValueError, match="task must be one of classify, regress"):
        Preparation.learn(people, task="rank")


def test_a_target_column_without_cells_is_no_response(people, table):
    prep = Preparation.learn(people)
    assert prep.has_response(people)
    assert not prep.has_response(table("age,job,height,y\n1,clerk,1,\n1,clerk,1,NA\n"))
    assert prep.has_response(table("age,job,height,y\n1,clerk,1,\n1,clerk,1,no\n"))


# --- real data ------------------------------------------------------------------------------------


def again(prep: Preparation) -> Preparation:
    return Preparation.from_state(json.loads(json.dumps(prep.state())))


def test_real_data_are_prepared_alike_before_and_after_saving(data_dir):
    for name, task, target, shape, classes in (
        ("classification/a1a.svm", "classify", None, (1605, 119), [-1, 1]),
        ("classification/dna.scale.svm", "classify", None, (2000, 180), [1, 2, 3]),
        ("spam/task_a_u00_eval_lab.tf", "classify", None, (2500, 48784), [-1, 1]),
        ("diabetes/pima-indians-diabetes.csv", "classify", "x9", (768, 8), [0, 1]),
        ("regression/crabs.csv", "regress", "BD", (200, 9), None),
        ("regression/engel.csv", "regress", "foodexp", (235, 1), None),
    ):
        rows = read_table(data_dir / name)
        prep = Preparation.learn(rows, task=task, standardize=True)
        assert (prep.target, prep.classes) == (target, classes)
        X, y = prep.features(rows), prep.response(rows)
        assert X.shape == shape and y.shape == (rows.n_rows,)
        other = again(prep)
        assert other.state() == prep.state()
        assert abs(other.features(rows) - X).max() == 0
        np.testing.assert_array_equal(other.response(rows), y)


def test_real_tables_with_wrong_columns_are_refused(data_dir):
    crabs = read_table(data_dir / "regression" / "crabs.csv")
    assert "--task regress" in learn_error(crabs)
    assert Preparation.learn(crabs, target="sp").classes == ["B", "O"]
    engel = read_table(data_dir / "regression" / "engel.csv")
    assert "'sp', 'sex'" in error_of(Preparation.learn(crabs, task="regress").features, engel)
    small = Preparation.learn(read_table(data_dir / "classification" / "a1a.svm"))
    large = read_table(data_dir / "classification" / "a1a.t.svm")
    with pytest.warns(UserWarning, match="4 features above the 119 of the model are ignored"):
        assert small.features(large).shape == (large.n_rows, 119)
