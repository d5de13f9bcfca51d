"""Paths through a kernel: every solution optimal, whatever the kernel and however it is given."""

from __future__ import annotations

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
)

import oracles
import problems
import taupath
from agreement import assert_same_function, blobs, low_rank
from canonical import Task, assert_optimal, assert_quantile_path, judge
from platforms import needs_extended_sums
from real_data import load_dense, slow
from taupath.paths import kernel_data
from taupath.paths.kernels import Kernel, low_rank_factor

TAUS = np.array([0.0, 1e-6, 0.05, 0.25, 0.5, 0.65, 0.9, 1.0 - 1e-6, 1.0])
NAN, INF = float("nan"), float("inf")
U = 2.0**-53


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


@pytest.mark.parametrize("far", [0.0, 2.0**12, 2.0**26])
def test_an_rbf_kernel_does_not_depend_on_the_origin(far):
    """Steps of 1/64 keep all differences free of rounding."""
    X = np.random.default_rng(8).integers(-64, 65, (12, 3)) / 64.0
    exact = np.exp(-0.7 * ((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    found = Kernel("rbf", gamma=0.7)(X + far, X + far)
    assert_allclose(found, exact, rtol=1e-14)


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


@needs_extended_sums
def test_short_rows_of_low_rank_keep_their_digits_beside_long_ones():
    rng = np.random.default_rng(34)
    X = 20.0 * rng.standard_normal((30, 1))
    K = (X @ X.T + 1.0) ** 3
    found = low_rank_factor(K.diagonal(), K.__getitem__, 15).astype(np.longdouble)
    assert found.shape[1] <= 6  # monomials up to the third degree, and what rounding adds
    lengths = np.sqrt(K.diagonal())
    assert np.abs(found @ found.T - K).max() > 1e-9  # long rows are rounded
    assert (np.abs(found @ found.T - K) <= 1e-14 * np.multiply.outer(lengths, lengths)).all()


@needs_extended_sums
@pytest.mark.filterwarnings("ignore::taupath.InexactPathWarning")  # rounding alone exceeds 1e-9
def test_large_kernels_are_exact_up_to_rounding():
    rng = np.random.default_rng(9)
    y = np.arange(20) % 2 * 2 - 1
    X = 100.0 * (rng.standard_normal((20, 1)) + 0.5 * y[:, np.newaxis])  # rows from 1 to 1e6 long
    path = taupath.quantile_path(X, y, C=10.0, kernel="poly", degree=3, gamma=1.0, coef0=1.0)
    found = path.certify(None)
    assert found.worst_gap <= max(1e-9, 8.0 * U * found.condition)


@needs_extended_sums
def test_a_factor_leaves_nothing_but_rounding():
    """Also of what is small: with a large C it matters."""
    sizes = np.array([1.0, 1e-6, 3e-14])
    vectors = np.linalg.qr(np.random.default_rng(3).standard_normal((8, 3)))[0]
    B = vectors * np.sqrt(sizes)
    K = B @ B.T
    found = low_rank_factor(K.diagonal(), lambda k: K[:, k], 8)
    assert found is not None and found.shape[1] >= 3
    assert_allclose(found @ found.T, K, rtol=0.0, atol=1e-15)


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
    monkeypatch.setattr(kernel_data, "MOST_COLUMNS", 1)
    X, y = rings(1000)
    path = taupath.quantile_path(X, y, C=1e4, kernel="rbf")
    taus, values = path.values_at_nodes(X[:5])
    some = np.linspace(0, len(taus) - 1, 200).astype(int)
    expected = path.decision_function(X[:5], taus[some])
    assert_allclose(values[:, some], expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_what_is_read_first_does_not_matter(kernel):
    """The feature of a free intercept comes from the diagonal, and with it the last digits."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 40)), rng.integers(0, 2, 60)
    how = {"kernel": kernel, "gamma": 0.003, "intercept": "free"}
    first, second = (taupath.quantile_path(X, y, C=0.6, **how).data for _ in range(2))
    for data in (first, second):
        for name in ("constant", "diagonal", "signed_matrix"):
            data.__dict__.pop(name, None)
    _ = second.signed_matrix
    assert first.constant == second.constant
    assert first.diagonal.tobytes() == second.diagonal.tobytes()
