"""Displays: what they keep is what the estimators say, and plot draws just that."""

import importlib
import sys
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.calibration import calibration_curve
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from display_models import (
    RNG,
    TAUS,
    X_LINE,
    X_NEW,
    X_PLANE,
    X_THREE,
    Y_LINE,
    Y_NEW,
    Y_PLANE,
    Y_THREE,
    X,
    Y,
    curve,
    linear,
    plane,
    three,
    wiggly,
)
from taupath import QuantileSVC, QuantileSVR
from taupath.display import (
    BoundaryDisplay,
    CoefficientDisplay,
    DecisionCurveDisplay,
    PerformanceDisplay,
    QuantileFanDisplay,
    ReliabilityDisplay,
    RocDisplay,
)
from taupath.display.drawing import PALETTE
from taupath.paths import training_data

matplotlib.use("Agg")

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


pytestmark = pytest.mark.usefixtures("no_figures_left")


def counts(model, X, y, tau):
    """Return TN, FP, FN, TP of what a model predicts at τ."""
    predicted, true = model.predict(X, tau=tau) == "yes", y == "yes"
    return [np.sum((predicted == p) & (true == t)) for t in (False, True) for p in (False, True)]


def thresholded(y, proba, tau):
    return confusion_matrix(y == "yes", proba >= tau).ravel()


# --- performance ---------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("monotone", [False, True])
@pytest.mark.parametrize("fitted", [linear, wiggly], ids=["linear", "rbf"])
def test_performance_is_that_of_predict_at_every_tau(fitted, monotone, monkeypatch):
    monkeypatch.setattr(training_data, "ROWS_AT_A_TIME", 7)  # several blocks
    model = QuantileSVC(**fitted().get_params() | {"monotone": monotone}).fit(X, Y)
    display = PerformanceDisplay.from_estimator(model, X_NEW, Y_NEW)
    assert display.taus[0] == 0.0 and display.taus[-1] == 1.0
    assert (np.diff(display.taus) > 0.0).all()
    assert len(display.tpr) == len(display.tnr) == len(display.accuracy) == len(display.taus) - 1
    # at random τ, and in the middle of all pieces but the smallest
    wide = np.diff(display.taus) > 1e-9
    middles = (0.5 * (display.taus[1:] + display.taus[:-1]))[wide]
    for tau in (*TAUS, *middles):
        k = np.searchsorted(display.taus, tau) - 1
        tn, fp, fn, tp = counts(model, X_NEW, Y_NEW, tau)
        expected = [tp / (tp + fn), tn / (tn + fp), (tp + tn) / len(Y_NEW)]
        found = [display.tpr[k], display.tnr[k], display.accuracy[k]]
        assert_allclose(found, expected, rtol=0, atol=1e-14)


def test_samples_that_change_several_times_are_among_those_tested():
    interval = wiggly().crossing_interval(X_NEW)
    assert (interval[:, 1] > interval[:, 0]).sum() >= 5
    sign = PerformanceDisplay.from_estimator(wiggly(), X_NEW, Y_NEW)
    assert (np.diff(sign.tpr) > 0.0).any()  # does not only fall
    proba = wiggly().predict_proba(X_NEW)[:, 1]
    rule = PerformanceDisplay.from_predictions(Y_NEW, proba)
    assert len(rule.taus) < len(sign.taus)
    assert (np.diff(rule.tpr) <= 0.0).all() and (np.diff(rule.tnr) >= 0.0).all()


def test_performance_of_probabilities_with_ties_zeros_and_ones():
    y, proba = [0, 1, 0, 1, 1, 0], [0.0, 0.0, 0.25, 0.25, 1.0, 1.0]
    display = PerformanceDisplay.from_predictions(y, proba)
    assert_array_equal(display.taus, [0.0, 0.25, 1.0])
    assert_allclose(display.tpr, [2 / 3, 1 / 3])
    assert_allclose(display.tnr, [1 / 3, 2 / 3])
    assert_allclose(display.accuracy, [1 / 2, 1 / 2])
    swapped = PerformanceDisplay.from_predictions(y, proba, pos_label=0)
    assert_allclose(swapped.tpr, [2 / 3, 1 / 3])
    assert_allclose(swapped.tnr, [1 / 3, 2 / 3])


