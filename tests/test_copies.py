"""Copies of a sample are walked as one point, and each gets its share of α."""

from __future__ import annotations

import math
import pickle
from contextlib import nullcontext
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

import taupath as tp
from problems import every_sample_a_point
from taupath.exceptions import ModelFileError
from taupath.paths import copies
from taupath.paths.copies import find_copies
from taupath.paths.training_data import Responses
from taupath.storage.container import read_container, write_container

TAUS = np.linspace(0.03, 0.97, 12)


def responses(target, sign=None, weight=None) -> Responses:
    ones = np.ones(len(target))
    return Responses(
        ones if sign is None else sign, np.asarray(target), ones if weight is None else weight
    )


def groups_by_hand(X: Any, of: Responses) -> list[int]:
    """Return the first sample that each is equal to."""
    rows = (X.toarray() if sp.issparse(X) else X).tolist()
    keys = [(tuple(row), s, p) for row, s, p in zip(rows, of.sign, of.target, strict=True)]
    return [keys.index(key) for key in keys]


def assert_right_groups(X: Any, of: Responses) -> None:
    found, expected = find_copies(X, of), groups_by_hand(X, of)
    if found is None:
        assert expected == list(range(len(expected)))
    else:
        assert found.first[found.group].tolist() == expected
        assert_array_equal(found.first, np.unique(expected))


# -- finding them --------------------------------------------------------------------------------


@given(st.integers(0, 10_000), st.integers(1, 30), st.integers(1, 4), st.booleans())
@settings(max_examples=150)
def test_groups_are_those_of_equal_rows_signs_and_targets(seed, n, d, is_sparse):
    rng = np.random.default_rng(seed)
    X = rng.choice([0.0, -0.0, 1.0, -1.0, 2.0], size=(n, d))
    stored = X
    if is_sparse:  # some zeros are stored, some are not
        row, column = np.nonzero((X != 0.0) | (rng.random((n, d)) < 0.3))
        stored = sp.csr_array((X[row, column], (row, column)), shape=X.shape)
    of = responses(rng.choice([0.0, -0.0, 1.0], n), rng.choice([-1.0, 1.0], n))
    assert_right_groups(stored, of)


def test_rows_that_differ_in_the_last_digit_are_no_copies():
    X = np.array([[1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)], [1.0, 2.0]])
    assert find_copies(X, responses(np.ones(3))).group.tolist() == [0, 1, 0]
    assert find_copies(sp.csr_array(X[:2]), responses(np.ones(2))) is None
    assert find_copies(X[[0, 2]], responses([1.0, np.nextafter(1.0, 2.0)])) is None


@pytest.mark.parametrize("bits", [0, 1, 2])
def test_hashes_that_collide_change_nothing(bits, monkeypatch):
    def weak(*given):
        return scrambled(*given) & np.uint64((1 << bits) - 1)

    scrambled = copies._scrambled
    monkeypatch.setattr(copies, "_scrambled", weak)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, (60, 2)).astype(float)
    of = responses(rng.integers(0, 2, 60).astype(float))
    assert_right_groups(X, of)
    assert_right_groups(sp.csr_array(X), of)


def test_rows_in_several_blocks(monkeypatch):
    monkeypatch.setattr(copies, "COMPARED_AT_A_TIME", 16)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (50, 5)).astype(float)
    X[10:20] = 0.0  # empty rows where sparse
    of = responses(np.ones(50))
    assert_right_groups(X, of)
    assert_right_groups(sp.csr_array(X), of)


def test_columns_of_a_kernel_matrix_must_be_equal_too():
    K = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 2.0]])
    assert find_copies(K, responses(np.ones(3)), square=True).group.tolist() == [0, 0, 1]
    K[2, 1] += 1e-12
    assert find_copies(K, responses(np.ones(3)), square=True) is None


def test_weights_are_added_up_to_the_last_digit():
    rng = np.random.default_rng(0)
    weight = 10.0 ** rng.uniform(-16, 4, 3000)
    group = rng.integers(0, 3, 3000)
    X = group[:, None].astype(float)
    found = find_copies(X, responses(np.ones(3000)))
    merged = found.merged(responses(np.ones(3000), weight=weight))
    for value, total in zip(X[found.first, 0], merged.weight, strict=True):
        assert total == math.fsum(weight[X[:, 0] == value])


# -- the path is the same as without merging -----------------------------------------------------


def samples(seed: int = 0, distinct: int = 15, n: int = 70):
    """Return features with copies, labels, numbers and weights over orders, some of them zero."""
    rng = np.random.default_rng(seed)
    few = rng.normal(size=(distinct, 3))
    which = np.concatenate((np.arange(distinct), rng.integers(0, distinct - 2, n - distinct)))
    X, y = few[which], (which + (rng.random(n) < 0.2)) % 2
    response = np.sin(few[which, 0]) + 0.5 * rng.integers(0, 2, n)
    weight = 10.0 ** rng.uniform(-4.0, 1.0, n) * (rng.random(n) < 0.8)
    weight[:2] = 1.0
    return X, y, response, weight


