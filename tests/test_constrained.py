"""Paths with an L1 penalty and constraints: optimal by weak duality, feasible, zeros exact."""

from __future__ import annotations

import os
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import taupath as tp
from extra_rows import GAP, KKT, degenerate, judge, judge_regression, problem, signs_of
from real_data import CLASSIFICATION, load_dense
from taupath.engine.reading import Reader


@pytest.mark.parametrize("name", CLASSIFICATION)
@pytest.mark.parametrize("l1", [0.1, 5.0])
def test_l1_on_real_data(name, l1):
    folder = os.environ.get("TAUPATH_DATA")
    if not folder:
        pytest.skip("TAUPATH_DATA is not set")
    X, y = load_dense(name, Path(folder))
    path = tp.quantile_path(X, y, C=1.0, l1=l1)
    for tau in np.random.default_rng(0).uniform(size=5):
        judge(path, X, y, float(tau), 1.0, l1)
    assert path.certify(max_points=200).holds()


@pytest.mark.parametrize("name", CLASSIFICATION)
def test_weights_of_one_sign_on_real_data(name):
    folder = os.environ.get("TAUPATH_DATA")
    if not folder:
        pytest.skip("TAUPATH_DATA is not set")
    X, y = load_dense(name, Path(folder))
    path = tp.quantile_path(X, y, C=1.0, constraints=[tp.NonNegative()])
    for tau in np.random.default_rng(1).uniform(size=3):
        judge(path, X, y, float(tau), 1.0, 0.0, *signs_of(range(X.shape[1]), 1.0, X.shape[1]))
    assert path.certify(max_points=100).holds()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("l1", [1e-3, 0.5, 4.0])
@pytest.mark.parametrize("is_sparse", [False, True])
def test_l1_where_rows_and_columns_tie(seed, l1, is_sparse):
    X, y, taus = problem(seed)
    path = tp.quantile_path(sparse.csr_array(X) if is_sparse else X, y, C=0.7, l1=l1)
    for tau in taus:
        judge(path, X, y, tau, 0.7, l1)
    assert path.certify().holds()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("l1", [0.0, 0.5])
@pytest.mark.parametrize("kind", ["nonnegative", "monotone", "bound", "equal", "fair", "several"])
def test_constraints_where_rows_and_columns_tie(seed, l1, kind):
    X, y, taus = problem(seed)
    group = np.random.default_rng(seed).integers(0, 2, len(y))
    covariance = (group - group.mean()) @ X / len(y)
    a = np.arange(1.0, 7.0)
    given, A, b = {
        "nonnegative": ([tp.NonNegative()], *signs_of(range(6), 1.0, 6)),
        "monotone": ([tp.Monotone([0, 3], -1)], *signs_of([0, 3], -1.0, 6)),
        "bound": ([tp.Bound(a, 0.5, 0.6)], [a, -a], [0.5, -0.6]),
        "equal": ([tp.Bound(a, 0.5, 0.5)], [a, -a], [0.5, -0.5]),
        "fair": ([tp.Fair(group, 0.01)], [covariance, -covariance], [-0.01, -0.01]),
        "several": (
            [tp.NonNegative([0]), tp.Bound(a, upper=1.0), tp.Fair(group)],
            [np.eye(6)[0], -a, covariance, -covariance],
            [0.0, -1.0, 0.0, 0.0],
        ),
    }[kind]
    path = tp.quantile_path(X, y, C=0.7, l1=l1, constraints=given)
    for tau in taus:
        if kind == "equal":  # met to rounding, from either side
            assert_allclose(a @ path.coef(tau), 0.5, rtol=1e-9)
            assert path.duality_gap(tau) <= GAP and path.kkt_violation(tau) <= KKT
        else:
            judge(path, X, y, tau, 0.7, l1, A, b)
    assert path.certify().holds()


@pytest.mark.parametrize("seed", range(3))
def test_without_an_intercept_and_with_weights(seed):
    X, y, taus = problem(seed)
    weight = np.random.default_rng(seed).integers(0, 3, len(y)).astype(float)
    path = tp.quantile_path(X, y, C=2.0, l1=0.3, intercept="none", sample_weight=weight)
    for tau in taus:
        judge(path, X, y, tau, 2.0, 0.3, bias=0.0, weight=weight)


def test_separable_samples_with_a_large_C():
    X, y, taus = problem(0)
    y = np.where(X[:, 0] + 0.5 * X[:, 4] > 0.1, 1, -1)
    path = tp.quantile_path(X, y, C=1e4, l1=0.3, constraints=[tp.Monotone(0)])
    for tau in taus:
        judge(path, X, y, tau, 1e4, 0.3, *signs_of([0], 1.0, 6))
    assert path.certify().holds()


