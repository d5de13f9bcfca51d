"""What is no problem is refused, by name and value; what is one in odd clothes is solved."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import taupath
from agreement import assert_refuses, assert_same_path, plain

N, D = 12, 3
NAN, INF = float("nan"), float("inf")


def with_entry(value: Any, row: int = 4, column: int = 1) -> np.ndarray:
    X, _ = plain()
    X[row, column] = value
    return X


def assert_refused(error: type[Exception], *said: str, **changed: Any) -> None:
    X, y = plain()
    assert_refuses(taupath.quantile_path, error, said, **{"X": X, "y": y, **changed})


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
    assert_refused(ValueError, name, str(value), **{name: value})


@pytest.mark.parametrize("name", ["C", "lam"])
@pytest.mark.parametrize("value", [True, np.True_, "1.0", [1.0], np.ones(1), 1j, {}])
def test_a_strength_that_is_no_number_is_refused_with_its_value(name, value):
    assert_refused(TypeError, name, str(value), **{name: value})


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
