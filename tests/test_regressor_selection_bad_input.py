"""QuantileSVRCV and QuantileSVR with bad input: each is refused in one line, or works."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GroupKFold

from taupath import QuantileSVR, QuantileSVRCV


def unscaled(n=60, seed=0):
    """Return samples of two features and numbers, all in units of their own."""
    rng = np.random.default_rng(seed)
    Z = rng.uniform(-2.0, 2.0, size=(n, 2))
    noise = (0.2 + 0.1 * (Z[:, 1] + 2.0)) * rng.normal(size=n)
    return Z * [1e3, 0.01] + [5e3, 7.0], 200.0 + 40.0 * (np.sin(2.0 * Z[:, 0]) + noise)


X, Y = unscaled()
NEW, Y_NEW = unscaled(40, seed=1)


@pytest.mark.parametrize("standardize", [True, False])
def test_what_does_not_vary_is_no_obstacle(standardize):
    given = QuantileSVRCV([1.0], gamma="scale", cv=3, standardize=standardize)
    flat = clone(given).fit(X, np.full(60, 7.0))
    assert_allclose(flat.predict_interval(NEW), 7.0, rtol=1e-12)
    assert_array_equal(flat.pinball_, 0.0)
    with_constant = np.column_stack((X, np.full(60, 3.0)))
    model = clone(given).fit(with_constant, Y)
    other = np.column_stack((NEW, np.full(40, 3.0)))
    if standardize:  # "scale" ignores the constant feature
        assert_allclose(model.predict(other), clone(given).fit(X, Y).predict(NEW), rtol=1e-6)
    nothing = clone(given).fit(np.ones((60, 2)), Y)
    below, above = np.sort(Y)[29:31]  # any value in between is a median
    median = nothing.predict(NEW)
    assert np.all((below - 1e-6 <= median) & (median <= above + 1e-6))
    # y that is constant in a fold
    jump = np.where(np.arange(60) < 20, Y, 7.0)
    halves = [(np.arange(20, 60), np.arange(20)), (np.arange(20), np.arange(20, 60))]
    assert np.isfinite(clone(given).set_params(cv=halves).fit(X, jump).predict(NEW)).all()


BAD = {
    "no C": ({"Cs": []}, "Cs is empty"),
    "none of them": ({"Cs": 0}, "Cs must be an integer of at least 1, got 0"),
    "too many": ({"Cs": 10**9}, "Cs must be at most 10000 values"),
    "a negative C": ({"Cs": [1.0, -1.0]}, "Cs must be finite and above 0, got -1.0"),
    "an unknown kernel": ({"kernel": ["rbf", "cubic"]}, "kernel must be one of .* got 'cubic'"),
    "no kernel": ({"kernel": []}, "kernel is empty"),
    "a kernel matrix": ({"kernel": "precomputed"}, "kernel='precomputed' .* use QuantileSVR"),
    "an unknown gamma": ({"gamma": "wide"}, "gamma must be one of .* got 'wide'"),
    "no gamma": ({"gamma": []}, "gamma must hold 1 to 10000 values, got 0"),
    "gamma of zero": ({"gamma": [0.0]}, "gamma must be finite and above 0"),
    "one fold": ({"cv": 1}, "cv must be an integer of at least 2, got 1"),
    "more folds than samples": ({"cv": 61}, "cv=61 asks for more folds .* n_samples=60"),
    "folds of nothing": ({"cv": []}, "cv must give for each fold samples"),
    "folds that hold out what they train on": (
        {"cv": [(np.arange(40), np.arange(30, 60))]},
        r"fold 0 does both with 10 of them \(sample 30 is one\)",
    ),
    "groups that are not given": ({"cv": GroupKFold(3)}, r"needs groups: give cv=list\("),
    "what makes no folds": ({"cv": "five"}, "cv must be a number of folds, or .* got 'five'"),
    "a quantile of two": ({"quantile": 2.0}, "quantile must lie"),
    "no jobs": ({"n_jobs": 0}, "n_jobs must be None, -1 or a number of jobs, got 0"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_makes_no_sense_is_refused(name):
    given, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        QuantileSVRCV(**given).fit(X, Y)


def test_what_is_of_another_kind_is_refused():
    for given, message in (
        ({"Cs": "many"}, "Cs must be a number of values, or the values, got 'many'"),
        ({"Cs": 0.5}, "Cs must be a number of values, or the values, got 0.5"),
        ({"kernel": 3}, "kernel must be one of .* got 3"),
        ({"conformal": 5}, "conformal must be True or False, got 5"),
        ({"standardize": "yes"}, "standardize must be True or False, got 'yes'"),
    ):
        with pytest.raises(TypeError, match=message):
            QuantileSVRCV(**given).fit(X, Y)
    with pytest.raises(ValueError, match=r"cv=5 asks for more folds .* n_samples=4"):
        QuantileSVRCV().fit(X[:4], Y[:4])
    with pytest.raises(NotFittedError):
        QuantileSVRCV().predict(X)
    with pytest.raises(NotFittedError):
        _ = QuantileSVRCV().best_estimator_


def spoilt(values, with_what):
    """Return a copy with another value in its fourth row."""
    values = values.copy()
    values[3] = with_what
    return values


@pytest.mark.parametrize("model", [QuantileSVR(), QuantileSVRCV([1.0], cv=3)])
def test_data_that_cannot_be_used_are_refused(model):
    for bad_X, bad_y, message in (
        (spoilt(X, np.nan), Y, r"X contains NaN \(first at \[3, 0\]\)"),
        (spoilt(X, np.inf), Y, r"X contains inf \(first at \[3, 0\]\)"),
        (X, spoilt(Y, np.nan), "y contains NaN"),
        (X, Y[:-1], "inconsistent numbers of samples"),
        (X[:0], Y[:0], "minimum of 1 is required"),
        (X[:, :0], Y, "minimum of 1 is required"),
        (X, 1e-200 * Y, "y is too small"),
        (X, 1e200 * Y, "larger than 1e"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(bad_X, bad_y)
    with pytest.raises(TypeError, match="groups"):
        clone(model).fit(X, Y, groups=np.zeros(60))
    for weight, message in (
        (np.zeros(60), "zero for every sample"),
        (-np.ones(60), "negative"),
        (spoilt(np.ones(60), np.nan), r"contains nan \(first at \[3\]\)"),
    ):
        with pytest.raises(ValueError, match=message):
            clone(model).fit(X, Y, sample_weight=weight)


def test_as_many_samples_as_folds_are_enough():
    model = QuantileSVRCV([1.0], gamma="scale").fit(X[:5], Y[:5])
    assert np.isfinite(model.predict_interval(NEW, 0.8)).all()
    assert np.isinf(model.predict_interval(NEW, 0.9)).all()  # five samples cannot tell
    few = np.where(np.arange(60) < 4, 1.0, 0.0)
    with pytest.raises(ValueError, match=r"n_samples=4 \(of a weight above 0\)"):
        QuantileSVRCV().fit(X, Y, sample_weight=few)


def test_groups_are_held_out_together():
    groups = np.arange(60) // 10
    folds = list(GroupKFold(3).split(X, Y, groups))
    model = QuantileSVRCV([1.0], kernel="linear", cv=folds).fit(X, Y)
    assert model.pinball_.shape == (1, 3)
    assert model.calibration_ is not None


def test_a_fit_that_fails_leaves_the_last_one():
    model = QuantileSVRCV([1.0, 30.0], kernel="linear", cv=3).fit(X, Y)
    before = model.predict(NEW)
    with pytest.raises(ValueError, match="Cs is empty"):
        model.set_params(Cs=[]).fit(X, Y)
    model.set_params(Cs=[1.0, 30.0])
    assert_array_equal(model.predict(NEW), before)
