"""The installed command on real files: its numbers are those of the Python interface."""

import json
import re
import subprocess
import sys
import time

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import dump_svmlight_file, load_breast_cancer
from sklearn.preprocessing import StandardScaler, scale

import taupath as tp
from command_files import COMMAND, columns_of, in_process, refusal, run, taupath
from taupath.commands import Failed
from taupath.commands.files import read_cost_matrix
from taupath.preparation import Preparation
from taupath.tables import read_table


@pytest.fixture(scope="module")
def folder(command_files):
    return command_files


# -- the four ways through, on real files ------------------------------------------------------


def check_classifier(command, tmp_path, train, test, options, model, features, truth):
    """Fit, predict, evaluate, report, certify; `model` is the same by the Python interface."""
    file = tmp_path / "model.tau"
    said = json.loads(command("fit", train, "-o", file, "--json", "--points", 20, *options))
    assert said["kinks"] == model.path_.n_kinks
    assert said["certificate"]["holds"]
    predicted = columns_of(
        command("predict", file, test, "--cost-fp", 1, "--cost-fn", 5, "--proba")
    )
    labels = np.array(predicted["prediction"], dtype=float)
    assert np.array_equal(labels, model.predict(features, cost_fp=1, cost_fn=5))
    proba = np.array(predicted[f"p({int(model.classes_[1])})"], dtype=float)
    assert np.array_equal(proba, model.predict_proba(features)[:, 1])
    steps = tmp_path / "steps.csv"
    found = json.loads(command("evaluate", file, test, "--tau", 0.37, "-o", steps, "--json"))
    positive = truth == model.classes_[1]
    for k, tau in enumerate(found["at"]["tau"]):
        decided = model.predict(features, tau=tau) == model.classes_[1]
        assert found["at"]["tp"][k] == (decided & positive).sum()
        assert found["at"]["fp"][k] == (decided & ~positive).sum()
    assert 0.37 in found["at"]["tau"]
    pieces = columns_of(steps.read_text())
    edges = np.array(pieces["tau_from"], dtype=float)
    assert edges[0] == 0.0
    for k in range(0, len(edges), max(len(edges) // 7, 1)):
        middle = 0.5 * (edges[k] + float(pieces["tau_to"][k]))
        decided = model.decision_function(features, tau=middle) >= 0.0  # constant ones would warn
        assert float(pieces["tp"][k]) == (decided & positive).sum()
    command("report", file, test, "-o", tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.startswith("<!doctype html>") or page.startswith("<!DOCTYPE html>")
    assert "holds" in command("certify", file, train, "--points", 20)


def standardized(file, raw, **how):
    """Return the features of a file as they are prepared; scikit-learn's to the last digits."""
    table = read_table(file)
    X = Preparation.learn(table, standardize=True, **how).features(table)
    np.testing.assert_allclose(X, StandardScaler().fit_transform(raw), rtol=1e-12, atol=1e-12)
    return X


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
def test_a1a(tmp_path, data_dir, capsys):
    from taupath.datasets import load_svm

    train = data_dir / "classification" / "a1a.svm"
    X, y = load_svm(train)
    model = tp.QuantileSVC(C=0.1).fit(X, y)
    check_classifier(in_process(capsys), tmp_path, train, train, ("--C", 0.1), model, X, y)


@pytest.mark.filterwarnings("ignore::taupath.ConstantDecisionWarning")  # every τ is tried
def test_pima(tmp_path, data_dir):
    file = data_dir / "diabetes" / "pima-indians-diabetes.csv"
    table = np.loadtxt(file, delimiter=",")
    X, y = standardized(file, table[:, :-1]), table[:, -1]
    model = tp.QuantileSVC(C=1.0).fit(X, y)
    check_classifier(taupath, tmp_path, file, file, ("--standardize",), model, X, y)


@pytest.mark.slow
def test_spam(tmp_path, data_dir, capsys):
    from taupath.datasets import load_svm

    file = data_dir / "spam" / "task_a_u00_eval_lab.tf"
    X, y = load_svm(file)
    model = tp.QuantileSVC(lam=1e-6).fit(X, y)
    check_classifier(in_process(capsys), tmp_path, file, file, ("--lam", 1e-6), model, X, y)


def test_engel(tmp_path, data_dir, capsys):
    command = in_process(capsys)
    file = data_dir / "regression" / "engel.csv"
    table = np.loadtxt(file, delimiter=",", skiprows=1)
    X, y = standardized(file, table[:, :1], task="regress"), table[:, 1]
    model = tp.QuantileSVR(C=10.0, conformal=5).fit(X, y)
    stored = tmp_path / "model.tau"
    options = ("--task", "regress", "--standardize", "--C", 10, "--conformal", 5)
    said = json.loads(command("fit", file, "-o", stored, "--json", *options))
    assert said["kinks"] == model.n_iter_
    asked = ("--quantiles", 0.1, 0.9, "--coverage", 0.8)
    predicted = columns_of(command("predict", stored, file, *asked))
    expected = np.column_stack(
        (model.predict(X, quantile=[0.1, 0.9]), model.predict_interval(X, 0.8))
    )
    found = np.column_stack(
        [np.array(predicted[name], dtype=float) for name in ("q0.1", "q0.9", "lower", "upper")]
    )
    assert np.array_equal(found, expected)
    found = json.loads(command("evaluate", stored, file, "--json"))
    for k, q in enumerate(found["at"]["quantile"]):
        below = float((y <= model.predict(X, quantile=q)).mean())
        assert found["at"]["below"][k] == pytest.approx(below, abs=1e-12)
    command("report", stored, file, "-o", tmp_path / "report.html")
    assert "holds" in command("certify", stored, file)


# -- what else they can do ---------------------------------------------------------------------


def test_start_up_imports_nothing_heavy():
    code = (
        "import sys, taupath.cli as cli\n"
        "try: cli.main(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


def test_choices_are_those_of_the_library(capsys):
    from taupath.choices import FORMATS, MISSING, TASKS, UNSEEN
    from taupath.tables.formats import WRITTEN, format_of

    with pytest.raises(SystemExit):
        run("fit", "--help")
    said = capsys.readouterr().out
    for choices in (FORMATS, MISSING, TASKS, UNSEEN):
        assert "{" + ",".join(choices) + "}" in said
    for name, read, written in (
        ("a.csv.gz", "csv", "csv"),
        ("a.TAB", "tsv", "tsv"),
        ("a.svm", "libsvm", None),
        ("a.json", None, "json"),
        ("a.txt", None, None),
    ):
        assert format_of(name, FORMATS) == read
        assert format_of(name, WRITTEN) == written


@pytest.mark.parametrize(
    "command",
    ["demo", "fit", "predict", "explain", "evaluate", "report", "certify", "simplify", "reproduce"],
)
def test_every_command_explains_itself(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        run(command, "--help")
    assert stopped.value.code == 0
    assert "usage: taupath " + command in capsys.readouterr().out


def test_standard_input_and_output_work_in_a_pipe(folder):
    content = (folder / "cancer.svm").read_bytes()
    from_file = taupath("predict", folder / "cancer.tau", folder / "cancer.svm", "--proba")
    assert taupath("predict", folder / "cancer.tau", "-", "--proba", stdin=content) == from_file


def test_a_reader_that_stops_early_is_no_error(folder):
    command = f"{COMMAND} predict {folder / 'cancer.tau'} {folder / 'cancer.svm'} | head -n 1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, check=True, timeout=900)
    assert done.stdout == b"prediction\n"
    assert done.stderr == b"positive class: 1\n"


def test_costs_of_each_row_come_from_columns(folder, tmp_path):
    data = tmp_path / "rows.csv"
    X, y = load_breast_cancer(return_X_y=True)
    X = scale(X)[:60, :2]
    with open(data, "w") as stream:
        stream.write("one,two,miss,ill\n")
        for k, row in enumerate(X):
            stream.write(f"{float(row[0])!r},{float(row[1])!r},{1 + k % 5},{y[k]}\n")
    model, out = tmp_path / "m.tau", tmp_path / "out.csv"
    assert run("fit", data, "-o", model, "--drop", "miss", "--no-standardize") == 0
    costs = ("--cost-fp", "2", "--cost-fn", "miss")
    assert run("predict", model, data, *costs, "-o", out) == 0
    expected = tp.QuantileSVC().fit(X, y[:60]).predict(X, cost_fp=2, cost_fn=1 + np.arange(60) % 5)
    assert np.array_equal(np.array(columns_of(out.read_text())["prediction"], dtype=int), expected)


def test_costs_of_an_evaluation_are_in_the_unit_they_were_given_in(folder, capsys):
    files = folder / "cancer.tau", folder / "cancer.svm"
    assert run("evaluate", *files, "--cost-fp", "3", "--cost-fn", "60", "--json") == 0
    found = json.loads(capsys.readouterr().out)
    model = tp.load(files[0])
    table = read_table(files[1])
    y = model.preparation.response(table)
    predicted = model.estimator.predict(model.preparation.features(table), cost_fp=3, cost_fn=60)
    wrong = predicted != y
    assert wrong.any()
    assert found["cost"] == pytest.approx(np.where(y == 1, 60.0, 3.0)[wrong].sum() / len(y))
    assert run("evaluate", *files, "--cost-fp", "3", "--cost-fn", "60") == 0
    said = capsys.readouterr().out
    assert f"at 3 for a false alarm and 60 for a miss: {found['cost']:.5g} per row" in said


def test_steps_on_standard_output_are_a_table_and_nothing_else(folder, capsys):
    assert run("evaluate", folder / "cancer.tau", folder / "cancer.svm", "-o", "-") == 0
    columns = columns_of(capsys.readouterr().out)
    assert columns["tau_to"][-1] == "1.0"
    assert columns["tau_from"][1:] == columns["tau_to"][:-1]


def test_several_classes_take_a_cost_matrix(folder, tmp_path, capsys):
    out = tmp_path / "out.csv"
    # predicting setosa never costs anything
    (tmp_path / "costs.csv").write_text("setosa,versicolor,virginica\n0,9,9\n0,9,9\n0,9,9\n")
    matrix = ("--cost-matrix", tmp_path / "costs.csv")
    assert run("predict", folder / "iris.tau", folder / "iris.csv", *matrix, "-o", out) == 0
    assert set(columns_of(out.read_text())["prediction"]) == {"setosa"}
    assert run("evaluate", folder / "iris.tau", folder / "iris.csv", "--json", *matrix) == 0
    found = json.loads(capsys.readouterr().out.split("\n", 1)[1])
    assert found["accuracy"] == pytest.approx(1 / 3)
    assert found["cost"] == 0.0
    assert run("evaluate", folder / "iris.tau", folder / "iris.csv") == 0
    assert "virginica" in capsys.readouterr().out
    before = sorted(tmp_path.iterdir())
    for option in (("-o", tmp_path / "steps.csv"), ("--picture", tmp_path / "iris.png")):
        said = refusal(capsys, "evaluate", folder / "iris.tau", folder / "iris.csv", *option)
        assert f"{option[0]} is for two classes" in said
    assert sorted(tmp_path.iterdir()) == before
    page = tmp_path / "iris.html"
    assert run("report", folder / "iris.tau", folder / "iris.csv", "-o", page) == 0


def test_a_cost_matrix_may_have_its_classes_in_any_order(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("a,b,c\n0,1,2\n3,4,5\n6,7,8\n")
    expected = read_cost_matrix(str(file), ["a", "b", "c"])
    file.write_text("c,a,b\n8,6,7\n2,0,1\n5,3,4\n")
    assert np.array_equal(read_cost_matrix(str(file), ["a", "b", "c"]), expected)
    assert np.array_equal(expected, np.arange(9.0).reshape(3, 3))
    file.write_text("0,1,2\n3,4,5\n6,7,8\n")
    assert np.array_equal(read_cost_matrix(str(file), ["a", "b", "c"]), expected)
    file.write_text("2,0.0,1\n8,6,7\n2,0,1\n5,3,4\n")
    assert np.array_equal(read_cost_matrix(str(file), [0, 1, 2]), expected)


def test_a_cost_matrix_of_other_classes_is_refused(tmp_path):
    file = tmp_path / "costs.csv"
    file.write_text("c,a,d\n8,6,7\n2,0,1\n5,3,4\n")
    with pytest.raises(Failed, match="are c, a, d; they must be the classes a, b, c"):
        read_cost_matrix(str(file), ["a", "b", "c"])


@pytest.mark.filterwarnings("always::taupath.IndefiniteKernelWarning")  # both are asked for below
@pytest.mark.filterwarnings("always:the certificate does not hold")  # this one, too
def test_a_certificate_that_does_not_hold_is_an_error(folder, tmp_path, capsys):
    model, data = tmp_path / "m.tau", folder / "cancer.svm"
    kernel = ("--kernel", "sigmoid", "--coef0", "-3", "--C", "10")
    # the path is that of the nearest kernel that is one
    assert run("fit", data, "-o", model, *kernel) == 1
    out, err = capsys.readouterr()
    assert out == "" and "positive semidefinite" in err
    (said,) = (line for line in err.splitlines() if "does not hold" in line)
    assert re.search(r"duality gap ≤ [0-9.]+e[+-]\d\d", said)
    assert "m.tau was not written: add --allow-inexact" in said
    assert list(tmp_path.iterdir()) == []
    assert run("fit", data, "-o", model, *kernel, "--allow-inexact") == 0
    said = capsys.readouterr()
    assert "DOES NOT HOLD" in said.out
    assert "warning: the certificate does not hold: " in said.err
    assert run("certify", model, data, "--points", "20") == 1
    said = capsys.readouterr()
    assert "DOES NOT HOLD" in said.out
    assert said.err.endswith("taupath: the certificate does not hold\n")


def test_the_positive_class_can_be_named(tmp_path, capsys):
    data = tmp_path / "two.csv"
    data.write_text(
        "x,state\n" + "".join(f"{k},{'sick' if k > 5 else 'well'}\n" for k in range(12))
    )
    for positive in ("sick", "well"):
        model = tmp_path / "m.tau"
        assert run("fit", data, "-o", model, "--positive", positive) == 0
        out = tmp_path / "out.csv"
        assert run("predict", model, data, "--tau", "0.0", "-o", out) == 0
        # where misses only cost, everything is positive
        assert set(columns_of(out.read_text())["prediction"]) == {positive}
    assert run("fit", data, "-o", tmp_path / "m.tau", "--positive", "ill") == 1
    assert "'ill'" in capsys.readouterr().err


def test_parquet_comes_out_by_extension(folder, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    out = tmp_path / "out.parquet"
    assert run("predict", folder / "cancer.tau", folder / "cancer.svm", "-o", out, "--proba") == 0
    assert parquet.read_table(out).column_names == ["prediction", "p(0)", "p(1)"]


def test_cross_validation_combines_classifiers(folder, tmp_path, capsys):
    model, page = tmp_path / "m.tau", tmp_path / "page.html"
    train = folder / "cancer.svm"
    assert run("fit", train, "-o", model, "--cv", "3", "--kernel", "linear") == 0
    assert "stack of linear C=" in capsys.readouterr().out
    assert isinstance(tp.load(model).estimator, tp.QuantileSVCCV)
    for command in (("evaluate",), ("certify",), ("report", "-o", page)):
        assert run(command[0], model, train, *command[1:]) == 0
    assert page.stat().st_size > 1000
    assert run("fit", train, "-o", model, "--combine", "best") == 1
    assert "--combine goes with --cv" in capsys.readouterr().err


def test_cross_validation_chooses_C(folder, tmp_path, capsys):
    model = tmp_path / "m.tau"
    train = folder / "cancer.svm"
    assert run("fit", train, "-o", model, "--cv", "3", "--combine", "best", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    losses = said["cross-validation"]
    best = int(np.argmin(losses["Brier score"]))
    assert (said["C"], said["kernel"]) == (losses["Cs"][best], losses["kernels"][best])
    options = ("--task", "regress", "--cv", "3", "--standardize", "--json")
    assert run("fit", folder / "wages.csv", "-o", model, *options) == 0
    said = json.loads(capsys.readouterr().out)
    losses = said["cross-validation"]
    assert said["C"] == losses["Cs"][int(np.argmin(losses["pinball loss"]))]
    # in other units of y, the same choice
    head, *lines = (folder / "wages.csv").read_text().splitlines()
    cells = [line.rsplit(",", 1) for line in lines]
    other = tmp_path / "cents.csv"
    cents = [f"{start},{100.0 * float(last)!r}" for start, last in cells]
    other.write_text("\n".join([head, *cents]) + "\n")
    assert run("fit", other, "-o", model, *options) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["C"] == pytest.approx(100.0 * said["C"], rel=1e-9)
    loss = again["cross-validation"]["pinball loss"]
    assert loss == pytest.approx([100.0 * each for each in losses["pinball loss"]], rel=1e-6)


def test_cross_validation_does_not_depend_on_the_units_of_a_matrix(tmp_path, capsys):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 3)) * (rng.uniform(size=(90, 3)) < 0.7)
    y, units = (X[:, 0] - X[:, 1] + 0.5 * rng.normal(size=90) > 0.0).astype(float), [1e3, 1e-3, 7.0]
    dense, sparse = tmp_path / "dense.npz", tmp_path / "sparse.svm"
    found = []
    for unit in (np.ones(3), np.array(units)):
        np.savez(dense, X=X * unit, y=y)
        dump_svmlight_file(X * unit, y, str(sparse), zero_based=False)
        for file in (dense, sparse):
            how = ("--cv", "3", "--kernel", "linear")
            assert run("fit", file, "-o", tmp_path / "m.tau", *how) == 0
            assert "standardized: 3 features (--no-standardize" in capsys.readouterr().out
            found.append(tp.load(tmp_path / "m.tau").predict_proba(str(file)))
    assert_allclose(found[:2], found[2:], atol=1e-6)
    assert run("fit", dense, "-o", tmp_path / "m.tau", "--cv", "3", "--no-standardize") == 0
    assert "standardized" not in capsys.readouterr().out
    assert tp.load(tmp_path / "m.tau").preparation.columns.scale is None


def test_pictures_are_drawn(folder, tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for model, data in (("cancer.tau", "cancer.svm"), ("wages.tau", "wages.csv")):
        for kind, begin in (("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")):
            picture = tmp_path / f"p.{kind}"
            assert run("evaluate", folder / model, folder / data, "--picture", picture) == 0
            assert picture.read_bytes().startswith(begin)
    assert run("evaluate", folder / model, folder / data, "--picture", tmp_path / "p.gif") == 1
    assert ".png, .svg or .pdf" in capsys.readouterr().err


def test_a_model_is_there_for_python_too(folder):
    model = tp.load(folder / "wages.tau")
    assert model.task == "regress"
    assert model.preparation.feature_names == [
        "age",
        "job=clerk",
        "job=nurse",
        "job=smith",
        "price",
    ]
    X = model.preparation.features(read_table(folder / "wages.csv"))
    assert model.estimator.predict(X).shape == (120,)


def test_part_of_the_path(folder, tmp_path, capsys):
    model = tmp_path / "m.tau"
    data = folder / "cancer.svm"
    started = time.perf_counter()
    assert run("fit", data, "-o", model, "--tau-range", "0.2", "0.6") == 0
    assert 0.0 < tp.load(model).trained["seconds"] < time.perf_counter() - started
    whole = tp.load(folder / "cancer.tau")
    assert tp.load(model).estimator.path_.tau_range == (0.2, 0.6)
    assert whole.estimator.path_.tau_range == (0.0, 1.0)
    assert run("evaluate", model, data) == 0
    capsys.readouterr()
    assert run("predict", model, data, "--tau", "0.7") == 1
    assert "0.6" in capsys.readouterr().err


def test_an_l1_penalty_is_stored_and_says_how_many_features_are_used(folder, tmp_path, capsys):
    command, model = in_process(capsys), tmp_path / "m.tau"
    given = ("fit", folder / "cancer.svm", "-o", model, "--l1", "20")
    said = command(*given)
    used = tp.load(model).estimator.n_nonzero()
    assert 0 < used < 4
    assert "C = 1, l1 = 20, linear kernel" in said
    assert f"{used} of 4 features have a weight at τ = 0.5" in said
    assert "certificate holds" in command("certify", model, folder / "cancer.svm")
    command("predict", model, folder / "cancer.svm", "-o", tmp_path / "decisions.csv")
    command("report", model, folder / "cancer.svm", "-o", tmp_path / "report.html")
    assert "L1 penalty" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "--l1 goes without --cv" in refusal(capsys, *given, "--cv")
    assert "for kernel='linear'" in refusal(capsys, *given, "--kernel", "rbf")
    said = command(
        *("fit", folder / "wages.csv", "-o", model, "--task", "regress", "--target", "wage"),
        *("--l1", "0.5"),
    )
    assert "augmented intercept" in said and "features have a weight at τ = 0.5" in said
