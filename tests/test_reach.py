"""How large and how small C, features, weights and targets may be: right within, refused beyond."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import taupath

RNG = np.random.default_rng(0)
N = 30
X = RNG.normal(size=(N, 3))
LABEL = (X[:, 0] + RNG.normal(size=N) > 0.0).astype(int)
TARGET = X[:, 0] + 0.5 * RNG.normal(size=N)
NEW = RNG.normal(size=(5, 3))
# A scale that changes no digit: the path of scaled data is the same, digit for digit.
TWICE = 2.0**66


@pytest.mark.parametrize("intercept", ["free", "none"])
@pytest.mark.parametrize("scale", [1.0 / TWICE, TWICE])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_features_of_any_scale_make_the_same_path_with_c_to_match(scale, intercept, kind):
    one = taupath.quantile_path(kind(X), LABEL, C=0.5, intercept=intercept)
    other = taupath.quantile_path(kind(X * scale), LABEL, C=0.5 / scale**2, intercept=intercept)
    assert_allclose(other.taus, one.taus, rtol=1e-12)
    wanted = one.decision_function(NEW, [0.2, 0.5, 0.8])
    assert_allclose(other.decision_function(NEW * scale, [0.2, 0.5, 0.8]), wanted, atol=1e-8)
    assert other.certify().holds()


@pytest.mark.parametrize("C", [1e-60, 1e-30, 1e-10, 1e5, 1e10])
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
def test_c_from_its_least_to_a_large_one(C, intercept):
    assert taupath.quantile_path(X, LABEL, C=C, intercept=intercept).certify().holds()
    path = taupath.quantile_regression_path(X, TARGET, C=C, intercept=intercept)
    assert path.certify().holds()


@pytest.mark.parametrize("scale", [1e-20, 1e-10, 1e10, 1e30, 1e59])
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
def test_targets_of_any_scale(scale, intercept):
    path = taupath.quantile_regression_path(X, TARGET * scale, intercept=intercept)
    assert path.certify().holds()


@pytest.mark.parametrize("method", ["exact", "approximate"])
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"X": 1e50 * X}, r"C=1.0 is too large for these data: .* is 7e\+100, .* divide X"),
        ({"C": 1e40}, r"C=1e\+40 is too large for these data: .*choose a smaller C"),
        ({"X": 1e-50 * X, "intercept": "free"}, r"C=1.0 is too small .*multiply X"),
        ({"sample_weight": np.full(N, 1e-90)}, r"C=1.0 is too small .*larger C"),
    ],
)
def test_what_no_double_can_tell_apart_is_refused(given, message, method):
    data = {"X": X, "y": LABEL, "method": method}
    with pytest.raises(ValueError, match=message):
        taupath.quantile_path(**(data | given))


def test_over_C_and_for_regression_and_kernels_too():
    with pytest.raises(ValueError, match=r"C_max=1e\+40 is too large .*smaller C_max"):
        taupath.regularization_path(X, LABEL, C_max=1e40)
    with pytest.raises(ValueError, match=r"y is too small: .* 1e-310; multiply it"):
        taupath.quantile_regression_path(X, np.where(LABEL > 0, 1e-310, 0.0))
    with pytest.raises(ValueError, match=r"C=1.0 is too large .*/ \|y\|"):
        taupath.quantile_regression_path(X, TARGET * 1e-40)
    with pytest.raises(ValueError, match=r"C=1.0 is too large"):
        taupath.quantile_path(1e3 * X, LABEL, kernel="poly", degree=12, gamma=1.0)
    with pytest.raises(ValueError, match=r"C=1e\+50 is too large"):
        taupath.QuantileSVC(C=1e50).fit(X, LABEL)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("intercept", ["augmented", "free", "none"])
def test_features_whose_squares_underflow_count_as_zero(kind, intercept):
    """Alone, or beside others: 1e-155 squared is no normal number, 1e-200 squared is zero."""
    alone = taupath.quantile_path(kind(1e-155 * X), LABEL, intercept=intercept)
    assert_array_equal(alone.coef(0.4), np.zeros(3))
    assert alone.certify().holds()
    for tiny in (1e-101, 1e-155, 1e-200, 5e-324):
        beside = X.copy()
        beside[:, 2] = tiny * np.sign(X[:, 2])
        path = taupath.quantile_path(kind(beside), LABEL, intercept=intercept)
        without = taupath.quantile_path(kind(X * [1.0, 1.0, 0.0]), LABEL, intercept=intercept)
        assert_array_equal(path.taus, without.taus)
        assert path.certify().holds()


def test_targets_of_absent_samples_do_not_count():
    weight, far = np.ones(N), TARGET.copy()
    weight[0], far[0] = 0.0, 1e4
    path = taupath.quantile_regression_path(X, far, sample_weight=weight)
    assert path.certify().holds()
    with pytest.raises(ValueError, match="too small"):  # whatever the absent one is
        taupath.quantile_regression_path(
            X, np.where(weight > 0.0, 1e-200, 1.0), sample_weight=weight
        )


def test_zero_features_are_fine():
    path = taupath.quantile_path(np.zeros((4, 2)), [0, 1, 0, 1], intercept="free", C=1e-50)
    assert path.certify().holds()
