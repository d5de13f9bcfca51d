"""The path over C: every solution optimal, and the same that the path over τ has there."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.svm import LinearSVC

import oracles
import problems
import taupath
from agreement import assert_refuses, assert_same_function, blobs
from canonical import Task, assert_regularization_path
from real_data import load_dense, slow
from taupath.paths.jobs import Job, QuantileClassification, QuantileRegression, Regularization

NAN, INF = float("nan"), float("inf")


# --- solved by hand ------------------------------------------------------------------------------


def hand_solution(C: float) -> tuple[np.ndarray, float, float]:
    """Return (theta, w, b) of two points, x = 1 (positive) and x = 0 (negative), at tau = 1/2.

    With a 1 appended, y_i z_i are (1, 1) and (0, -1), so Q = [[2, -1], [-1, 1]], and both boxes
    are [0, C]. Write (a, b) for theta. The gradient of ½ θ'Qθ - Σ θ is::

        (2a - b - 1,  b - a - 1)

    For small C both points are in error, a = b = C. The first gradient, C - 1, reaches 0 at C = 1.
    Then the first point is on the margin, 2a = b + 1, so a = (1 + C) / 2 beside b = C. The second
    gradient, (C - 1) / 2 - 1, reaches 0 at C = 3. From there both are on the margin, a = 2, b = 3,
    and nothing moves any more. The weight is a, the bias a - b.
    """
    if C <= 1.0:
        theta = np.array([C, C])
    elif C <= 3.0:
        theta = np.array([(1.0 + C) / 2.0, C])
    else:
        theta = np.array([2.0, 3.0])
    return theta, float(theta[0]), float(theta[0] - theta[1])


HAND_SETS = [([0, 1], [], []), ([1], [0], []), ([], [0, 1], [])]  # (L, M, R) after each kink


@pytest.mark.parametrize("kernel", ["linear", "precomputed"])
def test_the_example_solved_by_hand(kernel):
    X, y = oracles.HAND_X, oracles.HAND_Y
    given = X @ X.T if kernel == "precomputed" else X
    path = taupath.regularization_path(given, y, C_max=5.0, kernel=kernel)
    assert_allclose(path.Cs, [0.0, 1.0, 3.0, 5.0], rtol=0, atol=1e-9)
    for C in (0.3, 1.0, 1.7, 3.0, 4.0, 5.0):
        theta, w, b = hand_solution(C)
        assert_allclose(path.alpha(C), theta / (2 * C), rtol=0, atol=1e-9)
        assert path.intercept(C) == pytest.approx(b, abs=1e-9)
        assert_allclose(path.decision_function(given, C), [w + b, b], rtol=0, atol=1e-9)
        if kernel == "linear":
            assert_allclose(path.coef(C), [w], rtol=0, atol=1e-9)
    for C, expected in zip((0.5, 2.0, 4.0), HAND_SETS, strict=True):
        for found, members in zip(path.index_sets(C), expected, strict=True):
            assert_array_equal(found, members)


# --- optimal at every kink and midpoint ----------------------------------------------------------

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "poly": {"kernel": "poly", "gamma": 0.5, "degree": 2, "coef0": 1.0},
}


@pytest.mark.parametrize("intercept", ["augmented", "none"])
@pytest.mark.parametrize("tau", [0.2, 0.5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_every_kernel_is_certified(kernel, tau, intercept):
    task = Task(*blobs(), intercept=intercept, **KERNELS[kernel])
    for C_max in (0.1, 100.0):
        path = assert_regularization_path(task, tau, C_max, at_most=50)
        assert path.certify(50).holds()
        assert_array_equal(path.Cs, path.taus)
        assert path.Cs[0] == 0.0 and path.Cs[-1] == C_max
        assert np.all(np.diff(path.Cs) > 0.0)


@pytest.mark.parametrize("tau", [0.2, 0.5])
@pytest.mark.parametrize("kernel", KERNELS)
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
def test_real_data_are_certified(name, at_most, kernel, tau, data_dir):
    X, y = load_dense(name, data_dir)
    task = Task(X / np.abs(X).max(), y, **KERNELS[kernel])
    path = assert_regularization_path(task, tau, 100.0, at_most)
    assert path.certify(20).holds()


@pytest.mark.slow
@pytest.mark.parametrize("C_max", [1e-3, 1e4])
@pytest.mark.parametrize("gamma", [0.1, 10.0])
@pytest.mark.parametrize("name", ["heart_scale", "ionosphere", "diabetes"])
def test_any_length_of_the_path_is_certified(name, gamma, C_max, data_dir):
    X, y = load_dense(name, data_dir)
    assert_regularization_path(Task(X, y, "rbf", gamma), 0.5, C_max)


def test_sparse_features_are_certified():
    X, y = blobs(d=6)
    X[np.abs(X) < 0.7] = 0.0
    for kernel in ("linear", "rbf"):
        assert_regularization_path(Task(sparse.csr_array(X), y, kernel), 0.3, 10.0)


def test_ordinary_data_agree_with_liblinear():
    X, y = blobs(80, 2)
    path = taupath.regularization_path(X, y, C_max=10.0)
    for C in (0.05, 1.0, 10.0):
        model = LinearSVC(loss="hinge", C=C, tol=1e-10, max_iter=10**6, random_state=0).fit(X, y)
        f = path.decision_function(X, C)
        assert_allclose(model.decision_function(X), f, rtol=0, atol=1e-4 * np.abs(f).max())


LATTICE = problems.drawn()
MILD_C = st.one_of(st.integers(-3, 2), st.floats(-3.0, 2.0)).map(float)
TAU = st.one_of(st.sampled_from([0.5, 0.2, 1.0 / 3.0]), st.floats(0.01, 0.99))
KERNEL = st.sampled_from(list(KERNELS.values()))
TAME = ("gaussian", "lattice", "cube", "duplicates", "equal_rows", "one_hot", "zero_rows")


def task_of(problem: problems.Problem, kernel: dict[str, Any]) -> Task:
    X = sparse.csr_array(problem.X) if problem.is_sparse else problem.X
    return Task(X, problem.y, intercept=problem.intercept, weight=problem.weight, **kernel)


@given(problem=LATTICE, kernel=KERNEL, tau=TAU)
@settings(max_examples=100)
def test_integer_lattices_are_certified(problem, kernel, tau):
    assert_regularization_path(task_of(problem, kernel), tau, min(problem.C, 100.0))


@given(problem=problems.made(*TAME, log10_C=MILD_C), kernel=KERNEL, tau=TAU)
@settings(max_examples=60)
def test_ties_and_copies_are_certified(problem, kernel, tau):
    assert_regularization_path(task_of(problem, kernel), tau, problem.C)


@pytest.mark.slow
@given(problem=LATTICE, kernel=KERNEL, tau=TAU)
@settings(max_examples=3000)
def test_thousands_of_integer_lattices_are_certified(problem, kernel, tau):
    assert_regularization_path(task_of(problem, kernel), tau, min(problem.C, 100.0))


@pytest.mark.slow
@given(problem=problems.made(*TAME, log10_C=MILD_C), kernel=KERNEL, tau=TAU)
@settings(max_examples=3000)
def test_thousands_of_ties_and_copies_are_certified(problem, kernel, tau):
    assert_regularization_path(task_of(problem, kernel), tau, problem.C)


# --- the other path through the same solutions ---------------------------------------------------


@pytest.mark.parametrize("tau", [0.2, 0.5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_path_over_tau_has_the_same_solutions(kernel, tau):
    # as many features as samples and more: the dual solution is unique
    task = Task(*blobs(30, 35 if kernel == "linear" else 4), **KERNELS[kernel])
    over_C = task.regularization_path(tau, 20.0)
    Cs = [0.01, 0.3, 1.0, 4.0, 20.0, float(over_C.Cs[len(over_C.Cs) // 2])]
    for C in Cs:
        over_tau = task.path(C)
        f = over_tau.decision_function(task.X, tau)
        assert_same_function(over_C.decision_function(task.X, C), f)
        assert over_C.intercept(C) == pytest.approx(over_tau.intercept(tau), abs=1e-7)
        if kernel != "poly":  # fifteen dimensions only
            assert_allclose(over_C.alpha(C), over_tau.alpha(tau), rtol=0, atol=1e-7)
        if kernel == "linear":
            assert_same_function(over_C.coef(C), over_tau.coef(tau))


@pytest.mark.parametrize("tau", [0.2, 0.5])
def test_the_path_over_tau_has_the_same_solutions_on_real_data(tau, data_dir):
    X, y = load_dense("heart_scale", data_dir)
    task = Task(X, y, "rbf", 0.1)
    over_C = task.regularization_path(tau, 100.0)
    for C in (0.1, 3.0, 100.0):
        over_tau = task.path(C)
        assert_allclose(over_C.alpha(C), over_tau.alpha(tau), rtol=0, atol=1e-7)
        assert_same_function(over_C.decision_function(X, C), over_tau.decision_function(X, tau))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_shorter_path_is_the_beginning_of_a_longer_one(kernel):
    task = Task(*blobs(), **KERNELS[kernel])
    short, long = task.regularization_path(0.4, 2.0), task.regularization_path(0.4, 200.0)
    Cs = np.linspace(0.0, 2.0, 21)
    assert_same_function(short.decision_function(task.X, Cs), long.decision_function(task.X, Cs))


# --- C = 0 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("tau", [0.2, 0.5])
@pytest.mark.parametrize("kernel", KERNELS)
def test_nothing_is_decided_at_C_zero(kernel, tau):
    task = Task(*blobs(), **KERNELS[kernel])
    path = task.regularization_path(tau, 3.0)
    assert_array_equal(path.decision_function(task.X, 0.0), np.zeros(40))
    assert path.intercept(0.0) == 0.0
    if kernel == "linear":
        assert_array_equal(path.coef(0.0), np.zeros(3))
    # all samples are in error, each at its cost
    cost = np.where(task.sign > 0, 2 * (1 - tau), 2 * tau) / 40
    assert_array_equal(path.alpha(0.0), cost)
    assert_array_equal(path.index_sets(0.0)[0], np.arange(40))
    assert (path.duality_gap(0.0), path.kkt_violation(0.0)) == (0.0, 0.0)
    # and so it begins
    before_the_first = 0.5 * float(path.Cs[1])
    assert_allclose(path.alpha(before_the_first), cost, rtol=1e-12, atol=0)


# --- what a path must not depend on, or must follow ----------------------------------------------

PLAIN = problems.made(
    "gaussian", "lattice", "duplicates", "cube", weights=("no_weight",), log10_C=MILD_C
)


def f_of(problem: problems.Problem, at: np.ndarray, tau: float = 0.3) -> np.ndarray:
    """Return f_C(x) of an RBF path at some samples, one column for each of a few C."""
    path = Task(
        problem.X, problem.y, "rbf", 0.5, intercept=problem.intercept, weight=problem.weight
    ).regularization_path(tau, problem.C)
    return path.decision_function(at, problem.C * np.array([0.0, 1e-6, 0.1, 0.5, 0.8, 1.0]))


@given(problem=PLAIN, seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_the_order_of_samples_does_not_matter(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.y))
    shuffled = replace(problem, X=problem.X[order], y=problem.y[order])
    assert_same_function(f_of(shuffled, problem.X), f_of(problem, problem.X))


@given(PLAIN)
@settings(max_examples=20)
def test_flipped_labels_with_the_other_tau_turn_the_signs(problem):
    flipped = f_of(replace(problem, y=-problem.y), problem.X, tau=0.7)
    assert_same_function(-flipped, f_of(problem, problem.X))


@given(problem=PLAIN, seed=st.integers(0, 1000))
@settings(max_examples=20)
def test_weights_are_copies_and_weight_zero_is_absence(problem, seed):
    rng = np.random.default_rng(seed)
    copies = rng.integers(0, 3, len(problem.y))
    for label in (-1, 1):
        copies[rng.choice(np.flatnonzero(problem.y == label))] = 2
    weighted = replace(problem, weight=copies.astype(float))
    repeated = replace(problem, X=problem.X.repeat(copies, axis=0), y=problem.y.repeat(copies))
    assert_same_function(f_of(weighted, problem.X), f_of(repeated, problem.X))


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed", laplacian_kernel])
def test_a_pickled_path_answers_alike(kernel):
    X, y = blobs()
    X = rbf_kernel(X) if kernel == "precomputed" else X
    path = taupath.regularization_path(X, y, C_max=3.0, kernel=kernel)
    path.alpha(0.3)  # something is remembered, and must not be in the way
    copy = pickle.loads(pickle.dumps(path))
    assert_array_equal(copy.Cs, path.Cs)
    assert (copy.tau, copy.counters, copy.nbytes) == (0.5, path.counters, path.nbytes)
    assert repr(copy) == repr(path)
    Cs = np.linspace(0.0, 3.0, 7)
    assert_allclose(copy.decision_function(X, Cs), path.decision_function(X, Cs), atol=1e-12)
    assert copy.certify().holds()
    assert not copy.Cs.flags.writeable


def test_bounds_of_alpha_follow_from_the_boxes():
    X, y = blobs()
    path = taupath.regularization_path(X, y, 0.3, C_max=3.0, sample_weight=1.0 + (X[:, 0] > 0.0))
    for C in (0.2, 3.0):
        bounds = path.job.alpha_bounds(path.data, C)
        assert_allclose(Job.alpha_bounds(path.job, path.data, C), bounds, rtol=1e-14)


def test_a_job_with_classes_is_not_made_without_them():
    with pytest.raises(TypeError, match="classes"):
        Regularization(0.5, 1.0)
    with pytest.raises(TypeError, match="classes"):
        QuantileClassification(1.0)
    assert QuantileRegression(1.0).classes is None


def test_progress_goes_from_nothing_to_all():
    calls: list[tuple[float, int]] = []
    X, y = blobs(300, 3)
    taupath.regularization_path(
        X, y, C_max=100.0, kernel="rbf", progress=lambda *call: calls.append(call)
    )
    fractions, events = np.array(calls).T
    assert np.all(fractions >= 0.0) and fractions[-1] == 1.0
    assert np.all(np.diff(fractions) >= 0.0)
    assert np.all(np.diff(events) >= 0)


def test_the_parameter_is_named_C():
    path = taupath.regularization_path(*blobs(), 0.25, C_max=3.0)
    assert path.tau == 0.25
    assert "C in [0, 3]" in repr(path) and "tau=0.25" in repr(path)
    assert path.n_kinks == len(path.Cs)
    with pytest.raises(ValueError, match="read-only"):
        path.Cs[0] = 0.5


# --- what is refused -----------------------------------------------------------------------------


def assert_refused(error: type[Exception], *said: str, **changed: Any) -> None:
    X, y = blobs(12)
    assert_refuses(
        taupath.regularization_path, error, said, **{"X": X, "y": y, "C_max": 1.0, **changed}
    )


@pytest.mark.parametrize("tau", [0, 1, 0.0, 1.0, -0.1, 1.5, NAN, INF])
def test_a_tau_that_is_not_within_the_unit_interval_is_refused_with_its_value(tau):
    assert_refused(ValueError, "tau", "strictly", str(tau), tau=tau)


@pytest.mark.parametrize("tau", [None, "0.5", True, [0.5]])
def test_a_tau_that_is_no_number_is_refused_with_its_value(tau):
    assert_refused(TypeError, "tau", repr(tau), tau=tau)


@pytest.mark.parametrize("C_max", [0, 0.0, -1.0, INF, NAN])
def test_an_end_that_is_not_positive_and_finite_is_refused_with_its_value(C_max):
    assert_refused(ValueError, "C_max", repr(C_max), C_max=C_max)


@pytest.mark.parametrize("C_max", [1e300, 1e-300])
def test_an_end_that_would_overflow_is_refused_with_its_value(C_max):
    assert_refused(ValueError, "C_max", repr(C_max), C_max=C_max)


@pytest.mark.parametrize("C_max", ["1.0", True, [1.0], 1j, None])
def test_an_end_that_is_no_number_is_refused_with_its_value(C_max):
    assert_refused(TypeError, "C_max", repr(C_max), C_max=C_max)


def test_the_end_must_be_given():
    with pytest.raises(TypeError, match="C_max"):
        taupath.regularization_path(*blobs(12))


def test_what_is_refused_for_the_other_path_is_refused_here():
    assert_refused(ValueError, "X", "nan", X=np.full((12, 2), NAN))
    assert_refused(ValueError, "y", "two classes", y=np.ones(12))
    assert_refused(ValueError, "sample_weight", sample_weight=-np.ones(12))
    assert_refused(ValueError, "kernel", "'lin'", kernel="lin")
    assert_refused(ValueError, "intercept", "'fixed'", intercept="fixed")
    assert_refused(TypeError, "progress", progress=3)


@pytest.mark.parametrize("C", [-1e-9, 1.0001, 2, NAN, INF])
@pytest.mark.parametrize("method", ["alpha", "coef", "intercept", "index_sets", "duality_gap"])
def test_a_C_outside_the_path_is_refused_with_the_range(method, C):
    path = taupath.regularization_path(*blobs(12), C_max=1.0)
    with pytest.raises(ValueError, match=rf"C must .*\[0, 1\].* got {C}"):
        getattr(path, method)(C)


def test_one_C_outside_the_path_among_several_is_refused():
    X, y = blobs(12)
    path = taupath.regularization_path(X, y, C_max=1.0)
    with pytest.raises(ValueError, match=r"C must .*\[0, 1\].* got .*1\.5"):
        path.decision_function(X, [0.5, 1.5])
    with pytest.raises(ValueError, match=r"C must .* shape \(1, 2\)"):
        path.decision_function(X, [[0.5, 0.7]])
