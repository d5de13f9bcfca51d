"""Weights of a linear model along τ, in units that people know."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.sparsefuncs import mean_variance_axis

from taupath.report.encoding import packed, packed_functions
from taupath.report.thinning import join, thin_each

__all__ = ["Weights", "find_weights"]

# Features whose weights are drawn.
MOST_WEIGHTS = 30
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
    """

    taus: np.ndarray
    values: np.ndarray
    names: list[str]
    columns: list[np.ndarray] | None
    means: np.ndarray
    deviations: np.ndarray
    average: np.ndarray
    sizes: np.ndarray

    def payload(self, tolerance: float) -> dict[str, Any]:
        """Return what the page draws: functions that may be off by this part of their range."""
        allowed = np.full(len(self.values), tolerance * (float(np.ptp(self.values)) or 1.0))
        average = np.array([tolerance * (float(np.ptp(self.average)) or 1.0)])
        return {
            "names": self.names,
            "functions": packed_functions(join([thin_each(self.taus, self.values, allowed)])),
            "average": packed_functions(join([thin_each(self.taus, self.average[None], average)])),
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
    sizes = np.zeros(len(means))
    for _, coef in path.coefficients_at_nodes():
        np.maximum(sizes, np.abs(coef).max(axis=0) * spread, out=sizes)
    shown = np.argsort(-sizes, kind="stable")[:MOST_WEIGHTS]
    parts = [(taus, coef[:, shown].T) for taus, coef in path.coefficients_at_nodes()]
    values = np.concatenate([part for _, part in parts], axis=1) * spread[shown, None]
    means, spread, columns = means[shown], spread[shown], None
    if not sparse:
        columns = []
        for k, j in enumerate(shown.tolist()):
            column, scale = _column_of(X[:, j], raw(j))
            columns.append(column)
            means[k], spread[k] = column.mean(), spread[k] / abs(scale)
            values[k] *= np.sign(scale)
    return Weights(
        np.concatenate([part for part, _ in parts]),
        values,
        [feature_names[j] for j in shown],
        columns,
        means,
        spread,
        path.values_at_nodes(_row(X.mean(axis=0)))[1][0],
        sizes,
    )


def _row(means: Any) -> np.ndarray:
    return np.asarray(means, dtype=np.float64).reshape(1, -1)


def _column_of(feature: np.ndarray, raw: np.ndarray | None) -> tuple[np.ndarray, float]:
    """Return the raw column of a feature = scale · raw + shift, and the scale.

    Where there is no such column, the feature itself with scale 1. What was missing and filled in
    is what it was filled in with.
    """
    if raw is None:
        return feature, 1.0
    there = np.isfinite(raw)
    if not there.any():
        return feature, 1.0
    x, r = feature[there], raw[there]
    low, high = int(r.argmin()), int(r.argmax())
    if not r[high] > r[low] or x[high] == x[low]:
        return feature, 1.0
    scale = float((x[high] - x[low]) / (r[high] - r[low]))
    shift = float(x[low] - scale * r[low])
    if np.abs(scale * r + shift - x).max() > SAME * float(np.ptp(x)):
        return feature, 1.0
    return np.where(there, raw, (feature - shift) / scale), scale
