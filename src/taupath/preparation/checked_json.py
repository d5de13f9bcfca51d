"""JSON values from a file that may be damaged or malicious: each is returned, or refused."""

import math
from typing import Any


def take_dict(value: Any, what: str, keys: set[str]) -> dict[str, Any]:
    """Return a value that must be a dict with exactly these keys."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a dict, not {_kind(value)}")
    if value.keys() != keys:
        wrong = sorted(map(repr, value.keys() ^ keys))
        raise ValueError(f"{what} has members too many or too few: {', '.join(wrong[:5])}")
    return value


def take_kind(value: Any, what: str, kinds: tuple[str, ...]) -> str:
    """Return the member "kind" of a value that must be a dict with one of these kinds."""
    if not isinstance(value, dict):
        raise ValueError(f"{what} must be a dict, not {_kind(value)}")
    if "kind" not in value:
        raise ValueError(f"{what}: there is no 'kind'")
    return take_choice(value["kind"], f"{what}: kind", kinds)


def take_list(value: Any, what: str) -> list[Any]:
    """Return a value that must be a list."""
    if not isinstance(value, list):
        raise ValueError(f"{what} must be a list, not {_kind(value)}")
    return value


def take_text(value: Any, what: str) -> str:
    """Return a value that must be a str."""
    if not isinstance(value, str):
        raise ValueError(f"{what} must be text, not {_kind(value)}")
    return value


def take_choice(value: Any, what: str, choices: tuple[str, ...]) -> str:
    """Return a value that must be one of some texts."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{what} must be one of {', '.join(choices)}; got {value!r:.60}")
    return value


def take_texts(value: Any, what: str) -> list[str]:
    """Return a value that must be a list of different texts."""
    texts = [take_text(item, f"{what}: a member") for item in take_list(value, what)]
    if len(set(texts)) < len(texts):
        raise ValueError(f"{what}: a text comes twice")
    return texts


def take_bool(value: Any, what: str) -> bool:
    """Return a value that must be a bool."""
    if not isinstance(value, bool):
        raise ValueError(f"{what} must be true or false, not {_kind(value)}")
    return value


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
    numbers = take_list(value, what)
    if len(numbers) != length:
        raise ValueError(f"{what} must have {length} numbers, not {len(numbers)}")
    return [take_number(number, f"{what}: a member", positive=positive) for number in numbers]


def _kind(value: Any) -> str:
    return "null" if value is None else type(value).__name__
