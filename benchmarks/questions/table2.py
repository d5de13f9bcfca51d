"""The paper's Table 2: a whole path beside one LIBLINEAR run; see `taupath.reproduce.timing`."""

from dataclasses import asdict

from common import error, number
from showing import Plot, Row, Table
from trial import Emit, Settings

from taupath.datasets import PAPER_NAMES, DataNotFound, load_paper
from taupath.reproduce.table2 import measure as measure_row
from taupath.reproduce.timing import PAPER_TIMES, ratios

TITLE = "The paper's Table 2"
SOLVERS = ("taupath", "liblinear")


def measure(settings: Settings, emit: Emit) -> None:
    """Measure the three sets, or diabetes alone."""
    for name in PAPER_NAMES[: 1 if settings.quick else None]:
        try:
            data = load_paper(name)
        except DataNotFound as missing:
            emit({"task": name, "solver": "all", "note": str(missing)})
            continue
        whole = name == "diabetes" and not settings.quick
        row = measure_row(data, 1 if settings.quick else None, "whole" if whole else "skip")
        emit({"task": name, **asdict(row), "ratios": ratios(row)})


def tables(rows: list[Row]) -> dict[str, Table]:
    """Return seconds, multiples of one LIBLINEAR run, and gaps."""
    rows = [row for row in rows if "path" in row]
    papers = [PAPER_TIMES[row["task"]] for row in rows]
    columns = [
        ("data", [row["task"] for row in rows]),
        ("n × d", [f"{row['n_samples']} × {row['n_features']}" for row in rows]),
        ("kinks", [str(row["kinks"]) for row in rows]),
        ("whole path, s", [number(row["path"]) for row in rows]),
        ("one LIBLINEAR run, s", [number(row["liblinear"]) for row in rows]),
        ("path / run", [number(row["ratios"]["path"]) for row in rows]),
        ("the paper's", [number(ratios(paper)["path"]) for paper in papers]),
        ("one τ off the path / run", [number(row["ratios"]["recover"]) for row in rows]),
        ("gap of the path", [error(row["path_gap"]) for row in rows]),
        ("of LIBLINEAR", [error(row["liblinear_gap"]) for row in rows]),
    ]
    return {"table2": Table("A whole path beside one LIBLINEAR run", columns)}


def plots(rows: list[Row]) -> dict[str, Plot]:
    """Return none: three points are no curve."""
    return {}
