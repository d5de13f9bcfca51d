"""Algorithm 1 as printed: right where it claims to be, and honest where it gives up."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.datasets import load_iris

import oracles
import verify
from taupath.reference import ReferenceStalled, dual_path_finding

# n_samples, n_features, lam. Where n is greater than d, the path passes through w = 0, b = 1 or -1
# with a whole class on the margin; alpha, and with it the kinks, is then not unique, and the start
# no better than L-BFGS-B leaves it. With n < d everything is unique.
DEGENERATE = [(20, 2, 1e-1), (40, 4, 1e-2), (60, 3, 1e-2)]
UNIQUE = [(25, 40, 1e-2), (15, 30, 1e-3)]
GAUSSIAN = DEGENERATE + UNIQUE
ACCURACY = 1e-7  # relative gap that the printed algorithm is held to on these data


def gaussian(n_samples: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n_samples) % 3 == 0, 1, -1)
    X = rng.normal(size=(n_samples, n_features)) + 0.5 * y[:, None]
    return X, y


class TestHandSolved:
    def path(self):
        return dual_path_finding(oracles.HAND_X, oracles.HAND_Y, oracles.HAND_LAM)

    def test_kinks(self):
        assert_allclose(self.path().taus, oracles.HAND_TAUS, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("tau", [0.0, 0.1, 0.3, 0.35, 0.8, 0.9, 1.0])
    def test_solution(self, tau):
        path = self.path()
        alpha, w, b = oracles.hand_solution(tau)
        assert_allclose(path.alpha(tau), alpha, rtol=0, atol=1e-12)
        assert_allclose(path.coef(tau), [w], rtol=0, atol=1e-11)
        assert path.intercept(tau) == pytest.approx(b, abs=1e-11)

    @pytest.mark.parametrize(("tau", "k"), [(0.0, 0), (0.29, 0), (0.31, 1), (0.79, 1), (0.81, 2)])
    def test_index_sets(self, tau, k):
        for found, expected in zip(self.path().index_sets(tau), oracles.HAND_SETS[k], strict=True):
            assert_array_equal(found, expected)


@pytest.mark.parametrize(("n", "d", "lam"), GAUSSIAN)
def test_every_kink_and_midpoint_is_optimal(n, d, lam):
    X, y = gaussian(n, d)
    path = dual_path_finding(X, y, lam)
    taus = verify.kinks_and_midpoints(path.taus)
    verify.assert_certified(path, X, y, None, taus, lam=lam, gap=ACCURACY)


@pytest.mark.parametrize("oracle", [oracles.piqp_dual, oracles.clarabel_dual])
@pytest.mark.parametrize(("n", "d", "lam"), GAUSSIAN)
def test_agrees_with_qp_solvers_at_random_tau(n, d, lam, oracle):
    X, y = gaussian(n, d)
    C = 1.0 / (n * lam)
    path = dual_path_finding(X, y, lam)
    for tau in np.random.default_rng(1).uniform(0.0, 1.0, 10):
        best = oracle(X, y, C, tau)
        found = oracles.dual_objective(X, y, C, path.alpha(tau))
        assert found == pytest.approx(best.objective, rel=ACCURACY)
        weights = np.append(path.coef(tau), path.intercept(tau))
        assert_allclose(weights, best.weights, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("n", "d", "lam"), GAUSSIAN)
def test_csr_gives_the_dense_path(n, d, lam):
    X, y = gaussian(n, d)
    X = np.where(np.abs(X) < 0.5, 0.0, X)  # some entries that CSR leaves out
    dense, csr = (dual_path_finding(data, y, lam) for data in (X, sparse.csr_matrix(X)))
    for tau in np.linspace(0.0, 1.0, 23):
        assert_allclose(csr.coef(tau), dense.coef(tau), rtol=0, atol=ACCURACY)
        assert_allclose(csr.intercept(tau), dense.intercept(tau), rtol=0, atol=ACCURACY)


@pytest.mark.parametrize(("n", "d", "lam"), UNIQUE)
def test_csr_gives_the_dense_kinks(n, d, lam):
    X, y = gaussian(n, d)
    dense, csr = (dual_path_finding(data, y, lam) for data in (X, sparse.csr_matrix(X)))
    assert_allclose(csr.taus, dense.taus, rtol=0, atol=1e-9)


def test_sparse_input_is_left_alone_and_stays_sparse():
    X, y = gaussian(20, 3)
    data = sparse.csr_array(X)
    path = dual_path_finding(data, y, 1e-1)
    assert sparse.issparse(path.yx)
    assert_array_equal(data.toarray(), X)


def test_kinks_increase_strictly_from_0_to_1():
    X, y = gaussian(40, 4)
    path = dual_path_finding(X, y, 1e-2)
    assert path.taus[0] == 0.0
    assert path.taus[-1] == 1.0
    assert np.all(np.diff(path.taus) > 0.0)
    assert path.n_kinks == len(path.alpha_margin) == len(path.n_moves_at)


def test_zero_length_steps_overwrite_the_last_kink():
    n_zero_length = 0
    for seed in range(8):  # on a lattice, at least some of these have such steps
        X, y = gaussian(30, 3, seed=seed)
        X = np.round(X)
        path = dual_path_finding(X, y, 1e-2)
        n_zero_length += path.n_events - (path.n_kinks - 1)
        assert np.all(np.diff(path.taus) > 0.0)
        taus = verify.kinks_and_midpoints(path.taus)
        verify.assert_certified(path, X, y, None, taus, lam=1e-2, gap=1e-6, kkt=1e-6)
    assert n_zero_length > 0


def test_recovery_replays_no_more_than_n_kinks():
    X, y = gaussian(60, 3)
    path = dual_path_finding(X, y, 1e-2)
    n = len(y)
    assert path.n_kinks > 3 * n, "the example is meant to have several full copies"
    assert len(path.sets_at) == 1 + (path.n_kinks - 1) // n
    in_set, done = path.sets_at[0].copy(), path.n_moves_at[0]
    for k, tau in enumerate(path.taus):  # against one replay from the very start
        for i, to in zip(
            path.moved[done : path.n_moves_at[k]],
            path.moved_to[done : path.n_moves_at[k]],
            strict=True,
        ):
            in_set[i] = to
        done = path.n_moves_at[k]
        for found, name in zip(path.index_sets(tau), (-1, 0, 1), strict=True):
            assert_array_equal(found, np.flatnonzero(in_set == name))


def test_alpha_is_linear_between_kinks_and_continuous_at_them():
    X, y = gaussian(40, 4)
    path = dual_path_finding(X, y, 1e-2)
    for left, right in zip(path.taus[:-1], path.taus[1:], strict=True):
        middle = path.alpha((left + right) / 2)
        assert_allclose(middle, (path.alpha(left) + path.alpha(right)) / 2, rtol=0, atol=1e-12)
        before = path.alpha(np.nextafter(right, 0.0))
        assert_allclose(before, path.alpha(right), rtol=0, atol=1e-9)


def test_q_is_never_formed():
    X, y = gaussian(4000, 3)
    tracemalloc.start()
    with pytest.raises(ReferenceStalled):
        dual_path_finding(X, y, 1e-1, max_kinks=5)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.2 * 8 * len(y) ** 2


def test_too_many_events_end_in_the_documented_exception():
    X, y = gaussian(20, 2)
    with pytest.raises(ReferenceStalled, match="in circles") as caught:
        dual_path_finding(X, y, 1e-2, max_kinks=7)
    assert caught.value.n_events == 8
    assert 0.0 <= caught.value.tau < 1.0


def test_columns_of_very_different_scale_end_in_the_exception_or_a_usable_path():
    n_stalled = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = rng.integers(2, 25), rng.integers(1, 5)
        y = np.where(rng.random(n) < 0.5, 1, -1)
        y[:2] = 1, -1
        X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-6, 7, size=d)
        lam = 10.0 ** rng.integers(-4, 0)
        try:
            path = dual_path_finding(X, y, lam)
        except ReferenceStalled:
            n_stalled += 1
            continue
        for tau in verify.kinks_and_midpoints(path.taus):
            assert verify.kkt_violation(X, y, None, tau, path.alpha(tau), lam=lam) < 1e-3
    assert 0 < n_stalled < 60


@pytest.mark.parametrize("seed", range(3))
def test_a_gradient_that_stands_still_causes_no_events(seed):
    # While the margin spans the feature space, slopes are rounding errors of large numbers.
    rng = np.random.default_rng(seed)
    X, y = np.round(60.0 * rng.normal(size=(60, 2))), np.where(np.arange(60) % 3 == 0, 1, -1)
    path = dual_path_finding(X, y, 1e-4)
    assert path.n_events < 5 * len(y)
    taus = verify.kinks_and_midpoints(path.taus)
    violation = max(
        verify.kkt_violation(X, y, None, tau, path.alpha(tau), lam=1e-4) for tau in taus
    )
    assert violation < 1e-6


@pytest.mark.parametrize("tau", [-0.1, 1.1, np.nan])
def test_tau_outside_the_path_is_refused(tau):
    path = dual_path_finding(oracles.HAND_X, oracles.HAND_Y, oracles.HAND_LAM)
    with pytest.raises(ValueError, match="tau"):
        path.alpha(tau)


@pytest.mark.parametrize(("n", "d", "lam"), UNIQUE)
@pytest.mark.parametrize("known", [False, True])
def test_a_part_of_the_walk_is_a_part_of_the_path(n, d, lam, known):
    X, y = gaussian(n, d)
    whole = dual_path_finding(X, y, lam)
    begin, end = 0.5 * (whole.taus[5] + whole.taus[6]), 0.5 * (whole.taus[-7] + whole.taus[-6])
    start = (whole.alpha(begin), whole.index_sets(begin)) if known else None
    part = dual_path_finding(X, y, lam, tau_range=(begin, end), start=start)
    assert_allclose(part.taus, [begin, *whole.taus[6:-6], end], rtol=0, atol=1e-9)
    for tau in np.linspace(begin, end, 9):
        assert_allclose(part.alpha(tau), whole.alpha(tau), rtol=0, atol=1e-8)
    for tau in (np.nextafter(begin, 0.0), np.nextafter(end, 1.0)):
        with pytest.raises(ValueError, match="tau must lie in"):
            part.alpha(tau)


@pytest.mark.parametrize("tau_range", [(0.5, 0.5), (-0.1, 1.0), (0.0, 1.1), (0.6, 0.4)])
def test_a_part_that_is_none_is_refused(tau_range):
    X, y = gaussian(20, 2)
    with pytest.raises(ValueError, match="0 <= a < b <= 1"):
        dual_path_finding(X, y, 0.1, tau_range=tau_range)


def test_bad_labels_and_lam_are_refused():
    with pytest.raises(ValueError, match="y must hold"):
        dual_path_finding(oracles.HAND_X, [0, 1], 1.0)
    with pytest.raises(ValueError, match="lam"):
        dual_path_finding(oracles.HAND_X, oracles.HAND_Y, 0.0)


def test_a_start_that_stops_early_is_run_again():
    X, y = load_iris(return_X_y=True)
    X, y = X[y < 2], np.where(y[y < 2] == 1, 1, -1)
    path = dual_path_finding(X, y, 1.0)
    verify.assert_certified(path, X, y, None, verify.kinks_and_midpoints(path.taus), lam=1.0)


def test_paper_diabetes_goes_through(paper_data):
    """The paper reports 1886 kinks, on features scaled in a way it does not tell."""
    data = paper_data("diabetes")
    path = dual_path_finding(data.X_train, data.y_train, 1e-3)
    assert 1886 < path.n_kinks < 3000
    taus = verify.kinks_and_midpoints(path.taus, at_most=400)
    verify.assert_certified(path, data.X_train, data.y_train, None, taus, lam=1e-3, gap=1e-8)
