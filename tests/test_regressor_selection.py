"""QuantileSVRCV: kernel, C and γ by the pinball loss of held-out samples at all levels."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import GridSearchCV, KFold, LeaveOneGroupOut
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import taupath
from taupath import QuantileSVR, QuantileSVRCV
from taupath.display import CoefficientDisplay, QuantileFanDisplay
from taupath.estimators.fingerprints import share_seen
from taupath.estimators.pinball import pinball_over_levels
from taupath.estimators.regressor_selection import _Data, _HeldOut, _Part, _worth_it
from taupath.report import write_report
from taupath.validation import Checked

LEVELS = np.array([0.05, 0.3, 0.5, 0.9])


def unscaled(n=60, seed=0):
    """Return samples of two features and numbers, all in units of their own."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-2.0, 2.0, size=(n, 2))
    noise = (0.2 + 0.1 * (Z[:, 1] + 2.0)) * rng.normal(size=n)
    return Z * [1e3, 0.01] + [5e3, 7.0], 200.0 + 40.0 * (np.sin(2.0 * Z[:, 0]) + noise)


X, Y = unscaled()
NEW, Y_NEW = unscaled(40, seed=1)
CS, GAMMAS = [1.0, 30.0], [0.2, 2.0]
FOLDS = list(KFold(4, shuffle=True, random_state=0).split(X))


@cache
def fitted():
    return QuantileSVRCV(CS, gamma=GAMMAS, cv=4).fit(X, Y)


@cache
def straight():
    return QuantileSVRCV(CS, kernel="linear", cv=3, quantile=0.3).fit(X, Y)


def by_hand(candidate, X, Y, weight=None):
    """Return a fitted pipeline for y in its units, with C in deviations of y."""
    gamma = {} if candidate["gamma"] is None else {"gamma": candidate["gamma"]}
    C = candidate["C"] * np.sqrt(np.cov(Y, ddof=0, aweights=weight))
    model = QuantileSVR(C, kernel=candidate["kernel"], **gamma)
    weights = {"standardscaler__sample_weight": weight, "quantilesvr__sample_weight": weight}
    return make_pipeline(StandardScaler(), model).fit(X, Y, **weights)


# -- the choice ------------------------------------------------------------------------------------


def test_the_choice_is_that_of_fits_by_hand():
    model = fitted()
    assert [tuple(each.values())[:3] for each in model.candidates_] == [
        *(("linear", None, C) for C in CS),
        *(("rbf", gamma, C) for gamma in GAMMAS for C in CS),
    ]
    expected = np.empty((6, 4))
    for c, candidate in enumerate(model.candidates_):
        for k, (train, test) in enumerate(FOLDS):
            scaler, single = by_hand(candidate, X[train], Y[train])
            held_out = Checked(scaler.transform(X[test]))
            expected[c, k] = pinball_over_levels(single.path_, held_out, Y[test]).mean()
    assert_allclose(model.pinball_, expected, rtol=1e-12)
    best = model.candidates_[int(expected.mean(axis=1).argmin())]
    assert (best["kernel"], best["gamma"], best["C"]) == (model.kernel_, model.gamma_, model.C_)
    assert best["pinball"] == min(each["pinball"] for each in model.candidates_)
    assert best["pinball"] == pytest.approx(expected.mean(axis=1).min(), rel=1e-12)
    assert model.kernel_ == "rbf"  # a sine, or this says nothing
    final = by_hand(best, X, Y).predict(NEW, quantile=LEVELS)
    assert_allclose(model.predict(NEW, LEVELS), final, rtol=1e-12)


def test_every_held_out_sample_counts_alike_whatever_the_size_of_its_fold():
    order = np.random.default_rng(1).permutation(len(Y))
    small, large = order[:4], order[4:40]
    folds = [(np.setdiff1d(order, test), test) for test in (small, large)]
    model = QuantileSVRCV([10.0, 30.0], kernel="rbf", gamma=1.0, cv=folds).fit(X, Y)
    by_samples = int((model.pinball_ @ [len(small), len(large)]).argmin())
    assert by_samples != model.pinball_.mean(axis=1).argmin()  # or this says nothing
    assert model.candidates_[by_samples]["C"] == model.C_


def test_units_do_not_matter():
    other = clone(fitted()).fit(X * [1e-5, 300.0] - [3.0, 1.0], 1e-4 * Y + 7.0)
    assert (other.kernel_, other.C_) == (fitted().kernel_, fitted().C_)
    assert_allclose(other.pinball_, 1e-4 * fitted().pinball_, rtol=1e-6)
    moved = NEW * [1e-5, 300.0] - [3.0, 1.0]
    assert_allclose(
        other.predict(moved, LEVELS), 1e-4 * fitted().predict(NEW, LEVELS) + 7.0, rtol=1e-7
    )
    assert_allclose(
        other.predict_interval(moved), 1e-4 * fitted().predict_interval(NEW) + 7.0, rtol=1e-7
    )


