"""Standardisation: weighted moments of columns, exact where a column is constant."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import StandardScaler

import taupath as tp
from taupath.estimators.candidates import Standardization, mean_and_deviation
from taupath.validation import Checked


def dense(features):
    return features.toarray() if sp.issparse(features) else features


def weighted_data(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 40))
    X = rng.integers(-2, 3, (n, 4)) * 10.0 ** rng.integers(-3, 4)
    X[:, 1] = rng.choice([0.1, 0.3, 1.0, 1e6, 1e-7, 123456.789])
    X[:, 2] += rng.choice([0.0, 1e4])
    weight = rng.uniform(0.1, 5.0, n) * np.append([1, 1], rng.integers(0, 3, n - 2))
    return X, weight * 10.0 ** rng.integers(-30, 30)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, sp.csc_array])
def test_moments_are_right_and_constant_columns_have_no_deviation(form):
    for seed in range(200):
        X, weight = weighted_data(seed)
        there = weight > 0.0
        share = weight[there] / weight[there].sum()
        mean, deviation = mean_and_deviation(form(X), weight)
        long = X[there].astype(np.longdouble)
        expected = np.sqrt(share @ (long - share @ long) ** 2).astype(float)
        constant = (X[there] == X[there][0]).all(axis=0)
        assert_array_equal(deviation[constant], 0.0)
        assert_array_equal(mean[constant], X[there][0, constant])
        assert_allclose(deviation[~constant], expected[~constant], rtol=1e-12)
        assert_allclose(mean, share @ long, rtol=1e-12, atol=1e-13 * np.abs(X).max())


@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_the_variance_is_that_of_all_entries_after_scaling(form, standardize):
    for seed in range(50):
        X, weight = weighted_data(seed)
        found = Standardization.of(Checked(form(X)), weight, standardize)
        after = dense(found.scaler.transform(form(X))) if standardize else X
        middle = np.average(after.mean(axis=1), weights=weight)
        expected = np.average(((after - middle) ** 2).mean(axis=1), weights=weight)
        assert found.variance == pytest.approx(expected, rel=1e-9, abs=1e-20)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_without_weights_it_is_the_scaler_of_scikit_learn(form):
    X = form(np.random.default_rng(0).poisson(1.0, (60, 5)) * [1.0, 10.0, 0.0, 0.1, 3.0])
    own = Standardization.of(Checked(X), np.ones(60), True).scaler
    other = StandardScaler(with_mean=form is np.asarray).fit(X)
    for name in ("mean_", "var_", "scale_", "n_samples_seen_", "n_features_in_"):
        assert_allclose(getattr(own, name), getattr(other, name), rtol=1e-13)


def test_a_column_that_varies_by_rounding_only_is_constant():
    X = np.column_stack((np.arange(20.0), np.where(np.arange(20) % 2, 0.3, 0.1 + 0.2)))
    assert mean_and_deviation(X, np.ones(20))[1][1] == 0.0


def test_a_constant_column_with_weights_gives_no_warning():
    rng = np.random.default_rng(4)
    X = rng.integers(-2, 3, (20, 2)).astype(float)
    X[:, 1] = 1.0
    y, weight = (rng.random(20) < 0.5).astype(int), rng.uniform(0.1, 5.0, 20)
    for form in (np.asarray, sp.csr_array):
        tp.QuantileSVCCV(kernel="linear", Cs=[1.0], cv=2).fit(form(X), y, sample_weight=weight)
        tp.QuantileSVRCV(kernel="linear", Cs=[1.0], cv=2).fit(
            form(X), rng.standard_normal(20), sample_weight=weight
        )


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_weights_does_not_matter_to_columns_far_from_zero(unit):
    X = 100.0 + 0.01 * np.random.default_rng(0).standard_normal((30, 2))
    X[:, 1] = 0.1
    found = mean_and_deviation(X, unit * np.arange(1.0, 31.0))
    assert_allclose(found, mean_and_deviation(X, np.arange(1.0, 31.0)), rtol=1e-12)
    assert found[1][0] > 0.0 and found[1][1] == 0.0


@pytest.mark.parametrize("value", [0.1, 123456.789])
def test_a_constant_y_has_the_unit_one_whatever_the_weights(value):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 2)), np.full(20, value)
    model = tp.QuantileSVRCV(kernel="linear", Cs=[1.0], cv=2)
    model.fit(X, y, sample_weight=rng.uniform(0.1, 5.0, 20))
    assert model.path_.C == 1.0
    assert_allclose(model.predict(X), value, rtol=1e-12)
