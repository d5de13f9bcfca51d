"""A raw file, as people have them, through all commands without editing."""

import csv
import io
import json
import re

import numpy as np
import pytest

import taupath as tp
from taupath import cli
from taupath.preparation import Preparation
from taupath.progress import duration
from taupath.tables import read_table

# What is found in the files below is said as a warning.
pytestmark = pytest.mark.filterwarnings("always::UserWarning")

CITIES = ("Rome", "Oslo", "Bonn")


def write_rows(file, n_rows, seed, cities=CITIES, truth=True):
    """Write customers: an index without name, an identifier, holes, a category, two labels."""
    rng = np.random.default_rng(seed)
    with open(file, "w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(["", "customer", "age", "city", "balance", *(["churn"] if truth else [])])
        for k in range(n_rows):
            age, balance = int(rng.integers(18, 80)), round(float(1000 * rng.normal()), 2)
            left = age + balance / 50 + 10 * rng.normal() > 50
            writer.writerow(
                [
                    k,
                    f"C{rng.integers(10**9):09}",
                    "" if rng.random() < 0.1 else age,
                    "NA" if rng.random() < 0.05 else cities[int(rng.integers(len(cities)))],
                    balance,
                    *(["left" if left else "stayed"] if truth else []),
                ]
            )
    return file


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("raw")
    write_rows(folder / "train.csv", 150, 0)
    write_rows(folder / "new.csv", 40, 1, (*CITIES, "Kyiv"), truth=False)
    write_rows(folder / "test.csv", 60, 2, (*CITIES, "Kyiv"))
    return folder


@pytest.fixture
def run(folder, monkeypatch, capsys):
    """A function that runs a command in the folder of the files; it returns what it printed."""
    monkeypatch.chdir(folder)

    def run(*arguments, status=0):
        capsys.readouterr()
        assert cli.main([str(argument) for argument in arguments]) == status
        said = capsys.readouterr()
        if status == 0:
            return said.out, said.err
        assert said.out == ""
        assert said.err.startswith("taupath: ")
        assert said.err.count("\n") == 1
        return said.err

    return run


def fit(run, *options):
    return run("fit", "train.csv", "-o", "model.tau", "--keep-id", "customer", *options)[0]


def columns_of(text, separator=","):
    header, *rows = csv.reader(io.StringIO(text), delimiter=separator)
    return dict(zip(header, zip(*rows, strict=True), strict=True))


def raw(file, name):
    with open(file, newline="", encoding="utf-8") as stream:
        return [row[name] for row in csv.DictReader(stream)]


# -- the whole way -----------------------------------------------------------------------------


def test_a_raw_file_goes_through_all_commands(run, folder):
    said = run("fit", "train.csv", "-o", "model.tau", status=1)
    assert "column 'customer': 150 different texts in 150 rows, such as 'C" in said
    assert "it looks like an identifier" in said and "with --keep-id customer\n" in said
    said = fit(run, "--missing", "impute", "--positive", "left")
    assert "positive class: left (you asked for it); negative: stayed\n" in said
    assert "standardized: 2 numeric columns (--no-standardize uses them as they are)\n" in said
    assert "column 'x1' has no name and numbers the rows: it is not used" in said
    assert "missing cells count as " in said

    out, err = run("predict", "model.tau", "new.csv", "--cost-fp", 1, "--cost-fn", 5, "--proba")
    unseen = raw("new.csv", "city").count("Kyiv")
    assert unseen
    assert err.splitlines() == [
        "taupath: warning: new.csv: values that training did not have are ignored: "
        f"column 'city' in {unseen} of 40 rows (first 'Kyiv')",
        "positive class: left",
    ]
    predicted = columns_of(out)
    assert list(predicted) == ["customer", "prediction", "p(stayed)", "p(left)"]
    assert list(predicted["customer"]) == raw("new.csv", "customer")
    assert set(predicted["prediction"]) == {"left", "stayed"}

    out, err = run("evaluate", "model.tau", "test.csv", "--cost-fp", 1, "--cost-fn", 5)
    assert "left" in out and "are ignored: column 'city'" in err
    found = json.loads(run("evaluate", "model.tau", "test.csv", "--json")[0])
    assert found["positive"] == "left"
    out, err = run("report", "model.tau", "test.csv", "-o", "report.html")
    assert "positive class: left" in out
    assert "Kyiv" in (folder / "report.html").read_text(encoding="utf-8")
    assert "holds" in run("certify", "model.tau", "train.csv", "--points", 20)[0]

    # Python has the same numbers.
    model = tp.load("model.tau")
    with pytest.warns(UserWarning, match="column 'city'"):
        proba = model.predict_proba("new.csv")
        decided = model.predict("new.csv", cost_fp=1, cost_fn=5)
    for label, column in zip(model.classes_, proba.T, strict=True):
        assert [float(p) for p in predicted[f"p({label})"]] == column.tolist()
    assert list(predicted["prediction"]) == decided.tolist()


def test_misses_fall_where_they_cost_more(run):
    fit(run, "--missing", "impute", "--positive", "left")
    alarms = [
        columns_of(run("predict", "model.tau", "new.csv", "--cost-fp", 1, "--cost-fn", cost)[0])[
            "prediction"
        ].count("left")
        for cost in (0.1, 1, 10)
    ]
    assert alarms == sorted(alarms) and alarms[0] < alarms[-1]


# -- missing cells -----------------------------------------------------------------------------


def test_missing_cells_are_refused_unless_an_option_says_what_to_do(run):
    said = run("fit", "train.csv", "-o", "m.tau", "--keep-id", "customer", status=1)
    assert "column 'age': the cell is missing" in said
    assert "--missing impute fills them in, --missing drop leaves such rows out" in said
    said = run("fit", "train.csv", "-o", "m.tau", "--flag-missing", status=1)
    assert said == "taupath: --flag-missing goes with --missing impute\n"
    with pytest.raises(SystemExit) as stopped:
        cli.main(["fit", "train.csv", "-o", "m.tau", "--missing", "guess"])
    assert stopped.value.code == 2


def test_flags_are_features(run):
    plain = json.loads(fit(run, "--missing", "impute", "--json"))
    flagged = json.loads(fit(run, "--missing", "impute", "--flag-missing", "--json"))
    assert flagged["features"] == plain["features"] + 2
    assert tp.load("model.tau").preparation.feature_names == [
        "age",
        "age (missing)",
        "city=Bonn",
        "city=Oslo",
        "city=Rome",
        "city (missing)",
        "balance",
    ]


@pytest.mark.parametrize("trained", ["drop", "error"])
def test_rows_that_are_dropped_keep_their_place_in_the_output(run, folder, trained):
    if trained == "drop":
        said = fit(run, "--missing", "drop")
        used = int(said.split(": ")[1].split(" ")[0])
        assert 100 < used < 150
        assert f"left out: {150 - used} rows with missing cells\n" in said
        assert "holds" in run("certify", "model.tau", "train.csv", "--points", 20)[0]
        override = ()
    else:
        table = read_table("train.csv")
        holes = Preparation.learn(table, keep=["customer"], missing="drop").usable(table)
        lines = (folder / "train.csv").read_text(encoding="utf-8").splitlines()
        kept = [lines[0]] + [lines[int(k) + 1] for k in holes.column("x1")]
        (folder / "whole.csv").write_text("\n".join(kept), encoding="utf-8")
        run("fit", "whole.csv", "-o", "model.tau", "--keep-id", "customer")
        said = run("predict", "model.tau", "new.csv", status=1)
        assert "the cell is missing, and the model has no value for it; train with" in said
        override = ("--missing", "drop")
    out, err = run("predict", "model.tau", "new.csv", "--proba", *override)
    predicted = columns_of(out)
    missing = [
        age == "" or city == "NA"
        for age, city in zip(raw("new.csv", "age"), raw("new.csv", "city"), strict=True)
    ]
    assert 0 < sum(missing) < 40
    assert list(predicted["customer"]) == raw("new.csv", "customer")
    assert [cell == "" for cell in predicted["prediction"]] == missing
    assert [cell == "" for cell in predicted["p(stayed)"]] == missing
    assert f"new.csv: no prediction for {sum(missing)} of 40 rows, which have missing cells" in err
    run("predict", "model.tau", "new.csv", "-o", "out.json", *override)
    rows = json.loads((folder / "out.json").read_text(encoding="utf-8"))
    assert [row["prediction"] is None for row in rows] == missing
    found = json.loads(run("predict", "model.tau", "new.csv", "--json", *override)[0])
    assert (found["rows"], found["without prediction"]) == (40, sum(missing))
    said = run("predict", "model.tau", "new.csv", "--missing", "error", status=1)
    assert "the cell is missing" in said


def test_rows_that_cannot_be_judged_are_left_out_and_counted(run):
    fit(run, "--missing", "drop")
    found, err = run("evaluate", "model.tau", "test.csv", "--json")
    ages, cities = raw("test.csv", "age"), raw("test.csv", "city")
    whole = sum(age != "" and city != "NA" for age, city in zip(ages, cities, strict=True))
    assert json.loads(found)["rows"] == whole
    assert f"test.csv: {60 - whole} rows without truth or with missing cells left out" in err


def test_nothing_to_predict_is_an_error(run, folder):
    fit(run, "--missing", "drop")
    (folder / "holes.csv").write_text("age,city,balance,customer\n,Rome,1,a\n2,,3,b\n")
    said = run("predict", "model.tau", "holes.csv", status=1)
    assert said == (
        "taupath: holes.csv: each row has missing cells, so there is nothing to predict; train "
        "with --missing impute\n"
    )


def test_costs_are_refused_for_a_regression(run, folder):
    unused = [part for name in ("customer", "age", "city") for part in ("--drop", name)]
    run("fit", "train.csv", "-o", "r.tau", "--task", "regress", "--target", "balance", *unused)
    (folder / "costs.csv").write_text("0,1\n2,0\n")
    for option, value in (("--tau", 0.5), ("--cost-fp", 1), ("--cost-matrix", "costs.csv")):
        for command in ("evaluate", "predict"):
            said = run(command, "r.tau", "test.csv", option, value, status=1)
            assert "r.tau is a regression" in said


def test_options_are_refused_before_training(run):
    def refused(*options):
        return run("fit", "train.csv", "-o", "m.tau", *options, status=1)

    for name in ("cv", "folds", "conformal"):
        assert refused(f"--{name}", 1) == f"taupath: --{name} must be at least 2, got 1\n"
    assert refused("--n-jobs", 0).startswith("taupath: --n-jobs must not be 0")
    said = refused("--keep-id", "prediction")
    assert said.startswith("taupath: column 'prediction' cannot be kept: `taupath predict` writes")


# -- categories, identifiers -------------------------------------------------------------------


def test_unseen_categories_can_be_refused_at_either_time(run):
    fit(run, "--missing", "impute", "--unseen", "error")
    said = run("predict", "model.tau", "new.csv", status=1)
    assert (
        "column 'city': 'Kyiv' is not one of the model's categories 'Bonn', 'Oslo', 'Rome'" in said
    )
    assert "--unseen ignore" in said
    lenient = run("predict", "model.tau", "new.csv", "--unseen", "ignore", "--proba")
    fit(run, "--missing", "impute")
    assert run("predict", "model.tau", "new.csv", "--proba") == lenient
    assert "'Kyiv'" in run("predict", "model.tau", "new.csv", "--unseen", "error", status=1)


def test_identifiers_are_carried_as_they_are_written(run, folder):
    fit(run, "--missing", "impute")
    names = raw("new.csv", "customer")
    run("predict", "model.tau", "new.csv", "-o", "out.tsv")
    assert list(columns_of((folder / "out.tsv").read_text(), "\t")["customer"]) == names
    run("predict", "model.tau", "new.csv", "-o", "out.jsonl")
    lines = (folder / "out.jsonl").read_text().splitlines()
    assert [json.loads(line)["customer"] for line in lines] == names
    # Others than those of training, features among them, can be asked for.
    out, _ = run("predict", "model.tau", "new.csv", "--keep-id", "x1", "--keep-id", "age")
    assert list(columns_of(out)) == ["x1", "age", "prediction"]
    assert list(columns_of(out)["x1"]) == [str(k) for k in range(40)]
    assert list(columns_of(out)["age"]) == raw("new.csv", "age")


@pytest.mark.parametrize(
    ("cells", "written"),
    [
        (["007", "12"], ["007", "12"]),
        (["7", "12345678901234567890"], ["7", "12345678901234567890"]),
        (["7", "NA"], [7, None]),
        (["-7", "123456789012345678"], [-7, 123456789012345678]),
        (["1.50", "2"], ["1.50", "2"]),
        (["--7", "12"], ["--7", "12"]),
    ],
)
def test_identifiers_that_look_like_numbers_stay_as_they_are(run, folder, cells, written):
    fit(run, "--missing", "impute")
    lines = [f"{cell},30,Rome,1" for cell in cells]
    (folder / "two.csv").write_text("\n".join(["customer,age,city,balance", *lines]))
    run("predict", "model.tau", "two.csv", "-o", "two.json")
    rows = json.loads((folder / "two.json").read_text(encoding="utf-8"))
    assert [row["customer"] for row in rows] == written
    out, _ = run("predict", "model.tau", "two.csv")
    # what begins with a minus and is no number would be a formula in a spreadsheet
    safe = [cell.replace("NA", "").replace("--", "'--") for cell in cells]
    assert list(columns_of(out)["customer"]) == safe


def test_identifiers_that_are_not_there_are_said(run, folder):
    fit(run, "--missing", "impute")
    lines = (folder / "new.csv").read_text().splitlines()
    (folder / "anonymous.csv").write_text(
        "\n".join(",".join(line.split(",")[2:]) for line in lines)
    )
    out, err = run("predict", "model.tau", "anonymous.csv")
    assert list(columns_of(out)) == ["prediction"]
    assert (
        "anonymous.csv has no column 'customer', which `fit` was asked to keep: the output goes "
        "without it"
    ) in err
    asked = ("predict", "model.tau", "anonymous.csv", "--keep-id", "customer")
    assert run(*asked, status=1) == "taupath: anonymous.csv has no column 'customer' to keep\n"


def test_wrong_columns_are_refused(run, folder):
    for options, says in (
        (("--drop", "no"), "columns to drop are not there: 'no'"),
        (("--keep-id", "no"), "columns to keep are not there: 'no'"),
        (("--keep-id", "churn", "--target", "churn"), "'churn' is the target"),
        (("--keep-id", "age", "--drop", "age"), "columns are both dropped and kept: 'age'"),
        (("--positive", "gone"), "there is no class 'gone', only 'left', 'stayed'"),
        (("--task", "regress", "--target", "age", "--positive", "1"), "positive class goes with"),
        (("--delimiter", "::"), "a delimiter must be one character, or one of tab,"),
        (("--delimiter", "comma", "--format", "npz"), "a delimiter goes with CSV and TSV"),
        (("--tol", "1e-3"), "--tol is for approximate paths: add --method approximate or auto"),
    ):
        assert says in run("fit", "train.csv", "-o", "m.tau", *options, status=1)
    assert not (folder / "m.tau").exists()
    (folder / "m.svm").write_text("1 1:1\n0 1:2\n")
    said = run("fit", "m.svm", "-o", "m.tau", "--missing", "impute", status=1)
    assert "--missing is for named columns" in said
    fit(run, "--missing", "impute")
    (folder / "twice.csv").write_text("age,city,balance,prediction\n1,Rome,1,2\n")
    said = run("predict", "model.tau", "twice.csv", "--keep-id", "prediction", status=1)
    assert "column 'prediction' cannot be kept" in said


# -- separators, formats, scale ----------------------------------------------------------------


@pytest.mark.parametrize("separator", ["|", "\t", ";", " ", "@"])
def test_separators_are_found_out_or_told(run, folder, separator):
    fit(run, "--missing", "impute")
    expected, _ = run("predict", "model.tau", "new.csv")
    text = (folder / "new.csv").read_text().replace(",,", ",NA,").lstrip(",")
    if separator != " ":
        text = "," + text
    (folder / "new.txt").write_text(text.replace(",", separator))
    told = ("--delimiter", "@") if separator == "@" else ()
    assert run("predict", "model.tau", "new.txt", *told)[0] == expected


def test_other_names_of_output_are_refused_before_anything_is_done(run, folder):
    for command in ("predict", "evaluate"):
        said = run(command, "nowhere.tau", "new.csv", "-o", "out.xlsx", status=1)
        assert "out.xlsx: tables are written to .csv, .tsv, .json, .jsonl" in said


def test_no_command_replaces_what_it_reads(run, folder):
    fit(run, "--missing", "impute")
    (folder / "link.csv").symlink_to("test.csv")
    before = {name: (folder / name).read_bytes() for name in ("train.csv", "test.csv", "model.tau")}
    for command in (
        ("fit", "train.csv", "-o", "train.csv"),
        ("predict", "model.tau", "test.csv", "-o", "./test.csv"),
        ("predict", "model.tau", "test.csv", "-o", "link.csv"),
        ("evaluate", "model.tau", "test.csv", "-o", "test.csv"),
        ("report", "model.tau", "test.csv", "-o", "test.csv"),
        ("report", "model.tau", "test.csv", "-o", "model.tau"),
        ("simplify", "model.tau", "-o", "model.tau"),
    ):
        assert "is the same file as" in run(*command, status=1)
    assert {name: (folder / name).read_bytes() for name in before} == before


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--folds", "1", "--folds must be at least 2, got 1"),
        ("--holdout", "1.5", "--holdout must lie between 0 and 1, got 1.5"),
        ("--holdout", "nan", "--holdout must lie between 0 and 1, got nan"),
    ],
)
def test_wrong_parts_to_hold_out_are_refused_before_anything_is_read(run, option, value, message):
    said = run("fit", "nowhere.csv", "-o", "model.tau", option, value, status=1)
    assert message in said


