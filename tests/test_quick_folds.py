"""Candidates of a search judged by a few solutions for a kernel matrix that all folds share."""

import weakref
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold
from taupath._core._pair_descent import PairDescent

import taupath as tp
from taupath.approximate.held_out_rows import TAUS, lengths, positive_shares
from taupath.estimators import quick_folds, selection

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
    assert np.abs(found - other).mean() < 0.01
    assert np.abs(found - exact("rbf", 1.0, weight=weight)).mean() < 0.01


def test_weights_and_copies_judge_candidates_alike():
    weight = RNG.integers(1, 4, size=150)
    folds = list(StratifiedKFold(3).split(X, Y))
    copies = np.repeat(np.arange(150), weight)
    of_copies = [[np.flatnonzero(np.isin(copies, part)) for part in fold] for fold in folds]
    how = {"gamma": [0.25, 1.0], "standardize": False}
    weighted = search(cv=folds, sample_weight=weight, **how)
    copied = search(X=X[copies], y=Y[copies], cv=of_copies, **how)
    assert_allclose(weighted.brier_, copied.brier_, rtol=0, atol=0.01)
    assert (weighted.brier_ != copied.brier_).any()  # or solutions no longer depend on the order


def test_folds_may_leave_samples_out_and_hold_some_out_twice():
    train, test = TRAIN[:80], np.array([149, 120, 120])
    found = shares("rbf", 1.0, train=train, test=test)
    assert found[1] == found[2]
    assert np.abs(found - exact("rbf", 1.0, train=train, test=test)).mean() < 0.01
    shuffled = RNG.permutation(150)
    found = shares("rbf", 1.0, train=shuffled[:100], test=shuffled[100:])
    apart = found - exact("rbf", 1.0, train=shuffled[:100], test=shuffled[100:])
    assert np.abs(apart).mean() < 0.01


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
    assert_array_equal(walked.brier_, search(**kept, method="exact").brier_)
    linear = search(kernel="linear", Cs=[1.0])
    assert np.isfinite(linear.brier_).all()


def test_matrices_that_do_not_fit_are_not_made():
    many = np.concatenate((X, X + 0.1 * RNG.normal(size=X.shape)))
    kept = {"X": many, "y": np.tile(Y, 2), "kernel": "rbf", "Cs": [1.0], "gamma": 0.3}
    kept["cache_size"] = 0.3  # 0.36 are needed
    assert_array_equal(search(**kept).brier_, search(**kept, method="exact").brier_)


def test_what_no_path_could_take_is_refused_as_paths_do():
    with pytest.raises(ValueError, match="multi_class must be one of"):
        search(multi_class="pairs")


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"device": "gpu"}, "device must be one of"),
        ({"intercept": "no"}, "intercept must be one of"),
        ({"tol": -1.0}, "tol must be finite and above 0"),
        ({"cache_size": 0.0}, "cache_size must be finite and above 0"),
        ({"n_jobs": 0}, "n_jobs must be"),
        ({"pos_label": "yes"}, "pos_label='yes' is not a label of y"),
    ],
)
def test_what_the_final_paths_would_refuse_is_refused_before_the_folds(wrong, error, monkeypatch):
    monkeypatch.setattr(selection, "held_out", None)
    with pytest.raises(ValueError, match=error):
        search(**wrong)


def test_matrices_of_folds_are_gone_when_final_paths_are_walked(monkeypatch):
    made, original, fit_all = [], quick_folds._matrix, tp.QuantileSVCCV._fit_all

    def matrix(*given):
        found = original(*given)
        made.append(weakref.ref(found))
        return found

    def final(*given):
        assert made
        assert not any(each() is not None for each in made)
        return fit_all(*given)

    monkeypatch.setattr(quick_folds, "_matrix", matrix)
    monkeypatch.setattr(tp.QuantileSVCCV, "_fit_all", final)
    search()


@dataclass
class Polynomial:
    """A kernel without a hash, since it can be compared."""

    degree: int

    def __call__(self, A, B):
        return (1.0 + A @ B.T) ** self.degree


def test_a_kernel_without_a_hash_is_judged_by_exact_paths():
    how = {"kernel": [Polynomial(2), "rbf"], "Cs": [0.1], "gamma": 0.3}
    quick, slow = search(**how), search(**how, method="exact")
    assert_array_equal(quick.brier_[0], slow.brier_[0])
    assert (quick.brier_[1] != slow.brier_[1]).any()
    assert search(kernel=Polynomial(2), Cs=[1.0], combine="stack", method="approximate")


def test_what_is_positive_does_not_change_how_candidates_are_judged():
    labels = np.where(Y, "yes", "no")
    yes, no = search(y=labels, pos_label="yes"), search(y=labels, pos_label="no")
    assert_array_equal(yes.brier_, no.brier_)
    assert_allclose(np.add(yes.probabilities_, no.probabilities_), 1.0, rtol=0, atol=1e-15)


def test_costs_weigh_the_training_of_folds():
    cost_fp, cost_fn = RNG.uniform(0.1, 3.0, size=(2, 150))
    given = {"Cs": [1.0], "cv": 3, "combine": "best"}
    quick, slow = tp.QuantileSVCCV(**given), tp.QuantileSVCCV(**given, method="exact")
    slow.fit(X, Y, cost_fp=cost_fp, cost_fn=cost_fn)

    def apart(model):
        differences = np.subtract(model.probabilities_, slow.probabilities_)
        return np.abs(differences).mean(axis=1)

    assert (apart(quick.fit(X, Y, cost_fp=cost_fp, cost_fn=cost_fn)) < 0.01).all()
    assert (apart(quick.fit(X, Y)) > 0.03).all()  # of samples that count alike


def test_scorers_get_models_with_exact_paths():
    kept = {"scoring": "accuracy", "kernel": "linear"}
    assert_array_equal(search(**kept).brier_, search(**kept, method="exact").brier_)
