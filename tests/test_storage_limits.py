"""Sizes that a model file states are checked, and counted, before anything is made of them."""

from __future__ import annotations

import json
import sys
import time
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import taupath as tp
from hostile import Parts, assembled, more_free_than_columns
from taupath.approximate.row_sums import RowSums
from taupath.paths.certificate import Certificate
from taupath.paths.kernel_data import KernelData
from taupath.storage.budget import ANY_FILE
from taupath.storage.certificates import pack_certificate, unpack_certificate

rng = np.random.default_rng(3)
X = rng.normal(size=(40, 3))
Y = np.where(X[:, 0] + rng.normal(size=40) > 0.0, 1, -1)
GIGABYTE = 1 << 30


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Return a function that takes apart the file of a model."""
    folder = tmp_path_factory.mktemp("parts")

    def take_apart(model, **how):
        tp.save(model, folder / "model.tau", **how)
        return Parts.of(folder / "model.tau")

    return take_apart


@pytest.fixture
def refused(tmp_path):
    """Return a function that asserts that a file is refused, and returns what is said."""

    def refuse(raw, **how):
        file = tmp_path / "model.tau"
        file.write_bytes(raw if isinstance(raw, bytes) else raw.assembled())
        with pytest.raises(tp.ModelFileError) as error:
            tp.load(file, **how)
        said = str(error.value)
        assert "\n" not in said and len(said) < 400 + len(str(file)) and str(file) in said
        return said

    return refuse


def test_parts_put_together_are_the_file_as_it_was(tmp_path):
    tp.quantile_path(X, Y).save(tmp_path / "model.tau")
    assert Parts.of(tmp_path / "model.tau").assembled() == (tmp_path / "model.tau").read_bytes()


# -- the layout --------------------------------------------------------------------------------


def with_entry(parts, change, data=b""):
    """Return a file one of whose arrays is described otherwise."""
    header = parts.header()
    name = next(name for name in header if name.startswith("t."))
    change(header, header[name])
    return assembled(header, parts.data() + data)


ENTRIES = {
    "many dimensions": lambda _, entry: entry.update(shape=[2] * 800_000),
    "no dimensions": lambda _, entry: entry.update(shape=[]),
    "whole floats": lambda _, entry: entry.update(shape=[float(entry["shape"][0])]),
    "a truth value": lambda _, entry: entry.update(shape=[True]),
    "a huge number": lambda _, entry: entry.update(shape=[2**62]),
    "huge numbers": lambda _, entry: entry.update(shape=[2**62, 2**62]),
    "nothing, hugely": lambda _, entry: entry.update(shape=[0, 2**62]),
    "negative": lambda _, entry: entry.update(shape=[-1, -1]),
    "text": lambda _, entry: entry.update(shape="1"),
    "three offsets": lambda _, entry: entry["data_offsets"].append(0),
    "one offset": lambda _, entry: entry["data_offsets"].pop(),
    "a gap": lambda _, entry: entry.update(data_offsets=[k + 8 for k in entry["data_offsets"]]),
    "backwards": lambda _, entry: entry["data_offsets"].reverse(),
    "another type": lambda _, entry: entry.update(dtype="F16"),
    "no type": lambda _, entry: entry.update(dtype=["F64"]),
    "more": lambda _, entry: entry.update(more=1),
    "less": lambda _, entry: entry.pop("dtype"),
    "twice": lambda header, entry: header.update(again=dict(entry)),
}


@pytest.mark.parametrize("change", ENTRIES)
def test_arrays_are_where_the_header_says_or_the_file_is_refused(change, parts, refused):
    started = time.process_time()
    assert "array" in refused(with_entry(parts(tp.quantile_path(X, Y)), ENTRIES[change]))
    assert time.process_time() - started < 1.0


def test_arrays_are_aligned(parts, refused):
    """Narrow numbers before wide ones put these at odd places."""
    made = parts(tp.quantile_path(X, Y))
    header, data, at = made.header(), b"", 0
    for name in reversed(made.names()):
        array = made.arrays[name]
        header[name]["data_offsets"] = [at, at + array.nbytes]
        data, at = data + array.tobytes(), at + array.nbytes
    header = {"__metadata__": header["__metadata__"]} | {n: header[n] for n in made.names()[::-1]}
    assert "not where it should be" in refused(assembled(header, data))


def test_a_file_with_holes_is_refused_before_it_is_read(parts, tmp_path):
    made = parts(tp.quantile_path(X, Y))
    header, size = made.header(), 20 * GIGABYTE
    end = len(made.data())
    large = {"dtype": "I8", "shape": [size], "data_offsets": [end, end + size]}
    for raw, says in (
        (made.assembled(), "longer than its header says"),
        (assembled({**header, "zeros": large}, made.data()), "takes more memory than max_bytes"),
    ):
        file = tmp_path / "model.tau"
        file.write_bytes(raw)
        with file.open("r+b") as stream:
            stream.truncate(len(raw) + size)
        with pytest.raises(tp.ModelFileError, match=says):
            tp.load(file)


@pytest.fixture
def many_calls():
    """Let functions call themselves so often that a parser could use up its stack."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(10**6)
    yield
    sys.setrecursionlimit(before)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (b"[" * 70 + b"]" * 70, "nested too deeply"),
        (b'{"a":' * 200_000 + b"0" + b"}" * 200_000, "nested too deeply"),
        (b"9" * 21, "too many digits"),
        (b"9" * 1_000_000, "too many digits"),
        (b"1e999", "too large"),
        (b"NaN", "NaN is not a number"),
        (b'{"a":1,"a":2}', "occurs twice"),
        (b'"\\ud800"', "half a character"),
        (b'"\\\\\\ud800"', "half a character"),
    ],
)
@pytest.mark.parametrize("where", ["header", "content"])
def test_json_that_is_hard_to_read_is_refused(text, says, where, parts, refused, many_calls):
    made = parts(tp.quantile_path(X, Y))
    header = made.header()
    if where == "content":
        header["__metadata__"]["content"] = '{"path":' + text.decode() + "}"
        raw = assembled(header, made.data())
    else:
        begun = json.dumps(header, separators=(",", ":")).encode()[:-1]
        raw = assembled(begun + b',"more":' + text + b"}", made.data())
    assert says in refused(raw)


