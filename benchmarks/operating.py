"""Are the promises of operating points kept as often as they say, and what do they cost?

A model is trained on one half of the data, and the other half is all that there is to be met later:
held-out rows are drawn from it, with replacement, and the true rates are those of all its rows, so
they are known exactly. Each set is divided in several ways, and rows are held out many times each.
Simulated sets have 300 rows to train on and 3000 to be met.

operate         the τ of `taupath.operate` for the decisions of `QuantileSVC` at its default C = 1,
                on standardised columns
tuned           scikit-learn's `TunedThresholdClassifierCV` on the same held-out rows and the
                probabilities of the same model: of 100 thresholds, the one that is best on these
                rows of those that keep the promise on these rows. It promises nothing, and is
                slow, so it gets every tenth draw
mapie           if it is installed, MAPIE's `BinaryClassificationController` on the same held-out
                rows and probabilities, with its defaults: of 100 thresholds, those that pass tests
                with Bonferroni and Holm's correction, and of these the one with the largest gain.
                It promises the same as `operate`, and gets every tenth draw, too

"none" is the share of draws in which no τ was found, because held-out rows were too few to be sure.
"broken" is the share of all draws in which the true rate is not as promised; beside it stands the
most that is explained by chance (99 %) if it happens with the probability delta. "gain" is what is
left to gain, the true rate of all draws on average: for max_fpr and min_precision the recall, for
min_recall the share of negative rows that are not flagged. It is 0 where no τ was found.

Data are read from the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import machine, n_threads, table
from datasets.real import load, scaled
from datasets.simulated import SIMULATORS
from scipy.stats import binom
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split

from taupath import NoOperatingPoint, QuantileSVC
from taupath.datasets import DataNotFound
from taupath.outcomes.held_out import Outcomes, outcomes_of
from taupath.outcomes.operating import find_operating_point
from taupath.outcomes.promises import Promises
from taupath.paths.crossings import Changes

PACKAGES = ("taupath", "numpy", "scipy", "scikit-learn", "mapie")
# Real sets, with the kernel to use.
REAL = {
    "australian": "linear",
    "breast cancer": "linear",
    "diabetes": "linear",
    "fourclass": "rbf",
    "heart_scale": "linear",
    "ionosphere": "rbf",
}
SIMULATED = {simulator.name: simulator for simulator in SIMULATORS}
SETS = (*SIMULATED, *REAL)
MAPIE = "mapie"
METHODS = ("operate", "tuned", *([MAPIE] if find_spec(MAPIE) else []))
# MAPIE's names for the promised rate, and for the rate that is the gain.
IN_MAPIE = {
    "max_fpr": ("fpr", "recall"),
    "min_recall": ("recall", "fpr"),
    "min_precision": ("precision", "recall"),
}
PROMISES = {"max_fpr": 0.1, "min_recall": 0.9, "min_precision": 0.8}
# Rows to train on and to be met later, of simulated sets.
TRAINED_ON, MET_LATER = 300, 3000
# The rivals get one draw in so many.
RIVAL_EVERY = 10


@dataclass(frozen=True)
class Row:
    """What was measured for one set and one promise.

    Attributes
    ----------
    name, promise : str
        The set, and what was promised.
    draws : int
        How many times rows were held out.
    none : float
        Share of draws without an operating point.
    broken, gain : dict of str to float
        Of each method: share of draws in which the promise was broken, and what was left to gain.
    """

    name: str
    promise: str
    draws: int
    none: float
    broken: dict[str, float]
    gain: dict[str, float]


def halves(name: str, divisions: int) -> Iterator[tuple[Any, np.ndarray, Any, np.ndarray, str]]:
    """Yield a set in two parts several times: X and y of both, and the kernel."""
    for seed in range(divisions):
        if name in SIMULATED:
            rng, simulator = np.random.default_rng(seed), SIMULATED[name]
            X, y = simulator.draw(rng, TRAINED_ON + MET_LATER)
            parts = X[:TRAINED_ON], X[TRAINED_ON:], y[:TRAINED_ON] == 1, y[TRAINED_ON:] == 1
            kernel = simulator.kernel
        else:
            X, y = load(name)
            parts = train_test_split(X, y == y.max(), test_size=0.5, random_state=seed, stratify=y)
            kernel = REAL[name]
        X_train, X_later, y_train, y_later = parts
        X_train, X_later = scaled(X_train, X_later)
        yield X_train, y_train, X_later, y_later, kernel


class Drawing:
    """Draws rows, with replacement, of outcomes for all rows."""

    def __init__(self, outcomes: Outcomes) -> None:
        begin, who, when, change = outcomes.changes
        order = np.argsort(who, kind="stable")
        self.outcomes = outcomes
        self.when, self.change = when[order], change[order]
        self.counts = np.bincount(who, minlength=len(begin))
        self.first = np.cumsum(self.counts) - self.counts

    def of(self, rows: np.ndarray) -> Outcomes:
        """Return the outcomes of these rows, in their order."""
        counts = self.counts[rows]
        who = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        places = self.first[rows][who] + within
        changes = Changes(
            self.outcomes.changes.begin[rows], who, self.when[places], self.change[places]
        )
        return Outcomes(self.outcomes.truth[rows], self.outcomes.walked, changes)


# -- the rivals ------------------------------------------------------------------------------------


class Known(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only feature is the probability of the positive class."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> "Known":
        """Learn nothing."""
        self.classes_ = np.array([False, True])
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Return what it was given."""
        return np.column_stack((1.0 - X[:, 0], X[:, 0]))


