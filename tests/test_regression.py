"""Quantile regression: every quantile optimal, and what a quantile has to be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.metrics.pairwise import laplacian_kernel

import taupath
from agreement import assert_same_function, kinks_of, waves
from canonical import Task, assert_regression_path
from platforms import needs_extended_sums
from real_data import slow

TAUS = np.array([0.0, 1e-6, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0 - 1e-6, 1.0])
NAN, INF = float("nan"), float("inf")


def pinball(y: np.ndarray, f: np.ndarray, tau: float) -> float:
    return float(np.maximum(tau * (y - f), (tau - 1.0) * (y - f)).sum())


# --- solved by hand ------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_one_sample_by_hand(kernel):
    """One sample with <z, z> = k, y = 3, C = 4.

    f = k theta with theta in [4 (tau - 1), 4 tau] is as near to 3 as the box allows: it follows
    its upper end, f = 4 k tau, until that is 3.
    """
    x = np.array([[1.0]])
    path = taupath.quantile_regression_path(x, [3.0], C=4.0, kernel=kernel)
    k = 2.0  # with any of these kernels, the 1 of the intercept included
    assert_allclose(kinks_of(path), [0.0, 3.0 / (4.0 * k), 1.0], rtol=0, atol=1e-9)
    for tau in TAUS:
        f = min(4.0 * k * tau, 3.0)
        assert_allclose(path.decision_function(x, tau), [f], rtol=0, atol=1e-9)
        assert_allclose(path.alpha(tau), [f / k], rtol=0, atol=1e-9)
    above, on, below = path.index_sets(0.1)
    assert (above.tolist(), on.tolist(), below.tolist()) == ([0], [], [])
    above, on, below = path.index_sets(0.9)
    assert (above.tolist(), on.tolist(), below.tolist()) == ([], [0], [])


def test_two_responses_at_one_place_by_hand():
    """Responses 1 and 2 at x = 0, C = 4, so that f = theta_1 + theta_2 is a constant.

    Below 1 both are at the upper end 4 tau: f = 8 tau, up to 1 at tau = 1/8. There f rests, as
    theta_1 = 1 - 4 tau goes down to its lower end 4 (tau - 1), which it meets at tau = 5/8. From
    there f = 4 (tau - 1) + 4 tau, up to 2 at tau = 3/4, where it rests again.
    """
    path = taupath.quantile_regression_path(np.zeros((2, 1)), [1.0, 2.0], C=4.0)
    assert_allclose(kinks_of(path), [0.0, 1 / 8, 5 / 8, 3 / 4, 1.0], rtol=0, atol=1e-9)
    taus = np.linspace(0.0, 1.0, 33)
    expected = np.interp(taus, [0.0, 1 / 8, 5 / 8, 3 / 4, 1.0], [0.0, 1.0, 1.0, 2.0, 2.0])
    found = path.decision_function(np.zeros((1, 1)), taus)[0]
    assert_allclose(found, expected, rtol=0, atol=1e-9)


# --- optimal at every kink and midpoint ----------------------------------------------------------


def load(name: str, folder: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return features and response: the last column of the file."""
    table = np.loadtxt(folder / "regression" / f"{name}.csv", delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


FILES = ["engel", "mcycle", "GAGurine", "Boston"]


def standardised(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("scale", ["raw", "standardised"])
@pytest.mark.parametrize(
    ("name", "at_most"),
    [("mcycle", 60), ("engel", 60), *(slow(name, 300) for name in FILES)],
)
def test_real_data_are_certified(name, at_most, scale, kernel, C, data_dir):
    X, y = load(name, data_dir)
    if scale == "standardised":
        X, y = standardised(X), standardised(y)
    gamma = 1.0 / (X.shape[1] * X.var())
    path = assert_regression_path(Task(X, y, kernel, gamma), C, at_most)
    assert path.certify(20).holds()
    if kernel == "rbf":
        named = taupath.quantile_regression_path(X, y, C=C, kernel="rbf", gamma="scale")
        assert_array_equal(named.taus, path.taus)


@pytest.mark.slow
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
@pytest.mark.parametrize("gamma", [0.1, 10.0])
@pytest.mark.parametrize("name", [*FILES, "geyser"])
def test_more_kernels_on_real_data_are_certified(name, gamma, C, data_dir):
    X, y = load(name, data_dir)
    X, y = standardised(X), standardised(y)
    assert_regression_path(Task(X, y, "rbf", gamma), C)
    assert_regression_path(Task(X, y, "poly", 0.3, degree=2, coef0=1.0), min(C, 10.0))


@pytest.mark.parametrize("intercept", ["augmented", "none"])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_any_kernel_is_certified(C, intercept):
    X, y = waves()
    given = {"intercept": intercept}
    for task in (
        Task(X, y, **given),
        Task(sparse.csr_array(X), y, **given),
        Task(X, y, "rbf", 1.5, **given),
        Task(X, y, "poly", 0.5, degree=2, coef0=1.0, **given),
        Task(laplacian_kernel(X), y, "precomputed", **given),
        Task(X, y, laplacian_kernel, **given),
    ):
        path = assert_regression_path(task, C, at_most=40)
        assert path.certify(40).holds()


def test_linear_is_precomputed_is_a_function():
    X, y = waves()
    taus, K = np.linspace(0.0, 1.0, 51), X @ X.T
    for C in (0.1, 10.0):
        expected = taupath.quantile_regression_path(X, y, C=C).decision_function(X, taus)
        matrix = taupath.quantile_regression_path(K, y, C=C, kernel="precomputed")
        assert_same_function(matrix.decision_function(K, taus), expected)
        function = taupath.quantile_regression_path(X, y, C=C, kernel=lambda A, B: A @ B.T)
        assert_same_function(function.decision_function(X, taus), expected)


# --- ties, copies, constants ---------------------------------------------------------------------


@st.composite
def lattices(draw: st.DrawFn) -> tuple[Task, float]:
    """Problems on an integer lattice, every number of which can shrink; and C."""
    n, d = draw(st.integers(1, 9)), draw(st.integers(1, 3))
    X = draw(hnp.arrays(np.float64, (n, d), elements=st.integers(-3, 3).map(float)))
    y = draw(hnp.arrays(np.float64, n, elements=st.integers(-3, 3).map(float)))
    weight = draw(st.none() | hnp.arrays(np.float64, n, elements=st.integers(0, 2).map(float)))
    if weight is not None and not weight.any():
        weight[0] = 1.0
    if not y.any():  # an objective of nothing at all, see below
        y[0] = 1.0
    if weight is not None and not y[weight > 0].any():
        weight = None
    kernel = draw(st.sampled_from(["linear", "rbf", "poly"]))
    gamma = draw(st.sampled_from([0.1, 1.0]))
    intercept = draw(st.sampled_from(["augmented", "none"]))
    task = Task(X, y, kernel, gamma, 2, 1.0, intercept, weight)
    return task, draw(st.sampled_from([1.0, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0]))


# Where f passes through all y, the objective is ½‖w‖² alone and an error of y in its twelfth digit
# shows beside it when C is large.
TWELFTH = 1e-12


@given(lattices())
@settings(max_examples=100)
def test_integer_lattices_are_certified(problem):
    task, C = problem
    assert_regression_path(task, C, error_of_y=TWELFTH)


@pytest.mark.slow
@given(lattices())
@settings(max_examples=5000)
def test_thousands_of_integer_lattices_are_certified(problem):
    task, C = problem
    assert_regression_path(task, C, error_of_y=TWELFTH)


TIES = {
    "ties in y": ([[0.0], [1.0], [2.0], [3.0], [4.0]], [1, 2, 2, 1, 2]),
    "y is constant": ([[0.0], [1.0], [2.0], [3.0]], [5, 5, 5, 5]),
    "y is constant and negative": ([[0.0], [1.0], [2.0], [3.0]], [-5, -5, -5, -5]),
    "one sample": ([[2.0]], [3]),
    "one sample below zero": ([[2.0]], [-3]),
    "two samples": ([[0.0], [1.0]], [1, 3]),
    "two samples at one place": ([[1.0], [1.0]], [1, 3]),
    "two equal samples": ([[1.0], [1.0]], [2, 2]),
    "one place": ([[1.0, 2.0]] * 5, [1, 2, 3, 4, 5]),
    "two places": ([[1.0], [2.0]] * 4, [1, 2, 3, 4, 5, 6, 7, 8]),
    "copies": ([[1.0], [2.0], [3.0]] * 3, [1, 2, 5] * 3),
    "features are zero": ([[0.0, 0.0]] * 4, [1, 2, 2, 4]),
    "two values": ([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1, -1, 1, -1, 1, 1]),
    "far from zero": ([[0.0], [1.0], [2.0], [3.0]], [1001, 1000, 1003, 1002]),
}


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("name", TIES)
def test_ties_are_certified(name, kernel):
    X, y = TIES[name]
    task = Task(np.array(X), np.array(y, dtype=float), kernel, 0.7)
    for C in (0.01, 1.0, 100.0):
        path = assert_regression_path(task, C)
        assert path.certify(None).holds()


COUNTS = {
    "the least y is zero": [0, 1, 2],
    "the largest y is zero": [0, -1, -2],
    "counts": [0, 3, 0, 1, 5, 0, 2],
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_zero_at_an_end_of_y_is_certified(name):
    # the optimum at that end of the path is nothing, which is no reason to fear for it
    y = np.array(COUNTS[name], dtype=float)
    task = Task(np.arange(len(y), dtype=float)[:, None], y)
    path = assert_regression_path(task, 1.0)
    assert path.certify(None).holds()


def test_nothing_to_predict_is_predicted_and_certified():
    X, _ = waves(8)
    path = taupath.quantile_regression_path(X, np.zeros(8), C=2.0)
    assert_allclose(path.decision_function(X, TAUS), 0.0, rtol=0, atol=1e-9)
    assert path.certify(None).holds()


@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_constant_is_predicted_wherever_it_costs_nothing(kernel, intercept):
    X, noise = waves(8)
    weight = np.ones(8)
    weight[2] = 0.0
    for constant in (0.0, -3.7) if intercept == "free" else (0.0,):
        y = np.where(weight > 0.0, constant, noise)
        given = {"kernel": kernel, "intercept": intercept, "sample_weight": weight}
        path = taupath.quantile_regression_path(X, y, C=50.0, tau_range=(0.1, 1.0), **given)
        assert path.tau_range == (0.1, 1.0)
        assert path.counters["kinks"] == 0
        assert_array_equal(path.decision_function(X, [0.1, 0.6, 1.0]), constant)
        assert_array_equal(path.alpha(0.3), 0.0)
        assert path.intercept(0.3) == constant
        each = path.decide_each(np.tile(X, (6, 1)), np.linspace(0.1, 1.0, 48))
        assert_allclose(each, constant, rtol=1e-15)
        assert_array_equal(path.crossings(X).length, 0.9 if constant == 0.0 else 0.0)
        above, on, below = path.index_sets(0.3)
        assert_array_equal(on, np.flatnonzero(weight))
        assert_array_equal(above if noise[2] > constant else below, [2])
        found = path.certify(None)
        assert found.worst_gap == found.worst_kkt == 0.0


def test_nothing_to_predict_is_predicted_with_more_samples_than_dimensions():
    X = np.array([[-0.71], [0.62], [-2.25], [0.39]])
    given = {"kernel": "poly", "gamma": 1.0, "degree": 2, "coef0": 1.0}
    path = taupath.quantile_regression_path(X, np.zeros(4), C=1000.0, **given)
    assert_allclose(path.decision_function(X, TAUS), 0.0, rtol=0, atol=1e-9)
    assert path.certify(None).holds()


@needs_extended_sums
@pytest.mark.parametrize("C", [1.0, 30.0])
def test_a_function_without_noise_is_certified(C):
    # with C = 1000, rounding of 500 margins alone costs 1e-9 of an objective without any loss
    X = np.random.default_rng(0).normal(size=(500, 3))
    task = Task(X, X @ [1.0, -2.0, 0.5] + 0.3)
    assert_regression_path(task, C, at_most=100)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_a_function_through_two_samples_is_certified_where_C_is_large(kernel):
    assert_regression_path(Task(np.array([[0.0], [1.0]]), np.array([1.0, 2.0]), kernel), 1e4)


# --- a quantile ----------------------------------------------------------------------------------


def least_pinball(X: np.ndarray, y: np.ndarray, tau: float) -> tuple[float, np.ndarray]:
    """Return the least loss of a linear function without regularisation, and (w, b)."""
    n, d = X.shape
    cost = np.concatenate([np.zeros(d + 1), np.full(n, tau), np.full(n, 1.0 - tau)])
    rows = sparse.hstack([X, np.ones((n, 1)), sparse.eye(n), -sparse.eye(n)], format="csc")
    bounds = [(None, None)] * (d + 1) + [(0.0, None)] * (2 * n)
    found = linprog(cost, A_eq=rows, b_eq=y, bounds=bounds, method="highs")
    assert found.status == 0, found.message
    return float(found.fun), found.x[: d + 1]


@needs_extended_sums
@pytest.mark.parametrize("name", FILES)
def test_a_large_C_gives_the_quantiles_of_linear_programming(name, data_dir):
    X, y = load(name, data_dir)
    X, y = standardised(X), standardised(y)
    C = 1e6
    path = taupath.quantile_regression_path(X, y, C=C)
    for tau in (0.05, 0.25, 0.5, 0.8, 0.97):
        least, weights = least_pinball(X, y, tau)
        loss = pinball(y, path.decision_function(X, tau), tau)
        # by optimality ½‖w‖² + C loss <= ½‖weights‖² + C least
        assert -1e-9 * least <= loss - least <= weights @ weights / (2.0 * C) + 1e-9 * least


@needs_extended_sums
@pytest.mark.parametrize("name", FILES)
def test_with_a_large_C_the_fraction_below_is_tau(name, data_dir):
    X, y = load(name, data_dir)
    path = taupath.quantile_regression_path(standardised(X), standardised(y), C=1e6)
    n = len(y)
    for tau in (0.1, 0.25, 0.5, 0.9):
        above, on, below = path.index_sets(tau)
        assert len(on) <= X.shape[1] + 1
        assert len(below) / n <= tau + 1e-6
        assert len(above) / n <= 1.0 - tau + 1e-6
        f = path.decision_function(standardised(X), tau)
        assert np.mean(standardised(y) < f - 1e-6) <= tau <= np.mean(standardised(y) <= f + 1e-6)


def test_without_features_quantiles_are_those_of_the_sample():
    y = np.random.default_rng(3).normal(size=41)
    path = taupath.quantile_regression_path(np.zeros((41, 1)), y, C=1e6)
    for tau in (0.1, 0.33, 0.5, 0.77):
        expected = np.quantile(y, tau, method="inverted_cdf")
        assert path.intercept(tau) == pytest.approx(expected, abs=1e-8)
