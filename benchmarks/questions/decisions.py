"""Decisions without tuning by hand: what they cost at eleven ratios, and how good P̂ is.

Random splits of each set, stratified: 60 % to train on, at most `MOST_TRAINED` rows, and 40 % to
judge by. Columns are standardised on the training part, and everything is chosen within it.

stack, best, per_tau   `QuantileSVCCV()` with each `combine`
stack, linear or rbf   `QuantileSVCCV()` with this kernel alone
plain                  `QuantileSVC(C=1)`, linear
sigmoid, isotonic      `CalibratedClassifierCV(SVC)`, linear and RBF, C chosen by Brier score
refitted               `SVC` with an RBF kernel for each ratio, C chosen for each by its cost
logistic               `LogisticRegression`, C chosen by log-loss
boosting               `HistGradientBoostingClassifier`: leaves, rate and trees chosen by log-loss
lightgbm               `LGBMClassifier`, the same; left out where LightGBM is not installed

Those with probabilities decide positive where P̂ ≥ τ; `best`, `plain` and `refitted` decide by the
sign of their functions. Costs are divided by what the better of the two constant decisions costs on
the same rows. Log-loss counts probabilities below 1e-12 as 1e-12. Besides the real sets there are
three simulated ones: rings, a rare class, and noise. Extreme ratios are 1 : 50, 1 : 20, 20 : 1 and
50 : 1.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec

import numpy as np
from calibrators.base import CS, inner_folds
from calibrators.scikit_learn import by_calibration
from datasets.real import load
from showing import Plot, Row, Table, left_out, unique
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from trial import Emit, Settings

from taupath import QuantileSVC, QuantileSVCCV, make_cost_scorer
from taupath.datasets import DataNotFound

TITLE = "Decisions without tuning by hand"
SOLVERS = ("taupath",)
REAL = ("diabetes", "australian", "heart_scale", "ionosphere", "fourclass", "a1a", "breast cancer")
REAL += ("dna.scale",)
SIMULATED = ("rings", "rare", "noise")
# What a false alarm costs, in misses.
RATIOS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
TAUS = np.array([ratio / (1.0 + ratio) for ratio in RATIOS])
EXTREME = [0, 1, 9, 10]
N_SPLITS, TEST_SHARE, MOST_TRAINED = 10, 0.4, 600
# What boosting chooses from.
RATES, LEAVES, TREES = (0.03, 0.1), (4, 8, 31), (50, 150)
OURS = "stack"
MEASURES = ("cost", "extreme", "brier", "log-loss")
PLOTTED = (OURS, "plain", "sigmoid, rbf", "refitted", "logistic", "boosting")

# Probabilities of the positive class on test samples, if there are any, and decisions, a column for
# each τ.
Predicted = tuple[np.ndarray | None, np.ndarray]


def simulated(name: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return 900 samples whose true probabilities are known."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(900, 8))
    f = {
        "rings": 1.2 * (X[:, 0] ** 2 + X[:, 1] ** 2 - 2.0) + 0.5 * X[:, 2],
        "rare": -3.0 + X[:, 0] + 0.7 * X[:, 1] + 0.5 * X[:, 2],
        "noise": np.full(len(X), -1.0),
    }[name]
    return X, rng.random(len(X)) < 1.0 / (1.0 + np.exp(-f))


def by_search(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, **chosen: str) -> Predicted:
    """Return the predictions of our search, by default but for what is given."""
    model = QuantileSVCCV(**chosen).fit(X, y)
    return model.predict_proba(X_test)[:, 1], model.predict(X_test, taus=TAUS)


def by_path(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of one linear path."""
    model = QuantileSVC(1.0).fit(X, y)
    return model.predict_proba(X_test)[:, 1], model.predict(X_test, taus=TAUS)


def by_svm(
    X: np.ndarray, y: np.ndarray, X_test: np.ndarray, how: str = "", kernel: str = ""
) -> Predicted:
    """Return the predictions of a calibrated SVM."""
    return _cut(by_calibration(how, kernel, X, y, X_test).proba[:, 1])