def test_a_tiny_penalty_changes_nothing():
    X, y, taus = problem(1)
    plain, tiny = (tp.quantile_path(X, y, C=0.7, l1=l1) for l1 in (0.0, 1e-12))
    for tau in taus:
        assert_allclose(tiny.coef(tau), plain.coef(tau), rtol=0, atol=1e-9)
        assert_allclose(tiny.intercept(tau), plain.intercept(tau), rtol=0, atol=1e-9)


def test_a_large_penalty_leaves_the_intercept_alone():
    X, y, _ = problem(1)
    path = tp.quantile_path(X, y, C=0.7, l1=1e4)
    assert path.n_nonzero(0.3) == 0
    assert_array_equal(path.coef(0.3), 0.0)
    assert_allclose(path.intercept(0.3), 1.0 if (y > 0).mean() > 0.3 else -1.0)


def test_a_point_can_be_classified_for_certain():
    X, y, taus = problem(3)
    point = np.array([1.0, 0.0, 0.0, -1.0, 0.5, 0.0])
    path = tp.quantile_path(X, y, C=0.7, constraints=tp.Bound(point, 0.25, intercept=1.0))
    decided = [path.decision_function(point[np.newaxis], tau)[0] for tau in taus]
    assert np.all(np.array(decided) >= 0.25 - 1e-12)
    assert min(decided) < 0.25 + 1e-9  # it matters
    assert path.certify().holds()


def test_multipliers_beyond_the_first_bound_are_found():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 3))
    y = np.where(X[:, 0] > 0, 1, -1)
    # nearly contradicting: both hold only far from the origin
    a = np.array([1.0, 1e-2, 0.0])
    given = [tp.Bound([1.0, 0.0, 0.0], upper=0.0), tp.Bound(a, lower=1.0)]
    path = tp.quantile_path(X, y, C=1e-3, constraints=given)
    coef = path.coef(0.5)
    assert coef[0] <= 0.0 and a @ coef >= 1.0 - 1e-9
    assert_allclose(coef[1], 100.0, rtol=1e-9)
    assert path.data.extra.line.upper0.max() > 1e3  # it had to be moved
    assert path.certify().worst_gap < 1e-9


def test_features_by_name_and_pickles_and_threads():
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    X, y, taus = problem(2)
    table = pandas.DataFrame(X, columns=list("abcdef"))
    by_name = tp.quantile_path(table, y, C=0.7, l1=0.2, constraints=[tp.NonNegative(["c", "a"])])
    by_number = tp.quantile_path(
        X, y, C=0.7, l1=0.2, constraints=[tp.NonNegative([2, 0])], n_jobs=2
    )
    again = pickle.loads(pickle.dumps(by_name))
    for tau in taus:
        assert_allclose(by_name.coef(tau), by_number.coef(tau), rtol=0, atol=1e-12)
        assert_array_equal(by_name.coef(tau), again.coef(tau))
    lower, free, upper = by_name.index_sets(0.4)
    assert_array_equal(np.sort(np.concatenate((lower, free, upper))), np.arange(len(y)))
    assert "extra rows" in repr(by_name)


