"""Formats by name and by content, compression, standard input, NumPy and Parquet files."""

import bz2
import datetime
import gzip
import io
import os
import pickle
import re
import shlex
import subprocess
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from taupath.tables import TableError, opening, read_table

CSV = b"a,b\n1,x\n2,y\n"
LIBSVM = b"1 1:5 2:6\n-1 2:7\n"
TSV = CSV.replace(b",", b"\t")


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def parquet(**columns):
    stream = io.BytesIO()
    pq.write_table(pa.table(columns), stream)
    return stream.getvalue()


NPZ = npz(X=np.array([[5, 6], [0, 7]]), y=np.array([1, -1]))
PARQUET = parquet(a=[1, 2], b=["x", "y"])


def feed(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def said(file, **options):
    """Return what the error says, which must be one line that begins with the file."""
    with pytest.raises(TableError) as caught:
        read_table(file, **options)
    text = str(caught.value)
    source = "<standard input>" if str(file) == "-" else str(file)
    assert text.startswith(source)
    assert text.isprintable()
    return text.removeprefix(source).lstrip(":, ")


def check(table):
    """All these tables hold the same, with names or without."""
    if table.names is None:
        X = table.matrix if isinstance(table.matrix, np.ndarray) else table.matrix.toarray()
        np.testing.assert_array_equal(X, [[5, 6], [0, 7]])
        assert X.dtype == np.float64
        np.testing.assert_array_equal(table.labels, [1, -1])
    else:
        np.testing.assert_array_equal(table.column("a"), [1, 2])
        assert table.column("b").tolist() == ["x", "y"]


@pytest.mark.parametrize(
    ("name", "data", "named"),
    [
        ("t.svm", LIBSVM, False),
        ("t.libsvm", LIBSVM, False),
        ("t.svmlight", LIBSVM, False),
        ("t.tf", LIBSVM, False),
        ("t.txt", LIBSVM, False),
        ("t.t", LIBSVM, False),
        ("t", LIBSVM, False),
        ("t.CSV", CSV, True),
        ("t.txt", CSV, True),
        ("t.dat", TSV, True),
        ("t.tsv", TSV, True),
        ("t.tab", TSV, True),
        ("t.npz", NPZ, False),
        ("t.bin", NPZ, False),
        ("t.parquet", PARQUET, True),
        ("t.pq", PARQUET, True),
        ("t.bin", PARQUET, True),
    ],
)
@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".bz2", bz2.compress)]
)
def test_formats_are_known_by_name_or_by_content(tmp_path, name, data, named, suffix, pack):
    file = tmp_path / (name + suffix)
    file.write_bytes(pack(data))
    table = read_table(file)
    assert (table.names is not None) == named
    assert table.source == str(file)
    check(table)


@pytest.mark.parametrize("data", [LIBSVM, CSV, TSV, NPZ, PARQUET])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress])
def test_standard_input_is_known_by_its_content(monkeypatch, data, pack):
    feed(monkeypatch, pack(data))
    table = read_table("-")
    assert table.source == "<standard input>"
    check(table)


def test_a_format_that_is_given_counts(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(LIBSVM)
    assert read_table(file, format="libsvm").names is None
    assert read_table(file).names is not None
    with pytest.raises(ValueError, match=r"format must be one of libsvm, csv.*got 'xml'"):
        read_table(file, format="xml")


def test_files_that_cannot_be_opened_are_one_line_errors(tmp_path, monkeypatch):
    assert said(tmp_path / "none.csv") == "there is no such file"
    assert said(tmp_path) == "this is a folder, not a file"
    assert said(tmp_path / "sheet.xlsx") == "spreadsheets are not read; save the sheet as CSV"
    (tmp_path / "empty.npz").write_bytes(b"")
    assert said(tmp_path / "empty.npz") == "the file is empty"
    feed(monkeypatch, b"")
    assert said("-") == "the file is empty"
    with pytest.raises(TableError, match=r"zero\\x00byte.*cannot be read"):
        read_table("zero\0byte")


def test_a_file_without_permission_is_an_error(tmp_path, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(opening, "open", refuse, raising=False)
    assert said(tmp_path / "t.csv") == "the file cannot be read: Permission denied"


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress)])
def test_compressed_files_that_are_cut_short_or_damaged_are_errors(tmp_path, suffix, pack):
    file = tmp_path / f"t.csv.{suffix}"
    packed = pack(CSV * 100)
    for data in (packed[:-12], packed[:12], packed[:30] + b"\xff\xff" + packed[32:]):
        file.write_bytes(data)
        assert said(file).startswith("the compressed file is cut short or damaged: ")
    file.write_bytes(CSV)
    assert said(file) == "it is not compressed, although its name says so"


