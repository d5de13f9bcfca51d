"""The paper's Table 2: a whole path beside one LIBLINEAR run, in one process and one thread.

Seconds are CPU seconds, as in the paper. Path, recovery and LIBLINEAR are run in turn, several
times, and the best run of each counts. The path includes its start. LIBLINEAR and L-BFGS-B are
averaged over τ = 0.1, 0.2, ..., 0.9, and may stop when gradients are right to 1e-3; recovery is
averaged over τ spread over (0, 1), each far from the one before. Errors are measured by `judge`.

LIBLINEAR gives up after 300 passes over the data. On spam it does so at every τ measured here,
hence its gap there: the yardstick is the time it takes, whether or not it gets to the solution.

Needs the paper's data, in the folder named by the environment variable TAUPATH_DATA.
"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, Work, error, machine, n_threads, number, table, work, work_columns
from judge import Problem, kinks_and_midpoints
from liblinear import liblinearutil
from scipy.optimize import Bounds, minimize
from scipy.sparse import csr_matrix

from taupath import SolutionPath, quantile_path
from taupath.datasets import PAPER_NAMES, DataNotFound, PaperData, load_paper
from taupath.reference import ReferencePath, ReferenceStalled, dual_path_finding

TAUS = [k / 10 for k in range(1, 10)]
PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath", "liblinear-official")
# The paper's -e for LIBLINEAR; L-BFGS-B gets the same.
TOLERANCE = 1e-3
# Recoveries to average over; kinks and midpoints to judge.
N_RECOVERED = 100
N_JUDGED = 200
# Without --repeats, the path is run again until so many seconds are spent, within these limits.
PATH_SECONDS = 3.0
FEWEST_RUNS, MOST_RUNS = 2, 60
# L-BFGS-B over all τ is run again only while it has taken less than this.
LBFGSB_SECONDS = 1.0


@dataclass(frozen=True)
class PaperRow:
    """A row of the paper's Table 2, in CPU seconds of 2009, with n of its Table 1."""

    n_samples: int
    recover: float
    liblinear: float
    lbfgsb: float
    path: float
    kinks: int


PAPER = {
    "diabetes": PaperRow(668, 0.003, 0.004, 0.401, 11.104, 1886),
    "spam": PaperRow(2500, 0.012, 0.467, 11.102, 1106.413, 6660),
    "splice": PaperRow(10_000, 0.103, 0.363, 19.155, 1315.878, 22611),
}


@dataclass(frozen=True)
class Row:
    """What was measured on one data set: seconds, and worst relative duality gaps.

    The reference is Algorithm 1 as printed, None where it was not run or did not come through;
    `reference_stalled` then says why. LIBLINEAR returns no α: its gap is that of its w beside the
    path's α.
    """

    name: str
    n_samples: int
    n_features: int
    lam: float
    runs: int
    path: float
    recover: float
    liblinear: float
    lbfgsb: float
    reference: float | None
    reference_stalled: str | None
    kinks: int
    reference_kinks: int | None
    path_gap: float
    path_kkt: float
    liblinear_gap: float
    lbfgsb_gap: float
    reference_gap: float | None
    work: Work


