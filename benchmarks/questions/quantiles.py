"""How good are the quantiles and intervals of `QuantileSVRCV`, beside its variants and others?

Eight real sets, as they are in their files: nothing is scaled beforehand. Five folds, so that every
sample is held out once; everything is chosen within the other four.

default                `QuantileSVRCV()`
linear, rbf            the same with this kernel alone. Where the default has chosen this kernel, it
                       is the same search, and not run again
fine                   the same with a finer and wider grid: seven C, and the linear kernel or one
                       of four γ
first linear           `QuantileSVR()`: nothing chosen or scaled
first rbf              `QuantileSVR(kernel="rbf")`, likewise
forest                 quantile-forest, 300 trees with leaves of at least 5 samples
forest, tuned          the same, the size of leaves chosen by the loss of out-of-bag samples
boosting               scikit-learn's `GradientBoostingRegressor` for each level
boosting, tuned        the same, depth and number of trees chosen by pinball loss at three levels
lightgbm               `LGBMRegressor` for each level
regression             scikit-learn's `QuantileRegressor` for each level, not regularised

Quantiles of those that fit each level on its own are sorted. The loss is the mean pinball loss at
the levels 0.05, 0.1, ..., 0.95, divided by that of the quantiles of the training part's y.
Intervals are judged by the share of samples within, pooled over folds, which should lie in the band
that holds 99 % of binomial shares, and by their mean width in deviations of y. Those of ours are
conformal; "plain" are the same without calibration. Those of others are their quantiles.
"""

import os
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from datasets.tables import read_table
from forest import TREES as FOREST_TREES
from intervals import binomial_band, inside
from showing import Plot, Row, Table, left_out, unique
from sklearn.datasets import load_diabetes
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import QuantileRegressor
from sklearn.model_selection import KFold
from sklearn.preprocessing import StandardScaler
from trial import Emit, Settings

from questions.decisions import verdict
from taupath import MissedPatternWarning, QuantileSVR, QuantileSVRCV
from taupath.datasets import ENVIRONMENT_VARIABLE

