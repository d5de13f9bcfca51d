"""Finding the values of a column among known ones."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from taupath.tables.cells import TRUTH, parse_number


def codes_of(values: np.ndarray, known: Sequence[str | int | float]) -> np.ndarray:
    """Return the place of each value among the known ones, -1 if it is not there.

    `values` are numbers in float64, or objects of type str. A column that was text in training may
    be read as numbers if all its cells happen to be numbers. So a value that is not found as it is
    written is looked up by its number, unless several known values have that number. If all known
    values are truth values, 1 is true and 0 is false.
    """
    truths = all(_number(value, True) in (0.0, 1.0) for value in known)
    by_number = _by_number(known, truths)
    if values.dtype != object:
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = [by_number.get(value, -1) for value in distinct.tolist()]
        return np.array(codes, dtype=np.intp)[inverse]
    place = {value: code for code, value in enumerate(known) if isinstance(value, str)}
    for cell in set(values) - place.keys():
        number = _number(cell, truths)
        place[cell] = -1 if number is None else by_number.get(number, -1)
    return np.fromiter((place[cell] for cell in values), dtype=np.intp, count=len(values))


def _number(value: str | int | float, truths: bool) -> float | None:
    """Return the number that a value is or writes, with `truths` also true and false, or None."""
    if not isinstance(value, str):
        return float(value)
    number = parse_number(value)
    return TRUTH.get(value.lower()) if number is None and truths else number


def _by_number(known: Sequence[str | int | float], truths: bool) -> dict[float, int]:
    """Return the places of values by their numbers, unless two have the same number."""
    numbers = [_number(value, truths) for value in known]
    times = Counter(numbers)
    return {
        number: code
        for code, number in enumerate(numbers)
        if number is not None and times[number] == 1
    }
