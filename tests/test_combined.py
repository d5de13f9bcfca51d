"""QuantileSVCCV as a combination of paths: stacked, or one for each τ."""

import pickle
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.estimators.combination import (
    NOT_MISSED,
    RIDGE,
    PerTau,
    Stack,
    choose_stack,
    fit_stack,
    shrunk,
)
from taupath.estimators.costs import least_cost_class
from taupath.estimators.useful_range import useful_range
from taupath.exceptions import ConstantDecisionWarning
from taupath.report import write_report

TAUS = [0.0, 0.02, 0.2, 0.5, 0.9, 1.0]


def data(n=150, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) * [1.0, 100.0, 1.0, 0.01]
    f = X[:, 0] ** 2 + X[:, 1] / 50.0 - 1.0
    return X, np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * f)), "yes", "no")


X, Y = data()
X_NEW, Y_NEW = data(60, 1)
IRIS = load_iris(return_X_y=True)


@cache
def fitted(combine="stack", pos_label=None):
    return tp.QuantileSVCCV(combine=combine, cv=3, pos_label=pos_label).fit(X, Y)


def logits(proba):
    return np.log(proba / (1.0 - proba))


# -- stacks ----------------------------------------------------------------------------------------


def probabilities(n_paths=3, n=80, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(n_classes, size=n)
    score = rng.normal(size=(n_paths, n, n_classes)) + 1.5 * np.eye(n_classes)[truth]
    score = np.exp(score)
    return score / score.sum(axis=2, keepdims=True), truth


def test_a_stack_has_the_least_log_loss_with_a_ridge_towards_equal_weights():
    each, truth = probabilities()
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(truth))
    n = weight.sum()

    def objective(weights, intercept):
        p = Stack(weights, np.array([0.0, intercept]), n).proba(each)
        loss = log_loss(truth, p, sample_weight=weight, normalize=False)
        return loss + 0.5 * RIDGE * ((weights - 1.0 / 3.0) ** 2).sum()

    found = fit_stack(each, truth, weight)
    least = objective(found.weights, found.intercept[1])
    rng = np.random.default_rng(2)
    for size in (1e-3, 1e-2, 0.1, 1.0):
        for _ in range(50):
            weights = np.maximum(found.weights + size * rng.normal(size=3), 0.0)
            other = objective(weights, found.intercept[1] + size * rng.normal())
            assert other >= least - 1e-6


def test_the_stack_of_two_classes_is_a_logistic_function_of_logits():
    each, truth = probabilities()
    found = fit_stack(each, truth, np.ones(len(truth)))
    p = shrunk(each, len(truth))[..., 1]
    expected = 1.0 / (1.0 + np.exp(-found.weights @ logits(p) - found.intercept[1]))
    assert_allclose(found.proba(each)[:, 1], expected, rtol=1e-12)


def test_the_names_of_two_classes_do_not_matter_to_a_stack():
    each, truth = probabilities()
    found = fit_stack(each, truth, np.ones(len(truth)))
    other = fit_stack(each[..., ::-1], 1 - truth, np.ones(len(truth)))
    assert_allclose(found.weights, other.weights, atol=1e-4)
    assert_allclose(found.proba(each), other.proba(each[..., ::-1])[:, ::-1], atol=1e-4)


def test_weights_of_samples_are_copies():
    each, truth = probabilities()
    weight = np.random.default_rng(1).integers(1, 4, len(truth))
    found = fit_stack(each, truth, weight.astype(float))
    copies = np.repeat(np.arange(len(truth)), weight)
    other = fit_stack(each[:, copies], truth[copies], np.ones(len(copies)))
    assert_allclose(found.weights, other.weights, atol=1e-6)


def test_weights_are_never_negative_and_useless_paths_are_left_out():
    each, truth = probabilities(n_classes=3)
    wrong = each[:1, np.random.default_rng(3).permutation(len(truth))]
    each = np.concatenate((each, wrong, each[:1]))
    stack = fit_stack(each, truth, np.ones(len(truth)))
    assert (stack.weights >= 0.0).all()
    chosen = choose_stack(each, truth, np.ones(len(truth)))
    assert 3 not in chosen.which  # it knows nothing
    assert not {0, 4} <= set(chosen.which.tolist())  # copies
    losses = [
        log_loss(truth, own.proba(each[which]), normalize=False)
        for own, which in ((stack, np.arange(5)), (chosen.stack, chosen.which))
    ]
    assert losses[1] <= losses[0] + NOT_MISSED


# -- the range of useful decisions -----------------------------------------------------------------


