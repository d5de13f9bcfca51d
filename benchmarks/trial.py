"""From solvers and tasks to numbers: who may enter, how tight it must be set, how long it takes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import datasets
import numpy as np
from common import Stopwatch
from datasets.gaussian import load as gaussian
from datasets.quantiles import load as quantiles
from objective import Objective, worst
from solvers.base import Solver
from task import Answer, Task
from turns import rounds

from taupath.datasets import DataNotFound

__all__ = [
    "Emit",
    "Rung",
    "Settings",
    "best_seconds",
    "climb",
    "enter",
    "grid_job",
    "judged",
    "load_tasks",
    "pick",
    "said",
]

# Called with every row that is finished.
Emit = Callable[[dict[str, Any]], None]
# Values of τ to find the tolerance on; those near the ends are the hardest.
FEW_TAUS = (0.001, *(k / 10 for k in range(1, 10)), 0.999)
# Points of a grid that are judged, at most.
N_JUDGED = 25


@dataclass(frozen=True)
class Settings:
    """How much is measured.

    Attributes
    ----------
    longest : float
        A job that is expected to take more seconds is not run; a solver that has taken three times
        as many to try a tolerance is not set tighter.
    enough, most_runs
        A job is run again, in turn with the others, until it has taken so many seconds or so many
        runs; the best one counts.
    quick : bool
        Small sizes, to see that everything works: figures of such a run are not to be quoted.
    done : set of tuple
        Task, solver and split of rows that an earlier run has left; long questions skip these.
    """

    longest: float = 3.0
    enough: float = 0.4
    most_runs: int = 5
    quick: bool = False
    done: frozenset[tuple[str, str, int]] = frozenset()


@dataclass(frozen=True)
class Rung:
    """A tolerance, the seconds of each τ, and what it has led to."""

    tolerance: float
    seconds: float
    gap: float
    kkt: float


def said(failed: Exception) -> str:
    """Return what a failed solver said, on one line."""
    return f"{type(failed).__name__}: {failed}".split("\n")[0]


def load_tasks(specs: Sequence[Mapping[str, Any]], emit: Emit) -> Iterator[Task]:
    """Return the tasks whose data are there; of the others there is a row that says so."""
    for spec in specs:
        try:
            yield datasets.load(**spec)
        except DataNotFound as missing:
            emit({"task": spec["name"], "solver": "all", "note": str(missing)})


def enter(solvers: Sequence[Solver], task: Task, emit: Emit) -> list[Solver]:
    """Return the solvers that take part; the others leave a row with the reason.

    Each has solved a tiny problem by then, so that nothing is imported while it is timed.
    """
    entered = []
    for solver in solvers:
        reason = solver.missing() or solver.refuses(task)
        if reason is None:
            try:
                solver.grid(_tiny(task), [0.5], solver.tolerances[0])
            except Exception as failed:
                reason = said(failed)
        if reason is None:
            entered.append(solver)
        else:
            emit({"task": task.name, "solver": solver.name, "note": reason})
    return entered


def _tiny(task: Task) -> Task:
    """Return a task of the same kind that is solved at once."""
    tiny = quantiles(20, 2) if task.kind == "regression" else gaussian(20, 2)
    return replace(tiny, kernel=task.kernel, gamma=task.gamma, intercept=task.intercept)


def judged(
    objective: Objective, solver: Solver, taus: Sequence[float], answers: Sequence[Answer]
) -> dict[str, float]:
    """Return the worst of some of these answers: gap and KKT violation, excess loss.

    Of solvers of the linear programme there is the loss only, of classification there is none.
    """
    some = np.unique(np.linspace(0, len(taus) - 1, min(N_JUDGED, len(taus))).astype(int))
    found: dict[str, float] = {}
    if solver.minimises == "task":
        verdict = worst(objective.judge(taus[k], answers[k]) for k in some)
        found = {"gap": verdict.gap, "kkt": verdict.kkt}
    if objective.task.kind == "regression" and objective.task.kernel == "linear":
        losses = {taus[k]: _loss(objective, taus[k], answers[k]) for k in some}
        for tau, loss in losses.items():
            objective.note(tau, loss)
        found["excess"] = max(objective.excess(tau, loss) for tau, loss in losses.items())
    return found


def _loss(objective: Objective, tau: float, answer: Answer) -> float:
    return objective.loss(tau, objective.weights(tau, answer))


def climb(
    solver: Solver,
    objective: Objective,
    settings: Settings,
    wanted: float = 0.0,
    taus: Sequence[float] = FEW_TAUS,
) -> tuple[list[Rung], str]:
    """Set a solver tighter and tighter, until the gap is at most `wanted` or it takes too long.

    Returns the rungs, and why they end before the gap is as wanted, or "".
    """
    rungs: list[Rung] = []
    whole = solver.follows and len(solver.tolerances) == 1  # once for all τ, and never tighter
    most, task = np.inf if whole else 3.0 * settings.longest, objective.task
    for tolerance in solver.tolerances:
        watch = Stopwatch()
        try:
            if not rungs or rungs[-1].seconds * len(taus) > 0.2 * most:
                watch.time("one", solver.grid, task, [taus[len(taus) // 2]], tolerance)
                if watch.best("one") * (1 if solver.follows else len(taus)) > 3.0 * most:
                    return rungs, f"{watch.best('one'):.0f} s for one τ at {tolerance:g}"
            answers = watch.time("grid", solver.grid, task, list(taus), tolerance)
            verdict = judged(objective, solver, taus, answers)
        except Exception as failed:
            return rungs, said(failed)
        seconds = watch.best("grid")
        rungs.append(
            Rung(
                tolerance,
                seconds / len(taus),
                verdict.get("gap", np.nan),
                verdict.get("kkt", np.nan),
            )
        )
        if rungs[-1].gap <= wanted:
            return rungs, ""
        if seconds > most:
            return rungs, f"{seconds:.0f} s for {len(taus)} τ at tolerance {tolerance:g}"
    return rungs, "no tighter tolerance"


def pick(rungs: Sequence[Rung], accuracy: float) -> Rung | None:
    """Return the first rung that is good enough."""
    return next((rung for rung in rungs if rung.gap <= accuracy), None)


def grid_job(
    solver: Solver, task: Task, taus: Sequence[float], tolerance: float
) -> Callable[[], list[Answer]]:
    """Return the job to solve a grid."""
    return lambda: solver.grid(task, taus, tolerance)


def best_seconds(
    jobs: Mapping[Any, Callable[[], Any]], settings: Settings
) -> tuple[dict[Any, Any], dict[Any, float]]:
    """Run jobs in turn; return what each returned, and the best seconds of those that worked."""
    results, watch = rounds(jobs, settings.enough, settings.most_runs)
    done = [name for name, result in results.items() if not isinstance(result, Exception)]
    return results, {name: watch.best(name) for name in done}
