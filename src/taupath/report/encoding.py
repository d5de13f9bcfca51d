"""From arrays and text to what a page can carry: exact numbers, and nothing that is markup."""

import base64
import json
from typing import Any

import numpy as np

from taupath.report.piecewise_linear import PiecewiseLinear

__all__ = ["packed", "packed_functions", "to_json"]

# What the page's `unpack` knows, by numpy's name of the little-endian type.
TYPES = ("f8", "f4", "i4", "i2", "i1", "u4", "u2", "u1")


def packed(array: Any, kind: str) -> dict[str, str]:
    """Return an array as the bytes of a little-endian type, in base 64.

    Doubles keep every bit, and take 11 characters instead of up to 25.
    """
    if kind not in TYPES:
        raise ValueError(f"kind must be one of {', '.join(TYPES)}, got {kind!r}")
    flat = np.ascontiguousarray(array).astype(f"<{kind}")
    return {"type": kind, "bytes": base64.b64encode(flat.tobytes()).decode("ascii")}


def packed_functions(functions: PiecewiseLinear) -> dict[str, Any]:
    """Return functions with exact nodes, and values to seven digits."""
    return {
        "nodes": packed(functions.nodes, "f8"),
        "starts": packed(functions.starts, "u4"),
        "at": packed(functions.at, "u2" if len(functions.nodes) <= 1 << 16 else "u4"),
        "values": packed(functions.values, "f4"),
    }


def to_json(payload: dict[str, Any]) -> str:
    """Return JSON that can stand within a script element: without any "<".

    So no text of the data can end the element or begin another one.
    """
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
