"""Model files that are not what they should be: numbers and descriptions altered on purpose."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import numpy as np

from hostile import put

# What is put in the place of any entry of a description; `...` takes it away.
ANYTHING = (..., None, -1, 2**70, 1.5, "x", [], {}, [0, 1], {"dense": "x"}, True)


def altered(content: Any, place: tuple[Any, ...], value: Any) -> Any:
    """Return a copy with another value at this place."""
    content = deepcopy(content)
    put(content, place, value)
    return content


def flipped(arrays: dict[str, np.ndarray], rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Return copies of the arrays, one bit of one of them turned."""
    changed = {name: array.copy() for name, array in arrays.items()}
    flat = changed[str(rng.choice(sorted(changed)))].reshape(-1)
    if flat.size:
        raw = flat.view(np.uint8)
        raw[rng.integers(len(raw))] ^= np.uint8(1 << rng.integers(8))
    return changed
