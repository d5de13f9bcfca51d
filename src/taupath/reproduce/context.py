"""What every part of a reproduction gets: data, a folder for its files, and where to print."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from taupath.atomic_files import replacing
from taupath.datasets import PaperData, PathLike
from taupath.reproduce.paper_data import load_available
from taupath.tables import write_table

# Enough for a page, and small files.
DPI = 110


@dataclass(frozen=True)
class Check:
    """A statement of the paper beside what was measured."""

    statement: str
    measured: str
    verdict: str  # "agrees", "mostly" or "differs"

    @classmethod
    def that(cls, statement: str, measured: str, holds: bool) -> Self:
        """Return a check that holds or does not."""
        return cls(statement, measured, "agrees" if holds else "differs")


@dataclass(frozen=True)
class Context:
    """Where the data are, where files go, and where lines are printed."""

    data: PathLike | None  # None: the folder named by TAUPATH_DATA
    output: Path
    say: Callable[[str], None]

    @cached_property
    def sets(self) -> list[PaperData]:
        """The paper's data sets that are available, read once."""
        return load_available(self.data, self.say)

    def say_all(self, lines: Sequence[str]) -> None:
        """Print several lines and an empty one."""
        for line in (*lines, ""):
            self.say(line)

    def say_checks(self, checks: Sequence[Check]) -> None:
        """Print what the paper states and what was measured."""
        for check in checks:
            self.say(f"{check.verdict:<11}  the paper: {check.statement}")
            self.say(f"{'':<11}  here: {check.measured}")
        self.say("")

    def write(
        self, name: str, head: Sequence[str], rows: Iterable[Sequence[Any]], figure: Any
    ) -> None:
        """Write a table, ``name.csv``, and a figure, ``name.png``."""
        write_csv(self.output / f"{name}.csv", head, rows)
        with replacing(self.output / f"{name}.png") as stream:
            figure.savefig(stream, format="png", dpi=DPI)


def write_csv(file: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; numbers have all their digits, None is an empty cell."""
    columns = (np.array(cells, dtype=object) for cells in zip(*rows, strict=True))
    write_table(file, dict(zip(head, columns, strict=True)))


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure that belongs to no window; sizes are in inches."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")
