"""Families of random problems. A problem follows from the name of its family and a seed alone."""

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from fuzz.problem import CLASSIFICATION, REGRESSION, REGULARIZATION, Problem
from fuzz.real_data import REAL, folder

Rng = np.random.Generator
Make = Callable[[Rng], Problem]
FAMILIES: dict[str, Make] = {}
# Families whose problems take long: only one seed in so many is used.
RARE: dict[str, int] = {}


def family(make: Make) -> Make:
    """Add a family; its name is that of the function."""
    FAMILIES[make.__name__] = make
    return make


def rare(every: int) -> Callable[[Make], Make]:
    """Add a family of which only one seed in `every` is used."""

    def add(make: Make) -> Make:
        RARE[make.__name__] = every
        return family(make)

    return add


def make_problem(name: str, seed: int) -> Problem:
    """Return the problem of this family and seed."""
    return FAMILIES[name](np.random.default_rng([seed, zlib.crc32(name.encode())]))


# --- pieces ---------------------------------------------------------------------------------------


def power(rng: Rng, low: float, high: float, size: Any = None) -> Any:
    """Return 10 to a uniform power."""
    return 10.0 ** rng.uniform(low, high, size)


def size(rng: Rng, most: int = 120) -> tuple[int, int]:
    """Return numbers of samples and of features: mostly small."""
    n = int(np.round(np.exp(rng.uniform(np.log(4), np.log(most)))))
    d = int(np.round(np.exp(rng.uniform(0.0, np.log(13)))))
    return n, d


def standard(score: np.ndarray) -> np.ndarray:
    """Return scores of mean zero and unit size, or zeros if they differ by rounding only."""
    centred = score - score.mean()
    spread = float(np.std(centred))
    return centred / spread if spread > 1e-9 * float(np.abs(score).max()) else 0.0 * centred


def labels(rng: Rng, score: np.ndarray, noise: float | None = None) -> np.ndarray:
    """Return labels that follow the scores more or less, with both classes present."""
    noise = rng.choice([0.0, 0.3, 1.0, 3.0]) if noise is None else noise
    raised = standard(score) + noise * rng.normal(size=len(score))
    y = (raised > np.median(raised) + rng.choice([0.0, 0.0, 0.7])).astype(int)
    if len(np.unique(y)) < 2:
        y[int(rng.integers(len(y)))] ^= 1
    return y


def response(rng: Rng, score: np.ndarray) -> np.ndarray:
    """Return numbers to predict from scores."""
    return standard(score) + rng.choice([0.1, 1.0]) * rng.normal(size=len(score))


def intercept(rng: Rng) -> str:
    """Return a kind of intercept."""
    return str(rng.choice(["augmented", "augmented", "free", "free", "none"]))


def finish(rng: Rng, X: Any, score: np.ndarray, C: float | None = None, **more: Any) -> Problem:
    """Return a problem with these features: mostly over τ, also over C, also regression."""
    job = str(rng.choice([CLASSIFICATION, REGULARIZATION, REGRESSION], p=[0.6, 0.2, 0.2]))
    if C is None:
        C = power(rng, -2, 3)
    y = response(rng, score) if job == REGRESSION else labels(rng, score)
    options: dict[str, Any] = {}
    if job != REGULARIZATION:
        if rng.random() < 0.15:
            options["n_jobs"] = 2
        if rng.random() < 0.1:
            options["tau_range"] = tuple(np.sort(rng.uniform(0.02, 0.98, 2)).tolist())
    given = {"intercept": intercept(rng), "tau": float(rng.uniform(0.05, 0.95)), "options": options}
    return Problem(job, X, y, float(C), **{**given, **more})


def linear(rng: Rng, X: np.ndarray, C: float | None = None, **more: Any) -> Problem:
    """Return a problem whose scores are linear in features of about unit size."""
    unit = X / np.maximum(np.abs(X).max(axis=0), 1e-300)
    return finish(rng, X, unit @ rng.normal(size=X.shape[1]), C, **more)


def lattice(rng: Rng, n: int, d: int) -> np.ndarray:
    """Return small integers."""
    return rng.integers(-2, 3, (n, d)).astype(float)


# --- ordinary -------------------------------------------------------------------------------------


@family
def gaussian(rng: Rng) -> Problem:
    """Ordinary features."""
    return linear(rng, rng.normal(size=size(rng)))


@rare(4)
def gaussian_larger(rng: Rng) -> Problem:
    """Ordinary features, more samples."""
    n = int(rng.integers(120, 400))
    return linear(rng, rng.normal(size=(n, int(rng.integers(2, 8)))), power(rng, -2, 1))