def rates(truth: np.ndarray, flagged: np.ndarray) -> dict[str, float]:
    """Return the rates that promises are about."""
    fpr = float(flagged[~truth].mean())
    recall = float(flagged[truth].mean())
    precision = float(truth[flagged].mean()) if flagged.any() else 1.0
    return {"max_fpr": fpr, "min_recall": recall, "min_precision": precision}


def kept(promise: str, found: dict[str, float]) -> bool:
    """Return whether a promise is kept by these rates."""
    share, true = PROMISES[promise], found[promise]
    return true <= share if promise.startswith("max") else true >= share


def gained(promise: str, found: dict[str, float]) -> float:
    """Return what is left to gain: recall, or the share of negative rows that are not flagged."""
    return 1.0 - found["max_fpr"] if promise == "min_recall" else found["min_recall"]


def scorer_for(promise: str) -> Callable[..., float]:
    """Return a scorer of what is gained where the promise is kept."""

    def score(truth: np.ndarray, flagged: np.ndarray) -> float:
        found = rates(np.asarray(truth, dtype=bool), np.asarray(flagged, dtype=bool))
        return gained(promise, found) if kept(promise, found) else -1.0

    return make_scorer(score)


def tuned_threshold(promise: str, proba: np.ndarray, truth: np.ndarray) -> float:
    """Return the threshold that scikit-learn finds on held-out rows."""
    known = Known().fit(proba[:, np.newaxis], truth)
    tuned = TunedThresholdClassifierCV(known, scoring=scorer_for(promise), cv="prefit", refit=False)
    return float(tuned.fit(proba[:, np.newaxis], truth).best_threshold_)


