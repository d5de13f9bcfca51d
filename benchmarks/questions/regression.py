"""How long do all quantile regressions take, beside solvers for one quantile at a time?

taupath, PIQP, Clarabel and DAQP minimise |w|²/2 + C Σ ρ_τ with a free intercept, and have a gap.
QuantileRegressor and QuantReg minimise Σ ρ_τ alone. What they have in common is the loss: "excess"
is how far it exceeds the least that any of them has found at the same τ, relative to it, at the
worst of the judged τ. The regularised ones have an excess that is the price of |w|²/2.
"""

from typing import Any

import solvers
from common import error
from objective import Objective, follow
from showing import Plot, Row, Table, find, left_out, points_of, seconds_of, solvers_in, unique
from solvers.base import Solver
from task import Answer, Task
from trial import Emit, Settings, best_seconds, climb, enter, grid_job, judged, load_tasks, pick

from questions.grid import POINTS, WHOLE, grid

TITLE = "Quantile regression: CPU seconds of a grid of quantiles"
SOLVERS = ("taupath", "quantile_regressor", "quantreg", "piqp", "clarabel", "daqp")
ACCURACY = 1e-6
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "engel", "C": 100.0},
    {"name": "boston", "C": 100.0},
    {"name": "quantiles", "n_samples": 1000},
    {"name": "quantiles", "n_samples": 5000},
)
QUICK: tuple[dict[str, Any], ...] = ({"name": "quantiles", "n_samples": 40, "n_features": 2},)


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all tasks."""
    for task in load_tasks(QUICK if settings.quick else TASKS, emit):
        measure_task(task, settings, emit)


def measure_task(task: Task, settings: Settings, emit: Emit) -> None:
    """Measure one task; solvers of the linear programme are set as tight as they can be."""
    objective = Objective(task, follow(task))
    jobs, whose = {}, {}
    for solver in enter([solvers.load(name) for name in SOLVERS], task, emit):
        rungs, trouble = climb(solver, objective, settings, ACCURACY)
        rung = pick(rungs, ACCURACY)
        if solver.minimises != "task" and rungs:
            rung = rungs[-1]
        if rung is None:
            emit({"task": task.name, "solver": solver.name, "note": f"not reached: {trouble}"})
            continue
        for n_points in POINTS[: 2 if settings.quick else None]:
            key = (solver.name, n_points)
            whose[key] = solver
            expected = rung.seconds * n_points
            if solver.follows or n_points == POINTS[0] or expected <= settings.longest:
                jobs[key] = grid_job(solver, task, grid(n_points), rung.tolerance)
    answers, seconds = best_seconds(jobs, settings)
    _note_losses(objective, whose, {key: answers[key] for key in seconds})
    for key, solver in whose.items():
        row = {"task": task.name, "solver": solver.name, "points": key[1]}
        first = (solver.name, POINTS[0])
        if solver.name == WHOLE:
            row["pieces"] = objective.path.n_kinks - 1
        if key in seconds:
            found = judged(objective, solver, grid(key[1]), answers[key])
            emit({**row, "seconds": seconds[key], **found})
        elif first in seconds:
            ratio = key[1] / POINTS[0]
            emit({**row, "seconds": seconds[first] * ratio, "estimated": True})
        else:
            emit({**row, "note": f"failed: {answers.get(key, answers.get(first))}"})


def _note_losses(
    objective: Objective,
    whose: dict[tuple[str, int], Solver],
    answers: dict[tuple[str, int], list[Answer]],
) -> None:
    """Have the objective know all losses before the first excess is taken."""
    for key, found in answers.items():
        judged(objective, whose[key], grid(key[1]), found)


# -- showing ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return a table for each task."""
    found = {}
    for name in unique(rows, "task"):
        here = [row for row in rows if row["task"] == name]
        timed = [row for row in here if "seconds" in row]
        names = solvers_in(timed, SOLVERS)
        first = [find(timed, solver=who) for who in names]
        columns = [
            ("solver", names),
            *(
                (f"{k} quantiles", [seconds_of(find(timed, solver=who, points=k)) for who in names])
                for k in unique(timed, "points")
            ),
            ("gap", [error(row.get("gap")) for row in first]),
            ("excess loss", [error(row.get("excess")) for row in first]),
        ]
        whole = find(timed, solver=WHOLE)
        title = f"{name}" + (f", {whole['pieces']} pieces" if whole else "")
        found[name] = Table(f"{title}: CPU seconds", columns, left_out(here))
    return found


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return seconds against the number of quantiles, for each task."""
    found = {}
    for name in unique(rows, "task"):
        here = [row for row in rows if row["task"] == name]
        measured, guessed = (points_of(here, "points", guessed=flag) for flag in (False, True))
        if measured:
            found[name] = Plot(name, "quantiles", "CPU seconds", measured, guessed)
    return found
