"""The command line with approximate and simplified models: within a tolerance, for every τ."""

import json

import pytest

from command_files import refusal, run


@pytest.fixture(scope="module")
def folder(command_files):
    return command_files


QUICK = ("--method", "approximate", "--tol", "1e-3")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cancer.svm", ("--C", "0.1")),
        ("iris.csv", ("--standardize",)),
        ("wages.csv", ("--task", "regress", "--standardize")),
    ],
)
def test_an_approximate_model_goes_all_the_way(name, options, folder, tmp_path, capsys):
    file, data = tmp_path / "model.tau", folder / name
    assert run("fit", data, "-o", file, *options, *QUICK) == 0
    said = capsys.readouterr().out
    assert "approximate path: " in said and " nodes in " in said
    assert "certificate holds: for every value, from " in said
    assert run("certify", file, data) == 0
    said = capsys.readouterr().out
    assert f"{file} does not hold its training data; it is checked against these " in said
    assert "certificate holds: for every value" in said
    assert run("predict", file, data, "-o", tmp_path / "out.csv") == 0
    assert run("evaluate", file, data) == 0
    assert run("report", file, data, "-o", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text()
    assert '"continuum":true' in page.replace(": ", ":")
    capsys.readouterr()
    assert run("fit", data, "-o", file, *options, *QUICK, "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["method"], found["tol"]) == ("approximate", 1e-3)
    assert found["certificate"]["continuum"] and found["certificate"]["holds"]


def test_auto_says_what_it_has_picked(folder, tmp_path, capsys, monkeypatch):
    data, file = folder / "cancer.svm", tmp_path / "model.tau"
    assert run("fit", data, "-o", file, "--method", "auto") == 0
    said = capsys.readouterr().out
    assert "--method auto: exact; 150 samples are few" in said and "exact path: " in said
    monkeypatch.setattr("taupath.fitting.over_tau.TOO_FEW_FOR_TRIALS", 100)
    monkeypatch.setattr("taupath.fitting.method.FIRST_TRIAL", 40)
    monkeypatch.setattr("taupath.fitting.method.SECOND_TRIAL", 80)
    monkeypatch.setattr("taupath.fitting.method.WORTH_WAITING", 0.0)
    for name, options in (("cancer.svm", ()), ("wages.csv", ("--task", "regress"))):
        for kernel in ("linear", "rbf"):
            how = (*options, "--kernel", kernel, "--method", "auto")
            assert run("fit", folder / name, "-o", file, *how) == 0
            said = capsys.readouterr().out
            assert "--method auto: approximate; the exact path is predicted to take" in said
            assert "approximate path: " in said
    monkeypatch.setattr("taupath.fitting.method.MANY_IN_A_SEARCH", 100)
    assert run("fit", data, "-o", file, "--method", "auto", "--cv", "2") == 0
    assert "approximate path: " in capsys.readouterr().out


@pytest.mark.parametrize("name", ["cancer.svm", "iris.csv", "wages.csv"])
def test_a_model_is_made_simpler(name, folder, tmp_path, capsys):
    model, small = folder / name.replace(name[-3:], "tau"), tmp_path / "small.tau"
    assert run("simplify", model, "-o", small, "--tol", "1e-3") == 0
    said = capsys.readouterr().out
    assert " nodes instead of " in said
    assert "certificate holds: for every value" in said
    assert small.stat().st_size < model.stat().st_size
    assert run("certify", small, folder / name) == 0
    assert "certificate holds" in capsys.readouterr().out
    assert run("simplify", small, "-o", tmp_path / "other.tau") == 1
    assert "simplify a model that does" in capsys.readouterr().err
    assert not (tmp_path / "other.tau").exists()
    assert run("simplify", model, "-o", small, "--tol", "1e-3", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    assert found["bytes"] == small.stat().st_size
    assert found["certificate"]["tol"] == 1e-3


def test_a_model_with_a_kernel_is_made_simpler_and_keeps_its_data(folder, tmp_path, capsys):
    data, model = folder / "cancer.svm", tmp_path / "model.tau"
    assert run("fit", data, "-o", model, "--kernel", "rbf") == 0
    assert run("simplify", model, "-o", tmp_path / "small.tau", "--tol", "1e-2") == 0
    assert (tmp_path / "small.tau").stat().st_size < model.stat().st_size
    capsys.readouterr()
    assert run("certify", tmp_path / "small.tau", data) == 0
    assert "was trained on these 150 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "options"),
    [("cancer.svm", ()), ("iris.csv", ()), ("wages.csv", ("--task", "regress"))],
)
def test_every_command_takes_an_approximate_model_with_a_kernel(
    name, options, folder, tmp_path, capsys
):
    data, file, out = folder / name, tmp_path / "model.tau", tmp_path / "out.html"
    assert run("fit", data, "-o", file, *options, "--kernel", "rbf", *QUICK) == 0
    said = capsys.readouterr().out
    assert "rbf kernel" in said and "approximate path: " in said and "certificate holds" in said
    assert run("predict", file, data, "-o", tmp_path / "out.csv") == 0
    assert run("evaluate", file, data) == 0
    assert run("report", file, data, "-o", out) == 0
    assert '"continuum":true' in out.read_text().replace(": ", ":")
    assert run("certify", file, data) == 0
    assert "was trained on these" in capsys.readouterr().out
    assert run("simplify", file, "-o", tmp_path / "small.tau", "--tol", "1e-2") == 0
    assert "kinks" not in capsys.readouterr().out
    assert run("certify", tmp_path / "small.tau", data) == 0


def test_a_part_of_a_path_with_a_kernel_keeps_its_support_vectors_only(folder, tmp_path, capsys):
    data, file = folder / "cancer.svm", tmp_path / "model.tau"
    part = ("--kernel", "rbf", "--tau-range", "0.4", "0.6")
    assert run("fit", data, "-o", file, *part, *QUICK) == 0
    capsys.readouterr()
    assert run("certify", file, data) == 0
    said = capsys.readouterr().out
    assert "does not hold its training data" in said and "certificate holds" in said
    assert run("predict", file, data, "--tau", "0.5", "-o", tmp_path / "out.csv") == 0
    other = tmp_path / "other.svm"
    capsys.readouterr()
    other.write_text("\n".join(reversed(data.read_text().splitlines())) + "\n")
    assert "is not the support vector" in refusal(capsys, "certify", file, other)


def test_an_approximate_model_of_other_data_is_not_certified(folder, tmp_path, capsys):
    data, model = folder / "cancer.svm", tmp_path / "model.tau"
    assert run("fit", data, "-o", model, *QUICK) == 0
    lines = data.read_text().splitlines()
    other = tmp_path / "other.svm"
    turned = [("1" if line[0] == "0" else "0") + line[1:] for line in lines]
    other.write_text("\n".join([*turned[:20], *lines[20:]]) + "\n")
    assert run("certify", model, other) == 1
    said = capsys.readouterr()
    assert "DOES NOT HOLD" in said.out and "does not hold" in said.err
    other.write_text("\n".join(lines[:-1]) + "\n")
    assert "149 rows" in refusal(capsys, "certify", model, other)


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (("--method", "approximate", "--tol", "0"), "tol must be finite and above 0"),
        (("--method", "approximate", "--tol", "1e-20"), "less than what doubles can certify"),
    ],
)
def test_paths_that_cannot_be_are_named(options, says, folder, tmp_path, capsys):
    file = tmp_path / "model.tau"
    assert says in refusal(capsys, "fit", folder / "cancer.svm", "-o", file, *options)
    assert not file.exists()