@family
def gaussian_rbf(rng: Rng) -> Problem:
    """Ordinary features with the RBF kernel."""
    X = rng.normal(size=size(rng, 80))
    return linear(rng, X, power(rng, -1, 3), kernel="rbf", gamma=float(power(rng, -1, 1)))


@family
def sparse_rows(rng: Rng) -> Problem:
    """Sparse features, many more columns than a row has entries."""
    n, d = size(rng)[0], int(rng.integers(5, 200))
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < rng.uniform(0.02, 0.4))
    if rng.random() < 0.3:
        X = np.abs(X) > 0.5
    problem = linear(rng, X.astype(float))
    problem.X = sparse.csr_array(problem.X)
    return problem


@family
def one_hot(rng: Rng) -> Problem:
    """Codes of categories, dense or sparse."""
    n = size(rng)[0]
    groups = [int(k) for k in rng.integers(1, 7, int(rng.integers(1, 6)))]
    X = np.hstack([np.eye(k)[rng.integers(0, k, n)] for k in groups])
    problem = linear(rng, X)
    if rng.random() < 0.5:
        problem.X = sparse.csr_array(X)
    return problem


# --- scales ---------------------------------------------------------------------------------------


@family
def columns_1e8(rng: Rng) -> Problem:
    """Columns of scale 1e-8 … 1e8."""
    n, d = size(rng)
    return linear(rng, rng.normal(size=(n, d)) * power(rng, -8, 8, d))


@family
def columns_1e5(rng: Rng) -> Problem:
    """Columns of scale 1 … 1e5."""
    n, d = size(rng)
    return linear(rng, rng.normal(size=(n, d)) * power(rng, 0, 5, d))


@family
def rows_1e6(rng: Rng) -> Problem:
    """Rows of scale 1e-6 … 1e6."""
    n, d = size(rng)
    unit = rng.normal(size=(n, d))
    return finish(rng, unit * power(rng, -6, 6, (n, 1)), unit @ rng.normal(size=d))


@family
def columns_shifted(rng: Rng) -> Problem:
    """Columns far from the origin."""
    n, d = size(rng)
    unit = rng.normal(size=(n, d))
    shift = power(rng, 2, 7, d) * rng.choice([-1.0, 1.0], d) * (rng.random(d) < 0.8)
    return finish(rng, unit + shift, unit @ rng.normal(size=d))


@family
def whole_scale(rng: Rng) -> Problem:
    """All features tiny or huge together."""
    n, d = size(rng)
    return linear(rng, rng.normal(size=(n, d)) * power(rng, -10, 10), power(rng, -3, 6))


# --- nearly degenerate ----------------------------------------------------------------------------


@family
def lattice_noise(rng: Rng) -> Problem:
    """A lattice with noise of 1e-11 … 1e-7."""
    n, d = size(rng)
    X = lattice(rng, n, min(d, 5))
    return linear(rng, X + power(rng, -11, -7) * rng.normal(size=X.shape), power(rng, -2, 6))


@rare(4)
def lattice_noise_larger(rng: Rng) -> Problem:
    """A lattice with noise, more samples."""
    X = lattice(rng, int(rng.integers(120, 400)), int(rng.integers(1, 4)))
    return linear(rng, X + power(rng, -11, -7) * rng.normal(size=X.shape), power(rng, -2, 2))


