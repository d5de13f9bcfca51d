"""Checks of JSON values from a file that may be damaged or malicious."""

import math
from typing import Any, TypeVar

T = TypeVar("T")
# What messages call the types that a value must have.
_CALLED = {dict: "a dict", list: "a list", str: "text", bool: "true or false"}


def take(value: Any, what: str, kind: type[T]) -> T:
    """Return a value that must be a dict, a list, a str or a bool."""
    if not isinstance(value, kind):
        raise ValueError(f"{what} must be {_CALLED[kind]}, not {_kind(value)}")
    return value


def take_dict(value: Any, what: str, keys: set[str]) -> dict[str, Any]:
    """Return a value that must be a dict with exactly these keys."""
    found = take(value, what, dict)
    if found.keys() != keys:
        wrong = sorted(map(repr, found.keys() ^ keys))
        raise ValueError(f"{what} has missing or unexpected members: {', '.join(wrong[:5])}")
    return found


def take_kind(value: Any, what: str, kinds: tuple[str, ...]) -> str:
    """Return the member "kind" of a value that must be a dict with one of these kinds."""
    if "kind" not in take(value, what, dict):
        raise ValueError(f"{what}: there is no 'kind'")
    return take_choice(value["kind"], f"{what}: kind", kinds)


def take_choice(value: Any, what: str, choices: tuple[str, ...]) -> str:
    """Return a value that must be one of some texts."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}; got {value!r:.60}")
    return value


def take_texts(value: Any, what: str) -> list[str]:
    """Return a value that must be a list of different texts."""
    texts = [take(item, f"{what}: a member", str) for item in take(value, what, list)]
    if len(set(texts)) < len(texts):
        raise ValueError(f"{what}: a text comes twice")
    return texts


def take_whole(value: Any, what: str, low: int, high: int) -> int:
    """Return a value that must be an int between bounds."""
    if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
        raise ValueError(f"{what} must be a whole number from {low} to {high}; got {value!r:.60}")
    return value


def take_number(value: Any, what: str, *, positive: bool = False) -> float:
    """Return a value that must be a finite number, with `positive` above zero."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{what} must be a number, not {_kind(value)}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number) or (positive and number <= 0):
        raise ValueError(f"{what} must be finite{' and above zero' * positive}; got {number!r}")
    return number


def take_numbers(value: Any, what: str, length: int, *, positive: bool = False) -> list[float]:
    """Return a value that must be a list of `length` finite numbers."""
    numbers = take(value, what, list)
    if len(numbers) != length:
        raise ValueError(f"{what} must have {length} numbers, not {len(numbers)}")
    return [take_number(number, f"{what}: a member", positive=positive) for number in numbers]


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