def measure(data: PaperData, repeats: int | None = None, with_reference: bool = False) -> Row:
    """Measure one row; `repeats` is the number of runs, by default as many as time allows."""
    X, y, lam = data.X_train, data.y_train.astype(np.float64), data.lam
    problem, watch = Problem(X, y, lam), Stopwatch()
    liblinear_problem = liblinearutil.problem(y, csr_matrix(X), bias=1)
    parameters = {tau: liblinearutil.parameter(liblinear_options(problem, tau)) for tau in TAUS}
    models, by_lbfgsb = {}, {}

    while another_run(watch, repeats):
        path = watch.time("path", quantile_path, X, y, lam=lam)
        watch.time("recover", recover, path)
        for tau in TAUS:
            models[tau] = watch.time(
                ("liblinear", tau), liblinearutil.train, liblinear_problem, parameters[tau]
            )
        if sum(watch.spent(("lbfgsb", tau)) for tau in TAUS) < LBFGSB_SECONDS:
            for tau in TAUS:
                by_lbfgsb[tau] = watch.time(("lbfgsb", tau), lbfgsb, problem, tau)
    reference, stalled = run_reference(problem, watch) if with_reference else (None, None)

    verdict = problem.worst(path.alpha, kinks_and_midpoints(path.taus, N_JUDGED))
    liblinear_gaps = [
        problem.judge(tau, path.alpha(tau), liblinear_weights(models[tau])).gap for tau in TAUS
    ]
    return Row(
        name=data.name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        lam=lam,
        runs=watch.runs("path"),
        path=watch.best("path"),
        recover=watch.best("recover") / N_RECOVERED,
        liblinear=float(np.mean([watch.best(("liblinear", tau)) for tau in TAUS])),
        lbfgsb=float(np.mean([watch.best(("lbfgsb", tau)) for tau in TAUS])),
        reference=watch.best("reference") if reference else None,
        reference_stalled=stalled,
        kinks=path.n_kinks,
        reference_kinks=reference.n_kinks if reference else None,
        path_gap=verdict.gap,
        path_kkt=verdict.kkt,
        liblinear_gap=max(liblinear_gaps),
        lbfgsb_gap=problem.worst(by_lbfgsb.__getitem__, TAUS).gap,
        reference_gap=problem.worst(reference.alpha, TAUS).gap if reference else None,
        work=work(path),
    )


def another_run(watch: Stopwatch, repeats: int | None) -> bool:
    """Return whether the path is to be run once more."""
    done = watch.runs("path")
    if repeats is not None:
        return done < repeats
    return done < FEWEST_RUNS or (done < MOST_RUNS and watch.spent("path") < PATH_SECONDS)


def recover(path: SolutionPath) -> None:
    """Recover α at values of τ that fill (0, 1) evenly, each 0.38 or 0.62 from the one before.

    These are multiples of the golden section, modulo 1, from a random begin.
    """
    begin = np.random.default_rng(0).uniform()
    for tau in (begin + np.arange(N_RECOVERED) * (np.sqrt(5.0) - 1.0) / 2.0) % 1.0:
        path.alpha(float(tau))


def liblinear_options(problem: Problem, tau: float) -> str:
    """Return the paper's options: dual coordinate descent on the hinge loss, C by class."""
    C = 1.0 / (len(problem.y) * problem.lam)
    costs = f"-w1 {2.0 * (1.0 - tau)!r} -w-1 {2.0 * tau!r} -c {C!r}"
    return f"-s 3 -B 1 -e {TOLERANCE!r} {costs} -q"


def liblinear_weights(model: liblinearutil.model) -> np.ndarray:
    """Return w of a model, the bias last."""
    coef, bias = model.get_decfun(model.get_labels().index(1))
    return np.append(coef, bias)


def lbfgsb(problem: Problem, tau: float) -> np.ndarray:
    """Return α by SciPy's L-BFGS-B on the dual (8), which sees X through products only.

    The unknowns are u = α n/2, whose boxes are [0, 1-τ] and [0, τ], and (8) is taken n/2 times,
    so that the gradient is a margin less 1.
    """
    X, y, lam, unit = problem.X, problem.y, problem.lam, 2.0 / len(problem.y)

    def dual(u: np.ndarray) -> tuple[float, np.ndarray]:
        signed = unit / lam * y * u
        w, b = X.T @ signed, signed.sum()
        return 0.5 * lam / unit * (w @ w + b * b) - u.sum(), y * (X @ w + b) - 1.0

    found = minimize(
        dual,
        np.zeros_like(y),
        jac=True,
        method="L-BFGS-B",
        bounds=Bounds(0.0, problem.box(tau) / unit),
        options={"gtol": TOLERANCE, "ftol": 0.0, "maxiter": 10**6, "maxfun": 10**6},
    )
    return unit * np.asarray(found.x)


def run_reference(problem: Problem, watch: Stopwatch) -> tuple[ReferencePath | None, str | None]:
    """Run Algorithm 1; return its path, or why there is none."""
    try:
        path = watch.time("reference", dual_path_finding, problem.X, problem.y, problem.lam)
    except ReferenceStalled as stalled:
        return None, str(stalled)
    return path, None


def ratios(row: Row | PaperRow) -> dict[str, float]:
    """Return times as multiples of one LIBLINEAR run."""
    jobs = ("path", "recover", "lbfgsb", "reference")
    times = {job: getattr(row, job, None) for job in jobs}
    return {job: seconds / row.liblinear for job, seconds in times.items() if seconds is not None}