def test_the_useful_range_is_all_for_a_good_model_and_nothing_for_noise():
    rng = np.random.default_rng(0)
    positive = rng.random(2000) < 0.3
    sure = np.where(positive, 0.999, 0.001)
    low, high = useful_range(sure, positive, np.ones(2000))
    assert low < 0.01
    assert high > 0.99
    noise = rng.random(2000)
    low, high = useful_range(noise, positive, np.ones(2000))
    assert low == pytest.approx(0.3, abs=0.05)
    assert high == pytest.approx(0.3, abs=0.05)


def test_one_lucky_sample_is_no_reason_to_decide_by_looking():
    # at τ = 1/51 one miss outweighs 50 false alarms: 20 cleared samples do not pay for it
    positive = np.arange(200) < 60
    proba = np.full(200, 0.3)
    proba[-20:] = 0.01
    low, _ = useful_range(proba, positive, np.ones(200))
    assert low > 1.0 / 51.0


# -- the model -------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["stack", "per_tau"])
@pytest.mark.parametrize("pos_label", ["yes", "no"])
def test_decisions_are_probabilities_cut_at_tau_within_the_useful_range(combine, pos_label):
    model = fitted(combine, pos_label)
    column = int(pos_label == "yes")
    proba = model.predict_proba(X_NEW)[:, column]
    assert ((proba > 0.0) & (proba < 1.0)).all()
    up_to = np.clip(proba, model.constant_below_, model.constant_above_)
    found = model.predict(X_NEW, taus=TAUS)
    assert_array_equal(found == pos_label, up_to[:, np.newaxis] >= np.array(TAUS))
    each = np.linspace(0.05, 0.95, len(X_NEW))
    assert_array_equal(model.predict(X_NEW, tau=each) == pos_label, up_to >= each)
    costs = model.predict(X_NEW, cost_fp=1.0, cost_fn=3.0)
    assert_array_equal(costs == pos_label, up_to >= 0.25)
    towards = 1.0 if column == 1 else -1.0
    assert_allclose(model.decision_function(X_NEW, 0.3), towards * (up_to - 0.3))
    assert_allclose(model.crossing_interval(X_NEW), np.column_stack((up_to, up_to)))


def test_it_is_the_stack_of_its_estimators():
    model = fitted()
    Z = model.scaler_.transform(X_NEW)
    each = np.array([own.predict_proba(Z) for own in model.estimators_])
    assert_array_equal(model.predict_proba(X_NEW), model.combination_.proba(each))
    used = [each for each in model.candidates_ if each["used"]]
    assert [(own.kernel, own.C) for own in model.estimators_] == [
        (each["kernel"], each["C"]) for each in used
    ]
    assert all(path.certify(20).holds() for path in model.paths_)
    assert not hasattr(model, "path_")
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "best_estimator_")


def test_the_positive_class_only_names_decisions():
    one, other = fitted("stack", "yes"), fitted("stack", "no")
    assert_allclose(one.predict_proba(X_NEW), other.predict_proba(X_NEW), atol=1e-4)


def test_per_tau_is_the_length_over_which_the_chosen_path_is_positive():
    each = np.array([[[0.9, 0.1], [0.3, 0.7]], [[0.4, 0.6], [0.5, 0.5]]])
    found = PerTau(np.array([0, 1]), np.array([0.0, 0.5, 1.0]), 1e12).proba(each)[:, 1]
    # τ up to 0.1 by the first, then 0.5 to 0.6 by the second; the second sample up to 0.5
    assert_allclose(found, [0.2, 0.5], atol=1e-9)


def test_it_does_not_matter_how_features_are_scaled():
    scale = np.array([1e3, 1e-4, 7.0, 1.0])
    other = tp.QuantileSVCCV(cv=3).fit(X * scale + 5.0, Y)
    found = other.predict_proba(X_NEW * scale + 5.0)
    assert_allclose(found, fitted().predict_proba(X_NEW), atol=1e-4)


def test_several_classes_are_stacked_and_decided_at_least_expected_cost():
    model = tp.QuantileSVCCV([0.1, 1.0], kernel="linear", cv=3).fit(*IRIS)
    proba = model.predict_proba(IRIS[0])
    assert_allclose(proba.sum(axis=1), 1.0)
    assert model.score(*IRIS) > 0.9
    matrix = np.array([[0.0, 1.0, 9.0], [2.0, 0.0, 1.0], [5.0, 30.0, 0.0]])
    expected = model.classes_[least_cost_class(proba, matrix)]
    assert_array_equal(model.predict(IRIS[0], cost_matrix=matrix), expected)
    with pytest.raises(ValueError, match="combine='per_tau' is for two classes, y has 3"):
        tp.QuantileSVCCV([1.0], kernel="linear", combine="per_tau").fit(*IRIS)


