"""Kernels that are none: announced where a path is still possible, else refused."""

from __future__ import annotations

import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import (
    linear_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

import taupath
from agreement import assert_refuses, assert_same_function, blobs, low_rank
from canonical import Task, judge

TAUS = np.array([0.0, 1e-6, 0.05, 0.25, 0.5, 0.65, 0.9, 1.0 - 1e-6, 1.0])
NAN, INF = float("nan"), float("inf")
X, Y = blobs()
NEW = np.random.default_rng(9).normal(size=(7, 3))


# --- kernels that are none -----------------------------------------------------------------------


def sigmoid_task(seed: int, n: int, coef0: float) -> Task:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 1 + n % 4))
    y = np.where(rng.random(n) < 0.5, 1, -1)
    y[:2] = 1, -1
    return Task(X, y, "sigmoid", 0.5, coef0=coef0)


@pytest.mark.parametrize(("C", "coef0"), [(0.1, 0.0), (10.0, -1.0), (10.0, 1.0)])
@pytest.mark.parametrize(("seed", "n"), [(0, 10), (1, 25), (2, 40)])
def test_an_indefinite_kernel_is_announced_and_its_certificate_is_true(seed, n, C, coef0):
    task = sigmoid_task(seed, n, coef0)
    assert np.linalg.eigvalsh(task.gram)[0] < -1e-3
    with pytest.warns(taupath.IndefiniteKernelWarning, match="not positive semidefinite"):
        path = task.path(C)
    assert path.tau_range == (0.0, 1.0)
    assert np.all(np.diff(path.taus) > 0)
    midpoints = (path.taus[1:] + path.taus[:-1]) / 2
    worst_gap = worst_kkt = 0.0
    for tau in map(float, np.unique([*path.taus, *midpoints])):
        found = judge(task, task.svm_at(C, tau), path.alpha(tau) * n * C)
        assert found.box <= 1e-13
        assert path.duality_gap(tau) == pytest.approx(found.gap, rel=1e-9, abs=1e-12)
        # at a kink it takes the last digit of theta to say whether a point is at its bound
        assert path.kkt_violation(tau) >= found.kkt - 1e-9
        if tau in midpoints:
            assert path.kkt_violation(tau) == pytest.approx(found.kkt, rel=1e-9, abs=1e-12)
        assert_same_function(path.decision_function(task.X, tau), task.sign * found.margins, 1e-9)
        worst_gap, worst_kkt = max(worst_gap, found.gap), max(worst_kkt, found.kkt)
    certificate = path.certify(None)
    assert certificate.worst_gap == pytest.approx(worst_gap, rel=1e-9, abs=1e-12)
    assert certificate.worst_kkt >= worst_kkt - 1e-9
    assert worst_kkt > 1e-7 and not certificate.holds()
    assert certificate.promised is False  # whatever rounding may do to this path


@pytest.mark.parametrize("job", ["path", "regularization_path", "regression_path"])
def test_the_warning_points_at_the_call(job):
    task = sigmoid_task(0, 10, 0.0)
    call = {
        "path": lambda: taupath.quantile_path(task.X, task.y, kernel="sigmoid"),
        "regularization_path": lambda: taupath.regularization_path(
            task.X, task.y, C_max=1.0, kernel="sigmoid"
        ),
        "regression_path": lambda: taupath.quantile_regression_path(
            task.X, task.y, kernel="sigmoid"
        ),
    }[job]
    with pytest.warns(taupath.IndefiniteKernelWarning) as caught:
        call()
    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize("kernel", ["precomputed", sigmoid_kernel])
def test_other_indefinite_kernels_are_announced_too(kernel):
    X, y = blobs(10)
    X = sigmoid_kernel(X) if kernel == "precomputed" else X
    with pytest.warns(taupath.IndefiniteKernelWarning):
        taupath.quantile_path(X, y, kernel=kernel)


def test_rounding_is_not_taken_for_indefiniteness():
    K = low_rank(60, 3)
    assert np.linalg.eigvalsh(K)[0] < 0.0
    taupath.quantile_path(K, np.arange(60) % 2, kernel="precomputed")  # a warning is an error


def test_a_walk_without_an_optimum_to_follow_ends():
    # three samples whose walk went to and fro between two neighbouring doubles for ever
    K = np.array([[1.0, -3.0, 0.0], [-3.0, 3.0, -2.0], [0.0, -2.0, 2.0]])
    given = {"kernel": "precomputed", "intercept": "none"}
    with warnings.catch_warnings(), within_seconds(300.0):
        warnings.simplefilter("ignore", taupath.IndefiniteKernelWarning)  # it is, on purpose
        with suppress(taupath.WalkFailed):  # an end, too
            taupath.quantile_regression_path(K, [-1, -1, 3], C=10.0, **given)


