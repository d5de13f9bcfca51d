"""The paper's Table 2: times for recovering, solving and walking, and numbers of kinks."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from taupath.display.drawing import GREY, PALETTE
from taupath.reproduce.algorithm1 import Algorithm1
from taupath.reproduce.context import Context, new_figure
from taupath.reproduce.measuring import machine
from taupath.reproduce.peers import TAUS
from taupath.reproduce.text_tables import error, number, table, work_columns
from taupath.reproduce.timing import N_JUDGED, PAPER_TIMES, Row, measure, ratios

PACKAGES = ("numpy", "scipy", "scikit-learn", "taupath", "liblinear-official")
NOT_INSTALLED = "not installed"


def reproduce(context: Context) -> list[Row]:
    """Measure all sets in one thread; print, write table2.csv and table2.png."""
    rows = []
    with threadpool_limits(limits=1):
        for data in context.sets:
            context.say(f"measuring {data.name} ...")
            rows.append(measure(data))
        about = machine(*PACKAGES)
    context.say("")
    context.say_all(report(rows, about))
    figure = new_figure(8.0, 3.6)
    _draw(figure.subplots(), rows)
    head = ["data", "quantity", "measured", "times LIBLINEAR", "paper", "paper, times LIBLINEAR"]
    context.write("table2", head, [line for row in rows for line in _csv_lines(row)], figure)
    return rows


def report(rows: Sequence[Row], about: dict[str, str]) -> list[str]:
    """Return the lines of the printed report."""
    names = ("data", [row.name for row in rows])
    papers = [PAPER_TIMES[row.name] for row in rows]
    runs = ", ".join(f"{row.name} {row.runs}" for row in rows)
    seconds = [
        names,
        ("n", [str(row.n_samples) for row in rows]),
        ("d", [str(row.n_features) for row in rows]),
        ("λ", [f"{row.lam:g}" for row in rows]),
        ("path", [number(row.path) for row in rows]),
        ("Algorithm 1", [_algorithm1(row.algorithm1) for row in rows]),
        ("(paper)", [f"({number(paper.path)})" for paper in papers]),
        ("recover", [number(row.recover) for row in rows]),
        ("(paper)", [f"({number(paper.recover)})" for paper in papers]),
        ("LIBLINEAR", [_liblinear(row.liblinear, number) for row in rows]),
        ("(paper)", [f"({number(paper.liblinear)})" for paper in papers]),
        ("L-BFGS-B", [number(row.lbfgsb) for row in rows]),
        ("(paper)", [f"({number(paper.lbfgsb)})" for paper in papers]),
    ]
    ours, theirs = [ratios(row) for row in rows], [ratios(paper) for paper in papers]
    multiples: list[tuple[str, list[str]]] = [names]
    heads = ("path", "Algorithm 1", "recover", "L-BFGS-B")
    for head, job in zip(heads, ("path", "algorithm1", "recover", "lbfgsb"), strict=True):
        cells = [
            number(our[job]) if row.liblinear else NOT_INSTALLED
            for row, our in zip(rows, ours, strict=True)
        ]
        multiples.append((head, cells))
        multiples.append(("(paper)", [f"({number(paper[job])})" for paper in theirs]))
    errors = [
        names,
        ("path", [error(row.path_gap) for row in rows]),
        ("its KKT violation", [error(row.path_kkt) for row in rows]),
        ("LIBLINEAR", [_liblinear(row.liblinear_gap, error) for row in rows]),
        ("L-BFGS-B", [error(row.lbfgsb_gap) for row in rows]),
        ("Algorithm 1", [error(row.algorithm1.gap) for row in rows]),
    ]
    walks = [
        names,
        ("kinks", [str(row.kinks) for row in rows]),
        ("(paper)", [f"({paper.kinks})" for paper in papers]),
        ("per sample", [f"{row.kinks / row.n_samples:.2f}" for row in rows]),
        ("(paper)", [f"({paper.kinks / paper.n_samples:.2f})" for paper in papers]),
        ("Algorithm 1", [str(row.algorithm1.n_kinks or "-") for row in rows]),
        *work_columns([row.work for row in rows]),
    ]
    judged = f"the path at {N_JUDGED} kinks and midpoints, the others at τ = 0.1, ..., 0.9"
    threads = about.get("threads", "?")
    return [
        *table(f"CPU seconds, threads: {threads}, best of several runs ({runs})", seconds),
        "",
        *table("Multiples of one LIBLINEAR run (in brackets the paper's)", multiples),
        "",
        *table(f"Worst relative duality gap: {judged}", errors),
        "",
        *table("Kinks and work (in brackets the paper's)", walks),
        "",
        *(note for row in rows for note in _notes(row)),
        ", ".join(f"{name} {value}" for name, value in about.items()),
    ]


def as_json(rows: Sequence[Row], about: dict[str, str]) -> str:
    """Return the rows, each with its ratios and the paper's row, and the machine."""
    everything = [
        {
            **asdict(row),
            "ratios": ratios(row),
            "paper": {**asdict(PAPER_TIMES[row.name]), "ratios": ratios(PAPER_TIMES[row.name])},
        }
        for row in rows
    ]
    return json.dumps({"rows": everything, "machine": about}, indent=2)


