"""Fitted models that displays are drawn of."""

from functools import cache

import numpy as np
from sklearn.datasets import make_moons

from taupath import QuantileSVC, QuantileSVR


def two_classes(n, seed, shift=0.7):
    rng = np.random.default_rng(seed)
    y = np.where(rng.uniform(size=n) < 0.4, "yes", "no")
    X = rng.normal(size=(n, 3)) + shift * (y == "yes")[:, None] * [1.0, -1.0, 0.5]
    return X, y


X, Y = two_classes(120, seed=0)
X_NEW, Y_NEW = two_classes(90, seed=1)
RNG = np.random.default_rng(2)
TAUS = np.sort(RNG.uniform(size=50))

X_PLANE, Y_PLANE = make_moons(80, noise=0.3, random_state=0)

X_LINE = np.sort(RNG.uniform(0.0, 5.0, size=(60, 1)), axis=0)
Y_LINE = np.sin(X_LINE[:, 0]) + 0.3 * RNG.normal(size=60)
X_THREE = RNG.normal(size=(70, 3))
Y_THREE = X_THREE @ [1.0, -2.0, 0.0] + RNG.normal(size=70) * (1.5 + X_THREE[:, 1] ** 2)


@cache
def linear():
    return QuantileSVC(C=0.5).fit(X, Y)


@cache
def wiggly():
    """Return a classifier whose boundaries cross."""
    return QuantileSVC(C=100.0, kernel="rbf", gamma=0.3).fit(X, Y)


@cache
def plane():
    return QuantileSVC(C=1.0).fit(X_PLANE, Y_PLANE)


@cache
def curve():
    return QuantileSVR(C=5.0, kernel="rbf", gamma=0.5).fit(X_LINE, Y_LINE)


@cache
def three():
    return QuantileSVR(C=0.2).fit(X_THREE, Y_THREE)
