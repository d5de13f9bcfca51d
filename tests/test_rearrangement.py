"""Rearranged functions: the same values, in order."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from taupath.estimators.rearrangement import increasing_rearrangement, sorted_quantiles


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