def _algorithm1(found: Algorithm1) -> str:
    guessed = found.seconds is None and found.estimate is not None
    return ("≈ " if guessed else "") + number(found.best_guess)


def _liblinear(value: float | None, write: Callable[[float], str]) -> str:
    """Write what LIBLINEAR took or found, or that it is not there."""
    return NOT_INSTALLED if value is None else write(value)


def _estimate(found: Algorithm1) -> str:
    return f"{number(found.estimate)} ± {number(found.uncertainty)} s"


def _notes(row: Row) -> list[str]:
    """Return notes on seconds that were not measured as the title of the table says."""
    found, about = row.algorithm1, f"Algorithm 1 on {row.name}"
    parts = f"parts with {found.walked} of {row.kinks} kinks, spread evenly over the path"
    notes = []
    if len(row.lbfgsb_taus) < len(TAUS):
        some = ", ".join(f"{tau:g}" for tau in row.lbfgsb_taus)
        notes.append(f"L-BFGS-B on {row.name}: averaged over τ = {some} only, it takes long")
    if found.stalled:
        notes.append(f"{about}: {found.stalled}")
    if found.seconds is not None and found.estimate is not None:
        notes.append(f"{about}: walked to the end; by {parts}, it would be ≈ {_estimate(found)}")
    elif found.estimate is not None:
        notes.append(f"{about}: ≈ {_estimate(found)}, extrapolated from {parts}")
    return notes


def _csv_lines(row: Row) -> list[list[Any]]:
    paper, found = PAPER_TIMES[row.name], row.algorithm1
    our, theirs = ratios(row), ratios(paper)
    algorithm1 = "Algorithm 1, seconds" + ", extrapolated" * (found.seconds is None)
    one = None if row.liblinear is None else 1.0
    lines: list[list[Any]] = [
        ["recover, seconds", row.recover, our["recover"], paper.recover, theirs["recover"]],
        ["LIBLINEAR, seconds", row.liblinear, one, paper.liblinear, 1.0],
        ["L-BFGS-B, seconds", row.lbfgsb, our["lbfgsb"], paper.lbfgsb, theirs["lbfgsb"]],
        [algorithm1, found.best_guess, our["algorithm1"], paper.path, theirs["path"]],
        ["path, seconds", row.path, our["path"], None, None],
        ["kinks", row.kinks, None, paper.kinks, None],
        ["kinks of Algorithm 1", found.n_kinks, None, paper.kinks, None],
        ["worst relative gap of the path", row.path_gap, None, None, None],
    ]
    return [[row.name, *line] for line in lines]


def _draw(ax: Any, rows: Sequence[Row]) -> None:
    """Draw seconds, ours and the paper's, one group for each set."""
    papers = [PAPER_TIMES[row.name] for row in rows]
    walks = [row.algorithm1.best_guess for row in rows]
    groups: list[tuple[str, list[float | None], Sequence[float | None]]] = [
        ("LIBLINEAR, one τ", [row.liblinear for row in rows], [p.liblinear for p in papers]),
        ("L-BFGS-B, one τ", [row.lbfgsb for row in rows], [p.lbfgsb for p in papers]),
        ("recover one τ", [row.recover for row in rows], [p.recover for p in papers]),
        ("Algorithm 1, whole path", walks, [p.path for p in papers]),
        ("taupath, whole path", [row.path for row in rows], [None] * len(rows)),
    ]
    step = len(groups) + 1.5
    first = step * np.arange(len(rows))
    for k, (label, here, there) in enumerate(groups):
        ax.bar(first + k, np.array(here, dtype=float), width=0.8, color=PALETTE[k], label=label)
        ax.plot(first + k, np.array(there, dtype=float), "D", color=GREY, markersize=5)
    ax.plot([], [], "D", color=GREY, markersize=5, label="the paper, 2009")
    ax.set(yscale="log", ylabel="CPU seconds")
    ax.set_xticks(first + 0.5 * (len(groups) - 1), [row.name for row in rows])
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
