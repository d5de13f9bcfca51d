"""Finding the values of a column among known ones."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from taupath.tables.cells import parse_number

__all__ = ["codes_of"]


def codes_of(values: np.ndarray, known: Sequence[str | int | float]) -> np.ndarray:
    """Return the place of each value among the known ones, -1 where it is not there.

    A column of text is read as numbers if only those of its cells are there that look like them.
    So what is not found as it is written is looked up by its number, unless several known values
    have that number.

    Parameters
    ----------
    values : ndarray of shape (n_rows,)
        Numbers in float64, or objects of type str.
    known : sequence of str, int or float
        Different values.
    """
    by_number = _by_number(known)
    if values.dtype != object:
        distinct, inverse = np.unique(values, return_inverse=True)
        codes = [by_number.get(value, -1) for value in distinct.tolist()]
        return np.array(codes, dtype=np.intp)[inverse]
    place = {value: code for code, value in enumerate(known) if isinstance(value, str)}
    for cell in set(values) - place.keys():
        number = parse_number(cell)
        place[cell] = -1 if number is None else by_number.get(number, -1)
    return np.fromiter((place[cell] for cell in values), dtype=np.intp, count=len(values))


def _by_number(known: Sequence[str | int | float]) -> dict[float, int]:
    """Return the places of those that are numbers no other one is."""
    numbers = [parse_number(value) if isinstance(value, str) else float(value) for value in known]
    times = Counter(numbers)
    return {
        number: code
        for code, number in enumerate(numbers)
        if number is not None and times[number] == 1
    }
