"""Writing tables: what is written reads back equal, and never half."""

import bz2
import gzip
import io
import json
import os
import stat
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from taupath.tables import TableError, read_table, write_table, writing
from taupath.tables.cells import is_missing, parse_number

COLUMNS = {
    "score": np.array([0.1, -2.5e-300, 1 / 3]),
    "label": np.array(["a,b", 'say "no"', "two\nlines"], dtype=object),
    "count": np.array([1, 2, 3]),
}


def check(table, columns=COLUMNS):
    assert table.names == list(columns)
    for name, values in columns.items():
        np.testing.assert_array_equal(table.column(name), values)


@pytest.mark.parametrize(
    "ending",
    [f"{kind}{packed}" for kind in ("csv", "tsv", "tab") for packed in ("", ".gz", ".bz2")]
    + ["parquet", "pq", "CSV"],
)
def test_what_is_written_reads_back_equal(tmp_path, ending):
    file = tmp_path / f"t.{ending}"
    write_table(file, COLUMNS)
    check(read_table(file))
    assert os.listdir(tmp_path) == [file.name]


@pytest.mark.parametrize("packed", ["", ".gz", ".bz2"])
def test_json_holds_an_object_for_each_row(tmp_path, packed):
    columns = {
        "label": np.array(["a", None, "</script>"], dtype=object),
        "p(τ)": np.array([0.1, np.nan, 1 / 3]),
        "n": np.array([1, 2, 3]),
    }
    rows = [
        {"label": "a", "p(τ)": 0.1, "n": 1},
        {"label": None, "p(τ)": None, "n": 2},
        {"label": "</script>", "p(τ)": 1 / 3, "n": 3},
    ]
    opened = {"": open, ".gz": gzip.open, ".bz2": bz2.open}[packed]
    write_table(tmp_path / f"t.json{packed}", columns)
    with opened(tmp_path / f"t.json{packed}", "rt", encoding="utf-8") as stream:
        assert json.load(stream) == rows
    write_table(tmp_path / f"t.jsonl{packed}", columns)
    with opened(tmp_path / f"t.jsonl{packed}", "rt", encoding="utf-8") as stream:
        assert [json.loads(line) for line in stream] == rows


@pytest.mark.parametrize(
    "name", ["t", "t.txt", "t.xlsx", "t.svm", "t.npz", "t.gz", "t.parquet.gz", "t.csv.zip", ".csv"]
)
def test_other_names_are_refused_with_those_that_are_not(tmp_path, name):
    with pytest.raises(TableError) as caught:
        write_table(tmp_path / name, COLUMNS)
    assert str(caught.value).endswith(
        f"{name}: tables are written to .csv, .tsv, .json, .jsonl (each also .gz or .bz2) or "
        ".parquet files; give one of these names"
    )
    assert os.listdir(tmp_path) == []


def test_empty_cells_are_empty(tmp_path):
    file = tmp_path / "t.csv"
    columns = {"a": np.array([1, None, 3], dtype=object), "b": np.array(["x", None, "y"])}
    write_table(file, columns)
    assert file.read_bytes() == b"a,b\n1,x\n,\n3,y\n"
    write_table(tmp_path / "t.parquet", columns)
    table = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(table.cells("a"), [1, np.nan, 3])
    assert table.cells("b").tolist() == ["x", None, "y"]


def test_csv_is_plain(tmp_path):
    file = tmp_path / "t.csv"
    write_table(file, {"a": np.array([1.0, 0.1]), "b": np.array(["x", "y z"])})
    assert file.read_bytes() == b"a,b\n1.0,x\n0.1,y z\n"


def test_compressed_files_of_equal_tables_are_equal(tmp_path):
    for name in ("a.csv.gz", "b.csv.gz"):
        write_table(tmp_path / name, COLUMNS)
    assert (tmp_path / "a.csv.gz").read_bytes() == (tmp_path / "b.csv.gz").read_bytes()


