"""How arrays and text travel in a page: exact numbers, and nothing that could become markup."""

import base64
import json
from typing import Any

import numpy as np

from taupath.tables.messages import printable

# The types that the page's `unpack` knows, as numpy names them.
TYPES = ("f8", "f4", "i4", "i2", "i1", "u4", "u2", "u1")


def packed(array: Any, kind: str) -> dict[str, str]:
    """Return an array as the bytes of a little-endian type, in base 64.

    Doubles keep every bit, and take 11 characters instead of up to 25.
    """
    if kind not in TYPES:
        raise ValueError(f"kind must be one of {', '.join(TYPES)}, got {kind!r}")
    flat = np.ascontiguousarray(array).astype(f"<{kind}")
    return {"type": kind, "bytes": base64.b64encode(flat.tobytes()).decode("ascii")}


def visible(content: Any) -> Any:
    """Return the same with escapes in place of characters that cannot be seen, in every text.

    Marks for the direction of writing would change the order of the words around them.
    """
    if isinstance(content, str):
        return printable(content)
    if isinstance(content, dict):
        return {key: visible(value) for key, value in content.items()}
    return [visible(value) for value in content] if isinstance(content, list | tuple) else content


def to_json(payload: dict[str, Any]) -> str:
    """Return JSON without any "<": no text in it can end a script element or begin another."""
    text = json.dumps(payload, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
