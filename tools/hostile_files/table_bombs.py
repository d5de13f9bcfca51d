"""Small files that say they are, or become, far more than they are."""

import bz2
import gzip
import io
import struct
import zipfile
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
from table_damages import Rng, archive, member, pick

# Bytes, or the size of a file and what is where in it; the rest are holes.
Made = bytes | tuple[int, dict[int, bytes]]


@cache
def _packed(kind: str, text: bytes, size: int) -> bytes:
    return {"gzip": gzip.compress, "bz2": bz2.compress}[kind](text * (size // len(text)))


def gzip_of_zeros(rng: Rng) -> Made:
    """Return 10 MB that become 10 GB."""
    return _packed("gzip", b"\0", 10_000_000) * 1000


def gzip_of_cells(rng: Rng) -> Made:
    """Return cells that never end, on one line or on many."""
    text = pick(rng, [b"0,", b"a,b\n", b"1 1:1\n", b"\n", b'"', b"1\t"])
    return _packed("gzip", text, 10_000_000) * 300


def bz2_of_cells(rng: Rng) -> Made:
    """Return the same by another program, a thousand times smaller."""
    text = pick(rng, [b"0,", b"a,b\n", b"\0", b"1 1:1\n"])
    return _packed("bz2", text, 30_000_000) * 300


def gzip_with_padding(rng: Rng) -> Made:
    """Return a compressed table with zeros after its end."""
    return gzip.compress(b"a,b\n1,x\n2,y\n") + bytes(5_000_000)


def many_small_parts(rng: Rng) -> Made:
    """Return compressed parts with nothing in them."""
    return gzip.compress(b"") * 100_000


def holes(rng: Rng) -> Made:
    """Return 20 GB that take no space on the disk."""
    heads = [
        b"a,b\n1,2\n",
        b"PK\x03\x04",
        b"PAR1",
        b"\x1f\x8b\x08\0",
        b"BZh91AY&SY",
        b"1 1:1\n",
        b"",
    ]
    tails = [
        b"",
        b"PAR1",
        b"\x10\x00\x00\x00PAR1",
        b"\xff\xff\xff\x7fPAR1",
        b"PK\x05\x06" + bytes(18),
    ]
    tail = pick(rng, tails)
    size = 20 << 30
    return size, {0: pick(rng, heads), size - len(tail): tail}


def archive_of_zeros(rng: Rng) -> Made:
    """Return an archive that says how large it becomes."""
    packed = _deflated(200_000_000)
    return _raw_archive({"X.npy": (packed, 200_000_128)})


def archive_that_lies(rng: Rng) -> Made:
    """Return an archive that says it is small, and becomes large."""
    return _raw_archive({"X.npy": (_deflated(1_500_000_000), 1000)})


def archive_with_header(rng: Rng) -> Made:
    """Return an archive with a header that says there is far more than there is."""
    shape = pick(rng, [(10**6, 10**6), (2**31, 100), (10**9, 1), (1, 10**9), (2**60, 2**60)])
    return archive({"X.npy": member(np.zeros(4), shape=shape)})


def archive_with_long_header(rng: Rng) -> Made:
    """Return an archive with a header that takes long to understand."""
    text = b"{'descr': '<f8', 'fortran_order': False, 'shape': (" + b"(" * 50_000 + b"), }"
    data = b"\x93NUMPY\x02\x00" + len(text).to_bytes(4, "little") + text
    return archive({"X.npy": data})


def sparse_archive(rng: Rng) -> Made:
    """Return a sparse matrix with a billion columns, or rows."""
    shape = pick(rng, [(2, 2**31 - 1), (2**31 - 1, 2), (2, 2**62)])
    parts = {"data": [1.0, 2.0], "indices": [0, 1], "indptr": [0, 1, 2], "shape": shape}
    members = {f"{name}.npy": member(part) for name, part in parts.items()}
    return archive({**members, "format.npy": member(np.array(b"csr")), "y.npy": member([0, 1])})


def crowded_archive(rng: Rng) -> Made:
    """Return an archive of many empty members."""
    stream = io.BytesIO()
    entry = struct.pack(
        "<4s4B4HL2L5H2L", b"PK\1\2", 20, 3, 20, 0, 0, 0, 0, 33, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0
    )
    for _ in range(200_000):
        stream.write(entry + b"x")
    size = stream.tell()
    if rng.random() < 0.5:  # the sizes are in another record
        stream.write(
            struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, 200_000, 200_000, size, 0)
        )
        stream.write(struct.pack("<4sLQL", b"PK\6\7", 0, size, 1))
        stream.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 9, 9, 99, 0, 0))
    else:
        stream.write(struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, 65535, 65535, size, 0, 0))
    return stream.getvalue()


