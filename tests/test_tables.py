"""Delimited and LIBSVM text: what is read, and what errors say."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_svmlight_file

from taupath.tables import Table, TableError, delimited, libsvm, read_table


def put(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def message(file: Path, **options: str) -> str:
    """Return what the error says after the name of the file; it must be one line."""
    with pytest.raises(TableError) as caught:
        read_table(file, **options)  # type: ignore[arg-type]  # whatever options a test gives
    return after_name(caught.value, file)


def after_name(error: TableError, file: Path) -> str:
    text = str(error)
    assert text.startswith(str(file))
    assert text.isprintable()
    return text.removeprefix(str(file)).lstrip(":, ")


def column_message(table: Table, name: str, file: Path) -> str:
    with pytest.raises(TableError) as caught:
        table.column(name)
    return after_name(caught.value, file)


# --- delimited: what is read ----------------------------------------------------------------------


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_separators_line_ends_and_byte_order_marks_do_not_matter(tmp_path, separator, end, mark):
    lines = ["age,job,y", ' 31 ,"clerk",1', "4e1, driver ,0", "", ""]
    text = mark + end.join(lines).replace(",", separator)
    table = read_table(put(tmp_path, "people.csv", text))
    assert table.names == ["age", "job", "y"]
    assert table.n_rows == 2
    assert table.matrix is None and table.labels is None
    np.testing.assert_array_equal(table.column("age"), [31.0, 40.0])
    assert table.column("age").dtype == np.float64
    assert table.column("job").tolist() == ["clerk", "driver"]
    np.testing.assert_array_equal(table.column("y"), [1.0, 0.0])


def test_quoted_cells_keep_separators_quotes_and_line_ends(tmp_path):
    text = 'a,b\n"x, y",1\n"he said ""no""",2\n"two\nlines",3\nz,oops\n'
    file = put(tmp_path, "t.csv", text)
    table = read_table(file)
    assert table.column("a").tolist() == ["x, y", 'he said "no"', "two\nlines", "z"]
    assert table.place(3, "b") == f"{file}, line 6, column 'b'"


def test_tabs_are_the_only_separators_of_tsv(tmp_path):
    table = read_table(put(tmp_path, "t.tsv", "a,b\tc\n1,5\t2\n"))
    assert table.names == ["a,b", "c"]
    assert table.column("a,b").tolist() == ["1,5"]


def test_a_semicolon_between_decimal_commas_is_the_separator(tmp_path):
    table = read_table(put(tmp_path, "t.csv", "a;b\n1,5;2,5\n3,5;4,5\n"))
    assert table.names == ["a", "b"]
    assert table.column("b").tolist() == ["2,5", "4,5"]


@pytest.mark.parametrize("name", ["t.csv", "t.txt", "t.data"])
def test_cells_may_be_separated_by_blanks(tmp_path, name):
    text = '  age   job\t y\n31 "old clerk"   1\n  40\tdriver 0  \n\n'
    table = read_table(put(tmp_path, name, text))
    assert table.names == ["age", "job", "y"]
    np.testing.assert_array_equal(table.column("age"), [31.0, 40.0])
    assert table.column("job").tolist() == ["old clerk", "driver"]
    assert table.place(1) == f"{tmp_path / name}, line 3"


def test_row_names_of_R_are_a_column_without_name(tmp_path):
    text = '"age" "job"\n"1" 31 "clerk"\n"2" 40 "driver"\n'
    table = read_table(put(tmp_path, "t.txt", text))
    assert table.names == ["x1", "age", "job"]
    assert table.unnamed == {"x1"}
    assert table.take([0]).unnamed == {"x1"}
    np.testing.assert_array_equal(table.column("x1"), [1, 2])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("full name,n\nAnn Lee,1\nBo Li,2\n", ["full name", "n"]),
        ("a b,c d\n1,2\n", ["a b", "c d"]),
        ("a|b\n1, 5|2\n3, 4|2\n", ["a", "b"]),
        ("mean area\n1\n2\n", ["mean area"]),
    ],
)
def test_blanks_separate_only_where_nothing_else_does(tmp_path, text, names):
    assert read_table(put(tmp_path, "t.csv", text)).names == names


