"""Displays: axes, estimators in any form, and what is refused."""

import subprocess
import sys
from functools import cache
from itertools import pairwise
from pathlib import Path

import matplotlib
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from display_models import (
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
)
from taupath import QuantileSVC, QuantileSVCCV, QuantileSVR
from taupath.display import (
    BoundaryDisplay,
    CoefficientDisplay,
    DecisionCurveDisplay,
    PerformanceDisplay,
    QuantileFanDisplay,
    ReliabilityDisplay,
    RocDisplay,
)
from taupath.display.drawing import label_ends

matplotlib.use("Agg")
import matplotlib.pyplot as plt

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


pytestmark = pytest.mark.usefixtures("no_figures_left")


# --- what all have in common ---------------------------------------------------------------------


@cache
def proba():
    return linear().predict_proba(X_NEW)[:, 1]


MAKE = {
    "performance": lambda **kw: PerformanceDisplay.from_estimator(linear(), X_NEW, Y_NEW, **kw),
    "performance of predictions": lambda **kw: PerformanceDisplay.from_predictions(
        Y_NEW, proba(), **kw
    ),
    "roc": lambda **kw: RocDisplay.from_estimator(
        linear(), X_NEW, Y_NEW, cost_fp=1, cost_fn=2, **kw
    ),
    "roc of predictions": lambda **kw: RocDisplay.from_predictions(Y_NEW, proba(), **kw),
    "decision curve": lambda **kw: DecisionCurveDisplay.from_estimator(
        linear(), X_NEW, Y_NEW, **kw
    ),
    "decision curve of predictions": lambda **kw: DecisionCurveDisplay.from_predictions(
        Y_NEW, proba(), **kw
    ),
    "reliability": lambda **kw: ReliabilityDisplay.from_estimator(linear(), X_NEW, Y_NEW, **kw),
    "reliability of predictions": lambda **kw: ReliabilityDisplay.from_predictions(
        Y_NEW, proba(), **kw
    ),
    "boundary": lambda **kw: BoundaryDisplay.from_estimator(plane(), X_PLANE, Y_PLANE, **kw),
    "coefficients": lambda **kw: CoefficientDisplay.from_estimator(linear(), **kw),
    "fan": lambda **kw: QuantileFanDisplay.from_estimator(curve(), X_LINE, Y_LINE, **kw),
    "fan of predictions": lambda **kw: QuantileFanDisplay.from_predictions(
        Y_LINE, curve().predict(X_LINE, quantile=[0.1, 0.9]), [0.1, 0.9], **kw
    ),
}


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())
def test_it_draws_on_new_axes_or_on_those_given(make):
    display = make()
    assert len(plt.get_fignums()) == 1
    assert display.figure_ is plt.gcf() and display.ax_ is plt.gca()
    assert display.ax_.get_xlabel() and display.ax_.get_ylabel()
    display.figure_.canvas.draw()
    figure, (left, right) = plt.subplots(1, 2)
    given = make(ax=right)
    assert given.ax_ is right and given.figure_ is figure
    assert not left.has_data() and right.has_data()
    assert given.plot(ax=left) is given and given.ax_ is left and left.has_data()
    assert len(plt.get_fignums()) == 2
    figure.canvas.draw()


@pytest.mark.parametrize("make", MAKE.values(), ids=MAKE.keys())
def test_without_matplotlib_it_says_what_to_install(make, monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ImportError, match=r"Display.from_\w+ needs.* -m pip install matplotlib$"):
        make()


def test_arrays_need_no_matplotlib_but_plot_does(monkeypatch):
    for name in ("matplotlib", "matplotlib.pyplot"):
        monkeypatch.setitem(sys.modules, name, None)
    display = RocDisplay(np.array([1.0, 0.0]), np.array([1.0, 0.0]), np.array([0.0, 1.0]))
    with pytest.raises(ImportError, match=r"RocDisplay.plot needs.* -m pip install matplotlib$"):
        display.plot()