def test_a_C_in_deviations_of_y_is_a_standardised_y():
    model = fitted()
    scaler, middle, unit = StandardScaler().fit(X), Y.mean(), Y.std()
    given = {"kernel": model.kernel_, "gamma": model.gamma_, "C": model.C_}
    same = QuantileSVR(**given).fit(scaler.transform(X), (Y - middle) / unit)
    expected = middle + unit * same.predict(scaler.transform(NEW), LEVELS)
    assert_allclose(model.predict(NEW, LEVELS), expected, rtol=1e-9)
    assert pytest.approx(model.C_ * unit) == model.path_.C


def test_nothing_is_scaled_if_not_asked_for():
    Z = (X - X.mean(axis=0)) / X.std(axis=0) * [1.0, 2.0]
    model = QuantileSVRCV([0.1], kernel="rbf", gamma="scale", cv=3, standardize=False).fit(Z, Y)
    assert model.scaler_ is None
    assert model.gamma_ == pytest.approx(1.0 / (2.0 * Z.var()))
    alone = QuantileSVR(0.1, kernel="rbf", gamma=model.gamma_).fit(Z, Y)
    assert_array_equal(model.predict(Z, LEVELS), alone.predict(Z, LEVELS))
    assert isinstance(model.best_estimator_, QuantileSVR)
    auto = QuantileSVRCV([0.1], kernel="rbf", gamma="auto", cv=3, standardize=False).fit(Z, Y)
    assert auto.gamma_ == 0.5


def test_the_search_goes_on_beyond_the_ends_of_its_own_values_only():
    t = np.linspace(-1.0, 1.0, 60)[:, np.newaxis]
    curve = np.sin(6.0 * t[:, 0]) + 0.01 * np.cos(77.0 * t[:, 0])  # hardly any noise
    own = QuantileSVRCV(2, kernel="rbf", gamma="scale", cv=3).fit(t, curve)
    assert [each["C"] for each in own.candidates_[:2]] == pytest.approx([0.3, 30.0])
    assert own.C_ > 30.1
    # every step but the last lowered the loss
    losses = own.pinball_.mean(axis=1)
    assert (np.diff(losses[:-1]) < 0.0).all()
    given = QuantileSVRCV([0.3, 30.0], kernel="rbf", gamma="scale", cv=3).fit(t, curve)
    assert given.C_ == 30.0
    assert len(given.candidates_) == 2
    # γ beyond its grid: two candidates that were not there before
    gammas = QuantileSVRCV([3.0], kernel="rbf", cv=3).fit(t, np.sin(10.0 * t[:, 0]))
    grid = [each["gamma"] for each in gammas.candidates_[:4]]
    assert grid == pytest.approx([0.0625, 0.25, 1.0, 4.0])
    assert gammas.gamma_ > 4.1


def test_a_step_beyond_that_gains_little_is_the_last():
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(60, 4))
    line = Z.sum(axis=1) + 0.1 * rng.normal(size=60)  # the larger C, the better, but not by much
    losses = QuantileSVRCV([3.0, 30.0, 300.0, 3000.0], kernel="linear", cv=3).fit(Z, line).pinball_
    assert (np.diff(losses.mean(axis=1)) < 0.0).all()
    model = QuantileSVRCV(kernel="linear", cv=3).fit(Z, line)
    assert [each["C"] for each in model.candidates_] == pytest.approx([0.3, 3.0, 30.0, 300.0])
    assert model.C_ == 30.0


def test_one_outlier_does_not_lead_the_search_away():
    held = _Data(None, None, np.ones(20))
    part = _Part(None, held, held)
    held_out = [_HeldOut(None, losses, losses.mean()) for losses in np.ones((3, 20))]
    held_out[1].losses[3] -= 0.9  # of one sample only: 4.5 % of the loss
    held_out[2].losses[:] -= np.linspace(0.02, 0.07, 20)  # of all of them
    assert not _worth_it([held_out[0]], [held_out[1]], [part])
    assert _worth_it([held_out[0]], [held_out[2]], [part])


