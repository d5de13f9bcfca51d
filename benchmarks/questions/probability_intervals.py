"""Intervals for probabilities: do they hold the true probability as often as they say?

On simulated classes whose true probabilities η(x) are known, several draws of n samples each. C is
the one of three with the least out-of-fold Brier score, in five folds; for n = 3000 the middle one.
Intervals of 90 % for 2000 new samples are read off in these ways:

crossing      `QuantileSVC.crossing_interval`: first and last τ at which the decision changes
Venn-Abers    two isotonic regressions of the out-of-fold samples and the new one, labelled
              negative in one and positive in the other
binomial      Clopper and Pearson's interval for the n^(2/3) out-of-fold samples with the nearest
              probabilities
LR            `ProbabilityIntervals` of the out-of-fold samples, without `spread`
LR + spread   the same with the spread between the five models of the folds
bootstrap     from the 5 % to the 95 % quantile of the path's probability over 20 bootstrap samples;
              only where n ≤ 300, since it takes 20 paths

"η" is the share of new samples whose true probability P(Y = 1 | x) lies in the interval; "score"
the same for P(Y = 1 | s), the mean η of samples with (nearly) the same predicted probability s, in
40 groups. "error" is how far predictions are from η, and "r" the correlation of an interval's width
with that. All are means over draws.
"""

import numpy as np
from datasets.simulated import SIMULATORS, Simulator, normal_points
from scipy.optimize import isotonic_regression
from scipy.special import expit
from scipy.stats import beta
from showing import Plot, Row, Table
from sklearn.model_selection import StratifiedKFold
from trial import Emit, Settings

from taupath import ProbabilityIntervals, QuantileSVC, spread_of_folds

TITLE = "Intervals for probabilities"
SOLVERS = ("taupath",)
COVERAGE, MORE_COVERAGES = 0.9, (0.8, 0.95)
WEIGHTS = np.append(np.linspace(1.2, 0.1, 10), np.zeros(10))
TRUTHS = (
    *SIMULATORS,
    Simulator("gaussian", "linear", normal_points(20), lambda X: expit(X @ WEIGHTS)),
)
# Draws of each number of samples; paths of kernels take longer.
DRAWS = {"linear": {300: 20, 1000: 4, 3000: 1}, "rbf": {300: 20, 1000: 2}}
# Values of C; the middle one is used alone for many samples.
TRIED_CS = {"linear": (0.01, 0.1, 1.0), "rbf": (0.1, 1.0, 10.0)}
CHOSEN_UP_TO, BOOTSTRAPPED_UP_TO = 1000, 300
N_NEW, N_GROUPS, N_FOLDS, N_BOOTSTRAPS = 2000, 40, 5, 20
# Most probabilities at which Venn-Abers pairs are computed; others are interpolated.
MOST_PAIRS = 200

Intervals = dict[str, np.ndarray]


