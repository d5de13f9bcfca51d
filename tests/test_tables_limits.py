"""Small files do not become large tables, unless that is allowed."""

import bz2
import gzip
import io
import os
import subprocess
import sys
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from command_files import refusal, run
from taupath.commands.options import size
from taupath.tables import TableError, limits, opening, read_table
from taupath.tables.cells import parse_number

CSV = b"a,b\n" + b"1,x\n2,y\n" * 1000


@pytest.fixture
def small(monkeypatch):
    """Make the limits small."""
    monkeypatch.setattr(limits, "ALWAYS_ALLOWED", 1000)
    monkeypatch.setattr(limits, "GROWTH", 2)


def npz(save=np.savez_compressed, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


FILES = {
    "t.csv.gz": gzip.compress(CSV),
    "t.csv.bz2": bz2.compress(CSV),
    "t.svm.gz": gzip.compress(b"1 1:1\n-1 1:2\n" * 1000),
    "t.npz": npz(X=np.zeros((1000, 4)), y=np.arange(1000) % 2),
    "t.parquet": parquet(a=np.zeros(4000), b=["x", "y"] * 2000),
    "long.parquet": parquet(a=[0.0, 1.0] * 400, b=["x" * 9000, "y"] * 400),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_grows_is_refused_and_can_be_allowed(tmp_path, small, name, capsys):
    file = tmp_path / name
    file.write_bytes(FILES[name])
    with pytest.raises(TableError, match=r"allowed for this file; .* --max-bytes 20GB, or max_by"):
        read_table(file)
    assert read_table(file, max_bytes=10**6).n_rows >= 800
    with pytest.raises(TableError, match="more than the 999 bytes allowed"):
        read_table(file, max_bytes=999)
    said = refusal(capsys, "fit", file, "-o", tmp_path / "m.tau")
    assert "--max-bytes" in said
    if name == "t.csv.gz":
        assert run("fit", file, "-o", tmp_path / "m.tau", "--max-bytes", "1MB") == 0


def test_a_plain_file_may_be_as_large_as_it_is(tmp_path, small):
    file = tmp_path / "t.csv"
    file.write_bytes(CSV)
    assert read_table(file).n_rows == 2000
    with pytest.raises(TableError, match="more than the 5 kB allowed"):
        read_table(file, max_bytes=5000)


def test_a_pipe_without_end_is_refused(monkeypatch, small):
    monkeypatch.setattr(opening, "LONGEST_PIPE", 3 << 20)

    class Endless(io.RawIOBase):
        def readable(self):
            return True

        def readinto(self, buffer):
            buffer[:] = (self.text * len(buffer))[: len(buffer)]
            return len(buffer)

    stream = Endless()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(stream)))
    stream.text = b"a,b\n"
    with pytest.raises(TableError, match=r"more than the 3\.15 MB allowed"):
        read_table("-")
    stream.text = b"\0"
    with pytest.raises(TableError, match="line 1: there is a zero byte"):
        read_table("-")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress])
def test_compressed_parts_may_follow_each_other(tmp_path, pack):
    file = tmp_path / "t.csv"
    for parts in (
        [CSV],
        [CSV[:100], CSV[100:]],
        [b"", CSV, b""],
        [CSV[k : k + 9] for k in range(0, len(CSV), 9)],
    ):
        file.write_bytes(b"".join(map(pack, parts)) + bytes(512))
        assert read_table(file).n_rows == 2000
    for wrong in (b"x", bytes(1 << 17), b"\0x", pack(CSV)[:-3]):
        file.write_bytes(pack(CSV) + wrong)
        with pytest.raises(TableError, match="cut short or damaged"):
            read_table(file)


