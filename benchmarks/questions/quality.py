"""How good are probabilities and intervals, beside calibrated SVMs and a quantile forest?

Two small parts of the question `probability` and the study `intervals.py`, whose heads say what is
done: mean |P̂ - η| on simulated data whose η is known, 300 samples, three draws; and 80 % intervals
of what is held out in ten folds, with their mean width and pinball loss in deviations of y. CPU
seconds here are those of all methods together.
"""

import os
from pathlib import Path

import intervals
from calibrators.every import METHODS, VENN_ABERS
from common import Stopwatch
from datasets.simulated import SIMULATORS
from showing import Plot, Row, Table, unique
from trial import Emit, Settings

from questions.probability import simulated
from taupath.datasets import ENVIRONMENT_VARIABLE

TITLE = "Probabilities and intervals: how good they are"
SOLVERS = ("taupath",)
N_SAMPLES, DRAWS = 300, 3
SETS = ("engel", "mcycle", "birthwt")
KINDS = ("plain", "conformal 10", intervals.FOREST)


def measure(settings: Settings, emit: Emit) -> None:
    """Measure both parts."""
    for package, there in (
        ("venn-abers", VENN_ABERS in METHODS),
        ("quantile-forest", intervals.FOREST in intervals.KINDS),
    ):
        if not there:
            emit({"task": "all", "solver": package, "note": f"{package} is not installed"})
    for simulator in SIMULATORS[: 1 if settings.quick else None]:
        watch = Stopwatch()
        size = (40, 1) if settings.quick else (N_SAMPLES, DRAWS)
        for row in watch.time("all", lambda job=(simulator, *size): list(simulated(*job))):
            told = {key: row[key] for key in ("task", "solver", "distance")}
            emit({**told, "seconds": watch.best("all")})
    folder = Path(os.environ.get(ENVIRONMENT_VARIABLE, ""))
    for name in () if settings.quick else SETS:
        try:
            X, y = intervals.read_table(name, folder)
        except FileNotFoundError:
            note = f"there is no {name}.csv: set {ENVIRONMENT_VARIABLE}"
            emit({"task": name, "solver": "all", "note": note})
            continue
        watch = Stopwatch()
        row = watch.time("all", intervals.measure, name, X, y)
        for kind in (kind for kind in KINDS if kind in row.coverage):
            emit(
                {
                    "task": name,
                    "solver": kind,
                    "coverage": row.coverage[kind],
                    "band": list(row.band),
                    "width": row.width[kind],
                    "loss": row.loss[kind],
                    "seconds": watch.best("all"),
                }
            )


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return the distances of probabilities, and coverage, width and loss of intervals."""
    found = {}
    distances = [row for row in rows if "distance" in row]
    if distances:
        names = unique(distances, "task")
        by = {(row["task"], row["solver"]): row["distance"] for row in distances}
        columns = [("data", names)]
        for method in unique(distances, "solver"):
            cells = [f"{by[name, method]:.4f}" if (name, method) in by else "–" for name in names]
            columns.append((method, cells))
        notes = [row["note"] for row in rows if row["solver"] == "venn-abers" and "note" in row]
        found["probabilities"] = Table("Mean distance of P̂ to the true η", columns, notes)
    shares = [row for row in rows if "coverage" in row]
    if shares:
        columns = [
            ("data", [row["task"] for row in shares]),
            ("method", [row["solver"] for row in shares]),
            ("in 80 % intervals, %", [f"{100.0 * row['coverage']:.1f}" for row in shares]),
            ("band, %", ["{:.1f} – {:.1f}".format(*_percent(row["band"])) for row in shares]),
            ("width", [f"{row['width']:.3f}" for row in shares]),
            ("pinball loss", [f"{row['loss']:.4f}" for row in shares]),
        ]
        missing = ("quantile-forest", "all")
        notes = [row["note"] for row in rows if row["solver"] in missing and "note" in row]
        found["intervals"] = Table("Intervals of what was held out", columns, notes)
    return found


def _percent(band: list[float]) -> list[float]:
    return [100.0 * end for end in band]


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return none."""
    return {}
