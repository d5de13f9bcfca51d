"""What is done to a good table: damage to its bytes, to its cells, and to how it is written."""

import bz2
import gzip
import io
import zipfile
from collections.abc import Callable
from typing import Any

import numpy as np

Rng = np.random.Generator

# Cells that are not what they seem.
CELLS = (
    "nan", "NaN", "inf", "-Infinity", "1e400", "-1e-400", "1_000", "1,5", "0x10", "١٢", "=1+1",
    "+1", "-", "@x", "'", '"', '""', "\x1b[31m", "\u202egnp", "a\rb", "\t", " ", "", "null", "#N/A",
    "true", "FALSE", "9" * 5000, "9" * 400 + "x", "1" * 300_000, "x" * 5000, "\ufeff", "\ue000",
    "1e999999999", "--1", "1.2.3", "2147483648:1", "0:1", "-1:1", "1:1", "qid:3", "#", "a=b=c",
    "<script>", "{{data}}", "e" * 200, "1e", ".", "😀",
)  # fmt: skip


def pick(rng: Rng, options: Any) -> Any:
    """Return one of some options, as it is: NumPy would make them alike."""
    return options[rng.integers(len(options))]


def cut(data: bytes, rng: Rng) -> bytes:
    """Leave out the end."""
    return data[: rng.integers(len(data))]