@pytest.mark.parametrize("index", [101, 2**31 - 1])
def test_indices_have_a_limit(tmp_path, index, capsys):
    file, model = tmp_path / "t.svm", tmp_path / "m.tau"
    file.write_text(f"1 1:1\n-1 1:2 {index}:1\n" * 3)
    with pytest.raises(
        TableError, match=rf"line 2: feature {index} is .*: --max-features {index}, or"
    ):
        read_table(file, max_features=100)
    assert read_table(file, max_features=index).matrix.shape == (6, index)
    said = refusal(capsys, "fit", file, "-o", model, "--max-features", "100")
    assert f"feature {index}" in said
    with pytest.raises(ValueError, match="max_features must be from 1 to 2147483647, got 0"):
        read_table(file, max_features=0)
    matrix = sp.csr_array(([1.0, 2.0], ([0, 1], [0, index - 1])), shape=(2, index))
    sp.save_npz(tmp_path / "t.npz", matrix)
    with pytest.raises(TableError, match="allow more: --max-features"):
        read_table(tmp_path / "t.npz", max_features=100)
    assert read_table(tmp_path / "t.npz", max_features=index).matrix.shape == (2, index)


@pytest.mark.skipif(not hasattr(os, "truncate"), reason="needs files with holes")
@pytest.mark.parametrize(
    "head", [b"", b"a,b\n1,2\n", b"PK\x03\x04", b"PAR1", b"\x1f\x8b\x08\0", b"BZh9"]
)
def test_holes_in_a_file_are_not_read(tmp_path, head):
    file = tmp_path / "t"
    file.write_bytes(head + b"1")
    os.truncate(file, 20 << 30)
    start = time.process_time()
    with pytest.raises(TableError):
        read_table(file)
    assert time.process_time() - start < 1.0


def test_an_archive_that_lies_about_its_sizes_is_not_unpacked(tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("X.npy", bytes(30_000_000))
    raw = bytearray(stream.getvalue())
    for mark, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = raw.find(mark) + place
        raw[at : at + 4] = (1000).to_bytes(4, "little")
    (tmp_path / "t.npz").write_bytes(raw)
    with pytest.raises(TableError, match=r"\.npz: "):
        read_table(tmp_path / "t.npz")


def test_cells_are_read_in_time_that_grows_with_their_length():
    start = time.process_time()
    for cell in (
        "1" * 100_000 + "x",
        "." + "1" * 100_000 + "x",
        "1" * 100_000 + "e" + "1" * 9 + "x",
    ):
        assert parse_number(cell) is None
    assert time.process_time() - start < 0.5


def test_a_long_text_that_occurs_often_is_held_once(tmp_path):
    n = 3000
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array(["x" * 50_000]))
    pq.write_table(pa.table({"a": text, "b": np.arange(n)}), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet")  # 150 MB if it were held for each row
    cells = table.column("a")
    assert len({id(cell) for cell in cells}) == 1 and cells[0] == "x" * 50_000
    assert table.column("b").tolist() == list(range(n))


SCRIPT = """
import resource, sys
from taupath.tables import TableError, read_table
import pyarrow.parquet, scipy.sparse
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    read_table(sys.argv[1])
except TableError as error:
    print(error)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is counted in other units")
def test_a_bomb_takes_no_more_memory_than_is_allowed(tmp_path):
    file = tmp_path / "t.csv.gz"
    file.write_bytes(gzip.compress(b"0,1\n" * 2_500_000) * 100)  # 1 GB
    done = subprocess.run([sys.executable, "-c", SCRIPT, file], capture_output=True, check=True)
    said, used = done.stdout.decode().splitlines()
    assert "--max-bytes" in said and int(used) < 300


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("5", 5),
        ("5B", 5),
        ("2kB", 2000),
        ("1.5MB", 1_500_000),
        ("20 GB", 20 * 10**9),
        ("1t", 10**12),
    ],
)
def test_sizes(text, number):
    assert size(text) == number


@pytest.mark.parametrize("text", ["", "GB", "-5", "0", "1e9", "5 apples", "٥", "9" * 99])
def test_sizes_that_are_none(text, capsys):
    with pytest.raises(SystemExit) as stopped:
        run("fit", "x", "-o", "y", f"--max-bytes={text}")
    assert stopped.value.code == 2
    assert "--max-bytes" in capsys.readouterr().err
