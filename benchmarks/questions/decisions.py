"""Decisions without tuning by hand: what they cost at eleven ratios, and how good P̂ is.

Random splits of each set, stratified: 60 % to train on, at most `MOST_TRAINED` rows, and 40 % to
judge by. Columns are standardised on the training part, and everything is chosen within it.

stack, best, per_tau   `QuantileSVCCV()` with each `combine`
sigmoid, isotonic      `CalibratedClassifierCV(SVC)`, linear and RBF, C chosen by Brier score
logistic               `LogisticRegression`, C chosen by log-loss
boosting               `HistGradientBoostingClassifier`, its leaves and rate chosen by log-loss

All decide positive where P̂ ≥ τ, except `best`, which decides by the sign of its function. Costs are
divided by what the better of the two constant decisions costs on the same rows. Log-loss counts
probabilities below 1e-12 as 1e-12. Besides the real sets there are three simulated ones, whose
truth is known: rings, a rare class, and noise. Extreme ratios are 1 : 50, 1 : 20, 20 : 1, 50 : 1.
"""

import time
from collections.abc import Callable

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
from trial import Emit, Settings

from taupath import QuantileSVCCV
from taupath.datasets import DataNotFound

TITLE = "Decisions without tuning by hand"
SOLVERS = ("taupath",)
REAL = ("diabetes", "australian", "heart_scale", "ionosphere", "fourclass", "a1a", "breast cancer")
SIMULATED = ("rings", "rare", "noise")
# What a false alarm costs, in misses.
RATIOS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
TAUS = np.array([ratio / (1.0 + ratio) for ratio in RATIOS])
EXTREME = [0, 1, 9, 10]
N_SPLITS, TEST_SHARE, MOST_TRAINED = 5, 0.4, 600
OURS = "stack"

# Probabilities of the positive class on test samples, and decisions, a column for each τ.
Predicted = tuple[np.ndarray, np.ndarray]


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


