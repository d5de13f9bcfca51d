"""Small problems that are hard to walk along: ties, dependent rows, columns of wild scale."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

import taupath
import verify
from taupath.paths import repeated_data

# No small problem may need more kinks than this: the walk would be going round in circles.
KINKS_PER_SAMPLE, KINKS_BESIDES = 50, 1000


@dataclass(frozen=True)
class Problem:
    """Arguments of ``quantile_path``."""

    X: np.ndarray
    y: np.ndarray
    C: float = 1.0
    weight: np.ndarray | None = None
    intercept: str = "augmented"
    is_sparse: bool = False

    def path(self, **kw: Any) -> taupath.SolutionPath:
        """Walk the whole path."""
        X = sparse.csr_array(self.X) if self.is_sparse else self.X
        given = {"sample_weight": self.weight, "intercept": self.intercept}
        return taupath.quantile_path(X, self.y, C=self.C, **given, **kw)


def assert_whole_path(problem: Problem, at_most: int = 2000) -> taupath.SolutionPath:
    """Assert that the path is exact at every kink and midpoint, and not absurdly long.

    If there are copies, also that of all samples: the walk copes with any ties.
    """
    path = problem.path()
    _assert_whole(path, problem, at_most)
    if path.data.distinct is not path.data:
        with every_sample_a_point():
            _assert_whole(problem.path(), problem, at_most)
    return path


@contextmanager
def every_sample_a_point() -> Iterator[None]:
    """Walk along all samples: copies are not merged."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(repeated_data, "find_copies", lambda *_, **__: None)
        yield


def _assert_whole(path: taupath.SolutionPath, problem: Problem, at_most: int) -> None:
    taus = path.taus
    assert (taus[0], taus[-1]) == (0.0, 1.0)
    assert np.all(np.diff(taus) > 0)
    assert path.counters["kinks"] < KINKS_PER_SAMPLE * len(problem.y) + KINKS_BESIDES
    verify.assert_certified(
        path,
        problem.X,
        problem.y,
        problem.C,
        verify.kinks_and_midpoints(taus, at_most),
        sample_weight=problem.weight,
        bias=1.0 if problem.intercept == "augmented" else 0.0,
    )


# --- features, by kind ---------------------------------------------------------------------------

Maker = Callable[[np.random.Generator, int, int], np.ndarray]


def gaussian(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d))