def test_importing_displays_does_not_import_matplotlib():
    code = "import sys, taupath.display; sys.exit('matplotlib' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    "make", [PerformanceDisplay, RocDisplay, DecisionCurveDisplay, ReliabilityDisplay]
)
@pytest.mark.parametrize("kind", ["pipeline", "search", "cv", "sparse", "precomputed"])
def test_estimators_in_other_forms(make, kind):
    scaler = StandardScaler().fit(X)
    bare = QuantileSVC(C=0.5, kernel="rbf", gamma=1.0).fit(scaler.transform(X), Y)
    new = scaler.transform(X_NEW)
    expected = make.from_estimator(bare, new, Y_NEW)
    if kind == "cv":
        other = QuantileSVCCV(
            [0.5], cv=2, kernel="rbf", gamma=1.0, combine="best", standardize=False
        ).fit(scaler.transform(X), Y)
        found = make.from_estimator(other, new, Y_NEW)
    elif kind == "sparse":
        found = make.from_estimator(bare, sparse.csr_array(new), Y_NEW)
    elif kind == "precomputed":
        K = rbf_kernel(scaler.transform(X), gamma=1.0)
        other = QuantileSVC(C=0.5, kernel="precomputed").fit(K, Y)
        found = make.from_estimator(other, rbf_kernel(new, scaler.transform(X), 1.0), Y_NEW)
    else:
        other = make_pipeline(StandardScaler(), clone_of(bare))
        if kind == "search":
            other = GridSearchCV(other, {"quantilesvc__C": [0.5]}, cv=2)
        found = make.from_estimator(other.fit(X, Y), X_NEW, Y_NEW)
        assert found.estimator_name == "QuantileSVC"
    arrays = {name: value for name, value in vars(expected).items() if type(value) is np.ndarray}
    assert len(arrays) >= 3
    for name, value in arrays.items():
        assert_allclose(getattr(found, name), value, rtol=0, atol=1e-9)


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
def test_samples_of_a_third_class_without_weight_are_no_columns_of_a_kernel():
    labels = np.arange(len(X)) % 3
    model = QuantileSVC(kernel="precomputed").fit(X @ X.T, labels, sample_weight=labels < 2)
    own = labels < 2
    K = (X @ X.T)[own]
    display = PerformanceDisplay.from_estimator(model, K, labels[own])
    for tau in TAUS:
        k = np.searchsorted(display.taus, tau) - 1
        accuracy = np.mean(model.predict(K, tau=tau) == labels[own])
        assert display.accuracy[k] == pytest.approx(accuracy, abs=1e-14)


def test_a_pipeline_of_one_step():
    model = make_pipeline(QuantileSVC(C=0.5)).fit(X, Y)
    display = CoefficientDisplay.from_estimator(model, n_labels=0)
    assert_allclose(display.coef, CoefficientDisplay.from_estimator(linear()).coef, atol=1e-12)
    assert display.labels_ == []


def clone_of(model):
    return type(model)(**model.get_params())


def test_pipelines_and_frames_in_the_plane():
    frame = pd.DataFrame(X_PLANE, columns=["left", "right"])
    model = make_pipeline(StandardScaler(), QuantileSVC(C=1.0)).fit(frame, Y_PLANE)
    display = BoundaryDisplay.from_estimator(
        model, frame, Y_PLANE, taus=[0.3, 0.7], grid_resolution=9
    )
    grid = np.column_stack((display.xx0.ravel(), display.xx1.ravel()))
    scaled = (grid - X_PLANE.mean(axis=0)) / X_PLANE.std(axis=0)
    expected = model[-1].path_.decision_function(scaled, [0.3, 0.7])
    assert_allclose(display.responses.reshape(2, -1).T, expected, rtol=0, atol=1e-10)
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("left", "right")


