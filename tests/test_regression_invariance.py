"""Quantile regression: what a path must not depend on, or must follow."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import taupath
from agreement import assert_same_function, integers, kinks_of, waves
from canonical import Task, assert_regression_path

TAUS = np.array([0.0, 1e-6, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0 - 1e-6, 1.0])
NAN = float("nan")

KERNELS: dict[str, dict[str, Any]] = {
    "linear": {},
    "rbf": {"kernel": "rbf", "gamma": 0.8},
    "rbf without intercept": {"kernel": "rbf", "gamma": 0.8, "intercept": "none"},
}


MAKERS = {"waves": waves, "integers": integers}
each_problem = pytest.mark.parametrize(
    ("maker", "kernel", "C"),
    [
        (maker, kernel, C)
        for maker, C in (("waves", 2.0), ("integers", 0.3), ("integers", 10.0))
        for kernel in KERNELS
    ],
)


def f_of(X: Any, y: Any, C: float, kernel: str, at: Any, taus: Any = TAUS, **kw: Any) -> np.ndarray:
    path = taupath.quantile_regression_path(X, y, C=C, **KERNELS[kernel], **kw)
    return path.decision_function(at, taus)


@each_problem
def test_the_order_of_samples_does_not_matter(maker, kernel, C):
    X, y = MAKERS[maker]()
    order = np.random.default_rng(1).permutation(len(y))
    assert_same_function(f_of(X[order], y[order], C, kernel, X), f_of(X, y, C, kernel, X))


@each_problem
def test_responses_upside_down_turn_the_path_round(maker, kernel, C):
    X, y = MAKERS[maker]()
    found = -f_of(X, -y, C, kernel, X, 1.0 - TAUS)
    assert_same_function(found, f_of(X, y, C, kernel, X))


@pytest.mark.parametrize("a", [1e-6, 7.0, 1e5])
@each_problem
def test_scaled_responses_with_C_scaled_alike_scale_the_quantiles(maker, kernel, C, a):
    X, y = MAKERS[maker]()
    found = f_of(X, a * y, a * C, kernel, X) / a
    assert_same_function(found, f_of(X, y, C, kernel, X))


@each_problem
def test_weights_are_copies_and_weight_zero_is_absence(maker, kernel, C):
    X, y = MAKERS[maker]()
    copies = np.random.default_rng(2).integers(0, 4, len(y))
    found = f_of(X, y, C, kernel, X, sample_weight=copies)
    repeated = f_of(X.repeat(copies, axis=0), y.repeat(copies), C, kernel, X)
    assert_same_function(found, repeated)
    path = taupath.quantile_regression_path(X, y, C=C, sample_weight=copies, **KERNELS[kernel])
    for tau in TAUS:
        assert_array_equal(path.alpha(tau)[copies == 0], 0.0)


@each_problem
def test_a_sample_of_weight_zero_may_be_anything(maker, kernel, C):
    X, y = MAKERS[maker]()
    weight = np.append(np.ones(len(y)), 0.0)
    beside = np.vstack([X, [[1.0, 1.0]]])
    expected = f_of(X, y, C, kernel, X)
    for value in (0.0, 1e6, -1e6):
        found = f_of(beside, np.append(y, value), C, kernel, X, sample_weight=weight)
        assert_same_function(found, expected)


@each_problem
def test_a_common_factor_of_all_weights_is_a_factor_of_C(maker, kernel, C):
    X, y = MAKERS[maker]()
    found = f_of(X, y, C, kernel, X, sample_weight=np.full(len(y), 2.5))
    assert_same_function(found, f_of(X, y, 2.5 * C, kernel, X))


def test_scaled_features_with_gamma_over_the_square_are_the_same():
    X, y = waves()
    one = taupath.quantile_regression_path(X, y, kernel="rbf", gamma=0.8)
    for a in (1e-3, 30.0):
        other = taupath.quantile_regression_path(a * X, y, kernel="rbf", gamma=0.8 / a**2)
        found = other.decision_function(a * X, TAUS)
        assert_same_function(found, one.decision_function(X, TAUS))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    "tau_range", [(0.2, 0.4), (0.4, 0.7), (0.6, 0.9), (0.0, 0.5), (0.5, 1.0), (0.3, 0.30001)]
)
def test_a_part_of_the_range_is_that_part_of_the_path(tau_range, kernel):
    X, y = waves(40, 3)
    task = Task(X, y, **KERNELS[kernel])
    whole = task.regression_path(5.0)
    part = assert_regression_path(task, 5.0, tau_range=tau_range)
    assert part.tau_range == tau_range
    taus = np.concatenate([np.linspace(*tau_range, 7), part.taus[::5]])
    assert_same_function(part.decision_function(X, taus), whole.decision_function(X, taus))
    if kernel != "linear":  # independent rows: the dual solution is unique, and so are its kinks
        begin, end = tau_range
        kinks, inside = kinks_of(whole), kinks_of(part)
        kinks = kinks[(kinks > begin) & (kinks < end)]
        inside = inside[(inside > begin) & (inside < end)]
        assert_allclose(inside, kinks, rtol=0, atol=1e-8)
        for tau in part.taus[::5]:
            assert_allclose(part.alpha(tau), whole.alpha(tau), rtol=0, atol=1e-8)


def test_a_tau_outside_the_walked_range_is_refused_with_the_range():
    path = taupath.quantile_regression_path(*waves(10), tau_range=(0.2, 0.4))
    for tau in (0.0, 0.19, 0.41, 1.0, NAN):
        with pytest.raises(ValueError, match=rf"tau .*\[0\.2, 0\.4\].* got {tau}"):
            path.alpha(tau)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed", laplacian_kernel])
@pytest.mark.parametrize("tau_range", [(0.0, 1.0), (0.1, 0.3), (0.4, 0.9)])
def test_a_pickled_path_answers_alike(kernel, tau_range):
    X, y = waves(30)
    X = rbf_kernel(X) if kernel == "precomputed" else X
    path = taupath.quantile_regression_path(X, y, C=3.0, kernel=kernel, tau_range=tau_range)
    for tau in tau_range:  # something is remembered, and must not be in the way
        path.alpha(tau)
    copy = pickle.loads(pickle.dumps(path))
    assert_array_equal(copy.taus, path.taus)
    assert (copy.C, copy.counters, copy.nbytes) == (path.C, path.counters, path.nbytes)
    assert repr(copy) == repr(path)
    taus = np.linspace(*tau_range, 7)
    assert_allclose(copy.decision_function(X, taus), path.decision_function(X, taus), atol=1e-12)
    assert copy.certify().holds()


@pytest.mark.parametrize("tau_range", [(0.0, 1.0), (0.1, 0.3), (0.2, 0.9), (0.5, 0.8)])
def test_progress_goes_from_nothing_to_all(tau_range):
    calls: list[tuple[float, int]] = []
    taupath.quantile_regression_path(
        *waves(400), C=10.0, tau_range=tau_range, progress=lambda *call: calls.append(call)
    )
    fractions = np.array([fraction for fraction, _ in calls])
    assert fractions.min() >= 0.0 and fractions.max() <= 1.0
    assert fractions[-1] == pytest.approx(1.0, abs=1e-12)
    assert np.all(np.diff(fractions) >= -1e-12)


def test_progress_counts_all_events_of_the_walk():
    calls: list[tuple[float, int]] = []
    path = taupath.quantile_regression_path(
        *waves(400), C=10.0, progress=lambda *call: calls.append(call)
    )
    events = np.array([n_events for _, n_events in calls])
    assert np.all(np.diff(events) >= 0)
    assert events[-1] == path.counters["kinks"]


def test_two_walks_of_one_problem_are_equal_to_the_last_digit():
    one, other = (taupath.quantile_regression_path(*waves(), kernel="rbf") for _ in range(2))
    assert_array_equal(one.taus, other.taus)
    assert one.counters == other.counters
    assert_array_equal(one.alpha(0.3), other.alpha(0.3))


def test_arguments_are_never_changed():
    X, y = waves(20)
    weight = np.arange(20.0)
    before = X.copy(), y.copy(), weight.copy()
    path = taupath.quantile_regression_path(X, y, sample_weight=weight, kernel="rbf")
    path.certify()
    path.decision_function(X, [0.2, 0.7])
    for value, kept in zip((X, y, weight), before, strict=True):
        assert_array_equal(value, kept)
