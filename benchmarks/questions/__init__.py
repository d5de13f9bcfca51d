"""The questions of the benchmarks, a file for each.

A question has `TITLE`, `SOLVERS` (names of files), `measure(settings, emit)`, which hands over row
after row, `tables(rows)` and `plots(rows)`, both by name.
"""

from importlib import import_module
from types import ModuleType

__all__ = ["MORE", "NAMES", "load"]

NAMES = ("table2", "path", "grid", "accuracy", "growth", "memory", "regression", "quality")
NAMES += ("decisions", "probability_intervals", "operating", "quantiles")
# Asked only by name: the documentation quotes their numbers, but does not show their tables.
MORE = ("probability", "regularization")


def load(name: str) -> ModuleType:
    """Return a question by the name of its file."""
    if name not in NAMES + MORE:
        raise ValueError(f"there is no question {name!r}; there are {', '.join(NAMES + MORE)}")
    return import_module(f"questions.{name}")
