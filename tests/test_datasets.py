import bz2
import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from taupath import datasets
from taupath.datasets import (
    DataNotFound,
    classification_names,
    load_classification,
    load_paper,
    load_svm,
)


@pytest.fixture
def small_folder(tmp_path):
    """A data folder with a two-class set, a three-class set and a set with a test part."""
    folder = tmp_path / "classification"
    folder.mkdir()
    (folder / "two.svm").write_text("2 1:0.5 3:-1\n1 2:4\n")
    (folder / "three.svm").write_text("1 1:1\n2 1:2\n3 1:3\n")
    (folder / "cut.svm").write_text("-1 1:1\n+1 2:1\n")
    (folder / "cut.t.svm").write_text("0 1:1\n1 4:1\n0 2:1\n")
    return tmp_path


def write_fasta(folder, sites):
    (folder / "splice").mkdir()
    lines = [f"> chr_num=1, label={label}\n{letters}\n" for label, letters in sites]
    file = folder / "splice" / "C_elegans_acc_100000.fasta.bz2"
    file.write_bytes(bz2.compress("".join(lines).encode()))
    return file


class TestWhereDataAreSought:
    def test_no_folder_names_the_variable(self, monkeypatch):
        monkeypatch.delenv("TAUPATH_DATA", raising=False)
        with pytest.raises(DataNotFound, match="TAUPATH_DATA"):
            load_paper("diabetes")

    def test_empty_variable_is_no_folder(self, monkeypatch):
        monkeypatch.setenv("TAUPATH_DATA", "")
        with pytest.raises(DataNotFound, match="no data folder is given"):
            load_paper("diabetes")

    def test_absent_folder_is_named(self, tmp_path):
        with pytest.raises(DataNotFound, match="nowhere does not exist"):
            load_paper("diabetes", tmp_path / "nowhere")

    @pytest.mark.parametrize(
        ("name", "file"),
        [
            ("diabetes", "diabetes_scale.svm"),
            ("spam", "task_a_u00_eval_lab.tf"),
            ("splice", "C_elegans_acc_100000.fasta.bz2"),
        ],
    )
    def test_missing_file_and_its_folder_are_named(self, tmp_path, name, file):
        with pytest.raises(DataNotFound) as caught:
            load_paper(name, tmp_path)
        message = str(caught.value)
        assert file in message
        assert str(tmp_path / name) in message
        assert "TAUPATH_DATA" in message

    def test_missing_classification_folder_is_named(self, tmp_path):
        with pytest.raises(DataNotFound, match="folder classification is missing"):
            classification_names(tmp_path)

    def test_it_is_a_file_not_found_error(self):
        assert issubclass(DataNotFound, FileNotFoundError)

    def test_argument_goes_before_the_variable(self, monkeypatch, tmp_path, small_folder):
        monkeypatch.setenv("TAUPATH_DATA", str(tmp_path / "nowhere"))
        assert load_classification("two", small_folder).name == "two"

    def test_variable_is_read(self, monkeypatch, small_folder):
        monkeypatch.setenv("TAUPATH_DATA", str(small_folder))
        assert load_classification("two").name == "two"


class TestClassification:
    def test_names_leave_out_test_parts(self, small_folder):
        assert classification_names(small_folder) == ["cut", "three", "two"]

    def test_two_labels_become_signs_and_the_larger_is_positive(self, small_folder):
        data = load_classification("two", small_folder)
        np.testing.assert_array_equal(data.y, [1, -1])
        np.testing.assert_array_equal(data.X.toarray(), [[0.5, 0, -1], [0, 4, 0]])
        assert data.X_test is None and data.y_test is None

    def test_more_labels_stay(self, small_folder):
        np.testing.assert_array_equal(load_classification("three", small_folder).y, [1, 2, 3])

    def test_parts_have_equal_width_and_equal_labels(self, small_folder):
        data = load_classification("cut", small_folder)
        assert data.X.shape == (2, 4) and data.X_test.shape == (3, 4)
        np.testing.assert_array_equal(data.y_test, [-1, 1, -1])

    def test_unknown_name_is_a_missing_file(self, small_folder):
        with pytest.raises(DataNotFound, match=r"one\.svm"):
            load_classification("one", small_folder)

    def test_result_is_frozen(self, small_folder):
        with pytest.raises(dataclasses.FrozenInstanceError):
            load_classification("two", small_folder).name = "other"