@pytest.mark.parametrize(
    ("delimiter", "text"),
    [
        (":", "a,b:c\n1,5:2\n"),
        ("pipe", "a,b|c\n1,5|2\n"),
        ("|", "a,b|c\n1,5|2\n"),
        ("tab", "a,b\tc\n1,5\t2\n"),
        ("\\t", "a,b\tc\n1,5\t2\n"),
        ("semicolon", "a,b;c\n1,5;2\n"),
        ("Space", "a,b  c\n1,5  2\n"),
        (" ", "a,b c\n 1,5 2\n"),
    ],
)
@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.txt"])
def test_a_delimiter_that_is_given_counts(tmp_path, name, delimiter, text):
    table = read_table(put(tmp_path, name, text), delimiter=delimiter)
    assert table.names == ["a,b", "c"]
    assert table.column("a,b").tolist() == ["1,5"]


def test_delimiters_that_cannot_be_are_refused(tmp_path):
    file = put(tmp_path, "t.csv", "a,b\n1,2\n")
    for delimiter in ("", "ab", '"', "\n"):
        with pytest.raises(
            ValueError, match=r"must be one character, or one of tab, .*comma, semi"
        ):
            read_table(file, delimiter=delimiter)
    with pytest.raises(TableError, match="a delimiter goes with CSV and TSV, not with parquet"):
        read_table(put(tmp_path, "t.parquet", "a"), delimiter=",")


def test_columns_without_name_are_known(tmp_path):
    assert read_table(put(tmp_path, "t.csv", ",a,\n0,1,2\n")).unnamed == {"x1", "x3"}
    assert read_table(put(tmp_path, "t.csv", "3,4\n0,1\n")).unnamed == frozenset()


def test_columns_can_be_read_as_they_are_written(tmp_path):
    file = put(tmp_path, "t.csv", "id,a\n007,1\n12345678901234567890,2\n,3\n")
    table = read_table(file, as_text=["id", "other"])
    assert table.cells("id").tolist() == ["007", "12345678901234567890", None]
    np.testing.assert_array_equal(table.column("a"), [1, 2, 3])


@pytest.mark.parametrize(
    ("text", "names", "n_rows"),
    [
        ("1,2\n3,4\n", ["x1", "x2"], 2),
        ("1,NA,3\n4,5,6\n", ["x1", "x2", "x3"], 2),
        ("5.1,setosa\n4.9,virginica\n", ["x1", "x2"], 2),
        ("39,Private\n50,Public\n38,Private\n", ["x1", "x2"], 3),
        ("country,2019,2020\nItaly,1,2\nSpain,3,4\n", ["country", "2019", "2020"], 2),
        ("a,b\n1,2\n", ["a", "b"], 1),
        ("a,b\nc,d\n", ["a", "b"], 1),
        (",a\n0,1\n", ["x1", "a"], 1),
        ("a\n1\n2\n", ["a"], 2),
    ],
)
def test_the_first_line_is_a_header_unless_it_looks_like_data(tmp_path, text, names, n_rows):
    table = read_table(put(tmp_path, "t.csv", text))
    assert table.names == names
    assert table.n_rows == n_rows


def test_text_that_begins_late_in_a_column_brings_back_its_numbers_as_written(tmp_path):
    n = 3 * delimited.CELLS_PER_BLOCK // 2
    cells = [f"{i}.50" for i in range(n)]
    cells[-2] = "late"
    table = read_table(put(tmp_path, "t.csv", "a,b\n" + "\n".join(f"{c},{c}1" for c in cells)))
    assert table.column("a").tolist() == cells
    assert table.column("b")[-2] == "late1"


def test_a_column_that_is_blank_at_first_may_be_text(tmp_path):
    n = delimited.CELLS_PER_BLOCK // 2 + 1
    table = read_table(put(tmp_path, "t.csv", "a,b\n" + "1,\n" * n + "1,x\n"))
    assert table.take([n]).column("b").tolist() == ["x"]
    assert table.take(slice(0, n)).is_blank("b")
    assert not table.is_blank("b")


@pytest.mark.parametrize("cell", ["1_000", "١", "0x10", "1e", "1 2", "--1", "1.2.3"])
def test_what_is_not_a_plain_number_is_text(tmp_path, cell):
    table = read_table(put(tmp_path, "t.csv", f"a,b\n{cell},1\n"))
    assert table.column("a").tolist() == [cell]


def test_a_part_of_a_table_knows_its_lines(tmp_path):
    file = put(tmp_path, "t.csv", "a,b\n1,x\n\n2,y\n3,z\n")
    part = read_table(file).take([2, 1])
    assert part.n_rows == 2
    np.testing.assert_array_equal(part.column("a"), [3.0, 2.0])
    assert part.place(0) == f"{file}, line 5"
    assert part.place(1) == f"{file}, line 4"
    assert part.take(np.array([False, True])).place(0) == f"{file}, line 4"


