"""The benchmarks against peers: every question, or some, with results written as they come.

Each question is a file of `questions`, each solver one of `solvers`, each data set one of
`datasets`; `objective` judges all answers. CPU seconds, one process and one thread, the best of
several runs, jobs in turn. Results are JSON files with the machine and the versions inside, from
which the documentation makes its tables and plots.

Data are read from the folder named by the environment variable TAUPATH_DATA; what needs data that
are not there is left out and said so.
"""

import argparse
import os
import sys
import time
from dataclasses import replace
from pathlib import Path

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")

import questions
from common import machine, n_threads, table
from results import Results
from trial import Settings

PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath", "liblinear-official", "statsmodels")
PACKAGES += ("piqp", "clarabel", "daqp", "ppopt", "quantile-forest", "venn-abers", "lightgbm")
PACKAGES += ("mapie",)
FOLDER = Path(__file__).parents[1] / "docs" / "benchmarks"
QUICK = Settings(longest=0.3, enough=0.0, most_runs=1, quick=True)


def ask(name: str, settings: Settings, folder: Path, resume: bool = False) -> Results:
    """Measure one question; its file is written anew after every row.

    A question that fails altogether keeps the rows that it had, with a note of what happened. With
    `resume`, rows of splits that an earlier run on the same machine has left are kept.
    """
    question = questions.load(name)
    results = Results(folder / f"{name}.json", question.TITLE, machine(*PACKAGES), settings.quick)
    before = 0.0
    if resume:
        results.keep_splits()
        rows = results.rows
        done = frozenset((row["task"], row["solver"], row["split"]) for row in rows)
        settings, before = replace(settings, done=done), sum(row["seconds"] for row in rows)

    def emit(row: dict) -> None:
        results.add(row)
        _say(f"  {row.get('task', '')}: {row.get('solver', '')} {_told(row)}")

    begin = time.perf_counter()
    try:
        question.measure(settings, emit)
    except Exception as failed:
        emit({"task": "all", "solver": "all", "note": f"failed: {type(failed).__name__}: {failed}"})
    results.finish(before + time.perf_counter() - begin)
    return results


def _told(row: dict) -> str:
    return f"{row['seconds']:.3g} s" if "seconds" in row else str(row.get("note", ""))


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def report(name: str, results: Results) -> list[str]:
    """Return the lines of a printed report."""
    lines = [f"== {results.title} ({results.seconds:.0f} s) =="]
    for shown in questions.load(name).tables(results.rows).values():
        lines += ["", *table(shown.title, shown.columns), *(f"  {note}" for note in shown.notes)]
    return [*lines, ""]


def main() -> int:
    """Measure and print; return the exit status."""
    parser = argparse.ArgumentParser(description="taupath beside other solvers.")
    parser.add_argument(
        "--question",
        nargs="+",
        choices=questions.NAMES + questions.MORE,
        default=list(questions.NAMES),
        help="default: all that the documentation shows",
    )
    parser.add_argument("--quick", action="store_true", help="tiny sizes; figures mean nothing")
    parser.add_argument(
        "--resume", action="store_true", help="keep the splits of a run that was broken off"
    )
    parser.add_argument("--longest", type=float, help="seconds that one job may take, about")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER, help="folder for the results")
    arguments = parser.parse_args()
    if arguments.longest is not None and arguments.longest <= 0.0:
        parser.error(f"--longest must be positive, got {arguments.longest:g}")
    if n_threads() > 1:
        _say(f"run: {n_threads()} threads may run, wanted is one")
        return 1
    settings = QUICK if arguments.quick else Settings()
    if arguments.longest is not None:
        settings = replace(settings, longest=arguments.longest)
    begin = time.perf_counter()
    for name in arguments.question:
        _say(f"measuring {name} ...")
        results = ask(name, settings, arguments.output, arguments.resume)
        print("\n".join(report(name, results)), flush=True)
    print(", ".join(f"{name} {value}" for name, value in machine(*PACKAGES).items()))
    print(f"results in {arguments.output}; {time.perf_counter() - begin:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