def test_named_columns_are_standardized_unless_told_otherwise(run, folder):
    fit(run, "--missing", "impute")
    table = read_table("train.csv")
    model = tp.load("model.tau")
    X = model.preparation.features(table)
    np.testing.assert_allclose(X[:, [0, 4]].std(axis=0), 1.0)
    said = fit(run, "--missing", "impute", "--no-standardize")
    assert "standardized" not in said
    X = tp.load("model.tau").preparation.features(table)
    np.testing.assert_array_equal(X[:, 4], table.column("balance"))
    said = fit(run, "--missing", "impute", "--standardize")
    assert "standardized: 2 numeric columns\n" in said
    np.savez(folder / "m.npz", X=table.column("balance")[:, np.newaxis], y=table.column("x1") % 2)
    assert "standardized" not in run("fit", "m.npz", "-o", "m.tau")[0]
    np.testing.assert_array_equal(
        tp.load("m.tau").preparation.features(read_table("m.npz"))[:, 0], table.column("balance")
    )
    assert "standardized: 1 features" in run("fit", "m.npz", "-o", "m.tau", "--standardize")[0]


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.0304, "30 ms"),
        (0.3, "0.3 s"),
        (3.14, "3.1 s"),
        (42.4, "42 s"),
        (100, "2 min"),
        (960, "16 min"),
        (7500, "2 h 5 min"),
    ],
)
def test_times_are_for_people(seconds, text):
    assert duration(seconds) == text


