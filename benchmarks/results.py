"""Results of a question: rows, with the machine that they are from, in one JSON file."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np

from taupath.atomic_files import replacing

__all__ = ["Results"]


class Results:
    """Rows that are written to a file whenever there is a new one.

    Parameters
    ----------
    file : Path
        Where they are written; its folder is made if need be.
    title : str
        What was asked.
    machine : dict
        Processor and versions.
    quick : bool
        Whether sizes were tiny, so that the figures mean nothing.

    Attributes
    ----------
    seconds : float or None
        What it all took; None as long as it is not finished.
    """

    def __init__(self, file: Path, title: str, machine: dict[str, str], quick: bool) -> None:
        self.file, self.title, self.machine, self.quick = file, title, machine, quick
        self.rows: list[dict[str, Any]] = []
        self.seconds: float | None = None

    def add(self, row: dict[str, Any]) -> None:
        """Add a row and write."""
        self.rows.append({key: _plain(value) for key, value in row.items()})
        self.write()

    def keep_splits(self) -> None:
        """Take over the rows of splits from the file, if it has the same machine and versions."""
        if not self.file.is_file():
            return
        found = Results.read(self.file)
        if (found.machine, found.quick) == (self.machine, self.quick):
            self.rows = [row for row in found.rows if "split" in row and "seconds" in row]

    def finish(self, seconds: float) -> None:
        """Say that this was all, and write."""
        self.seconds = seconds
        self.write()

    def write(self) -> None:
        """Write the file, one row a line."""
        head = {
            "title": self.title,
            "quick": self.quick,
            "seconds": self.seconds,
            "machine": self.machine,
        }
        lines = [json.dumps(head, indent=1, ensure_ascii=False)[:-2] + ',\n "rows": [']
        lines.append(",\n".join("  " + json.dumps(row, ensure_ascii=False) for row in self.rows))
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(self.file, "w", encoding="utf-8") as stream:
            stream.write("\n".join([*lines, " ]\n}\n"]))

    @classmethod
    def read(cls, file: Path) -> "Results":
        """Return what a file holds."""
        found = json.loads(file.read_text("utf-8"))
        results = cls(file, found["title"], found["machine"], found["quick"])
        results.rows, results.seconds = found["rows"], found["seconds"]
        return results


def _plain(value: Any) -> Any:
    """Return what JSON knows: NumPy's numbers as Python's, and None for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
