"""taupath or a threshold: what decisions cost on real data, at seven ratios of costs.

Twenty random splits of each set, stratified: 70 % to train on, 30 % to count mistakes in.

taupath              one `QuantileSVCCV`, ``predict(X, cost_fp=…, cost_fn=…)``
taupath, C per cost  the same, with `best_C(τ)` instead of the C that is best over all τ
logistic             `LogisticRegression`, positive where P̂ ≥ τ
calibrated SVM       `CalibratedClassifierCV(SVC)` with a sigmoid, positive where P̂ ≥ τ
taupath RBF, calibrated RBF
                     the same with an RBF kernel, gamma="scale"; not on a1a

All choose C from a grid, in three folds of the training part: the paths and the calibrated SVMs by
Brier score, logistic regression by log-loss. Columns are standardised on the training part, unless
they are all 0 or 1.

A row holds the mistakes of one method at one ratio of costs, for each split. Costs are shown as a
percentage of what the better of the two constant decisions costs ("flag everybody" or "flag
nobody"): 0 is perfect, 100 is no better than no model.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from calibrators.base import CS, inner_folds
from calibrators.scikit_learn import by_calibration
from common import Stopwatch
from datasets.real import load, scaled
from showing import Plot, Row, Table, left_out, unique
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from trial import Emit, Settings

from taupath import QuantileSVC, QuantileSVCCV
from taupath.datasets import ENVIRONMENT_VARIABLE, DataNotFound

TITLE = "taupath or a threshold"
SOLVERS = ("taupath",)
PATH, TUNED = "taupath", "taupath, C per cost"
LOGISTIC, CALIBRATED = "logistic", "calibrated SVM"
PATH_RBF, CALIBRATED_RBF = "taupath RBF", "calibrated RBF"
METHODS = (PATH, TUNED, LOGISTIC, CALIBRATED, PATH_RBF, CALIBRATED_RBF)
DUELS = ((PATH, LOGISTIC), (PATH, CALIBRATED), (TUNED, LOGISTIC), (TUNED, CALIBRATED))
DUELS += ((PATH_RBF, LOGISTIC), (PATH_RBF, CALIBRATED_RBF))
# What a miss costs, with 1 for a false alarm; mild ones and extreme ones.
RATIOS = (0.01, 0.05, 0.2, 1.0, 5.0, 20.0, 100.0)
TAUS = 1.0 / (1.0 + np.array(RATIOS))
MILD = (0.2, 1.0, 5.0)
# Positive are: malignant, diabetic, heart disease, +, a good signal, an income above 50 000 $.
SETS = ("breast cancer", "diabetes", "heart_scale", "australian", "ionosphere", "a1a")
LINEAR_ONLY = ("a1a",)
N_SPLITS, TEST_SHARE = 20, 0.3
CSV = "diabetes/pima-indians-diabetes.csv"

# Of each method, who is called positive: a column for each ratio of costs.
Decisions = dict[str, np.ndarray]


def read(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features, and who is positive."""
    if name == "diabetes":  # the raw table; in the scaled one +1 is healthy
        file = Path(os.environ.get(ENVIRONMENT_VARIABLE, "")) / CSV
        if not file.is_file():
            raise DataNotFound(f"there is no {CSV}: set {ENVIRONMENT_VARIABLE}")
        found = np.loadtxt(file, delimiter=",")
        return found[:, :-1], found[:, -1] == 1.0
    X, y = load(name)
    return X, y == (0 if name == "breast cancer" else 1)  # scikit-learn has 0 for malignant


