"""A first fit that misses a pattern says so, and one that misses none is silent."""

import pickle
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.base import clone

from taupath import MissedPatternWarning, QuantileSVR, QuantileSVRCV
from taupath.estimators.missed_pattern import FEWEST_SAMPLES, LEVELS, MOST_SAMPLES, agreement


def curve(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3.0, 3.0, size=(n, 1))
    return X, np.sin(2.0 * X[:, 0]) + 0.2 * rng.normal(size=n)


def line(n=120, seed=0, d=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X.sum(axis=1) + (0.3 + 0.2 * np.abs(X[:, 0])) * rng.normal(size=n)


def silent(model, X, y, **given):
    """Return the model, fitted; any warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, y, **given)


def test_a_line_through_a_curve_is_pointed_out():
    X, y = curve()
    with pytest.warns(MissedPatternWarning, match="misses a pattern. QuantileSVRCV standardises"):
        QuantileSVR().fit(X, y)
    silent(QuantileSVR(C=10.0, kernel="rbf"), X, y)


def test_columns_of_different_scales_and_a_small_C_are_pointed_out():
    X, y = line()
    wide = X * [1.0, 1.0, 1e4]  # with RBF, only the last column is left
    with pytest.warns(MissedPatternWarning):
        QuantileSVR(10.0, kernel="rbf").fit(wide, y)
    silent(QuantileSVR(10.0, kernel="rbf"), X, y)
    with pytest.warns(MissedPatternWarning):
        QuantileSVR(1e-4).fit(X, y)


@pytest.mark.parametrize("seed", range(8))
def test_a_model_that_suits_its_samples_is_left_in_peace(seed):
    X, y = line(60 + 20 * seed, seed, 1 + seed)
    silent(QuantileSVR(), X, y)
    noise = np.random.default_rng(seed).exponential(size=len(y))
    silent(QuantileSVR(kernel="rbf"), X, noise)


def test_the_search_does_not_warn_of_what_it_tries():
    X, y = curve(60)
    silent(QuantileSVRCV([1.0], kernel="linear", cv=3), X, y)


def test_the_warning_points_to_the_caller():
    X, y = curve()
    with pytest.warns(MissedPatternWarning) as given:
        QuantileSVR().fit(X, y)
    assert given[0].filename == __file__


def test_few_samples_sparse_ones_and_kernel_matrices_are_not_judged():
    X, y = curve()
    silent(QuantileSVR(), X[: FEWEST_SAMPLES - 1], y[: FEWEST_SAMPLES - 1])
    silent(QuantileSVR(), sparse.csr_array(X), y)
    silent(QuantileSVR(kernel="precomputed"), X @ X.T, y)
    weight = np.where(np.arange(len(y)) < FEWEST_SAMPLES - 1, 1.0, 0.0)
    silent(QuantileSVR(), X, y, sample_weight=weight)


def test_of_many_samples_some_are_drawn():
    X, y = curve(MOST_SAMPLES + 200)
    with pytest.warns(MissedPatternWarning):
        QuantileSVR().fit(X, y)


def test_copies_are_not_neighbours():
    rng = np.random.default_rng(1)
    X, residual = rng.normal(size=(60, 2)), rng.normal(size=(60, len(LEVELS)))
    twice, both = np.repeat(X, 2, axis=0), np.repeat(residual, 2, axis=0)
    alone, copied = agreement(X, residual)[0], agreement(twice, both)[0]
    assert np.all(np.abs(alone) < 0.2) and np.all(np.abs(copied) < 0.25)
    nowhere = agreement(np.ones((60, 2)), residual)
    assert_allclose(nowhere, 0.0)


def test_agreement_counts_neighbours_on_the_same_side():
    X = np.arange(60.0)[:, np.newaxis]
    above = np.where(X < 30.0, -1.0, 1.0) * np.ones(len(LEVELS))
    correlation, errors = agreement(X, above)
    assert correlation[1] > 0.9 and errors[1] > 4.0
    in_turn = np.where(X % 2.0 == 0.0, -1.0, 1.0) * np.ones(len(LEVELS))
    assert agreement(X, in_turn)[0][1] < 0.0
    # on the quantiles themselves, on no side
    assert_allclose(agreement(X, np.zeros((60, len(LEVELS)))), 0.0)


def test_what_is_fitted_is_the_same_with_the_warning_or_without():
    X, y = curve()
    with pytest.warns(MissedPatternWarning):
        model = QuantileSVR().fit(X, y)
    again = clone(pickle.loads(pickle.dumps(model)))
    again._warns_of_patterns = False
    assert_allclose(silent(again, X, y).predict(X), model.predict(X))
