"""Model files: what is stored comes back, and nothing else does."""

import hashlib
import json
import os
import pickle
import stat
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler, scale

import taupath as tp
from damage import ANYTHING, altered, flipped
from hostile import places
from lazily import Lazily
from taupath.storage.arrays import ArraysToWrite, StoredArrays
from taupath.storage.container import NO_DIGEST, VERSION, read_container, write_container
from taupath.tables import TableError

STORED = Path(__file__).parent / "stored"


def cancer(n=200):
    X, y = load_breast_cancer(return_X_y=True)
    return scale(X)[:n, :6], y[:n]


def paths():
    """Return functions that make paths."""
    X, y = cancer()
    weight = np.linspace(0.0, 2.0, len(y))
    Xr, yr = load_diabetes(return_X_y=True)
    Xr, yr = Xr[:100], yr[:100]
    kernel = np.exp(-0.1 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return {
        "linear": lambda: tp.quantile_path(X, y, C=0.1),
        "sparse": lambda: tp.quantile_path(
            sp.csr_array(np.where(np.abs(X) > 1.0, X, 0.0)), y, lam=0.1
        ),
        "ones": lambda: tp.quantile_path(sp.csr_array((X > 0.0).astype(float)), y, C=0.1),
        "part": lambda: tp.quantile_path(X, y, C=0.1, tau_range=(0.3, 0.6), intercept="free"),
        "weights": lambda: tp.quantile_path(X, np.where(y, "well", "ill"), sample_weight=weight),
        "rbf": lambda: tp.quantile_path(X, y, kernel="rbf", intercept="none"),
        "poly": lambda: tp.quantile_path(X, y > 0, kernel="poly", degree=2, coef0=1.0, C=0.01),
        "precomputed": lambda: tp.quantile_path(kernel, y.astype(float), kernel="precomputed"),
        "rows of a kernel": lambda: tp.quantile_path(X, y, kernel="rbf", cache_size=0.2),
        "C path": lambda: tp.regularization_path(X, y, tau=0.3, C_max=1.0),
        "regression": lambda: tp.quantile_regression_path(Xr, yr, C=10.0, intercept="free"),
        "half": lambda: tp.quantile_regression_path(
            Xr, yr, C=10.0, kernel="rbf", tau_range=(0.6, 0.9)
        ),
        "constant": lambda: tp.quantile_regression_path(
            Xr, np.full(len(Xr), 3.0), intercept="free"
        ),
    }


PATHS = Lazily(paths())


@pytest.fixture(params=list(PATHS))
def path(request):
    return PATHS[request.param]


def same(path, other, values=5):
    """Assert that two paths are the same, number for number."""
    assert type(other) is type(path)
    assert repr(other) == repr(path)
    assert np.array_equal(other.taus, path.taus)
    assert other.counters == path.counters
    for value in np.linspace(*path.tau_range, values):
        assert np.array_equal(other.alpha(value), path.alpha(value))
        assert other.intercept(value) == path.intercept(value)
        assert other.duality_gap(value) == path.duality_gap(value)


@pytest.mark.core
def test_a_path_comes_back_number_for_number(path, tmp_path):
    path.save(tmp_path / "path.tau")
    same(path, tp.load(tmp_path / "path.tau"))


def test_labels_come_back_as_they_were(tmp_path):
    for name in ("linear", "weights", "poly", "precomputed"):
        PATHS[name].save(tmp_path / "path.tau")
        classes = tp.load(tmp_path / "path.tau").classes
        assert np.array_equal(classes, PATHS[name].classes)
        assert classes.dtype == PATHS[name].classes.dtype


def test_what_was_loaded_can_be_saved_again_and_is_the_same_file(path, tmp_path):
    path.save(tmp_path / "one.tau")
    tp.load(tmp_path / "one.tau").save(tmp_path / "two.tau")
    assert (tmp_path / "one.tau").read_bytes() == (tmp_path / "two.tau").read_bytes()


@pytest.mark.parametrize(
    "classifier",
    [
        tp.QuantileSVC(C=0.1, class_weight={0: 2.0, 1: 1.0}, tau=0.3),
        tp.QuantileSVC(kernel="rbf", monotone=True, class_weight="balanced"),
        tp.QuantileSVC(lam=0.1, multi_class="ovr"),
        tp.QuantileSVCCV([0.01, 0.1], cv=3, combine="best", kernel="linear", standardize=False),
        tp.QuantileSVCCV([0.01, 0.1], cv=3, kernel=["linear", "rbf"]),
    ],
    ids=str,
)
def test_a_classifier_comes_back(classifier, tmp_path):
    X, y = load_iris(return_X_y=True) if classifier.tau == 0.5 else cancer()
    classifier.fit(X, y)
    classifier.save(tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert np.array_equal(other.predict_proba(X), classifier.predict_proba(X))
    assert np.array_equal(other.predict(X), classifier.predict(X))
    assert np.array_equal(other.n_iter_, classifier.n_iter_)
    if not isinstance(classifier, tp.QuantileSVCCV):
        assert other.get_params() == classifier.get_params()
    elif classifier.combine == "best":
        assert other.C == classifier.C_


def test_a_classifier_of_pairs_with_a_precomputed_kernel_comes_back(tmp_path):
    X, y = load_iris(return_X_y=True)
    K = X @ X.T
    classifier = tp.QuantileSVC(kernel="precomputed").fit(K, y)
    classifier.save(tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert np.array_equal(other.predict_proba(K[:9]), classifier.predict_proba(K[:9]))


def test_a_regressor_comes_back_with_the_names_of_its_features(tmp_path):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    regressor = tp.QuantileSVR(C=10.0, quantile=0.2, conformal=4).fit(X[:90], y[:90])
    regressor.save(tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    assert np.array_equal(other.predict(X, [0.1, 0.9]), regressor.predict(X, [0.1, 0.9]))
    assert np.array_equal(other.predict_interval(X, 0.7), regressor.predict_interval(X, 0.7))
    assert list(other.feature_names_in_) == list(X.columns)
    assert other.quantile == 0.2


def test_ones_take_a_byte_each(tmp_path):
    path = PATHS["ones"]
    path.save(tmp_path / "path.tau")
    entries = path.data.X.nnz
    assert (tmp_path / "path.tau").stat().st_size < path.nbytes + 5 * entries + 6000


def test_floats_are_narrowed_only_where_nothing_is_lost():
    shelf = ArraysToWrite()
    for value in (0.1, -0.0, 1e300, 128.0, 0.5, 127.0):
        name = shelf.put("x", np.array([value]))
        back = StoredArrays(shelf.by_name).take(name, np.float64)
        assert back.dtype == np.float64
        assert back.tobytes() == np.array([value]).tobytes()
    assert sorted(a.dtype.itemsize for a in shelf.by_name.values()) == [1, 4, 4, 4, 8, 8]


def test_the_same_array_is_stored_once():
    shelf = ArraysToWrite()
    names = {shelf.put(name, np.arange(9.0)) for name in "ab"}
    assert len(names) == len(shelf.by_name) == 1


def test_safetensors_reads_a_model_file(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    PATHS["linear"].save(tmp_path / "path.tau")
    arrays = safetensors.load_file(tmp_path / "path.tau")
    (name,) = [name for name in arrays if name.startswith("X")]
    assert np.array_equal(arrays[name], PATHS["linear"].data.X)


def check_predictions(model, columns, predicted):
    """Compare with what the command line wrote."""
    if model.task == "classify":
        labels = model.predict(columns, cost_fp=1, cost_fn=3)
        assert labels.tolist() == predicted.pop("prediction")
        names = [f"p({label})" for label in model.classes_]
        found = model.predict_proba(columns)
    else:
        names = ["q0.1", "q0.5", "lower", "upper"]
        quantiles = model.predict(columns, quantile=[0.1, 0.5])
        found = np.hstack([quantiles, model.predict_interval(columns, 0.8)])
    expected = np.column_stack([predicted[name] for name in names])
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("file", sorted(STORED.glob("*.tau")), ids=lambda file: file.stem)
def test_files_of_every_version_stay_readable(file):
    model = tp.load(file)
    truth = json.loads(file.with_suffix(".json").read_text())
    if "columns" in truth:  # with the preparation of raw files
        check_predictions(model, truth["columns"], truth["predicted"])
        return
    X = np.array(truth["X"])
    if isinstance(model, tp.SolutionPath):
        found = model.decision_function(X, truth["taus"])
        if hasattr(model, "stated"):
            certificate = model.certify(np.array(truth["trained"]["X"]), truth["trained"]["y"])
            assert certificate.holds() and model.stated.holds()
        else:
            assert model.certify().holds()
    else:
        classifies = hasattr(model, "predict_proba")
        found = model.predict_proba(X) if classifies else model.predict_interval(X, 0.8)
        if classifies:  # the larger label, before there was a choice
            assert model.pos_label_ == truth.get("positive", "yes")
    np.testing.assert_allclose(found, truth["values"], rtol=1e-9, atol=1e-9)


def test_a_file_of_this_version_is_stored():
    assert any(file.name.startswith(f"v{VERSION}-") for file in STORED.glob("*.tau"))


def test_stored_files_have_all_that_only_some_paths_have():
    """Namely merged copies, a shift, a centre, nodes: what readers before version 4 ignore."""
    copies = tp.load(STORED / "v4-copies.tau")
    assert copies.data.distinct.shape[0] < copies.data.shape[0]
    centred = tp.load(STORED / "v4-centred-quantiles.tau")
    assert centred.data.shift is not None
    assert all(piece.way.centre != 0.0 for piece in centred.solutions.pieces)
    assert len(tp.load(STORED / "v4-extra-rows.tau").path_.data.extra) == 6
    nodes = tp.load(STORED / "v4-nodes.tau").solutions.pieces[0].record.nodes
    taus = json.loads((STORED / "v4-nodes.json").read_text())["taus"]
    assert [nodes.around(tau) is not None for tau in taus] == [False, True, True, False]


# -- files that are not what they should be ----------------------------------------------------


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return a file, its bytes, and what it holds."""
    file = tmp_path_factory.mktemp("model") / "model.tau"
    X, y = cancer(60)
    tp.QuantileSVC(C=0.1).fit(X, y).save(file)
    return file, file.read_bytes(), X


@pytest.mark.parametrize("seed", range(10))
def test_a_file_with_bytes_flipped_or_cut_is_refused_or_the_same(stored, tmp_path, seed):
    _, content, _ = stored
    rng = np.random.default_rng(seed)
    file = tmp_path / "model.tau"
    for trial in range(100):
        altered = bytearray(content)
        if trial % 4 == 0:
            del altered[int(rng.integers(len(altered))) :]
        else:
            place = int(rng.integers(8 if trial % 4 == 1 else len(altered)))
            altered[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(altered)
        with pytest.raises(tp.ModelFileError) as error:
            tp.load(file)
        assert "\n" not in str(error.value)
        assert str(file) in str(error.value)


def rewritten(content, arrays, file):
    """Write a file with a checksum that fits, whatever is in it."""
    write_container(file, content, arrays)


@pytest.mark.core
@pytest.mark.parametrize("seed", range(10))
def test_numbers_altered_with_their_checksum_never_crash(stored, tmp_path, seed):
    file, _, X = stored
    content, arrays = read_container(file)
    rng = np.random.default_rng(seed)
    refused = 0
    for _ in range(40):
        rewritten(content, flipped(arrays, rng), tmp_path / "model.tau")
        try:
            model = tp.load(tmp_path / "model.tau")
        except tp.ModelFileError:
            refused += 1
            continue
        try:
            with np.errstate(all="ignore"):  # damaged numbers
                model.predict(X, tau=0.3)
                model.predict_proba(X)
        except (ValueError, RuntimeError):
            pass
    assert refused > 0


def save_pipeline(columns, file):
    """Save a small pipeline with all kinds of features."""
    encoder = OneHotEncoder(min_frequency=2, handle_unknown="infrequent_if_exist")
    transformer = make_column_transformer(
        (make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), ["a"]),
        (encoder, ["b", "c"]),
        ("passthrough", ["c"]),
    )
    pipeline = make_pipeline(transformer, tp.QuantileSVC())
    tp.save(pipeline.fit(pd.DataFrame(columns), [0, 1, 1, 0]), file)


@pytest.mark.parametrize("kind", ["classifier", "regressor", "C path", "rbf", "pipeline"])
def test_descriptions_with_anything_in_any_place_are_refused_or_harmless(kind, stored, tmp_path):
    file, _, X = stored
    if kind == "regressor":
        file = tmp_path / "one.tau"
        tp.QuantileSVR(C=1.0, conformal=3).fit(X, X[:, 0] ** 2).save(file)
    elif kind == "pipeline":
        file = tmp_path / "one.tau"
        X = {"a": [1.5, None, 3.0, 2.0], "b": ["u", "v", "v", None], "c": [True, False, True, True]}
        save_pipeline(X, file)
    elif kind != "classifier":
        file = tmp_path / "one.tau"
        X, y = cancer(40)
        make = {
            "C path": partial(tp.regularization_path, C_max=1.0),
            "rbf": partial(tp.quantile_path, kernel="rbf"),
        }
        make[kind](X, y).save(file)
    content, arrays = read_container(file)
    for place in places(content):
        if kind == "pipeline" and place[0] not in ("preparation", "trained", "classes"):
            continue  # as of a classifier
        for value in ANYTHING:
            rewritten(altered(content, place, value), arrays, tmp_path / "model.tau")
            try:
                model = tp.load(tmp_path / "model.tau")
            except tp.ModelFileError as error:
                assert "\n" not in str(error)
                continue
            try:
                if isinstance(model, tp.SolutionPath):
                    model.decision_function(X[:3], 0.5)
                elif isinstance(model, tp.Model):
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore", UserWarning)  # categories are new to it
                        assert set(model.predict(X)) <= set(model.classes_.tolist())
                elif kind != "pipeline":  # without its preparation, which was taken away
                    model.predict(X[:3])
            except TableError:
                assert "preparation" in place  # another column is asked for, or no cell is filled
            except (ValueError, TypeError):
                assert "parameters" in place  # checked when they are used


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "not a taupath model"),
        (b"PK\x03\x04 an archive of another kind", "not a taupath model"),
        (b"\x80\x04\x95 a pickle, or something like it", "not a taupath model"),
        (pickle.dumps({"a": 1}), "not a taupath model"),
        (b"\x40\0\0\0\0\0\0\0" + b'{"a":{"dtype":"F64","shape":[1],"data_offsets":[0,8]}}', "not"),
        (b"\xff" * 100, "not a taupath model"),
        (b"\x00" * 100, "not a taupath model"),
    ],
)
def test_foreign_files_are_told_so(content, says, tmp_path):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(tp.ModelFileError, match=says):
        tp.load(tmp_path / "file")


def test_a_later_version_asks_for_a_newer_taupath(stored, tmp_path):
    _, content, _ = stored
    later = content.replace(f'"version":"{VERSION}"'.encode(), b'"version":"9"', 1)
    (tmp_path / "file").write_bytes(later)
    with pytest.raises(tp.ModelFileError, match="install a newer taupath"):
        tp.load(tmp_path / "file")


def with_header(header, data=b""):
    """Return the bytes of a file with this header and a checksum that fits."""
    text = json.dumps(header, separators=(",", ":")).encode()
    length = len(text).to_bytes(8, "little")
    digest = hashlib.sha256(length + text + data).hexdigest()
    return length + text.replace(NO_DIGEST.encode(), digest.encode(), 1) + data


def metadata(content="{}"):
    return {"format": "taupath", "version": "1", "sha256": NO_DIGEST, "content": content}


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "F64", "shape": [1 << 60], "data_offsets": [0, 8 << 60]},
        {"dtype": "F64", "shape": [1 << 62, 1 << 62], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [0, 1 << 80], "data_offsets": [0, 0]},
        {"dtype": "F64", "shape": [-1], "data_offsets": [0, -8]},
        {"dtype": "F64", "shape": [1], "data_offsets": [8, 16]},
        {"dtype": "O", "shape": [1], "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": 1, "data_offsets": [0, 8]},
        {"dtype": "F64", "shape": [True], "data_offsets": [0, 8]},
        [],
    ],
)
def test_arrays_that_cannot_be_there_are_refused(entry, tmp_path):
    file = tmp_path / "file"
    file.write_bytes(with_header({"__metadata__": metadata(), "a": entry}, bytes(8)))
    with pytest.raises(tp.ModelFileError):
        tp.load(file)


@pytest.mark.parametrize(
    "content", ["[" * 100_000, "{", "null", '{"path": 1e999}', '{"a":1,"a":2}']
)
def test_descriptions_that_are_none_are_refused(content, tmp_path):
    (tmp_path / "file").write_bytes(with_header({"__metadata__": metadata(content)}))
    with pytest.raises(tp.ModelFileError):
        tp.load(tmp_path / "file")


def test_what_no_array_lays_claim_to_is_refused(tmp_path):
    entry = {"dtype": "F64", "shape": [1], "data_offsets": [0, 8]}
    header = {"__metadata__": metadata(), "a": entry}
    (tmp_path / "file").write_bytes(with_header(header, bytes(16)))
    with pytest.raises(tp.ModelFileError, match="longer than its header says"):
        tp.load(tmp_path / "file")


def test_a_small_file_cannot_ask_for_many_columns(tmp_path):
    PATHS["sparse"].save(tmp_path / "file")
    content, arrays = read_container(tmp_path / "file")
    content["X"]["n_features"] = 1 << 31
    rewritten(content, arrays, tmp_path / "file")
    with pytest.raises(tp.ModelFileError, match="columns"):
        tp.load(tmp_path / "file")


# -- writing -----------------------------------------------------------------------------------


def test_kernels_that_are_functions_are_refused_and_nothing_is_left(tmp_path):
    X, y = cancer(30)
    path = tp.quantile_path(X, y, kernel=lambda A, B: A @ B.T)
    with pytest.raises(ValueError, match="Python function"):
        path.save(tmp_path / "path.tau")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_save_leaves_the_former_file(tmp_path, monkeypatch):
    file = tmp_path / "path.tau"
    file.write_text("former")

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        PATHS["linear"].save(file)
    assert file.read_text() == "former"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        PATHS["linear"].save(tmp_path / "no" / "path.tau")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        PATHS["linear"].save(tmp_path)


def test_a_new_file_has_the_usual_permissions_and_a_replaced_one_keeps_its_own(tmp_path):
    (tmp_path / "usual").write_text("")
    file = tmp_path / "path.tau"
    PATHS["linear"].save(file)
    mode = stat.S_IMODE
    assert mode(file.stat().st_mode) == mode((tmp_path / "usual").stat().st_mode)
    file.chmod(0o600)
    PATHS["linear"].save(file)
    assert mode(file.stat().st_mode) == 0o600


def test_saving_before_fit_says_so(tmp_path):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        tp.QuantileSVC().save(tmp_path / "model.tau")
    with pytest.raises(FileNotFoundError):
        tp.load(tmp_path / "model.tau")
