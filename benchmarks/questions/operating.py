"""Are the promises of operating points kept as often as they say, and what do they cost?

Each of many random splits divides a set into two halves. A model is trained on one, and the other
is all that there is to be met later: 300 held-out rows are drawn from it, with replacement, and the
true rates are those of all its rows, so they are known exactly. Simulated sets are drawn anew for
each split, with 300 rows to train on and 1000 to be met.

operate         the τ of `taupath.operate` for the decisions of `QuantileSVC` at its default C = 1,
                on standardised columns
monotone        the same with `monotone=True`, which decides by the probability: no row is flagged
                again at a larger τ once it is not
tuned           scikit-learn's `TunedThresholdClassifierCV` on the same held-out rows and the
                probabilities of the same model: of 100 thresholds, the one with the largest gain of
                those that keep the promise on these rows. It promises nothing
mapie           MAPIE's `BinaryClassificationController` on the same held-out rows and
                probabilities, with its defaults: of 100 thresholds, those that pass tests with
                Bonferroni and Holm's correction, and of these the one with the largest gain. It
                promises the same as `operate`
mapie, fixed    the same with `fwer_method="fixed_sequence"`

"no τ" counts the splits in which none was found, because held-out rows were too few to be sure,
"broken" those in which the true rate is not as promised; "by chance" is the share of splits that is
not exceeded, with 99 %, if a promise is broken with the probability delta. "gain" is what is left
to gain, the mean of the true rate over all splits: for max_fpr and min_precision the recall, for
min_recall the share of negative rows that are not flagged. It is 0 where no τ was found.
"""

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from common import Stopwatch
from datasets.real import load, scaled
from datasets.simulated import SIMULATORS
from scipy.stats import binom
from showing import Plot, Row, Table, left_out, unique
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import make_scorer
from sklearn.model_selection import TunedThresholdClassifierCV, train_test_split
from trial import Emit, Settings

from taupath import NoOperatingPoint, QuantileSVC
from taupath.datasets import DataNotFound
from taupath.outcomes.held_out import Outcomes, outcomes_of
from taupath.outcomes.operating import find_operating_point
from taupath.outcomes.promises import Promises
from taupath.outcomes.rates import changes_of_probabilities
from taupath.paths.crossings import Changes
from taupath.validation import UNIT_INTERVAL

TITLE = "Promises about new cases"
SOLVERS = ("taupath",)
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
# MAPIE's names for the promised rate, and for the rate that is the gain.
IN_MAPIE = {
    "max_fpr": ("fpr", "recall"),
    "min_recall": ("recall", "fpr"),
    "min_precision": ("precision", "recall"),
}
PROMISES = {"max_fpr": 0.1, "min_recall": 0.9, "min_precision": 0.8}
DELTA = 0.1
N_SPLITS, N_HELD_OUT = 1000, 300
# Rows to train on and to be met later, of simulated sets.
TRAINED_ON, MET_LATER = 300, 1000
OURS, MONOTONE = "operate", "monotone"

loaded = cache(load)  # each set is split many times

Halves = tuple[Any, np.ndarray, Any, np.ndarray, str]


def halves(name: str, seed: int) -> Halves:
    """Return a random split of a set into two parts: X and y of both, and the kernel."""
    if name in SIMULATED:
        simulator = SIMULATED[name]
        X, y = simulator.draw(np.random.default_rng(seed), TRAINED_ON + MET_LATER)
        parts = X[:TRAINED_ON], X[TRAINED_ON:], y[:TRAINED_ON] == 1, y[TRAINED_ON:] == 1
        kernel = simulator.kernel
    else:
        X, y = loaded(name)
        parts = train_test_split(X, y == y.max(), test_size=0.5, random_state=seed, stratify=y)
        kernel = REAL[name]
    X_train, X_later, y_train, y_later = parts
    X_train, X_later = scaled(X_train, X_later)
    return X_train, y_train, X_later, y_later, kernel


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


def controlled_threshold(promise: str, proba: np.ndarray, truth: np.ndarray, **how: str) -> float:
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
        confidence_level=1.0 - DELTA,
        best_predict_param_choice=gain,
        list_predict_params=thresholds[thresholds <= proba.max()],
        **how,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # it warns if it finds none
        controller.calibrate(proba[:, np.newaxis], truth.astype(int))
    return np.inf if controller.best_predict_param is None else float(controller.best_predict_param)


# Each returns a threshold of the probability, infinity if there is none.
RIVALS: dict[str, Callable[..., float]] = {
    "tuned": tuned_threshold,
    "mapie": controlled_threshold,
    "mapie, fixed": partial(controlled_threshold, fwer_method="fixed_sequence"),
}


# -- measuring -------------------------------------------------------------------------------------

# The true rates of an operating point or a threshold, None if none was found.
Found = dict[str, float] | None
# A method and a promise.
Job = tuple[str, str]


def operated(outcomes: Outcomes, promise: str, later: Any) -> Found:
    """Return the true rates at the operating point of held-out rows."""
    try:
        promises = Promises.checked(**{promise: PROMISES[promise]}, delta=DELTA)
        tau = find_operating_point(outcomes, promises).tau
    except NoOperatingPoint:
        return None
    tp, fp = (float(each) for each in later.at(np.array(tau)))
    return {
        "max_fpr": fp / later.n_negative,
        "min_recall": tp / later.n_positive,
        "min_precision": tp / (tp + fp) if tp + fp > 0 else 1.0,
    }