def test_weight_two_is_two_copies():
    weight = RNG.integers(1, 4, size=len(Y_NEW))
    weighted = PerformanceDisplay.from_estimator(wiggly(), X_NEW, Y_NEW, sample_weight=weight)
    copies = np.repeat(np.arange(len(Y_NEW)), weight)
    copied = PerformanceDisplay.from_estimator(wiggly(), X_NEW[copies], Y_NEW[copies])
    assert_allclose(weighted.taus, copied.taus, rtol=0, atol=1e-12)
    for name in ("tpr", "tnr", "accuracy"):
        assert_allclose(getattr(weighted, name), getattr(copied, name), rtol=0, atol=1e-12)


def test_performance_draws_its_arrays():
    display = PerformanceDisplay.from_estimator(linear(), X_NEW, Y_NEW, linestyle="--")
    for line, values in zip(
        display.lines_, (display.tpr, display.tnr, display.accuracy), strict=True
    ):
        assert_array_equal(line.get_data().values, values)
        assert_array_equal(line.get_data().edges, display.taus)
        assert line.get_linestyle() == "--"
    assert [label.get_text() for label in display.labels_] == ["TPR", "TNR", "accuracy"]
    low, high = display.ax_.get_ylim()
    assert low < min(display.tpr.min(), display.tnr.min()) and high > 1.0
    assert display.ax_.get_title() == ""
    assert PerformanceDisplay.from_predictions([0, 1], [0.2, 0.7], name="A").ax_.get_title() == "A"


# --- ROC -----------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
def test_roc_points_are_those_of_predict_at_their_tau():
    display = RocDisplay.from_estimator(wiggly(), X_NEW, Y_NEW)
    assert (display.fpr[0], display.tpr[0]) == (1.0, 1.0)
    assert (display.fpr[-1], display.tpr[-1]) == (0.0, 0.0)
    assert (np.diff(display.taus) > 0.0).all()
    for fpr, tpr, tau in list(zip(display.fpr, display.tpr, display.taus, strict=True))[1:-1]:
        tn, fp, fn, tp = counts(wiggly(), X_NEW, Y_NEW, tau)
        assert_allclose([fpr, tpr], [fp / (fp + tn), tp / (tp + fn)], rtol=0, atol=1e-14)
    assert_array_equal(display.line_.get_xydata(), np.column_stack((display.fpr, display.tpr)))


def test_area_of_probabilities_is_that_of_scikit_learn():
    proba = np.round(wiggly().predict_proba(X_NEW)[:, 1], 1)  # ties
    weight = RNG.uniform(0.5, 2.0, size=len(Y_NEW))
    for each in (None, weight):
        display = RocDisplay.from_predictions(Y_NEW, proba, sample_weight=each)
        expected = roc_auc_score(Y_NEW == "yes", proba, sample_weight=each)
        assert display.roc_auc == pytest.approx(expected, abs=1e-12)
    model = LogisticRegression().fit(X, Y)
    display = RocDisplay.from_estimator(model, X_NEW, Y_NEW)
    expected = roc_auc_score(Y_NEW == "yes", model.predict_proba(X_NEW)[:, 1])
    assert display.roc_auc == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