# --- NumPy archives -------------------------------------------------------------------------------


def sparse_parts(**changed):
    parts = {
        "data": np.array([5.0, 6.0, 7.0]),
        "indices": np.array([0, 1, 1]),
        "indptr": np.array([0, 2, 3]),
        "shape": np.array([2, 2]),
        "format": b"csr",
        "y": np.array([1, -1]),
    }
    return parts | changed


def test_sparse_matrices_are_read_as_scipy_saves_them(tmp_path):
    file = tmp_path / "t.npz"
    file.write_bytes(npz(**sparse_parts()))
    check(read_table(file))
    X = sp.csr_array(sp.random(20, 30, density=0.1, random_state=0))
    sp.save_npz(file, X)
    table = read_table(file)
    assert (table.matrix != X).nnz == 0
    assert table.labels is None


def test_text_and_truth_values_are_labels(tmp_path):
    file = tmp_path / "t.npz"
    for y, labels in (
        (np.array(["no", "yes"]), ["no", "yes"]),
        (np.array([True, False]), ["True", "False"]),
        (np.array(["1", "2"]), [1.0, 2.0]),
        (np.array([[3], [4]]), [3.0, 4.0]),
    ):
        file.write_bytes(npz(X=np.eye(2), y=y))
        assert read_table(file).labels.tolist() == labels


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": np.eye(2)}, "there is no array 'X' and no saved sparse matrix, only 'Z'"),
        ({}, "it is not a NumPy archive|the archive is empty"),
        ({"X": np.ones(3)}, "'X' must have two dimensions, not 1"),
        ({"X": np.ones((0, 3))}, r"the matrix has shape \(0, 3\)"),
        ({"X": np.eye(2) * 1j}, "'X' must hold real numbers, not complex128"),
        ({"X": np.array([["a"]])}, "'X' must hold real numbers, not <U1"),
        ({"X": np.array([[1, None]])}, "it holds Python objects, which are not read"),
        ({"X": np.eye(2), "y": np.array([1, None])}, "it holds Python objects"),
        ({"X": np.eye(2), "y": np.ones(3)}, r"'y' must have shape \(2,\) as 'X' has, not \(3,\)"),
        ({"X": np.eye(2), "y": np.array([1, np.nan])}, "row 2, label: the value is missing"),
        ({"X": np.eye(2), "y": np.array(["a", ""])}, "row 2, label: the value is missing"),
        ({"X": np.array([[1, 2], [3, np.nan]])}, "row 2, feature 2: the value is missing"),
        ({"X": np.array([[1, -np.inf], [3, 4]])}, "row 1, feature 2: the value is infinite"),
        (sparse_parts(data=np.array([1, np.nan, 2])), "row 1, feature 2: the value is missing"),
        (sparse_parts(data=np.array([1, 2, np.inf])), "row 2, feature 2: the value is infinite"),
        (sparse_parts(format=b"csc"), "the sparse matrix is csc format; save it as CSR"),
        (sparse_parts(indices=np.array([0, 1, 9])), "its parts make no CSR matrix: "),
        (sparse_parts(indices=np.array([0, -1, 1])), "its parts make no CSR matrix: "),
        (sparse_parts(indptr=np.array([0, 9, 3])), "its parts make no CSR matrix: "),
        (sparse_parts(shape=np.array([2])), "its parts make no CSR matrix: "),
        (sparse_parts(shape=np.array(["a", "b"])), "its parts make no CSR matrix: "),
    ],
)
def test_errors_of_archives_say_what_is_wrong(tmp_path, arrays, message):
    file = tmp_path / "t.npz"
    file.write_bytes(npz(**arrays))
    assert re.match(message, said(file))


