"""What decisions really cost, over 19 ratios of costs: one path beside refits and thresholds.

On real data, 5 folds, with τ = 0.05, 0.10, ..., 0.95 (a false alarm costs τ, a miss 1 - τ):

path        one `QuantileSVC(C)`, ``predict(X, tau=τ)``
monotone    the same path with ``monotone=True``: positive where P̂ ≥ τ
refits      `LinearSVC` with the hinge loss, fitted again for each τ with class weights 2 (1 - τ)
            and 2 τ. Up to its tolerance it is the same SVM: its intercept is regularised, too.
threshold   one `CalibratedClassifierCV(LinearSVC)` with a sigmoid, positive where P̂ ≥ τ
prior       one class for all: whichever costs less in training

The kernel is linear. C is chosen on the training part, once for all τ and all methods: of a grid,
the one with the least Brier score of `QuantileSVC` in 3 folds. Columns are scaled, and sets cut, as
in `datasets/real.py`. Costs are means per held-out sample. Seconds are CPU seconds in one thread,
of fitting and of all 19 predictions; choosing C is not counted.

`refits` stops at 10⁵ passes or at scikit-learn's tolerance of 1e-4. "agree" is how many of its
predictions, over all τ, are those of the path; "near" how many of the others have |f_τ(x)| below
0.01 on the path, where a solver's tolerance can decide.

Real data are read from the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from calibrators.base import CS, inner_folds
from common import Stopwatch, machine, n_threads, number, table
from datasets.real import load, scaled
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import LinearSVC

from taupath import QuantileSVC, QuantileSVCCV
from taupath.datasets import DataNotFound

TAUS = [k / 20 for k in range(1, 20)]
METHODS = ("path", "monotone", "refits", "threshold", "prior")
TIMED = ("path", "refits", "threshold")
SETS = ("a1a", "a9a", "australian", "breast cancer", "diabetes", "fourclass", "heart_scale")
SETS += ("ionosphere",)
# Passes of LIBLINEAR over the samples, at most.
MOST_PASSES = 100_000
# |f| below which a solver's tolerance can decide.
NEAR = 0.01
# How much dearer, relatively, is about as good.
NEARLY = 0.02
PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath")


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
    cost : dict of str to list of float
        Of each method, for each τ: mean cost per held-out sample.
    seconds : dict of str to float
        Of each method that is timed: all folds.
    agree : float
        Share of predictions of the refits that are those of the path.
    near : float or None
        Share of the others whose |f_τ(x)| is small; None if there are none.
    stopped : int
        Refits that stopped at the most passes.
    crossed : float
        Share of held-out samples that change sides more than once along τ.
    """

    name: str
    n_samples: int
    n_features: int
    C: list[float]
    cost: dict[str, list[float]]
    seconds: dict[str, float]
    agree: float
    near: float | None
    stopped: int
    crossed: float

    def mean(self, method: str) -> float:
        """Return the mean cost over all τ."""
        return float(np.mean(self.cost[method]))


def _one(Cs: Sequence[float]) -> QuantileSVCCV:
    """Return a search for the C of one linear model; features are not standardised."""
    return QuantileSVCCV(Cs, cv=inner_folds(), kernel="linear", combine="best", standardize=False)


def realised_cost(positive: np.ndarray, decided: np.ndarray, tau: float) -> float:
    """Return the mean cost of decisions: τ for each false alarm, 1 - τ for each miss."""
    alarms, misses = np.mean(decided & ~positive), np.mean(~decided & positive)
    return float(tau * alarms + (1.0 - tau) * misses)


def refit(X: np.ndarray, y: np.ndarray, C: float, tau: float) -> LinearSVC:
    """Return LIBLINEAR's SVM of one τ; y is True and False."""
    return LinearSVC(
        loss="hinge",
        C=C,
        class_weight={True: 2.0 * (1.0 - tau), False: 2.0 * tau},
        max_iter=MOST_PASSES,
        random_state=0,
    ).fit(X, y)


def by_path(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, C: float) -> np.ndarray:
    """Return decisions of one path, a column for each τ."""
    model = QuantileSVC(C).fit(X, y)
    return np.column_stack([model.predict(X_test, tau=tau) for tau in TAUS])


def by_refits(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, C: float) -> np.ndarray:
    """Return decisions of one SVM for each τ."""
    return np.column_stack([refit(X, y, C, tau).predict(X_test) for tau in TAUS])