@pytest.mark.parametrize("prevalence", [None, 0.05, 0.0, 1.0])
@pytest.mark.parametrize(("cost_fp", "cost_fn"), [(1.0, 1.0), (7.0, 2.0), (0.3, 4.0), (0, 1)])
def test_no_tau_costs_less_than_the_point_marked(cost_fp, cost_fn, prevalence):
    display = RocDisplay.from_estimator(
        linear(), X_NEW, Y_NEW, cost_fp=cost_fp, cost_fn=cost_fn, prevalence=prevalence
    )
    share = np.mean(Y_NEW == "yes") if prevalence is None else prevalence
    assert display.prevalence == pytest.approx(share)

    def cost(tau):
        tn, fp, fn, tp = counts(linear(), X_NEW, Y_NEW, tau)
        return cost_fp * (1.0 - share) * fp / (fp + tn) + cost_fn * share * fn / (fn + tp)

    least = display.expected_cost[display.best]
    if 0.0 < display.taus[display.best] < 1.0:
        assert least == pytest.approx(cost(display.taus[display.best]), abs=1e-14)
    assert least <= min(map(cost, TAUS[::5])) + 1e-14
    assert_array_equal(
        display.best_point_.get_xydata(), [[display.fpr[display.best], display.tpr[display.best]]]
    )
    assert f"{display.taus[display.best]:.3f}" in display.best_label_.get_text()


def test_of_points_that_cost_the_same_the_closest_to_the_tau_of_the_costs_is_best():
    fpr, tpr = np.array([1.0, 0.5, 0.5, 0.0]), np.array([1.0, 0.75, 0.75, 0.0])
    taus = np.array([0.0, 0.3, 0.6, 1.0])
    for cost_fp, best in ((1.1, 2), (0.7, 1)):
        # FPR 0.5 and TPR 0.75 are best for both
        display = RocDisplay(fpr, tpr, taus, cost_fp=cost_fp, cost_fn=1.0, prevalence=0.5)
        assert display.best == best


def test_without_costs_no_point_is_marked():
    display = RocDisplay.from_predictions([0, 1, 1], [0.1, 0.4, 0.9])
    assert display.best is None and display.expected_cost is None
    assert display.best_point_ is display.best_label_ is display.cost_line_ is None


# --- decision curve ------------------------------------------------------------------------------


def test_net_benefit_is_the_formula():
    thresholds = np.linspace(0.0, 0.95, 39)
    display = DecisionCurveDisplay.from_estimator(wiggly(), X_NEW, Y_NEW, thresholds=thresholds)
    n, prevalence = len(Y_NEW), np.mean(Y_NEW == "yes")
    assert_array_equal(display.thresholds, thresholds)
    for k, tau in enumerate(thresholds):
        _, fp, _, tp = counts(wiggly(), X_NEW, Y_NEW, tau)
        odds = tau / (1.0 - tau)
        assert display.net_benefit[k] == pytest.approx(tp / n - fp / n * odds, abs=1e-12)
        everything = prevalence - (1.0 - prevalence) * odds
        assert display.treat_all[k] == pytest.approx(everything, abs=1e-12)
    assert_array_equal(display.line_.get_ydata(), display.net_benefit)
    assert_array_equal(display.all_line_.get_ydata(), display.treat_all)
    assert_array_equal(display.none_line_.get_ydata(), [0.0, 0.0])


def test_net_benefit_of_probabilities_at_exactly_the_threshold():
    proba = np.round(linear().predict_proba(X_NEW)[:, 1], 1)
    thresholds = np.arange(10) / 10
    proba[:5] = 0.0
    display = DecisionCurveDisplay.from_predictions(Y_NEW, proba, thresholds=thresholds[::-1])
    for k, tau in enumerate(thresholds):  # in order
        _, fp, _, tp = thresholded(Y_NEW, proba, tau)
        expected = (tp - fp * tau / (1.0 - tau)) / len(Y_NEW)
        assert display.net_benefit[k] == pytest.approx(expected, abs=1e-12)


