"""Are the probabilities of `QuantileSVC` worth having? Beside calibrated SVMs, in three parts.

simulated   data whose η(x) = P(Y = 1 | x) is known: mean |P̂ - η| on fresh points, for more and more
            samples; see `datasets/simulated.py`
real        5 folds: Brier score and log-loss of what is held out. Columns are standardised on the
            training part, unless they are all 0 or 1; see `datasets/real.py`
three       three Gaussians in the plane: error rate and L1 distance to the true probabilities

`QuantileSVC` reads probabilities off its path. The others are `CalibratedClassifierCV(SVC)`, with
a sigmoid (Platt) and isotonic; it averages five SVMs, each calibrated on a fifth of the samples.
"venn-abers", for two classes and where that package is installed, does so with Venn-Abers pairs.
All choose C in the same way: of a grid, the one with the least Brier score in 3 folds of the
training samples, or of 500 of them where there are more. RBF kernels have gamma="scale".

With enough samples the P̂ of a rich kernel tend to η. Those of a linear kernel need not: where no
linear function is the best one for the hinge loss, the boundary of τ is not where η = τ, and part
of the distance stays, however many samples there are.

Probabilities in log-loss are moved into [1e-6, 1 - 1e-6], for all methods alike.

"recalibrated" is not part of the package: two classes only, 1 / (1 + exp(-a logit P̂ - b)) for P̂ of
`QuantileSVC`, with a and b by maximum likelihood on the P̂ that the choice of C has held out.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from calibrators.every import METHODS, PEERS, VENN_ABERS, all_methods
from calibrators.path import by_path
from calibrators.scikit_learn import by_calibration
from datasets.real import load, scaled
from datasets.simulated import SIMULATORS, Simulator, three_draw, three_eta
from showing import Plot, Row, Table, left_out, unique
from sklearn.model_selection import StratifiedKFold
from trial import Emit, Settings

from taupath.datasets import DataNotFound

TITLE = "Probabilities beside those of calibrated SVMs"
SOLVERS = ("taupath",)
# Where log-loss takes probabilities to.
CLIP = 1e-6
# How much worse, relatively, is about as good.
NEARLY = 0.02
# How often each size is drawn, of two classes and of three.
DRAWS = {100: 10, 300: 5, 1000: 3, 3000: 1}
THREE = {100: 5, 300: 3, 1000: 1}
N_TEST = 500
LINEAR_SETS = ("a1a", "a9a", "australian", "breast cancer", "diabetes", "dna.scale", "fourclass")
LINEAR_SETS += ("heart_scale", "ionosphere")
RBF_SETS = ("australian", "breast cancer", "diabetes", "fourclass", "heart_scale", "ionosphere")
THREE_METHODS = ("path, ovo", "path, ovr", *PEERS)


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all three parts; of a quick run only the smallest of each, and no real data."""
    if VENN_ABERS not in METHODS:
        emit({"task": "all", "solver": VENN_ABERS, "note": "venn-abers is not installed"})
    for simulator in SIMULATORS[: 1 if settings.quick else None]:
        for n_samples, draws in ({40: 1} if settings.quick else DRAWS).items():
            for row in simulated(simulator, n_samples, draws):
                emit(row)
    sets = () if settings.quick else (("linear", LINEAR_SETS), ("rbf", RBF_SETS))
    for kernel, names in sets:
        for name in names:
            try:
                for row in real(name, kernel):
                    emit(row)
            except DataNotFound as missing:
                emit({"task": name, "solver": "all", "note": str(missing)})
    for n_samples, draws in ({40: 1} if settings.quick else THREE).items():
        for row in three_classes(n_samples, draws):
            emit(row)


def brier(proba: np.ndarray, truth: np.ndarray) -> float:
    """Return half the mean squared distance to the truth, which is one-hot.

    For two classes it is the mean of (P̂ - y)².
    """
    return float(0.5 * ((proba - truth) ** 2).sum(axis=1).mean())


