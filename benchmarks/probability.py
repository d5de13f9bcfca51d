"""Are the probabilities of `QuantileSVC` worth having? Beside calibrated SVMs, in three parts.

1. Simulated data whose η(x) = P(Y = 1 | x) is known: mean |P̂ - η| on fresh points, for more and
   more samples. "logistic" is what Platt's sigmoid is made for; of "stairs" η is a function of one
   direction, but no sigmoid; "rings" (Gaussians that differ in covariance) and "xor" need a kernel.
2. Real data, 5 folds: Brier score and log-loss of what is held out. Columns are standardised on the
   training part, unless they are all 0 or 1. Of a9a, 2000 rows are drawn.
3. Three Gaussians in the plane, with unequal covariances: error rate and L1 distance to the true
   probabilities.

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

Real data are read from the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from calibrators.base import Found
from calibrators.path import by_path
from calibrators.scikit_learn import by_calibration
from calibrators.venn_abers import by_venn_abers, installed
from common import machine, n_threads, table
from scipy.special import expit
from scipy.stats import multivariate_normal, norm
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from taupath.datasets import DataNotFound, load_classification, load_paper

PEERS = ("sigmoid", "isotonic")
VENN_ABERS = "venn-abers"
METHODS = ("path", "recalibrated", *PEERS, *([VENN_ABERS] if installed() else []))
# Where log-loss takes probabilities to.
CLIP = 1e-6
# How much worse, relatively, is about as good.
NEARLY = 0.02
# How often each size is drawn.
DRAWS = {100: 10, 300: 5, 1000: 3, 3000: 1}
N_TEST = 500
# Three classes: training samples, draws.
THREE = {100: 5, 300: 3, 1000: 1}
# Rows that are drawn of larger sets.
MOST_ROWS = 2000
LINEAR_SETS = ("a1a", "a9a", "australian", "breast cancer", "diabetes", "dna.scale", "fourclass")
LINEAR_SETS += ("heart_scale", "ionosphere")
RBF_SETS = ("australian", "breast cancer", "diabetes", "fourclass", "heart_scale", "ionosphere")
PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath", "venn-abers")


# -- methods ---------------------------------------------------------------------------------------


def all_methods(kernel: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray) -> dict[str, Found]:
    """Return what each method finds; "recalibrated" and "venn-abers" only for two classes."""
    found = by_path(kernel, X, y, X_test)
    found |= {peer: by_calibration(peer, kernel, X, y, X_test) for peer in PEERS}
    if VENN_ABERS in METHODS and len(np.unique(y)) == 2:
        found[VENN_ABERS] = by_venn_abers(kernel, X, y, X_test)
    return found


def brier(proba: np.ndarray, truth: np.ndarray) -> float:
    """Return half the mean squared distance to the truth, which is one-hot.

    For two classes it is the mean of (P̂ - y)².
    """
    return float(0.5 * ((proba - truth) ** 2).sum(axis=1).mean())


def log_loss(proba: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean of -log P̂(true class), probabilities moved into [CLIP, 1 - CLIP]."""
    of_truth = (proba * truth).sum(axis=1)
    return float(-np.log(np.clip(of_truth, CLIP, 1.0 - CLIP)).mean())


# -- simulated data --------------------------------------------------------------------------------