def classify(X, y, response, weight, **more):
    return tp.quantile_path(X, y, C=0.5, sample_weight=weight, **more)


def regress(X, y, response, weight, **more):
    return tp.quantile_regression_path(X, response, C=2.0, sample_weight=weight, **more)


def over_C(X, y, response, weight, **more):
    return tp.regularization_path(X, y, tau=0.4, C_max=3.0, sample_weight=weight, **more)


def by_callable(A, B):
    return np.exp(-0.5 * np.abs(A[:, None] - B[None]).sum(axis=2))


def kernel_matrix(X):
    """Return a kernel matrix whose rows are equal where those of X are, to the last bit."""
    few, which = np.unique(X, axis=0, return_inverse=True)
    return by_callable(few, few)[np.ix_(which.ravel(), which.ravel())]


JOBS = {"classification": classify, "regression": regress, "C": over_C}
HOW = {
    "linear": {},
    "free": {"intercept": "free"},
    "none": {"intercept": "none"},
    "rbf": {"kernel": "rbf", "gamma": 0.5},
    "rbf, free": {"kernel": "rbf", "gamma": 0.5, "intercept": "free"},
    "poly": {"kernel": "poly", "degree": 2, "coef0": 1.0},
    "callable": {"kernel": by_callable},
    "precomputed": {"kernel": "precomputed"},
    "rows of a kernel": {"kernel": "rbf", "gamma": 0.5},  # which are not all kept
}
# With every sample by itself, these take many seconds.
SLOW_APART = [("regression", "rows of a kernel"), ("C", "rows of a kernel")]


def group_of(job, X, y, response):
    """Return the group of each sample."""
    by_label = responses(np.ones(len(y)), 2.0 * y - 1.0)
    return find_copies(X, responses(response) if job == "regression" else by_label).group


def fitted(job: str, how: str, given, merge=True, **more):
    """Return the path of samples, and X as it was given."""
    X, y, response, weight = given
    more |= HOW[how]
    if how == "precomputed":
        X = kernel_matrix(X)
    if how == "rows of a kernel":
        n_points = group_of(job, X, y, response).max() + 1 if merge else len(y)
        assert n_points > 105
        more["cache_size"] = 105 * 8 * n_points / 1e6
    with nullcontext() if merge else every_sample_a_point():
        return JOBS[job](X, y, response, weight, **more), X


def samples_for(how: str, **more):
    """Return samples, enough of them that not all rows of a kernel are kept."""
    return samples(distinct=110, n=150) if how == "rows of a kernel" else samples(**more)


@pytest.mark.parametrize(
    ("job", "how"),
    [(job, how) for job in JOBS for how in HOW if (job, how) not in SLOW_APART],
)
def test_merged_and_unmerged_paths_agree(job, how):
    given = _, y, response, _ = samples_for(how)
    (path, X), (apart, _) = fitted(job, how, given), fitted(job, how, given, merge=False)
    group = group_of(job, X, y, response)
    assert group.max() + 1 == path.data.distinct.shape[0] < apart.data.distinct.shape[0] == len(y)
    assert path.n_kinks < apart.n_kinks
    assert path.certify(60).holds()
    assert apart.certify(60).holds()
    scale = np.abs(apart.decision_function(X, apart.tau_range[1])).max()
    for value in path.tau_range[1] * TAUS:
        found, expected = (each.decision_function(X, value) for each in (path, apart))
        assert_allclose(found, expected, rtol=0, atol=1e-9 * (1.0 + scale))
        if how in ("linear", "free", "none", "poly"):
            continue  # rows depend on one another, and solutions are not unique
        widths = np.ptp(path.job.alpha_bounds(path.data, value), axis=0)
        found, expected = (np.bincount(group, each.alpha(value)) for each in (path, apart))
        assert_allclose(found, expected, rtol=0, atol=1e-9 * np.bincount(group, widths).max())


