"""The same numbers in any storage are the same problem, and stay as they are."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import taupath
from agreement import assert_same_path, plain

N, D = 12, 3


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def every_other(array: np.ndarray) -> np.ndarray:
    wide = np.full((2 * array.shape[0], 2 * array.shape[1]), 99.0)
    wide[::2, 1::2] = array
    return wide[::2, 1::2]


DENSE = {
    "read-only": read_only,
    "Fortran order": np.asfortranarray,
    "a slice with gaps": every_other,
    "turned round": lambda X: np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "long double": lambda X: X.astype(np.longdouble),
    "big-endian": lambda X: X.astype(">f8"),
    "nested lists": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X)),
    "matrix": lambda X: sparse.csr_matrix(X).todense(),
    "misaligned": lambda X: np.frombuffer(b"x" + X.tobytes(), dtype=np.float64, offset=1).reshape(
        X.shape
    ),
}


@pytest.mark.parametrize("clothes", DENSE)
def test_dense_features_in_any_storage_give_the_same_path(clothes):
    X, y = plain()
    given = DENSE[clothes](X)
    before = copy.deepcopy(given)
    path = taupath.quantile_path(given, y)
    assert_same_path(path, taupath.quantile_path(X, y))
    assert_array_equal(np.asarray(given), np.asarray(before))


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32", "int64", "uint8", "uint64"])
def test_integer_features_give_the_same_path(dtype):
    X, y = plain()
    X = 2.0 * X + 8.0
    given = X.astype(dtype)
    assert_same_path(taupath.quantile_path(given, y), taupath.quantile_path(X, y))
    assert given.dtype == dtype


def test_boolean_features_give_the_same_path():
    X, y = plain()
    assert_same_path(
        taupath.quantile_path(X > 0, y), taupath.quantile_path((X > 0).astype(float), y)
    )


def as_int64_indices(X: np.ndarray) -> sparse.csr_array:
    csr = sparse.csr_array(X)
    csr.indices, csr.indptr = csr.indices.astype(np.int64), csr.indptr.astype(np.int64)
    assert csr.indices.dtype == csr.indptr.dtype == np.int64
    return csr


def unsorted(X: np.ndarray) -> sparse.csr_array:
    csr = sparse.csr_array(X)
    for begin, end in zip(csr.indptr[:-1], csr.indptr[1:], strict=True):
        csr.indices[begin:end] = csr.indices[begin:end][::-1].copy()
        csr.data[begin:end] = csr.data[begin:end][::-1].copy()
    csr = sparse.csr_array((csr.data, csr.indices, csr.indptr), shape=X.shape)
    assert not csr.has_sorted_indices
    return csr


def with_duplicates(X: np.ndarray) -> sparse.csr_array:
    """Every entry in two parts, and one that is there although its parts cancel."""
    half = sparse.csr_array(X / 2.0)
    data, indices = np.repeat(half.data, 2), np.repeat(half.indices, 2)
    data, indices = np.append(data, [7.0, -7.0]), np.append(indices, [0, 0])
    indptr = 2 * half.indptr
    indptr[-1] += 2
    csr = sparse.csr_array((data, indices, indptr), shape=X.shape)
    assert not csr.has_canonical_format
    return csr


def with_read_only_parts(X: np.ndarray) -> sparse.csr_array:
    csr = sparse.csr_array(X)
    parts = [read_only(part) for part in (csr.data, csr.indices, csr.indptr)]
    return sparse.csr_array(tuple(parts), shape=X.shape)


def with_stored_zeros(X: np.ndarray) -> sparse.csr_array:
    full = np.tile(np.arange(X.shape[1]), len(X))
    return sparse.csr_array((X.ravel(), full, X.shape[1] * np.arange(len(X) + 1)), shape=X.shape)


SPARSE = {
    "array": sparse.csr_array,
    "matrix": sparse.csr_matrix,
    "int64 indices": as_int64_indices,
    "unsorted": unsorted,
    "duplicates": with_duplicates,
    "read-only": with_read_only_parts,
    "stored zeros": with_stored_zeros,
    "CSC": sparse.csc_array,
    "COO": sparse.coo_matrix,
    "LIL": sparse.lil_array,
    "BSR": sparse.bsr_array,
    "float32": lambda X: sparse.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("clothes", SPARSE)
def test_sparse_features_in_any_storage_give_the_same_path_and_stay_as_they_are(clothes):
    X, y = plain()
    given = SPARSE[clothes](X)
    before = copy.deepcopy(given)
    path = taupath.quantile_path(given, y)
    # Zeros that are stored change the order of summation.
    atol = 1e-12 if clothes in ("stored zeros", "BSR") else 0.0
    assert_same_path(path, taupath.quantile_path(sparse.csr_array(X), y), atol)
    assert type(given) is type(before) and given.dtype == before.dtype
    for part in ("data", "indices", "indptr", "row", "col", "rows"):
        if hasattr(before, part):
            assert_array_equal(getattr(given, part), getattr(before, part))
    if hasattr(before, "indices"):
        assert given.has_sorted_indices == before.has_sorted_indices


def test_sparse_integers_give_the_same_path():
    X, y = plain()
    whole = sparse.csr_array((2.0 * X).astype(np.int64))
    assert_same_path(
        taupath.quantile_path(whole, y), taupath.quantile_path(whole.astype(np.float64), y)
    )


LABELS = {
    "strings": lambda positive: np.where(positive, "spam", "ham"),
    "text objects": lambda positive: np.where(positive, "spam", "ham").astype(object),
    "bytes": lambda positive: np.where(positive, b"1", b"0"),
    "booleans": lambda positive: positive,
    "0 and 1 in uint8": lambda positive: positive.astype(np.uint8),
    "floats": lambda positive: np.where(positive, 0.75, 0.25),
    "a list": lambda positive: [2 if p else -7 for p in positive],
    "a column": lambda positive: np.where(positive, 1, -1)[:, None],
    "read-only": lambda positive: read_only(np.where(positive, 1, -1)),
    "every other": lambda positive: np.repeat(np.where(positive, 1, -1), 2)[::2],
}


@pytest.mark.parametrize("clothes", LABELS)
def test_labels_of_any_kind_give_the_same_path_the_larger_one_positive(clothes):
    X, y = plain()
    given = LABELS[clothes](y == 1)
    before = copy.deepcopy(given)
    path = taupath.quantile_path(X, given)
    assert_same_path(path, taupath.quantile_path(X, y))
    labels = np.ravel(np.asarray(given))
    assert path.classes.tolist() == [labels[y == -1][0], labels[y == 1][0]]
    assert_array_equal(np.asarray(given), np.asarray(before))


WEIGHTS = {
    "read-only": read_only,
    "a list": lambda weight: weight.tolist(),
    "float32": lambda weight: weight.astype(np.float32),
    "every other": lambda weight: np.repeat(weight, 2)[::2],
    "integers": lambda weight: weight.astype(np.int64),
}


@pytest.mark.parametrize("clothes", WEIGHTS)
def test_weights_in_any_storage_give_the_same_path(clothes):
    X, y = plain()
    weight = 1.0 + np.arange(N) % 4
    given = WEIGHTS[clothes](weight)
    path = taupath.quantile_path(X, y, sample_weight=given)
    assert_same_path(path, taupath.quantile_path(X, y, sample_weight=weight))
    assert_array_equal(np.asarray(given), weight)


def test_a_data_frame_gives_the_same_path():
    X, y = plain()
    frame = pd.DataFrame(X, columns=list("abc"), index=np.arange(N) + 100)
    labels = pd.Series(y, index=frame.index)
    assert_same_path(taupath.quantile_path(frame, labels), taupath.quantile_path(X, y))


def test_arguments_are_never_changed():
    X, y = plain()
    weight = np.arange(1.0, N + 1.0)
    given = {"X": X, "y": y, "sample_weight": weight}
    before = copy.deepcopy(given)
    path = taupath.quantile_path(**given)
    path.certify()
    path.decision_function(X, [0.2, 0.7])
    for name, value in given.items():
        assert_array_equal(value, before[name])


def test_what_a_path_gives_out_can_be_changed_without_changing_the_path():
    path = taupath.quantile_path(*plain())
    for method in ("alpha", "coef"):
        first = getattr(path, method)(0.4)
        kept = first.copy()
        first[:] = 99.0
        assert_array_equal(getattr(path, method)(0.4), kept)
    with pytest.raises(ValueError, match="read-only"):
        path.taus[0] = 0.5
