"""Regression where y is constant: nothing is walked, and everything can be read."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

import taupath

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(20, 3)), RNG.normal(size=(4, 3))
KERNELS = ("linear", "rbf", "poly", "precomputed")


def samples(kernel, kind):
    """Return training samples and others, as features or as their kernel."""
    if kernel == "precomputed":
        return X @ X.T + np.eye(20), NEW @ X.T
    return kind(X), kind(NEW)


def constant(value, absent):
    """Return y and weights; one sample may be different, if it is absent."""
    y, weight = np.full(20, value), np.ones(20)
    if absent:
        y[3], weight[3] = value + 7.0, 0.0
    return y, weight


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(
    ("value", "intercept"),
    [(0.0, "none"), (0.0, "augmented"), (0.0, "free"), (5.0, "free"), (-3e8, "free")],
)
def test_all_that_can_be_read(value, intercept, kernel, kind, absent, tmp_path):
    given, new = samples(kernel, kind)
    y, weight = constant(value, absent)
    path = taupath.quantile_regression_path(
        given, y, kernel=kernel, intercept=intercept, sample_weight=weight
    )
    path.save(tmp_path / "path.tau")
    same = [
        path,
        path.simplify(1e-3),
        pickle.loads(pickle.dumps(path)),
        taupath.load(tmp_path / "path.tau"),
    ]
    taus = np.linspace(0.0, 1.0, 4)
    for one in same:
        assert_allclose(one.decision_function(new, 0.3), value, rtol=1e-12)
        assert_allclose(one.decision_function(new, taus=taus), value, rtol=1e-12)
        assert_allclose(one.decide_each(new, taus), value, rtol=1e-12)
        assert_allclose(one.values_at_nodes(new)[1], value, rtol=1e-12)
        assert_allclose(one.kept_functions(new).between(taus), value, rtol=1e-12)
        assert_allclose(one.alpha(0.2), 0.0)
        assert_allclose(one.intercept(0.7), value, rtol=1e-12)
        assert_allclose(one.crossings(new, value).length, 1.0)
        assert_allclose(one.crossings(new, value + 1.0).length, 0.0)
        assert len(one.changes(new).when) == 0
        assert sum(map(len, one.index_sets(0.5))) == 20
        assert one.certify().holds()
        assert abs(one.duality_gap(0.0)) + one.kkt_violation(1.0) < 1e-9
        assert "20 samples" in repr(one)
        if kernel == "linear":
            assert_allclose(one.coef(0.5), np.zeros(3))
            assert all((coef == 0.0).all() for _, coef in one.coefficients_at_nodes())
        else:
            assert one.parts(0.5)[1]["support"].tolist() == []


@pytest.mark.parametrize("absent", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_estimator_predicts_it(kernel, absent):
    given, new = samples(kernel, np.asarray)
    y, weight = constant(5.0, absent)
    model = taupath.QuantileSVR(kernel=kernel, conformal=3).fit(given, y, weight)
    assert_allclose(model.predict(new, [0.1, 0.9]), 5.0)
    assert_allclose(model.predict(new, np.linspace(0.0, 1.0, 20)), 5.0)
    assert_allclose(model.predict_interval(new), 5.0)
    assert_allclose(model.sample(new, 3), 5.0)
    assert_allclose(model.sample(new, 20), 5.0)
    assert_allclose(model.cdf(new, 5.0), 1.0)
    assert_allclose(model.cdf(new, 4.0), 0.0)
    assert_allclose(model.simplify(0.1).predict(new), 5.0)
    assert np.isfinite(model.score(given, y))


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("intercept", ["augmented", "none"])
def test_a_constant_that_costs_something_is_walked_for(kernel, intercept):
    given, _ = samples(kernel, np.asarray)
    path = taupath.quantile_regression_path(
        given, np.full(20, 5.0), kernel=kernel, intercept=intercept
    )
    assert path.n_kinks > 2
    assert path.certify().holds()


def test_targets_that_differ_by_rounding_are_no_scale():
    # more than half of the targets are 0.3, in two ways to write it
    y = np.where(np.arange(20) % 2 == 0, 0.3, 0.1 + 0.2)
    y[:5] = [1.0, -2.0, 0.5, 4.0, 3.0]
    certificate = taupath.quantile_regression_path(X, y, 10.0).certify()
    assert certificate.holds() and certificate.worst_kkt < 1e-10