def high_index(rng: Rng) -> Made:
    """Return one feature a billion columns away."""
    index = pick(rng, [10_000_001, 2**31 - 1, 2**31, 2**40, 10**30, 10**4000])
    return f"1 1:1\n-1 1:2 {index}:1\n1 2:1\n".encode()


def long_line(rng: Rng) -> Made:
    """Return a long line, or many short ones."""
    cells = 30_000
    lines = [
        b"1 " + b" ".join(b"%d:1" % k for k in range(1, cells)),
        b",".join(b"c%d" % k for k in range(cells)) + b"\n" + b",".join([b"1"] * cells),
        b",".join(b"%d" % k for k in range(cells)),
        b"a" * 1_000_000,
        b"1" * 1_000_000,
        b"a,b\n" + b"1" * 130_000 + b"x,1\n",
        b"1 1:" + b"1" * 1_000_000 + b"x\n",
        b" " * 1_000_000,
        b'"' * 1_000_001,
        b",\n" * 300_000,
        b"\r" * 300_000,
        b"a\n" * 300_000,
    ]
    return pick(rng, lines)


def many_names(rng: Rng) -> Made:
    """Return long names of columns and of categories."""
    name = pick(rng, [b"=", b"_", b"a", b"\xc3\xa9", b"id", b"'"]) * 40_000
    rows = b"".join(
        b"%d,%s,%s\n" % (k % 7, name + b"%d" % (k % 3), b"yn"[k % 2 :][:1]) for k in range(20)
    )
    return b"x," + name + b",target\n" + rows


def parquet_of_one_value(rng: Rng) -> Made:
    """Return columns of a hundred million equal rows, or of a long text, a million times."""
    return _parquet(int(rng.integers(3)))


@cache
def _parquet(kind: int) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    stream = io.BytesIO()
    if kind == 0:
        n, times = 1_000_000, 100
        column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x"]))
    elif kind == 1:
        n, times = 1_000_000, 1
        long = pa.array(["x" * 1_000_000])
        column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), long)
    else:
        n, times = 1_000_000, 100
        column = pa.array(np.zeros(n))
    table = pa.table({"a": column, "b": column})
    with pq.ParquetWriter(stream, table.schema, compression="zstd") as writer:
        for _ in range(times):
            writer.write_table(table)
    return stream.getvalue()


@cache
def _deflated(size: int) -> bytes:
    """Return a header of NumPy and zeros, compressed."""
    engine = zlib.compressobj(9, zlib.DEFLATED, -15)
    parts = [engine.compress(member(np.zeros(0), shape=(size // 8, 1)).ljust(128))]
    parts += [engine.compress(bytes(10_000_000)) for _ in range(size // 10_000_000)]
    return b"".join([*parts, engine.flush()])


def _raw_archive(members: dict[str, tuple[bytes, int]]) -> bytes:
    """Return an archive of compressed data that says what it likes about their sizes."""
    stream, contents = io.BytesIO(), b""
    for name, (packed, size) in members.items():
        fields = (20, 0, 8, 0, 33, 0, len(packed), min(size, 2**32 - 2), len(name))
        place = stream.tell()
        stream.write(struct.pack("<4s5H3L2H", b"PK\3\4", *fields, 0) + name.encode() + packed)
        contents += struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, *fields, 0, 0, 0, 0, 0, place)
        contents += name.encode()
    place = stream.tell()
    n = len(members)
    stream.write(contents + struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, n, n, len(contents), place, 0))
    assert zipfile.is_zipfile(stream)
    return stream.getvalue()


BOMBS: tuple[Callable[[Rng], Made], ...] = (
    gzip_of_zeros, gzip_of_cells, bz2_of_cells, gzip_with_padding, many_small_parts, holes,
    archive_of_zeros, archive_that_lies, archive_with_header, archive_with_long_header,
    sparse_archive, crowded_archive, high_index, long_line, many_names, parquet_of_one_value,
)  # fmt: skip
