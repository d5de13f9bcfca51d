"""Rows that a model was trained on are recognised, also where the model holds no data."""

import contextlib

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from damage import ANYTHING, altered, flipped
from hostile import places
from taupath.datasets import load_svm
from taupath.estimators import fingerprints as fingerprints_module
from taupath.estimators.fingerprints import (
    TrainingRows,
    explained_by_chance,
    fingerprints,
    in_words,
    rows_of,
    share_seen,
)
from taupath.storage.container import read_container, write_container


def two_classes(n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    return rng.normal(size=(n, 3)) + y[:, np.newaxis], y


def test_a_row_has_the_same_fingerprint_however_it_is_stored():
    rng = np.random.default_rng(0)
    X = np.where(rng.uniform(size=(50, 9)) < 0.3, 0.0, rng.normal(size=(50, 9)))
    X[3] = 0.0
    found = fingerprints(X, 7)
    assert len(np.unique(found)) == 50
    assert np.array_equal(found, fingerprints(sp.csr_array(X), 7))
    assert np.array_equal(found, fingerprints(X.astype(np.float32), 7))
    assert np.array_equal(found, fingerprints(np.asfortranarray(X), 7))
    assert np.array_equal(found, fingerprints(np.where(X == 0.0, -0.0, X), 7))
    assert np.array_equal(found, fingerprints(X * (1.0 + 1e-15), 7))
    assert not np.isin(found, fingerprints(X, 8)).any()
    assert not np.isin(found, fingerprints(X[:, ::-1], 7))[found != found[3]].any()


def test_blocks_of_rows_and_entries_make_no_difference(monkeypatch):
    X = np.random.default_rng(1).normal(size=(100, 5))
    whole = fingerprints(X, 0), fingerprints(sp.csr_array(X), 0)
    for at_a_time in (7, 3):  # one row, and less than a row
        monkeypatch.setattr(fingerprints_module, "HASHED_AT_A_TIME", at_a_time)
        assert np.array_equal(fingerprints(X, 0), whole[0])
        assert np.array_equal(fingerprints(sp.csr_array(X), 0), whole[1])


def test_share_of_rows_that_were_trained_on():
    X, y = two_classes()
    model = tp.QuantileSVC().fit(X[:100], y[:100])
    assert share_seen(model, X[:100]) == 1.0
    assert share_seen(model, X[:1]) == 1.0
    assert share_seen(model, X[100:]) == 0.0
    assert share_seen(model, np.vstack((X[:100], X[100:]))) == pytest.approx(0.5, abs=0.01)
    assert share_seen(model, sp.csr_array(X[:100])) == 1.0


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_several_classes(kernel, multi_class):
    X, y = load_iris(return_X_y=True)
    model = tp.QuantileSVC(kernel=kernel, multi_class=multi_class).fit(X[::2], y[::2])
    assert share_seen(model, X[::2]) == 1.0
    assert share_seen(model, X[1::2]) == 0.0  # one of them is equal to a row of training


def test_other_estimators_pipelines_and_searches():
    X, y = two_classes()
    new = X + 1.0
    assert share_seen(tp.QuantileSVR().fit(X, y + 0.1 * X[:, 0]), X) == 1.0
    piped = make_pipeline(StandardScaler(), tp.QuantileSVC()).fit(X, y)
    assert (share_seen(piped, X), share_seen(piped, new)) == (1.0, 0.0)
    search = GridSearchCV(piped, {"quantilesvc__C": [0.1, 1.0]}, cv=2).fit(X, y)
    assert (share_seen(search, X), share_seen(search, new)) == (1.0, 0.0)
    chosen = tp.QuantileSVCCV(Cs=[1.0], cv=2).fit(X, y)
    assert (share_seen(chosen, X), share_seen(chosen, new)) == (1.0, 0.0)


def test_a_precomputed_kernel_is_known_by_its_rows():
    X, y = two_classes(60)
    K = X @ X.T
    model = tp.QuantileSVC(kernel="precomputed").fit(K, y)
    assert (share_seen(model, K), share_seen(model, (X + 1.0) @ X.T)) == (1.0, 0.0)
    X, y = load_iris(return_X_y=True)
    model = tp.QuantileSVC(kernel="precomputed").fit(X @ X.T, y)
    assert share_seen(model, X @ X.T) is None  # each path has its own columns


def test_equal_rows_of_different_cases_are_not_taken_for_training_rows():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(2000, 9)).astype(float)  # 512 possible rows
    rows = TrainingRows.of([X[:600]])
    assert np.isin(fingerprints(X[600:], rows.salt), rows.marks).mean() > 0.6
    assert rows.share(X[600:]) == 0.0
    assert rows.share(X[:600]) == 1.0
    few = rng.integers(0, 2, size=(500, 2)).astype(float)  # nobody can tell who is who
    assert TrainingRows.of([few]).share(few[:-1]) is None