def test_brackets_and_escapes_in_text_are_no_nesting(tmp_path):
    labels = np.where(Y > 0, '\\"[{' * 100, "\\ud800 \\\\ud800")
    path = tp.quantile_path(X, labels)
    path.save(tmp_path / "path.tau")
    assert tp.load(tmp_path / "path.tau").classes.tolist() == path.classes.tolist()


# -- the budget --------------------------------------------------------------------------------


def sparse_path(n_features=50):
    wide = sp.csr_array((X[:, 0], (np.arange(40), np.arange(40) % 50)), shape=(40, n_features))
    return tp.quantile_path(wide, Y)


def test_empty_columns_count(parts, refused, tmp_path):
    made = parts(sparse_path())
    made.content["X"]["n_features"] = 2**24
    assert "max_bytes=8" in refused(made)
    assert "damaged" not in refused(made)
    (tmp_path / "model.tau").write_bytes(made.assembled())
    path = tp.load(tmp_path / "model.tau", max_bytes=3e9)
    assert path.data.shape == (40, 2**24)


def test_many_columns_can_be_stored(tmp_path):
    path = sparse_path(10**6)
    path.save(tmp_path / "path.tau")
    assert np.array_equal(tp.load(tmp_path / "path.tau").coef(0.3), path.coef(0.3))


def test_the_budget_can_be_set(parts, refused, tmp_path):
    made = parts(tp.quantile_path(X, Y))
    assert "max_bytes=1e+03" in refused(made, max_bytes=1000)
    (tmp_path / "model.tau").write_bytes(made.assembled())
    assert tp.load(tmp_path / "model.tau", max_bytes=1e6).n_kinks > 2
    for wrong in (0, -1.0, np.inf, np.nan):
        with pytest.raises(ValueError, match="max_bytes must be finite and above 0"):
            tp.load(tmp_path / "model.tau", max_bytes=wrong)
    with pytest.raises(TypeError, match="max_bytes must be a real number"):
        tp.load(tmp_path / "model.tau", max_bytes="1")


