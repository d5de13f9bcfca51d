"""Functions of a report are carried with fewer nodes, within a tolerance."""

import numpy as np
import pytest

from taupath.report.low_rank import factor
from taupath.report.piecewise_linear import largest_error, thin_each, thin_together


def jumping(seed, height=1.0):
    """Return random functions, some of whose nodes are jumps."""
    rng = np.random.default_rng(seed)
    taus = np.sort(np.append(rng.uniform(size=200), [0.0, 1.0]))
    taus[50:53] = taus[50]
    taus[120] = taus[121]
    values = np.cumsum(rng.standard_normal((7, 202)) * np.append(0.0, np.diff(taus)), axis=1)
    values[:, 51:] += height * rng.standard_normal((7, 1))
    return taus, values


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("tolerance", [1e-1, 1e-2, 1e-9])
@pytest.mark.parametrize("jumps", ["high", "as high as the tolerance"])
def test_thinned_functions_are_within_their_tolerance(seed, tolerance, jumps):
    taus, values = jumping(seed, 1.0 if jumps == "high" else tolerance)
    thinned = thin_each(taus, values, tolerance)
    fewer = thin_together(taus, values, tolerance)
    assert largest_error(taus, values, fewer).max() <= tolerance * (1 + 1e-9)
    inside = np.setdiff1d(np.linspace(0.001, 0.999, 777), taus)
    for i in range(7):
        some = slice(thinned.starts[i], thinned.starts[i + 1])
        nodes, kept = thinned.nodes[thinned.at[some]], thinned.values[some]
        assert (nodes[0], nodes[-1]) == (taus[0], taus[-1])
        off = np.interp(inside, nodes, kept) - np.interp(inside, taus, values[i])
        assert np.abs(off).max() <= tolerance * (1 + 1e-9)
    if tolerance == 1e-1:
        assert len(thinned.values) < values.size / 3


def test_combinations_of_a_few_functions_need_no_more():
    rng = np.random.default_rng(0)
    taus = np.linspace(0.0, 1.0, 90)
    values = rng.standard_normal((700, 4)) @ rng.standard_normal((4, 90))
    found = factor(taus, values, 1e-3)
    assert len(found.basis) == 4
    assert found.error <= 1e-3
    assert np.abs(found.values() - values).max() <= found.error * np.ptp(values) * (1 + 1e-9)
