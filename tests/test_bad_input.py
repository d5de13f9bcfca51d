"""What is no problem is refused, by name and value; what is one in odd clothes is solved."""

from __future__ import annotations

import copy
import gc
import weakref
from typing import Any

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import taupath

N, D = 12, 3
NAN, INF = float("nan"), float("inf")


def plain() -> tuple[np.ndarray, np.ndarray]:
    """Features whose values are exact in float32, in int8 when doubled, with zeros among them."""
    rng = np.random.default_rng(3)
    return rng.integers(-4, 5, (N, D)) / 2.0, np.where(np.arange(N) % 3 == 0, 1, -1)


def with_entry(value: Any, row: int = 4, column: int = 1) -> np.ndarray:
    X, _ = plain()
    X[row, column] = value
    return X


def assert_refused(error: type[Exception], *said: str, **changed: Any) -> None:
    """Assert that these arguments are refused with a message that has all of `said`."""
    X, y = plain()
    arguments = {"X": X, "y": y, **changed}
    with pytest.raises(error) as caught:
        taupath.quantile_path(**arguments)
    assert type(caught.value) is error  # not some subclass from deep inside
    for part in said:
        assert part in str(caught.value)


# --- X -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_feature_that_is_no_number_is_refused_with_its_place(value, store):
    assert_refused(ValueError, "X", str(value), "[4, 1]", X=store(with_entry(value)))


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_a_feature_whose_square_overflows_is_refused_with_its_place(store):
    assert_refused(ValueError, "X", "-1e+200", "[4, 1]", X=store(with_entry(-1e200)))


def test_a_long_double_that_overflows_a_double_is_refused():
    X = plain()[0].astype(np.longdouble)
    X[4, 1] = np.longdouble("1e400")
    assert_refused(ValueError, "X", "[4, 1]", X=X)


@pytest.mark.parametrize("shape", [(N,), (N, D, 1), ()])
def test_features_that_are_no_matrix_are_refused_with_their_shape(shape):
    assert_refused(ValueError, "X", "two dimensions", str(shape), X=np.zeros(shape))


def test_sparse_features_of_one_dimension_are_refused_with_their_shape():
    assert_refused(ValueError, "X", "two dimensions", "(12,)", X=sparse.coo_array(np.ones(N)))


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("shape", [(0, D), (N, 0), (0, 0)])
def test_empty_features_are_refused_with_their_shape(shape, store):
    assert_refused(ValueError, "X", "empty", str(shape), X=store(np.zeros(shape)))


@pytest.mark.parametrize(
    ("X", "dtype"),
    [
        (np.ones((N, D), dtype=complex), "complex128"),
        (np.ones((N, D), dtype=object), "object"),
        (np.full((N, D), "1.0"), "<U3"),
        (np.zeros((N, D), dtype="datetime64[s]"), "datetime64[s]"),
        ([["a"] * D] * N, "<U1"),
        (None, "object"),
        (sparse.csr_array(np.ones((N, D), dtype=complex)), "complex128"),
    ],
)
def test_features_that_are_not_real_are_refused_with_their_dtype(X, dtype):
    assert_refused(TypeError, "X", dtype, X=X)


