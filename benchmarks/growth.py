"""How the work for a whole path grows with the number of samples.

Two overlapping classes of Gaussian samples with d = 20, see `datasets/gaussian.py`. λ = 10/n, that
is C = 1/10, so that the problem stays as hard as it is while n grows. Seconds are CPU seconds, the
best of several runs where they are short; sizes are run in turn, so that all meet the machine in
the same states. Errors are measured by `judge.py` on a sample of the path.
"""

import argparse
import json
import os
import resource
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import numpy as np
from common import Stopwatch, Work, error, machine, n_threads, number, table, work, work_columns
from datasets.gaussian import gaussian_classes
from judge import Problem, kinks_and_midpoints

from taupath import quantile_path

N_FEATURES = 20
SIZES = [8000, 32000, 128000]
N_JUDGED = 100
# Without --repeats, a size is run again until so many seconds are spent on it, so often at most.
SECONDS, MOST_RUNS = 60.0, 7
PACKAGES = ("numpy", "scipy", "taupath")


@dataclass(frozen=True)
class Row:
    """What was measured at one size.

    `seconds` are those of the best run; `peak_rss` is the most memory, in bytes, that the
    process has had up to here, data and judging included.
    """

    n_samples: int
    runs: int
    seconds: float
    kinks: int
    peak_rss: int
    gap: float
    kkt: float
    work: Work


def measure(
    sizes: Sequence[int], repeats: int | None = None, n_judged: int = N_JUDGED
) -> list[Row]:
    """Measure these sizes; `repeats` is the number of runs, by default as many as time allows."""
    sizes = sorted(sizes)  # peak memory is that of the largest size so far
    watch, rows = Stopwatch(), []
    for n_samples in sizes:
        print(f"measuring {n_samples} samples ...", file=sys.stderr, flush=True)
        X, y = gaussian_classes(n_samples, N_FEATURES)
        lam = 10.0 / n_samples
        path = watch.time(n_samples, quantile_path, X, y, lam=lam)
        verdict = Problem(X, y, lam).worst(path.alpha, kinks_and_midpoints(path.taus, n_judged))
        row = Row(
            n_samples=n_samples,
            runs=1,
            seconds=watch.best(n_samples),
            kinks=path.n_kinks,
            peak_rss=_peak_rss(),
            gap=verdict.gap,
            kkt=verdict.kkt,
            work=work(path),
        )
        rows.append(row)
    for _ in range(1, repeats or MOST_RUNS):
        for n_samples in sizes:
            if repeats is None and watch.spent(n_samples) > SECONDS:
                continue
            X, y = gaussian_classes(n_samples, N_FEATURES)
            watch.time(n_samples, quantile_path, X, y, lam=10.0 / n_samples)
    return [
        replace(row, runs=watch.runs(row.n_samples), seconds=watch.best(row.n_samples))
        for row in rows
    ]


def report(rows: Sequence[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    first = rows[0]
    columns = [
        ("n", [str(row.n_samples) for row in rows]),
        ("times", [f"{row.n_samples / first.n_samples:g}" for row in rows]),
        ("CPU seconds", [number(row.seconds) for row in rows]),
        ("times", [number(row.seconds / first.seconds) for row in rows]),
        ("kinks per sample", [f"{row.kinks / row.n_samples:.2f}" for row in rows]),
        *work_columns([row.work for row in rows]),
        ("peak MiB", [f"{row.peak_rss / 2**20:.0f}" for row in rows]),
        ("gap", [error(row.gap) for row in rows]),
        ("KKT", [error(row.kkt) for row in rows]),
    ]
    title = f"Whole paths on Gaussian data, d = {N_FEATURES}, λ = 10/n, one thread"
    return [
        *table(title, columns),
        "",
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def _peak_rss() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="Time of a whole path against n.")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="numbers of samples")
    parser.add_argument("--repeats", type=int, help="runs of each size (default: by time)")
    parser.add_argument("--judged", type=int, default=N_JUDGED, help="values of τ to judge")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    for option, least in (("sizes", 2), ("repeats", 1), ("judged", 2)):
        given = getattr(arguments, option)
        if given is not None and np.min(given) < least:
            parser.error(f"--{option} must be at least {least}, got {given}")
    if n_threads() > 1:
        print(f"growth: {n_threads()} threads may run, wanted is one", file=sys.stderr)
        return 1
    rows = measure(arguments.sizes, arguments.repeats, arguments.judged)
    about = machine(*PACKAGES)
    if arguments.json:
        print(json.dumps({"rows": [asdict(row) for row in rows], "machine": about}, indent=2))
    else:
        print("\n".join(report(rows, about)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
