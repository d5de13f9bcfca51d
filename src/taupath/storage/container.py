"""One file of named arrays and a description, with a checksum: what a model is stored in.

The layout is that of safetensors, so that other programs can read it: eight bytes with the length
of a header, the header in JSON, then the arrays one after the other. ``__metadata__`` in the header
holds ``format`` ("taupath"), ``version``, ``content`` (the description, JSON in a string) and
``sha256``, the checksum of the whole file with the 64 digits of the checksum itself taken as zeros.

Nothing in a file is trusted: neither lengths nor names nor numbers. Sizes are checked, and counted
in a budget, before they are used.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from io import BufferedReader
from typing import Any, NamedTuple

import numpy as np

from taupath.atomic_files import replacing
from taupath.exceptions import ModelFileError
from taupath.storage.budget import Budget

# Version of the layout and of the description, raised whenever earlier readers would misunderstand
# a file. Files of every earlier version can be read.
VERSION = 4

_DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I8": np.dtype("i1"),
}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# Largest number of bytes of the header; safetensors has the same limit.
LONGEST_HEADER = 100_000_000
# Largest length of an array along one dimension: products of two such do not overflow NumPy, and
# no file is as large.
LONGEST_ARRAY = 1 << 40
# Deepest nesting of lists and objects in JSON, and most digits of a whole number: descriptions have
# less than a quarter of the former, and 64 bits the latter.
DEEPEST = 64
LONGEST_NUMBER = 20
# Bytes that are read at a time.
READ_AT_A_TIME = 1 << 22
NO_DIGEST = "0" * 64
_MARK = '"sha256":"'
_BRACKETS = b'"[]{}'
_NOT_BRACKETS = bytes(set(range(256)) - set(_BRACKETS))
# Half of a pair of UTF-16 in an escape: it cannot be printed, and files are written without any.
_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")


class Place(NamedTuple):
    """Where an array lies in a file."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    begin: int
    end: int


