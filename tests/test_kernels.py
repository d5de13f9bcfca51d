"""Paths through a kernel: every solution optimal, whatever the kernel and however it is given."""

from __future__ import annotations

import pickle
import signal
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    linear_kernel,
    polynomial_kernel,
    rbf_kernel,
    sigmoid_kernel,
)

import oracles
import problems
import taupath
from canonical import Task, assert_optimal, assert_quantile_path, judge
from platforms import needs_extended_sums
from real_data import load_dense, slow
from taupath import samples

TAUS = np.array([0.0, 1e-6, 0.05, 0.25, 0.5, 0.65, 0.9, 1.0 - 1e-6, 1.0])
# Two paths of one problem may break ties differently; what they agree on is the function.
ATOL = 1e-7
NAN, INF = float("nan"), float("inf")


def blobs(n: int = 40, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes that overlap, every third sample positive."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


def assert_same_function(found: np.ndarray, expected: np.ndarray, atol: float = ATOL) -> None:
    assert_allclose(found, expected, rtol=0, atol=atol * (1.0 + np.abs(expected).max()))


# --- the judge -----------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_the_judge_sees_what_is_not_optimal(kernel):
    task, C, tau = Task(*blobs(), kernel), 2.0, 0.3
    problem, theta = task.svm_at(C, tau), task.path(C).alpha(tau) * 40 * C
    assert_optimal(judge(task, problem, theta))
    free = int(np.argmax(np.minimum(theta, problem.upper - theta)))
    for step in (1e-3, -1e-3):
        moved = theta.copy()
        moved[free] += step
        found = judge(task, problem, moved)
        assert found.gap > 1e-9 and found.kkt > 1e-7
        assert found.gap == pytest.approx((found.primal - found.dual) / found.primal, abs=1e-12)
    assert judge(task, task.svm_at(C, tau + 1e-3), theta).gap > 1e-9
    assert judge(task, task.svm_at(C, 0.9), theta).box > 1e-2


# --- kernels by name, as a matrix and as a function ----------------------------------------------

X, Y = blobs()
NEW = np.random.default_rng(9).normal(size=(7, 3))
SCALE = 1.0 / (3 * X.var())

KERNELS = {
    "rbf, scale": ({"kernel": "rbf"}, lambda A, B: rbf_kernel(A, B, gamma=SCALE)),
    "rbf, auto": ({"kernel": "rbf", "gamma": "auto"}, lambda A, B: rbf_kernel(A, B, gamma=1 / 3)),
    "rbf, a number": ({"kernel": "rbf", "gamma": 2}, lambda A, B: rbf_kernel(A, B, gamma=2.0)),
    "poly": ({"kernel": "poly"}, lambda A, B: polynomial_kernel(A, B, 3, SCALE, 0.0)),
    "poly of all parameters": (
        {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.5},
        lambda A, B: polynomial_kernel(A, B, 2, 0.5, 1.5),
    ),
    "a function": ({"kernel": laplacian_kernel}, laplacian_kernel),
    "a function that returns a sparse matrix": (
        {"kernel": lambda A, B: sparse.csr_array(A @ B.T)},
        linear_kernel,
    ),
    "a function that returns lists": ({"kernel": lambda A, B: (A @ B.T).tolist()}, linear_kernel),
    "linear": ({}, linear_kernel),
}


@pytest.mark.parametrize("intercept", ["augmented", "none"])
@pytest.mark.parametrize("name", KERNELS)
def test_the_kernel_of_new_samples_is_that_of_scikit_learn(name, intercept):
    arguments, kernel = KERNELS[name]
    path = taupath.quantile_path(X, Y, C=2.0, intercept=intercept, **arguments)
    bias = 1.0 if intercept == "augmented" else 0.0
    for tau in TAUS:
        signed = Y * path.alpha(tau) / path.lam
        expected = (kernel(NEW, X) + bias) @ signed
        assert_same_function(path.decision_function(NEW, tau), expected, 1e-10)
        assert path.intercept(tau) == pytest.approx(bias * signed.sum(), abs=1e-9)
    every = path.decision_function(NEW, TAUS)
    assert every.shape == (7, len(TAUS))
    assert_array_equal(every[:, 3], path.decision_function(NEW, TAUS[3]))


@pytest.mark.parametrize("name", KERNELS)
def test_every_kernel_is_certified(name):
    arguments, kernel = KERNELS[name]
    path = taupath.quantile_path(X, Y, C=2.0, **arguments)
    task = Task(X, Y, lambda A, B: kernel(A, B))
    for tau in np.concatenate([path.taus, TAUS]):
        problem = task.svm_at(2.0, tau)
        assert_optimal(judge(task, problem, path.alpha(tau) * len(Y) * 2.0), f"tau={tau}")
    assert path.certify(None).holds()


def test_a_precomputed_kernel_takes_that_of_new_samples_with_the_training_ones():
    named = taupath.quantile_path(X, Y, C=2.0, kernel="rbf", gamma=0.7)
    K = rbf_kernel(X, X, gamma=0.7)
    K_new = rbf_kernel(NEW, X, gamma=0.7)
    for store in (np.asarray, sparse.csr_array):
        given = taupath.quantile_path(store(K), Y, C=2.0, kernel="precomputed")
        assert_same_function(
            given.decision_function(store(K_new), TAUS), named.decision_function(NEW, TAUS), 1e-9
        )


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("intercept", ["augmented", "none"])
@pytest.mark.parametrize("d", [2, 60])
def test_linear_is_precomputed_is_a_function(d, intercept, C):
    X, y = blobs(d=d)
    taus = np.linspace(0.0, 1.0, 101)
    one = taupath.quantile_path(X, y, C=C, intercept=intercept)
    expected = one.decision_function(X, taus)
    K = X @ X.T
    matrix = taupath.quantile_path((K + K.T) / 2, y, C=C, intercept=intercept, kernel="precomputed")
    assert_same_function(matrix.decision_function(K, taus), expected)
    function = taupath.quantile_path(X, y, C=C, intercept=intercept, kernel=linear_kernel)
    assert_same_function(function.decision_function(X, taus), expected)
    if d == 60:  # independent rows: the dual solution is unique, and so are its kinks
        for other in (matrix, function):
            assert_allclose(other.taus, one.taus, rtol=0, atol=1e-8)
            for tau in TAUS:
                assert_allclose(other.alpha(tau), one.alpha(tau), rtol=0, atol=1e-8)


def test_features_may_be_sparse():
    X, y = blobs(d=5)
    X[np.abs(X) < 0.6] = 0.0
    for kernel in ("rbf", "poly"):
        for gamma in ("scale", "auto", 0.4):
            dense = taupath.quantile_path(X, y, kernel=kernel, gamma=gamma)
            for store in (sparse.csr_array, sparse.csc_matrix):
                path = taupath.quantile_path(store(X), y, kernel=kernel, gamma=gamma)
                f = path.decision_function(store(X), TAUS)
                assert_same_function(f, dense.decision_function(X, TAUS), 1e-9)
    assert_quantile_path(Task(sparse.csr_array(X), y, "rbf", 0.4), 3.0)


@pytest.mark.parametrize("value", [0.0, 0.1, 3.0])
@pytest.mark.parametrize("store", [np.asarray, sparse.csr_array])
def test_features_that_do_not_vary_have_gamma_scale_too(value, store):
    same = store(np.full((6, 2), value))
    path = taupath.quantile_path(same, [0, 1, 0, 1, 1, 1], kernel="rbf")
    f = path.decision_function(same, TAUS)
    assert_allclose(f, np.broadcast_to(f[0], f.shape), rtol=0, atol=1e-12)
    assert path.certify().holds()


def test_poly_of_degree_0_is_constant():
    path = taupath.quantile_path(X, Y, kernel="poly", degree=0)
    f = path.decision_function(NEW, TAUS)
    assert_allclose(f, np.broadcast_to(f[0], f.shape), rtol=0, atol=1e-12)
    assert path.certify().holds()


@pytest.mark.parametrize("tau", [0.1, 0.5, 0.83])
@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_the_objective_is_that_of_two_qp_solvers(kernel, C, tau):
    task = Task(*blobs(), kernel, gamma=0.6, degree=2, coef0=1.0)
    # vectors with this kernel; the solvers append the 1 themselves
    size, vectors = np.linalg.eigh(task.gram - 1.0)
    rows = vectors * np.sqrt(np.maximum(size, 0.0))
    found = judge(task, task.svm_at(C, tau), task.path(C).alpha(tau) * len(task.y) * C)
    for solve in (oracles.piqp_dual, oracles.clarabel_dual):
        objective = -solve(rows, task.y, C, tau).objective * len(task.y) * C
        assert found.primal == pytest.approx(objective, rel=1e-7)


# --- real data -----------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("gamma", ["scale", 0.1, 10.0])
@pytest.mark.parametrize(
    ("name", "at_most"),
    [
        ("heart_scale", 60),
        slow("heart_scale", 2000),
        slow("ionosphere", 300),
        slow("diabetes", 300),
        slow("fourclass", 300),
        slow("a1a", 300),
    ],
)
def test_rbf_on_real_data_is_certified(name, at_most, gamma, C, data_dir):
    X, y = load_dense(name, data_dir)
    number = 1.0 / (X.shape[1] * X.var()) if gamma == "scale" else gamma
    path = assert_quantile_path(Task(X, y, "rbf", number), C, at_most)
    # the path's own certificate, over points of its own choice, agrees
    assert path.certify(20).holds()
    if gamma == "scale":
        named = taupath.quantile_path(X, y, C=C, kernel="rbf", gamma="scale")
        assert_array_equal(named.taus, path.taus)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize("name", ["heart_scale", slow("ionosphere")])
def test_poly_on_real_data_is_certified(name, C, data_dir):
    X, y = load_dense(name, data_dir)
    gamma = 1.0 / X.shape[1]
    assert_quantile_path(Task(X, y, "poly", gamma, degree=2, coef0=1.0), C, at_most=60)
    assert_quantile_path(Task(X, y, "poly", gamma, degree=3), C, at_most=60)


def test_samples_that_are_all_but_equal_are_certified():
    # where the free θ move, w all but rests: by 1e-12 of them
    task = Task(np.array([[0.0], [2e-6], [3e-6]]), np.array([-1, 1, -1]), "rbf", 1.0)
    for C in (10.0, 1000.0):
        assert assert_quantile_path(task, C).certify(None).holds()


# --- ties, copies and matrices of low rank -------------------------------------------------------

KERNEL = st.one_of(
    st.fixed_dictionaries({"kernel": st.just("rbf"), "gamma": st.sampled_from([0.1, 1.0, 10.0])}),
    st.fixed_dictionaries(
        {
            "kernel": st.just("poly"),
            "gamma": st.sampled_from([0.1, 1.0]),
            "degree": st.integers(1, 3),
            "coef0": st.sampled_from([0.0, 1.0]),
        }
    ),
    st.just({"kernel": "precomputed"}),
)
RBF = st.fixed_dictionaries(
    {"kernel": st.just("rbf"), "gamma": st.sampled_from([0.01, 0.1, 1.0, 10.0])}
)
MILD_C = st.one_of(st.integers(-3, 2), st.floats(-3.0, 2.0)).map(float)


def task_of(problem: problems.Problem, kernel: dict[str, Any]) -> Task:
    """Return a problem seen through a kernel; "precomputed" is the linear one."""
    X = problem.X @ problem.X.T if kernel["kernel"] == "precomputed" else problem.X
    if problem.is_sparse:
        X = sparse.csr_array(X)
    return Task(X, problem.y, intercept=problem.intercept, weight=problem.weight, **kernel)


@given(problem=problems.drawn(), kernel=RBF)
@settings(max_examples=100)
def test_rbf_on_integer_lattices_is_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


@given(problem=problems.made("lattice", "cube", "gaussian", log10_C=MILD_C), kernel=KERNEL)
@settings(max_examples=40)
def test_kernels_of_lattices_are_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


@given(problem=problems.made("duplicates", "equal_rows", log10_C=MILD_C), kernel=KERNEL)
@settings(max_examples=40)
def test_kernels_of_duplicates_are_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


CONTRADICTORY = problems.made(
    "duplicates", "equal_rows", "cube", labels=("contradictory",), log10_C=MILD_C
)


@given(problem=CONTRADICTORY, kernel=KERNEL)
@settings(max_examples=40)
def test_kernels_of_contradictory_duplicates_are_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


@given(problem=problems.made("gaussian", "lattice", max_n=2, log10_C=MILD_C), kernel=KERNEL)
@settings(max_examples=30)
def test_kernels_of_two_samples_are_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


@pytest.mark.slow
@given(problem=problems.drawn(), kernel=RBF)
@settings(max_examples=3000)
def test_rbf_on_thousands_of_integer_lattices_is_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


TAME = (
    "gaussian",
    "duplicates",
    "lattice",
    "cube",
    "one_hot",
    "constant_columns",
    "zero_columns",
    "zero_rows",
    "equal_rows",
    "on_a_line",
    "on_a_line_through_the_origin",
    "more_columns_than_rows",
)


@pytest.mark.slow
@given(problem=problems.made(*TAME, log10_C=MILD_C), kernel=KERNEL)
@settings(max_examples=3000)
def test_kernels_of_thousands_of_problems_are_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C)


