"""The order of samples in memory is for speed only."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import taupath
from taupath.engine.rows import NEARBY, order_in_memory
from taupath.paths import training_data


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 100))
    return X, np.where(X @ rng.standard_normal(100) + 5.0 * rng.standard_normal(700) > 0, 1.0, -1.0)


def test_samples_of_a_class_lie_together_in_the_order_of_a_decision_function(data):
    X, sign = data
    assert X.size > NEARBY
    order = order_in_memory(X, sign, sign)
    assert_array_equal(np.sort(order), np.arange(len(X)))
    assert (np.diff(sign[order]) >= 0.0).all()
    coef, *_ = np.linalg.lstsq(X - X.mean(axis=0), sign - sign.mean(), rcond=None)
    for side in (-1.0, 1.0):
        assert (np.diff(X[order][sign[order] == side] @ coef) <= 1e-12).all()


def test_small_sparse_and_wide_data_stay_where_they_are(data):
    X, sign = data
    assert order_in_memory(X[:600], sign[:600], sign[:600]) is None
    assert order_in_memory(sp.csr_array(X), sign, sign) is None
    assert order_in_memory(np.hstack([X, X]), sign, sign) is None


def test_the_path_does_not_depend_on_it(data, monkeypatch):
    X, y = data
    ordered = taupath.quantile_path(X, y, C=0.01)
    monkeypatch.setattr(training_data, "order_in_memory", lambda X, sign, response: None)
    plain = taupath.quantile_path(X, y, C=0.01)
    for tau in (0.0, 0.13, 0.5, 0.77, 1.0):
        for one, other in zip(ordered.index_sets(tau), plain.index_sets(tau), strict=True):
            assert_array_equal(one, other)
        assert_allclose(ordered.alpha(tau), plain.alpha(tau), atol=1e-15)
