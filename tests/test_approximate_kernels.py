"""Approximate paths with kernels: certified for every τ, within memory, on any array library."""

from __future__ import annotations

import os
import pickle
import signal
import threading
import tracemalloc
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel
from taupath._core._kernel_sums import add_rows, lower_triangle

import approximation
import taupath as tp
from approximation import assert_bounded
from taupath.approximate import kernel_systems as ks
from taupath.approximate.array_libraries import Library
from taupath.approximate.kernel_matrix import KernelMatrix
from taupath.paths.kernels import Kernel

INTERCEPTS = ["augmented", "none", "free"]
WIDE = np.longdouble


@dataclass(frozen=True)
class KernelJob(approximation.Job):
    """The judge for kernels: objectives in extended precision from α, decisions and K alone.

    ½|w|² follows from the decisions: w is the shortest function with these values at the samples.
    """

    gamma: float = 0.5

    def kernel(self, A: np.ndarray, B: np.ndarray) -> np.ndarray:
        A, B = A.astype(WIDE), B.astype(WIDE)
        squares = ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2)
        return np.exp(-WIDE(self.gamma) * squares)

    def path(self, X: Any = None, **kw: Any) -> tp.SolutionPath:
        return super().path(X, **{"kernel": "rbf", "gamma": self.gamma, **kw})

    def rest(self) -> float:
        lower, upper = self.boxes(0.5)
        return float(np.maximum(upper * self.target, lower * self.target).sum())

    def parts(self, path: tp.SolutionPath, tau: float) -> tuple[np.ndarray, np.ndarray, WIDE]:
        """Return coefficients of w, margins and intercept, from what the path makes public."""
        b, found = path.parts(tau)
        coef = np.zeros(len(self.y), dtype=WIDE)
        coef[found["support"]] = found["dual_coef"]
        return coef, self.K() @ coef, WIDE(b)

    def K(self) -> np.ndarray:
        found = self.__dict__.get("_K")
        if found is None:
            found = self.kernel(self.X, self.X)
            object.__setattr__(self, "_K", found)
        return found

    def gap(self, path: tp.SolutionPath, tau: float) -> float:
        lower, upper = (bound.astype(WIDE) for bound in self.boxes(tau))
        coef, values, b = self.parts(path, tau)
        slack = self.target - self.sign * (values + b)
        regular = self.intercept == "augmented"
        primal = coef @ values / 2 + regular * b**2 / 2
        primal += np.maximum(upper * slack, lower * slack).sum()
        scale = 1.0 if self.regression else len(self.y) * self.C
        theta = WIDE(scale) * path.alpha(tau)
        widest = float((upper - lower).max())
        assert (theta >= lower - approximation.ROUNDING * widest).all()
        assert (theta <= upper + approximation.ROUNDING * widest).all()
        signed = self.sign * theta
        if self.intercept == "free":
            assert abs(signed.sum()) <= approximation.ROUNDING * len(theta) * widest
        dual = self.target @ theta - signed @ (self.K() @ signed) / 2
        dual -= regular * signed.sum() ** 2 / 2
        return float(primal - dual) / self.rest()


def moons(n: int = 150, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    f = np.sin(2.0 * X[:, 0]) + X[:, 1] * X[:, 2]
    return X, np.where(f + 0.7 * rng.standard_normal(n) > 0.0, 1, -1)


def classification(intercept: str = "augmented", **kw: Any) -> KernelJob:
    return KernelJob(*moons(), intercept=intercept, **kw)


def regression(intercept: str = "augmented", **kw: Any) -> KernelJob:
    X, _ = moons(seed=1)
    noise = np.random.default_rng(2).standard_normal(len(X))
    y = np.sin(2.0 * X[:, 0]) + (0.3 + np.abs(X[:, 1])) * noise
    return KernelJob(X, y, intercept=intercept, regression=True, **kw)


# --- the certificate -----------------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("tol", [1e-2, 1e-3])
@pytest.mark.parametrize("make", [classification, regression])
def test_no_gap_exceeds_the_certificate_nor_that_the_tolerance(make, tol, intercept):
    job = make(intercept)
    path = job.path(method="approximate", tol=tol)
    worst = assert_bounded(job, path)
    assert path.certify().worst_gap <= tol
    assert worst >= 0.1 * tol  # nodes are not wasted


@pytest.mark.parametrize("seed", range(5))
def test_a_free_intercept_begins_among_the_targets(seed):
    # at τ = 0 nothing is lost far below all targets, where rounding alone gives the loss a slope
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 2))
    job = KernelJob(X, X[:, 0] + rng.standard_normal(40), C=1.3, intercept="free", regression=True)
    path = job.path(method="approximate", tol=0.1)
    assert abs(path.intercept(0.0)) <= 10.0 * np.abs(job.y).max()
    assert_bounded(job, path, n=20)


