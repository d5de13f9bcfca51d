"""How long does the path over C take, beside SVC at values of C?

Classification at τ = 1/2 with the RBF kernel. SVC is fitted at 100 values of C, even on a
logarithmic scale from the path's first kink to its last; for as many values as there are kinks its
seconds are extrapolated. The intercept of SVC is free. Errors are measured by `judge`: those of a
path at kinks and midpoints, those of SVC at every point of its grid.

Kernels over τ are in the question `grid`, quantile regression is in `regression`.
"""

from typing import Any

import numpy as np
from common import error, number
from judge import classification, kinks_and_midpoints, rbf, worst
from showing import Plot, Row, Table, left_out, seconds_of
from solvers.svc import svc_dual
from task import Task
from trial import Emit, Settings, best_seconds, load_tasks

from taupath import SolutionPath, regularization_path

TITLE = "The path over C: CPU seconds beside a grid of C"
SOLVERS = ("taupath", "svc")
WHOLE, PEER = "taupath, whole path", "SVC (LIBSVM)"
INTERCEPTS = ("augmented", "free")
N_POINTS, N_JUDGED = 100, 200
TASKS: tuple[dict[str, Any], ...] = ({"name": "diabetes", "gamma": 1.0 / 8.0},)
QUICK: tuple[dict[str, Any], ...] = (
    {"name": "gaussian", "n_samples": 40, "n_features": 2, "gamma": 0.5},
)


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all tasks."""
    C_max, n_points = (10.0, 4) if settings.quick else (1000.0, N_POINTS)
    for task in load_tasks(QUICK if settings.quick else TASKS, emit):
        for row in measure_task(task, C_max, n_points, settings):
            emit(row)


def measure_task(task: Task, C_max: float, n_points: int, settings: Settings) -> list[Row]:
    """Return the rows of both paths, then those of the grid and of grids as long as the paths."""
    from sklearn.svm import SVC

    X, y = task.dense, task.y
    gram = rbf(X, task.gamma)

    def follow(intercept: str) -> SolutionPath:
        how = {"kernel": "rbf", "gamma": task.gamma, "intercept": intercept}
        return regularization_path(X, y, C_max=C_max, **how)

    def fit(C: float) -> SVC:
        return SVC(kernel="rbf", gamma=task.gamma, C=C).fit(X, y)

    costs = np.geomspace(follow(INTERCEPTS[0]).taus[1], C_max, n_points).tolist()
    jobs = {intercept: lambda intercept=intercept: follow(intercept) for intercept in INTERCEPTS}
    jobs |= {C: lambda C=C: fit(C) for C in costs}
    found, seconds = best_seconds(jobs, settings)
    rows = []
    for intercept in INTERCEPTS:
        path = found[intercept]
        verdict = worst(  # at C = 0 boxes are empty, and the gap is 0 of 0
            classification(gram, y, C, 0.5, intercept == "free").judge(path.alpha(C) * len(y) * C)
            for C in kinks_and_midpoints(path.taus, N_JUDGED)
            if C > 0.0
        )
        told = {"solver": WHOLE, "intercept": intercept, "solutions": path.n_kinks}
        rows.append({**told, "seconds": seconds[intercept], "gap": verdict.gap, "kkt": verdict.kkt})
    verdict = worst(
        classification(gram, y, C, 0.5, True).judge(svc_dual(found[C], len(y))) for C in costs
    )
    peer = {"solver": PEER, "intercept": "free"}
    spent = sum(seconds[C] for C in costs)
    points = {"solutions": n_points, "seconds": spent, "gap": verdict.gap, "kkt": verdict.kkt}
    rows.append({**peer, **points})
    for kinks in [row["solutions"] for row in rows[: len(INTERCEPTS)]]:
        guess = {"solutions": kinks, "seconds": spent * kinks / n_points, "estimated": True}
        rows.append({**peer, **guess})
    return [{"task": f"{task.name}, C up to {C_max:g}", **row} for row in rows]


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return one table; seconds also as multiples of those of the path with a free intercept."""
    timed = [row for row in rows if "seconds" in row]
    ours = {row["task"]: row["seconds"] for row in timed if row["solver"] == WHOLE}
    columns = [
        ("data", [row["task"] for row in timed]),
        ("solver", [row["solver"] for row in timed]),
        ("intercept", [row["intercept"] for row in timed]),
        ("kinks or points", [str(row["solutions"]) for row in timed]),
        ("seconds", [seconds_of(row) for row in timed]),
        ("times the path", [number(row["seconds"] / ours[row["task"]]) for row in timed]),
        ("gap", [error(row.get("gap")) for row in timed]),
        ("KKT", [error(row.get("kkt")) for row in timed]),
    ]
    return {"regularization": Table("The path over C", columns, left_out(rows))}


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return none: a path is one point."""
    return {}