def by_path(kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Decisions:
    """Return decisions of the path with the C of all τ and, if linear, with the C of each τ."""
    one = {"kernel": kernel, "gamma": "scale", "combine": "best", "standardize": False}
    search = QuantileSVCCV(CS[kernel], cv=inner_folds(), **one).fit(X, y)
    found = np.column_stack([search.predict(X_test, tau=tau) for tau in TAUS])
    if kernel != "linear":
        return {PATH_RBF: found}
    models = {search.C_: search}
    for C in set(search.best_C(TAUS)) - {search.C_}:
        models[C] = QuantileSVC(C).fit(X, y)
    best = [models[search.best_C(tau)].predict(X_test, tau=tau) for tau in TAUS]
    return {PATH: found, TUNED: np.column_stack(best)}


def by_logistic(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Decisions:
    """Return decisions of logistic regression, cut at each τ."""
    logistic, grid = LogisticRegression(max_iter=5000), {"C": CS["linear"]}
    search = GridSearchCV(logistic, grid, scoring="neg_log_loss", cv=inner_folds()).fit(X, y)
    return {LOGISTIC: search.predict_proba(X_test)[:, 1:] >= TAUS}


def by_calibrated(kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Decisions:
    """Return decisions of a calibrated SVM, cut at each τ."""
    found = by_calibration("sigmoid", kernel, X, y, X_test)
    return {CALIBRATED if kernel == "linear" else CALIBRATED_RBF: found.proba[:, 1:] >= TAUS}


def measure(settings: Settings, emit: Emit) -> None:
    """Count the mistakes of all methods on all sets."""
    for name in SETS[: 1 if settings.quick else None]:
        try:
            X, y = read(name)
        except DataNotFound as missing:
            emit({"task": name, "solver": "all", "note": str(missing)})
            continue
        for row in _mistakes(name, X, y, 2 if settings.quick else N_SPLITS):
            emit(row)


def _mistakes(name: str, X: np.ndarray, y: np.ndarray, n_splits: int) -> Iterator[Row]:
    """Return a row for each method and ratio of costs."""
    jobs: list[Callable[..., Decisions]] = [by_logistic]
    for kernel in ("linear",) if name in LINEAR_ONLY else ("linear", "rbf"):
        jobs += [partial(by_path, kernel), partial(by_calibrated, kernel)]
    alarms: dict[str, list[np.ndarray]] = {}
    misses: dict[str, list[np.ndarray]] = {}
    watch = Stopwatch()
    splits = StratifiedShuffleSplit(n_splits, test_size=TEST_SHARE, random_state=0)
    for train, test in splits.split(X, y):
        X_train, X_test = scaled(X[train], X[test])
        truth = y[test][:, np.newaxis]
        for job in jobs:
            for method, flagged in watch.time("all", job, X_train, y[train], X_test).items():
                alarms.setdefault(method, []).append((flagged & ~truth).sum(axis=0))
                misses.setdefault(method, []).append((~flagged & truth).sum(axis=0))
    sizes = {"n": X.shape[0], "d": X.shape[1]}
    sizes |= {"positives": int(truth.sum()), "negatives": int((~truth).sum())}
    for method in (method for method in METHODS if method in alarms):
        for k, ratio in enumerate(RATIOS):
            counts = {
                "alarms": [int(found[k]) for found in alarms[method]],
                "misses": [int(found[k]) for found in misses[method]],
            }
            head = {"task": name, "solver": method, "ratio": ratio, **sizes}
            yield {**head, **counts, "seconds": watch.spent("all")}


# -- what comes of it ------------------------------------------------------------------------------


def costs(row: Row) -> np.ndarray:
    """Return the cost on each split, in % of the better constant decision."""
    alarms, misses = np.array(row["alarms"]), np.array(row["misses"])
    constant = min(row["negatives"], row["ratio"] * row["positives"])
    return np.asarray(100.0 * (alarms + row["ratio"] * misses) / constant)


def constant(row: Row) -> float:
    """Return the share of splits on which all held-out cases get the same decision."""
    alarms, misses = np.array(row["alarms"]), np.array(row["misses"])
    nobody = (alarms == 0) & (misses == row["positives"])
    everybody = (misses == 0) & (alarms == row["negatives"])
    return float(np.mean(nobody | everybody))


def verdict(ours: Row, theirs: Row) -> int:
    """Return 1 where ours costs less, -1 where it costs more, 0 where chance may explain it.

    The difference must be more than twice its standard error, corrected for splits that share
    training samples (Nadeau & Bengio 2003).
    """
    difference = costs(theirs) - costs(ours)
    n = len(difference)
    spread = difference.std(ddof=1) * np.sqrt(1.0 / n + TEST_SHARE / (1.0 - TEST_SHARE))
    return int(np.sign(difference.mean())) if abs(difference.mean()) > 2.0 * spread else 0


def _ratio(ratio: float) -> str:
    """Write a ratio of costs, of a miss and of a false alarm."""
    return f"{ratio:g} : 1" if ratio >= 1.0 else f"1 : {1.0 / ratio:g}"


def _mean(rows: Sequence[Row]) -> str:
    return f"{np.mean([costs(row).mean() for row in rows]):.0f}" if rows else "–"


def _share_constant(rows: Sequence[Row]) -> str:
    return f"{100.0 * np.mean([constant(row) for row in rows]):.0f} %" if rows else "–"


def _won(rows: Sequence[Row], ours: str, theirs: str) -> str:
    """Return on how many sets ours wins, ties and loses against theirs."""
    by = {(row["solver"], row["task"]): row for row in rows}
    found = [verdict(row, by[theirs, row["task"]]) for row in rows if row["solver"] == ours]
    return f"{found.count(1)}, {found.count(0)}, {found.count(-1)}"


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return costs by set and by ratio, wins, ties and losses, and how often all is constant."""
    notes = left_out(rows)
    rows = [row for row in rows if "alarms" in row]
    methods = unique(rows, "solver")
    by_set = [[row for row in rows if row["task"] == name] for name in unique(rows, "task")]
    by_ratio = [[row for row in rows if row["ratio"] == ratio] for ratio in RATIOS]
    sets = [
        ("data", [group[0]["task"].removesuffix("_scale") for group in by_set]),
        ("cases × columns", [f"{group[0]['n']} × {group[0]['d']}" for group in by_set]),
    ]
    ratios = [("a miss : a false alarm", [_ratio(ratio) for ratio in RATIOS])]

    def of(method: str, group: Sequence[Row], mild: bool | None = None) -> list[Row]:
        own = [row for row in group if row["solver"] == method]
        return [row for row in own if mild is None or (row["ratio"] in MILD) == mild]

    def by_method(groups: list[list[Row]], mild: bool | None = None) -> list:
        return [(each, [_mean(of(each, group, mild)) for group in groups]) for each in methods]

    same = [(each, [_share_constant(of(each, group)) for group in by_ratio]) for each in methods]
    won = [
        ("the first against the second", [f"{ours} against {theirs}" for ours, theirs in DUELS]),
        *(
            (_ratio(ratio), [_won(group, *duel) for duel in DUELS])
            for ratio, group in zip(RATIOS, by_ratio, strict=True)
        ),
    ]
    shared = [[row for row in group if row["task"] not in LINEAR_ONLY] for group in by_ratio]
    return {
        "mild": Table("Costs from 1 : 5 to 5 : 1", sets + by_method(by_set, True), notes),
        "extreme": Table("Costs of 20 : 1 and 100 : 1", sets + by_method(by_set, False)),
        "ratios": Table("Cost by ratio, mean over all sets but a1a", ratios + by_method(shared)),
        "won": Table("Sets won, tied and lost, by ratio of costs (a miss : a false alarm)", won),
        "constant": Table("Splits on which all cases get the same decision", ratios + same),
    }


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return the cost along the ratio, mean over the sets that all methods have."""
    rows = [row for row in rows if "alarms" in row and row["task"] not in LINEAR_ONLY]
    series = {
        method: [
            (ratio, float(np.mean([costs(row).mean() for row in rows
                                   if (row["solver"], row["ratio"]) == (method, ratio)])))
            for ratio in RATIOS
        ]
        for method in unique(rows, "solver")
    }  # fmt: skip
    title = "Cost of decisions: 100 is no better than no model"
    return {"ratios": Plot(title, "cost of a miss / cost of a false alarm", "cost in %", series)}