@pytest.mark.parametrize("job", JOBS)
def test_copies_share_alpha_in_proportion_to_their_boxes(job):
    X, y, response, weight = samples()
    path = JOBS[job](X, y, response, weight)
    group = group_of(job, X, y, response)
    seen = {"free": 0, "upper": 0}
    for value in path.tau_range[1] * TAUS:
        alpha, sets = path.alpha(value), path.index_sets(value)
        lower, upper = path.job.alpha_bounds(path.data, value)
        assert alpha.shape == (70,)
        assert_array_equal(np.sort(np.concatenate(sets)), np.arange(70))
        assert_array_equal(alpha[sets[0]], upper[sets[0]])
        assert_array_equal(alpha[sets[2]], lower[sets[2]])
        assert_array_equal(alpha[weight == 0.0], 0.0)
        inside = np.divide(alpha - lower, upper - lower, where=weight > 0.0, out=np.zeros(70))
        for k in range(group.max() + 1):
            members = np.flatnonzero(group == k)
            assert sum(np.isin(members, one).all() for one in sets) == 1  # the same set for all
            present = inside[members[weight[members] > 0.0]]
            assert_allclose(present, present.mean() if len(present) else 0.0, rtol=0, atol=1e-12)
        seen["free"] += len(sets[1])
        seen["upper"] += len(sets[0])
    assert min(seen.values()) > 0


def test_lam_is_that_of_all_samples():
    X, y, response, _ = samples()
    path = classify(X, y, response, None)
    assert path.lam == 1.0 / (70 * 0.5)
    assert path.data.shape == (70, 3)
    _, upper = path.job.alpha_bounds(path.data, 0.25)
    assert_allclose(upper, np.where(y == 1, 1.5, 0.5) / 70)


def test_many_copies_of_few_rows_have_the_kinks_of_few_points():
    n = 20_000
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (n, 1)).astype(float)
    y = rng.random(n) < 0.2 + 0.5 * X[:, 0]
    path = tp.quantile_path(X, y, C=2.0 / n, intercept="free")
    assert path.n_kinks < 10
    assert path.counters["rows_evaluated"] < 100
    assert path.certify().holds()


def test_a_kernel_is_computed_of_distinct_samples_only():
    called = []

    def kernel(A, B):
        called.append((len(A), len(B)))
        return by_callable(A, B)

    X, y, *_ = samples()
    n_distinct = len(np.unique(X, axis=0))
    path = tp.quantile_path(X, y, C=0.5, kernel=kernel, cache_size=0.02)
    path.certify(20)
    path.crossings(X[:7])
    assert path.data.distinct.shape[0] <= 2 * n_distinct
    assert max(max(shape) for shape in called) <= 2 * n_distinct


def test_an_error_calls_samples_by_their_own_numbers():
    X, y, *_ = samples()
    K = kernel_matrix(X)
    first = find_copies(K, responses(np.ones(70), 2.0 * y - 1.0), square=True).first
    i, j = int(first[-1]), int(first[2])
    assert i > len(first)  # it has another number among the distinct ones
    K[i, j] += 1e-6
    with pytest.raises(ValueError, match=rf"\[({i}, {j}|{j}, {i})\] is"):
        tp.quantile_path(K, y, kernel="precomputed")


# -- everything else that is done with a path ----------------------------------------------------


def numbers_of(path, X):
    """Return what a path says at some values of its parameter."""
    values = path.tau_range[1] * TAUS[::3]
    return [path.taus] + [
        numbers
        for value in values
        for numbers in (
            path.alpha(value),
            path.decision_function(X, value),
            *path.index_sets(value),
        )
    ]


