"""Displays of sparse and fair paths: what they keep is what the paths say."""

import matplotlib
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_breast_cancer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

import taupath as tp
from taupath.display import FeatureEntryDisplay, FrontierDisplay

matplotlib.use("Agg")

pytestmark = pytest.mark.usefixtures("no_figures_left")

DATA = load_breast_cancer()
X, Y = scale(DATA.data), DATA.target
GROUP = np.where(X[:, 0] > 0.0, "large", "small")
TAU = 0.3


def inside(ranges, value):
    return np.array([((own[:, 0] < value) & (value < own[:, 1])).any() for own in ranges])


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(lambda: tp.sparsity_path(X, Y, TAU, 1.0), id="over l1"),
        pytest.param(lambda: tp.quantile_path(X, Y, 1.0, l1=10.0), id="over tau"),
        pytest.param(lambda: tp.quantile_path(X, Y, 1.0, l1=10.0, n_jobs=2), id="two threads"),
        pytest.param(lambda: tp.fairness_path(X, Y, GROUP, TAU, l1=5.0), id="over rho"),
        pytest.param(
            lambda: tp.quantile_regression_path(X[:60], X[:60, 0] + 100.0 * X[60:120, 1], l1=3.0),
            id="regression",
        ),
    ],
)
def test_ranges_are_where_weights_are_not_zero(path):
    path = path()
    ranges = path.nonzero_ranges()
    assert len(ranges) == 30
    begin, end = path.tau_range
    wide = np.flatnonzero(np.diff(path.taus) > 1e-8 * (end - begin))
    for k in np.random.default_rng(0).choice(wide, 40, replace=False):
        value = float(path.taus[k : k + 2].mean())
        assert_array_equal(inside(ranges, value), path.coef(value) != 0.0)


def test_ranges_are_for_paths_with_extra_rows():
    with pytest.raises(ValueError, match="for paths with l1 or constraints"):
        tp.quantile_path(X, Y).nonzero_ranges()


def test_bars_of_features_are_their_ranges():
    path = tp.sparsity_path(X, Y, TAU, 1.0)
    ranges = path.nonzero_ranges()
    display = FeatureEntryDisplay.from_path(path, feature_names=DATA.feature_names, max_features=9)
    length = [sum(own[:, 1] - own[:, 0]) for own in ranges]
    longest = np.argsort(-np.array(length), kind="stable")[:9]
    assert display.feature_names == DATA.feature_names[longest].tolist()
    for j, own, signs in zip(longest, display.ranges, display.signs, strict=True):
        assert_array_equal(own, ranges[j])
        assert_array_equal(signs, [np.sign(path.coef(at)[j]) for at in own.mean(axis=1)])
    assert [len(bars.get_paths()) for bars in display.bars_] == list(map(len, display.ranges))
    assert display.ax_.get_xlabel() == r"$\lambda_1$"


def test_estimators_have_names():
    import pandas as pd

    frame = pd.DataFrame(DATA.data, columns=DATA.feature_names)
    svm = tp.QuantileSVC(l1=30.0)
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), svm).fit(frame, Y)
    display = FeatureEntryDisplay.from_estimator(model)
    assert 0 < len(display.ranges) == 30 - display.n_unused
    assert f"{display.n_unused} features never" in display.ax_.get_title(loc="left")
    assert set(display.feature_names) <= set(DATA.feature_names)


