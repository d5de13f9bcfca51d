"""How long does the whole path take, by taupath and by the only other that finds all its pieces?

PPOPT enumerates the critical regions of a multiparametric quadratic programme, and is for very
few samples. All other solvers know one τ at a time: see the question `grid`.
"""

from typing import Any

import solvers
from common import error, number
from judge import kinks_and_midpoints
from objective import Objective, follow, worst
from showing import Plot, Row, Table, left_out, points_of, seconds_of
from task import Task
from trial import Emit, Settings, best_seconds, enter, load_tasks, said

TITLE = "CPU seconds of the whole path"
SOLVERS = ("taupath", "ppopt")
N_JUDGED = 50
SMALL: tuple[dict[str, Any], ...] = tuple(
    {"name": "gaussian", "n_samples": n, "n_features": 3} for n in (10, 20, 40, 80)
)
TASKS: tuple[dict[str, Any], ...] = (
    *SMALL,
    {"name": "diabetes"},
    {"name": "diabetes", "gamma": 1.0 / 8.0, "intercept": "free"},
    {"name": "a1a"},
    {"name": "gaussian", "n_samples": 5000, "n_features": 20},
    {"name": "spam"},
    {"name": "splice"},
)


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all tasks."""
    for task in load_tasks(SMALL[:1] if settings.quick else TASKS, emit):
        measure_task(task, settings, emit)


def measure_task(task: Task, settings: Settings, emit: Emit) -> None:
    """Measure one task."""
    objective = Objective(task, follow(task))
    jobs = {}
    for solver in enter([solvers.load(name) for name in SOLVERS], task, emit):
        jobs[solver.name] = lambda solver=solver: solver.path(task)
    paths, seconds = best_seconds(jobs, settings)
    for name, path in paths.items():
        row = {"task": task.name, "n": task.n_samples, "d": task.n_features, "solver": name}
        try:
            taus = kinks_and_midpoints(objective.path.taus, N_JUDGED)[1:-1]
            verdict = worst(objective.judge(tau, path.at(tau)) for tau in taus)
        except Exception as failed:
            emit({**row, "note": said(path if isinstance(path, Exception) else failed)})
            continue
        emit(
            {
                **row,
                "seconds": seconds[name],
                "pieces": path.n_pieces,
                "gap": verdict.gap,
                "kkt": verdict.kkt,
            }
        )


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return one table of all paths."""
    timed = [row for row in rows if "seconds" in row]
    columns = [
        ("data", [row["task"] for row in timed]),
        ("solver", [row["solver"] for row in timed]),
        ("n × d", [f"{row['n']} × {row['d']}" for row in timed]),
        ("pieces", [str(row["pieces"]) for row in timed]),
        ("seconds", [seconds_of(row) for row in timed]),
        ("µs per piece", [number(1e6 * row["seconds"] / row["pieces"]) for row in timed]),
        ("gap", [error(row["gap"]) for row in timed]),
        ("KKT", [error(row["kkt"]) for row in timed]),
    ]
    return {"path": Table("Whole paths", columns, left_out(rows))}


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return seconds against samples of the smallest tasks."""
    series = points_of([row for row in rows if row.get("d") == 3], "n")
    found = Plot("Whole paths of few samples, d = 3", "samples", "CPU seconds", series)
    return {"path": found} if series else {}