@dataclass(frozen=True)
class Simulator:
    """Data of two classes with known probabilities.

    Attributes
    ----------
    name, kernel : str
        What it is called, and the kernel to use.
    points : callable
        ``points(rng, n)`` draws n samples.
    eta : callable
        P(Y = 1 | x) of each.
    """

    name: str
    kernel: str
    points: Callable[[np.random.Generator, int], np.ndarray]
    eta: Callable[[np.ndarray], np.ndarray]

    def draw(self, rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
        """Return n samples and their labels 0 and 1."""
        X = self.points(rng, n)
        return X, (rng.uniform(size=n) < self.eta(X)).astype(int)


def normal_points(n_features: int) -> Callable[[np.random.Generator, int], np.ndarray]:
    """Return a function that draws standard normal samples."""
    return lambda rng, n: rng.standard_normal((n, n_features))


# Three groups along the first of five columns, and the share of positives in each.
GROUP_AT, GROUP_SHARE = np.array([-4.0, 0.0, 4.0]), np.array([0.02, 0.4, 0.95])
# The wider of two Gaussians around 0, of which the narrow one is positive, with this share.
WIDE, NARROW_SHARE = 3.0, 0.4


def stairs_points(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw standard normal samples, the first column around the middle of a group."""
    X = rng.standard_normal((n, 5))
    X[:, 0] += rng.choice(GROUP_AT, n)
    return X


def stairs_eta(X: np.ndarray) -> np.ndarray:
    """Return the share of positives: groups are equally large, each with its own share."""
    density = norm.pdf(X[:, :1] - GROUP_AT)
    return np.asarray(density @ GROUP_SHARE / density.sum(axis=1))


def rings_points(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw from a narrow Gaussian or from a wide one, around the same place."""
    wide = rng.uniform(size=(n, 1)) >= NARROW_SHARE
    return rng.standard_normal((n, 2)) * np.where(wide, WIDE, 1.0)


def rings_eta(X: np.ndarray) -> np.ndarray:
    """Return the probability of the narrow one, by Bayes' rule."""
    narrow = NARROW_SHARE * norm.pdf(X).prod(axis=1)
    wide = (1.0 - NARROW_SHARE) * norm.pdf(X, scale=WIDE).prod(axis=1)
    return np.asarray(narrow / (narrow + wide))


SIMULATORS = (
    Simulator(
        "logistic",
        "linear",
        normal_points(5),
        lambda X: expit(X @ np.array([2.0, -1.0, 0.5, 0.0, 0.0]) - 0.5),
    ),
    Simulator("stairs", "linear", stairs_points, stairs_eta),
    Simulator("rings", "rbf", rings_points, rings_eta),
    Simulator("xor", "rbf", normal_points(2), lambda X: expit(4.0 * X[:, 0] * X[:, 1])),
)


@dataclass(frozen=True)
class SimulatedRow:
    """Mean |P̂ - η| of each method on fresh points, over some draws of n samples, and median C."""

    name: str
    kernel: str
    n_samples: int
    draws: int
    distance: dict[str, float]
    C: dict[str, float]


def simulated(simulator: Simulator, n_samples: int, draws: int) -> SimulatedRow:
    """Measure one size."""
    distance = {method: [] for method in METHODS}
    Cs = {method: [] for method in METHODS}
    for seed in range(draws):
        rng = np.random.default_rng([n_samples, seed])
        X, y = simulator.draw(rng, n_samples)
        X_test = simulator.points(rng, N_TEST)
        for method, found in all_methods(simulator.kernel, X, y, X_test).items():
            distance[method].append(np.abs(found.proba[:, 1] - simulator.eta(X_test)).mean())
            Cs[method].append(found.C)
    return SimulatedRow(
        simulator.name,
        simulator.kernel,
        n_samples,
        draws,
        {method: float(np.mean(values)) for method, values in distance.items()},
        {method: float(np.median(values)) for method, values in Cs.items()},
    )


# -- real data -------------------------------------------------------------------------------------


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return features, dense, and labels of a real set; large ones are cut as the head says."""
    if name == "breast cancer":
        return load_breast_cancer(return_X_y=True)
    if name == "diabetes":
        data = load_paper(name)
        X, y = (
            np.concatenate([getattr(data, f"{what}_{part}") for part in ("train", "valid", "test")])
            for what in "Xy"
        )
        return X, y
    found = load_classification(name)
    X, y = found.X.toarray(), found.y
    if len(y) > MOST_ROWS:
        rows = np.random.default_rng(0).choice(len(y), MOST_ROWS, replace=False)
        X, y = X[rows], y[rows]
    return X, y


def scaled(X_train: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardise columns by the training part; leave features alone that are all 0 or 1."""
    if np.isin(X_train, (0.0, 1.0)).all():
        return X_train, X_test
    scaler = StandardScaler().fit(X_train)
    return scaler.transform(X_train), scaler.transform(X_test)


@dataclass(frozen=True)
class RealRow:
    """Scores of each method on one set, means over held-out samples, and the median C."""

    name: str
    kernel: str
    n_samples: int
    n_features: int
    brier: dict[str, float]
    log_loss: dict[str, float]
    exact: float  # share of held-out P̂ of the true class that are 0 with QuantileSVC
    C: dict[str, float]


def real(name: str, kernel: str) -> RealRow:
    """Measure one set."""
    X, y = load(name)
    truth = y[:, np.newaxis] == np.unique(y)
    proba: dict[str, np.ndarray] = {}
    Cs: dict[str, list[float]] = {}
    for train, test in StratifiedKFold(5, shuffle=True, random_state=0).split(X, y):
        X_train, X_test = scaled(X[train], X[test])
        for method, found in all_methods(kernel, X_train, y[train], X_test).items():
            proba.setdefault(method, np.empty(truth.shape))[test] = found.proba
            Cs.setdefault(method, []).append(found.C)
    return RealRow(
        name,
        kernel,
        *X.shape,
        {method: brier(found, truth) for method, found in proba.items()},
        {method: log_loss(found, truth) for method, found in proba.items()},
        float((proba["path"][truth] == 0.0).mean()),
        {method: float(np.median(values)) for method, values in Cs.items()},
    )


def standing(rows: Sequence[RealRow], score: str, ours: str, peer: str) -> dict[str, int]:
    """Count rows, a set and a kernel each, where ours is the better score, and nearly so."""
    scores = [getattr(row, score) for row in rows]
    ratio = np.array([each[ours] / each[peer] for each in scores if {ours, peer} <= each.keys()])
    return {
        "better": int((ratio < 1.0).sum()),
        "within 2 % or better": int((ratio <= 1.0 + NEARLY).sum()),
        "rows": len(ratio),
    }


# -- three classes ---------------------------------------------------------------------------------

MEANS = np.array([[0.0, 1.5], [1.3, -0.75], [-1.3, -0.75]])
COVARIANCES = np.array(
    [[[1.0, 0.0], [0.0, 1.0]], [[2.0, 1.0], [1.0, 1.0]], [[0.3, 0.0], [0.0, 3.0]]]
)
THREE_METHODS = ("path, ovo", "path, ovr", *PEERS)


def three_draw(rng: np.random.Generator, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw from three equally frequent Gaussians."""
    y = rng.integers(3, size=n)
    roots = np.linalg.cholesky(COVARIANCES)
    return MEANS[y] + np.einsum("nij,nj->ni", roots[y], rng.standard_normal((n, 2))), y


def three_eta(X: np.ndarray) -> np.ndarray:
    """Return the probabilities of the three, by Bayes' rule."""
    density = np.column_stack(
        [multivariate_normal.pdf(X, *each) for each in zip(MEANS, COVARIANCES, strict=True)]
    )
    return np.asarray(density / density.sum(axis=1, keepdims=True))


@dataclass(frozen=True)
class ThreeRow:
    """Means over test samples and draws: share of errors, Σ |P̂ - η|; and the error of η itself."""

    n_samples: int
    draws: int
    error: dict[str, float]
    distance: dict[str, float]
    bayes: float


def three_classes(n_samples: int, draws: int) -> ThreeRow:
    """Measure one size."""
    error = {name: [] for name in THREE_METHODS}
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
            error[name].append((each.proba.argmax(axis=1) != y_test).mean())
            distance[name].append(np.abs(each.proba - eta).sum(axis=1).mean())
    return ThreeRow(
        n_samples,
        draws,
        {name: float(np.mean(values)) for name, values in error.items()},
        {name: float(np.mean(values)) for name, values in distance.items()},
        float(np.mean(bayes)),
    )


# -- reporting -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Study:
    """What was measured; parts that were not asked for are empty."""

    simulated: list[SimulatedRow]
    real: list[RealRow]
    three: list[ThreeRow]

    def standings(self) -> dict[str, dict[str, int]]:
        """Return how the path stands beside each peer, by score."""
        return {
            f"{score}, {ours}, beside {peer}": standing(self.real, score, ours, peer)
            for score in ("brier", "log_loss")
            for ours in METHODS[:2]
            for peer in METHODS[2:]
        }


def report(study: Study, about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    lines = []
    if study.simulated:
        lines += [*simulated_table(study.simulated), ""]
    if study.real:
        lines += [*real_table(study.real), ""]
        for what, counts in study.standings().items():
            lines.append(f"{what}: " + ", ".join(f"{name} {k}" for name, k in counts.items()))
        lines.append("")
    if study.three:
        lines += [*three_table(study.three), ""]
    return [*lines, ", ".join(f"{name} {value}" for name, value in about.items())]


def simulated_table(rows: Sequence[SimulatedRow]) -> list[str]:
    """Return the lines of the first table."""
    return table(
        "Simulated data: mean |P̂ - η| on fresh points (median C chosen)",
        [
            ("data", [row.name for row in rows]),
            ("kernel", [row.kernel for row in rows]),
            ("n", [str(row.n_samples) for row in rows]),
            ("draws", [str(row.draws) for row in rows]),
            *(
                (method, [f"{row.distance[method]:.4f} ({row.C[method]:g})" for row in rows])
                for method in METHODS
            ),
        ],
    )


def real_table(rows: Sequence[RealRow]) -> list[str]:
    """Return the lines of the second table."""
    return table(
        f"Real data, 5 folds: Brier score, then log-loss (clip {CLIP:g}); median C of the path",
        [
            ("data", [row.name for row in rows]),
            ("kernel", [row.kernel for row in rows]),
            ("n", [str(row.n_samples) for row in rows]),
            ("d", [str(row.n_features) for row in rows]),
            ("C", [f"{row.C['path']:g}" for row in rows]),
            *((method, [digits(row.brier.get(method)) for row in rows]) for method in METHODS),
            *((method, [digits(row.log_loss.get(method)) for row in rows]) for method in METHODS),
            ("P̂(truth) = 0", [f"{100.0 * row.exact:.2f} %" for row in rows]),
        ],
    )


def digits(score: float | None) -> str:
    """Write a score; a dash for one not measured."""
    return "-" if score is None else f"{score:.4f}"


def three_table(rows: Sequence[ThreeRow]) -> list[str]:
    """Return the lines of the third table."""
    return table(
        "Three Gaussians, RBF: test error in %, then mean L1 distance to the true probabilities",
        [
            ("n", [str(row.n_samples) for row in rows]),
            ("draws", [str(row.draws) for row in rows]),
            ("true η", [f"{100.0 * row.bayes:.1f}" for row in rows]),
            *((name, [f"{100.0 * row.error[name]:.1f}" for row in rows]) for name in THREE_METHODS),
            *((name, [f"{row.distance[name]:.3f}" for row in rows]) for name in THREE_METHODS),
        ],
    )


def as_json(study: Study, about: dict[str, str]) -> str:
    """Return everything that was measured, and the machine."""
    standings = study.standings() if study.real else {}
    return json.dumps({**asdict(study), "standings": standings, "machine": about}, indent=2)


def progress(what: str) -> None:
    """Say what is being measured."""
    print(f"measuring {what} ...", file=sys.stderr, flush=True)


def run(parts: Sequence[str]) -> Study:
    """Measure the parts that are asked for."""
    study = Study([], [], [])
    if "simulated" in parts:
        for simulator in SIMULATORS:
            for n_samples, draws in DRAWS.items():
                progress(f"{simulator.name}, n = {n_samples}")
                study.simulated.append(simulated(simulator, n_samples, draws))
    if "real" in parts:
        for kernel, names in (("linear", LINEAR_SETS), ("rbf", RBF_SETS)):
            for name in names:
                progress(f"{name}, {kernel}")
                study.real.append(real(name, kernel))
    if "three" in parts:
        for n_samples, draws in THREE.items():
            progress(f"three classes, n = {n_samples}")
            study.three.append(three_classes(n_samples, draws))
    return study


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Probabilities beside those of calibrated SVMs.")
    every = ("simulated", "real", "three")
    parser.add_argument("--parts", nargs="+", choices=every, default=list(every))
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if VENN_ABERS not in METHODS:
        print("probability: left out: venn-abers is not installed", file=sys.stderr)
    if n_threads() > 1:
        print(f"probability: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    try:
        study = run(arguments.parts)
    except DataNotFound as missing:
        print(f"probability: {missing}", file=sys.stderr)
        return 1
    about = machine(*PACKAGES)
    print(as_json(study, about) if arguments.json else "\n".join(report(study, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
