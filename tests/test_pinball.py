"""The pinball loss of predicted quantiles, over all levels at once."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from taupath import QuantileSVR
from taupath.estimators.pinball import integrated_pinball, pinball_over_levels
from taupath.validation import Checked


def test_the_loss_of_a_quantile_function_is_its_integral():
    # rises, is flat, jumps, and rises again
    levels, values = np.array([0.0, 0.3, 0.5, 0.5, 1.0]), np.array([-1.0, 0.5, 0.5, 2.0, 5.0])
    taus = (np.arange(400_000) + 0.5) / 400_000
    q = np.interp(taus, levels, values)
    for y in (-3.0, -1.0, 0.1, 0.5, 1.2, 2.0, 3.3, 9.0):
        expected = np.mean(np.maximum(taus * (y - q), (taus - 1.0) * (y - q)))
        assert integrated_pinball(levels, values, y) == pytest.approx(expected, abs=1e-5)


def test_the_loss_over_all_levels_is_that_of_the_predicted_quantiles():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2.0, 2.0, size=(60, 1))
    Y = np.sin(2.0 * X[:, 0]) + 0.4 * rng.normal(size=60)
    NEW, Y_NEW = X[:20] + 0.01, Y[20:40]
    model = QuantileSVR(C=1000.0, kernel="rbf", gamma=30.0).fit(X, Y)
    found = pinball_over_levels(model.path_, Checked(NEW), Y_NEW)
    nodes, values = model.path_.values_at_nodes(NEW)
    crossing = [integrated_pinball(nodes, row, y) for row, y in zip(values, Y_NEW, strict=True)]
    assert (crossing / found).max() > 1.1  # or this says nothing about rearranged ones
    taus = (np.arange(4000) + 0.5) / 4000
    residual = Y_NEW[:, np.newaxis] - model.predict(NEW, taus)
    expected = np.maximum(taus * residual, (taus - 1.0) * residual).mean(axis=1)
    assert_allclose(found, expected, rtol=3e-4)