@pytest.mark.parametrize("over", ["l1", "rho"])
def test_costs_are_those_of_the_decisions(over):
    half, rest = np.arange(0, 569, 2), np.arange(1, 569, 2)
    if over == "l1":
        path = tp.sparsity_path(X[half], Y[half], TAU, 1.0)
    else:
        path = tp.fairness_path(X[half], Y[half], GROUP[half], TAU)
    weight = np.random.default_rng(0).integers(1, 3, len(rest)).astype(float)
    display = FrontierDisplay.from_path(
        path, X[rest], Y[rest], group=GROUP[rest], sample_weight=weight
    )
    assert (display.values[0], display.values[-1]) == path.tau_range
    costs = np.where(Y[rest] == 1, 2.0 * (1.0 - TAU), 2.0 * TAU) * weight / weight.sum()
    apart = np.flatnonzero(np.diff(display.values) > 1e-9)
    for k in np.random.default_rng(1).choice(apart, 30):
        value = display.values[k : k + 2].mean()
        decided = path.decision_function(X[rest], value) >= 0.0
        assert_allclose(display.cost[k + 1], costs @ (decided != (Y[rest] == 1)), rtol=1e-12)
        own = [
            np.average(decided[GROUP[rest] == one], weights=weight[GROUP[rest] == one])
            for one in ("large", "small")
        ]
        assert_allclose(display.shares[:, k + 1], own, rtol=1e-12)
        if over == "l1":
            assert display.n_features[k + 1] == path.n_nonzero(value)
    if over == "l1":
        assert display.n_features[0] == path.n_nonzero(0.0)
    assert_array_equal(display.line_.get_ydata(), display.cost)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"path": "path"}, "path must be a SolutionPath"),
        ({"y": Y[:40]}, "X has 569 rows, y has 40"),
        ({"y": Y + 5}, "labels that the estimator was not fitted with"),
        ({"group": np.arange(569)}, "two values"),
        ({"group": GROUP[:5]}, "X has 569 rows"),
        ({"group": np.ones(569)}, "single value"),
        ({"X": X[:, :3]}, "3 features"),
    ],
)
def test_bad_input_is_named(given, message):
    path = tp.sparsity_path(X, Y, TAU, 0.01)
    arguments = {"path": path, "X": X, "y": Y} | given
    with pytest.raises((ValueError, TypeError), match=message):
        FrontierDisplay.from_path(**arguments)


def test_a_path_over_tau_has_no_frontier():
    with pytest.raises(ValueError, match="one of sparsity_path or fairness_path"):
        FrontierDisplay.from_path(tp.quantile_path(X, Y), X, Y)


def test_bad_features_are_named():
    path = tp.sparsity_path(X, Y, TAU, 0.01)
    with pytest.raises(ValueError, match="feature_names has 2 names"):
        FeatureEntryDisplay.from_path(path, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="max_features"):
        FeatureEntryDisplay.from_path(path, max_features=0)
    with pytest.raises(TypeError, match="must be a SolutionPath"):
        FeatureEntryDisplay.from_path(X)
    with pytest.raises(ValueError, match="for paths with l1"):
        FeatureEntryDisplay.from_estimator(tp.QuantileSVC().fit(X, Y))


def assert_ranges_fit(path, n_values=100):
    ranges, (begin, end) = path.nonzero_ranges(), path.tau_range
    for value in np.random.default_rng(0).uniform(begin, end, n_values):
        assert_array_equal(inside(ranges, value), path.coef(value) != 0.0)
    assert all((own[:, 1] > own[:, 0]).all() for own in ranges)


@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1.0, 1e2])
@pytest.mark.parametrize("seed", range(4))
def test_ranges_fit_whatever_the_unit_of_the_features(scale, seed):
    rng = np.random.default_rng(seed)
    X = scale * rng.standard_normal((26, 2))
    y = np.where(X[:, 0] + scale * rng.standard_normal(26) > 0.0, 1, 0)
    assert_ranges_fit(tp.quantile_path(X, y, C=1.0, l1=3.0 * scale))


def test_ranges_fit_where_weights_are_small():
    letters = [0, 3, 0, 0, 2, 1, 0, 2, 2, 2, 1, 2, 3, 0, 2, 3, 0, 2, 2, 2, 2, 0, 0, 1, 2]
    y = [2, 3, 1, 2, -1, 1, 3, -3, 1, -2, -1, 1, -1, -3, 3, -3, -1, -2, -2, 0, 2, -1, 3, 0, -2]
    given = {"C": 0.0070840118, "l1": 3.6185924e-6, "intercept": "none"}
    rule = tp.Bound([1.0, 0.0, 1.0, -1.0], -0.1, -0.1)
    path = tp.quantile_regression_path(np.eye(4)[letters], y, constraints=[rule], **given)
    assert path.coef(0.9)[1] > 1e-3
    assert_ranges_fit(path)
