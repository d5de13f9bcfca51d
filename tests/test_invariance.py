"""What a path must not depend on, or must follow exactly."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import taupath
from problems import Problem, made

pytestmark = pytest.mark.core

# Two paths of one problem may break ties differently; what they agree on is w, which is unique.
ATOL = 1e-7
TAUS = np.array([0.0, 1e-6, 0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0 - 1e-6, 1.0])

KINDS = ("gaussian", "lattice", "cube", "one_hot", "duplicates", "zero_rows", "constant_columns")
MILD_C = st.floats(-2.0, 2.0)
ANY = made(*KINDS, log10_C=MILD_C)
UNWEIGHTED = made(*KINDS, weights=("no_weight",), log10_C=MILD_C)


def weights_of(path: taupath.SolutionPath, taus: np.ndarray = TAUS) -> np.ndarray:
    """Return (w, b) at each tau, one row each."""
    return np.array([np.append(path.coef(tau), path.intercept(tau)) for tau in taus])


def assert_same_weights(found: np.ndarray, expected: np.ndarray) -> None:
    assert_allclose(found, expected, rtol=0, atol=ATOL * (1.0 + np.abs(expected).max()))


@given(problem=ANY, seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_the_order_of_samples_does_not_matter(problem, seed):
    order = np.random.default_rng(seed).permutation(len(problem.y))
    weight = None if problem.weight is None else problem.weight[order]
    shuffled = replace(problem, X=problem.X[order], y=problem.y[order], weight=weight)
    assert_same_weights(weights_of(shuffled.path()), weights_of(problem.path()))


@given(problem=ANY, seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_the_order_of_features_does_not_matter(problem, seed):
    order = np.random.default_rng(seed).permutation(problem.X.shape[1])
    shuffled = replace(problem, X=np.ascontiguousarray(problem.X[:, order]))
    both = np.append(order, problem.X.shape[1])
    assert_same_weights(weights_of(shuffled.path()), weights_of(problem.path())[:, both])


@given(ANY)
@settings(max_examples=40)
def test_flipped_labels_turn_the_path_round(problem):
    flipped = replace(problem, y=-problem.y).path()
    assert_same_weights(-weights_of(flipped, 1.0 - TAUS), weights_of(problem.path()))


@given(problem=UNWEIGHTED, seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_a_whole_weight_is_as_many_copies(problem, seed):
    copies = np.random.default_rng(seed).integers(1, 5, len(problem.y))
    weighted = replace(problem, weight=copies.astype(float)).path()
    repeated = replace(
        problem, X=np.repeat(problem.X, copies, axis=0), y=np.repeat(problem.y, copies)
    ).path()
    assert_same_weights(weights_of(weighted), weights_of(repeated))
    # What the copies have together is what the weighted sample has, each with its own lam.
    place = np.repeat(np.arange(len(copies)), copies)
    for tau in TAUS:
        shared = np.bincount(place, repeated.alpha(tau) / repeated.lam)
        sign = np.where(problem.y > 0, 1.0, -1.0)
        one = weighted.alpha(tau) / weighted.lam * sign @ problem.X
        assert_allclose(shared * sign @ problem.X, one, atol=1e-6 * (1.0 + np.abs(one).max()))


@given(problem=UNWEIGHTED, seed=st.integers(0, 1000))
@settings(max_examples=40)
def test_weight_zero_is_absence(problem, seed):
    rng = np.random.default_rng(seed)
    present = rng.random(len(problem.y)) < 0.6
    for label in (-1, 1):
        present[rng.choice(np.flatnonzero(problem.y == label))] = True
    with_zeros = replace(problem, weight=present.astype(float)).path()
    without = replace(problem, X=problem.X[present], y=problem.y[present]).path()
    assert_same_weights(weights_of(with_zeros), weights_of(without))
    for tau in TAUS:
        assert_array_equal(with_zeros.alpha(tau)[~present], 0.0)


@given(problem=ANY, log10_factor=st.floats(-2.0, 2.0))
@settings(max_examples=40)
def test_a_common_factor_of_all_weights_is_a_factor_of_C(problem, log10_factor):
    factor = 10.0**log10_factor
    weight = np.ones(len(problem.y)) if problem.weight is None else problem.weight
    one = replace(problem, weight=weight * factor).path()
    other = replace(problem, weight=weight, C=problem.C * factor).path()
    assert_same_weights(weights_of(one), weights_of(other))


@given(problem=ANY, log10_scale=st.floats(-3.0, 3.0))
@settings(max_examples=40)
def test_scaled_features_with_C_over_the_square_scale_the_weights(problem, log10_scale):
    scale = 10.0**log10_scale
    problem = replace(problem, intercept="none")
    scaled = replace(problem, X=problem.X * scale, C=problem.C / scale**2)
    assert_same_weights(weights_of(scaled.path()) * scale, weights_of(problem.path()))


@given(problem=ANY, seed=st.integers(0, 1000))
@settings(max_examples=30)
def test_turned_features_turn_the_weights(problem, seed):
    d = problem.X.shape[1]
    turn, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    turned = weights_of(replace(problem, X=problem.X @ turn).path())
    turned[:, :d] = turned[:, :d] @ turn.T
    assert_same_weights(turned, weights_of(problem.path()))


@given(ANY)
@settings(max_examples=40)
def test_a_zero_feature_changes_nothing(problem):
    wider = replace(problem, X=np.insert(problem.X, 1, 0.0, axis=1))
    found = weights_of(wider.path())
    assert_array_equal(found[:, 1], 0.0)
    assert_same_weights(np.delete(found, 1, axis=1), weights_of(problem.path()))


@given(ANY)
@settings(max_examples=40)
def test_an_intercept_is_a_feature_that_is_one(problem):
    with_one = np.column_stack([problem.X, np.ones(len(problem.y))])
    inside = replace(problem, X=with_one, intercept="none").path()
    outside = replace(problem, intercept="augmented").path()
    assert_same_weights(weights_of(inside)[:, :-1], weights_of(outside))


@given(made("gaussian", "lattice", "zero_rows", "more_columns_than_rows", log10_C=MILD_C))
@settings(max_examples=40)
def test_dense_and_sparse_features_are_the_same(problem):
    dense, compressed = (replace(problem, is_sparse=store).path() for store in (False, True))
    assert_same_weights(weights_of(compressed), weights_of(dense))
    f_dense = dense.decision_function(problem.X, TAUS)
    f_compressed = compressed.decision_function(sparse.csr_array(problem.X), TAUS)
    assert f_dense.shape == f_compressed.shape == (len(problem.y), len(TAUS))
    assert_same_weights(f_compressed, f_dense)


@given(made("cube", "one_hot", log10_C=MILD_C))
@settings(max_examples=40)
def test_binary_features_are_the_same_dense_sparse_and_by_pattern(problem):
    # Stored values that are all one are not read at all; one stored zero, and they are.
    pattern = sparse.csr_array(problem.X)
    valued = sparse.csr_array(problem.X + 1.0)
    valued.data -= 1.0
    assert np.all(pattern.data == 1.0)
    dense = weights_of(replace(problem, is_sparse=False).path())
    for X in (pattern, valued):
        path = taupath.quantile_path(
            X, problem.y, C=problem.C, sample_weight=problem.weight, intercept=problem.intercept
        )
        assert_same_weights(weights_of(path), dense)


@pytest.mark.parametrize("n_features", [3, 30, 100])
@pytest.mark.parametrize("tau_range", [(0.0, 0.4), (0.25, 0.75), (0.3, 0.30001), (0.6, 1.0)])
def test_a_part_of_the_range_is_that_part_of_the_path(tau_range, n_features):
    rng = np.random.default_rng(0)
    y = np.where(np.arange(40) % 3 == 0, 1, -1)
    X = rng.normal(size=(40, n_features)) + 0.3 * y[:, None]
    whole = taupath.quantile_path(X, y, C=0.5)
    part = taupath.quantile_path(X, y, C=0.5, tau_range=tau_range)
    begin, end = tau_range
    assert part.tau_range == tau_range
    assert (part.taus[0], part.taus[-1]) == tau_range
    taus = np.concatenate([np.linspace(begin, end, 15), part.taus])
    assert_same_weights(weights_of(part, taus), weights_of(whole, taus))
    assert part.certify().holds()
    if n_features >= 40:  # independent rows: the dual solution is unique, and so are its kinks
        inside = whole.taus[(whole.taus > begin) & (whole.taus < end)]
        assert_allclose(part.taus[1:-1], inside, rtol=0, atol=1e-8)
        for tau in taus:
            assert_allclose(part.alpha(tau), whole.alpha(tau), rtol=0, atol=1e-8)


@given(problem=ANY, ends=st.tuples(st.floats(0.0, 1.0), st.floats(0.0, 1.0)))
@settings(max_examples=40)
def test_any_part_of_the_range_gives_the_same_weights(problem, ends):
    begin, end = min(ends), max(ends)
    if begin == end:
        begin, end = begin / 2.0, (1.0 + end) / 2.0
    part = problem.path(tau_range=(begin, end))
    taus = np.unique(np.clip(np.linspace(begin, end, 7), begin, end))
    assert_same_weights(weights_of(part, taus), weights_of(problem.path(), taus))


@given(ANY)
@settings(max_examples=25)
def test_two_walks_of_one_problem_are_equal_to_the_last_digit(problem):
    one, other = problem.path(), problem.path()
    assert_array_equal(one.taus, other.taus)
    assert one.counters == other.counters
    assert_array_equal(weights_of(one), weights_of(other))


@given(problem=ANY, seed=st.integers(0, 1000))
@settings(max_examples=25)
def test_the_order_of_questions_does_not_matter(problem, seed):
    path = problem.path()
    taus = np.unique(np.concatenate([TAUS, path.taus]))
    upwards = weights_of(path, taus)
    for k in np.random.default_rng(seed).permutation(len(taus)):
        assert_same_weights(weights_of(path, taus[k : k + 1])[0], upwards[k])


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("n_features", [4, 100])
def test_a_pickled_path_answers_alike(n_features, is_sparse):
    rng = np.random.default_rng(1)
    y = np.where(np.arange(30) % 2 == 0, "yes", "no")
    problem = Problem(rng.normal(size=(30, n_features)), y, is_sparse=is_sparse)
    path = problem.path(tau_range=(0.1, 0.9))
    path.alpha(0.3)  # something is remembered, and must not be in the way
    copy = pickle.loads(pickle.dumps(path))
    assert_array_equal(copy.taus, path.taus)
    assert_array_equal(copy.classes, path.classes)
    assert (copy.C, copy.lam, copy.tau_range) == (path.C, path.lam, path.tau_range)
    assert (copy.counters, copy.nbytes) == (path.counters, path.nbytes)
    for tau in np.linspace(0.1, 0.9, 17):
        assert_allclose(copy.alpha(tau), path.alpha(tau), rtol=0, atol=1e-14)
        assert_allclose(copy.coef(tau), path.coef(tau), rtol=0, atol=1e-12)
        for one, other in zip(copy.index_sets(tau), path.index_sets(tau), strict=True):
            assert_array_equal(one, other)
    assert copy.certify().holds()
