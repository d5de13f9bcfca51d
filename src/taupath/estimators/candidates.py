"""Candidates of a search: kernels, γ and C, and the standardisation of the features they see."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy import sparse
from sklearn.preprocessing import StandardScaler

from taupath.fitting.method import choose_by_rows
from taupath.paths.kernels import KERNELS
from taupath.validation import (
    MOST_CANDIDATE_VALUES,
    Checked,
    check_C,
    check_choice,
    check_integer,
    check_positive,
    shown,
)

# gamma="grid": multiples of "scale". The best one differed by a factor of 64 between data sets.
GAMMA_GRID, GAMMA_STEP = (0.0625, 0.25, 1.0, 4.0), 4.0
# Relative difference up to which two values of C or γ are the same, apart from rounding.
SAME_CANDIDATE = 1e-6
# A column whose standard deviation is below this fraction of its mean for each row is constant:
# rounding of a mean explains as much. It is the bound of scikit-learn's `StandardScaler`.
CONSTANT_COLUMN = float(np.finfo(float).eps)
# Kernels without γ.
WITHOUT_GAMMA = ("linear", "precomputed")
# Kernels to choose from: a kernel matrix cannot be standardised.
CHOSEN_FROM = tuple(name for name in KERNELS if name != "precomputed")

Estimator = TypeVar("Estimator")


class Candidate(NamedTuple):
    """What a model is fitted with."""

    kernel: str | Callable[[Any, Any], Any]
    gamma: float | None  # None for kernels without γ
    C: float

    def same(self, other: "Candidate") -> bool:
        """Return whether it is the other one, up to rounding."""
        mine, its = [(each.gamma or 1.0, each.C) for each in (self, other)]
        return self.kernel == other.kernel and np.allclose(mine, its, rtol=SAME_CANDIDATE, atol=0.0)

    def model(
        self, kind: type[Estimator], search: Any, shared: Iterable[str], n_samples: int
    ) -> Estimator:
        """Return its model, not fitted; the `shared` parameters are those of the search."""
        own: dict[str, Any] = {
            "C": self.C,
            "kernel": self.kernel,
            "gamma": "scale" if self.gamma is None else self.gamma,
            "method": choose_by_rows(search.method, self.kernel, n_samples),
        }
        return kind(**own, **{name: getattr(search, name) for name in shared})


class Standardization(NamedTuple):
    """The scaler of X, if there is one, and the variance of X after scaling."""

    scaler: StandardScaler | None
    variance: float  # of all entries of X

    @classmethod
    def of(cls, X: Checked, weight: np.ndarray, standardize: bool) -> "Standardization":
        """Return the standardisation of some samples. Sparse ones are not centred."""
        centred = not sparse.issparse(X.features)
        mean, deviation = mean_and_deviation(X.features, weight)
        if not standardize:
            return cls(None, float(np.mean(deviation**2) + mean.var()))
        # scikit-learn's own moments depend on the unit of weights, and its variances can be
        # negative: they replace those of one row
        scaler = StandardScaler(with_mean=centred).fit(X.features[:1])
        scaler.mean_, scaler.var_, scaler.n_samples_seen_ = mean, deviation**2, weight.sum()
        scaler.scale_ = np.where(deviation > 0.0, deviation, 1.0)
        shift = np.zeros(1) if centred else mean / scaler.scale_
        return cls(scaler, float(np.mean(deviation > 0.0) + shift.var()))


def mean_and_deviation(features: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean and standard deviation of each column, with all their digits.

    The deviation is 0 if a column is constant up to rounding, apart from rows of weight 0.
    """
    there = np.flatnonzero(weight > 0.0)
    share = weight[there] / weight[there].max()  # no sum below overflows
    share /= share.sum()
    origin = share.argmax()
    if len(there) < len(weight):
        features = features[there]
    # Values are taken from those of the row with the largest weight: where all are equal, exactly 0
    # is left. Columns with entries that are not stored are taken from 0.
    if sparse.issparse(features):
        features = features.tocsc(copy=True)
        stored = np.diff(features.indptr)
        middle = np.where(stored == len(there), features[[origin]].toarray()[0], 0.0)
        features.data -= np.repeat(middle, stored)
        mean = features.T @ share
        of_stored, features.data = share[features.indices], features.data - np.repeat(mean, stored)
        column = np.repeat(np.arange(len(mean)), stored)
        variance = np.bincount(column, of_stored * features.data**2, len(mean))
        absent = 1.0 - np.bincount(column, of_stored, len(mean))
        variance += np.where(stored < len(there), np.maximum(absent, 0.0) * mean**2, 0.0)
    else:
        middle = features[origin]
        features = features - middle
        mean = share @ features
        features -= mean
        variance = np.einsum("i,ij,ij->j", share, features, features)
    mean, deviation = middle + mean, np.sqrt(variance)
    rounded = len(there) * CONSTANT_COLUMN * np.abs(mean)
    return mean, np.where(deviation > rounded, deviation, 0.0)