def by_threshold(X: np.ndarray, y: np.ndarray, X_test: np.ndarray, C: float) -> np.ndarray:
    """Return decisions of one calibrated SVM."""
    svc = LinearSVC(loss="hinge", C=C, max_iter=MOST_PASSES, random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    proba = CalibratedClassifierCV(svc, cv=folds).fit(X, y).predict_proba(X_test)[:, 1]
    return proba[:, np.newaxis] >= np.array(TAUS)


def measure(name: str) -> Row:
    """Measure one set."""
    X, y = load(name)
    positive = y == y.max()
    decided = {method: np.empty((len(y), len(TAUS)), dtype=bool) for method in METHODS}
    values = np.empty((len(y), len(TAUS)))
    crossed = np.empty(len(y), dtype=bool)
    watch, Cs, stopped = Stopwatch(), [], 0
    jobs = {"path": by_path, "refits": by_refits, "threshold": by_threshold}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, positive):
        X_train, X_test = scaled(X[train], X[test])
        y_train = positive[train]
        C = _one(CS["linear"]).fit(X_train, y_train).C_
        Cs.append(C)
        for method, job in jobs.items():
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                decided[method][test] = watch.time(method, job, X_train, y_train, X_test, C)
            stopped += len(caught) if method == "refits" else 0
        model = QuantileSVC(C).fit(X_train, y_train)
        values[test] = np.column_stack([model.decision_function(X_test, tau) for tau in TAUS])
        decided["monotone"][test] = model.predict_proba(X_test)[:, 1:] >= np.array(TAUS)
        decided["prior"][test] = y_train.mean() >= np.array(TAUS)
        interval = model.crossing_interval(X_test)
        crossed[test] = interval[:, 1] > interval[:, 0]
    differ = decided["path"] != decided["refits"]
    return Row(
        name,
        *X.shape,
        Cs,
        {
            method: [
                realised_cost(positive, column, tau)
                for column, tau in zip(found.T, TAUS, strict=True)
            ]
            for method, found in decided.items()
        },
        {method: watch.spent(method) for method in TIMED},
        float(1.0 - differ.mean()),
        float((np.abs(values[differ]) < NEAR).mean()) if differ.any() else None,
        stopped,
        float(crossed.mean()),
    )


# -- reporting -------------------------------------------------------------------------------------


def overall(rows: Sequence[Row]) -> dict[str, dict[str, float]]:
    """Return for each method its cost and seconds beside the path's, as geometric means of sets.

    And on how many sets the path costs less, and at most 2 % more.
    """
    found = {}
    for method in METHODS[1:]:
        ratio = np.array([row.mean(method) / row.mean("path") for row in rows])
        found[method] = {
            "cost": float(np.exp(np.log(ratio).mean())),
            "path is cheaper": int((ratio > 1.0).sum()),
            "path is within 2 % or cheaper": int((1.0 / ratio <= 1.0 + NEARLY).sum()),
            "sets": len(rows),
        }
        if method in TIMED:
            times = [row.seconds[method] / row.seconds["path"] for row in rows]
            found[method]["seconds"] = float(np.exp(np.log(times).mean()))
    return found


def report(rows: Sequence[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    names = ("data", [row.name for row in rows])
    costs = [
        names,
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("median C", [f"{np.median(row.C):g}" for row in rows]),
        *((method, [f"{row.mean(method):.4f}" for row in rows]) for method in METHODS),
    ]
    low = [k for k, tau in enumerate(TAUS) if tau <= 0.2 or tau >= 0.8]
    uneven = [
        names,
        *(
            (method, [f"{np.mean(np.array(row.cost[method])[low]):.4f}" for row in rows])
            for method in METHODS
        ),
    ]
    work = [
        names,
        *((f"{method}, s", [number(row.seconds[method]) for row in rows]) for method in TIMED),
        *(
            (
                f"{method} / path",
                [number(row.seconds[method] / row.seconds["path"]) for row in rows],
            )
            for method in TIMED[1:]
        ),
        ("agree", [f"{100.0 * row.agree:.2f} %" for row in rows]),
        ("near", ["-" if row.near is None else f"{100.0 * row.near:.0f} %" for row in rows]),
        ("stopped", [str(row.stopped) for row in rows]),
        ("crossed", [f"{100.0 * row.crossed:.1f} %" for row in rows]),
    ]
    lines = [
        *table("Realised cost per held-out sample, mean over 19 values of τ", costs),
        "",
        *table("The same over τ ≤ 0.2 and τ ≥ 0.8 only", uneven),
        "",
        *table("Seconds, agreement of refits with the path, and crossed boundaries", work),
        "",
    ]
    for method, found in overall(rows).items():
        seconds = f", {number(found['seconds'])} times its seconds" if "seconds" in found else ""
        lines.append(
            f"{method}: {found['cost']:.3f} times the path's cost{seconds}; the path is cheaper on "
            f"{found['path is cheaper']} of {found['sets']} sets, within 2 % or cheaper on "
            f"{found['path is within 2 % or cheaper']}"
        )
    return [*lines, "", ", ".join(f"{name} {value}" for name, value in about.items())]


def as_json(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Return the rows, what they come to, and the machine."""
    everything = {"rows": [asdict(row) for row in rows], "overall": overall(rows)}
    return json.dumps({"taus": TAUS, **everything, "machine": about}, indent=2)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="What decisions cost, over 19 ratios of costs.")
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if n_threads() > 1:
        print(f"costs: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    rows = []
    try:
        for name in arguments.datasets:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            rows.append(measure(name))
    except DataNotFound as missing:
        print(f"costs: {missing}", file=sys.stderr)
        return 1
    about = machine(*PACKAGES)
    print(as_json(rows, about) if arguments.json else "\n".join(report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