@contextmanager
def within_seconds(seconds: float) -> Iterator[None]:
    """Fail what hangs, by interrupting it; without such signals, let it."""
    if not hasattr(signal, "SIGALRM"):
        yield
        return

    def interrupt(*_: Any) -> None:
        pytest.fail(f"still going after {seconds} s")

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


# --- what is refused -----------------------------------------------------------------------------


def assert_refused(error: type[Exception], *said: str, **changed: Any) -> None:
    assert_refuses(taupath.quantile_path, error, said, **{"X": X, "y": Y, **changed})


@pytest.mark.parametrize("kernel", ["lin", "RBF", "", "gaussian"])
def test_an_unknown_kernel_is_refused_with_the_known_ones(kernel):
    assert_refused(ValueError, "kernel", repr(kernel), "'rbf'", "'precomputed'", kernel=kernel)


@pytest.mark.parametrize("kernel", [None, 3, b"rbf", ["rbf"]])
def test_a_kernel_that_is_neither_text_nor_function_is_refused(kernel):
    assert_refused(TypeError, "kernel", repr(kernel), kernel=kernel)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed"])
def test_an_unknown_intercept_is_refused_with_any_kernel(kernel):
    X, y = blobs()
    given = {"X": rbf_kernel(X), "y": y, "kernel": kernel}
    assert_refused(ValueError, "intercept", "'fixed'", "'augmented'", intercept="fixed", **given)


@pytest.mark.parametrize("kernel", ["rbf", "poly", "sigmoid"])
@pytest.mark.parametrize("gamma", [0, 0.0, -1.0, INF, NAN])
def test_a_gamma_that_is_not_positive_and_finite_is_refused_with_its_value(kernel, gamma):
    assert_refused(ValueError, "gamma", repr(gamma), kernel=kernel, gamma=gamma)


@pytest.mark.parametrize("gamma", ["Scale", "", "0.5"])
def test_an_unknown_name_of_gamma_is_refused_with_the_known_ones(gamma):
    said = ("gamma", repr(gamma), "'scale'", "'auto'")
    assert_refused(ValueError, *said, kernel="rbf", gamma=gamma)


@pytest.mark.parametrize("gamma", [None, True, [1.0], 1j])
def test_a_gamma_that_is_no_number_is_refused(gamma):
    assert_refused(TypeError, "gamma", repr(gamma), kernel="rbf", gamma=gamma)


@pytest.mark.parametrize("degree", [-1, -2.0, 2.5, NAN, INF])
def test_a_degree_that_is_no_natural_number_is_refused_with_its_value(degree):
    assert_refused(ValueError, "degree", str(degree), kernel="poly", degree=degree)


@pytest.mark.parametrize("name", ["degree", "coef0"])
@pytest.mark.parametrize("value", [None, "3", True, 1j])
def test_a_parameter_that_is_no_number_is_refused_with_its_value(name, value):
    assert_refused(TypeError, name, repr(value), kernel="poly", **{name: value})


@pytest.mark.parametrize("coef0", [NAN, -INF])
def test_a_coef0_that_is_not_finite_is_refused_with_its_value(coef0):
    assert_refused(ValueError, "coef0", str(coef0), kernel="poly", coef0=coef0)


def test_a_kernel_whose_values_overflow_is_refused():
    assert_refused(ValueError, "kernel", "inf", kernel="poly", gamma=1e200)


@pytest.mark.parametrize("shape", [(40, 3), (40, 39), (40, 41)])
def test_a_precomputed_kernel_that_is_not_square_is_refused_with_its_shape(shape):
    assert_refused(ValueError, "square", str(shape), X=np.ones(shape), y=Y, kernel="precomputed")


@pytest.mark.parametrize("by", [1e-6, 1.0, -3.0])
def test_a_precomputed_kernel_that_is_not_symmetric_is_refused_with_its_entries(by):
    K = rbf_kernel(X)
    K[4, 7] += by
    assert_refused(
        ValueError, "symmetric", f"{K[4, 7]}", f"{K[7, 4]}", X=K, y=Y, kernel="precomputed"
    )