def test_two_decision_curves_share_their_reference_lines():
    first = DecisionCurveDisplay.from_estimator(linear(), X_NEW, Y_NEW)
    second = DecisionCurveDisplay.from_estimator(
        LogisticRegression().fit(X, Y), X_NEW, Y_NEW, ax=first.ax_
    )
    assert second.all_line_ is first.all_line_ and second.none_line_ is first.none_line_
    assert first.line_.get_color() != second.line_.get_color()
    texts = [text.get_text() for text in first.ax_.get_legend().get_texts()]
    assert texts == ["treat all", "treat none", "QuantileSVC", "LogisticRegression"]


# --- reliability ---------------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_reliability_is_the_curve_of_scikit_learn(strategy):
    display = ReliabilityDisplay.from_estimator(linear(), X_NEW, Y_NEW, n_bins=7, strategy=strategy)
    proba = linear().predict_proba(X_NEW)[:, 1]
    true, predicted = calibration_curve(Y_NEW == "yes", proba, n_bins=7, strategy=strategy)
    assert_allclose(display.prob_true, true)
    assert_allclose(display.prob_pred, predicted)
    assert display.counts.sum() == len(Y_NEW)
    for n, (low, high), mean in zip(display.counts, display.edges, predicted, strict=True):
        assert n == ((proba > low) & (proba <= high)).sum() + (low == proba.min()) * (
            strategy == "quantile"
        )
        assert low <= mean <= high
    assert_array_equal(display.line_.get_ydata(), display.prob_true)
    heights = np.array([bar.get_height() for bar in display.bars_])
    assert_allclose(heights / heights.max(), display.counts / display.counts.max())
    texts = [label.get_text() for label in display.bar_labels_]
    assert texts == [str(n) for n in display.counts]


def test_reliability_intervals_solve_the_equation_of_wilson():
    display = ReliabilityDisplay.from_predictions(Y_NEW, wiggly().predict_proba(X_NEW)[:, 1])
    share, n = display.prob_true, display.counts
    for bound in display.interval.T:
        inside = (bound > 0.0) & (bound < 1.0)
        z2 = n * (bound - share) ** 2 / np.where(inside, bound * (1.0 - bound), 1.0)
        assert_allclose(z2[inside], 1.96**2, rtol=1e-4)
        assert inside.sum() > 3
    assert (display.interval[:, 0] <= share).all() and (share <= display.interval[:, 1]).all()


def test_reliability_without_counts_and_with_equal_probabilities():
    display = ReliabilityDisplay.from_predictions(
        [0, 1, 1], [0.3, 0.3, 0.3], strategy="quantile", histogram=False
    )
    assert display.bars_ is None and display.bar_labels_ == []
    assert_allclose(display.prob_true, [2 / 3])
    assert_allclose(display.edges, [[0.3, 0.3]])
    second = ReliabilityDisplay.from_predictions([0, 1], [0.1, 0.6], ax=display.ax_, color="k")
    assert second.diagonal_ is display.diagonal_ and second.line_.get_color() == "k"


# --- boundaries ----------------------------------------------------------------------------------


def test_boundaries_are_where_the_decision_function_is_zero():
    taus = [0.2, 0.5, 0.9]
    display = BoundaryDisplay.from_estimator(
        plane(), X_PLANE, Y_PLANE, taus=taus, grid_resolution=30
    )
    grid = np.column_stack((display.xx0.ravel(), display.xx1.ravel()))
    assert (grid.min(axis=0) < X_PLANE.min(axis=0)).all()
    assert (grid.max(axis=0) > X_PLANE.max(axis=0)).all()
    assert display.responses.shape == (3, 30, 30)
    for tau, response, contour in zip(taus, display.responses, display.contours_, strict=True):
        assert_allclose(response.ravel(), plane().decision_function(grid, tau=tau), atol=1e-12)
        on_it = np.concatenate(contour.allsegs[0])
        assert len(on_it) > 5
        assert_allclose(plane().decision_function(on_it, tau=tau), 0.0, atol=1e-9)  # f is linear
    drawn = np.concatenate([np.asarray(each.get_offsets()) for each in display.samples_])
    assert_array_equal(drawn, np.concatenate([X_PLANE[Y_PLANE == 0], X_PLANE[Y_PLANE == 1]]))
    assert display.surface_ is None


