"""How long does a grid of 9, 99 or 999 values of τ take, at equal accuracy?

Every solver is set as loosely as the accuracy allows: the relative duality gap at τ = 0.001, 0.1,
0.2, ..., 0.9 and 0.999, computed by the objective, is to be at most 1e-3, 1e-6 or 1e-9. Seconds
include all from X and y on. The gap of the whole grid is judged again, at 25 of its points at
most.
"""

from typing import Any

import solvers
from common import error
from objective import Objective, follow
from showing import Plot, Row, Table, find, left_out, points_of, seconds_of, solvers_in, unique
from solvers.base import Solver
from task import Task
from trial import Emit, Settings, best_seconds, climb, enter, grid_job, judged, load_tasks, pick

TITLE = "CPU seconds of a grid of τ, at equal accuracy"
SOLVERS = ("taupath", "approximate", "liblinear", "linear_svc", "svc", "sgd")
SOLVERS += ("piqp", "clarabel", "daqp")
ACCURACIES = (1e-3, 1e-6, 1e-9)
POINTS = (9, 99, 999)
WHOLE = solvers.load("taupath").name
RBF = {"name": "diabetes", "gamma": 1.0 / 8.0, "intercept": "free"}
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "gaussian", "n_samples": 100, "n_features": 5},
    {"name": "gaussian", "n_samples": 100, "n_features": 5, "gamma": 0.2, "intercept": "free"},
    {"name": "diabetes"},
    {"name": "diabetes", "intercept": "free"},
    RBF,
    {"name": "a1a"},
    {"name": "gaussian", "n_samples": 5000, "n_features": 20},
    {"name": "spam"},
    {"name": "splice"},
)
QUICK: tuple[dict[str, Any], ...] = (
    {"name": "gaussian", "n_samples": 60, "n_features": 3},
    {"name": "gaussian", "n_samples": 40, "n_features": 3, "gamma": 0.3, "intercept": "free"},
)


def grid(n_points: int) -> list[float]:
    """Return k / (n_points + 1)."""
    return [k / (n_points + 1) for k in range(1, n_points + 1)]


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all tasks."""
    for task in load_tasks(QUICK if settings.quick else TASKS, emit):
        measure_task(task, [solvers.load(name) for name in SOLVERS], settings, emit)


def measure_task(task: Task, candidates: list[Solver], settings: Settings, emit: Emit) -> None:
    """Measure one task."""
    objective = Objective(task, follow(task))
    entered = enter(candidates, task, emit)
    chosen, jobs, rows = {}, {}, []
    for solver in entered:
        rungs, trouble = climb(solver, objective, settings, min(ACCURACIES))
        for accuracy in ACCURACIES:
            rung = chosen[solver.name, accuracy] = pick(rungs, accuracy)
            row = {"task": task.name, "solver": solver.name, "accuracy": accuracy}
            if rung is None:
                best = min((each.gap for each in rungs), default=None)
                emit({**row, "note": f"not reached: {trouble}", "best gap": best})
                continue
            for n_points in POINTS[: 2 if settings.quick else None]:
                rows.append((solver, {**row, "points": n_points}))
                expected = rung.seconds * n_points
                if solver.follows or n_points == POINTS[0] or expected <= settings.longest:
                    jobs[solver.name, rung.tolerance, n_points] = grid_job(
                        solver, task, grid(n_points), rung.tolerance
                    )
    answers, seconds = best_seconds(jobs, settings)
    verdicts = {
        key: judged(objective, solver, grid(key[2]), answers[key])
        for solver in entered
        for key in seconds
        if key[0] == solver.name
    }
    for solver, row in rows:
        tolerance = chosen[solver.name, row["accuracy"]].tolerance
        key = (solver.name, tolerance, row["points"])
        first = (solver.name, tolerance, POINTS[0])
        row["tolerance"] = tolerance
        if solver.name == WHOLE:
            row["pieces"] = objective.path.n_kinks - 1
        if key in seconds:
            emit({**row, "seconds": seconds[key], **verdicts[key]})
        elif first in seconds:
            ratio = row["points"] / POINTS[0]
            emit({**row, "seconds": seconds[first] * ratio, "estimated": True})
        else:
            emit({**row, "note": f"failed: {answers.get(key, answers.get(first))}"})


# -- showing ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return a table for each task, and one of seconds per model."""
    found = {}
    for name in unique(rows, "task"):
        here = [row for row in rows if row["task"] == name]
        found[name] = _grid_table(name, here)
    found["models"] = _model_table(rows)
    return found


def _grid_table(name: str, rows: list[Row]) -> Table:
    names = solvers_in([row for row in rows if "accuracy" in row], SOLVERS)
    columns: list[tuple[str, list[str]]] = [("solver", names)]
    for accuracy in ACCURACIES:
        for n_points in POINTS:
            cells = []
            for solver in names:
                row = find(rows, solver=solver, accuracy=accuracy, points=n_points)
                late = row is not None and row.get("gap", 0.0) > accuracy
                cells.append(seconds_of(row) + (" *" if late else ""))
            columns.append((f"{accuracy:.0e}: {n_points}", cells))
    gaps = []
    for solver in names:
        mine = [row for row in rows if row["solver"] == solver]
        reached = [row[key] for row in mine for key in ("gap", "best gap") if row.get(key)]
        gaps.append(error(min(reached, default=None)))
    columns.append(("best gap", gaps))
    return Table(f"{name}: seconds for 9, 99 and 999 values of τ", columns, left_out(rows))


def _model_table(rows: list[Row]) -> Table:
    """Seconds per model: of a path by its pieces, of others by the points of the longest grid."""
    tasks = unique([row for row in rows if "seconds" in row], "task")
    names = solvers_in([row for row in rows if "seconds" in row], SOLVERS)
    columns: list[tuple[str, list[str]]] = [("solver", names)]
    for task in tasks:
        cells = []
        for solver in names:
            timed = [
                row
                for row in rows
                if row["task"] == task and row["solver"] == solver and "seconds" in row
            ]
            tight = [row for row in timed if row["accuracy"] == min(r["accuracy"] for r in timed)]
            last = max(
                tight, key=lambda row: (not row.get("estimated"), row["points"]), default=None
            )
            if last is None:
                cells.append("–")
                continue
            if "pieces" in last:
                first = min(timed, key=lambda row: row["points"])
                cells.append(f"{1e6 * first['seconds'] / first['pieces']:.3g}")
            else:
                each = f"{1e6 * last['seconds'] / last['points']:.3g}"
                cells.append(
                    each if last["accuracy"] <= 1e-9 else f"{each} ({last['accuracy']:.0e})"
                )
        columns.append((task, cells))
    return Table("Microseconds per distinct model", columns)


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return seconds against points for each task, at the middle accuracy."""
    found = {}
    for name in unique(rows, "task"):
        here = [r for r in rows if r["task"] == name and r.get("accuracy") == ACCURACIES[1]]
        measured = points_of(here, "points")
        if measured:
            title = f"{name}, gap ≤ {ACCURACIES[1]:.0e}"
            guessed = points_of(here, "points", guessed=True)
            found[name] = Plot(title, "values of τ", "CPU seconds", measured, guessed)
    return found
