"""What accuracy does each solver reach, and in what time?

Each is set tighter and tighter; of every setting there are the seconds of one τ, mean over eleven,
and the worst gap and KKT violation. taupath's seconds are those of the whole path, and every τ
after that is read off.
"""

from typing import Any

import solvers
from common import error, number
from objective import Objective, follow
from showing import Plot, Row, Table, find, left_out, points_of, solvers_in, unique
from task import Task
from trial import FEW_TAUS, Emit, Settings, best_seconds, climb, enter, grid_job, judged, load_tasks

from questions.grid import RBF, WHOLE

TITLE = "Accuracy reached, and CPU seconds for it"
SOLVERS = ("taupath", "approximate", "liblinear", "linear_svc", "svc", "sgd")
SOLVERS += ("piqp", "clarabel", "daqp")
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "diabetes"},
    RBF,
    {"name": "gaussian", "n_samples": 5000, "n_features": 20},
)
QUICK: tuple[dict[str, Any], ...] = ({"name": "gaussian", "n_samples": 40, "n_features": 2},)


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all tasks."""
    for task in load_tasks(QUICK if settings.quick else TASKS, emit):
        measure_task(task, settings, emit)


def measure_task(task: Task, settings: Settings, emit: Emit) -> None:
    """Measure one task: first find out which settings are not too slow, then time these in turn."""
    objective = Objective(task, follow(task))
    jobs, taus = {}, list(FEW_TAUS)
    entered = enter([solvers.load(name) for name in SOLVERS], task, emit)
    for solver in entered:
        rungs, trouble = climb(solver, objective, settings)
        if not rungs:
            emit({"task": task.name, "solver": solver.name, "note": trouble})
        for rung in rungs:
            jobs[solver, rung.tolerance] = grid_job(solver, task, taus, rung.tolerance)
    answers, seconds = best_seconds(jobs, settings)
    for (solver, tolerance), spent in seconds.items():
        emit(
            {
                "task": task.name,
                "solver": solver.name,
                "tolerance": tolerance,
                "seconds": spent / (1 if solver.name == WHOLE else len(taus)),
                **judged(objective, solver, taus, answers[solver, tolerance]),
            }
        )


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return for each task the loosest and the tightest setting of each solver."""
    found = {}
    for name in unique(rows, "task"):
        here = [row for row in rows if row["task"] == name and "seconds" in row]
        names = solvers_in(here, SOLVERS)
        best = [
            min((row for row in here if row["solver"] == who), key=lambda row: row["gap"])
            for who in names
        ]
        first = [find(here, solver=who) for who in names]
        columns = [
            ("solver", names),
            ("loosest: gap", [error(row["gap"]) for row in first]),
            ("ms", [number(1e3 * row["seconds"]) for row in first]),
            ("best: gap", [error(row["gap"]) for row in best]),
            ("KKT", [error(row["kkt"]) for row in best]),
            ("ms", [number(1e3 * row["seconds"]) for row in best]),
            (
                "tolerance",
                ["–" if not row["tolerance"] else f"{row['tolerance']:.0e}" for row in best],
            ),
        ]
        notes = left_out([row for row in rows if row["task"] == name])
        found[name] = Table(f"{name}: one τ, but the whole path of taupath", columns, notes)
    return found


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return the gap against seconds, for each task."""
    found = {}
    for name in unique(rows, "task"):
        series = points_of([row for row in rows if row["task"] == name], "seconds", "gap")
        if series:
            label = "CPU seconds of one τ (taupath: of all)"
            found[name] = Plot(name, label, "worst relative duality gap", series)
    return found