def duplicates(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    different = rng.normal(size=(max(1, n // 3), d))
    return different[rng.integers(0, len(different), n)]


def lattice(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.integers(-2, 3, (n, d)).astype(float)


def cube(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.integers(0, 2, (n, d)).astype(float)


def one_hot(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    groups = [np.eye(size)[rng.integers(0, size, n)] for size in (1 + d // 2, 1 + (d + 1) // 2)]
    return np.hstack(groups)


def constant_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.normal(size=(n, d))
    X[:, rng.random(d) < 0.6] = rng.choice([1.0, -3.0, 0.1])
    return X


def zero_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.normal(size=(n, d))
    X[:, rng.random(d) < 0.6] = 0.0
    return X


def zero_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    X = rng.normal(size=(n, d))
    X[rng.random(n) < 0.5] = 0.0
    return X


def equal_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.tile(rng.normal(size=d), (n, 1))


def on_a_line(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=d) + np.outer(rng.integers(-3, 4, n), rng.normal(size=d))


def on_a_line_through_the_origin(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.outer(rng.normal(size=n), rng.normal(size=d))


def more_columns_than_rows(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, n + d + 1))


def large_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * 1e6


def small_columns(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * 1e-6


def columns_of_wild_scale(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * rng.choice([1e-6, 1.0, 1e6], d)


def lattice_of_wild_scale(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return lattice(rng, n, d) * rng.choice([1e-6, 1.0, 1e6], d)


KINDS: dict[str, Maker] = {
    maker.__name__: maker
    for maker in (
        gaussian,
        duplicates,
        lattice,
        cube,
        one_hot,
        constant_columns,
        zero_columns,
        zero_rows,
        equal_rows,
        on_a_line,
        on_a_line_through_the_origin,
        more_columns_than_rows,
        large_columns,
        small_columns,
        columns_of_wild_scale,
        lattice_of_wild_scale,
    )
}


# --- labels and weights, by kind -----------------------------------------------------------------


def coin(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    return _both_classes(rng, np.where(rng.random(len(X)) < 0.5, 1, -1))


def separable(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    score = X @ rng.normal(size=X.shape[1])
    return _both_classes(rng, np.where(score > np.median(score), 1, -1))


def contradictory(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    """Alternate within the groups of equal rows, so that a row has both labels."""
    order = np.lexsort(X.T)
    y = np.empty(len(X), dtype=int)
    y[order] = np.where(np.arange(len(X)) % 2 == 0, 1, -1)
    return _both_classes(rng, y)


def one_of_a_class(rng: np.random.Generator, X: np.ndarray) -> np.ndarray:
    y = np.full(len(X), rng.choice([-1, 1]))
    y[rng.integers(0, len(X))] *= -1
    return y


def _both_classes(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    if len(np.unique(y)) == 1:
        y[rng.integers(0, len(y))] *= -1
    return y


LABELS = {maker.__name__: maker for maker in (coin, separable, contradictory, one_of_a_class)}


def no_weight(rng: np.random.Generator, y: np.ndarray) -> None:
    return None


def random_weight(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return rng.uniform(0.1, 3.0, len(y))


def weight_with_zeros(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    weight = rng.integers(0, 3, len(y)).astype(float)
    for label in (-1, 1):  # a class must not vanish
        weight[rng.choice(np.flatnonzero(y == label))] = 1.0
    return weight


def weight_with_tiny_ones(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    return 10.0 ** rng.uniform(-8.0, 0.0, len(y))


WEIGHTS = {
    maker.__name__: maker
    for maker in (no_weight, random_weight, weight_with_zeros, weight_with_tiny_ones)
}


def make_problem(
    kind: str,
    labels: str,
    weights: str,
    seed: int,
    n: int,
    d: int,
    log10_C: float = 0.0,
    intercept: str = "augmented",
    is_sparse: bool = False,
) -> Problem:
    """Put a problem together; equal arguments make equal problems."""
    rng = np.random.default_rng(seed)
    X = KINDS[kind](rng, n, d)
    y = LABELS[labels](rng, X)
    return Problem(X, y, 10.0**log10_C, WEIGHTS[weights](rng, y), intercept, is_sparse)


# --- strategies ----------------------------------------------------------------------------------

LOG10_C = st.one_of(st.integers(-4, 4), st.floats(-4.0, 4.0)).map(float)
INTERCEPTS = st.sampled_from(["augmented", "none"])


def made(
    *kinds: str,
    labels: tuple[str, ...] = tuple(LABELS),
    weights: tuple[str, ...] = tuple(WEIGHTS),
    log10_C: st.SearchStrategy[float] = LOG10_C,
    max_n: int = 14,
    max_d: int = 6,
) -> st.SearchStrategy[Problem]:
    """Problems with features of these kinds; numbers come from a seed, the rest can shrink."""
    return st.builds(
        make_problem,
        kind=st.sampled_from(kinds),
        labels=st.sampled_from(labels),
        weights=st.sampled_from(weights),
        seed=st.integers(0, 2**32 - 1),
        n=st.integers(2, max_n),
        d=st.integers(1, max_d),
        log10_C=log10_C,
        intercept=INTERCEPTS,
        is_sparse=st.booleans(),
    )


@st.composite
def drawn(draw: st.DrawFn, most: int = 3) -> Problem:
    """Problems on an integer lattice, every number of which can shrink."""
    n, d = draw(st.integers(2, 9)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(np.float64, (n, d), elements=st.integers(-most, most).map(float)))
    y = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=n, max_size=n)))
    if len(np.unique(y)) == 1:
        y[-1] *= -1
    C = draw(st.sampled_from([1.0, 0.01, 0.1, 0.5, 2.0, 10.0, 100.0, 1e4]))
    return Problem(X, y, C, None, draw(INTERCEPTS), draw(st.booleans()))
