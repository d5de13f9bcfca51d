"""Do 80 % intervals of `QuantileSVR` hold 80 % of what is to come, and do quantiles never cross?

On real data, 10 folds. The last column of each file is y, the others are x; letters become columns
of 0 and 1. Left out are `low` of birthwt, which is made from y, and the row numbers of crabs. On
each training part x and y are standardised, and C is chosen for the RBF kernel with gamma="scale":
of a grid, the one with the least pinball loss at the quantiles 0.1 and 0.9 together, in 5 folds
(quantiles as they are on the path: rearranging them changes little here and takes longer).

plain           ``predict_interval(X, coverage=0.8)``
conformal k     the same of ``QuantileSVR(conformal=k)``, in k folds

forest          quantiles 0.1 and 0.9 of a random forest of 300 trees with leaves of 5 samples, by
                the package quantile-forest; left out where that is not installed

Other rules to learn from 10 folds, for comparison; none of them is part of the package, since
intervals of one coverage need not lie within those of a larger one, or are wide:

one step        both ends moved outwards, or inwards, by as much as covers 80 % of held-out samples
                (Romano, Patterson & Candès 2019, with cross-validation in place of a second sample)
two steps       each end by as much as leaves 10 % of them beyond it
CV+             ends are quantiles, over all samples, of what the path without the sample's fold
                predicts, moved by the sample's distance (Barber, Candès, Ramdas & Tibshirani 2021).
                Covers 60 % at least, whatever the data, where 80 % are asked for
levels          the quantiles of another coverage; where the path ends, moved further outwards
                (after Chernozhukov, Wüthrich & Zhu 2021)

Beside the coverage stands the band that 99 % of binomial shares with n samples and p = 0.8 lie in.
A sample on an end of its interval is inside. "in training" is the share of training samples inside
their intervals; those on the ends, as many as the model has free points, take it above 80 %.
Widths are means in units of the deviation of y, and so are pinball losses: the mean of those at the
quantiles 0.1 and 0.9, the ends of the intervals.

Crossings are counted among the quantiles 0.01, ..., 0.99 of each held-out sample: of those that are
predicted and, for comparison, of those of the path before they are rearranged ("before": those by
more than 1e-6 deviations of y).

Data are read from the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import machine, n_threads, table
from datasets.tables import read_table
from forest import forest_quantiles, installed
from scipy.stats import binom
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler

from taupath import QuantileSVR
from taupath.datasets import ENVIRONMENT_VARIABLE

COVERAGE, CONFIDENCE = 0.8, 0.99
ENDS = (0.5 - 0.5 * COVERAGE, 0.5 + 0.5 * COVERAGE)
CS = (0.01, 0.1, 1.0, 10.0, 100.0)
QUANTILES = [k / 100 for k in range(1, 100)]
SETS = ("engel", "mcycle", "GAGurine", "geyser", "Boston", "crabs", "birthwt")
# Decrease, in deviations of y, that is no matter of last digits.
VISIBLE = 1e-6
# Folds that intervals learn from, and those of the rules beside them.
FOLDS = (5, 10, 20)
RULE_FOLDS = 10
RULES = ("one step", "two steps", "CV+", "levels")
FOREST = "forest"
KINDS = ("plain", *(f"conformal {k}" for k in FOLDS), *RULES, *([FOREST] if installed() else []))
PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath", "quantile-forest")


@dataclass(frozen=True)
class Row:
    """What was measured on one set.

    Attributes
    ----------
    name : str
        The set.
    n_samples, n_features : int
        Its size.
    C : list of float
        What was chosen on each fold.
    coverage, width, loss : dict of str to float
        Of intervals of each kind, on held-out samples.
    below, above : float
        Shares of held-out samples below and above plain intervals.
    band : tuple of float
        Where the coverage should lie.
    training : float
        Coverage of training samples, mean over folds.
    crossings, before : int
        Pairs of neighbouring quantiles that decrease: predicted ones, and before rearrangement.
    """

    name: str
    n_samples: int
    n_features: int
    C: list[float]
    coverage: dict[str, float]
    width: dict[str, float]
    loss: dict[str, float]
    below: float
    above: float
    band: tuple[float, float]
    training: float
    crossings: int
    before: int

    def holds(self, kind: str) -> bool:
        """Return whether the coverage lies in its band."""
        return self.band[0] <= self.coverage[kind] <= self.band[1]


def binomial_band(
    n: int, p: float = COVERAGE, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """Return the shares between which that of n samples lies with this probability at least."""
    low, high = binom.ppf([0.5 - 0.5 * confidence, 0.5 + 0.5 * confidence], n, p)
    return float(low / n), float(high / n)


def inside(y: np.ndarray, interval: np.ndarray) -> np.ndarray:
    """Return which samples lie in their interval, its ends included up to rounding."""
    slack = 1e-9 * (1.0 + np.abs(y))
    return np.asarray((y >= interval[:, 0] - slack) & (y <= interval[:, 1] + slack))


def pinball(y: np.ndarray, interval: np.ndarray) -> np.ndarray:
    """Return the pinball loss of each sample, mean of both ends."""
    residual = y[:, np.newaxis] - interval
    quantile = np.array(ENDS)
    return np.maximum(quantile * residual, (quantile - 1.0) * residual).mean(axis=1)


def conformal_step(outside: np.ndarray, coverage: float = COVERAGE) -> float:
    """Return the distance that covers the share ⌈(n+1) coverage⌉ / n of samples so far outside."""
    n = len(outside)
    return float(np.sort(outside)[min(int(np.ceil((n + 1) * coverage)), n) - 1])


def choose(X: np.ndarray, y: np.ndarray) -> float:
    """Return the C with the least pinball loss on what is held out."""
    folds = list(KFold(5, shuffle=True, random_state=1).split(X))
    losses = []
    for C in CS:
        held_out = np.empty((len(y), 2))
        for train, test in folds:
            path = QuantileSVR(C, kernel="rbf").fit(X[train], y[train]).path_
            held_out[test] = path.decision_function(X[test], ENDS)
        losses.append(
            sum(mean_pinball_loss(y, end, alpha=q) for q, end in zip(ENDS, held_out.T, strict=True))
        )
    return CS[int(np.argmin(losses))]


# -- rules -----------------------------------------------------------------------------------------


def by_rules(
    C: float, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, whole: QuantileSVR
) -> dict[str, np.ndarray]:
    """Return the intervals of test samples by rules that are not part of the package."""
    n = len(y)
    held_out, score = np.empty((n, 2)), np.empty(n)
    new = np.empty((n, len(X_test), 2))  # of the path without the fold of each sample
    for train, test in KFold(RULE_FOLDS, shuffle=True, random_state=0).split(X):
        model = QuantileSVR(C, kernel="rbf").fit(X[train], y[train])
        held_out[test] = model.predict_interval(X[test], COVERAGE)
        score[test] = level_of(model, X[test], y[test])
        new[test] = model.predict_interval(X_test, COVERAGE)
    plain = whole.predict_interval(X_test, COVERAGE)
    below, above = held_out[:, 0] - y, y - held_out[:, 1]
    farther = np.maximum(below, above)
    one = conformal_step(farther)
    two = [conformal_step(side, ENDS[1]) for side in (below, above)]
    level = conformal_step(score)
    rank = min(int(np.ceil((n + 1) * COVERAGE)), n)
    lows = np.sort(new[:, :, 0] - farther[:, np.newaxis], axis=0)
    highs = np.sort(new[:, :, 1] + farther[:, np.newaxis], axis=0)
    found = {
        "one step": plain + np.array([-one, one]),
        "two steps": plain + np.array([-two[0], two[1]]),
        "CV+": np.column_stack((lows[n - rank], highs[rank - 1])),
        "levels": at_level(whole, X_test, level),
    }
    for interval in found.values():
        turned = interval[:, 0] > interval[:, 1]  # inside out: a point is left
        interval[turned] = interval[turned].mean(axis=1, keepdims=True)
    return found


def level_of(model: QuantileSVR, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the least coverage with y in the interval; 1 and the distance if there is none."""
    widest = model.predict(X, [0.0, 1.0])
    beyond = np.maximum(widest[:, 0] - y, y - widest[:, 1])
    return np.where(beyond > 0.0, 1.0 + beyond, np.abs(2.0 * model.cdf(X, y) - 1.0))