@family
def near_duplicates(rng: Rng) -> Problem:
    """Groups of rows that differ by 1e-12 … 1e-6."""
    n, d = size(rng)
    X = rng.normal(size=(1 + n // 3, d))[rng.integers(0, 1 + n // 3, n)]
    return linear(rng, X + power(rng, -12, -6) * rng.normal(size=X.shape), power(rng, -2, 4))


@family
def near_duplicates_rbf(rng: Rng) -> Problem:
    """Groups of rows that differ by 1e-12 … 1e-6, with the RBF kernel."""
    n, d = size(rng, 80)
    X = lattice(rng, n, min(d, 3)) + power(rng, -12, -6) * rng.normal(size=(n, min(d, 3)))
    return linear(rng, X, power(rng, -1, 4), kernel="rbf", gamma=float(power(rng, -1, 1)))


@family
def large_C(rng: Rng) -> Problem:
    """C of 1e2 … 1e12."""
    return linear(rng, rng.normal(size=size(rng)), power(rng, 2, 12))


@family
def weights_1e12(rng: Rng) -> Problem:
    """Weights over 12 orders of magnitude, some zero."""
    n, d = size(rng)
    weight = power(rng, -6, 6, n) * (rng.random(n) > 0.1 * (rng.random() < 0.3))
    problem = linear(rng, rng.normal(size=(n, d)), weight=weight)
    if problem.job != REGRESSION:
        for label in (0, 1):
            own = np.flatnonzero(problem.y == label)
            weight[own[0]] = weight[own[0]] or 1.0
    weight[0] = weight[0] or 1.0
    return problem


# --- kernels --------------------------------------------------------------------------------------


@family
def smooth_rbf(rng: Rng) -> Problem:
    """A smooth RBF kernel with C up to 1e8."""
    X = rng.random(size(rng, 80))
    return linear(rng, X, power(rng, -1, 8), kernel="rbf", gamma=float(power(rng, -3, 0)))


@family
def polynomial(rng: Rng) -> Problem:
    """Polynomial kernels of degree 5 … 9."""
    n, d = size(rng, 80)
    more = {
        "kernel": "poly",
        "degree": int(rng.integers(5, 10)),
        "coef0": float(rng.choice([0, 1])),
    }
    return linear(rng, rng.normal(size=(n, d)), power(rng, -3, 4), gamma=1.0 / d, **more)


@family
def polynomial_columns(rng: Rng) -> Problem:
    """Polynomial kernels of columns of scale 0.1 … 10: entries of up to 1e10."""
    n, d = size(rng, 24)
    whole = rng.random() < 0.6
    X = rng.integers(-2, 3, (n, d)).astype(float) if whole else rng.normal(size=(n, d))
    more = {
        "kernel": "poly",
        "degree": int(rng.choice([2, 3])),
        "coef0": float(rng.choice([0, 1])),
        "gamma": float(rng.choice([0.1, 1.0, 5.0])),
    }
    return linear(rng, X * 10.0 ** rng.integers(-1, 2, d), power(rng, -2, 3), **more)


@family
def graded_kernel(rng: Rng) -> Problem:
    """A precomputed kernel whose spectrum falls by many orders."""
    n = size(rng, 80)[0]
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    K = (Q * np.geomspace(1.0, power(rng, -16, -4), n)) @ Q.T
    K = 0.5 * (K + K.T) * power(rng, -2, 4)
    score = Q[:, : max(1, n // 4)] @ rng.normal(size=max(1, n // 4))
    return finish(rng, K, score, power(rng, -1, 6), kernel="precomputed")


@family
def linear_precomputed(rng: Rng) -> Problem:
    """The linear kernel as a precomputed one: of low rank."""
    X = rng.normal(size=size(rng, 80))
    return finish(rng, X @ X.T, X @ rng.normal(size=X.shape[1]), kernel="precomputed")


# --- regression -----------------------------------------------------------------------------------


def regress(rng: Rng, X: np.ndarray, y: np.ndarray, C: float | None = None, **more: Any) -> Problem:
    """Return a regression."""
    options = {"n_jobs": 2} if rng.random() < 0.15 else {}
    C = power(rng, -2, 3) if C is None else C
    given = {"intercept": intercept(rng), "options": options}
    return Problem(REGRESSION, X, y, float(C), **{**given, **more})


def regression_data(rng: Rng) -> tuple[np.ndarray, np.ndarray]:
    """Return ordinary features, now and then with copies, and targets."""
    n, d = size(rng)
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X = X[rng.integers(0, 1 + n // 2, n)]
    return X, response(rng, X @ rng.normal(size=d))


@family
def y_shifted(rng: Rng) -> Problem:
    """Targets shifted by 1e4 … 1e8."""
    X, y = regression_data(rng)
    return regress(rng, X, y + power(rng, 4, 8))


@family
def y_scaled(rng: Rng) -> Problem:
    """Targets and features of other scales."""
    X, y = regression_data(rng)
    return regress(rng, X * power(rng, -5, 5), y * power(rng, -8, 8))


@family
def regression_large_C(rng: Rng) -> Problem:
    """C of 1e3 … 1e12; targets often tied."""
    X, y = regression_data(rng)
    return regress(rng, X, np.round(y) if rng.random() < 0.5 else y, power(rng, 3, 12))


@family
def outliers(rng: Rng) -> Problem:
    """Some targets of 1e6 … 1e12."""
    X, y = regression_data(rng)
    k = int(rng.integers(1, 2 + len(y) // 20))
    y[rng.choice(len(y), k, replace=False)] = power(rng, 6, 12, k) * rng.choice([-1.0, 1.0], k)
    return regress(rng, X, y)


@family
def regression_columns(rng: Rng) -> Problem:
    """Regression on columns of different scales and shifts."""
    X, y = regression_data(rng)
    X = X * power(rng, -5, 5, X.shape[1])
    if rng.random() < 0.5:
        X = X + power(rng, 0, 6, X.shape[1])
    return regress(rng, X, y)


@family
def regression_ties(rng: Rng) -> Problem:
    """Tied targets on a lattice, often repeated."""
    n, d = size(rng)
    X = lattice(rng, n, d)
    return regress(rng, X, rng.integers(-2, 3, n).astype(float) + rng.choice([0.0, 0.1, 1e5]))


@family
def regression_constant(rng: Rng) -> Problem:
    """All targets equal, or all but one."""
    n, d = size(rng)
    y = np.full(n, rng.choice([0.0, 5.0, -1e6, 0.1]))
    if rng.random() < 0.5:
        y[0] += rng.choice([1.0, 1e-6, 1e9]) * max(1.0, abs(y[0]))
    return regress(rng, rng.normal(size=(n, d)), y)


@family
def regression_rbf(rng: Rng) -> Problem:
    """Regression with the RBF kernel, also with shifted targets."""
    n, d = size(rng, 80)
    X = rng.random((n, d))
    y = response(rng, np.sin(3.0 * X @ rng.normal(size=d))) * power(rng, -2, 2)
    y += rng.choice([0.0, 0.0, 1e6])
    return regress(rng, X, y, power(rng, -1, 5), kernel="rbf", gamma=float(power(rng, -1, 2)))


@rare(16)
def small_cache(rng: Rng) -> Problem:
    """The RBF kernel, of which only some rows are kept in memory."""
    n = int(rng.integers(105, 125))
    problem = linear(
        rng,
        rng.normal(size=(n, int(rng.integers(1, 4)))),
        power(rng, -2, 0),
        kernel="rbf",
        gamma=float(power(rng, -1, 0.5)),
    )
    problem.options["cache_size"] = 8e-6 * n * int(rng.integers(101, n))
    if problem.job != REGULARIZATION:
        begin = float(rng.uniform(0.1, 0.8))
        problem.options["tau_range"] = (begin, begin + 0.1)
    return problem


# --- exactly degenerate ---------------------------------------------------------------------------


@family
def lattices(rng: Rng) -> Problem:
    """Integers: ties and dependent rows everywhere."""
    return linear(rng, lattice(rng, *size(rng)), float(rng.choice([0.1, 1.0, 8.0, 1000.0])))


@family
def duplicates(rng: Rng) -> Problem:
    """Rows repeated exactly, often in both classes."""
    n, d = size(rng)
    return linear(rng, rng.normal(size=(1 + n // 4, d))[rng.integers(0, 1 + n // 4, n)])


@family
def duplicates_rbf(rng: Rng) -> Problem:
    """Rows repeated exactly, with the RBF kernel."""
    n, d = size(rng, 80)
    X = rng.normal(size=(1 + n // 4, d))[rng.integers(0, 1 + n // 4, n)]
    return linear(rng, X, kernel="rbf", gamma=float(power(rng, -1, 1)))


@family
def collinear(rng: Rng) -> Problem:
    """All rows on a line, through the origin or not."""
    n, d = size(rng)
    along = rng.integers(-3, 4, n) if rng.random() < 0.5 else rng.normal(size=n)
    X = np.outer(along, rng.normal(size=d)) + rng.choice([0.0, 1.0]) * rng.normal(size=d)
    return linear(rng, X)


@family
def wide(rng: Rng) -> Problem:
    """More columns than rows."""
    n = size(rng, 40)[0]
    return linear(rng, rng.normal(size=(n, n + int(rng.integers(1, 40)))), power(rng, -3, 4))


@family
def constant_columns(rng: Rng) -> Problem:
    """Some columns constant or zero, some equal to others."""
    X = rng.normal(size=size(rng))
    d = X.shape[1]
    X[:, rng.random(d) < 0.4] = rng.choice([0.0, 1.0, -3.0, 0.1])
    return linear(rng, X[:, rng.integers(0, d, d + 1)])


@family
def equal_rows(rng: Rng) -> Problem:
    """All rows equal, or all but one; or rows of zeros."""
    n, d = size(rng)
    X = np.tile(rng.normal(size=d) * rng.choice([0.0, 1.0]), (n, 1))
    if rng.random() < 0.5:
        X[0] = rng.normal(size=d)
    problem = linear(rng, X)
    if problem.job != REGRESSION:
        problem.y = np.r_[0, 1, rng.integers(0, 2, n - 2)]
    return problem


@family
def tiny_class(rng: Rng) -> Problem:
    """One class with one or two samples."""
    problem = linear(rng, rng.normal(size=size(rng)))
    if problem.job != REGRESSION:
        n = len(problem.y)
        problem.y = np.full(n, int(rng.integers(2)))
        problem.y[rng.choice(n, int(rng.integers(1, 3)), replace=False)] ^= 1
    return problem


# --- real data ------------------------------------------------------------------------------------

if folder():
    for make in REAL:
        rare(2)(make)