def test_probabilities_and_functions_at_kinks_are_those_of_the_solutions():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((50, 5))
    y = np.where(X[:, 0] + rng.standard_normal(50) > 0.0, 1, -1)
    path = tp.quantile_path(X, y, C=0.3, l1=1.0)
    signs = path.decision_function(X, taus=np.linspace(0.0, 1.0, 2001)) >= 0.0
    assert_allclose(path.crossings(X).length, signs.mean(axis=1), rtol=0, atol=2e-3)
    for taus, coef in path.coefficients_at_nodes():
        assert_allclose(coef, [path.coef(tau) for tau in taus], rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"l1": -1.0}, "l1 must lie between 0 and"),
        ({"l1": np.nan}, "l1 must lie between 0 and"),
        ({"l1": "much"}, "l1 must be a real number"),
        ({"l1": 1.0, "kernel": "rbf"}, "for kernel='linear'"),
        ({"l1": 1.0, "intercept": "free"}, "intercept='augmented' or 'none'"),
        ({"l1": 1.0, "method": "approximate"}, "for exact paths"),
        ({"constraints": "positive"}, "must be a list of constraints"),
        ({"constraints": [1.0]}, "must be NonNegative"),
        ({"constraints": [tp.NonNegative("age")]}, "'age' is a name, and X has none"),
        ({"constraints": [tp.NonNegative(6)]}, "feature 6 does not exist"),
        ({"constraints": [tp.NonNegative([0, 0])]}, "names one of them twice"),
        ({"constraints": [tp.NonNegative([0.5])]}, "column indices or names"),
        ({"constraints": [tp.Monotone(0, 2)]}, "direction of Monotone must be 1 or -1"),
        ({"constraints": [tp.Bound([1.0], 0.0)]}, r"shape \(1,\), expected \(6,\)"),
        ({"constraints": [tp.Bound([np.nan] * 6, 0.0)]}, "not finite"),
        ({"constraints": [tp.Bound(np.zeros(6), 0.0)]}, "bounds nothing"),
        ({"constraints": [tp.Bound(np.ones(6), 1.0, 0.0)]}, "from 1.0 to 0.0 is impossible"),
        ({"constraints": [tp.Bound(np.ones(6), np.nan)]}, "impossible"),
        (
            {"constraints": [tp.Bound(np.ones(6), 0.0, intercept=1.0)], "intercept": "none"},
            "for the intercept, but there is none",
        ),
        ({"constraints": [tp.Fair(np.ones(60))]}, "single value"),
        ({"constraints": [tp.Fair(np.ones(3))]}, "X has 60 rows"),
        ({"constraints": [tp.Fair(np.append(np.nan, np.ones(59)))]}, "missing or not finite"),
        ({"constraints": [tp.Fair(["a", None] * 30)]}, "missing or not finite"),
        (
            {"constraints": [tp.Fair(np.array(["a", "b", np.nan] * 20, dtype=object))]},
            "missing or not finite",
        ),
        (
            {"constraints": [tp.Fair(np.array(["2020", "2021", "NaT"] * 20, dtype="M8[Y]"))]},
            "missing or not finite",
        ),
        ({"constraints": [tp.Fair(np.append(1e300, np.arange(59)))]}, "numbers above 1e"),
        ({"constraints": [tp.Bound(np.ones(6))]}, "neither lower nor upper"),
        ({"constraints": [tp.Fair(["a", "b", "c"] * 20)]}, "one Fair for each"),
        ({"constraints": [tp.Fair([0, 1] * 30, -1.0)]}, "rho of Fair must lie between 0"),
        (
            {"constraints": [tp.Bound(np.eye(6)[0], 1.0), tp.Bound(np.eye(6)[0], upper=0.5)]},
            "constraint 1, Bound.*contradicts those before it",
        ),
    ],
)
def test_bad_input_is_named(given, message):
    X, y, _ = problem(0)
    with pytest.raises((ValueError, TypeError), match=message):
        tp.quantile_path(X, y, **given)


def test_what_extra_rows_do_not_support_is_refused():
    X, y, _ = problem(0)
    path = tp.quantile_path(X, y, l1=1.0)
    with pytest.raises(ValueError, match="cannot be simplified"):
        path.simplify(1e-3)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["l1", "nonnegative", "several"])
def test_certificates_hold_next_to_both_ends_with_a_large_C(seed, kind):
    # a weight that is fixed by more than rounding costs C times the number of samples
    rng = np.random.default_rng(seed)
    n = int(rng.integers(15, 40))
    X = rng.integers(0, 2, (n, 6)).astype(float) * [1.0, 1.0, 0.002, 1.0, 5.0, 1.0]
    X[:, 5] = -2.0 * X[:, 0]
    y = np.where(X[:, 0] + rng.standard_normal(n) > 0.5, 1, -1)
    y[:2] = [1, -1]
    given = {
        "l1": {"l1": 0.07},
        "nonnegative": {"constraints": [tp.NonNegative()]},
        "several": {"l1": 0.2, "constraints": [tp.Monotone(1, -1), tp.Bound(np.ones(6), 0.0, 0.1)]},
    }[kind]
    path = tp.quantile_path(X, y, C=500.0, **given)
    found = path.certify(max_points=None)
    assert found.worst_gap <= GAP and found.worst_kkt <= KKT


def test_zeros_are_exact_where_a_feature_is_small_beside_others():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1e3, 1.0, 1e-3, 1e-3]
    y = np.where(X[:, 1] + 0.5 * rng.standard_normal(60) > 0.0, 1, -1)
    path = tp.quantile_path(X, y, C=5e3, l1=0.1)
    for tau in rng.uniform(size=30):
        coef = path.coef(tau)
        tiny = np.abs(coef) * np.sqrt(np.mean(X * X, axis=0)) < 1e-12
        assert_array_equal(coef[tiny], 0.0)