def test_boundaries_of_probabilities_where_these_decide():
    model = QuantileSVC(kernel="rbf", gamma=3.0, monotone=True).fit(X_PLANE, Y_PLANE)
    display = BoundaryDisplay.from_estimator(
        model, X_PLANE, Y_PLANE, taus=[0.3, 0.6], grid_resolution=15
    )
    grid = np.column_stack((display.xx0.ravel(), display.xx1.ravel()))
    for tau, response in zip((0.3, 0.6), display.responses, strict=True):
        assert_array_equal(response.ravel() >= 0.0, model.predict(grid, tau=tau) == 1)


def test_where_all_is_one_class_there_is_no_boundary():
    display = BoundaryDisplay.from_estimator(plane(), X_PLANE, Y_PLANE, taus=[0.0, 0.5, 1.0])
    assert [contour is None for contour in display.contours_] == [True, False, True]


def test_one_tau_has_two_sides():
    display = BoundaryDisplay.from_estimator(plane(), X_PLANE, taus=0.4, labels=False)
    assert display.surface_ is not None and display.samples_ == []
    assert display.ax_.get_legend() is None


def test_every_boundary_is_labelled_once():
    display = BoundaryDisplay.from_estimator(plane(), X_PLANE, Y_PLANE)
    texts = [text.get_text() for contour in display.contours_ for text in contour.labelTexts]
    assert texts == [rf"$\tau$ = {tau}" for tau in (0.1, 0.3, 0.5, 0.7, 0.9)]


# --- coefficients --------------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
@pytest.mark.parametrize("wide", [False, True])
def test_coefficients_are_those_of_the_path_at_every_tau(intercept, wide):
    features = RNG.normal(size=(40, 60)) if wide else X
    model = QuantileSVC(C=0.5, intercept=intercept).fit(features, Y[: len(features)])
    display = CoefficientDisplay.from_estimator(model)
    order = [int(name.removeprefix("x")) - 1 for name in display.feature_names]
    assert sorted(order) == list(range(features.shape[1]))
    for tau in TAUS:
        found = [np.interp(tau, display.taus, coef) for coef in display.coef]
        assert_allclose(found, model.path_.coef(tau)[order], rtol=0, atol=1e-10)
    largest = np.abs(display.coef).max(axis=1)
    assert (np.diff(largest) <= 0.0).all()


def test_coefficients_of_quantiles_by_name():
    frame = pd.DataFrame(X_THREE, columns=["a", "b", "c"])
    model = make_pipeline(StandardScaler(), QuantileSVR(C=0.2)).fit(frame, Y_THREE)
    display = CoefficientDisplay.from_estimator(model, max_features=2, n_labels=1)
    assert display.feature_names == ["b", "a"]
    for tau in TAUS[::10]:
        found = [np.interp(tau, display.taus, coef) for coef in display.coef]
        assert_allclose(found, model[-1].path_.coef(tau)[[1, 0]], rtol=0, atol=1e-10)
    assert [label.get_text() for label in display.labels_] == ["b"]
    assert [line.get_color() == PALETTE[0] for line in display.lines_] == [True, False]
    assert_array_equal(display.lines_[1].get_ydata(), display.coef[1])
    named = CoefficientDisplay.from_estimator(three(), feature_names=["x", "y", "z"])
    assert named.feature_names == ["y", "x", "z"]


# --- fan -----------------------------------------------------------------------------------------