def larger(parts, n, free=False):
    """Return a path of n samples and no events."""
    made = parts(tp.quantile_path(X, Y, C=0.7))
    made.arrays = {
        "X": np.ones((n, 2), dtype="i1"),
        "y": (1 - 2 * (np.arange(n) % 2)).astype("i1"),
        "status": np.full(n, int(free), dtype="i1"),
        "free": np.arange(n if free else 0, dtype="<i4"),
        "t": np.zeros(0, dtype="<f8"),
        "index": np.zeros(0, dtype="<i4"),
        "move": np.zeros(0, dtype="i1"),
    }
    walk = made.content["walks"][0]
    walk["record"] |= {name: name for name in ("status", "free", "t", "index", "move")}
    del walk["record"]["doubtful"]
    made.content |= {"X": {"dense": "X"}, "y": "y"}
    return made


def test_many_free_points_count(parts, refused, tmp_path):
    assert "solutions of a path of 20000 samples" in refused(larger(parts, 20_000, free=True))
    (tmp_path / "model.tau").write_bytes(larger(parts, 20_000).assembled())
    assert tp.load(tmp_path / "model.tau").data.shape == (20_000, 2)


def test_paths_that_share_their_data_count_each(parts, refused):
    k, path = 20, larger(parts, 100_000)
    pairs = parts(tp.QuantileSVC().fit(X, np.arange(40) % 3))
    pairs.arrays = path.arrays
    content = path.content | {"classes": {"dtype": "<i8", "values": [0, 1]}}
    n_paths = k * (k - 1) // 2
    pairs.content |= {"paths": [content] * n_paths, "members": [None] * n_paths, "n_features": 2}
    pairs.content["classes"] = {"dtype": "<i8", "values": list(range(k))}
    assert "takes more memory" in refused(pairs)


def test_a_matrix_is_converted_once(parts, tmp_path):
    made = larger(parts, 1000)
    pairs = parts(tp.QuantileSVC().fit(X, np.arange(40) % 3))
    pairs.arrays = made.arrays
    content = made.content | {"classes": {"dtype": "<i8", "values": [0, 1]}}
    pairs.content |= {"paths": [content] * 3, "members": [None] * 3, "n_features": 2}
    (tmp_path / "model.tau").write_bytes(pairs.assembled())
    one, two, three = tp.load(tmp_path / "model.tau").paths_
    assert one.data.X is two.data.X is three.data.X


def test_labels_cannot_be_multiplied_by_their_length(parts, refused):
    made = larger(parts, 2000)
    made.content["classes"] = {"dtype": "<U1", "values": ["a" * 1_000_000, "b"]}
    assert "a label has more than 65536 characters" in refused(made)
    pairs = parts(tp.QuantileSVC().fit(X, Y))
    values = [f"{k:05}" + "x" * 60_000 * (k == 0) for k in range(5000)]
    pairs.content["classes"] = {"dtype": "<U9", "values": values}
    assert "for labels" in refused(pairs)


def test_as_many_labels_as_paths(parts, refused):
    made = parts(tp.QuantileSVC().fit(X, Y))
    made.content["classes"] = {"dtype": "<i8", "values": list(range(100_000))}
    started = time.process_time()
    assert "100000 classes need 4999950000 paths" in refused(made)
    assert time.process_time() - started < 1.0


def test_labels_out_of_order_are_refused(parts, refused):
    made = parts(tp.QuantileSVC().fit(X, Y))
    made.content["classes"]["values"].reverse()
    assert "not in order" in refused(made)


@pytest.mark.parametrize("dtype", ["(1000,1000)i4", "V99", "i4,i4", "M8[s]", "x" * 100, 5, ["i4"]])
def test_labels_are_of_simple_types(dtype, parts, refused):
    made = parts(tp.QuantileSVC().fit(X, Y))
    made.content["classes"]["dtype"] = dtype
    assert "label" in refused(made)


