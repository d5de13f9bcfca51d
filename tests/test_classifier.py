"""QuantileSVC: costs at predict time, probabilities, several classes."""

import pickle
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC, LinearSVC

import taupath
from taupath import QuantileSVC, QuantileSVCCV
from taupath.estimators.costs import costs_to_tau, least_cost_class
from taupath.estimators.multiclass import couple_pairs, normalize_rest

TAUS = [0.0, 0.1, 0.35, 0.5, 0.8, 1.0]


def two_classes(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    y = np.where(X @ [1.0, -1.0, 0.3] + 0.8 * rng.normal(size=n) > 0.0, "yes", "no")
    return X, y


X, Y = two_classes()
NEW = np.random.default_rng(1).normal(size=(60, 3))


@cache
def fitted(**given):
    return QuantileSVC(C=0.7, **given).fit(X, Y)


# --- decisions -----------------------------------------------------------------------------------


def test_it_is_the_path_of_its_labels():
    path = taupath.quantile_path(X, Y, C=0.7)
    assert_array_equal(fitted().classes_, ["no", "yes"])
    assert fitted().n_iter_ == [path.n_kinks]
    assert fitted().paths_ == [fitted().path_]
    for tau in TAUS:
        decisions = path.decision_function(NEW, tau)
        assert_allclose(fitted().decision_function(NEW, tau=tau), decisions, rtol=0, atol=1e-12)
        assert_array_equal(fitted().predict(NEW, tau=tau) == "yes", decisions >= 0.0)


def test_without_costs_it_predicts_at_its_own_tau():
    for tau in TAUS:
        model = clone(fitted()).set_params(tau=tau).fit(X, Y)
        assert_array_equal(model.predict(NEW), fitted().predict(NEW, tau=tau))
        assert_array_equal(model.decision_function(NEW), fitted().decision_function(NEW, tau))


def test_costs_are_a_tau():
    assert_array_equal(fitted().predict(NEW, cost_fp=3, cost_fn=1), fitted().predict(NEW, tau=0.75))
    assert_array_equal(
        fitted().predict(NEW, cost_fp=0.0, cost_fn=2.5), fitted().predict(NEW, tau=0.0)
    )
    matrix = [[0.0, 3.0], [1.0, 0.0]]
    assert_array_equal(fitted().predict(NEW, cost_matrix=matrix), fitted().predict(NEW, tau=0.75))
    # right decisions may cost, too: what counts is the difference
    dear = [[2.0, 5.0], [0.5, -0.5]]
    assert_array_equal(fitted().predict(NEW, cost_matrix=dear), fitted().predict(NEW, tau=0.75))


@pytest.mark.parametrize("size", [1e308, 5e-324])
def test_costs_of_any_size_are_a_tau(size):
    assert_array_equal(fitted().predict(NEW, cost_fp=size, cost_fn=size), fitted().predict(NEW))
    each = np.full(len(NEW), size)
    assert_array_equal(fitted().predict(NEW, cost_fp=each, cost_fn=size), fitted().predict(NEW))


def test_what_lies_on_the_boundary_is_positive():
    model = QuantileSVC(intercept="none").fit(X, Y)
    nothing = np.zeros((1, X.shape[1]))
    assert model.decision_function(nothing) == 0.0
    for classifier in (model, model.at(0.5)):
        assert classifier.predict(nothing) == ["yes"]


def test_probabilities_of_a_part_of_the_path_are_as_far_as_it_goes():
    begin, end = 0.2, 0.7
    model = QuantileSVC(C=0.7, tau_range=(begin, end)).fit(X, Y)
    first, last = fitted().crossing_interval(NEW).T
    assert_array_equal(fitted().crossing_interval(NEW), np.column_stack((first, last)))
    once = first == last  # where boundaries do not cross
    whole, part = (each.predict_proba(NEW)[once, 1] for each in (fitted(), model))
    assert (part == begin).any() and (part == end).any()
    assert_allclose(part, np.clip(whole, begin, end), rtol=0, atol=1e-9)
    assert ((part > begin) & (part < end)).any()


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_costs_of_each_sample_are_its_own(kernel, few):
    model = fitted(kernel=kernel)
    rng = np.random.default_rng(2)
    cost_fp = rng.integers(1, 4, size=60) if few else rng.uniform(size=60)
    cost_fn = rng.integers(1, 3, size=60) if few else rng.uniform(size=60)
    expected = [
        model.predict(NEW[i : i + 1], cost_fp=cost_fp[i], cost_fn=cost_fn[i])[0] for i in range(60)
    ]
    assert_array_equal(model.predict(NEW, cost_fp=cost_fp, cost_fn=cost_fn), expected)
    taus = cost_fp / (cost_fp + cost_fn)
    assert_array_equal(model.predict(NEW, tau=taus), expected)
    each = [model.decision_function(NEW[i : i + 1], tau=taus[i])[0] for i in range(60)]
    assert_allclose(model.decision_function(NEW, tau=taus), each, rtol=0, atol=1e-9)
    matrices = np.zeros((60, 2, 2))
    matrices[:, 0, 1], matrices[:, 1, 0] = cost_fp, cost_fn
    assert_array_equal(model.predict(NEW, cost_matrix=matrices), expected)


def test_a_mistake_that_pays_is_made():
    always = [[1.0, 0.0], [1.0, 0.0]]
    never = [[0.0, 1.0], [0.0, 1.0]]
    assert np.all(fitted().predict(NEW, cost_matrix=always) == "yes")
    assert np.all(fitted().predict(NEW, cost_matrix=never) == "no")
    upside_down = [[1.0, 0.0], [0.0, 1.0]]
    proba = fitted().predict_proba(NEW)[:, 1]
    assert_array_equal(fitted().predict(NEW, cost_matrix=upside_down) == "yes", proba < 0.5)


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
def test_at_one_half_it_is_the_ordinary_svm(C):
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)
    linear = LinearSVC(C=C, loss="hinge", tol=1e-8, max_iter=10**7, intercept_scaling=1.0)
    decisions = QuantileSVC(C=C).fit(X, y).decision_function(X)
    expected = linear.fit(X, y).decision_function(X)
    untied = np.abs(expected) > 1e-3
    assert_array_equal(decisions[untied] > 0.0, expected[untied] > 0.0)
    free = QuantileSVC(C=C, kernel="rbf", intercept="free").fit(X, y).decision_function(X)
    assert_allclose(free, SVC(C=C, tol=1e-9).fit(X, y).decision_function(X), rtol=0, atol=1e-5)