def test_quantiles_are_found_where_C_is_large_beside_the_targets():
    # the solver begins, and begins again after many steps, at w = 0
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 2))
    y = 0.01 * (X[:, 0] + rng.standard_normal(60))
    job = KernelJob(X, y, C=500.0, gamma=2.0, regression=True)
    path = job.path(method="approximate", tol=0.1)
    assert_bounded(job, path, n=30)
    assert path.certify().holds()


def hard(name: str, intercept: str) -> KernelJob:
    X, y = moons()
    rng = np.random.default_rng(3)
    if name == "duplicates":
        again = rng.integers(0, 40, 150)
        return KernelJob(X[again], y[again], intercept=intercept)
    if name == "quantiles, contradictory":
        y = np.where(np.arange(140) % 2, 1e3, -1.0) * rng.uniform(size=140)
        return KernelJob(np.repeat(X[:70], 2, axis=0), y, intercept=intercept, regression=True)
    if name.startswith("contradictory"):
        gamma, C = (20.0, 1e4) if name.endswith("large gamma and C") else (0.5, 1.0)
        X, y = np.repeat(X[:70], 2, axis=0), np.tile([1, -1], 70)
        return KernelJob(X, y, C=C, gamma=gamma, intercept=intercept)
    if name == "weights with zeros":
        weight = rng.choice([0.0, 0.3, 5.0], len(y))
        return KernelJob(X, y, weight=weight, intercept=intercept)
    if name == "few positive":
        y = np.where(np.arange(len(y)) < 5, 1, -1)
        return KernelJob(X, y, intercept=intercept)
    gamma, C = {"large gamma": (1e3, 1.0), "small gamma": (1e-4, 1.0), "large C": (0.5, 1e4)}[name]
    return KernelJob(X, y, C=C, gamma=gamma, intercept=intercept)


HARD = [
    "duplicates",
    "contradictory",
    "contradictory, large gamma and C",
    "quantiles, contradictory",
    "weights with zeros",
    "few positive",
    "large gamma",
    "small gamma",
    "large C",
]


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("name", HARD)
def test_the_certificate_holds_in_hard_cases(name, intercept):
    job = hard(name, intercept)
    path = job.path(method="approximate", tol=1e-2)
    assert_bounded(job, path, n=100)
    assert path.certify().holds()


def test_the_gap_at_one_tau_is_bounded_by_the_one_that_is_measured():
    job = classification()
    path = job.path(method="approximate", tol=1e-2)
    for tau in (0.0, 0.123, 0.5, float(path.taus[3]), 1.0):
        measured = path.duality_gap(tau)
        assert job.gap(path, tau) <= measured <= 1e-2
        assert measured <= job.gap(path, tau) + 1e-9
        assert path.kkt_violation(tau) >= 0.0


def test_a_tolerance_below_rounding_is_refused_with_the_least():
    with pytest.raises(ValueError, match="the least is"):
        classification().path(method="approximate", tol=1e-15)


# --- the same as the exact path ------------------------------------------------------------------


@pytest.mark.parametrize("intercept", INTERCEPTS)
@pytest.mark.parametrize("make", [classification, regression])
def test_functions_are_as_near_to_the_exact_ones_as_the_gap_allows(make, intercept):
    job = make(intercept)
    exact, path = job.path(), job.path(method="approximate", tol=1e-4)
    far = np.sqrt(2.0 * path.certify().worst_gap * job.rest())
    for tau in (0.05, 0.3, 0.5, 0.77, 0.95):
        one, other = (each.decision_function(job.X, tau) for each in (exact, path))
        if intercept == "free":  # the bound is on w: constants may differ
            one, other = (f - each.intercept(tau) for f, each in ((one, exact), (other, path)))
        assert np.abs(one - other).max() <= np.sqrt(2.0) * far


@pytest.mark.parametrize("kind", ["callable", "precomputed", "poly", "sparse"])
def test_all_kinds_of_kernels_are_taken(kind):
    X, y = moons()
    K = rbf_kernel(X, gamma=0.5)
    how: dict[str, Any] = {"method": "approximate", "tol": 1e-3}
    reference = tp.quantile_path(X, y, kernel="rbf", gamma=0.5, **how)
    new = X[:20] + 0.1
    if kind == "callable":
        path = tp.quantile_path(X, y, kernel=lambda A, B: rbf_kernel(A, B, gamma=0.5), **how)
    elif kind == "precomputed":
        path, new = tp.quantile_path(K, y, kernel="precomputed", **how), rbf_kernel(new, X, 0.5)
    elif kind == "sparse":
        path = tp.quantile_path(sparse.csr_array(X), y, kernel="rbf", gamma=0.5, **how)
    else:
        path = tp.quantile_path(X, y, kernel="poly", degree=2, coef0=1.0, **how)
        assert path.certify().holds()
        return
    expected = reference.decision_function(X[:20] + 0.1, 0.4)
    assert path.certify().holds()
    assert_allclose(path.decision_function(new, 0.4), expected, atol=1e-6)


