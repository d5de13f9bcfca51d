"""Labels of classes, which may be numbers, truth values or text."""

from typing import Any

import numpy as np

from taupath.exceptions import ModelFileError
from taupath.storage.budget import CHARACTER, Budget

_KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "S": bytes}
# Longest name of a dtype: that of text has its length in it.
LONGEST_DTYPE = 24
# Longest label. Predictions have the longest one for every sample.
LONGEST_LABEL = 1 << 16


def pack_labels(labels: np.ndarray) -> dict[str, Any]:
    """Return labels as JSON can hold them."""
    values = labels.tolist()
    kind = labels.dtype.kind
    expected = type(values[0]) if kind == "O" and values else _KINDS.get(kind, str)
    right = expected in _KINDS.values() and all(type(value) is expected for value in values)
    if not right or (kind == "O" and expected is bytes):
        raise ValueError(
            f"labels of dtype {labels.dtype} cannot be stored in a model file; "
            "use numbers or strings"
        )
    if expected in (str, bytes) and max(map(len, values), default=0) > LONGEST_LABEL:
        raise ValueError(f"a label of more than {LONGEST_LABEL} characters cannot be stored")
    if expected is bytes:  # as text, a character for each byte
        values = [value.decode("latin-1") for value in values]
    return {"dtype": "O" if kind == "O" else labels.dtype.str, "values": values}


def unpack_labels(found: Any, budget: Budget) -> np.ndarray:
    """Return the labels of a description, all different."""
    values, name = (found.get("values"), found.get("dtype")) if isinstance(found, dict) else (0, 0)
    if not isinstance(values, list) or not isinstance(name, str) or len(name) > LONGEST_DTYPE:
        raise ModelFileError("the labels of the classes are missing")
    try:
        dtype = np.dtype(name)
    except (TypeError, ValueError, SyntaxError):
        raise ModelFileError(f"labels cannot be of type {name!r}") from None
    kind = dtype.kind
    expected = _KINDS.get(kind, type(values[0]) if kind == "O" and values else str)
    expected = str if expected is bytes else expected
    right = kind in (*_KINDS, "O") and expected in _KINDS.values()
    if not right or not all(type(value) is expected for value in values):
        raise ModelFileError("the labels of the classes are of another type than they should be")
    if len(set(values)) < len(values):
        raise ModelFileError("two classes have the same label")
    longest = max(map(len, values), default=0) if expected is str else 1
    if longest > LONGEST_LABEL:
        raise ModelFileError(f"a label has more than {LONGEST_LABEL} characters")
    budget.take(2.0 * len(values) * longest * max(CHARACTER, 8 if longest == 1 else 0), "labels")
    if kind == "U":  # as wide as the longest label, not as the file says
        return np.array(values, dtype=str)
    if kind == "S":
        return np.array([value.encode("latin-1") for value in values], dtype=bytes)
    labels = np.empty(len(values), dtype=dtype)
    labels[:] = values
    return labels


def unpack_classes(found: Any, budget: Budget) -> np.ndarray:
    """Return the labels of classes: at least two, in order."""
    classes = unpack_labels(found, budget)
    values = classes.tolist()
    if len(values) < 2 or values != sorted(values):
        raise ModelFileError("there are fewer than two classes, or they are not in order")
    return classes


def unpack_positive(found: dict[str, Any], classes: np.ndarray) -> Any:
    """Return the positive one of two classes."""
    positive = found["positive"]
    if type(positive) is not int or positive not in (0, 1):
        raise ModelFileError(f"{positive!r:.60} is not the place of one of two classes")
    return classes.tolist()[positive]