def assert_same_numbers(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert_array_equal(one, other)


@pytest.mark.parametrize("merge", [True, False])  # False: as in files of earlier versions
@pytest.mark.parametrize("how", ["linear", "free", "rbf", "precomputed"])
@pytest.mark.parametrize("job", JOBS)
def test_files_and_pickles_keep_all_numbers(job, how, merge, tmp_path):
    path, X = fitted(job, how, samples(), merge=merge)
    path.save(tmp_path / "model")
    pickled, loaded = pickle.loads(pickle.dumps(path)), tp.load(tmp_path / "model")
    assert loaded.data.distinct.shape == path.data.distinct.shape
    expected = numbers_of(path, X)
    assert_same_numbers(numbers_of(loaded, X), expected)
    assert_same_numbers(numbers_of(pickled, X), expected)
    simple = path.simplify(1e-3)
    assert simple.certify().holds()
    simple.save(tmp_path / "simple", data=True)
    loaded = tp.load(tmp_path / "simple")
    for value in simple.taus:
        assert_allclose(loaded.alpha(value), simple.alpha(value), rtol=0, atol=1e-12)
        found, expected = (each.decision_function(X, value) for each in (loaded, simple))
        assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("merge", [True, False])
def test_a_simplified_path_gets_its_training_data_back(merge, tmp_path):
    given = X, y, _, weight = samples()
    path, _ = fitted("classification", "free", given, merge=merge)
    simple = path.simplify(1e-3)
    simple.save(tmp_path / "model")
    attached = tp.load(tmp_path / "model").attach(X, y, weight)
    assert attached.data.distinct.shape[0] < 70
    assert attached.certify().holds()
    for value in simple.taus:
        found, expected = (each.decision_function(X, value) for each in (attached, simple))
        assert_allclose(found, expected, rtol=0, atol=1e-13)
        if merge:
            assert_allclose(attached.alpha(value), simple.alpha(value), rtol=0, atol=1e-15)


def test_a_file_that_counts_its_samples_wrongly_is_refused(tmp_path):
    X, y, response, weight = samples()
    classify(X, y, response, weight).save(tmp_path / "model")
    content, arrays = read_container(tmp_path / "model")
    n_distinct = content["distinct"]
    for wrong in (None, n_distinct - 1, n_distinct + 1, 70, "x", -1, [n_distinct], 2**70):
        write_container(tmp_path / "wrong", content | {"distinct": wrong}, arrays)
        with pytest.raises(ModelFileError):
            tp.load(tmp_path / "wrong")


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("job", ["classification", "regression"])
def test_two_threads_find_the_same(job, how):
    given = samples_for(how, distinct=40, n=120)
    (one, X), (two, _) = fitted(job, how, given), fitted(job, how, given, n_jobs=2)
    assert two.certify(60).holds()
    scale = np.abs(one.decision_function(X, 0.5)).max()
    for tau in TAUS:
        expected = one.decision_function(X, tau)
        assert_allclose(two.decision_function(X, tau), expected, rtol=0, atol=1e-8 * (1.0 + scale))


@pytest.mark.parametrize("how", ["linear", "free", "rbf", "rbf, free", "precomputed"])
def test_functions_of_tau_are_those_of_the_unmerged_path(how):
    given = _, y, *_ = samples()
    path, X = fitted("classification", how, given)
    apart, _ = fitted("classification", how, given, merge=False)
    for found, expected in zip(
        (getattr(path.crossings(X), name) for name in ("length", "first", "last")),
        (getattr(apart.crossings(X), name) for name in ("length", "first", "last")),
        strict=True,
    ):
        assert_allclose(found, expected, rtol=0, atol=1e-8)
    taus, values = path.values_at_nodes(X)
    for k in range(0, len(taus), 5):
        direct = path.decision_function(X, taus[k])
        if how in ("linear", "rbf", "precomputed"):  # a free intercept jumps
            assert_allclose(values[:, k], direct, rtol=0, atol=1e-9)
    each = np.linspace(0.01, 0.99, len(y))
    direct = [apart.decision_function(X[k : k + 1], tau)[0] for k, tau in enumerate(each)]
    assert_allclose(path.decide_each(X, each), direct, rtol=0, atol=1e-8)


def test_wide_data_with_copies():
    rng = np.random.default_rng(0)
    which = rng.integers(0, 12, 40)
    wide = rng.normal(size=(12, 30))[which]
    y = which % 2
    for X in (wide, sp.csr_array(np.where(wide > 0.5, wide, 0.0))):
        path = tp.quantile_path(X, y, C=1.0)
        assert path.data.by_theta
        taus, values = path.values_at_nodes(X)
        for k in range(0, len(taus), 3):
            direct = path.decision_function(X, taus[k])
            assert_allclose(values[:, k], direct, rtol=0, atol=1e-9)
        some = path.coefficients_at_kept([0, -1])
        assert_allclose(some[0], path.coef(path.kept_nodes[0]), rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_estimators_of_copies(kernel, tmp_path):
    X, y, response, weight = samples()
    given = kernel_matrix(X) if kernel == "precomputed" else X
    model = tp.QuantileSVC(C=0.5, kernel=kernel).fit(given, y, sample_weight=weight + 0.1)
    model.save(tmp_path / "model")
    again = tp.load(tmp_path / "model")
    assert_array_equal(again.predict_proba(given), model.predict_proba(given))
    assert_array_equal(again.predict(given, tau=0.3), model.predict(given, tau=0.3))
    frozen, direct = model.at(0.3), model.decision_function(given, tau=0.3)
    assert_allclose(frozen.decision_function(given), direct, rtol=0, atol=1e-12)
    several = tp.QuantileSVC(C=0.5, kernel=kernel).fit(given, np.arange(70) % 3)
    assert_allclose(several.predict_proba(given).sum(axis=1), 1.0)
    assert all(path.certify(50).holds() for path in several._all_paths())
    regressor = tp.QuantileSVR(C=2.0, kernel=kernel).fit(given, response)
    assert regressor.predict(given, quantile=[0.1, 0.9]).shape == (70, 2)


def test_a_constant_response():
    X = np.repeat([[0.0], [1.0], [2.0]], 3, axis=0)
    for kernel in ("linear", "rbf"):
        path = tp.quantile_regression_path(X, np.full(9, 3.0), kernel=kernel, intercept="free")
        assert path.data.distinct.shape[0] == 3
        assert_array_equal(path.decision_function(X, 0.3), 3.0)
        assert_array_equal(path.alpha(0.3), 0.0)
        assert path.certify().holds()
