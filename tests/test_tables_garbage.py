"""Whatever bytes a file holds, it is a table or an error of one line."""

import gzip
import io
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import example, given
from hypothesis import strategies as st

from taupath.choices import FORMATS
from taupath.preparation import Preparation
from taupath.tables import Table, TableError, read_table


def read_bytes(data, format):
    """Return the table in some bytes, or None for an error of one line."""
    before = sys.stdin
    sys.stdin = io.TextIOWrapper(io.BytesIO(data))
    try:
        table = read_table("-", format=format)
    except TableError as error:
        assert str(error).startswith("<standard input>")
        assert str(error).isprintable()
        return None
    finally:
        sys.stdin = before
    check_consistent(table)
    return table


def check_consistent(table):
    """What is not refused can be used, or is refused then."""
    assert table.n_rows > 0
    if table.names is None:
        X = table.matrix
        assert X.ndim == 2 and X.shape[0] == table.n_rows and X.shape[1] > 0
        values = X if isinstance(X, np.ndarray) else X.data
        assert values.dtype == np.float64 and np.isfinite(values).all()
        if table.labels is not None:
            assert table.labels.shape == (table.n_rows,)
    for name in table.names or []:
        try:
            values = table.column(name)
        except TableError as error:
            assert str(error).isprintable()
            continue
        assert values.shape == (table.n_rows,)
        assert values.dtype == np.float64 or all(isinstance(cell, str) for cell in values)
    for task in ("classify", "regress"):
        prepare(table, task)


def prepare(table: Table, task: str) -> None:
    try:
        preparation = Preparation.learn(table, task=task, standardize=True)
        X, y = preparation.features(table), preparation.response(table)
    except TableError as error:
        assert str(error).isprintable()
        return
    assert X.shape == (table.n_rows, preparation.n_features)
    assert np.isfinite(X if isinstance(X, np.ndarray) else X.data).all()
    assert y.shape == (table.n_rows,)


def samples() -> dict[str, bytes]:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 3))
    csv = "a,b,c\n" + "".join(",".join(map(repr, row)) + "\n" for row in rows.tolist())
    svm = "".join(f"{i % 2} 1:{row[0]!r} 4:{row[1]!r}\n" for i, row in enumerate(rows.tolist()))
    dense, sparse, parquet = io.BytesIO(), io.BytesIO(), io.BytesIO()
    np.savez_compressed(dense, X=rows, y=np.arange(30) % 2)
    sp.save_npz(sparse, sp.csr_array(rows), compressed=False)
    pq.write_table(pa.table({"a": rows[:, 0], "b": [f"t{i % 3}" for i in range(30)]}), parquet)
    return {
        "csv": csv.encode(),
        "libsvm": svm.encode(),
        "csv.gz": gzip.compress(csv.encode()),
        "npz": dense.getvalue(),
        "sparse.npz": sparse.getvalue(),
        "parquet": parquet.getvalue(),
    }


SAMPLES = samples()


@given(data=st.binary(max_size=200), format=st.sampled_from([None, *FORMATS]))
@example(data=b"PK\x03\x04", format=None)
@example(data=b"PAR1", format=None)
@example(data=b"\x1f\x8b", format=None)
@example(data=b"BZh9", format=None)
@example(data=b"PK\x05\x06" + bytes(18), format="npz")
@example(data=b"\xef\xbb\xbf", format="libsvm")
@example(data=b'"', format="csv")
@example(data=b"1 1:1\n\x1c\n", format="libsvm")
@example(data=b"1 " + b"0" * 5000 + b"1:1", format="libsvm")
@example(data=b"1 " + b"0" * 5000 + b":1", format="libsvm")
@example(data=b"1 " + b"9" * 5000 + b":1", format="libsvm")
@example(data=b"1 1:" + b"9" * 5000, format="libsvm")
@example(data=b"a,b\n1," + b"9" * 5000, format="csv")
@example(data="1 1:1\n1\x85 1:1\n".encode(), format="libsvm")
def test_random_bytes_never_give_a_traceback(data, format):
    read_bytes(data, format)


@given(
    text=st.text('0123456789.,;:-+e# \t\r\n"axqidNA_\0\ufeff∞', max_size=60),
    format=st.sampled_from([None, "csv", "tsv", "libsvm"]),
)
def test_random_text_never_gives_a_traceback(text, format):
    read_bytes(text.encode(), format)


@pytest.mark.parametrize("name", SAMPLES)
def test_samples_are_tables(name):
    assert read_bytes(SAMPLES[name], None) is not None


@pytest.mark.parametrize("name", ["csv.gz", "npz", "sparse.npz", "parquet"])
def test_binary_files_cut_anywhere_are_errors(name):
    whole = SAMPLES[name]
    for end in range(1, len(whole) - 1, max(1, len(whole) // 150)):
        assert read_bytes(whole[:end], None) is None


@pytest.mark.parametrize("name", ["csv", "libsvm"])
def test_text_cut_anywhere_never_gives_a_traceback(name):
    whole = SAMPLES[name]
    for end in range(1, len(whole), 7):
        read_bytes(whole[:end], None)


@pytest.mark.parametrize("name", SAMPLES)
def test_files_with_wrong_bytes_never_give_a_traceback(name):
    rng = np.random.default_rng(1)
    whole = np.frombuffer(SAMPLES[name], dtype=np.uint8)
    for _ in range(200):
        changed = whole.copy()
        places = rng.integers(len(whole), size=rng.integers(1, 4))
        changed[places] = rng.integers(256, size=len(places))
        read_bytes(changed.tobytes(), None)


def test_parquet_text_that_is_not_utf_8_is_an_error():
    stream = io.BytesIO()
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.array([0, 2], pa.int32()).buffers()[1], pa.py_buffer(b"x\xd8")]
    )
    pq.write_table(pa.table({"a": text, "b": [1]}), stream)
    assert read_bytes(stream.getvalue(), None) is None


def test_an_archive_that_promises_more_than_it_has_is_an_error():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10**0, 9999999999999), }"
        header = header.replace(b"10**0", b"1000000").ljust(117) + b"\n"
        archive.writestr("X.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)
    assert read_bytes(stream.getvalue(), None) is None