def test_rows_of_a_kernel_that_do_not_fit_are_computed_when_needed(tmp_path):
    path = tp.quantile_path(np.tile(X, (5, 1)), np.tile(Y, 5), kernel="rbf", intercept="free")
    path.save(tmp_path / "path.tau")
    small = tp.load(tmp_path / "path.tau", max_bytes=6e5)
    assert small.data.budget < 8 * 200**2 <= tp.load(tmp_path / "path.tau").data.budget
    taus = np.linspace(0.0, 1.0, 7)
    found, expected = (each.decision_function(X, taus) for each in (small, path))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_an_indefinite_kernel_is_kept_whole_or_refused(tmp_path):
    with pytest.warns(tp.IndefiniteKernelWarning):
        path = tp.quantile_path(np.tile(X, (5, 1)), np.tile(Y, 5), kernel="sigmoid", coef0=1.0)
    path.save(tmp_path / "path.tau")
    with pytest.raises(tp.ModelFileError, match="the kernel matrix of 200 samples"):
        tp.load(tmp_path / "path.tau", max_bytes=6e5)
    again = tp.load(tmp_path / "path.tau")
    assert np.array_equal(again.alpha(0.3), path.alpha(0.3))


def test_a_sparse_kernel_matrix_is_refused(parts, refused):
    made = parts(tp.quantile_path(X @ X.T, Y, kernel="precomputed"))
    empty = {"empty": np.zeros(0, "i1"), "none": np.zeros(0, "<i4"), "rows": np.zeros(41, "<i8")}
    made.arrays |= empty
    made.content["X"] = {"data": "empty", "indices": "none", "indptr": "rows", "n_features": 40}
    assert "not stored as a sparse one" in refused(made)


def test_loading_computes_no_kernel_and_balances_no_node(tmp_path, monkeypatch):
    """Either would take as long as the file says."""
    how = {"method": "approximate", "tol": 1e-2, "intercept": "free"}
    nodes = tp.quantile_path(X, Y, **how)
    nodes.save(tmp_path / "nodes.tau", data=True)
    kernel = tp.quantile_path(X, Y, kernel="rbf", intercept="free")
    kernel.save(tmp_path / "kernel.tau")

    def never(*_, **__):
        raise AssertionError("this takes long")

    with monkeypatch.context() as patched:
        patched.setattr(RowSums, "update", never)
        patched.setattr(KernelData, "between", never)
        loaded, other = tp.load(tmp_path / "nodes.tau"), tp.load(tmp_path / "kernel.tau")
        with pytest.raises(AssertionError):
            loaded.certify()
        with pytest.raises(AssertionError):
            other.alpha(0.3)
    assert loaded.certify() == nodes.certify()
    assert np.array_equal(loaded.alpha(0.3), nodes.alpha(0.3))
    assert np.array_equal(tp.load(tmp_path / "kernel.tau").alpha(0.3), kernel.alpha(0.3))


def test_sparse_entries_are_in_order(parts, refused):
    made = parts(tp.quantile_path(sp.csr_array(np.where(X > 0.0, X, 0.0)), Y))
    name = made.content["X"]["indices"]
    made.arrays[name] = made.arrays[name][::-1].copy()
    assert "not in order" in refused(made)


# -- what fit returns can be stored ------------------------------------------------------------


def all_free(path):
    """Return a record of the path by which all points are free from the beginning."""
    n = path.data.shape[0]
    record = path.solutions.pieces[0].record
    return replace(
        record,
        status=np.ones(n, dtype=np.int8),
        free=np.arange(n, dtype=np.int32),
        t=record.t[:0],
        index=record.index[:0],
        move=record.move[:0],
    )


def test_more_free_points_than_columns_are_read_again(tmp_path):
    path = more_free_than_columns()
    path.save(tmp_path / "path.tau")
    other = tp.load(tmp_path / "path.tau")
    for tau in np.linspace(0.0, 1.0, 9):
        assert np.array_equal(other.alpha(tau), path.alpha(tau))