def test_a_function_that_is_not_symmetric_is_refused_with_two_of_its_values():
    ahead = np.arange(1.0, 4.0)

    def lopsided(A, B):
        return A @ B.T + (A @ ahead)[:, None]

    assert_refused(ValueError, "symmetric", kernel=lopsided)
    # nor where its values are not kept
    many = np.random.default_rng(3).normal(size=(300, 3))
    labels = np.where(many[:, 0] > 0.0, 1, -1)
    assert_refused(ValueError, "symmetric", X=many, y=labels, kernel=lopsided, cache_size=0.3)


@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
def test_a_negative_diagonal_is_indefinite(intercept):
    K = rbf_kernel(X)
    K[5, 5] = -40.25
    with pytest.warns(taupath.IndefiniteKernelWarning, match="-40"):
        path = taupath.quantile_path(K, Y, kernel="precomputed", intercept=intercept)
    assert not path.certify(50).holds()
    eigenvalues, vectors = np.linalg.eigh(K)
    nearest = (vectors * np.maximum(eigenvalues, 0.0)) @ vectors.T
    same = taupath.quantile_path(nearest, Y, kernel="precomputed", intercept=intercept)
    for tau in TAUS:
        assert_allclose(path.alpha(tau), same.alpha(tau), rtol=0, atol=1e-8 / len(Y))


@pytest.mark.parametrize("value", [NAN, INF])
def test_a_precomputed_kernel_that_is_not_finite_is_refused_with_its_place(value):
    K = rbf_kernel(X)
    K[5, 2] = K[2, 5] = value
    assert_refused(ValueError, str(value), "[2, 5]", X=K, y=Y, kernel="precomputed")


RETURNED = {
    "nothing": (lambda A, B: None, (TypeError, ValueError)),
    "text": (lambda A, B: "kernel", TypeError),
    "text in a matrix": (lambda A, B: np.full((len(A), len(B)), "k"), TypeError),
    "ragged lists": (lambda A, B: [[1.0], [1.0, 2.0]], TypeError),
    "a number": (lambda A, B: 1.0, ValueError),
    "a vector": (lambda A, B: np.ones(len(A)), ValueError),
    "three dimensions": (lambda A, B: np.ones((len(A), len(B), 1)), ValueError),
    "too few columns": (lambda A, B: np.ones((len(A), len(B) - 1)), ValueError),
    "too many rows": (lambda A, B: np.ones((len(A) + 1, len(B))), ValueError),
}


@pytest.mark.parametrize("what", RETURNED)
def test_a_function_that_returns_no_kernel_matrix_is_refused_with_the_shape_wanted(what):
    kernel, error = RETURNED[what]
    with pytest.raises(error, match=r"kernel.*\(40, 40\)"):
        taupath.quantile_path(X, Y, kernel=kernel)


def test_a_function_that_returns_complex_numbers_is_refused():
    assert_refused(TypeError, "kernel", kernel=lambda A, B: (A @ B.T) * (1.0 + 1.0j))


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_function_that_returns_no_number_is_refused_with_its_place(value):
    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        K = A @ B.T
        K[3, 1] = value
        return K

    assert_refused(ValueError, "kernel", str(value), "[3, 1]", kernel=kernel)


def test_a_function_that_fails_on_new_samples_is_found_out_there():
    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return A @ B.T if len(A) == len(X) else np.ones((1, 1))

    path = taupath.quantile_path(X, Y, kernel=kernel)
    with pytest.raises(ValueError, match=r"kernel returned shape \(1, 1\)"):
        path.decision_function(NEW, 0.5)


def test_an_error_within_a_function_is_passed_on():
    def kernel(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        taupath.quantile_path(X, Y, kernel=kernel)


@pytest.mark.parametrize("n_columns", [3, 39, 41])
def test_new_samples_with_another_number_of_kernel_values_are_refused(n_columns):
    path = taupath.quantile_path(rbf_kernel(X), Y, kernel="precomputed")
    with pytest.raises(ValueError, match=rf"X has {n_columns} .* 40"):
        path.decision_function(np.ones((2, n_columns)), 0.5)


@pytest.mark.parametrize("n_columns", [2, 4])
def test_new_samples_with_another_number_of_features_are_refused(n_columns):
    path = taupath.quantile_path(X, Y, kernel="rbf")
    with pytest.raises(ValueError, match=rf"X has {n_columns} features.* 3"):
        path.decision_function(np.ones((2, n_columns)), 0.5)


@pytest.mark.parametrize("kernel", ["rbf", "poly", linear_kernel])
def test_features_have_no_weights_with_a_kernel(kernel):
    path = taupath.quantile_path(X, Y, kernel=kernel)
    with pytest.raises(AttributeError, match="linear kernel"):
        path.coef(0.5)
