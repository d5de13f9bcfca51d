"""Rearranged functions: the same values, in order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import taupath as tp
from taupath.estimators.rearrangement import increasing_rearrangement, sorted_quantiles

QUANTILES = [0.9, 0.1, 0.25, 0.5]


def crossing_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2))
    return X, X[:, 0] + rng.standard_normal(30), np.vstack((X, rng.standard_normal((40, 2))))


@pytest.mark.parametrize("seed", range(6))
def test_all_quantiles_at_once_are_those_found_one_by_one(seed):
    rng = np.random.default_rng(seed)
    taus = np.sort(np.append(rng.uniform(size=60), [0.0, 1.0]))
    values = rng.standard_normal(62)
    values[20:25] = values[20]  # flat
    taus[40] = taus[41]  # a jump
    levels, ends = increasing_rearrangement(taus, values)
    assert (np.diff(levels) >= 0.0).all() and (np.diff(ends) >= 0.0).all()
    assert (levels[0], levels[-1]) == (0.0, 1.0)
    quantiles = np.linspace(0.0, 1.0, 203)
    found = np.interp(quantiles, levels, ends)
    expected = sorted_quantiles(taus, values, quantiles)
    assert_allclose(found, expected, atol=1e-9)


def test_an_increasing_function_stays_as_it_is():
    taus = np.array([0.0, 0.2, 0.7, 1.0])
    values = np.array([-1.0, 0.5, 0.6, 4.0])
    levels, ends = increasing_rearrangement(taus, values)
    grid = np.linspace(0.0, 1.0, 50)
    assert_allclose(np.interp(grid, levels, ends), np.interp(grid, taus, values), atol=1e-12)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("unit", [1e-30, 1e-12, 1e-9, 1e9, 1e30])
def test_the_unit_of_y_is_that_of_predictions(kernel, unit):
    X, y, new = crossing_data()
    expected = tp.QuantileSVR(C=1.0, kernel=kernel).fit(X, y).predict(new, QUANTILES)
    model = tp.QuantileSVR(C=unit, kernel=kernel).fit(X, unit * y)
    found = model.predict(new, QUANTILES)
    assert_allclose(found / unit, expected, rtol=0.0, atol=1e-12)
    for k, quantile in enumerate(QUANTILES):
        assert_allclose(model.predict(new, quantile) / unit, found[:, k] / unit, atol=1e-13)
    narrow, wide = (model.predict_interval(new, coverage) for coverage in (0.5, 0.9))
    assert (wide[:, 0] <= narrow[:, 0]).all() and (narrow[:, 1] <= wide[:, 1]).all()


@pytest.mark.filterwarnings("ignore::taupath.exceptions.InexactPathWarning")  # of shifts by 1e8
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("shift", [-1e6, 1e6, 1e8, 1e12])
def test_a_constant_added_to_y_is_added_to_predictions(kernel, shift):
    X, y, new = crossing_data()
    expected = tp.QuantileSVR(C=1.0, kernel=kernel).fit(X, y).predict(new, QUANTILES)
    found = tp.QuantileSVR(C=1.0, kernel=kernel).fit(X, y + shift).predict(new, QUANTILES)
    rounding = 100.0 * np.finfo(float).eps * abs(shift)  # of shifted y, and of solutions for it
    assert_allclose(found - shift, expected, rtol=0.0, atol=rounding)


@pytest.mark.parametrize(("unit", "shift"), [(1e-30, 0.0), (1e-12, 0.0), (1e30, 0.0), (1.0, 1e6)])
def test_the_unit_and_the_zero_of_y_do_not_matter_to_a_search(unit, shift):
    X, y, new = crossing_data()

    def fitted(target):
        return tp.QuantileSVRCV(cv=3, Cs=[0.3, 3.0]).fit(X, target)

    expected, model = fitted(y), fitted(unit * y + shift)
    assert (model.kernel_, model.C_) == (expected.kernel_, expected.C_)
    rounding = max(1e-11, 1000.0 * np.finfo(float).eps * shift)
    for name, asked in (("predict", QUANTILES), ("predict_interval", 0.8)):
        found, same = (getattr(each, name)(new, asked) for each in (model, expected))
        assert_allclose((found - shift) / unit, same, rtol=0.0, atol=rounding)