def scaled(scaler: StandardScaler | None, X: Checked) -> Checked:
    """Return samples as paths take them: scaled, if there is a scaler."""
    if scaler is None:
        return X
    features = scaler.transform(X.features)
    source = None if X.source is None else replace(X.source, features=features, rows=None)
    return Checked(features, source=source)


def several(given: Any) -> list[Any]:
    """Return one value, or several, as a list."""
    alone = isinstance(given, (str, bytes)) or callable(given) or not isinstance(given, Iterable)
    return [given] if alone or getattr(given, "ndim", 1) == 0 else list(given)


def check_kernels(given: Any, instead: str) -> list[str | Callable[[Any, Any], Any]]:
    """Return the kernels to choose from; `instead` says what to use with a kernel matrix."""
    kernels: list[Any] = []
    for kernel in several(given):
        if isinstance(kernel, str) and kernel == "precomputed":
            raise ValueError(f"kernel='precomputed' leaves no kernels to choose from; {instead}")
        if not callable(kernel):
            check_choice(kernel, "kernel", CHOSEN_FROM, or_else="a function of two matrices")
        if kernel not in kernels:
            kernels.append(kernel)
    if not kernels:
        raise ValueError("kernel is empty: give at least one")
    return kernels


def check_gammas(
    given: Any, variance: float, n_features: int, multiples: Sequence[float] = GAMMA_GRID
) -> list[float]:
    """Return the values of γ, increasing; "scale" is 1 / (n_features variance).

    "grid" stands for multiples of it.
    """
    scale = 1.0 / (n_features * variance) if variance > 0.0 else 1.0
    named = {"scale": [scale], "auto": [1.0 / n_features]}
    named["grid"] = [multiple * scale for multiple in multiples]
    found: list[float] = []
    for gamma in several(given):
        if isinstance(gamma, str):
            found += named[check_choice(gamma, "gamma", tuple(named), or_else="a number")]
        else:
            found.append(check_positive(gamma, "gamma"))
    if not 0 < len(found) <= MOST_CANDIDATE_VALUES:
        raise ValueError(f"gamma must hold 1 to {MOST_CANDIDATE_VALUES} values, got {len(found)}")
    return [float(gamma) for gamma in np.unique(found)]


def make_grid(
    kernels: list[str | Callable[[Any, Any], Any]], gammas: list[float], Cs: Iterable[float]
) -> list[Candidate]:
    """Return all candidates, kernel after kernel; γ is varied only for kernels that have it."""
    return [
        Candidate(kernel, gamma, C)
        for kernel in kernels
        for gamma in ([None] if callable(kernel) or kernel in WITHOUT_GAMMA else gammas)
        for C in Cs
    ]


def check_Cs(Cs: Any, evenly: Callable[[int], np.ndarray]) -> np.ndarray:
    """Return the values of C, increasing; if their number is given, those of ``evenly(number)``."""
    if isinstance(Cs, (int, np.integer)):
        number = check_integer(Cs, "Cs", least=1)
        if number > MOST_CANDIDATE_VALUES:
            raise ValueError(
                f"Cs must be at most {MOST_CANDIDATE_VALUES} values, got {shown(number)}"
            )
        return evenly(number)
    several = isinstance(Cs, Iterable) and not isinstance(Cs, (str, bytes))
    if not several or getattr(Cs, "ndim", 1) == 0:
        raise TypeError(f"Cs must be a number of values, or the values, got {shown(Cs)}")
    found = np.unique([check_C(C, "Cs") for C in Cs])
    if len(found) == 0:
        raise ValueError("Cs is empty")
    return np.asarray(found)