def test_kernels_may_be_names_and_functions():
    model = QuantileSVRCV([1.0], kernel=["poly", product], gamma=[0.5, 1], degree=2, cv=3).fit(X, Y)
    assert [(each["kernel"], each["gamma"]) for each in model.candidates_] == [
        ("poly", 0.5),
        ("poly", 1.0),
        (product, None),
    ]
    assert_array_equal(
        model.pinball_[2], QuantileSVRCV([1.0], kernel=product, cv=3).fit(X, Y).pinball_[0]
    )
    lines = QuantileSVRCV([1.0], kernel="linear", cv=3).fit(X, Y)
    assert_allclose(model.pinball_[2], lines.pinball_[0], rtol=1e-6)


def product(A, B):
    return A @ B.T


# -- weights ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_weights_are_copies(kernel):
    rng = np.random.default_rng(3)
    weight, groups = rng.integers(0, 3, size=60), rng.integers(0, 3, size=60)
    copies, own = (np.repeat(each, weight, axis=0) for each in (X, groups))
    given = {"kernel": kernel, "gamma": "grid", "Cs": [0.3, 3.0]}
    weighted = QuantileSVRCV(**given, cv=list(LeaveOneGroupOut().split(X, groups=groups)))
    weighted.fit(X, Y, sample_weight=weight)
    copied = QuantileSVRCV(**given, cv=list(LeaveOneGroupOut().split(copies, groups=own)))
    copied.fit(copies, np.repeat(Y, weight))
    assert_allclose(weighted.pinball_, copied.pinball_, rtol=1e-6)
    assert weighted.C_ == copied.C_
    assert weighted.gamma_ == (None if kernel == "linear" else pytest.approx(copied.gamma_))
    assert_allclose(weighted.predict(NEW, LEVELS), copied.predict(NEW, LEVELS), rtol=1e-6)


def test_the_search_goes_as_far_beyond_with_weights_as_with_copies():
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((25, 2))
    line = Z[:, 0] * rng.choice([1, 3]) + rng.standard_normal(25) * rng.choice([0.1, 1.0])
    weight, fold = rng.integers(1, 5, 25), np.arange(25) % 3
    copies = np.repeat(np.arange(25), weight)
    weighted, copied = (
        QuantileSVRCV(kernel="linear", cv=list(LeaveOneGroupOut().split(of, groups=of)))
        for of in (fold, fold[copies])
    )
    weighted.fit(Z, line, sample_weight=weight)
    copied.fit(Z[copies], line[copies])
    assert len(weighted.candidates_) > 3  # or this says nothing
    assert weighted.C_ == copied.C_
    assert_allclose(weighted.pinball_, copied.pinball_, rtol=1e-6)


def test_samples_of_weight_zero_are_absent():
    weight = np.ones(60)
    weight[::7] = 0.0
    far = X.copy()
    far[::7] *= 100.0
    there = weight > 0.0
    some = clone(fitted()).fit(far, Y, sample_weight=weight)
    left = clone(fitted()).fit(X[there], Y[there])
    assert_allclose(some.pinball_, left.pinball_, rtol=1e-7)
    assert_allclose(some.predict_interval(NEW), left.predict_interval(NEW), rtol=1e-6)


# -- intervals -------------------------------------------------------------------------------------


def test_intervals_are_those_of_the_same_folds_without_another_fit(monkeypatch):
    given = {"kernel": "rbf", "gamma": 3.0}
    Z = X / [1e3, 0.01]
    expected = QuantileSVR(30.0, **given, conformal=FOLDS).fit(Z, Y)
    calls = []
    once = QuantileSVR.fit
    monkeypatch.setattr(QuantileSVR, "fit", lambda *given: calls.append(1) or once(*given))
    model = QuantileSVRCV([1.0, 30.0], **given, cv=FOLDS, standardize=False)
    model.fit(Z, Y)
    assert model.C_ == 30.0
    assert len(calls) == 2 * len(FOLDS) + 1
    for name in ("level", "step", "share"):
        assert_allclose(
            getattr(model.calibration_, name), getattr(expected.calibration_, name), rtol=1e-9
        )
    assert_allclose(model.predict_interval(Z, 0.9), expected.predict_interval(Z, 0.9), rtol=1e-9)


def test_held_out_samples_are_scaled_as_their_training_samples():
    # intervals of every fold by hand: the share of held-out samples is that of the calibration
    model, share = fitted(), 0.7
    level, step = model.calibration_.at(share)
    given = {"kernel": model.kernel_, "gamma": model.gamma_, "C": model.C_}
    held = np.empty(len(Y), dtype=bool)
    for train, test in FOLDS:
        low, high = by_hand(given, X[train], Y[train]).predict(
            X[test], quantile=[0.5 - 0.5 * level, 0.5 + 0.5 * level]
        ).T + np.array([[-step], [step]]) * (1.0 + 1e-9)
        held[test] = (low <= Y[test]) & (Y[test] <= high)
    at = int(np.searchsorted(model.calibration_.level, level))
    assert held.mean() == pytest.approx(model.calibration_.share[at])


