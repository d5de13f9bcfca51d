"""Responses: labels as codes into the classes, or numbers."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from taupath.preparation.checked_json import take, take_number
from taupath.preparation.codes import codes_of
from taupath.tables import Table, TableError
from taupath.tables.cells import first_text, show_number
from taupath.tables.messages import listed, option, quoted

Label = str | int | float

# Pairs of labels, text in lower case, whose second one is positive by convention.
OPPOSITES: tuple[tuple[Label, Label], ...] = (
    (0, 1),
    (-1, 1),
    ("no", "yes"),
    ("n", "y"),
    ("false", "true"),
    ("f", "t"),
    ("negative", "positive"),
    ("neg", "pos"),
)
# If there are more different labels than this, and more than a fifth of the rows, they are not
# classes but identifiers or numbers to predict. Fractions are rarely classes: their limit is lower.
TOO_MANY = 50
TOO_MANY_FRACTIONS = 10


def learn_classes(
    values: np.ndarray, table: Table, target: str | None, positive: Label | None
) -> list[Label]:
    """Return the different labels in order, the positive one last.

    `values` are the labels in the column `target` of the table, or those of its matrix. `positive`
    is the class to put last if there are two, as text or as it is.
    """
    where = _where(table, target)
    classes = _distinct(values)
    if len(classes) == 1:
        raise TableError(
            f"{where}: all rows have the label {quoted(classes[0])}; there must be two"
        )
    fractions = any(isinstance(label, float) for label in classes)
    too_many = TOO_MANY_FRACTIONS if fractions else TOO_MANY
    if len(classes) > too_many and 5 * len(classes) > len(values):
        advice = (
            "is this an identifier?"
            if isinstance(classes[0], str)
            else "for numbers ask for --task regress"
        )
        raise TableError(f"{where}: {len(classes)} classes in {len(values)} rows; {advice}")
    if positive is None:
        return classes[::-1] if _opposites(classes[::-1]) else classes
    if len(classes) > 2:
        raise TableError(
            f"{where}: a positive class needs two classes, but there are {listed(classes)}"
        )
    wanted = np.array([positive if isinstance(positive, str) else repr(positive)], dtype=object)
    place = int(codes_of(wanted, classes)[0])
    if place < 0:
        raise TableError(f"{where}: there is no class {quoted(positive)}, only {listed(classes)}")
    return [classes[1 - place], classes[place]]


def why_positive(classes: Sequence[Label], asked: bool) -> str:
    """Return why the second of two classes is the positive one, and how to exchange them."""
    if asked:
        return "you asked for it"
    if _opposites(classes):
        return f"as opposed to {classes[0]}"
    rule = "the later label" if isinstance(classes[1], str) else "the larger label"
    return f"{rule}; {option('--positive', classes[0])} swaps them"


def _opposites(classes: Sequence[Label]) -> bool:
    """Return whether these are a pair of opposites in their order."""
    pair = tuple(label.lower() if isinstance(label, str) else label for label in classes)
    return pair in OPPOSITES


def codes(
    values: np.ndarray, table: Table, target: str | None, classes: Sequence[Label]
) -> np.ndarray:
    """Return the place of each label among the classes."""
    found = codes_of(values, classes)
    if found.size and found.min() < 0:
        row = int(np.argmin(found))
        label = quoted(values[row]) if values.dtype == object else show_number(values[row])
        known = listed(classes)
        table.fail(row, f"the label {label} is not one of the model's classes {known}", target)
    return found


def numbers(values: np.ndarray, table: Table, target: str | None) -> np.ndarray:
    """Return responses, which must be numbers."""
    if values.dtype == object:
        row, cell = first_text(values)
        message = f"{quoted(cell)} is not a number; for classes ask for --task classify"
        table.fail(row, message, target)
    return values


def is_known(values: np.ndarray, classes: Sequence[Label]) -> bool:
    """Return whether labels look real: one of them is a class, or they differ.

    A format that must have labels has the same placeholder in all rows to predict.
    """
    found = codes_of(values, classes)
    return bool((found >= 0).any()) or len(set(values.tolist())) > 1


def classes_from_state(value: Any) -> list[Label]:
    """Return classes from a state."""
    what = "the preparation's classes"
    classes = take(value, what, list)
    truths = all(isinstance(label, bool) for label in classes)
    for label in classes:
        if not isinstance(label, str) and not truths:
            take_number(label, f"{what}: a label")
    if len({isinstance(label, str) for label in classes}) > 1:
        raise ValueError(f"{what} must be all text or all numbers")
    if len(classes) < 2 or len(set(classes)) < len(classes):
        raise ValueError(f"{what} must be two or more different labels")
    return list(classes)


def _distinct(values: np.ndarray) -> list[Label]:
    """Return the different labels in order, whole numbers as int."""
    if values.dtype == object:
        return sorted(set(values))
    return [
        int(value) if value.is_integer() and abs(value) <= 2**53 else value
        for value in np.unique(values).tolist()
    ]


def _where(table: Table, target: str | None) -> str:
    return table.source if target is None else f"{table.source}, column {quoted(target)}"