TITLE = "Quantiles and intervals without tuning by hand"
SOLVERS = ("taupath",)
SETS = ("engel", "mcycle", "GAGurine", "geyser", "crabs", "birthwt", "diabetes", "Boston")
LEVELS = np.arange(1, 20) / 20
COVERAGES = (0.8, 0.9)
N_SPLITS = 5
# The grid of "fine": C, and multiples of 1 / n_features for γ.
FINE_CS = (0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FINE_GAMMAS = (1 / 16, 1 / 4, 1.0, 4.0)
# What rivals choose from. Boosting does so at these levels, in so many folds, by stages: up to
# scikit-learn's usual number of trees, with its usual rate.
LEAVES, DEPTHS, MOST_TREES = (2, 5, 10, 20), (1, 3), 100
CHOSEN_AT, INNER_FOLDS = (0.1, 0.5, 0.9), 3
OURS = "default"
VARIANTS = (OURS, "linear", "rbf", "fine")
FIRST = ("first linear", "first rbf")
# A first fit should warn if its loss is above so many times ours.
CLEARLY_WORSE = 1.15
# The part of a set that is tested on.
TEST_SHARE = 1.0 / N_SPLITS


class Predicted(NamedTuple):
    """Quantiles of test samples at LEVELS, and what belongs to a search of ours."""

    quantiles: np.ndarray
    intervals: list[np.ndarray] | None = None  # at COVERAGES; None if their ends are quantiles
    chosen: str = ""
    warned: bool = False  # of a pattern that the model misses


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a set, in their own units."""
    if name == "diabetes":
        return load_diabetes(return_X_y=True, scaled=False)
    return read_table(name, Path(os.environ.get(ENVIRONMENT_VARIABLE, "")))


# -- those that are compared -----------------------------------------------------------------------


def by_search(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, **given: Any) -> Predicted:
    """Return the predictions of our search, by default but for what is given."""
    model = QuantileSVRCV(**given).fit(X, y)
    gamma = "" if model.gamma_ is None else f" γ={model.gamma_ * X.shape[1]:g}/d"
    return Predicted(
        model.predict(X_test, LEVELS),
        [model.predict_interval(X_test, share) for share in COVERAGES],
        f"{model.kernel_} C={model.C_:g}{gamma}",
    )


def by_fine_search(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of a search of a larger grid."""
    gammas = [multiple / X.shape[1] for multiple in FINE_GAMMAS]
    return by_search(X, y, X_test, Cs=FINE_CS, gamma=gammas)


def by_path(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, kernel: str = "linear") -> Predicted:
    """Return the predictions of one path with the default C, and whether its fit warned."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        model = QuantileSVR(kernel=kernel).fit(X, y)
    warned = any(each.category is MissedPatternWarning for each in given)
    return Predicted(model.predict(X_test, LEVELS), warned=warned)


def by_forest(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, leaf: int = 5) -> Predicted:
    """Return the predictions of a quantile forest."""
    model = forest(leaf).fit(X, y)
    return Predicted(np.asarray(model.predict(X_test, quantiles=list(LEVELS))))


def forest(leaf: int, **given: Any) -> Any:
    """Return a quantile forest with leaves of this size at least."""
    from quantile_forest import RandomForestQuantileRegressor

    return RandomForestQuantileRegressor(
        n_estimators=FOREST_TREES, min_samples_leaf=leaf, random_state=0, **given
    )


def by_tuned_forest(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of a quantile forest whose leaves have a chosen size."""
    found = []
    for leaf in LEAVES:
        model = forest(leaf, bootstrap=True).fit(X, y)
        unseen = model.predict(X, quantiles=list(LEVELS), oob_score=True)
        found.append((pinball(y, unseen), leaf))
    return by_forest(X, y, X_test, min(found)[1])


def by_levels(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, make: Callable[[float], Any]
) -> Predicted:
    """Return the predictions of a model for each level, sorted."""
    found = [make(level).fit(X, y).predict(X_test) for level in LEVELS.tolist()]
    return Predicted(np.sort(np.column_stack(found), axis=1))


def boosting(level: float, **given: Any) -> GradientBoostingRegressor:
    """Return boosted trees for one level."""
    return GradientBoostingRegressor(loss="quantile", alpha=level, random_state=0, **given)


def by_tuned_boosting(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of boosted trees whose depth and number are chosen.

    They are the same for all levels.
    """
    losses = np.zeros((len(DEPTHS), MOST_TREES))
    for train, test in inner_folds().split(X):
        for k, depth in enumerate(DEPTHS):
            for level in CHOSEN_AT:
                model = boosting(level, max_depth=depth, n_estimators=MOST_TREES)
                stages = model.fit(X[train], y[train]).staged_predict(X[test])
                losses[k] += [
                    pinball(y[test], stage[:, np.newaxis], np.array([level])) for stage in stages
                ]
    k, n_trees = np.unravel_index(int(losses.argmin()), losses.shape)
    chosen = {"max_depth": DEPTHS[int(k)], "n_estimators": int(n_trees) + 1}
    return by_levels(X, y, X_test, partial(boosting, **chosen))


def by_lightgbm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of LightGBM."""
    from lightgbm import LGBMRegressor

    given = {"objective": "quantile", "random_state": 0, "n_jobs": 1, "verbose": -1}
    with warnings.catch_warnings():
        # scikit-learn's, about names of columns that LightGBM makes up
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        return by_levels(X, y, X_test, lambda level: LGBMRegressor(alpha=level, **given))


def by_regression(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of linear quantile regression."""
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    return by_levels(X, y, X_test, lambda level: QuantileRegressor(quantile=level, alpha=0.0))


def inner_folds() -> KFold:
    """Return the folds in which rivals choose."""
    return KFold(INNER_FOLDS, shuffle=True, random_state=1)


METHODS: dict[str, Callable[..., Predicted]] = {
    OURS: by_search,
    "linear": partial(by_search, kernel="linear"),
    "rbf": partial(by_search, kernel="rbf"),
    "fine": by_fine_search,
    "first linear": by_path,
    "first rbf": partial(by_path, kernel="rbf"),
    "forest": by_forest,
    "forest, tuned": by_tuned_forest,
    "boosting": partial(by_levels, make=boosting),
    "boosting, tuned": by_tuned_boosting,
    "lightgbm": by_lightgbm,
    "regression": by_regression,
}
NEEDED = {"forest": "quantile_forest", "forest, tuned": "quantile_forest", "lightgbm": "lightgbm"}


# -- measuring -------------------------------------------------------------------------------------


def measure(settings: Settings, emit: Emit) -> None:
    """Judge all methods on all sets."""
    methods = dict(METHODS)
    for method, package in NEEDED.items():
        if find_spec(package) is None:
            del methods[method]
            emit({"task": "all", "solver": method, "note": "not installed"})
    for split in range(1 if settings.quick else N_SPLITS):
        for name in ("diabetes",) if settings.quick else SETS:
            try:
                X, y = read(name)
            except FileNotFoundError as missing:
                if split == 0:
                    note = f"{missing.filename} is missing: set {ENVIRONMENT_VARIABLE}"
                    emit({"task": name, "solver": "all", "note": note})
                continue
            folds = list(KFold(N_SPLITS, shuffle=True, random_state=0).split(X))
            train, test = (part[: 40 if settings.quick else None] for part in folds[split])
            default: Row = {}
            for method, job in methods.items():
                if (name, method, split) in settings.done:
                    continue
                if default.get("chosen", "").startswith(f"{method} "):
                    emit({**default, "solver": method})
                    continue
                begun = time.process_time()
                found = job(X[train], y[train], X[test])
                seconds = time.process_time() - begun
                row = {"task": name, "solver": method, "split": split, "seconds": seconds}
                row |= judged(y[train], y[test], found)
                emit(row)
                default = row if method == OURS else default


def judged(y_train: np.ndarray, y: np.ndarray, found: Predicted) -> dict[str, Any]:
    """Return the loss divided by that of unconditional quantiles, and what intervals hold."""
    constant = np.tile(np.quantile(y_train, LEVELS), (len(y), 1))
    plain = [ends(found.quantiles, share) for share in COVERAGES]
    intervals = plain if found.intervals is None else found.intervals
    row = {
        "loss": pinball(y, found.quantiles) / pinball(y, constant),
        "n": len(y),
        "within": [int(inside(y, each).sum()) for each in intervals],
        "width": [float(np.diff(each, axis=1).mean() / y_train.std()) for each in intervals],
    }
    if found.intervals is not None:
        row["plain"] = [int(inside(y, each).sum()) for each in plain]
        row["chosen"] = found.chosen
    return row | ({"warned": True} if found.warned else {})


def pinball(y: np.ndarray, quantiles: np.ndarray, levels: np.ndarray = LEVELS) -> float:
    """Return the mean loss over samples and levels."""
    residual = y[:, np.newaxis] - quantiles
    return float(np.maximum(levels * residual, (levels - 1.0) * residual).mean())


def ends(quantiles: np.ndarray, coverage: float) -> np.ndarray:
    """Return an interval whose ends are among the levels."""
    low = int(np.argmin(np.abs(LEVELS - (0.5 - 0.5 * coverage))))
    return quantiles[:, [low, -1 - low]]


# -- what comes of it ------------------------------------------------------------------------------


def of(rows: Sequence[Row], method: str, task: str, name: str = "loss") -> np.ndarray:
    """Return a measure of a method on each split of a set."""
    own = (row for row in rows if (row["solver"], row["task"]) == (method, task))
    return np.array([row[name] for row in own])


def mean_loss(rows: Sequence[Row], method: str) -> float:
    """Return the loss of a method, mean over sets."""
    return float(np.mean([of(rows, method, task).mean() for task in unique(rows, "task")]))


def coverage(
    rows: Sequence[Row], method: str, task: str, k: int, name: str = "within"
) -> tuple[float, bool]:
    """Return the share of a set's samples in the intervals of a coverage; whether it may be so."""
    n = int(of(rows, method, task, "n").sum())
    share = float(of(rows, method, task, name)[:, k].sum() / n)
    low, high = binomial_band(n, COVERAGES[k])
    return share, low <= share <= high


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return means over sets, losses set by set, and the intervals of each coverage."""
    notes = left_out(rows)
    rows = [row for row in rows if "loss" in row]
    methods = [each for each in METHODS if any(row["solver"] == each for row in rows)]
    tasks = [each for each in SETS if any(row["task"] == each for row in rows)]
    ours = mean_loss(rows, OURS)

    def won(method: str) -> str:
        if method == OURS:
            return "–"
        both = [(of(rows, OURS, task), of(rows, method, task)) for task in tasks]
        found = [verdict(*each, TEST_SHARE) for each in both if len(each[0]) > 1]
        return f"{found.count(1)}, {found.count(0)}, {found.count(-1)}" if found else "–"

    def held(method: str, k: int, name: str = "within") -> str:
        found = [coverage(rows, method, task, k, name) for task in tasks]
        mean = 100.0 * np.mean([share for share, _ in found])
        return f"{mean:.1f}, {sum(holds for _, holds in found)}"

    def seconds(method: str) -> str:
        return f"{np.mean([of(rows, method, task, 'seconds').mean() for task in tasks]):.1f}"

    means = [
        ("method", methods),
        ("loss", [f"{mean_loss(rows, method):.3f}" for method in methods]),
        ("÷ default", [f"{mean_loss(rows, method) / ours:.3f}" for method in methods]),
        ("won, tied, lost", [won(method) for method in methods]),
        *(
            (f"in {share:.0%}, sets in band", [held(method, k) for method in methods])
            for k, share in enumerate(COVERAGES)
        ),
        ("seconds", [seconds(method) for method in methods]),
    ]
    firsts = [method for method in FIRST if method in methods]
    told = [("method", firsts), *_told(rows, firsts)]
    found = {
        "means": Table(f"Means over {len(tasks)} sets", means, notes),
        "warned": Table("First fits that warn of a missed pattern, of all", told),
        "losses": Table("Loss, set by set", _by_set(rows, methods, tasks)),
    }
    for k, share in enumerate(COVERAGES):
        title = f"Samples within {share:.0%} intervals, in % (! outside the band)"
        found[f"intervals {share:.0%}"] = Table(title, _intervals(rows, methods, tasks, k))
    return found


def warned(rows: Sequence[Row], method: str) -> tuple[np.ndarray, np.ndarray]:
    """Return for each first fit whether it is clearly worse than ours, and whether it warned."""
    ours = {(row["task"], row["split"]): row["loss"] for row in rows if row["solver"] == OURS}
    own = [row for row in rows if row["solver"] == method]
    worse = [row["loss"] > CLEARLY_WORSE * ours[row["task"], row["split"]] for row in own]
    return np.array(worse, dtype=bool), np.array([row.get("warned", False) for row in own])


def _told(rows: Sequence[Row], methods: Sequence[str]) -> list:
    found = [warned(rows, method) for method in methods]
    worse = [f"{int(said[bad].sum())} of {int(bad.sum())}" for bad, said in found]
    others = [f"{int(said[~bad].sum())} of {int((~bad).sum())}" for bad, said in found]
    return [(f"loss above {CLEARLY_WORSE:g} × default", worse), ("others", others)]


def _by_set(rows: list[Row], methods: Sequence[str], tasks: Sequence[str]) -> list:
    columns = [(each, [f"{of(rows, each, task).mean():.3f}" for task in tasks]) for each in methods]
    return [("data", tasks), *columns]


def _intervals(rows: list[Row], methods: Sequence[str], tasks: Sequence[str], k: int) -> list:
    def shares(method: str, name: str = "within") -> list[str]:
        found = [coverage(rows, method, task, k, name) for task in tasks]
        return [f"{100.0 * share:.1f}" + ("" if holds else " !") for share, holds in found]

    def widths(method: str) -> list[str]:
        return [f"{of(rows, method, task, 'width')[:, k].mean():.2f}" for task in tasks]

    sizes = [int(of(rows, OURS, task, "n").sum()) for task in tasks]
    bands = [binomial_band(n, COVERAGES[k]) for n in sizes]
    others = [each for each in methods if each not in (*VARIANTS, *FIRST)]
    return [
        ("data", tasks),
        ("samples", [str(n) for n in sizes]),
        ("99 % band", [f"{100.0 * low:.1f}–{100.0 * high:.1f}" for low, high in bands]),
        (OURS, shares(OURS)),
        ("plain", shares(OURS, "plain")),
        *((each, shares(each)) for each in others),
        *((f"width, {each}", widths(each)) for each in (OURS, *others[:1])),
    ]


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return none: a table says it all."""
    return {}
