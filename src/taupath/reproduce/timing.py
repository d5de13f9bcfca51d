"""The measurements of a row of Table 2: a whole path and solvers for one τ, in turn.

Seconds are CPU seconds, as in the paper. Path, recovery and LIBLINEAR are run in turn, several
times, and the best run of each counts. The path includes its start. LIBLINEAR and L-BFGS-B are
averaged over τ = 0.1, 0.2, ..., 0.9 (L-BFGS-B over some of these where it takes long), with a
gradient tolerance of 1e-3; recovery is averaged over τ spread over (0, 1), each far from the
one before. Errors are measured by `judge`.

LIBLINEAR gives up after 300 passes over the data. On spam it does so at every τ measured here,
hence its gap there: the yardstick is the time it takes, whether or not it gets to the solution.
"""

from dataclasses import dataclass

import numpy as np

from taupath.datasets import PaperData
from taupath.fitting.classification import quantile_path
from taupath.paths.path import SolutionPath
from taupath.reproduce.algorithm1 import Algorithm1, measure_algorithm1
from taupath.reproduce.judge import Problem, kinks_and_midpoints
from taupath.reproduce.measuring import Stopwatch, Work, work
from taupath.reproduce.peers import TAUS, Liblinear, lbfgsb

# Recoveries to average over; kinks and midpoints to judge.
N_RECOVERED = 100
N_JUDGED = 200
# Without a number of runs, the path is run until this many seconds are spent, within these limits.
PATH_SECONDS = 3.0
FEWEST_RUNS, MOST_RUNS = 2, 60
# L-BFGS-B is run over all τ again only while it has taken less than LBFGSB_SECONDS, and goes on to
# the next τ only while it has taken less than LBFGSB_LONGEST. The middle and both ends come first.
LBFGSB_SECONDS, LBFGSB_LONGEST = 1.0, 30.0
LBFGSB_ORDER = [0.5, 0.1, 0.9, 0.3, 0.7, 0.2, 0.4, 0.6, 0.8]


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's Table 2, in CPU seconds of 2009, with n of its Table 1."""

    n_samples: int
    recover: float
    liblinear: float
    lbfgsb: float
    path: float
    kinks: int


PAPER_TIMES = {
    "diabetes": PaperRow(668, 0.003, 0.004, 0.401, 11.104, 1886),
    "spam": PaperRow(2500, 0.012, 0.467, 11.102, 1106.413, 6660),
    "splice": PaperRow(10_000, 0.103, 0.363, 19.155, 1315.878, 22611),
}


@dataclass(frozen=True)
class Row:
    """What was measured on one data set: seconds, and worst relative duality gaps.

    LIBLINEAR's are None where it is not installed. It returns no α: its gap is that of its w
    beside the path's α. `lbfgsb_taus` are the τ that L-BFGS-B had time for.
    """

    name: str
    n_samples: int
    n_features: int
    lam: float
    runs: int
    path: float
    recover: float
    liblinear: float | None
    lbfgsb: float
    lbfgsb_taus: list[float]
    algorithm1: Algorithm1
    kinks: int
    path_gap: float
    path_kkt: float
    liblinear_gap: float | None
    lbfgsb_gap: float
    work: Work


def measure(data: PaperData, repeats: int | None = None, algorithm1: str = "auto") -> Row:
    """Measure one row on the training part of a data set.

    `repeats` is the number of runs, by default as many as time allows; `algorithm1` says how much
    of Algorithm 1 to run, see `measure_algorithm1`.
    """
    X, y, lam = data.X_train, data.y_train.astype(np.float64), data.lam
    problem, watch = Problem(X, y, lam), Stopwatch()
    liblinear = Liblinear.if_installed(problem)
    models, by_lbfgsb = {}, {}
    while _another_run(watch, repeats):
        path = watch.time("path", quantile_path, X, y, lam=lam)
        watch.time("recover", _recover, path)
        if liblinear is not None:
            for tau in TAUS:
                models[tau] = watch.time(("liblinear", tau), liblinear.train, tau)
        if _spent_on_lbfgsb(watch) < LBFGSB_SECONDS:
            for tau in LBFGSB_ORDER:
                if _spent_on_lbfgsb(watch) < LBFGSB_LONGEST:
                    by_lbfgsb[tau] = watch.time(("lbfgsb", tau), lbfgsb, problem, tau)
    verdict = problem.worst(path.alpha, kinks_and_midpoints(path.taus, N_JUDGED))
    liblinear_gaps = [
        problem.judge(tau, path.alpha(tau), Liblinear.weights(model)).gap
        for tau, model in models.items()
    ]
    return Row(
        name=data.name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        lam=lam,
        runs=watch.runs("path"),
        path=watch.best("path"),
        recover=watch.best("recover") / N_RECOVERED,
        liblinear=_mean([watch.best(("liblinear", tau)) for tau in models]),
        lbfgsb=float(np.mean([watch.best(("lbfgsb", tau)) for tau in by_lbfgsb])),
        lbfgsb_taus=sorted(by_lbfgsb),
        algorithm1=measure_algorithm1(problem, path, TAUS, algorithm1),
        kinks=path.n_kinks,
        path_gap=verdict.gap,
        path_kkt=verdict.kkt,
        liblinear_gap=max(liblinear_gaps, default=None),
        lbfgsb_gap=problem.worst(by_lbfgsb.__getitem__, by_lbfgsb).gap,
        work=work(path),
    )


def ratios(row: Row | PaperRow) -> dict[str, float | None]:
    """Return times as multiples of one LIBLINEAR run, None if one of the two is unknown."""
    times = {"path": row.path, "recover": row.recover, "lbfgsb": row.lbfgsb}
    algorithm1 = row.algorithm1.best_guess if isinstance(row, Row) else row.path
    one_run = row.liblinear
    return {
        job: None if seconds is None or one_run is None else seconds / one_run
        for job, seconds in {**times, "algorithm1": algorithm1}.items()
    }


def _spent_on_lbfgsb(watch: Stopwatch) -> float:
    return sum(watch.spent(("lbfgsb", tau)) for tau in LBFGSB_ORDER)


def _mean(seconds: list[float]) -> float | None:
    return float(np.mean(seconds)) if seconds else None


def _another_run(watch: Stopwatch, repeats: int | None) -> bool:
    """Return whether the path is to be run once more."""
    done = watch.runs("path")
    if repeats is not None:
        return done < repeats
    return done < FEWEST_RUNS or (done < MOST_RUNS and watch.spent("path") < PATH_SECONDS)


def _recover(path: SolutionPath) -> None:
    """Recover α at values of τ that fill (0, 1) evenly, each 0.38 or 0.62 from the one before.

    These are multiples of the golden section, modulo 1, from a random start.
    """
    begin = np.random.default_rng(0).uniform()
    for tau in (begin + np.arange(N_RECOVERED) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0:
        path.alpha(float(tau))
