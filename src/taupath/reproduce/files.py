"""Files of a reproduction: tables and figures, each written whole or not at all."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from taupath.atomic_files import replacing
from taupath.display.drawing import check_matplotlib
from taupath.tables import write_table

# Enough for a page, and small files.
DPI = 110


def write_csv(file: Path, head: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write a table; numbers have all their digits, None is an empty cell."""
    file.parent.mkdir(parents=True, exist_ok=True)
    columns = (np.array(cells, dtype=object) for cells in zip(*rows, strict=True))
    write_table(file, dict(zip(head, columns, strict=True)))


def new_figure(who: str, size: tuple[float, float]) -> Any:
    """Return an empty figure that belongs to no window; an `ImportError` without matplotlib."""
    check_matplotlib(who)
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained")


def save_figure(figure: Any, file: Path) -> None:
    """Write a figure as PNG; the same figure makes the same bytes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with replacing(file) as stream:
        figure.savefig(stream, format="png", dpi=DPI)
