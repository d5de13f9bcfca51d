"""Model files taken apart and put together again, with a checksum that fits whatever is in them."""

import hashlib
import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

NO_DIGEST = "0" * 64
DTYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I8": "i1"}
NAMES = {np.dtype(dtype).str: name for name, dtype in DTYPES.items()}


@dataclass
class Parts:
    """A model file in parts: what describes the model, and its arrays."""

    content: dict[str, Any]
    arrays: dict[str, np.ndarray]
    version: str = "4"
    metadata: dict[str, Any] = field(default_factory=dict)  # instead of the usual one

    @classmethod
    def of(cls, file: Path) -> "Parts":
        """Return the parts of a file that is as it should be."""
        raw = file.read_bytes()
        end = 8 + int.from_bytes(raw[:8], "little")
        header = json.loads(raw[8:end])
        about = header.pop("__metadata__")
        arrays = {}
        for name, entry in header.items():
            begin, stop = (end + offset for offset in entry["data_offsets"])
            flat = np.frombuffer(raw[begin:stop], DTYPES[entry["dtype"]]).copy()
            arrays[name] = flat.reshape(entry["shape"])
        return cls(json.loads(about["content"]), arrays, about["version"])

    def copy(self) -> "Parts":
        """Return parts that can be changed."""
        return deepcopy(self)

    def header(self) -> dict[str, Any]:
        """Return the header as it should be."""
        content = json.dumps(self.content, ensure_ascii=False)
        about = {"format": "taupath", "version": self.version, "sha256": NO_DIGEST}
        header: dict[str, Any] = {"__metadata__": {**about, "content": content, **self.metadata}}
        at = 0
        for name in self.names():
            array = self.arrays[name]
            entry = {"dtype": NAMES[array.dtype.str], "shape": list(array.shape)}
            header[name] = {**entry, "data_offsets": [at, at + array.nbytes]}
            at += array.nbytes
        return header

    def names(self) -> list[str]:
        """Return the names of the arrays in their order, the widest first."""
        return sorted(self.arrays, key=lambda name: (-self.arrays[name].dtype.itemsize, name))

    def data(self) -> bytes:
        """Return the bytes of all arrays."""
        return b"".join(self.arrays[name].tobytes() for name in self.names())

    def assembled(self) -> bytes:
        """Return the bytes of the file."""
        return assembled(self.header(), self.data())


def assembled(header: Any, data: bytes = b"") -> bytes:
    """Return the bytes of a file with this header: anything that JSON holds, or its text."""
    text = header
    if not isinstance(text, bytes):
        text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    length = len(text).to_bytes(8, "little")
    digest = hashlib.sha256(length + text + data).hexdigest()
    mark = b'"sha256":"'
    return length + text.replace(mark + NO_DIGEST.encode(), mark + digest.encode(), 1) + data


def places(content: Any, prefix: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every entry of nested dicts and lists."""
    items = content.items() if isinstance(content, dict) else enumerate(content)
    for key, value in items:
        yield (*prefix, key)
        if isinstance(value, (dict, list)):
            yield from places(value, (*prefix, key))


def inner(content: Any, place: tuple[Any, ...]) -> Any:
    """Return what is at a place."""
    for key in place:
        content = content[key]
    return content


def put(content: Any, place: tuple[Any, ...], value: Any) -> None:
    """Put a value at a place; `...` takes away what is there."""
    holder = inner(content, place[:-1])
    if value is ...:
        del holder[place[-1]]
    else:
        holder[place[-1]] = value