def test_fan_along_one_feature_is_what_is_predicted():
    quantiles = [0.1, 0.5, 0.8]
    display = QuantileFanDisplay.from_estimator(
        curve(), X_LINE, Y_LINE, quantiles=quantiles, grid_resolution=25
    )
    assert_allclose(display.x, np.linspace(X_LINE.min(), X_LINE.max(), 25))
    assert_array_equal(display.values, curve().predict(display.x[:, None], quantile=quantiles))
    assert (np.diff(display.values, axis=1) >= 0.0).all()
    drawn = np.asarray(display.samples_.get_offsets())
    assert_array_equal(drawn, np.column_stack((X_LINE[:, 0], Y_LINE)))
    for k, line in enumerate(display.lines_):
        assert_array_equal(line.get_ydata(), display.values[:, k])
    assert len(display.bands_) == 2
    assert [label.get_text() for label in display.labels_] == ["10 %", "median", "80 %"]


@pytest.mark.parametrize("form", ["array", "pandas", "polars"])
def test_fan_along_one_of_several_features_keeps_the_others_at_their_medians(form):
    names = ["a", "b", "c"]
    frame = {
        "array": X_THREE,
        "pandas": pd.DataFrame(X_THREE, columns=names),
        "polars": pl.DataFrame(X_THREE, schema=names),
    }[form]
    model = make_pipeline(StandardScaler(), QuantileSVR(C=0.2)).fit(frame, Y_THREE)
    display = QuantileFanDisplay.from_estimator(
        model, frame, feature=1 if form == "array" else "b", quantiles=[0.2, 0.7]
    )
    grid = np.tile(np.median(X_THREE, axis=0), (200, 1))
    grid[:, 1] = display.x
    mean, scale = X_THREE.mean(axis=0), X_THREE.std(axis=0)
    bare = QuantileSVR(C=0.2).fit((X_THREE - mean) / scale, Y_THREE)
    expected = bare.predict((grid - mean) / scale, quantile=[0.2, 0.7])
    assert_allclose(display.values, expected, rtol=0, atol=1e-9)
    assert display.samples_ is None


def test_fan_of_samples_is_sorted_by_the_median():
    display = QuantileFanDisplay.from_estimator(
        three(), X_THREE, Y_THREE, quantiles=[0.1, 0.5, 0.9]
    )
    predicted = three().predict(X_THREE, quantile=[0.1, 0.5, 0.9])
    order = np.argsort(predicted[:, 1])
    assert_array_equal(display.values, predicted[order])
    assert_array_equal(display.y_samples, Y_THREE[order])
    assert_array_equal(display.x, np.arange(1, 71))
    given = QuantileFanDisplay.from_predictions(
        Y_THREE, predicted, [0.1, 0.5, 0.9], x=X_THREE[:, 1]
    )
    order = np.argsort(X_THREE[:, 1])
    assert_array_equal(given.x, X_THREE[order, 1])
    assert_array_equal(given.values, predicted[order])
    assert_array_equal(given.y_samples, Y_THREE[order])
    sparse_x = QuantileFanDisplay.from_estimator(
        three(), sparse.csr_array(X_THREE), quantiles=[0.1, 0.5, 0.9]
    )
    assert_allclose(sparse_x.values, display.values, rtol=0, atol=1e-10)


# --- the gallery ---------------------------------------------------------------------------------


def test_figures_are_the_same_every_time(tmp_path, monkeypatch, capsys):
    monkeypatch.syspath_prepend(BENCHMARKS)
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        monkeypatch.setenv(variable, "1")
    figures = importlib.import_module("figures")
    for folder in ("a", "b"):
        argv = ["figures.py", "-o", str(tmp_path / folder), "--only", "performance"]
        monkeypatch.setattr(sys, "argv", argv)
        assert figures.main() == 0
    first, second = (tmp_path / folder / "performance.png" for folder in ("a", "b"))
    assert capsys.readouterr().out.splitlines() == [str(first), str(second)]
    assert first.read_bytes().startswith(b"\x89PNG")
    assert first.read_bytes() == second.read_bytes()
