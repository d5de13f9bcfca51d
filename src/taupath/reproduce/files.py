"""Files of a reproduction: written under another name first, so that none is ever half there."""

import csv
import io
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from taupath.display.drawing import check_matplotlib

__all__ = ["new_figure", "save_figure", "write_csv"]

# Enough for a page, and small files.
DPI = 110
# Temporary files are their owner's only; the finished one is for everybody to read.
READABLE = 0o644


def write_csv(file: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; numbers have all their digits, None is an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_plain(value) for value in row] for row in rows)
    _write(file, lambda stream: stream.write(text.getvalue().encode()))


def new_figure(who: str, size: tuple[float, float]) -> Any:
    """Return an empty figure that belongs to no window.

    Raises
    ------
    ImportError
        Without matplotlib; the message says what to install.
    """
    check_matplotlib(who)
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save_figure(figure: Any, file: Path) -> None:
    """Write a figure as PNG; the same figure makes the same bytes."""
    _write(file, lambda stream: figure.savefig(stream, format="png", dpi=DPI))


def _plain(value: Any) -> Any:
    """Return NumPy's numbers as Python's, which the csv module writes in full."""
    return value.item() if isinstance(value, np.generic) else value


def _write(file: Path, write: Callable[[IO[bytes]], Any]) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            write(stream)
        os.chmod(name, READABLE)
        os.replace(name, file)
    except BaseException:
        os.unlink(name)
        raise
