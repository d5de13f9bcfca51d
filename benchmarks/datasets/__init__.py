"""The data sets of the benchmarks, a file for each; every one returns a `Task`."""

from importlib import import_module
from typing import Any

from task import Task

__all__ = ["NAMES", "load"]

NAMES = ("diabetes", "spam", "splice", "a1a", "a9a", "gaussian", "engel", "boston", "quantiles")


def load(name: str, **settings: Any) -> Task:
    """Return a task by the name of its file; settings are those of its function `load`.

    Raises
    ------
    ValueError
        If there is no such file.
    DataNotFound
        If its data are not there.
    """
    if name not in NAMES:
        raise ValueError(f"there is no data set {name!r}; there are {', '.join(NAMES)}")
    return import_module(f"datasets.{name}").load(**settings)