def test_rows_of_different_length_are_refused():
    assert_refused(ValueError, "X", "inhomogeneous", X=[[1.0, 2.0], [3.0]] * (N // 2))


@pytest.mark.parametrize("index", [D, 10**6, -1])
def test_a_sparse_index_outside_the_matrix_is_refused(index):
    X = sparse.csr_array(np.ones((N, D)))
    X.indices[5] = index
    assert_refused(ValueError, "X", "sparse", X=X)


def test_sparse_row_pointers_that_run_backwards_are_refused():
    X = sparse.csr_array(np.ones((N, D)))
    X.indptr[3] = 0
    assert_refused(ValueError, "X", "sparse", X=X)


# --- y -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [NAN, INF])
def test_a_label_that_is_no_number_is_refused_with_its_place(value):
    y = plain()[1].astype(float)
    y[7] = value
    assert_refused(ValueError, "y", str(value), "[7]", y=y)


@pytest.mark.parametrize("label", [1, -1.5, "spam", True])
def test_one_class_is_refused_by_its_label(label):
    assert_refused(ValueError, "y", "two classes", "got 1", repr(label), y=[label] * N)


@pytest.mark.parametrize("labels", [[0, 1, 2], [0.5, 0.25, 0.75], ["a", "b", "c"]])
def test_three_classes_are_refused_by_their_labels(labels):
    shown = [repr(label) for label in labels]
    assert_refused(ValueError, "y", "two classes", "got 3", *shown, y=labels * (N // 3))


def test_continuous_labels_are_refused_and_only_the_first_of_them_named():
    assert_refused(ValueError, "y", "got 12", "0.0, 1.5, 3.0", "...", y=np.arange(N) * 1.5)


@pytest.mark.parametrize("length", [0, 1, N - 1, N + 1])
def test_labels_of_another_number_are_refused_with_both_numbers(length):
    assert_refused(ValueError, f"y has {length}", f"X has {N}", y=np.arange(length) % 2)


@pytest.mark.parametrize("shape", [(N, 2), (1, N), (N, 1, 1), ()])
def test_labels_that_are_no_column_are_refused_with_their_shape(shape):
    assert_refused(ValueError, "y", "one dimension", str(shape), y=np.zeros(shape))


def test_labels_that_are_missing_are_refused():
    assert_refused(ValueError, "y", y=None)


@pytest.mark.parametrize("y", [[1, "a"] * (N // 2), [None, 1] * (N // 2)])
def test_labels_that_have_no_order_are_refused(y):
    assert_refused(TypeError, "y", y=np.array(y, dtype=object))


def test_labels_with_a_missing_value_among_objects_are_refused():
    assert_refused(ValueError, "y", "nan", y=np.array([0.0, NAN] * (N // 2), dtype=object))


def test_complex_labels_are_refused_with_their_dtype():
    assert_refused(TypeError, "y", "complex128", y=plain()[1].astype(complex))


# --- regularisation ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["C", "lam"])
@pytest.mark.parametrize("value", [0.0, -0.0, -1.0, -3, INF, -INF, NAN, np.float64(-2.5)])
def test_a_strength_that_is_not_positive_and_finite_is_refused_with_its_value(name, value):
    assert_refused(ValueError, name, repr(value), **{name: value})


@pytest.mark.parametrize("name", ["C", "lam"])
@pytest.mark.parametrize("value", [True, np.True_, "1.0", [1.0], np.ones(1), 1j, {}])
def test_a_strength_that_is_no_number_is_refused_with_its_value(name, value):
    assert_refused(TypeError, name, repr(value), **{name: value})


@pytest.mark.parametrize(("name", "value"), [("C", 1e300), ("C", 1e-300), ("lam", 1e300)])
def test_a_strength_that_would_overflow_is_refused_with_its_value(name, value):
    assert_refused(ValueError, name, repr(value), **{name: value})


@pytest.mark.parametrize("lam", [5e-324, 1e-308])
def test_a_lam_whose_inverse_overflows_is_refused_with_its_value(lam):
    assert_refused(ValueError, "lam", repr(lam), lam=lam)


@pytest.mark.parametrize("C", [1.0, 1, 2.0, np.float64(1.0)])
def test_C_and_lam_that_contradict_each_other_are_refused_with_both_values(C):
    # lam = 0.01 means C = 100/12; a C of 1.0 that is written down counts like any other
    assert_refused(ValueError, f"C={C!r}", "lam=0.01", "8.33", C=C, lam=0.01)


def test_C_and_lam_that_contradict_each_other_by_position_are_refused():
    X, y = plain()
    with pytest.raises(ValueError, match=r"C=1\.0 and lam=0\.01"):
        taupath.quantile_path(X, y, 1.0, 0.01)


def test_a_bad_C_beside_a_good_lam_is_refused():
    assert_refused(ValueError, "C", "-1.0", C=-1.0, lam=0.01)


@pytest.mark.parametrize("arguments", [{"lam": 1.0 / N}, {"C": 1.0, "lam": 1.0 / N}, {"C": 1}])
def test_C_and_lam_that_mean_the_same_are_accepted(arguments):
    X, y = plain()
    path = taupath.quantile_path(X, y, **arguments)
    assert (path.C, path.lam) == (1.0, 1.0 / N)
    assert_same_path(path, taupath.quantile_path(X, y))


# --- sample weights ------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [-1.0, -1e-300, NAN, INF])
def test_a_weight_that_is_negative_or_no_number_is_refused_with_its_place(value):
    weight = np.ones(N)
    weight[5] = value
    assert_refused(ValueError, "sample_weight", str(value), "[5]", sample_weight=weight)


@pytest.mark.parametrize("shape", [(N - 1,), (N + 1,), (N, 1), (), (0,)])
def test_weights_of_another_shape_are_refused_with_it(shape):
    assert_refused(ValueError, "sample_weight", str(shape), sample_weight=np.ones(shape))


def test_weights_that_are_all_zero_are_refused():
    assert_refused(ValueError, "sample_weight", "zero", sample_weight=np.zeros(N))


@pytest.mark.parametrize("label", [1, -1])
def test_weights_that_leave_one_class_only_are_refused_by_its_label(label):
    weight = np.where(plain()[1] == label, 0.0, 1.0)
    assert_refused(ValueError, "sample_weight", "zero", f"class {label}", sample_weight=weight)


@pytest.mark.parametrize("weight", [["1"] * N, np.ones(N, dtype=complex), [None] * N])
def test_weights_that_are_not_real_are_refused(weight):
    assert_refused(TypeError, "sample_weight", sample_weight=weight)


# --- intercept -----------------------------------------------------------------------------------


def test_an_unknown_intercept_is_refused_with_the_known_ones():
    assert_refused(ValueError, "intercept", "'fixed'", "'augmented'", "'none'", intercept="fixed")


@pytest.mark.parametrize("intercept", [None, True, 1.0])
def test_an_intercept_that_is_no_text_is_refused(intercept):
    assert_refused(TypeError, "intercept", repr(intercept), intercept=intercept)


# --- tau -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "tau_range", [(0.8, 0.2), (0.3, 0.3), (-0.1, 0.5), (0.5, 1.1), (NAN, 1.0), (0.0, INF)]
)
def test_a_range_that_is_no_part_of_the_unit_interval_is_refused(tau_range):
    assert_refused(ValueError, "tau_range", repr(tau_range), tau_range=tau_range)


@pytest.mark.parametrize("tau_range", [0.5, None, (0.1,), (0.1, 0.2, 0.3), []])
def test_a_range_that_is_no_pair_is_refused(tau_range):
    assert_refused(TypeError, "tau_range", "pair", repr(tau_range), tau_range=tau_range)


@pytest.mark.parametrize(("tau_range", "value"), [("01", "'0'"), ((False, True), "False")])
def test_a_range_of_something_else_than_numbers_is_refused(tau_range, value):
    assert_refused(TypeError, "tau_range", value, tau_range=tau_range)


def at_tau(path: taupath.SolutionPath, method: str, tau: Any) -> Any:
    if method == "decision_function":
        return path.decision_function(plain()[0], tau)
    return getattr(path, method)(tau)


METHODS = [
    "alpha",
    "coef",
    "intercept",
    "index_sets",
    "decision_function",
    "duality_gap",
    "kkt_violation",
]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tau", [-1e-9, 1.0000001, 3, NAN, INF])
def test_a_tau_outside_the_unit_interval_is_refused_with_its_value(method, tau):
    path = taupath.quantile_path(*plain())
    with pytest.raises(ValueError, match=rf"tau .*\[0, 1\].* got {tau}"):
        at_tau(path, method, tau)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tau", [0.0, 0.2499, 0.7501, 1.0])
def test_a_tau_outside_the_walked_range_is_refused_with_the_range(method, tau):
    path = taupath.quantile_path(*plain(), tau_range=(0.25, 0.75))
    with pytest.raises(ValueError, match=rf"tau .*\[0\.25, 0\.75\].* got {tau}"):
        at_tau(path, method, tau)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("tau", ["0.5", None, True, 0.5j])
def test_a_tau_that_is_no_number_is_refused_with_its_value(method, tau):
    path = taupath.quantile_path(*plain())
    with pytest.raises(TypeError, match="tau must be a real number"):
        at_tau(path, method, tau)


@pytest.mark.parametrize("tau", [np.float32(0.5), np.array(0.5), np.float64(0.5)])
@pytest.mark.parametrize("method", METHODS)
def test_a_tau_may_be_any_scalar_of_numpy(method, tau):
    path = taupath.quantile_path(*plain())
    found, expected = at_tau(path, method, tau), at_tau(path, method, 0.5)
    for one, other in zip(_listed(found), _listed(expected), strict=True):
        assert_array_equal(one, other)


def _listed(result: Any) -> tuple:
    return result if isinstance(result, tuple) else (result,)


def test_one_bad_tau_among_several_is_refused_with_its_value():
    path = taupath.quantile_path(*plain())
    with pytest.raises(ValueError, match=r"tau .* got .*1\.5"):
        path.decision_function(plain()[0], [0.1, 1.5, 0.3])


def test_taus_of_two_dimensions_are_refused_with_their_shape():
    path = taupath.quantile_path(*plain())
    with pytest.raises(ValueError, match=r"tau .*\(1, 2\)"):
        path.decision_function(plain()[0], [[0.1, 0.2]])


# --- new samples ---------------------------------------------------------------------------------


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [1, D - 1, D + 1])
def test_new_samples_with_another_number_of_features_are_refused_with_both(n_features, store):
    path = taupath.quantile_path(*plain())
    with pytest.raises(ValueError, match=rf"X has {n_features} features.* {D}"):
        path.decision_function(store(np.ones((2, n_features))), 0.5)


@pytest.mark.parametrize(
    ("X", "error"),
    [
        (np.full((2, D), NAN), ValueError),
        (np.ones(D), ValueError),
        (np.ones((0, D)), ValueError),
        (np.ones((2, D), dtype=object), TypeError),
    ],
)
def test_new_samples_are_checked_like_the_training_data(X, error):
    path = taupath.quantile_path(*plain())
    with pytest.raises(error, match=r"\bX\b"):
        path.decision_function(X, 0.5)


# --- after a refusal -----------------------------------------------------------------------------


def test_nothing_of_refused_arguments_is_kept_alive():
    class Features(np.ndarray):
        """An array that can be watched."""

    X = plain()[0].view(Features)
    watched = weakref.ref(X)
    with pytest.raises(ValueError, match="tau_range"):
        taupath.quantile_path(X, plain()[1], tau_range=(1.0, 0.0))
    del X
    gc.collect()
    assert watched() is None


def test_a_path_answers_as_before_after_a_refused_question():
    path = taupath.quantile_path(*plain())
    before = path.alpha(0.4)
    with pytest.raises(ValueError, match="tau"):
        path.alpha(2.0)
    with pytest.raises(ValueError, match="X"):
        path.decision_function(np.ones((2, D + 1)), 0.5)
    assert_array_equal(path.alpha(0.4), before)


# --- odd clothes ---------------------------------------------------------------------------------


def assert_same_path(
    path: taupath.SolutionPath, expected: taupath.SolutionPath, atol: float = 0.0
) -> None:
    """Assert equality, by default to the last digit: the core has seen the same numbers."""
    assert_allclose(path.taus, expected.taus, rtol=0, atol=atol)
    for tau in np.linspace(0.0, 1.0, 21):
        assert_allclose(path.alpha(tau), expected.alpha(tau), rtol=0, atol=atol)
        assert_allclose(path.coef(tau), expected.coef(tau), rtol=0, atol=atol)
        assert_allclose(path.intercept(tau), expected.intercept(tau), rtol=0, atol=atol)


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