def test_the_time_of_cross_validation_is_apart(run):
    found = json.loads(fit(run, "--missing", "impute", "--cv", 3, "--json"))
    assert found["seconds"] > 0 and found["cross-validation"]["seconds"] > 0
    said = fit(run, "--missing", "impute", "--cv", 3)
    assert re.search(r"^stack of .+ \(cross-validated in [\d.]+ m?s\), augmented", said, re.M)
    assert re.search(r"^exact path.*: \d+ kinks in [\d.]+ m?s, record of", said, re.M)
    assert found["seconds"] < found["cross-validation"]["seconds"]  # fits of one fold of three


# -- what is positive, what cannot be shown ----------------------------------------------------


def test_which_class_is_positive_is_said_with_the_way_to_turn_them_round(run):
    said = fit(run, "--missing", "impute")
    line = "positive class: stayed (the later label; --positive left swaps them); negative"
    assert line in said
    found = json.loads(fit(run, "--missing", "impute", "--json"))
    assert found["positive"] == "stayed"
    assert found["why positive"] == "the later label; --positive left swaps them"
    out, _ = run("predict", "model.tau", "new.csv", "-o", "out.csv")
    assert out == "40 rows written to out.csv (positive class: stayed)\n"
    out, _ = run("predict", "model.tau", "new.csv", "-o", "out.csv", "--json")
    assert json.loads(out)["positive"] == "stayed"
    out, _ = run("report", "model.tau", "test.csv", "-o", "report.html", "--json")
    assert json.loads(out)["positive"] == "stayed"


