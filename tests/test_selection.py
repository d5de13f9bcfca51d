"""QuantileSVCCV: C chosen for every τ at once."""

from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold

from taupath import QuantileSVC, QuantileSVCCV


def data(n=120):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, np.where(X[:, 0] - X[:, 1] + rng.normal(size=n) > 0.0, "b", "a")


X, Y = data()
CS = [0.001, 0.1, 10.0]
# One linear model, features not standardised, judged by exact paths.
ONE = {"kernel": "linear", "combine": "best", "standardize": False, "method": "exact"}
FOLDS = list(StratifiedKFold(4).split(X, Y))


@cache
def fitted():
    return QuantileSVCCV(CS, cv=4, **ONE).fit(X, Y)


def held_out(C):
    """Return truth and probability of every sample, by a model without its fold."""
    proba = np.empty(len(Y))
    for train, test in FOLDS:
        model = QuantileSVC(C, clip=0).fit(X[train], Y[train])
        proba[test] = model.predict_proba(X[test])[:, 1]
    return Y == "b", proba


def test_the_loss_is_that_of_held_out_samples_at_every_tau():
    taus = np.linspace(0.0, 1.0, 31)
    losses = fitted().loss(taus)
    assert losses.shape == (3, 31)
    for row, C in zip(losses, CS, strict=True):
        truth, proba = held_out(C)
        for loss, tau in zip(row, taus, strict=True):
            predicted = proba >= tau
            missed, alarms = np.mean(truth & ~predicted), np.mean(~truth & predicted)
            assert loss == pytest.approx(2 * (1 - tau) * missed + 2 * tau * alarms, abs=1e-12)
    assert_array_equal(fitted().loss(taus[7]), losses[:, 7])
    best = [fitted().best_candidate(tau)["C"] for tau in taus]
    assert_array_equal(best, np.array(CS)[losses.argmin(axis=0)])


def test_over_all_tau_it_is_the_brier_score():
    taus = (np.arange(20_000) + 0.5) / 20_000
    for row, C, briers in zip(fitted().loss(taus), CS, fitted().brier_, strict=True):
        truth, proba = held_out(C)
        brier = np.mean((truth - proba) ** 2)
        assert row.mean() == pytest.approx(brier, abs=5e-5)
        assert np.average(briers, weights=[len(t) for _, t in FOLDS]) == pytest.approx(brier)
    assert pytest.approx(CS[fitted().brier_.mean(axis=1).argmin()]) == fitted().C_


def test_every_held_out_sample_counts_alike_whatever_the_size_of_its_fold():
    order = np.random.default_rng(2).permutation(len(Y))
    small, large = order[:8], order[8:70]
    folds = [(np.setdiff1d(order, test), test) for test in (small, large)]
    model = QuantileSVCCV(CS, cv=folds, **ONE).fit(X, Y)
    by_samples = model.brier_ @ [len(small), len(large)]
    assert CS[by_samples.argmin()] != CS[model.brier_.mean(axis=1).argmin()]  # or this says nothing
    assert CS[by_samples.argmin()] == model.C_


def test_what_is_left_is_the_model_of_all_samples():
    same = QuantileSVC(fitted().C_).fit(X, Y)
    assert_array_equal(fitted().predict_proba(X), same.predict_proba(X))
    assert_array_equal(fitted().predict(X, cost_fp=3, cost_fn=1), same.predict(X, tau=0.75))
    assert_array_equal(fitted().at(0.3).coef_, same.at(0.3).coef_)
    assert clone(fitted()).get_params() == fitted().get_params()
    assert "C" not in fitted().get_params()


def test_jobs_and_a_number_of_Cs():
    model = QuantileSVCCV(3, cv=3, n_jobs=2, **ONE).fit(X, Y)
    assert_allclose(model.Cs_, [1e-4, 1.0, 1e4])
    alone = QuantileSVCCV(3, cv=3, **ONE).fit(X, Y)
    assert_array_equal(model.brier_, alone.brier_)


def test_a_kernel_matrix_is_cut_by_folds():
    K = X @ X.T
    model = QuantileSVCCV(CS, cv=4, kernel="precomputed", combine="best").fit(K, Y)
    assert_allclose(model.brier_, fitted().brier_, rtol=0, atol=1e-6)


def test_weights_count_in_training_and_in_the_loss():
    weight = np.random.default_rng(1).integers(1, 4, size=len(Y))
    model = QuantileSVCCV([0.1], cv=4, **ONE).fit(X, Y, sample_weight=weight)
    expected = []
    for train, test in FOLDS:
        one = QuantileSVC(0.1).fit(X[train], Y[train], weight[train])
        squares = ((Y[test] == "b") - one.predict_proba(X[test])[:, 1]) ** 2
        expected.append(np.average(squares, weights=weight[test]))
    assert_allclose(model.brier_[0], expected)


def test_several_classes_have_a_brier_score_and_no_tau():
    X, y = load_iris(return_X_y=True)
    model = QuantileSVCCV([0.01, 1.0], cv=3, **ONE).fit(X, y)
    assert model.C_ == 1.0
    assert model.score(X, y) > 0.9
    with pytest.raises(ValueError, match="two classes"):
        model.loss(0.5)