def test_without_conformal_intervals_are_those_of_the_path():
    plain = clone(fitted()).set_params(conformal=False).fit(X, Y)
    assert plain.calibration_ is None
    assert_allclose(plain.predict_interval(NEW, 0.8), plain.predict(NEW, [0.1, 0.9]), rtol=1e-12)
    assert_array_equal(plain.predict(NEW, LEVELS), fitted().predict(NEW, LEVELS))


@pytest.mark.slow
def test_intervals_cover_what_is_to_come():
    wanted = np.array([0.5, 0.8, 0.9])
    shares = []
    for seed in range(6):
        Z, z = unscaled(620, 20 + seed)
        model = QuantileSVRCV().fit(Z[:120], z[:120])
        ends = [model.predict_interval(Z[120:], coverage).T for coverage in wanted]
        shares.append([np.mean((low <= z[120:]) & (z[120:] <= high)) for low, high in ends])
    # three deviations of the mean of 6 calibrations with 120 samples, and of 3000 to come
    chance = 3.0 * np.sqrt(wanted * (1.0 - wanted) * (1.0 / 720 + 1.0 / 3000))
    assert np.all(np.abs(np.mean(shares, axis=0) - wanted) < chance)


# -- what is left is a regressor -------------------------------------------------------------------


def test_coefficients_are_in_the_units_of_the_samples():
    model = straight()
    assert model.kernel_ == "linear"
    on_the_path = model.path_.decision_function(model.scaler_.transform(NEW), 0.3)
    assert_allclose(NEW @ model.coef_ + model.intercept_, on_the_path, rtol=1e-10)
    thin = clone(model).fit(sparse.csr_array(X), Y)
    assert_allclose(thin.coef_, model.coef_, rtol=1e-6)
    assert_allclose(thin.intercept_, model.intercept_, rtol=1e-6)
    raw = QuantileSVRCV([1e-4], kernel="linear", cv=3, standardize=False).fit(X, Y)
    alone = QuantileSVR(1e-4).fit(X, Y)
    assert_array_equal(raw.coef_, alone.coef_)
    assert raw.intercept_ == alone.intercept_
    assert not hasattr(fitted(), "coef_")
    with pytest.raises(AttributeError, match="linear kernel only; chosen was 'rbf'"):
        _ = fitted().intercept_


def test_its_pipeline_predicts_the_same():
    pipe = fitted().best_estimator_
    assert isinstance(pipe, Pipeline)
    assert_array_equal(pipe.predict(NEW, quantile=LEVELS), fitted().predict(NEW, LEVELS))
    assert_array_equal(pipe[-1].path_.taus, fitted().path_.taus)
    # nothing is fitted again
    assert pipe[-1].path_ is fitted().path_
    assert pytest.approx(fitted().path_.C) == pipe[-1].C
    assert pipe[-1].calibration_ is fitted().calibration_
    Z = fitted().scaler_.transform(NEW)
    assert_array_equal(pipe[-1].predict_interval(Z), fitted().predict_interval(NEW))


def test_the_distribution_is_in_the_units_of_y():
    model = fitted()
    for q in (0.2, 0.7):
        value = model.predict(NEW, q)
        assert np.all(model.cdf(NEW, value + 1e-6) >= q - 1e-6)
        assert np.all(model.cdf(NEW, value - 1e-6) <= q + 1e-6)
    drawn = model.sample(NEW[:3], n=2000, random_state=0)
    below = drawn <= model.predict(NEW[:3], 0.3)[:, np.newaxis]
    assert_allclose(below.mean(axis=1), 0.3, atol=0.04)
    expected = 1.0 - mean_pinball_loss(Y_NEW, model.predict(NEW)) / mean_pinball_loss(
        Y_NEW, np.full(40, np.median(Y_NEW))
    )
    assert model.score(NEW, Y_NEW) == pytest.approx(expected)


def test_sparse_samples_are_scaled_and_not_shifted():
    rng = np.random.default_rng(2)
    Z = np.where(rng.uniform(size=(60, 3)) < 0.6, 0.0, rng.normal(size=(60, 3)) * [1.0, 50.0, 0.1])
    given = QuantileSVRCV([1.0], gamma=0.3, cv=3)
    dense, thin = clone(given).fit(Z, Y), clone(given).fit(sparse.csr_array(Z), Y)
    assert thin.kernel_ == dense.kernel_
    assert_allclose(thin.pinball_, dense.pinball_, rtol=1e-6)
    assert_allclose(thin.predict(sparse.csr_array(Z)), dense.predict(Z), rtol=1e-6)