def log_loss(proba: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean of -log P̂(true class), probabilities moved into [CLIP, 1 - CLIP]."""
    of_truth = (proba * truth).sum(axis=1)
    return float(-np.log(np.clip(of_truth, CLIP, 1.0 - CLIP)).mean())


def simulated(simulator: Simulator, n_samples: int, draws: int) -> Iterator[Row]:
    """Measure one size: of each method mean |P̂ - η| on fresh points, over draws, and median C."""
    distance = {method: [] for method in METHODS}
    Cs = {method: [] for method in METHODS}
    for seed in range(draws):
        rng = np.random.default_rng([n_samples, seed])
        X, y = simulator.draw(rng, n_samples)
        X_test = simulator.points(rng, N_TEST)
        for method, found in all_methods(simulator.kernel, X, y, X_test).items():
            distance[method].append(np.abs(found.proba[:, 1] - simulator.eta(X_test)).mean())
            Cs[method].append(found.C)
    told = {"part": "simulated", "task": f"{simulator.name}, {simulator.kernel}"}
    for method in METHODS:
        yield {
            **told,
            "solver": method,
            "n": n_samples,
            "draws": draws,
            "distance": float(np.mean(distance[method])),
            "C": float(np.median(Cs[method])),
        }


def real(name: str, kernel: str) -> Iterator[Row]:
    """Measure one set: of each method the scores of what was held out, and the median C.

    "exact" is the share of held-out P̂ of the true class that are 0.
    """
    X, y = load(name)
    truth = y[:, np.newaxis] == np.unique(y)
    proba: dict[str, np.ndarray] = {}
    Cs: dict[str, list[float]] = {}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        X_train, X_test = scaled(X[train], X[test])
        for method, found in all_methods(kernel, X_train, y[train], X_test).items():
            proba.setdefault(method, np.empty(truth.shape))[test] = found.proba
            Cs.setdefault(method, []).append(found.C)
    for method, found in proba.items():
        yield {
            "part": "real",
            "task": f"{name}, {kernel}",
            "solver": method,
            "n": X.shape[0],
            "d": X.shape[1],
            "brier": brier(found, truth),
            "log_loss": log_loss(found, truth),
            "exact": float((found[truth] == 0.0).mean()),
            "C": float(np.median(Cs[method])),
        }


def three_classes(n_samples: int, draws: int) -> Iterator[Row]:
    """Measure one size: share of errors and Σ |P̂ - η|, means over test samples and draws.

    "bayes" is the share of errors with η itself.
    """
    wrong = {name: [] for name in THREE_METHODS}
    distance = {name: [] for name in THREE_METHODS}
    bayes = []
    for seed in range(draws):
        rng = np.random.default_rng([3, n_samples, seed])
        X, y = three_draw(rng, n_samples)
        X_test, y_test = three_draw(rng, N_TEST)
        eta = three_eta(X_test)
        bayes.append((eta.argmax(axis=1) != y_test).mean())
        found = {
            **{f"path, {how}": by_path("rbf", X, y, X_test, how)["path"] for how in ("ovo", "ovr")},
            **{peer: by_calibration(peer, "rbf", X, y, X_test) for peer in PEERS},
        }
        for name, each in found.items():
            wrong[name].append((each.proba.argmax(axis=1) != y_test).mean())
            distance[name].append(np.abs(each.proba - eta).sum(axis=1).mean())
    for name in THREE_METHODS:
        yield {
            "part": "three",
            "task": "three Gaussians",
            "solver": name,
            "n": n_samples,
            "draws": draws,
            "error": float(np.mean(wrong[name])),
            "distance": float(np.mean(distance[name])),
            "bayes": float(np.mean(bayes)),
        }


def standing(rows: Sequence[Row], score: str, ours: str, peer: str) -> dict[str, int]:
    """Count tasks, a set and a kernel each, where ours is the better score, and nearly so."""
    by = {(row["task"], row["solver"]): row[score] for row in rows}
    ratio = np.array(
        [by[task, ours] / by[task, peer] for task, who in by if who == ours and (task, peer) in by]
    )
    return {
        "better": int((ratio < 1.0).sum()),
        "within 2 % or better": int((ratio <= 1.0 + NEARLY).sum()),
        "rows": len(ratio),
    }


# -- showing ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return a table for each part that was measured."""
    found = {}
    for part, title, scores in (
        ("simulated", "Simulated data: mean |P̂ - η| on fresh points", {"distance": ""}),
        ("real", "Real data, 5 folds", {"brier": "Brier, ", "log_loss": "log-loss, "}),
        (
            "three",
            "Three Gaussians, RBF",
            {"error": "error, ", "distance": "L1 distance to η, "},
        ),
    ):
        here = [row for row in rows if row.get("part") == part]
        if here:
            notes = [*left_out(rows), *_standings(here)] if part == "real" else ()
            found[part] = Table(title, _columns(here, scores), notes)
    return found


def _columns(rows: list[Row], scores: dict[str, str]) -> list[tuple[str, list[str]]]:
    """Return one line for each task and size, and one column for each score of each method."""
    lines = list(dict.fromkeys((row["task"], row["n"]) for row in rows))
    by = {(row["task"], row["n"], row["solver"]): row for row in rows}
    first = [next(row for row in rows if (row["task"], row["n"]) == line) for line in lines]
    columns = [("data", [task for task, _ in lines]), ("n", [str(n) for _, n in lines])]
    columns += [
        (key, [f"{row[key]:g}" for row in first])
        for key in ("d", "draws", "bayes", "exact")
        if key in first[0]
    ]
    for score, head in scores.items():
        for who in unique(rows, "solver"):
            cells = [by[(*line, who)][score] if (*line, who) in by else None for line in lines]
            shown = ["–" if cell is None else f"{cell:.4f}" for cell in cells]
            columns.append((head + who, shown))
    return columns


def _standings(rows: list[Row]) -> list[str]:
    """Return how the path stands beside each peer, by score."""
    return [
        f"{score}, {ours} beside {peer}: "
        + ", ".join(f"{what} {k}" for what, k in standing(rows, score, ours, peer).items())
        for score in ("brier", "log_loss")
        for ours in METHODS[:2]
        for peer in METHODS[2:]
    ]


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return none."""
    return {}