def by_refitting(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the decisions of SVMs that are trained for each ratio of costs."""
    decided = []
    for tau in TAUS:
        model = SVC(class_weight={False: 2.0 * tau, True: 2.0 * (1.0 - tau)})
        scoring = make_cost_scorer(tau, 1.0 - tau)
        search = GridSearchCV(model, {"C": CS["rbf"]}, scoring=scoring, cv=inner_folds())
        decided.append(search.fit(X, y).predict(X_test))
    return None, np.column_stack(decided)


def by_logistic(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of logistic regression."""
    return _searched(LogisticRegression(max_iter=5000), {"C": CS["linear"]}, X, y, X_test)


def by_boosting(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of boosted trees."""
    grid = {"learning_rate": RATES, "max_leaf_nodes": LEAVES, "max_iter": TREES}
    return _searched(HistGradientBoostingClassifier(random_state=0), grid, X, y, X_test)


def by_lightgbm(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of LightGBM."""
    from lightgbm import LGBMClassifier

    grid = {"learning_rate": RATES, "num_leaves": LEAVES, "n_estimators": TREES}
    model = LGBMClassifier(random_state=0, n_jobs=1, verbose=-1)
    return _searched(model, grid, X, y, X_test)


def _searched(model, grid, X, y, X_test) -> Predicted:
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=inner_folds()).fit(X, y)
    return _cut(search.predict_proba(X_test)[:, 1])


def _cut(proba: np.ndarray) -> Predicted:
    return proba, proba[:, np.newaxis] >= TAUS


METHODS: dict[str, Callable[..., Predicted]] = {
    OURS: by_search,
    "best": partial(by_search, combine="best"),
    "per_tau": partial(by_search, combine="per_tau"),
    "stack, linear": partial(by_search, kernel="linear"),
    "stack, rbf": partial(by_search, kernel="rbf"),
    "plain": by_path,
    "sigmoid, linear": partial(by_svm, how="sigmoid", kernel="linear"),
    "sigmoid, rbf": partial(by_svm, how="sigmoid", kernel="rbf"),
    "isotonic, linear": partial(by_svm, how="isotonic", kernel="linear"),
    "isotonic, rbf": partial(by_svm, how="isotonic", kernel="rbf"),
    "refitted": by_refitting,
    "logistic": by_logistic,
    "boosting": by_boosting,
    "lightgbm": by_lightgbm,
}


def measure(settings: Settings, emit: Emit) -> None:
    """Judge all methods on all sets."""
    methods = dict(METHODS)
    if find_spec("lightgbm") is None:
        del methods["lightgbm"]
        emit({"task": "all", "solver": "lightgbm", "note": "not installed"})
    sets = (*REAL, *SIMULATED)[-1 if settings.quick else 0 :]
    for split in range(1 if settings.quick else N_SPLITS):
        for name in sets:
            try:
                X, y = load(name) if name in REAL else simulated(name, split)
            except DataNotFound as missing:
                if split == 0:
                    emit({"task": name, "solver": "all", "note": str(missing)})
                continue
            y = y == y.max()
            splits = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=split)
            train, test = next(splits.split(X, y))
            train = train[: 120 if settings.quick else MOST_TRAINED]
            scaler = StandardScaler().fit(X[train])
            data = scaler.transform(X[train]), y[train], scaler.transform(X[test])
            for method, job in methods.items():
                if (name, method, split) in settings.done:
                    continue
                begun = time.process_time()
                proba, decided = job(*data)
                seconds = time.process_time() - begun
                head = {"task": name, "solver": method, "split": split, "seconds": seconds}
                emit({**head, **judged(y[test], proba, decided)})


def judged(truth: np.ndarray, proba: np.ndarray | None, decided: np.ndarray) -> Row:
    """Return costs divided by those of the better constant decision, and proper scores."""
    truth = truth[:, np.newaxis]
    cost = TAUS * (decided & ~truth).mean(axis=0) + (1.0 - TAUS) * (~decided & truth).mean(axis=0)
    constant = np.minimum(TAUS * (1.0 - truth.mean()), (1.0 - TAUS) * truth.mean())
    found: Row = {"costs": (cost / constant).tolist()}
    if proba is not None:
        found["brier"] = float(np.mean((proba - truth[:, 0]) ** 2))
        found["log-loss"] = float(log_loss(truth[:, 0], np.clip(proba, 1e-12, 1.0 - 1e-12)))
    return found