def by_taupath(combine: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of the default search with this `combine`."""
    model = QuantileSVCCV(combine=combine).fit(X, y)
    return model.predict_proba(X_test)[:, 1], model.predict(X_test, taus=TAUS)


def by_svm(how: str, kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of a calibrated SVM."""
    return _cut(by_calibration(how, kernel, X, y, X_test).proba[:, 1])


def by_logistic(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of logistic regression."""
    return _searched(LogisticRegression(max_iter=5000), {"C": CS["linear"]}, X, y, X_test)


def by_boosting(X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> Predicted:
    """Return the predictions of boosted trees."""
    grid = {"learning_rate": (0.03, 0.1), "max_leaf_nodes": (4, 8, 31), "max_iter": (100,)}
    return _searched(HistGradientBoostingClassifier(random_state=0), grid, X, y, X_test)


def _searched(model, grid, X, y, X_test) -> Predicted:
    search = GridSearchCV(model, grid, scoring="neg_log_loss", cv=inner_folds()).fit(X, y)
    return _cut(search.predict_proba(X_test)[:, 1])


def _cut(proba: np.ndarray) -> Predicted:
    return proba, proba[:, np.newaxis] >= TAUS


METHODS: dict[str, Callable[..., Predicted]] = {
    **{
        each: lambda *data, each=each: by_taupath(each, *data)
        for each in ("stack", "best", "per_tau")
    },
    **{
        f"{how}, {kernel}": lambda *data, how=how, kernel=kernel: by_svm(how, kernel, *data)
        for how in ("sigmoid", "isotonic")
        for kernel in ("linear", "rbf")
    },
    "logistic": by_logistic,
    "boosting": by_boosting,
}


def measure(settings: Settings, emit: Emit) -> None:
    """Judge all methods on all sets."""
    for name in (*REAL, *SIMULATED)[-1 if settings.quick else 0 :]:
        for split in range(1 if settings.quick else N_SPLITS):
            try:
                X, y = load(name) if name in REAL else simulated(name, split)
            except DataNotFound as missing:
                emit({"task": name, "solver": "all", "note": str(missing)})
                break
            y = y == y.max()
            splits = StratifiedShuffleSplit(1, test_size=TEST_SHARE, random_state=split)
            train, test = next(splits.split(X, y))
            train = train[: 120 if settings.quick else MOST_TRAINED]
            scaler = StandardScaler().fit(X[train])
            data = scaler.transform(X[train]), y[train], scaler.transform(X[test])
            for method, job in METHODS.items():
                begun = time.process_time()
                proba, decided = job(*data)
                seconds = time.process_time() - begun
                head = {"task": name, "solver": method, "split": split, "seconds": seconds}
                emit({**head, **judged(y[test], proba, decided)})


def judged(truth: np.ndarray, proba: np.ndarray, decided: np.ndarray) -> Row:
    """Return costs divided by those of the better constant decision, and proper scores."""
    truth = truth[:, np.newaxis]
    cost = TAUS * (decided & ~truth).mean(axis=0) + (1.0 - TAUS) * (~decided & truth).mean(axis=0)
    constant = np.minimum(TAUS * (1.0 - truth.mean()), (1.0 - TAUS) * truth.mean())
    return {
        "costs": (cost / constant).tolist(),
        "brier": float(np.mean((proba - truth[:, 0]) ** 2)),
        "log-loss": float(log_loss(truth[:, 0], np.clip(proba, 1e-12, 1.0 - 1e-12))),
    }


# -- results ---------------------------------------------------------------------------------------


def _values(row: Row) -> dict[str, float]:
    costs = np.array(row["costs"])
    return {
        "cost": float(costs.mean()),
        "extreme": float(costs[EXTREME].mean()),
        "brier": row["brier"],
        "log-loss": row["log-loss"],
        "seconds": row["seconds"],
    }


def _mean(rows: list[Row], method: str, task: str, name: str) -> float:
    own = [row for row in rows if (row["solver"], row["task"]) == (method, task)]
    return float(np.mean([_values(row)[name] for row in own]))


def difference(rows: list[Row], method: str, name: str) -> tuple[float, float]:
    """Return the mean difference of a measure from that of `OURS`, and its standard error."""
    off = [
        _mean(rows, method, task, name) - _mean(rows, OURS, task, name)
        for task in unique(rows, "task")
    ]
    error = np.std(off, ddof=1) / np.sqrt(len(off)) if len(off) > 1 else 0.0
    return float(np.mean(off)), float(error)


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return means over sets with paired differences, and extreme costs set by set."""
    notes = left_out(rows)
    rows = [row for row in rows if "costs" in row]
    methods, tasks = unique(rows, "solver"), unique(rows, "task")

    def overall(method: str, name: str) -> str:
        mean = np.mean([_mean(rows, method, task, name) for task in tasks])
        if method == OURS or name == "seconds":
            return f"{mean:.3f}"
        off, error = difference(rows, method, name)
        return f"{mean:.3f} ({off:+.3f} ± {error:.3f})"

    names = ("cost", "extreme", "brier", "log-loss", "seconds")
    means = [("method", methods)]
    means += [(name, [overall(method, name) for method in methods]) for name in names]
    by_set = [("data", tasks)]
    by_set += [
        (method, [f"{_mean(rows, method, task, 'extreme'):.3f}" for task in tasks])
        for method in methods
    ]
    return {
        "means": Table(
            "Means over all sets (in brackets: minus stack's, with its error)", means, notes
        ),
        "extreme": Table("Costs at extreme ratios, 1 is the better constant decision", by_set),
    }


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return the cost along the ratio, mean over all sets."""
    rows = [row for row in rows if "costs" in row]
    by_method = {
        method: np.mean([row["costs"] for row in rows if row["solver"] == method], axis=0)
        for method in unique(rows, "solver")
    }
    series = {
        method: list(zip(RATIOS, costs.tolist(), strict=True))
        for method, costs in by_method.items()
    }
    return {"ratios": Plot(TITLE, "cost of a false alarm / cost of a miss", "cost", series)}