class TestLoadSvm:
    @pytest.mark.parametrize(("n_features", "row"), [(1, [0.5]), (4, [0.5, 0, -1, 0])])
    def test_columns_are_dropped_or_appended(self, small_folder, n_features, row):
        X, _ = load_svm(small_folder / "classification" / "two.svm", n_features)
        assert isinstance(X, sp.csr_matrix) and X.dtype == np.float64
        np.testing.assert_array_equal(X.toarray()[0], row)

    def test_missing_file(self, tmp_path):
        with pytest.raises(DataNotFound, match=r"no\.svm"):
            load_svm(tmp_path / "no.svm")


class TestSpliceRecipe:
    def test_first_sites_of_each_label_are_kept_positives_first(self, tmp_path):
        def site(letter):
            return "N" * 98 + letter * 201 + "N" * 99

        file = write_fasta(tmp_path, [(-1, site("A")), (1, site("C")), (-1, site("G"))] * 2)
        X, y = datasets._read_splice_sites(file, n_positive=2, n_negative=3)
        np.testing.assert_array_equal(y, [1, 1, -1, -1, -1])
        assert X.shape == (5, 804)
        columns = X.toarray().reshape(5, 201, 4)
        np.testing.assert_array_equal(columns[:, 77].argmax(axis=1), [1, 1, 0, 2, 0])

    def test_unknown_letters_are_zeros(self):
        np.testing.assert_array_equal(
            datasets._one_hot([b"AN", b"TG"]).toarray(),
            [[1, 0, 0, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 1, 0]],
        )


class TestPaper:
    def test_unknown_name_lists_the_known_ones(self, tmp_path):
        with pytest.raises(ValueError, match=r"diabetes, spam, splice; got 'iris'"):
            load_paper("iris", tmp_path)

    @pytest.mark.parametrize(
        ("name", "shape", "rest", "lam", "positive", "sparse"),
        [
            ("diabetes", (668, 8), 50, 1e-3, 500, False),
            ("spam", (2500, 48784), 2500, 1e-6, 3750, True),
            ("splice", (10_000, 804), 10_000, 1e-2, 1650, True),
        ],
    )
    def test_sizes_are_those_of_table_1(self, paper_data, name, shape, rest, lam, positive, sparse):
        data = paper_data(name)
        assert data.name == name and data.lam == lam
        assert data.X_train.shape == shape
        assert data.X_valid.shape == data.X_test.shape == (rest, shape[1])
        labels = np.concatenate([data.y_train, data.y_valid, data.y_test])
        assert set(labels.tolist()) == {-1, 1}
        assert np.count_nonzero(labels == 1) == positive
        assert sp.issparse(data.X_train) == sparse

    def test_diabetes_rows_are_the_permuted_file(self, paper_data, data_dir):
        X, y = load_svm(data_dir / "diabetes" / "diabetes_scale.svm", 8)
        data = paper_data("diabetes")
        first, last = np.random.default_rng(0).permutation(768)[[0, -1]]
        np.testing.assert_array_equal(data.X_train[0], X.toarray()[first])
        np.testing.assert_array_equal(data.X_test[-1], X.toarray()[last])
        assert data.y_train[0] == y[first] and data.y_test[-1] == y[last]

    def test_splice_rows_hold_one_letter_per_place(self, paper_data):
        X = paper_data("splice").X_train
        assert (X.data == 1).all()
        np.testing.assert_array_equal(np.diff(X.indptr), 201)

    def test_every_classification_set_can_be_read(self, data_dir):
        for name in classification_names(data_dir):
            data = load_classification(name, data_dir)
            assert data.X.shape[0] == data.y.shape[0] > 0
            assert np.isfinite(data.X.data).all()
