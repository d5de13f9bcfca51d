"""What the page of quantile regression carries: where each y lies in its predicted distribution.

The predicted quantile Q_τ(x) is at least y exactly where τ is at least the predicted probability
of values below y, so that shares and coverages follow from one number of each case, for every τ.
"""

from typing import Any

import numpy as np

from taupath.display.inputs import as_frame_of, columns_of
from taupath.path import SolutionPath
from taupath.rearrangement import increasing_rearrangement
from taupath.report.binary import TOLERANCE, coefficient_payload
from taupath.report.encoding import packed
from taupath.report.inputs import Case, Cells
from taupath.report.lowrank import AT_A_TIME, chosen_of, compress
from taupath.report.thinning import largest_error, thin_together
from taupath.validation import check_targets, slices

__all__ = ["quantile_payload"]

# A case lies on its predicted quantile if it is off by no more than this part of the range of y.
ON_IT = 1e-9
# What decreases by less than this part of its range does so by rounding.
ROUNDING = 1e-9
# What means may be off by where nodes are left out, as part of the range of the quantiles.
MEAN_TOLERANCE = 3e-5
# Fans over a feature: points of its grid, and features they can be seen over.
GRID = 81
MOST_FANS = 8
# Cases that are carried one by one: the page puts the quantiles of each in order.
MOST_CASES = 1000
# Means bend where a case is met: of so many cases, at all of these τ; of more, that does not show.
MOST_OWN = 2000


def quantile_payload(case: Case, cells: Cells | None) -> dict[str, Any]:
    """Return the data of the page for quantile regression."""
    if cells is None:
        raise ValueError("cases=False is for classifiers of two classes")
    path = case.model.path_
    y = check_targets(case.y, case.X.shape[0])
    on_it = ON_IT * (float(np.ptp(y)) or 1.0)
    # predicted probabilities of values below y, and up to y
    below, up_to = (
        np.clip(1.0 - path.crossings(case.X, y + shift).length, 0.0, 1.0)
        for shift in (-on_it, on_it)
    )
    means, median = _quantile_means(path, case.X, y, below)
    rows = cells.affordable(_chosen(np.abs(y - median), MOST_CASES))
    return {
        "kind": "quantiles",
        "tau": float(case.model.quantile),
        "count": len(y),
        # sorted: y ≤ Q_τ for those up to τ, y < Q_τ for those of `upTo` below τ
        "below": packed(np.sort(below), "f8"),
        "upTo": packed(np.sort(up_to), "f8"),
        "means": means,
        "cases": {
            "count": len(rows),
            "rows": packed(rows, "u4"),
            "y": packed(y[rows], "f8"),
            "functions": _compressed(path, case.X[rows]),
            "columns": cells.payload(rows),
        },
        "fans": _fans(case, rows),
        "coefficients": coefficient_payload(case),
    }