@pytest.mark.slow
@given(problem=problems.made(*TAME, max_n=80, max_d=10, log10_C=MILD_C), kernel=KERNEL)
@settings(max_examples=300)
def test_kernels_of_hundreds_of_larger_problems_are_certified(problem, kernel):
    assert_quantile_path(task_of(problem, kernel), problem.C, at_most=150)


def low_rank(n: int, rank: int, seed: int = 0) -> np.ndarray:
    rows = np.random.default_rng(seed).normal(size=(n, rank))
    K = rows @ rows.T
    return (K + K.T) / 2


MATRICES = {
    "nothing": np.zeros((6, 6)),
    "ones": np.ones((6, 6)),
    "the identity": np.eye(6),
    "rank 1": low_rank(6, 1),
    "rank 1 of 30": low_rank(30, 1),
    "rank 3 of 7": low_rank(7, 3),
    "rank 3 of 60": low_rank(60, 3),
    "rank 20 of 60": low_rank(60, 20),
    "rank 40 of 60": low_rank(60, 40),
    "rank 59 of 60": low_rank(60, 59),
    "blocks of ones": np.kron(np.eye(5), np.ones((4, 4))),
    "some rows are zero": np.diag([0.0, 1.0, 2.0, 0.0, 1.0, 0.0]),
    "of small size": 1e-6 * low_rank(20, 5),
    "of large size": 1e6 * low_rank(20, 5),
}


