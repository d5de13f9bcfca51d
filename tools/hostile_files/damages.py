"""Ways to damage a model file: by accident, and on purpose with a checksum that fits.

Each takes the bytes of a file, its parts, and a random generator. It returns the bytes of a damaged
file, or its size and what is at some of its places where the file is to have holes.
"""

import json
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import numpy as np
from anatomy import DTYPES, NO_DIGEST, Parts, assembled, inner, places, put

Damage = Callable[[bytes, Parts, np.random.Generator], Any]

# What is put in the place of any entry.
ODD: tuple[Any, ...] = (
    ..., None, True, False, 0, 1, -1, 2, 7, 2**31 - 1, 2**31, 2**53, 2**63, 2**64, 2**70, 10**19,
    0.0, -0.0, 0.5, 1.0, 1.5, -1.5, 1e-300, 1e300, -1e300, 5e-324, "", "x", "0", "nan", "inf",
    "linear", "precomputed", "rbf", "free", "O", "<f8", "V8", "(9,9)i4", "U9999999", "é" * 9, "\0",
    "x" * 100_000, [], {}, [0, 1], [1, 0], [[]], {"dense": "x"}, {"": {}}, [None],
    list(range(1000)),
    {"values": [], "dtype": "O"}, {"values": ["a"] * 3, "dtype": "<U1"},
)  # fmt: skip
# What is put in the place of any number of an array, as far as its type can hold it.
NUMBERS = (
    0, 1, -1, 2, 3, 5, 6, 127, -128, 2**31 - 1, -(2**31), 2**63 - 1, -(2**63),
    0.5, -0.5, 1e-320, 1e-200, 1e59, 1e61, 1e154, 1e308, -1e308, np.inf, -np.inf, np.nan,
)  # fmt: skip