def test_noise_is_decided_as_if_nobody_had_looked():
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(200, 3)), np.arange(200) % 4 == 0
    model = tp.QuantileSVCCV(cv=3).fit(noise, y)
    tau = 0.9
    assert model.constant_above_ < tau
    with pytest.warns(ConstantDecisionWarning, match="telling them apart did not pay"):
        assert not model.predict(noise, tau=tau).any()
    (found,) = model.explain(noise[:1], tau=tau)
    assert found.constant is False
    assert "telling them apart did not pay" in str(found)
    assert found.parts is None


def test_a_decision_flips_once_where_the_probability_is():
    model = fitted()
    for found, proba in zip(model.explain(X_NEW), model.predict_proba(X_NEW), strict=True):
        if model.constant_below_ < proba[1] < model.constant_above_:
            (flip,) = found.flips
            assert flip.tau == pytest.approx(proba[1])


# -- files and other rooms -------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["stack", "per_tau"])
def test_a_combined_model_comes_back(combine, tmp_path):
    model = fitted(combine)
    for other in (pickle.loads(pickle.dumps(model)), saved(model, tmp_path)):
        assert isinstance(other, tp.QuantileSVCCV)
        assert_array_equal(other.predict_proba(X_NEW), model.predict_proba(X_NEW))
        assert_array_equal(other.predict(X_NEW, taus=TAUS), model.predict(X_NEW, taus=TAUS))
        assert (other.constant_below_, other.constant_above_) == (
            model.constant_below_,
            model.constant_above_,
        )
    again = saved(model, tmp_path).fit(X, Y)  # its parameters are those of its candidates
    assert {each["C"] for each in again.candidates_} == {own.C for own in model.estimators_}


def saved(model, folder):
    model.save(folder / "model.tau")
    return tp.load(folder / "model.tau")


@pytest.mark.parametrize("pos_label", ["yes", "no"])
def test_a_pipeline_with_a_combined_model_comes_back(pos_label, tmp_path):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipe = make_pipeline(StandardScaler(), tp.QuantileSVCCV(cv=3, pos_label=pos_label))
    pipe.fit(frame, Y)
    tp.save(pipe, tmp_path / "model.tau")
    other = tp.load(tmp_path / "model.tau")
    new = pandas.DataFrame(X_NEW, columns=list("abcd"))
    assert_allclose(other.predict_proba(new), pipe.predict_proba(new), rtol=1e-9)
    assert_array_equal(other.predict(new, tau=0.2), pipe.predict(new, tau=0.2))
    assert other.pos_label_ == pos_label


def test_three_classes_come_back(tmp_path):
    model = tp.QuantileSVCCV([1.0], kernel=["linear", "rbf"], gamma="scale", cv=2).fit(*IRIS)
    other = saved(model, tmp_path)
    assert_array_equal(other.predict_proba(IRIS[0]), model.predict_proba(IRIS[0]))


def test_it_is_simplified_path_by_path():
    model = fitted()
    small = model.simplify(1e-3)
    assert small.n_iter_.sum() < model.n_iter_.sum()
    assert_allclose(small.predict_proba(X_NEW), model.predict_proba(X_NEW), atol=0.1)
    assert small.method_ == "approximate"
    assert model.method_ == "exact"


def test_reports_evaluations_and_operating_points_know_it(tmp_path):
    model = fitted()
    write_report(tmp_path / "page.html", model, X_NEW, Y_NEW)
    found = tp.evaluate(model, X_NEW, Y_NEW, taus=[0.3])
    assert found["fn"] == np.sum((Y_NEW == "yes") & (model.predict(X_NEW, tau=0.3) == "no"))
    point = model.operate(max_fpr=0.3)
    assert not point.guaranteed
    point = model.operate(*data(200, 7), max_fpr=0.3)
    assert point.guaranteed
    with pytest.raises(ValueError, match="were used to train the model"):
        model.operate(X, Y, max_fpr=0.3)


def test_parameters_are_cloned():
    model = tp.QuantileSVCCV([0.1], kernel=["linear"], gamma=[0.1, "scale"], combine="per_tau")
    assert clone(model).get_params() == model.get_params()


# -- one candidate of several ----------------------------------------------------------------------


