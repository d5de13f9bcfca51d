"""The tables of the folder ``regression``: the last column is y, letters become columns of 0 and 1.

Left out are `low` of birthwt, which is made from y, and the row numbers of crabs.
"""

import csv
import os
from pathlib import Path

import numpy as np
from task import Task

from taupath.datasets import ENVIRONMENT_VARIABLE, DataNotFound

LEFT_OUT = {"birthwt": ("low",), "crabs": ("index",)}
CATEGORIES = {"birthwt": ("race",), "crabs": ("sp", "sex")}


def read_table(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of a table; `folder` is the one that holds the folder ``regression``."""
    with open(folder / "regression" / f"{name}.csv", newline="") as file:
        head, *lines = csv.reader(file)
    columns = dict(zip(head, zip(*lines, strict=True), strict=True))
    y = np.array(columns.pop(head[-1]), dtype=np.float64)
    features = []
    for column, cells in columns.items():
        if column in LEFT_OUT.get(name, ()):
            continue
        if column in CATEGORIES.get(name, ()):
            values = sorted(set(cells))[1:]
            features += [[float(cell == value) for cell in cells] for value in values]
        else:
            features.append([float(cell) for cell in cells])
    return np.column_stack(features), y


def regression_task(name: str, C: float) -> Task:
    """Return quantile regression with a free intercept on a table, standardised with its y."""
    folder = Path(os.environ.get(ENVIRONMENT_VARIABLE, ""))
    try:
        X, y = read_table(name, folder)
    except FileNotFoundError as missing:
        raise DataNotFound(
            f"the file {missing.filename} is missing: set {ENVIRONMENT_VARIABLE} to the folder "
            "that holds the data"
        ) from None
    X, y = ((values - values.mean(axis=0)) / values.std(axis=0) for values in (X, y))
    title = f"{name} {X.shape[0]} × {X.shape[1]}"
    return Task(title, "regression", X, y, C, intercept="free")
