"""Problems built backwards from their solution: the answer is known before any solver runs.

At a chosen tau, pick the index sets, the dual variables and the margins; then place the samples
so that the optimality conditions hold. With z = (x, 1) and theta the dual variables in the scale
of C, they are::

    sum_i theta_i y_i z_i = (v, b),    y_i (v.x_i + b) = margin_i
    theta = upper bound, margin < 1 on L;  in between, = 1 on M;  0, > 1 on R

The last entry gives b = sum_i theta_i y_i. Along v, every x_i is fixed by its margin, and the
first equation reads sum_i theta_i margin_i - b^2 = |v|^2, which gives the length of v. Across v
the samples are random, but for one that balances the sum.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import oracles
import taupath
import verify

EXACT = 1e-8  # error allowed in w, b and alpha, all of unit size or below
KINK = 1e-7  # error allowed in the place of a kink: events may be told apart by tiny shifts


@dataclass(frozen=True)
class Constructed:
    """A problem and its solution at one tau."""

    X: np.ndarray
    y: np.ndarray
    C: float
    tau: float
    alpha: np.ndarray
    coef: np.ndarray
    intercept: float
    sets: tuple[np.ndarray, np.ndarray, np.ndarray]


def construct(
    seed: int,
    sizes: tuple[int, int, int],
    n_features: int,
    tied_at_lower: int = 0,
    tied_at_upper: int = 0,
) -> Constructed:
    """Build a problem with index sets L, M, R of these sizes.

    Of M, the first samples have their dual variable exactly at an end of the box: they are about
    to change sets, so that tau is a kink. Where M has no more than d + 1 samples, their rows are
    far from dependent, so that the dual solution is well determined.
    """
    rng = np.random.default_rng(seed)
    while True:
        problem = attempt(rng, sizes, n_features, tied_at_lower, tied_at_upper)
        if problem is None:
            continue
        rows = np.column_stack([problem.X, np.ones(len(problem.X))])[problem.sets[1]]
        if not 0 < len(rows) <= n_features + 1:
            return problem
        if np.linalg.svd(rows, compute_uv=False)[-1] > 0.3:
            return problem


def attempt(
    rng: np.random.Generator,
    sizes: tuple[int, int, int],
    n_features: int,
    tied_at_lower: int,
    tied_at_upper: int,
) -> Constructed | None:
    n = sum(sizes)
    left, margin, right = np.split(np.arange(n), np.cumsum(sizes)[:2])
    C, tau = 10.0 ** rng.uniform(-1.0, 1.0), rng.uniform(0.15, 0.85)
    y = rng.choice([-1.0, 1.0], n)
    upper = 2.0 * C * np.where(y > 0, 1.0 - tau, tau)
    theta, margins = np.zeros(n), np.ones(n)
    theta[left] = upper[left]
    theta[margin] = rng.uniform(0.1, 0.9, len(margin)) * upper[margin]
    theta[margin[:tied_at_lower]] = 0.0
    at_upper = margin[tied_at_lower : tied_at_lower + tied_at_upper]
    theta[at_upper] = upper[at_upper]
    margins[left] = rng.uniform(-1.0, 0.9, len(left))
    margins[right] = rng.uniform(1.1, 3.0, len(right))
    b = theta @ y
    squared = theta @ margins - b**2
    if squared < 0.05 or len(np.unique(y)) < 2:
        return None
    v = rng.normal(size=n_features)
    v *= np.sqrt(squared) / np.linalg.norm(v)
    across = rng.normal(size=(n, n_features))
    across -= np.outer(across @ v, v) / squared
    balancing = int(np.argmax(theta))
    others = np.delete(np.arange(n), balancing)
    across[balancing] = -y[balancing] / theta[balancing] * (theta * y)[others] @ across[others]
    X = across + np.outer((y * margins - b) / squared, v)
    shuffle = rng.permutation(n)
    place = np.argsort(shuffle)
    sets = (np.sort(place[left]), np.sort(place[margin]), np.sort(place[right]))
    return Constructed(X[shuffle], y[shuffle], C, tau, theta[shuffle] / (n * C), v, float(b), sets)


# (|L|, |M|, |R|), n_features: no margin at all, a part of the space, all of it, more features than
# samples, nobody in error, nobody well classified.
SHAPES = [
    ((8, 0, 7), 3),
    ((6, 2, 8), 4),
    ((10, 5, 10), 4),
    ((5, 6, 6), 30),
    ((0, 4, 12), 5),
    ((12, 4, 0), 5),
    ((30, 8, 40), 10),
]
SEEDS = range(5)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("sizes", "n_features"), SHAPES)
def test_the_construction_is_optimal(seed, sizes, n_features):
    problem = construct(seed, sizes, n_features)
    found = verify.assert_optimal(
        problem.X, problem.y, problem.C, problem.tau, problem.alpha, gap=1e-12, kkt=1e-11
    )
    verify.assert_index_sets(found, problem.sets, problem.tau, kkt=1e-11)
    assert_allclose(found.weights, np.append(problem.coef, problem.intercept), atol=1e-12)


@pytest.mark.parametrize("store", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("sizes", "n_features"), SHAPES)
def test_path_passes_through_the_constructed_solution(seed, sizes, n_features, store):
    problem = construct(seed, sizes, n_features)
    path = taupath.quantile_path(store(problem.X), problem.y, C=problem.C)
    tau = problem.tau
    assert_allclose(np.ravel(path.coef(tau)), problem.coef, rtol=0, atol=EXACT)
    assert_allclose(path.intercept(tau), problem.intercept, rtol=0, atol=EXACT)
    # Strict complementarity and independent margin rows: the dual solution is unique too.
    assert_allclose(path.alpha(tau), problem.alpha, rtol=0, atol=EXACT)
    for found, expected in zip(path.index_sets(tau), problem.sets, strict=True):
        assert_array_equal(np.sort(found), expected)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("at_lower", "at_upper"), [(1, 0), (0, 1)])
def test_a_sample_about_to_change_sets_makes_a_kink(seed, at_lower, at_upper):
    problem = construct(seed, (10, 4, 10), 6, at_lower, at_upper)
    path = taupath.quantile_path(problem.X, problem.y, C=problem.C)
    assert np.min(np.abs(np.asarray(path.taus) - problem.tau)) < KINK
    assert_allclose(np.ravel(path.coef(problem.tau)), problem.coef, rtol=0, atol=EXACT)
    assert_allclose(path.alpha(problem.tau), problem.alpha, rtol=0, atol=EXACT)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("at_lower", "at_upper"), [(2, 2), (6, 0), (0, 6), (9, 9)])
def test_many_samples_changing_sets_at_once_change_nothing_in_w(seed, at_lower, at_upper):
    problem = construct(seed, (10, at_lower + at_upper + 2, 10), 3, at_lower, at_upper)
    path = taupath.quantile_path(problem.X, problem.y, C=problem.C)
    assert_allclose(np.ravel(path.coef(problem.tau)), problem.coef, rtol=0, atol=EXACT)
    assert_allclose(path.intercept(problem.tau), problem.intercept, rtol=0, atol=EXACT)
    taus = verify.kinks_and_midpoints(path.taus)
    verify.assert_certified(path, problem.X, problem.y, problem.C, taus)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_range_of_tau_contains_the_constructed_solution(seed):
    problem = construct(seed, (10, 4, 10), 6)
    tau_range = (problem.tau - 0.05, problem.tau + 0.1)
    path = taupath.quantile_path(problem.X, problem.y, C=problem.C, tau_range=tau_range)
    assert (path.taus[0], path.taus[-1]) == tau_range
    assert_allclose(np.ravel(path.coef(problem.tau)), problem.coef, rtol=0, atol=EXACT)


class TestHandSolved:
    """Two points; the solution is derived in ``oracles.hand_solution``."""

    def path(self):
        return taupath.quantile_path(oracles.HAND_X, oracles.HAND_Y, lam=oracles.HAND_LAM)

    def test_kinks(self):
        path = self.path()
        assert_allclose(path.taus, oracles.HAND_TAUS, rtol=0, atol=KINK)
        assert path.n_kinks == 4

    @pytest.mark.parametrize("tau", [0.0, 0.1, 0.3, 0.35, 0.8, 0.9, 1.0])
    def test_solution(self, tau):
        path = self.path()
        alpha, w, b = oracles.hand_solution(tau)
        assert_allclose(path.alpha(tau), alpha, rtol=0, atol=EXACT)
        assert_allclose(np.ravel(path.coef(tau)), [w], rtol=0, atol=EXACT)
        assert_allclose(path.intercept(tau), b, rtol=0, atol=EXACT)
        assert_allclose(
            np.ravel(path.decision_function(oracles.HAND_X, tau)), [w + b, b], rtol=0, atol=EXACT
        )

    @pytest.mark.parametrize(("tau", "k"), [(0.1, 0), (0.29, 0), (0.31, 1), (0.79, 1), (0.81, 2)])
    def test_index_sets(self, tau, k):
        for found, expected in zip(self.path().index_sets(tau), oracles.HAND_SETS[k], strict=True):
            assert_array_equal(np.sort(found), expected)

    def test_certificate(self):
        path = self.path()
        taus = verify.kinks_and_midpoints(oracles.HAND_TAUS)
        verify.assert_certified(
            path, oracles.HAND_X, oracles.HAND_Y, None, taus, lam=oracles.HAND_LAM
        )
