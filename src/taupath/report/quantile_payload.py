"""What the page of quantile regression carries: where each y lies in its predicted distribution.

The predicted quantile Q_τ(x) is at least y exactly where τ is at least the predicted probability
of values below y. Shares and coverages at every τ follow from this one number of each case.
"""

from typing import Any, Literal

import numpy as np

from taupath.paths.blocks import slices
from taupath.paths.path import SolutionPath
from taupath.report.aggregates import cost_ratios
from taupath.report.encoding import packed
from taupath.report.fan_samples import fan_samples
from taupath.report.inputs import ModelAndData
from taupath.report.listed_cases import CaseColumns, listed_payload
from taupath.report.low_rank import compress
from taupath.report.piecewise_linear import evenly_spread, largest_error, thin_together
from taupath.validation import check_targets

# A case lies on its predicted quantile if it is off by at most this fraction of the range of y:
# above rounding, below any digit that is shown.
ON_QUANTILE = 1e-9
# Means are computed from about this many values, a second of work, which are shared out as cells of
# τ for each case, within these limits.
MEAN_VALUES = 6_000_000
FEWEST_CELLS, MOST_CELLS = 512, 16384
# Values that are computed at a time: 4 MB.
QUANTILES_PER_BLOCK = 500_000
# Leaving out nodes may change means by this fraction of their range: less than their error.
MEAN_TOLERANCE = 3e-5
# The error of the means is stated for τ at least this far from 0 and 1: closer to the ends, means
# change a lot within a cell.
STATED_FROM = 0.01
# Cases whose kinks within cells contribute to that error.
MOST_INSIDE = 60
# Values of τ at which the cost of the best single number is stored.
N_CONSTANT = 1001
# A page of aggregates reveals y only as means of at least this many cases.
LEAST_TOGETHER = 5
# Cases listed one by one: the page rearranges the quantiles of each.
MOST_LISTED_FANS = 1000


def quantile_payload(source: ModelAndData, columns: CaseColumns | None) -> dict[str, Any]:
    """Return the data of the page for quantile regression; aggregates only without columns."""
    path = source.model.path_
    y = check_targets(source.y, source.X.shape[0])
    aggregate = columns is None
    if aggregate and len(y) < 2 * LEAST_TOGETHER:
        raise ValueError(
            f"aggregates of fewer than {2 * LEAST_TOGETHER} cases would reveal single ones: there "
            f"are {len(y)}"
        )
    shift = ON_QUANTILE * (float(np.ptp(y)) or 1.0)
    # predicted probabilities of values below y, and up to y
    below, up_to = (
        np.sort(1.0 - path.crossings(source.X, level).length) for level in (y - shift, y + shift)
    )
    means, median = _quantile_means(path, source.X, y)
    n_levels = 0
    if aggregate:
        levels = np.union1d(np.linspace(0.0, 1.0, 1001), cost_ratios())
        below, up_to = _between(levels, below, "left"), _between(levels, up_to, "right")
        n_levels = len(levels)
    return {
        "kind": "quantiles",
        "tau": float(source.model.quantile),
        "count": len(y),
        "levels": n_levels,
        # y ≤ Q_τ for those up to τ, y < Q_τ for those of `upTo` below τ
        "below": packed(below, "f8"),
        "upTo": packed(up_to, "f8"),
        "means": means,
        "constant": _best_constant(y, exact=not aggregate),
        **_single_cases(source, columns, y, median),
        "coefficients": source.weights and source.weights.payload(aggregate=aggregate),
    }