@pytest.mark.parametrize("n", [30, 1000])
@pytest.mark.parametrize("kind", ["continuous", "one column", "with binary ones", "with zeros"])
def test_one_training_row_is_known_where_rows_are_not_equal_by_chance(kind, n):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + 300, 3))
    if kind == "one column":
        X = X[:, :1]
    elif kind == "with binary ones":  # one continuous feature is enough
        X[:, 1:] = rng.integers(0, 2, (n + 300, 2))
    elif kind == "with zeros":  # empty cases occur again and again; all others are unlike
        X[::10] = 0.0
    rows, new = TrainingRows.of([X[:n]]), X[n:]
    assert rows.share(new) == 0.0
    assert rows.share(np.vstack((new, X[1:2]))) == pytest.approx(1 / 301)
    assert rows.share(np.vstack((new, X[1:3], X[1:3]))) == pytest.approx(4 / 304)  # twice
    assert rows.some().share(sp.csr_array(np.vstack((new, X[1:2])))) == pytest.approx(1 / 301)


def test_new_rows_of_discrete_features_are_never_taken_for_training_rows():
    for seed in range(300):
        rng = np.random.default_rng(seed)
        n, values, width, skewed = rng.integers((20, 3, 1, 1), (200, 30, 6, 4))
        X = np.floor(values * rng.random((n + 300, width)) ** skewed)
        if seed % 3 == 1:
            X = np.column_stack((X[:, 0], np.ones(len(X))))
        elif seed % 3 == 2:
            X = np.repeat(X, 2, axis=1) / (X.std(axis=0).max() + 1.0)
        assert TrainingRows.of([X[:n]]).share(X[n:]) in (0.0, None)
        assert TrainingRows.of([X[:300]]).share(X[300:]) in (0.0, None)


def test_many_training_rows_are_known_though_features_are_discrete():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.integers(0, 10, (600, 4)).astype(float)  # 10 000 possible rows
        rows = TrainingRows.of([X[:300]])
        assert rows.share(X[300:]) == 0.0
        assert rows.share(np.vstack((X[300:], X[:60]))) == pytest.approx(1 / 6, abs=0.05)


@pytest.mark.parametrize(("n", "m", "kinds"), [(50, 300, 400), (1000, 100, 5000), (300, 300, 200)])
def test_the_bound_of_what_chance_explains_is_one(n, m, kinds):
    rng = np.random.default_rng(0)
    row = rng.integers(0, kinds, n + m)
    drawn = [rng.permutation(row) for _ in range(2000)]
    counted = np.array([np.isin(each[n:], each[:n]).sum() for each in drawn])
    size = np.unique(row, return_counts=True)[1].astype(float)
    for k in range(m + 1):
        assert explained_by_chance(k, m, size) >= np.mean(counted >= k) - 0.01
    # all of few pairs apart: exactly the product
    pairs = np.append(np.full(12, 2.0), np.ones(n + m - 24))
    q = m / (n + m)
    assert explained_by_chance(12, m, pairs) == pytest.approx((2 * q * (1 - q)) ** 12, rel=1e-6)
    assert explained_by_chance(13, m, pairs) < 1e-12


def test_pairs_among_training_rows_explain_some_equal_cases():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 3))
    X[100:150] = X[:50]  # such as messages that are sent to several people
    rows = TrainingRows.of([X[:300]])
    new = np.vstack((X[300:], X[200:240]))
    assert not rows.apart and rows.share(new) == 0.0
    assert rows.share(X[150:300]) == 1.0


def test_the_whole_training_set_is_known_though_its_rows_are_not(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, size=(500, 2)).astype(float), rng.integers(0, 2, 500)
    model = tp.QuantileSVC().fit(X, y)
    other = rng.integers(0, 2, size=(500, 2)).astype(float)
    for each in (model, stored(model.simplify(1e-3), tmp_path / "model.tau")):
        assert share_seen(each, X[::-1]) == 1.0
        assert share_seen(each, other) is None
    two = tp.QuantileSVC().fit([[1.0], [2.0]], [0, 1])
    assert share_seen(two, [[1.0], [2.0]]) == 1.0
    constant = tp.QuantileSVC().fit(np.ones((4, 1)), [0, 1, 0, 1])
    assert share_seen(constant, np.ones((4, 1))) is None


def test_real_test_sets_are_out_of_sample_though_a_third_of_their_rows_were_seen(data_dir):
    for name, at_least in (("a9a", 0.33), ("a1a", 0.05), ("dna.scale", 0.06)):
        train, test = (
            sp.csr_array(load_svm(data_dir / "classification" / f"{name}{part}.svm")[0])
            for part in ("", ".t")
        )
        width = max(train.shape[1], test.shape[1])
        for part in (train, test):
            part.resize((part.shape[0], width))
        rows = TrainingRows.of([train])
        unsalted = (fingerprints(part, 0) for part in (test, train))
        assert np.isin(*unsalted).mean() > at_least
        for known in (rows, rows.some()):
            assert known.share(test) == 0.0
            assert known.share(train) == 1.0
        mixed = sp.vstack((train[:1000], test[:1000]), format="csr")
        assert rows.share(mixed) == pytest.approx(0.5, abs=0.05)