def at_level(model: QuantileSVR, X: np.ndarray, level: float) -> np.ndarray:
    """Return the intervals of a coverage, or the widest ones and what is above 1 further."""
    within, beyond = min(level, 1.0), max(level - 1.0, 0.0)
    return model.predict(X, [0.5 - 0.5 * within, 0.5 + 0.5 * within]) + np.array([-beyond, beyond])


# -- measuring -------------------------------------------------------------------------------------


def measure(name: str, X: np.ndarray, y: np.ndarray) -> Row:
    """Measure one set."""
    n = len(y)
    hit = {kind: np.empty(n, dtype=bool) for kind in KINDS}
    width = {kind: np.empty(n) for kind in KINDS}
    loss = {kind: np.empty(n) for kind in KINDS}
    below, above = np.empty(n, dtype=bool), np.empty(n, dtype=bool)
    Cs, training, crossings, before = [], [], 0, 0
    for train, test in KFold(10, shuffle=True, random_state=0).split(X):
        scaler = StandardScaler().fit(X[train])
        X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
        middle, unit = y[train].mean(), y[train].std()
        y_train, y_test = (y[train] - middle) / unit, (y[test] - middle) / unit
        C = choose(X_train, y_train)
        Cs.append(C)
        model = QuantileSVR(C, kernel="rbf").fit(X_train, y_train)
        plain = model.predict_interval(X_test, COVERAGE)
        found = {"plain": plain, **by_rules(C, X_train, y_train, X_test, model)}
        if FOREST in KINDS:
            found[FOREST] = forest_quantiles(X_train, y_train, X_test, ENDS)
        for k in FOLDS:
            calibrated = QuantileSVR(C, kernel="rbf", conformal=k).fit(X_train, y_train)
            found[f"conformal {k}"] = calibrated.predict_interval(X_test, COVERAGE)
        for kind, interval in found.items():
            hit[kind][test] = inside(y_test, interval)
            width[kind][test] = (interval[:, 1] - interval[:, 0]) * unit / y.std()
            loss[kind][test] = pinball(y_test, interval) * unit / y.std()
        below[test] = ~hit["plain"][test] & (y_test < plain[:, 0])
        above[test] = ~hit["plain"][test] & (y_test > plain[:, 1])
        training.append(inside(y_train, model.predict_interval(X_train, COVERAGE)).mean())
        crossings += decreases(model.predict(X_test, QUANTILES))
        before += decreases(model.path_.decision_function(X_test, QUANTILES), VISIBLE)
    return Row(
        name,
        *X.shape,
        Cs,
        {kind: float(values.mean()) for kind, values in hit.items()},
        {kind: float(values.mean()) for kind, values in width.items()},
        {kind: float(values.mean()) for kind, values in loss.items()},
        float(below.mean()),
        float(above.mean()),
        binomial_band(n),
        float(np.mean(training)),
        crossings,
        before,
    )