def test_copies_and_jobs():
    again = pickle.loads(pickle.dumps(fitted()))
    assert_array_equal(again.predict_interval(NEW), fitted().predict_interval(NEW))
    assert clone(fitted()).get_params() == fitted().get_params()
    assert not {"C", "calibration_"} & set(fitted().get_params())
    two = clone(straight()).set_params(n_jobs=2).fit(X, Y)
    assert_array_equal(two.pinball_, straight().pinball_)
    assert_allclose(two.predict(NEW, LEVELS), straight().predict(NEW, LEVELS), rtol=1e-9)
    few = straight().simplify(1e-3)
    assert few.method_ == "approximate" and few.n_iter_ < straight().n_iter_
    assert_array_equal(few.path_.taus, straight().path_.simplify(1e-3).taus)
    assert_array_equal(few.best_estimator_.predict(NEW), few.predict(NEW))


def test_progress_grows_to_one():
    seen = []
    model = QuantileSVRCV(2, kernel="linear", cv=3)
    model._progress = lambda done, *_: seen.append(done)
    model.fit(X, Y)
    assert seen and np.all(np.diff(seen) >= 0.0)
    assert seen[-1] == pytest.approx(1.0)


# -- files, reports and pictures -------------------------------------------------------------------


def test_a_file_holds_it_as_its_pipeline(tmp_path):
    fitted().save(tmp_path / "model.tau")
    loaded = taupath.load(tmp_path / "model.tau")
    assert_allclose(loaded.predict(NEW, quantile=LEVELS), fitted().predict(NEW, LEVELS), rtol=1e-12)
    assert_allclose(loaded.predict_interval(NEW), fitted().predict_interval(NEW), rtol=1e-12)
    raw = QuantileSVRCV([0.01], kernel="linear", cv=3, standardize=False).fit(X, Y)
    taupath.save(raw, tmp_path / "raw.tau")
    alone = taupath.load(tmp_path / "raw.tau")
    assert type(alone) is QuantileSVR and alone.C == 0.01
    assert_array_equal(alone.predict_interval(NEW), raw.predict_interval(NEW))
    pipe = make_pipeline(StandardScaler(), QuantileSVRCV(CS, cv=3, kernel="linear")).fit(X, Y)
    taupath.save(pipe, tmp_path / "pipe.tau")
    loaded = taupath.load(tmp_path / "pipe.tau")
    assert_allclose(loaded.predict(NEW), pipe.predict(NEW), rtol=1e-12)


def test_names_of_columns_are_kept(tmp_path):
    frame = pd.DataFrame(X, columns=["area", "age"])
    model = clone(straight()).fit(frame, Y)
    assert_array_equal(model.predict(frame), straight().predict(X))
    model.save(tmp_path / "model.tau")
    loaded = taupath.load(tmp_path / "model.tau")
    assert_array_equal(loaded.feature_names_in_, ["area", "age"])
    assert_allclose(loaded.predict(frame[["age", "area"]]), model.predict(frame), rtol=1e-12)


def test_other_tools_see_the_pipeline(tmp_path):
    table = taupath.evaluate(fitted(), NEW, Y_NEW, taus=[0.2, 0.5])
    low = mean_pinball_loss(Y_NEW, fitted().predict(NEW, 0.2), alpha=0.2)
    assert table["pinball"][0] == pytest.approx(low)
    assert share_seen(fitted(), X) == 1.0
    assert share_seen(fitted(), NEW) == 0.0
    write_report(tmp_path / "report.html", fitted(), NEW, Y_NEW)
    assert (tmp_path / "report.html").stat().st_size > 10_000
    plt = pytest.importorskip("matplotlib.pyplot", reason="matplotlib is not installed")
    fan = QuantileFanDisplay.from_estimator(fitted(), X, Y, feature=0, quantiles=[0.1, 0.9])
    middle = np.tile(np.median(X, axis=0), (200, 1))
    middle[:, 0] = fan.x
    assert_allclose(fan.values, fitted().predict(middle, [0.1, 0.9]), rtol=1e-12)
    shown = CoefficientDisplay.from_estimator(straight())
    assert shown.coef.shape[0] == 2
    plt.close("all")


def test_it_can_be_searched_over():
    search = GridSearchCV(QuantileSVRCV([1.0], cv=3), {"kernel": ["linear", "rbf"]}, cv=2)
    assert search.fit(X, Y).best_params_ == {"kernel": "rbf"}
    assert search.score(NEW, Y_NEW) == search.best_estimator_.score(NEW, Y_NEW)
