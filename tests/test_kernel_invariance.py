"""Paths through a kernel: what they must not depend on, or must follow."""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import (
    laplacian_kernel,
    rbf_kernel,
)

import problems
import taupath
from agreement import assert_same_function, blobs
from canonical import Task, assert_quantile_path

pytestmark = pytest.mark.core

TAUS = np.array([0.0, 1e-6, 0.05, 0.25, 0.5, 0.65, 0.9, 1.0 - 1e-6, 1.0])

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
