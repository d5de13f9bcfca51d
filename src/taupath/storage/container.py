"""One file of named arrays and a description, with a checksum: what a model is stored in.

The layout is that of safetensors, so that other programs can read it: eight bytes with the length
of a header, the header in JSON, then the arrays one after the other. ``__metadata__`` in the header
holds ``format`` ("taupath"), ``version``, ``content`` (the description, JSON in a string) and
``sha256``, the checksum of the whole file with the 64 digits of the checksum itself taken as zeros.

Nothing in a file is trusted: neither lengths nor names nor numbers.
"""

import hashlib
import json
import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from taupath.atomic_files import replacing
from taupath.exceptions import ModelFileError

# Version of the layout and of the description. Files of every earlier version can be read.
VERSION = 3

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
NO_DIGEST = "0" * 64
_MARK = '"sha256":"'


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


def read_container(file: "str | os.PathLike[str]") -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Return description and arrays of a file that `write_container` wrote.

    Any other file is a `ModelFileError`: foreign, of a later version, cut off, or altered.
    """
    with open(file, "rb") as stream:
        size = os.fstat(stream.fileno()).st_size
        length = stream.read(8)
        n_header = int.from_bytes(length, "little")
        if len(length) < 8 or not 2 <= n_header <= LONGEST_HEADER:
            raise ModelFileError(f"{file} is not a taupath model file")
        if n_header > size - 8:
            raise _foreign_or_cut(file, stream.read(64))
        text = stream.read(n_header)
        header, metadata = _parse(file, text)
        data = bytearray(max(size - 8 - n_header, 0))
        if stream.readinto(data) != len(data):
            raise ModelFileError(f"{file} was cut off while it was read; try again")
    _check_version(file, metadata)
    digest = metadata.get("sha256")
    if not isinstance(digest, str) or len(digest) != len(NO_DIGEST):
        raise ModelFileError(f"{file} has no checksum; it is damaged")
    place = text.find((_MARK + digest).encode())
    blank = text[: place + len(_MARK)] + NO_DIGEST.encode() + text[place + len(_MARK) + 64 :]
    found = hashlib.sha256(length + blank)
    found.update(data)
    if place < 0 or found.hexdigest() != digest:
        raise ModelFileError(
            f"{file} is damaged: its checksum does not fit its content "
            "(cut off or altered); get it again from where it came"
        )
    content = _json(file, metadata.get("content"))
    if not isinstance(content, dict):
        raise ModelFileError(f"{file} holds no description of a model")
    return content, _arrays(file, header, data)


def _parse(file: Any, text: bytes) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the header and its metadata."""
    if not text.startswith(b'{"__metadata__":{"format":"taupath",'):
        raise ModelFileError(f"{file} is not a taupath model file, or it is damaged")
    try:
        decoded = text.decode()
    except UnicodeDecodeError:
        raise ModelFileError(f"{file} is damaged: its header is not text") from None
    header = _json(file, decoded)
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
        raise ModelFileError(f"{file} is damaged: its version {version!r} is not a number")
    if int(version[:9]) > VERSION or len(version) > 9:
        raise ModelFileError(
            f"{file} has version {version} of the format, this taupath reads versions up to "
            f"{VERSION}: install a newer taupath"
        )


def _json(file: Any, text: Any) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name occurs twice")
        return found

    def no_constant(name: str) -> Any:
        raise ValueError(f"{name} is not a number")

    try:
        return json.loads(text, object_pairs_hook=unique, parse_constant=no_constant)
    except (ValueError, TypeError, RecursionError) as error:
        raise ModelFileError(f"{file} is damaged: {error or 'nested too deeply'}") from None


def _arrays(file: Any, header: dict[str, Any], data: bytearray) -> dict[str, np.ndarray]:
    """Return views of the data; the arrays must follow one another without gaps."""
    arrays, at = {}, 0
    for name, entry in header.items():
        try:
            dtype = _DTYPES[entry["dtype"]]
            shape, (begin, end) = entry["shape"], entry["data_offsets"]
            whole = all(type(k) is int and k >= 0 for k in (*shape, begin, end))
        except (KeyError, TypeError, ValueError):
            raise ModelFileError(f"{file} is damaged: array {name!r} is not described") from None
        if not whole or begin != at or end - begin != dtype.itemsize * math.prod(shape):
            raise ModelFileError(f"{file} is damaged: array {name!r} is not where it should be")
        if end > len(data) or len(shape) > 2:
            raise ModelFileError(f"{file} is damaged: array {name!r} does not fit into it")
        flat = np.frombuffer(data, dtype=dtype, count=math.prod(shape), offset=begin)
        try:
            arrays[name] = flat.reshape(shape)
        except ValueError:  # one dimension is zero, another too large for numpy
            raise ModelFileError(
                f"{file} is damaged: array {name!r} has an impossible shape"
            ) from None
        at = end
    if at != len(data):
        raise ModelFileError(f"{file} is damaged: it is longer than its header says")
    return arrays
