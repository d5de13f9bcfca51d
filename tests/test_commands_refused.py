"""Commands that cannot be done say so in one line, and leave nothing behind."""

import os

import pytest

from command_files import refusal, run


@pytest.fixture(scope="module")
def folder(command_files):
    return command_files


def test_files_that_are_not_there(folder, tmp_path, capsys):
    model = folder / "cancer.tau"
    assert "nowhere" in refusal(capsys, "fit", "nowhere.csv", "-o", tmp_path / "m")
    assert "nowhere" in refusal(capsys, "predict", "nowhere.tau", folder / "cancer.svm")
    assert "nowhere" in refusal(capsys, "predict", model, "nowhere.svm")
    said = refusal(capsys, "fit", folder / "cancer.svm", "-o", tmp_path / "no" / "m.tau")
    assert "there is no folder" in said
    assert "is a folder" in refusal(capsys, "fit", folder / "cancer.svm", "-o", tmp_path)


def test_data_that_are_none(folder, tmp_path, capsys):
    file, model = tmp_path / "data.csv", tmp_path / "m.tau"
    for content, says in (
        ("", "empty"),
        ("a,b\n1,2\n3\n", "line 3"),
        ("a,b,c\n1,2,x\n,3,y\n2,2,x\n", "line 3, column 'a'"),
        ("a,b\n1,2\n2,3\n5,2\n6,3\n3x,2\n", "line 6, column 'a'"),
        ("a,b\n1,x\n2,x\n", "there must be two"),
    ):
        file.write_text(content)
        assert says in refusal(capsys, "fit", file, "-o", model)
    assert not model.exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data.csv"]


def test_data_that_do_not_match_the_model(folder, tmp_path, capsys):
    wages = (folder / "wages.csv").read_text()
    file = tmp_path / "data.csv"
    file.write_text(wages.replace("age,", "old,", 1))
    assert "'age'" in refusal(capsys, "predict", folder / "wages.tau", file)
    file.write_text((folder / "iris.csv").read_text().replace("setosa", "daisy", 1))
    assert "daisy" in refusal(capsys, "evaluate", folder / "iris.tau", file)
    file.write_text("".join(line.rsplit(",", 1)[0] + "\n" for line in wages.splitlines()))
    assert "'wage'" in refusal(capsys, "evaluate", folder / "wages.tau", file)
    assert "not a taupath model" in refusal(capsys, "predict", file, file)


def test_costs_that_are_none(folder, capsys):
    two = ("predict", folder / "cancer.tau", folder / "cancer.svm")
    assert "not both" in refusal(capsys, *two, "--tau", "0.5", "--cost-fp", "1")
    assert "both --cost-fp and --cost-fn" in refusal(capsys, *two, "--cost-fp", "1")
    assert "2.0" in refusal(capsys, *two, "--tau", "2")
    assert "both 0" in refusal(capsys, *two, "--cost-fp", "0", "--cost-fn", "0")
    assert "'much'" in refusal(capsys, *two, "--cost-fp", "much", "--cost-fn", "1")
    assert "classifier" in refusal(capsys, *two, "--quantiles", "0.5")
    several = ("predict", folder / "iris.tau", folder / "iris.csv")
    assert "--cost-matrix" in refusal(capsys, *several, "--tau", "0.5")
    regression = ("predict", folder / "wages.tau", folder / "wages.csv")
    assert "--quantiles" in refusal(capsys, *regression, "--proba")


def test_a_model_of_other_data_is_not_certified(folder, tmp_path, capsys):
    other = tmp_path / "other.svm"
    text = (folder / "cancer.svm").read_text()
    lines = text.splitlines()
    other.write_text("\n".join([*lines[:5], lines[6], lines[5], *lines[7:]]) + "\n")
    said = refusal(capsys, "certify", folder / "cancer.tau", other)
    assert "row 6 differs" in said
    other.write_text("\n".join(lines[:-1]) + "\n")
    assert "149 rows" in refusal(capsys, "certify", folder / "cancer.tau", other)


def test_more_folds_than_rows(folder, tmp_path, capsys):
    for option in ("--cv", "--folds"):
        said = refusal(capsys, "fit", folder / "iris.csv", "-o", tmp_path / "m", option, "999")
        assert "must be between 2 and the number of rows, 150; got 999" in said


def test_more_folds_than_rows_of_a_class_are_refused_by_the_name_of_the_class(tmp_path, capsys):
    rare = tmp_path / "rare.csv"
    rare.write_text("x,label\n" + "".join(f"{k},{'fraud' if k < 3 else 'ok'}\n" for k in range(40)))
    how = ("-o", tmp_path / "m", "--target", "label", "--positive", "fraud", "--cv")
    said = refusal(capsys, "fit", rare, *how)
    assert "class 'fraud' has 3 rows, too few for 5 folds" in said


def test_wrong_usage_ends_with_status_2(folder, capsys):
    for arguments in (
        (),
        ("dance",),
        ("fit",),
        ("fit", "x"),
        ("fit", "x", "-o", "y", "--C", "much"),
        ("fit", "x", "-o", "y", "--C", "1", "--cv"),
        ("fit", "x", "-o", "y", "--kernel", "round"),
    ):
        with pytest.raises(SystemExit) as stopped:
            run(*arguments)
        assert stopped.value.code == 2
        said = capsys.readouterr().err
        assert "usage: taupath" in said and said.count("\n") == 2


def test_debug_shows_where_an_error_comes_from(folder, capsys):
    output = "no\x1b[31mwhere/p.csv"
    command = ("predict", folder / "cancer.tau", folder / "cancer.svm", "-o", output)
    assert run(*command, "--debug") == 1
    said = capsys.readouterr().err
    assert "Traceback" in said and "files.py" in said and "no\\x1b[31mwhere/p.csv" in said
    assert "\x1b" not in said


def test_a_full_disk_leaves_nothing_behind(folder, tmp_path, monkeypatch, capsys):
    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for arguments in (
        ("fit", folder / "cancer.svm", "-o", tmp_path / "m.tau"),
        ("predict", folder / "cancer.tau", folder / "cancer.svm", "-o", tmp_path / "p.csv"),
        ("report", folder / "cancer.tau", folder / "cancer.svm", "-o", tmp_path / "r.html"),
    ):
        assert "No space left" in refusal(capsys, *arguments)
    assert list(tmp_path.iterdir()) == []


def test_an_interrupt_ends_with_status_130(folder, tmp_path, monkeypatch, capsys):
    from taupath.models import training

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train", interrupted)
    assert run("fit", folder / "cancer.svm", "-o", tmp_path / "m.tau") == 130
    assert "interrupted" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