def _between(levels: np.ndarray, found: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Return numbers in the middle between levels, with as many below each level as before."""
    k = np.clip(np.searchsorted(levels, found, side=side), 1, len(levels) - 1)
    return np.asarray(0.5 * (levels[k - 1] + levels[k]))


def _best_constant(y: np.ndarray, *, exact: bool) -> dict[str, Any]:
    """Return mean excess and shortfall if all cases get the same number, the τ-quantile of y.

    If not exact, only means of groups of neighbours in y are used. At the ends of groups the cost
    of the best number is exact, whatever stands for the quantile; between them it is off by a
    fraction of their distance.
    """
    order, n = np.sort(y), len(y)
    total = np.append(0.0, np.cumsum(order))
    if exact:
        taus = np.linspace(0.0, 1.0, N_CONSTANT)
        quantiles = np.quantile(y, taus, method="inverted_cdf")
        ends = np.searchsorted(order, quantiles, side="right")
    else:
        ends = np.linspace(0, n, min(n // LEAST_TOGETHER, N_CONSTANT - 1) + 1).astype(np.int64)
        taus = ends / n
        means = np.diff(total[ends]) / np.diff(ends)
        quantiles = np.concatenate((means[:1], 0.5 * (means[1:] + means[:-1]), means[-1:]))
    over = (ends * quantiles - total[ends]) / n
    under = over - quantiles + total[-1] / n
    return {"taus": packed(taus, "f8"), "over": packed(over, "f8"), "under": packed(under, "f8")}


def _single_cases(
    source: ModelAndData, columns: CaseColumns | None, y: np.ndarray, median: np.ndarray
) -> dict[str, Any]:
    """Return the data of single cases, and of quantiles over columns.

    Their functions are stored together, those of the cases first, and the page rearranges them.
    Rearranging moves no two functions further apart, so the bound on the error holds for quantiles
    as well.
    """
    if columns is None:
        return {"cases": None, "fans": None, "functions": None}
    rows = columns.affordable(_listed_rows(np.abs(y - median)))
    along, fans = fan_samples(source, rows)
    samples = source.X[rows] if along is None else np.concatenate((source.X[rows], along))
    return {
        "cases": {**listed_payload(rows, columns), "y": packed(y[rows], "f8")},
        "fans": fans,
        "functions": compress(source.model.path_.kept_functions(samples)).payload(),
    }


def _listed_rows(distance: np.ndarray) -> np.ndarray:
    """Return the cases to list: all, or the furthest from their medians and some of the others."""
    order = np.argsort(-distance, kind="stable")
    if len(order) <= MOST_LISTED_FANS:
        return order
    half = MOST_LISTED_FANS // 2
    furthest, others = order[:half], order[half:]
    return np.concatenate((furthest, others[evenly_spread(len(others), half)]))


def _quantile_means(path: SolutionPath, X: Any, y: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return means of max(Q_τ - y, 0), max(y - Q_τ, 0) and Q_τ over all cases, and all medians.

    [0, 1] is cut into cells of equal width. In a cell without kinks, the values of f lie between
    those at its ends. The lower ends of all cells, sorted, are at most the quantiles and the upper
    ends at least: means are taken in the middle. The error is half the distance, plus what comes
    from drawing lines between cells, plus what kinks within cells add.
    """
    n_cells = int(np.clip(MEAN_VALUES // len(y), FEWEST_CELLS, MOST_CELLS))
    ends = np.linspace(0.0, 1.0, n_cells + 1)
    taus = np.concatenate(([0.0], 0.5 * (ends[1:] + ends[:-1]), [1.0]))
    sums, apart, median = np.zeros((3, len(taus))), np.zeros(n_cells), np.empty(len(y))
    for block in slices(len(y), QUANTILES_PER_BLOCK // n_cells):
        values = path.kept_functions(X[block]).between(ends)
        low = np.sort(np.minimum(values[:, :-1], values[:, 1:]), axis=1)
        high = np.sort(np.maximum(values[:, :-1], values[:, 1:]), axis=1)
        middle = 0.5 * (low + high)
        apart += (high - low).sum(axis=0)
        median[block] = middle[:, n_cells // 2]
        quantiles = np.concatenate((low[:, :1], middle, high[:, -1:]), axis=1)
        over = quantiles - y[block, None]
        sums[0] += np.maximum(over, 0.0).sum(axis=0)
        sums[1] += np.maximum(-over, 0.0).sum(axis=0)
        sums[2] += quantiles.sum(axis=0)
    means = sums / len(y)
    steps = np.abs(np.diff(means, axis=1)).max(axis=0)
    errors = 0.5 * (apart / len(y) + np.maximum(steps[1:], steps[:-1])) + _inside(path, X, ends)
    stated = errors[(taus[1:-1] >= STATED_FROM) & (taus[1:-1] <= 1.0 - STATED_FROM)]
    kept = thin_together(taus, means, MEAN_TOLERANCE * float(np.ptp(means[2])))
    thinned = float(largest_error(taus, means, kept).max())
    return {
        "taus": packed(taus[kept], "f8"),
        "error": float(stated.max()) + thinned,
        "usual": float(np.median(stated)) + thinned,
        "over": packed(means[0, kept], "f8"),
        "under": packed(means[1, kept], "f8"),
        "quantile": packed(means[2, kept], "f8"),
    }, median


def _inside(path: SolutionPath, X: Any, ends: np.ndarray) -> np.ndarray:
    """Return the mean, over some cases, of how far f exceeds its values at the ends of a cell."""
    functions = path.kept_functions(X[evenly_spread(X.shape[0], MOST_INSIDE)])
    values, at_ends = functions.values(), functions.between(ends)
    cell = np.clip(np.searchsorted(ends, functions.taus, side="right") - 1, 0, len(ends) - 2)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    cell = cell[first]
    low = np.minimum(at_ends[:, cell], at_ends[:, cell + 1])
    high = np.maximum(at_ends[:, cell], at_ends[:, cell + 1])
    beyond = np.maximum(low - np.minimum.reduceat(values, first, axis=1), 0.0)
    beyond += np.maximum(np.maximum.reduceat(values, first, axis=1) - high, 0.0)
    found = np.zeros(len(ends) - 1)
    found[cell] = beyond.mean(axis=0)
    return found
