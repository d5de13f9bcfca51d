"""Quantile regression: responses in any clothes, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import taupath
from agreement import assert_refuses, integers, waves

NAN, INF = float("nan"), float("inf")


@pytest.mark.parametrize(
    "dress",
    [
        lambda y: y.tolist(),
        lambda y: y[:, None],
        lambda y: y.astype(np.int8),
        lambda y: y.astype(np.float32),
        lambda y: np.repeat(y, 2)[::2],
    ],
    ids=["a list", "a column", "int8", "float32", "every other"],
)
def test_responses_in_any_storage_give_the_same_path(dress):
    X, y = integers()
    plain, dressed = (taupath.quantile_regression_path(X, given) for given in (y, dress(y)))
    assert_array_equal(dressed.taus, plain.taus)
    assert_array_equal(dressed.alpha(0.4), plain.alpha(0.4))


def assert_refused(error: type[Exception], *said: str, **changed: Any) -> None:
    X, y = waves(12)
    assert_refuses(taupath.quantile_regression_path, error, said, **{"X": X, "y": y, **changed})


@pytest.mark.parametrize("value", [NAN, INF, -INF, 1e200])
def test_a_response_that_is_no_number_or_too_large_is_refused_with_its_place(value):
    y = waves(12)[1]
    y[7] = value
    assert_refused(ValueError, "y", str(value), "[7]", y=y)


@pytest.mark.parametrize("length", [0, 1, 11, 13])
def test_responses_of_another_number_are_refused_with_both_numbers(length):
    assert_refused(ValueError, f"y has {length}", "X has 12", y=np.ones(length))


@pytest.mark.parametrize("shape", [(12, 2), (1, 12), (12, 1, 1), ()])
def test_responses_that_are_no_column_are_refused_with_their_shape(shape):
    assert_refused(ValueError, "y", "one dimension", str(shape), y=np.ones(shape))


@pytest.mark.parametrize("y", [["a"] * 12, np.ones(12) * 1j, None, [None] * 12])
def test_responses_that_are_not_real_are_refused(y):
    assert_refused(TypeError, "y", y=y)


@pytest.mark.parametrize("C", [0.0, -1.0, INF, NAN, 1e300])
def test_a_C_that_is_not_positive_and_finite_is_refused_with_its_value(C):
    assert_refused(ValueError, "C", repr(C), C=C)


@pytest.mark.parametrize("C", [True, "1.0", [1.0], None])
def test_a_C_that_is_no_number_is_refused_with_its_value(C):
    assert_refused(TypeError, "C", repr(C), C=C)


def test_what_is_refused_for_classification_is_refused_here():
    assert_refused(ValueError, "X", "nan", X=np.full((12, 2), NAN))
    assert_refused(ValueError, "sample_weight", "zero", sample_weight=np.zeros(12))
    assert_refused(ValueError, "sample_weight", "-1.0", sample_weight=-np.ones(12))
    assert_refused(ValueError, "tau_range", "(0.5, 0.2)", tau_range=(0.5, 0.2))
    assert_refused(ValueError, "kernel", "'lin'", kernel="lin")
    assert_refused(ValueError, "gamma", "-1.0", kernel="rbf", gamma=-1.0)
    assert_refused(ValueError, "square", kernel="precomputed")
    assert_refused(ValueError, "intercept", "'fixed'", intercept="fixed")
    assert_refused(TypeError, "progress", progress=3)


def test_features_have_no_weights_with_a_kernel():
    path = taupath.quantile_regression_path(*waves(12), kernel="rbf")
    with pytest.raises(AttributeError, match="linear kernel"):
        path.coef(0.5)
