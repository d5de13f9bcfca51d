"""Weights of a linear model along τ, in units that people know."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis

from taupath.paths.path import SolutionPath
from taupath.report.encoding import packed, packed_functions
from taupath.report.low_rank import chosen_of
from taupath.report.piecewise_linear import join, thin_each
from taupath.validation import slices

__all__ = ["Weights", "find_weights", "scale_of"]

# Features whose weights are drawn, and nodes at which the largest ones are looked for.
MOST_WEIGHTS = 30
MOST_NODES = 1000
# Cases that differ from the others in a feature which a page of aggregates names.
SEVERAL = 5
# Weights at a time.
AT_A_TIME = 1_000_000
# A feature is an affine function of a column if it is off by no more than this part of its range.
SAME = 1e-9


@dataclass(frozen=True)
class Weights:
    """The features with the largest weights, and the columns that they were made from.

    Attributes
    ----------
    taus : ndarray of shape (n_nodes,)
        The kinks; one where weights jump is there twice.
    values : ndarray of shape (n_shown, n_nodes)
        What f gains with one standard deviation more of the feature.
    names : list of str
        Names of these features, those with the largest weights first.
    columns : list of ndarray or None
        Each over all cases: the raw column where the feature is an affine function of one that is
        known, else the feature itself. None where features are sparse.
    means, deviations : ndarray of shape (n_shown,)
        Of these columns.
    average : ndarray of shape (n_nodes,)
        f of a case whose features all have their means.
    sizes : ndarray of shape (n_features,)
        The largest weight of every feature, by its absolute value.
    differing : ndarray of shape (n_shown,)
        How many cases do not have the most frequent value of these features.
    """

    taus: np.ndarray
    values: np.ndarray
    names: list[str]
    columns: list[np.ndarray] | None
    means: np.ndarray
    deviations: np.ndarray
    average: np.ndarray
    sizes: np.ndarray
    differing: np.ndarray

    def of_several(self) -> "Weights | None":
        """Return the features that tell several cases apart from others, None if there are none."""
        kept = np.flatnonzero(self.differing >= SEVERAL)
        if len(kept) == 0:
            return None
        return replace(
            self,
            values=self.values[kept],
            names=[self.names[k] for k in kept],
            columns=None,
            means=self.means[kept],
            deviations=self.deviations[kept],
            differing=self.differing[kept],
        )

    def payload(self, tolerance: float) -> dict[str, Any]:
        """Return what the page draws: functions that may be off by this part of their range."""
        return {
            "names": self.names,
            "functions": _drawn(self.taus, self.values, tolerance),
            "average": _drawn(self.taus, self.average[None], tolerance),
            "means": self.means.tolist(),
            "deviations": self.deviations.tolist(),
            "tolerance": tolerance,
            "features": len(self.sizes),
        }

    def cases_payload(self, rows: np.ndarray) -> dict[str, str] | None:
        """Return the columns of some cases, from which the page tells what turns a decision."""
        if self.columns is None:
            return None
        return packed(np.column_stack([column[rows] for column in self.columns]), "f4")


def _drawn(taus: np.ndarray, values: np.ndarray, tolerance: float) -> dict[str, Any]:
    """Return functions at fewer nodes, off by no more than this part of their range."""
    allowed = np.full(len(values), tolerance * (float(np.ptp(values)) or 1.0))
    return packed_functions(join([thin_each(taus, values, allowed)]))


def find_weights(
    model: Any, X: Any, feature_names: list[str], raw: Callable[[int], np.ndarray | None]
) -> Weights | None:
    """Return the largest weights of a linear model, None for any other.

    Parameters
    ----------
    model : QuantileSVC or QuantileSVR
        Fitted.
    X : ndarray or sparse array of shape (n_samples, n_features)
        Cases, as the path takes them.
    feature_names : list of str
        What the features are called.
    raw : callable
        From the number of a feature to the numbers it may have been made from, one for each case
        and NaN where there is none; or to None.
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
    spread = np.where(spread > SAME * np.abs(means), spread, 1.0)
    average = path.kept_functions(np.reshape(means, (1, -1))).values()[0]
    sizes = _largest(path, len(means)) * spread
    shown = np.argsort(-sizes, kind="stable")[:MOST_WEIGHTS]
    taus = path.kept_nodes
    values = path.coefficients_at_kept(columns=shown).T * spread[shown, None]
    means, spread, columns = means[shown], spread[shown], None
    differing = [_differing(X[:, [j]].toarray() if sparse else X[:, j]) for j in shown.tolist()]
    if not sparse:
        columns = []
        for k, j in enumerate(shown.tolist()):
            column, scale = _column_of(X[:, j], raw(j))
            columns.append(column)
            means[k], spread[k] = column.mean(), spread[k] / abs(scale)
            values[k] *= np.sign(scale)
    return Weights(
        taus,
        values,
        [feature_names[j] for j in shown],
        columns,
        means,
        spread,
        average,
        sizes,
        np.array(differing),
    )


def _differing(values: np.ndarray) -> int:
    """Return how many values are not the most frequent one."""
    return int(values.size - np.unique(values, return_counts=True)[1].max())


def _largest(path: SolutionPath, n_features: int) -> np.ndarray:
    """Return the largest coefficient of each feature, at nodes that are enough to see it."""
    n = len(path.kept_nodes)
    nodes = chosen_of(n, MOST_NODES)
    sizes = np.zeros(n_features)
    for some in slices(len(nodes), max(AT_A_TIME // n_features, 1)):
        np.maximum(sizes, np.abs(path.coefficients_at_kept(nodes[some])).max(axis=0), out=sizes)
    return sizes


def _column_of(feature: np.ndarray, raw: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return the raw column of a feature = scale · raw + shift, and the scale.

    Where there is no such column, the feature itself with scale 1. What was missing and filled in
    is what it was filled in with.
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
    scale = float((feature[high] - feature[low]) / (raw[high] - raw[low]))
    shift = float(feature[low] - scale * raw[low])
    if np.abs(scale * raw + shift - feature).max() > SAME * float(np.ptp(feature)):
        return None
    return scale, shift