def _quantile_means(
    path: SolutionPath, X: Any, y: np.ndarray, own: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """Return means of max(Q_τ - y, 0), max(y - Q_τ, 0) and Q_τ over all cases, and all medians.

    Kinks that do not show are left out before functions are rearranged. How far that puts Q_τ off,
    how far it is off between the τ where means are computed, and what is left out of the means are
    added up to the error of the means.
    """
    kinks, some = path.values_at_nodes(X[chosen_of(len(y))])
    tolerance = MEAN_TOLERANCE * float(np.ptp(some))
    kept = thin_together(kinks, some, tolerance)
    taus = _nodes(kinks[kept], own)
    half = int(np.searchsorted(taus, 0.5))
    sums, median, left_out, between = np.zeros((3, len(taus))), np.empty(len(y)), 0.0, 0.0
    for block in slices(len(y), max(AT_A_TIME // max(len(kinks), len(taus)), 1)):
        _, values = path.values_at_nodes(X[block])
        left_out = max(left_out, largest_error(kinks, values, kept))
        quantiles = np.empty((len(values), len(taus)))
        for i, row in enumerate(values[:, kept]):
            levels, ends = _increasing(kinks[kept], row)
            quantiles[i] = np.interp(taus, levels, ends)
            between += _error_between(taus, quantiles[i], levels, ends)
        over = quantiles - y[block, None]
        sums[0] += np.maximum(over, 0.0).sum(axis=0)
        sums[1] += np.maximum(-over, 0.0).sum(axis=0)
        sums[2] += quantiles.sum(axis=0)
        median[block] = quantiles[:, half]
    means = sums / len(y)
    shown = thin_together(taus, means, tolerance)
    names = ("over", "under", "quantile")
    found = {name: packed(row[shown], "f8") for name, row in zip(names, means, strict=True)}
    error = left_out + between / len(y) + largest_error(taus, means, shown)
    return {"taus": packed(taus[shown], "f8"), "error": error, **found}, median


def _nodes(kinks: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return the τ that means are computed at: kinks, a grid, and where the cases are met."""
    jumps = kinks[1:][kinks[1:] == kinks[:-1]]
    own = own if len(own) <= MOST_OWN else own[:0]
    grid = np.linspace(0.0, 1.0, 1025)
    return np.unique(np.concatenate((kinks, np.nextafter(jumps[jumps > 0.0], 0.0), own, grid)))


def _increasing(nodes: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and values of a quantile function: as they are, or rearranged."""
    if (np.diff(values) >= -ROUNDING * (np.ptp(values) or 1.0)).all():
        return nodes, np.maximum.accumulate(values)
    return increasing_rearrangement(nodes, values)


def _error_between(
    taus: np.ndarray, values: np.ndarray, levels: np.ndarray, ends: np.ndarray
) -> float:
    """Return how far a function is off if it is taken for linear between `taus`."""
    off = np.abs(np.interp(levels, taus, values) - ends)
    jump = np.diff(levels) == 0.0
    off[1:][jump] = 0.0
    off[:-1][jump] = 0.0
    return float(off.max())


def _compressed(path: SolutionPath, X: Any) -> dict[str, Any]:
    """Return what the page carries of the functions of some samples, before they are rearranged.

    The page does that. It moves no two functions further apart than they are, so that the bound on
    the error holds for quantiles as well.
    """
    found = compress(lambda some: path.values_at_nodes(X[some]), X.shape[0], TOLERANCE)
    return found.payload()


def _chosen(distance: np.ndarray, most: int) -> np.ndarray:
    """Return the cases that are carried: all, or the furthest ones and some of the others."""
    order = np.argsort(-distance, kind="stable")
    if len(order) <= most:
        return order
    furthest, others = order[: most // 2], order[most // 2 :]
    spread = np.linspace(0, len(others) - 1, most // 2).astype(np.int64)
    return np.concatenate((furthest, others[spread]))


def _fans(case: Case, rows: np.ndarray) -> dict[str, Any] | None:
    """Return quantiles over one feature each, while the others stay at their medians."""
    given = case.given
    if case.model.kernel == "precomputed" or hasattr(given, "tocsr") or np.ndim(given) != 2:
        return None
    samples, names = columns_of(given), case.given_names()
    shown = np.flatnonzero(np.ptp(samples, axis=0) > 0.0)[:MOST_FANS]
    if len(shown) == 0:
        return None
    x = np.linspace(samples[:, shown].min(axis=0), samples[:, shown].max(axis=0), GRID, axis=1)
    grid = np.tile(np.median(samples, axis=0), (len(shown), GRID, 1))
    for k, j in enumerate(shown):
        grid[k, :, j] = x[k]
    points = case.transform(as_frame_of(given, grid.reshape(-1, samples.shape[1])))
    return {
        "features": int(samples.shape[1]),
        "names": [names[j] for j in shown],
        "size": GRID,
        "x": packed(x, "f8"),
        "points": packed(samples[np.ix_(rows, shown)].T, "f4"),
        "functions": _compressed(case.model.path_, points),
    }