def controlled_threshold(promise: str, proba: np.ndarray, truth: np.ndarray, delta: float) -> float:
    """Return the threshold that MAPIE finds on held-out rows; infinity if it finds none."""
    from mapie.risk_control import BinaryClassificationController

    risk, gain = IN_MAPIE[promise]
    # its own 100 thresholds, except those at which no row is flagged: there the p-value of the
    # precision is NaN, and version 1.6 then finds no threshold at all
    thresholds = np.linspace(0.0, 0.99, 100)
    controller = BinaryClassificationController(
        predict_function=Known().predict_proba,
        risk=risk,
        target_level=PROMISES[promise],
        confidence_level=1.0 - delta,
        best_predict_param_choice=gain,
        list_predict_params=thresholds[thresholds <= proba.max()],
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns if it finds none
        controller.calibrate(proba[:, np.newaxis], truth.astype(int))
    return np.inf if controller.best_predict_param is None else float(controller.best_predict_param)


# -- measuring -------------------------------------------------------------------------------------


def operated(outcomes: Outcomes, promise: str, delta: float, later: Any) -> dict[str, float] | None:
    """Return the true rates at the operating point of held-out rows, None if there is none."""
    try:
        promises = Promises.checked(**{promise: PROMISES[promise]}, delta=delta)
        tau = find_operating_point(outcomes, promises).tau
    except NoOperatingPoint:
        return None
    tp, fp = (float(each) for each in later.at(np.array(tau)))
    return {
        "max_fpr": fp / later.n_negative,
        "min_recall": tp / later.n_positive,
        "min_precision": tp / (tp + fp) if tp + fp > 0 else 1.0,
    }


def measure(name: str, divisions: int, draws: int, n_rows: int, delta: float) -> list[Row]:
    """Measure one set: every promise, for each division and draw."""
    none = dict.fromkeys(PROMISES, 0)
    broken: dict[str, dict[str, list[bool]]] = {p: {m: [] for m in METHODS} for p in PROMISES}
    gain: dict[str, dict[str, list[float]]] = {p: {m: [] for m in METHODS} for p in PROMISES}
    rng = np.random.default_rng(1)
    for X_train, y_train, X_later, y_later, kernel in halves(name, divisions):
        model = QuantileSVC(kernel=kernel).fit(X_train, y_train)
        drawing = Drawing(outcomes_of(model, X_later, y_later))
        proba, later = model.predict_proba(X_later)[:, 1], drawing.outcomes.rates()
        for draw in range(draws):
            rows = rng.integers(len(y_later), size=n_rows)
            outcomes = drawing.of(rows)
            for promise in PROMISES:
                found = operated(outcomes, promise, delta, later)
                none[promise] += found is None
                broken[promise]["operate"].append(found is not None and not kept(promise, found))
                gain[promise]["operate"].append(0.0 if found is None else gained(promise, found))
                if draw % RIVAL_EVERY == 0:
                    threshold = tuned_threshold(promise, proba[rows], y_later[rows])
                    found = rates(y_later, proba >= threshold)
                    broken[promise]["tuned"].append(not kept(promise, found))
                    gain[promise]["tuned"].append(gained(promise, found))
                    if MAPIE in METHODS:
                        where = promise, proba[rows], y_later[rows], delta
                        threshold = controlled_threshold(*where)
                        found, some = rates(y_later, proba >= threshold), threshold < np.inf
                        broken[promise][MAPIE].append(some and not kept(promise, found))
                        gain[promise][MAPIE].append(gained(promise, found) if some else 0.0)
    n_draws = divisions * draws
    return [
        Row(
            name,
            promise,
            n_draws,
            none[promise] / n_draws,
            {method: float(np.mean(each)) for method, each in broken[promise].items()},
            {method: float(np.mean(each)) for method, each in gain[promise].items()},
        )
        for promise in PROMISES
    ]


def report(rows: Sequence[Row], delta: float, about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    lines = []
    for promise, share in PROMISES.items():
        own = [row for row in rows if row.promise == promise]
        most = [binom.ppf(0.99, row.draws, delta) / row.draws for row in own]
        columns = [
            ("data", [row.name for row in own]),
            ("draws", [str(row.draws) for row in own]),
            ("none", [f"{row.none:.3f}" for row in own]),
            ("broken", [f"{row.broken['operate']:.3f}" for row in own]),
            ("by chance", [f"{each:.3f}" for each in most]),
            ("tuned broken", [f"{row.broken['tuned']:.3f}" for row in own]),
            ("gain", [f"{row.gain['operate']:.3f}" for row in own]),
            ("tuned gain", [f"{row.gain['tuned']:.3f}" for row in own]),
        ]
        if MAPIE in METHODS:
            columns.insert(6, ("MAPIE broken", [f"{row.broken[MAPIE]:.3f}" for row in own]))
            columns.append(("MAPIE gain", [f"{row.gain[MAPIE]:.3f}" for row in own]))
        lines += [*table(f"{promise} = {share:g}, delta = {delta:g}", columns), ""]
    return [*lines, ", ".join(f"{name} {value}" for name, value in about.items())]


def as_json(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Return the rows and the machine."""
    return json.dumps({"rows": [asdict(row) for row in rows], "machine": about}, indent=2)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="How often promises about new rows are kept.")
    parser.add_argument("--datasets", nargs="+", choices=SETS, default=list(SETS))
    parser.add_argument("--divisions", type=int, default=10, help="into two parts (default 10)")
    parser.add_argument("--draws", type=int, default=100, help="of each division (default 100)")
    parser.add_argument("--rows", type=int, default=300, help="held out in a draw (default 300)")
    parser.add_argument("--delta", type=float, default=0.1, help="default 0.1")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if n_threads() > 1:
        print(f"operating: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    rows = []
    try:
        for name in arguments.datasets:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            how = arguments.divisions, arguments.draws, arguments.rows, arguments.delta
            rows += measure(name, *how)
    except DataNotFound as missing:
        print(f"operating: {missing}", file=sys.stderr)
        return 1
    about = machine(*PACKAGES)
    lines = report(rows, arguments.delta, about)
    print(as_json(rows, about) if arguments.json else "\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main())