def test_pickles_in_archives_are_never_opened(tmp_path):
    opened = tmp_path / "opened"

    class Trap:
        def __reduce__(self):
            return (os.mkdir, (str(opened),))

    file = tmp_path / "t.npz"
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("X.npy", pickle.dumps(Trap()))
    assert "Python objects" in said(file) or "not an array" in said(file)
    assert not opened.exists()


# --- Parquet --------------------------------------------------------------------------------------


def test_parquet_columns_are_numbers_or_text(tmp_path):
    file = tmp_path / "t.parquet"
    file.write_bytes(
        parquet(
            whole=pa.array([1, 2], pa.int32()),
            single=pa.array([0.5, 1.5], pa.float32()),
            text=["x", "y"],
            digits=["1", "2.5"],
            truth=[True, False],
            category=pa.array(["b", "a"]).dictionary_encode(),
        )
    )
    table = read_table(file)
    assert table.names == ["whole", "single", "text", "digits", "truth", "category"]
    assert [table.column(name).tolist() for name in table.names] == [
        [1.0, 2.0],
        [0.5, 1.5],
        ["x", "y"],
        [1.0, 2.5],
        ["True", "False"],
        ["b", "a"],
    ]
    assert [table.column(name).dtype == object for name in table.names] == [0, 0, 1, 0, 1, 1]


def test_parquet_cells_that_are_missing_or_of_other_types_are_errors_when_used(tmp_path):
    file = tmp_path / "t.parquet"
    file.write_bytes(
        parquet(a=[1, 2], b=[1, None], c=["x", None], d=[[1], [2]], e=pa.nulls(2), f=["x", " "])
    )
    table = read_table(file)
    assert table.column("a").tolist() == [1, 2]
    for name in "bcf":
        with pytest.raises(TableError, match=f"row 2, column '{name}': the cell is missing"):
            table.column(name)
    with pytest.raises(TableError, match=r"column 'd': it holds values of type list.*leave the co"):
        table.column("d")
    assert table.is_blank("e") and not table.is_blank("d")


def test_parquet_columns_can_be_read_as_text(tmp_path):
    columns = {
        "id": pa.array([2**53 + 1, None]),
        "code": pa.array(["007", "12"]).dictionary_encode(),
        "day": pa.array([datetime.date(2024, 2, 29), None]),
        "a": pa.array([1.5, 2.0]),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    table = read_table(tmp_path / "t.parquet", as_text=["id", "code", "day", "other"])
    assert table.cells("id").tolist() == ["9007199254740993", None]
    assert table.cells("code").tolist() == ["007", "12"]
    assert table.cells("day").tolist() == ["2024-02-29", None]
    np.testing.assert_array_equal(table.column("a"), [1.5, 2.0])
    assert "day" not in read_table(tmp_path / "t.parquet").to_show()


def test_parquet_without_rows_or_with_a_name_twice_is_an_error(tmp_path):
    file = tmp_path / "t.parquet"
    file.write_bytes(parquet(a=pa.array([], pa.int32())))
    assert said(file) == "there are no rows"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), file)
    assert said(file) == "several columns have the same name: 'a'"


def test_without_pyarrow_the_command_that_installs_it_is_given(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    file = tmp_path / "t.parquet"
    file.write_bytes(PARQUET)
    command = shlex.split(said(file).split("install it with: ")[1])
    assert command == [sys.executable, "-m", "pip", "install", "pyarrow"]


def test_reading_a_csv_file_imports_no_heavy_package(tmp_path):
    file = tmp_path / "t.csv"
    file.write_bytes(CSV)
    code = (
        "import sys, types, pathlib, importlib.util as u\n"
        "folder = str(pathlib.Path(u.find_spec('taupath').origin).parent)\n"
        # The package itself imports its estimators; here only its tables matter.
        "package = types.ModuleType('taupath'); package.__path__ = [folder]\n"
        "sys.modules['taupath'] = package\n"
        "from taupath.tables import read_table\n"
        f"read_table({str(file)!r})\n"
        "print(sorted({'scipy', 'sklearn', 'pyarrow', 'pandas'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
