"""Weights of a linear model along τ, in the units of the raw columns."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis

from taupath.paths.blocks import slices
from taupath.paths.path import SolutionPath
from taupath.report.encoding import packed
from taupath.report.piecewise_linear import DRAWING_TOLERANCE, evenly_spread, thin_each

# Features whose weights are drawn: a chart has no room for more lines.
MOST_DRAWN = 30
# Nodes at which the largest weights are looked for: weights change little between them.
MOST_NODES = 1000
# A page of aggregates names a feature only if at least this many cases differ from the others in
# it: the name of a rare category would reveal a single case.
SEVERAL = 5
# Weights are computed in blocks of this many numbers, 8 MB.
WEIGHTS_PER_BLOCK = 1_000_000
# Largest error, as a fraction of a feature's range, of an affine function of a column: far more
# than rounding, far less than for any other function.
AFFINE = 1e-9
# The largest number that four bytes hold.
LARGEST_SHORT = float(np.finfo(np.float32).max)


@dataclass(frozen=True)
class Weights:
    """The features with the largest weights, and the columns that they were made from.

    A column is the raw one if the feature is an affine function of it, else the feature itself.
    """

    taus: np.ndarray  # the kinks; twice where weights jump
    values: np.ndarray  # gain of f per standard deviation of each feature, (n_drawn, n_nodes)
    names: list[str]  # of the features, largest weights first
    columns: list[np.ndarray] | None  # each over all cases; None if features are sparse
    means: np.ndarray  # of these columns
    deviations: np.ndarray  # of these columns
    average: np.ndarray  # f of a case with the mean of every feature, (n_nodes,)
    sizes: np.ndarray  # the largest absolute weight of every feature, (n_features,)
    differing: np.ndarray  # number of cases without the most frequent value of each feature

    def payload(self, *, aggregate: bool) -> dict[str, Any] | None:
        """Return the data that the page draws, None if there are none.

        A page of aggregates shows only the features in which several cases differ from the others.
        """
        shown = np.flatnonzero(self.differing >= (SEVERAL if aggregate else 0))
        if len(shown) == 0:
            return None
        return {
            "names": [self.names[k] for k in shown],
            "functions": _thinned(self.taus, self.values[shown]),
            "average": _thinned(self.taus, self.average[None]),
            "means": self.means[shown].tolist(),
            "deviations": self.deviations[shown].tolist(),
            "tolerance": DRAWING_TOLERANCE,
            "features": len(self.sizes),
        }

    def cases_payload(self, rows: np.ndarray) -> dict[str, str] | None:
        """Return the columns of some cases, by which the page shows contributions to a decision."""
        if self.columns is None:
            return None
        values = np.column_stack([column[rows] for column in self.columns])
        return packed(values, "f4" if np.abs(values).max(initial=0.0) <= LARGEST_SHORT else "f8")


def _thinned(taus: np.ndarray, values: np.ndarray) -> dict[str, Any]:
    tolerance = DRAWING_TOLERANCE * (float(np.ptp(values)) or 1.0)
    return thin_each(taus, values, tolerance).payload()


def find_weights(
    model: Any, X: Any, feature_names: list[str], raw: Callable[[int], np.ndarray | None]
) -> Weights | None:
    """Return the largest weights of a linear model, None for any other.

    X are the cases as the model takes them. ``raw(j)`` returns the column of numbers that feature j
    may have been made from, NaN where one is missing, or None if there is no such column.
    """
    path = getattr(model, "path_", None)
    if model.kernel != "linear" or path is None:
        return None
    sparse = hasattr(X, "toarray")
    if sparse:
        means, variances = mean_variance_axis(X, axis=0)
        spread = np.sqrt(variances)
    else:
        means, spread = X.mean(axis=0), X.std(axis=0)
    spread = np.where(spread > AFFINE * np.abs(means), spread, 1.0)
    sizes = _largest(path, len(means)) * spread
    drawn = np.argsort(-sizes, kind="stable")[:MOST_DRAWN]
    found = Weights(
        taus=path.kept_nodes,
        values=path.coefficients_at_kept(columns=drawn).T * spread[drawn, None],
        names=[feature_names[j] for j in drawn],
        columns=None,
        means=means[drawn],
        deviations=spread[drawn],
        average=path.kept_functions(np.reshape(means, (1, -1))).values()[0],
        sizes=sizes,
        differing=np.array([_differing(X[:, [j]].toarray() if sparse else X[:, j]) for j in drawn]),
    )
    return found if sparse else _in_raw_units(found, [(X[:, j], raw(j)) for j in drawn])


def _differing(values: np.ndarray) -> int:
    """Return how many values are not the most frequent one."""
    return int(values.size - np.unique(values, return_counts=True)[1].max())


def _largest(path: SolutionPath, n_features: int) -> np.ndarray:
    """Return the largest absolute coefficient of each feature."""
    nodes = evenly_spread(len(path.kept_nodes), MOST_NODES)
    sizes = np.zeros(n_features)
    for some in slices(len(nodes), WEIGHTS_PER_BLOCK // n_features):
        np.maximum(sizes, np.abs(path.coefficients_at_kept(nodes[some])).max(axis=0), out=sizes)
    return sizes


def _in_raw_units(
    weights: Weights, features: list[tuple[np.ndarray, np.ndarray | None]]
) -> Weights:
    """Return weights of the raw columns, from the values of each feature and of its column."""
    columns, scales = zip(*(_column_of(*pair) for pair in features), strict=True)
    return replace(
        weights,
        values=weights.values * np.sign(scales)[:, None],
        columns=list(columns),
        means=np.array([column.mean() for column in columns]),
        deviations=weights.deviations / np.abs(scales),
    )


def _column_of(feature: np.ndarray, raw: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return the raw column of a feature = scale · raw + shift, and the scale.

    Where there is no such column, the feature itself with scale 1. Missing values of the column
    become what they were filled in with.
    """
    if raw is None:
        return feature, 1.0
    there = np.isfinite(raw)
    found = scale_of(feature[there], raw[there]) if there.any() else None
    if found is None:
        return feature, 1.0
    scale, shift = found
    return np.where(there, raw, (feature - shift) / scale), scale


def scale_of(feature: np.ndarray, raw: np.ndarray) -> tuple[float, float] | None:
    """Return scale and shift of feature = scale · raw + shift, None if it is no such function."""
    low, high = int(raw.argmin()), int(raw.argmax())
    if not raw[high] > raw[low] or feature[high] == feature[low]:
        return None
    with np.errstate(all="ignore"):  # a column of another origin may hold any numbers
        scale = float((feature[high] - feature[low]) / (raw[high] - raw[low]))
        shift = float(feature[low] - scale * raw[low])
        off = float(np.abs(scale * raw + shift - feature).max())
        if scale == 0.0 or not off <= AFFINE * float(np.ptp(feature)):
            return None
        return (scale, shift) if np.isfinite(raw.sum() / scale) else None