def test_a_part_without_its_text_is_a_column_of_numbers(tmp_path):
    part = read_table(put(tmp_path, "t.csv", "a,b\n1,x\n2,7\n")).take([1])
    assert part.column("b").dtype == np.float64


def test_a_part_may_have_no_rows(tmp_path):
    part = read_table(put(tmp_path, "t.csv", "a,b\n1,x\n2,7\n")).take([])
    assert part.n_rows == 0
    assert part.column("a").shape == part.column("b").shape == (0,)


def test_tables_say_how_large_they_are(tmp_path):
    file = put(tmp_path, "t.csv", "a,b\n1,x\n2,7\n")
    assert repr(read_table(file)) == f"<Table of 2 rows and 2 columns from {file}>"
    file = put(tmp_path, "t.svm", "1 3:1\n")
    table = read_table(file)
    assert repr(table) == f"<Table of 1 rows and 3 columns from {file}>"
    assert column_message(table, "x1", file) == "it is a matrix without named columns"


# --- delimited: what errors say -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the file is empty"),
        ("\n  \n\n", "the file is empty"),
        ("a,b\n", "there is a header but no row below it"),
        ("a,b\n1,2\n3\n", "line 3: it has 1 cell, but the first line has 2"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4: it has 3 cells, but the first line has 2"),
        ("a,b,a\n1,2,3\n", "several columns have the same name: 'a'"),
        ('a,b\n1,"2\n3,4\n', "line 2: a quoted cell begins here and never ends"),
        ('a,b\n1,"2"3\n', "line 2: text follows the closing quote of a cell"),
        ("a,b\n1," + "2" * 140_000 + "\n", "line 2: a cell is longer than 131072 characters"),
        ("a,b\n1,2\n1,\0\n", "line 3: there is a zero byte; this is not a text file"),
        (b"a,b\n1,2\nM\xfcller,3\n", "line 3: byte 0xfc is not UTF-8"),
        ("a,b\n1,2\n".encode("utf-16"), "the text is in UTF-16; save it as UTF-8"),
    ],
)
def test_errors_of_delimited_text_say_where_and_why(tmp_path, text, said):
    assert message(put(tmp_path, "t.csv", text)).startswith(said)


@pytest.mark.parametrize("cell", ["", " ", "NA", "n/a", "NaN", "nan", "null", "-nan"])
@pytest.mark.parametrize("others", ["7", "seven"])
def test_missing_cells_are_found_with_line_and_column(tmp_path, cell, others):
    file = put(tmp_path, "t.csv", f"id,age\n1,{others}\n2,{cell}\n3,{others}\n")
    table = read_table(file)
    said = column_message(table, "age", file)
    assert said == "line 3, column 'age': the cell is missing; fill it in or drop the row"
    np.testing.assert_array_equal(table.column("id"), [1, 2, 3])


@pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e999"])
def test_infinite_cells_are_found_with_line_and_column(tmp_path, cell):
    file = put(tmp_path, "t.csv", f"id,age\n1,7\n2,{cell}\n")
    said = column_message(read_table(file), "age", file)
    assert said == "line 3, column 'age': the value is infinite"


def test_a_column_that_is_not_there_is_named_beside_those_that_are(tmp_path):
    file = put(tmp_path, "t.csv", "a,b\n1,2\n")
    said = column_message(read_table(file), "c", file)
    assert said == "there is no column 'c', only 'a', 'b'"


def test_progress_is_told_while_text_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "CELLS_PER_BLOCK", 20)
    monkeypatch.setattr(libsvm, "PIECE", 100)
    for name, text in (("t.csv", "a,b\n" + "1,2\n" * 95), ("t.svm", "1 1:1\n" * 95)):
        told: list[tuple[float, int]] = []
        read_table(put(tmp_path, name, text), progress=lambda *now, told=told: told.append(now))
        assert len(told) >= 5
        assert told == sorted(told)
        assert 0 < told[0][0] < told[-1][0] <= 1
        assert 0 < told[0][1] < told[-1][1] <= 95


# --- LIBSVM ---------------------------------------------------------------------------------------