# --- probabilities -------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_probabilities_are_lengths(kernel):
    model = QuantileSVC(kernel=kernel).fit(X[:70], Y[:70])
    proba = model.predict_proba(NEW)
    taus = (np.arange(4000) + 0.5) / 4000
    share = (model.path_.decision_function(NEW, taus) >= 0.0).mean(axis=1)
    assert_allclose(proba[:, 1], share, rtol=0, atol=1e-3)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-15)
    interval = model.crossing_interval(NEW)
    assert interval.shape == (60, 2)
    assert np.all(interval[:, 0] <= proba[:, 1] + 1e-12)
    assert np.all(proba[:, 1] <= interval[:, 1] + 1e-12)
    with np.errstate(divide="ignore"):  # log 0
        assert_array_equal(model.predict_log_proba(NEW), np.log(proba))


def test_monotone_predictions_are_those_of_the_probabilities():
    model = QuantileSVC(C=50.0, kernel="rbf", gamma=2.0, monotone=True).fit(X, Y)
    proba = model.predict_proba(NEW)[:, 1]
    for tau in TAUS:
        assert_array_equal(model.predict(NEW, tau=tau) == "yes", proba >= tau)
    assert_array_equal(model.predict(NEW, tau=proba), np.full(60, "yes"))
    plain = clone(model).set_params(monotone=False).fit(X, Y)
    interval = plain.crossing_interval(NEW)
    apart = interval[:, 1] - interval[:, 0] > 1e-9
    assert apart.any()  # boundaries do cross here
    for tau in (0.2, 0.5, 0.8):
        differ = plain.predict(NEW, tau=tau) != model.predict(NEW, tau=tau)
        assert not np.any(differ & ~apart)