def venn_abers(score: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return the pair of Venn-Abers probabilities of each new score."""
    at = np.unique(new)
    at = at[np.unique(np.linspace(0, len(at) - 1, MOST_PAIRS).astype(int))]
    order = np.argsort(score, kind="stable")
    pairs = np.empty((len(at), 2))
    for pair, each in zip(pairs, at, strict=True):
        for label in (0, 1):
            # samples with equal scores are merged into one with their mean label
            scores, place = np.unique(np.append(score[order], each), return_inverse=True)
            labels = np.append(y[order], label)
            weight = np.bincount(place).astype(float)
            fit = isotonic_regression(np.bincount(place, labels) / weight, weights=weight).x
            pair[label] = fit[np.searchsorted(scores, each)]
    return np.column_stack([np.interp(new, at, pairs[:, k]) for k in (0, 1)])


def binomial(score: np.ndarray, y: np.ndarray, new: np.ndarray) -> np.ndarray:
    """Return Clopper and Pearson's interval of the nearest samples."""
    order, n = np.argsort(score, kind="stable"), len(score)
    m = round(n ** (2 / 3))
    first = np.clip(np.searchsorted(score[order], new) - m // 2, 0, n - m)
    total = np.append(0, np.cumsum(y[order]))
    k, tail = total[first + m] - total[first], 0.5 * (1.0 - COVERAGE)
    lower = np.where(k > 0, beta.ppf(tail, np.maximum(k, 1), m - k + 1), 0.0)
    return np.column_stack(
        (lower, np.where(k < m, beta.ppf(1.0 - tail, k + 1, np.maximum(m - k, 1)), 1.0))
    )


def intervals(truth: Simulator, n: int, seed: int) -> tuple[Intervals, np.ndarray, np.ndarray]:
    """Return the intervals of one draw, the predicted probabilities and the true ones."""
    rng = np.random.default_rng(seed)
    X, y = truth.draw(rng, n)
    new = truth.points(rng, N_NEW)
    Cs = TRIED_CS[truth.kernel]
    Cs = Cs if n <= CHOSEN_UP_TO else Cs[1:2]
    folds = list(StratifiedKFold(N_FOLDS).split(X, y))
    score, models = np.empty((len(Cs), n)), []
    for own, C in zip(score, Cs, strict=True):
        fitted = [QuantileSVC(C, kernel=truth.kernel).fit(X[learn], y[learn]) for learn, _ in folds]
        for model, (_, test) in zip(fitted, folds, strict=True):
            own[test] = model.predict_proba(X[test])[:, 1]
        models.append(fitted)
    best = int(((score - y) ** 2).mean(axis=1).argmin())
    model = QuantileSVC(Cs[best], kernel=truth.kernel).fit(X, y)
    proba, held_out = model.predict_proba(new)[:, 1], score[best]
    spread = spread_of_folds([each.predict_proba(new)[:, 1] for each in models[best]])
    fit = ProbabilityIntervals().fit(held_out, y == 1)
    found = {
        "crossing": model.crossing_interval(new),
        "Venn-Abers": venn_abers(held_out, y, proba),
        "binomial": binomial(held_out, y, proba),
        "LR": fit.interval(proba, COVERAGE),
        "LR + spread": fit.interval(proba, COVERAGE, spread),
    }
    for coverage in MORE_COVERAGES:
        found[f"LR + spread, {coverage:.0%}"] = fit.interval(proba, coverage, spread)
    if n <= BOOTSTRAPPED_UP_TO:
        drawn = rng.integers(n, size=(N_BOOTSTRAPS, n))
        again = [QuantileSVC(Cs[best], kernel=truth.kernel).fit(X[d], y[d]) for d in drawn]
        several = [each.predict_proba(new)[:, 1] for each in again]
        found["bootstrap"] = np.quantile(several, (0.05, 0.95), axis=0).T
    return found, proba, truth.eta(new)


def measure(settings: Settings, emit: Emit) -> None:
    """Emit a row for each truth, number of samples and kind of interval."""
    for n in (300,) if settings.quick else DRAWS["linear"]:
        for truth in TRUTHS:
            n_draws = 1 if settings.quick else DRAWS[truth.kernel].get(n, 0)
            rows: dict[str, list[Row]] = {}
            for seed in range(n_draws):
                found, proba, eta = intervals(truth, n, seed)
                error, groups = np.abs(proba - eta), np.empty(N_NEW)
                for members in np.array_split(np.argsort(proba), N_GROUPS):
                    groups[members] = eta[members].mean()
                for name, interval in found.items():
                    rows.setdefault(name, []).append(judged(interval, eta, groups, error))
            for name, each in rows.items():
                means = {key: float(np.mean([row[key] for row in each])) for key in each[0]}
                emit({"task": truth.name, "solver": name, "n": n, "draws": n_draws, **means})


def judged(interval: np.ndarray, eta: np.ndarray, groups: np.ndarray, error: np.ndarray) -> Row:
    """Return how often intervals hold the truth, and how wide they are."""
    lower, upper = interval.T
    width = upper - lower
    steady = width.std() == 0.0
    return {
        "eta": 100.0 * float(((lower <= eta) & (eta <= upper)).mean()),
        "score": 100.0 * float(((lower <= groups) & (groups <= upper)).mean()),
        "width": float(width.mean()),
        "r": 0.0 if steady else float(np.corrcoef(width, error)[0, 1]),
        "error": float(error.mean()),
    }


# -- results ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return the results of all kinds of intervals, and those of LR + spread by coverage."""
    usual = [row for row in rows if "%" not in row["solver"]]
    chosen = [row for row in rows if row["solver"].startswith("LR + spread")]
    return {"90": _table("Intervals of 90 %", usual), "chosen": _other_coverages(chosen)}


def _table(title: str, rows: list[Row]) -> Table:
    columns = [
        ("n", [str(row["n"]) for row in rows]),
        ("truth", [row["task"] for row in rows]),
        ("intervals", [row["solver"] for row in rows]),
        ("η, %", [f"{row['eta']:.0f}" for row in rows]),
        ("score, %", [f"{row['score']:.0f}" for row in rows]),
        ("width", [f"{row['width']:.3f}" for row in rows]),
        ("error", [f"{row['error']:.3f}" for row in rows]),
        ("r", [f"{row['r']:.2f}" for row in rows]),
    ]
    return Table(title, columns)


def _other_coverages(rows: list[Row]) -> Table:
    names = ("LR + spread, 80%", "LR + spread", "LR + spread, 95%")
    cells = {(row["n"], row["task"], row["solver"]): f"{row['eta']:.0f}" for row in rows}
    pairs = list(dict.fromkeys((row["n"], row["task"]) for row in rows))
    columns = [("n", [str(n) for n, _ in pairs]), ("truth", [task for _, task in pairs])]
    for name, head in zip(names, ("80 %", "90 %", "95 %"), strict=True):
        columns.append((head, [cells.get((*pair, name), "") for pair in pairs]))
    return Table("LR + spread: share of η in the interval, %, by coverage asked for", columns)


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return no plots."""
    return {}
