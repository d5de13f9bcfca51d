"""How good are the quantiles and intervals of `QuantileSVRCV`, beside its variants and others?

On the seven real data sets of `intervals.py`, as they are in their files: nothing is scaled before.
Random splits, two thirds to train on. The loss is the mean pinball loss at the levels 0.05, 0.1,
..., 0.95 on the rest, as a part of that of the quantiles of the training part's y, and the mean
over splits.

cv              ``QuantileSVRCV()``
cv linear, rbf  the best candidate with that kernel, of the same search
fine            the best of 40 candidates: eight C, and the linear kernel or one of four γ
as it is        ``cv`` with ``standardize=False``
linear, rbf     ``QuantileSVR()`` and ``QuantileSVR(kernel="rbf")`` without any choice
scaled rbf      the latter, with x and y standardised before
boosting        scikit-learn's `GradientBoostingRegressor` of each level, its quantiles sorted
forest          a random forest of 300 trees with leaves of 5 samples, by the package
                quantile-forest; left out where that is not installed

Intervals are judged on the same samples, those of all splits together: the share that lies within,
and the mean width in deviations of y. "plain" are those of ``QuantileSVRCV(conformal=False)``. The
band is the one that 99 % of binomial shares with as many samples lie in; samples that are in
several splits are counted as often, which makes it a little too narrow.

Data are read from the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import machine, n_threads, table
from datasets.tables import read_table
from forest import forest_quantiles, installed
from intervals import PACKAGES, SETS, binomial_band, inside
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.model_selection import ShuffleSplit
from sklearn.preprocessing import StandardScaler

from taupath import QuantileSVR, QuantileSVRCV
from taupath.datasets import ENVIRONMENT_VARIABLE

LEVELS = np.arange(1, 20) / 20
COVERAGES = (0.8, 0.9)
FINE_CS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
SPLITS = 3
OWN = ("cv", "cv linear", "cv rbf", "fine", "as it is", "linear", "rbf", "scaled rbf")
KINDS = (*OWN, "boosting", *(["forest"] if installed() else []))
JUDGED = ("cv", "plain", "boosting", *(["forest"] if installed() else []))


@dataclass(frozen=True)
class Row:
    """What was measured on one set: means over splits.

    `loss` is relative to unconditional quantiles, `coverage` and `width` are by kind and coverage,
    `n_judged` is the number of held-out samples in all splits, `seconds` are those of a fit.
    """

    name: str
    n_samples: int
    n_features: int
    n_judged: int
    chosen: list[str]
    loss: dict[str, float]
    coverage: dict[str, list[float]]
    width: dict[str, list[float]]
    seconds: dict[str, float]

    def holds(self, kind: str, k: int) -> bool:
        """Return whether a coverage lies in its band."""
        low, high = binomial_band(self.n_judged, COVERAGES[k])
        return low <= self.coverage[kind][k] <= high


def pinball(y: np.ndarray, quantiles: np.ndarray) -> float:
    """Return the mean loss over samples and levels."""
    residual = y[:, np.newaxis] - quantiles
    return float(np.maximum(LEVELS * residual, (LEVELS - 1.0) * residual).mean())


def of_kernel(
    search: QuantileSVRCV, kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray
) -> np.ndarray:
    """Return the quantiles of the best candidate with this kernel."""
    own = [k for k, each in enumerate(search.candidates_) if each["kernel"] == kernel]
    best = search.candidates_[own[int(search.pinball_[own].mean(axis=1).argmin())]]
    gamma = "scale" if best["gamma"] is None else best["gamma"]
    return standardised(QuantileSVR(best["C"], kernel=kernel, gamma=gamma), X, y, X_test)


def standardised(
    model: QuantileSVR, X: np.ndarray, y: np.ndarray, X_test: np.ndarray
) -> np.ndarray:
    """Return the quantiles of a model with x and y standardised before."""
    scaler, middle, unit = StandardScaler().fit(X), y.mean(), y.std()
    model.fit(scaler.transform(X), (y - middle) / unit)
    return middle + unit * model.predict(scaler.transform(X_test), LEVELS)


def boosted(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> np.ndarray:
    """Return the quantiles of gradient boosting, sorted."""
    found = [
        GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0)
        .fit(X, y)
        .predict(X_test)
        for level in LEVELS
    ]
    return np.sort(np.column_stack(found), axis=1)


def ends(quantiles: np.ndarray, coverage: float) -> np.ndarray:
    """Return an interval whose ends are among the levels."""
    low = int(np.argmin(np.abs(LEVELS - (0.5 - 0.5 * coverage))))
    return quantiles[:, [low, -1 - low]]


# -- measuring -------------------------------------------------------------------------------------


def predictions(
    X: np.ndarray,
    y: np.ndarray,
    X_test: np.ndarray,
    kinds: Sequence[str],
    seconds: dict[str, float],
) -> tuple[dict[str, np.ndarray], dict[str, list[np.ndarray]], str]:
    """Return the quantiles and the intervals of each kind, and what was chosen."""
    begun = time.process_time()
    search = QuantileSVRCV().fit(X, y)
    seconds["cv"] += time.process_time() - begun
    ways = {
        "cv": lambda: search.predict(X_test, LEVELS),
        "cv linear": lambda: of_kernel(search, "linear", X, y, X_test),
        "cv rbf": lambda: of_kernel(search, "rbf", X, y, X_test),
        "fine": lambda: QuantileSVRCV(FINE_CS, conformal=False).fit(X, y).predict(X_test, LEVELS),
        "as it is": lambda: (
            QuantileSVRCV(standardize=False, conformal=False).fit(X, y).predict(X_test, LEVELS)
        ),
        "linear": lambda: QuantileSVR().fit(X, y).predict(X_test, LEVELS),
        "rbf": lambda: QuantileSVR(kernel="rbf").fit(X, y).predict(X_test, LEVELS),
        "scaled rbf": lambda: standardised(QuantileSVR(kernel="rbf"), X, y, X_test),
        "boosting": lambda: boosted(X, y, X_test),
        "forest": lambda: forest_quantiles(X, y, X_test, tuple(LEVELS)),
    }
    quantiles = {}
    for kind in kinds:
        begun = time.process_time()
        quantiles[kind] = ways[kind]()
        seconds[kind] += time.process_time() - begun
    intervals = {
        kind: [ends(quantiles["cv" if kind == "plain" else kind], share) for share in COVERAGES]
        for kind in JUDGED
        if kind == "plain" or kind in quantiles
    }
    intervals["cv"] = [search.predict_interval(X_test, share) for share in COVERAGES]
    gamma = "" if search.gamma_ is None else f" γ={search.gamma_ * X.shape[1]:g}/d"
    return quantiles, intervals, f"{search.kernel_} C={search.C_:g}{gamma}"


def measure(name: str, X: np.ndarray, y: np.ndarray, kinds: Sequence[str], n_splits: int) -> Row:
    """Measure one set."""
    losses: dict[str, list[float]] = {kind: [] for kind in kinds}
    seconds = dict.fromkeys(kinds, 0.0)
    hits: dict[str, list[list[float]]] = {}
    widths: dict[str, list[list[float]]] = {}
    chosen, n_judged = [], 0
    for train, test in ShuffleSplit(n_splits, test_size=1 / 3, random_state=0).split(X):
        quantiles, intervals, what = predictions(X[train], y[train], X[test], kinds, seconds)
        constant = pinball(y[test], np.tile(np.quantile(y[train], LEVELS), (len(test), 1)))
        for kind, found in quantiles.items():
            losses[kind].append(pinball(y[test], found) / constant)
        for kind, pair in intervals.items():
            hits.setdefault(kind, []).append([inside(y[test], each).mean() for each in pair])
            sizes = [np.diff(each, axis=1).mean() / y.std() for each in pair]
            widths.setdefault(kind, []).append(sizes)
        chosen.append(what)
        n_judged += len(test)
    return Row(
        name,
        *X.shape,
        n_judged,
        chosen,
        {kind: float(np.mean(found)) for kind, found in losses.items()},
        {kind: np.mean(found, axis=0).tolist() for kind, found in hits.items()},
        {kind: np.mean(found, axis=0).tolist() for kind, found in widths.items()},
        {kind: found / n_splits for kind, found in seconds.items()},
    )


# -- reporting -------------------------------------------------------------------------------------


def report(rows: Sequence[Row], kinds: Sequence[str], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    names = ("data", [*(row.name for row in rows), "mean"])

    def column(values: list[float], form: str = ".3f") -> list[str]:
        return [format(value, form) for value in [*values, float(np.mean(values))]]

    losses = [(kind, column([row.loss[kind] for row in rows])) for kind in kinds]
    times = [(kind, column([row.seconds[kind] for row in rows], ".1f")) for kind in kinds]
    lines = [
        *table(
            "Pinball loss over all levels, as a part of that of unconditional quantiles",
            [names, *losses],
        ),
        "",
        *table("Seconds of a fit and its predictions", [names, *times]),
    ]
    for k, coverage in enumerate(COVERAGES):
        bands = [binomial_band(row.n_judged, coverage) for row in rows]
        columns = [
            names,
            ("99 % band", [*(f"{100 * a:.1f} - {100 * b:.1f}" for a, b in bands), ""]),
        ]
        for kind in rows[0].coverage:
            shares = column([100.0 * row.coverage[kind][k] for row in rows], ".1f")
            marks = [*(" " if row.holds(kind, k) else "!" for row in rows), " "]
            columns.append((kind, [a + b for a, b in zip(shares, marks, strict=True)]))
        for kind in rows[0].width:
            columns.append((f"width {kind}", column([row.width[kind][k] for row in rows])))
        title = f"{coverage:.0%} intervals: samples within, in % (! outside the band), and widths"
        lines += ["", *table(title, columns)]
    lines += ["", *(f"{row.name}: {', '.join(row.chosen)}" for row in rows)]
    return [*lines, "", ", ".join(f"{name} {value}" for name, value in about.items())]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Quantiles and intervals of QuantileSVRCV.")
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    kinds = list(dict.fromkeys(["cv", *arguments.kinds]))
    if n_threads() > 1:
        print(f"quantiles: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    folder = os.environ.get(ENVIRONMENT_VARIABLE)
    if not folder:
        print(f"quantiles: no data folder is given: set {ENVIRONMENT_VARIABLE}", file=sys.stderr)
        return 1
    rows = []
    for name in arguments.datasets:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            X, y = read_table(name, Path(folder))
        except FileNotFoundError as missing:
            print(f"quantiles: {missing}", file=sys.stderr)
            return 1
        rows.append(measure(name, X, y, kinds, arguments.splits))
    about = machine(*PACKAGES)
    if arguments.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "machine": about}, indent=2))
    else:
        print("\n".join(report(rows, kinds, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
