"""Small problems that several tests start from; what it means to agree, and to be refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

import taupath

# Two paths of one problem may break ties differently; what they agree on is the function.
ATOL = 1e-7


def assert_same_function(found: np.ndarray, expected: np.ndarray, atol: float = ATOL) -> None:
    """Assert that two paths have the same function, up to rounding."""
    assert_allclose(found, expected, rtol=0, atol=atol * (1.0 + np.abs(expected).max()))


def assert_same_path(
    path: taupath.SolutionPath, expected: taupath.SolutionPath, atol: float = 0.0
) -> None:
    """Assert equality, by default to the last digit: the core has seen the same numbers."""
    assert_allclose(path.taus, expected.taus, rtol=0, atol=atol)
    for tau in np.linspace(0.0, 1.0, 21):
        assert_allclose(path.alpha(tau), expected.alpha(tau), rtol=0, atol=atol)
        assert_allclose(path.coef(tau), expected.coef(tau), rtol=0, atol=atol)
        assert_allclose(path.intercept(tau), expected.intercept(tau), rtol=0, atol=atol)


def plain() -> tuple[np.ndarray, np.ndarray]:
    """Features whose values are exact in float32, in int8 when doubled, with zeros among them."""
    rng = np.random.default_rng(3)
    return rng.integers(-4, 5, (12, 3)) / 2.0, np.where(np.arange(12) % 3 == 0, 1, -1)


def blobs(n: int = 40, d: int = 3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes that overlap, every third sample positive."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 3 == 0, 1, -1)
    return rng.normal(size=(n, d)) + 0.5 * y[:, None], y


def low_rank(n: int, rank: int, seed: int = 0) -> np.ndarray:
    """Return a positive semidefinite matrix of that rank, up to rounding."""
    rows = np.random.default_rng(seed).normal(size=(n, rank))
    K = rows @ rows.T
    return (K + K.T) / 2


def waves(n: int = 60, d: int = 2, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return features and a noisy response whose spread grows with the first feature."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2.0, 2.0, size=(n, d))
    return X, np.sin(2.0 * X[:, 0]) + 0.3 * (3.0 + X[:, 0]) * rng.normal(size=n)


def integers(n: int = 14, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return problems with ties: lattice features with copies, and whole responses."""
    rng = np.random.default_rng(seed)
    return rng.integers(-2, 3, (n, 2)).astype(float), rng.integers(-3, 4, n).astype(float)


def kinks_of(path: taupath.SolutionPath) -> np.ndarray:
    """Return the kinks without the middle, where the walks from either end meet."""
    return path.taus[path.taus != 0.5]


def assert_refuses(
    job: Callable[..., Any], error: type[Exception], said: tuple[str, ...], **arguments: Any
) -> None:
    """Assert that the arguments are refused with a message that has all of `said`."""
    with pytest.raises(error) as caught:
        job(**arguments)
    assert type(caught.value) is error  # not some subclass from deep inside
    for part in said:
        assert part in str(caught.value)