@pytest.mark.parametrize("intercept", ["augmented", "none"])
@pytest.mark.parametrize("name", MATRICES)
def test_matrices_of_any_rank_are_certified(name, intercept):
    K = MATRICES[name]
    y = np.where(np.arange(len(K)) % 3 == 0, 1, -1)
    size = float(K.diagonal().max()) + (1.0 if intercept == "augmented" else 1e-6)
    for C in (0.01 / size, 1.0 / size, 100.0 / size):
        assert_quantile_path(Task(K, y, "precomputed", intercept=intercept), C, at_most=100)


# --- what a path must not depend on, or must follow ----------------------------------------------

PLAIN = problems.made("gaussian", "lattice", "duplicates", "cube", log10_C=st.floats(-2.0, 2.0))
UNWEIGHTED = problems.made(
    "gaussian",
    "lattice",
    "duplicates",
    "cube",
    weights=("no_weight",),
    log10_C=st.floats(-2.0, 2.0),
)


def f_of(problem: problems.Problem, at: np.ndarray, taus: np.ndarray = TAUS, **kw: Any) -> Any:
    """Return f_tau(x) of an RBF path at some samples, one column for each tau."""
    path = problem.path(kernel="rbf", **{"gamma": 0.5, **kw})
    return path.decision_function(at, taus)


