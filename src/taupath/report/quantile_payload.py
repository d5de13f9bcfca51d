"""What the page of quantile regression carries: where each y lies in its predicted distribution.

The predicted quantile Q_τ(x) is at least y exactly where τ is at least the predicted probability
of values below y, so that shares and coverages follow from one number of each case, for every τ.
"""

from typing import Any, Literal

import numpy as np

from taupath.paths.path import SolutionPath
from taupath.report.binary_payload import TOLERANCE, coefficient_payload
from taupath.report.decision_counts import cost_ratios
from taupath.report.encoding import packed
from taupath.report.fan_samples import find_fans
from taupath.report.inputs import Case, Cells
from taupath.report.low_rank import chosen_of, compress
from taupath.report.piecewise_linear import largest_error, thin_together
from taupath.validation import check_targets, slices

__all__ = ["quantile_payload"]

# A case lies on its predicted quantile if it is off by no more than this part of the range of y.
ON_IT = 1e-9
# Values that means are computed from, about, and cells of τ that each case has.
MEAN_VALUES = 6_000_000
FEWEST_CELLS, MOST_CELLS = 512, 16384
# Values at a time.
AT_A_TIME = 500_000
# What means may be off by where nodes are left out, as part of their range.
MEAN_TOLERANCE = 3e-5
# The error of the means is stated for τ that are so far from 0 and 1: nearer to the ends, means
# change a lot within a cell.
STATED = 0.01
# Cases whose kinks within cells are looked at.
MOST_INSIDE = 60
# Points of τ at which the same quantile for all cases is looked at.
CONSTANT = 1001
# Cases whose mean is the least that a page of aggregates tells of y.
TOGETHER = 5
# Cases that are carried one by one: the page puts the quantiles of each in order.
MOST_CASES = 1000


def quantile_payload(case: Case, cells: Cells | None) -> dict[str, Any]:
    """Return the data of the page for quantile regression; aggregates only without cells."""
    path = case.model.path_
    y = check_targets(case.y, case.X.shape[0])
    if cells is None and len(y) < 2 * TOGETHER:
        raise ValueError(
            f"aggregates of fewer than {2 * TOGETHER} cases tell about single ones: there are "
            f"{len(y)}"
        )
    on_it = ON_IT * (float(np.ptp(y)) or 1.0)
    # predicted probabilities of values below y, and up to y
    below, up_to = (
        np.sort(np.clip(1.0 - path.crossings(case.X, y + shift).length, 0.0, 1.0))
        for shift in (-on_it, on_it)
    )
    means, median = _quantile_means(path, case.X, y)
    levels = None
    if cells is None:
        levels = _levels()
        below, up_to = _between(levels, below, "left"), _between(levels, up_to, "right")
    return {
        "kind": "quantiles",
        "tau": float(case.model.quantile),
        "count": len(y),
        "levels": 0 if levels is None else len(levels),
        # y ≤ Q_τ for those up to τ, y < Q_τ for those of `upTo` below τ
        "below": packed(below, "f8"),
        "upTo": packed(up_to, "f8"),
        "means": means,
        "constant": _constant_means(y) if cells is None else _exact_constant_means(y),
        **_single_cases(case, cells, y, median),
        "coefficients": coefficient_payload(case, aggregate=cells is None),
    }


def _levels() -> np.ndarray:
    """Return the τ at which a page of aggregates has its shares: thousandths and cost ratios."""
    return np.union1d(np.linspace(0.0, 1.0, 1001), cost_ratios())


def _between(levels: np.ndarray, found: np.ndarray, side: Literal["left", "right"]) -> np.ndarray:
    """Return numbers in the middle between levels, with as many below each level as before."""
    k = np.clip(np.searchsorted(levels, found, side=side), 1, len(levels) - 1)
    return np.asarray(0.5 * (levels[k - 1] + levels[k]))