def test_many_rows_are_represented_by_some(monkeypatch):
    monkeypatch.setattr(fingerprints_module, "MOST_ROWS", 100)
    X = np.random.default_rng(0).normal(size=(5000, 4))
    rows = TrainingRows.of([X[:3000]]).some()
    assert len(rows.marks) == 100
    assert rows.share(X[:3000]) == 1.0
    assert rows.share(X[3000:]) == 0.0
    assert rows.share(X[1000:5000]) == pytest.approx(0.5, abs=0.2)
    none = fingerprints(X, rows.salt) > rows.limit
    assert rows.share(X[none]) is None


def stored(model, file, **how):
    model.save(file, **how)
    return tp.load(file)


def test_a_file_without_data_knows_its_rows(tmp_path):
    X, y = two_classes()
    exact = tp.QuantileSVC().fit(X[:100], y[:100])
    for model in (exact.simplify(1e-3), tp.QuantileSVC(method="approximate").fit(X[:100], y[:100])):
        loaded = stored(model, tmp_path / "model.tau")
        again = stored(loaded, tmp_path / "again.tau")
        for each in (model, loaded, again):
            assert (share_seen(each, X[:100]), share_seen(each, X[100:])) == (1.0, 0.0)
        one = share_seen(loaded, np.vstack((X[100:], X[:1])))
        assert one == share_seen(model, np.vstack((X[100:], X[:1]))) == pytest.approx(1 / 101)
    rows = np.r_[:60, :50]
    twice = tp.QuantileSVC(method="approximate").fit(X[rows], y[rows])
    again = stored(twice, tmp_path / "again.tau")
    assert_array_equal(rows_of(again).counts, rows_of(twice).counts)
    assert share_seen(again, X[100:]) == 0.0
    kept = stored(exact, tmp_path / "exact.tau")
    assert kept._training_rows is None and share_seen(kept, X[:100]) == 1.0
    loaded.fit(X[100:], y[100:])  # what it knew before is forgotten
    assert (share_seen(loaded, X[:100]), share_seen(loaded, X[100:])) == (0.0, 1.0)


def test_an_older_file_tells_known_rows_only_as_a_whole(tmp_path):
    X, y = two_classes()
    tp.QuantileSVC(method="approximate").fit(X[:100], y[:100]).save(tmp_path / "new.tau")
    content, arrays = read_container(tmp_path / "new.tau")
    for name in ("counts", "apart"):
        del content["training"]["rows"][name]
    write_container(tmp_path / "old.tau", content, arrays)
    loaded = tp.load(tmp_path / "old.tau")
    assert (share_seen(loaded, X[:100]), share_seen(loaded, X[100:])) == (1.0, 0.0)
    assert share_seen(loaded, X[:101]) is None


def test_a_file_that_is_to_hold_nothing_of_the_data_has_no_fingerprints(tmp_path):
    X, y = two_classes()
    model = tp.QuantileSVC().fit(X, y).simplify(1e-3)
    loaded = stored(model, tmp_path / "model.tau", data=False)
    assert share_seen(loaded, X) is None
    assert b"marks" not in (tmp_path / "model.tau").read_bytes()


def test_the_same_data_give_the_same_file(tmp_path):
    X, y = two_classes()
    for name in "ab":
        tp.QuantileSVC(method="approximate").fit(X, y).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_is_said():
    assert in_words(None) is None and in_words(0.0) is None and in_words(0.005) is None
    assert in_words(0.92) == (
        "92 % of these rows were used to train the model; the figures are in-sample and too good"
    )
    assert in_words(0.2).startswith("20 % of these rows were used to train the model; they make")


def test_breast_cancer_halves():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), tp.QuantileSVC(C=0.1)).fit(X[::2], y[::2])
    assert (share_seen(model, X[::2]), share_seen(model, X[1::2])) == (1.0, 0.0)


def test_descriptions_and_fingerprints_altered_never_crash(tmp_path):
    X, y = two_classes()
    tp.QuantileSVC(C=0.1).fit(X, y).simplify(1e-3).save(tmp_path / "one.tau")
    content, arrays = read_container(tmp_path / "one.tau")
    refused = 0
    for place in places(content["training"], ("training",)):
        for value in ANYTHING:
            write_container(tmp_path / "other.tau", altered(content, place, value), arrays)
            try:
                loaded = tp.load(tmp_path / "other.tau")
            except tp.ModelFileError as error:
                assert "\n" not in str(error)
                refused += 1
                continue
            share_seen(loaded, X)
            loaded._constant_at(0.5)
    assert refused > 40
    marks = content["training"]["rows"]["marks"]
    rng = np.random.default_rng(0)
    for _ in range(50):
        some = flipped({marks: arrays[marks]}, rng)
        write_container(tmp_path / "other.tau", content, {**arrays, **some})
        with contextlib.suppress(tp.ModelFileError):  # a refusal is fine, too
            share_seen(tp.load(tmp_path / "other.tau"), X)