def test_labels_at_line_ends_are_in_order_and_apart():
    _, ax = plt.subplots()
    ax.set(xlim=(0, 1), ylim=(0, 1))
    heights = [0.5, 0.5, 0.99, 0.51, 1.0]
    labels = label_ends(ax, 1.0, heights, list("abcde"), ["k"] * 5)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in labels]
    y = np.array([label.xyann[1] for label in labels])
    assert y[0] < y[1] < y[3] < y[2] < y[4] <= 1.0
    ordered = sorted(boxes, key=lambda box: box.y0)
    for lower, upper in pairwise(ordered):
        assert lower.y0 + 8.9 <= upper.y0  # pixels; earlier matplotlib sets text 0.04 lower


# --- bad input -----------------------------------------------------------------------------------

OF_CLASSIFIERS = [PerformanceDisplay, RocDisplay, DecisionCurveDisplay, ReliabilityDisplay]


@cache
def three_classes():
    return QuantileSVC().fit(X, np.arange(len(X)) % 3)


@cache
def rbf():
    return QuantileSVC(kernel="rbf").fit(X_PLANE, Y_PLANE)


@pytest.mark.parametrize("display", [*OF_CLASSIFIERS, BoundaryDisplay])
def test_bad_classifiers(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(QuantileSVC(), X, Y)
    with pytest.raises(NotFittedError):
        display.from_estimator(make_pipeline(StandardScaler(), QuantileSVC()), X, Y)
    with pytest.raises(ValueError, match=r"'estimator' to be a binary classifier. Got 3 classes"):
        display.from_estimator(three_classes(), X, Y)
    with pytest.raises(ValueError, match=r"to be a binary classifier. Got QuantileSVR"):
        display.from_estimator(three(), X_THREE, Y_THREE)
    with pytest.raises((AttributeError, TypeError), match=r"predict_proba|must be a QuantileSVC"):
        display.from_estimator(LinearSVC().fit(X, Y), X, Y)
    assert plt.get_fignums() == []


@pytest.mark.parametrize("display", OF_CLASSIFIERS)
def test_bad_samples(display):
    for wrong, message in (
        (np.where(Y == "no", "no", "other"), "y has labels .* not fitted with: 'other'"),
        (np.full(len(X), "no"), "y must have exactly two classes"),
        (Y[:-1], "inconsistent numbers of samples"),
    ):
        with pytest.raises(ValueError, match=message):
            display.from_estimator(linear(), X, wrong)
    with pytest.raises(ValueError, match="X has 2 features, but QuantileSVC is expecting 3"):
        display.from_estimator(linear(), X[:, :2], Y)
    if display is not ReliabilityDisplay:
        with pytest.raises(ValueError, match="sample_weight"):
            display.from_estimator(linear(), X, Y, sample_weight=[1.0])


@pytest.mark.parametrize("display", OF_CLASSIFIERS)
def test_bad_predictions(display):
    for y_true, y_proba, message in (
        ([0, 1, 2], [0.1, 0.2, 0.3], "y_true must have labels of two classes, got multiclass"),
        ([1, 1], [0.1, 0.2], "y_true must have exactly two classes, got one only: 1"),
        ([0, 1], [0.1, 0.2, 0.3], "y_proba has 3 values, y_true has 2"),
        ([0, 1], [0.1, 1.2], r"y_proba must lie in \[0, 1\], got 1.2"),
        ([0, 1], [0.1, np.nan], "y_proba must lie in"),
        ([0, 1], [[0.9, 0.1], [0.8, 0.2]], "y_proba must have one dimension"),
    ):
        with pytest.raises(ValueError, match=message):
            display.from_predictions(y_true, y_proba)
    with pytest.raises(TypeError, match="y_proba must be a number or an array of numbers"):
        display.from_predictions([0, 1], ["a", "b"])
    with pytest.raises(ValueError, match="pos_label=3 is not a label of y_true"):
        display.from_predictions([0, 1], [0.1, 0.9], pos_label=3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RocDisplay.from_estimator(linear(), X, Y, cost_fp=1), "cost_fn is missing"),
        (lambda: RocDisplay.from_estimator(linear(), X, Y, cost_fp=-1, cost_fn=1), "cost_fp"),
        (lambda: RocDisplay.from_estimator(linear(), X, Y, prevalence=0.1), "prevalence goes with"),
        (
            lambda: RocDisplay.from_estimator(linear(), X, Y, cost_fp=1, cost_fn=1, prevalence=2),
            "prevalence must lie",
        ),
        (
            lambda: DecisionCurveDisplay.from_predictions([0, 1], [0.1, 0.9], thresholds=[0, 1]),
            r"thresholds must lie in \[0, 1\), got 1.0",
        ),
        (lambda: ReliabilityDisplay.from_estimator(linear(), X, Y, n_bins=0), "n_bins"),
        (lambda: ReliabilityDisplay.from_estimator(linear(), X, Y, strategy="x"), "strategy"),
        (lambda: BoundaryDisplay.from_estimator(linear(), X, Y), "X must have two features.*got 3"),
        (
            lambda: BoundaryDisplay.from_estimator(plane(), X_PLANE[:, 0], Y_PLANE),
            "X must have two dimensions",
        ),
        (lambda: BoundaryDisplay.from_estimator(plane(), X_PLANE, taus=1.5), "taus must lie in"),
        (lambda: BoundaryDisplay.from_estimator(plane(), X_PLANE, taus=[]), "taus is empty"),
        (
            lambda: BoundaryDisplay.from_estimator(plane(), X_PLANE, grid_resolution=1),
            "grid_resolution",
        ),
        (
            lambda: BoundaryDisplay.from_estimator(
                QuantileSVC(kernel="precomputed").fit(X_PLANE @ X_PLANE.T, Y_PLANE), X_PLANE
            ),
            'kernel="precomputed"',
        ),
        (lambda: CoefficientDisplay.from_estimator(rbf()), "kernel='rbf' has no coefficients"),
        (lambda: CoefficientDisplay.from_estimator(three_classes()), "binary classifier"),
        (lambda: CoefficientDisplay.from_estimator(linear(), feature_names=["a"]), "feature_names"),
        (lambda: CoefficientDisplay.from_estimator(linear(), max_features=0), "max_features"),
        (lambda: CoefficientDisplay.from_estimator(linear(), n_labels=-1), "n_labels"),
        (lambda: QuantileFanDisplay.from_estimator(linear(), X), "to be a regressor"),
        (lambda: QuantileFanDisplay.from_estimator(curve(), X_LINE, Y_LINE[1:]), "inconsistent"),
        (lambda: QuantileFanDisplay.from_estimator(curve(), X_LINE, quantiles=[0.5]), "quantiles"),
        (
            lambda: QuantileFanDisplay.from_estimator(curve(), X_LINE, quantiles=[0.5, 0.1]),
            "quantiles must increase",
        ),
        (
            lambda: QuantileFanDisplay.from_estimator(curve(), X_LINE, quantiles=[0.5, 1.1]),
            "quantiles must lie",
        ),
        (lambda: QuantileFanDisplay.from_estimator(three(), X_THREE, feature=3), "feature=3"),
        (lambda: QuantileFanDisplay.from_estimator(three(), X_THREE, feature="a"), "feature='a'"),
        (
            lambda: QuantileFanDisplay.from_predictions([0.0], [[1.0, 2.0]], [0.1, 0.5, 0.9]),
            r"y_quantiles must have shape \(n_samples, 3\), got \(1, 2\)",
        ),
        (
            lambda: QuantileFanDisplay.from_predictions([0.0], [[1.0, 2.0]], [0.1, 0.5], x=[1, 2]),
            r"x must have shape \(1,\)",
        ),
    ],
)
def test_bad_arguments_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
    assert plt.get_fignums() == []


def test_estimators_that_have_no_path():
    for display, arguments in ((CoefficientDisplay, ()), (QuantileFanDisplay, (X_THREE,))):
        with pytest.raises(TypeError, match="got LinearRegression"):
            display.from_estimator(LinearRegression().fit(X_THREE, Y_THREE), *arguments)
        with pytest.raises(NotFittedError):
            display.from_estimator(QuantileSVR(), *arguments)
