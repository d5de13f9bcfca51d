"""From matrices to features and responses."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import StandardScaler

from taupath.preparation import Preparation
from taupath.tables import Table, TableError, read_table

COLUMNS = Table("t.csv", columns={"a": np.arange(4.0), "y": np.array([0.0, 1.0, 0.0, 1.0])})


def matrix(X, labels=None, source="t.npz"):
    labels = None if labels is None else np.asarray(labels, dtype=np.float64)
    return Table(source, matrix=X, labels=labels, unit="row")


def message(function, *arguments, **options):
    with pytest.raises(TableError) as caught:
        function(*arguments, **options)
    assert str(caught.value).isprintable()
    return str(caught.value)


def test_a_matrix_is_used_as_it_is(tmp_path):
    file = tmp_path / "t.svm"
    file.write_text("+1 1:5 3:6\n-1 2:7\n")
    rows = read_table(file)
    prep = Preparation.learn(rows)
    assert prep.target is None
    assert prep.classes == [-1, 1]
    assert prep.feature_names == ["x1", "x2", "x3"]
    X = prep.features(rows)
    assert isinstance(X, sp.csr_array)
    np.testing.assert_array_equal(X.toarray(), [[5, 0, 6], [0, 7, 0]])
    np.testing.assert_array_equal(prep.response(rows), [1, 0])


def test_sparse_rows_may_end_early_and_late_features_are_ignored_with_a_warning(tmp_path):
    file = tmp_path / "t.svm"
    file.write_text("1 1:5 3:6\n0 2:7\n")
    prep = Preparation.learn(read_table(file), standardize=True)
    file.write_text("1 1:5\n")
    np.testing.assert_array_equal(prep.features(read_table(file)).toarray(), [[2, 0, 0]])
    file.write_text("1 1:5\n\n0 2:1 4:1\n1 3:1 9:1 \n")
    with pytest.warns(UserWarning, match="2 features above the 3 of the model .* feature 4 the"):
        known = prep.features(read_table(file))
    np.testing.assert_allclose(known.toarray(), [[2, 0, 0], [0, 2 / 7, 0], [0, 0, 2 / 6]])


def test_sparse_matrices_are_scaled_and_never_shifted():
    X = sp.csr_array(np.array([[0.0, -4.0, 0.0], [1.0, 2.0, 0.0], [0.5, 0.0, 0.0]]))
    rows = matrix(X, [0.0, 1.0, 1.0])
    scaled = Preparation.learn(rows, standardize=True).features(rows)
    assert isinstance(scaled, sp.csr_array)
    expected = StandardScaler(with_mean=False).fit_transform(X)
    np.testing.assert_allclose(scaled.toarray(), expected.toarray(), rtol=1e-15)
    np.testing.assert_array_equal(X.data, [-4, 1, 2, 0.5])


def test_constant_and_extreme_columns_of_sparse_matrices_are_scaled_safely():
    X = sp.csr_array(np.array([[0.1, 1e300, 0.0], [0.1, 0.0, 1e-300], [0.1, 3e300, 0.0]]))
    rows = matrix(X, [0.0, 1.0, 1.0])
    scaled = Preparation.learn(rows, standardize=True).features(rows).toarray()
    np.testing.assert_allclose(scaled.std(axis=0), [0, 1, 1], rtol=1e-14)
    np.testing.assert_array_equal(scaled[:, 0], 1.0)


def test_dense_matrices_are_standardized():
    X = np.array([[1.0, 0.1, 3.0], [2.0, 0.1, 5.0], [6.0, 0.1, 5.0]])
    rows = matrix(X, [0.0, 1.0, 1.0])
    Z = Preparation.learn(rows, standardize=True).features(rows)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-15)
    np.testing.assert_allclose(Z.std(axis=0), [1, 0, 1], rtol=1e-15)
    np.testing.assert_array_equal(X[:, 0], [1, 2, 6])


def test_features_are_dense_or_sparse_as_they_were_learned():
    X = np.array([[1.0, 0.0], [0.0, 2.0]])
    dense, sparse = matrix(X, [0.0, 1.0]), matrix(sp.csr_array(X), [0.0, 1.0])
    for learned, kind in ((dense, np.ndarray), (sparse, sp.csr_array)):
        prep = Preparation.learn(learned, standardize=True)
        one, other = prep.features(dense), prep.features(sparse)
        assert isinstance(one, kind) and isinstance(other, kind)
        assert abs(one - other).max() == 0
    said = message(Preparation.learn(dense).features, matrix(np.ones((2, 3))))
    assert said == "t.npz: it has 3 features, the model 2"


def test_matrices_and_named_columns_do_not_mix():
    rows = matrix(np.eye(2), [0.0, 1.0])
    named, unnamed = Preparation.learn(COLUMNS), Preparation.learn(rows)
    assert "it is a matrix, but the model was learned from named" in message(named.features, rows)
    assert "it has named columns, but the model" in message(unnamed.features, COLUMNS)
    assert "it has named columns, but the labels" in message(unnamed.response, COLUMNS)
    assert not named.has_response(rows)
    assert not unnamed.has_response(COLUMNS)
    assert "a matrix has no named columns" in message(Preparation.learn, rows, target="y")
    assert "a matrix has no named columns" in message(Preparation.learn, rows, drop=["y"])


def test_a_matrix_without_labels_has_no_response():
    rows = matrix(np.eye(2), [0.0, 1.0])
    prep = Preparation.learn(rows)
    assert prep.has_response(rows)
    assert not prep.has_response(matrix(np.eye(2)))
    assert "there are no labels 'y'" in message(prep.response, matrix(np.eye(2)))
    assert "there are no labels 'y'" in message(Preparation.learn, matrix(np.eye(2)))


def test_stand_ins_are_no_responses():
    classify = Preparation.learn(matrix(np.eye(2), [-1.0, 1.0]))
    assert not classify.has_response(matrix(np.eye(2), [0.0, 0.0]))
    assert classify.has_response(matrix(np.eye(2), [1.0, 1.0]))
    wrong = matrix(np.eye(2), [0.0, 1.0])
    assert classify.has_response(wrong)
    said = message(classify.response, wrong)
    assert said == "t.npz, row 1: the label 0 is not one of the model's classes -1, 1"
    regress = Preparation.learn(matrix(np.eye(2), [0.5, 1.5]), task="regress")
    assert not regress.has_response(matrix(np.eye(2), [0.0, 0.0]))
    assert regress.has_response(matrix(np.eye(2), [0.0, 0.1]))
