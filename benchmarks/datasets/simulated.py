"""Simulated classes whose probabilities η(x) are known.

"logistic" is what Platt's sigmoid is made for; of "stairs" η is a function of one direction, but no
sigmoid; "rings" (Gaussians that differ in covariance) and "xor" need a kernel. `three_draw` draws
from three Gaussians in the plane, with unequal covariances.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

__all__ = ["SIMULATORS", "Simulator", "three_draw", "three_eta"]


@dataclass(frozen=True)
class Simulator:
    """Data of two classes with known probabilities.

    Attributes
    ----------
    name, kernel : str
        What it is called, and the kernel to use.
    points : callable
        ``points(rng, n)`` draws n samples.
    eta : callable
        P(Y = 1 | x) of each.
    """

    name: str
    kernel: str
    points: Callable[[np.random.Generator, int], np.ndarray]
    eta: Callable[[np.ndarray], np.ndarray]

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n samples and their labels 0 and 1."""
        X = self.points(rng, n)
        return X, (rng.uniform(size=n) < self.eta(X)).astype(int)


def normal_points(n_features: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return a function that draws standard normal samples."""
    return lambda rng, n: rng.standard_normal((n, n_features))


# Three groups along the first of five columns, and the share of positives in each.
GROUP_AT, GROUP_SHARE = np.array([-4.0, 0.0, 4.0]), np.array([0.02, 0.4, 0.95])
# The wider of two Gaussians around 0, of which the narrow one is positive, with this share.
WIDE, NARROW_SHARE = 3.0, 0.4


def stairs_points(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw standard normal samples, the first column around the middle of a group."""
    X = rng.standard_normal((n, 5))
    X[:, 0] += rng.choice(GROUP_AT, n)
    return X


def stairs_eta(X: np.ndarray) -> np.ndarray:
    """Return the share of positives: groups are equally large, each with its own share."""
    density = norm.pdf(X[:, :1] - GROUP_AT)
    return np.asarray(density @ GROUP_SHARE / density.sum(axis=1))


def rings_points(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw from a narrow Gaussian or from a wide one, around the same place."""
    wide = rng.uniform(size=(n, 1)) >= NARROW_SHARE
    return rng.standard_normal((n, 2)) * np.where(wide, WIDE, 1.0)


def rings_eta(X: np.ndarray) -> np.ndarray:
    """Return the probability of the narrow one, by Bayes' rule."""
    narrow = NARROW_SHARE * norm.pdf(X).prod(axis=1)
    wide = (1.0 - NARROW_SHARE) * norm.pdf(X, scale=WIDE).prod(axis=1)
    return np.asarray(narrow / (narrow + wide))


SIMULATORS = (
    Simulator(
        "logistic",
        "linear",
        normal_points(5),
        lambda X: expit(X @ np.array([2.0, -1.0, 0.5, 0.0, 0.0]) - 0.5),
    ),
    Simulator("stairs", "linear", stairs_points, stairs_eta),
    Simulator("rings", "rbf", rings_points, rings_eta),
    Simulator("xor", "rbf", normal_points(2), lambda X: expit(4.0 * X[:, 0] * X[:, 1])),
)


# -- three classes ---------------------------------------------------------------------------------

MEANS = np.array([[0.0, 1.5], [1.3, -0.75], [-1.3, -0.75]])
COVARIANCES = np.array(
    [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 1.0], [1.0, 1.0]], [[0.3, 0.0], [0.0, 3.0]]]
)


def three_draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw from three equally frequent Gaussians."""
    y = rng.integers(3, size=n)
    roots = np.linalg.cholesky(COVARIANCES)
    return MEANS[y] + np.einsum("nij,nj->ni", roots[y], rng.standard_normal((n, 2))), y


def three_eta(X: np.ndarray) -> np.ndarray:
    """Return the probabilities of the three, by Bayes' rule."""
    density = np.column_stack(
        [multivariate_normal.pdf(X, *each) for each in zip(MEANS, COVARIANCES, strict=True)]
    )
    return np.asarray(density / density.sum(axis=1, keepdims=True))