def test_exchanged_labels_exchange_probabilities():
    other = QuantileSVC(C=0.7).fit(X, np.where(Y == "yes", 0, 1))
    assert_allclose(
        other.predict_proba(NEW), fitted().predict_proba(NEW)[:, ::-1], rtol=0, atol=1e-7
    )


# --- several classes -----------------------------------------------------------------------------


def test_coupled_pairs_are_probabilities_and_give_back_consistent_ones():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(4), size=50)
    consistent = p[:, :, None] / (p[:, :, None] + p[:, None, :])
    assert_allclose(couple_pairs(consistent), p, rtol=0, atol=1e-6)
    r = rng.uniform(size=(50, 4, 4))
    r = np.triu(r, 1) + np.tril(1.0 - r.transpose(0, 2, 1), -1)
    found = couple_pairs(r)
    assert np.all(found >= 0.0)
    assert_allclose(found.sum(axis=1), 1.0, rtol=0, atol=1e-14)
    # what is sure stays sure, even where all pairs are
    sure = np.array([[[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]])
    assert_allclose(couple_pairs(sure), [[1.0, 0.0, 0.0]], rtol=0, atol=1e-5)


def test_probabilities_against_the_rest_are_normalized():
    found = normalize_rest(np.array([[0.2, 0.6, 0.0], [0.0, 0.0, 0.0]]))
    assert_allclose(found, [[0.25, 0.75, 0.0], [1 / 3, 1 / 3, 1 / 3]], rtol=0, atol=1e-15)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("kernel", ["linear", "rbf", "precomputed"])
def test_several_classes(kernel, multi_class):
    X, y = load_iris(return_X_y=True)
    X, names = scale(X), np.array(["c", "a", "b"])[y]
    train, test = np.arange(0, 150, 2), np.arange(1, 150, 2)
    if kernel == "precomputed":
        K = rbf_kernel(X)
        X_train, X_test = K[np.ix_(train, train)], K[np.ix_(test, train)]
    else:
        X_train, X_test = X[train], X[test]
    model = QuantileSVC(kernel=kernel, multi_class=multi_class).fit(X_train, names[train])
    assert_array_equal(model.classes_, ["a", "b", "c"])
    assert len(model.paths_) == len(model.n_iter_) == 3
    assert not hasattr(model, "path_")
    proba = model.predict_proba(X_test)
    assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-12)
    assert np.all(proba >= 0.0)
    assert_array_equal(model.predict(X_test), model.classes_[proba.argmax(axis=1)])
    assert_array_equal(model.decision_function(X_test), proba)
    assert model.score(X_test, names[test]) > 0.9
    # a cost matrix is met by least expected cost
    costs = np.array([[0.0, 1.0, 9.0], [2.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert_array_equal(
        model.predict(X_test, cost_matrix=costs), model.classes_[(proba @ costs).argmin(axis=1)]
    )
    each = np.broadcast_to(costs, (75, 3, 3)).copy()
    each[:10] = 1.0 - np.eye(3)
    mixed = model.predict(X_test, cost_matrix=each)
    assert_array_equal(mixed[:10], model.predict(X_test[:10]))
    assert_array_equal(mixed[10:], model.predict(X_test[10:], cost_matrix=costs))
    if kernel == "precomputed":
        same = QuantileSVC(kernel="rbf", gamma=0.25, multi_class=multi_class)
        same.fit(X[train], names[train])
        assert_allclose(proba, same.predict_proba(X[test]), rtol=0, atol=1e-6)
    if multi_class == "ovr":
        interval = model.crossing_interval(X_test)
        assert interval.shape == (75, 3, 2)
        assert np.all(interval[..., 0] <= interval[..., 1])
    else:
        with pytest.raises(ValueError, match="ovr"):
            model.crossing_interval(X_test)
    for call in (
        lambda: model.predict(X_test, tau=0.3),
        lambda: model.predict(X_test, cost_fp=1, cost_fn=2),
        lambda: model.decision_function(X_test, tau=0.3),
        lambda: model.at(0.3),
    ):
        with pytest.raises(ValueError, match="two classes"):
            call()


def test_jobs_share_the_paths_of_several_classes():
    X, y = load_iris(return_X_y=True)
    one = QuantileSVC().fit(X, y).predict_proba(X)
    assert_array_equal(QuantileSVC(n_jobs=2).fit(X, y).predict_proba(X), one)


# --- weights -------------------------------------------------------------------------------------


def test_weights_are_copies():
    weight = np.random.default_rng(3).integers(0, 3, size=150)
    weighted = QuantileSVC().fit(X, Y, sample_weight=weight)
    copied = QuantileSVC().fit(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    assert_allclose(weighted.predict_proba(NEW), copied.predict_proba(NEW), rtol=0, atol=1e-8)


def test_class_weights_are_sample_weights():
    by_class = QuantileSVC(class_weight={"yes": 3.0}).fit(X, Y)
    by_sample = QuantileSVC().fit(X, Y, sample_weight=np.where(Y == "yes", 3.0, 1.0))
    assert_array_equal(by_class.predict_proba(NEW), by_sample.predict_proba(NEW))
    uneven = np.flatnonzero((Y == "no") | (np.arange(150) % 3 == 0))
    balanced = QuantileSVC(class_weight="balanced").fit(X[uneven], Y[uneven])
    share = np.mean(Y[uneven] == "yes")
    weight = np.where(Y[uneven] == "yes", 0.5 / share, 0.5 / (1.0 - share))
    same = QuantileSVC().fit(X[uneven], Y[uneven], sample_weight=weight)
    assert_array_equal(balanced.predict_proba(NEW), same.predict_proba(NEW))


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_a_class_weight_of_zero_is_refused_and_the_class_is_named(multi_class):
    message = "class_weight is 0 for class 'no', which leaves nothing of it"
    rng = np.random.default_rng(0)
    three = rng.permutation(np.repeat(["maybe", "no", "yes"], 50))
    for labels in (Y, three):
        for model in (QuantileSVC(C=0.1), QuantileSVCCV(kernel="linear", Cs=[1.0], cv=2)):
            model.set_params(class_weight={"no": 0.0, "yes": 1.0}, multi_class=multi_class)
            with pytest.raises(ValueError, match=message):
                model.fit(X, labels)
    there = three != "no"  # nothing is refused where the class is absent in any case
    model = QuantileSVC(C=0.1, class_weight={"no": 0.0}, multi_class=multi_class)
    assert list(model.fit(X, three, sample_weight=there).classes_) == ["maybe", "yes"]


def test_class_weights_are_factors_of_sample_weights():
    weight = 1.0 + np.arange(len(Y)) % 4
    both = QuantileSVC(class_weight={"yes": 3.0}).fit(X, Y, sample_weight=weight)
    product = QuantileSVC().fit(X, Y, sample_weight=weight * np.where(Y == "yes", 3.0, 1.0))
    assert_array_equal(both.predict_proba(NEW), product.predict_proba(NEW))


def test_a_class_without_weight_is_absent():
    y = np.where(np.arange(150) % 5 == 0, "maybe", Y)
    weight = np.where(y == "maybe", 0.0, 1.0)
    without = y != "maybe"
    for kernel in ("linear", "precomputed"):
        Z, W = (X, NEW) if kernel == "linear" else (X @ X.T, NEW @ X.T)
        model = QuantileSVC(kernel=kernel).fit(Z, y, sample_weight=weight)
        assert_array_equal(model.classes_, ["no", "yes"])
        same = QuantileSVC().fit(X[without], y[without])
        assert_allclose(model.predict_proba(W), same.predict_proba(NEW), rtol=0, atol=1e-7)
        assert_array_equal(model.at(0.3).predict(W), same.predict(NEW, tau=0.3))


# --- one classifier of all -----------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("given", [{}, {"intercept": "free"}, {"kernel": "rbf"}, {"kernel": "pre"}])
def test_the_frozen_classifier_predicts_the_same(given):
    many, labels = two_classes(600)
    Z, W = many, NEW
    if given.get("kernel") == "pre":
        given, Z, W = {"kernel": "precomputed"}, many @ many.T, NEW @ many.T
    model = QuantileSVC(C=0.1, **given).fit(Z, labels)
    for tau in (0.0, 0.3, 0.9, 1.0):
        frozen = model.at(tau)
        assert frozen.tau == tau
        assert_allclose(
            frozen.decision_function(W), model.decision_function(W, tau), rtol=0, atol=1e-12
        )
        assert_array_equal(frozen.predict(W), model.predict(W, tau=tau))
        again = pickle.loads(pickle.dumps(frozen))
        assert_array_equal(again.predict(W), frozen.predict(W))
        assert repr(frozen) == f"FrozenClassifier(tau={tau:g})"
    if not given:
        assert len(pickle.dumps(model.at(0.3))) < 1000
        assert_array_equal(model.at(0.3).coef_, [model.path_.coef(0.3)])
    with pytest.raises(ValueError, match="features"):
        frozen.predict(W[:, :-1])


# --- the company it keeps ------------------------------------------------------------------------


def test_it_works_where_scikit_learn_expects_a_classifier():
    X, y = load_breast_cancer(return_X_y=True)
    pipe = make_pipeline(StandardScaler(), QuantileSVC(C=0.1))
    assert cross_val_score(pipe, X, y).mean() > 0.95
    search = GridSearchCV(pipe, {"quantilesvc__C": [0.01, 0.1]}, scoring="neg_brier_score", cv=3)
    assert search.fit(X, y).best_score_ > -0.04
    calibrated = CalibratedClassifierCV(QuantileSVC(C=0.1), cv=3).fit(scale(X), y)
    assert calibrated.score(scale(X), y) > 0.95
    fixed = FixedThresholdClassifier(QuantileSVC(C=0.1), threshold=0.9).fit(scale(X), y)
    assert fixed.predict(scale(X)).mean() < calibrated.predict(scale(X)).mean()


def test_it_survives_pickling():
    again = pickle.loads(pickle.dumps(fitted()))
    assert_array_equal(again.predict_proba(NEW), fitted().predict_proba(NEW))
    assert_array_equal(again.predict(NEW, tau=0.2), fitted().predict(NEW, tau=0.2))


def test_sparse_samples_are_welcome():
    Z = np.where(np.abs(X) < 0.5, 0.0, X)
    dense, thin = QuantileSVC().fit(Z, Y), QuantileSVC().fit(sparse.csr_matrix(Z), Y)
    W = sparse.csc_matrix(NEW)
    assert_allclose(thin.predict_proba(W), dense.predict_proba(NEW), rtol=0, atol=1e-9)
    taus = np.linspace(0.0, 1.0, 60)
    assert_allclose(
        thin.decision_function(W, taus), dense.decision_function(NEW, taus), rtol=0, atol=1e-8
    )


def test_lam_is_another_way_to_say_C():
    by_lam = QuantileSVC(lam=0.01).fit(X, Y)
    assert pytest.approx(1.0 / 1.5) == by_lam.path_.C
    with pytest.raises(ValueError, match="contradict"):
        QuantileSVC(C=3.0, lam=0.01).fit(X, Y)
    # the default stays the default in copies and in other processes
    for copied in (clone, lambda model: pickle.loads(pickle.dumps(model))):
        assert copied(QuantileSVC(lam=0.01)).fit(X, Y).path_.C == by_lam.path_.C
    iris, species = load_iris(return_X_y=True)
    several = QuantileSVC(lam=0.01, n_jobs=2).fit(iris, species)
    assert [path.lam for path in several.paths_] == pytest.approx([0.01] * 3)


# --- bad input -----------------------------------------------------------------------------------


BAD_COSTS = {
    "both zero": ({"cost_fp": 0, "cost_fn": 0.0}, "both 0"),
    "one of each zero": ({"cost_fp": np.zeros(60), "cost_fn": np.zeros(60)}, "both 0"),
    "zero for one": (
        {"cost_fp": 1.0 * (np.arange(60) != 7), "cost_fn": 2.0 * (np.arange(60) != 7)},
        r"both 0 \(first at \[7\]\): .* leave such samples out",
    ),
    "negative": ({"cost_fp": -1.0, "cost_fn": 2.0}, "cost_fp must not be negative, got -1.0"),
    "negative for one": ({"cost_fp": 1.0, "cost_fn": np.arange(-1.0, 59.0)}, "cost_fn .* -1.0"),
    "not a number": ({"cost_fp": np.nan, "cost_fn": 2.0}, "cost_fp must be finite"),
    "infinite": ({"cost_fp": 1.0, "cost_fn": np.inf}, "cost_fn must be finite"),
    "only one": ({"cost_fp": 1.0}, "cost_fn is missing"),
    "only the other": ({"cost_fn": 1.0}, "cost_fp is missing"),
    "too few": ({"cost_fp": [1.0, 2.0], "cost_fn": 1.0}, r"cost_fp .* \(60,\), got shape \(2,\)"),
    "with tau": ({"tau": 0.3, "cost_fp": 1.0, "cost_fn": 1.0}, "tau and cost_fp and cost_fn"),
    "with a matrix": ({"tau": 0.3, "cost_matrix": np.eye(2)}, "tau and cost_matrix"),
    "tau above one": ({"tau": 1.5}, r"tau must lie in \[0, 1\], got 1.5"),
    "tau below zero for one": ({"tau": np.linspace(-0.5, 1.0, 60)}, "tau .* got -0.5"),
    "taus too few": ({"tau": [0.1, 0.2]}, r"tau .* \(60,\), got shape \(2,\)"),
    "tau not a number": ({"tau": np.nan}, r"tau must lie in \[0, 1\], got nan"),
    "matrix of three": ({"cost_matrix": np.eye(3)}, r"cost_matrix .* \(2, 2\), .* got \(3, 3\)"),
    "matrix of nothing": ({"cost_matrix": 3.0}, r"cost_matrix must have shape \(2, 2\)"),
}


@pytest.mark.parametrize("name", BAD_COSTS)
def test_costs_that_make_no_sense_are_refused(name):
    given, message = BAD_COSTS[name]
    with pytest.raises(ValueError, match=message):
        fitted().predict(NEW, **given)


def test_costs_that_are_no_numbers_are_refused():
    with pytest.raises(TypeError, match="cost_fp must be a number"):
        fitted().predict(NEW, cost_fp="five", cost_fn=1)
    with pytest.raises(TypeError, match="tau must be a number"):
        fitted().predict(NEW, tau="half")


def test_bad_parameters_are_refused_by_name():
    for given, message in [
        ({"tau": -1.0}, "tau must lie in"),
        ({"multi_class": "all"}, "multi_class must be one of"),
        ({"C": 0.0}, "C must be finite and above 0"),
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"intercept": "yes"}, "intercept must be one of"),
    ]:
        with pytest.raises(ValueError, match=message):
            QuantileSVC(**given).fit(X, Y)
    with pytest.raises(ValueError, match="one class only: 'no'"):
        QuantileSVC().fit(X, np.full(150, "no"))
    blobs, y = make_blobs(30, centers=3, random_state=0)
    with pytest.raises(ValueError, match=r"tau=0.2 is for two classes, y has 3"):
        QuantileSVC(tau=0.2).fit(blobs, y)


def test_costs_of_any_size_have_a_tau():
    assert costs_to_tau(1e300, 1e300, 1) == 0.5
    assert costs_to_tau(1e-300, 3e-300, 1) == pytest.approx(0.25)
    assert_array_equal(least_cost_class(np.array([[0.5, 0.5]]), np.zeros((2, 2))), [0])


@pytest.mark.parametrize("estimator", [QuantileSVC(), QuantileSVCCV(Cs=[0.1, 1.0], cv=2)])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_refused_fit_leaves_the_earlier_one_as_it_was(estimator, n_classes):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % n_classes
    model = clone(estimator).fit(X, y)
    before, known = model.predict_proba(X), sorted(vars(model))
    refused = [
        (X, np.zeros(60), {}),
        (np.full((60, 6), np.nan), y, {}),
        (X[:, :2], np.zeros(60), {}),
        (X, y, {"sample_weight": (y == 0).astype(float)}),
        (X, y, {"sample_weight": -np.ones(60)}),
    ]
    for samples, labels, given in refused:
        with pytest.raises(ValueError):
            model.fit(samples, labels, **given)
        assert sorted(vars(model)) == known and model.n_features_in_ == 3
        assert_array_equal(model.predict_proba(X), before)
