"""Labels of classes, which may be numbers, truth values or text."""

from typing import Any

import numpy as np

from taupath.exceptions import ModelFileError

_KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}


def pack_labels(labels: np.ndarray) -> dict[str, Any]:
    """Return labels as JSON can hold them."""
    values = labels.tolist()
    kind = labels.dtype.kind
    if kind not in _KINDS or not all(type(value) is _KINDS[kind] for value in values):
        raise ValueError(
            f"labels of dtype {labels.dtype} cannot be stored in a model file; "
            "use numbers or strings"
        )
    return {"dtype": "O" if kind == "O" else labels.dtype.str, "values": values}


def unpack_labels(found: Any) -> np.ndarray:
    """Return the labels of a description, all different."""
    try:
        values, dtype = found["values"], np.dtype(found["dtype"])
        expected = _KINDS[dtype.kind]
        right = isinstance(values, list) and all(type(value) is expected for value in values)
    except (TypeError, KeyError, ValueError):
        right = False
    if not right or len(set(values)) < len(values):
        raise ModelFileError("the labels of the classes are missing")
    if dtype.kind == "U":  # as wide as the longest label, not as the file says
        return np.array(values, dtype=str)
    labels = np.empty(len(values), dtype=dtype)
    labels[:] = values
    return labels


def unpack_positive(found: dict[str, Any], classes: np.ndarray) -> Any:
    """Return the positive one of two classes."""
    positive = found["positive"]
    if type(positive) is not int or positive not in (0, 1):
        raise ModelFileError(f"{positive!r} is not the place of one of two classes")
    return classes.tolist()[positive]