def _constant_means(y: np.ndarray) -> dict[str, Any]:
    """Return about the same as `_exact_constant_means`, from means of neighbours in y alone.

    From one end of the neighbours to the next, the cost of the best quantile is exact whatever
    number stands for that quantile; between these it is off by a part of their distance.
    """
    order, n = np.sort(y), len(y)
    ends = np.linspace(0, n, min(n // TOGETHER, CONSTANT - 1) + 1).astype(np.int64)
    total = np.append(0.0, np.cumsum(order))[ends]
    means = np.diff(total) / np.diff(ends)
    quantiles = np.concatenate((means[:1], 0.5 * (means[1:] + means[:-1]), means[-1:]))
    taus = ends / n
    over = taus * quantiles - total / n
    under = over - quantiles + total[-1] / n
    return {"taus": packed(taus, "f8"), "over": packed(over, "f8"), "under": packed(under, "f8")}


def _exact_constant_means(y: np.ndarray) -> dict[str, Any]:
    """Return mean excess and shortfall where all cases get the same quantile, that of y itself."""
    taus = np.linspace(0.0, 1.0, CONSTANT)
    quantiles = np.quantile(y, taus, method="inverted_cdf")
    order = np.sort(y)
    total = np.append(0.0, np.cumsum(order))
    k = np.searchsorted(order, quantiles, side="right")
    over = (k * quantiles - total[k]) / len(y)
    under = over - quantiles + total[-1] / len(y)
    return {"taus": packed(taus, "f8"), "over": packed(over, "f8"), "under": packed(under, "f8")}


def _single_cases(
    case: Case, cells: Cells | None, y: np.ndarray, median: np.ndarray
) -> dict[str, Any]:
    """Return what is carried of single cases, and quantiles over columns.

    Functions of both are carried together, those of the cases first, before they are rearranged.
    The page does that. It moves no two functions further apart than they are, so that the bound on
    the error holds for quantiles as well.
    """
    if cells is None:
        return {"cases": None, "fans": None, "functions": None}
    rows = cells.affordable(_chosen(np.abs(y - median), MOST_CASES))
    fans = None if case.model.kernel == "precomputed" else find_fans(case)
    samples = case.X[rows]
    if fans is not None:
        samples = np.concatenate((samples, fans.samples))
    functions = case.model.path_.kept_functions(samples)
    return {
        "cases": {
            "count": len(rows),
            "rows": packed(rows, "u4"),
            "y": packed(y[rows], "f8"),
            "columns": cells.payload(rows),
        },
        "fans": None if fans is None else fans.payload(rows),
        "functions": compress(functions, TOLERANCE).payload(),
    }


def _quantile_means(path: SolutionPath, X: Any, y: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return means of max(Q_τ - y, 0), max(y - Q_τ, 0) and Q_τ over all cases, and all medians.

    [0, 1] is cut into cells of equal width. The values of f in each cell lie between those at its
    ends, as far as it has no kinks inside. Put in order, the lower ends are at most the quantiles
    and the upper ends at least: means are taken in the middle. Half the distance, what comes from
    drawing lines between cells, and what kinks within them add are the error.
    """
    n_cells = int(np.clip(MEAN_VALUES // len(y), FEWEST_CELLS, MOST_CELLS))
    ends = np.linspace(0.0, 1.0, n_cells + 1)
    taus = np.concatenate(([0.0], 0.5 * (ends[1:] + ends[:-1]), [1.0]))
    sums, apart, median = np.zeros((3, len(taus))), np.zeros(n_cells), np.empty(len(y))
    for block in slices(len(y), max(AT_A_TIME // n_cells, 1)):
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
    off = 0.5 * (apart / len(y) + np.maximum(steps[1:], steps[:-1])) + _inside(path, X, ends)
    shown = thin_together(taus, means, MEAN_TOLERANCE * float(np.ptp(means[2])))
    inside = (taus[1:-1] >= STATED) & (taus[1:-1] <= 1.0 - STATED)
    names = ("over", "under", "quantile")
    found = {name: packed(row[shown], "f8") for name, row in zip(names, means, strict=True)}
    thinned = float(largest_error(taus, means, shown).max())
    return {
        "taus": packed(taus[shown], "f8"),
        "error": float(off[inside].max()) + thinned,
        "usual": float(np.median(off[inside])) + thinned,
        **found,
    }, median


def _inside(path: SolutionPath, X: Any, ends: np.ndarray) -> np.ndarray:
    """Return how far kinks within each cell lead out of the values at its ends.

    The mean over some of the cases.
    """
    functions = path.kept_functions(X[chosen_of(X.shape[0], MOST_INSIDE)])
    values, at_ends = functions.values(), functions.between(ends)
    cell = np.clip(np.searchsorted(ends, functions.taus, side="right") - 1, 0, len(ends) - 2)
    first = np.flatnonzero(np.diff(cell, prepend=-1))
    low, high = (
        np.minimum.reduceat(values, first, axis=1),
        np.maximum.reduceat(values, first, axis=1),
    )
    there = cell[first]
    least = np.minimum(at_ends[:, there], at_ends[:, there + 1])
    most = np.maximum(at_ends[:, there], at_ends[:, there + 1])
    out = np.maximum(least - low, 0.0) + np.maximum(high - most, 0.0)
    found = np.zeros(len(ends) - 1)
    found[there] = out.mean(axis=0)
    return found


def _chosen(distance: np.ndarray, most: int) -> np.ndarray:
    """Return the cases that are carried: all, or the furthest ones and some of the others."""
    order = np.argsort(-distance, kind="stable")
    if len(order) <= most:
        return order
    furthest, others = order[: most // 2], order[most // 2 :]
    spread = np.linspace(0, len(others) - 1, most // 2).astype(np.int64)
    return np.concatenate((furthest, others[spread]))