def test_bad_input_is_refused():
    for Cs, message in [([], "Cs is empty"), (0, "at least 1"), ([1.0, -1.0], "Cs must be")]:
        with pytest.raises(ValueError, match=message):
            QuantileSVCCV(Cs, **ONE).fit(X, Y)
    with pytest.raises(ValueError, match="cv must be an integer of at least 2, got 1"):
        QuantileSVCCV([1.0], cv=1, **ONE).fit(X, Y)
    with pytest.raises(ValueError, match="n_jobs must be None, -1 or a number of jobs, got 0"):
        QuantileSVCCV([1.0], n_jobs=0, **ONE).fit(X, Y)
    y = np.where(np.arange(len(Y)) < 2, "rare", Y)
    by_hand = [(np.arange(2, len(Y)), np.arange(2))]
    with pytest.raises(ValueError, match=r"cv leaves .* no samples of class 'rare'"):
        QuantileSVCCV([1.0], cv=by_hand, **ONE).fit(X, y)
    # the same of two classes, of which one would be left
    of_one = [(np.flatnonzero(Y == "a"), np.flatnonzero(Y == "b"))]
    with pytest.raises(ValueError, match=r"cv leaves .* no samples of class 'b'"):
        QuantileSVCCV([1.0], cv=of_one, **ONE).fit(X, Y)
    for tau, message in [(1.5, r"tau must lie in \[0, 1\], got 1.5"), ([[0.1]], "tau must be")]:
        with pytest.raises(ValueError, match=message):
            fitted().loss(tau)
    with pytest.raises(ValueError, match=r"tau must lie in \[0, 1\], got 1.5"):
        fitted().best_candidate(1.5)
    with pytest.raises(NotFittedError):
        QuantileSVCCV().loss(0.5)


def test_the_best_candidate_of_a_tau_can_be_another_than_that_of_all():
    taus = np.linspace(0.01, 0.99, 99)
    best = [fitted().best_candidate(tau)["C"] for tau in taus]
    assert fitted().C_ in best
    assert len(np.unique(best)) > 1
    for tau, C in zip(taus[::7], best[::7], strict=True):
        losses = []
        for each in CS:
            truth, proba = held_out(each)
            predicted = proba >= tau
            cost = np.where(truth, (1.0 - tau) * ~predicted, tau * predicted)
            losses.append(cost.mean())
        assert losses[CS.index(C)] == pytest.approx(min(losses), abs=1e-12)


def test_the_best_candidate_has_its_kernel_and_gamma():
    model = QuantileSVCCV([0.1, 1.0], kernel=["linear", "rbf"], gamma=[0.01, 2.0], cv=3).fit(X, Y)
    for tau in (0.1, 0.5, 0.8):
        best = model.best_candidate(tau)
        assert best is model.candidates_[int(model.loss(tau).argmin())]
        assert best.keys() >= {"kernel", "gamma", "C", "brier", "used"}


def test_a_second_fit_forgets_the_first():
    model = QuantileSVCCV([0.1], cv=3, **ONE).fit(X, Y)
    model.fit(*load_iris(return_X_y=True))
    assert not hasattr(model, "probabilities_")


# -- folds that cannot be used ---------------------------------------------------------------------

GROUPS = np.arange(len(Y)) % 6
ALL = np.arange(len(Y))
ONE_CLASS = [
    (np.setdiff1d(ALL, np.flatnonzero(Y == "b")[k::3]), np.flatnonzero(Y == "b")[k::3])
    for k in range(2)
]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (GroupKFold(3), r"GroupKFold needs groups.*cv=list\(splitter.split\(X, y, groups\)\)"),
        ([(ALL, ALL)], "cv trains on samples that the same fold holds out, such as sample 0"),
        ([(ALL[:90], ALL[80:])], "such as sample 80"),
        ([(ALL, ALL[:0])], "cv has a fold that holds out no samples of a weight above 0"),
        (ONE_CLASS, "cv holds out no samples of class 'a': candidates are judged by all classes"),
    ],
)
@pytest.mark.parametrize("combine", ["stack", "best", "per_tau"])
def test_folds_that_cannot_be_used_are_refused_with_advice(cv, message, combine):
    with pytest.raises(ValueError, match=message):
        QuantileSVCCV([0.1], kernel="linear", combine=combine, cv=cv).fit(X, Y)


def test_folds_of_groups_are_given_as_a_list_and_must_not_split_a_class():
    folds = list(GroupKFold(3).split(X, Y, GROUPS))
    model = QuantileSVCCV([0.1], kernel="linear", cv=folds).fit(X, Y)
    assert model.brier_.shape == (1, 3)
    order = np.argsort(Y, kind="stable")  # each class is a group of its own
    with pytest.raises(ValueError, match="cv leaves a training fold no samples of class 'a'"):
        half = KFold(2).split(X)
        QuantileSVCCV([0.1], kernel="linear", cv=half).fit(X[order], np.repeat(["a", "b"], 60))


def test_a_class_with_one_sample_needs_more_of_them_not_fewer_folds():
    rare = np.where(np.arange(len(Y)) == 7, "b", "a")
    with pytest.raises(ValueError, match="than cv has folds, 2: use more samples of this class"):
        QuantileSVCCV(cv=2).fit(X, rare)
