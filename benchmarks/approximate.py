"""Certified approximate paths beside one LIBLINEAR run, in one process and one thread.

Seconds are CPU seconds. Path and LIBLINEAR are run in turn, and the best run of each counts.
LIBLINEAR (dual coordinate descent on the hinge loss, -e 1e-3) gives one solution; it is averaged
over several τ. An epoch is as many row visits as there are rows: products <z_i, w> and additions
of a row alike. The bound holds for every τ, as part of the objective at w = 0 and τ = ½, and is
computed again from the data (`certify`); so is the largest gap at random τ, by the judge.

a9a is read from the folder named by TAUPATH_DATA, with the λ = 1e-4 of the design. The others are
made: sparse binary rows like those of w8a (50 000 × 300, 4 % of the entries, 3 % positive, C = 1),
and Gaussian rows of two classes that overlap (d = 30, λ = 1e-4).

Then come data with more features than samples, beside their exact paths, in turn: spam, dense
binary rows (200 × 2000, C = 1), sparse rows (1000 × 20 000, C = 1) and Gaussian rows (1500 × 3000,
C = 1e-3). `--wide` measures nothing else.

Last come the files of the paper's three paths: exact, with training data, and simplified, without
and with them.
"""

import argparse
import json
import os
import resource
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, error, machine, n_threads, number, table
from datasets.gaussian import gaussian_classes
from judge import Problem
from scipy.sparse import csr_matrix, random_array

from taupath import quantile_path
from taupath.datasets import DataNotFound, load_classification, load_paper
from taupath.reproduce.peers import Liblinear

TOL = 1e-3
PACKAGES = ("numpy", "scipy", "taupath", "liblinear-official")
N_JUDGED = 20
# Without --repeats: a job is run again until so many seconds are spent on it, within limits.
SECONDS, FEWEST_RUNS, MOST_RUNS = 4.0, 1, 7


@dataclass(frozen=True)
class Row:
    """What was measured on one data set.

    `peak_rss` is the most memory, in bytes, that the process has had up to the end of the first
    path, data included and LIBLINEAR's copy of them not.
    """

    name: str
    n_samples: int
    n_features: int
    lam: float
    tol: float
    runs: int
    path: float
    liblinear: float
    nodes: int
    newton_steps: int
    row_visits: int
    bound: float
    gap: float
    nbytes: int
    peak_rss: int


def sparse_classes(n_samples: int = 50_000, seed: int = 0) -> tuple[csr_matrix, np.ndarray, float]:
    """Return X, y and λ of the sparse set."""
    n_features, n_stored = 300, 12
    rng = np.random.default_rng(seed)
    columns = rng.permuted(np.tile(np.arange(n_features), (n_samples, 1)), axis=1)[:, :n_stored]
    begins = np.arange(0, n_samples * n_stored + 1, n_stored)
    X = csr_matrix((np.ones(columns.size), columns.ravel(), begins), (n_samples, n_features))
    X.sort_indices()
    score = X @ rng.standard_normal(n_features) + rng.standard_normal(n_samples)
    return X, np.where(score > np.quantile(score, 0.97), 1.0, -1.0), 1.0 / n_samples