def flip(data: bytes, rng: Rng) -> bytes:
    """Turn some bits."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 9)):
        changed[place] ^= 1 << rng.integers(8)
    return bytes(changed)


def garble(data: bytes, rng: Rng) -> bytes:
    """Replace some bytes by those that mean something to a reader."""
    changed = bytearray(data)
    for place in rng.integers(len(data), size=rng.integers(1, 5)):
        changed[place] = pick(rng, b'\0\n\r\t ,;|:"#-+.eE0\xff\x80\xef\x1a')
    return bytes(changed)


def insert(data: bytes, rng: Rng) -> bytes:
    """Put random bytes somewhere."""
    place = rng.integers(len(data) + 1)
    return data[:place] + rng.bytes(rng.integers(1, 40)) + data[place:]


def leave_out(data: bytes, rng: Rng) -> bytes:
    """Leave out a piece."""
    begin, end = np.sort(rng.integers(len(data) + 1, size=2))
    return data[:begin] + data[end:]


def repeat(data: bytes, rng: Rng) -> bytes:
    """Repeat a piece."""
    begin, end = np.sort(rng.integers(len(data) + 1, size=2))
    return data[:end] + data[begin:end] * int(rng.integers(1, 4)) + data[end:]


def huge_number(data: bytes, rng: Rng) -> bytes:
    """Put a size that is far too large somewhere."""
    changed, place = bytearray(data), rng.integers(max(len(data) - 8, 1))
    size = pick(rng, [2**31 - 1, 2**32 - 1, 2**62, 2**63 - 1, 10**9])
    width = pick(rng, [4, 8])
    changed[place : place + width] = (size % 256**width).to_bytes(width, "little")
    return bytes(changed)


def random_bytes(data: bytes, rng: Rng) -> bytes:
    """Keep the beginning only, and go on at random."""
    return data[: rng.integers(1, 12)] + rng.bytes(rng.integers(1, 3000))


def replace_cells(data: bytes, rng: Rng) -> bytes:
    """Replace cells of a text."""
    lines = data.split(b"\n")
    separator = next(mark for mark in (b"\t", b";", b"|", b",", b" ") if mark in data)
    for _ in range(rng.integers(1, 6)):
        k = rng.integers(len(lines))
        cells = lines[k].split(separator)
        cells[rng.integers(len(cells))] = pick(rng, CELLS).encode()
        lines[k] = separator.join(cells)
    return b"\n".join(lines)


def replace_a_column(data: bytes, rng: Rng) -> bytes:
    """Replace all cells of a column below its name, or also that, by one or two others."""
    lines = [line for line in data.split(b"\n") if line]
    separator = next(mark for mark in (b"\t", b";", b"|", b",", b" ") if mark in data)
    column, begin = rng.integers(lines[0].count(separator) + 1), int(rng.integers(2))
    others = [CELLS[k].encode() for k in rng.integers(len(CELLS), size=rng.integers(1, 3))]
    for k in range(begin, len(lines)):
        cells = lines[k].split(separator)
        if column < len(cells):
            cells[column] = others[k % len(others)]
        lines[k] = separator.join(cells)
    return b"\n".join(lines)


def few_lines(data: bytes, rng: Rng) -> bytes:
    """Keep some lines, in another order."""
    lines = data.split(b"\n")
    kept = rng.integers(len(lines), size=rng.integers(1, 6))
    return b"\n".join(lines[k] for k in kept)


def other_lines(data: bytes, rng: Rng) -> bytes:
    """Put empty lines, comments and lines of other lengths in between."""
    lines = data.split(b"\n")
    for _ in range(rng.integers(1, 6)):
        odd = pick(rng, [b"", b"# note", b",,,,,,,", b"1", b'"', b" ", b"\t\t", b"1 2 3", b"\x0c"])
        lines.insert(rng.integers(len(lines)), odd)
    return b"\n".join(lines)


def same_names(data: bytes, rng: Rng) -> bytes:
    """Give columns the same name, or none."""
    head, _, rest = data.partition(b"\n")
    separator = next((mark for mark in (b"\t", b";", b"|", b",", b" ") if mark in head), b",")
    name = pick(rng, [b"", b"a", b"target", b"\x1b[0m", b"=x", b"a" * 3000, b"=" * 3000])
    return separator.join([name] * (head.count(separator) + 1)) + b"\n" + rest


# -- changes that leave the table as it is --------------------------------------------------------


def unchanged(data: bytes, rng: Rng) -> bytes:
    """Change nothing."""
    return data


def other_ends(data: bytes, rng: Rng) -> bytes:
    """End lines as Windows does, and the file with blank lines."""
    return data.replace(b"\n", b"\r\n") + b"\r\n\r\n" * int(rng.integers(2))


def with_mark(data: bytes, rng: Rng) -> bytes:
    """Begin with a byte order mark."""
    return b"\xef\xbb\xbf" + data


ANY = (cut, flip, garble, insert, leave_out, repeat, huge_number, random_bytes)
OF_TEXT = (replace_cells, replace_a_column, few_lines, other_lines, same_names)
HARMLESS = (unchanged, other_ends, with_mark)


# -- how texts are packed -----------------------------------------------------------------------


def plain(data: bytes, rng: Rng) -> bytes:
    """Leave it as it is."""
    return data


def gzipped(data: bytes, rng: Rng) -> bytes:
    """Compress it in one or several parts."""
    middle = int(rng.integers(len(data) + 1))
    parts = [data] if rng.random() < 0.5 else [data[:middle], data[middle:]]
    return b"".join(map(gzip.compress, parts)) + bytes(int(rng.integers(3)) * 100)


def bzipped(data: bytes, rng: Rng) -> bytes:
    """Compress it in one or several parts."""
    middle = int(rng.integers(len(data) + 1))
    parts = [data] if rng.random() < 0.5 else [data[:middle], data[middle:]]
    return b"".join(map(bz2.compress, parts))


PACKINGS: tuple[Callable[[bytes, Rng], bytes], ...] = (plain, plain, gzipped, bzipped)


# -- archives of NumPy --------------------------------------------------------------------------


def archive(members: dict[str, bytes], compressed: bool = True) -> bytes:
    """Return a zip archive with right checksums."""
    stream = io.BytesIO()
    kind = zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED
    with zipfile.ZipFile(stream, "w", kind) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return stream.getvalue()


def member(array: Any = None, *, shape: Any = None, descr: Any = None, order: Any = None) -> bytes:
    """Return an array as a file of NumPy, whose header may say something else."""
    array = np.zeros((2, 2)) if array is None else np.asarray(array)
    header = {
        "descr": array.dtype.str if descr is None else descr,
        "fortran_order": False if order is None else order,
        "shape": array.shape if shape is None else shape,
    }
    text = repr(header).encode() + b" \n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + array.tobytes()


def odd_archive(rows: np.ndarray, labels: np.ndarray, rng: Rng) -> bytes:
    """Return an archive whose arrays are not what they should be, with right checksums."""
    n, d = rows.shape
    shapes: list[Any] = [
        (n, d + 1), (n * d,), (0, d), (n, 0), (-1, d), (n, -d), (2**40, 2**40), (2**62, 4), (),
        (1, n, d), (d, n), ("n", d), [n, d], (True, d), (float(n), d), (10**30, 1), n,
    ]  # fmt: skip
    descrs = [
        "|O", "<c16", "<U4", "|S8", "<M8[s]", ">f8", "<f4", "|V0", "<U0", "|b1", "<i8", "x", "<f16",
        [("a", "<f8")], "<U100000000", ("<f8", (3,)), "",
    ]  # fmt: skip
    indices, indptr = np.tile(np.arange(d), n), np.arange(n + 1) * d
    parts = {
        "data.npy": member(rows.ravel()),
        "indices.npy": member(indices),
        "indptr.npy": member(indptr),
        "shape.npy": member([n, d]),
        "format.npy": member(np.array(b"csr")),
    }
    bad = [
        {"indices.npy": member(indices - 1)},
        {"indices.npy": member(indices + 10**9)},
        {"indices.npy": member(indices.astype(float))},
        {"indptr.npy": member(indptr[::-1])},
        {"indptr.npy": member(indptr * 2**40)},
        {"indptr.npy": member(indptr[:-1])},
        {"shape.npy": member([n, 2**40])},
        {"shape.npy": member([2**40, d])},
        {"shape.npy": member([n, d, 1])},
        {"shape.npy": member([-n, d])},
        {"shape.npy": member(np.array([n, d], dtype=float))},
        {"shape.npy": member(np.array(["x", "y"]))},
        {"format.npy": member(np.array(b"coo"))},
        {"format.npy": member(np.array([1.0, 2.0]))},
        {"data.npy": member(rows.ravel()[:-1])},
        {"data.npy": member(np.where(rows > 1, np.nan, rows).ravel())},
        {"y.npy": member(labels)},
        {"y.npy": member(labels[:-1])},
        {"y.npy": member(np.array(["\x1b[2J", "=1"])[labels % 2])},
    ]
    if rng.random() < 0.5:
        return archive({**parts, **pick(rng, bad)})
    how = rng.integers(5)
    X = member(rows)
    if how == 0:
        X = member(rows, shape=pick(rng, shapes))
    elif how == 1:
        X = member(rows, descr=pick(rng, descrs))
    elif how == 2:
        X = member(
            np.where(rng.random(rows.shape) < 0.02, pick(rng, [np.nan, np.inf, 1e300]), rows)
        )
    elif how == 3:
        X = member(rows, order=pick(rng, [True, 3, "x"]))
    names = ["X.npy", "X", "../X.npy", "x.npy", "X.npy.npy"]
    name = pick(rng, names) if how == 4 else "X.npy"
    return archive({name: X, "y.npy": member(labels)}, compressed=bool(rng.integers(2)))