def test_names_that_would_break_a_terminal_are_shown_escaped(run, folder):
    red, tag = "\x1b[31mred", "</script>"
    lines = [f"{k % 7},{k % 3},{tag if k % 7 > 3 else red}" for k in range(40)]
    (folder / "odd.csv").write_text("a\x07,b,label\x1b[2J\n" + "\n".join(lines))
    said = run("fit", "odd.csv", "-o", "odd.tau", "--target", "3")[0]
    assert "negative: </script>" in said or "positive class: </script>" in said
    outputs = [said]
    for command, *options in (
        ("fit", "odd.csv", "-o", "odd.tau", "--target", "3", "--positive", tag),
        ("predict", "odd.tau", "odd.csv", "-o", "odd.out.csv"),
        ("evaluate", "odd.tau", "odd.csv"),
        ("report", "odd.tau", "odd.csv", "-o", "odd.html"),
    ):
        outputs += run(command, *options)
    outputs.append(
        run("fit", "odd.csv", "-o", "x.tau", "--target", "3", "--positive", "\x1b", status=1)
    )
    (folder / "other.csv").write_text("b\n1\n")
    outputs.append(run("predict", "odd.tau", "other.csv", status=1))
    for text in outputs:
        assert all(line.isprintable() for line in text.split("\n"))
    page = (folder / "odd.html").read_text(encoding="utf-8")
    assert page.count("</script>") == page.count("<script")