def flip_bits(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Turn some bits of the file."""
    changed = bytearray(raw)
    for _ in range(rng.integers(1, 9)):
        most = len(changed) if rng.random() < 0.7 else 16
        changed[rng.integers(most)] ^= 1 << rng.integers(8)
    return bytes(changed)


def cut_or_mix(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Cut the file off, make it longer, or overwrite, leave out or repeat a part of it."""
    begin, end = np.sort(rng.integers(0, len(raw) + 1, 2))
    part = raw[begin:end]
    noise = rng.bytes(len(part))
    return (
        raw[:begin],
        raw + part,
        raw + noise,
        raw[:begin] + raw[end:],
        raw[:begin] + bytes(len(part)) + raw[end:],
        raw[:begin] + noise + raw[end:],
        raw[:end] + part + raw[end:],
        raw[begin:],
        noise,
    )[rng.integers(9)]


def first_bytes(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """State another length of the header."""
    own = int.from_bytes(raw[:8], "little")
    lengths = (0, 1, 2, own - 8, own - 1, own + 1, own + 8, len(raw) - 8, len(raw) - 7, len(raw))
    lengths += (100_000_000, 100_000_001, 2**31, 2**32, 2**62, 2**63, 2**64 - 1)
    return int(lengths[rng.integers(len(lengths))]).to_bytes(8, "little") + raw[8:]


def bits_of_arrays(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Turn bits of an array; the checksum fits."""
    parts = parts.copy()
    array = _some_array(parts, rng)
    if array.size:
        flat = array.reshape(-1).view(np.uint8)
        for _ in range(rng.integers(1, 5)):
            flat[rng.integers(len(flat))] ^= np.uint8(1 << rng.integers(8))
    return parts.assembled()


def numbers_of_arrays(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Put odd numbers into an array, or change it as a whole."""
    parts = parts.copy()
    array = _some_array(parts, rng)
    flat = array.reshape(-1)
    if not flat.size:
        return parts.assembled()
    how = rng.integers(6)
    with np.errstate(all="ignore"):
        odd = np.array(NUMBERS[rng.integers(len(NUMBERS))]).astype(array.dtype)
    if how < 3:
        flat[rng.integers(len(flat), size=rng.integers(1, 4))] = odd
    elif how == 3:
        flat[:] = odd
    elif how == 4:
        rng.shuffle(flat)
    else:
        flat[:] = flat[::-1].copy()
    return parts.assembled()


def other_arrays(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Give an array another length, shape or type, or exchange two of them."""
    parts = parts.copy()
    name = _some_name(parts, rng)
    array, how = parts.arrays[name], rng.integers(6)
    if how == 0:
        array = array[: rng.integers(len(array) + 1)]
    elif how == 1:
        array = np.concatenate([array] * int(rng.integers(2, 5)))
    elif how == 2:
        array = array.reshape((-1, 1) if rng.random() < 0.5 else (1, -1))
    elif how == 3:
        with np.errstate(all="ignore"):
            array = array.astype(DTYPES[str(rng.choice(sorted(DTYPES)))])
    elif how == 4:
        array = array.reshape(-1)
    else:
        other = _some_name(parts, rng)
        array, parts.arrays[other] = parts.arrays[other], array
    parts.arrays[name] = np.ascontiguousarray(array)
    return parts.assembled()


def entries(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Put something odd in the place of an entry of the description."""
    parts = parts.copy()
    for _ in range(1 if rng.random() < 0.8 else 2):
        every = list(places(parts.content))
        put(parts.content, every[rng.integers(len(every))], _odd(rng))
    return parts.assembled()


def near_entries(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Change a number of the description a little, or exchange two entries."""
    parts = parts.copy()
    every = list(places(parts.content))
    one, other = (every[k] for k in rng.integers(len(every), size=2))
    value = inner(parts.content, one)
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        changes = (value + 1, value - 1, -value, 2 * value, 0.5 * value, 1.0 - value, str(value))
        put(parts.content, one, changes[rng.integers(len(changes))])
    elif one[: len(other)] != other and other[: len(one)] != one:
        second = inner(parts.content, other)
        put(parts.content, one, second)
        put(parts.content, other, value)
    else:
        put(parts.content, one, json.loads(json.dumps(inner(parts.content, other))))
    return parts.assembled()


def layouts(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Describe the layout of the arrays wrongly."""
    header = parts.header()
    names = [name for name in header if name != "__metadata__"]
    name = names[rng.integers(len(names))]
    entry, how = header[name], rng.integers(12)
    begin, end = entry["data_offsets"]
    size = int(rng.choice([1, 2, 4, 7, 8, 16]))
    big = int(rng.choice([2**31, 2**40, 2**52, 2**60, 2**62]))
    if how == 0:
        put(entry, (str(rng.choice(sorted(entry))),), _odd(rng))
    elif how == 1:
        entry["data_offsets"] = [begin + size, end + size]
    elif how == 2:
        entry["data_offsets"] = [max(begin - size, 0), max(end - size, 0)]
    elif how == 3:
        entry["data_offsets"] = [[end, begin], [begin], [begin, end, end], [-end, -begin]][size % 4]
    elif how == 4:
        entry["shape"] = [[big], [big, big], [0, big], [big, 0], [-1], [-8, -8]][rng.integers(6)]
    elif how == 5:
        entry["shape"] = [2] * int(rng.choice([3, 64, 10_000, 800_000]))
    elif how == 6:
        entry["shape"] = [float(each) for each in entry["shape"]]
        entry["data_offsets"] = [[begin, end], [float(begin), float(end)]][size % 2]
    elif how == 7:
        entry["dtype"] = str(rng.choice(["F16", "BF16", "U8", "BOOL", "f8", "", "I128", "object"]))
    elif how == 8:
        header[name + "again"] = dict(entry)
    elif how == 9:
        header = {key: header[key] for key in reversed(header)}
    elif how == 10:
        del header[name]
    else:
        entry["more"] = size
    return assembled(header, parts.data())


def metadata(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Put something odd into the metadata: versions, formats, checksums, descriptions."""
    parts = parts.copy()
    choices: list[dict[str, Any]] = [
        {"version": version}
        for version in (
            "0",
            "1",
            "2",
            "4",
            "9" * 9,
            "9" * 5000,
            "",
            "-1",
            "1.5",
            "٣",
            " 3",
            3,
            None,
        )
    ]
    choices += [{"format": "other"}, {"sha256": "0" * 63}, {"sha256": 5}, {"sha256": "f" * 64}]
    choices += [{"content": text} for text in ("", "null", "[]", "{}", "{", "0", None, 5, ["{}"])]
    choices += [{"content": '"\ud800"'.encode("utf-16", "surrogatepass").decode("latin-1")}]
    parts.metadata = choices[rng.integers(len(choices))]
    return parts.assembled()


def json_text(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Write JSON that is none, or that is hard to read, in the header or in the description."""
    deep = int(rng.choice([65, 200, 1000, 100_000]))
    digits = int(rng.choice([21, 400, 5000, 1_000_000]))
    texts = (
        "[" * deep, "[" * deep + "]" * deep, '{"a":' * deep + "0" + "}" * deep, "9" * digits,
        "-" + "9" * digits, "1" + "0" * 400 + ".0", "1e999", "-1e999", "NaN", "Infinity",
        "-Infinity", '{"a":1,"a":2}', '"\\ud800"', '"\\ud83d\\ude00"', "'a'", "01", "1.", ".5",
        "+1", "0x10", "true false", "[1,]", '{"a"}', '"\t"', '"\\x"', "\ufeff{}", "[],", "1" * 20,
        "[" + "{}," * (digits // 10) + "0]", '"' + "a" * digits + '"', "[" + '"a",' * 1000 + "0]",
    )  # fmt: skip
    text = texts[rng.integers(len(texts))]
    if rng.random() < 0.5:  # in the description
        parts = parts.copy()
        keys = sorted(parts.content)
        key, mark = keys[rng.integers(len(keys))], "@" * 9
        parts.content[key] = mark
        content = json.dumps(parts.content, ensure_ascii=False).replace(f'"{mark}"', text)
        header = parts.header()
        header["__metadata__"]["content"] = content
        return assembled(header, parts.data())
    header = parts.header()
    inside = json.dumps(header, ensure_ascii=False, separators=(",", ":"))[:-1]
    broken = inside.encode() + b',"more":' + text.encode() + b"}"
    if rng.random() < 0.2:
        broken = broken.replace(b"dtype", rng.bytes(5), 1)
    return assembled(broken, parts.data())


def foreign(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Write something that is no model file."""
    size = int(rng.choice([0, 1, 7, 8, 9, 64, 5000]))
    choices = (
        bytes(size), rng.bytes(size), b"PK\x03\x04" + rng.bytes(size),
        b"\x80\x04\x95" + bytes(size), b"a,b\n1,2\n", b"\x89HDF\r\n\x1a\n" + bytes(size),
        b"<html></html>",
        b"{}" + bytes(size),
        (2).to_bytes(8, "little") + b"{}", assembled({"a": [0]}), assembled({}),
        assembled({"__metadata__": {"format": "taupath", "sha256": NO_DIGEST}}),
        assembled({"__metadata__": {"format": "pt"}}, rng.bytes(size)),
    )  # fmt: skip
    return choices[rng.integers(len(choices))]


def harmless(raw: bytes, parts: Parts, rng: np.random.Generator) -> bytes:
    """Write the same model in other words: it must predict the same."""
    parts = parts.copy()
    how = rng.integers(3)
    if how == 0:  # another name for an array
        name = _some_name(parts, rng)
        parts.content = json.loads(
            json.dumps(parts.content).replace(json.dumps(name), json.dumps(name + "é"))
        )
        parts.arrays = {
            key + "é" if key == name else key: array for key, array in parts.arrays.items()
        }
    elif how == 1:  # one that nobody asks for
        parts.arrays["more"] = np.arange(int(rng.integers(9)), dtype=np.int8)
    return parts.assembled()


def _odd(rng: np.random.Generator) -> Any:
    return deepcopy(ODD[rng.integers(len(ODD))])


def _some_name(parts: Parts, rng: np.random.Generator) -> str:
    return parts.names()[rng.integers(len(parts.arrays))]


def _some_array(parts: Parts, rng: np.random.Generator) -> np.ndarray:
    return parts.arrays[_some_name(parts, rng)]


# Each with its share of all files.
DAMAGES: dict[Damage, float] = {
    flip_bits: 0.08,
    cut_or_mix: 0.06,
    first_bytes: 0.02,
    bits_of_arrays: 0.15,
    numbers_of_arrays: 0.12,
    other_arrays: 0.08,
    entries: 0.17,
    near_entries: 0.08,
    layouts: 0.08,
    metadata: 0.02,
    json_text: 0.04,
    foreign: 0.01,
    harmless: 0.02,
}