def report(rows: Sequence[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    names = ("data", [row.name for row in rows])
    runs = ", ".join(f"{row.name} {row.runs}" for row in rows)
    seconds = [
        names,
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("λ", [f"{row.lam:g}" for row in rows]),
        ("path", [number(row.path) for row in rows]),
        ("recover", [number(row.recover) for row in rows]),
        ("LIBLINEAR", [number(row.liblinear) for row in rows]),
        ("L-BFGS-B", [number(row.lbfgsb) for row in rows]),
        ("Algorithm 1", [number(row.reference) for row in rows]),
    ]
    ours, papers = [ratios(row) for row in rows], [ratios(PAPER[row.name]) for row in rows]
    multiples = [
        names,
        ("path", [number(our["path"]) for our in ours]),
        ("(paper)", [f"({number(paper['path'])})" for paper in papers]),
        ("recover", [number(our["recover"]) for our in ours]),
        ("(paper)", [f"({number(paper['recover'])})" for paper in papers]),
        ("L-BFGS-B", [number(our["lbfgsb"]) for our in ours]),
        ("(paper)", [f"({number(paper['lbfgsb'])})" for paper in papers]),
        ("Algorithm 1", [number(our.get("reference")) for our in ours]),
    ]
    errors = [
        names,
        ("path", [error(row.path_gap) for row in rows]),
        ("its KKT violation", [error(row.path_kkt) for row in rows]),
        ("LIBLINEAR", [error(row.liblinear_gap) for row in rows]),
        ("L-BFGS-B", [error(row.lbfgsb_gap) for row in rows]),
        ("Algorithm 1", [error(row.reference_gap) for row in rows]),
    ]
    per_sample = [PAPER[row.name].kinks / PAPER[row.name].n_samples for row in rows]
    walks = [
        names,
        ("kinks", [str(row.kinks) for row in rows]),
        ("(paper)", [f"({PAPER[row.name].kinks})" for row in rows]),
        ("per sample", [f"{row.kinks / row.n_samples:.2f}" for row in rows]),
        ("(paper)", [f"({kinks:.2f})" for kinks in per_sample]),
        ("Algorithm 1", [str(row.reference_kinks or "-") for row in rows]),
        *work_columns([row.work for row in rows]),
    ]
    judged = f"the path at {N_JUDGED} kinks and midpoints, the others at τ = 0.1, ..., 0.9"
    stalled = [row for row in rows if row.reference_stalled]
    return [
        *table(f"CPU seconds, one thread, best of several runs ({runs})", seconds),
        "",
        *table("Multiples of one LIBLINEAR run (in brackets the paper's)", multiples),
        "",
        *table(f"Worst relative duality gap: {judged}", errors),
        "",
        *table("Kinks and work (in brackets the paper's)", walks),
        "",
        *(f"Algorithm 1 on {row.name}: {row.reference_stalled}" for row in stalled),
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def as_json(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Return the rows, each with its ratios and the paper's row, and the machine."""
    everything = [
        {
            **asdict(row),
            "ratios": ratios(row),
            "paper": {**asdict(PAPER[row.name]), "ratios": ratios(PAPER[row.name])},
        }
        for row in rows
    ]
    return json.dumps({"rows": everything, "machine": about}, indent=2)


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="The paper's Table 2, measured here.")
    parser.add_argument("--datasets", nargs="+", choices=PAPER_NAMES, default=list(PAPER_NAMES))
    parser.add_argument("--repeats", type=int, help="runs of each job (default: by time)")
    parser.add_argument(
        "--reference", action="store_true", help="Algorithm 1 on all data, not diabetes only"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}")
    if n_threads() > 1:
        print(f"table2: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    try:
        chosen = [load_paper(name) for name in arguments.datasets]
    except DataNotFound as missing:
        print(f"table2: {missing}", file=sys.stderr)
        return 1
    rows = []
    for data in chosen:
        print(f"measuring {data.name} ...", file=sys.stderr, flush=True)
        with_reference = arguments.reference or data.name == "diabetes"
        rows.append(measure(data, arguments.repeats, with_reference))
    about = machine(*PACKAGES)
    print(as_json(rows, about) if arguments.json else "\n".join(report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