# -- what comes of it ------------------------------------------------------------------------------


def of(rows: list[Row], method: str, task: str, name: str) -> np.ndarray:
    """Return a measure of a method on each split of a set."""
    own = [row for row in rows if (row["solver"], row["task"]) == (method, task)]
    if name == "cost":
        return np.array([np.mean(row["costs"]) for row in own])
    if name == "extreme":
        return np.array([np.mean([row["costs"][k] for k in EXTREME]) for row in own])
    return np.array([row.get(name, np.nan) for row in own])


def verdict(ours: np.ndarray, theirs: np.ndarray, test_share: float = TEST_SHARE) -> int:
    """Return 1 where ours is less, -1 where it is more, 0 where chance may explain it.

    The difference must be more than twice its standard error, corrected for splits that share
    training samples (Nadeau & Bengio 2003); `test_share` is the part that is tested on.
    """
    difference = theirs - ours
    n = len(difference)
    if n < 2:
        return 0
    spread = difference.std(ddof=1) * np.sqrt(1.0 / n + test_share / (1.0 - test_share))
    return int(np.sign(difference.mean())) if abs(difference.mean()) > 2.0 * spread else 0


def difference(rows: list[Row], method: str, name: str) -> tuple[float, float]:
    """Return by how much a measure is above that of `OURS`, mean over sets, and its error."""
    tasks = unique(rows, "task")
    off = [(of(rows, method, task, name) - of(rows, OURS, task, name)).mean() for task in tasks]
    error = np.std(off, ddof=1) / np.sqrt(len(off)) if len(off) > 1 else 0.0
    return float(np.mean(off)), float(error)


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return means over sets, differences from ours, wins and losses, and costs set by set."""
    notes = left_out(rows)
    rows = [row for row in rows if "costs" in row]
    methods, tasks = unique(rows, "solver"), unique(rows, "task")
    others = [method for method in methods if method != OURS]

    def mean(method: str, name: str, among: Sequence[str] = tasks) -> str:
        found = np.mean([of(rows, method, task, name).mean() for task in among])
        if np.isnan(found):
            return "–"
        return f"{found:.1f}" if name == "seconds" else f"{found:.3f}"

    def off(method: str, name: str) -> str:
        by, error = difference(rows, method, name)
        return "–" if np.isnan(by) else f"{by:+.3f} ± {error:.3f}"

    def won(method: str, name: str) -> str:
        pairs = ((of(rows, OURS, task, name), of(rows, method, task, name)) for task in tasks)
        found = [verdict(*pair) for pair in pairs if not np.isnan(pair[1]).any()]
        counts = f"{found.count(1)}, {found.count(0)}, {found.count(-1)}"
        return counts if found else "–"

    def by_set(name: str) -> list:
        names = [task.removesuffix("_scale").removesuffix(".scale") for task in tasks]
        columns = [(method, [mean(method, name, [task]) for task in tasks]) for method in methods]
        return [("data", names), *columns]

    def with_methods(cell: Callable[..., str], among: list[str], names: Sequence[str]) -> list:
        return [("method", among), *((each, [cell(m, each) for m in among]) for each in names)]

    off_title = "The same minus that of stack, and its standard error over sets"
    return {
        "means": Table(
            "Means over all sets", with_methods(mean, methods, (*MEASURES, "seconds")), notes
        ),
        "off": Table(off_title, with_methods(off, others, MEASURES)),
        "won": Table("Sets that stack wins, ties and loses", with_methods(won, others, MEASURES)),
        "costs": Table("Costs by set, mean over all ratios", by_set("cost")),
        "extreme": Table("Costs by set, mean over the extreme ratios", by_set("extreme")),
    }


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return the cost along the ratio, mean over all sets, of those methods that are plotted."""
    rows = [row for row in rows if "costs" in row]
    series = {
        method: list(
            zip(
                RATIOS,
                np.mean([row["costs"] for row in rows if row["solver"] == method], axis=0).tolist(),
                strict=True,
            )
        )
        for method in unique(rows, "solver")
        if method in PLOTTED
    }
    return {"ratios": Plot(TITLE, "cost of a false alarm / cost of a miss", "cost", series)}