def test_copies_are_weights():
    X, y = moons(80)
    how: dict[str, Any] = {"kernel": "rbf", "method": "approximate", "tol": 1e-3, "gamma": 0.5}
    twice = tp.quantile_path(np.tile(X, (2, 1)), np.tile(y, 2), C=0.5, **how)
    once = tp.quantile_path(X, y, C=1.0, **how)
    new = X[:10] + 0.2
    assert_allclose(twice.decision_function(new, 0.3), once.decision_function(new, 0.3), atol=1e-8)
    assert twice.alpha(0.3).shape == (160,)
    assert twice.certify().holds()


# --- estimators ----------------------------------------------------------------------------------


def test_the_classifier_predicts_and_its_probabilities_are_near_the_exact_ones():
    X, y = moons(300)
    exact, other = (
        tp.QuantileSVC(kernel="rbf", gamma=0.5, method=method, tol=1e-4).fit(X, y)
        for method in ("exact", "approximate")
    )
    assert other.method_ == "approximate"
    assert (exact.predict(X) != other.predict(X)).mean() < 0.02
    assert np.abs(exact.predict_proba(X) - other.predict_proba(X)).mean() < 0.01
    # probabilities are lengths of {τ : f ≥ 0}: compare with a fine grid of decisions
    taus = np.linspace(0.0, 1.0, 2001)
    share = (other.path_.decision_function(X[:30], taus) >= 0.0).mean(axis=1)
    assert_allclose(other.path_.crossings(X[:30]).length, share, atol=2e-3)
    restored = pickle.loads(pickle.dumps(other))
    assert_array_equal(restored.predict(X), other.predict(X))
    assert restored.path_.certify().holds()


def test_the_regressor_predicts_quantiles():
    job = regression()
    model = tp.QuantileSVR(kernel="rbf", gamma=0.5, method="approximate", tol=1e-3)
    model.fit(job.X, job.y)
    found = model.predict(job.X, quantile=[0.1, 0.5, 0.9])
    assert (np.diff(found, axis=1) >= 0.0).all()
    assert abs((job.y <= found[:, 2]).mean() - 0.9) < 0.06


def test_one_tau_keeps_only_its_support_vectors():
    X, y = moons(300)
    model = tp.QuantileSVC(kernel="rbf", method="approximate", tol=1e-3).fit(X, y)
    frozen = model.at(0.5)
    _, parts = model.path_.parts(0.5)
    assert 0 < len(parts["support"]) < len(X)
    assert_allclose(frozen.decision_function(X), model.decision_function(X, tau=0.5), atol=1e-12)


def test_a_simplified_path_has_fewer_nodes_and_holds():
    job = classification()
    path = job.path(method="approximate", tol=1e-4)
    fewer = path.simplify(1e-2)
    assert fewer.n_kinks < path.n_kinks
    assert_bounded(job, fewer, n=100)
    assert fewer.certify().worst_gap <= 1e-2


# --- work and memory -----------------------------------------------------------------------------


def test_a_node_takes_few_newton_steps():
    X, y = moons(500)
    path = tp.quantile_path(X, y, kernel="rbf", method="approximate", tol=1e-3)
    counters = path.counters
    assert counters["nodes"] == path.n_kinks
    assert counters["newton_steps"] <= 5 * counters["nodes"]


def test_a_matrix_that_does_not_fit_is_never_larger_than_the_budget(monkeypatch):
    X, y = moons(900)
    budget = 8 * 900 * 120  # bytes: 120 rows of 900
    largest = 0

    def counted(self: Kernel, A: Any, B: Any) -> np.ndarray:
        nonlocal largest
        largest = max(largest, 8 * A.shape[0] * B.shape[0])
        return np.exp(-0.5 * ((A[:, None, :] - B[None, :, :]) ** 2).sum(axis=2))

    monkeypatch.setattr(Kernel, "__call__", counted)
    how: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5, "method": "approximate", "tol": 1e-2}
    path = tp.quantile_path(X, y, cache_size=budget / 1e6, **how)
    assert path.certify().holds()
    assert 0 < largest <= budget
    kept = tp.quantile_path(X, y, **how)
    one, other = (each.decision_function(X, 0.5) for each in (path, kept))
    far = 2.0 * np.sqrt(2.0 * 1e-2 * 900)  # from the optimum: ½‖w - w*‖² is at most the gap
    assert np.abs(one - other).max() <= np.sqrt(2.0) * far