@pytest.mark.parametrize(
    ("seed", "kind", "classify"),
    [
        *[(seed, "lattice", False) for seed in (7, 21, 43)],
        *[(seed, "scales", True) for seed in (68, 79)],
        (59, "scales", False),
        *[(seed, "shift", True) for seed in (2, 27, 79)],
        *[(seed, "shift", False) for seed in (4, 19, 36, 43, 74, 75, 82, 88)],
        (95, "near copies", False),
    ],
)
def test_gaps_are_what_rounding_allows(seed, kind, classify):
    X, y, given = degenerate(seed, kind, classify)
    path = (tp.quantile_path if classify else tp.quantile_regression_path)(X, y, **given)
    found = path.certify(max_points=None)
    assert found.worst_kkt <= KKT
    assert found.worst_gap <= GAP or not found.promised
    assert found.worst_gap <= max(GAP, np.finfo(float).eps * found.condition)


@pytest.mark.parametrize("seed", [0, 1, 17, 19])
def test_next_to_zero_conditions_hold_though_the_walk_is_from_the_other_end(seed):
    # 1 - (1 - tau) has few digits of such a tau
    X, y, given = degenerate(seed, "shift", False)
    path = tp.quantile_regression_path(X, y, given["C"], constraints=[tp.NonNegative()])
    for tau in (1e-11, 1e-12, 1e-13):
        assert path.kkt_violation(tau) <= KKT and path.duality_gap(tau) <= GAP


@pytest.mark.parametrize("weighted", [False, True])
def test_copies_of_samples_are_walked_as_one(weighted, tmp_path):
    X, y, taus = problem(2, n=150)
    weight = np.random.default_rng(2).integers(1, 4, 150).astype(float) if weighted else 1.0
    given = {"C": 0.7, "l1": 0.3, "constraints": [tp.Monotone([3], 1)]}
    path = tp.quantile_path(X, y, sample_weight=weight * np.ones(150), **given)
    assert path.data.distinct.shape[0] < 150
    for tau in taus:
        judge(path, X, y, tau, 0.7, 0.3, *signs_of([3], 1.0, 6), weight=weight)
    assert path.certify().holds()
    path.save(tmp_path / "path.tau")
    again = tp.load(tmp_path / "path.tau")
    assert_array_equal(again.alpha(0.4), path.alpha(0.4))
    distinct, group = np.unique(np.column_stack((X, y)), axis=0, return_inverse=True)
    total = np.bincount(group.ravel(), weight * np.ones(150))
    merged = tp.quantile_path(distinct[:, :6], distinct[:, 6], sample_weight=total, **given)
    for tau in taus:
        assert_allclose(path.coef(tau), merged.coef(tau), rtol=0, atol=1e-8)


def test_copies_of_samples_on_other_paths_with_extra_rows():
    X, y, _ = problem(2, n=150)
    group = np.arange(150) % 2
    for path in (tp.sparsity_path(X, y, 0.3, 0.7), tp.fairness_path(X, y, group, 0.3, 0.7)):
        assert path.data.distinct.shape[0] < 150
        assert path.alpha(0.5 * path.tau_range[1]).shape == (150,)
        assert path.certify(max_points=100).holds()
    response = X[:, 0] + y
    path = tp.quantile_regression_path(X, response, 0.7, l1=0.3)
    judge_regression(path, X, response, 0.37, 0.7, 0.3)


@pytest.mark.parametrize("by", [1e170, np.inf])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # such numbers overflow
def test_what_is_far_off_is_solved_anew(monkeypatch, by):
    """As in a damaged file."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 3))
    path = tp.quantile_path(X, np.where(X[:, 0] > rng.standard_normal(40), 1, -1), l1=0.5)
    recorded = Reader.recorded

    def far_off(reader, t):
        found = recorded(reader, t)
        return found._replace(w=by * np.where(found.w == 0.0, 1.0, found.w))

    monkeypatch.setattr(Reader, "recorded", far_off)
    assert path.duality_gap(0.3) <= 1e-9


def test_a_group_that_no_feature_varies_with_is_no_constraint():
    _, y, taus = problem(0)
    alike = np.ones((60, 1))
    plain, fair = (
        tp.quantile_path(alike, y, constraints=each) for each in (None, tp.Fair([0, 1] * 30))
    )
    for tau in taus:
        assert_allclose(fair.coef(tau), plain.coef(tau), rtol=0, atol=1e-9)