def test_the_best_candidate_is_a_pipeline_of_a_scaler_and_a_classifier(tmp_path):
    model = tp.QuantileSVCCV(cv=3, combine="best").fit(X, Y)
    losses = [each["brier"] for each in model.candidates_]
    best = model.candidates_[int(np.argmin(losses))]
    assert (model.kernel_, model.gamma_, model.C_) == (best["kernel"], best["gamma"], best["C"])
    assert [each["used"] for each in model.candidates_] == [
        each is best for each in model.candidates_
    ]
    assert_array_equal(model.best_estimator_.predict_proba(X_NEW), model.predict_proba(X_NEW))
    assert best["C"] == model.best_estimator_[-1].C
    assert_allclose(saved(model, tmp_path).predict_proba(X_NEW), model.predict_proba(X_NEW))


@pytest.mark.parametrize("standardize", [False, True])
def test_the_best_candidate_is_explained_alike_after_a_file(standardize, tmp_path):
    how = {"kernel": "linear", "combine": "best", "standardize": standardize}
    model = tp.QuantileSVCCV([0.1], cv=3, **how).fit(X, Y)
    model.save(tmp_path / "model.tau")
    before, after = (
        each.explain(X_NEW[:3], 0.3) for each in (model, tp.load(tmp_path / "model.tau"))
    )
    for own, other in zip(before, after, strict=True):
        assert [part.name for part in own.parts] == [part.name for part in other.parts]
        assert {part.name for part in own.parts} == {"x1", "x2", "x3", "x4"}
        for name in ("value", "reference", "adds"):
            pairs = zip(own.parts, other.parts, strict=True)
            found = [(getattr(a, name), getattr(b, name)) for a, b in pairs]
            assert_allclose(*zip(*found, strict=True), atol=1e-12)


def test_coefficients_are_in_the_units_of_X():
    model = tp.QuantileSVCCV([0.1], kernel="linear", combine="best", tau=0.3, cv=3).fit(X, Y)
    f = X_NEW @ model.coef_[0] + model.intercept_[0]
    assert_allclose(f, model.decision_function(X_NEW), rtol=1e-9, atol=1e-12)
    assert_allclose(model.at(0.3).decision_function(X_NEW), f, rtol=1e-9, atol=1e-12)
    (found,) = model.explain(X_NEW[:1])
    assert found.base + sum(part.adds for part in found.parts) == pytest.approx(f[0])
    values = {part.name: part.value for part in found.parts}
    assert_allclose([values[f"x{j}"] for j in range(1, 5)], X_NEW[0])


# -- what is tried ---------------------------------------------------------------------------------


def test_candidates_are_kernels_times_gammas_times_Cs():
    model = tp.QuantileSVCCV([0.1, 1.0], kernel=["linear", "rbf"], gamma=[0.1, 0.5], cv=3)
    found = [(each["kernel"], each["gamma"], each["C"]) for each in model.fit(X, Y).candidates_]
    assert found[:2] == [("linear", None, 0.1), ("linear", None, 1.0)]
    assert sorted(found[2:]) == [("rbf", g, C) for g in (0.1, 0.5) for C in (0.1, 1.0)]
    assert model.brier_.shape == (6, 3)
    assert model.loss([0.2, 0.4]).shape == (6, 2)
    assert len(model.probabilities_) == 6


def test_constant_features_and_sparse_ones_are_fine():
    Z = np.column_stack((X, np.full(len(X), 3.0)))
    with_constant = tp.QuantileSVCCV([1.0], kernel="linear", cv=3).fit(Z, Y)
    without = tp.QuantileSVCCV([1.0], kernel="linear", cv=3).fit(X, Y)
    assert_allclose(with_constant.predict_proba(Z), without.predict_proba(X), atol=1e-6)
    model = tp.QuantileSVCCV(cv=3).fit(sp.csr_array(X), Y)
    assert model.predict_proba(sp.csr_array(X_NEW)).shape == (60, 2)
    nothing = tp.QuantileSVCCV(cv=3).fit(np.ones((60, 2)), np.arange(60) % 2)
    assert_allclose(nothing.predict_proba(np.ones((3, 2))), 0.5, atol=0.05)


REFUSED = {
    "combine must be one of": {"combine": "mean"},
    "kernel is empty": {"kernel": []},
    "Cs is empty": {"Cs": []},
    "gamma must hold 1 to": {"gamma": []},
    "kernel='precomputed' leaves no kernels": {"kernel": ["linear", "precomputed"]},
    "kernel must be": {"kernel": "gauss"},
    "standardize must be True or False": {"standardize": "yes"},
    "tau_range=.* is for combine='best'": {"tau_range": (0.1, 0.9)},
    "scoring chooses one candidate": {"scoring": "accuracy"},
    "class 'yes' has fewer samples, .*, than cv has folds, 100": {"cv": 100},
}