@pytest.mark.parametrize("share", [1.3, 0.5, 0.15])
def test_a_fit_takes_no_more_memory_than_the_cache_and_some_vectors(share):
    n = 1200
    X, y = moons(n)
    how: dict[str, Any] = {"kernel": "rbf", "gamma": 0.5, "method": "approximate", "tol": 1e-2}
    tp.quantile_path(X[:200], y[:200], **how)  # loads what it needs
    budget = share * 8.0 * n * n
    tracemalloc.start()
    try:
        path = tp.quantile_path(X, y, cache_size=budget / 1e6, **how)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert path.solutions.matrix.kept == (share > 1.25)
    assert peak <= budget + path.nbytes + 8.0 * 100 * n


def test_sums_and_parts_of_a_kept_matrix_are_those_of_numpy():
    rng = np.random.default_rng(0)
    K = rng.standard_normal((50, 50))
    for m in (0, 1, 3, 4, 9, 50):
        members, coef, out = rng.permutation(50)[:m], rng.standard_normal(m), np.ones(50)
        add_rows(K, members, coef, out)
        assert_allclose(out, 1.0 + coef @ K[members], atol=1e-13)
        part = np.zeros((m, m))
        lower_triangle(K, members, part)
        assert_array_equal(part, np.tril(K[np.ix_(members, members)]))


def test_conjugate_gradients_solve_as_the_factorisation_does(monkeypatch):
    X, _ = moons(400)
    K, rng = rbf_kernel(X, gamma=0.5), np.random.default_rng(0)
    members, diagonal = np.arange(0, 400, 2), rng.uniform(0.1, 0.3, 200)
    right = rng.standard_normal((200, 2))
    monkeypatch.setattr(ks, "PART_LEFT", 1e-10)
    monkeypatch.setattr(ks, "SINGLE_FROM", np.inf)
    found = []
    for most in (1000, 10):
        monkeypatch.setattr(ks, "FACTORED_ON_HOST", most)
        matrix = KernelMatrix(400, lambda i, j: K[i][:, j], 1e9, Library())
        found.append(ks.KernelSystems(matrix).solve(members, 1.0, diagonal, right))
    system = K[np.ix_(members, members)] + 1.0 + np.diag(diagonal)
    for each in found:
        assert_allclose(system @ each, right, atol=1e-7)


def test_many_inner_samples_are_solved_by_conjugate_gradients(monkeypatch):
    monkeypatch.setattr(ks, "FACTORED_ON_HOST", 20)
    job = classification()
    path = job.path(method="approximate", tol=1e-3)
    assert path.counters["largest_system"] > 20
    assert_bounded(job, path, n=50)


# --- bad input -----------------------------------------------------------------------------------


def test_an_indefinite_kernel_is_refused_with_what_to_do():
    X, y = moons()
    with pytest.raises(ValueError, match=r"not positive semidefinite.*method='exact'"):
        tp.quantile_path(X, y, kernel="sigmoid", gamma=2.0, coef0=-1.0, method="approximate")


def test_a_callable_that_returns_the_wrong_shape_is_refused():
    X, y = moons()
    with pytest.raises(ValueError, match=r"kernel returned shape \(150, 3\)"):
        tp.quantile_path(X, y, kernel=lambda A, B: A, method="approximate")


def test_half_precision_is_converted_or_refused_as_for_exact_paths():
    X, y = moons()
    found = []
    for method in ("exact", "approximate"):
        try:
            path = tp.quantile_path(X.astype(np.float16), y, kernel="rbf", method=method)
            found.append(bool(path.certify().worst_gap <= 1e-3))
        except (TypeError, ValueError) as error:
            found.append(str(error))
    assert found[0] == found[1]


def test_progress_can_be_interrupted():
    X, y = moons(400)
    asked = []

    def interrupt(fraction: float, n_nodes: int) -> None:
        asked.append(fraction)
        if len(asked) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tp.quantile_path(X, y, kernel="rbf", method="approximate", progress=interrupt)
    assert asked == sorted(asked)


def test_ctrl_c_ends_a_fit():
    X, y = moons(1200)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in range(1000):  # each fit takes a fraction of a second
                tp.quantile_path(X, y, kernel="rbf", method="approximate", tol=1e-4)
    finally:
        timer.cancel()
        signal.signal(signal.SIGINT, before)