@given(problem=PLAIN, seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_the_order_of_samples_does_not_matter(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.y))
    weight = None if problem.weight is None else problem.weight[order]
    shuffled = replace(problem, X=problem.X[order], y=problem.y[order], weight=weight)
    assert_same_function(f_of(shuffled, problem.X), f_of(problem, problem.X))


@given(PLAIN)
@settings(max_examples=15)
def test_flipped_labels_turn_the_path_round(problem):
    flipped = f_of(replace(problem, y=-problem.y), problem.X, 1.0 - TAUS)
    assert_same_function(-flipped, f_of(problem, problem.X))


@given(problem=UNWEIGHTED, seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_a_whole_weight_is_as_many_copies(problem, seed):
    copies = np.random.default_rng(seed).integers(1, 4, len(problem.y))
    weighted = replace(problem, weight=copies.astype(float))
    repeated = replace(problem, X=problem.X.repeat(copies, axis=0), y=problem.y.repeat(copies))
    assert_same_function(f_of(weighted, problem.X), f_of(repeated, problem.X))


@given(problem=UNWEIGHTED, seed=st.integers(0, 1000))
@settings(max_examples=15)
def test_weight_zero_is_absence(problem, seed):
    rng = np.random.default_rng(seed)
    present = rng.random(len(problem.y)) < 0.6
    for label in (-1, 1):
        present[rng.choice(np.flatnonzero(problem.y == label))] = True
    with_zeros = replace(problem, weight=present.astype(float))
    without = replace(problem, X=problem.X[present], y=problem.y[present])
    assert_same_function(f_of(with_zeros, problem.X), f_of(without, problem.X))
    path = with_zeros.path(kernel="rbf", gamma=0.5)
    for tau in TAUS:
        assert_array_equal(path.alpha(tau)[~present], 0.0)


@given(problem=PLAIN, log10_scale=st.floats(-3.0, 3.0))
@settings(max_examples=15)
def test_scaled_features_with_gamma_over_the_square_are_the_same(problem, log10_scale):
    a = 10.0**log10_scale
    scaled = replace(problem, X=problem.X * a)
    found = f_of(scaled, scaled.X, gamma=0.5 / a**2)
    assert_same_function(found, f_of(problem, problem.X))
    # and "scale" does this by itself
    assert_same_function(
        f_of(scaled, scaled.X, gamma="scale"), f_of(problem, problem.X, gamma="scale")
    )


@given(problem=PLAIN, log10_scale=st.floats(-3.0, 3.0))
@settings(max_examples=15)
def test_a_scaled_kernel_with_C_over_the_scale_is_the_same(problem, log10_scale):
    a, K = 10.0**log10_scale, rbf_kernel(problem.X, gamma=0.5)
    given = {"kernel": "precomputed", "intercept": "none", "sample_weight": problem.weight}
    one = taupath.quantile_path(K, problem.y, C=problem.C, **given)
    other = taupath.quantile_path(a * K, problem.y, C=problem.C / a, **given)
    assert_same_function(other.decision_function(a * K, TAUS), one.decision_function(K, TAUS))


@pytest.mark.parametrize("tau_range", [(0.0, 0.4), (0.25, 0.75), (0.3, 0.30001), (0.6, 1.0)])
def test_a_part_of_the_range_is_that_part_of_the_path(tau_range):
    task = Task(*blobs(), "rbf", 0.5)
    whole = task.path(5.0)
    part = assert_quantile_path(task, 5.0, tau_range=tau_range)
    inside = whole.taus[(whole.taus > tau_range[0]) & (whole.taus < tau_range[1])]
    assert_allclose(part.taus[1:-1], inside, rtol=0, atol=1e-8)
    for tau in part.taus:
        assert_allclose(part.alpha(tau), whole.alpha(tau), rtol=0, atol=1e-8)


@pytest.mark.parametrize("kernel", ["rbf", "precomputed", laplacian_kernel])
def test_a_pickled_path_answers_alike(kernel):
    X, y = blobs()
    X = laplacian_kernel(X) if kernel == "precomputed" else X
    path = taupath.quantile_path(X, y, C=3.0, kernel=kernel)
    path.alpha(0.3)  # something is remembered, and must not be in the way
    copy = pickle.loads(pickle.dumps(path))
    assert_array_equal(copy.taus, path.taus)
    assert (copy.C, copy.counters, copy.nbytes) == (path.C, path.counters, path.nbytes)
    assert repr(copy) == repr(path)
    assert_array_equal(copy.decision_function(X, TAUS), path.decision_function(X, TAUS))
    assert copy.certify().holds()


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
    with warnings.catch_warnings(), within_seconds(3.0):
        warnings.simplefilter("ignore", taupath.IndefiniteKernelWarning)
        with suppress(taupath.WalkFailed):  # an end, too
            taupath.quantile_regression_path(K, [-1, -1, 3], C=10.0, **given)


@contextmanager
def within_seconds(seconds: float) -> Iterator[None]:
    """Fail what takes longer, by interrupting it."""

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
    """Assert that these arguments are refused with a message that has all of `said`."""
    with pytest.raises(error) as caught:
        taupath.quantile_path(**{"X": X, "y": Y, **changed})
    assert type(caught.value) is error  # not some subclass from deep inside
    for part in said:
        assert part in str(caught.value)


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


# --- matrices of a few hundred dimensions ---------------------------------------------------------


def rings(n):
    """Two Gaussians around one centre: with RBF a matrix of full rank and few dimensions."""
    rng = np.random.default_rng(0)
    wide = rng.uniform(size=(n, 1)) >= 0.4
    return rng.standard_normal((n, 2)) * np.where(wide, 3.0, 1.0), ~wide[:, 0]


@needs_extended_sums
@pytest.mark.parametrize("intercept", ["augmented", "free"])
def test_a_smooth_kernel_with_a_large_C_is_certified(intercept):
    X, y = rings(1000)
    path = taupath.quantile_path(X, y, C=1000.0, kernel="rbf", intercept=intercept)
    assert path.certify(40).holds()
    assert np.all(path.crossings(X[:20]).length <= 1.0)


@pytest.mark.slow
def test_solutions_that_leave_dependent_points_out_are_swept(monkeypatch):
    monkeypatch.setattr(samples, "MOST_COLUMNS", 1)
    X, y = rings(1000)
    path = taupath.quantile_path(X, y, C=1e4, kernel="rbf")
    taus, values = path.values_at_nodes(X[:5])
    some = np.linspace(0, len(taus) - 1, 200).astype(int)
    expected = path.decision_function(X[:5], taus[some])
    assert_allclose(values[:, some], expected, rtol=0, atol=1e-6)