@pytest.mark.parametrize("message", REFUSED)
def test_bad_parameters_are_refused_in_one_line(message):
    with pytest.raises((TypeError, ValueError), match=message) as caught:
        tp.QuantileSVCCV(**REFUSED[message]).fit(X, Y)
    assert "\n" not in str(caught.value)


def test_bad_questions_are_refused_in_one_line():
    model = fitted()
    for given, message in (
        ({"cost_fp": 0, "cost_fn": 0}, "both 0"),
        ({"cost_fp": np.inf, "cost_fn": 1}, "cost_fp must be finite"),
        ({"tau": 1.5}, "tau must lie in"),
    ):
        with pytest.raises(ValueError, match=message) as caught:
            model.predict(X, **given)
        assert "\n" not in str(caught.value)
    assert (model.predict(X, cost_fp=0, cost_fn=1) == "yes").all()
    with pytest.raises(ValueError, match="at\\(tau\\) is for combine='best'"):
        model.at(0.5)


def test_class_weights_shift_probabilities():
    plain = fitted().predict_proba(X_NEW)[:, 1].mean()
    weighted = tp.QuantileSVCCV(cv=3, class_weight={"yes": 10.0, "no": 1.0}).fit(X, Y)
    assert weighted.predict_proba(X_NEW)[:, 1].mean() > plain + 0.1


def test_on_real_data_it_beats_its_best_candidate():
    cancer, y = load_breast_cancer(return_X_y=True)
    stack = tp.QuantileSVCCV(cv=3).fit(cancer[::2], y[::2])
    best = tp.QuantileSVCCV(cv=3, combine="best").fit(cancer[::2], y[::2])
    losses = [
        log_loss(y[1::2], shrunk(model.predict_proba(cancer[1::2]), len(cancer[::2])))
        for model in (stack, best)
    ]
    assert losses[0] < losses[1]


# -- weights and folds -----------------------------------------------------------------------------


def test_the_unit_of_weights_does_not_matter():
    own = tp.QuantileSVCCV([1.0], kernel="linear", cv=3)
    ones, small = (clone(own).fit(X, Y, np.full(len(Y), each)) for each in (1.0, 1.0 / len(Y)))
    # C times the weights is what the paths have in common
    same = clone(own).set_params(Cs=[float(len(Y))]).fit(X, Y, np.full(len(Y), 1.0 / len(Y)))
    assert_allclose(same.predict_proba(X_NEW), ones.predict_proba(X_NEW), atol=1e-6)
    assert (same.constant_below_, same.constant_above_) == (
        ones.constant_below_,
        ones.constant_above_,
    )
    assert small.combination_.n_samples == pytest.approx(ones.combination_.n_samples)


def test_samples_of_weight_zero_are_absent_from_folds():
    weight = np.ones(len(Y))
    weight[np.flatnonzero(Y == "yes")[8:]] = 0.0
    present = weight > 0.0
    own = tp.QuantileSVCCV([1.0], kernel="linear", cv=4, standardize=False)
    weighted, without = clone(own).fit(X, Y, weight), clone(own).fit(X[present], Y[present])
    assert_allclose(weighted.brier_, without.brier_, atol=1e-9)
    assert_allclose(weighted.predict_proba(X_NEW), without.predict_proba(X_NEW), atol=1e-6)


def test_a_fold_without_weight_is_refused():
    folds = [(np.arange(50, 150), np.arange(50)), (np.arange(100), np.arange(100, 150))]
    weight = np.where(np.arange(150) < 50, 0.0, 1.0)
    with pytest.raises(
        ValueError, match="cv has a fold that holds out no samples of a weight above 0"
    ):
        tp.QuantileSVCCV([1.0], kernel="linear", cv=folds).fit(X, Y, weight)


def test_the_crossing_interval_of_several_paths_is_where_the_decision_changes():
    model = fitted()
    assert len(model.estimators_) > 1
    first, last = model.crossing_interval(X_NEW).T
    assert_array_equal(first, last)
    inside = np.clip(first, 1e-6, 1.0 - 1e-6)
    assert (model.predict(X_NEW, tau=inside - 1e-6) == "yes").all()
    assert (model.predict(X_NEW, tau=inside + 1e-6) == "no").all()
