"""The path against solvers from outside, at tau drawn at random, and against Algorithm 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.preprocessing import StandardScaler

import oracles
import taupath
import verify
from taupath.reference import dual_path_finding


def gaussian(n_samples: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 3 == 0, 1, -1)
    return rng.normal(size=(n_samples, n_features)) + 0.5 * y[:, None], y


def lattice() -> tuple[np.ndarray, np.ndarray]:
    X, y = gaussian(80, 3, seed=5)
    return np.round(X), y


def two_of(load, first: int, second: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = load(return_X_y=True)
    rows = (y == first) | (y == second)
    return X[rows], y[rows]


def breast_cancer() -> tuple[np.ndarray, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X), y


DATA = {
    "gaussian": lambda: gaussian(60, 4),
    "more features than samples": lambda: gaussian(25, 40),
    "lattice": lattice,
    "iris, overlapping": lambda: two_of(load_iris, 1, 2),
    "iris, separable": lambda: two_of(load_iris, 0, 1),
    "wine, unscaled": lambda: two_of(load_wine, 0, 2),
    "breast cancer": breast_cancer,
}
N_TAU = 6


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("name", DATA)
def test_objective_and_weights_agree_with_qp_solvers(name, C):
    X, y = DATA[name]()
    path = taupath.quantile_path(X, y, C=C)
    for tau in np.random.default_rng(0).uniform(0.0, 1.0, N_TAU):
        verify.assert_certified(path, X, y, C, tau)
        found = oracles.dual_objective(X, y, C, path.alpha(tau))
        weights = np.append(np.ravel(path.coef(tau)), path.intercept(tau))
        for oracle in (oracles.piqp_dual, oracles.clarabel_dual):
            best = oracle(X, y, C, tau)
            assert found == pytest.approx(best.objective, rel=1e-8), oracle.__name__
            # |w - w*|^2 / 2 is at most the oracle's gap, so w agrees to its square root.
            gap = verify.verdict(X, y, C, tau, best.alpha).relative_gap
            size = np.sqrt(2.0 * max(gap, 1e-14) * abs(best.objective) * len(y) * C)
            assert np.linalg.norm(weights - best.weights) <= 2.0 * size, oracle.__name__


@pytest.mark.parametrize("name", ["gaussian", "lattice", "breast cancer"])
def test_liblinear_does_not_get_below_the_path(name):
    pytest.importorskip("liblinear", reason="LIBLINEAR is not installed")
    X, y = DATA[name]()
    C = 0.05
    path = taupath.quantile_path(X, y, C=C)
    for tau in (0.1, 0.4, 0.5, 0.8):
        best = -oracles.dual_objective(X, y, C, path.alpha(tau))
        reached = oracles.liblinear_objective(X, y, C, tau, tolerance=1e-4)
        assert best * (1.0 - 1e-9) <= reached <= best * 1.001


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize(
    ("n", "d", "lam"), [(20, 2, 1e-1), (40, 4, 1e-2), (60, 3, 1e-2), (25, 40, 1e-2), (15, 30, 1e-3)]
)
def test_agrees_with_the_printed_algorithm(n, d, lam, store):
    X, y = gaussian(n, d)
    C = 1.0 / (n * lam)
    path, printed = taupath.quantile_path(store(X), y, lam=lam), dual_path_finding(X, y, lam)
    for tau in np.linspace(0.0, 1.0, 41):
        best = oracles.dual_objective(X, y, C, printed.alpha(tau))
        assert oracles.dual_objective(X, y, C, path.alpha(tau)) == pytest.approx(best, rel=1e-7)
        assert_allclose(np.ravel(path.coef(tau)), printed.coef(tau), rtol=0, atol=1e-6)
        assert_allclose(path.intercept(tau), printed.intercept(tau), rtol=0, atol=1e-6)


@pytest.mark.parametrize(("n", "d", "lam"), [(25, 40, 1e-2), (15, 30, 1e-3), (40, 60, 1e-1)])
def test_has_the_kinks_of_the_printed_algorithm_where_the_solution_is_unique(n, d, lam):
    X, y = gaussian(n, d)
    path, printed = taupath.quantile_path(X, y, lam=lam), dual_path_finding(X, y, lam)
    assert len(printed.taus) > n
    assert_allclose(path.taus, printed.taus, rtol=0, atol=1e-7)


@pytest.mark.parametrize(("n", "d", "lam"), [(20, 2, 1e-1), (40, 4, 1e-2), (60, 3, 1e-2)])
def test_has_the_kinks_of_the_printed_algorithm_where_w_moves(n, d, lam):
    # While w = 0, the dual solution is not unique and kinks are a matter of choice.
    X, y = gaussian(n, d)
    path, printed = taupath.quantile_path(X, y, lam=lam), dual_path_finding(X, y, lam)
    for one, other in ((path, printed), (printed, path)):
        kinks = np.array([tau for tau in one.taus if np.abs(one.coef(tau)).max() > 1e-5])
        assert len(kinks) > n / 2
        nearest = np.abs(kinks[:, None] - np.asarray(other.taus)).min(axis=1)
        assert nearest.max() < 1e-7


@pytest.fixture(scope="module")
def pima(data_dir: Path) -> tuple[np.ndarray, np.ndarray]:
    """Standardised over all rows, the first 668 kept; positive is diabetic."""
    table = np.loadtxt(data_dir / "diabetes" / "pima-indians-diabetes.csv", delimiter=",")
    X = (table[:, :-1] - table[:, :-1].mean(axis=0)) / table[:, :-1].std(axis=0, ddof=1)
    return X[:668], np.where(table[:668, -1] == 1, 1, -1)


PIMA_OPTIMUM = -0.49367801  # dual optimum at lam = 1e-3, tau = 0.3, known beforehand


def test_known_optimum_of_pima(pima):
    X, y = pima
    C = 1.0 / (len(y) * 1e-3)
    path = taupath.quantile_path(X, y, lam=1e-3)
    assert oracles.dual_objective(X, y, C, path.alpha(0.3)) == pytest.approx(PIMA_OPTIMUM, abs=5e-9)
    verify.assert_certified(path, X, y, C, 0.3)


def test_the_oracles_know_the_optimum_of_pima_too(pima):
    X, y = pima
    C = 1.0 / (len(y) * 1e-3)
    for oracle in (oracles.piqp_dual, oracles.clarabel_dual):
        assert oracle(X, y, C, 0.3).objective == pytest.approx(PIMA_OPTIMUM, abs=5e-9)
