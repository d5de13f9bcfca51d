"""Intervals for probabilities: do they hold the true probability as often as they say?

On simulated classes whose true probabilities η(x) are known, `QuantileSVCCV` is fitted to several
draws of n samples, and predicts 20 000 new ones; every 20th in the order of its prediction gets an
interval.

"score" is the share of new samples with P(Y = 1 | s) in the interval, which is what is promised: s
is the predicted probability, and P(Y = 1 | s) the mean η of the 301 new samples with the nearest s.
"η" is the same for P(Y = 1 | x), which is not promised. Both are in %, and means over draws. "±" is
the standard error of "score" at 90 %, "error" how far predictions are from η.

The constants of `ProbabilityIntervals` were chosen by the coverage on other draws of CHOSEN_ON.
That on CHECKED_ON was measured after they were fixed.
"""

from collections.abc import Callable

import numpy as np
from datasets.simulated import SIMULATORS, Simulator, normal_points
from scipy.ndimage import uniform_filter1d
from scipy.special import expit
from showing import Plot, Row, Table
from trial import Emit, Settings

from taupath import QuantileSVCCV

TITLE = "Intervals for probabilities"
SOLVERS = ("taupath",)
COVERAGES = (0.8, 0.9, 0.95)
WEIGHTS = np.append(np.linspace(1.2, 0.1, 10), np.zeros(10))
STEPS = np.array([0.08, 0.3, 0.65, 0.92])

Points = Callable[[np.random.Generator, int], np.ndarray]


def uniform_points(n_features: int) -> Points:
    """Return a function that draws samples between -2 and 2."""
    return lambda rng, n: rng.uniform(-2.0, 2.0, (n, n_features))


CHOSEN_ON = (
    *SIMULATORS,
    Simulator("rare", "linear", normal_points(5), lambda X: expit(1.5 * X[:, 0] - X[:, 1] - 3.7)),
)
CHECKED_ON = (
    Simulator("gaussian", "linear", normal_points(20), lambda X: expit(X @ WEIGHTS)),
    Simulator(
        "plateaus",
        "linear",
        normal_points(4),
        lambda X: 0.1 + 0.65 * expit(4.0 * X[:, 0] + 2.0 * X[:, 1]),
    ),
    Simulator(
        "steps",
        "linear",
        uniform_points(3),
        lambda X: STEPS[np.clip(np.floor(X[:, 0] + 2.0).astype(int), 0, 3)],
    ),
    Simulator(
        "curved",
        "linear",
        normal_points(4),
        lambda X: expit(1.5 * X[:, 0] + 0.7 * X[:, 1] ** 2 - 0.7),
    ),
    Simulator(
        "quadratic",
        "rbf",
        normal_points(3),
        lambda X: expit(X[:, 0] ** 2 + X[:, 1] ** 2 + 0.5 * X[:, 2] - 2.0),
    ),
    Simulator(
        "checkers",
        "rbf",
        uniform_points(2),
        lambda X: 0.15 + 0.7 * (np.sin(2.0 * X[:, 0]) * np.sin(2.0 * X[:, 1]) > 0.0),
    ),
    Simulator(
        "rare spot",
        "rbf",
        normal_points(2),
        lambda X: expit(4.0 * np.exp(-((X[:, 0] - 1.0) ** 2) - X[:, 1] ** 2) - 4.0),
    ),
)
# Draws of each number of samples; paths of kernels take longer.
DRAWS = {"linear": {300: 60, 1000: 40, 3000: 20}, "rbf": {300: 40, 1000: 16, 3000: 4}}
N_NEW, N_NEAREST, EACH = 20_000, 301, 20
# The first of many seeds: others were used to choose constants.
FIRST_SEED = 1_000_000


def judged(truth: Simulator, n: int, seed: int) -> Row:
    """Return how often the intervals of one draw hold the truth, and how wide they are."""
    rng = np.random.default_rng(FIRST_SEED + seed)
    X, y = truth.draw(rng, n)
    model = QuantileSVCCV(kernel=truth.kernel).fit(X, y)
    new = truth.points(rng, N_NEW)
    proba = model.predict_proba(new)[:, 1]
    order = np.argsort(proba, kind="stable")
    some, eta = slice(EACH // 2, None, EACH), truth.eta(new[order])
    of_score = uniform_filter1d(eta, N_NEAREST, mode="nearest")[some]
    proba, eta = proba[order][some], eta[some]
    found: Row = {"error": float(np.abs(proba - eta).mean())}
    for coverage in COVERAGES:
        # as in `predict_proba_interval`, which would predict once more
        lower, upper = model._intervals.interval(proba, coverage).T
        name = f"{coverage:.0%}"
        for what, true in (("score", of_score), ("eta", eta)):
            held = (lower <= true) & (true <= upper)
            found[f"{what} {name}"] = 100.0 * float(held.mean())
        found[f"width {name}"] = float((upper - lower).mean())
    return found


def measure(settings: Settings, emit: Emit) -> None:
    """Emit a row for each truth and number of samples."""
    for n in (300,) if settings.quick else DRAWS["linear"]:
        for truth in sorted(CHOSEN_ON + CHECKED_ON, key=lambda truth: truth.kernel):
            n_draws = 1 if settings.quick else DRAWS[truth.kernel][n]
            each = [judged(truth, n, seed) for seed in range(n_draws)]
            means = {key: float(np.mean([row[key] for row in each])) for key in each[0]}
            spread = float(np.std([row["score 90%"] for row in each]) / np.sqrt(n_draws))
            emit(
                {
                    "task": truth.name,
                    "solver": truth.kernel,
                    "n": n,
                    "draws": n_draws,
                    "chosen": truth in CHOSEN_ON,
                    "standard error": spread,
                    **means,
                }
            )


# -- results ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return the coverage on the truths that constants were not chosen on, and on the others."""
    return {
        "checked": _table("Other truths", [row for row in rows if not row["chosen"]]),
        "chosen": _table(
            "Truths that the constants were chosen on", [row for row in rows if row["chosen"]]
        ),
    }


def _table(title: str, rows: list[Row]) -> Table:
    columns = [
        ("truth (kernel)", [f"{row['task']} ({row['solver']})" for row in rows]),
        ("n", [str(row["n"]) for row in rows]),
        ("draws", [str(row["draws"]) for row in rows]),
    ]
    for what, head in (("score", "score"), ("eta", "η")):
        for name in ("80%", "90%", "95%"):
            columns.append((f"{head}, {name}", [f"{row[f'{what} {name}']:.1f}" for row in rows]))
        if what == "score":
            columns.append(("±", [f"{row['standard error']:.1f}" for row in rows]))
    columns.append(("width, 90%", [f"{row['width 90%']:.3f}" for row in rows]))
    columns.append(("error", [f"{row['error']:.3f}" for row in rows]))
    return Table(title, columns)


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return no plots."""
    return {}