def decreases(quantiles: np.ndarray, least: float = 0.0) -> int:
    """Count where a quantile is less, by more than `least`, than the one before it in its row."""
    return int((np.diff(quantiles, axis=1) < -least).sum())


# -- reporting -------------------------------------------------------------------------------------


def report(rows: Sequence[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""

    def covered(row: Row, kind: str) -> str:
        return f"{100.0 * row.coverage[kind]:.1f}" + (" " if row.holds(kind) else "!")

    names = ("data", [row.name for row in rows])
    band = ("99 % band", ["{:.1f} - {:.1f}".format(*(100.0 * np.array(r.band))) for r in rows])
    sizes = [
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("median C", [f"{np.median(row.C):g}" for row in rows]),
    ]
    shares = [(kind, [covered(row, kind) for row in rows]) for kind in KINDS]
    widths = [(kind, [f"{row.width[kind]:.3f}" for row in rows]) for kind in KINDS]
    losses = [(kind, [f"{row.loss[kind]:.4f}" for row in rows]) for kind in KINDS]
    path = [
        ("below", [f"{100.0 * row.below:.1f}" for row in rows]),
        ("above", [f"{100.0 * row.above:.1f}" for row in rows]),
        ("in training", [f"{100.0 * row.training:.1f}" for row in rows]),
        ("crossings", [str(row.crossings) for row in rows]),
        ("before", [str(row.before) for row in rows]),
    ]
    n = sum(row.n_samples for row in rows)
    pooled = {kind: sum(row.coverage[kind] * row.n_samples for row in rows) / n for kind in KINDS}
    all_in = {kind: sum(row.holds(kind) for row in rows) for kind in KINDS}
    whole_band = "{:.1f} - {:.1f}".format(*(100.0 * np.array(binomial_band(n))))
    return [
        *table(
            "80 % intervals of held-out samples, in % of them (! outside the band)",
            [names, *sizes, band, *shares],
        ),
        "",
        *table("Mean widths, in deviations of y", [names, *widths]),
        "",
        *table("Mean pinball loss at both ends, in deviations of y", [names, *losses]),
        "",
        *table("Plain intervals", [names, *path]),
        "",
        f"all {n} samples together, and sets of {len(rows)} in the band; band {whole_band}:",
        *(f"  {kind}: {100.0 * pooled[kind]:.1f} %, {all_in[kind]}" for kind in KINDS),
        "",
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def as_json(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Return the rows, each with whether its coverage lies in the band, and the machine."""
    everything = [
        {**asdict(row), "holds": {kind: row.holds(kind) for kind in KINDS}} for row in rows
    ]
    return json.dumps({"rows": everything, "machine": about}, indent=2)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Coverage of 80 % intervals of held-out samples.")
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if FOREST not in KINDS:
        print("coverage: left out: quantile-forest is not installed", file=sys.stderr)
    if n_threads() > 1:
        print(f"coverage: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    folder = os.environ.get(ENVIRONMENT_VARIABLE)
    if not folder:
        print(f"coverage: no data folder is given: set {ENVIRONMENT_VARIABLE}", file=sys.stderr)
        return 1
    rows = []
    for name in arguments.datasets:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            rows.append(measure(name, *read_table(name, Path(folder))))
        except FileNotFoundError as missing:
            print(f"coverage: {missing}", file=sys.stderr)
            return 1
    about = machine(*PACKAGES)
    print(as_json(rows, about) if arguments.json else "\n".join(report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