def write_container(
    file: "str | os.PathLike[str]", content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]
) -> None:
    """Write arrays and their description; an existing file is replaced only if all goes well.

    `content` is whatever JSON can hold. Arrays are float64, float32, int64, int32 or int8.
    """
    header: dict[str, Any] = {
        "__metadata__": {
            "format": "taupath",
            "version": str(VERSION),
            "sha256": NO_DIGEST,
            "content": json.dumps(content, ensure_ascii=False, allow_nan=False),
        }
    }
    # the widest types first, so that every array is aligned
    names = sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name))
    parts, begin = [], 0
    for name in names:
        array = np.ascontiguousarray(arrays[name])
        end = begin + array.nbytes
        header[name] = {
            "dtype": _NAMES[array.dtype.newbyteorder("<")],
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
        parts.append(array.astype(array.dtype.newbyteorder("<"), copy=False))
        begin = end
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    if len(text) > LONGEST_HEADER:
        raise ValueError(f"a description of {len(text)} bytes is too long for a model file")
    length = len(text).to_bytes(8, "little")
    digest = hashlib.sha256(length + text)
    for part in parts:
        digest.update(part.data if part.size else b"")
    text = text.replace((_MARK + NO_DIGEST).encode(), (_MARK + digest.hexdigest()).encode(), 1)
    with replacing(file) as stream:
        stream.write(length + text)
        for part in parts:
            stream.write(part.data if part.size else b"")


def read_container(
    file: "str | os.PathLike[str]", budget: Budget | None = None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return description and arrays of a file that `write_container` wrote.

    Any other file is a `ModelFileError`: foreign, of a later version, cut off, or altered. So is
    one that claims more memory than the budget has.
    """
    budget = budget or Budget(file)
    with open(file, "rb") as stream:
        found = os.fstat(stream.fileno())
        budget.weigh(found)
        length = stream.read(8)
        n_header = int.from_bytes(length, "little")
        if len(length) < 8 or not 2 <= n_header <= LONGEST_HEADER:
            raise ModelFileError(f"{file} is not a taupath model file")
        n_data = found.st_size - 8 - n_header
        if n_data < 0:
            raise _foreign_or_cut(file, stream.read(64))
        budget.take(n_header, "its header")
        text = stream.read(n_header)
        header, metadata = _parse(file, text, budget)
        _check_version(file, metadata)
        places = _layout(file, header, n_data)
        digest = metadata.get("sha256")
        if not isinstance(digest, str) or len(digest) != len(NO_DIGEST):
            raise ModelFileError(f"{file} has no checksum; it is damaged")
        budget.take(n_data, "its arrays")
        place = text.find((_MARK + digest).encode(errors="replace"))
        blank = text[: place + len(_MARK)] + NO_DIGEST.encode() + text[place + len(_MARK) + 64 :]
        checksum = hashlib.sha256(length + blank)
        data = _read(file, stream, n_data, checksum)
    if place < 0 or checksum.hexdigest() != digest:
        raise ModelFileError(
            f"{file} is damaged: its checksum does not fit its content "
            "(cut off or altered); get it again from where it came"
        )
    content = _json(file, _encoded(file, metadata.get("content")), budget)
    if not isinstance(content, dict):
        raise ModelFileError(f"{file} holds no description of a model")
    arrays = {
        name: data[place.begin : place.end].view(place.dtype).reshape(place.shape)
        for name, place in places.items()
    }
    return content, arrays


def _read(file: Any, stream: BufferedReader, n_data: int, checksum: Any) -> np.ndarray:
    """Return the rest of a file, and add it to the checksum."""
    data = np.empty(n_data, dtype=np.uint8)
    for begin in range(0, n_data, READ_AT_A_TIME):
        some = data[begin : begin + READ_AT_A_TIME].data
        if stream.readinto(some) != len(some):
            raise ModelFileError(f"{file} was cut off while it was read; try again")
        checksum.update(some)
    return data


def _parse(file: Any, text: bytes, budget: Budget) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and its metadata."""
    if not text.startswith(b'{"__metadata__":{"format":"taupath",'):
        raise ModelFileError(f"{file} is not a taupath model file, or it is damaged")
    header = _json(file, text, budget)
    if not isinstance(header, dict) or not isinstance(header.get("__metadata__"), dict):
        raise ModelFileError(f"{file} is damaged: its header does not describe arrays")
    return header, header.pop("__metadata__")


def _foreign_or_cut(file: Any, begin: bytes) -> ModelFileError:
    if begin.startswith(b'{"__metadata__":{"format":"taupath"'[: len(begin)]) and begin:
        return ModelFileError(f"{file} is cut off; get it again from where it came")
    return ModelFileError(f"{file} is not a taupath model file")


def _check_version(file: Any, metadata: dict[str, Any]) -> None:
    version = metadata.get("version")
    if not isinstance(version, str) or not version.isascii() or not version.isdigit():
        raise ModelFileError(f"{file} is damaged: its version {version!r:.60} is not a number")
    if len(version) > 9 or int(version) > VERSION:
        raise ModelFileError(
            f"{file} has version {version:.9} of the format, this taupath reads versions up to "
            f"{VERSION}: install a newer taupath"
        )


def _encoded(file: Any, text: Any) -> bytes:
    try:
        if isinstance(text, str):
            return text.encode()
    except UnicodeEncodeError:
        pass
    raise ModelFileError(f"{file} is damaged: its description is not text")


def _json(file: Any, text: bytes, budget: Budget) -> Any:
    """Return the JSON values of a text, if they fit into the budget."""
    budget.take_json(text, "what describes the model")

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    def whole(digits: str) -> int:
        if len(digits) > LONGEST_NUMBER:
            raise ValueError("a whole number has too many digits")
        return int(digits)

    def real(digits: str) -> float:
        number = float(digits)
        if math.isinf(number):
            raise ValueError("a number is too large")
        return number

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is not a number")

    try:
        _check_nesting(text)
        return json.loads(
            text.decode(),
            object_pairs_hook=unique,
            parse_int=whole,
            parse_float=real,
            parse_constant=no_constant,
        )
    except UnicodeDecodeError:
        raise ModelFileError(f"{file} is damaged: its header is not text") from None
    except ValueError as error:
        raise ModelFileError(f"{file} is damaged: {error}") from None


def _check_nesting(text: bytes) -> None:
    """Refuse JSON that is nested too deeply for a parser that calls itself."""
    plain = text.replace(rb"\\", b"").replace(rb"\"", b"")
    if _SURROGATE.search(plain):
        raise ValueError("it holds half a character")
    marks = np.frombuffer(plain.translate(None, _NOT_BRACKETS), dtype=np.uint8)
    in_text = np.cumsum(marks == ord('"'), dtype=np.uint8) & 1  # modulo 256 is enough
    step = np.isin(marks, list(b"[{")).astype(np.int8) - np.isin(marks, list(b"]}"))
    step[in_text == 1] = 0
    if np.cumsum(step, dtype=np.int32).max(initial=0) > DEEPEST:
        raise ValueError("it is nested too deeply")


def _layout(file: Any, header: dict[str, Any], n_data: int) -> dict[str, Place]:
    """Return where arrays lie, from their entries in the header: one after the other, no gaps."""
    places, at = {}, 0
    for name, entry in header.items():
        if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
            raise ModelFileError(f"{file} is damaged: array {name!r:.60} is not described")
        kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
        dtype = _DTYPES.get(kind) if isinstance(kind, str) else None
        if dtype is None or not _whole_numbers(shape, 2) or not _whole_numbers(offsets, 2):
            raise ModelFileError(f"{file} is damaged: array {name!r:.60} is not described")
        begin, end = offsets if len(offsets) == 2 else (-1, -1)
        n_bytes = dtype.itemsize * math.prod(shape)
        if begin != at or begin % dtype.itemsize or end - begin != n_bytes:
            raise ModelFileError(f"{file} is damaged: array {name!r:.60} is not where it should be")
        if end > n_data:
            raise ModelFileError(f"{file} is damaged: array {name!r:.60} does not fit into it")
        places[name] = Place(dtype, tuple(shape), begin, end)
        at = end
    if at != n_data:
        raise ModelFileError(f"{file} is damaged: it is longer than its header says")
    return places


def _whole_numbers(found: Any, most: int) -> bool:
    """Return whether this is a list of at most so many sizes."""
    return (
        isinstance(found, list)
        and len(found) <= most
        and all(type(number) is int and 0 <= number <= LONGEST_ARRAY for number in found)
    )