def test_libsvm_rows_have_labels_features_and_lines(tmp_path):
    text = "# made by hand\n+1 1:0.5 3:-2e1 # good\n\n-1 qid:7 2:1\n0.5\n"
    file = put(tmp_path, "t.svm", text)
    table = read_table(file)
    assert table.names is None
    np.testing.assert_array_equal(table.labels, [1.0, -1.0, 0.5])
    np.testing.assert_array_equal(table.matrix.toarray(), [[0.5, 0, -20], [0, 1, 0], [0, 0, 0]])
    assert [table.place(row) for row in range(3)] == [f"{file}, line {k}" for k in (2, 4, 5)]
    part = table.take([2, 0])
    np.testing.assert_array_equal(part.matrix.toarray(), [[0, 0, 0], [0.5, 0, -20]])
    assert part.place(0) == f"{file}, line 5"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1 2:3x", "feature 2: '3x' is not a number"),
        ("1 2:", "feature 2: '' is not a number"),
        ("1 2:nan", "feature 2: 'nan' is not a number"),
        ("1 2:inf", "feature 2: 'inf' is not finite"),
        ("1 2:1_0", "feature 2: '1_0' is not a number"),
        ("1 1_0:1", "'1_0:1': the index is not a whole number"),
        ("1 a:1", "'a:1': the index is not a whole number"),
        ("1 -1:1", "'-1:1': the index is not a whole number"),
        ("1 3", "'3' is not a feature 'index:value'"),
        ("1 0:1 1:1", "'0:1': features are counted from one; add one to every index"),
        ("1 3:1 2:1", "'2:1': the index comes after 3; indices must increase"),
        ("1 3:1 3:1", "'3:1': the index comes after 3; indices must increase"),
        ("1 99999999999:1", "'99999999999:1': the index is above 2147483647, the last possible"),
        ("1 2147483648:1", "feature 2147483648 is above 2147483647, the last one possible"),
        (
            "1 10000001:1",
            "feature 10000001 is above 10000000, the last one allowed; if it is no mistake, allow "
            "more: --max-features 10000001, or max_features in Python",
        ),
        ("1,2 3:1", "there are several labels, '1,2', where there must be one"),
        ("yes 3:1", "the label 'yes' is not a number"),
        ("nan 3:1", "the label 'nan' is not a number"),
        ("inf 3:1", "the label 'inf' is not finite"),
        ("3:1 4:1", "the label is missing before '3:1'; write 0 where it is not known"),
    ],
)
@pytest.mark.parametrize("piece", [8, libsvm.PIECE])
def test_errors_of_libsvm_text_name_line_and_token(tmp_path, monkeypatch, line, said, piece):
    monkeypatch.setattr(libsvm, "PIECE", piece)
    text = f"1 1:1 2:1\n# comment\n-1 1:2\n{line}\n1 bad\n"
    assert message(put(tmp_path, "t.svm", text)) == f"line 4: {said}"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# nothing\n\n", "the file is empty"),
        ("1\n-1\n", "there are labels but no features 'index:value'"),
        ("1 1:\0", "line 1: there is a zero byte; this is not a text file"),
    ],
)
def test_libsvm_files_without_features_are_errors(tmp_path, text, said):
    assert message(put(tmp_path, "t.svm", text)) == said


def test_underscores_in_libsvm_comments_are_fine(tmp_path):
    assert read_table(put(tmp_path, "t.svm", "1 1:1 # row_1\n0 1:2\n")).n_rows == 2


def test_pieces_give_what_the_whole_gives(tmp_path, monkeypatch):
    file = put(tmp_path, "t.svm", "".join(f"{i % 2} {i + 1}:1.5 {i + 9}:2\n" for i in range(40)))
    whole = read_table(file)
    monkeypatch.setattr(libsvm, "PIECE", 50)
    pieces = read_table(file)
    assert whole.matrix.shape == pieces.matrix.shape == (40, 48)
    assert (whole.matrix != pieces.matrix).nnz == 0
    np.testing.assert_array_equal(whole.labels, pieces.labels)


# --- real files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["classification/a1a.svm", "spam/task_a_u00_eval_lab.tf"])
def test_real_libsvm_files_are_read_as_scikit_learn_reads_them(data_dir, name):
    table = read_table(data_dir / name)
    X, y = load_svmlight_file(str(data_dir / name), zero_based=False)
    assert table.matrix.shape == X.shape
    assert (table.matrix != X).nnz == 0
    np.testing.assert_array_equal(table.labels, y)


def test_real_delimited_files_are_read(data_dir):
    pima = read_table(data_dir / "diabetes" / "pima-indians-diabetes.csv")
    assert pima.names == [f"x{j}" for j in range(1, 10)]
    assert pima.n_rows == 768
    assert pima.column("x9").sum() == 268
    engel = read_table(data_dir / "regression" / "engel.csv")
    assert engel.names == ["income", "foodexp"]
    assert engel.column("income")[0] == 420.157650843928
    crabs = read_table(data_dir / "regression" / "crabs.csv")
    assert set(crabs.column("sp")) == {"B", "O"}