def in_split(
    name: str, seed: int, rivals: dict[str, Callable[..., float]], watch: Stopwatch
) -> Iterator[tuple[Job, Found]]:
    """Yield what each method finds for each promise, in one split of a set."""
    X_train, y_train, X_later, y_later, kernel = halves(name, seed)
    model = QuantileSVC(kernel=kernel).fit(X_train, y_train)
    by_sign = Drawing(outcomes_of(model, X_later, y_later))
    proba = model.predict_proba(X_later)[:, 1]
    by_proba = Drawing(Outcomes(y_later, UNIT_INTERVAL, changes_of_probabilities(proba)))
    rows = np.random.default_rng([1, seed]).integers(len(y_later), size=N_HELD_OUT)
    for promise in PROMISES:
        for method, drawing in ((OURS, by_sign), (MONOTONE, by_proba)):
            job, later = (method, promise), drawing.outcomes.rates()
            yield job, watch.time(job, operated, drawing.of(rows), promise, later)
        for rival, threshold_of in rivals.items():
            job = rival, promise
            threshold = watch.time(job, threshold_of, promise, proba[rows], y_later[rows])
            yield job, rates(y_later, proba >= threshold) if threshold < np.inf else None


def measure(settings: Settings, emit: Emit) -> None:
    """Emit a row for each set, method and promise."""
    rivals = dict(RIVALS)
    if find_spec("mapie") is None:
        for rival in ("mapie", "mapie, fixed"):
            del rivals[rival]
            emit({"task": "all", "solver": rival, "note": "not installed"})
    n_splits = 3 if settings.quick else N_SPLITS
    for name in (*SIMULATED, *REAL)[: 1 if settings.quick else None]:
        found: dict[Job, list[Found]] = {}
        watch = Stopwatch()
        try:
            for seed in range(n_splits):
                for job, each in in_split(name, seed, rivals, watch):
                    found.setdefault(job, []).append(each)
        except DataNotFound as missing:
            emit({"task": name, "solver": "all", "note": str(missing)})
        for job, own in found.items():
            method, promise = job
            head = {"task": name, "solver": method, "promise": promise}
            emit({**head, "seconds": watch.spent(job) / len(own), **judged(promise, own)})


def judged(promise: str, found: Sequence[Found]) -> Row:
    """Return in how many splits there was no τ, or a broken promise, and the mean gain."""
    made = [each for each in found if each is not None]
    return {
        "splits": len(found),
        "none": len(found) - len(made),
        "broken": sum(not kept(promise, each) for each in made),
        "gain": sum(gained(promise, each) for each in made) / len(found),
    }


# -- what comes of it ------------------------------------------------------------------------------


def of(rows: list[Row], method: str, promise: str, name: str) -> np.ndarray:
    """Return a figure of each set: the gain, or the share of splits that "none" or "broken" is."""
    own = [row for row in rows if (row["solver"], row["promise"]) == (method, promise)]
    return np.array([row[name] if name == "gain" else row[name] / row["splits"] for row in own])


def by_chance(n_splits: int) -> float:
    """Return the share of splits that a promise may be broken in by chance, with 99 %."""
    return float(binom.ppf(0.99, n_splits, DELTA)) / n_splits


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return means and extremes over sets, and for each promise the figures of each set."""
    notes = left_out(rows)
    rows = [row for row in rows if "promise" in row]
    methods, tasks = unique(rows, "solver"), unique(rows, "task")
    pairs = [(promise, method) for promise in PROMISES for method in methods]

    def shares(name: str, cell: Callable[[np.ndarray], float]) -> list[str]:
        found = (100.0 * cell(of(rows, method, promise, name)) for promise, method in pairs)
        return [f"{each:.1f}" for each in found]

    n_splits = rows[0]["splits"] if rows else 0
    means = [
        ("promise", [f"{promise}={PROMISES[promise]:g}" for promise, _ in pairs]),
        ("method", [method for _, method in pairs]),
        ("broken, %", shares("broken", np.mean)),
        ("least of a set", shares("broken", np.min)),
        ("most of a set", shares("broken", np.max)),
        ("by chance", [f"{100.0 * by_chance(n_splits):.1f}" for _ in pairs]),
        ("no τ, %", shares("none", np.mean)),
        ("gain", [f"{of(rows, method, promise, 'gain').mean():.3f}" for promise, method in pairs]),
    ]
    names = [task.removesuffix("_scale") for task in tasks]
    title = f"Means over {len(tasks)} sets, {n_splits} splits of each, delta={DELTA:g}"
    found = {"means": Table(title, means, notes)}
    for promise in PROMISES:
        columns = [("data", names)]
        for method in methods:
            cells = [f"{100.0 * share:.1f}" for share in of(rows, method, promise, "broken")]
            columns.append((f"{method}: broken, %", cells))
        for method in methods:
            cells = [f"{gain:.3f}" for gain in of(rows, method, promise, "gain")]
            columns.append((f"{method}: gain", cells))
        found[promise] = Table(f"{promise}={PROMISES[promise]:g}, set by set", columns)
    return found


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return no plots."""
    return {}
