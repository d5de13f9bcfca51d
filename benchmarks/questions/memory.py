"""How much memory does it take? Each solver in a process of its own.

The peak is that of the whole process, Python and packages included; "grown by" is what the job
added to it after the data were there and a tiny problem was solved. taupath follows its path and
reads nine τ, the others solve these nine, as tight as a gap of 1e-6 asks, or at their tightest.
"""

import contextlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import solvers
from showing import Plot, Row, Table, find, left_out, solvers_in, unique
from trial import Emit, Settings, enter, load_tasks

from questions.grid import RBF, grid

TITLE = "Peak memory"
SOLVERS = ("taupath", "approximate", "liblinear", "linear_svc", "svc", "sgd")
SOLVERS += ("piqp", "clarabel", "daqp", "ppopt")
TASKS: tuple[dict[str, Any], ...] = (
    {"name": "gaussian", "n_samples": 40, "n_features": 3},
    {"name": "diabetes"},
    RBF,
    {"name": "gaussian", "n_samples": 16_000, "n_features": 20},
    {"name": "spam"},
)
TOLERANCE = 1e-6
SECONDS = 60.0


def measure(settings: Settings, emit: Emit) -> None:
    """Measure all tasks, in children; those who do not take a task need none."""
    for spec in TASKS[: 1 if settings.quick else None]:
        for task in load_tasks([spec], emit):
            for name in SOLVERS[:2] if settings.quick else SOLVERS:
                solver = solvers.load(name)
                reason = solver.missing() or solver.refuses(task)
                who = {"task": task.name, "solver": solver.name}
                emit({**who, "note": reason} if reason else {**who, **in_child(name, spec)})


def in_child(solver: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Return what one solver and one task take, measured in a process of their own."""
    command = [sys.executable, str(Path(__file__)), solver, json.dumps(spec)]
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
            env={**os.environ, "PYTHONPATH": path},
        )
    except subprocess.TimeoutExpired:
        return {"note": f"not done after {SECONDS:g} s"}
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
        return {"note": last[0]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def child(name: str, spec: dict[str, Any]) -> dict[str, Any]:
    """Solve, and return what this process has taken."""
    rows: list[dict[str, Any]] = []
    solver, task = solvers.load(name), datasets.load(**spec)
    if not enter([solver], task, rows.append):
        return {"note": rows[0]["note"]}
    tolerance = min(solver.tolerances, key=lambda each: abs(each - TOLERANCE))
    before = _forget_peak()
    solver.grid(task, grid(9), tolerance)
    return {"before": before, "peak": _peak()}


def _forget_peak() -> int:
    """Return the bytes of this process; where the system can do that, its peak begins anew here."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
    return _peak()


def _peak() -> int:
    """Return the most bytes that this process has had.

    Not by `getrusage` where there is another way: on Linux a new process takes over the peak of
    the one that has started it.
    """
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.is_file() else []
    peaks = [int(line.split()[1]) for line in lines if line.startswith("VmHWM:")]
    if peaks:
        return 1024 * peaks[0]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


# -- showing ---------------------------------------------------------------------------------------


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return MiB, the whole process and what the job added."""
    done = [row for row in rows if "peak" in row]
    names = solvers_in(done, SOLVERS)
    columns = [("solver", names)]
    for task in unique(done, "task"):
        here = [find(done, task=task, solver=who) for who in names]
        columns.append((f"{task}: peak", [_mib(row, "peak") for row in here]))
        columns.append(("grown by", [_mib(row, "before") for row in here]))
    return {"memory": Table("MiB of a process", columns, left_out(rows))}


def _mib(row: Row | None, what: str) -> str:
    if row is None:
        return "–"
    size = row["peak"] - (row["before"] if what == "before" else 0)
    return f"{size / 2**20:.1f}" if size < 10 * 2**20 else f"{size / 2**20:.0f}"


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return none."""
    return {}


if __name__ == "__main__":
    print(json.dumps(child(sys.argv[1], json.loads(sys.argv[2]))))
