"""How does the cost grow with the samples n, the features d, with C, and with the free set F?

taupath follows the whole path; the others solve τ = 0.1, ..., 0.9, set as loosely as a gap of 1e-3
allows. A solver that has taken too long is not tried on what is harder. For |F| the kernel is RBF,
and γ grows: the more local it is, the more samples are on the margin.
"""

from typing import Any

import solvers
from common import number
from objective import Objective, follow
from showing import Plot, Row, Table, find, left_out, seconds_of, solvers_in, unique
from task import Task
from trial import Emit, Settings, best_seconds, climb, enter, grid_job, judged, load_tasks, pick

from questions.grid import WHOLE, grid

TITLE = "How cost grows with n, d, C and |F|"
SOLVERS = ("taupath", "liblinear", "linear_svc", "svc", "piqp", "clarabel", "daqp")
ACCURACY = 1e-3
BASE: dict[str, Any] = {"name": "gaussian", "n_samples": 2000, "n_features": 20}
RBF: dict[str, Any] = {**BASE, "n_samples": 600, "n_features": 8, "C": 1.0, "intercept": "free"}
AXES: dict[str, list[tuple[float, dict[str, Any]]]] = {
    "n": [(n, {**BASE, "n_samples": n}) for n in (250, 1000, 4000, 16_000, 64_000)],
    "d": [(d, {**BASE, "n_features": d}) for d in (5, 20, 80, 320)],
    "C": [(C, {**BASE, "C": C}) for C in (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)],
    "|F|": [(gamma, {**RBF, "gamma": gamma}) for gamma in (0.003, 0.01, 0.03, 0.1, 0.3)],
}
LABELS = {"n": "samples n", "d": "features d", "C": "C", "|F|": "mean free set |F|"}


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all axes."""
    for axis, steps in AXES.items():
        slow: list[str] = []
        for value, spec in steps[: 1 if settings.quick else None]:
            if settings.quick:
                spec = {**spec, "n_samples": 40, "n_features": 2}
            for task in load_tasks([spec], emit):
                measure_step(axis, value, task, slow, settings, emit)


def measure_step(
    axis: str,
    value: float,
    task: Task,
    slow: list[str],
    settings: Settings,
    emit: Emit,
) -> None:
    """Measure one step of an axis; solvers that are too slow are noted."""
    objective, taus, jobs = Objective(task, follow(task)), grid(9), {}

    def tell(row: dict[str, Any]) -> None:
        emit({"axis": axis, "value": value, "task": task.name, **row})

    candidates = [solvers.load(name) for name in SOLVERS]
    for solver in enter([each for each in candidates if each.name not in slow], task, tell):
        if solver.name == WHOLE:
            jobs[solver] = lambda solver=solver: solver.path(task)
            continue
        rungs, trouble = climb(solver, objective, settings, ACCURACY, taus)
        rung = pick(rungs, ACCURACY)
        if rung is None:
            slow.append(solver.name)
            tell({"solver": solver.name, "note": f"gap not reached: {trouble}"})
        else:
            jobs[solver] = grid_job(solver, task, taus, rung.tolerance)
    answers, seconds = best_seconds(jobs, settings)
    for solver, spent in seconds.items():
        found, row = answers[solver], {"solver": solver.name, "seconds": spent}
        if solver.name == WHOLE:
            row |= {"pieces": found.n_pieces, "free": found.mean_free}
            found = [found.at(tau) for tau in taus]
        elif spent > settings.longest:
            slow.append(solver.name)
        tell({**row, **judged(objective, solver, taus, found)})


# -- showing ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return a table for each axis."""
    found = {}
    for axis in unique(rows, "axis"):
        here = [row for row in rows if row["axis"] == axis]
        timed = [row for row in here if "seconds" in row]
        values = unique(timed, "value")
        paths = [find(timed, value=value, solver=WHOLE) or {} for value in values]
        columns = [
            ("γ" if axis == "|F|" else axis, [f"{value:g}" for value in values]),
            ("pieces", [str(row.get("pieces", "–")) for row in paths]),
            ("mean |F|", [number(row.get("free")) for row in paths]),
        ]
        for who in solvers_in(timed, SOLVERS):
            head = f"{who}, whole path" if who == WHOLE else f"{who}, 9 τ"
            cells = [seconds_of(find(timed, value=value, solver=who)) for value in values]
            columns.append((head, cells))
        found[axis] = Table(f"CPU seconds as {LABELS[axis]} grows", columns, left_out(here))
    return found


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return seconds against the axis."""
    found = {}
    for axis in unique(rows, "axis"):
        timed = [row for row in rows if row["axis"] == axis and "seconds" in row]
        free = {row["value"]: row["free"] for row in timed if "free" in row}
        series: dict[str, list[tuple[float, float]]] = {}
        for row in timed:
            x = free.get(row["value"]) if axis == "|F|" else row["value"]
            who = f"{row['solver']}, " + ("whole path" if row["solver"] == WHOLE else "9 τ")
            if x is not None:
                series.setdefault(who, []).append((x, row["seconds"]))
        if series:
            found[axis] = Plot(f"Cost against {LABELS[axis]}", LABELS[axis], "CPU seconds", series)
    return found
