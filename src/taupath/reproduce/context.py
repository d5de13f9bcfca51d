"""What every part of a reproduction is given: data, a folder for its files, and where to print."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Self

from taupath.datasets import PaperData, PathLike
from taupath.reproduce.paper_data import load_available


@dataclass(frozen=True)
class Check:
    """A statement of the paper beside what was measured.

    Attributes
    ----------
    statement : str
        What the paper says, in a few words.
    measured : str
        What was found here, with its numbers.
    verdict : {"agrees", "in the main", "differs"}
        How well the one agrees with the other.
    """

    statement: str
    measured: str
    verdict: str

    @classmethod
    def that(cls, statement: str, measured: str, holds: bool) -> Self:
        """Return a check that holds or does not."""
        return cls(statement, measured, "agrees" if holds else "differs")


@dataclass(frozen=True)
class Context:
    """Where the data are, where files go, and where lines are printed.

    Attributes
    ----------
    data : path or None
        Folder with the data; None for the one named by ``TAUPATH_DATA``.
    output : Path
        Folder for pictures and tables.
    say : callable
        Gets every line of the printed report.
    """

    data: PathLike | None
    output: Path
    say: Callable[[str], None]

    @cached_property
    def sets(self) -> list[PaperData]:
        """The available ones of the paper's data sets, read once."""
        return load_available(self.data, self.say)

    def say_all(self, lines: Sequence[str]) -> None:
        """Print several lines and an empty one."""
        for line in (*lines, ""):
            self.say(line)

    def say_checks(self, checks: Sequence[Check]) -> None:
        """Print what the paper states and what was measured."""
        self.say_all(
            [
                line
                for check in checks
                for line in (
                    f"{check.verdict:<11}  the paper: {check.statement}",
                    f"{'':<11}  here: {check.measured}",
                )
            ]
        )