@pytest.mark.core
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_record_with_all_points_free_is_read_safely(kernel, intercept, tmp_path):
    """The core has room for as many free points as there are points, dependent or not."""
    how = {"kernel": kernel, "intercept": intercept}
    thrice = np.repeat(X, 3, axis=0)
    thrice[:, 0] += 1e-9 * np.arange(len(thrice))  # copies would be one point
    path = tp.quantile_path(thrice, np.repeat(Y, 3), **how)
    path.solutions.pieces[0].record = all_free(path)
    path.save(tmp_path / "path.tau")
    other = tp.load(tmp_path / "path.tau")
    with np.errstate(all="ignore"):  # damaged numbers
        for tau in (0.2, 0.9, 0.5):
            other.alpha(tau)
        other.crossings(X)


@pytest.mark.parametrize(
    "labels",
    [
        np.where(Y > 0, b"ill", b"\xff"),
        np.where(Y > 0, 7, -7).astype(object),
        np.where(Y > 0, True, False).astype(object),
        np.where(Y > 0, 0.5, -1e300),
        np.where(Y > 0, 200, 3).astype(np.uint8),
    ],
    ids=lambda labels: str(labels.dtype),
)
def test_labels_of_any_type_come_back(labels, tmp_path):
    path = tp.quantile_path(X, labels)
    path.save(tmp_path / "path.tau")
    other = tp.load(tmp_path / "path.tau")
    assert other.classes.dtype == path.classes.dtype
    assert other.classes.tolist() == path.classes.tolist()


def test_tiny_responses_come_back(tmp_path):
    path = tp.quantile_regression_path(X, 1e-62 * X[:, 0] + 1e-63 * Y, C=2e-60)
    path.save(tmp_path / "path.tau")
    assert np.array_equal(tp.load(tmp_path / "path.tau").alpha(0.4), path.alpha(0.4))


def test_doubtful_intervals_come_back(parts, refused, tmp_path):
    path = tp.quantile_path(X, Y)
    record = path.solutions.pieces[0].record
    record.doubtful = None  # unknown, as in files of earlier versions
    path.save(tmp_path / "none.tau")
    assert "doubtful" not in parts(path).content["walks"][0]["record"]
    assert tp.load(tmp_path / "none.tau").solutions.pieces[0].record.doubtful is None
    for intervals in (np.zeros((0, 2)), np.array([[0.1, 0.25], [0.5, 0.5]])):
        record.doubtful = intervals
        path.save(tmp_path / "some.tau")
        loaded = tp.load(tmp_path / "some.tau").solutions.pieces[0].record
        assert np.array_equal(loaded.doubtful, intervals)
    made = Parts.of(tmp_path / "some.tau")
    name = made.content["walks"][0]["record"]["doubtful"]
    for wrong in ([[0.3, 0.2]], [[-0.1, 0.2]], [[0.1, 1.5]], [[np.nan, 0.5]], [[0.1, 0.2, 0.3]]):
        made.arrays[name] = np.array(wrong)
        assert "interval" in refused(made)


# -- stored certificates -----------------------------------------------------------------------


def test_certificates_that_are_not_finite_come_back():
    given = Certificate(np.inf, 0.5, np.nan, 0.25, 7, True, tol=None)
    packed = pack_certificate(given)
    assert packed["worst_gap"] == "inf" and packed["worst_kkt"] == "nan"
    back = unpack_certificate(packed)
    assert back.worst_gap == np.inf and np.isnan(back.worst_kkt) and back.tol is None
    assert not back.holds()


@pytest.mark.parametrize(
    "change",
    [{"worst_gap": "1"}, {"worst_gap": True}, {"n_checked": 1.5}, {"complete": 1}, {"other": 0.0}],
)
def test_certificates_of_other_types_are_refused(change):
    packed = pack_certificate(Certificate(0.0, 0.5, 0.0, 0.25, 7, True))
    with pytest.raises(tp.ModelFileError):
        unpack_certificate(packed | change)
    assert ANY_FILE < GIGABYTE
