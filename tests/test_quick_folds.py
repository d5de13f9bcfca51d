"""Candidates of a search judged by a few solutions for a kernel matrix that all folds share."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from taupath._core._pair_descent import PairDescent

import taupath as tp
from taupath.approximate.held_out_rows import TAUS, lengths, positive_shares

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 4))
CLEAR = X[:, 0] * X[:, 1] + 0.5 * X[:, 2]
Y = CLEAR + 0.7 * RNG.normal(size=150) > 0.0
SIGN = np.where(Y, 1.0, -1.0)
TRAIN, TEST = np.arange(100), np.arange(100, 150)
# The constant feature that stands for each intercept.
INTERCEPTS = {"augmented": 1.0, "free": 30.0, "none": 0.0}
KERNELS = {"linear": X @ X.T, "rbf": rbf_kernel(X, gamma=0.3)}


def shares(kernel, C, bias=1.0, train=TRAIN, test=TEST, weight=None, violation=0.01):
    weight = np.ones(len(train)) if weight is None else weight
    matrix = KERNELS[kernel].astype(np.float32)
    return positive_shares(matrix, train, test, SIGN[train], weight, C, bias, violation)


def exact(kernel, C, intercept="augmented", train=TRAIN, test=TEST, weight=None):
    model = tp.QuantileSVC(C, kernel=kernel, gamma=0.3, intercept=intercept, clip=0)
    return model.fit(X[train], Y[train], weight).predict_proba(X[test])[:, 1]


@pytest.mark.core
@pytest.mark.parametrize(
    ("kernel", "C"), [("linear", 0.1), ("rbf", 2.0), ("rbf", 1e8), ("rbf", 1e10)]
)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_a_solution_is_that_of_the_exact_path(kernel, C, intercept):
    taus = (0.05, 0.3, 0.35, 0.9)
    labels = Y if C < 1e8 else CLEAR > 0.0  # separable: θ stays small in a large box
    model = tp.QuantileSVC(C, kernel=kernel, gamma=0.3, intercept=intercept)
    path = model.fit(X[TRAIN], labels[TRAIN]).path_
    trained = np.where(np.arange(150) < 100, np.where(labels, 1.0, -1.0), 0.0)
    matrix = KERNELS[kernel].astype(np.float32)
    descent = PairDescent(matrix, trained, INTERCEPTS[intercept])
    for factor, tau in zip((0.0, 0.0, 0.2, 11.0), taus, strict=True):
        box = 2.0 * C * np.where(trained > 0.0, 1.0 - tau, tau) * (trained != 0.0)
        descent.carry(box, factor)
        assert descent.solve(1e-5, 10**6)
        # rounded kernels, and the price of what stands for a free intercept
        assert_allclose(descent.values(), path.decision_function(X, tau), atol=3e-3)
    assert not PairDescent(matrix, trained, 1.0).solve(-1.0, 0)


@pytest.mark.core
def test_it_begins_at_zero_and_later_boxes_open_at_their_upper_bounds():
    matrix = KERNELS["rbf"].astype(np.float32)
    descent = PairDescent(matrix, SIGN, 0.0)
    positive = np.where(Y, 1.0, 0.0)

    def values():
        assert descent.solve(np.inf, 0)
        return descent.values()

    descent.carry(positive, 0.0)
    assert_array_equal(values(), 0.0)
    descent.carry(positive + 0.5 * ~Y, 0.0)
    assert_allclose(values(), -0.5 * matrix[:, ~Y].sum(axis=1), rtol=1e-6)
    assert descent.steps == 0


@pytest.mark.parametrize(
    ("kernel", "C"), [("linear", 1e-5), ("linear", 0.1), ("rbf", 1e-5), ("rbf", 1.0), ("rbf", 1e2)]
)
@pytest.mark.parametrize("intercept", INTERCEPTS)
def test_probabilities_are_close_to_those_of_exact_paths(kernel, intercept, C):
    found = shares(kernel, C, INTERCEPTS[intercept], violation=min(0.01, C))
    assert np.abs(found - exact(kernel, C, intercept)).mean() < 0.01


def test_weights_are_numbers_of_copies():
    weight = RNG.integers(0, 3, size=100).astype(float)
    copies = np.repeat(TRAIN, weight.astype(int))
    found, other = shares("rbf", 1.0, weight=weight), shares("rbf", 1.0, train=copies)
    assert_allclose(found, other, atol=0.02)
    assert np.abs(found - exact("rbf", 1.0, weight=weight)).mean() < 0.01


def test_folds_may_leave_samples_out_and_hold_some_out_twice():
    train, test = TRAIN[:80], np.array([149, 120, 120])
    found = shares("rbf", 1.0, train=train, test=test)
    assert found[1] == found[2]
    assert_allclose(found, exact("rbf", 1.0, train=train, test=test), atol=0.02)
    shuffled = RNG.permutation(150)
    found = shares("rbf", 1.0, train=shuffled[:100], test=shuffled[100:])
    assert_allclose(found, exact("rbf", 1.0, train=shuffled[:100], test=shuffled[100:]), atol=0.05)


def test_lengths_are_those_of_linear_pieces():
    taus = np.array([0.0, 0.2, 1.0])
    values = np.array([[1.0, -1.0, 0.0, 2.0], [1.0, -1.0, -1.0, -2.0], [-3.0, -2.0, 1.0, 2.0]])
    assert_allclose(lengths(taus, values), [0.4, 0.0, 0.4, 0.1 + 0.4])
    assert TAUS[0] == 0.0
    assert TAUS[-1] == 1.0


def search(y=Y, X=X, **how):
    how = {"cv": 3, "combine": "best"} | how
    weight = how.pop("sample_weight", None)
    return tp.QuantileSVCCV(**how).fit(X, y, weight)


IRIS = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"intercept": "free"},
        {"intercept": "none"},
        {"class_weight": "balanced"},
        {"sample_weight": np.linspace(0.0, 2.0, 150)},
        {"X": sp.csr_array(X)},
        {"Cs": [1e-6, 1e3]},
        {"y": IRIS[1], "X": IRIS[0]},
        {"y": IRIS[1], "X": IRIS[0], "multi_class": "ovr"},
    ],
)
def test_a_search_judges_about_as_by_exact_paths(how):
    quick, slow = search(**how), search(**how, method="exact")
    assert quick.path_.method == "exact" if len(quick.classes_) == 2 else True
    assert_allclose(quick.brier_, slow.brier_, atol=0.02)
    assert np.abs(quick.brier_ - slow.brier_).mean() < 0.004


def test_results_do_not_depend_on_the_number_of_jobs():
    one, two = search(combine="stack"), search(combine="stack", n_jobs=2)
    assert_array_equal(one.brier_, two.brier_)
    assert_allclose(one.predict_proba(X), two.predict_proba(X), rtol=1e-12)


def test_where_a_matrix_takes_too_many_steps_paths_are_walked(monkeypatch):
    monkeypatch.setattr("taupath.approximate.held_out_rows.STEPS_PER_SAMPLE", 0)
    assert shares("rbf", 1.0) is None
    kept = {"kernel": "rbf", "Cs": [1.0], "gamma": 0.3}
    walked = search(**kept)
    assert_allclose(walked.brier_, search(**kept, method="exact").brier_, rtol=0, atol=0.01)
    linear = search(kernel="linear", Cs=[1.0])
    assert np.isfinite(linear.brier_).all()


def test_matrices_that_do_not_fit_are_not_made():
    many = np.concatenate((X, X + 0.1 * RNG.normal(size=X.shape)))
    kept = {"X": many, "y": np.tile(Y, 2), "kernel": "rbf", "Cs": [1.0], "gamma": 0.3}
    kept["cache_size"] = 0.3  # 0.36 are needed
    assert_array_equal(search(**kept).brier_, search(**kept, method="exact").brier_)


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"intercept": "no"}, "intercept must be one of"),
        ({"tol": -1.0}, "tol must be finite and above 0"),
        ({"cache_size": 0.0}, "cache_size must be finite and above 0"),
        ({"multi_class": "pairs"}, "multi_class must be one of"),
    ],
)
def test_what_no_path_could_take_is_refused_as_paths_do(wrong, error):
    with pytest.raises(ValueError, match=error):
        search(**wrong)


def test_scorers_get_models_with_exact_paths():
    kept = {"scoring": "accuracy", "kernel": "linear"}
    assert_array_equal(search(**kept).brier_, search(**kept, method="exact").brier_)