def test_a_format_that_is_forced_counts(tmp_path):
    file = tmp_path / "t.csv"
    write_table(file, COLUMNS, force_format="parquet")
    check(read_table(file, format="parquet"))
    with pytest.raises(ValueError, match="written as one of csv, tsv, json, jsonl, parquet; got"):
        write_table(tmp_path / "t.csv", COLUMNS, force_format="libsvm")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_standard_output_gets_the_bytes_and_stays_open(monkeypatch, format):
    stream = io.BytesIO()
    out = io.TextIOWrapper(stream, encoding="ascii")
    monkeypatch.setattr(sys, "stdout", out)
    write_table("-", COLUMNS | {"τ": np.zeros(3)}, force_format=format)
    print("after")
    out.flush()
    written = stream.getvalue()
    assert written.endswith(b"after\n")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(written[:-6])))
    check(read_table("-"), COLUMNS | {"τ": np.zeros(3)})


@pytest.mark.parametrize(
    "columns",
    [{}, {"a": np.ones(2), "b": np.ones(3)}, {"a": np.ones((2, 2))}, {"a": np.float64(1)}],
)
def test_columns_that_are_no_table_are_errors(tmp_path, columns):
    with pytest.raises(ValueError, match="column"):
        write_table(tmp_path / "t.csv", columns)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("failure", [KeyboardInterrupt, OSError, MemoryError])
@pytest.mark.parametrize("before", [None, b"old"])
@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.parquet"])
def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch, failure, before, name):
    file = tmp_path / name
    if before is not None:
        file.write_bytes(before)

    def fail(stream, *_):
        stream.write(b"half of it")
        raise failure

    monkeypatch.setattr(writing, "_write_delimited", fail)
    monkeypatch.setattr(writing, "write_parquet", fail)
    with pytest.raises(failure):
        write_table(file, COLUMNS)
    assert os.listdir(tmp_path) == ([] if before is None else [name])
    assert before is None or file.read_bytes() == before


def test_a_failure_at_the_last_moment_leaves_what_was_there(tmp_path, monkeypatch):
    file = tmp_path / "t.csv"
    file.write_bytes(b"old")

    def fail(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_table(file, COLUMNS)
    assert os.listdir(tmp_path) == ["t.csv"]
    assert file.read_bytes() == b"old"


def test_the_content_is_on_the_disk_before_it_takes_the_name(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (done.append("fsync"), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (done.append("replace"), replace(a, b)))
    write_table(tmp_path / "t.csv.gz", COLUMNS)
    assert done == ["fsync", "replace", "fsync"]  # the last one of the folder


def test_a_folder_is_no_file_to_write(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_table(tmp_path, COLUMNS)
    with pytest.raises(FileNotFoundError):
        write_table(tmp_path / "no" / "t.csv", COLUMNS)


@pytest.mark.skipif(os.name != "posix", reason="modes and links of POSIX")
def test_links_and_modes_stay(tmp_path):
    file, link = tmp_path / "t.csv", tmp_path / "link.csv"
    umask = os.umask(0o027)
    try:
        write_table(file, COLUMNS)
    finally:
        os.umask(umask)
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    file.chmod(0o604)
    link.symlink_to(file)
    write_table(link, {"a": np.ones(1)})
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o604
    assert read_table(file).names == ["a"]


@pytest.mark.skipif(not os.path.exists("/dev/null"), reason="needs a device")
def test_devices_are_written_to_and_not_replaced():
    write_table("/dev/null", COLUMNS)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


finite = st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1).map(str.strip)
words = texts.filter(lambda cell: not is_missing(cell) and parse_number(cell) is None)


@given(data=st.data(), n_rows=st.integers(1, 5), extension=st.sampled_from(["csv", "tsv", "pq"]))
def test_any_numbers_and_texts_read_back_equal(tmp_path_factory, data, n_rows, extension):
    # The name of the first column is plain, lest a table of one row look like one without header.
    names = data.draw(st.lists(words, min_size=0, max_size=3, unique=True))
    columns = {
        name: data.draw(
            hnp.arrays(np.float64, n_rows, elements=finite)
            | hnp.arrays(np.dtype(object), n_rows, elements=words)
        )
        for name in ["first", *(name for name in names if name != "first")]
    }
    file = tmp_path_factory.mktemp("round") / f"t.{extension}"
    write_table(file, columns)
    check(read_table(file), columns)