def gaussian_task(n_samples: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Return X, y and λ of a dense set."""
    return *gaussian_classes(n_samples, 30), 1e-4


def a9a() -> tuple[csr_matrix, np.ndarray, float]:
    """Return X, y and λ of a9a."""
    data = load_classification("a9a")
    return data.X, data.y.astype(np.float64), 1e-4


# In the order of their memory. LIBLINEAR's τ are few where a run takes long.
MANY_TAUS = tuple(k / 10 for k in range(1, 10))
SETS: dict[str, tuple[Callable[[], tuple[Any, np.ndarray, float]], tuple[float, ...]]] = {
    "a9a": (a9a, MANY_TAUS),
    "sparse": (sparse_classes, MANY_TAUS),
    "200k": (lambda: gaussian_task(200_000), (0.1, 0.5, 0.9)),
    "2M": (lambda: gaussian_task(2_000_000), (0.5,)),
}


# The paper's sets, and the gap within which their paths are simplified: for spam, whose C is 400,
# no doubles can certify less than 1e-5.
FILES = {"diabetes": 1e-6, "spam": 1e-4, "splice": 1e-6}


@dataclass(frozen=True)
class Files:
    """What one of the paper's paths takes: kinks, and bytes of files."""

    name: str
    tol: float
    kinks: int
    nodes: int
    exact: int
    simplified: int
    with_data: int


def measure_files(name: str) -> Files:
    """Return the sizes of the files of one path."""
    data = load_paper(name)
    path = quantile_path(data.X_train, data.y_train, lam=data.lam)
    simple = path.simplify(FILES[name])
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "path.tau"

        def size(path: Any, with_data: bool) -> int:
            path.save(file, data=with_data)
            return file.stat().st_size

        return Files(
            name=name,
            tol=FILES[name],
            kinks=path.n_kinks,
            nodes=simple.n_kinks,
            exact=size(path, True),
            simplified=size(simple, False),
            with_data=size(simple, True),
        )


def report_files(files: Sequence[Files]) -> list[str]:
    """Return the lines of the table of files."""
    columns = [
        ("data", [each.name for each in files]),
        ("tol", [f"{each.tol:g}" for each in files]),
        ("kinks", [str(each.kinks) for each in files]),
        ("nodes", [str(each.nodes) for each in files]),
        ("%", [number(100 * each.nodes / each.kinks) for each in files]),
        ("exact, bytes", [str(each.exact) for each in files]),
        ("simplified", [str(each.simplified) for each in files]),
        ("%", [number(100 * each.simplified / each.exact) for each in files]),
        ("with data", [str(each.with_data) for each in files]),
        ("%", [number(100 * each.with_data / each.exact) for each in files]),
    ]
    return table("Files of exact and of simplified paths", columns)


def wide_spam() -> tuple[Any, np.ndarray, float]:
    """Return X, y and C of spam."""
    data = load_paper("spam")
    return data.X_train, data.y_train, 1.0 / (len(data.y_train) * data.lam)


def wide_dense() -> tuple[Any, np.ndarray, float]:
    """Return X, y and C of binary rows."""
    rng = np.random.default_rng(0)
    X = rng.choice([0.0, 1.0], (200, 2000))
    return X, np.where(X[:, :20].sum(axis=1) + 2.0 * rng.standard_normal(200) > 10.0, 1, -1), 1.0


def wide_sparse() -> tuple[Any, np.ndarray, float]:
    """Return X, y and C of sparse rows."""
    rng = np.random.default_rng(0)
    X = random_array((1000, 20_000), density=0.005, format="csr", rng=rng)
    score = X @ rng.standard_normal(20_000)
    noise = 0.5 * score.std() * rng.standard_normal(1000)
    return X, np.where(score + noise > 0.0, 1, -1), 1.0


def wide_gaussian() -> tuple[Any, np.ndarray, float]:
    """Return X, y and C of dense rows with much noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1500, 3000))
    return X, np.where(X[:, 0] + rng.standard_normal(1500) > 0.0, 1, -1), 1e-3


WIDE: dict[str, Callable[[], tuple[Any, np.ndarray, float]]] = {
    "spam": wide_spam,
    "dense": wide_dense,
    "sparse": wide_sparse,
    "Gaussian": wide_gaussian,
}


@dataclass(frozen=True)
class WideRow:
    """What was measured on data with more features than samples."""

    name: str
    n_samples: int
    n_features: int
    exact: float
    path: float
    kinks: int
    nodes: int
    passes: int
    bound: float


def measure_wide(name: str, tol: float, repeats: int) -> WideRow:
    """Measure the exact and the approximate path, in turn."""
    X, y, C = WIDE[name]()
    watch = Stopwatch()
    for _ in range(repeats):
        exact = watch.time("exact", quantile_path, X, y, C=C)
        path = watch.time("path", quantile_path, X, y, C=C, method="approximate", tol=tol)
    return WideRow(
        name=name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        exact=watch.best("exact"),
        path=watch.best("path"),
        kinks=exact.n_kinks,
        nodes=path.n_kinks,
        passes=path.counters["passes"],
        bound=path.certify().worst_gap,
    )


def report_wide(rows: Sequence[WideRow], tol: float) -> list[str]:
    """Return the lines of the table of wide data."""
    columns = [
        ("data", [row.name for row in rows]),
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("exact, s", [number(row.exact) for row in rows]),
        ("path, s", [number(row.path) for row in rows]),
        ("ratio", [number(row.path / row.exact) for row in rows]),
        ("kinks", [str(row.kinks) for row in rows]),
        ("nodes", [str(row.nodes) for row in rows]),
        ("passes", [str(row.passes) for row in rows]),
        ("certified bound", [error(row.bound) for row in rows]),
    ]
    return table(f"More features than samples, tol = {tol:g}, beside the exact path", columns)


def measure(name: str, tol: float, repeats: int | None, with_liblinear: bool) -> Row:
    """Measure one data set."""
    make, taus = SETS[name]
    X, y, lam = make()
    problem, watch = Problem(X, y, lam), Stopwatch()

    def run() -> Any:
        return watch.time("path", quantile_path, X, y, lam=lam, method="approximate", tol=tol)

    path = run()
    peak_rss = _peak_rss()
    certificate = path.certify()
    random = np.random.default_rng(0).uniform(0.0, 1.0, N_JUDGED)
    verdicts = [problem.judge(tau, path.alpha(tau), _weights(path, tau)) for tau in random]
    peer = Liblinear(problem) if with_liblinear else None

    def run_peer() -> None:
        for tau in taus if peer is not None else ():
            watch.time(tau, peer.train, tau)

    while _another(watch, repeats):
        run_peer()
        run()
    run_peer()
    return Row(
        name=name,
        n_samples=X.shape[0],
        n_features=X.shape[1],
        lam=lam,
        tol=tol,
        runs=watch.runs("path"),
        path=watch.best("path"),
        liblinear=float(np.mean([watch.best(tau) for tau in taus])) if peer else float("nan"),
        nodes=path.n_kinks,
        newton_steps=path.counters["newton_steps"],
        row_visits=path.counters["row_visits"],
        bound=certificate.worst_gap,
        gap=max(verdict.primal - verdict.dual for verdict in verdicts),
        nbytes=path.nbytes,
        peak_rss=peak_rss,
    )


def _weights(path: Any, tau: float) -> np.ndarray:
    return np.append(path.coef(tau), path.intercept(tau))


def _another(watch: Stopwatch, repeats: int | None) -> bool:
    done = watch.runs("path")
    if repeats is not None:
        return done < repeats
    return done < FEWEST_RUNS or (done < MOST_RUNS and watch.spent("path") < SECONDS)


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def ratio(row: Row) -> float | None:
    """Return the path's time in LIBLINEAR runs."""
    return row.path / row.liblinear if row.liblinear == row.liblinear else None


def report(rows: Sequence[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    names = ("data", [row.name for row in rows])
    times = [
        names,
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("λ", [f"{row.lam:g}" for row in rows]),
        ("path, s", [number(row.path) for row in rows]),
        ("LIBLINEAR, s", [number(row.liblinear) if ratio(row) else "-" for row in rows]),
        ("ratio", [number(ratio(row)) for row in rows]),
        ("µs per row", [number(1e6 * row.path / row.n_samples) for row in rows]),
        ("peak MiB", [f"{row.peak_rss / 2**20:.0f}" for row in rows]),
    ]
    work = [
        names,
        ("nodes", [str(row.nodes) for row in rows]),
        ("Newton steps", [str(row.newton_steps) for row in rows]),
        ("epochs", [number(row.row_visits / row.n_samples) for row in rows]),
        ("certified bound", [error(row.bound) for row in rows]),
        (f"largest gap at {N_JUDGED} τ", [error(row.gap) for row in rows]),
        ("bytes kept", [str(row.nbytes) for row in rows]),
    ]
    return [
        *table(f"Approximate paths, tol = {rows[0].tol:g}, beside one LIBLINEAR run", times),
        "",
        *table("Work and certificates", work),
        "",
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Certified approximate paths on larger data.")
    parser.add_argument("--datasets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--tol", type=float, default=TOL, help="largest gap of a path")
    parser.add_argument("--repeats", type=int, help="runs of each path (default: by time)")
    parser.add_argument("--no-liblinear", action="store_true", help="paths only")
    parser.add_argument("--no-files", action="store_true", help="nothing of files")
    parser.add_argument("--wide", action="store_true", help="wide data only, five runs by default")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.repeats is not None and arguments.repeats < 1:
        parser.error(f"--repeats must be at least 1, got {arguments.repeats}")
    if not arguments.tol > 0.0:
        parser.error(f"--tol must be above 0, got {arguments.tol}")
    if n_threads() > 1:
        print(f"approximate: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    rows, wide = [], []
    try:
        for name in WIDE:
            print(f"measuring {name} ...", file=sys.stderr, flush=True)
            wide.append(measure_wide(name, arguments.tol, arguments.repeats or 5))
    except DataNotFound as missing:
        print(f"approximate: {missing}", file=sys.stderr)
        return 1
    if arguments.wide:
        print("\n".join(report_wide(wide, arguments.tol)))
        return 0
    for name in [name for name in SETS if name in arguments.datasets]:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            rows.append(measure(name, arguments.tol, arguments.repeats, not arguments.no_liblinear))
        except DataNotFound as missing:
            print(f"approximate: {missing}", file=sys.stderr)
            return 1
    try:
        files = [] if arguments.no_files else [measure_files(name) for name in FILES]
    except DataNotFound as missing:
        print(f"approximate: {missing}", file=sys.stderr)
        return 1
    about = machine(*PACKAGES)
    if arguments.json:
        everything = [{**asdict(row), "ratio": ratio(row)} for row in rows]
        sizes = [asdict(each) for each in files]
        print(
            json.dumps(
                {"rows": everything, "files": sizes, "wide": [asdict(row) for row in wide]}
                | {"machine": about},
                indent=2,
            )
        )
    else:
        tables = [*report_files(files), ""] if files else []
        tables += [*report_wide(wide, arguments.tol), ""]
        print("\n".join(tables + report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
